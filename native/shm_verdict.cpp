// How a group fails: one finding becomes the verdict, all ranks raise that one, and nothing works afterwards.
#include <cstdio>
#include <cstring>

#include "shm_fold.hpp"
#include "shm_group.hpp"

namespace shm {

namespace {

const char *const kReasons[] = {"", "lost", "stopped", "timeout", "mismatch", "aborted"};

// Adds to a text that may be full already.
struct Text {
    char *at;
    size_t room;
    template <class... Values>
    void add(const char *format, Values... values) {
        const int length = snprintf(at, room, format, values...);
        const size_t step = length < 0                           ? 0
                            : static_cast<size_t>(length) < room ? static_cast<size_t>(length)
                                                                 : room - 1;
        at += step;
        room -= step;
    }
};

void describe(Text &text, const Slot &slot, int size) {
    const Call &call = slot.call;
    const auto length = static_cast<unsigned long long>(slot.length);
    text.add("%s", kind_name(call.kind));
    switch (call.kind) {
        case Kind::broadcast:
            text.add("(root %d, %s[%llu])", call.argument, dtype_name(call.dtype), length);
            break;
        case Kind::allreduce: {
            const char *const names[] = {"SUM", "MIN", "MAX"};
            text.add("(%s, %s[%llu])", names[call.argument % 3], dtype_name(call.dtype), length);
            break;
        }
        case Kind::allgatherv:
            text.add("(%s, counts [", dtype_name(call.dtype));
            for (int rank = 0; rank < size && rank < kShownCounts; ++rank)
                text.add(rank ? ", %llu" : "%llu", static_cast<unsigned long long>(slot.counts[rank]));
            text.add(size > kShownCounts ? ", ...])" : "])");
            break;
        case Kind::region: text.add("(%s[%llu])", dtype_name(call.dtype), length); break;
        default: break;
    }
}

}  // namespace

const char *kind_name(Kind kind) {
    const char *const names[] = {"nothing",   "barrier", "allgatherv",           "allreduce",
                                 "broadcast", "fence",   "create_shared_region", "split_local"};
    const auto index = static_cast<size_t>(kind);
    return index < sizeof names / sizeof *names ? names[index] : "?";
}

bool RankSet::empty() const {
    for (const uint64_t word : words)
        if (word) return false;
    return true;
}

void RankSet::name(char *text, size_t room, int size) const {
    Text names{text, room};
    int count = 0;
    for (int rank = 0; rank < size; ++rank) count += has(rank);
    names.add(count == 1 ? "rank " : "ranks ");
    for (int rank = 0, seen = 0; rank < size; ++rank)
        if (has(rank)) names.add(seen++ ? ", %d" : "%d", rank);
}

void wake_everyone(Group &group) {
    const size_t offsets[] = {slot_offset(0), slot_offset(1), kWritten,
                              kReduced,       kConsumed,      offsetof(RankBlock, presence)};
    for (int rank = 0; rank < group.size; ++rank)
        for (const size_t offset : offsets) {
            Word &word = group.word(rank, offset);
            if (word.waiters.load(std::memory_order_seq_cst)) futex_wake(word.value);
        }
}

void settle(Group &group, int which, Reason reason, const RankSet &ranks, const char *text) {
    if (group.failed()) return;
    Finding &finding = group.block(group.rank).findings[which];
    finding.reason = reason;
    std::memcpy(finding.ranks, ranks.words, sizeof finding.ranks);
    snprintf(finding.text, sizeof finding.text, "%s", text);
    uint32_t open = 0;
    const auto mine = static_cast<uint32_t>(1 + 2 * group.rank + which);
    group.header->verdict.compare_exchange_strong(open, mine, std::memory_order_seq_cst);
    wake_everyone(group);
}

// Every rank sees the same slots, so every rank comes to the same words whoever is first.
void settle_mismatch(Group &group) {
    const auto call_of = [&](int rank) -> const Slot & { return group.block(rank).slot[group.turn & 1]; };
    const auto alike = [&](int a, int b) {
        return std::memcmp(&call_of(a).call, &call_of(b).call, sizeof(Call)) == 0;
    };
    const auto holders = [&](int of) {
        RankSet set;
        for (int rank = 0; rank < group.size; ++rank)
            if (alike(of, rank)) set.add(rank);
        return set;
    };
    char all[sizeof(Finding::text)];
    Text text{all, sizeof all};
    text.add("ranks called different things:");
    RankSet blamed;
    bool majority = false;
    for (int rank = 0, said = 0; rank < group.size; ++rank) {
        const RankSet set = holders(rank);
        int first = 0, count = 0;
        while (!set.has(first)) ++first;
        if (first != rank) continue;  // told already
        for (int other = 0; other < group.size; ++other) count += set.has(other);
        if (2 * count > group.size) {
            majority = true;
            for (int other = 0; other < group.size; ++other)
                if (!set.has(other)) blamed.add(other);
        }
        char names[256];
        set.name(names, sizeof names, group.size);
        text.add(said++ ? "; %s " : " %s ", names);
        describe(text, call_of(rank), group.size);
    }
    if (!majority)  // nobody can tell who is wrong
        for (int rank = 0; rank < group.size; ++rank) blamed.add(rank);
    settle(group, 0, mismatch, blamed, all);
}

PyObject *raise_error(const char *type, const char *message) {
    PyObject *errors = PyImport_ImportModule("pycobre.errors");
    PyObject *error = errors ? PyObject_GetAttrString(errors, type) : nullptr;
    PyObject *value = error ? PyObject_CallFunction(error, "s", message) : nullptr;
    if (value) PyErr_SetObject(error, value);
    Py_XDECREF(value);
    Py_XDECREF(error);
    Py_XDECREF(errors);
    return nullptr;
}

PyObject *raise_verdict(Group &group, Kind during) {
    const uint32_t verdict = group.header->verdict.load(std::memory_order_acquire) - 1;
    const Finding &finding = group.block(static_cast<int>(verdict / 2)).findings[verdict % 2];
    if (group.told) {
        char text[1200];
        snprintf(text, sizeof text, "this communicator failed before (%s): %s", kReasons[finding.reason],
                 finding.text);
        return raise_error("InvalidCommunicator", text);
    }
    group.told = true;
    PyObject *ranks = PyList_New(0);
    for (int rank = 0; ranks && rank < group.size; ++rank) {
        if (!(finding.ranks[rank / 64] >> (rank % 64) & 1)) continue;
        PyObject *number = PyLong_FromLong(rank);
        if (number) PyList_Append(ranks, number);
        Py_XDECREF(number);
    }
    PyObject *errors = PyImport_ImportModule("pycobre.errors");
    PyObject *error = errors ? PyObject_GetAttrString(errors, "CollectiveFailed") : nullptr;
    PyObject *value = error && ranks ? PyObject_CallFunction(error, "ssOs", kind_name(during),
                                                             kReasons[finding.reason], ranks, finding.text)
                                     : nullptr;
    if (value) PyErr_SetObject(error, value);
    Py_XDECREF(value);
    Py_XDECREF(error);
    Py_XDECREF(errors);
    Py_XDECREF(ranks);
    return nullptr;
}

}  // namespace shm
