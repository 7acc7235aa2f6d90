// The Python type of a group. Plain C API with vector calls: the binding is a third of what a small
// collective costs. Only calls whose arguments are plainly right are served here; any other goes to the
// Python method `_checked_<name>`, which owns all complaints, so that they read alike on every backend.
#include "shm_type.hpp"

#include <structmember.h>

#include <cstring>
#include <new>

#include "shm_arguments.hpp"
#include "shm_collect.hpp"
#include "shm_join.hpp"
#include "shm_use.hpp"

namespace shm {

bool usable(Group &group, Kind kind) {
    if (!group.header) return raise_error("InvalidCommunicator", "this communicator is closed"), false;
    if (group.forks != forks())
        return raise_error("InvalidCommunicator",
                           "this process was forked from a rank, it is not one itself"),
               false;
    if (group.busy)
        return raise_error("InvalidCommunicator",
                           "another thread (or a signal's handler) is using this communicator"),
               false;
    if (group.failed()) return raise_verdict(group, kind), false;
    return true;
}

namespace {

enum class Answer { done, failed, unclear };

Answer try_allreduce(Use &use, PyObject *const *args, bool) {
    const AllreduceArguments given(args);
    if (!given.ok) return Answer::unclear;
    Turn turn(use.group, use.kind);
    const uint64_t length = given.send.count();
    note(turn.slot(use.group.rank).length, length);
    const Call call{use.kind, given.send.dtype, static_cast<uint16_t>(given.op), digest(&length, 1)};
    return allreduce(turn, call, given.send.data(), given.recv.data(), length) ? Answer::done
                                                                               : Answer::failed;
}

Answer try_broadcast(Use &use, PyObject *const *args, bool) {
    const BroadcastArguments given(args, use.group.size);
    if (!given.ok) return Answer::unclear;
    Turn turn(use.group, use.kind);
    const uint64_t length = given.buffer.count();
    note(turn.slot(use.group.rank).length, length);
    const Call call{use.kind, given.buffer.dtype, static_cast<uint16_t>(given.root), digest(&length, 1)};
    return broadcast(turn, call, given.buffer.data(), given.buffer.bytes(), static_cast<int>(given.root))
               ? Answer::done
               : Answer::failed;
}

Answer try_allgatherv(Use &use, PyObject *const *args, bool vetted) {
    const int size = use.group.size, me = use.group.rank;
    const AllgathervArguments given(args, me, size, vetted);
    if (!given.ok) return Answer::unclear;
    const size_t item = dtype_bytes(given.send.dtype);
    Turn turn(use.group, use.kind);
    Slot &slot = turn.slot(me);
    size_t byte_counts[kMaxRanks], byte_displs[kMaxRanks];
    for (int rank = 0; rank < size; ++rank) {
        if (rank < kShownCounts) note(slot.counts[rank], given.counts[rank]);
        byte_counts[rank] = given.counts[rank] * item;
        byte_displs[rank] = given.displs[rank] * item;
    }
    const Call call{use.kind, given.send.dtype, 0, digest(given.counts, static_cast<size_t>(size))};
    return allgatherv(turn, call, given.send.data(), given.recv.data(), byte_counts, byte_displs)
               ? Answer::done
               : Answer::failed;
}

using Try = Answer (*)(Use &, PyObject *const *, bool);

template <Try attempt, Kind kind, int arity, bool vetted>
PyObject *collective(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                     const char *fallback) {
    {
        Use use(self, kind);
        if (!use.ok) return nullptr;
        if (count == arity && !keywords) {
            const Answer answer = attempt(use, args, vetted);
            if (answer != Answer::unclear) return use.finish(answer == Answer::done);
        }
    }
    if (vetted) {
        PyErr_SetString(PyExc_TypeError, "arguments that were checked are not plain");
        return nullptr;
    }
    return checked(fallback, self, args, count, keywords);
}

#define COLLECTIVE(name, arity)                                                                           \
    PyObject *name##_(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {      \
        return collective<try_##name, Kind::name, arity, false>(self, args, count, keywords,              \
                                                                "_checked_" #name);                       \
    }                                                                                                     \
    PyObject *plain_##name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) { \
        return collective<try_##name, Kind::name, arity, true>(self, args, count, keywords, nullptr);     \
    }
COLLECTIVE(allreduce, 3)
COLLECTIVE(broadcast, 2)
COLLECTIVE(allgatherv, 4)
#undef COLLECTIVE

template <Kind kind>
PyObject *meet_only(PyObject *self, PyObject *) {
    Use use(self, kind);
    if (!use.ok) return nullptr;
    bool done;
    {
        Turn turn(use.group, kind);
        done = barrier(turn);
    }
    return use.finish(done);
}

// _agree(kind, dtype, length, payload) -> [payload of every rank]: for what Python does collectively.
PyObject *agree(PyObject *self, PyObject *args) {
    int kind, dtype;
    unsigned long long length;
    const char *payload;
    Py_ssize_t bytes;
    if (!PyArg_ParseTuple(args, "iiKy#", &kind, &dtype, &length, &payload, &bytes)) return nullptr;
    if (bytes > static_cast<Py_ssize_t>(kInline)) {
        PyErr_SetString(PyExc_ValueError, "the payload is longer than a cache line holds");
        return nullptr;
    }
    Use use(self, static_cast<Kind>(kind));
    if (!use.ok) return nullptr;
    bool done;
    {
        Turn turn(use.group, use.kind);
        Slot &slot = turn.slot(use.group.rank);
        std::memset(slot.payload, 0, kInline);
        if (bytes) std::memcpy(slot.payload, payload, static_cast<size_t>(bytes));
        const uint64_t value = length;
        note(slot.length, value);
        done = turn.meet({use.kind, static_cast<uint8_t>(dtype), 0, digest(&value, 1)});
    }
    if (!done) return use.finish(false);
    PyObject *all = PyList_New(use.group.size);
    for (int rank = 0; all && rank < use.group.size; ++rank) {
        const Slot &slot = use.group.block(rank).slot[use.group.turn & 1];
        PyObject *item = PyBytes_FromStringAndSize(reinterpret_cast<const char *>(slot.payload), bytes);
        if (!item)
            Py_CLEAR(all);
        else
            PyList_SET_ITEM(all, rank, item);
    }
    return all;
}

PyObject *abort_(PyObject *self, PyObject *reason) {
    const char *why = PyUnicode_AsUTF8(reason);
    if (!why) return nullptr;
    Group &group = group_of(self);
    if (!group.header) return raise_error("InvalidCommunicator", "this communicator is closed");
    if (group.forks != forks()) Py_RETURN_NONE;
    RankSet me;
    me.add(group.rank);
    char text[sizeof(Finding::text)];
    snprintf(text, sizeof text, "rank %d aborted: %s", group.rank, why);
    settle(group, 1, aborted, me, text);
    Py_RETURN_NONE;
}

// For tests: the next so many bytes are written past the caches, whatever would be quicker.
PyObject *write_past_caches(PyObject *self, PyObject *bytes) {
    const size_t count = PyLong_AsSize_t(bytes);
    if (PyErr_Occurred()) return nullptr;
    group_of(self).writer.write_past_caches(count);
    Py_RETURN_NONE;
}

PyObject *close_(PyObject *self, PyObject *) {
    Group &group = group_of(self);
    if (!group.header) Py_RETURN_NONE;
    if (group.busy)
        return raise_error("InvalidCommunicator", "another thread is in a collective: abort() it first");
    depart(group, closed);
    unmap(group);
    Py_RETURN_NONE;
}

PyObject *end_(PyObject *self, PyObject *) {  // at exit: threads may still be inside, so nothing is unmapped
    depart(group_of(self), ended);
    Py_RETURN_NONE;
}

PyObject *make(PyTypeObject *type, PyObject *, PyObject *) {
    PyObject *self = type->tp_alloc(type, 0);
    if (self) new (&group_of(self)) Group;  // tp_alloc only zeroes it
    return self;
}

int init(PyObject *self, PyObject *args, PyObject *) {
    Group &group = group_of(self);
    int descriptor, rank, size;
    unsigned long long job;
    double timeout, join_seconds;
    int direct;
    if (!PyArg_ParseTuple(args, "iiiKddi", &descriptor, &rank, &size, &job, &timeout, &join_seconds, &direct))
        return -1;
    if (group.header || size < 1 || size > kMaxRanks || rank < 0 || rank >= size) {
        PyErr_Format(PyExc_ValueError, "a group has 1 to %d ranks and is joined once", kMaxRanks);
        return -1;
    }
    group.rank = rank;
    group.size = size;
    group.timeout_ns = timeout > 0 ? static_cast<uint64_t>(timeout * 1e9) : 0;
    return join(group, descriptor, job, join_seconds, direct) ? 0 : -1;
}

void dealloc(PyObject *self) {
    Group &group = group_of(self);
    depart(group, ended);
    unmap(group);
    PyTypeObject *type = Py_TYPE(self);
    group_of(self).~Group();
    type->tp_free(self);
    Py_DECREF(type);
}

#define FAST(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))
constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
PyMethodDef methods[] = {{"allgatherv", FAST(allgatherv_), kFast, nullptr},
                         {"allreduce", FAST(allreduce_), kFast, nullptr},
                         {"broadcast", FAST(broadcast_), kFast, nullptr},
                         {"prepare_allreduce", FAST(prepare_allreduce), kFast, nullptr},
                         {"barrier", meet_only<Kind::barrier>, METH_NOARGS, nullptr},
                         {"abort", abort_, METH_O, nullptr},
                         {"close", close_, METH_NOARGS, nullptr},
                         {"_plain_allgatherv", FAST(plain_allgatherv), kFast, nullptr},
                         {"_plain_allreduce", FAST(plain_allreduce), kFast, nullptr},
                         {"_plain_broadcast", FAST(plain_broadcast), kFast, nullptr},
                         {"_fence", meet_only<Kind::fence>, METH_NOARGS, nullptr},
                         {"_agree", agree, METH_VARARGS, nullptr},
                         {"_write_past_caches", write_past_caches, METH_O, nullptr},
                         {"_end", end_, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
constexpr Py_ssize_t kGroup = offsetof(GroupObject, group);
PyMemberDef members[] = {{"rank", T_INT, kGroup + offsetof(Group, rank), READONLY, nullptr},
                         {"size", T_INT, kGroup + offsetof(Group, size), READONLY, nullptr},
                         {"_direct_calls", T_UINT, kGroup + offsetof(Group, direct_calls), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_init, reinterpret_cast<void *>(init)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {Py_tp_new, reinterpret_cast<void *>(make)},
                       {0, nullptr}};
PyType_Spec spec = {"pycobre._native.shm.Group", sizeof(GroupObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyObject *make_group_type() {
    PyObject *numpy = PyImport_ImportModule("numpy");
    ndarray = numpy ? reinterpret_cast<PyTypeObject *>(PyObject_GetAttrString(numpy, "ndarray")) : nullptr;
    Py_XDECREF(numpy);
    return ndarray && make_prepared_type() ? PyType_FromSpec(&spec) : nullptr;
}

}  // namespace shm
