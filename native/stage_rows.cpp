// Worker's rows: which cuts are in the LP beside the planes, how bounds follow the right-hand side, what is violated.
#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "interfaces/highs_c_api.h"
#include "stage_problem.hpp"

namespace {

// A cut joins the LP when it is violated by more than this, relative to what it limits.
constexpr double kViolationTolerance = 1e-9;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

void Worker::choose_rows(const std::vector<int> &cuts) {
    drop_rows(data_.planes.count());
    append_rows(cuts);
    chosen_ = static_cast<int>(rows_.size());
}

void Worker::add_rows(const std::vector<int> &cuts) {
    drop_rows(chosen_);
    append_rows(cuts);
    chosen_ = static_cast<int>(rows_.size());
}

void Worker::know_extras() {
    const size_t known = height_.size();
    is_row_.resize(extras(), 0);
    used_.resize(extras(), 0);
    multiplier_.resize(extras());
    height_.resize(extras());
    for (int extra = static_cast<int>(known); extra < extras(); ++extra) {
        const int cut = extra - data_.planes.count();
        height_[extra] = cut < 0 ? data_.planes.upper[extra] : cuts_.intercept[cut];
    }
}

void Worker::resize_rows() {
    lower_now_.resize(total_rows());
    upper_now_.resize(total_rows());
    row_value.resize(total_rows());
    row_dual.resize(total_rows());
    row_status_.resize(total_rows());
}

void Worker::append_rows(const std::vector<int> &extras) {
    know_extras();
    const Planes &planes = data_.planes;
    const int count = static_cast<int>(extras.size()), decided = data_.decided(), first = total_rows();
    if (count == 0) return;
    std::vector<double> value;
    std::vector<int> start(count), index;
    rows_.insert(rows_.end(), extras.begin(), extras.end());
    resize_rows();
    for (int k = 0; k < count; ++k) {
        const int extra = extras[k], cut = extra - planes.count();
        start[k] = static_cast<int>(index.size());
        is_row_[extra] = 1;
        lower_now_[first + k] = cut < 0 ? -kInfinity : height_[extra];
        upper_now_[first + k] = cut < 0 ? height_[extra] : kInfinity;
        if (cut < 0) {
            index.insert(index.end(), planes.index.begin() + planes.start[extra],
                         planes.index.begin() + planes.start[extra + 1]);
            value.insert(value.end(), planes.value.begin() + planes.start[extra],
                         planes.value.begin() + planes.start[extra + 1]);
            continue;
        }
        for (int i = 0; i < decided; ++i) {
            const double slope = cuts_.decided[static_cast<size_t>(cut) * decided + i];
            if (slope == 0.0) continue;
            index.push_back(data_.state_columns[i]);
            value.push_back(-slope);
        }
        index.push_back(data_.future_column);
        value.push_back(1.0);
    }
    if (Highs_addRows(highs, count, lower_now_.data() + first, upper_now_.data() + first,
                      static_cast<int>(index.size()), start.data(), index.data(),
                      value.data()) == kHighsStatusError)
        throw std::invalid_argument("HiGHS refuses a plane or cut");
}

void Worker::drop_rows(int from) {
    if (from >= static_cast<int>(rows_.size())) return;
    for (size_t k = from; k < rows_.size(); ++k) is_row_[rows_[k]] = 0;
    Highs_deleteRowsByRange(highs, data_.rows() + from, total_rows() - 1);
    rows_.resize(from);
    resize_rows();
}

void Worker::move_bounds(const double *state, const double *noise) {
    std::fill(shift_.begin(), shift_.end(), 0.0);
    data_.row_state.add_products(state, shift_);
    data_.row_noise.add_products(noise, shift_);
    for (int row : moving_rows_) {
        lower_now_[row] = data_.row_lower[row] + shift_[row];
        upper_now_[row] = data_.row_upper[row] + shift_[row];
    }
    raise_extras(state, noise);
    for (size_t k = 0; k < rows_.size(); ++k)
        (rows_[k] < data_.planes.count() ? upper_now_ : lower_now_)[data_.rows() + k] = height_[rows_[k]];
    // As one range: of a set HiGHS sorts the indices, which takes longer than rows that stay as they are.
    if (total_rows() > 0)
        Highs_changeRowsBoundsByRange(highs, 0, total_rows() - 1, lower_now_.data(), upper_now_.data());
}

// Heights of planes and cuts, and the carried part of the outgoing state.
void Worker::raise_extras(const double *state, const double *noise) {
    std::copy(data_.carried_constant.begin(), data_.carried_constant.end(), carried_.begin());
    data_.carried_state.add_products(state, carried_);
    data_.carried_noise.add_products(noise, carried_);
    const int planes = data_.planes.count(), carried = data_.carried();
    std::copy(data_.planes.upper.begin(), data_.planes.upper.end(), height_.begin());
    data_.planes.state.add_products(state, height_);
    for (int cut = 0; cut < cuts_.count(); ++cut) {
        double &height = height_[planes + cut];
        height = cuts_.intercept[cut];
        for (int i = 0; i < carried; ++i)
            height += cuts_.carried[static_cast<size_t>(cut) * carried + i] * carried_[i];
    }
}

// Of the cuts outside the LP the most violated one, of several the first; -1 if none is.
int Worker::violated_cut() const {
    if (cuts_.count() == 0) return -1;
    const int planes = data_.planes.count();
    const int decided = data_.decided();
    const double theta = x[data_.future_column] / data_.cost_scale;
    double worst = kViolationTolerance * std::max(1.0, std::abs(theta));
    int found = -1;
    for (int cut = 0; cut < cuts_.count(); ++cut) {
        if (is_row_[planes + cut]) continue;
        double violation = height_[planes + cut] - theta;
        for (int i = 0; i < decided; ++i)
            violation += cuts_.decided[static_cast<size_t>(cut) * decided + i] * x[data_.state_columns[i]];
        if (violation > worst) {
            worst = violation;
            found = planes + cut;
        }
    }
    return found;
}
