"""Results of runs."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from . import _core
from ._chunk import to_table
from ._table import Table

# The tables of results.
TABLES = ("transfers", "bulk", "datagrams", "series", "summary", "replicas", "failures")
# The width of text.
COLUMNS = 100


class Results:
    """The results of one or several runs.

    Attributes
    ----------
    transfers, bulk, datagrams, series, summary, replicas, failures : Table
        Tidy long tables: single transfers, long flows, datagrams, series of ports and flows, measures over all replicas
        with their intervals, measures of each replica, and what failed.
    """

    def __init__(self, runs: _core.Runs) -> None:
        self._runs = runs
        self._tables: dict[str, Table] = {}

    def table(self, name: str) -> Table:
        """The table of this name."""
        if name not in self._tables:
            self._tables[name] = Table(name, lambda: to_table(self._runs.table(name)))
        return self._tables[name]

    @property
    def transfers(self) -> Table:
        """Single transfers; empty if they were not kept."""
        return self.table("transfers")

    @property
    def bulk(self) -> Table:
        """Long flows."""
        return self.table("bulk")

    @property
    def datagrams(self) -> Table:
        """Datagrams of each workload or stream."""
        return self.table("datagrams")

    @property
    def series(self) -> Table:
        """Series of ports and flows over time."""
        return self.table("series")

    @property
    def summary(self) -> Table:
        """Measures over all replicas, with their intervals."""
        return self.table("summary")

    @property
    def replicas(self) -> Table:
        """Measures of each replica."""
        return self.table("replicas")

    @property
    def failures(self) -> Table:
        """Points and replicas that failed, with the reason."""
        return self.table("failures")

    @property
    def labels(self) -> list[str]:
        """What the runs are called."""
        return self._runs.labels

    def to_dict(self) -> dict[str, Any]:
        """Everything, as ``--json`` prints it."""
        found: dict[str, Any] = json.loads(self._runs.json())
        return found

    @property
    def text(self) -> str:
        """All tables as text."""
        return self._runs.text(COLUMNS, False)

    def __repr__(self) -> str:
        return self._runs.text(COLUMNS, True)

    def _repr_html_(self) -> str:
        return "<pre>" + repr(self).replace("&", "&amp;").replace("<", "&lt;") + "</pre>"
