// One stage problem on HiGHS, solved for batches of (incoming state, noise) pairs.
//
//   min c·x + θ    row_lower + T·s + N·ω <= A x <= row_upper + T·s + N·ω
//                  P x <= plane_upper + Q·s                                     planes
//                  θ - β_decided·x_state >= α + β_carried·(k0 + K·s + L·ω)      one row a cut
//
// The incoming state s and the noise ω move bounds only. Planes and cuts, the extras, stand apart from the core rows and
// are numbered together, planes first. Every plane is a row. Not every cut is: the caller chooses a working set, a start
// basis brings those that were binding with it, and others join the LP when a solution violates them, for the rest
// of that unit of work.
//
// A unit of work (one trial point with some openings in order, or one dispatch) begins with clearSolver and a
// start basis that the caller gives, so its result is a function of the problem, the cuts, that basis and its
// own right-hand sides: never of what the worker solved before.
#pragma once
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "signals.hpp"

// Sparse matrix by rows of (row, column, value), in the order in which sums run.
struct Triplets {
    std::vector<int> row, column;
    std::vector<double> value;
    void add_products(const double *by, std::vector<double> &to) const {
        for (size_t k = 0; k < row.size(); ++k) to[row[k]] += value[k] * by[column[k]];
    }
};

// Rows that limit one column each from above, x[column] + ... <= upper + Q·s; those of a column together.
struct Planes {
    std::vector<int> column, start, index;  // P by rows; start has one more entry than there are planes
    std::vector<double> value, upper;
    Triplets state;  // Q
    int count() const { return static_cast<int>(column.size()); }
};

struct StageData {
    std::vector<double> cost, column_lower, column_upper, row_lower, row_upper, value;
    std::vector<int> start, index;           // A by columns
    Triplets row_state, row_noise;           // T, N
    Planes planes;
    std::vector<int> state_columns;          // the decided part of the outgoing state
    std::vector<double> carried_constant;    // k0
    Triplets carried_state, carried_noise;   // K, L
    std::vector<double> noise_weights;       // what each noise counts where noises are compared
    int states_in = 0;
    int future_column = -1;                  // θ, or -1 in a last stage
    double cost_scale = 1.0;                 // costs are divided by it inside HiGHS
    int columns() const { return static_cast<int>(cost.size()); }
    int rows() const { return static_cast<int>(row_lower.size()); }
    int decided() const { return static_cast<int>(state_columns.size()); }
    int noises() const { return static_cast<int>(noise_weights.size()); }
    int carried() const { return static_cast<int>(carried_constant.size()); }
    int states_out() const { return decided() + carried(); }
    // The decided part of the outgoing state; a hair outside its bounds must not grow stage by stage.
    void decided_state(const double *x, double *out) const {
        for (int i = 0; i < decided(); ++i) {
            const int j = state_columns[i];
            out[i] = std::min(std::max(x[j], column_lower[j]), column_upper[j]);
        }
    }
};

using Option = std::pair<std::string, std::string>;  // a HiGHS option and its value as text
using Options = std::vector<Option>;

// Primal and dual objective are to agree this closely, relative: beyond it values are refined, and if that does not
// help the problem climbs the ladder.
constexpr double kGoodGap = 1e-9;

// What is tried when a problem does not solve cleanly.
struct Step {
    Options options;           // beside the usual ones
    bool keeps_basis = false;  // goes on from the basis at hand, factored anew, if there is an optimal one
    double most_gap = kGoodGap;
};

struct Failure {
    int unit = -1, opening = -1, status = 0;
};

// Status of a plane or cut in a basis: a HiGHS status, or this where a cut is basic (not binding) in the basis
// itself but was binding in another opening of the same unit.
constexpr int8_t kUsedLater = 5;

// Every cut that a stage has, scaled, whether it is a row at the moment or not.
struct CutStore {
    std::vector<double> intercept, decided, carried;  // (C), (C, decided), (C, carried)
    int count() const { return static_cast<int>(intercept.size()); }
};

// What units of work start from: a basis each, and the noises whose optima they are, null if nobody knows.
struct GivenStarts {
    const int8_t *bases = nullptr;
    int length = 0;
    const double *noises = nullptr;
    const int8_t *basis(int unit) const { return bases + static_cast<size_t>(unit) * length; }
};

// What a worker has done.
struct Counts {
    int64_t solves = 0, pivots = 0;
    std::vector<int64_t> recoveries;  // by step of the ladder
    void add(const Counts &other);
};

// Where another opening of the same unit may start, and the dual bound that it promises: value + slope · noise.
struct HighsStart {
    std::vector<int> columns, rows;  // the basis
    double value = 0.0;
    std::vector<double> slope;
};

// A HiGHS instance and the buffers of one thread.
class Worker {
  public:
    Worker(const StageData &data, const CutStore &cuts, const Options &options);
    ~Worker();
    Worker(const Worker &) = delete;
    Worker &operator=(const Worker &) = delete;

    void choose_rows(const std::vector<int> &cuts);  // the working set from now on, ascending, as extras
    void add_rows(const std::vector<int> &cuts);     // more of it
    // Begins a unit: clearSolver, the working set, then the start basis (of length 0: slacks).
    void begin(const int8_t *basis, int length);
    // Solves for one right-hand side, climbing `ladder` if need be; false when nothing helped.
    bool solve(const double *state, const double *noise, const std::vector<Step> &ladder);
    void add_slope(double weight, double *slope) const;  // weight · d(objective)/d(state), unscaled
    HighsStart start_of(const double *noise) const;      // after solve for this noise
    void start_from(const HighsStart &start);            // one of this unit
    void next_state(double *out) const;                  // after solve
    void basis(int8_t *out) const;                       // columns, core rows, planes, cuts
    void mark_used(int8_t *basis) const;                 // cuts that were binding since begin

    std::vector<double> x, row_value, row_dual;
    double objective = 0.0, dual_objective = 0.0;  // unscaled
    int status = 0;
    Counts counts;
    void *highs = nullptr;

  private:
    void know_extras();  // of cuts that came since
    void append_rows(const std::vector<int> &extras);
    void drop_rows(int from);  // extra rows from the given one on
    void resize_rows();
    void move_bounds(const double *state, const double *noise);
    void raise_extras(const double *state, const double *noise);
    static double reduced_cost_tolerance(const std::vector<double> &cost);
    bool run_and_check(double most_gap);  // between the objectives
    double weigh();
    void reduce_costs();
    void add_up_rows();
    void refine();
    void factor_anew();
    void weigh_extras();
    bool climb(const std::vector<Step> &ladder);
    int violated_cut() const;
    int extras() const { return data_.planes.count() + cuts_.count(); }
    int total_rows() const { return data_.rows() + static_cast<int>(rows_.size()); }
    const StageData &data_;
    const CutStore &cuts_;
    Options options_;
    // Planes and cuts are the extras: plane p has the number p, cut k the number planes + k.
    std::vector<int> rows_;  // the extra of each row behind the core: planes, the working set, then what joined it
    int chosen_ = 0;         // of these, planes and the working set
    std::vector<char> is_row_, used_;  // by extra; used are cuts alone
    std::vector<double> height_;       // bound of each extra's row for the right-hand side at hand
    std::vector<int> moving_rows_;  // core rows that move at all
    std::vector<double> cost_, reduced_cost_;  // scaled
    double reduced_cost_tolerance_ = 0.0;
    std::vector<double> shift_, lower_now_, upper_now_;
    std::vector<double> carried_;
    std::vector<double> multiplier_, carried_weight_;  // of extras, and of the carried state, since the last solve
    mutable std::vector<int> column_status_, row_status_;
};

class StageProblem {
  public:
    // HiGHS instances are kept from batch to batch if `keep` says so; large ones hold megabytes each.
    StageProblem(StageData data, int threads, bool keep, Options options, std::vector<Step> ladder);
    StageProblem(const StageProblem &) = delete;
    StageProblem &operator=(const StageProblem &) = delete;
    void add_cuts(int count, const double *intercepts, const double *slopes);  // as rows, until choose_rows
    void choose_rows(const std::vector<int> &cuts);
    // Of each of `units` states: the optimal values and slopes of its openings first .. last - 1, weighted by
    // their probabilities and summed in order.
    Failure expectation(int units, const double *states, const int *first, const int *last,
                        const double *noises, const double *probabilities, const GivenStarts &given,
                        double *values, double *slopes, int8_t *bases_out);
    // The same, each opening on its own: `most` places a unit, those beyond its openings left as they are.
    Failure by_opening(int units, const double *states, const int *first, const int *last, const double *noises,
                       const GivenStarts &given, int most, double *values, double *slopes, int8_t *bases_out);
    // Optimal dispatch of each of `units` pairs of state and noise.
    Failure dispatch(int units, const double *states, const double *noises, const GivenStarts &given,
                     double *objectives, double *futures, double *next_states, int8_t *bases_out, double *primal,
                     double *row_dual);
    // Writes the problem of one right-hand side as MPS with names, and finds rows and columns in conflict.
    std::string explain(const double *state, const double *noise, const std::vector<std::string> &row_names,
                        const std::vector<std::string> &column_names, const std::string &path,
                        std::vector<int> &conflict_rows, std::vector<int> &conflict_columns);

    const StageData &data() const { return data_; }
    int cuts() const { return cuts_.count(); }
    int extras() const { return data_.planes.count() + cuts_.count(); }
    int basis_length() const { return data_.columns() + data_.rows() + extras(); }
    Counts counts() const;

  private:
    template <class Job> Failure over_units(int units, Job job);
    template <class Take>
    Failure over_openings(int units, const double *states, const int *first, const int *last, const double *noises,
                          const GivenStarts &given, int8_t *bases_out, Take take);
    StageData data_;
    Options options_;
    std::vector<Step> ladder_;
    CutStore cuts_;
    std::vector<int> rows_;  // the working set
    bool keep_;
    Counts counts_;  // of workers that are gone
    std::vector<std::unique_ptr<Worker>> workers_;
};
