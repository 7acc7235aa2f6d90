// One rank's view of the group: its mapping, its peers, and how it waits for them.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "busy_threads.hpp"
#include "processor.hpp"
#include "shm_layout.hpp"
#include "shm_trial.hpp"
#include "shm_write.hpp"

namespace shm {

// Places for the pieces of one call, which take turns; the call begins where the last one ended.
struct Ring {
    uint8_t *start;
    uint32_t depth, first;
    uint8_t *piece(uint32_t index) const { return start + (first + index) % depth * kPiece; }
};

struct Group {
    Header *header = nullptr;  // null once closed
    size_t bytes = 0;
    int rank = 0;
    int size = 0;
    Layout layout{1};
    uint32_t turn = 0;    // collectives that this rank has posted
    uint32_t direct_calls = 0;  // collectives whose data ranks read where they lay
    size_t next_place = kPlaces;  // of an eager message, in every rank's room; equal on all ranks
    Writer writer;
    uint32_t pieces = 0;  // pieces that all large messages so far were cut into; equal on all ranks
    bool crowded = false;
    bool readable = false;  // ranks may read each other's memory: none before the first meeting, then all or none
    bool always_direct = false;  // they do so with all that is large: no trial
    bool busy = false;  // a thread is in a collective; guarded by the GIL
    bool told = false;  // the failure was raised once; later calls only refer to it
    bool abort_found = false;
    uint64_t timeout_ns = 0;  // limit of one collective; 0 is none
    uint64_t moved_ns = 0;    // when this rank last left its processor to another one
    uint64_t yield_ns = 0;    // how long the next wait yields before it sleeps: adapts to what pays
    BusyThreads threads;
    Trial trials[kTrialKinds][kTrialSizes];
    unsigned forks = 0;       // forks before this group was joined: a child must not act as this rank
    int pidfds[kMaxRanks];

    RankBlock &block(int of) const { return header->ranks[of]; }
    Word &word(int of, size_t offset) const {
        return *reinterpret_cast<Word *>(reinterpret_cast<char *>(&block(of)) + offset);
    }
    uint8_t *base() const { return reinterpret_cast<uint8_t *>(header); }
    // Where an eager message of the coming turn lies in every rank's room: never where the one of the turn before does,
    // which some rank may still be reading.
    size_t place(size_t bytes) {
        if (bytes <= kResting) return ((turn + 1) & 1) * kResting;
        const size_t at = next_place + bytes > layout.room ? kPlaces : next_place;
        next_place = at + (bytes + kLine - 1) / kLine * kLine;
        return at;
    }
    uint8_t *eager(int of, size_t at) const {
        return base() + layout.eager + static_cast<size_t>(of) * layout.room + at;
    }
    // Whoever has posted a call has taken everything of the one before. So after a meeting all rings are free, for any
    // use of that call: where only one rank writes, it has those of all.
    Ring ring(int of) const {
        return ring_at(layout.ring + static_cast<size_t>(of) * layout.depth * kPiece, layout.depth);
    }
    Ring all_rings() const { return ring_at(layout.ring, layout.depth * static_cast<uint32_t>(size)); }
    Ring results() const { return ring_at(layout.result, layout.depth); }
    Ring ring_at(size_t offset, uint32_t depth) const { return {base() + offset, depth, pieces % depth}; }
    bool failed() const { return header->verdict.load(std::memory_order_acquire) != 0; }
};

// Forks of this process so far, kept by a handler that runs in every child.
unsigned forks();

const char *kind_name(Kind kind);

// Sequence numbers wrap: compare by signed difference.
inline bool reached(uint32_t value, uint32_t target) { return static_cast<int32_t>(value - target) >= 0; }

long futex_wait(std::atomic<uint32_t> &word, uint32_t seen, uint64_t nanoseconds);
void futex_wake(std::atomic<uint32_t> &word);

// Dekker's pattern: the exchange is a full fence between the value and the look at the sleepers. A plain
// release store may be overtaken by that look, and a sleeper then misses its wake-up.
inline void publish(Word &word, uint32_t value) {
    word.value.exchange(value, std::memory_order_seq_cst);
    if (__builtin_expect(word.waiters.load(std::memory_order_seq_cst) != 0, 0)) futex_wake(word.value);
}

// ---- shm_verdict.cpp
struct RankSet {
    uint64_t words[kMaxRanks / 64] = {};
    void add(int rank) { words[rank / 64] |= uint64_t{1} << (rank % 64); }
    bool has(int rank) const { return words[rank / 64] >> (rank % 64) & 1; }
    bool empty() const;
    void name(char *text, size_t room, int size) const;  // "rank 1" or "ranks 1, 3"
};

// Settles why the group fails, unless that is settled already, and wakes everyone to hear it.
void settle(Group &group, int finding, Reason reason, const RankSet &ranks, const char *text);
void wake_everyone(Group &group);
void settle_mismatch(Group &group);

// Raises the verdict as CollectiveFailed the first time, as InvalidCommunicator afterwards. Returns null.
PyObject *raise_verdict(Group &group, Kind during);
PyObject *raise_error(const char *type, const char *message);

// ---- shm_peers.cpp
bool process_is(int pid, uint64_t born);  // false when gone, a zombie, or another process by now
bool process_stopped(int pid);
uint64_t process_born(int pid);           // start time, 0 when gone or a zombie
int open_pidfd(int pid);

// Looks at every peer: settles a verdict and returns false when one is lost or left before *turn*.
bool peers_alive(Group &group, uint32_t turn, Kind during);
// Reads *bytes* at *from* in the memory of *rank*; returns 0 or the error's number.
int read_peer(const Group &group, int rank, uint64_t from, void *to, size_t bytes);
// The time is over: settles who is stopped, or else who has not reached *target*.
void settle_timeout(Group &group, size_t offset, uint32_t target, int only, Kind during, double seconds);

// ---- shm_wait.cpp
// One collective of this rank: waits with ever more patience, the GIL released after a moment.
class Turn {
  public:
    Turn(Group &group, Kind kind) : group(group), kind(kind) { group.threads.begin(); }
    ~Turn() {
        if (trial_) end_trial();
        hold_gil();
    }
    Turn(const Turn &) = delete;
    Turn &operator=(const Turn &) = delete;

    void release_gil() {
        if (!saved_) saved_ = PyEval_SaveThread();
    }
    void hold_gil() {
        if (saved_) take_gil_back();
    }

    // All return false when the group has failed or a signal handler raised; nothing may be read then.
    bool wait(int rank, size_t offset, uint32_t target) {
        Word &word = group.word(rank, offset);
        for (int i = 0; i < 200; ++i)
            if (reached(word.value.load(std::memory_order_acquire), target)) return true;
        return wait_longer(rank, word, offset, target);
    }
    bool wait_all(size_t offset, uint32_t target) {
        for (int rank = 0; rank < group.size; ++rank)
            if (rank != group.rank && !wait(rank, offset, target)) return false;
        return true;
    }

    Slot &slot(int rank) const { return group.block(rank).slot[(group.turn + 1) & 1]; }  // of the coming turn
    // Posts this rank's call and waits until all ranks have posted the same one.
    bool meet(const Call &call);
    // Whether ranks read the *bytes* of this call where they lie; all say the same. Before the meeting.
    bool direct(size_t bytes);  // shm_trial.cpp

    Group &group;
    const Kind kind;

  private:
    bool wait_longer(int rank, Word &word, size_t offset, uint32_t target);
    void take_gil_back();
    bool beside(int rank, size_t offset, uint32_t target) const;
    bool look_around(int rank, size_t offset, uint32_t target);
    void learn();
    void end_trial();

    PyThreadState *saved_ = nullptr;
    uint64_t started_ = 0;
    uint64_t looked_ = 0;
    Trial *trial_ = nullptr;  // that this call belongs to
};

}  // namespace shm
