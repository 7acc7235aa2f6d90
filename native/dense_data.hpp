// A stage problem laid out for the dense dual simplex: rows of A, columns of A, and cuts in blocks.
//
// Every row i of A has a variable of its own, r_i = (A x)_i within the row's bounds, so that right-hand sides move
// nothing but the bounds of these. Planes and cuts (the extras, planes first) are rows like the others while they
// are binding, and nothing but a scan otherwise.
#pragma once
#include <cstdint>
#include <vector>

#include "stage_problem.hpp"

// One right-hand side.
struct Side {
    std::vector<double> row_lower, row_upper;  // of core rows
    std::vector<double> height;                // bound of every extra: above for planes, below for cuts
    std::vector<double> carried;               // carried part of the outgoing state
};

class DenseData {
  public:
    explicit DenseData(StageData stage);
    void add_cuts(int count, const double *intercepts, const double *slopes);
    void cuts_from(int first, double *intercepts, double *slopes) const;  // unscaled, as they were added
    void place(const double *state, const double *noise, Side &side) const;

    int columns() const { return columns_; }
    int rows() const { return rows_; }
    // Rows that an inverse has at most optima: of each column that planes limit one of them binds.
    int usual_rows() const { return rows_ + limited_columns_; }
    int planes() const { return planes_; }
    int cuts() const { return cuts_; }
    int extras() const { return planes_ + cuts_; }
    bool is_plane(int extra) const { return extra < planes_; }
    double coefficient(int extra, int column) const;
    // take(column, coefficient) for each coefficient of the extra, in a fixed order.
    template <class Take> void each_term(int extra, const Take &take) const {
        if (is_plane(extra)) {
            for (int k = stage.planes.start[extra]; k < stage.planes.start[extra + 1]; ++k)
                take(stage.planes.index[k], stage.planes.value[k]);
            return;
        }
        take(stage.future_column, 1.0);
        for (int i = 0; i < stage.decided(); ++i) take(stage.state_columns[i], -decided_slope(extra - planes_, i));
    }
    // row += factor · coefficients of the extra.
    void add_extra(int extra, double factor, double *row) const {
        each_term(extra, [&](int column, double value) { row[column] += factor * value; });
    }
    double times(int extra, const double *x) const;  // coefficients of the extra · x
    struct Violation {
        int extra = -1;
        double score = 0.0;  // squared, by the pricing weight
    };
    // The plane that x violates most by an estimate of its pricing weight from those of basic columns; it and those
    // next to it in this, in the order of planes, are left in `worst`.
    Violation look_at_planes(const Side &side, const double *x, const double *weight, std::vector<int> &worst) const;
    // The same, of these planes.
    Violation most_violated_plane(const std::vector<int> &among, const Side &side, const double *x,
                                  const double *weight) const;
    // The cut that x violates most, with such an estimate.
    Violation most_violated_cut(const Side &side, const double *x, const double *weight) const;
    double carried_slope(int extra, int i) const {
        const int cut = extra - planes_;
        return carried_[(static_cast<size_t>(cut / kLanes) * stage.carried() + i) * kLanes + cut % kLanes];
    }

    StageData stage;
    std::vector<double> cost, lower, upper;  // costs in units of cost_scale
    std::vector<int> row_start, row_index;   // A by rows
    std::vector<double> row_value;
    std::vector<int> free;          // columns without bounds
    std::vector<int> movable_rows;  // that are no equations

  private:
    double excess_of(int plane, const Side &side, const double *x) const;  // 0 within the tolerance
    double score_of(int plane, double excess, const double *weight) const;
    static constexpr int kLanes = 8;  // cuts of a block: sums run over them side by side
    double decided_slope(int cut, int i) const {
        return decided_[(static_cast<size_t>(cut / kLanes) * stage.decided() + i) * kLanes + cut % kLanes];
    }
    int columns_, rows_, planes_, limited_columns_, cuts_ = 0;
    std::vector<int> decided_of_;  // by column: its place among the decided states, or -1
    std::vector<double> intercept_, decided_, carried_;  // by blocks of cuts, then states, then lanes
};
