"""The version of the case format, and where files say it.

The format has no field for its version, and its reader refuses unknown fields. What it leaves free is
``$schema``, which is for editors: what we write names the version there, in the path of the schema.
"""

from __future__ import annotations

import re
from pathlib import PurePosixPath

FORMAT_VERSION = "0.18"
SCHEMA_FOLDER = f"schemas/cobre-{FORMAT_VERSION}"
"""Where a case that we write keeps its JSON Schemas."""
_VERSION = re.compile(r"(?:^|/)cobre-(\d+(?:\.\d+)+)/[^/]*$")


def schema_name(file: str) -> str:
    """Name of the JSON Schema of a case file, the one that Cobre gives it."""
    stem = PurePosixPath(file).stem.removeprefix("hydro_")  # hydro_production_models has a shorter one
    return f"{stem}.schema.json"


def schema_reference(file: str) -> str:
    """What ``$schema`` of a case file is set to: the schema's path from there, which holds the version."""
    up = "../" * (len(PurePosixPath(file).parts) - 1) or "./"
    return f"{up}{SCHEMA_FOLDER}/{schema_name(file)}"


def version_of(uri: str | None) -> str | None:
    """Version of the format that a ``$schema`` names, or ``None`` if it names none."""
    found = _VERSION.search(uri or "")
    return found[1] if found else None
