// A basis with its inverse, duals and pricing weights.
#pragma once
#include <cstdint>
#include <vector>

#include "dense_data.hpp"
#include "dense_inverse.hpp"
#include "sparse_inverse.hpp"

// HiGHS's basis statuses.
constexpr int8_t kAtLower = 0, kBasic = 1, kAtUpper = 2, kAtZero = 3;

// A dual below it is none: what has it is moved to no other bound, and enters without a step.
constexpr double kNoDual = 1e-12;

// Variables are numbered: columns, then the core rows' own variables, then those of binding extras by slot.
class DenseNode {
    // Runs what is asked of the inverse on the one that there is.
    template <class Ask> auto ask(const Ask &ask) const { return is_sparse_ ? ask(sparse_) : ask(dense_); }
    template <class Tell> auto tell(const Tell &tell) { return is_sparse_ ? tell(sparse_) : tell(dense_); }
    bool is_sparse_ = false;
    DenseInverse dense_;
    SparseInverse sparse_;

  public:
    int size() const { return static_cast<int>(head.size()); }
    int stride() const { return is_sparse_ ? sparse_.stride() : dense_.stride(); }

    // Inverse and weights from scratch; false if the basis is singular.
    bool factor(const DenseData &data);
    // The same, and y and d; boxed columns get the status that these want.
    bool refresh(const DenseData &data);
    // Frees what refresh() makes again.
    void forget_inverse() {
        for (std::vector<double> *made : {&weight, &y, &d})
            std::vector<double>().swap(*made);  // to clear it would keep its memory
        dense_.clear();
        sparse_.clear();
    }
    bool is_worn() const;  // whether the inverse is to be made anew, after so many pivots
    bool has_inverse() const { return !(is_sparse_ ? sparse_.is_empty() : dense_.is_empty()); }
    // To be called before the first pivot. Gives what is not basic reduced costs of a second kind, which decide
    // between candidates of equal ratio: where water is worth nothing nine of ten steps have no length, and without
    // these a problem wanders among such bases.
    void begin(const DenseData &data);
    // Duals y of rows (size) and reduced costs d of columns from scratch, refined once: d = c - y A to rounding, and
    // that of a basic variable is what the inverse leaves of it.
    void price(const DenseData &data, std::vector<double> &y, std::vector<double> &d) const;
    // Values of the basic variables from scratch, refined once, and of all columns in `full`; false if the inverse is
    // not accurate enough for the rows to hold.
    bool place(const DenseData &data, const Side &side, std::vector<double> &x, std::vector<double> &full) const;
    // Values of all columns from those of basic variables.
    void fill_columns(const std::vector<double> &x, std::vector<double> &full) const;
    // Pricing weights of basic columns, and 0 of others.
    void fill_weights(const DenseData &data, std::vector<double> &full) const;
    // Gives a column or core row this status; a column then rests where that says.
    void put(const DenseData &data, int variable, int8_t at);
    void put_columns(const DenseData &data);  // all of them, by the status that they have
    // Value of a variable that is not basic.
    double resting(const DenseData &data, const Side &side, int variable) const;
    // rho: the row of the inverse at a position, or that of an extra with this basic part that is about to become one.
    void row_at(int position, std::vector<double> &rho) const;
    void row_for(const std::vector<double> &part, std::vector<double> &rho) const;
    // Coefficients of the basic variables in an extra, padded to the stride.
    void basic_part(const DenseData &data, int extra, std::vector<double> &part) const;
    // rho · A, for all columns; of the extra that is about to become a row its own part as well.
    void times_matrix(const DenseData &data, const std::vector<double> &rho, int joining,
                      std::vector<double> &row) const;
    // inverse · the variable's column, padded to the stride.
    void column_for(const DenseData &data, int variable, std::vector<double> &column) const;
    void solve(const double *by_row, double *by_position) const {
        ask([&](const auto &inverse) { inverse.solve(by_row, by_position); });
    }
    void solve_transposed(const double *by_position, double *by_row) const {
        ask([&](const auto &inverse) { inverse.solve_transposed(by_position, by_row); });
    }
    // The extra with this basic part becomes a row with its own variable basic, last.
    void append(int extra, const std::vector<double> &part, const std::vector<double> &rho, int own_variable);
    // The variable with this column becomes basic at the position, whose row is rho.
    void exchange(int position, int variable, const std::vector<double> &column, const std::vector<double> &rho);
    void drop(const DenseData &data, int slot, int position);  // the extra of a slot whose variable is basic there

    std::vector<int> head;        // variable that is basic at each position
    std::vector<int> extras;      // the extra of each row behind the core rows
    std::vector<int8_t> status;   // of columns and core rows
    std::vector<double> y, d;     // as the pivots have moved them
    std::vector<double> tie_y, tie_d;  // likewise, of the second kind
    std::vector<double> rest;     // where each column is that is not basic
    std::vector<double> may;      // which way such a column may go: 1 up, -1 down, 0 not, or both ways
    std::vector<double> weight;   // squared norm of each row of the inverse
    std::vector<int> members;     // right-hand sides that have come to this basis
    int updates = 0;              // pivots since the inverse was made from scratch
};
