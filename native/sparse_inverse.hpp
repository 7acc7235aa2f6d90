// The inverse of a basis as factors and what pivots have changed since, for many rows.
//
// Rows and positions have numbers of their own inside, which stay when rows are dropped.
#pragma once
#include <memory>
#include <vector>

#include "dense_data.hpp"
#include "dense_inverse.hpp"
#include "sparse_factor.hpp"

// The same as DenseInverse to whoever uses it.
class SparseInverse {
  public:
    int size() const { return static_cast<int>(row_.size()); }
    int stride() const { return padded(size()); }
    bool is_empty() const { return !factor_; }
    void clear() { *this = SparseInverse(); }
    bool factor(const DenseData &data, const std::vector<int> &head, const std::vector<int> &extras);
    void solve(const double *by_row, double *by_position) const;
    void solve_transposed(const double *by_position, double *by_row) const;
    void row(int position, double *by_row) const;
    void weigh(std::vector<double> &weight) const;
    void append(const double *part, const double *rho);
    void exchange(int position, const double *column, const double *rho, double *weight);
    void drop(int row, int position);

  private:
    void undo(double *inside, double *by_row) const;
    std::shared_ptr<const SparseFactor> factor_;  // of the first rows and positions
    int inside_ = 0;                              // rows, and positions, that there have been
    std::vector<int> row_, position_;             // their numbers inside
    // Changes since: of an exchange the position and the column, of a row that joined its coefficients by position.
    std::vector<int> exchanged_;  // position, or -1 where a row joined: the next one
    std::vector<double> pivot_;   // of an exchange
    Lines changes_;
};
