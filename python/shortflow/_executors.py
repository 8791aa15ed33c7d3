"""Executors: threads, processes, Dask, and whatever has the interface of ``concurrent.futures``."""

from __future__ import annotations

import os
import pickle
import tempfile
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, ProcessPoolExecutor, ThreadPoolExecutor, wait
from typing import Any, cast

from . import _core, _dask
from ._chunk import Chunk, Done, Engine, work
from ._dask import CHUNKS_PER_WORKER, MAX_ATTEMPTS, POLL_INTERVAL
from ._errors import InputError, MachineError
from ._processes import Processes


def engine(executor: Any, jobs: int | None) -> Engine:
    """The engine for an executor as users give it.

    Raises
    ------
    InputError
        If it is none of those that there are.
    """
    refuse_unknown(executor)
    workers = jobs or len(os.sched_getaffinity(0))
    if executor is None or executor == "threads":
        return _Threads(workers)
    if executor == "processes":
        return Processes(workers)
    if executor == "joblib":
        return _Pool(lambda: _joblib(workers), workers, is_own=True)
    if isinstance(executor, str) and executor.startswith(("dask://", "tcp://", "tls://")):
        return _dask.at(executor, workers)
    if isinstance(executor, Executor):
        count = getattr(executor, "_max_workers", None) or workers
        return _Pool(lambda: executor, count, is_own=False)
    if callable(getattr(executor, "get_executor", None)) or hasattr(executor, "scheduler_address"):
        return _dask.of(executor)
    return _Pool(executor, workers, is_own=True)


def refuse_unknown(executor: Any) -> None:
    """Refuse what is no executor; nothing is started or connected."""
    if isinstance(executor, str):
        is_known = executor in ("threads", "processes", "joblib") or executor.startswith(("dask://", "tcp://", "tls://"))
    else:
        is_known = executor is None or isinstance(executor, Executor) or hasattr(executor, "scheduler_address") or callable(executor)
        is_known = is_known or callable(getattr(executor, "get_executor", None))
    if not is_known:
        raise InputError(
            f"executor = {executor!r}: give threads, processes, joblib, dask://HOST:PORT, a client or cluster of Dask, an executor of "
            "concurrent.futures, or a function that makes one"
        )


def _joblib(workers: int) -> Executor:
    try:
        from joblib.externals.loky import ProcessPoolExecutor as Loky
    except ImportError:
        raise MachineError("executor='joblib' needs joblib: pip install joblib") from None
    found: Executor = Loky(workers)
    return found


class _Threads:
    """Threads of this process. Runs release the lock of the interpreter."""

    def __init__(self, workers: int) -> None:
        self._workers = workers

    def workers(self) -> int:
        """How many threads there are."""
        return self._workers

    def run(self, chunks: Iterable[Chunk]) -> Iterator[Done]:
        stop = _core.Stop()
        pool = ThreadPoolExecutor(self._workers)
        try:
            yield from _stream(lambda chunk: pool.submit(work, chunk, stop), chunks, self._workers, _no_retry)
        finally:
            stop.set()
            pool.shutdown(cancel_futures=True)


class _Pool:
    """Executors of ``concurrent.futures``. Chunks whose worker has died run again; an executor that broke is replaced if it is ours."""

    def __init__(self, make: Callable[[], Executor], workers: int, is_own: bool) -> None:
        self._make, self._workers, self._is_own = make, workers, is_own
        self._pool: Executor | None = None
        self._folder = ""

    def workers(self) -> int:
        """How many workers the executor has."""
        return self._workers

    def run(self, chunks: Iterable[Chunk]) -> Iterator[Done]:
        with tempfile.TemporaryDirectory(prefix="shortflow-", ignore_cleanup_errors=True) as self._folder:
            try:
                yield from _stream(self._submit, chunks, self._workers, self._is_retried)
            finally:
                if self._is_own and self._pool is not None:
                    self._pool.shutdown(wait=False)

    def _submit(self, chunk: Chunk) -> Future[Any]:
        if self._pool is None:
            self._pool = _executor(self._make())
        try:
            if _is_local(self._pool):
                return self._pool.submit(work_into, self._folder, chunk)
            return self._pool.submit(work, chunk)
        except BrokenExecutor as error:
            self._is_retried(error)
            return self._submit(chunk)
        except RuntimeError as error:
            raise InputError(f"the executor takes no work: {error}\ngive an open one, or a function that makes one") from None

    def _is_retried(self, error: BaseException) -> bool:
        if not isinstance(error, BrokenExecutor):
            return False
        if not self._is_own:
            raise MachineError(
                f"a worker of the executor has died: {error}\ncomplete chunks are kept: run again with resume=True and a new "
                "executor, or give a function that makes executors"
            ) from error
        if self._pool is not None and _is_broken(self._pool):
            _kill_workers(self._pool)
            self._pool.shutdown(wait=False)
            self._pool = None
        return True


def _is_local(pool: Executor) -> bool:
    """Whether its workers are processes of this machine."""
    return isinstance(pool, ProcessPoolExecutor) or type(pool).__module__.split(".")[0] in ("joblib", "loky")


def work_into(folder: str, chunk: Chunk) -> str:
    """Run a chunk, and write what it gives into a file of its own: the path of the file.

    A worker that dies while it writes a long result into the pipe of its executor would leave half of it there, and the executor would
    wait for the rest for ever.
    """
    done = work(chunk)
    with tempfile.NamedTemporaryFile(dir=folder, delete=False) as file:
        pickle.dump(done, file)
    return file.name


def _taken(found: Done | str) -> Done:
    """What a chunk gave, read from its file if it is in one."""
    if isinstance(found, str):
        with open(found, "rb") as file:
            done = cast(Done, pickle.load(file))
        os.unlink(found)
        return done
    return found


def _executor(made: Any) -> Executor:
    """What a function made, if it is an executor."""
    if not callable(getattr(made, "submit", None)) or not callable(getattr(made, "shutdown", None)):
        raise InputError(f"executor: the function made {made!r}, which is no executor of concurrent.futures")
    found: Executor = made
    return found


def _is_broken(pool: Executor) -> bool:
    """Whether an executor takes no more work."""
    try:
        pool.submit(int).cancel()
    except (BrokenExecutor, RuntimeError):
        return True
    return False


def _kill_workers(pool: Executor) -> None:
    """End the workers of an executor that broke.

    It ends them itself, but not one that `submit` started meanwhile; then it would wait for that one when Python exits.
    """
    for process in list((getattr(pool, "_processes", None) or {}).values()):
        if callable(getattr(process, "kill", None)):
            process.kill()


def _no_retry(error: BaseException) -> bool:
    return False


def _stream(
    submit: Callable[[Chunk], Future[Any]],
    chunks: Iterable[Chunk],
    workers: int,
    is_retried: Callable[[BaseException], bool],
) -> Iterator[Done]:
    """Results as they come. Only a few chunks are under way, so that memory is bounded."""
    waiting = iter(chunks)
    under_way: dict[Future[Any], tuple[Chunk, int]] = {}
    again: list[tuple[Chunk, int]] = []
    try:
        while True:
            while len(under_way) < workers * CHUNKS_PER_WORKER:
                chunk, attempt = again.pop() if again else (next(waiting, None), 1)
                if chunk is None:
                    break
                under_way[submit(chunk)] = (chunk, attempt)
            if not under_way:
                return
            ended, _ = wait(under_way, timeout=POLL_INTERVAL, return_when=FIRST_COMPLETED)
            for future in ended:
                chunk, attempt = under_way.pop(future)
                error = future.exception()
                if error is None:
                    yield _taken(future.result())
                elif attempt < MAX_ATTEMPTS and is_retried(error):
                    again.append((chunk, attempt + 1))
                else:
                    raise error
    finally:
        for future in under_way:
            future.cancel()
