"""Sweeps: a design over a base scenario, run in chunks by any executor."""

from __future__ import annotations

import hashlib
import json
import math
import os
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from . import _core
from ._arguments import jobs as check_jobs
from ._arguments import path, texts, whole
from ._chunk import Base, Chunk, Done, Row
from ._data import data_files, tables_of
from ._design import POLICY, Design
from ._errors import InputError
from ._executors import engine, refuse_unknown
from ._plan import Plan
from ._progress import Progress, Show
from ._store import FORMAT, Store, ranges
from ._sweep_results import SweepResults
from ._text import Path, Policy, Scenario, Settings, as_settings, as_toml
from ._verify import Verified

# Tables that can be collected.
TABLES = ("transfers", "bulk", "datagrams", "series", "replicas")
# Predictions have no replicas, and one table.
PREDICTED = ("summary",)
REPLICAS = 32


class Sweep:
    """Replicas of a scenario at all rows of a design.

    Parameters
    ----------
    base
        The scenario.
    design
        The rows: a :class:`Design`, or a list of dictionaries.
    replicas
        Replicas of each row: 32 without. A prediction has one.
    seed
        The seed from which the seeds of rows are derived.
    pair_by
        Keys whose values share arrivals: rows that differ only in them have the same seed. ``None`` gives each row its own.
    collect
        The tables that are kept: ``transfers``, ``bulk``, ``datagrams``, ``series``, ``replicas``; without, ``transfers`` and
        ``replicas``. Predictions have the table ``summary``.
    policy
        The policy of all rows, where the design has no key ``policy``; without, that of the scenario.
    set, bind
        Settings and bindings of all rows.
    engine
        ``"simulate"`` or ``"predict"``.

    Examples
    --------
    >>> import shortflow as sf
    >>> design = sf.Design.grid({"policy": ["best-effort", "fq-codel"], "duration": ["20 s", "30 s"]})
    >>> sweep = sf.Sweep("office", design, replicas=2, seed=7)
    >>> len(sweep)
    8
    """

    def __init__(
        self,
        base: Scenario | Path | Mapping[str, Any],
        design: Design | Iterable[Mapping[str, Any]],
        *,
        replicas: int | None = None,
        seed: int = 7,
        pair_by: str | Sequence[str] | None = POLICY,
        collect: str | Sequence[str] | None = None,
        policy: Policy | Path | Mapping[str, Any] | None = None,
        set: Settings | None = None,
        bind: str | Sequence[str] = (),
        engine: str = "simulate",
    ) -> None:
        self.base = Scenario.of(base)
        self.design = design if isinstance(design, Design) else Design(design)
        if engine not in ("simulate", "predict"):
            raise InputError(f"engine = {engine!r}: use simulate or predict")
        self.engine = engine
        self.replicas = _replicas(replicas, engine)
        self.seed = whole("seed", seed, 0)
        self.pair_by = texts("pair_by", [] if pair_by is None else pair_by)
        self.collect = _tables(collect, engine)
        self.set = as_settings(set)
        self.bind = texts("bind", bind)
        _refuse_keys(self.base, [*(key for key, _ in self.set), *self.design.keys])
        unknown = [key for key in self.pair_by if key not in self.design.keys and key != POLICY]
        if unknown:
            raise InputError(f"pair_by: the design has no key `{unknown[0]}`; it has {', '.join(self.design.keys)}")
        twice = [key for key, _ in self.set if key in self.design.keys]
        if twice:
            raise InputError(f"`{twice[0]}` is in `set` and in the design\nremove one of the two")
        if policy is not None and POLICY in self.design.keys:
            raise InputError("`policy` is an argument and a key of the design\nremove one of the two")
        self._policies: dict[str, Policy] = {}
        self._names = [self._name(point.get(POLICY, policy)) for point in self.design]
        self.data = self._data()

    def _name(self, policy: Any) -> str | None:
        """The name of a policy in results: as given, or else its own."""
        if policy is None:
            return None
        found = Policy.of(policy)
        name = policy if isinstance(policy, str) else found.name
        if self._policies.setdefault(name, found) != found:
            raise InputError(f"two policies of the design have the name {name!r}: give one another `name`")
        return name

    def _data(self) -> dict[str, str]:
        """The digests of data files."""
        points = (pair for point in self.design for pair in point.items())
        return data_files(self.base, [*self.set, *points], None in self._names)

    def __len__(self) -> int:
        return len(self.design) * self.replicas

    def rows(self) -> list[Row]:
        """The rows as they run, with their seeds."""
        return [self._row(number) for number in range(len(self.design))]

    def _row(self, number: int) -> Row:
        point, policy = self.design.points[number], self._names[number]
        given = [(key, as_toml(key, value)) for key, value in point.items() if key != POLICY]
        apart = [pair for pair in [*given, (POLICY, policy)] if pair[0] not in self.pair_by]
        text = json.dumps([self.seed, sorted(apart, key=str)])
        digest = hashlib.sha256(text.encode()).digest()
        return Row(number, policy, int.from_bytes(digest[:8], "big") >> 1, given)

    def chunk(self, runs: range, base: Base) -> Chunk:
        """The work of some runs, counted over all replicas of all rows."""
        tasks, first = [], runs.start
        while first < runs.stop:
            row, replica = divmod(first, self.replicas)
            count = min(self.replicas - replica, runs.stop - first)
            tasks.append((self._row(row), range(replica, replica + count)))
            first += count
        return Chunk(runs.start, base, tuple(tasks))

    def work_base(self, records_errors: bool = False) -> Base:
        """What all rows have in common."""
        policies = {name: (policy.file, policy.to_toml()) for name, policy in self._policies.items()}
        scenario = (self.base.file, self.base.to_toml())
        return Base(scenario, policies, self.set, self.bind, self.engine, self.collect, records_errors)

    def manifest(self) -> dict[str, Any]:
        """What the sweep is, for its folder."""
        base = self.work_base()
        points = [{**point, POLICY: name} if name is not None else dict(point) for point, name in zip(self.design, self._names)]
        return {
            "format": FORMAT,
            "version": _core.VERSION,
            "scenario": list(base.scenario),
            "policies": {name: list(one) for name, one in base.policies.items()},
            "set": [list(one) for one in self.set],
            "bind": self.bind,
            "folder": os.getcwd(),
            "data": self.data,
            "design": points,
            "engine": self.engine,
            "collect": list(self.collect),
            "replicas": self.replicas,
            "seed": self.seed,
            "pair_by": self.pair_by,
        }

    @classmethod
    def from_manifest(cls, found: Mapping[str, Any]) -> Sweep:
        """The sweep of a folder."""
        policies = {name: Policy(text, file) for name, (file, text) in found["policies"].items()}
        points = [{key: policies[value] if key == POLICY else value for key, value in point.items()} for point in found["design"]]
        file, text = found["scenario"]
        if found["data"]:
            # Paths of data files are relative to the folder in which the sweep began.
            file = os.path.join(found["folder"], file)
        sweep = cls(
            Scenario(text, file),
            points,
            replicas=found["replicas"],
            seed=found["seed"],
            pair_by=found["pair_by"],
            collect=found["collect"],
            bind=found["bind"],
            engine=found["engine"],
        )
        sweep.set = [(key, value) for key, value in found["set"]]
        sweep._policies = policies
        sweep._names = [point.get(POLICY) for point in found["design"]]
        sweep.data = sweep._data()
        return sweep

    def run(
        self,
        *,
        jobs: int | None = None,
        out: Path | None = None,
        resume: bool = False,
        executor: Any = None,
        on_error: str = "raise",
        runs_per_chunk: int | None = None,
        progress: bool | Show | None = None,
    ) -> SweepResults:
        """Run it.

        Parameters
        ----------
        jobs
            Runs in parallel; without, one per core.
        out
            The folder for results; without, they stay in memory.
        resume
            Continue the sweep in that folder.
        executor
            ``"threads"`` (the default), ``"processes"``, ``"joblib"``, ``"dask://HOST:PORT"``, ``"dask://local"``, a client or cluster of
            Dask, an executor of ``concurrent.futures``, or a function that makes one.
        on_error
            ``"raise"`` ends the sweep at a row that cannot run; ``"record"`` makes it a row of ``failures``.
        runs_per_chunk
            Runs in a chunk; what is lost if a worker dies. Without, chunks take about two seconds. Results do not depend on it.
        progress
            Whether progress is shown; without, in notebooks and terminals.

        Returns
        -------
        SweepResults
            The same bits on any executor.
        """
        if on_error not in ("raise", "record"):
            raise InputError(f"on_error = {on_error!r}: use raise or record")
        if resume and out is None:
            raise InputError("resume=True needs out=FOLDER")
        check_jobs(jobs)
        size = None if runs_per_chunk is None else whole("runs_per_chunk", runs_per_chunk, 1)
        refuse_unknown(executor)
        store = None if out is None else Store(path("out", out))
        complete: dict[int, dict[str, Any]] = {}
        if store is not None:
            store.begin(self.manifest(), resume)
            complete = store.repair(len(self))
        what = engine(executor, check_jobs(jobs))
        plan = Plan(len(self), ranges(complete), size, what.workers)
        base = self.work_base(on_error == "record")
        todo = (self.chunk(runs, base) for runs in plan.chunks())
        memory = self._finish(what.run(todo), plan, store, progress)
        if store is not None:
            return SweepResults.open(store)
        return SweepResults.in_memory(self.manifest(), memory)

    def _finish(self, results: Iterator[Done], plan: Plan, store: Store | None, progress: bool | Show | None) -> list[Done]:
        """Keep the results: in the folder, or in memory."""
        memory: list[Done] = []
        kept = len(self) - plan.missing
        with Progress(progress) as show:
            for done in results:
                plan.learn(done)
                if store is not None:
                    store.put(done)
                else:
                    memory.append(done)
                kept += done.runs
                if show is not None:
                    show(kept, kept, len(self))
        return sorted(memory, key=lambda one: one.number)


def _replicas(given: Any, engine: str) -> int:
    if engine == "predict":
        if given not in (None, 1):
            raise InputError(f"replicas = {given!r}: a prediction has no replicas; leave the argument out")
        return 1
    return REPLICAS if given is None else whole("replicas", given, 1)


def _tables(names: Any, engine: str) -> tuple[str, ...]:
    """The tables to collect."""
    have = TABLES if engine == "simulate" else PREDICTED
    if names is None:
        return PREDICTED if engine == "predict" else ("transfers", "replicas")
    chosen = texts("collect", names)
    if not chosen or any(name not in have for name in chosen):
        raise InputError(f"collect = {names!r}: give a list of {', '.join(have)}")
    return tuple(dict.fromkeys(chosen))


def _refuse_keys(base: Scenario, keys: list[str]) -> None:
    """Refuse what a sweep decides itself."""
    for key in keys:
        if key in ("seed", "replicas"):
            raise InputError(f"`{key}` is a key of the design or of `set`\ngive {key}=… of Sweep")
    if any(key == "sweep" or key.startswith("sweep.") for key in keys) or "sweep" in tables_of(base):
        raise InputError(f"{base.file} has a [sweep] of its own\nremove it, and set its keys in the design")


def verify(folder: Path, *, share: float = 0.01, jobs: int | None = None) -> Verified:
    """Run a share of a sweep again, and compare all bits with what its folder has.

    Parameters
    ----------
    folder
        The folder of the sweep.
    share
        The share of its runs, from 0 to 1; at least one run.
    """
    if isinstance(share, bool) or not isinstance(share, (int, float)) or not 0 < share <= 1:
        raise InputError(f"share = {share!r}: use a number above 0, up to 1")
    jobs = check_jobs(jobs)
    store = Store(path("folder", folder))
    found = store.manifest()
    try:
        sweep = Sweep.from_manifest(found)
    except (AttributeError, IndexError, KeyError, TypeError, ValueError) as error:
        raise store.damaged(repr(error)) from None
    if sweep.data != found["data"]:
        changed = sorted(name for name in {*sweep.data, *found["data"]} if sweep.data.get(name) != found["data"].get(name))
        raise InputError(f"cannot verify the sweep in {store.folder}: the data file {changed[0]} has changed since it ran")
    kept, base = store.chunks(len(sweep)), sweep.work_base(True)
    chunks = [sweep.chunk(runs, base) for runs in ranges(kept.complete)]
    if not chunks and not kept.damaged:
        raise InputError(f"the sweep in {store.folder} has no complete chunk")
    runs = [(chunk, row, replica) for chunk in chunks for row, replicas in chunk.tasks for replica in replicas]
    count = max(math.ceil(share * len(runs)), 1)
    # Runs in the order of a digest: chosen at random, and the same ones each time.
    runs.sort(key=lambda run: hashlib.sha256(f"{run[1].number}/{run[2]}".encode()).digest())
    return Verified.compare(store, runs[:count], jobs, list(kept.damaged.values()))
