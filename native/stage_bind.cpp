// pycobre._native.StageProblem: arrays in, arrays out, GIL released while solving.
#include <nanobind/stl/pair.h>
#include <nanobind/stl/string.h>
#include <nanobind/stl/tuple.h>
#include <nanobind/stl/vector.h>

#include "arrays.hpp"
#include "interfaces/highs_c_api.h"
#include "module.hpp"
#include "stage_problem.hpp"

namespace nb = nanobind;

namespace {

using Sparse = std::tuple<In<int, 1>, In<int, 1>, In<double, 1>>;
using PlaneArrays = std::tuple<In<int, 1>, In<int, 1>, In<int, 1>, In<double, 1>, In<double, 1>, Sparse>;
using StepTuple = std::tuple<Options, bool, double>;
using FailureTuple = std::tuple<int, int, int>;

template <class T> std::vector<T> vector_of(const In<T, 1> &array) {
    return {array.data(), array.data() + array.size()};
}

Triplets triplets_of(const Sparse &sparse) {
    return {vector_of(std::get<0>(sparse)), vector_of(std::get<1>(sparse)), vector_of(std::get<2>(sparse))};
}

Planes planes_of(const PlaneArrays &arrays) {
    return {vector_of(std::get<0>(arrays)), vector_of(std::get<1>(arrays)), vector_of(std::get<2>(arrays)),
            vector_of(std::get<3>(arrays)), vector_of(std::get<4>(arrays)), triplets_of(std::get<5>(arrays))};
}

constexpr Require require{"StageProblem"};

GivenStarts given_bases(const StageProblem &problem, size_t units, const In<int8_t, 2> &bases) {
    const int length = static_cast<int>(bases.shape(1));
    require(bases.shape(0) == units && length <= problem.basis_length(), "bases");
    return {bases.data(), length};
}

// What units start from; no row of noises says that nobody knows any.
GivenStarts given_starts(const StageProblem &problem, size_t units, const In<int8_t, 2> &bases,
                         const In<double, 2> &noises) {
    GivenStarts given = given_bases(problem, units, bases);
    const bool known = noises.shape(0) > 0;
    require(!known || (noises.shape(0) == units && static_cast<int>(noises.shape(1)) == problem.data().noises()),
            "start_noises");
    if (known) given.noises = noises.data();
    return given;
}

FailureTuple tuple_of(const Failure &failure) { return {failure.unit, failure.opening, failure.status}; }

}  // namespace

void bind_stage(nb::module_ &m) {
    m.def("highs_version", [] { return std::string(Highs_version()); });
    m.attr("GOOD_GAP") = kGoodGap;
    nb::class_<StageData>(m, "StageData")
        .def(
            "__init__",
            [](StageData *self, In<double, 1> cost, In<double, 1> column_lower, In<double, 1> column_upper,
               In<double, 1> row_lower, In<double, 1> row_upper, In<int, 1> start, In<int, 1> index,
               In<double, 1> value, Sparse row_state, Sparse row_noise, const PlaneArrays &planes,
               In<int, 1> state_columns, In<double, 1> carried_constant, Sparse carried_state,
               Sparse carried_noise, In<double, 1> noise_weights, int states_in, int future_column,
               double cost_scale) {
                new (self) StageData{vector_of(cost), vector_of(column_lower), vector_of(column_upper),
                                     vector_of(row_lower), vector_of(row_upper), vector_of(value), vector_of(start),
                                     vector_of(index), triplets_of(row_state), triplets_of(row_noise),
                                     planes_of(planes), vector_of(state_columns), vector_of(carried_constant),
                                     triplets_of(carried_state), triplets_of(carried_noise),
                                     vector_of(noise_weights), states_in, future_column, cost_scale};
            },
            nb::arg("cost"), nb::arg("column_lower"), nb::arg("column_upper"), nb::arg("row_lower"),
            nb::arg("row_upper"), nb::arg("start"), nb::arg("index"), nb::arg("value"), nb::arg("row_state"),
            nb::arg("row_noise"), nb::arg("planes"), nb::arg("state_columns"), nb::arg("carried_constant"),
            nb::arg("carried_state"), nb::arg("carried_noise"), nb::arg("noise_weights"), nb::arg("states_in"),
            nb::arg("future_column"), nb::arg("cost_scale"));
    nb::class_<StageProblem>(m, "StageProblem")
        .def(
            "__init__",
            [](StageProblem *self, const StageData &data, int threads, bool keep, Options options,
               const std::vector<StepTuple> &ladder) {
                std::vector<Step> steps;
                for (const auto &[step, keeps_basis, most_gap] : ladder) steps.push_back({step, keeps_basis, most_gap});
                new (self) StageProblem(data, threads, keep, std::move(options), std::move(steps));
            },
            nb::arg("data"), nb::arg("threads"), nb::arg("keep"), nb::arg("options"), nb::arg("ladder"))
        .def("add_cuts",
             [](StageProblem &self, In<double, 1> intercepts, In<double, 2> slopes) {
                 require(self.data().future_column >= 0, "cuts: a last stage takes none");
                 require(slopes.shape(0) == intercepts.size(), "slopes");
                 require(static_cast<int>(slopes.shape(1)) == self.data().states_out(), "slopes");
                 self.add_cuts(static_cast<int>(intercepts.size()), intercepts.data(), slopes.data());
             })
        .def("choose_rows",
             [](StageProblem &self, In<int, 1> cuts) {
                 for (size_t k = 0; k < cuts.size(); ++k) {
                     require(cuts.data()[k] >= 0 && cuts.data()[k] < self.cuts(), "cuts");
                     require(k == 0 || cuts.data()[k - 1] < cuts.data()[k], "cuts: not ascending");
                 }
                 self.choose_rows(vector_of(cuts));
             })
        .def("expectation",
             [](StageProblem &self, In<double, 2> states, In<int, 1> first, In<int, 1> last, In<double, 2> noises,
                In<double, 1> probabilities, In<int8_t, 2> bases, In<double, 2> start_noises, Out<double, 1> values,
                Out<double, 2> slopes, Out<int8_t, 2> bases_out) {
                 const size_t units = states.shape(0);
                 const int length = self.basis_length();
                 require(static_cast<int>(states.shape(1)) == self.data().states_in, "states");
                 require(static_cast<int>(noises.shape(1)) == self.data().noises(), "noises");
                 require(probabilities.size() == noises.shape(0), "probabilities");
                 require.parts(first, last, units, noises.shape(0));
                 const GivenStarts given = given_starts(self, units, bases, start_noises);
                 require(values.size() == units && slopes.shape(0) == units, "values or slopes");
                 require(slopes.shape(1) == states.shape(1), "slopes");
                 require(bases_out.shape(0) == units && static_cast<int>(bases_out.shape(1)) == length,
                         "bases_out");
                 nb::gil_scoped_release nogil;
                 return tuple_of(self.expectation(
                     static_cast<int>(units), states.data(), first.data(), last.data(), noises.data(),
                     probabilities.data(), given, values.data(), slopes.data(), bases_out.data()));
             })
        .def("by_opening",
             [](StageProblem &self, In<double, 2> states, In<int, 1> first, In<int, 1> last, In<double, 2> noises,
                In<int8_t, 2> bases, In<double, 2> start_noises, Out<double, 2> values, Out<double, 3> slopes,
                Out<int8_t, 2> bases_out) {
                 const size_t units = states.shape(0), most = values.shape(1);
                 const int length = self.basis_length();
                 require(static_cast<int>(states.shape(1)) == self.data().states_in, "states");
                 require(static_cast<int>(noises.shape(1)) == self.data().noises(), "noises");
                 require.parts(first, last, units, noises.shape(0));
                 for (size_t k = 0; k < units; ++k)
                     require(last.data()[k] - first.data()[k] <= static_cast<int>(most), "first or last");
                 const GivenStarts given = given_starts(self, units, bases, start_noises);
                 require(values.shape(0) == units && slopes.shape(0) == units && slopes.shape(1) == most,
                         "values or slopes");
                 require(slopes.shape(2) == states.shape(1), "slopes");
                 require(bases_out.shape(0) == units && static_cast<int>(bases_out.shape(1)) == length,
                         "bases_out");
                 nb::gil_scoped_release nogil;
                 return tuple_of(self.by_opening(
                     static_cast<int>(units), states.data(), first.data(), last.data(), noises.data(),
                     given, static_cast<int>(most), values.data(), slopes.data(), bases_out.data()));
             })
        .def("dispatch",
             [](StageProblem &self, In<double, 2> states, In<double, 2> noises, In<int8_t, 2> bases,
                Out<double, 1> objectives, Out<double, 1> futures, Out<double, 2> next_states,
                Out<int8_t, 2> bases_out, Out<double, 2> primal, Out<double, 2> row_dual) {
                 const size_t units = states.shape(0);
                 const StageData &data = self.data();
                 require(static_cast<int>(states.shape(1)) == data.states_in, "states");
                 require(noises.shape(0) == units && static_cast<int>(noises.shape(1)) == data.noises(), "noises");
                 const GivenStarts given = given_bases(self, units, bases);
                 require(objectives.size() == units && futures.size() == units, "objectives or futures");
                 require(next_states.shape(0) == units &&
                             static_cast<int>(next_states.shape(1)) == data.states_out(), "next_states");
                 // An array of no rows says that the caller does not want it.
                 const bool keep = bases_out.shape(0) > 0;
                 require(!keep || (bases_out.shape(0) == units &&
                                   static_cast<int>(bases_out.shape(1)) == self.basis_length()), "bases_out");
                 const bool full = primal.shape(0) > 0;
                 require(!full || (primal.shape(0) == units &&
                                   static_cast<int>(primal.shape(1)) == data.columns() &&
                                   row_dual.shape(0) == units &&
                                   static_cast<int>(row_dual.shape(1)) == data.rows()), "primal or row_dual");
                 nb::gil_scoped_release nogil;
                 return tuple_of(self.dispatch(static_cast<int>(units), states.data(), noises.data(),
                                               given, objectives.data(), futures.data(), next_states.data(),
                                               keep ? bases_out.data() : nullptr, full ? primal.data() : nullptr,
                                               full ? row_dual.data() : nullptr));
             })
        .def("explain",
             [](StageProblem &self, In<double, 1> state, In<double, 1> noise,
                const std::vector<std::string> &row_names, const std::vector<std::string> &column_names,
                const std::string &path) {
                 require(static_cast<int>(state.size()) == self.data().states_in, "state");
                 require(static_cast<int>(noise.size()) == self.data().noises(), "noise");
                 require(static_cast<int>(row_names.size()) == self.data().rows() + self.data().planes.count(),
                         "row_names");
                 require(static_cast<int>(column_names.size()) == self.data().columns(), "column_names");
                 std::vector<int> rows, columns;
                 std::string trouble = self.explain(state.data(), noise.data(), row_names, column_names, path,
                                                    rows, columns);
                 return std::make_tuple(trouble, rows, columns);
             })
        .def_prop_ro("basis_length", &StageProblem::basis_length)
        .def_prop_ro("cuts", &StageProblem::cuts)
        .def_prop_ro("solves", [](const StageProblem &self) { return self.counts().solves; })
        .def_prop_ro("pivots", [](const StageProblem &self) { return self.counts().pivots; })
        .def_prop_ro("recoveries", [](const StageProblem &self) { return self.counts().recoveries; });
}
