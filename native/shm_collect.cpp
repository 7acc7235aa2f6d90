#include "shm_collect.hpp"

#include <algorithm>
#include <cstring>

#include "shm_copy.hpp"
#include "shm_direct.hpp"

namespace shm {

namespace {

constexpr size_t kLeastPiece = 32 << 10;
constexpr size_t kFoldAlone =
    256 << 10;  // more bytes than this to fold, over all ranks, are worth sharing out

// How a message is cut; the same on all ranks, since they agree on its length.
struct Cut {
    size_t piece;
    uint32_t count;
    Cut(size_t bytes, size_t least, size_t most = kPiece) {  // into *least* pieces or more
        const size_t wanted = std::min(most, std::max(bytes / least, kLeastPiece));
        const size_t pieces = (bytes + wanted - 1) / wanted;
        piece = ((bytes + pieces - 1) / pieces + 63) / 64 * 64;
        count = static_cast<uint32_t>((bytes + piece - 1) / piece);
    }
    // Where piece *index* of a message of *bytes* lies: empty when the message is shorter.
    size_t begin(uint32_t index) const { return index * piece; }
    size_t length(uint32_t index, size_t bytes) const {
        return begin(index) >= bytes ? 0 : std::min(piece, bytes - begin(index));
    }
};

// Some ranks copy in while others copy out, for which there must be several pieces; ranks that share processors
// pay for every one.
size_t staggered(const Group &group) { return group.crowded ? 4 : 8; }
constexpr size_t kAbreast = 2;  // where all ranks do the same at the same time, every piece only costs a wait
constexpr size_t kCached = 16 << 10;  // bytes that are still in the first cache when they are used again
constexpr size_t kFoldedPiece = 192 << 10;  // two rings and two arrays at once; larger ones leave the caches

Word &own(Turn &turn, size_t offset) { return turn.group.word(turn.group.rank, offset); }

// Every rank that *fills* puts pieces in its *ring*, and all drain everyone's one piece behind.
template <class Fill, class Drain>
bool stream(Turn &turn, uint32_t count, bool fills, const Ring &ring, Fill fill, Drain drain) {
    Group &group = turn.group;
    const uint32_t first = group.pieces;
    for (uint32_t step = 0; step <= count; ++step) {
        if (step < count) {
            if (fills) {  // the ring's oldest piece must have been taken by everyone
                if (!turn.wait_all(kConsumed, first + step + 1 - ring.depth)) return false;
                fill(step, ring.piece(step));
            }
            publish(own(turn, kWritten), first + step + 1);
        }
        if (step > 0) {
            if (!drain(step - 1, first + step - 1)) return false;
            publish(own(turn, kConsumed), first + step);
        }
    }
    group.pieces = first + count;
    publish(own(turn, kReduced), group.pieces);  // idle in these collectives, but it must keep the pace
    return true;
}

// A message that needs no piece of a ring: in the slot, or in a room. Made before the meeting, on all ranks.
class Small {
  public:
    Small(Turn &turn, size_t bytes)
        : turn_(turn), in_slot_(bytes <= kInline), at_(in_slot_ ? 0 : turn.group.place(bytes)) {}
    void post(const uint8_t *from, size_t bytes, uint8_t *also = nullptr) {
        Group &group = turn_.group;
        uint8_t *const to = in_slot_ ? turn_.slot(group.rank).payload : group.eager(group.rank, at_);
        group.writer.write(to, from, bytes, also);
    }
    // After the meeting the slots of the turn just posted are the ones to read.
    const uint8_t *of(int rank) const {
        const Group &group = turn_.group;
        return in_slot_ ? group.block(rank).slot[group.turn & 1].payload : group.eager(rank, at_);
    }

  private:
    Turn &turn_;
    bool in_slot_;
    size_t at_;
};

// Two ranks: each folds everything. Both read one foreign copy, which is the least that can be read.
bool fold_everything(Turn &turn, const uint8_t *send, uint8_t *recv, size_t bytes, size_t item, Fold fold) {
    Group &group = turn.group;
    const Cut cut(bytes, kAbreast, kFoldedPiece);
    return stream(
        turn, cut.count, true, group.ring(group.rank),
        [&](uint32_t index, uint8_t *place) {
            group.writer.write(place, send + cut.begin(index), cut.length(index, bytes));
        },
        [&](uint32_t index, uint32_t piece) {
            if (!turn.wait_all(kWritten, piece + 1)) return false;
            const uint8_t *parts[kMaxRanks];
            for (int rank = 0; rank < group.size; ++rank) parts[rank] = group.ring(rank).piece(index);
            if (send != recv) parts[group.rank] = send + cut.begin(index);
            fold(recv + cut.begin(index), parts, group.size, cut.length(index, bytes) / item);
            return true;
        });
}

// More ranks: rank q folds slice q of each piece for all, so that nobody reads everyone's everything.
bool fold_slices(Turn &turn, const uint8_t *send, uint8_t *recv, size_t bytes, size_t item, Fold fold) {
    Group &group = turn.group;
    const Cut cut(bytes, staggered(group));
    const Ring ring = group.ring(group.rank), results = group.results();
    alignas(64) uint8_t folded[kCached];
    const uint32_t first = group.pieces;
    const auto edge = [&](uint32_t index, int rank) {  // slices end at cache lines
        const size_t length = cut.length(index, bytes), lines = (length + 63) / 64;
        return std::min(length, lines * static_cast<size_t>(rank) / static_cast<size_t>(group.size) * 64);
    };
    for (uint32_t step = 0; step < cut.count + 2; ++step) {
        if (step < cut.count) {
            const uint32_t piece = first + step;
            if (!turn.wait_all(kConsumed, piece + 1 - ring.depth)) return false;
            group.writer.write(ring.piece(step), send + cut.begin(step), cut.length(step, bytes));
            publish(own(turn, kWritten), piece + 1);
        }
        if (step >= 1 && step - 1 < cut.count) {
            const uint32_t index = step - 1, piece = first + index;
            if (!turn.wait_all(kWritten, piece + 1)) return false;
            const size_t end = edge(index, group.rank + 1);
            const bool past = group.writer.past_caches();
            size_t at = edge(index, group.rank);
            while (at < end) {
                const size_t part = past ? std::min(kCached, end - at) : end - at;
                const uint8_t *parts[kMaxRanks];
                for (int rank = 0; rank < group.size; ++rank) parts[rank] = group.ring(rank).piece(index) + at;
                uint8_t *const result = results.piece(index) + at;
                fold(past ? folded : result, parts, group.size, part / item);
                if (past) group.writer.write(result, folded, part);
                at += part;
            }
            publish(own(turn, kReduced), piece + 1);
        }
        if (step >= 2) {
            const uint32_t index = step - 2, piece = first + index;
            for (int next = 0; next < group.size; ++next) {  // own slice first, then round the ring
                const int rank = (group.rank + next) % group.size;
                if (rank != group.rank && !turn.wait(rank, kReduced, piece + 1)) return false;
                const size_t begin = edge(index, rank), end = edge(index, rank + 1);
                copy(recv + cut.begin(index) + begin, results.piece(index) + begin, end - begin, bytes);
            }
            publish(own(turn, kConsumed), piece + 1);
        }
    }
    group.pieces = first + cut.count;
    return true;
}

}  // namespace

uint32_t digest(const uint64_t *values, size_t count) {
    uint64_t hash = 0x9e3779b97f4a7c15;
    for (size_t i = 0; i < count; ++i) {
        hash = (hash ^ values[i]) * 0xff51afd7ed558ccd;
        hash ^= hash >> 32;
    }
    return static_cast<uint32_t>(hash);
}

bool barrier(Turn &turn) { return turn.meet({turn.kind, 0, 0, 0}); }

bool allgatherv(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, const size_t *counts,
                const size_t *displs) {
    Group &group = turn.group;
    const int me = group.rank;
    size_t most = 0, total = 0;
    for (int rank = 0; rank < group.size; ++rank) {
        most = std::max(most, counts[rank]);
        total += counts[rank];
    }
    uint8_t *const own_part = send == recv + displs[me] ? nullptr : recv + displs[me];
    if (turn.direct(most)) return direct_allgatherv(turn, call, send, recv, counts, displs);
    if (most <= kEager) {
        Small small(turn, most);
        const bool at_once = most > kResting;  // of less, the own part waits until the others have theirs
        small.post(send, counts[me], at_once ? own_part : nullptr);
        if (!turn.meet(call)) return false;
        for (int rank = 0; rank < group.size; ++rank)
            if (rank != me) copy(recv + displs[rank], small.of(rank), counts[rank]);
        if (own_part && !at_once) copy(own_part, send, counts[me]);
        return true;
    }
    if (!turn.meet(call)) return false;
    turn.release_gil();
    const Cut cut(most, kAbreast);
    return stream(
        turn, cut.count, true, group.ring(me),
        [&](uint32_t index, uint8_t *place) {
            const size_t begin = cut.begin(index), length = cut.length(index, counts[me]);
            if (!own_part || total < kStream)
                return group.writer.write(place, send + begin, length, own_part ? own_part + begin : nullptr);
            for (size_t at = 0; at < length; at += kCached) {
                const size_t part = std::min(kCached, length - at);
                group.writer.write(place + at, send + begin + at, part);
                copy(own_part + begin + at, send + begin + at, part, total);
            }
        },
        [&](uint32_t index, uint32_t piece) {
            for (int next = 1; next < group.size; ++next) {
                const int rank = (me + next) % group.size;
                if (!turn.wait(rank, kWritten, piece + 1)) return false;
                copy(recv + displs[rank] + cut.begin(index), group.ring(rank).piece(index),
                     cut.length(index, counts[rank]), total);
            }
            return true;
        });
}

bool allreduce(Turn &turn, const Call &call, const uint8_t *send, uint8_t *recv, size_t count) {
    Group &group = turn.group;
    const size_t item = dtype_bytes(call.dtype), bytes = count * item;
    const Fold fold = fold_for(call.dtype, static_cast<Reduction>(call.argument));
    if (bytes <= std::min(kEager, kFoldAlone / static_cast<size_t>(group.size))) {
        Small small(turn, bytes);
        small.post(send, bytes);
        if (!turn.meet(call)) return false;
        const uint8_t *parts[kMaxRanks];
        for (int rank = 0; rank < group.size; ++rank) parts[rank] = small.of(rank);
        if (send != recv) parts[group.rank] = send;
        fold(recv, parts, group.size, count);
        return true;
    }
    if (turn.direct(bytes)) return direct_allreduce(turn, call, send, recv, bytes, fold);
    if (!turn.meet(call)) return false;
    turn.release_gil();
    return group.size <= 2 ? fold_everything(turn, send, recv, bytes, item, fold)
                           : fold_slices(turn, send, recv, bytes, item, fold);
}

bool broadcast(Turn &turn, const Call &call, uint8_t *buffer, size_t bytes, int root) {
    Group &group = turn.group;
    const bool sends = group.rank == root;
    if (turn.direct(bytes)) return direct_broadcast(turn, call, buffer, bytes, root);
    if (bytes <= kEager) {
        Small small(turn, bytes);
        if (sends) small.post(buffer, bytes);
        if (!turn.meet(call)) return false;
        if (!sends) copy(buffer, small.of(root), bytes);
        return true;
    }
    if (!turn.meet(call)) return false;
    turn.release_gil();
    const Cut cut(bytes, staggered(group));
    const Ring ring = group.all_rings();
    return stream(
        turn, cut.count, sends, ring,
        [&](uint32_t index, uint8_t *place) {
            group.writer.write(place, buffer + cut.begin(index), cut.length(index, bytes));
        },
        [&](uint32_t index, uint32_t piece) {
            if (sends) return true;
            if (!turn.wait(root, kWritten, piece + 1)) return false;
            copy(buffer + cut.begin(index), ring.piece(index), cut.length(index, bytes), bytes);
            return true;
        });
}

}  // namespace shm
