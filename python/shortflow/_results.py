"""Results of runs."""

from __future__ import annotations

import json
from typing import Any

import pyarrow as pa

from . import _core
from ._chunk import to_table
from ._table import Table, Tables

# The tables of results.
TABLES = ("transfers", "bulk", "datagrams", "series", "summary", "replicas", "failures")
# The width of text.
COLUMNS = 100


class Results(Tables):
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
