"""Dask: chunks as tasks of its scheduler, which gives the work of a dead worker to another one.

A worker puts its results into a queue at the scheduler. Results in the memory of a worker would be lost with it, and a client that
fetches them then may make workers of Dask fail.
"""

from __future__ import annotations

import time
import uuid
from collections.abc import Iterable, Iterator
from dataclasses import asdict
from typing import Any

from ._chunk import Chunk, Done, work
from ._errors import InputError, MachineError

# How often a chunk runs when the workers that run it die.
MAX_ATTEMPTS = 25
# Chunks under way for each worker: one that runs and one that waits.
CHUNKS_PER_WORKER = 2
# How often Ctrl-C and failures are looked for, in seconds.
POLL_INTERVAL = 0.1
# How often a cluster of this machine is asked for workers that it has abandoned, in seconds.
REVIVE_INTERVAL = 1.0


def at(address: str, workers: int) -> Dask:
    """The scheduler at an address; ``dask://local`` starts one with so many workers."""
    try:
        from distributed import Client, LocalCluster
    except ImportError:
        raise MachineError(f"{address} needs Dask: pip install 'shortflow[dask]'") from None
    if address == "dask://local":
        cluster = LocalCluster(n_workers=workers, threads_per_worker=1, dashboard_address=None)
        client = Client(cluster)
        return Dask(client, [client, cluster])
    try:
        client = Client(address.replace("dask://", "tcp://"), timeout="10s")
    except (OSError, ValueError) as error:
        raise InputError(f"no scheduler of Dask answers at {address}: {error}") from None
    return Dask(client, [client])


def of(found: Any) -> Dask:
    """A client, or the client of a cluster."""
    if callable(getattr(found, "get_executor", None)):
        return Dask(found, [])
    from distributed import Client

    client = Client(found)
    return Dask(client, [client])


def task(chunk: Chunk, queue: str) -> int:
    """Run a chunk on a worker, and put its results into a queue."""
    from distributed import Queue, get_client

    Queue(queue, client=get_client()).put(asdict(work(chunk)))
    return chunk.number


class Dask:
    """A client of Dask."""

    def __init__(self, client: Any, closes: list[Any]) -> None:
        self._client, self._closes = client, closes
        self._under_way: dict[int, tuple[Any, Chunk, int]] = {}
        self._name = f"shortflow-{uuid.uuid4()}"
        self._local = _LocalWorkers.of(client)

    def workers(self) -> int:
        """How many threads the workers have together."""
        return sum(self._client.nthreads().values())

    def run(self, chunks: Iterable[Chunk]) -> Iterator[Done]:
        """Run all chunks; each once it is done."""
        from distributed import Queue

        waiting = iter(chunks)
        queue = Queue(self._name, client=self._client)
        try:
            while True:
                room = CHUNKS_PER_WORKER * max(self.workers(), 1)
                while len(self._under_way) < room and (chunk := next(waiting, None)) is not None:
                    self._submit(chunk, 1)
                if not self._under_way:
                    return
                yield from self._ended(queue)
                self._retry()
                if self._local is not None:
                    self._local.revive()
        finally:
            for future, _, _ in self._under_way.values():
                future.cancel()
            queue.close()
            for one in self._closes:
                one.close()

    def _submit(self, chunk: Chunk, attempt: int) -> None:
        future = self._client.submit(task, chunk, self._name, pure=False)
        self._under_way[chunk.number] = (future, chunk, attempt)

    def _ended(self, queue: Any) -> Iterator[Done]:
        """Results that have come; a chunk whose worker died after it was done may come twice."""
        found = queue.get(batch=True)
        if not found:
            time.sleep(POLL_INTERVAL)
        for one in found:
            if self._under_way.pop(one["number"], None) is not None:
                yield Done(**one)

    def _retry(self) -> None:
        """Submit chunks again whose workers died more often than the scheduler tries; raise other errors."""
        from distributed import KilledWorker

        for future, chunk, attempt in list(self._under_way.values()):
            if future.status in ("cancelled", "lost"):
                self._submit(chunk, attempt + 1)
            elif future.status == "error":
                error = future.exception()
                if attempt >= MAX_ATTEMPTS or not isinstance(error, KilledWorker):
                    raise error
                self._submit(chunk, attempt + 1)


class _LocalWorkers:
    """The workers of a cluster of this machine.

    A nanny starts its worker again when that dies, but not when it dies before it has connected: then the nanny ends, and its cluster
    starts no other one. With all nannies the last worker would be gone, and a sweep would wait for ever.
    """

    def __init__(self, cluster: Any) -> None:
        self._cluster = cluster
        # Names that are being removed, and how many new workers follow.
        self._leaving: set[Any] = set()
        self._owed = 0
        self._next = 0.0

    @classmethod
    def of(cls, client: Any) -> _LocalWorkers | None:
        """Those of the cluster of a client; nothing if it is no cluster of this machine, which replaces its workers itself."""
        from distributed import LocalCluster

        cluster = getattr(client, "cluster", None)
        return cls(cluster) if isinstance(cluster, LocalCluster) else None

    def revive(self) -> None:
        """Remove nannies that have ended, and start as many new ones."""
        from distributed.core import Status

        if time.monotonic() < self._next:
            return
        self._next = time.monotonic() + REVIVE_INTERVAL
        cluster, workers = self._cluster, dict(self._cluster.workers)
        self._leaving &= set(workers)
        ended = {name for name, worker in workers.items() if worker.status in (Status.closed, Status.failed)} - self._leaving
        if ended:
            cluster.loop.add_callback(cluster.scale_down, list(ended))
            self._leaving |= ended
            self._owed += len(ended)
        elif self._leaving:
            return
        elif self._owed or set(cluster.worker_spec) - set(workers):
            cluster.scale(len(cluster.worker_spec) + self._owed)
            self._owed = 0
