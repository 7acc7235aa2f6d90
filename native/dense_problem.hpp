// One stage problem on the dense dual simplex, solved for batches of (incoming state, noise) pairs.
//
// The problem is that of stage_problem.hpp. A right-hand side starts from whichever of the known start bases promises
// it the highest dual bound, so what it ends with is a function of the problem, the cuts, these bases and itself: not
// of the batch, the thread or anything solved before. What it can't solve cleanly is marked, for HiGHS to solve.
#pragma once
#include <cstdint>
#include <memory>
#include <string>
#include <vector>

#include "dense_data.hpp"
#include "dense_inside.hpp"
#include "dense_node.hpp"
#include "dense_search.hpp"
#include "signals.hpp"

// A dual feasible basis, and the dual bound that it promises a right-hand side: linear in what moves.
struct Start {
    DenseNode node;  // with its inverse, if that is small
    std::string given;  // statuses of columns and core rows as they came
    double constant = 0.0;
    struct Term {
        int index;      // row or extra
        bool is_upper;  // of a row: which bound
        double dual;
    };
    std::vector<Term> rows, extras;
    double promise(const Side &side) const;
};

// What a right-hand side ended with.
struct Solved {
    bool is_clean = false;
    double value = 0.0;              // dual objective, unscaled
    std::vector<double> slope;       // in the incoming state
    std::vector<int> binding;        // extras
};

class DenseProblem {
  public:
    DenseProblem(StageData data, int threads);
    void add_cuts(int count, const double *intercepts, const double *slopes) {
        data_.add_cuts(count, intercepts, slopes);
    }
    // Starts problems from these bases, of columns, core rows, planes and cuts, too; then from those known before, the
    // latest `most` in all. Those that are no dual feasible bases are left out. Without any a problem starts from its
    // slacks.
    void keep_starts(int count, int length, const int8_t *bases, size_t most);
    void forget_starts() { starts_.clear(); }
    void write_starts(int8_t *bases_out) const;

    // Of each of `units` states: the optimal values and slopes of its openings first .. last - 1, weighted by their
    // probabilities and summed in order; failed[unit] is set where one of them was not solved. Whether all were.
    bool expectation(int units, const double *states, const int *first, const int *last, const double *noises,
                     const double *probabilities, double *values, double *slopes, int8_t *bases_out, uint8_t *failed);
    // The same, each opening on its own: `most` places a unit, those beyond its openings left as they are.
    bool by_opening(int units, const double *states, const int *first, const int *last, const double *noises, int most,
                    double *values, double *slopes, int8_t *bases_out, uint8_t *failed);
    // Optimal dispatch of each of `units` pairs of state and noise, which may start from its own basis, too, of this
    // length, if that is not 0.
    bool dispatch(int units, const double *states, const double *noises, const int8_t *bases, int length,
                  double *objectives, double *futures, double *next_states, int8_t *bases_out, double *primal,
                  double *row_dual, uint8_t *failed);

    const DenseData &data() const { return data_; }
    int rows() const { return inside_.rows(); }
    int basis_length() const { return inside_.cut_place(data_.cuts()); }
    int starts() const { return static_cast<int>(starts_.size()); }
    bool takes_turns() const;  // whether the openings of a unit are solved one after the other
    int64_t solves = 0, pivots = 0;

  private:
    using Starts = std::vector<std::shared_ptr<Start>>;
    struct Task {
        const double *state, *noise;
        int number;
        Starts own = {};              // starts from these, if there are any
        const Start *vain = nullptr;  // has tried this one
    };
    const Start *most_promising(const Side &side, const Starts &own, const Start *vain) const;
    void run_from(const Start &start, DenseSearch &search, const std::vector<Side> &sides,
                  const std::vector<int> &which, const DenseSearch::Found &found) const;
    void solve_in_turn(int count, const double *state, const double *noises, DenseSearch &search, Signals &signals,
                       const DenseSearch::Found &found) const;
    void solve(const std::vector<Task> &tasks, const DenseSearch::Found &found);
    std::vector<Task> solve_slice(const Task *tasks, int count, Signals &signals, const DenseSearch::Found &found);
    bool solve_units(int units, const double *states, const int *first, const int *last, const double *noises,
                     std::vector<Solved> &solved, int8_t *bases_out, uint8_t *failed);
    void add_slope(const Optimum &optimum, double *slope) const;
    std::vector<int> extras_of(const int8_t *basis, int length) const;
    std::shared_ptr<Start> start_of(const int8_t *basis, const std::vector<int> &extras) const;
    std::shared_ptr<Start> start_of(const Optimum &optimum) const;
    bool sum_up(Start &start) const;
    void write_basis(const DenseNode &node, int8_t *out) const;

    Inside inside_;
    DenseData data_;
    int threads_;
    std::vector<char> moves_;  // by core row
    Starts starts_;  // usable and different, the latest first
};
