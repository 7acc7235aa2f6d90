"""``post_study_stages.json``: stages after the study, and what may be delivered in them."""

from __future__ import annotations

from typing import Annotated

from pydantic import Field

from pycobre.case.record import Date, Document, Id, Record

MOST_HOURS = 24.0 * 3660


class LaterStageRecord(Record):
    """A stage after the study."""

    start_date: Date
    duration_hours: Annotated[float, Field(gt=0, le=MOST_HOURS, description="h, at most ten years")]


class LaterBound(Record):
    """Limits and cost of a thermal plant in a stage after the study."""

    thermal_id: Id
    post_study_stage_index: Annotated[int, Field(ge=0, description="Position in stages, from 0")]
    cost_per_mwh: Annotated[float, Field(description="currency per MWh")]
    min_mw: Annotated[float, Field(description="MW")]
    max_mw: Annotated[float, Field(description="MW")]


class LaterFile(Document):
    """``post_study_stages.json``."""

    stages: list[LaterStageRecord]
    thermal_bounds: list[LaterBound]
