// pycobre._native.add_to_cuts: what a following node's costs add to the cuts at trial points.
#include <vector>

#include "arrays.hpp"
#include "module.hpp"

namespace nb = nanobind;

namespace {

constexpr Require require{"add_to_cuts"};

// In the order that NumPy's einsum takes on x86-64, on every machine: entries at even and at odd places apart, eight
// at a time, of which the last pair first.
double product(const double *a, const double *b, size_t count) {
    double even = 0.0, odd = 0.0;
    size_t i = 0;
    for (; i + 8 <= count; i += 8)
        for (size_t k = i + 8; k != i; k -= 2) {
            even += a[k - 2] * b[k - 2];
            odd += a[k - 1] * b[k - 1];
        }
    for (; i + 2 <= count; i += 2) {
        even += a[i] * b[i];
        odd += a[i + 1] * b[i + 1];
    }
    if (i < count) even += a[i] * b[i];
    return even + odd;
}

void add_to_cuts(double weight, In<double, 1> values, In<double, 2> slopes, In<double, 2> trial,
                 Out<double, 1> intercepts, Out<double, 2> cut_slopes) {
    const size_t points = trial.shape(0), width = trial.shape(1), units = values.size();
    require(points > 0 && units % points == 0, "values");
    require(slopes.shape(0) == units && slopes.shape(1) == width, "slopes");
    require(intercepts.size() == points, "intercepts");
    require(cut_slopes.shape(0) == points && cut_slopes.shape(1) == width, "cut_slopes");
    std::vector<double> slope(width);
    for (size_t point = 0; point < points; ++point) {
        double value = values.data()[point];
        slope.assign(slopes.data() + point * width, slopes.data() + (point + 1) * width);
        for (size_t unit = point + points; unit < units; unit += points) {
            value += values.data()[unit];
            for (size_t i = 0; i < width; ++i) slope[i] += slopes.data()[unit * width + i];
        }
        intercepts.data()[point] += weight * (value - product(slope.data(), trial.data() + point * width, width));
        for (size_t i = 0; i < width; ++i) cut_slopes.data()[point * width + i] += weight * slope[i];
    }
}

}  // namespace

void bind_cuts(nb::module_ &m) { m.def("add_to_cuts", &add_to_cuts); }
