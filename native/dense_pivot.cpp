// DenseSearch: one pivot. The ratio test takes long steps: boxed variables are flipped as long as that pays.
#include "dense_search.hpp"

#include <algorithm>
#include <cmath>
#include <limits>

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kLeastAlpha = 1e-8;  // below it a variable does not take part: what that costs is found at the end
constexpr double kGoodAlpha = 1e-4;   // below it one is only pivoted on if there is nothing better
constexpr double kSafeAlpha = 0.1;    // below it likewise, if another one ties
constexpr double kSlack = 1e-10;      // by how much the dual of one below that may come out wrong
constexpr double kTie = 1e-9;         // ratios as near as this count as equal
constexpr double kDrift = 1e-7;       // by how much an element may differ between row and column, relative

}  // namespace

void DenseSearch::find_candidates(const DenseNode &node, const Leaving &leaving, double most) {
    const int columns = data_->columns(), rows = data_->rows();
    if (leaving.extra >= 0) {
        node.basic_part(*data_, leaving.extra, part_);
        node.row_for(part_, rho_);
    } else {
        node.row_at(leaving.position, rho_);
    }
    node.times_matrix(*data_, rho_, leaving.extra, row_);
    const double sign = leaving.direction;
    candidates_.clear();
    double reach = kInfinity;  // where a step of this much excess ends at the latest
    // At its lower bound a variable may rise if that helps, at its upper one fall, and a free one do either.
    const auto add = [&](int variable, int8_t at, double alpha, double dual, double tie, double range) {
        const double side = at == kAtUpper ? -1.0 : at == kAtLower ? 1.0 : 0.0;
        const double slope = side == 0.0 ? std::abs(alpha) : side * sign * alpha;
        if (slope < kLeastAlpha) return;
        double distance = side * dual, tie_distance = side * tie;
        if (distance < kNoDual) {
            distance = 0.0;
            tie_distance = std::max(tie_distance, 0.0);
        }
        // Else a small element, often rounding's, of one without a dual would end every step at nothing.
        if (slope < kSafeAlpha) distance += kSlack;
        if (distance > (1.0 + kTie) * reach * slope) return;
        const double ratio = distance / slope;
        if (range * slope > most) reach = std::min(reach, ratio);
        candidates_.push_back({ratio, tie_distance / slope, slope, range, alpha, variable});
    };
    const auto add_column = [&](int j) {
        const int8_t at = node.status[j];
        add(j, at, row_[j], node.d[j], node.tie_d[j],
            at == kAtZero ? kInfinity : data_->upper[j] - data_->lower[j]);
    };
    for (int first = 0; first < columns; first += kVector) {  // most have nothing in them
        const double *element = row_.data() + first, *may = node.may.data() + first;
        double slope[kVector], most = 0.0;
        for (int lane = 0; lane < kVector; ++lane) slope[lane] = sign * element[lane] * may[lane];
        for (int lane = 0; lane < kVector; ++lane) most = std::max(most, slope[lane]);
        if (most < kLeastAlpha) continue;
        for (int lane = 0; lane < kVector; ++lane)
            if (slope[lane] >= kLeastAlpha) add_column(first + lane);
    }
    for (int j : data_->free)
        if (node.status[j] == kAtZero) add_column(j);
    for (int i : data_->movable_rows) {
        const int8_t at = node.status[columns + i];
        if (at == kBasic) continue;
        add(columns + i, at, -rho_[i], node.y[i], node.tie_y[i],
            data_->stage.row_upper[i] - data_->stage.row_lower[i]);
    }
    for (size_t k = 0; k < node.extras.size(); ++k) {
        const int row = rows + static_cast<int>(k);
        add(columns + row, data_->is_plane(node.extras[k]) ? kAtUpper : kAtLower, -rho_[row], node.y[row],
            node.tie_y[row], kInfinity);
    }
    // Those taken before the end was known: they would not enter, and sorting them costs more than all of this.
    candidates_.erase(std::remove_if(candidates_.begin(), candidates_.end(),
                                     [&](const Candidate &c) { return c.ratio > reach; }),
                      candidates_.end());
}

// Sorts the candidates by ratio and drops those behind where a step of this much excess ends.
void DenseSearch::order_candidates(double most) {
    const auto earlier = [](const Candidate &a, const Candidate &b) {
        if (a.ratio != b.ratio) return a.ratio < b.ratio;
        if (a.tie_ratio != b.tie_ratio) return a.tie_ratio < b.tie_ratio;
        return a.slope != b.slope ? a.slope > b.slope : a.variable < b.variable;
    };
    std::sort(candidates_.begin(), candidates_.end(), earlier);
    size_t count = 0;
    while (count < candidates_.size() && most >= 0.0) {
        most -= candidates_[count].range * candidates_[count].slope;
        ++count;
    }
    candidates_.resize(count);
}

// Which candidate enters after these many breakpoints: the last, or an earlier one with a larger element where that
// one's is small; rather one that ties with it than another.
int DenseSearch::entering(int passed) const {
    const Candidate &limit = candidates_[passed];
    int best = passed;
    for (int c = passed - 1; c >= 0; --c) {
        const bool ties = limit.ratio - candidates_[c].ratio <= kTie * std::max(1.0, limit.ratio);
        if (candidates_[best].slope >= (ties ? kSafeAlpha : kGoodAlpha)) break;
        if (candidates_[c].slope > candidates_[best].slope) best = c;
    }
    return best;
}

// Whether the pivot's element is the same by its column as by its row; the column is left in column_.
bool DenseSearch::is_reliable(const DenseNode &node, const Leaving &leaving, int entering) {
    const Candidate &candidate = candidates_[entering];
    node.column_for(*data_, candidate.variable, column_);
    double element = 0.0;
    if (leaving.extra >= 0) {
        const int variable = candidate.variable;
        element = dot(part_.data(), column_.data(), node.stride());
        if (variable < data_->columns()) element -= data_->coefficient(leaving.extra, variable);
        column_.resize(std::max<size_t>(column_.size(), node.size() + 8), 0.0);
        column_[node.size()] = element;
    } else {
        element = column_[leaving.position];
    }
    const bool agrees = std::abs(element - candidate.alpha) <= kDrift * std::abs(element);
    return element != 0.0 && (agrees || node.updates == 0);
}

// Turns a copy of the node into the basis after the pivot, and moves its members along.
void DenseSearch::pivot(DenseNode &child, const Leaving &leaving, int entering, const std::vector<int> &members) {
    const int columns = data_->columns(), rows = data_->rows(), core = columns + rows;
    const Candidate &candidate = candidates_[entering];
    const int variable = candidate.variable;
    int position = leaving.position;
    pivots += static_cast<int64_t>(members.size());
    if (leaving.extra >= 0) {
        position = child.size();
        for (int member : members) {  // the extra's own variable, basic for a moment
            Walker &walker = walkers_[member];
            child.fill_columns(walker.x, full_);
            walker.x.resize(std::max<size_t>(walker.x.size(), position + 1), 0.0);
            walker.x[position] = data_->times(leaving.extra, full_.data());
        }
        child.append(leaving.extra, part_, rho_, core + static_cast<int>(child.extras.size()));
    }
    amounts_.assign(child.size(), 0.0);
    bool flips = false;
    for (int c = 0; c < entering; ++c) {
        const int flipped = candidates_[c].variable;
        const bool falls = child.status[flipped] == kAtUpper;
        const double change = falls ? -candidates_[c].range : candidates_[c].range;
        child.put(*data_, flipped, falls ? kAtLower : kAtUpper);
        flips = true;
        if (flipped >= columns) {
            amounts_[flipped - columns] += change;
            continue;
        }
        for (int k = data_->stage.start[flipped]; k < data_->stage.start[flipped + 1]; ++k)
            amounts_[data_->stage.index[k]] -= data_->stage.value[k] * change;
        for (size_t k = 0; k < child.extras.size(); ++k)
            amounts_[rows + k] -= data_->coefficient(child.extras[k], flipped) * change;
    }
    if (flips) {
        flipped_.resize(child.stride());
        child.solve(amounts_.data(), flipped_.data());
    }
    column_.resize(child.stride(), 0.0);
    const double element = column_[position];

    const int leaver = child.head[position];
    const auto move = [&](std::vector<double> &y, std::vector<double> &d, double ratio) {
        double &dual = variable < columns ? d[variable] : y[variable - columns];
        const double step = ratio == 0.0 ? 0.0 : dual / candidate.alpha;  // what rounding made wrong is found at the end
        if (step != 0.0) {
            for (int j = 0; j < columns; ++j) d[j] -= step * row_[j];
            for (int i = 0; i < child.size(); ++i) y[i] += step * rho_[i];
        }
        if (leaver < columns) d[leaver] = -step;
        dual = 0.0;
    };
    move(child.y, child.d, candidate.ratio);
    move(child.tie_y, child.tie_d, candidate.tie_ratio);

    for (int member : members) {
        Walker &walker = walkers_[member];
        walker.is_exact = false;
        walker.x.resize(child.stride(), 0.0);
        if (flips)
            for (int p = 0; p < child.stride(); ++p) walker.x[p] += flipped_[p];
        double bound;
        if (leaver >= core)
            bound = walker.side->height[child.extras[leaver - core]];
        else if (leaver >= columns)
            bound = (leaving.direction < 0 ? walker.side->row_lower : walker.side->row_upper)[leaver - columns];
        else
            bound = (leaving.direction < 0 ? data_->lower : data_->upper)[leaver];
        const double change = (walker.x[position] - bound) / element;
        const double before = child.resting(*data_, *walker.side, variable);
        for (int p = 0; p < child.stride(); ++p) walker.x[p] -= change * column_[p];
        walker.x[position] = before + change;
    }
    child.exchange(position, variable, column_, rho_);
    if (leaver < core) child.put(*data_, leaver, leaving.direction < 0 ? kAtLower : kAtUpper);
    if (variable < core) {
        child.put(*data_, variable, kBasic);
    } else {  // an extra that is no longer binding
        child.drop(*data_, variable - core, position);
        for (int member : members) {
            std::vector<double> &x = walkers_[member].x;
            x.erase(x.begin() + position);
            x.push_back(0.0);
        }
    }
}
