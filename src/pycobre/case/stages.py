"""``stages.json``: the decision periods, their blocks, and what follows what."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Discriminator, Field, Tag

from pycobre.case.record import AnnualRate, Count, Date, Document, Hours, Id, Record, shape_of

Month = Annotated[int, Field(ge=1, le=12)]
Day = Annotated[int, Field(ge=1, le=31)]
SeasonId = Annotated[int, Field(ge=0, lt=2**31)]


class Node(Record):
    """A node of a policy graph."""

    id: Id
    stage_id: Id
    label: str | None = None
    scenario_id: Id | None = None


class Transition(Record):
    """An arc of the policy graph."""

    source_id: Id
    target_id: Id
    probability: Annotated[float, Field(ge=0, le=1)]
    annual_discount_rate_override: AnnualRate | None = None


class PolicyGraph(Record):
    """The horizon."""

    type: Literal["finite_horizon", "cyclic"]
    annual_discount_rate: AnnualRate
    nodes: list[Node] = Field(default=[])
    transitions: list[Transition] = Field(default=[])


class Season(Record):
    """A season of the year."""

    id: SeasonId
    label: str
    month_start: Month
    month_end: Month | None = None
    day_start: Day | None = None
    day_end: Day | None = None


class SeasonDefinitions(Record):
    """The seasons that statistics repeat with."""

    cycle_type: Literal["monthly", "weekly", "custom"]
    seasons: list[Season] = Field(min_length=1)


class BlockRecord(Record):
    """A load block."""

    id: Annotated[int, Field(ge=0)]
    name: str
    hours: Hours


class StateVariables(Record):
    """What a stage hands to the next."""

    storage: bool = True
    inflow_lags: bool = False


class CvarParameters(Record):
    """Parameters of the conditional value at risk."""

    alpha: Annotated[float, Field(gt=0, le=1)]
    lambda_: Annotated[float, Field(ge=0, le=1)] = Field(alias="lambda")


class Cvar(Record):
    """A convex combination of expectation and conditional value at risk."""

    cvar: CvarParameters


class StageRecord(Record):
    """A stage of the study."""

    id: Annotated[int, Field(ge=0, lt=2**31)]
    start_date: Date
    end_date: Date = Field(description="The day after the last, YYYY-MM-DD")
    season_id: SeasonId | None = None
    blocks: list[BlockRecord] = Field(min_length=1)
    block_mode: Literal["parallel", "chronological"] = "parallel"
    num_openings: Count
    annual_discount_rate_override: AnnualRate | None = None
    sampling_method: Literal["saa", "lhs", "qmc_sobol", "qmc_halton", "selective", "historical_residuals"] = (
        "saa"
    )
    risk_measure: (
        Annotated[
            Annotated[Literal["expectation"], Tag("scalar")] | Annotated[Cvar, Tag("object")],
            Discriminator(shape_of),
        ]
        | None
    ) = None
    state_variables: StateVariables | None = None


class PreStudyStage(Record):
    """A period before the study, numbered -1, -2, … backwards."""

    id: Annotated[int, Field(ge=-(2**31), lt=0)]
    start_date: Date
    end_date: Date
    season_id: SeasonId | None = None


class StagesFile(Document):
    """``stages.json``."""

    policy_graph: PolicyGraph
    season_definitions: SeasonDefinitions | None = None
    pre_study_stages: list[PreStudyStage] | None = None
    stages: list[StageRecord] = Field(min_length=1)
