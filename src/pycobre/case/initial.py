"""``initial_conditions.json``: what the system looks like on the first day."""

from __future__ import annotations

from pydantic import Field

from pycobre.case.record import Date, Document, Flow, Id, Record, SignedFlow, Volume


class Storage(Record):
    """Water in a reservoir."""

    hydro_id: Id
    value_hm3: Volume


class Window(Record):
    """A span of days; the last one excluded."""

    start_date: Date
    end_date: Date


class Observation(Window):
    """Mean inflow of a plant over some days."""

    hydro_id: Id
    value_m3s: SignedFlow


class Defluence(Window):
    """Water already released upstream."""

    hydro_id: Id
    value_m3s: Flow


class Commitment(Window):
    """Thermal dispatch already decided."""

    thermal_id: Id
    value_mw: float


class InitialFile(Document):
    """``initial_conditions.json``."""

    storage: list[Storage]
    filling_storage: list[Storage]
    recent_observations: list[Observation] = Field(default=[])
    past_defluences: list[Defluence] = Field(default=[])
    past_anticipated_commitments: list[Commitment] = Field(default=[])
