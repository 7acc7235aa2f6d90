// What a native call takes at first sight: plain arrays and non-negative numbers.
#pragma once
#define PY_SSIZE_T_CLEAN
#include <Python.h>

#include "shm_fold.hpp"
#include "shm_layout.hpp"

namespace shm {

inline PyTypeObject *ndarray = nullptr;

// A C-contiguous, aligned NumPy array of a plain native dtype.
class Plain {
  public:
    Plain(PyObject *array, bool writable) {
        if (!Py_IS_TYPE(array, ndarray)) return;
        if (PyObject_GetBuffer(array, &view_,
                               PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)) != 0) {
            PyErr_Clear();
            return;
        }
        held_ = true;
        dtype = dtype_of(view_.format, static_cast<size_t>(view_.itemsize));
        const size_t alignment = dtype == c8 ? 4 : dtype == c16 ? 8 : static_cast<size_t>(view_.itemsize);
        // An empty array may point anywhere, and NumPy calls it aligned.
        ok = dtype != no_dtype &&
             (view_.len == 0 || reinterpret_cast<uintptr_t>(view_.buf) % alignment == 0);
    }
    ~Plain() {
        if (held_) PyBuffer_Release(&view_);
    }
    Plain(const Plain &) = delete;
    Plain &operator=(const Plain &) = delete;
    uint8_t *data() const { return static_cast<uint8_t *>(view_.buf); }
    size_t bytes() const { return static_cast<size_t>(view_.len); }
    size_t count() const { return bytes() / static_cast<size_t>(view_.itemsize); }
    bool overlaps(const Plain &other) const {
        return data() < other.data() + other.bytes() && other.data() < data() + bytes();
    }
    bool ok = false;
    Dtype dtype = no_dtype;

  private:
    Py_buffer view_;
    bool held_ = false;
};

// A non-negative Python integer; false, without an error, for anything else.
inline bool natural(PyObject *object, uint64_t &value) {
    if (!PyLong_CheckExact(object) && !PyLong_Check(object)) return false;
    const long long number = PyLong_AsLongLong(object);
    if (number < 0) {
        PyErr_Clear();
        return false;
    }
    value = static_cast<uint64_t>(number);
    return true;
}

inline bool naturals(PyObject *object, int size, uint64_t *values) {
    const bool tuple = PyTuple_CheckExact(object);
    if ((!tuple && !PyList_CheckExact(object)) || Py_SIZE(object) != size) return false;
    for (int i = 0; i < size; ++i)
        if (!natural(tuple ? PyTuple_GET_ITEM(object, i) : PyList_GET_ITEM(object, i), values[i]))
            return false;
    return true;
}

// The arguments of each collective: *ok* if they are plainly right, else Python's checks have the word.
struct AllreduceArguments {
    explicit AllreduceArguments(PyObject *const *args) : send(args[0], false), recv(args[1], true) {
        ok = send.ok && recv.ok && send.dtype == recv.dtype && send.bytes() == recv.bytes() &&
             natural(args[2], op) && op <= 2 && fold_for(send.dtype, static_cast<Reduction>(op)) &&
             (send.data() == recv.data() || !send.overlaps(recv));
    }
    Plain send, recv;
    uint64_t op = 0;
    bool ok;
};

struct BroadcastArguments {
    BroadcastArguments(PyObject *const *args, int size) : buffer(args[0], true) {
        ok = buffer.ok && natural(args[1], root) && root < static_cast<uint64_t>(size);
    }
    Plain buffer;
    uint64_t root = 0;
    bool ok;
};

struct AllgathervArguments {
    AllgathervArguments(PyObject *const *args, int rank, int size, bool vetted)
        : send(args[0], false), recv(args[1], true) {
        ok = send.ok && recv.ok && send.dtype == recv.dtype && naturals(args[2], size, counts) &&
             naturals(args[3], size, displs) && counts[rank] == send.count() && fit(size, vetted);
        if (!ok) return;
        const uint8_t *place = recv.data() + displs[rank] * dtype_bytes(send.dtype);
        ok = send.data() == place || !send.overlaps(recv);
    }
    Plain send, recv;
    uint64_t counts[kMaxRanks], displs[kMaxRanks];
    bool ok;

  private:
    bool fit(int size, bool vetted) const {
        const uint64_t room = recv.count();
        uint64_t free_from = 0;
        for (int rank = 0; rank < size; ++rank) {
            if (counts[rank] > room || displs[rank] > room - counts[rank]) return false;
            if (!vetted && counts[rank] && displs[rank] < free_from) return false;  // perhaps only unordered
            if (counts[rank]) free_from = displs[rank] + counts[rank];
        }
        return true;
    }
};

// What Python's `_checked_<name>` makes of a call whose arguments are not plainly right.
inline PyObject *checked(const char *name, PyObject *self, PyObject *const *args, Py_ssize_t count,
                         PyObject *keywords) {
    PyObject *method = PyObject_GetAttrString(self, name);
    if (!method) return nullptr;
    PyObject *result = PyObject_Vectorcall(method, args, static_cast<size_t>(count), keywords);
    Py_DECREF(method);
    return result;
}

}  // namespace shm
