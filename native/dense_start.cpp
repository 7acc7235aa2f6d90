// DenseProblem: the bases that right-hand sides start from.
#include <algorithm>
#include <cmath>
#include <cstring>

#include "dense_problem.hpp"

namespace {

constexpr double kDualTolerance = 1e-9;
constexpr int kMostKept = 40;  // rows of an inverse that is kept: 15 kB a start

}  // namespace

double Start::promise(const Side &side) const {
    double sum = constant;
    for (const Term &term : rows)
        sum += term.dual * (term.is_upper ? side.row_upper : side.row_lower)[term.index];
    for (const Term &term : extras) sum += term.dual * side.height[term.index];
    return sum;
}

void DenseProblem::keep_starts(int count, int length, const int8_t *bases, size_t most) {
    const int core = data_.columns() + inside_.rows();
    Starts kept;
    const auto keep = [&](const std::shared_ptr<Start> &start) {
        const bool is_new = std::find(kept.begin(), kept.end(), start) == kept.end();
        if (start && is_new && kept.size() < most) kept.push_back(start);
    };
    for (int b = 0; b < count; ++b) {
        const int8_t *basis = bases + static_cast<size_t>(b) * length;
        const std::vector<int> extras = extras_of(basis, length);
        const auto is_same = [&](const std::shared_ptr<Start> &other) {
            return other->node.extras == extras && std::memcmp(other->given.data(), basis, core) == 0;
        };
        std::shared_ptr<Start> start;
        for (const auto *among : {&kept, &starts_}) {
            const auto found = std::find_if(among->begin(), among->end(), is_same);
            if (found != among->end()) start = *found;
        }
        keep(start ? start : start_of(basis, extras));
    }
    for (const std::shared_ptr<Start> &old : starts_) keep(old);
    starts_.swap(kept);
    if (!starts_.empty()) return;
    std::vector<int8_t> slacks(core, kBasic);
    for (int j = 0; j < data_.columns(); ++j) slacks[j] = kAtLower;  // moved to where it is dual feasible
    keep(start_of(slacks.data(), {}));
    starts_.swap(kept);
}

std::vector<int> DenseProblem::extras_of(const int8_t *basis, int length) const {
    std::vector<int> extras;
    for (int extra = 0; extra < data_.extras(); ++extra) {
        const int place = inside_.extra_place(extra);  // of a cut that is younger than the basis: beyond its end
        if (place < length && basis[place] != kBasic && basis[place] != kUsedLater) extras.push_back(extra);
    }
    return extras;
}

void DenseProblem::write_starts(int8_t *bases_out) const {
    for (const std::shared_ptr<Start> &start : starts_) {
        write_basis(start->node, bases_out);
        bases_out += basis_length();
    }
}

// The basis as a start; none if it is singular or not dual feasible, where no flip of a boxed variable helps.
std::shared_ptr<Start> DenseProblem::start_of(const int8_t *basis, const std::vector<int> &extras) const {
    const int columns = data_.columns(), rows = data_.rows(), core = columns + rows;
    auto start = std::make_shared<Start>();
    DenseNode &node = start->node;
    node.status.assign(basis, basis + columns);
    for (int i = 0; i < rows; ++i) node.status.push_back(basis[inside_.row_place(i)]);
    node.extras = extras;
    start->given.assign(reinterpret_cast<const char *>(basis), columns + inside_.rows());
    for (int v = 0; v < core; ++v)
        if (node.status[v] == kBasic) node.head.push_back(v);
    if (node.size() != rows + static_cast<int>(node.extras.size()) || !node.refresh(data_)) return nullptr;
    if (!sum_up(*start)) return nullptr;
    if (node.size() > kMostKept) node.forget_inverse();
    return start;
}

// An optimum as a start, with the inverse that it was found with.
std::shared_ptr<Start> DenseProblem::start_of(const Optimum &optimum) const {
    auto start = std::make_shared<Start>();
    DenseNode &node = start->node = optimum.node;
    node.y = optimum.y;
    node.d = optimum.d;
    for (int v : node.head) (v < data_.columns() ? node.d[v] : node.y[v - data_.columns()]) = 0.0;
    node.members.clear();
    return sum_up(*start) ? start : nullptr;
}

// Puts the terms of the start's bound together; false if it is not dual feasible, where no flip of a boxed variable
// helps.
bool DenseProblem::sum_up(Start &start) const {
    const int columns = data_.columns(), rows = data_.rows();
    DenseNode &node = start.node;
    const std::vector<double> &y = node.y, &d = node.d;
    // A variable rests where its reduced cost wants it.
    const auto rest = [](int8_t &at, double dual, double lower, double upper, double tolerance) {
        const bool has_lower = std::isfinite(lower), has_upper = std::isfinite(upper);
        if (at != kAtLower && at != kAtUpper) at = has_lower ? kAtLower : has_upper ? kAtUpper : kAtZero;
        if (at == kAtLower && (!has_lower || (dual < -kNoDual && has_upper))) at = has_upper ? kAtUpper : kAtZero;
        if (at == kAtUpper && (!has_upper || (dual > kNoDual && has_lower))) at = has_lower ? kAtLower : kAtZero;
        if (at == kAtZero) return std::abs(dual) <= tolerance;
        return (at == kAtLower ? dual : -dual) >= -tolerance || lower == upper;
    };
    bool is_feasible = true;
    for (int j = 0; j < columns; ++j) {
        if (node.status[j] == kBasic) continue;
        const double tolerance = kDualTolerance * std::max(1.0, std::abs(data_.cost[j]));
        is_feasible &= rest(node.status[j], d[j], data_.lower[j], data_.upper[j], tolerance);
        if (node.status[j] != kAtZero)
            start.constant += d[j] * (node.status[j] == kAtUpper ? data_.upper : data_.lower)[j];
    }
    for (int i = 0; i < rows; ++i) {
        int8_t &at = node.status[columns + i];
        if (at == kBasic) continue;
        const double lower = data_.stage.row_lower[i], upper = data_.stage.row_upper[i];
        is_feasible &= rest(at, y[i], lower, upper, kDualTolerance);
        if (at == kAtZero || y[i] == 0.0) continue;
        if (moves_[i])
            start.rows.push_back({i, at == kAtUpper, y[i]});
        else
            start.constant += y[i] * (at == kAtUpper ? upper : lower);
    }
    for (size_t k = 0; k < node.extras.size(); ++k) {
        const double dual = y[rows + k];
        is_feasible &= (data_.is_plane(node.extras[k]) ? -dual : dual) >= -kDualTolerance;
        start.extras.push_back({node.extras[k], false, dual});
    }
    return is_feasible;
}

void DenseProblem::write_basis(const DenseNode &node, int8_t *out) const {
    std::fill(out, out + basis_length(), kBasic);
    std::copy(node.status.begin(), node.status.begin() + data_.columns(), out);
    for (int i = 0; i < data_.rows(); ++i) out[inside_.row_place(i)] = node.status[data_.columns() + i];
    for (int extra : node.extras)
        out[inside_.extra_place(extra)] = data_.is_plane(extra) && !inside_.is_negated(extra) ? kAtUpper : kAtLower;
}
