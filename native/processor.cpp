#include "processor.hpp"

#include <sched.h>
#include <time.h>

namespace {

uint64_t read_ns(clockid_t clock) {
    timespec time;
    clock_gettime(clock, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

}  // namespace

uint64_t now_ns() { return read_ns(CLOCK_MONOTONIC); }

uint64_t coarse_now_ns() { return read_ns(CLOCK_MONOTONIC_COARSE); }

void leave_processor() {
    cpu_set_t all, others;
    if (sched_getaffinity(0, sizeof all, &all) != 0) return;
    others = all;
    CPU_CLR(sched_getcpu(), &others);
    if (CPU_COUNT(&others) == 0) return;
    if (sched_setaffinity(0, sizeof others, &others) == 0) sched_setaffinity(0, sizeof all, &all);
}
