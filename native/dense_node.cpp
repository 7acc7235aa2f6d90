// DenseNode: linear algebra of one basis. All sums run in a fixed order.
#include "dense_node.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr int kManyRows = 100;      // from so many on factors are quicker than a dense inverse
constexpr int kDenseUpdates = 50, kSparseUpdates = 100;  // pivots before the inverse is made anew
constexpr double kResidual = 1e-9;  // how far a row may be missed, relative to what is in it

// A number between a half and one that looks drawn, and is the same for a variable whenever it is asked for.
double scattered(uint32_t variable) {
    variable *= 2654435761u;
    variable ^= variable >> 15;
    variable *= 2246822519u;
    variable ^= variable >> 13;
    return 0.5 + (variable & 0xffffu) / 131072.0;
}

}  // namespace

double DenseNode::resting(const DenseData &data, const Side &side, int variable) const {
    const int columns = data.columns(), core = columns + data.rows();
    if (variable >= core) return side.height[extras[variable - core]];
    const int8_t at = status[variable];
    if (at == kAtZero) return 0.0;
    if (variable < columns) return at == kAtUpper ? data.upper[variable] : data.lower[variable];
    return at == kAtUpper ? side.row_upper[variable - columns] : side.row_lower[variable - columns];
}

void DenseNode::fill_columns(const std::vector<double> &x, std::vector<double> &full) const {
    const int columns = static_cast<int>(rest.size());
    full = rest;
    for (int p = 0; p < size(); ++p)
        if (head[p] < columns) full[head[p]] = x[p];
}

void DenseNode::fill_weights(const DenseData &data, std::vector<double> &full) const {
    full.assign(data.columns(), 0.0);
    for (int p = 0; p < size(); ++p)
        if (head[p] < data.columns()) full[head[p]] = std::max(weight[p], 0.0);  // below it by rounding
}

bool DenseNode::place(const DenseData &data, const Side &side, std::vector<double> &x,
                      std::vector<double> &full) const {
    const int columns = data.columns(), rows = data.rows();
    x.assign(stride(), 0.0);
    static thread_local std::vector<double> own, more;
    own.resize(size());
    more.resize(stride());
    for (int round = 0;; ++round) {
        fill_columns(x, full);
        for (int i = 0; i < size(); ++i) own[i] = 0.0;
        for (int i = 0; i < rows; ++i)
            if (status[columns + i] != kBasic) own[i] = resting(data, side, columns + i);
        for (size_t k = 0; k < extras.size(); ++k) own[rows + k] = side.height[extras[k]];
        for (int p = 0; p < size(); ++p)
            if (head[p] >= columns) own[head[p] - columns] = x[p];
        for (int i = 0; i < rows; ++i) {
            double sum = 0.0;
            for (int k = data.row_start[i]; k < data.row_start[i + 1]; ++k)
                sum += data.row_value[k] * full[data.row_index[k]];
            own[i] -= sum;
        }
        for (size_t k = 0; k < extras.size(); ++k) own[rows + k] -= data.times(extras[k], full.data());
        if (round == 2) break;
        solve(own.data(), more.data());
        for (int p = 0; p < size(); ++p) x[p] += more[p];
    }
    bool is_accurate = true;
    for (int i = 0; i < rows; ++i) {
        double scale = 1.0;
        for (int k = data.row_start[i]; k < data.row_start[i + 1]; ++k)
            scale = std::max(scale, std::abs(data.row_value[k] * full[data.row_index[k]]));
        is_accurate &= std::abs(own[i]) <= kResidual * scale;
    }
    for (size_t k = 0; k < extras.size(); ++k)
        is_accurate &= std::abs(own[rows + k]) <= kResidual * std::max(1.0, std::abs(side.height[extras[k]]));
    return is_accurate;
}

void DenseNode::price(const DenseData &data, std::vector<double> &y_out, std::vector<double> &d_out) const {
    const int columns = data.columns(), rows = data.rows();
    static thread_local std::vector<double> missing;  // by position: cost not yet explained by the rows' duals
    missing.assign(stride(), 0.0);
    for (int p = 0; p < size(); ++p) missing[p] = head[p] < columns ? data.cost[head[p]] : 0.0;
    static thread_local std::vector<double> more;
    more.resize(size());
    y_out.assign(size(), 0.0);
    for (int round = 0; round < 2; ++round) {
        solve_transposed(missing.data(), more.data());
        for (int i = 0; i < size(); ++i) y_out[i] += more[i];
        d_out = data.cost;
        for (int i = 0; i < rows; ++i) {
            if (y_out[i] == 0.0) continue;
            for (int k = data.row_start[i]; k < data.row_start[i + 1]; ++k)
                d_out[data.row_index[k]] -= y_out[i] * data.row_value[k];
        }
        for (size_t k = 0; k < extras.size(); ++k) data.add_extra(extras[k], -y_out[rows + k], d_out.data());
        for (int p = 0; p < size(); ++p) missing[p] = head[p] < columns ? d_out[head[p]] : y_out[head[p] - columns];
    }
}

bool DenseNode::refresh(const DenseData &data) {
    if (!factor(data)) return false;
    price(data, y, d);
    for (int p = 0; p < size(); ++p) (head[p] < data.columns() ? d[head[p]] : y[head[p] - data.columns()]) = 0.0;
    for (int j = 0; j < data.columns(); ++j) {
        if (status[j] == kAtLower && d[j] < -kNoDual && std::isfinite(data.upper[j])) status[j] = kAtUpper;
        else if (status[j] == kAtUpper && d[j] > kNoDual && std::isfinite(data.lower[j])) status[j] = kAtLower;
    }
    return true;
}

void DenseNode::put_columns(const DenseData &data) {
    rest.resize(data.columns());
    may.resize(padded(data.columns()), 0.0);
    for (int j = 0; j < data.columns(); ++j) put(data, j, status[j]);
}

void DenseNode::put(const DenseData &data, int variable, int8_t at) {
    status[variable] = at;
    if (variable >= data.columns()) return;
    const double lower = data.lower[variable], upper = data.upper[variable];
    rest[variable] = at == kAtUpper ? upper : at == kAtLower ? lower : 0.0;
    may[variable] = lower == upper ? 0.0 : at == kAtLower ? 1.0 : at == kAtUpper ? -1.0 : 0.0;
}

void DenseNode::begin(const DenseData &data) {
    put_columns(data);
    const int columns = data.columns(), rows = data.rows();
    const auto cost = [](int8_t at, int variable) {
        return at == kAtLower ? scattered(variable) : at == kAtUpper ? -scattered(variable) : 0.0;
    };
    tie_d.resize(columns);
    tie_y.resize(size());
    for (int j = 0; j < columns; ++j) tie_d[j] = cost(status[j], j);
    for (int i = 0; i < rows; ++i) tie_y[i] = cost(status[columns + i], columns + i);
    for (size_t k = 0; k < extras.size(); ++k)
        tie_y[rows + k] = cost(data.is_plane(extras[k]) ? kAtUpper : kAtLower, columns + rows + extras[k]);
}

void DenseNode::row_at(int position, std::vector<double> &rho) const {
    rho.resize(size());
    ask([&](const auto &inverse) { inverse.row(position, rho.data()); });
}

void DenseNode::basic_part(const DenseData &data, int extra, std::vector<double> &part) const {
    static thread_local std::vector<double> of_columns;  // zeros between calls
    of_columns.resize(std::max<size_t>(of_columns.size(), data.columns()), 0.0);
    data.each_term(extra, [&](int column, double value) { of_columns[column] += value; });
    part.assign(stride(), 0.0);
    for (int p = 0; p < size(); ++p)
        if (head[p] < data.columns()) part[p] = of_columns[head[p]];
    data.each_term(extra, [&](int column, double) { of_columns[column] = 0.0; });
}

void DenseNode::row_for(const std::vector<double> &part, std::vector<double> &rho) const {
    rho.resize(size() + 1);
    solve_transposed(part.data(), rho.data());
    rho[size()] = -1.0;
}

void DenseNode::times_matrix(const DenseData &data, const std::vector<double> &rho, int joining,
                             std::vector<double> &row) const {
    row.assign(padded(data.columns()), 0.0);
    for (int i = 0; i < data.rows(); ++i) {
        const double factor = rho[i];
        if (factor == 0.0) continue;
        for (int k = data.row_start[i]; k < data.row_start[i + 1]; ++k)
            row[data.row_index[k]] += factor * data.row_value[k];
    }
    for (size_t k = 0; k < extras.size(); ++k)
        if (rho[data.rows() + k] != 0.0) data.add_extra(extras[k], rho[data.rows() + k], row.data());
    if (joining >= 0) data.add_extra(joining, rho.back(), row.data());
}

void DenseNode::column_for(const DenseData &data, int variable, std::vector<double> &column) const {
    static thread_local std::vector<double> amounts;
    amounts.assign(size(), 0.0);
    if (variable >= data.columns()) {
        amounts[variable - data.columns()] = -1.0;
    } else {
        for (int k = data.stage.start[variable]; k < data.stage.start[variable + 1]; ++k)
            amounts[data.stage.index[k]] = data.stage.value[k];
        for (size_t k = 0; k < extras.size(); ++k)
            amounts[data.rows() + k] = data.coefficient(extras[k], variable);
    }
    column.resize(stride());
    solve(amounts.data(), column.data());
}

void DenseNode::append(int extra, const std::vector<double> &part, const std::vector<double> &rho,
                       int own_variable) {
    const int last = size();
    double norm = 0.0;
    for (int i = 0; i < last; ++i) norm += rho[i] * rho[i];
    tell([&](auto &inverse) { inverse.append(part.data(), rho.data()); });
    weight.resize(std::max<size_t>(weight.size(), stride()), 0.0);
    weight[last] = norm + 1.0;
    extras.push_back(extra);
    head.push_back(own_variable);
    y.push_back(0.0);
    tie_y.push_back(0.0);
}

void DenseNode::exchange(int position, int variable, const std::vector<double> &column,
                         const std::vector<double> &rho) {
    tell([&](auto &inverse) { inverse.exchange(position, column.data(), rho.data(), weight.data()); });
    head[position] = variable;
    ++updates;
}

void DenseNode::drop(const DenseData &data, int slot, int position) {
    const int row = data.rows() + slot, own = data.columns() + data.rows();
    tell([&](auto &inverse) { inverse.drop(row, position); });
    weight.erase(weight.begin() + position);
    weight.push_back(0.0);
    head.erase(head.begin() + position);
    extras.erase(extras.begin() + slot);
    y.erase(y.begin() + row);
    tie_y.erase(tie_y.begin() + row);
    for (int &variable : head)
        if (variable > own + slot) --variable;
}

bool DenseNode::is_worn() const { return updates >= (is_sparse_ ? kSparseUpdates : kDenseUpdates); }

bool DenseNode::factor(const DenseData &data) {
    is_sparse_ = data.usual_rows() >= kManyRows;
    updates = 0;
    if (!tell([&](auto &inverse) { return inverse.factor(data, head, extras); })) return false;
    // What pivots have made of the weights is as good as any; those of a dense inverse cost little.
    if (!is_sparse_ || weight.size() < static_cast<size_t>(size()))
        ask([&](const auto &inverse) { inverse.weigh(weight); });
    return true;
}
