// What lies in the memory that all ranks map. Nothing here is ever locked: a rank that dies anywhere leaves
// words that the others can still read.
#pragma once
#include <algorithm>
#include <atomic>
#include <cstddef>
#include <cstdint>

#include "shm_copy.hpp"

namespace shm {

constexpr uint64_t kMagic = 0x31676572626f6370;  // "pcobreg1" as it lies in memory
constexpr uint32_t kVersion = 6;
constexpr int kMaxRanks = 256;
constexpr size_t kInline = 40;        // bytes that travel in the same cache line as the flag
constexpr size_t kEager = 128 << 10;  // bytes that travel in one piece
constexpr size_t kResting = 16 << 10;  // so many always travel in the same place, more in the next one of several
constexpr size_t kPlaces = 2 * kResting + kBehindLine;  // of a room: where the larger messages begin
constexpr size_t kDirect = 64 << 10;  // from here on ranks may read each other's memory
constexpr size_t kPiece = 256 << 10;  // larger messages go in pieces of at most this size
constexpr uint32_t kLeastDepth = 4;   // pieces of a ring; must exceed the depth of the longest pipeline (3)
constexpr uint32_t kAllPieces = 16;   // of the rings of up to four ranks together
constexpr int kShownCounts = 7;       // counts that a mismatch report can show of each rank

// A number that only grows, and how many processes sleep on it.
struct Word {
    std::atomic<uint32_t> value;
    std::atomic<uint32_t> waiters;
};
struct alignas(128) Flag {
    Word word;
};

enum class Kind : uint8_t { none, barrier, allgatherv, allreduce, broadcast, fence, region, split };

// The fingerprint of a call: published with every collective, compared by every rank before it uses data.
struct Call {
    Kind kind;
    uint8_t dtype;      // Dtype of shm_fold.hpp, 0 where there is none
    uint16_t argument;  // root or reduction
    uint32_t digest;    // of length and counts
};
static_assert(sizeof(Call) == 8, "compared as one 64-bit number");

// What a rank says of a large message.
struct Large {
    uint64_t send, recv;     // where its buffers lie in its own memory
    uint64_t entered, left;  // when it did so in the last call of the same kind and size
};
static_assert(sizeof(Large) <= kInline, "travels in the slot");

// Two of these alternate. Whoever posts turn k + 1 has read everything of turn k, and nobody can post k + 2
// before it has seen everyone's k + 1: so a slot is never overwritten under a reader.
struct alignas(128) Slot {
    Word posted;
    Call call;
    std::atomic<int32_t> processor;  // that the rank was on when it posted
    uint32_t unused;
    union {
        uint8_t payload[kInline];
        Large large;
    };  // the first cache line ends here
    uint64_t length;           // the second one is read only to explain a mismatch
    uint64_t counts[kShownCounts];
};
static_assert(sizeof(Slot) == 128 && offsetof(Slot, length) == 64, "flag and payload share one line");

// Writes what the second line says, unless it says so: the neighbour of a line that others read is in their
// caches, too, and to get it back takes as long as the whole meeting.
inline void note(uint64_t &place, uint64_t value) {
    if (place != value) place = value;
}

enum Presence : uint32_t { absent, present, closed, ended, gave_up };
enum Reason : uint32_t { lost = 1, stopped, timeout, mismatch, aborted };

// What a rank found out. It is complete before the verdict word points to it, so nobody reads half of one.
struct Finding {
    uint32_t reason;
    uint64_t ranks[kMaxRanks / 64];
    char text[984];
};

struct alignas(128) RankBlock {
    Slot slot[2];
    Flag written;   // pieces that this rank has put in its ring
    Flag reduced;   // pieces of which it has folded its own slice
    Flag consumed;  // pieces that it has taken from everyone else
    alignas(128) Word presence;
    std::atomic<int32_t> pid;  // whoever writes it first has this rank
    uint64_t born;       // start time of the process in clock ticks since boot: tells a reused pid
    uint64_t mapped_at;  // where this rank has the header: a first thing to read in its memory
    alignas(
        128) Finding findings[2];  // of the collective in progress; of abort(), which another thread may call
};

struct Header {
    uint64_t magic;
    uint32_t version;
    uint32_t size;
    uint64_t bytes;
    uint64_t job;
    uint32_t crowded;  // more ranks than usable processors: decided once, so that all ranks wait alike
    std::atomic<uint32_t> indirect;  // some rank can't read another's memory, or shall not
    std::atomic<uint32_t> always_direct;  // some rank shall read every large array; both final once all have joined
    alignas(128) std::atomic<uint32_t> ready;
    alignas(128) std::atomic<uint32_t> verdict;  // 0, or 1 + 2 * rank + finding: the first one stays
    alignas(128) RankBlock ranks[1];
};

// Rings and rooms of all ranks together are larger than a core's own cache: what comes round again has left the caches
// of those that read it. A line that is still there must be taken back from them, which takes three times as long as
// to fetch it.
struct Layout {
    uint32_t depth;  // pieces of a ring
    size_t room;     // bytes for the eager messages of one rank
    size_t eager, ring, result, bytes;
    explicit Layout(int size) {
        const auto ranks = static_cast<size_t>(size);
        depth = kLeastDepth;
        while (depth * 2 * std::max<size_t>(ranks, 2) <= kAllPieces) depth *= 2;
        room = kPlaces + 2 * depth * kEager + kLine - kBehindLine;
        eager = (offsetof(Header, ranks) + sizeof(RankBlock) * ranks + 4095) / 4096 * 4096;
        ring = eager + ranks * room + kBehindLine;
        result = ring + ranks * depth * kPiece;
        bytes = result + depth * kPiece;
    }
};

// Offsets of the words that ranks wait for, the same in every rank's block.
inline size_t slot_offset(uint32_t turn) { return offsetof(RankBlock, slot) + (turn & 1) * sizeof(Slot); }
constexpr size_t kWritten = offsetof(RankBlock, written);
constexpr size_t kReduced = offsetof(RankBlock, reduced);
constexpr size_t kConsumed = offsetof(RankBlock, consumed);

}  // namespace shm
