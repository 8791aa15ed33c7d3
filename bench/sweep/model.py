"""What a sweep costs, as a model with measured numbers, and a plan for a large one by it."""

from __future__ import annotations

from dataclasses import dataclass

from measure import Used, Work, least

from shortflow._chunk import Done
from shortflow._plan import MAX_CHUNKS, MIN_CHUNK_TIME, MIN_CHUNK_TIME_PER_WORKER
from shortflow._plan import Plan as Chunks

RUNS = 2000


@dataclass(frozen=True)
class Model:
    """What is added to the runs themselves, in CPU seconds.

    Attributes
    ----------
    run, chunk, worker, sweep
        For each run, chunk and worker, and once.
    driver_chunk
        The part of a chunk in the process that writes all of them.
    run_bytes
        The size of a run in the folder.
    """

    run: float
    chunk: float
    worker: float
    sweep: float
    driver_chunk: float
    run_bytes: float


def fitted(alone: float, rounds: int, folder: str) -> Model:
    """The model from sweeps that differ in one number each: the runs of a chunk, or the workers. ``alone`` is a run by itself."""
    works = [Work(RUNS, 1, 500), Work(RUNS, 1, 10), Work(10, 1, 1), Work(10, 5, 1)]
    large, small, one, five = least(works, rounds, folder)
    more = small.chunks - large.chunks
    chunk = (small.cpu - large.cpu) / more
    worker = (five.cpu - one.cpu) / 4
    sweep = one.cpu - worker - 10 * (chunk + alone)
    run = max((large.cpu - sweep - worker - large.chunks * chunk) / RUNS - alone, 0.0)
    return Model(run, chunk, worker, sweep, (small.driver - large.driver) / more, large.bytes / RUNS)


@dataclass(frozen=True)
class Plan:
    """A sweep by the model: CPU seconds of its runs and of all else, and how long it takes."""

    runs: int
    run: float
    workers: int
    chunks: int
    cpu: float
    added: float
    seconds: float
    driver_share: float
    gigabytes: float


def plan(model: Model, runs: int, run: float, workers: int) -> Plan:
    """A sweep whose runs take ``run`` CPU seconds each, on so many cores."""
    chunks = count_chunks(runs, run + model.run, workers)
    added = runs * model.run + chunks * model.chunk + workers * model.worker + model.sweep
    cpu = runs * run + added
    # The last chunks end within the time of a short chunk of each other; before, all workers are busy.
    last = max(run * max(runs // MAX_CHUNKS, 1), MIN_CHUNK_TIME, MIN_CHUNK_TIME_PER_WORKER * workers)
    writer = chunks * model.driver_chunk
    seconds = max(cpu / workers + last, writer)
    return Plan(runs, run, workers, chunks, cpu, added, seconds, writer / seconds, runs * model.run_bytes / 1e9)


def count_chunks(runs: int, run: float, workers: int) -> int:
    """How many chunks such a sweep has."""
    plan, count = Chunks(runs, [], None, lambda: workers), 0
    for chunk in plan.chunks():
        plan.learn(Done(chunk.start, len(chunk), {}, 0.0, run * len(chunk)))
        count += 1
    return count


def table(used: dict[str, Used], runs: int) -> str:
    """CPU seconds and memory of each way to do the same runs."""
    alone = used["one process, without tables and files"].cpu
    head = "| way | CPU s | times one process | elapsed s | chunks | driver, CPU s | driver, MB |"
    lines = [head, "| --- | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for name, one in used.items():
        chunks = str(one.chunks) if one.chunks else "–"
        figures = f"{one.cpu:.2f} | {one.cpu / alone:.2f} | {one.seconds:.1f} | {chunks} | {one.driver:.2f} | {one.driver_mb:.0f}"
        lines.append(f"| {name} | {figures} |")
    return f"{runs:,} runs of {1000 * alone / runs:.2f} ms:\n\n" + "\n".join(lines)


def described(model: Model) -> str:
    """The model as a table."""
    rows = [
        ("a run, beyond the run itself", model.run),
        ("a chunk", model.chunk),
        ("of that, in the process that writes", model.driver_chunk),
        ("a worker", model.worker),
        ("the sweep", model.sweep),
    ]
    lines = ["| cost of | CPU ms |", "| --- | ---: |", *(f"| {name} | {1000 * value:.2f} |" for name, value in rows)]
    return "\n".join(lines) + f"\n\nA run takes {model.run_bytes:.0f} bytes in the folder."


def planned(plans: list[Plan]) -> str:
    """Plans as a table."""
    head = "| runs | a run, CPU s | cores | chunks | all, core hours | added | elapsed | writer is busy | folder, GB |"
    lines = [head, "| ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: | ---: |"]
    for one in plans:
        elapsed = f"{one.seconds / 3600:.1f} h" if one.seconds >= 3600 else f"{one.seconds:.0f} s"
        lines.append(
            f"| {one.runs:,} | {one.run:g} | {one.workers:,} | {one.chunks:,} | {one.cpu / 3600:,.1f} | {100 * one.added / one.cpu:.1f} % "
            f"| {elapsed} | {100 * one.driver_share:.0f} % | {one.gigabytes:.0f} |"
        )
    return "\n".join(lines)
