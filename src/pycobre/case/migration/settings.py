"""``config.json``, ``stages.json`` and ``initial_conditions.json`` on their way from 0.5.1 to 0.18."""

from __future__ import annotations

from datetime import date, timedelta
from typing import Any

from pycobre.case import files
from pycobre.case.calendar import first_of_next_month, is_calendar_month
from pycobre.case.migration.draft import Draft, day_of

CONFIG, STAGES, INITIAL, PENALTIES = files.CONFIG, files.STAGES, files.INITIAL, files.PENALTIES
OLD_SCENARIOS = 2000  # of a simulation that does not say
OLD_DOMINATION = 1e-6
_GONE = "0.18 has no such setting"
_MONTHS = (
    "January", "February", "March", "April", "May", "June", "July", "August", "September", "October",
    "November", "December",
)  # fmt: skip


def migrate_settings(draft: Draft) -> None:
    """Change the configuration, the stages and the observed past of *draft*."""
    _source_of_noise(draft)
    _selection(draft)
    _rules(draft)
    _cut_selection(draft)
    _modeling(draft)
    for path in (
        "training.cut_formulation",
        "training.forward_pass",
        "simulation.policy_type",
        "simulation.output_mode",
        "simulation.output_path",
        "policy.validate_compatibility",
    ):
        draft.remove(CONFIG, path, _GONE)
    for name in (
        "training",
        "cuts",
        "vertices",
        "simulation",
        "forward_detail",
        "backward_detail",
        "compression",
    ):
        draft.remove(CONFIG, f"exports.{name}", _GONE)
    draft.remove(CONFIG, "policy.boundary.source_stage", "cuts of another study are found by date since 0.18")
    if draft.section(CONFIG, "estimation").get("order_selection") == "fixed":
        draft.section(CONFIG, "estimation")["order_selection"] = "pacf"
        draft.note(CONFIG, "estimation.order_selection", 'is "pacf", as 0.5.1 took "fixed"')
    _openings(draft)
    seasons_before = _seasons(draft)
    _past_inflows(draft, seasons_before)
    for file in draft.documents:
        draft.remove(file, "version", "0.18 has no such field; $schema names the version")


def _selection(draft: Draft) -> None:
    training, simulation = draft.section(CONFIG, "training"), draft.section(CONFIG, "simulation")
    if "forward_passes" in training:
        training["selection"] = {"method": "sampled", "forward_passes": training.pop("forward_passes")}
        draft.note(CONFIG, "training.selection", "was training.forward_passes")
    if "num_scenarios" in simulation or simulation.get("enabled"):
        told = "was simulation.num_scenarios"
        if "num_scenarios" not in simulation:
            told = f"says {OLD_SCENARIOS} scenarios, which was the default"
        number = simulation.pop("num_scenarios", OLD_SCENARIOS)
        simulation["selection"] = {"method": "sampled", "num_scenarios": number}
        draft.note(CONFIG, "simulation.selection", told)


def _rules(draft: Draft) -> None:
    training = draft.section(CONFIG, "training")
    rules = training.get("stopping_rules")
    if not isinstance(rules, list):
        return
    kept = [rule for rule in rules if not (isinstance(rule, dict) and rule.get("type") == "simulation")]
    if len(kept) < len(rules):
        training["stopping_rules"] = kept
        draft.note(
            CONFIG,
            "training.stopping_rules",
            "the rule that simulates is left out, 0.18 has none: the training may be longer; bound_stalling"
            " can end it earlier",
        )


def _cut_selection(draft: Draft) -> None:
    old = draft.section(CONFIG, "training").pop("cut_selection", None)
    if not isinstance(old, dict):
        return
    method, every = old.get("method") or "level1", old.get("check_frequency")
    new: dict[str, Any] = {}
    if old.get("enabled"):
        chosen: dict[str, Any] = {"method": method}
        if method == "domination":
            tolerance = old.get("domination_epsilon", old.get("threshold"))
            chosen["domination_tolerance"] = OLD_DOMINATION if tolerance is None else float(tolerance)
        if every is not None:
            chosen["check_frequency"] = every
        new["selection"] = chosen
    for name, before in (
        ("max_active_per_stage", "max_active_per_stage"),
        ("row_activity_tolerance", "cut_activity_tolerance"),
    ):
        if old.get(before) is not None:
            new[name] = old[before]
    if new:
        draft.section(CONFIG, "training")["cut_selection"] = new
    told = "the method and its parameters are in selection"
    lost = sorted({"threshold", "memory_window", "basis_activity_window"} & {k for k, v in old.items() if v})
    if lost:
        told += f"; {', '.join(lost)} left out, 0.18 chooses by its own rule: other cuts may stay"
    draft.note(CONFIG, "training.cut_selection", told if new else "left out: it was off")


def _modeling(draft: Draft) -> None:
    rule = draft.section(CONFIG, "modeling", "inflow_non_negativity")
    if "penalty_cost" not in rule:
        return
    cost = rule.pop("penalty_cost")
    hydro = draft.section(PENALTIES, "hydro")
    if hydro.get("inflow_nonnegativity_cost") is None:
        hydro["inflow_nonnegativity_cost"] = cost
        told = f"moved to hydro.inflow_nonnegativity_cost in {PENALTIES}"
        draft.note(PENALTIES, "hydro.inflow_nonnegativity_cost", f"was penalty_cost in {CONFIG}")
    else:
        told = f"left out: {PENALTIES} has the price, which came first"
    draft.note(CONFIG, "modeling.inflow_non_negativity.penalty_cost", told)


def _source_of_noise(draft: Draft) -> None:
    source = draft.section(STAGES).pop("scenario_source", None)
    if source is None:
        return
    training = draft.section(CONFIG, "training")
    if training.get("scenario_source") is None:
        training["scenario_source"] = source
        draft.note(CONFIG, "training.scenario_source", f"was scenario_source in {STAGES}")
    draft.note(STAGES, "scenario_source", f"is in {CONFIG} since 0.18")


def _openings(draft: Draft) -> None:
    for stage in draft.stages:
        if "num_scenarios" in stage:
            stage["num_openings"] = stage.pop("num_scenarios")
            draft.note(STAGES, "stages[].num_openings", "was num_scenarios")
    if files.NOISE_OPENINGS in draft.tables:
        training = draft.section(CONFIG, "training")
        source = dict(training.get("scenario_source") or {})
        training["scenario_source"] = {**source, "openings": {"source": "file"}}
        draft.note(
            CONFIG,
            "training.scenario_source.openings",
            f'says "file": 0.5.1 took {files.NOISE_OPENINGS} wherever it was',
        )


def _seasons(draft: Draft) -> bool:
    """Give seasons to a study with lags that defines none, and tell whether there are monthly ones."""
    content = draft.section(STAGES)
    definitions = content.get("season_definitions")
    if definitions is not None or not draft.has_lags:
        return isinstance(definitions, dict) and definitions.get("cycle_type") == "monthly"
    periods = [*draft.stages, *(content.get("pre_study_stages") or [])]
    if not all(is_calendar_month(day_of(p["start_date"]), day_of(p["end_date"])) for p in periods):
        return False
    content["season_definitions"] = {
        "cycle_type": "monthly",
        "seasons": [
            {"id": month, "month_start": month + 1, "label": label} for month, label in enumerate(_MONTHS)
        ],
    }
    for period in periods:
        period["season_id"] = day_of(period["start_date"]).month - 1
    draft.note(
        STAGES,
        "season_definitions",
        "the months of the year are the seasons: since 0.18 stages of one season are parts of it, and lags"
        " count seasons",
    )
    draft.note(STAGES, "stages[].season_id", "is the month's, 0 to 11")
    return True


def _past_inflows(draft: Draft, monthly: bool) -> None:
    content = draft.section(INITIAL)
    past = content.pop("past_inflows", None)
    if past is None:
        return
    observed = list(content.get("recent_observations") or [])
    windows = _Windows(draft, monthly)
    clashes = 0
    for item in past:
        taken = [
            (day_of(other["start_date"]), day_of(other["end_date"]))
            for other in observed
            if other.get("hydro_id") == item.get("hydro_id")
        ]
        for lag, value in enumerate(item.get("values_m3s") or [], start=1):
            start, end = windows[lag]
            if any(start < other_end and other_start < end for other_start, other_end in taken):
                clashes += 1
                continue
            observed.append(
                {
                    "hydro_id": item.get("hydro_id"),
                    "start_date": start.isoformat(),
                    "end_date": end.isoformat(),
                    "value_m3s": value,
                }
            )
    content["recent_observations"] = observed
    told = f"was past_inflows, lag by lag: {windows.origin}"
    if clashes:
        told += f"; {clashes} of them left out, where observed days were given already"
    draft.note(INITIAL, "recent_observations", told)


class _Windows:
    """The days that lag 1, 2, … of the study stand for."""

    def __init__(self, draft: Draft, monthly: bool) -> None:
        given = draft.section(STAGES).get("pre_study_stages") or []
        self._given = {
            -int(stage["id"]): (day_of(stage["start_date"]), day_of(stage["end_date"])) for stage in given
        }
        first = draft.stages[0]
        start, end = day_of(first["start_date"]), day_of(first["end_date"])
        self._months = monthly or is_calendar_month(start, end)
        self._length = end - start
        self._start = start.replace(day=1) if self._months else start
        self.origin = "the days are those of pre_study_stages"
        if not self._given:
            self.origin = f"the days are the {'months' if self._months else 'periods as long'} before"

    def __getitem__(self, lag: int) -> tuple[date, date]:
        if lag in self._given:
            return self._given[lag]
        end = self._start if lag == 1 else self[lag - 1][0]
        start = (end - timedelta(days=1)).replace(day=1) if self._months else end - self._length
        return start, end


def month_of(day: date) -> tuple[date, date]:
    """The calendar month of a day."""
    return day.replace(day=1), first_of_next_month(day)
