// Large messages go through the segment, or every rank reads them where they lie. Which is quicker hangs on
// processor, kernel and size, so a group finds it out by its own calls of each kind and size.
#pragma once
#include <cstdint>

namespace shm {

// Every rank has one for each kind and size, and feeds it what all ranks posted: so all choose alike.
class Trial {
  public:
    bool direct() const { return direct_; }  // whether the coming call reads; final until the next lesson
    // All ranks have met for a call; the one before took so many nanoseconds.
    void learn(uint64_t took);

    uint64_t entered = 0, left = 0;  // when this rank did so in its last call
    // Calls in a row that go the same way. The first ones find other things in the caches, so a way is judged by the
    // last ones alone, and it takes as many as the places are that messages lie in by turns.
    uint32_t row = 1;

  private:
    static constexpr uint32_t kTries = 3;     // the last ones of a row; the best counts, as only delays are random
    static constexpr uint32_t kRests = 32;    // most rows before the other way is tried again: it may have become better
    // A row ends early if it is clear: by so many calls of a way that takes so many times as long as the other one.
    static constexpr uint32_t kFirst = kTries + 1, kMore = 8;
    static constexpr double kHopeless = 4.0, kMuch = 1.5;

    struct Way {
        uint64_t took[kTries] = {UINT64_MAX, UINT64_MAX, UINT64_MAX};  // by its latest calls
        uint32_t calls = 0;
        uint64_t best() const;
    };
    bool is_slower(double times) const;  // than the other way

    Way ways_[2];
    uint32_t calls_ = 0;
    uint32_t began_ = 0, ends_ = 0;  // calls before the present way was taken, and those after which its row is over
    uint32_t rows_ = 0;              // after which it was still the better one
    uint32_t rests_ = 1;  // such rows until the other way is tried again: soon at first, as first calls find all cold
    bool before_ = false;  // whether the last call read
    bool direct_ = false;
};

constexpr int kTrialKinds = 3;  // allgatherv, allreduce, broadcast
constexpr int kTrialSizes = 9;  // by powers of two from 64 KiB; the last one is of 16 MiB and more

}  // namespace shm
