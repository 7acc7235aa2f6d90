// An allreduce whose buffers are bound once, for loops that repeat it: looking at two arrays takes as long as
// the meeting of two ranks does.
#include <new>

#include "shm_arguments.hpp"
#include "shm_collect.hpp"
#include "shm_use.hpp"

namespace shm {

namespace {

struct Bound {
    PyObject *group;
    AllreduceArguments given;
    uint64_t length;
    Call call;
    Bound(PyObject *self, PyObject *const *args)
        : group(Py_NewRef(self)), given(args), length(given.ok ? given.send.count() : 0) {
        call = {Kind::allreduce, given.send.dtype, static_cast<uint16_t>(given.op), digest(&length, 1)};
    }
    ~Bound() { Py_DECREF(group); }
};

struct PreparedObject {
    PyObject_HEAD Bound *bound;
};

PyTypeObject *prepared_type = nullptr;

PyObject *run(PyObject *self, PyObject *) {
    Bound &bound = *reinterpret_cast<PreparedObject *>(self)->bound;
    Use use(bound.group, Kind::allreduce);
    if (!use.ok) return nullptr;
    bool done;
    {
        Turn turn(use.group, use.kind);
        note(turn.slot(use.group.rank).length, bound.length);
        done = allreduce(turn, bound.call, bound.given.send.data(), bound.given.recv.data(), bound.length);
    }
    return use.finish(done);
}

PyMethodDef run_method = {"prepared_allreduce", run, METH_NOARGS, nullptr};

void dealloc(PyObject *self) {
    delete reinterpret_cast<PreparedObject *>(self)->bound;
    PyTypeObject *type = Py_TYPE(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyType_Slot slots[] = {{Py_tp_dealloc, reinterpret_cast<void *>(dealloc)}, {0, nullptr}};
PyType_Spec spec = {"pycobre._native.shm.Prepared", sizeof(PreparedObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_DISALLOW_INSTANTIATION, slots};

}  // namespace

bool make_prepared_type() {
    prepared_type = reinterpret_cast<PyTypeObject *>(PyType_FromSpec(&spec));
    return prepared_type != nullptr;
}

PyObject *prepare_allreduce(PyObject *self, PyObject *const *args, Py_ssize_t count, PyObject *keywords) {
    Bound *bound = count == 3 && !keywords ? new (std::nothrow) Bound(self, args) : nullptr;
    if (!bound || !bound->given.ok) {
        delete bound;
        return checked("_checked_prepare_allreduce", self, args, count, keywords);
    }
    PyObject *prepared = prepared_type->tp_alloc(prepared_type, 0);
    if (!prepared) {
        delete bound;
        return nullptr;
    }
    reinterpret_cast<PreparedObject *>(prepared)->bound = bound;
    PyObject *call = PyCFunction_New(&run_method, prepared);
    Py_DECREF(prepared);
    return call;
}

}  // namespace shm
