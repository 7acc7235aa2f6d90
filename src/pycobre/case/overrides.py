"""Settings given on top of ``config.json``, and of every stage, by dotted key."""

from __future__ import annotations

import json
from collections.abc import Mapping

from pycobre.case import files
from pycobre.case.findings import Findings

EVERY_STAGE = "stages."
"""What a key begins with that names a field of every stage, such as ``stages.risk_measure``."""

SHORT_KEYS = ("training.iterations", "training.forward_passes", "simulation.num_scenarios")


def apply_overrides(
    file: str, content: object, overrides: Mapping[str, object], findings: Findings
) -> tuple[object, frozenset[str]]:
    """Copy of a file's content with the *overrides* meant for it, and the full keys they came to.

    Keys are paths through objects and lists of the configuration (``training.stopping_rules.0.limit``), one
    of :data:`SHORT_KEYS`, or a field of every stage after ``stages.``. Whether such a setting exists is found
    when the file is checked.
    """
    chosen = {key: value for key, value in overrides.items() if _file_of(str(key)) == file}
    if not chosen or not isinstance(content, dict):
        return content, frozenset()
    copy: dict[str, object] = json.loads(json.dumps(content))
    written: set[str] = set()
    for key, value in chosen.items():
        try:
            plain = json.loads(json.dumps(value))
        except (TypeError, ValueError):
            _note(findings, file, key, f"{type(value).__name__} is nothing that JSON can hold")
            continue
        for full, item in _expand(copy, str(key), plain):
            if _write(copy, file, full, item, findings):
                written.add(full)
    return copy, frozenset(written)


def _file_of(key: str) -> str:
    return files.STAGES if key.startswith(EVERY_STAGE) else files.CONFIG


def _expand(content: dict[str, object], key: str, value: object) -> list[tuple[str, object]]:
    if key.startswith(EVERY_STAGE):
        stages, field = content.get("stages"), key.removeprefix(EVERY_STAGE)
        return [(f"stages.{t}.{field}", value) for t in range(len(stages) if isinstance(stages, list) else 0)]
    if key == "training.forward_passes":
        return [("training.selection", {"method": "sampled", "forward_passes": value})]
    if key == "simulation.num_scenarios":
        return [("simulation.selection", {"method": "sampled", "num_scenarios": value})]
    if key == "training.iterations":
        training = content.get("training")
        rules = training.get("stopping_rules") if isinstance(training, dict) else None
        if not isinstance(rules, list):
            return [("training.stopping_rules", [{"type": "iteration_limit", "limit": value}])]
        places = [
            position
            for position, rule in enumerate(rules)
            if isinstance(rule, dict) and rule.get("type") == "iteration_limit"
        ]
        if not places:
            rules.append({"type": "iteration_limit"})
            places = [len(rules) - 1]
        return [(f"training.stopping_rules.{position}.limit", value) for position in places]
    return [(key, value)]


def _write(content: dict[str, object], file: str, key: str, value: object, findings: Findings) -> bool:
    steps = key.split(".")
    if not all(steps):
        _note(findings, file, key, "is no dotted key", hint="such as training.selection.forward_passes")
        return False
    place: object = content
    for position, step in enumerate(steps):
        last = position == len(steps) - 1
        if isinstance(place, list):
            if not step.isdigit() or int(step) >= len(place):
                where = ".".join(steps[:position])
                _note(findings, file, key, f"{where} has no item {step}: it has {len(place)}, counted from 0")
                return False
            if last:
                place[int(step)] = value
            place = place[int(step)]
        elif isinstance(place, dict):
            if last:
                place[step] = value
            elif place.get(step) is None:
                place[step] = {}
            place = place[step]
        else:
            where = ".".join(steps[:position])
            _note(findings, file, key, f"{where} is {json.dumps(place)}, which has nothing below it")
            return False
    return True


def _note(findings: Findings, file: str, key: object, message: str, hint: str | None = None) -> None:
    findings.add("schema", file, message, entity="override", field=str(key), hint=hint)
