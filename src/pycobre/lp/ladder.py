"""Options of HiGHS, and what is tried, in this order, when a stage problem does not solve cleanly.

A step of the ladder clears the solver, sets the step's options, solves, and puts the usual options
back; some keep the basis. Whether it is taken depends on the problem and its basis alone, so the
ladder never costs the same bits; every success is counted by step.
"""

from __future__ import annotations

from dataclasses import dataclass

from pycobre import _native

Options = list[tuple[str, str]]

SMALL_ROWS = 150
"""HiGHS instances of problems of more core rows are not kept from batch to batch: one of 160 hydros holds
megabytes."""

LEAST_LIMIT, PIVOTS_OF_ONE = 1000, 4
"""After so many pivots, and so many more for each column and row, a solve has failed: without perturbed costs
HiGHS may go round among optimal bases for ever. Our own simplex took at most one a column and row in the
national study, 4,000."""

_USUAL: Options = [
    ("threads", "1"),
    ("parallel", "off"),
    ("presolve", "off"),
    ("solver", "simplex"),
    ("simplex_strategy", "1"),
    ("primal_feasibility_tolerance", "1e-9"),
    ("dual_feasibility_tolerance", "1e-9"),
    ("user_objective_scale", "0"),
    ("simplex_scale_strategy", "0"),
    # HiGHS goes on for longer with factors and their changes: large problems with planes are 6 % quicker so.
    ("simplex_update_limit", "100"),
    # A pivot that is smaller than this beside its row of the inverse is worked out anew in twice the digits:
    # with HiGHS's own 1e-9 that took 4 % of the national study's time, for the same pivots.
    ("dual_simplex_pivot_growth_tolerance", "1e-12"),
    # Devex: by a quarter quicker than HiGHS's own choice at 160 hydros with planes.
    ("simplex_dual_edge_weight_strategy", "1"),
    # From a start basis perturbed costs take twice the pivots there, half of them to undo what they did.
    ("dual_simplex_cost_perturbation_multiplier", "0"),
]


WIDE_GAP = 1e-6
"""What primal and dual values may be wrong by, relative, where :data:`~pycobre._native.GOOD_GAP`, which is
asked of them at first, can't be had. The dual one, which counts, is a bound all the same."""


@dataclass(frozen=True)
class Step:
    """One rung.

    Attributes
    ----------
    name
        What statistics show.
    options
        Those that differ from the usual ones.
    keeps_basis
        Whether it goes on from the basis at hand, factored anew, instead of from slacks.
    most_gap
        What values may be wrong by, relative.
    """

    name: str
    options: tuple[tuple[str, str], ...]
    keeps_basis: bool = False
    most_gap: float = WIDE_GAP


_SHARP = (("primal_feasibility_tolerance", "1e-10"), ("dual_feasibility_tolerance", "1e-10"))

LADDER: tuple[Step, ...] = (
    # A reduced cost of the wrong sign within HiGHS's tolerance counts for as much as its variable has room.
    Step("sharpened", _SHARP, keeps_basis=True, most_gap=_native.GOOD_GAP),
    # 1e-10 is the least that HiGHS takes: larger costs make it less.
    Step(
        "larger costs",
        (*_SHARP, ("user_objective_scale", "10")),
        keeps_basis=True,
        most_gap=_native.GOOD_GAP,
    ),
    Step("cleared", (), most_gap=_native.GOOD_GAP),
    Step("scaled", (("simplex_scale_strategy", "4"), ("dual_simplex_cost_perturbation_multiplier", "1"))),
    Step("primal simplex", (("simplex_strategy", "4"), ("simplex_scale_strategy", "2"))),
    Step("presolved", (("presolve", "on"), ("simplex_scale_strategy", "2"))),
    Step(
        "tolerance 1e-7",
        (
            ("primal_feasibility_tolerance", "1e-7"),
            ("dual_feasibility_tolerance", "1e-7"),
            ("dual_simplex_cost_perturbation_multiplier", "1"),
        ),
    ),
)


def usual_options(size: int) -> Options:
    """Options for every stage problem of *size*: columns and core rows."""
    return [*_USUAL, ("simplex_iteration_limit", str(LEAST_LIMIT + PIVOTS_OF_ONE * size))]


def ladder_steps() -> list[tuple[Options, bool, float]]:
    """Options of each step of :data:`LADDER`, whether it keeps the basis, and its gap."""
    return [(list(step.options), step.keeps_basis, step.most_gap) for step in LADDER]
