"""How a sweep is divided into chunks: their size follows the measured time of a run."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator

from ._chunk import Done

# How long a chunk takes: long compared with the cost of its files, short compared with what a killed worker loses. In seconds.
CHUNK_TIME = 2.0
# The same for each worker, where there are many: the process that writes all chunks has a fraction of this time for each.
CHUNK_TIME_PER_WORKER = 0.02
# A chunk at the end of a sweep is shorter, so that workers end together, but not shorter than this.
MIN_CHUNK_TIME = 0.1
MIN_CHUNK_TIME_PER_WORKER = 0.005
# Chunks that are left for each worker at the end.
CHUNKS_PER_WORKER = 4
# Results of a chunk, which its worker and this process hold, in bytes.
MAX_CHUNK_BYTES = 16 << 20
# Files of a folder, whatever a run takes.
MAX_CHUNKS = 1 << 16
# How much older chunks count for the time of a run.
DECAY = 0.5
# How much larger a chunk is than the largest one before.
GROWTH = 8


class Plan:
    """Ranges of runs that are missing, given out as chunks.

    Parameters
    ----------
    runs
        The number of runs of the sweep.
    complete
        Ranges that are there already.
    size
        Runs in each chunk; without, it follows the time of a run.
    workers
        How many workers there are.
    """

    def __init__(self, runs: int, complete: Iterable[range], size: int | None, workers: Callable[[], int]) -> None:
        self._gaps = gaps(runs, complete)
        self.missing = self._left = sum(len(gap) for gap in self._gaps)
        self._fixed, self._workers = size, workers
        self._min = max(runs // MAX_CHUNKS, 1)
        self._largest = 1
        # Runs of finished chunks, their seconds and bytes, the last ones first.
        self._runs = self._seconds = self._bytes = 0.0

    def chunks(self) -> Iterator[range]:
        """The chunks, each when it is asked for."""
        for gap in self._gaps:
            first = gap.start
            while first < gap.stop:
                size = min(self._size(), gap.stop - first)
                self._left -= size
                yield range(first, first + size)
                first += size

    def learn(self, done: Done) -> None:
        """Take the time and size of a finished chunk into account."""
        size = sum(len(table) for table in done.tables.values())
        self._runs = DECAY * self._runs + done.runs
        self._seconds = DECAY * self._seconds + done.seconds
        self._bytes = DECAY * self._bytes + size

    def _size(self) -> int:
        if self._fixed is not None:
            return self._fixed
        size = self._min
        if self._runs > 0:
            run = max(self._seconds / self._runs, 1e-9)
            workers = max(self._workers(), 1)
            share = self._left / (CHUNKS_PER_WORKER * workers)
            time = max(CHUNK_TIME, CHUNK_TIME_PER_WORKER * workers)
            least = max(MIN_CHUNK_TIME, MIN_CHUNK_TIME_PER_WORKER * workers)
            largest = min(time / run, MAX_CHUNK_BYTES * self._runs / max(self._bytes, 1.0), GROWTH * self._largest)
            size = max(int(min(largest, max(share, least / run))), self._min)
        self._largest = max(size, self._largest)
        return size


def gaps(runs: int, complete: Iterable[range]) -> list[range]:
    """The ranges of runs that are not complete."""
    found, first = [], 0
    for one in sorted(complete, key=lambda one: one.start):
        if first < one.start:
            found.append(range(first, one.start))
        first = max(first, one.stop)
    if first < runs:
        found.append(range(first, runs))
    return found
