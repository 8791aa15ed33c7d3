"""The comparison with peers: Shortflow and each peer in turn, in one run."""

from collections import defaultdict
from collections.abc import Callable
from dataclasses import dataclass
from statistics import median

from process import measure
from works import NAMES, WORKS, Work, available, command, counted


@dataclass(frozen=True)
class Sample:
    """One run of one side."""

    cpu_s: float
    peak_bytes: int
    packets: int | None  # none when it was stopped
    hops: int | None

    @property
    def stopped(self) -> bool:
        return self.packets is None


@dataclass(frozen=True)
class Side:
    """One simulator's measurements of one workload."""

    samples: tuple[Sample, ...]

    def median(self, value: Callable[[Sample], float]) -> float:
        return median(value(sample) for sample in self.samples)


@dataclass(frozen=True)
class Ratio:
    """The ratio of a peer's CPU seconds to ours: the median over rounds, the least, the most."""

    median: float
    least: float
    most: float
    rounds: int
    at_least: bool = False  # the peer was stopped


@dataclass(frozen=True)
class Result:
    """One workload on all sides."""

    work: Work
    sides: dict[str, Side]
    ratios: dict[str, Ratio]


def compare(rounds: int, told: Callable[[str], None]) -> list[Result]:
    """Runs every workload `rounds` times on both sides, in turn; a slow peer in the first rounds only."""
    samples: dict[tuple[str, str], list[Sample]] = defaultdict(list)
    shares: dict[tuple[str, str], list[float]] = defaultdict(list)
    for turn in range(rounds):
        for work in WORKS:
            for peer in peers_of(work, turn):
                told(f"round {turn + 1} of {rounds}: work {work.name}, {peer}")
                ours, theirs = run(work, "ours"), run(work, peer)
                samples[work.name, "ours"].append(ours)
                samples[work.name, peer].append(theirs)
                shares[work.name, peer].append(theirs.cpu_s / ours.cpu_s)
    return [result(work, samples, shares) for work in WORKS if (work.name, "ours") in samples]


def peers_of(work: Work, turn: int) -> list[str]:
    return [each.peer for each in work.against
            if available(each.peer) and (each.rounds is None or turn < each.rounds)]  # fmt: skip


def run(work: Work, side: str) -> Sample:
    usage = measure(command(work, side), None if side == "ours" else work.peer(side).stop_s)
    if usage.stopped:
        return Sample(usage.cpu_s, usage.peak_bytes, None, None)
    packets, hops = counted(work, side, usage.output)
    return Sample(usage.cpu_s, usage.peak_bytes, packets, hops)


def result(work: Work, samples: dict, shares: dict) -> Result:
    sides = {side: Side(tuple(samples[work.name, side]))
             for side in NAMES if (work.name, side) in samples}  # fmt: skip
    ratios = {peer: ratio(shares[work.name, peer], side)
              for peer, side in sides.items() if peer != "ours"}  # fmt: skip
    return Result(work, sides, ratios)


def ratio(shares: list[float], side: Side) -> Ratio:
    at_least = any(sample.stopped for sample in side.samples)
    return Ratio(median(shares), min(shares), max(shares), len(shares), at_least)
