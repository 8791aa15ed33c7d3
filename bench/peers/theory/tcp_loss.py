"""One long TCP flow under independent random loss: the full model of Padhye et al.

J. Padhye, V. Firoiu, D. Towsley, J. Kurose, "Modeling TCP Reno Performance: A Simple Model and Its
Empirical Validation", IEEE/ACM Transactions on Networking 8(2), 2000, without a limit of the
window. The model counts rounds. It treats all segments of a round after the first loss as lost, and
has no fast recovery except Reno's.
"""

import math

from command import run


def long_flow(loss: float, rtt_s: float, timeout_s: float, segments_per_ack: int) -> dict[str, float]:
    """Segments sent per second: B(p) of eq. 32."""
    return {"send_rate_pps": send_rate(loss, rtt_s, timeout_s, segments_per_ack)}


def send_rate(p: float, rtt: float, timeout: float, b: float) -> float:
    """B(p): segments of a cycle over its duration."""
    window = mean_window(p, b)
    timed_out = timeout_share(p, window)
    segments = (1 - p) / p + window + timed_out / (1 - p)
    seconds = rtt * (b / 2 * window + 1) + timed_out * timeout * back_off(p) / (1 - p)
    return segments / seconds


def mean_window(p: float, b: float) -> float:
    """E[W], the window at the end of a cycle."""
    middle = (2 + b) / (3 * b)
    return middle + math.sqrt(8 * (1 - p) / (3 * b * p) + middle**2)


def timeout_share(p: float, window: float) -> float:
    """Q(w): the share of cycles that end in a timeout, since fewer than three duplicates return."""
    keep = 1 - p
    share = (1 - keep**3) * (1 + keep**3 * (1 - keep ** (window - 3))) / (1 - keep**window)
    return min(1.0, share)


def back_off(p: float) -> float:
    """f(p): six doublings of the timeout, then it stays constant."""
    return 1 + sum(2 ** (k - 1) * p**k for k in range(1, 7))


if __name__ == "__main__":
    run(long_flow)
