// DenseProblem: the bases that right-hand sides start from.
#include <algorithm>
#include <cmath>
#include <cstring>
#include <iterator>

#include "dense_problem.hpp"

namespace {

constexpr double kDualTolerance = 1e-9;

}  // namespace

double Start::promise(const Side &side) const {
    double sum = constant;
    for (const Term &term : rows)
        sum += term.dual * (term.is_upper ? side.row_upper : side.row_lower)[term.index];
    for (const Term &term : extras) sum += term.dual * side.height[term.index];
    return sum;
}

// Whether a basis is the one that was given at a place, but for what has been added since.
bool DenseProblem::is_given(size_t place, const int8_t *basis, int length) const {
    if (place >= given_.size()) return false;
    const std::string &old = given_[place].basis;
    const int known = static_cast<int>(old.size());
    return known <= length && std::memcmp(old.data(), basis, known) == 0 &&
           std::all_of(basis + known, basis + length, [](int8_t status) { return status == kBasic; });
}

void DenseProblem::know_starts(int count, int length, const int8_t *bases) {
    std::vector<Given> given;
    size_t next = 0;  // most bases follow each other as they did
    for (int b = 0; b < count; ++b) {
        const int8_t *basis = bases + static_cast<size_t>(b) * length;
        const size_t place = is_given(next, basis, length) ? next : b;
        if (is_given(place, basis, length)) {
            const std::string bytes(reinterpret_cast<const char *>(basis), length);
            given.push_back({bytes, given_[place].start});
            next = place + 1;
            continue;
        }
        // What is younger than a basis is basic in it: two that differ in nothing else are the same.
        std::string name(reinterpret_cast<const char *>(basis), length);
        std::replace(name.begin() + data_.columns() + data_.rows(), name.end(), static_cast<char>(kUsedLater),
                     static_cast<char>(kBasic));
        name.erase(name.find_last_not_of(static_cast<char>(kBasic)) + 1);
        std::shared_ptr<Start> &start = known_[name];
        if (!start) start = start_of(basis, length);
        given.push_back({std::string(reinterpret_cast<const char *>(basis), length), start});
    }
    given_.swap(given);
    starts_.clear();
    ++round_;
    for (const Given &one : given_) {
        if (one.start->round == round_) continue;
        one.start->round = round_;
        if (one.start->is_usable) starts_.push_back(one.start);
    }
    for (auto known = known_.begin(); known != known_.end();)
        known = known->second->round == round_ ? std::next(known) : known_.erase(known);
    if (!starts_.empty()) return;
    std::vector<int8_t> slacks(data_.columns() + data_.rows(), kBasic);
    for (int j = 0; j < data_.columns(); ++j) slacks[j] = kAtLower;  // moved to where it is dual feasible
    std::shared_ptr<Start> start = start_of(slacks.data(), static_cast<int>(slacks.size()));
    if (start->is_usable) starts_.push_back(start);
}

// The basis as a start; not usable if it is singular or not dual feasible, where no flip of a boxed variable helps.
std::shared_ptr<Start> DenseProblem::start_of(const int8_t *basis, int length) const {
    const int columns = data_.columns(), rows = data_.rows(), core = columns + rows;
    auto start = std::make_shared<Start>();
    DenseNode &node = start->node;
    node.status.assign(basis, basis + core);
    for (int v = 0; v < core; ++v)
        if (node.status[v] == kBasic) node.head.push_back(v);
    for (int extra = 0; extra < length - core; ++extra)
        if (basis[core + extra] != kBasic && basis[core + extra] != kUsedLater) node.extras.push_back(extra);
    if (node.size() != rows + static_cast<int>(node.extras.size()) || !node.factor(data_)) return start;
    std::vector<double> y, d;
    node.price(data_, y, d);
    // A variable rests where its reduced cost wants it.
    const auto rest = [](int8_t &at, double dual, double lower, double upper, double tolerance) {
        const bool has_lower = std::isfinite(lower), has_upper = std::isfinite(upper);
        if (at != kAtLower && at != kAtUpper) at = has_lower ? kAtLower : has_upper ? kAtUpper : kAtZero;
        if (at == kAtLower && (!has_lower || (dual < 0.0 && has_upper))) at = has_upper ? kAtUpper : kAtZero;
        if (at == kAtUpper && (!has_upper || (dual > 0.0 && has_lower))) at = has_lower ? kAtLower : kAtZero;
        if (at == kAtZero) return std::abs(dual) <= tolerance;
        return (at == kAtLower ? dual : -dual) >= -tolerance || lower == upper;
    };
    bool is_feasible = true;
    for (int j = 0; j < columns; ++j) {
        if (node.status[j] == kBasic) continue;
        const double tolerance = kDualTolerance * std::max(1.0, std::abs(data_.cost[j]));
        is_feasible &= rest(node.status[j], d[j], data_.lower[j], data_.upper[j], tolerance);
        if (node.status[j] != kAtZero)
            start->constant += d[j] * (node.status[j] == kAtUpper ? data_.upper : data_.lower)[j];
    }
    for (int i = 0; i < rows; ++i) {
        int8_t &at = node.status[columns + i];
        if (at == kBasic) continue;
        const double lower = data_.stage.row_lower[i], upper = data_.stage.row_upper[i];
        is_feasible &= rest(at, y[i], lower, upper, kDualTolerance);
        if (at == kAtZero || y[i] == 0.0) continue;
        if (moves_[i])
            start->rows.push_back({i, at == kAtUpper, y[i]});
        else
            start->constant += y[i] * (at == kAtUpper ? upper : lower);
    }
    for (size_t k = 0; k < node.extras.size(); ++k) {
        const double dual = y[rows + k];
        is_feasible &= (data_.is_plane(node.extras[k]) ? -dual : dual) >= -kDualTolerance;
        start->extras.push_back({node.extras[k], false, dual});
    }
    start->is_usable = is_feasible;
    node.forget_inverse();
    return start;
}

void DenseProblem::write_basis(const DenseNode &node, int8_t *out) const {
    const int core = data_.columns() + data_.rows();
    std::copy(node.status.begin(), node.status.end(), out);
    std::fill(out + core, out + core + data_.extras(), kBasic);
    for (int extra : node.extras) out[core + extra] = data_.is_plane(extra) ? kAtUpper : kAtLower;
}
