#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

namespace shm {

PyObject *make_group_type();  // a new reference to pycobre._native.shm.Group, null with an error set
PyObject *make_alone_type();  // likewise pycobre._native.shm.Alone

}  // namespace shm
