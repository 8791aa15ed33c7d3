"""The chapter: each model's error over its range, and every figure that misses its target."""

import math
from dataclasses import dataclass
from statistics import median

from draws import FAMILIES, SEED, Family
from running import Figure, Found
from shared import Line, Page, data_link, grid

NAME = "predictions-against-simulations"
TITLE = "Predictions against simulations"


@dataclass(frozen=True)
class Target:
    """The target for the figures of a family."""

    words: str
    is_of: object
    holds: object
    # Whether it is held by intervals, some of which miss what is exact.
    by_interval: bool = False


def within(share: float):
    return lambda figure: abs(figure.off) <= share


def named(*endings: str):
    return lambda figure: figure.of.endswith(endings)


def is_time(figure: Figure) -> bool:
    return ":" not in figure.of and "line" not in figure.of


INSIDE = Target("mean delay within the simulator's 95 % interval", named(": delay"), lambda figure: figure.is_inside, True)

TARGETS = {
    "queue": [INSIDE, Target("median, p95 and p99 of the delay within 5 %", named("median", "p95", "p99"), within(0.05))],
    "priority": [INSIDE],
    "recursion": [Target("mean completion time by length within 5 %", lambda figure: ", " in figure.of, within(0.05))],
    "pftk": [Target("goodput within 15 %", named("goodput"), within(0.15))],
    "whole": [Target("mean completion time by size within 20 %", lambda figure: is_time(figure) and ", " in figure.of, within(0.2))],
    "path": [Target("mean completion time by size within 20 %", lambda figure: is_time(figure) and ", " in figure.of, within(0.2))],
    "filled": [Target("goodput within 5 %", named("goodput"), within(0.05)),
               Target("wait at RED within 35 %", named("wait at the line"), within(0.35))],
    "loops": [Target("mean time within 20 %", is_time, within(0.2))],
}  # fmt: skip


def chapter(found: dict[str, list[Found]], notes: dict[str, str], version: str) -> Page:
    """The whole chapter."""
    missed = [[family.title, *row] for family in FAMILIES for row in misses(family, found[family.name])]
    count = sum(len(each) for each in found.values())
    lines = [
        f"# {TITLE}", "",
        f"`shortflow predict` {version} is compared with simulations of 4 or 8 replicas, over {count} scenarios. They are drawn",
        f"at random from the range of each model, with seed {SEED}. `make validate-predict` runs them and writes this page.", "",
        f"**Off** is predicted over simulated, less one. {data_link(NAME, len(missed), 'figures that miss')}", "",
        *grid(["model", "scenarios", "no closed form", "target", "figures", "hold", "share", "off: median", "worst"],
              [row for family in FAMILIES for row in rows(family, found[family.name])],
              right=[1, 2, 4, 5, 6, 7, 8]), "",
        *coverage(found),
    ]  # fmt: skip
    for family in FAMILIES:
        lines += part(family, found[family.name], notes.get(family.name, ""))
    return Page(NAME, "\n".join(lines), ["model", *MISSED], missed, [line(found, len(missed))])


def line(found: dict[str, list[Found]], missed: int) -> Line:
    """The line of the summary."""
    count = sum(target.is_of(figure) for family in FAMILIES for each in found[family.name]
                for figure in each.figures for target in TARGETS[family.name])  # fmt: skip
    return Line(TITLE, NAME, "simulations", count, count - missed, missed)


def rows(family: Family, all_found: list[Found]) -> list[list[str]]:
    """A row for each target of a family."""
    lines = []
    for at, target in enumerate(TARGETS[family.name]):
        figures = [figure for found in all_found for figure in found.figures if target.is_of(figure)]
        held = sum(1 for figure in figures if target.holds(figure))
        offs = sorted((figure.off for figure in figures), key=abs)
        refused = sum(1 for found in all_found if found.refused)
        lines.append([
            family.title if at == 0 else "", str(len(all_found)) if at == 0 else "",
            str(refused) if at == 0 else "", target.words, str(len(figures)), str(held),
            f"{100 * held / len(figures):.0f} %" if figures else "–",
            signed(median(offs)) if offs else "–", signed(offs[-1]) if offs else "–",
        ])  # fmt: skip
    return lines


def coverage(found: dict[str, list[Found]]) -> list[str]:
    """The number of intervals that contain the prediction, and the number expected of an exact one."""
    lines = []
    for family in FAMILIES:
        for target in TARGETS[family.name]:
            figures = [figure for each in found[family.name] for figure in each.figures]
            figures = [figure for figure in figures if target.by_interval and target.is_of(figure)]
            # Those of one scenario share its arrivals: what is alike in all of them is counted apart.
            for of in sorted({figure.of for figure in figures}):
                inside = [figure.is_inside for figure in figures if figure.of == of]
                low, high = binomial_band(len(inside), 0.95)
                lines.append([family.title, of, str(len(inside)), str(sum(inside)), f"{low} to {high}",
                              "yes" if low <= sum(inside) <= high else "no"])  # fmt: skip
    if not lines:
        return []
    about = ("A 95 % interval misses one exact figure in twenty. For exact models, the table has the number of intervals that\n"
             "contain the prediction. The next column has the binomial 95 % range of that number for an exact model.")  # fmt: skip
    heads = ["model", "of", "intervals", "contain it", "of an exact model", "as an exact one"]
    return [about, "", *grid(heads, lines, right=[2, 3, 4]), ""]


def binomial_band(count: int, share: float) -> tuple[int, int]:
    """The band for the number of successes among `count`, each with probability `share`. Fewer, and likewise more, have a probability of at
    most one in forty.
    """
    chances = [math.comb(count, n) * share**n * (1 - share) ** (count - n) for n in range(count + 1)]
    low = next(n for n in range(count + 1) if sum(chances[: n + 1]) > 0.025)
    high = next(n for n in range(count, -1, -1) if sum(chances[n:]) > 0.025)
    return low, high


def part(family: Family, all_found: list[Found], note: str) -> list[str]:
    """The figures of a family that miss, by name, and why."""
    body = misses(family, all_found)
    lines = [f"## {family.title}", ""]
    if note:
        lines += [note, ""]
    if not body:
        return [*lines, "Every figure holds.", ""]
    return [*lines, "Missed:", "", *grid(MISSED, body, right=[2, 3, 4]), ""]


MISSED = ("scenario", "of", "predicted", "simulated", "off")


def misses(family: Family, all_found: list[Found]) -> list[list[str]]:
    """The figures of a family that miss."""
    return [
        [found.drawn.words, figure.of, value(figure, figure.predicted), value(figure, figure.simulated), signed(figure.off)]
        for found in all_found for target in TARGETS[family.name] for figure in found.figures
        if target.is_of(figure) and not target.holds(figure)
    ]  # fmt: skip


def signed(share: float) -> str:
    text = f"{abs(share) * 100:.1f} %"
    return text if text == "0.0 %" else ("+" if share > 0 else "−") + text


def value(figure: Figure, number: float) -> str:
    """A figure in its unit."""
    if figure.of.endswith("goodput"):
        return f"{number / 1e6:.3g} Mbit/s"
    if figure.of.startswith("loss"):
        return f"{number * 100:.2f} %"
    return f"{number * 1e3:.4g} ms"
