"""Figures of both engines, pair by pair, and their verdicts."""

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from shared import student

# How far the rehearsed figure may be from the simulated one: by what share of it.
TOLERANCES = {"median": 0.20, "p95": 0.30, "goodput": 0.10, "loss": 0.25}

# Losses up to this share are alike: neither is noticed, and what is left of them is chance.
UNNOTICED_LOSS = 0.001

# Fewer pairs than this give no interval that means something.
FEWEST_PAIRS = 3


@dataclass(frozen=True)
class Ratio:
    """The ratio of the rehearsed to the simulated figure, with a 95 % interval over pairs."""

    mean: float
    low: float
    high: float


@dataclass(frozen=True)
class Row:
    """A figure of a workload or port under one policy, by both engines."""

    policy: str
    subject: str
    kind: str
    simulated: float
    rehearsed: float
    ratio: Ratio | None
    further: "Row | None" = None
    """The same figure by further pairs, where these missed and were not sure."""

    @property
    def asks_for_more(self) -> bool:
        """Whether the row misses, but may do so by chance."""
        return not self.holds and not self.settled

    @property
    def judged(self) -> "Row":
        """The row that decides: the one of further pairs, if there are any."""
        return self.further or self

    @property
    def is_nothing(self) -> bool:
        """Whether both are negligible losses."""
        return self.kind == "loss" and max(self.simulated, self.rehearsed) <= UNNOTICED_LOSS

    @property
    def holds(self) -> bool:
        """Whether the ratio itself is within the tolerance."""
        return self.is_nothing or (self.ratio is not None and self.reaches(self.ratio.mean))

    @property
    def settled(self) -> bool:
        """Whether the whole interval is on one side of the tolerance's limits."""
        if self.is_nothing:
            return True
        if self.ratio is None:
            return False
        low, high = self.ratio.low, self.ratio.high
        tolerance = TOLERANCES[self.kind]
        return self.reaches(low) and self.reaches(high) or high < 1 - tolerance or low > 1 + tolerance

    def reaches(self, ratio: float) -> bool:
        return abs(ratio - 1) <= TOLERANCES[self.kind]


def pairs(
    simulated: Sequence[dict], rehearsed: Sequence[dict], of: Callable[[dict], float | None]
) -> list[tuple[float, float]]:
    """A figure of each pair of replicas in which both sides have it."""
    by_number = {replica["number"]: of(replica) for replica in rehearsed}
    found = [(of(replica), by_number.get(replica["number"])) for replica in simulated]
    return [(a, b) for a, b in found if a is not None and b is not None]


def geometric(found: Sequence[tuple[float, float]]) -> Ratio | None:
    """The geometric mean of the ratios of pairs, with the interval of their logarithms."""
    if len(found) < FEWEST_PAIRS or any(value <= 0 for pair in found for value in pair):
        return None
    logs = [math.log(rehearsed / simulated) for simulated, rehearsed in found]
    mean = sum(logs) / len(logs)
    variance = sum((log - mean) ** 2 for log in logs) / (len(logs) - 1)
    half = student(len(logs) - 1) * math.sqrt(variance / len(logs))
    return Ratio(math.exp(mean), math.exp(mean - half), math.exp(mean + half))


def of_sums(found: Sequence[tuple[float, float]]) -> Ratio | None:
    """The ratio of the means over pairs whose parts may be zero; the interval leaves out one pair at a time
    (jackknife).
    """
    count = len(found)
    simulated, rehearsed = (sum(pair[side] for pair in found) for side in (0, 1))
    left_out = [(simulated - a, rehearsed - b) for a, b in found]
    if count < FEWEST_PAIRS or any(a <= 0 for a, _ in left_out):
        return None
    mean = rehearsed / simulated
    ratios = [b / a for a, b in left_out]
    middle = sum(ratios) / count
    error = math.sqrt((count - 1) / count * sum((ratio - middle) ** 2 for ratio in ratios))
    half = student(count - 1) * error
    return Ratio(mean, mean - half, mean + half)


def rows_of(
    policy: str, simulated: Sequence[dict], rehearsed: Sequence[dict], port: str
) -> list[Row]:
    """All figures of one policy that have a target."""
    rows = []

    def add(subject: str, kind: str, of: Callable[[dict], float | None]) -> None:
        found = pairs(simulated, rehearsed, of)
        if len(found) < FEWEST_PAIRS:
            return
        means = [sum(pair[side] for pair in found) / len(found) for side in (0, 1)]
        ratio = of_sums(found) if kind == "loss" else geometric(found)
        row = Row(policy, subject, kind, means[0], means[1], ratio)
        if ratio is not None or row.is_nothing or means[0] != means[1]:
            rows.append(row)

    for name in (workload["name"] for workload in simulated[0]["workloads"]):
        if "/" in name:
            continue
        add(name, "median", lambda r, n=name: time(workload(r, n), "median", 20))
        add(name, "p95", lambda r, n=name: time(workload(r, n), "p95", 200))
        if workload(simulated[0], name)["datagrams"]:
            add(name, "loss", lambda r, n=name: datagram_loss(workload(r, n)))
        else:
            add(name, "goodput", lambda r, n=name: workload(r, n)["delivered_bytes"] / r["measured"])
    add(port, "loss", lambda r: port_loss(r, port))
    return rows


def workload(replica: dict, name: str) -> dict:
    return next(w for w in replica["workloads"] if w["name"] == name)


def time(found: dict, quantile: str, fewest: int) -> float | None:
    """A completion time or delay in seconds; `None` for too few transfers or a mere bound."""
    if found["datagrams"]:
        return found["datagrams"][f"delay_{quantile}"]
    value = found["all"][quantile]
    completed = found["all"]["completion"]["n"]
    return value if isinstance(value, float) and completed >= fewest else None


def datagram_loss(found: dict) -> float | None:
    datagrams = found["datagrams"]
    ended = datagrams["delivered"] + datagrams["dropped"]
    return datagrams["dropped"] / ended if ended else None


def port_of(replica: dict, name: str) -> dict:
    return next(port for port in replica["ports"] if port["name"] == name)


def port_loss(replica: dict, name: str) -> float | None:
    """The share of packets that arrived at a port and were dropped there."""
    counts = port_of(replica, name)["code_points"]
    arrived = sum(count["arrived"]["packets"] for count in counts)
    dropped = sum(reason["packets"] for count in counts for reason in count["dropped"])
    return dropped / arrived if arrived else None


@dataclass(frozen=True)
class Order:
    """The ratio of the other policy's time to the baseline's, by each engine."""

    simulated: Ratio
    rehearsed: Ratio

    @property
    def alike(self) -> bool:
        """Whether both engines have the same policy first."""
        return (self.simulated.mean < 1) == (self.rehearsed.mean < 1)

    @property
    def settled(self) -> bool:
        """Whether each engine is sure of its order."""
        return all(r.high < 1 or r.low > 1 for r in (self.simulated, self.rehearsed))


def order_of(replicas: dict[tuple[int, str], list[dict]], by: str, port: str) -> Order | None:
    """The order of a case's two policies by each engine."""
    def of(replica: dict) -> float | None:
        if by == "wait":
            return port_of(replica, port)["mean_wait"]
        kind, _, name = by.partition(" ")
        found = workload(replica, name)
        if kind == "delay":
            return found["datagrams"]["delay"]
        completion = found["all"]["completion"]
        return completion["mean"] if completion["n"] else None

    ratios = [
        geometric(pairs(replicas[0, engine], replicas[1, engine], of))
        for engine in ("simulate", "rehearse")
    ]
    return Order(*ratios) if None not in ratios else None
