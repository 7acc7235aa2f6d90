// How a waiting rank gets on with Python threads of its own that always have work.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include <cstdint>

// PyEval_RestoreThread, except that a daemon thread that comes back while the interpreter ends sleeps until
// the process is gone. Python would end it by unwinding these frames, which aborts the process.
void restore_thread(PyThreadState *state);

// Where every rank has a busy Python thread, each rank's GIL goes back and forth once an interval. If each waited
// for the others while holding its own, and lost it as they came, they would work one after another. So whoever
// misses a rank lends its GIL at once for the same interval, and all come back together. Where ranks share
// processors they come back milliseconds apart, and one that lent its GIL again would be missed by those that come
// meanwhile. So who has just seen them apart holds it until all are there.
class BusyThreads {
  public:
    static constexpr uint64_t kLend = 200'000;    // a rank that is this late has lost its GIL to a busy thread
    static constexpr uint64_t kHold = 12'000'000; // two switch intervals, in which the others get theirs back
    static constexpr uint64_t kRenew = 2'000'000; // well below an interval

    // Whether there were any when this rank lately took its GIL back.
    bool found() const { return quick_ < kQuick; }
    // A collective begins. Who comes late to it has probably had to wait for its GIL, and finds the others apart.
    void begin() {
        if (found()) note_absence();
    }
    // Whether ranks were just seen to get their GILs back at different times.
    bool apart(uint64_t now) const { return now - apart_ns_ <= kApart; }
    // Takes the GIL back, and finds out whether there are busy threads.
    void take_back(PyThreadState *state);
    // A thread that asks for the GIL waits for a whole interval anew once it was free for a moment: so who holds it
    // until the last rank comes has most of an interval left to work with all.
    void renew();
    // When it is time for that again.
    uint64_t renewal() const { return apart_ns_ + kRenew; }

  private:
    static constexpr uint64_t kConvoy = 1'000'000; // whoever waits longer for the GIL has a busy thread beside it
    // A busy thread that was just away from its processor doesn't ask for the GIL. Who took it for gone, and slept
    // without the GIL, lost it for many intervals.
    static constexpr int kQuick = 8;
    static constexpr uint64_t kApart = 3'000'000;  // over a renewal, and still below an interval

    void note_absence();

    int quick_ = kQuick;     // times in a row that the GIL was back at once
    uint64_t began_ns_ = 0;  // when the last collective began, and when ranks were last seen to get their GILs
    uint64_t apart_ns_ = 0;  // back at different times: this one then had its own anew
};
