// DenseProblem: batches of right-hand sides over threads, folded in the order of openings.
#include "dense_problem.hpp"

#include <algorithm>
#include <atomic>
#include <map>
#include <mutex>

#include "crew.hpp"

namespace {

constexpr int kSlice = 128;  // right-hand sides at once, for each thread
constexpr int kManyRows = 16;  // in an inverse: a pivot then costs more than what sharing it would save

}  // namespace

DenseProblem::DenseProblem(StageData data, int threads)
    : inside_(data), data_(std::move(data)), threads_(std::max(1, threads)), moves_(data_.rows(), 0) {
    for (int row : data_.stage.row_state.row) moves_[row] = 1;
    for (int row : data_.stage.row_noise.row) moves_[row] = 1;
    keep_starts(0, 0, nullptr, 1);
}

// The start of `own`, or without any of the known ones, that promises most, but for one that was tried in vain. A known
// one may promise more than a neighbour's optimum, and is farther all the same: it takes twice the pivots.
const Start *DenseProblem::most_promising(const Side &side, const Starts &own, const Start *vain) const {
    const auto best_of = [&](const Starts &among) {
        const Start *found = nullptr;
        double best = 0.0;
        for (const std::shared_ptr<Start> &start : among) {
            if (!start || start.get() == vain) continue;
            const double promise = start->promise(side);
            if (found && !(promise > best)) continue;
            best = promise;
            found = start.get();
        }
        return found;
    };
    const Start *found = best_of(own);
    return found ? found : best_of(starts_);
}

bool DenseProblem::takes_turns() const { return data_.rows() >= kManyRows; }

// Calls found(task, optimum), from any thread, for every task that ends with a clean optimum: from the start that
// promises most or, where that leads to nothing, from the next.
void DenseProblem::solve(const std::vector<Task> &tasks, const DenseSearch::Found &found) {
    const int count = static_cast<int>(tasks.size()), slice = kSlice * threads_;
    Signals signals;
    for (int begin = 0; begin < count; begin += slice) {
        const int size = std::min(slice, count - begin);
        const std::vector<Task> left = solve_slice(tasks.data() + begin, size, signals, found);
        solve_slice(left.data(), static_cast<int>(left.size()), signals, found);
    }
    solves += count;
}

std::vector<DenseProblem::Task> DenseProblem::solve_slice(const Task *tasks, int count, Signals &signals,
                                                          const DenseSearch::Found &found) {
    // One for all problems of a thread: each holds the heights of all cuts, and there are hundreds.
    static thread_local std::vector<Side> of_thread;
    std::vector<Side> &sides = of_thread;  // which the crew's threads are to see, not their own
    if (sides.size() < static_cast<size_t>(count)) sides.resize(count);
    std::vector<const Start *> chosen(count);
    std::vector<char> is_done(count, 0);
    std::atomic<int> next{0};
    run_crew(std::min(threads_, count), [&](int) {
        for (int k = next++; k < count; k = next++) {
            data_.place(tasks[k].state, tasks[k].noise, sides[k]);
            chosen[k] = most_promising(sides[k], tasks[k].own, tasks[k].vain);
        }
    });
    // Those with the same start go together, but not so many that a thread is left without work.
    const size_t most = (count + 2 * threads_ - 1) / (2 * threads_);
    struct Group {
        const Start *start;
        std::vector<int> members;
    };
    std::vector<Group> groups;
    std::map<const Start *, int> open;
    for (int k = 0; k < count; ++k) {
        if (!chosen[k]) continue;
        int &at = open.emplace(chosen[k], -1).first->second;
        if (at < 0 || (threads_ > 1 && groups[at].members.size() >= most)) {
            at = static_cast<int>(groups.size());
            groups.push_back({chosen[k], {}});
        }
        groups[at].members.push_back(k);
    }
    const int work = static_cast<int>(groups.size());
    std::stable_sort(groups.begin(), groups.end(),
                     [](const Group &a, const Group &b) { return a.members.size() > b.members.size(); });
    std::mutex totals;
    next = 0;
    run_crew(std::min(threads_, work), [&](int) {
        static thread_local DenseSearch search;
        search.pivots = 0;
        for (int g = next++; g < work && !signals.raised(); g = next++) {
            run_from(*groups[g].start, search, sides, groups[g].members, [&](int k, const Optimum &optimum) {
                found(tasks[k].number, optimum);
                is_done[k] = 1;
            });
        }
        const std::lock_guard<std::mutex> lock(totals);
        pivots += search.pivots;
    });
    signals.rethrow();
    std::vector<Task> left;
    for (int k = 0; k < count; ++k) {
        if (is_done[k] || !chosen[k]) continue;
        left.push_back(tasks[k]);
        left.back().vain = chosen[k];
    }
    return left;
}

// Solves `sides[k]` for k in `which` from the start, whose inverse is made here if it has none.
void DenseProblem::run_from(const Start &start, DenseSearch &search, const std::vector<Side> &sides,
                            const std::vector<int> &which, const DenseSearch::Found &found) const {
    if (start.node.has_inverse()) {
        search.run(data_, start.node, sides, which, found);
        return;
    }
    DenseNode fresh = start.node;
    if (fresh.refresh(data_)) search.run(data_, fresh, sides, which, found);
}

// The openings of a unit in their order, each from the most promising of what those before it came to, the first from
// a known start.
void DenseProblem::solve_in_turn(int count, const double *state, const double *noises, DenseSearch &search,
                                 Signals &signals, const DenseSearch::Found &found) const {
    static thread_local std::vector<Side> side(1);
    static const std::vector<int> alone{0};
    Starts own;
    for (int place = 0; place < count && !signals.raised(); ++place) {
        data_.place(state, noises + static_cast<size_t>(place) * data_.stage.noises(), side[0]);
        const Start *start = nullptr;
        bool is_done = false;
        for (int attempt = 0; attempt < 2 && !is_done; ++attempt) {
            start = most_promising(side[0], own, start);
            if (!start) break;
            run_from(*start, search, side, alone, [&](int, const Optimum &optimum) {
                is_done = true;
                found(place, optimum);
                if (place + 1 < count) own.push_back(start_of(optimum));
            });
        }
    }
}

bool DenseProblem::solve_units(int units, const double *states, const int *first, const int *last,
                               const double *noises, std::vector<Solved> &solved, int8_t *bases_out,
                               uint8_t *failed) {
    const size_t width = data_.stage.states_in, length = basis_length();
    std::vector<int> unit_of, first_of;
    for (int unit = 0; unit < units; ++unit) {
        first_of.push_back(static_cast<int>(unit_of.size()));
        unit_of.insert(unit_of.end(), last[unit] - first[unit], unit);
    }
    solved.assign(unit_of.size(), {});
    const auto take = [&](int task, const Optimum &optimum) {
        const int unit = unit_of[task];
        Solved &result = solved[task];
        result.is_clean = true;
        result.value = optimum.dual * data_.stage.cost_scale;
        result.slope.assign(width, 0.0);
        add_slope(optimum, result.slope.data());
        result.binding = optimum.node.extras;
        if (task == first_of[unit]) write_basis(optimum.node, bases_out + unit * length);
    };
    const auto noise_of = [&](int unit, int place) {
        return noises + static_cast<size_t>(first[unit] + place) * data_.stage.noises();
    };
    if (takes_turns()) {
        Signals signals;
        std::atomic<int> next{0};
        std::mutex totals;
        run_crew(std::min(threads_, units), [&](int) {
            static thread_local DenseSearch search;
            search.pivots = 0;
            for (int unit = next++; unit < units && !signals.raised(); unit = next++)
                solve_in_turn(last[unit] - first[unit], states + unit * width, noise_of(unit, 0), search, signals,
                              [&](int place, const Optimum &optimum) { take(first_of[unit] + place, optimum); });
            const std::lock_guard<std::mutex> lock(totals);
            pivots += search.pivots;
        });
        signals.rethrow();
        solves += static_cast<int64_t>(unit_of.size());
    } else {
        std::vector<Task> tasks;
        for (size_t task = 0; task < unit_of.size(); ++task) {
            const int unit = unit_of[task], place = static_cast<int>(task) - first_of[unit];
            tasks.push_back({states + unit * width, noise_of(unit, place), static_cast<int>(task)});
        }
        solve(tasks, take);
    }
    std::fill(failed, failed + units, 0);
    for (size_t task = 0; task < solved.size(); ++task) {
        if (!solved[task].is_clean) failed[unit_of[task]] = 1;
        int8_t *basis = bases_out + unit_of[task] * length;
        for (int extra : solved[task].binding) {
            int8_t &status = basis[inside_.extra_place(extra)];
            if (status == kBasic && !inside_.is_row(extra)) status = kUsedLater;
        }
    }
    return std::find(failed, failed + units, 1) == failed + units;
}

bool DenseProblem::expectation(int units, const double *states, const int *first, const int *last,
                               const double *noises, const double *probabilities, double *values, double *slopes,
                               int8_t *bases_out, uint8_t *failed) {
    const size_t width = data_.stage.states_in;
    std::vector<Solved> solved;
    const bool all = solve_units(units, states, first, last, noises, solved, bases_out, failed);
    size_t task = 0;
    for (int unit = 0; unit < units; ++unit) {
        double *slope = slopes + unit * width;
        values[unit] = 0.0;
        std::fill(slope, slope + width, 0.0);
        for (int opening = first[unit]; opening < last[unit]; ++opening, ++task) {
            if (failed[unit]) continue;
            values[unit] += probabilities[opening] * solved[task].value;
            for (size_t i = 0; i < width; ++i) slope[i] += probabilities[opening] * solved[task].slope[i];
        }
    }
    return all;
}

bool DenseProblem::by_opening(int units, const double *states, const int *first, const int *last,
                              const double *noises, int most, double *values, double *slopes, int8_t *bases_out,
                              uint8_t *failed) {
    const size_t width = data_.stage.states_in;
    std::vector<Solved> solved;
    const bool all = solve_units(units, states, first, last, noises, solved, bases_out, failed);
    size_t task = 0;
    for (int unit = 0; unit < units; ++unit)
        for (int opening = first[unit]; opening < last[unit]; ++opening, ++task) {
            if (failed[unit]) continue;
            const size_t place = static_cast<size_t>(unit) * most + (opening - first[unit]);
            values[place] = solved[task].value;
            std::copy(solved[task].slope.begin(), solved[task].slope.end(), slopes + place * width);
        }
    return all;
}

bool DenseProblem::dispatch(int units, const double *states, const double *noises, const int8_t *bases, int length,
                            double *objectives, double *futures, double *next_states, int8_t *bases_out,
                            double *primal, double *row_dual, uint8_t *failed) {
    const StageData &stage = data_.stage;
    std::vector<Task> tasks;
    for (int unit = 0; unit < units; ++unit) {
        const int8_t *basis = bases + static_cast<size_t>(unit) * length;
        tasks.push_back({states + static_cast<size_t>(unit) * stage.states_in,
                         noises + static_cast<size_t>(unit) * stage.noises(), unit});
        if (length > 0) tasks.back().own.push_back(start_of(basis, extras_of(basis, length)));
    }
    std::fill(failed, failed + units, 1);
    solve(tasks, [&](int unit, const Optimum &optimum) {
        failed[unit] = 0;
        const double scale = stage.cost_scale;
        objectives[unit] = optimum.primal * scale;
        futures[unit] = stage.future_column >= 0 ? optimum.columns[stage.future_column] * scale : 0.0;
        double *next = next_states + static_cast<size_t>(unit) * stage.states_out();
        stage.decided_state(optimum.columns.data(), next);
        std::copy(optimum.carried.begin(), optimum.carried.end(), next + stage.decided());
        if (bases_out) write_basis(optimum.node, bases_out + static_cast<size_t>(unit) * basis_length());
        if (primal) {
            double *out = primal + static_cast<size_t>(unit) * data_.columns();
            std::copy(optimum.columns.begin(), optimum.columns.end(), out);
            if (stage.future_column >= 0) out[stage.future_column] *= scale;
        }
        if (!row_dual) return;
        double *dual = row_dual + static_cast<size_t>(unit) * rows();
        std::fill(dual, dual + rows(), 0.0);
        for (int i = 0; i < data_.rows(); ++i) dual[inside_.row_of_kept(i)] = optimum.y[i] * scale;
        const std::vector<int> &extras = optimum.node.extras;
        for (size_t k = 0; k < extras.size(); ++k)
            if (inside_.is_row(extras[k]))
                dual[inside_.row_of(extras[k])] =
                    optimum.y[data_.rows() + k] * (inside_.is_negated(extras[k]) ? -scale : scale);
    });
    return std::find(failed, failed + units, 1) == failed + units;
}

// slope += d(objective)/d(state), unscaled.
void DenseProblem::add_slope(const Optimum &optimum, double *slope) const {
    const StageData &stage = data_.stage;
    const double unit = stage.cost_scale;
    const auto add = [&](const Triplets &moved, const double *multiplier) {
        for (size_t k = 0; k < moved.row.size(); ++k)
            slope[moved.column[k]] += unit * (multiplier[moved.row[k]] * moved.value[k]);
    };
    add(stage.row_state, optimum.y.data());
    const std::vector<int> &extras = optimum.node.extras;
    if (extras.empty()) return;
    std::vector<double> by_plane(data_.planes(), 0.0), by_carried(stage.carried(), 0.0);
    for (size_t k = 0; k < extras.size(); ++k) {
        const double multiplier = optimum.y[data_.rows() + k];
        if (data_.is_plane(extras[k])) {
            by_plane[extras[k]] = multiplier;
            continue;
        }
        for (int i = 0; i < stage.carried(); ++i) by_carried[i] += multiplier * data_.carried_slope(extras[k], i);
    }
    add(stage.planes.state, by_plane.data());
    add(stage.carried_state, by_carried.data());
}
