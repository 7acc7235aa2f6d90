"""Options of HiGHS, and what is tried, in this order, when a stage problem does not solve cleanly.

A step of the ladder clears the solver, sets the step's options, solves, and puts the usual options
back. Whether it is taken depends on the problem alone, so the ladder never costs the same bits; every
success is counted by step.
"""

from __future__ import annotations

from dataclasses import dataclass

Options = list[tuple[str, str]]

SMALL_ROWS = 150
"""HiGHS instances of problems of more core rows are not kept from batch to batch: one of 160 hydros holds
megabytes."""

_USUAL: Options = [
    ("threads", "1"),
    ("parallel", "off"),
    ("presolve", "off"),
    ("solver", "simplex"),
    ("simplex_strategy", "1"),
    ("primal_feasibility_tolerance", "1e-9"),
    ("dual_feasibility_tolerance", "1e-9"),
    ("simplex_scale_strategy", "0"),
    # Devex: by a quarter quicker than HiGHS's own choice at 160 hydros with planes.
    ("simplex_dual_edge_weight_strategy", "1"),
    # From a start basis perturbed costs take twice the pivots there, half of them to undo what they did.
    ("dual_simplex_cost_perturbation_multiplier", "0"),
]


@dataclass(frozen=True)
class Step:
    """One rung: the name that statistics show, and the options that differ from the usual ones."""

    name: str
    options: tuple[tuple[str, str], ...]


LADDER: tuple[Step, ...] = (
    Step("cleared", ()),
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


def usual_options() -> Options:
    """Options for every stage problem."""
    return list(_USUAL)


def ladder_options() -> list[Options]:
    """Options of each step of :data:`LADDER`."""
    return [list(step.options) for step in LADDER]
