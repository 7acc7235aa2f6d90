// Collectives of a group of one: every argument is checked, then at most copied. What is not plainly right, and
// every call once the group is closed or has failed, goes to Python's `_checked_<name>`.
#include "shm_type.hpp"

#include <structmember.h>

#include <cstring>

#include "shm_arguments.hpp"

namespace shm {

namespace {

struct AloneObject {
    PyObject_HEAD char usable;
};

bool usable(PyObject *self) { return reinterpret_cast<AloneObject *>(self)->usable; }

void copy(const Plain &from, uint8_t *to) {
    if (from.data() != to && from.bytes()) std::memcpy(to, from.data(), from.bytes());
}

bool try_allreduce(PyObject *const *args) {
    const AllreduceArguments given(args);
    if (given.ok) copy(given.send, given.recv.data());
    return given.ok;
}

bool try_broadcast(PyObject *const *args) { return BroadcastArguments(args, 1).ok; }

bool try_allgatherv(PyObject *const *args) {
    const AllgathervArguments given(args, 0, 1, false);
    if (given.ok) copy(given.send, given.recv.data() + given.displs[0] * dtype_bytes(given.send.dtype));
    return given.ok;
}

template <bool (*attempt)(PyObject *const *), int arity>
PyObject *collective(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords,
                     const char *fallback) {
    if (usable(self) && count == arity && !keywords && attempt(args)) Py_RETURN_NONE;
    return checked(fallback, self, args, count, keywords);
}

#define COLLECTIVE(name, arity)                                                                     \
    PyObject *name(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {   \
        return collective<try_##name, arity>(self, args, count, keywords, "_checked_" #name);       \
    }
COLLECTIVE(allreduce, 3)
COLLECTIVE(broadcast, 2)
COLLECTIVE(allgatherv, 4)
#undef COLLECTIVE

PyObject *barrier(PyObject *self, PyObject *) {
    if (usable(self)) Py_RETURN_NONE;
    return checked("_checked_barrier", self, nullptr, 0, nullptr);
}

PyObject *make(PyTypeObject *type, PyObject *, PyObject *) {
    PyObject *self = type->tp_alloc(type, 0);
    if (self) reinterpret_cast<AloneObject *>(self)->usable = 1;
    return self;
}

void dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

#define FAST(function) reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(function))
constexpr int kFast = METH_FASTCALL | METH_KEYWORDS;
PyMethodDef methods[] = {{"allgatherv", FAST(allgatherv), kFast, nullptr},
                         {"allreduce", FAST(allreduce), kFast, nullptr},
                         {"broadcast", FAST(broadcast), kFast, nullptr},
                         {"barrier", barrier, METH_NOARGS, nullptr},
                         {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"_usable", T_BOOL, offsetof(AloneObject, usable), 0, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"pycobre._native.shm.Alone", sizeof(AloneObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_BASETYPE, slots};

}  // namespace

PyObject *make_alone_type() { return PyType_FromSpec(&spec); }

}  // namespace shm
