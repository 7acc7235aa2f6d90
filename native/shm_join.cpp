#include "shm_join.hpp"

#include <poll.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <cstdio>
#include <cstring>
#include <system_error>
#include <thread>

namespace shm {

namespace {

bool refuse(const char *message) {
    PyObject *errors = PyImport_ImportModule("pycobre.errors");
    PyObject *error = errors ? PyObject_GetAttrString(errors, "InitializationFailed") : nullptr;
    PyObject *value = error ? PyObject_CallFunction(error, "ss", "shm", message) : nullptr;
    if (value) PyErr_SetObject(error, value);
    Py_XDECREF(value);
    Py_XDECREF(error);
    Py_XDECREF(errors);
    return false;
}

Header *map(int descriptor, size_t bytes) {
    void *at = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_POPULATE, descriptor, 0);
    return at == MAP_FAILED ? nullptr : static_cast<Header *>(at);
}

// What is wrong with the segment, or an empty text.
void examine(const Header &header, const Group &group, uint64_t job, char *text, size_t room) {
    text[0] = '\0';
    if (header.ready.load(std::memory_order_acquire) != 1 || header.magic != kMagic)
        snprintf(text, room, "the segment is not one of ours");
    else if (header.version != kVersion)
        snprintf(text, room, "the segment is of protocol %u, this rank speaks %u: mixed versions of pycobre",
                 header.version, kVersion);
    else if (header.size != static_cast<uint32_t>(group.size))
        snprintf(text, room, "rank %d was told of %d ranks, but the segment was made for %u", group.rank,
                 group.size, header.size);
    else if (job != 0 && header.job != job)
        snprintf(text, room,
                 "the segment belongs to another job: this rank's variables are left over from a launch");
}

// Whether the kernel lets this rank read the others' memory: it may be forbidden, or their numbers mean other
// processes here.
bool can_read_everyone(const Group &group) {
    for (int rank = 0; rank < group.size; ++rank) {
        uint64_t found = 0;
        if (read_peer(group, rank, group.block(rank).mapped_at, &found, sizeof found) != 0 || found != kMagic)
            return false;
    }
    return true;
}

bool wait_for_everyone(Group &group, double seconds) {
    const uint64_t until = now_ns() + static_cast<uint64_t>(seconds * 1e9);
    char names[256], text[640];
    for (;;) {
        RankSet missing, dead, left;
        char absent[256];
        int first = -1;
        for (int rank = 0; rank < group.size; ++rank) {
            RankBlock &peer = group.block(rank);
            const uint32_t presence = peer.presence.value.load(std::memory_order_acquire);
            if (presence == gave_up) left.add(rank);
            const int pid = peer.pid.load(std::memory_order_acquire);
            if (presence < present) {
                missing.add(rank);
                if (first < 0) first = rank;
                if (pid != 0 && process_born(pid) == 0) dead.add(rank);  // on the way in, its start not noted yet
            } else if (presence == present && rank != group.rank && !process_is(pid, peer.born)) {
                dead.add(rank);
            }
        }
        if (missing.empty() && left.empty()) return true;
        const bool late = now_ns() > until;
        if (late || !dead.empty() || !left.empty()) {
            const RankSet &blamed = !dead.empty() ? dead : !left.empty() ? left : missing;
            blamed.name(names, sizeof names, group.size);
            if (!dead.empty())
                snprintf(text, sizeof text, "%s died during the start", names);
            else if (!left.empty() && missing.empty())
                snprintf(text, sizeof text, "%s gave up during the start", names);
            else if (!left.empty()) {
                missing.name(absent, sizeof absent, group.size);
                snprintf(text, sizeof text, "%s did not join, so %s gave up during the start", absent, names);
            }
            else
                snprintf(text, sizeof text, "%s did not join within %g s", names, seconds);
            return refuse(text);
        }
        Word &word = group.block(first).presence;
        Py_BEGIN_ALLOW_THREADS;
        word.waiters.fetch_add(1, std::memory_order_seq_cst);
        const uint32_t seen = word.value.load(std::memory_order_seq_cst);
        if (seen < present) futex_wait(word.value, seen, 50'000'000);
        word.waiters.fetch_sub(1, std::memory_order_relaxed);
        Py_END_ALLOW_THREADS;
        if (PyErr_CheckSignals() != 0) return false;
    }
}

}  // namespace

bool format_segment(int descriptor, int size, uint64_t job, bool crowded) {
    const size_t bytes = Layout(size).bytes;
    Header *header = map(descriptor, bytes);
    if (!header) return false;
    header->magic = kMagic;  // all other words are zero: the file is fresh
    header->version = kVersion;
    header->size = static_cast<uint32_t>(size);
    header->bytes = bytes;
    header->job = job;
    header->crowded = crowded;
    header->ready.store(1, std::memory_order_seq_cst);
    munmap(header, bytes);
    return true;
}

bool join(Group &group, int descriptor, uint64_t job, double join_seconds, int direct) {
    group.layout = Layout(group.size);
    const size_t bytes = group.layout.bytes;
    struct stat status;
    char text[512];
    if (fstat(descriptor, &status) != 0) {
        snprintf(text, sizeof text,
                 "descriptor %d is not open here: this rank's variables are left over from a launch",
                 descriptor);
        return refuse(text);
    }
    // A smaller file would kill us by SIGBUS at the first look.
    const auto actual = static_cast<size_t>(status.st_size);
    if (actual < sizeof(Header)) return refuse("the segment is not one of ours");
    Header *header = map(descriptor, actual);
    if (!header) return refuse("the segment can't be mapped");
    group.header = header;
    group.bytes = actual;
    for (int &pidfd : group.pidfds) pidfd = -1;
    examine(*header, group, job, text, sizeof text);
    if (!text[0] && actual != bytes)
        snprintf(text, sizeof text, "the segment has %zu bytes, not %zu", actual, bytes);
    RankBlock &me = header->ranks[group.rank];
    int32_t holder = 0;
    if (!text[0] && !me.pid.compare_exchange_strong(holder, getpid(), std::memory_order_seq_cst))
        snprintf(text, sizeof text, "rank %d is taken already, by process %d: a duplicate rank", group.rank,
                 holder);
    if (text[0]) {
        unmap(group);
        return refuse(text);
    }
    me.born = process_born(getpid());
    me.mapped_at = reinterpret_cast<uint64_t>(header);
    publish(me.presence, present);
    group.crowded = header->crowded != 0;
    group.yield_ns = 50'000;
    group.forks = forks();
    if (!wait_for_everyone(group, join_seconds)) {
        depart(group, gave_up);
        unmap(group);
        return false;
    }
    for (int rank = 0; rank < group.size; ++rank) {
        if (rank == group.rank) continue;
        const RankBlock &peer = group.block(rank);
        group.pidfds[rank] = open_pidfd(peer.pid);
        if (group.pidfds[rank] >= 0 && !process_is(peer.pid, peer.born)) {  // gone, its number perhaps reused
            ::close(group.pidfds[rank]);
            group.pidfds[rank] = -1;  // from here on /proc is asked, which knows the start time
        }
    }
    // Before the first meeting, so that whoever leaves that one knows what all ranks found.
    if (direct > 0) header->always_direct.store(1, std::memory_order_seq_cst);
    if (direct == 0 || !can_read_everyone(group)) header->indirect.store(1, std::memory_order_seq_cst);
    return true;
}

void depart(Group &group, Presence as) {
    if (!group.header || group.forks != forks()) return;  // a forked child is not this rank
    publish(group.block(group.rank).presence, as);
    wake_everyone(group);
}

void unmap(Group &group) {
    if (!group.header) return;
    munmap(group.header, group.bytes);
    group.header = nullptr;
    for (int &pidfd : group.pidfds) {
        if (pidfd >= 0) ::close(pidfd);
        pidfd = -1;
    }
}

bool watch_launcher(int pipe, int launcher) {
    const int pidfd = open_pidfd(launcher);
    const bool orphan = pidfd < 0 && errno == ESRCH;
    try {
        std::thread([pipe, pidfd, orphan] {
            sigset_t all;
            sigfillset(&all);
            pthread_sigmask(SIG_BLOCK, &all, nullptr);  // Python's handlers belong to the other threads
            // A rank that is stopped could not act on it: the kernel wakes it when its parent ends. (Were it
            // SIGKILL, the end of the mere thread that started us would kill us.)
            prctl(PR_SET_PDEATHSIG, SIGCONT);
            // Two ways to learn it: a copy of the pipe's other end may live on in a process forked from the
            // launcher, and a pidfd may not be had.
            pollfd ends[] = {{pipe, POLLIN, 0}, {pidfd, POLLIN, 0}};
            while (!orphan && poll(ends, 2, -1) <= 0) {
            }
            kill(getpid(), SIGTERM);  // a handler may still save something, for a second
            std::this_thread::sleep_for(std::chrono::seconds(1));
            kill(getpgrp() == getpid() ? 0 : getpid(),
                 SIGKILL);  // with what this rank has started, if that is apart
        }).detach();
    } catch (const std::system_error &) {
        return false;
    }
    return true;
}

}  // namespace shm
