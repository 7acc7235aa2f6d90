#include "shm_direct.hpp"

#include <unistd.h>

#include <algorithm>
#include <atomic>
#include <cstdio>
#include <cstring>

#include "shm_copy.hpp"

namespace shm {

namespace {

constexpr size_t kStretch = 4 << 20;  // bytes between two looks whether the group has failed
constexpr size_t kBlock = 64 << 10;   // of an operand, still in the cache when it is folded
constexpr int kEnding = 5'000;        // milliseconds that a killed process may take to be gone

bool meet_exposed(Turn &turn, const Call &call, const void *send, const void *recv, size_t bytes) {
    Large &mine = turn.slot(turn.group.rank).large;
    mine.send = reinterpret_cast<uint64_t>(send);
    mine.recv = reinterpret_cast<uint64_t>(recv);
    if (!turn.meet(call)) return false;
    if (bytes > kEager) turn.release_gil();
    return true;
}

const Large &exposed(const Group &group, int rank) { return group.block(rank).slot[group.turn & 1].large; }

// A process that is killed loses its memory before it counts as dead: wait for the better reason.
bool settle_unreadable(Turn &turn, int rank, int error) {
    Group &group = turn.group;
    turn.release_gil();
    for (int waited = 0; waited < kEnding; ++waited) {
        if (group.failed() || !peers_alive(group, group.turn, turn.kind)) return false;
        usleep(1'000);
    }
    RankSet me;
    me.add(group.rank);
    char text[240];
    snprintf(text, sizeof text,
             "rank %d can't read the array of rank %d (%s); COBRE_SHM_DIRECT=0 makes ranks copy through the "
             "segment",
             group.rank, rank, strerror(error));
    settle(group, 0, aborted, me, text);
    return false;
}

// Whoever sees the group fail leaves its call, and its array is its own again: what was read counts only if the group
// had not failed by then.
bool read(Turn &turn, int rank, uint64_t from, uint8_t *to, size_t bytes) {
    for (size_t at = 0; at < bytes; at += kStretch) {
        const int error = read_peer(turn.group, rank, from + at, to + at, std::min(kStretch, bytes - at));
        if (error) return settle_unreadable(turn, rank, error);
        std::atomic_thread_fence(std::memory_order_acquire);
        if (turn.group.failed()) return false;
    }
    return true;
}

// Says that this rank has read all it needs. What a rank exposed is its own again once all have said so.
bool finish(Turn &turn, bool exposes) {
    Group &group = turn.group;
    const uint32_t done = ++group.pieces;
    ++group.direct_calls;
    for (const size_t offset : {kWritten, kReduced, kConsumed})
        publish(group.word(group.rank, offset), done);
    return !exposes || turn.wait_all(kConsumed, done);
}

}  // namespace

bool direct_allgatherv(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, const size_t *counts,
                       const size_t *displs) {
    Group &group = turn.group;
    const int me = group.rank;
    size_t total = 0;
    for (int rank = 0; rank < group.size; ++rank) total += counts[rank];
    // The own part first: the wait for the others is then used, and what the caller has just written is in no
    // other core's cache yet.
    if (total > kEager) turn.release_gil();
    if (send != recv + displs[me]) copy(recv + displs[me], send, counts[me], total);
    if (!meet_exposed(turn, call, send, nullptr, total)) return false;
    for (int next = 1; next < group.size; ++next) {  // each begins elsewhere
        const int rank = (me + next) % group.size;
        if (!read(turn, rank, exposed(group, rank).send, recv + displs[rank], counts[rank])) return false;
    }
    return finish(turn, true);
}

// Rank q folds slice q for all, block by block. In place that is safe, too: nobody else reads slice q of rank q
// before it is folded, and a folded slice goes to ranks whose own operands there have been read.
bool direct_allreduce(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, size_t bytes,
                      Fold fold) {
    Group &group = turn.group;
    const int me = group.rank;
    const auto ranks = static_cast<size_t>(group.size);
    const size_t item = dtype_bytes(call.dtype), lines = (bytes + 63) / 64;
    const auto edge = [&](int rank) { return std::min(bytes, lines * static_cast<size_t>(rank) / ranks * 64); };
    if (!meet_exposed(turn, call, send, recv, bytes)) return false;

    uint8_t *const room = group.ring(me).start;  // nobody else looks into it meanwhile
    const size_t block = std::min(kBlock, kLeastDepth * kPiece / ranks / 64 * 64);
    const size_t end = edge(me + 1);
    for (size_t at = edge(me); at < end; at += block) {
        const size_t length = std::min(block, end - at);
        const uint8_t *parts[kMaxRanks];
        for (int rank = 0; rank < group.size; ++rank) {
            uint8_t *const part = room + static_cast<size_t>(rank) * block;
            parts[rank] = part;
            if (rank != me) {
                if (!read(turn, rank, exposed(group, rank).send + at, part, length)) return false;
            } else if (send != recv) {
                parts[rank] = send + at;
            } else {
                std::memcpy(part, send + at, length);
            }
        }
        fold(recv + at, parts, group.size, length / item);
    }
    const uint32_t folded = group.pieces + 1;
    publish(group.word(me, kReduced), folded);
    for (int next = 1; next < group.size; ++next) {
        const int rank = (me + next) % group.size;
        if (!turn.wait(rank, kReduced, folded)) return false;
        const size_t begin = edge(rank);
        if (!read(turn, rank, exposed(group, rank).recv + begin, recv + begin, edge(rank + 1) - begin))
            return false;
    }
    return finish(turn, true);
}

bool direct_broadcast(Turn &turn, const Call &call, uint8_t *buffer, size_t bytes, int root) {
    Group &group = turn.group;
    const bool sends = group.rank == root;
    if (!meet_exposed(turn, call, buffer, nullptr, bytes)) return false;
    if (!sends && !read(turn, root, exposed(group, root).send, buffer, bytes)) return false;
    return finish(turn, sends);
}

}  // namespace shm
