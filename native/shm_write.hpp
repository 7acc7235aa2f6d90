// How a rank writes what others read next.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>

#include "processor.hpp"
#include "shm_copy.hpp"

namespace shm {

// Cores that share no cache take a line back from each other in 30 ns, one after another: then stores past the caches
// are ten times as fast. Where cores do share one, ordinary stores are. Which of both holds may change in a moment,
// as the host of a virtual machine moves its processors: so a rank looks how long its own stores take.
class Writer {
  public:
    // Also to *also*, if there is such a place, in the same pass.
    void write(uint8_t *to, const uint8_t *from, size_t bytes, uint8_t *also = nullptr) {
        if (bytes < kLook) return copy(to, from, bytes, 0, also);
        if (past_ > 0) {
            copy(to, from, bytes, kStream, also);
            past_ -= std::min(past_, bytes);
            return;
        }
        const size_t at = looks_++ % (bytes / kLook) * kLook, behind = at + kLook;
        const uint64_t start = now_ns();
        copy(to + at, from + at, kLook);
        slow_ = std::max(0, slow_ + (now_ns() - start > kSlow ? 2 : -1));
        if (slow_ >= kConvinced) {
            slow_ = kConvinced - 2;
            write_past_caches(kAgain);
        }
        const size_t message = past_ ? kStream : 0;
        copy(to, from, at, message, also);
        copy(to + behind, from + behind, bytes - behind, message, also ? also + behind : nullptr);
        if (also) copy(also + at, from + at, kLook);
    }

    bool past_caches() const { return past_ > 0; }
    void write_past_caches(size_t bytes) { past_ = bytes; }

  private:
    static constexpr size_t kLook = 16 << 10;   // bytes that are stored to see how long it takes; fewer never matter
    static constexpr uint64_t kSlow = 4'000;    // nanoseconds for these: 0.4 to 1.7 µs with a common cache, 6 to 9 without
    // Looks that found it slow count 2, others -1: one may have been interrupted, and lines that only a rank on the same
    // core has read are quick.
    static constexpr int kConvinced = 8;
    static constexpr size_t kAgain = 32 << 20;  // bytes written past the caches before the next look

    uint32_t looks_ = 0;  // so far: each is at another place of its message
    int slow_ = 0;
    size_t past_ = 0;  // bytes still to be written past the caches
};

}  // namespace shm
