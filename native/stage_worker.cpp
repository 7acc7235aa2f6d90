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
// A cut joins the LP when θ lies below it by more than this, relative to θ.
constexpr double kViolationTolerance = 1e-9;

void set_options(void *highs, const Options &options) {
    for (const auto &[name, value] : options)
        if (Highs_setOptionValue(highs, name.c_str(), value.c_str()) == kHighsStatusError)
            throw std::invalid_argument("HiGHS refuses option " + name + " = " + value);
}

}  // namespace

Worker::Worker(const StageData &data, const CutStore &cuts, const Options &options)
    : data_(data), cuts_(cuts), options_(options) {
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

void Worker::choose_rows(const std::vector<int> &cuts) {
    drop_rows(0);
    append_rows(cuts);
    chosen_ = static_cast<int>(rows_.size());
}

void Worker::add_rows(const std::vector<int> &cuts) {
    drop_rows(chosen_);
    append_rows(cuts);
    chosen_ = static_cast<int>(rows_.size());
}

void Worker::append_rows(const std::vector<int> &cuts) {
    is_row_.resize(cuts_.count(), 0);
    used_.resize(cuts_.count(), 0);
    height_.resize(cuts_.count());
    const int count = static_cast<int>(cuts.size()), decided = data_.decided();
    if (count == 0) return;
    std::vector<double> lower(count), upper(count, std::numeric_limits<double>::infinity()), value;
    std::vector<int> start(count), index;
    for (int k = 0; k < count; ++k) {
        const int cut = cuts[k];
        start[k] = static_cast<int>(index.size());
        for (int i = 0; i < decided; ++i) {
            const double slope = cuts_.decided[static_cast<size_t>(cut) * decided + i];
            if (slope == 0.0) continue;
            index.push_back(data_.state_columns[i]);
            value.push_back(-slope);
        }
        index.push_back(data_.future_column);
        value.push_back(1.0);
        lower[k] = data_.carried() ? height_[cut] : cuts_.intercept[cut];
        rows_.push_back(cut);
        is_row_[cut] = 1;
        lower_now_.push_back(lower[k]);
        upper_now_.push_back(upper[k]);
    }
    if (Highs_addRows(highs, count, lower.data(), upper.data(), static_cast<int>(index.size()), start.data(),
                      index.data(), value.data()) == kHighsStatusError)
        throw std::invalid_argument("HiGHS refuses a cut");
    row_value.resize(total_rows());
    row_dual.resize(total_rows());
    row_status_.resize(total_rows());
}

void Worker::drop_rows(int from) {
    if (from >= static_cast<int>(rows_.size())) return;
    for (size_t k = from; k < rows_.size(); ++k) is_row_[rows_[k]] = 0;
    Highs_deleteRowsByRange(highs, data_.rows() + from, total_rows() - 1);
    rows_.resize(from);
    lower_now_.resize(total_rows());
    upper_now_.resize(total_rows());
    row_value.resize(total_rows());
    row_dual.resize(total_rows());
    row_status_.resize(total_rows());
}

void Worker::begin(const int8_t *basis, int length) {
    drop_rows(chosen_);
    std::fill(used_.begin(), used_.end(), 0);
    Highs_clearSolver(highs);
    if (length == 0) return;
    const int core = data_.columns() + data_.rows();
    std::vector<int> missing;  // binding in the basis, so it must be a row
    for (int cut = 0; cut < length - core; ++cut)
        if (basis[core + cut] != kHighsBasisStatusBasic && basis[core + cut] != kUsedLater && !is_row_[cut])
            missing.push_back(cut);
    append_rows(missing);
    for (int j = 0; j < data_.columns(); ++j) column_status_[j] = basis[j];
    for (int i = 0; i < data_.rows(); ++i) row_status_[i] = basis[data_.columns() + i];
    for (size_t k = 0; k < rows_.size(); ++k) {  // a cut younger than the basis is basic in it
        const int8_t status = core + rows_[k] < length ? basis[core + rows_[k]] : kHighsBasisStatusBasic;
        row_status_[data_.rows() + k] = status == kUsedLater ? kHighsBasisStatusBasic : status;
    }
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

    moving_lower_.clear();
    moving_upper_.clear();
    std::vector<int> &moving = moving_set_;
    moving = moving_rows_;
    for (int row : moving_rows_) {
        lower_now_[row] = data_.row_lower[row] + shift_[row];
        upper_now_[row] = data_.row_upper[row] + shift_[row];
        moving_lower_.push_back(lower_now_[row]);
        moving_upper_.push_back(upper_now_[row]);
    }
    for (int cut = 0; cut < cuts_.count(); ++cut) {
        height_[cut] = cuts_.intercept[cut];
        for (int i = 0; i < carried; ++i)
            height_[cut] += cuts_.carried[static_cast<size_t>(cut) * carried + i] * carried_[i];
    }
    for (size_t k = 0; carried > 0 && k < rows_.size(); ++k) {
        const int row = data_.rows() + static_cast<int>(k);
        lower_now_[row] = height_[rows_[k]];
        moving.push_back(row);
        moving_lower_.push_back(lower_now_[row]);
        moving_upper_.push_back(upper_now_[row]);
    }
    if (!moving.empty())
        Highs_changeRowsBoundsBySet(highs, static_cast<int>(moving.size()), moving.data(), moving_lower_.data(),
                                    moving_upper_.data());
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
    for (;;) {
        if (!run_and_check() && !climb(ladder)) return false;
        const int cut = most_violated();
        if (cut < 0) break;
        append_rows({cut});
    }
    for (size_t k = 0; k < rows_.size(); ++k)
        if (row_dual[data_.rows() + k] != 0.0) used_[rows_[k]] = 1;
    return true;
}

bool Worker::climb(const std::vector<Options> &ladder) {
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

// The cut outside the LP that the solution violates most, or -1; of several the oldest.
int Worker::most_violated() const {
    const int decided = data_.decided();
    if (static_cast<int>(rows_.size()) == cuts_.count()) return -1;
    const double theta = x[data_.future_column] / data_.cost_scale;
    double worst = kViolationTolerance * std::max(1.0, std::abs(theta));
    int found = -1;
    for (int cut = 0; cut < cuts_.count(); ++cut) {
        if (is_row_[cut]) continue;
        double violation = height_[cut] - theta;
        for (int i = 0; i < decided; ++i)
            violation += cuts_.decided[static_cast<size_t>(cut) * decided + i] * x[data_.state_columns[i]];
        if (violation > worst) {
            worst = violation;
            found = cut;
        }
    }
    return found;
}

void Worker::add_slope(double weight, double *slope) const {
    const double unit = weight * data_.cost_scale;
    for (size_t k = 0; k < data_.row_state.row.size(); ++k)
        slope[data_.row_state.column[k]] += unit * (row_dual[data_.row_state.row[k]] * data_.row_state.value[k]);
    const int carried = data_.carried();
    if (carried == 0) return;
    std::fill(carried_weight_.begin(), carried_weight_.end(), 0.0);
    for (size_t k = 0; k < rows_.size(); ++k) {
        const double multiplier = row_dual[data_.rows() + k];
        if (multiplier == 0.0) continue;
        for (int i = 0; i < carried; ++i)
            carried_weight_[i] += multiplier * cuts_.carried[static_cast<size_t>(rows_[k]) * carried + i];
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
    int8_t *row_out = out + data_.columns();
    for (int i = 0; i < data_.rows(); ++i) row_out[i] = static_cast<int8_t>(row_status_[i]);
    int8_t *cut_out = row_out + data_.rows();
    std::fill(cut_out, cut_out + cuts_.count(), static_cast<int8_t>(kHighsBasisStatusBasic));
    for (size_t k = 0; k < rows_.size(); ++k)
        cut_out[rows_[k]] = static_cast<int8_t>(row_status_[data_.rows() + k]);
}

void Worker::mark_used(int8_t *basis) const {
    int8_t *cut = basis + data_.columns() + data_.rows();
    for (int k = 0; k < cuts_.count(); ++k)
        if (used_[k] && cut[k] == kHighsBasisStatusBasic) cut[k] = kUsedLater;
}
