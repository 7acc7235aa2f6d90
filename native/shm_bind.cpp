// pycobre._native.shm: what Python sees of the collectives over shared memory.
#include <nanobind/nanobind.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/vector.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <deque>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "module.hpp"
#include "shm_fold.hpp"
#include "shm_join.hpp"
#include "shm_trial.hpp"
#include "shm_type.hpp"

namespace nb = nanobind;

namespace {

// (reason, ranks, text) that a group failed with, or None. For the launcher, which is not one of the ranks.
nb::object verdict_of(int descriptor) {
    struct stat status;
    if (fstat(descriptor, &status) != 0 || static_cast<size_t>(status.st_size) < sizeof(shm::Header))
        return nb::none();
    const auto bytes = static_cast<size_t>(status.st_size);
    void *at = mmap(nullptr, bytes, PROT_READ, MAP_SHARED, descriptor, 0);
    if (at == MAP_FAILED) return nb::none();
    const auto *header = static_cast<const shm::Header *>(at);
    nb::object result = nb::none();
    const uint32_t verdict = header->verdict.load(std::memory_order_acquire);
    if (verdict != 0 && (verdict - 1) / 2 < header->size) {
        const shm::Finding &finding = header->ranks[(verdict - 1) / 2].findings[(verdict - 1) % 2];
        const char *const reasons[] = {"", "lost", "stopped", "timeout", "mismatch", "aborted"};
        nb::list ranks;
        for (uint32_t rank = 0; rank < header->size; ++rank)
            if (finding.ranks[rank / 64] >> (rank % 64) & 1) ranks.append(rank);
        result = nb::make_tuple(reasons[finding.reason % 6], ranks, nb::str(finding.text));
    }
    munmap(at, bytes);
    return result;
}

struct View {
    Py_buffer buffer;
    View(nb::handle array, bool writable) {
        if (PyObject_GetBuffer(array.ptr(), &buffer,
                               PyBUF_FORMAT | PyBUF_C_CONTIGUOUS | (writable ? PyBUF_WRITABLE : 0)))
            throw nb::python_error();
    }
    ~View() { PyBuffer_Release(&buffer); }
    View(const View &) = delete;
    View &operator=(const View &) = delete;
};

// Folds parts in their order into out, with the very kernels of the collectives.
struct Folding {
    Folding(int op, nb::list given, nb::handle out) : to(out, true) {
        const auto dtype = dtype_of(to);
        kernel = op < 0 || op > 2 ? nullptr : shm::fold_for(dtype, static_cast<shm::Reduction>(op));
        if (!kernel || given.size() < 1 || given.size() > shm::kMaxRanks)
            throw nb::value_error("these can't be folded");
        for (nb::handle array : given) {
            const View &part = parts.emplace_back(array, false);
            if (part.buffer.len != to.buffer.len || dtype_of(part) != dtype)
                throw nb::value_error("parts and result differ in length or dtype");
            from.push_back(static_cast<const uint8_t *>(part.buffer.buf));
        }
    }
    static shm::Dtype dtype_of(const View &view) {
        return shm::dtype_of(view.buffer.format, static_cast<size_t>(view.buffer.itemsize));
    }
    void operator()() const {
        kernel(static_cast<uint8_t *>(to.buffer.buf), from.data(), static_cast<int>(from.size()),
               static_cast<size_t>(to.buffer.len / to.buffer.itemsize));
    }
    View to;
    std::deque<View> parts;
    std::vector<const uint8_t *> from;
    shm::Fold kernel;
};

nb::object folding(int op, nb::list parts, nb::handle out) {
    return nb::cpp_function([made = std::make_shared<const Folding>(op, parts, out)] { (*made)(); });
}

// Writes all of it, no other thread's bytes and no signal's handler in between.
void send_whole(int descriptor, nb::bytes data) {
    static std::mutex one_at_a_time;
    const char *at = data.c_str();
    size_t left = data.size();
    int trouble = 0;
    PyThreadState *state = PyEval_SaveThread();
    {
        const std::lock_guard<std::mutex> lock(one_at_a_time);
        while (left && !trouble) {
            const ssize_t written = write(descriptor, at, left);
            if (written < 0 && errno != EINTR) trouble = errno;
            if (written > 0) at += written, left -= static_cast<size_t>(written);
        }
    }
    restore_thread(state);
    if (!trouble) return;
    errno = trouble;
    PyErr_SetFromErrno(PyExc_OSError);
    throw nb::python_error();
}

}  // namespace

void bind_shm(nb::module_ &m) {
    nb::module_ sub = m.def_submodule("shm", "Collectives over shared memory.");
    sub.attr("Group") = nb::steal(shm::make_group_type());
    sub.attr("Alone") = nb::steal(shm::make_alone_type());
    sub.attr("MAX_RANKS") = shm::kMaxRanks;
    sub.attr("INLINE_BYTES") = shm::kInline;
    sub.attr("KIND_REGION") = static_cast<int>(shm::Kind::region);
    sub.attr("KIND_SPLIT") = static_cast<int>(shm::Kind::split);
    sub.def("segment_bytes", [](int size) { return shm::Layout(size).bytes; });
    sub.def("format_segment", [](int descriptor, int size, uint64_t job, bool crowded) {
        if (!shm::format_segment(descriptor, size, job, crowded)) {
            PyErr_SetFromErrno(PyExc_OSError);
            throw nb::python_error();
        }
    });
    sub.def("segment_ready", [](nb::handle bytes) {
        View view(bytes, false);
        const auto *header = static_cast<const shm::Header *>(view.buffer.buf);
        return static_cast<size_t>(view.buffer.len) >= sizeof(shm::Header) && header->ready.load() == 1;
    });
    sub.def("dtype_code", [](nb::handle array) {
        View view(array, false);
        return static_cast<int>(shm::dtype_of(view.buffer.format, static_cast<size_t>(view.buffer.itemsize)));
    });
    sub.def("verdict_of", verdict_of);
    sub.def("watch_launcher", shm::watch_launcher);
    sub.def("send_whole", send_whole);
    sub.def("folding", folding);
    nb::class_<shm::Trial>(sub, "Trial")
        .def(nb::init<>())
        .def_rw("row", &shm::Trial::row)
        .def("direct", &shm::Trial::direct)
        .def("learn", &shm::Trial::learn);
}
