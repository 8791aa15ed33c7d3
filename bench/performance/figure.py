"""The figure of growth: CPU per packet-hop against flows and against nodes."""

from collections.abc import Sequence
from math import ceil, log10

from growth import Cost, Growth
from tables import MAX_GROWTH

PANEL_WIDTH, PANEL_HEIGHT = 300, 200
LEFT, TOP, GAP, BOTTOM = 60, 36, 60, 48
WIDTH = LEFT + 2 * PANEL_WIDTH + GAP + 24
HEIGHT = TOP + PANEL_HEIGHT + BOTTOM


def colors(ink: str, grid: str, paper: str, line: str, limit: str) -> str:
    return (f"text {{ fill: {ink}; }} .axis {{ stroke: {ink}; }} .grid {{ stroke: {grid}; }} "
            f".paper {{ fill: {paper}; }} .curve {{ stroke: {line}; }} .dot {{ fill: {line}; }} "
            f".limit {{ stroke: {limit}; }}")  # fmt: skip


STYLE = (
    "text { font: 12px sans-serif; } "
    + colors("#333333", "#dddddd", "#ffffff", "#1f6fb2", "#b23a1f")
    + " @media (prefers-color-scheme: dark) { "
    + colors("#e6e9ed", "#3a4048", "#16191d", "#4ba6e8", "#f0803c")
    + " }"
)


def figure(found: Growth) -> str:
    """Two panels as SVG, with one scale."""
    largest = max(cost.ns_per_hop for cost in (*found.flows, *found.nodes))
    limits = [MAX_GROWTH * costs[0].ns_per_hop for costs in (found.flows, found.nodes)]
    top = nice_step(max(largest, *limits)) * 5
    return "\n".join((
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {HEIGHT}" role="img">',
        "<title>CPU nanoseconds per packet-hop against concurrent flows and nodes</title>",
        f"<style>{STYLE}</style>",
        f'<rect class="paper" width="{WIDTH}" height="{HEIGHT}"/>',
        y_label("CPU ns per packet-hop"),
        *panel("concurrent flows", found.flows, LEFT, top),
        *panel("nodes", found.nodes, LEFT + PANEL_WIDTH + GAP, top),
        "</svg>\n",
    ))  # fmt: skip


def nice_step(most: float) -> float:
    """The smallest of 1, 2, 5 × 10ⁿ of which five reach `most`."""
    unit = 10 ** (ceil(log10(most / 5)) - 1)
    return next(unit * factor for factor in (1, 2, 5, 10) if unit * factor * 5 >= most)


def panel(title: str, costs: Sequence[Cost], left: float, top: float) -> list[str]:
    decades = ceil(log10(costs[0].size)), ceil(log10(costs[-1].size) - 0.01)

    def x(size: float) -> float:
        return left + (log10(size) - decades[0]) / (decades[1] - decades[0]) * PANEL_WIDTH

    def y(value: float) -> float:
        return TOP + (1 - value / top) * PANEL_HEIGHT

    base, limit = y(0), y(MAX_GROWTH * costs[0].ns_per_hop)
    parts = [text(left, TOP - 14, f"By {title}", "start")]
    for step in range(6):
        value = top / 5 * step
        parts += [rule("grid", left, y(value), left + PANEL_WIDTH, y(value)),
                  text(left - 8, y(value) + 4, f"{value:g}", "end")]  # fmt: skip
    for decade in range(decades[0], decades[1] + 1):
        parts.append(text(x(10**decade), base + 18, f"{10**decade:,}", "middle"))
    parts += [
        rule("axis", left, base, left + PANEL_WIDTH, base),
        f'<line class="limit" x1="{left:.1f}" y1="{limit:.1f}" x2="{left + PANEL_WIDTH:.1f}" '
        f'y2="{limit:.1f}" stroke-dasharray="5 4"/>',
        text(left + 6, limit - 5, "twice the first", "start"),
        curve([(x(cost.size), y(cost.ns_per_hop)) for cost in costs]),
        text(left + PANEL_WIDTH / 2, base + 38, title, "middle"),
    ]
    return parts


def curve(points: Sequence[tuple[float, float]]) -> str:
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    dots = "".join(f'<circle class="dot" cx="{x:.1f}" cy="{y:.1f}" r="3.5"/>' for x, y in points)
    return f'<polyline class="curve" points="{path}" fill="none" stroke-width="2"/>{dots}'


def y_label(words: str) -> str:
    """A vertical label for the first panel."""
    x, y = 16, TOP + PANEL_HEIGHT / 2
    return f'<text transform="translate({x} {y:.1f}) rotate(-90)" text-anchor="middle">{words}</text>'


def rule(kind: str, x1: float, y1: float, x2: float, y2: float) -> str:
    return f'<line class="{kind}" x1="{x1:.1f}" y1="{y1:.1f}" x2="{x2:.1f}" y2="{y2:.1f}"/>'


def text(x: float, y: float, words: str, anchor: str) -> str:
    return f'<text x="{x:.1f}" y="{y:.1f}" text-anchor="{anchor}">{words}</text>'
