"""Processes of this machine, each with a pipe of its own.

The pool of the standard library shares one pipe for results: a worker that is killed while it writes there stops all others.
"""

from __future__ import annotations

import multiprocessing
import os
import threading
from collections.abc import Iterable, Iterator
from contextlib import suppress
from multiprocessing.connection import Connection, wait
from typing import Any

from ._chunk import Chunk, Done, work
from ._dask import MAX_ATTEMPTS, POLL_INTERVAL
from ._errors import MachineError

Work = tuple[Chunk, int]


def serve(pipe: Connection) -> None:
    """Run chunks until the other end is closed."""
    threading.Thread(target=_end_with_parent, daemon=True).start()
    while True:
        try:
            chunk = pipe.recv()
        except EOFError:
            return
        try:
            found: Any = work(chunk)
        except Exception as error:
            found = error
        pipe.send(found)


def _end_with_parent() -> None:
    """End this process in the middle of a chunk once the process that made it has ended, however it ended."""
    parent = multiprocessing.parent_process()
    if parent is not None:
        parent.join()
        os._exit(1)


class Processes:
    """Processes that run chunks. A process that dies is replaced, and its chunk runs again."""

    def __init__(self, workers: int) -> None:
        self._workers = workers
        # A server that forks has none of this process's threads, and imports the package once.
        self._context = multiprocessing.get_context("forkserver")
        self._context.set_forkserver_preload(["shortflow._processes"])
        self._busy: dict[Connection, tuple[Any, Work]] = {}
        self._idle: list[tuple[Connection, Any]] = []

    def workers(self) -> int:
        """How many processes there are."""
        return self._workers

    def run(self, chunks: Iterable[Chunk]) -> Iterator[Done]:
        """Run all chunks; each once it is done."""
        waiting = iter(chunks)
        again: list[Work] = []
        try:
            while True:
                while len(self._busy) < self._workers:
                    chunk, attempt = again.pop() if again else (next(waiting, None), 1)
                    if chunk is None:
                        break
                    self._start((chunk, attempt), again)
                if not self._busy and not again:
                    return
                for pipe in wait(list(self._busy), timeout=POLL_INTERVAL):
                    done = self._ended(pipe, again)
                    if done is not None:
                        yield done
        finally:
            self._stop()

    def _start(self, given: Work, again: list[Work]) -> None:
        """Give a chunk to a process."""
        if self._idle:
            pipe, process = self._idle.pop()
        else:
            pipe, other = self._context.Pipe()
            process = self._context.Process(target=serve, args=(other,), daemon=True)
            process.start()
            other.close()
        try:
            pipe.send(given[0])
        except OSError:
            self._died(pipe, process, given, again)
            return
        self._busy[pipe] = (process, given)

    def _ended(self, pipe: Any, again: list[Work]) -> Done | None:
        """The result of a chunk; nothing if its process has died."""
        process, given = self._busy.pop(pipe)
        try:
            found: Done | Exception = pipe.recv()
        except (EOFError, OSError):
            self._died(pipe, process, given, again)
            return None
        if isinstance(found, Exception):
            raise found
        self._idle.append((pipe, process))
        return found

    def _died(self, pipe: Connection, process: Any, given: Work, again: list[Work]) -> None:
        pipe.close()
        process.join()
        chunk, attempt = given
        if attempt >= MAX_ATTEMPTS:
            raise MachineError(f"the processes that ran chunk {chunk.number} have died {attempt} times, last with {process.exitcode}")
        again.append((chunk, attempt + 1))

    def _stop(self) -> None:
        for pipe, process in [*self._idle, *((pipe, process) for pipe, (process, _) in self._busy.items())]:
            with suppress(OSError):
                pipe.close()
            process.kill()
            process.join()
