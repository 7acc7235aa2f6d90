"""``system/hydro_production_models.json``: which production model a plant follows when."""

from __future__ import annotations

from typing import Annotated, Literal

from pydantic import Field

from pycobre.case.record import Count, Document, Id, Productivity, Record

ModelName = Literal["constant_productivity", "linearized_head", "fpha"]


class ReferenceVolume(Record):
    """A volume that heads are taken at."""

    volume_hm3: Annotated[float, Field(gt=0)] | None = None
    percentile: Annotated[float, Field(ge=0, le=1)] | None = None


class FittingWindow(Record):
    """Volumes that planes are fitted over."""

    volume_min_hm3: float | None = None
    volume_max_hm3: float | None = None
    volume_min_percentile: float | None = None
    volume_max_percentile: float | None = None


class FphaConfig(Record):
    """Where the planes of a production function come from."""

    source: Literal["precomputed", "computed"]
    fitting_window: FittingWindow | None = None
    max_planes_per_hydro: Count | None = None
    spillage_discretization_points: Count | None = None
    turbine_discretization_points: Count | None = None
    volume_discretization_points: Count | None = None


class Choice(Record):
    """A production model and its parameters."""

    model: ModelName
    productivity_mw_per_m3s: Productivity | None = None
    fpha_config: FphaConfig | None = None
    reference_volume: ReferenceVolume | None = None


class StageRange(Choice):
    """The model of some stages, both ends included."""

    start_stage_id: Id
    end_stage_id: Id | None = None


class SeasonChoice(Choice):
    """The model of a season."""

    season_id: Annotated[int, Field(ge=0)]


class ByStageRange(Record):
    """A plant whose model is chosen by stage."""

    hydro_id: Id
    selection_mode: Literal["stage_ranges"]
    stage_ranges: list[StageRange] = Field(min_length=1)


class BySeason(Record):
    """A plant whose model is chosen by season."""

    hydro_id: Id
    selection_mode: Literal["seasonal"]
    default_model: ModelName
    seasons: list[SeasonChoice]


class AngleReduction(Record):
    """Computed planes become one where the angle between them is small."""

    method: Literal["angle"]
    tolerance_deg: Annotated[float, Field(ge=0, le=90)]


class DistanceReduction(Record):
    """Computed planes become one where what they make differs little."""

    method: Literal["distance"]
    tolerance_pct: Annotated[float, Field(ge=0)]
    n_samples: Count


class ProductionFile(Document):
    """``system/hydro_production_models.json``."""

    production_models: list[Annotated[ByStageRange | BySeason, Field(discriminator="selection_mode")]]
    fpha_plane_reduction: Annotated[
        AngleReduction | DistanceReduction | None, Field(discriminator="method")
    ] = None
