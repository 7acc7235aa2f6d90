// Copies between the segment and a caller's arrays.
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shm {

// Results of this size are not read again soon: keep them out of the cache.
constexpr size_t kStream = 8 << 20;
constexpr size_t kLine = 64;  // bytes of a cache line
// Large arrays of the C library begin so far behind a line. Copies between places that lie alike take a fourth less
// time than others, past the caches half: so what is large lies like this in the segment, too.
constexpr size_t kBehindLine = 16;

constexpr size_t kFew = 4 << 10;  // for fewer bytes memcpy is as good

// Bytes until the next line begins.
inline size_t to_line(const void *place) { return -reinterpret_cast<uintptr_t>(place) % kLine; }

// Stores whole lines, and, if *twice*, in the same pass to *also* as well. Of kFew bytes and more.
template <bool past_caches, bool twice = false>
inline void copy_lines(uint8_t *to, const uint8_t *from, size_t bytes, uint8_t *also = nullptr) {
    const auto plainly = [&](size_t at, size_t length) {
        std::memcpy(to + at, from + at, length);
        if (twice) std::memcpy(also + at, from + at, length);
    };
    size_t at = to_line(to);
    plainly(0, at);
    for (; at + 2 * kLine <= bytes; at += 2 * kLine) {
        for (size_t k = at; k < at + 2 * kLine; k += sizeof(__m256i)) {
            const __m256i part = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + k));
            __m256i *const place = reinterpret_cast<__m256i *>(to + k);
            past_caches ? _mm256_stream_si256(place, part) : _mm256_store_si256(place, part);
            if (twice) _mm256_storeu_si256(reinterpret_cast<__m256i *>(also + k), part);
        }
    }
    plainly(at, bytes - at);
    if (past_caches) _mm_sfence();  // such stores are not ordered by the flag that follows
}

// *message* is the size of the whole result of which this is a part. Also to *also*, if there is such a place.
inline void copy(uint8_t *to, const uint8_t *from, size_t bytes, size_t message = 0, uint8_t *also = nullptr) {
    if (bytes < kFew) {
        if (bytes) std::memcpy(to, from, bytes);
        if (bytes && also) std::memcpy(also, from, bytes);
    } else if (message < kStream) {
        also ? copy_lines<false, true>(to, from, bytes, also) : copy_lines<false>(to, from, bytes);
    } else {
        also ? copy_lines<true, true>(to, from, bytes, also) : copy_lines<true>(to, from, bytes);
    }
}

}  // namespace shm
