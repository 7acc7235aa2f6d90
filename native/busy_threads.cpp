#include "busy_threads.hpp"

#include <cxxabi.h>
#include <unistd.h>

#include "processor.hpp"

void restore_thread(PyThreadState *state) {
    try {
        PyEval_RestoreThread(state);
    } catch (const abi::__forced_unwind &) {
        for (;;) pause();
    }
}

void BusyThreads::take_back(PyThreadState *state) {
    const uint64_t start = now_ns();
    restore_thread(state);
    const uint64_t now = now_ns();
    if (now - start > kConvoy)
        quick_ = 0;
    else if (found())
        ++quick_;
    apart_ns_ = now;
}

void BusyThreads::renew() {
    restore_thread(PyEval_SaveThread());
    apart_ns_ = now_ns();
}

void BusyThreads::note_absence() {
    const uint64_t before = began_ns_;
    began_ns_ = now_ns();
    if (began_ns_ - before > kConvoy) apart_ns_ = began_ns_;
}
