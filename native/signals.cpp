#include "signals.hpp"

#include <nanobind/nanobind.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "processor.hpp"

namespace nb = nanobind;

namespace {

// Taking the interpreter from a busy Python thread may cost 5 ms; shorter calls never do it.
constexpr uint64_t kPeriod = 200'000'000;

}  // namespace

// On other threads Python runs no handlers.
Signals::Signals()
    : looks_(syscall(SYS_gettid) == getpid()), caller_(pthread_self()), due_ns_(coarse_now_ns() + kPeriod) {}

bool Signals::look() {
    if (coarse_now_ns() < due_ns_) return false;
    const nb::gil_scoped_acquire hold;
    if (PyErr_CheckSignals() != 0) raised_ = true;  // the error stays with the thread
    due_ns_ = coarse_now_ns() + kPeriod;
    return raised_;
}

void Signals::rethrow() {
    if (!raised_) return;
    const nb::gil_scoped_acquire hold;
    throw nb::python_error();
}
