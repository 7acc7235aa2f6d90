// The first attempt of a meeting over sockets: nearly always it is all that a small collective needs, and in
// Python the exceptions of a wait that has just begun take longer than the wait.
#define PY_SSIZE_T_CLEAN
#include <Python.h>
#include <sched.h>
#include <sys/socket.h>
#include <time.h>

#include <cerrno>
#include <cstdint>

#include "module.hpp"

namespace nb = nanobind;

namespace {

uint64_t now_ns() {
    timespec time;
    clock_gettime(CLOCK_MONOTONIC, &time);
    return static_cast<uint64_t>(time.tv_sec) * 1'000'000'000 + static_cast<uint64_t>(time.tv_nsec);
}

// swap(to, frame, source, room, expected, patience_ns) -> (sent, came): sends *frame*, then takes in up to
// *expected* bytes while they come soon. Errors are left for a later attempt to find, which has words for them.
// The GIL is kept: nobody can close a descriptor meanwhile, and a busy thread would have it for milliseconds.
PyObject *swap(PyObject *, PyObject *const *args, Py_ssize_t count) {
    if (count != 6 || !PyByteArray_CheckExact(args[1]) || !PyByteArray_CheckExact(args[3])) {
        PyErr_SetString(PyExc_TypeError, "swap(to, frame, source, room, expected, patience_ns)");
        return nullptr;
    }
    const long to = PyLong_AsLong(args[0]), source = PyLong_AsLong(args[2]);
    const Py_ssize_t expected = PyLong_AsSsize_t(args[4]);
    const long long patience = PyLong_AsLongLong(args[5]);
    if (PyErr_Occurred()) return nullptr;
    if (expected < 0 || expected > PyByteArray_GET_SIZE(args[3])) {
        PyErr_SetString(PyExc_ValueError, "there is no room for what is expected");
        return nullptr;
    }
    const Py_ssize_t length = PyByteArray_GET_SIZE(args[1]);
    const ssize_t sent = send(static_cast<int>(to), PyByteArray_AS_STRING(args[1]), static_cast<size_t>(length),
                              MSG_DONTWAIT | MSG_NOSIGNAL);
    char *const room = PyByteArray_AS_STRING(args[3]);
    Py_ssize_t came = 0;
    uint64_t start = 0;
    while (sent == length && came < expected) {
        const ssize_t just = recv(static_cast<int>(source), room + came, static_cast<size_t>(expected - came),
                                  MSG_DONTWAIT);
        if (just > 0) {
            came += just;
        } else if (just < 0 && errno == EAGAIN) {
            const uint64_t now = now_ns();
            if (!start) start = now;
            if (now - start >= static_cast<uint64_t>(patience)) break;
            sched_yield();
        } else {
            break;
        }
    }
    return Py_BuildValue("nn", sent > 0 ? sent : 0, came);
}

PyMethodDef swap_method = {"swap", reinterpret_cast<PyCFunction>(reinterpret_cast<void (*)()>(swap)),
                           METH_FASTCALL, nullptr};

}  // namespace

void bind_tcp(nb::module_ &m) {
    nb::module_ sub = m.def_submodule("tcp", "What is short over sockets.");
    sub.attr("swap") = nb::steal(PyCFunction_New(&swap_method, nullptr));
}
