"""Chunks of a sweep: all runs once, in chunks whose size follows the time of a run."""

import itertools
import random
from collections import deque

from shortflow._chunk import Done
from shortflow._plan import MAX_CHUNK_BYTES, Plan


def simulated(runs: int, run_seconds: float, workers: int = 2, size: int | None = None, run_bytes: int = 100) -> list[range]:
    """The chunks of a sweep whose workers have one chunk that runs and one that waits."""
    plan = Plan(runs, [], size, lambda: workers)
    chunks, under_way, found = plan.chunks(), deque[range](), []
    for chunk in itertools.chain(chunks, [None] * 2 * workers):
        if chunk is not None:
            found.append(chunk)
            under_way.append(chunk)
        if under_way and (chunk is None or len(under_way) == 2 * workers):
            done = under_way.popleft()
            plan.learn(Done(done.start, len(done), {"replicas": bytes(run_bytes * len(done))}, 0.0, run_seconds * len(done)))
    return found


def test_each_missing_run_is_in_one_chunk() -> None:
    draw = random.Random(7)
    for _ in range(200):
        runs = draw.randint(1, 60)
        cuts = sorted(draw.sample(range(runs + 1), min(draw.randint(0, 8), runs + 1)))
        complete = [range(first, stop) for first, stop in zip(cuts[::2], cuts[1::2])]
        plan = Plan(runs, draw.sample(complete, len(complete)), draw.choice([None, 1, 4]), lambda: 2)
        given, kept = [], {run for one in complete for run in one}
        assert plan.missing == runs - len(kept)
        for chunk in plan.chunks():
            given += chunk
            plan.learn(Done(chunk.start, len(chunk), {}, 0.0, draw.choice([0.001, 0.5])))
        assert given == [run for run in range(runs) if run not in kept]


def test_chunks_of_short_runs_take_about_two_seconds() -> None:
    sizes = [len(chunk) for chunk in simulated(100_000, 0.001)]
    assert sizes[0] == 1 and max(sizes) == 2000 and len(sizes) < 100
    assert 100 <= min(sizes[20:-1]) <= 200, "at the end they are shorter, but not shorter than a tenth of a second"


def test_a_long_run_is_a_chunk() -> None:
    assert {len(chunk) for chunk in simulated(500, 10.0)} == {1}


def test_a_chunk_has_a_limit_of_bytes() -> None:
    assert max(len(chunk) for chunk in simulated(5000, 0.001, run_bytes=MAX_CHUNK_BYTES // 50)) == 50


def test_chunks_are_longer_where_many_workers_share_a_writer() -> None:
    # 1,000 workers that send a chunk each 20 s leave 20 ms for each chunk.
    sizes = [len(chunk) for chunk in simulated(10_000_000, 0.1, workers=1000)]
    assert 200 <= max(sizes) <= 201 and len(sizes) < 65_536 + 10_000


def test_a_given_size_is_kept() -> None:
    assert [len(chunk) for chunk in simulated(10, 0.001, size=4)] == [4, 4, 2]
