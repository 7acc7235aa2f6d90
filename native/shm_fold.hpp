// Reductions: every element folds in rank order, whatever the number of ranks, the transport or the split.
#pragma once
#include <cstddef>
#include <cstdint>

namespace shm {

enum Dtype : uint8_t { no_dtype, b1, i1, i2, i4, i8, u1, u2, u4, u8, f2, f4, f8, c8, c16, dtype_count };
enum class Reduction : uint16_t { sum, min, max };

const char *dtype_name(uint8_t dtype);
size_t dtype_bytes(uint8_t dtype);

// The dtype of a buffer-protocol format, or no_dtype for anything that is not a plain native number.
Dtype dtype_of(const char *format, size_t itemsize);

// out[i] = parts[0][i] op parts[1][i] op ...; out overlaps no part. Null where the dtype has no such order.
using Fold = void (*)(uint8_t *out, const uint8_t *const *parts, int ranks, size_t count);
Fold fold_for(uint8_t dtype, Reduction op);

}  // namespace shm
