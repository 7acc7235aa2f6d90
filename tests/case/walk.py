"""The leaf fields of a JSON Schema."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any


def leaves(schema: dict[str, Any]) -> set[str]:
    """Dotted paths of all fields that hold a value, lists as ``[]`` and names that are free as ``*``.

    A field of an arm of a union counts like any other; ``$schema`` is for editors.
    """
    return set(_walk(schema, schema, ())) - {"$schema"}


def _walk(node: Any, root: dict[str, Any], path: tuple[str, ...]) -> Iterator[str]:
    node = _resolved(node, root)
    arms = [arm for name in ("anyOf", "oneOf", "allOf") for arm in node.get(name, [])]
    below = [_walk(arm, root, path) for arm in arms if _resolved(arm, root).get("type") != "null"]
    for name, inner in node.get("properties", {}).items():
        below.append(_walk(inner, root, (*path, name)))
    if isinstance(node.get("items"), dict) and _holds_objects(node["items"], root):
        below.append(_walk(node["items"], root, (*path[:-1], f"{path[-1]}[]")))
    if isinstance(node.get("additionalProperties"), dict):
        below.append(_walk(node["additionalProperties"], root, (*path, "*")))
    for inner in below:
        yield from inner
    if not below and path:
        yield ".".join(path)


def _resolved(node: Any, root: dict[str, Any]) -> dict[str, Any]:
    while isinstance(node, dict) and "$ref" in node:
        node = root["$defs"][node["$ref"].rpartition("/")[2]]
    return node if isinstance(node, dict) else {}


def _holds_objects(node: Any, root: dict[str, Any]) -> bool:
    node = _resolved(node, root)
    arms = [arm for name in ("anyOf", "oneOf") for arm in node.get(name, [])]
    return "properties" in node or any(_holds_objects(arm, root) for arm in arms)
