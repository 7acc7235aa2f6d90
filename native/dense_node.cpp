// DenseNode: linear algebra of one basis. All sums run in a fixed order.
#include "dense_node.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kResidual = 1e-9;  // how far a row may be missed, relative to what is in it

// A number between a half and one that looks drawn, and is the same for a variable whenever it is asked for.
double scattered(uint32_t variable) {
    variable *= 2654435761u;
    variable ^= variable >> 15;
    variable *= 2246822519u;
    variable ^= variable >> 13;
    return 0.5 + (variable & 0xffffu) / 131072.0;
}

// Sum of products of whole vectors, in lanes that are added in a fixed order.
double dot(const double *__restrict__ a, const double *__restrict__ b, int size) {
    double sum[kVector] = {};
    for (int k = 0; k < size; k += kVector)
        for (int lane = 0; lane < kVector; ++lane) sum[lane] += a[k + lane] * b[k + lane];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
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
    x.assign(stride_, 0.0);
    static thread_local std::vector<double> own;
    own.resize(size());
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
        for (int i = 0; i < size(); ++i) {
            const double amount = own[i];
            if (amount == 0.0) continue;
            const double *column = column_of_inverse(i);
            for (int p = 0; p < stride_; ++p) x[p] += column[p] * amount;
        }
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
    missing.assign(stride_, 0.0);
    for (int p = 0; p < size(); ++p) missing[p] = head[p] < columns ? data.cost[head[p]] : 0.0;
    y_out.assign(size(), 0.0);
    for (int round = 0; round < 2; ++round) {
        for (int i = 0; i < size(); ++i) y_out[i] += dot(missing.data(), column_of_inverse(i), stride_);
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
    for (int i = 0; i < size(); ++i) rho[i] = column_of_inverse(i)[position];
}

void DenseNode::basic_part(const DenseData &data, int extra, std::vector<double> &part) const {
    static thread_local std::vector<double> of_columns;  // zeros between calls
    of_columns.resize(std::max<size_t>(of_columns.size(), data.columns()), 0.0);
    data.add_extra(extra, 1.0, of_columns.data());
    part.assign(stride_, 0.0);
    for (int p = 0; p < size(); ++p)
        if (head[p] < data.columns()) part[p] = of_columns[head[p]];
    data.clear_extra(extra, of_columns.data());
}

void DenseNode::row_for(const DenseData &data, int extra, std::vector<double> &rho) const {
    static thread_local std::vector<double> basic;
    basic_part(data, extra, basic);
    rho.resize(size() + 1);
    for (int i = 0; i < size(); ++i) rho[i] = dot(basic.data(), column_of_inverse(i), stride_);
    rho[size()] = -1.0;
}

double DenseNode::pivot_of(const DenseData &data, int extra, int variable, const std::vector<double> &column) const {
    static thread_local std::vector<double> basic;
    basic_part(data, extra, basic);
    const double own = variable < data.columns() ? data.coefficient(extra, variable) : 0.0;
    return dot(basic.data(), column.data(), stride_) - own;
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

void DenseNode::times_inverse(const std::vector<double> &amounts, std::vector<double> &out) const {
    out.assign(stride_, 0.0);
    for (int i = 0; i < size(); ++i) {
        const double amount = amounts[i];
        if (amount == 0.0) continue;
        const double *column = column_of_inverse(i);
        for (int p = 0; p < stride_; ++p) out[p] += amount * column[p];
    }
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
    times_inverse(amounts, column);
}

void DenseNode::append(int extra, const std::vector<double> &rho, int own_variable) {
    const int last = size();
    if (last + 1 > stride_) widen(padded(last + 4));
    inverse_.resize(static_cast<size_t>(last + 1) * stride_, 0.0);
    double norm = 0.0;
    for (int i = 0; i < last; ++i) {
        column_of_inverse(i)[last] = rho[i];
        norm += rho[i] * rho[i];
    }
    std::fill(column_of_inverse(last), column_of_inverse(last) + stride_, 0.0);
    column_of_inverse(last)[last] = -1.0;
    weight.resize(stride_, 0.0);
    weight[last] = norm + 1.0;
    extras.push_back(extra);
    head.push_back(own_variable);
    y.push_back(0.0);
    tie_y.push_back(0.0);
}

void DenseNode::exchange(int position, int variable, const std::vector<double> &entering) {
    const double pivot = entering[position];
    const double *__restrict__ step = entering.data();
    double *__restrict__ norm = weight.data();
    for (int i = 0; i < size(); ++i) {
        double *__restrict__ column = column_of_inverse(i);
        const double factor = column[position] / pivot;
        if (factor == 0.0) continue;
        for (int p = 0; p < stride_; ++p) {
            const double old = column[p], fresh = old - factor * step[p];
            column[p] = fresh;
            norm[p] += fresh * fresh - old * old;
        }
        norm[position] += factor * factor - column[position] * column[position];  // which held rounding only
        column[position] = factor;
    }
    head[position] = variable;
    ++updates;
}

void DenseNode::drop(const DenseData &data, int slot, int position) {
    const int row = data.rows() + slot, count = size(), own = data.columns() + data.rows();
    const double *gone = column_of_inverse(row);
    for (int p = 0; p < stride_; ++p) weight[p] -= gone[p] * gone[p];
    weight.erase(weight.begin() + position);
    weight.push_back(0.0);
    for (int i = row; i + 1 < count; ++i)
        std::copy_n(column_of_inverse(i + 1), stride_, column_of_inverse(i));
    inverse_.resize(static_cast<size_t>(count - 1) * stride_);
    for (int i = 0; i + 1 < count; ++i) {
        double *column = column_of_inverse(i);
        std::copy(column + position + 1, column + count, column + position);
        column[count - 1] = 0.0;
    }
    head.erase(head.begin() + position);
    extras.erase(extras.begin() + slot);
    y.erase(y.begin() + row);
    tie_y.erase(tie_y.begin() + row);
    for (int &variable : head)
        if (variable > own + slot) --variable;
}

void DenseNode::weigh() {
    weight.assign(stride_, 0.0);
    for (int i = 0; i < size(); ++i) {
        const double *column = column_of_inverse(i);
        for (int p = 0; p < stride_; ++p) weight[p] += column[p] * column[p];
    }
}

void DenseNode::widen(int stride) {
    std::vector<double> wider(static_cast<size_t>(size()) * stride, 0.0);
    for (int i = 0; i < size(); ++i)
        std::copy_n(column_of_inverse(i), size(), wider.data() + static_cast<size_t>(i) * stride);
    inverse_.swap(wider);
    stride_ = stride;
}
