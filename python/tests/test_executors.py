"""Executors: the same bits on each, and nothing lost when workers die."""

import os
import pathlib
import pickle
import random
import signal
from collections.abc import Callable
from concurrent.futures import ProcessPoolExecutor, ThreadPoolExecutor
from multiprocessing import active_children, get_context

import pytest

import shortflow as sf
from shortflow._chunk import work
from shortflow._executors import work_into

KILLS = 20


def a_sweep(line: sf.Scenario, fifo: sf.Policy, replicas: int = 3) -> sf.Sweep:
    """Two loads under one policy."""
    return sf.Sweep(line, sf.Design.grid({"parameters.load": [0.5, 1.5]}), policy=fifo, replicas=replicas)


class Killer:
    """Kills a worker at random whenever a chunk is complete, up to so many times."""

    def __init__(self, workers: Callable[[], list[int]], kills: int = KILLS) -> None:
        self._workers, self._left, self._random = workers, kills, random.Random(7)
        self.kills = 0

    def __call__(self, share: float, complete: int, runs: int) -> None:
        workers = self._workers()
        if self._left > 0 and workers:
            try:
                os.kill(self._random.choice(workers), signal.SIGKILL)
            except ProcessLookupError:
                return
            self._left -= 1
            self.kills += 1


def test_twenty_killed_processes_lose_nothing(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    killer = Killer(lambda: [process.pid for process in active_children() if process.pid])
    whole = a_sweep(line, fifo, 25).run(jobs=2)
    found = a_sweep(line, fifo, 25).run(executor="processes", jobs=2, runs_per_chunk=1, out="r.sweep", progress=killer)
    assert killer.kills == KILLS
    assert found.transfers.to_arrow().equals(whole.transfers.to_arrow())
    assert not active_children()


def test_an_executor_of_a_function_is_replaced(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    pools: list[ProcessPoolExecutor] = []

    def make() -> ProcessPoolExecutor:
        pools.append(ProcessPoolExecutor(2, mp_context=get_context("forkserver")))
        return pools[-1]

    killer = Killer(lambda: [process.pid for process in (pools[-1]._processes or {}).values() if process.is_alive()], kills=2)
    whole = a_sweep(line, fifo).run(jobs=2)
    found = a_sweep(line, fifo).run(executor=make, jobs=2, runs_per_chunk=1, out="r.sweep", progress=killer)
    assert killer.kills == 2 and len(pools) > 1
    assert found.transfers.to_arrow().equals(whole.transfers.to_arrow())


def test_answers_of_processes_fit_into_one_write(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    sweep = a_sweep(line, fifo, 50)
    chunk = sweep.chunk(range(50), sweep.work_base())
    answer = work_into(str(here), chunk)
    # POSIX: a write of at most PIPE_BUF bytes is not split, so a kill leaves no part of an answer in a pipe.
    assert len(pickle.dumps(answer)) < os.pathconf(here, "PC_PIPE_BUF") / 4 < len(pickle.dumps(work(chunk)))


def test_a_foreign_executor_that_breaks_is_named_and_the_sweep_continues(
    here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy
) -> None:
    with ProcessPoolExecutor(1, mp_context=get_context("forkserver")) as pool:
        killer = Killer(lambda: list(pool._processes or {}), kills=1)
        with pytest.raises(sf.MachineError, match="resume=True"):
            a_sweep(line, fifo).run(executor=pool, runs_per_chunk=1, out="r.sweep", progress=killer)
    found = a_sweep(line, fifo).run(out="r.sweep", resume=True)
    assert found.transfers.to_arrow().equals(a_sweep(line, fifo).run().transfers.to_arrow())


def test_any_executor_of_the_standard_library_gives_the_same(line: sf.Scenario, fifo: sf.Policy) -> None:
    whole = a_sweep(line, fifo).run(jobs=1).replicas.to_arrow()
    with ThreadPoolExecutor(3) as pool:
        assert a_sweep(line, fifo).run(executor=pool).replicas.to_arrow().equals(whole)
        assert pool.submit(int).result() == 0, "it is still open"


def test_joblib_runs_chunks_in_its_processes(line: sf.Scenario, fifo: sf.Policy) -> None:
    pytest.importorskip("joblib", reason="skipped: needs joblib")
    whole = a_sweep(line, fifo).run(jobs=1).replicas.to_arrow()
    assert a_sweep(line, fifo).run(executor="joblib", jobs=2).replicas.to_arrow().equals(whole)


def test_a_mistake_in_another_process_has_its_place(line: sf.Scenario, fifo: sf.Policy) -> None:
    design = sf.Design.rows([{"parameters.load": 1}, {"parameters.load": -1}])
    with pytest.raises(sf.ScenarioError, match="row 1 of the design") as caught:
        sf.Sweep(line, design, policy=fifo, replicas=1).run(executor="processes", jobs=1)
    assert caught.value.file == "line.toml" and caught.value.line is not None


def test_an_unknown_executor_is_refused(line: sf.Scenario, fifo: sf.Policy) -> None:
    for wrong in ("fork", 3):
        with pytest.raises(sf.InputError, match="give threads, processes"):
            a_sweep(line, fifo).run(executor=wrong)
    with pytest.raises(sf.InputError, match="no scheduler of Dask answers"):
        a_sweep(line, fifo).run(executor="dask://127.0.0.1:1")


def test_dask_gives_the_same(line: sf.Scenario, fifo: sf.Policy) -> None:
    distributed = pytest.importorskip("distributed", reason="skipped: needs distributed")
    whole = a_sweep(line, fifo).run(jobs=2).replicas.to_arrow()
    with distributed.LocalCluster(n_workers=1, threads_per_worker=2, processes=False, dashboard_address=None) as cluster:
        assert a_sweep(line, fifo).run(executor=cluster).replicas.to_arrow().equals(whole)
    assert a_sweep(line, fifo).run(executor="dask://local", jobs=1).replicas.to_arrow().equals(whole)


def test_twenty_killed_workers_of_dask_lose_nothing(here: pathlib.Path, line: sf.Scenario, fifo: sf.Policy) -> None:
    distributed = pytest.importorskip("distributed", reason="skipped: needs distributed")
    whole = a_sweep(line, fifo, 25).run(jobs=2)
    with (
        distributed.LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=None) as cluster,
        distributed.Client(cluster) as client,
    ):
        # Also those that are starting.
        killer = Killer(lambda: [nanny.pid for nanny in list(cluster.workers.values()) if nanny.pid])
        found = a_sweep(line, fifo, 25).run(executor=client, runs_per_chunk=1, out="r.sweep", progress=killer)
    assert killer.kills == KILLS
    assert found.transfers.to_arrow().equals(whole.transfers.to_arrow())
