// DenseSearch: the tree of pivots.
#include "dense_search.hpp"

#include <algorithm>
#include <cmath>
#include <tuple>

namespace {

constexpr double kPrimalTolerance = 1e-9;  // relative to a value above 1
constexpr double kDualTolerance = 1e-9;    // likewise to a cost, in scaled money
constexpr double kGapTolerance = 1e-9;     // between primal and dual objective, relative
constexpr double kEven = 1e-12;            // share of an excess that is none: boxed variables made up for it all
constexpr int kPlanesAPivot = 100;         // for so many of them all are looked at once in a pivot more

// Beyond these many pivots a right-hand side is given up.
int most_steps(const DenseData &data) { return 500 + 20 * data.rows(); }

}  // namespace

std::unique_ptr<DenseNode> DenseSearch::copy_of(const DenseNode &node) {
    if (spare_.empty()) return std::make_unique<DenseNode>(node);
    std::unique_ptr<DenseNode> copy = std::move(spare_.back());
    spare_.pop_back();
    *copy = node;
    return copy;
}

void DenseSearch::run(const DenseData &data, const DenseNode &start, const std::vector<Side> &sides,
                      const std::vector<int> &which, const Found &found) {
    data_ = &data;
    if (walkers_.size() < sides.size()) walkers_.resize(sides.size());
    std::unique_ptr<DenseNode> root = copy_of(start);
    root->members = which;
    root->begin(data);
    for (int member : which) {
        Walker &walker = walkers_[member];
        walker.side = &sides[member];
        walker.steps = 0;
        walker.violated.clear();
    }
    fresh_numbers(*root, which);
    stack_.push_back(std::move(root));
    std::vector<Leaving> leaving;
    std::vector<int> unclear;
    while (!stack_.empty()) {
        std::unique_ptr<DenseNode> node = std::move(stack_.back());
        stack_.pop_back();
        has_exact_duals_ = false;
        node->fill_weights(*data_, weights_);
        leaving.clear();
        unclear.clear();
        for (int member : node->members) {
            Walker &walker = walkers_[member];
            Leaving next{-1, -1, 0, 0.0, member};
            bool goes_on = choose(*node, member, next);
            if (!goes_on && !walker.is_exact) {  // an optimum is believed when it is one from scratch as well
                walker.is_accurate = node->place(*data_, *walker.side, walker.x, full_);
                walker.is_exact = true;
                goes_on = choose(*node, member, next);
            }
            if (!goes_on) {
                if (!settle(*node, member, found)) unclear.push_back(member);
            } else if (++walker.steps <= most_steps(*data_)) {
                leaving.push_back(next);
            }
        }
        again(*node, unclear);
        unclear.clear();
        if (leaving.empty())
            spare_.push_back(std::move(node));
        else
            branch(std::move(node), leaving, unclear);
    }
}

// Members of a basis whose numbers have become too inaccurate go on from the same basis with fresh ones; where they
// are fresh already, or the basis is singular, they are given up.
void DenseSearch::again(const DenseNode &node, const std::vector<int> &members) {
    if (members.empty() || node.updates == 0) return;
    std::unique_ptr<DenseNode> copy = copy_of(node);
    copy->members = members;
    if (!copy->refresh(*data_)) {
        spare_.push_back(std::move(copy));
        return;
    }
    copy->put_columns(*data_);
    fresh_numbers(*copy, members);
    stack_.push_back(std::move(copy));
}

void DenseSearch::fresh_numbers(DenseNode &node, const std::vector<int> &members) {
    for (int member : members) {
        Walker &walker = walkers_[member];
        walker.is_accurate = node.place(*data_, *walker.side, walker.x, full_);
        walker.is_exact = true;
    }
}

// The basic variable that is farthest out of its bounds in the steepest edge's norm; if there is none, the extra
// that is violated most. False if nothing is.
bool DenseSearch::choose(const DenseNode &node, int member, Leaving &leaving) {
    Walker &walker = walkers_[member];
    const int columns = data_->columns();
    double best = 0.0;
    for (int p = 0; p < node.size(); ++p) {
        const int variable = node.head[p];
        const bool is_column = variable < columns;
        const double lower = is_column ? data_->lower[variable] : walker.side->row_lower[variable - columns];
        const double upper = is_column ? data_->upper[variable] : walker.side->row_upper[variable - columns];
        const double value = walker.x[p], below = lower - value, above = value - upper;
        const double excess = std::max(below, above);
        if (excess <= kPrimalTolerance * std::max(1.0, std::abs(value))) continue;
        const double score = excess * excess / std::max(node.weight[p], 1e-12);
        if (score > best) {
            best = score;
            leaving.position = p;
            leaving.direction = below > above ? -1 : 1;
            leaving.excess = excess;
        }
    }
    if (data_->extras() == 0) return leaving.position >= 0;
    node.fill_columns(walker.x, full_);
    for (const DenseData::Violation &most : {most_violated_plane(walker),
                                            data_->most_violated_cut(*walker.side, full_.data(), weights_.data())}) {
        const bool is_row = std::find(node.extras.begin(), node.extras.end(), most.extra) != node.extras.end();
        if (most.score <= best || is_row) continue;
        best = most.score;
        leaving.position = -1;
        leaving.extra = most.extra;
        leaving.direction = data_->is_plane(most.extra) ? 1 : -1;
        leaving.excess = std::abs(data_->times(most.extra, full_.data()) - walker.side->height[most.extra]);
    }
    return leaving.position >= 0 || leaving.extra >= 0;
}

// All planes are looked at again when none of those that were violated is any longer, or after some pivots.
DenseData::Violation DenseSearch::most_violated_plane(Walker &walker) {
    const double *x = full_.data(), *weight = weights_.data();
    if (++walker.looked <= data_->planes() / kPlanesAPivot) {
        const DenseData::Violation most = data_->most_violated_plane(walker.violated, *walker.side, x, weight);
        if (most.extra >= 0) return most;
    }
    walker.looked = 0;
    return data_->look_at_planes(*walker.side, x, weight, walker.violated);
}

// Hands an optimum on, if primal and dual agree. A dual of an extra that has the wrong sign is none, which changes
// reduced costs; the dual objective counts these of all columns, what is left of those of basic ones as well. So
// whatever the inverse is worth, it is a bound.
bool DenseSearch::settle(const DenseNode &node, int member, const Found &found) {
    const int columns = data_->columns(), rows = data_->rows();
    const Walker &walker = walkers_[member];
    if (!has_exact_duals_) {
        node.price(*data_, exact_y_, exact_d_);
        for (size_t k = 0; k < node.extras.size(); ++k) {
            double &y = exact_y_[rows + k];
            if ((data_->is_plane(node.extras[k]) ? y : -y) <= 0.0) continue;
            data_->add_extra(node.extras[k], y, exact_d_.data());
            y = 0.0;
        }
        has_exact_duals_ = true;
    }
    if (!walker.is_accurate) return false;
    node.fill_columns(walker.x, full_);
    double primal = 0.0, dual = 0.0;
    for (int i = 0; i < rows; ++i) {
        const double y = exact_y_[i];
        if (y == 0.0) continue;
        const double bound = y > 0.0 ? walker.side->row_lower[i] : walker.side->row_upper[i];
        if (std::isfinite(bound))
            dual += y * bound;
        else if (std::abs(y) > kDualTolerance)
            return false;
    }
    for (size_t k = 0; k < node.extras.size(); ++k)
        dual += exact_y_[rows + k] * walker.side->height[node.extras[k]];
    for (int j = 0; j < columns; ++j) {
        const double d = exact_d_[j];
        primal += data_->cost[j] * full_[j];
        if (d == 0.0) continue;
        const double bound = d > 0.0 ? data_->lower[j] : data_->upper[j];
        if (std::isfinite(bound))
            dual += d * bound;
        else if (std::abs(d) > kDualTolerance * std::max(1.0, std::abs(data_->cost[j])))
            return false;
    }
    if (!(std::abs(primal - dual) <= kGapTolerance * (1.0 + std::abs(primal)))) return false;
    found(member, {node, exact_y_, exact_d_, full_, walker.side->carried, primal, dual});
    return true;
}

// Pivots for all that go on, those together that leave and enter alike.
void DenseSearch::branch(std::unique_ptr<DenseNode> node, std::vector<Leaving> &all, std::vector<int> &unclear) {
    const auto key = [](const Leaving &l) { return std::make_tuple(l.position, l.extra, l.direction); };
    std::stable_sort(all.begin(), all.end(), [&](const Leaving &a, const Leaving &b) { return key(a) < key(b); });
    std::vector<std::pair<int, int>> passed;  // breakpoints, member
    std::vector<int> members;
    for (size_t first = 0, last; first < all.size(); first = last) {
        double most = 0.0;
        for (last = first; last < all.size() && key(all[last]) == key(all[first]); ++last)
            most = std::max(most, all[last].excess);
        find_candidates(*node, all[first], most);
        order_candidates(most);
        passed.clear();
        for (size_t k = first; k < last; ++k) {
            double slope = all[k].excess;
            int breakpoints = -1;
            for (size_t c = 0; c < candidates_.size() && breakpoints < 0; ++c) {
                slope -= candidates_[c].range * candidates_[c].slope;
                if (slope <= kEven * all[k].excess) breakpoints = static_cast<int>(c);
            }
            if (breakpoints < 0)
                unclear.push_back(all[k].member);  // nothing limits the dual step: no primal solution, or bad numbers
            else
                passed.emplace_back(breakpoints, all[k].member);
        }
        std::stable_sort(passed.begin(), passed.end(),
                         [](const auto &a, const auto &b) { return a.first < b.first; });
        for (size_t begin = 0, end; begin < passed.size(); begin = end) {
            members.clear();
            for (end = begin; end < passed.size() && passed[end].first == passed[begin].first; ++end)
                members.push_back(passed[end].second);
            const int chosen = entering(passed[begin].first);
            if (!is_reliable(*node, all[first], chosen)) {
                unclear.insert(unclear.end(), members.begin(), members.end());
                continue;
            }
            // The last child may have the parent's place.
            const bool is_last = last == all.size() && end == passed.size() && unclear.empty();
            std::unique_ptr<DenseNode> child = is_last ? std::move(node) : copy_of(*node);
            pivot(*child, all[first], chosen, members);
            if (!child->is_worn()) {
                child->members = members;
                stack_.push_back(std::move(child));
            } else {
                again(*child, members);
                spare_.push_back(std::move(child));
            }
        }
    }
    if (!unclear.empty()) again(*node, unclear);
    if (node) spare_.push_back(std::move(node));
}
