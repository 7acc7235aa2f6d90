// Worker: one HiGHS instance, one right-hand side at a time.
#include "stage_problem.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <stdexcept>

#include "interfaces/highs_c_api.h"

namespace {

// Values of a solved problem are believed when primal and dual objective agree this closely, relative.
constexpr double kGapTolerance = 1e-6;

void set_options(void *highs, const Options &options) {
    for (const auto &[name, value] : options)
        if (Highs_setOptionValue(highs, name.c_str(), value.c_str()) == kHighsStatusError)
            throw std::invalid_argument("HiGHS refuses option " + name + " = " + value);
}

}  // namespace

Worker::Worker(const StageData &data, const Options &options) : data_(data), options_(options) {
    highs = Highs_create();
    Highs_setBoolOptionValue(highs, "output_flag", 0);
    set_options(highs, options_);
    std::vector<double> cost(data.cost);
    for (double &c : cost) c /= data.cost_scale;
    if (data.future_column >= 0) cost[data.future_column] = 1.0;  // θ is counted in scaled money
    std::vector<double> lower(data.column_lower), upper(data.column_upper);
    if (data.future_column >= 0) lower[data.future_column] /= data.cost_scale;
    if (Highs_passLp(highs, data.columns(), data.rows(), static_cast<int>(data.value.size()),
                     kHighsMatrixFormatColwise, kHighsObjSenseMinimize, 0.0, cost.data(), lower.data(),
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
    column_dual.resize(data.columns());
    column_status_.resize(data.columns());
    row_value.resize(data.rows());
    row_dual.resize(data.rows());
    row_status_.resize(data.rows());
}

Worker::~Worker() { Highs_destroy(highs); }

void Worker::add_cuts(int count, const double *intercepts, const double *slopes) {
    const int decided = data_.decided(), carried = data_.carried(), width = data_.states_out();
    const double scale = data_.cost_scale;
    std::vector<double> lower(count), upper(count, std::numeric_limits<double>::infinity()), value;
    std::vector<int> start(count), index;
    for (int k = 0; k < count; ++k) {
        start[k] = static_cast<int>(index.size());
        for (int i = 0; i < decided; ++i) {
            const double slope = slopes[static_cast<size_t>(k) * width + i];
            if (slope == 0.0) continue;
            index.push_back(data_.state_columns[i]);
            value.push_back(-slope / scale);
        }
        index.push_back(data_.future_column);
        value.push_back(1.0);
        lower[k] = intercepts[k] / scale;
        cut_intercept_.push_back(lower[k]);
        for (int i = 0; i < carried; ++i)
            cut_carried_.push_back(slopes[static_cast<size_t>(k) * width + decided + i] / scale);
    }
    if (Highs_addRows(highs, count, lower.data(), upper.data(), static_cast<int>(index.size()), start.data(),
                      index.data(), value.data()) == kHighsStatusError)
        throw std::invalid_argument("HiGHS refuses a cut");
    for (int k = 0; k < count; ++k) {
        if (carried > 0) moving_rows_.push_back(data_.rows() + cuts_ + k);
        lower_now_.push_back(lower[k]);
        upper_now_.push_back(upper[k]);
    }
    cuts_ += count;
    row_value.resize(total_rows());
    row_dual.resize(total_rows());
    row_status_.resize(total_rows());
}

void Worker::begin(const int8_t *basis, int length) {
    Highs_clearSolver(highs);
    if (length == 0) return;
    const int columns = data_.columns();
    for (int j = 0; j < columns; ++j) column_status_[j] = basis[j];
    for (int i = 0; i < total_rows(); ++i)  // rows newer than the basis are basic: not binding
        row_status_[i] = columns + i < length ? basis[columns + i] : kHighsBasisStatusBasic;
    Highs_setBasis(highs, column_status_.data(), row_status_.data());
}

void Worker::move_bounds(const double *state, const double *noise) {
    std::fill(shift_.begin(), shift_.end(), 0.0);
    for (size_t k = 0; k < data_.row_state.row.size(); ++k)
        shift_[data_.row_state.row[k]] += data_.row_state.value[k] * state[data_.row_state.column[k]];
    for (size_t k = 0; k < data_.row_noise.row.size(); ++k)
        shift_[data_.row_noise.row[k]] += data_.row_noise.value[k] * noise[data_.row_noise.column[k]];
    const int carried = data_.carried();
    for (int i = 0; i < carried; ++i) carried_[i] = data_.carried_constant[i];
    for (size_t k = 0; k < data_.carried_state.row.size(); ++k)
        carried_[data_.carried_state.row[k]] +=
            data_.carried_state.value[k] * state[data_.carried_state.column[k]];
    for (size_t k = 0; k < data_.carried_noise.row.size(); ++k)
        carried_[data_.carried_noise.row[k]] +=
            data_.carried_noise.value[k] * noise[data_.carried_noise.column[k]];

    moving_lower_.resize(moving_rows_.size());
    moving_upper_.resize(moving_rows_.size());
    for (size_t k = 0; k < moving_rows_.size(); ++k) {
        const int row = moving_rows_[k];
        if (row < data_.rows()) {
            lower_now_[row] = data_.row_lower[row] + shift_[row];
            upper_now_[row] = data_.row_upper[row] + shift_[row];
        } else {
            const int cut = row - data_.rows();
            double height = cut_intercept_[cut];
            for (int i = 0; i < carried; ++i)
                height += cut_carried_[static_cast<size_t>(cut) * carried + i] * carried_[i];
            lower_now_[row] = height;
        }
        moving_lower_[k] = lower_now_[row];
        moving_upper_[k] = upper_now_[row];
    }
    if (!moving_rows_.empty())
        Highs_changeRowsBoundsBySet(highs, static_cast<int>(moving_rows_.size()), moving_rows_.data(),
                                    moving_lower_.data(), moving_upper_.data());
}

bool Worker::run_and_check() {
    Highs_run(highs);
    status = static_cast<int>(Highs_getModelStatus(highs));
    HighsInt iterations = 0;
    Highs_getIntInfoValue(highs, "simplex_iteration_count", &iterations);
    if (iterations > 0) pivots += iterations;
    if (status != kHighsModelStatusOptimal) return false;
    Highs_getSolution(highs, x.data(), column_dual.data(), row_value.data(), row_dual.data());
    const double primal = Highs_getObjectiveValue(highs);
    // The dual objective, recomputed from the duals, is what supports a cut; where it does not meet the
    // primal one the solution is not to be trusted, whatever the solver calls it.
    double dual = 0.0;
    for (int i = 0; i < total_rows(); ++i) {
        const double y = row_dual[i], bound = y > 0 ? lower_now_[i] : upper_now_[i];
        if (y != 0.0 && std::isfinite(bound)) dual += y * bound;
    }
    for (int j = 0; j < data_.columns(); ++j) {
        const double d = column_dual[j];
        double bound = d > 0 ? data_.column_lower[j] : data_.column_upper[j];
        if (j == data_.future_column) bound /= data_.cost_scale;
        if (d != 0.0 && std::isfinite(bound)) dual += d * bound;
    }
    objective = primal * data_.cost_scale;
    dual_objective = dual * data_.cost_scale;
    if (data_.future_column >= 0) x[data_.future_column] *= data_.cost_scale;
    return std::abs(primal - dual) <= kGapTolerance * (1.0 + std::abs(primal));
}

bool Worker::solve(const double *state, const double *noise, const std::vector<Options> &ladder) {
    recoveries.resize(ladder.size());
    move_bounds(state, noise);
    ++solves;
    if (run_and_check()) return true;
    for (size_t step = 0; step < ladder.size(); ++step) {
        Highs_clearSolver(highs);
        set_options(highs, ladder[step]);
        const bool solved = run_and_check();
        set_options(highs, options_);
        if (solved) {
            ++recoveries[step];
            return true;
        }
    }
    return false;
}

void Worker::add_slope(double weight, double *slope) const {
    const double unit = weight * data_.cost_scale;
    for (size_t k = 0; k < data_.row_state.row.size(); ++k)
        slope[data_.row_state.column[k]] += unit * (row_dual[data_.row_state.row[k]] * data_.row_state.value[k]);
    const int carried = data_.carried();
    if (carried == 0) return;
    std::fill(carried_weight_.begin(), carried_weight_.end(), 0.0);
    for (int cut = 0; cut < cuts_; ++cut) {
        const double multiplier = row_dual[data_.rows() + cut];
        if (multiplier == 0.0) continue;
        for (int i = 0; i < carried; ++i)
            carried_weight_[i] += multiplier * cut_carried_[static_cast<size_t>(cut) * carried + i];
    }
    for (size_t k = 0; k < data_.carried_state.row.size(); ++k)
        slope[data_.carried_state.column[k]] +=
            unit * (carried_weight_[data_.carried_state.row[k]] * data_.carried_state.value[k]);
}

void Worker::next_state(double *out) const {
    for (int i = 0; i < data_.decided(); ++i) {
        const int j = data_.state_columns[i];  // a hair outside its bounds must not grow stage by stage
        out[i] = std::min(std::max(x[j], data_.column_lower[j]), data_.column_upper[j]);
    }
    for (int i = 0; i < data_.carried(); ++i) out[data_.decided() + i] = carried_[i];
}

void Worker::basis(int8_t *out) const {
    Highs_getBasis(highs, column_status_.data(), row_status_.data());
    for (int j = 0; j < data_.columns(); ++j) out[j] = static_cast<int8_t>(column_status_[j]);
    for (int i = 0; i < total_rows(); ++i) out[data_.columns() + i] = static_cast<int8_t>(row_status_[i]);
}
