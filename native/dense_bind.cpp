// pycobre._native.DenseProblem: arrays in, arrays out, GIL released while solving.
#include "arrays.hpp"
#include "dense_problem.hpp"
#include "module.hpp"

namespace nb = nanobind;

namespace {

constexpr Require require{"DenseProblem"};

void require_units(const DenseProblem &problem, const In<double, 2> &states, const In<int, 1> &first,
                   const In<int, 1> &last, const In<double, 2> &noises, const Out<int8_t, 2> &bases_out,
                   const Out<uint8_t, 1> &failed) {
    const size_t units = states.shape(0);
    require(static_cast<int>(states.shape(1)) == problem.data().stage.states_in, "states");
    require(static_cast<int>(noises.shape(1)) == problem.data().stage.noises(), "noises");
    require.parts(first, last, units, noises.shape(0));
    require(bases_out.shape(0) == units && static_cast<int>(bases_out.shape(1)) == problem.basis_length(),
            "bases_out");
    require(failed.size() == units, "failed");
}

// Bases may be older than the latest cuts, and so shorter; of no length they are none.
void require_length(const DenseProblem &problem, int length) {
    require(length == 0 || (length <= problem.basis_length() && length >= problem.data().columns() + problem.rows()),
            "bases");
}

}  // namespace

void bind_dense(nb::module_ &m) {
    nb::class_<DenseProblem>(m, "DenseProblem")
        .def(
            "__init__",
            [](DenseProblem *self, const StageData &data, int threads) { new (self) DenseProblem(data, threads); },
            nb::arg("data"), nb::arg("threads"))
        .def("add_cuts",
             [](DenseProblem &self, In<double, 1> intercepts, In<double, 2> slopes) {
                 require(self.data().stage.future_column >= 0, "cuts: a last stage takes none");
                 require(slopes.shape(0) == intercepts.size(), "slopes");
                 require(static_cast<int>(slopes.shape(1)) == self.data().stage.states_out(), "slopes");
                 self.add_cuts(static_cast<int>(intercepts.size()), intercepts.data(), slopes.data());
             })
        .def("cuts_from",
             [](const DenseProblem &self, int first, Out<double, 1> intercepts, Out<double, 2> slopes) {
                 const size_t count = self.data().cuts() - first;
                 require(0 <= first && first <= self.data().cuts() && intercepts.size() == count, "intercepts");
                 require(slopes.shape(0) == count &&
                             static_cast<int>(slopes.shape(1)) == self.data().stage.states_out(), "slopes");
                 self.data().cuts_from(first, intercepts.data(), slopes.data());
             })
        .def("keep_starts",
             [](DenseProblem &self, In<int8_t, 2> bases, size_t most) {
                 const int length = static_cast<int>(bases.shape(1));
                 const int count = length == 0 ? 0 : static_cast<int>(bases.shape(0));
                 if (count > 0) require_length(self, length);
                 nb::gil_scoped_release nogil;
                 self.keep_starts(count, length, bases.data(), most);
             })
        .def("forget_starts", &DenseProblem::forget_starts)
        .def("write_starts",
             [](const DenseProblem &self, Out<int8_t, 2> bases_out) {
                 require(static_cast<int>(bases_out.shape(0)) == self.starts() &&
                             static_cast<int>(bases_out.shape(1)) == self.basis_length(), "bases_out");
                 self.write_starts(bases_out.data());
             })
        .def_prop_ro("starts", &DenseProblem::starts)
        .def_prop_ro("takes_turns", &DenseProblem::takes_turns)
        .def("expectation",
             [](DenseProblem &self, In<double, 2> states, In<int, 1> first, In<int, 1> last, In<double, 2> noises,
                In<double, 1> probabilities, Out<double, 1> values, Out<double, 2> slopes, Out<int8_t, 2> bases_out,
                Out<uint8_t, 1> failed) {
                 require_units(self, states, first, last, noises, bases_out, failed);
                 require(probabilities.size() == noises.shape(0), "probabilities");
                 require(values.size() == states.shape(0) && slopes.shape(0) == states.shape(0), "values or slopes");
                 require(slopes.shape(1) == states.shape(1), "slopes");
                 nb::gil_scoped_release nogil;
                 return self.expectation(static_cast<int>(states.shape(0)), states.data(), first.data(), last.data(),
                                  noises.data(), probabilities.data(), values.data(), slopes.data(), bases_out.data(),
                                  failed.data());
             })
        .def("by_opening",
             [](DenseProblem &self, In<double, 2> states, In<int, 1> first, In<int, 1> last, In<double, 2> noises,
                Out<double, 2> values, Out<double, 3> slopes, Out<int8_t, 2> bases_out, Out<uint8_t, 1> failed) {
                 require_units(self, states, first, last, noises, bases_out, failed);
                 const size_t most = values.shape(1);
                 for (size_t k = 0; k < first.size(); ++k)
                     require(last.data()[k] - first.data()[k] <= static_cast<int>(most), "values");
                 require(values.shape(0) == states.shape(0) && slopes.shape(0) == states.shape(0), "values or slopes");
                 require(slopes.shape(1) == most && slopes.shape(2) == states.shape(1), "slopes");
                 nb::gil_scoped_release nogil;
                 return self.by_opening(static_cast<int>(states.shape(0)), states.data(), first.data(), last.data(),
                                 noises.data(), static_cast<int>(most), values.data(), slopes.data(),
                                 bases_out.data(), failed.data());
             })
        .def("dispatch",
             [](DenseProblem &self, In<double, 2> states, In<double, 2> noises, In<int8_t, 2> bases,
                Out<double, 1> objectives, Out<double, 1> futures, Out<double, 2> next_states,
                Out<int8_t, 2> bases_out, Out<double, 2> primal, Out<double, 2> row_dual, Out<uint8_t, 1> failed) {
                 const size_t units = states.shape(0);
                 const int length = static_cast<int>(bases.shape(1));
                 require(bases.shape(0) == units, "bases");
                 require_length(self, length);
                 const bool is_full = primal.shape(0) > 0, has_bases = bases_out.shape(0) > 0;
                 require(!has_bases || (bases_out.shape(0) == units &&
                                        static_cast<int>(bases_out.shape(1)) == self.basis_length()), "bases_out");
                 require(static_cast<int>(states.shape(1)) == self.data().stage.states_in, "states");
                 require(noises.shape(0) == units && static_cast<int>(noises.shape(1)) == self.data().stage.noises(),
                         "noises");
                 require(objectives.size() == units && futures.size() == units && failed.size() == units,
                         "objectives, futures or failed");
                 require(next_states.shape(0) == units &&
                             static_cast<int>(next_states.shape(1)) == self.data().stage.states_out(), "next_states");
                 require(!is_full || (primal.shape(0) == units && row_dual.shape(0) == units &&
                                      static_cast<int>(primal.shape(1)) == self.data().columns() &&
                                      static_cast<int>(row_dual.shape(1)) == self.rows()),
                         "primal or row_dual");
                 nb::gil_scoped_release nogil;
                 return self.dispatch(static_cast<int>(units), states.data(), noises.data(), bases.data(), length,
                                      objectives.data(), futures.data(), next_states.data(),
                                      has_bases ? bases_out.data() : nullptr, is_full ? primal.data() : nullptr,
                                      is_full ? row_dual.data() : nullptr, failed.data());
             })
        .def_prop_ro("basis_length", &DenseProblem::basis_length)
        .def_prop_ro("cuts", [](const DenseProblem &self) { return self.data().cuts(); })
        .def_ro("solves", &DenseProblem::solves)
        .def_ro("pivots", &DenseProblem::pivots);
}
