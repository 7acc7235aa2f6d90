// The last call of a kind: whether another one is the same takes Python longer than a small collective.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <structmember.h>

#include <new>

#include "module.hpp"
#include "shm_arguments.hpp"

namespace nb = nanobind;

namespace {

// Where an array's elements are, and of which kind. Whoever changes an array's form changes these.
struct Form {
    explicit Form(PyObject *array, bool writable) {
        const shm::Plain plain(array, writable);
        ok = plain.ok;
        if (!ok) return;
        data = plain.data();
        bytes = plain.bytes();
        dtype = plain.dtype;
    }
    bool operator==(const Form &other) const {
        return ok && other.ok && data == other.data && bytes == other.bytes && dtype == other.dtype;
    }
    bool ok;
    const uint8_t *data = nullptr;
    size_t bytes = 0;
    shm::Dtype dtype = shm::no_dtype;
};

struct RememberedObject {
    PyObject_HEAD PyObject *repeat, *arguments;  // send, recv and what else there is
    Form send, recv;
};

RememberedObject &of(PyObject *self) { return *reinterpret_cast<RememberedObject *>(self); }

// Remembered(repeat, send, recv, *details)
PyObject *make(PyTypeObject *type, PyObject *args, PyObject *keywords) {
    if (keywords || PyTuple_GET_SIZE(args) < 3) {
        PyErr_SetString(PyExc_TypeError, "Remembered(repeat, send, recv, *details)");
        return nullptr;
    }
    PyObject *arguments = PyTuple_GetSlice(args, 1, PyTuple_GET_SIZE(args));
    PyObject *self = arguments ? type->tp_alloc(type, 0) : nullptr;
    if (!self) {
        Py_XDECREF(arguments);
        return nullptr;
    }
    of(self).repeat = Py_NewRef(PyTuple_GET_ITEM(args, 0));
    of(self).arguments = arguments;
    new (&of(self).send) Form(PyTuple_GET_ITEM(arguments, 0), false);
    new (&of(self).recv) Form(PyTuple_GET_ITEM(arguments, 1), true);
    return self;
}

// fits(send, recv, *details): an argument of another type never does, nor what can't be compared.
PyObject *fits(PyObject *self, PyObject *const *args, Py_ssize_t count) {
    const RememberedObject &last = of(self);
    PyObject *const arguments = last.arguments;
    if (count != PyTuple_GET_SIZE(arguments) || args[0] != PyTuple_GET_ITEM(arguments, 0) ||
        args[1] != PyTuple_GET_ITEM(arguments, 1))
        Py_RETURN_FALSE;
    for (Py_ssize_t at = 2; at < count; ++at) {
        PyObject *detail = PyTuple_GET_ITEM(arguments, at);
        if (args[at] == detail) continue;
        if (Py_TYPE(args[at]) != Py_TYPE(detail)) Py_RETURN_FALSE;
        const int equal = PyObject_RichCompareBool(args[at], detail, Py_EQ);
        if (equal < 0) return nullptr;
        if (!equal) Py_RETURN_FALSE;
    }
    if (!(Form(args[0], false) == last.send && Form(args[1], true) == last.recv)) Py_RETURN_FALSE;
    Py_RETURN_TRUE;
}

int traverse(PyObject *self, visitproc visit, void *arg) {
    Py_VISIT(Py_TYPE(self));
    Py_VISIT(of(self).repeat);
    Py_VISIT(of(self).arguments);
    return 0;
}

int clear(PyObject *self) {
    Py_CLEAR(of(self).repeat);
    Py_CLEAR(of(self).arguments);
    return 0;
}

void dealloc(PyObject *self) {
    PyTypeObject *type = Py_TYPE(self);
    PyObject_GC_UnTrack(self);
    clear(self);
    type->tp_free(self);
    Py_DECREF(type);
}

PyMethodDef methods[] = {
    {"fits", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(fits)), METH_FASTCALL, nullptr},
    {nullptr, nullptr, 0, nullptr}};
PyMemberDef members[] = {{"repeat", T_OBJECT, offsetof(RememberedObject, repeat), READONLY, nullptr},
                         {nullptr, 0, 0, 0, nullptr}};
PyType_Slot slots[] = {{Py_tp_new, reinterpret_cast<void *>(make)},
                       {Py_tp_dealloc, reinterpret_cast<void *>(dealloc)},
                       {Py_tp_traverse, reinterpret_cast<void *>(traverse)},
                       {Py_tp_clear, reinterpret_cast<void *>(clear)},
                       {Py_tp_methods, methods},
                       {Py_tp_members, members},
                       {0, nullptr}};
PyType_Spec spec = {"pycobre._native.Remembered", sizeof(RememberedObject), 0,
                    Py_TPFLAGS_DEFAULT | Py_TPFLAGS_HAVE_GC, slots};

}  // namespace

void bind_remembered(nb::module_ &m) {
    PyObject *type = PyType_FromSpec(&spec);
    if (!type) throw nb::python_error();
    m.attr("Remembered") = nb::steal(type);
}
