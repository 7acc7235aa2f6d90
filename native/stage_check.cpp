// Worker's answers: what primal and dual values are worth, and how they are made better.
#include <algorithm>
#include <cmath>
#include <limits>

#include "interfaces/highs_c_api.h"
#include "stage_problem.hpp"

namespace {

// What a column or row may miss its bounds by, relative to a value above 1.
constexpr double kMissTolerance = 1e-9;
// Where a reduced cost has no bound to be paid at it has to vanish but for this, which HiGHS's dual tolerance leaves,
constexpr double kLeftByTolerance = 1e-9;
// and this part of the largest cost, which rounding and duals of the wrong sign that were dropped leave.
constexpr double kLeftByCosts = 6e-12;
constexpr double kInfinity = std::numeric_limits<double>::infinity();

}  // namespace

double Worker::reduced_cost_tolerance(const std::vector<double> &cost) {
    double largest = 0.0;
    for (double c : cost) largest = std::max(largest, std::abs(c));
    return kLeftByTolerance + kLeftByCosts * largest;
}

bool Worker::run_and_check(double most_gap) {
    Highs_run(highs);
    status = static_cast<int>(Highs_getModelStatus(highs));
    HighsInt iterations = 0;
    Highs_getIntInfoValue(highs, "simplex_iteration_count", &iterations);
    if (iterations > 0) counts.pivots += iterations;
    if (status != kHighsModelStatusOptimal) return false;
    Highs_getSolution(highs, x.data(), nullptr, row_value.data(), row_dual.data());
    double gap = weigh();
    if (!(gap <= kGoodGap)) {
        refine();
        gap = weigh();
    }
    objective *= data_.cost_scale;
    dual_objective *= data_.cost_scale;
    if (data_.future_column >= 0) x[data_.future_column] *= data_.cost_scale;
    return gap <= most_gap;
}

// Both objectives, scaled, from x and the rows' duals alone, and by how much they may be wrong, relative.
//
// The dual objective is what supports a cut, and a bound whatever the duals are worth. The two differ by what prices
// times distances from the bounds that they are paid at come to. Near a singular basis these cancel while both
// objectives are wrong, so they are counted by their size. A reduced cost that would have to be paid at an infinite
// bound is dropped, and counts by its variable's value; infinity if it is too large, or if something misses its bounds.
double Worker::weigh() {
    reduce_costs();
    add_up_rows();
    objective = dual_objective = 0.0;
    double wrong = 0.0;
    const auto count = [&](double price, double value, double lower, double upper, double tolerance) {
        const double bound = price > 0 ? lower : upper;
        if (std::isfinite(bound)) {
            dual_objective += price * bound;
            wrong += std::abs(price * (value - bound));
        } else {
            if (std::abs(price) > tolerance) dual_objective = -kInfinity;
            wrong += std::abs(price * value);  // what is dropped
        }
        if (std::max(lower - value, value - upper) > kMissTolerance * std::max(1.0, std::abs(value))) wrong = kInfinity;
    };
    for (int i = 0; i < total_rows(); ++i) count(row_dual[i], row_value[i], lower_now_[i], upper_now_[i], 0.0);
    for (int j = 0; j < data_.columns(); ++j) {
        const double unit = j == data_.future_column ? data_.cost_scale : 1.0;
        count(reduced_cost_[j], x[j], data_.column_lower[j] / unit, data_.column_upper[j] / unit,
              reduced_cost_tolerance_ * std::max(1.0, std::abs(cost_[j])));
        objective += cost_[j] * x[j];
    }
    return dual_objective == -kInfinity ? kInfinity : wrong / (1.0 + std::abs(objective));
}

// One step of refinement with the basis: what is left of basic variables' reduced costs is taken into the rows' duals,
// and what rows miss by into basic variables.
void Worker::refine() {
    const int rows = total_rows(), columns = data_.columns();
    std::vector<HighsInt> basic(rows);
    std::vector<double> left(rows), change(rows);
    if (Highs_getBasicVariables(highs, basic.data()) == kHighsStatusError) return;
    for (int k = 0; k < rows; ++k) left[k] = basic[k] >= 0 ? reduced_cost_[basic[k]] : -row_dual[-1 - basic[k]];
    if (Highs_getBasisTransposeSolve(highs, left.data(), change.data(), nullptr, nullptr) == kHighsStatusError) return;
    for (int i = 0; i < rows; ++i) row_dual[i] += change[i];

    Highs_getBasis(highs, column_status_.data(), row_status_.data());
    for (int i = 0; i < rows; ++i) {
        left[i] = 0.0;
        if (row_status_[i] == kHighsBasisStatusLower) left[i] = lower_now_[i] - row_value[i];
        if (row_status_[i] == kHighsBasisStatusUpper) left[i] = upper_now_[i] - row_value[i];
    }
    if (Highs_getBasisSolve(highs, left.data(), change.data(), nullptr, nullptr) == kHighsStatusError) return;
    for (int k = 0; k < rows; ++k)
        if (basic[k] >= 0 && basic[k] < columns) x[basic[k]] += change[k];
}

// Rows' values from x: HiGHS tells the bound for a row that is not basic, whatever its columns add up to.
void Worker::add_up_rows() {
    std::fill(row_value.begin(), row_value.end(), 0.0);
    for (int j = 0; j < data_.columns(); ++j)
        for (int k = data_.start[j]; k < data_.start[j + 1]; ++k)
            row_value[data_.index[k]] += data_.value[k] * x[j];
    const Planes &planes = data_.planes;
    for (size_t r = 0; r < rows_.size(); ++r) {
        double &value = row_value[data_.rows() + r];
        const int cut = rows_[r] - planes.count();
        if (cut < 0) {
            for (int k = planes.start[rows_[r]]; k < planes.start[rows_[r] + 1]; ++k)
                value += planes.value[k] * x[planes.index[k]];
            continue;
        }
        const double *slope = cuts_.decided.data() + static_cast<size_t>(cut) * data_.decided();
        for (int i = 0; i < data_.decided(); ++i) value -= slope[i] * x[data_.state_columns[i]];
        value += x[data_.future_column];
    }
}

// Reduced costs c - yA from the rows' duals: those that HiGHS tells are as its pivots have moved them. A dual of the
// wrong sign, by less than the tolerance, is none.
void Worker::reduce_costs() {
    for (int i = 0; i < total_rows(); ++i)
        if (!std::isfinite(row_dual[i] > 0 ? lower_now_[i] : upper_now_[i])) row_dual[i] = 0.0;
    reduced_cost_ = cost_;
    for (int j = 0; j < data_.columns(); ++j)
        for (int k = data_.start[j]; k < data_.start[j + 1]; ++k)
            reduced_cost_[j] -= row_dual[data_.index[k]] * data_.value[k];
    const Planes &planes = data_.planes;
    for (size_t r = 0; r < rows_.size(); ++r) {
        const double y = row_dual[data_.rows() + r];
        if (y == 0.0) continue;
        const int cut = rows_[r] - planes.count();
        if (cut < 0) {
            for (int k = planes.start[rows_[r]]; k < planes.start[rows_[r] + 1]; ++k)
                reduced_cost_[planes.index[k]] -= y * planes.value[k];
            continue;
        }
        const double *slope = cuts_.decided.data() + static_cast<size_t>(cut) * data_.decided();
        for (int i = 0; i < data_.decided(); ++i) reduced_cost_[data_.state_columns[i]] += y * slope[i];
        reduced_cost_[data_.future_column] -= y;
    }
}
