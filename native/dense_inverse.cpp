// DenseInverse: all sums run in a fixed order.
#include "dense_inverse.hpp"

#include <algorithm>
#include <cmath>

namespace {

constexpr double kSingular = 1e-11;

}  // namespace

// Rows whose own variable is basic are columns of the identity: only the block of the other rows and of the
// columns that are basic is inverted, in place, by Gauss and Jordan with the largest pivot of each column.
bool DenseInverse::factor(const DenseData &data, const std::vector<int> &head, const std::vector<int> &extras) {
    const int columns = data.columns(), rows = data.rows(), count = static_cast<int>(head.size());
    size_ = count;
    stride_ = padded(count + 3);
    std::vector<int> inner(count, -1), place_of(columns, -1), tight, positions;
    std::vector<int> position_of_row(count, -1);
    for (int p = 0; p < count; ++p) {
        if (head[p] >= columns) {
            position_of_row[head[p] - columns] = p;
        } else {
            place_of[head[p]] = static_cast<int>(positions.size());
            positions.push_back(p);
        }
    }
    for (int i = 0; i < count; ++i)
        if (position_of_row[i] < 0) {
            inner[i] = static_cast<int>(tight.size());
            tight.push_back(i);
        }
    const int k = static_cast<int>(tight.size());
    if (static_cast<int>(positions.size()) != k) return false;
    const int width = padded(k);
    std::vector<double> block(static_cast<size_t>(k) * width, 0.0);
    for (int r = 0; r < k; ++r) {
        double *line = block.data() + static_cast<size_t>(r) * width;
        const auto put = [&](int column, double value) {
            if (place_of[column] >= 0) line[place_of[column]] += value;
        };
        if (tight[r] < rows)
            for (int e = data.row_start[tight[r]]; e < data.row_start[tight[r] + 1]; ++e)
                put(data.row_index[e], data.row_value[e]);
        else
            data.each_term(extras[tight[r] - rows], put);
    }
    std::vector<int> swapped(k);
    for (int c = 0; c < k; ++c) {
        int best = -1;
        double largest = kSingular;
        for (int r = c; r < k; ++r) {
            const double value = std::abs(block[static_cast<size_t>(r) * width + c]);
            if (value > largest) {
                largest = value;
                best = r;
            }
        }
        if (best < 0) return false;
        swapped[c] = best;
        double *pivot_line = block.data() + static_cast<size_t>(c) * width;
        if (best != c)
            std::swap_ranges(pivot_line, pivot_line + width, block.data() + static_cast<size_t>(best) * width);
        const double scale = 1.0 / pivot_line[c];
        pivot_line[c] = 1.0;
        for (int e = 0; e < width; ++e) pivot_line[e] *= scale;
        for (int r = 0; r < k; ++r) {
            double *__restrict__ line = block.data() + static_cast<size_t>(r) * width;
            const double factor = line[c];
            if (r == c || factor == 0.0) continue;
            const double *__restrict__ from = pivot_line;
            line[c] = 0.0;
            for (int e = 0; e < width; ++e) line[e] -= factor * from[e];
        }
    }
    for (int c = k - 1; c >= 0; --c)  // what lines were swapped are columns of the inverse
        if (swapped[c] != c)
            for (int r = 0; r < k; ++r) {
                double *line = block.data() + static_cast<size_t>(r) * width;
                std::swap(line[c], line[swapped[c]]);
            }
    inverse_.assign(static_cast<size_t>(count) * stride_, 0.0);
    for (int c = 0; c < k; ++c) {
        double *column = column_of(tight[c]);
        for (int r = 0; r < k; ++r) column[positions[r]] = block[static_cast<size_t>(r) * width + c];
        for (int i = 0; i < rows; ++i) {
            if (inner[i] >= 0) continue;
            double sum = 0.0;
            for (int e = data.row_start[i]; e < data.row_start[i + 1]; ++e) {
                const int at = place_of[data.row_index[e]];
                if (at >= 0) sum += data.row_value[e] * block[static_cast<size_t>(at) * width + c];
            }
            column[position_of_row[i]] = sum;
        }
    }
    for (int i = 0; i < count; ++i)
        if (inner[i] < 0) column_of(i)[position_of_row[i]] = -1.0;
    return true;
}

void DenseInverse::solve(const double *by_row, double *__restrict__ by_position) const {
    std::fill(by_position, by_position + stride_, 0.0);
    for (int i = 0; i < size_; ++i) {
        const double amount = by_row[i];
        if (amount == 0.0) continue;
        const double *column = column_of(i);
        for (int p = 0; p < stride_; ++p) by_position[p] += amount * column[p];
    }
}

void DenseInverse::solve_transposed(const double *by_position, double *by_row) const {
    for (int i = 0; i < size_; ++i) by_row[i] = dot(by_position, column_of(i), stride_);
}

void DenseInverse::row(int position, double *by_row) const {
    for (int i = 0; i < size_; ++i) by_row[i] = column_of(i)[position];
}

void DenseInverse::weigh(std::vector<double> &weight) const {
    weight.assign(stride_, 0.0);
    for (int i = 0; i < size_; ++i) {
        const double *column = column_of(i);
        for (int p = 0; p < stride_; ++p) weight[p] += column[p] * column[p];
    }
}

void DenseInverse::append(const double *, const double *rho) {
    const int last = size_;
    if (last + 1 > stride_) widen(padded(last + 4));
    ++size_;
    inverse_.resize(static_cast<size_t>(size_) * stride_, 0.0);
    for (int i = 0; i < last; ++i) column_of(i)[last] = rho[i];
    std::fill(column_of(last), column_of(last) + stride_, 0.0);
    column_of(last)[last] = -1.0;
}

void DenseInverse::exchange(int position, const double *__restrict__ entering, const double *,
                            double *__restrict__ weight) {
    const double pivot = entering[position];
    for (int i = 0; i < size_; ++i) {
        double *__restrict__ column = column_of(i);
        const double factor = column[position] / pivot;
        if (factor == 0.0) continue;
        for (int p = 0; p < stride_; ++p) {
            const double old = column[p], fresh = old - factor * entering[p];
            column[p] = fresh;
            weight[p] += fresh * fresh - old * old;
        }
        weight[position] += factor * factor - column[position] * column[position];  // which held rounding only
        column[position] = factor;
    }
}

void DenseInverse::drop(int row, int position) {
    for (int i = row; i + 1 < size_; ++i) std::copy_n(column_of(i + 1), stride_, column_of(i));
    --size_;
    inverse_.resize(static_cast<size_t>(size_) * stride_);
    for (int i = 0; i < size_; ++i) {
        double *column = column_of(i);
        std::copy(column + position + 1, column + size_ + 1, column + position);
        column[size_] = 0.0;
    }
}

void DenseInverse::widen(int stride) {
    std::vector<double> wider(static_cast<size_t>(size_) * stride, 0.0);
    for (int i = 0; i < size_; ++i)
        std::copy_n(column_of(i), size_, wider.data() + static_cast<size_t>(i) * stride);
    inverse_.swap(wider);
    stride_ = stride;
}
