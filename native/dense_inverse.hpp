// The inverse of a basis as a dense matrix, for few rows.
#pragma once
#include <vector>

#include "dense_data.hpp"

// Lengths are padded to whole vectors of the processor.
constexpr int kVector = 8;
inline int padded(int size) { return (size + kVector - 1) / kVector * kVector; }

// Sum of products of whole vectors, in lanes that are added in a fixed order.
inline double dot(const double *__restrict__ a, const double *__restrict__ b, int size) {
    double sum[kVector] = {};
    for (int k = 0; k < size; k += kVector)
        for (int lane = 0; lane < kVector; ++lane) sum[lane] += a[k + lane] * b[k + lane];
    return ((sum[0] + sum[4]) + (sum[1] + sum[5])) + ((sum[2] + sum[6]) + (sum[3] + sum[7]));
}

// Vectors by position have stride() numbers, those behind the last position 0; vectors by row have size().
class DenseInverse {
  public:
    int size() const { return size_; }
    int stride() const { return stride_; }
    bool is_empty() const { return inverse_.empty(); }
    void clear() { std::vector<double>().swap(inverse_); }  // to clear the vector would keep its memory
    // From scratch, for these basic variables and binding extras; false if the basis is singular.
    bool factor(const DenseData &data, const std::vector<int> &head, const std::vector<int> &extras);
    void solve(const double *by_row, double *by_position) const;             // inverse · amounts
    void solve_transposed(const double *by_position, double *by_row) const;  // costs · inverse
    void row(int position, double *by_row) const;
    void weigh(std::vector<double> &weight) const;  // squared norm of each row
    // A row whose own variable becomes basic behind the others: rho, its coefficients by basic variables · inverse.
    void append(const double *part, const double *rho);
    // The variable with this column (inverse · its coefficients) takes a position, whose row is rho.
    void exchange(int position, const double *column, const double *rho, double *weight);
    void drop(int row, int position);  // a row whose own variable is basic there

  private:
    double *column_of(int row) { return inverse_.data() + static_cast<size_t>(row) * stride_; }
    const double *column_of(int row) const { return inverse_.data() + static_cast<size_t>(row) * stride_; }
    void widen(int stride);
    int size_ = 0, stride_ = 0;
    std::vector<double> inverse_;  // (row, position)
};
