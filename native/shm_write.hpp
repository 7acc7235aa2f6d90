// How a rank writes what others read next.
#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstring>

#include "processor.hpp"
#include "shm_copy.hpp"

namespace shm {

// Cores that share no cache take a line back from each other in 30 ns, one after another: then stores past the caches
// are ten times as fast. Where cores do share one, ordinary stores are. Which of both holds may change in a moment,
// as the host of a virtual machine moves its processors: so a rank looks how long its own stores take.
class Writer {
  public:
    void write(uint8_t *to, const uint8_t *from, size_t bytes) {
        if (bytes < kLook) {
            if (bytes) std::memcpy(to, from, bytes);
            return;
        }
        if (past_ > 0) {
            copy(to, from, bytes, kStream);
            past_ -= std::min(past_, bytes);
            return;
        }
        const uint64_t start = now_ns();
        std::memcpy(to, from, kLook);
        slow_ = now_ns() - start > kSlow ? std::min(slow_ + 1, kConvinced) : 0;
        if (slow_ == kConvinced) write_past_caches(kAgain);
        copy(to + kLook, from + kLook, bytes - kLook, past_ ? kStream : 0);
    }

    bool past_caches() const { return past_ > 0; }
    void write_past_caches(size_t bytes) { past_ = bytes; }

  private:
    static constexpr size_t kLook = 16 << 10;  // bytes that are stored to see how long it takes; fewer are always just stored
    static constexpr uint64_t kSlow = 4'000;   // nanoseconds for these: 0.4 to 1.7 µs with a shared cache, 6 to 9 without
    static constexpr int kConvinced = 4;       // looks in a row, as any may fall on an interrupt
    static constexpr size_t kAgain = 8 << 20;  // bytes written past the caches before the next look

    int slow_ = 0;     // looks in a row that found it slow
    size_t past_ = 0;  // bytes still to be written past the caches
};

}  // namespace shm
