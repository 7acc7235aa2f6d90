#include <immintrin.h>
#include <linux/futex.h>
#include <sched.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>

#include "shm_group.hpp"

namespace shm {

namespace {
constexpr uint64_t kHoldGil = 20'000;     // letting go of the GIL costs more than a rank that is nearly here
constexpr uint64_t kPause = 10'000;       // busy, while the awaited rank has a processor of its own
constexpr uint64_t kPauseCrowded = 1'000; // about a change of tasks on the other processor
// Then give way. An idle processor of a virtual machine takes 200 µs and more to wake up.
constexpr uint64_t kYield = 1'000'000, kLeastYield = 250'000;
// Where ranks share processors a sibling may be the one to come.
constexpr uint64_t kYieldCrowded = 100'000, kLeastYieldCrowded = 4'000;
constexpr uint64_t kMove = 10'000'000;   // between two moves to another processor
constexpr uint64_t kSlice = 50'000'000;  // then sleep, and look around this often
}  // namespace

long futex_wait(std::atomic<uint32_t> &word, uint32_t seen, uint64_t nanoseconds) {
    const timespec limit{static_cast<time_t>(nanoseconds / 1'000'000'000),
                         static_cast<long>(nanoseconds % 1'000'000'000)};
    return syscall(SYS_futex, &word, FUTEX_WAIT, seen, &limit, nullptr, 0);
}

void futex_wake(std::atomic<uint32_t> &word) {
    syscall(SYS_futex, &word, FUTEX_WAKE, 0x7fffffff, nullptr, nullptr, 0);
}

void Turn::take_gil_back() {
    group.threads.take_back(saved_);
    saved_ = nullptr;
}

// Whether a rank that is waited for was last seen on this processor: then it needs it, and spinning is waste.
bool Turn::beside(int rank, size_t offset, uint32_t target) const {
    const int here = sched_getcpu();
    const auto shares = [&](int other) {
        return group.block(other).slot[(group.turn + 1) & 1].processor.load(std::memory_order_relaxed) == here;
    };
    if (offset >= kWritten) return shares(rank);
    for (int other = rank; other < group.size; ++other)  // a meeting waits for all that follow, too
        if (other != group.rank && shares(other) &&
            !reached(group.word(other, offset).value.load(std::memory_order_acquire), target))
            return true;
    return false;
}

bool Turn::wait_longer(int rank, Word &word, size_t offset, uint32_t target) {
    const auto here = [&] { return reached(word.value.load(std::memory_order_acquire), target); };
    uint64_t start = now_ns();
    if (!started_) started_ = looked_ = start;

    bool holds = group.threads.found() && !saved_;
    bool lends = !group.threads.apart(start);
    uint64_t since = start, now = start;  // the last yield, and this moment
    uint64_t renew = start + BusyThreads::kLend;
    while (now - start < (holds ? BusyThreads::kHold : kPause + group.yield_ns)) {
        if (now - since < (group.crowded ? kPauseCrowded : kPause) && !beside(rank, offset, target)) {
            for (int i = 0; i < 16; ++i) {
                if (here()) return true;
                _mm_pause();
            }
        } else {
            if (!group.crowded && start - group.moved_ns > kMove && beside(rank, offset, target)) {
                leave_processor();
                group.moved_ns = start;
            } else {
                sched_yield();
            }
            if (here()) {
                const uint64_t most = group.crowded ? kYieldCrowded : kYield;
                group.yield_ns = std::min(most, group.yield_ns + group.yield_ns / 4);
                return true;
            }
            if (group.crowded) since = now_ns();
        }
        now = now_ns();
        if (holds && now > renew) {
            if (lends) {
                release_gil();
                hold_gil();
                holds = group.threads.found();
                start = since = now_ns();
                lends = false;
            } else {
                group.threads.renew();
            }
            now = now_ns();
            renew = group.threads.renewal();
        }
        if (!holds && now - start > kHoldGil) release_gil();
    }
    release_gil();
    const uint64_t least = group.crowded ? kLeastYieldCrowded : kLeastYield;
    if (!holds) group.yield_ns = std::max(least, group.yield_ns / 2);  // it did not pay this time

    while (!here()) {
        if (group.failed()) return false;
        // The other half of Dekker's pattern: be counted first, look once more, then sleep.
        word.waiters.fetch_add(1, std::memory_order_seq_cst);
        const uint32_t seen = word.value.load(std::memory_order_seq_cst);
        bool signalled = false;
        if (!reached(seen, target) && group.header->verdict.load(std::memory_order_seq_cst) == 0)
            signalled = futex_wait(word.value, seen, kSlice) != 0 && errno == EINTR;
        word.waiters.fetch_sub(1, std::memory_order_relaxed);
        if ((signalled || now_ns() - looked_ >= kSlice) && !here() && !look_around(rank, offset, target))
            return false;
    }
    return true;
}

bool Turn::look_around(int rank, size_t offset, uint32_t target) {
    hold_gil();
    if (PyErr_CheckSignals() != 0) {
        RankSet me;
        me.add(group.rank);
        char text[160];
        snprintf(text, sizeof text, "rank %d was interrupted by a signal in %s", group.rank, kind_name(kind));
        settle(group, 0, aborted, me, text);
        group.told = true;  // what the signal handler raised is this rank's report
        return false;
    }
    release_gil();
    looked_ = now_ns();
    if (group.failed() || !peers_alive(group, group.turn, kind)) return false;
    if (group.timeout_ns && looked_ - started_ >= group.timeout_ns) {
        settle_timeout(group, offset, target, rank, kind, static_cast<double>(group.timeout_ns) * 1e-9);
        return false;
    }
    return true;
}

bool Turn::meet(const Call &call) {
    Slot &mine = slot(group.rank);
    mine.call = call;
    mine.processor.store(sched_getcpu(), std::memory_order_relaxed);
    const uint32_t turn = ++group.turn;
    publish(mine.posted, turn);
    const size_t offset = slot_offset(turn);
    if (!wait_all(offset, turn)) return false;
    if (turn == 1) {
        group.readable = group.header->indirect.load(std::memory_order_relaxed) == 0;
        group.always_direct = group.header->always_direct.load(std::memory_order_relaxed) != 0;
    }
    uint64_t ours;
    std::memcpy(&ours, &call, sizeof ours);
    bool same = true;
    for (int rank = 0; rank < group.size; ++rank) {
        uint64_t theirs;
        std::memcpy(&theirs, &group.block(rank).slot[turn & 1].call, sizeof theirs);
        same &= ours == theirs;
    }
    if (!same)
        settle_mismatch(group);
    else if (trial_)
        learn();
    return same;
}

}  // namespace shm
