// SparseInverse: with B the basis, and E the identity with an exchange's column in it, B' = B·E; with a row that joined
// and coefficients a in it, B' = [B 0; a -1].
#include "sparse_inverse.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kNothing = 1e-14;     // an element below it is rounding
constexpr double kLeastWeight = 1e-4;  // a squared norm below it is rounding, too

}  // namespace

bool SparseInverse::factor(const DenseData &data, const std::vector<int> &head, const std::vector<int> &extras) {
    const int columns = data.columns(), rows = data.rows(), count = static_cast<int>(head.size());
    static thread_local std::vector<int> place;  // by column; -1 between calls
    place.resize(std::max<size_t>(place.size(), columns), -1);
    Lines basis;  // by rows
    for (int p = 0; p < count; ++p)
        if (head[p] < columns) place[head[p]] = p;
    std::vector<int> own(count, -1);
    for (int p = 0; p < count; ++p)
        if (head[p] >= columns) own[head[p] - columns] = p;
    const auto put = [&](int column, double value) {
        if (place[column] >= 0 && value != 0.0) basis.put(place[column], value);
    };
    for (int i = 0; i < count; ++i) {
        if (i < rows)
            for (int e = data.row_start[i]; e < data.row_start[i + 1]; ++e) put(data.row_index[e], data.row_value[e]);
        else
            data.each_term(extras[i - rows], put);
        if (own[i] >= 0) basis.put(own[i], -1.0);
        basis.close();
    }
    for (int p = 0; p < count; ++p)
        if (head[p] < columns) place[head[p]] = -1;
    auto factor = std::make_shared<SparseFactor>();
    if (!factor->factor(transposed(basis, count))) return false;
    factor_ = std::move(factor);
    inside_ = count;
    row_.resize(count);
    for (int i = 0; i < count; ++i) row_[i] = i;
    position_ = row_;
    exchanged_.clear();
    pivot_.clear();
    changes_.clear();
    return true;
}

void SparseInverse::solve(const double *by_row, double *by_position) const {
    static thread_local std::vector<double> inside, amounts;
    inside.assign(inside_, 0.0);
    for (int i = 0; i < size(); ++i) inside[row_[i]] = by_row[i];
    const int first = factor_->size();
    amounts.assign(inside.begin() + first, inside.end());  // of rows that joined
    factor_->solve(inside.data());
    int joined = 0;
    for (size_t change = 0; change < exchanged_.size(); ++change) {
        const int from = changes_.start[change], to = changes_.start[change + 1], position = exchanged_[change];
        if (position < 0) {
            double sum = 0.0;
            for (int k = from; k < to; ++k) sum += changes_.value[k] * inside[changes_.index[k]];
            inside[first + joined] = sum - amounts[joined];
            ++joined;
            continue;
        }
        if (inside[position] == 0.0) continue;
        const double amount = inside[position] /= pivot_[change];
        for (int k = from; k < to; ++k) inside[changes_.index[k]] -= changes_.value[k] * amount;
    }
    for (int p = 0; p < size(); ++p) by_position[p] = inside[position_[p]];
    std::fill(by_position + size(), by_position + stride(), 0.0);
}

void SparseInverse::solve_transposed(const double *by_position, double *by_row) const {
    static thread_local std::vector<double> inside;
    inside.assign(inside_, 0.0);
    for (int p = 0; p < size(); ++p) inside[position_[p]] = by_position[p];
    undo(inside.data(), by_row);
}

void SparseInverse::row(int position, double *by_row) const {
    static thread_local std::vector<double> inside;
    inside.assign(inside_, 0.0);
    inside[position_[position]] = 1.0;
    undo(inside.data(), by_row);
}

// Costs by position inside become duals by row, from the last change to the first.
void SparseInverse::undo(double *inside, double *by_row) const {
    static thread_local std::vector<double> duals;
    const int first = factor_->size();
    duals.resize(std::max<size_t>(duals.size(), inside_ - first));
    int joined = inside_ - first;
    for (size_t change = exchanged_.size(); change-- > 0;) {
        const int from = changes_.start[change], to = changes_.start[change + 1], position = exchanged_[change];
        if (position >= 0) {
            double sum = inside[position];
            for (int k = from; k < to; ++k) sum -= changes_.value[k] * inside[changes_.index[k]];
            inside[position] = sum / pivot_[change];
            continue;
        }
        const double cost = inside[first + --joined];
        duals[joined] = -cost;
        if (cost == 0.0) continue;
        for (int k = from; k < to; ++k) inside[changes_.index[k]] += changes_.value[k] * cost;
    }
    factor_->solve_transposed(inside);
    for (int i = 0; i < size(); ++i) by_row[i] = row_[i] < first ? inside[row_[i]] : duals[row_[i] - first];
}

void SparseInverse::weigh(std::vector<double> &weight) const {
    std::vector<double> own(size());
    weight.assign(stride(), 0.0);
    for (int p = 0; p < size(); ++p) {
        row(p, own.data());
        for (double element : own) weight[p] += element * element;
    }
}

void SparseInverse::append(const double *part, const double *) {
    for (int p = 0; p < size(); ++p)
        if (part[p] != 0.0) changes_.put(position_[p], part[p]);
    changes_.close();
    exchanged_.push_back(-1);
    pivot_.push_back(0.0);
    row_.push_back(inside_);
    position_.push_back(inside_);
    ++inside_;
}

// Weights by Forrest and Goldfarb: row i loses (column i / pivot) · rho.
void SparseInverse::exchange(int position, const double *column, const double *rho, double *weight) {
    static thread_local std::vector<double> along;  // rows · rho
    along.resize(stride());
    solve(rho, along.data());
    const double pivot = column[position];
    double norm = 0.0;
    for (int i = 0; i < size(); ++i) norm += rho[i] * rho[i];
    for (int p = 0; p < size(); ++p) {
        if (p == position || column[p] == 0.0) continue;
        const double factor = column[p] / pivot;
        weight[p] = std::max(weight[p] - factor * (2.0 * along[p] - factor * norm), kLeastWeight);
        if (std::abs(column[p]) > kNothing) changes_.put(position_[p], column[p]);
    }
    weight[position] = std::max(norm / (pivot * pivot), kLeastWeight);
    changes_.close();
    exchanged_.push_back(position_[position]);
    pivot_.push_back(pivot);
}

void SparseInverse::drop(int row, int position) {
    row_.erase(row_.begin() + row);
    position_.erase(position_.begin() + position);
}
