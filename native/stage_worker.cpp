// Worker: one HiGHS instance, one right-hand side at a time.
#include "stage_problem.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "interfaces/highs_c_api.h"

namespace {

void set_options(void *highs, const Options &options) {
    for (const auto &[name, value] : options)
        if (Highs_setOptionValue(highs, name.c_str(), value.c_str()) == kHighsStatusError)
            throw std::invalid_argument("HiGHS refuses option " + name + " = " + value);
}

// to += unit · (multiplier · moved)
void add_moved(const Triplets &moved, const std::vector<double> &multiplier, double unit, double *to) {
    for (size_t k = 0; k < moved.row.size(); ++k)
        to[moved.column[k]] += unit * (multiplier[moved.row[k]] * moved.value[k]);
}

}  // namespace

Worker::Worker(const StageData &data, const CutStore &cuts, const Options &options)
    : data_(data), cuts_(cuts), options_(options) {
    highs = Highs_create();
    Highs_setBoolOptionValue(highs, "output_flag", 0);
    set_options(highs, options_);
    cost_ = data.cost;
    for (double &c : cost_) c /= data.cost_scale;
    if (data.future_column >= 0) cost_[data.future_column] = 1.0;  // θ is counted in scaled money
    reduced_cost_tolerance_ = reduced_cost_tolerance(cost_);
    std::vector<double> lower(data.column_lower), upper(data.column_upper);
    if (data.future_column >= 0) lower[data.future_column] /= data.cost_scale;
    if (Highs_passLp(highs, data.columns(), data.rows(), static_cast<int>(data.value.size()),
                     kHighsMatrixFormatColwise, kHighsObjSenseMinimize, 0.0, cost_.data(), lower.data(),
                     upper.data(), data.row_lower.data(), data.row_upper.data(), data.start.data(),
                     data.index.data(), data.value.data()) == kHighsStatusError) {
        Highs_destroy(highs);
        throw std::invalid_argument("HiGHS refuses the stage problem");
    }
    std::vector<char> moves(data.rows(), 0);
    for (int row : data.row_state.row) moves[row] = 1;
    for (int row : data.row_noise.row) moves[row] = 1;
    for (int row = 0; row < data.rows(); ++row)
        if (moves[row]) moving_rows_.push_back(row);
    lower_now_ = data.row_lower;
    upper_now_ = data.row_upper;
    shift_.resize(data.rows());
    carried_.resize(data.carried());
    carried_weight_.resize(data.carried());
    x.resize(data.columns());
    reduced_cost_.resize(data.columns());
    column_status_.resize(data.columns());
    resize_rows();
    know_extras();
    std::vector<int> planes(data.planes.count());
    std::iota(planes.begin(), planes.end(), 0);
    append_rows(planes);
    chosen_ = static_cast<int>(rows_.size());
}

Worker::~Worker() { Highs_destroy(highs); }

void Worker::begin(const int8_t *basis, int length) {
    drop_rows(chosen_);
    std::fill(used_.begin(), used_.end(), 0);
    Highs_clearSolver(highs);
    if (length == 0) return;
    const int core = data_.columns() + data_.rows();
    const int planes = data_.planes.count();
    std::vector<int> missing;  // cuts that are binding in the basis: each must be a row
    for (int extra = planes; extra < length - core; ++extra) {
        const int8_t status = basis[core + extra];
        if (status != kHighsBasisStatusBasic && status != kUsedLater && !is_row_[extra]) missing.push_back(extra);
    }
    append_rows(missing);
    for (int j = 0; j < data_.columns(); ++j) column_status_[j] = basis[j];
    for (int i = 0; i < data_.rows(); ++i) row_status_[i] = basis[data_.columns() + i];
    for (size_t k = 0; k < rows_.size(); ++k) {  // what is younger than the basis is basic in it
        const int8_t status = core + rows_[k] < length ? basis[core + rows_[k]] : kHighsBasisStatusBasic;
        row_status_[data_.rows() + k] = status == kUsedLater ? kHighsBasisStatusBasic : status;
    }
    Highs_setBasis(highs, column_status_.data(), row_status_.data());
}

bool Worker::solve(const double *state, const double *noise, const std::vector<Step> &ladder) {
    counts.recoveries.resize(ladder.size());
    move_bounds(state, noise);
    ++counts.solves;
    for (;;) {
        if (!run_and_check(kGoodGap) && !climb(ladder)) return false;
        const int violated = violated_cut();
        if (violated < 0) break;
        append_rows({violated});
    }
    for (size_t k = data_.planes.count(); k < rows_.size(); ++k)
        if (row_dual[data_.rows() + k] != 0.0) used_[rows_[k]] = 1;
    weigh_extras();
    return true;
}

bool Worker::climb(const std::vector<Step> &ladder) {
    for (size_t step = 0; step < ladder.size(); ++step) {
        if (ladder[step].keeps_basis) {
            if (status != kHighsModelStatusOptimal) continue;
            factor_anew();
        } else {
            Highs_clearSolver(highs);
        }
        set_options(highs, ladder[step].options);
        const bool solved = run_and_check(ladder[step].most_gap);
        set_options(highs, options_);
        if (solved) {
            ++counts.recoveries[step];
            return true;
        }
    }
    return false;
}

void Worker::factor_anew() {
    Highs_getBasis(highs, column_status_.data(), row_status_.data());
    Highs_clearSolver(highs);
    Highs_setBasis(highs, column_status_.data(), row_status_.data());
}

// Multipliers of planes and cuts, and what they come to on the carried part of the outgoing state.
void Worker::weigh_extras() {
    const int carried = data_.carried(), planes = data_.planes.count();
    std::fill(multiplier_.begin(), multiplier_.end(), 0.0);
    for (size_t k = 0; k < rows_.size(); ++k) multiplier_[rows_[k]] = row_dual[data_.rows() + k];
    std::fill(carried_weight_.begin(), carried_weight_.end(), 0.0);
    for (int extra : rows_) {
        if (extra < planes || multiplier_[extra] == 0.0) continue;
        const double *by_carried = cuts_.carried.data() + static_cast<size_t>(extra - planes) * carried;
        for (int i = 0; i < carried; ++i) carried_weight_[i] += multiplier_[extra] * by_carried[i];
    }
}

void Worker::add_slope(double weight, double *slope) const {
    const double unit = weight * data_.cost_scale;
    add_moved(data_.row_state, row_dual, unit, slope);
    add_moved(data_.planes.state, multiplier_, unit, slope);
    add_moved(data_.carried_state, carried_weight_, unit, slope);
}

HighsStart Worker::start_of(const double *noise) const {
    HighsStart start{std::vector<int>(data_.columns()), std::vector<int>(total_rows()),
                     dual_objective / data_.cost_scale, std::vector<double>(data_.noises(), 0.0)};
    Highs_getBasis(highs, start.columns.data(), start.rows.data());
    add_moved(data_.row_noise, row_dual, 1.0, start.slope.data());
    add_moved(data_.carried_noise, carried_weight_, 1.0, start.slope.data());
    for (int i = 0; i < data_.noises(); ++i) start.value -= start.slope[i] * noise[i];
    return start;
}

void Worker::start_from(const HighsStart &start) {
    std::copy(start.columns.begin(), start.columns.end(), column_status_.begin());
    std::copy(start.rows.begin(), start.rows.end(), row_status_.begin());
    std::fill(row_status_.begin() + start.rows.size(), row_status_.end(), kHighsBasisStatusBasic);  // joined since
    Highs_setBasis(highs, column_status_.data(), row_status_.data());
}

void Worker::next_state(double *out) const {
    data_.decided_state(x.data(), out);
    for (int i = 0; i < data_.carried(); ++i) out[data_.decided() + i] = carried_[i];
}

void Worker::basis(int8_t *out) const {
    Highs_getBasis(highs, column_status_.data(), row_status_.data());
    for (int j = 0; j < data_.columns(); ++j) out[j] = static_cast<int8_t>(column_status_[j]);
    int8_t *row_out = out + data_.columns();
    for (int i = 0; i < data_.rows(); ++i) row_out[i] = static_cast<int8_t>(row_status_[i]);
    int8_t *extra_out = row_out + data_.rows();
    std::fill(extra_out, extra_out + extras(), static_cast<int8_t>(kHighsBasisStatusBasic));
    for (size_t k = 0; k < rows_.size(); ++k)
        extra_out[rows_[k]] = static_cast<int8_t>(row_status_[data_.rows() + k]);
}

void Worker::mark_used(int8_t *basis) const {
    int8_t *extra = basis + data_.columns() + data_.rows();
    for (int k = data_.planes.count(); k < extras(); ++k)
        if (used_[k] && extra[k] == kHighsBasisStatusBasic) extra[k] = kUsedLater;
}
