"""RED's steady state (Floyd & Jacobson 1993) as a fixed point of average and drop probability.

As the weight w_q approaches 0 the average becomes constant, and with it the drop probability p_b. Then

- drops are spaced by p_a = p_b / (1 - count · p_b), so they come after a random number of packets
  that does not depend on anything else;
- admitted packets enter an ordinary queue, whose mean can be computed;
- the average must be where its own steps cancel: a packet that finds q waiting moves it by
  w_q (q - avg). A packet that finds the queue empty after an idle time lets it fall as if one mean
  packet had come in each s seconds of that time.

With a small weight above 0 the average swings. This is neglected for a queue that is sometimes
empty, and modelled for one that is not, where the swing does not vanish with the weight.
"""

import math
from collections.abc import Callable
from dataclasses import dataclass

from command import run
from matrices import Matrix, added, dot, identity, inverse, product, row_times
from sizes import service
from tcp_loss import send_rate

ROUNDING = 1e-9


@dataclass(frozen=True)
class Curve:
    """RED's drop curve, in packets."""

    min_threshold: float
    max_threshold: float
    max_probability: float

    def probability(self, average: float) -> float:
        """p_b."""
        share = (average - self.min_threshold) / (self.max_threshold - self.min_threshold)
        return self.max_probability * min(max(share, 0.0), 1.0)


def hazards(p: float, spacing: str) -> list[float]:
    """p_a after 0, 1, 2 … packets since the last drop; the last is 1.

    "uniform": the next drop is one of the next 1/p, with equal probability (their §7, method 2).
    "wait": the same after 1/p packets have passed.
    """
    found: list[float] = []
    while not found or found[-1] < 1:
        count = len(found)
        if spacing == "uniform":
            left = 1 - count * p
        elif (count + 1) * p < 1 - ROUNDING:
            left = math.inf
        else:
            left = 2 - (count + 1) * p
        found.append(1.0 if left <= p * (1 + ROUNDING) else p / left)
    return found


def distance(p: float, spacing: str) -> tuple[float, float]:
    """Mean and variance of the distance between drops in packets, at a constant p_b above 0."""
    mean = square = 0.0
    passes = 1.0
    for count, hazard in enumerate(hazards(p, spacing), start=1):
        mean += count * passes * hazard
        square += count**2 * passes * hazard
        passes *= 1 - hazard
    return mean, square - mean**2


def loss_at(p: float, spacing: str) -> float:
    """The share of packets dropped at a constant p_b."""
    return 1 / distance(p, spacing)[0] if p > 0 else 0.0


def overload(
    load: float, spacing: str, min_threshold: float, max_threshold: float, max_probability: float
) -> dict[str, float]:
    """Poisson packets of one size above the link's rate: RED drops the excess.

    The queue is never empty, so the average's mean is the mean queue. It still swings:
    with the queue's noise S and the loss rising by k with the average, dq = -k a dt + noise and
    da = g (q - a) dt have Var(a) = E[qa] = S / 2k for any g, so for any weight.
    """
    curve = Curve(min_threshold, max_threshold, max_probability)
    loss = 1 - 1 / load
    swing = 0.0
    for _ in range(20):
        mean_loss = swung_loss(curve, spacing, swing)
        average = root(lambda a: loss - mean_loss(a), min_threshold, max_threshold)
        step = max(swing / 10, 10.0)
        slope = load * (mean_loss(average + step) - mean_loss(average - step)) / (2 * step)
        mean, variance = distance(curve.probability(average), spacing)
        noise = load * ((1 - 1 / mean) ** 2 + variance / mean**3)
        swing = math.sqrt(noise / (2 * slope))
    return {"loss": loss, "queue": average}


def swung_loss(curve: Curve, spacing: str, swing: float) -> Callable[[float], float]:
    """The mean loss while the average swings about its mean, normally, by `swing`."""
    points = [step / 10 for step in range(-40, 41)]
    weights = [math.exp(-(z**2) / 2) for z in points]

    def mean_loss(average: float) -> float:
        losses = (loss_at(curve.probability(average + swing * z), spacing) for z in points)
        return dot(losses, weights) / sum(weights)

    return mean_loss


def stationary(
    load: float,
    sizes: str,
    mbps: float,
    min_threshold: float,
    max_threshold: float,
    max_probability: float,
    mean_packet: float = 1000,
) -> dict[str, float]:
    """Poisson packets of exponential sizes, drops spaced uniformly: M/M/1 behind RED."""
    curve = Curve(min_threshold, max_threshold, max_probability)
    served = service(sizes, mbps)
    # Time is counted in mean services, so the rate of arrivals is the load.
    idle_packet = mean_packet * 8e-6 / mbps / served.mean

    def steps(average: float) -> float:
        """The expected step of the average over w_q, per unit of time."""
        queue = spaced_queue(load, curve.probability(average))
        samples = load * (queue.mean - average * (1 - queue.empty))
        return samples - average * queue.empty / idle_packet

    # From above, where drops are frequent and the chain is small.
    high = max_threshold
    low = high - (max_threshold - min_threshold) / 8
    while steps(low) < 0:
        low, high = low - (max_threshold - min_threshold) / 8, low
    average = root(steps, low, high)
    queue = spaced_queue(load, curve.probability(average))
    admitted = load * (1 - queue.loss)
    return {
        "average": average,
        "loss": queue.loss,
        "queue": queue.mean,
        "wait_s": queue.mean / admitted * served.mean,
        "utilisation": admitted,
    }


@dataclass(frozen=True)
class Queue:
    """Mean number waiting, share of time with an empty queue, share of arrivals dropped."""

    mean: float
    empty: float
    loss: float


def spaced_queue(load: float, p: float) -> Queue:
    """M/M/1 whose arrivals are dropped at spaced distances, exactly.

    A Markov chain of packets in the system (levels) and packets since the last drop (phases). Its
    levels are in matrix-geometric proportion, π_{n+1} = π_n R (Neuts 1981).
    """
    drops = hazards(p, "uniform")
    phases = len(drops)
    up = [[0.0] * phases for _ in drops]
    stay = identity(phases, -(load + 1))
    for phase, drop in enumerate(drops):
        stay[phase][0] += load * drop
        if phase + 1 < phases:
            up[phase][phase + 1] = load * (1 - drop)
    down = identity(phases)
    ratio = rate_matrix(up, stay, down)
    # Nobody is served in the empty system.
    empty_level = added(added(stay, down), ratio)
    start = null_row(empty_level)
    sums = inverse(added(identity(phases), ratio, -1.0))  # 1 + R + R² + …
    total = row_times(start, sums)
    start = [value / sum(total) for value in start]
    all_levels = row_times(start, sums)
    second = row_times(row_times(start, ratio), ratio)
    return Queue(
        mean=sum(row_times(row_times(second, sums), sums)),
        empty=sum(start) + sum(row_times(start, ratio)),
        loss=dot(all_levels, drops),
    )


def rate_matrix(up: Matrix, stay: Matrix, down: Matrix) -> Matrix:
    """R, by logarithmic reduction (Latouche & Ramaswami 1993)."""
    size = len(up)
    leave = inverse([[-value for value in row] for row in stay])
    rise, fall = product(leave, up), product(leave, down)
    first_passage, path = fall, rise
    while max(map(max, path)) > 1e-14:
        both = added(product(rise, fall), product(fall, rise))
        leave = inverse(added(identity(size), both, -1.0))
        rise, fall = product(leave, product(rise, rise)), product(leave, product(fall, fall))
        first_passage = added(first_passage, product(path, fall))
        path = product(path, rise)
    within = added(stay, product(up, first_passage))
    return product(up, inverse([[-value for value in row] for row in within]))


def null_row(matrix: Matrix) -> list[float]:
    """x with x · matrix = 0 and a sum of 1: one column gives way to the sum."""
    replaced = [[1.0, *row[1:]] for row in matrix]
    return inverse(replaced)[0]


def long_flows(
    flows: int,
    rtt_s: float,
    mbps: float,
    min_threshold: float,
    max_threshold: float,
    max_probability: float,
    packet: int = 1040,
    min_timeout_s: float = 0.2,
) -> dict[str, float]:
    """Long TCP flows through RED: each gets the rate of the full model, all together the link's.

    The round trip is propagation and the mean queue; the mean queue is where RED drops that share.
    """
    curve = Curve(min_threshold, max_threshold, max_probability)
    link_pps = mbps * 1e6 / (8 * packet)

    def excess(queue: float) -> float:
        loss = loss_at(curve.probability(queue), "uniform")
        rtt = rtt_s + queue / link_pps
        return flows * send_rate(loss, rtt, max(rtt, min_timeout_s), 1) * (1 - loss) - link_pps

    queue = root(excess, min_threshold * 1.001 + 0.01, max_threshold)
    return {"queue": queue, "loss": loss_at(curve.probability(queue), "uniform")}


def root(falling: Callable[[float], float], low: float, high: float) -> float:
    """Where a falling function is 0, between `low` and `high`: by halving, to 12 digits."""
    while high - low > 1e-12 * high:
        middle = (low + high) / 2
        if falling(middle) > 0:
            low = middle
        else:
            high = middle
    return (low + high) / 2


if __name__ == "__main__":
    run(overload, stationary, long_flows)
