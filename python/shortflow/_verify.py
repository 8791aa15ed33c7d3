"""Runs of a sweep again, compared bit by bit with what its folder has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

import pyarrow as pa
import pyarrow.parquet as pq

from ._chunk import ROW, Chunk, Row, from_parquet, run_tasks, to_parquet
from ._store import Store

Run = tuple[Chunk, Row, int]


@dataclass
class Verified:
    """What became of runs that ran again.

    Attributes
    ----------
    runs
        How many ran again.
    different
        Those with other bits: the table, the row of the design, the replica.
    damaged
        Why chunks do not count: a file that is missing, or is not the one that was written. Their runs do not run again.
    """

    runs: int
    different: list[tuple[str, int, int]] = field(default_factory=list)
    damaged: list[str] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether all bits are the same, and no chunk is damaged."""
        return not self.different and not self.damaged

    def __bool__(self) -> bool:
        return self.is_same

    @classmethod
    def compare(cls, store: Store, runs: list[Run], jobs: int | None, damaged: list[str]) -> Verified:
        """Run these again, and compare them."""
        with ThreadPoolExecutor(jobs) as pool:
            found = list(pool.map(lambda run: _different(store, run), runs))
        return cls(len(runs), [one for each in found for one in each], damaged)

    def __repr__(self) -> str:
        if self.is_same:
            return f"<Verified: {self.runs} runs have the same bits>"
        if self.damaged:
            return f"<Verified: {len(self.damaged)} chunks are damaged, first: {self.damaged[0]}>"
        table, row, replica = self.different[0]
        return f"<Verified: {len(self.different)} tables differ, first {table} of row {row}, replica {replica}>"


def _different(store: Store, run: Run) -> list[tuple[str, int, int]]:
    """The tables of a run that differ."""
    import pyarrow.compute as pc

    chunk, row, replica = run
    tables, failures = run_tasks(chunk.base, ((row, range(replica, replica + 1)),), None)
    different = []
    for name in chunk.base.collect:
        kept = _kept(store, name, chunk, pc.field(ROW) == row.number, replica)
        again = from_parquet(to_parquet(tables[name])) if name in tables else pa.table({})
        # A run without rows has no types either.
        if (kept.num_rows or again.num_rows) and not kept.combine_chunks().equals(again.combine_chunks()):
            different.append((name, row.number, replica))
    recorded = _kept(store, "failures", chunk, pc.field(ROW) == row.number, None)
    if {one["reason"] for one in recorded.to_pylist()} != {one["reason"] for one in failures}:
        different.append(("failures", row.number, replica))
    return different


def _kept(store: Store, name: str, chunk: Chunk, condition: Any, replica: int | None) -> pa.Table:
    """The rows of a run in a table of a chunk; empty if the chunk has no such table."""
    import pyarrow.compute as pc

    path = store.folder / f"{name}-{chunk.number:05}.parquet"
    if not path.exists():
        return pa.table({})
    table = pq.read_table(path)
    if replica is not None and "replica" in table.column_names:
        condition &= pc.field("replica") == replica
    return table.filter(condition)
