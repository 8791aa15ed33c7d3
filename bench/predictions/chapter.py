"""The chapter: of each model how far it is off over its range, and by name what misses its target."""

import math
from dataclasses import dataclass
from statistics import median

from draws import FAMILIES, SEED, Family
from running import Figure, Found
from shared import grid


@dataclass(frozen=True)
class Target:
    """What the figures of a family are held to."""

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


def chapter(found: dict[str, list[Found]], notes: dict[str, str], version: str) -> str:
    """The whole chapter."""
    count = sum(len(each) for each in found.values())
    lines = [
        "## Predictions against simulations", "",
        f"What `shortflow predict` {version} tells of {count} scenarios, drawn at random from the range of each model with",
        f"seed {SEED}, beside simulations of 4 or 8 replicas (`make validate-predict`, which writes this chapter). Off is",
        "predicted over simulated, less one.", "",
        *grid(["model", "scenarios", "no closed form", "target", "figures", "hold", "share", "off: median", "worst"],
              [row for family in FAMILIES for row in rows(family, found[family.name])],
              right=[1, 2, 4, 5, 6, 7, 8]), "",
        *coverage(found),
    ]  # fmt: skip
    for family in FAMILIES:
        lines += part(family, found[family.name], notes.get(family.name, ""))
    return "\n".join(lines)


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
    """How many intervals hold what is predicted, beside how many would hold what is exact."""
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
    told = ("An interval of 95 % misses one exact figure in twenty. So of the models that are exact it is counted how many "
            "intervals hold the prediction, beside how many of so many independent ones do with a probability of 95 % or more "
            "(binomial).")  # fmt: skip
    heads = ["model", "of", "intervals", "hold it", "of an exact model", "as an exact one"]
    return [told, "", *grid(heads, lines, right=[2, 3, 4]), ""]


def binomial_band(count: int, share: float) -> tuple[int, int]:
    """From how many to how many of `count` succeed, each with probability `share`, when fewer, and when more, happens once in
    forty times at most."""
    chances = [math.comb(count, n) * share**n * (1 - share) ** (count - n) for n in range(count + 1)]
    low = next(n for n in range(count + 1) if sum(chances[: n + 1]) > 0.025)
    high = next(n for n in range(count, -1, -1) if sum(chances[n:]) > 0.025)
    return low, high


def part(family: Family, all_found: list[Found], note: str) -> list[str]:
    """What misses in a family, by name, and why."""
    body = []
    for found in all_found:
        for target in TARGETS[family.name]:
            for figure in found.figures:
                if target.is_of(figure) and not target.holds(figure):
                    body.append([found.drawn.words, figure.of, value(figure, figure.predicted),
                                 value(figure, figure.simulated), signed(figure.off)])  # fmt: skip
    lines = [f"### {family.title}", ""]
    if note:
        lines += [note, ""]
    if not body:
        return [*lines, "Every figure holds.", ""]
    head = ["scenario", "of", "predicted", "simulated", "off"]
    return [*lines, "Missed:", "", *grid(head, body, right=[2, 3, 4]), ""]


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
