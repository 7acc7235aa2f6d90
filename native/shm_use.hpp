// The Python object of a group, and what every call on it passes first.
#pragma once
#include "shm_group.hpp"

namespace shm {

struct GroupObject {
    PyObject_HEAD Group group;
};

inline Group &group_of(PyObject *self) { return reinterpret_cast<GroupObject *>(self)->group; }

// False, with the error set, if the group is closed, failed, in use, or not this process's.
bool usable(Group &group, Kind kind);

// One collective call: holds the communicator while it lives.
class Use {
  public:
    Use(PyObject *self, Kind kind) : group(group_of(self)), kind(kind), ok(usable(group, kind)) {
        if (ok) group.busy = true;
    }
    ~Use() {
        if (ok) group.busy = false;
    }
    Use(const Use &) = delete;
    Use &operator=(const Use &) = delete;
    // None, or the group's failure unless a signal's handler has raised its own error.
    PyObject *finish(bool done) {
        if (done) Py_RETURN_NONE;
        return PyErr_Occurred() ? nullptr : raise_verdict(group, kind);
    }
    Group &group;
    const Kind kind;
    const bool ok;
};

// ---- shm_prepared.cpp
bool make_prepared_type();
// prepare_allreduce(send, recv, op) -> a call without arguments that does it, its buffers bound once.
PyObject *prepare_allreduce(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords);

}  // namespace shm
