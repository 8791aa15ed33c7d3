"""The work of one chunk of a sweep. It needs nothing but its arguments, so it runs in any process of any machine."""

from __future__ import annotations

import io
import threading
import time
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field
from typing import Any, Protocol

import pyarrow as pa
import pyarrow.parquet as pq

from . import _core
from ._errors import InputError

ROW = "row"


@dataclass(frozen=True)
class Row:
    """A row of a design, as it runs.

    Attributes
    ----------
    number
        Its number in the design.
    policy
        The policy by its name in results; ``None`` for that of the scenario.
    seed
        Its seed.
    set
        Its settings, as text.
    """

    number: int
    policy: str | None
    seed: int
    set: list[tuple[str, str]]


@dataclass(frozen=True)
class Base:
    """What all rows have in common.

    Attributes
    ----------
    scenario
        Its name and text.
    policies
        Names and texts of policies, by their name in results.
    set, bind
        Further settings and bindings.
    engine
        ``simulate`` or ``predict``.
    collect
        The tables that are kept.
    records_errors
        Whether a row that fails becomes a row of ``failures``.
    """

    scenario: tuple[str, str]
    policies: dict[str, tuple[str, str]]
    set: list[tuple[str, str]]
    bind: list[str]
    engine: str
    collect: tuple[str, ...]
    records_errors: bool


# A row, and the numbers of its replicas.
Task = tuple[Row, range]


@dataclass(frozen=True)
class Chunk:
    """Some replicas of some rows; its number is that of its first run."""

    number: int
    base: Base
    tasks: tuple[Task, ...]

    @property
    def runs(self) -> int:
        """How many runs it has."""
        return sum(len(replicas) for _, replicas in self.tasks)


@dataclass
class Done:
    """A finished chunk: its tables as Parquet, and how much CPU time and time it took."""

    number: int
    runs: int
    tables: dict[str, bytes]
    cpu_seconds: float
    seconds: float
    failed: int = field(default=0)


class Engine(Protocol):
    """Runs chunks, and says which are done."""

    def workers(self) -> int:
        """How many chunks run at the same time."""
        ...

    def run(self, chunks: Iterable[Chunk]) -> Iterator[Done]:
        """Run all chunks; each once it is done."""
        ...


def work(chunk: Chunk, stop: _core.Stop | None = None) -> Done:
    """Run a chunk."""
    begun = time.monotonic()
    _CPU.begin()
    try:
        tables, failures = run_tasks(chunk.base, chunk.tasks, stop)
        packed = {name: to_parquet(table) for name, table in tables.items()}
        if failures:
            packed["failures"] = to_parquet(pa.Table.from_pylist(failures, FAILURES))
    finally:
        seconds = _CPU.end()
    return Done(chunk.number, chunk.runs, packed, seconds, time.monotonic() - begun, len(failures))


class _CpuMeter:
    """CPU time of all threads of this process while chunks run: the engine computes in threads of its own.

    A chunk counts what the process has used since another one ended, so the sum over chunks is right also when chunks overlap.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._running = 0
        self._counted = 0.0

    def begin(self) -> None:
        with self._lock:
            if self._running == 0:
                self._counted = time.process_time()
            self._running += 1

    def end(self) -> float:
        with self._lock:
            now = time.process_time()
            used, self._counted = now - self._counted, now
            self._running -= 1
            return used


_CPU = _CpuMeter()


# Columns of rows that failed.
FAILURES = pa.schema([("row", pa.int64()), ("policy", pa.string()), ("replicas", pa.int64()), ("reason", pa.string())])


def run_tasks(
    base: Base, tasks: tuple[Task, ...], stop: _core.Stop | None
) -> tuple[dict[str, pa.Table], list[dict[str, Any]]]:
    """Run tasks one after the other: the tables, and the rows that failed."""
    parts: dict[str, list[pa.Table]] = {name: [] for name in base.collect}
    failures: list[dict[str, Any]] = []
    for row, replicas in tasks:
        try:
            runs = run_row(base, row, replicas, stop or _core.Stop())
        except InputError as error:
            if not base.records_errors:
                raise type(error)(f"row {row.number} of the design: {error}", error.findings) from None
            failures.append({"row": row.number, "policy": row.policy, "replicas": len(replicas), "reason": str(error)})
            continue
        for name in base.collect:
            parts[name].append(to_table(runs.row_table(name, row.number, row.policy)))
    return {name: pa.concat_tables(found) for name, found in parts.items() if found}, failures


def run_row(base: Base, row: Row, replicas: range, stop: _core.Stop) -> _core.Runs:
    """Run replicas of a row."""
    policy = base.policies[row.policy] if row.policy is not None else None
    given = [*base.set, *row.set, ("seed", str(row.seed))]
    case = _core.Case(base.scenario, policy, given, base.bind)
    how = {
        "engines": [base.engine],
        "places": [""],
        "replicas": list(replicas),
        "jobs": 1,
        "transfers": "transfers" in base.collect,
        "out": None,
        "force": False,
        "command": "shortflow.Sweep",
    }
    return _core.run([case], how, stop)


class Stream:
    """A stream of the Arrow C interface."""

    def __init__(self, capsule: object) -> None:
        self._capsule = capsule

    def __arrow_c_stream__(self, requested_schema: object = None) -> object:
        return self._capsule


def to_table(capsule: object) -> pa.Table:
    """The table of a stream. `pa.table` would import pandas, which takes as long as 300 short runs."""
    return pa.RecordBatchReader.from_stream(Stream(capsule)).read_all()


def to_parquet(table: pa.Table) -> bytes:
    """A table as a file of Parquet."""
    file = io.BytesIO()
    pq.write_table(table, file, compression="zstd")
    return file.getvalue()


def from_parquet(content: bytes) -> pa.Table:
    """The table in a file of Parquet."""
    return pq.read_table(io.BytesIO(content))
