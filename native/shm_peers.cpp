// Are the others still there? Known from the kernel, never from a heartbeat: a solver may hold a rank's
// interpreter for minutes.
#include <fcntl.h>
#include <poll.h>
#include <pthread.h>
#include <sys/syscall.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <cstdlib>
#include <cstring>

#include "shm_group.hpp"

namespace shm {

namespace {

unsigned fork_count = 0;

// State letter and start time from /proc/PID/stat; '\0' when there is no such process.
char read_stat(int pid, uint64_t &born) {
    char path[32], text[1024];
    snprintf(path, sizeof path, "/proc/%d/stat", pid);
    const int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return '\0';
    const ssize_t length = read(file, text, sizeof text - 1);
    close(file);
    if (length <= 0) return '\0';
    text[length] = '\0';
    // The name in parentheses may hold anything, a parenthesis too: fields count from the last one.
    const char *field = strrchr(text, ')');
    if (!field || !field[1] || !field[2]) return '\0';
    const char state = field[2];
    for (int number = 3; number <= 22 && field; ++number) field = strchr(field + 1, ' ');
    born = field ? strtoull(field, nullptr, 10) : 0;
    return state;
}

// A closed rank is missed only by a collective that it never entered.
bool entered(const Group &group, int rank, uint32_t turn) {
    return reached(group.word(rank, slot_offset(turn)).value.load(std::memory_order_acquire), turn);
}

}  // namespace

unsigned forks() {
    static const int registered = pthread_atfork(nullptr, nullptr, [] { ++fork_count; });
    (void)registered;
    return fork_count;
}

uint64_t process_born(int pid) {
    uint64_t born = 0;
    const char state = read_stat(pid, born);
    return state && state != 'Z' && state != 'X' ? born : 0;
}

bool process_is(int pid, uint64_t born) { return born != 0 && process_born(pid) == born; }

bool process_stopped(int pid) {
    uint64_t born = 0;
    const char state = read_stat(pid, born);
    return state == 'T' || state == 't';
}

int open_pidfd(int pid) { return static_cast<int>(syscall(SYS_pidfd_open, pid, 0)); }

int read_peer(const Group &group, int rank, uint64_t from, void *to, size_t bytes) {
    const int pid = group.block(rank).pid.load(std::memory_order_relaxed);
    while (bytes) {
        const iovec here{to, bytes}, there{reinterpret_cast<void *>(from), bytes};
        const ssize_t taken = process_vm_readv(pid, &here, 1, &there, 1, 0);
        if (taken <= 0) return taken < 0 ? errno : EFAULT;
        from += static_cast<uint64_t>(taken);
        to = static_cast<char *>(to) + taken;
        bytes -= static_cast<size_t>(taken);
    }
    return 0;
}

bool peers_alive(Group &group, uint32_t turn, Kind during) {
    pollfd polls[kMaxRanks];
    for (int rank = 0; rank < group.size; ++rank)
        polls[rank] = {group.pidfds[rank], POLLIN, 0};  // -1: ignored
    poll(polls, static_cast<nfds_t>(group.size), 0);

    RankSet gone, left;
    for (int rank = 0; rank < group.size; ++rank) {
        if (rank == group.rank) continue;
        RankBlock &peer = group.block(rank);
        // Asked before its presence is read: a rank closes first and dies later.
        const bool dead =
            group.pidfds[rank] >= 0 ? polls[rank].revents != 0 : !process_is(peer.pid, peer.born);
        const uint32_t presence = peer.presence.value.load(std::memory_order_acquire);
        if (presence == present && dead)
            gone.add(rank);
        else if (presence == ended)
            gone.add(rank);
        else if (presence == closed && !entered(group, rank, turn))
            left.add(rank);
    }
    if (gone.empty() && left.empty()) return true;
    const bool died = !gone.empty();
    char names[256], text[512];
    (died ? gone : left).name(names, sizeof names, group.size);
    snprintf(text, sizeof text,
             died ? "%s disappeared: killed, or ended without close()"
                  : "%s closed the communicator while others were in %s",
             names, kind_name(during));
    settle(group, 0, lost, died ? gone : left, text);
    return false;
}

void settle_timeout(Group &group, size_t offset, uint32_t target, int only, Kind during, double seconds) {
    RankSet asleep, late;
    for (int rank = 0; rank < group.size; ++rank) {
        if (rank == group.rank) continue;
        if (process_stopped(group.block(rank).pid)) asleep.add(rank);
        // Whom a broadcast waits for is one rank; the others owe nothing at this offset.
        if (!reached(group.word(rank, offset).value.load(std::memory_order_acquire), target) &&
            (offset < kWritten || rank == only))
            late.add(rank);
    }
    if (late.empty()) late.add(only);
    const bool suspended = !asleep.empty();
    char names[256], text[512];
    (suspended ? asleep : late).name(names, sizeof names, group.size);
    snprintf(text, sizeof text, "%s %s; %s has waited for %g s, the limit of one collective", names,
             suspended ? "stopped (suspended, not dead)" : "did not come in time", kind_name(during),
             seconds);
    settle(group, 0, suspended ? stopped : timeout, suspended ? asleep : late, text);
}

}  // namespace shm
