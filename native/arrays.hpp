// Arrays that come from Python, and what has to hold of their shapes.
#pragma once
#include <nanobind/ndarray.h>

#include <stdexcept>
#include <string>

template <class T, int N>
using In = nanobind::ndarray<const T, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>;
template <class T, int N>
using Out = nanobind::ndarray<T, nanobind::ndim<N>, nanobind::c_contig, nanobind::device::cpu>;

// Refuses arguments in the name of what they are for.
struct Require {
    const char *whose;
    void operator()(bool holds, const char *what) const {
        if (!holds) throw std::invalid_argument(std::string(whose) + ": wrong shape of " + what);
    }
    // first .. last - 1 are openings of each unit.
    void parts(const In<int, 1> &first, const In<int, 1> &last, size_t units, size_t openings) const {
        (*this)(first.size() == units && last.size() == units, "first or last");
        for (size_t k = 0; k < units; ++k)
            (*this)(0 <= first.data()[k] && first.data()[k] < last.data()[k] &&
                        last.data()[k] <= static_cast<int>(openings), "first or last");
    }
};
