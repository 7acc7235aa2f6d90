// Copies between the segment and a caller's arrays.
#pragma once
#include <immintrin.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace shm {

// Results of this size are not read again soon: keep them out of the cache.
constexpr size_t kStream = 4 << 20;

// *message* is the size of the whole result of which this is a part.
inline void copy(uint8_t *to, const uint8_t *from, size_t bytes, size_t message = 0) {
    if (!bytes) return;
    if (message < kStream) {
        std::memcpy(to, from, bytes);
        return;
    }
    const size_t head = std::min(bytes, (32 - reinterpret_cast<uintptr_t>(to) % 32) % 32);
    std::memcpy(to, from, head);
    size_t at = head;
    for (; at + 64 <= bytes; at += 64) {
        const __m256i a = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + at));
        const __m256i b = _mm256_loadu_si256(reinterpret_cast<const __m256i *>(from + at + 32));
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + at), a);
        _mm256_stream_si256(reinterpret_cast<__m256i *>(to + at + 32), b);
    }
    std::memcpy(to + at, from + at, bytes - at);
    _mm_sfence();  // streamed stores are not ordered by the flag that follows
}

}  // namespace shm
