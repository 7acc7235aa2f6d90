// DenseData: what does not depend on a basis.
#include "dense_data.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

namespace {

// How far a solution may miss a plane or cut, relative to what the row limits.
constexpr double kViolationTolerance = 1e-9;
constexpr size_t kWorstPlanes = 128;  // so many are looked at from pivot to pivot

// Columns that have planes; those of one stand together.
int limited_by(const Planes &planes) {
    int count = 0;
    for (size_t k = 0; k < planes.column.size(); ++k)
        count += planes.column[k] >= 0 && (k == 0 || planes.column[k] != planes.column[k - 1]);
    return count;
}

}  // namespace

DenseData::DenseData(StageData given)
    : stage(std::move(given)), cost(stage.cost), lower(stage.column_lower), upper(stage.column_upper),
      columns_(stage.columns()), rows_(stage.rows()), planes_(stage.planes.count()),
      limited_columns_(limited_by(stage.planes)),
      decided_of_(stage.columns(), -1) {
    for (double &c : cost) c /= stage.cost_scale;
    if (stage.future_column >= 0) {
        cost[stage.future_column] = 1.0;  // θ is counted in scaled money
        lower[stage.future_column] /= stage.cost_scale;
    }
    for (int i = 0; i < stage.decided(); ++i) decided_of_[stage.state_columns[i]] = i;
    for (int j = 0; j < columns_; ++j)
        if (!std::isfinite(lower[j]) && !std::isfinite(upper[j])) free.push_back(j);
    for (int i = 0; i < rows_; ++i)
        if (stage.row_lower[i] != stage.row_upper[i]) movable_rows.push_back(i);
    row_start.assign(rows_ + 1, 0);
    for (int row : stage.index) ++row_start[row + 1];
    for (int i = 0; i < rows_; ++i) row_start[i + 1] += row_start[i];
    row_index.resize(stage.index.size());
    row_value.resize(stage.index.size());
    std::vector<int> next(row_start.begin(), row_start.end() - 1);
    for (int j = 0; j < columns_; ++j)
        for (int k = stage.start[j]; k < stage.start[j + 1]; ++k) {
            const int place = next[stage.index[k]]++;
            row_index[place] = j;
            row_value[place] = stage.value[k];
        }
}

void DenseData::add_cuts(int count, const double *intercepts, const double *slopes) {
    const int decided = stage.decided(), carried = stage.carried(), width = stage.states_out();
    const size_t blocks = (cuts_ + count + kLanes - 1) / kLanes;
    intercept_.resize(blocks * kLanes, 0.0);
    decided_.resize(blocks * decided * kLanes, 0.0);
    carried_.resize(blocks * carried * kLanes, 0.0);
    for (int k = 0; k < count; ++k, ++cuts_) {
        const size_t block = cuts_ / kLanes, lane = cuts_ % kLanes;
        const double *slope = slopes + static_cast<size_t>(k) * width;
        intercept_[cuts_] = intercepts[k] / stage.cost_scale;
        for (int i = 0; i < decided; ++i)
            decided_[(block * decided + i) * kLanes + lane] = slope[i] / stage.cost_scale;
        for (int i = 0; i < carried; ++i)
            carried_[(block * carried + i) * kLanes + lane] = slope[decided + i] / stage.cost_scale;
    }
}

void DenseData::cuts_from(int first, double *intercepts, double *slopes) const {
    for (int cut = first; cut < cuts_; ++cut) {
        *intercepts++ = intercept_[cut] * stage.cost_scale;
        for (int i = 0; i < stage.decided(); ++i) *slopes++ = decided_slope(cut, i) * stage.cost_scale;
        for (int i = 0; i < stage.carried(); ++i) *slopes++ = carried_slope(planes_ + cut, i) * stage.cost_scale;
    }
}

void DenseData::place(const double *state, const double *noise, Side &side) const {
    side.row_lower.assign(rows_, 0.0);
    stage.row_state.add_products(state, side.row_lower);
    stage.row_noise.add_products(noise, side.row_lower);
    side.row_upper.resize(rows_);
    for (int i = 0; i < rows_; ++i) {
        const double shift = side.row_lower[i];
        side.row_lower[i] = stage.row_lower[i] + shift;
        side.row_upper[i] = stage.row_upper[i] + shift;
    }
    side.carried = stage.carried_constant;
    stage.carried_state.add_products(state, side.carried);
    stage.carried_noise.add_products(noise, side.carried);
    side.height.resize(planes_ + intercept_.size());  // whole blocks
    std::copy(stage.planes.upper.begin(), stage.planes.upper.end(), side.height.begin());
    stage.planes.state.add_products(state, side.height);
    const int carried = stage.carried();
    for (size_t first = 0; first < intercept_.size(); first += kLanes) {
        double sum[kLanes];
        std::copy_n(&intercept_[first], kLanes, sum);
        const double *slope = carried_.data() + first * carried;
        for (int i = 0; i < carried; ++i, slope += kLanes)
            for (int lane = 0; lane < kLanes; ++lane) sum[lane] += slope[lane] * side.carried[i];
        std::copy_n(sum, kLanes, &side.height[planes_ + first]);
    }
}

double DenseData::coefficient(int extra, int column) const {
    if (is_plane(extra)) {
        for (int k = stage.planes.start[extra]; k < stage.planes.start[extra + 1]; ++k)
            if (stage.planes.index[k] == column) return stage.planes.value[k];
        return 0.0;
    }
    if (column == stage.future_column) return 1.0;
    return decided_of_[column] < 0 ? 0.0 : -decided_slope(extra - planes_, decided_of_[column]);
}

double DenseData::times(int extra, const double *x) const {
    double sum = 0.0;
    if (is_plane(extra)) {
        for (int k = stage.planes.start[extra]; k < stage.planes.start[extra + 1]; ++k)
            sum += stage.planes.value[k] * x[stage.planes.index[k]];
        return sum;
    }
    for (int i = 0; i < stage.decided(); ++i)
        sum -= decided_slope(extra - planes_, i) * x[stage.state_columns[i]];
    return sum + x[stage.future_column];
}

double DenseData::excess_of(int plane, const Side &side, const double *x) const {
    const int column = stage.planes.column[plane];
    const double excess = times(plane, x) - side.height[plane];
    if (excess <= kViolationTolerance) return 0.0;
    return excess > kViolationTolerance * std::abs(column < 0 ? side.height[plane] : x[column]) ? excess : 0.0;
}

double DenseData::score_of(int plane, double excess, const double *weight) const {
    double norm = 1.0;
    for (int k = stage.planes.start[plane]; k < stage.planes.start[plane + 1]; ++k)
        norm += stage.planes.value[k] * stage.planes.value[k] * weight[stage.planes.index[k]];
    return excess * excess / norm;
}

DenseData::Violation DenseData::look_at_planes(const Side &side, const double *x, const double *weight,
                                               std::vector<int> &worst) const {
    static thread_local std::vector<std::pair<double, int>> violated;
    violated.clear();
    Violation most;
    for (int plane = 0; plane < planes_; ++plane) {
        const double excess = excess_of(plane, side, x);
        if (excess == 0.0) continue;
        const double score = score_of(plane, excess, weight);
        if (score > most.score) most = {plane, score};
        violated.emplace_back(-score, plane);
    }
    if (violated.size() > kWorstPlanes) {
        std::nth_element(violated.begin(), violated.begin() + kWorstPlanes, violated.end());
        violated.resize(kWorstPlanes);
    }
    worst.clear();
    for (const auto &[score, plane] : violated) worst.push_back(plane);
    std::sort(worst.begin(), worst.end());
    return most;
}

DenseData::Violation DenseData::most_violated_plane(const std::vector<int> &among, const Side &side, const double *x,
                                                    const double *weight) const {
    Violation most;
    for (int plane : among) {
        const double excess = excess_of(plane, side, x);
        if (excess == 0.0) continue;
        const double score = score_of(plane, excess, weight);
        if (score > most.score) most = {plane, score};
    }
    return most;
}

DenseData::Violation DenseData::most_violated_cut(const Side &side, const double *x, const double *weight) const {
    if (cuts_ == 0) return {};
    int found = -1;
    const int decided = stage.decided();
    const double future = x[stage.future_column];
    double worst = kViolationTolerance * std::max(1.0, std::abs(future));
    for (int first = 0; first < cuts_; first += kLanes) {
        double sum[kLanes];
        for (int lane = 0; lane < kLanes; ++lane) sum[lane] = side.height[planes_ + first + lane] - future;
        const double *slope = decided_.data() + static_cast<size_t>(first) * decided;
        for (int i = 0; i < decided; ++i, slope += kLanes) {
            const double volume = x[stage.state_columns[i]];
            for (int lane = 0; lane < kLanes; ++lane) sum[lane] += slope[lane] * volume;
        }
        for (int lane = 0; lane < kLanes && first + lane < cuts_; ++lane)
            if (sum[lane] > worst) {
                worst = sum[lane];
                found = planes_ + first + lane;
            }
    }
    if (found < 0) return {};
    double norm = 1.0 + weight[stage.future_column];
    for (int i = 0; i < decided; ++i) {
        const double slope = decided_slope(found - planes_, i);
        norm += slope * slope * weight[stage.state_columns[i]];
    }
    return {found, worst * worst / norm};
}
