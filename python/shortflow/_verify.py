"""Runs of a sweep again, compared bit by bit with what its folder has."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field

import pyarrow.compute as pc
import pyarrow.parquet as pq

from ._chunk import Chunk, Row, from_parquet, run_tasks, to_parquet
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
    """

    runs: int
    different: list[tuple[str, int, int]] = field(default_factory=list)

    @property
    def is_same(self) -> bool:
        """Whether all bits are the same."""
        return not self.different

    def __bool__(self) -> bool:
        return self.is_same

    @classmethod
    def compare(cls, store: Store, runs: list[Run], jobs: int | None) -> Verified:
        """Run these again, and compare them."""
        with ThreadPoolExecutor(jobs) as pool:
            found = list(pool.map(lambda run: _different(store, run), runs))
        return cls(len(runs), [one for each in found for one in each])

    def __repr__(self) -> str:
        if self.is_same:
            return f"<Verified: {self.runs} runs have the same bits>"
        table, row, replica = self.different[0]
        return f"<Verified: {len(self.different)} tables differ, first {table} of row {row}, replica {replica}>"


def _different(store: Store, run: Run) -> list[tuple[str, int, int]]:
    """The tables of a run that differ."""
    chunk, row, replica = run
    tables, _ = run_tasks(chunk.base, ((row, (replica,)),), None)
    different = []
    for name in chunk.base.collect:
        path = store.folder / f"{name}-{chunk.number:05}.parquet"
        if not path.exists():
            # All rows of the chunk failed.
            if name in tables:
                different.append((name, row.number, replica))
            continue
        kept = pq.read_table(path)
        kept = kept.filter((pc.field("row") == row.number) & (pc.field("replica") == replica))
        again = from_parquet(to_parquet(tables[name])) if name in tables else kept.schema.empty_table()
        if not kept.combine_chunks().equals(again.combine_chunks()):
            different.append((name, row.number, replica))
    return different
