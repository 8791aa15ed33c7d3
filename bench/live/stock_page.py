"""The page that compares policies on a stock kernel with their simulations."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from shared import grid

SIZES = {"2 KB": 2000, "8 KB": 8000, "30 KB": 30_000, "100 KB": 100_000}
# How far a live figure may be from its simulation: medians, and 95th percentiles.
MEDIAN, TAIL = 0.20, 0.30
# Times closer than this, in seconds, are equal: a scheduler's tick, and what an interpreter takes for a page.
NEGLIGIBLE = 0.002
WAYS = ("deployed", "inline")

HEAD = """# Live lines of a stock kernel, compared with simulations

`make validate-stock` writes this page: it boots Linux {kernel} in a virtual machine with a clock of its own, so that a
busy machine changes nothing. Each policy below is on a line of 10 Mbit/s with a round trip of 20 ms
([stock.toml](../bench/live/stock.toml)): *deployed* with [`deploy`](deploy.md) (the kernel's queues, eBPF, or a BPF qdisc, as
[docs/kernels.md](kernels.md) shows), and *inline* with [`inline`](inline.md). Hosts have the kernel's TCP (CUBIC). Pages are requested at
the times of the simulation. Roles of the sending host are not bound, in any column.

Times are medians and 95th percentiles over {replicas} of 20 s. A live figure agrees if it differs from the simulation by at most
20 % (medians, goodput) or 30 % (95th percentiles); differences below 2 ms do not count. Delays of the call are without propagation.

Few pages decide a 95th percentile: a replica has about 400 pages of 2 KB and of 8 KB, 130 of 30 KB and 50 of 100 KB. So the same pages
are simulated eight times more, on lines whose delay is up to 0.04 ms shorter or longer. The column *range* has the least and the most
of the nine. A figure that does not agree but lies within this range differs by chance (\\*); the others are in bold. One more such
simulation would lie outside the range of nine in one case of five.
"""

EXPLAINED = """
- `sima` drops several of a small page's six packets at once. The simulated site sends them and the FIN at 1 Gbit/s. The live one takes up
  to 1 ms for them and 0.1 to 0.6 ms more for the FIN, since each instruction takes a nanosecond. So the last ones find room more often,
  and the kernel sees the losses at once: in a capture of 133 live pages of 8 KB, inline, 33 were repaired without a tail loss probe, of
  136 simulated pages 3. Probes are often faster than the handshake was; RACK then waits for the timer, in both. Over 0.3 s take 55 % of
  the simulated pages, 47 % with a site of 60 Mbit/s, and 41 % inline.
- Under `wrr` some pages wait a second for a lost SYN or a timeout: by size 0.8 to 2.4 % of the simulated ones, 1.3 to 2.5 % of those
  that are deployed and 1.7 to 5.6 % inline. Few of them move a 95th percentile by hundreds of milliseconds.
- Under `drr` and `shaper`, deployed, the same two of 48 pages of 100 KB take 0.2 to 0.4 s longer than inline. The cause is not known.
"""


@dataclass(frozen=True)
class Measured:
    """What readers meet: bytes and seconds of each page, the mean delay and the loss of the call, and how long it was measured."""

    pages: list[tuple[int, float]]
    call: float
    lost: float
    seconds: float


@dataclass(frozen=True)
class Compared:
    """A policy's simulations, the first of which is the one with the line's own delay; and by way what was live, or why nothing ran."""

    simulated: list[Measured]
    live: dict[str, Measured | str]


@dataclass(frozen=True)
class Figure:
    """A row of a policy: its value in a column, how it is printed, and how far live values may be off."""

    name: str
    of: Callable[[Measured], float]
    shown: Callable[[float], str]
    tolerance: float
    negligible: float


def quantile(values: list[float], share: float) -> float:
    """The smallest value that a share of all does not exceed."""
    ordered = sorted(values)
    return ordered[min(len(ordered) - 1, int(share * len(ordered)))]


def pages_of(size: int, share: float) -> Callable[[Measured], float]:
    return lambda measured: quantile([time for one, time in measured.pages if one == size], share)


def milliseconds(value: float) -> str:
    return f"{value * 1000:.1f} ms" if value < 0.1 else f"{value * 1000:.0f} ms"


def goodput(measured: Measured) -> float:
    return sum(size for size, _ in measured.pages) * 8 / measured.seconds


FIGURES = [
    *(Figure(f"pages of {label}, {name}", pages_of(size, share), milliseconds, tolerance, NEGLIGIBLE)
      for label, size in SIZES.items() for name, share, tolerance in (("median", 0.5, MEDIAN), ("95 %", 0.95, TAIL))),
    Figure("goodput of pages", goodput, lambda value: f"{value / 1e6:.2f} Mbit/s", MEDIAN, 0.0),
    Figure("call, mean delay", lambda measured: measured.call, milliseconds, MEDIAN, NEGLIGIBLE),
    Figure("call, lost", lambda measured: measured.lost, lambda value: f"{value * 100:.2f} %", MEDIAN, 0.002),
]  # fmt: skip


def is_close(figure: Figure, simulated: float, live: float) -> bool:
    return abs(live - simulated) <= max(figure.negligible, figure.tolerance * simulated)


def span(figure: Figure, columns: Compared) -> tuple[float, float]:
    """The least and the most of the simulations."""
    values = [figure.of(one) for one in columns.simulated]
    return min(values), max(values)


def judged(figure: Figure, columns: Compared, way: str) -> str:
    """How a live figure stands to the simulations: it agrees, differs by chance, or differs."""
    live = figure.of(columns.live[way])
    least, most = span(figure, columns)
    if is_close(figure, figure.of(columns.simulated[0]), live):
        return "agrees"
    return "by chance" if least <= live <= most else "differs"


def cells(figure: Figure, columns: Compared) -> list[str]:
    """A row: the figure of the simulation, the range of all of them, and the live figures."""
    least, most = (figure.shown(value) for value in span(figure, columns))
    row = [figure.shown(figure.of(columns.simulated[0])), least if least == most else f"{least} to {most}"]
    for way in WAYS:
        if isinstance(columns.live[way], str):
            row.append("–")
            continue
        value = figure.shown(figure.of(columns.live[way]))
        row.append({"agrees": value, "by chance": f"{value} \\*", "differs": f"**{value}**"}[judged(figure, columns, way)])
    return row


def agreement(found: dict[str, Compared]) -> str:
    """How many live figures agree with the simulation, by way."""
    lines = []
    for way in WAYS:
        verdicts = [judged(figure, columns, way)
                    for columns in found.values() if not isinstance(columns.live[way], str) for figure in FIGURES]  # fmt: skip
        close, by_chance = verdicts.count("agrees"), verdicts.count("by chance")
        lines.append(f"- {way}: {close} of {len(verdicts)} figures agree, {by_chance} differ by chance, {verdicts.count('differs')} differ.")
    return "\n".join(lines)


def not_run(found: dict[str, Compared]) -> str:
    """The policies that did not run, and why."""
    reasons = [(name, way, columns.live[way]) for name, columns in found.items() for way in WAYS if isinstance(columns.live[way], str)]
    return "\n".join(f"- `{name}`, {way}: {reason.splitlines()[-1]}" for name, way, reason in reasons)


def write_page(
    to: Path | TextIO, kernel: str, replicas: int, found: dict[str, Compared], without_results: Sequence[str] = ()
) -> None:
    rows = [[f"`{name}`", figure.name, *cells(figure, columns)] for name, columns in found.items() for figure in FIGURES]
    table = "\n".join(grid(["policy", "of", "simulated", "range", *WAYS], rows, right=range(2, 6)))
    absent = not_run(found)
    if without_results:
        absent = "\n".join([*filter(None, [absent]), f"- No results yet: {', '.join(f'`{name}`' for name in without_results)}."])
    count = "one replica" if replicas == 1 else f"{replicas} replicas"
    text = "\n".join([HEAD.format(kernel=kernel, replicas=count), agreement(found), EXPLAINED, table, *(["", "Not run:", "", absent] if absent else [])])
    if isinstance(to, Path):
        to.write_text(text + "\n")
    else:
        print(text, file=to)


