"""Packet sizes on a link: how long a packet takes, and the square of that, on average."""

import math
from dataclasses import dataclass

# Exponential sizes are cut here, where less than one packet in 10^21 is longer.
LONGEST_IN_MEANS = 50


@dataclass(frozen=True)
class Service:
    """The first two moments of a service time, in seconds and seconds squared."""

    mean: float
    square: float


def service(sizes: str, mbps: float) -> Service:
    """The service of packets of `sizes` on a link of `mbps`.

    `sizes` is a size in bytes ("1000"), sizes with their weights ("200*11 3200*4"), or
    "exponential 1000".
    """
    mean, square = moments(sizes)
    per_byte = 8e-6 / mbps
    return Service(mean * per_byte, square * per_byte**2)


def moments(sizes: str) -> tuple[float, float]:
    """E[X] and E[X²] in bytes."""
    if sizes.startswith("exponential "):
        return whole_exponential(float(sizes.removeprefix("exponential ")))
    parts = [part.partition("*") for part in sizes.split()]
    weighted = [(float(size), float(weight or 1)) for size, _, weight in parts]
    total = sum(weight for _, weight in weighted)
    mean = sum(size * weight for size, weight in weighted) / total
    return mean, sum(size**2 * weight for size, weight in weighted) / total


def whole_exponential(mean: float) -> tuple[float, float]:
    """An exponential size in whole bytes, at least 1: sums of P(X > k), with P = 1 at k = 0.

    A packet has a whole number of bytes: the nearest, so it is longer than k with the chance
    that the exponential is longer than k + 1/2.
    """
    first = second = 1.0
    for k in range(1, int(LONGEST_IN_MEANS * mean)):
        beyond = math.exp(-(k + 0.5) / mean)
        first += beyond
        second += (2 * k + 1) * beyond
    return first, second
