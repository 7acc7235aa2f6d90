"""Bundled cases that ``pycobre init`` writes."""

from __future__ import annotations

import shutil
from importlib.resources import as_file, files
from pathlib import Path

TEMPLATES = ("toy", "brazil-4")


def copy_template(name: str, directory: Path) -> None:
    """Copy the bundled case *name* to *directory*.

    Raises
    ------
    ValueError
        No template has that name.
    FileExistsError
        The directory exists and is not empty.
    """
    if name not in TEMPLATES:
        raise ValueError(f"there is no template '{name}'; choose one of {', '.join(TEMPLATES)}")
    if directory.exists() and (not directory.is_dir() or any(directory.iterdir())):
        raise FileExistsError(f"{directory} exists and is not empty")
    with as_file(files("pycobre.app") / "examples" / name) as source:
        shutil.copytree(
            source, directory, dirs_exist_ok=True, ignore=shutil.ignore_patterns("output", "__pycache__")
        )
