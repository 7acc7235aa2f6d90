// StageProblem: batches of right-hand sides over threads.
#include "stage_problem.hpp"

#include <algorithm>
#include <atomic>
#include <numeric>

#include "crew.hpp"
#include "opening_order.hpp"

void Counts::add(const Counts &other) {
    solves += other.solves;
    pivots += other.pivots;
    recoveries.resize(std::max(recoveries.size(), other.recoveries.size()));
    for (size_t step = 0; step < other.recoveries.size(); ++step) recoveries[step] += other.recoveries[step];
}

StageProblem::StageProblem(StageData data, int threads, bool keep, Options options, std::vector<Step> ladder)
    : data_(std::move(data)), options_(std::move(options)), ladder_(std::move(ladder)), keep_(keep),
      workers_(std::max(1, threads)) {
    counts_.recoveries.resize(ladder_.size());
}

void StageProblem::add_cuts(int count, const double *intercepts, const double *slopes) {
    const int decided = data_.decided(), width = data_.states_out();
    std::vector<int> fresh;
    for (int k = 0; k < count; ++k) {
        const double *slope = slopes + static_cast<size_t>(k) * width;
        fresh.push_back(extras());
        cuts_.intercept.push_back(intercepts[k] / data_.cost_scale);
        for (int i = 0; i < decided; ++i) cuts_.decided.push_back(slope[i] / data_.cost_scale);
        for (int i = decided; i < width; ++i) cuts_.carried.push_back(slope[i] / data_.cost_scale);
    }
    rows_.insert(rows_.end(), fresh.begin(), fresh.end());
    for (auto &worker : workers_)
        if (worker) worker->add_rows(fresh);
}

void StageProblem::choose_rows(const std::vector<int> &cuts) {
    rows_ = cuts;
    for (int &row : rows_) row += data_.planes.count();
    for (auto &worker : workers_)
        if (worker) worker->choose_rows(rows_);
}

// Runs job(worker, unit, signals) for every unit; a unit's result does not depend on which worker takes it. A job that
// sees that a signal's handler has raised may return as it is. Of several failures the one of the lowest unit is
// returned, on any number of threads.
template <class Job> Failure StageProblem::over_units(int units, Job job) {
    const int crew = std::min<int>(units, static_cast<int>(workers_.size()));
    std::vector<Failure> failures(std::max(crew, 1));
    for (int member = 0; member < crew; ++member) {
        if (workers_[member]) continue;
        workers_[member] = std::make_unique<Worker>(data_, cuts_, options_);
        workers_[member]->choose_rows(rows_);
    }
    Signals signals;
    std::atomic<int> next{0};  // ascending: no unit is taken before a lower one
    run_crew(crew, [&](int member) {
        for (int unit = next++; unit < units && !signals.raised(); unit = next++) {
            failures[member] = job(*workers_[member], unit, signals);
            if (failures[member].unit >= 0) return;
        }
    });
    for (int member = 0; member < crew && !keep_; ++member) {
        counts_.add(workers_[member]->counts);
        workers_[member].reset();
    }
    signals.rethrow();
    Failure first;
    for (const Failure &failure : failures)
        if (failure.unit >= 0 && (first.unit < 0 || failure.unit < first.unit)) first = failure;
    return first;
}

// Solves the openings first .. last - 1 of every unit, and calls take(worker, unit, opening) after each.
template <class Take>
Failure StageProblem::over_openings(int units, const double *states, const int *first, const int *last,
                                    const double *noises, const GivenStarts &given, int8_t *bases_out, Take take) {
    const size_t length = this->basis_length();
    return over_units(units, [&](Worker &worker, int unit, Signals &signals) -> Failure {
        const double *state = states + static_cast<size_t>(unit) * data_.states_in;
        const auto noise_of = [&](int place) {
            return noises + static_cast<size_t>(first[unit] + place) * data_.noises();
        };
        worker.begin(given.basis(unit), given.length);
        const double *of_start = given.noises ? given.noises + static_cast<size_t>(unit) * data_.noises() : nullptr;
        OpeningOrder order(last[unit] - first[unit], noise_of(0), data_.noise_weights, of_start);
        std::vector<HighsStart> starts(last[unit] - first[unit]);
        int before = -1;
        for (int place = order.next(); place >= 0; place = order.next()) {
            if (signals.raised()) return {};
            const double *noise = noise_of(place);
            const int start = order.start([&](int other) {
                const HighsStart &from = starts[other];
                return std::inner_product(noise, noise + data_.noises(), from.slope.begin(), from.value);
            });
            if (start != before) worker.start_from(starts[start]);
            if (!worker.solve(state, noise, ladder_)) return {unit, first[unit] + place, worker.status};
            take(worker, unit, first[unit] + place);
            if (place == 0) worker.basis(bases_out + unit * length);
            starts[place] = worker.start_of(noise);
            before = place;
        }
        worker.mark_used(bases_out + unit * length);
        return {};
    });
}

Failure StageProblem::expectation(int units, const double *states, const int *first, const int *last,
                                  const double *noises, const double *probabilities, const GivenStarts &given,
                                  double *values, double *slopes, int8_t *bases_out) {
    const size_t width = data_.states_in;
    std::fill(values, values + units, 0.0);
    std::fill(slopes, slopes + units * width, 0.0);
    return over_openings(units, states, first, last, noises, given, bases_out,
                         [&](const Worker &worker, int unit, int opening) {
                             values[unit] += probabilities[opening] * worker.dual_objective;
                             worker.add_slope(probabilities[opening], slopes + unit * width);
                         });
}

Failure StageProblem::by_opening(int units, const double *states, const int *first, const int *last,
                                 const double *noises, const GivenStarts &given, int most, double *values,
                                 double *slopes, int8_t *bases_out) {
    const size_t width = data_.states_in;
    return over_openings(units, states, first, last, noises, given, bases_out,
                         [&](const Worker &worker, int unit, int opening) {
                             const size_t place = static_cast<size_t>(unit) * most + (opening - first[unit]);
                             values[place] = worker.dual_objective;
                             std::fill(slopes + place * width, slopes + (place + 1) * width, 0.0);
                             worker.add_slope(1.0, slopes + place * width);
                         });
}

Failure StageProblem::dispatch(int units, const double *states, const double *noises, const GivenStarts &given,
                               double *objectives, double *futures, double *next_states, int8_t *bases_out,
                               double *primal, double *row_dual) {
    const size_t columns = data_.columns(), rows = data_.rows(), length = this->basis_length();
    return over_units(units, [&](Worker &worker, int unit, Signals &) -> Failure {
        worker.begin(given.basis(unit), given.length);
        if (!worker.solve(states + static_cast<size_t>(unit) * data_.states_in,
                          noises + static_cast<size_t>(unit) * data_.noises(), ladder_))
            return {unit, 0, worker.status};
        objectives[unit] = worker.objective;
        futures[unit] = data_.future_column >= 0 ? worker.x[data_.future_column] : 0.0;
        worker.next_state(next_states + static_cast<size_t>(unit) * data_.states_out());
        if (bases_out) worker.basis(bases_out + unit * length);
        if (primal) std::copy(worker.x.begin(), worker.x.end(), primal + unit * columns);
        if (row_dual)
            for (size_t i = 0; i < rows; ++i) row_dual[unit * rows + i] = worker.row_dual[i] * data_.cost_scale;
        return {};
    });
}

Counts StageProblem::counts() const {
    Counts total = counts_;
    for (const auto &worker : workers_)
        if (worker) total.add(worker->counts);
    return total;
}
