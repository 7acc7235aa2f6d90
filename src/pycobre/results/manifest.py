"""The manifest: what a results directory holds and how the run ended. Where it is, everything is."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

from pycobre import __version__
from pycobre.results.durable import sha256_of, write_text
from pycobre.results.schema import FORMAT_VERSION

MANIFEST = "manifest.json"
FORMAT = "pycobre-results"
STATUSES = ("complete", "interrupted", "failed")


def manifest_of(directory: Path) -> dict[str, object] | None:
    """Manifest of a results directory of ours; ``None`` for anything else."""
    try:
        manifest: object = json.loads((directory / MANIFEST).read_text(encoding="utf-8"))
    except (OSError, ValueError):
        return None
    return manifest if isinstance(manifest, dict) and manifest.get("format") == FORMAT else None


def write_manifest(
    directory: Path,
    *,
    status: str,
    reason: str | None,
    tables: Mapping[str, object],
    lost: Mapping[str, str],
    policy: Mapping[str, object] | None,
    run: Mapping[str, object],
) -> None:
    """Write the manifest of *directory* with size and SHA-256 of every file below it.

    Parameters
    ----------
    status, reason
        One of :data:`STATUSES`, and why.
    tables
        Name to file and number of rows.
    lost
        Name to reason, of tables that could not be written to their end.
    policy
        Its summary; ``None`` without one.
    run
        What the caller has to say: settings, ranks, times.
    """
    files = {
        path.relative_to(directory).as_posix(): {"bytes": path.stat().st_size, "sha256": sha256_of(path)}
        for path in sorted(directory.rglob("*"))
        if path.is_file()
    }
    manifest = {
        "format": FORMAT,
        "format_version": FORMAT_VERSION,
        "pycobre_version": __version__,
        "status": status,
        "reason": reason,
        "tables": tables,
        "policy": policy,
        "lost": lost,
        "run": run,
        "files": files,
    }
    write_text(directory / MANIFEST, as_json(manifest))


def as_json(document: Mapping[str, object]) -> str:
    """Text that people can read; paths, NumPy numbers and such as plainly as JSON allows."""
    return json.dumps(document, indent=2, ensure_ascii=False, default=_plain) + "\n"


def _plain(value: object) -> object:
    for method in ("item", "isoformat"):  # a NumPy number, a date
        convert = getattr(value, method, None)
        if callable(convert):
            return convert()
    return str(value)
