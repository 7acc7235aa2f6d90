"""Results on disk, opened lazily: a table is read when it is asked for its rows."""

from __future__ import annotations

import os
from html import escape
from pathlib import Path
from typing import Any

from pycobre.errors import ResultsError
from pycobre.results.check import Balance, check_balances
from pycobre.results.durable import sha256_of
from pycobre.results.manifest import MANIFEST, manifest_of
from pycobre.results.schema import FORMAT_VERSION
from pycobre.results.stored_policy import StoredPolicy, read_policy
from pycobre.results.table import Table, count


class Results:
    """Results of a run; every table is an attribute: ``results.hydros.to_pandas()``.

    Attributes
    ----------
    path
        The results directory.
    manifest
        How the run ended and what it wrote.
    tables
        Names of the tables that there are.
    """

    def __init__(self, path: Path, manifest: dict[str, Any]) -> None:
        self.path, self.manifest = path, manifest
        self.tables: tuple[str, ...] = tuple(manifest["tables"])

    @classmethod
    def open(cls, path: str | os.PathLike[str]) -> Results:
        """Results in the directory *path*; only the manifest is read.

        Raises
        ------
        ResultsError
            There are none, or a later version of pycobre wrote them.
        """
        directory = Path(path)
        manifest: dict[str, Any] | None = manifest_of(directory)
        if manifest is None:
            raise ResultsError(f"there are no results in {directory}: no {MANIFEST} of pycobre")
        version = manifest.get("format_version")
        if version != FORMAT_VERSION:
            raise ResultsError(
                f"{directory} has results format {version}, written by pycobre"
                f" {manifest.get('pycobre_version')}; this version reads format {FORMAT_VERSION}"
            )
        return cls(directory, manifest)

    @property
    def status(self) -> str:
        """How the run ended: ``complete``, ``interrupted`` or ``failed``."""
        return str(self.manifest["status"])

    def table(self, name: str) -> Table:
        """Table *name*.

        Raises
        ------
        ResultsError
            These results have no such table.
        """
        entry = self.manifest["tables"].get(name)
        if entry is None:
            lost = self.manifest["lost"].get(name)
            why = f"could not be written: {lost}" if lost else f"is not in {self.path}"
            raise ResultsError(f"table {name} {why}; there are {', '.join(self.tables) or 'none'}")
        return Table(name, self.path / entry["file"], entry["rows"])

    def policy(self) -> StoredPolicy:
        """The policy, read and checked.

        Raises
        ------
        PolicyError
            There is none, or it is damaged.
        """
        return read_policy(self.path / "policy")

    def verify(self) -> None:
        """Check every file against its size and SHA-256 in the manifest.

        Raises
        ------
        ResultsError
            Files are missing or were changed; the message names all of them.
        """
        wrong = []
        for name, told in self.manifest["files"].items():
            path = self.path / name
            if not path.is_file():
                wrong.append(f"{name} is missing")
            elif path.stat().st_size != told["bytes"] or sha256_of(path) != told["sha256"]:
                wrong.append(f"{name} was changed")
        if wrong:
            raise ResultsError(f"{self.path} is not what was written: {'; '.join(wrong)}")

    def check(self) -> tuple[Balance, ...]:
        """Whether power, water, storage and costs of the simulation add up, from its tables alone.

        Raises
        ------
        ResultsError
            There is no simulation, or a table lacks rows.
        """
        return check_balances(self)

    def __getattr__(self, name: str) -> Table:
        if name.startswith("_") or name not in self.__dict__.get("tables", ()):
            raise AttributeError(f"these results have no table {name!r}")
        return self.table(name)

    def __dir__(self) -> list[str]:
        return [*super().__dir__(), *self.tables]

    def __repr__(self) -> str:
        return "\n".join([self._title(), *(f"  {name:<12}  {told}" for name, told in self._lines())])

    def _repr_html_(self) -> str:
        rows = "".join(
            f"<tr><td><code>{escape(name)}</code></td><td>{escape(told)}</td></tr>"
            for name, told in self._lines()
        )
        return f"<p><b>{escape(self._title())}</b></p><table>{rows}</table>"

    def _title(self) -> str:
        reason = self.manifest["reason"]
        return f"Results {self.path.name}: {self.status}" + (f" ({reason})" if reason else "")

    def _lines(self) -> list[tuple[str, str]]:
        policy, lines = self.manifest["policy"], []
        if policy is not None:
            bound = policy["lower_bound"]
            told = f"{count(policy['iterations'], 'iteration')}, {count(policy['cuts'], 'cut')}"
            lines.append(("policy", told + ("" if bound is None else f", lower bound {bound:,.2f}")))
        tables = self.manifest["tables"].items()
        lines += [(name, count(entry["rows"], "row")) for name, entry in tables]
        return lines + [(name, "lost") for name in self.manifest["lost"]]
