"""Mean waits of queues with Poisson arrivals."""

from collections.abc import Sequence

from command import run
from sizes import Service, service


def first_come_first_served(load: float, sizes: str, mbps: float) -> dict[str, float]:
    """M/G/1, and so M/M/1 and M/D/1: Pollaczek-Khinchine, W = λE[X²] / (2(1 - ρ)).

    The mean queue is by Little's law, without the packet in service.
    """
    served = service(sizes, mbps)
    rate = load / served.mean
    wait = rate * served.square / 2 / (1 - load)
    return {"wait_s": wait, "queue": rate * wait, "utilisation": load}


def priorities(
    loads: Sequence[float], sizes: Sequence[str], mbps: float, propagation_s: float
) -> dict[str, float]:
    """M/G/1 with non-preemptive priorities, the first class served first (Cobham 1954).

    W_k = W_0 / ((1 - σ_k)(1 - σ_{k-1})), where σ_k is the load of the classes 1 to k and W_0 the
    mean rest of the service that an arrival finds, the sum of λE[X²]/2. `delay_s` is from sender
    to receiver: wait, service and propagation.
    """
    classes = [service(text, mbps) for text in sizes]
    waits = cobham(loads, classes)
    numbered = enumerate(zip(waits, classes), start=1)
    return {f"class{k}.delay_s": wait + of.mean + propagation_s for k, (wait, of) in numbered}


def cobham(loads: Sequence[float], classes: Sequence[Service]) -> list[float]:
    """The mean wait of each class."""
    rest = sum(load / of.mean * of.square / 2 for load, of in zip(loads, classes))
    waits = []
    above = 0.0
    for load in loads:
        waits.append(rest / ((1 - above) * (1 - above - load)))
        above += load
    return waits


def finite_buffer(load: float, places: int, sizes: str, mbps: float) -> dict[str, float]:
    """M/M/1/K: `places` packets wait at most, and one is in service, so K is one more.

    P(n) is in proportion to ρⁿ. An arrival sees what time sees (PASTA), so P(K) is the loss.
    """
    most = places + 1
    weights = [load**n for n in range(most + 1)]
    total = sum(weights)
    queue = sum(max(n - 1, 0) * weight for n, weight in enumerate(weights)) / total
    loss = weights[most] / total
    admitted = load / service(sizes, mbps).mean * (1 - loss)
    return {
        "loss": loss,
        "queue": queue,
        "wait_s": queue / admitted,
        "utilisation": 1 - 1 / total,
    }


if __name__ == "__main__":
    run(first_come_first_served, priorities, finite_buffer)
