"""Means over seeds, their 95 % intervals, and the comparison of two of them."""

import math
from collections.abc import Sequence
from dataclasses import dataclass

# Two means agree when they differ by no more than this, or when their intervals overlap; a case may
# say less or more.
TOLERANCE = 0.10

# Of how many rare events on the average none at all are seen with a probability of 2.5 % (Poisson).
NONE_SEEN = -math.log(0.025)

# The 97.5 % quantile of Student's t by degrees of freedom.
STUDENT_97_5 = {
    1: 12.706, 2: 4.303, 3: 3.182, 4: 2.776, 5: 2.571, 6: 2.447, 7: 2.365, 8: 2.306, 9: 2.262,
    10: 2.228, 12: 2.179, 15: 2.131, 20: 2.086, 30: 2.042, 60: 2.000,
}  # fmt: skip


@dataclass(frozen=True)
class Estimate:
    """A mean over seeds and half the width of its 95 % interval; `None` for a single value."""

    mean: float
    half_width: float | None

    @staticmethod
    def over(values: Sequence[float], counts: bool = False) -> "Estimate":
        """The estimate from one value per seed. If the values count rare events and no seed saw any,
        Student's interval would have zero width; then it is the exact one of a Poisson count.
        """
        count = len(values)
        mean = sum(values) / count
        if counts and not any(values):
            return Estimate(mean, NONE_SEEN / count)
        if count < 2:
            return Estimate(mean, None)
        variance = sum((value - mean) ** 2 for value in values) / (count - 1)
        return Estimate(mean, student(count - 1) * math.sqrt(variance / count))


def student(freedom: int) -> float:
    """The quantile; between two entries of the table, that of the smaller one, which is wider."""
    return STUDENT_97_5[max(entry for entry in STUDENT_97_5 if entry <= freedom)]


def difference(theirs: Estimate, ours: Estimate) -> float | None:
    """The relative difference of our mean from theirs; `None` if theirs is zero and ours is not."""
    if theirs.mean == ours.mean:
        return 0.0
    return (ours.mean - theirs.mean) / abs(theirs.mean) if theirs.mean else None


def overlap(theirs: Estimate, ours: Estimate) -> bool:
    """Whether the intervals overlap; a single value is an interval of zero width."""
    reach = (theirs.half_width or 0.0) + (ours.half_width or 0.0)
    return abs(theirs.mean - ours.mean) <= reach


def agree(theirs: Estimate, ours: Estimate, tolerance: float = TOLERANCE) -> bool:
    """Whether the means are within the tolerance or the intervals overlap."""
    return near(theirs, ours, tolerance) or overlap(theirs, ours)


def near(theirs: Estimate, ours: Estimate, tolerance: float = TOLERANCE) -> bool:
    """Whether the means are within the tolerance."""
    share = difference(theirs, ours)
    return share is not None and abs(share) <= tolerance
