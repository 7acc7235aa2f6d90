"""``system/*.json`` and ``penalties.json`` on their way from 0.5.1 to 0.18."""

from __future__ import annotations

from typing import Any

from pycobre.case import files
from pycobre.case.migration.draft import EARLY, Draft

HYDROS, PENALTIES, PRODUCTION = files.HYDROS, files.PENALTIES, files.PRODUCTION
ENTITY_LISTS = {
    files.BUSES: "buses",
    files.LINES: "lines",
    files.THERMALS: "thermals",
    files.HYDROS: "hydros",
    files.SOURCES: "non_controllable_sources",
    files.CONTRACTS: "contracts",
    files.PUMPING: "pumping_stations",
}
_LIMITS = ("min_turbined_m3s", "max_turbined_m3s", "min_generation_mw", "max_generation_mw")


def migrate_plants(draft: Draft) -> None:
    """Change the entities of *draft*, their production models and penalties."""
    start = min(EARLY, draft.first_day).isoformat()
    for file, name in ENTITY_LISTS.items():
        for entity in draft.items(file, name):
            if "operational_start_date" not in entity:
                entity["operational_start_date"] = start
                where = f"{name}[].operational_start_date"
                draft.note(file, where, f"is {start}: everything is there from the start, as before")
    for file in (files.CONTRACTS, files.PUMPING):
        if draft.items(file, ENTITY_LISTS[file]):
            draft.note(file, None, "0.5.1 read this file without effect; it has one now")
    for plant in draft.items(files.THERMALS, "thermals"):
        if plant.pop("gnl_config", None) is not None:
            draft.note(
                files.THERMALS,
                "thermals[].gnl_config",
                "left out: 0.5.1 read it without effect; what is decided ahead is anticipated_config since"
                f" 0.18, with past_anticipated_commitments in {files.INITIAL}",
            )
    _production(draft)
    _unit_groups(draft)
    _turbined_cost(draft)
    if draft.section(files.CORRELATION).get("method") == "cholesky":
        draft.documents[files.CORRELATION]["method"] = "spectral"
        draft.note(
            files.CORRELATION, "method", 'is "spectral": another root of the same matrix, so other draws'
        )


def _production(draft: Draft) -> None:
    base: dict[int, float | None] = {}
    for hydro in draft.hydros:
        value = (hydro.get("generation") or {}).pop("productivity_mw_per_m3s", None)
        base[hydro["id"]] = value
        if value is not None:
            draft.note(HYDROS, "hydros[].generation.productivity_mw_per_m3s", f"moved to {PRODUCTION}")
    if not draft.hydros:
        return
    content = draft.documents.setdefault(PRODUCTION, {"production_models": []})
    models = {model.get("hydro_id"): model for model in draft.items(PRODUCTION, "production_models")}
    for model in models.values():
        _productivities(draft, model, base.get(model.get("hydro_id", -1)))
    for hydro in draft.hydros:
        if hydro["id"] in models:
            continue
        choice: dict[str, Any] = {
            "start_stage_id": draft.stages[0]["id"],
            "end_stage_id": None,
            "model": hydro["generation"]["model"],
        }
        if choice["model"] == "fpha":
            choice["fpha_config"] = {"source": "precomputed"}
        else:
            choice["productivity_mw_per_m3s"] = base[hydro["id"]]
        content["production_models"].append(
            {"hydro_id": hydro["id"], "selection_mode": "stage_ranges", "stage_ranges": [choice]}
        )
        draft.note(
            PRODUCTION, "production_models", f"every plant has its model here: {HYDROS} gave it before"
        )


def _productivities(draft: Draft, model: dict[str, Any], base: float | None) -> None:
    """Put the productivity into each choice, where 0.5.1 looked it up in the plant."""
    if model.get("selection_mode") == "seasonal" and model.get("default_model") != "fpha":
        defined = draft.section(files.STAGES, "season_definitions").get("seasons") or []
        listed = {choice.get("season_id") for choice in model.get("seasons") or []}
        for season in defined:
            if season.get("id") not in listed:
                model.setdefault("seasons", []).append(
                    {"season_id": season.get("id"), "model": model.get("default_model")}
                )
                draft.note(
                    PRODUCTION,
                    "production_models[].seasons",
                    "seasons of the default model are listed too, with the plant's productivity",
                )
    for choice in draft.choices(model):
        own = choice.pop("productivity_override", None)
        if own is not None:
            draft.note(PRODUCTION, "production_models[].productivity_mw_per_m3s", "was productivity_override")
        value = base if own is None else own
        if choice.get("model") != "fpha" and value is not None:
            choice.setdefault("productivity_mw_per_m3s", value)


def _unit_groups(draft: Draft) -> None:
    for hydro in draft.hydros:
        filling = hydro.get("filling") or {}
        if "filling_inflow_m3s" in filling:
            filling["filling_min_rate_m3s"] = filling.pop("filling_inflow_m3s")
            draft.note(HYDROS, "hydros[].filling.filling_min_rate_m3s", "was filling_inflow_m3s")
        if "bus_id" not in hydro or "unit_groups" in hydro:
            continue
        limits = {name: hydro["generation"][name] for name in _LIMITS if name in hydro["generation"]}
        hydro["unit_groups"] = [{"id": 0, "name": "G0", "bus_id": hydro.pop("bus_id"), **limits}]
        draft.note(HYDROS, "hydros[].bus_id", "moved to unit_groups: one group with the plant's own limits")


def fpha_ids(draft: Draft) -> set[int]:
    """Plants that have production planes in some stage."""
    found = {hydro["id"] for hydro in draft.hydros if hydro["generation"].get("model") == "fpha"}
    for model in draft.items(PRODUCTION, "production_models"):
        names = {choice.get("model") for choice in draft.choices(model)} | {model.get("default_model")}
        if "fpha" in names:
            found.add(model["hydro_id"])
    return found


def _turbined_cost(draft: Draft) -> None:
    """Keep the price of turbined flow to the plants that had it.

    ``fpha_turbined_cost`` was for plants with planes alone; ``turbined_cost`` is for every plant. A mere new
    name would price the water of all the others too, and change the optimum.
    """
    hydro = draft.section(PENALTIES, "hydro")
    general = hydro.pop("fpha_turbined_cost", None)
    with_planes = fpha_ids(draft)
    if general is not None:
        hydro["turbined_cost"] = 0.0
        draft.note(
            PENALTIES,
            "hydro.turbined_cost",
            f"is 0, was fpha_turbined_cost {general:g}: it holds for every plant since 0.18, so the old"
            " price is in the penalties of the plants with planes"
            + ("" if with_planes else ", of which there are none"),
        )
    for plant in draft.hydros:
        own = plant.get("penalties") or {}
        price = own.pop("fpha_turbined_cost", None)
        if plant["id"] in with_planes and (price is not None or general is not None):
            plant["penalties"] = {**own, "turbined_cost": general if price is None else price}
            draft.note(
                HYDROS,
                "hydros[].penalties.turbined_cost",
                "has the price of turbined flow of plants with planes",
            )
        elif price is not None:
            draft.note(
                HYDROS,
                "hydros[].penalties.fpha_turbined_cost",
                "left out where a plant has no planes: it had no effect",
            )
