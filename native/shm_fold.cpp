#include "shm_fold.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <type_traits>

#include "shm_copy.hpp"

namespace shm {
namespace {

struct Description {
    const char *name;
    size_t bytes;
};
constexpr Description kDtypes[dtype_count] = {
    {"nothing", 0}, {"bool", 1},    {"int8", 1},    {"int16", 2},     {"int32", 4},
    {"int64", 8},   {"uint8", 1},   {"uint16", 2},  {"uint32", 4},    {"uint64", 8},
    {"float16", 2}, {"float32", 4}, {"float64", 8}, {"complex64", 8}, {"complex128", 16}};

using half = _Float16;

template <class T>
constexpr bool is_real = std::is_floating_point_v<T> || std::is_same_v<T, half>;
template <class T>
using BitsOf =
    std::conditional_t<sizeof(T) == 8, uint64_t, std::conditional_t<sizeof(T) == 4, uint32_t, uint16_t>>;

template <class T>
T with_bits(BitsOf<T> bits) {
    T value;
    std::memcpy(&value, &bits, sizeof value);
    return value;
}
template <class T>
BitsOf<T> bits_of(T value) {
    BitsOf<T> bits;
    std::memcpy(&bits, &value, sizeof bits);
    return bits;
}

struct Sum {
    template <class T>
    static T fold(T a, T b) {
        if constexpr (std::is_same_v<T, bool>) {
            return a || b;
        } else if constexpr (std::is_integral_v<T>) {
            using U = std::make_unsigned_t<T>;  // overflow wraps, as NumPy's does
            return static_cast<T>(static_cast<U>(static_cast<U>(a) + static_cast<U>(b)));
        } else {
            // Which payload a NaN inherits depends on how the compiler orders the operands: give them all
            // one.
            T sum;
            if constexpr (std::is_same_v<T, half>)
                sum = static_cast<half>(static_cast<float>(a) + static_cast<float>(b));
            else
                sum = a + b;
            constexpr BitsOf<T> quiet = sizeof(T) == 8   ? 0x7ff8000000000000
                                        : sizeof(T) == 4 ? 0x7fc00000
                                                         : 0x7e00;
            return sum == sum ? sum : with_bits<T>(quiet);
        }
    }
};

// A NaN wins, the earlier rank's first; of two equal numbers only the signs of zeros can differ, and -0 < +0.
struct Min {
    template <class T>
    static T fold(T a, T b) {
        if constexpr (is_real<T>) {
            if (a != a) return a;
            if (b != b) return b;
            if (a == b) return with_bits<T>(bits_of(a) | bits_of(b));
        }
        return b < a ? b : a;
    }
};
struct Max {
    template <class T>
    static T fold(T a, T b) {
        if constexpr (is_real<T>) {
            if (a != a) return a;
            if (b != b) return b;
            if (a == b) return with_bits<T>(bits_of(a) & bits_of(b));
        }
        return a < b ? b : a;
    }
};

template <class T, class Op>
void pair(T *__restrict out, const T *__restrict a, const T *__restrict b, size_t count) {
    for (size_t i = 0; i < count; ++i) out[i] = Op::fold(a[i], b[i]);
}
template <class T, class Op>
void onto(T *__restrict out, const T *__restrict b, size_t count) {
    for (size_t i = 0; i < count; ++i) out[i] = Op::fold(out[i], b[i]);
}

template <class T, class Op>
void fold_all(uint8_t *to, const uint8_t *const *parts, int ranks, size_t count) {
    constexpr size_t kBlock = 1024;  // stays in the first-level cache while the ranks pass over it
    T *out = reinterpret_cast<T *>(to);
    const auto part = [&](int rank) { return reinterpret_cast<const T *>(parts[rank]); };
    if (ranks == 1) {
        if (count) std::memcpy(to, parts[0], count * sizeof(T));
        return;
    }
    // The first block ends where a line of the result does, if there are more.
    const size_t head = count > kBlock ? to_line(to) / sizeof(T) : 0;
    for (size_t at = 0, length = 0; at < count; at += length) {
        length = std::min(at == 0 && head > 0 ? head : kBlock, count - at);
        pair<T, Op>(out + at, part(0) + at, part(1) + at, length);
        for (int rank = 2; rank < ranks; ++rank) onto<T, Op>(out + at, part(rank) + at, length);
    }
}

// A complex sum is the sums of its parts.
template <class T>
void fold_complex(uint8_t *out, const uint8_t *const *parts, int ranks, size_t count) {
    fold_all<T, Sum>(out, parts, ranks, count * 2);
}

template <class T>
Fold choose(Reduction op) {
    switch (op) {
        case Reduction::sum: return fold_all<T, Sum>;
        case Reduction::min: return fold_all<T, Min>;
        case Reduction::max: return fold_all<T, Max>;
    }
    return nullptr;
}

}  // namespace

const char *dtype_name(uint8_t dtype) { return dtype < dtype_count ? kDtypes[dtype].name : "?"; }
size_t dtype_bytes(uint8_t dtype) { return dtype < dtype_count ? kDtypes[dtype].bytes : 0; }

Dtype dtype_of(const char *format, size_t itemsize) {
    if (!format) return no_dtype;
    if (format[0] == 'Z') {
        if (format[1] == 'f' && !format[2]) return c8;
        return format[1] == 'd' && !format[2] ? c16 : no_dtype;
    }
    if (!format[0] || format[1]) return no_dtype;
    const auto by_size =
        [&](Dtype first) {  // C's int and long depend on the platform; their size does not lie
            switch (itemsize) {
                case 1: return first;
                case 2: return static_cast<Dtype>(first + 1);
                case 4: return static_cast<Dtype>(first + 2);
                case 8: return static_cast<Dtype>(first + 3);
                default: return no_dtype;
            }
        };
    switch (format[0]) {
        case '?': return b1;
        case 'b':
        case 'h':
        case 'i':
        case 'l':
        case 'q': return by_size(i1);
        case 'B':
        case 'H':
        case 'I':
        case 'L':
        case 'Q': return by_size(u1);
        case 'e': return f2;
        case 'f': return f4;
        case 'd': return f8;
        default: return no_dtype;
    }
}

Fold fold_for(uint8_t dtype, Reduction op) {
    switch (dtype) {
        case b1: return choose<bool>(op);
        case i1: return choose<int8_t>(op);
        case i2: return choose<int16_t>(op);
        case i4: return choose<int32_t>(op);
        case i8: return choose<int64_t>(op);
        case u1: return choose<uint8_t>(op);
        case u2: return choose<uint16_t>(op);
        case u4: return choose<uint32_t>(op);
        case u8: return choose<uint64_t>(op);
        case f2: return choose<half>(op);
        case f4: return choose<float>(op);
        case f8: return choose<double>(op);
        case c8: return op == Reduction::sum ? fold_complex<float> : nullptr;
        case c16: return op == Reduction::sum ? fold_complex<double> : nullptr;
        default: return nullptr;
    }
}

}  // namespace shm
