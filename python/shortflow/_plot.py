"""Figures in the style of the project."""

from __future__ import annotations

import math
import warnings
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import InputError, MachineError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Interval = tuple[float, float | None, float | None, int]

# A mean with its interval, and whether it is only a bound.
Mean = tuple[Interval | None, str | None]

MARKERS = "osDP*Xph"
BOUNDS = {"at least": "^", "at most": "v"}


def draw(
    curves: Mapping[str, Mapping[Any, Mean]],
    x: str,
    measure: str,
    unit: str,
    workloads: Sequence[str],
    ax: Axes | None,
) -> Axes:
    """Means over a setting with their intervals, a curve for each name."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MachineError("plot needs matplotlib: pip install 'shortflow[plot]'") from None
    if ax is not None and not callable(getattr(ax, "plot", None)):
        raise InputError(f"ax = {ax!r}: give axes of matplotlib")
    with pyplot.rc_context(style()):
        if ax is None:
            ax = pyplot.figure(layout="constrained").add_subplot()
        for at, (name, curve) in enumerate(curves.items()):
            _curve(ax, at, name, curve)
        ax.set_xlabel(x)
        ax.set_ylabel(f"{measure} ({unit})" if unit else measure)
        ax.set_ylim(bottom=0)
        if workloads:
            ax.set_title(workloads[0], loc="left")
        if len(ax.get_lines()) > 1:
            ax.legend(frameon=False)
    return ax


def style() -> dict[str, Any]:
    """The style of the project's figures, for ``matplotlib.rc_context``."""
    from cycler import cycler

    ink, grid, colors = _core.STYLE
    plain = {name: ink for name in ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color")}
    return {
        **plain,
        "axes.grid": True,
        "axes.axisbelow": True,
        "axes.spines.top": False,
        "axes.spines.right": False,
        "axes.prop_cycle": cycler(color=colors),
        "axes.titlesize": "medium",
        "grid.color": grid,
        "font.family": "sans-serif",
        "figure.figsize": (7.0, 4.0),
        "svg.hashsalt": "shortflow",
    }


def mean(values: Sequence[tuple[float, str | None]]) -> Mean:
    """The mean of values, some of which are only bounds; values that are bounded on both sides have none."""
    bounds = {bound for _, bound in values if bound is not None}
    interval = _core.estimate([value for value, _ in values])
    if interval is None or len(bounds) > 1:
        return None, None
    return interval, next(iter(bounds), None)


def _curve(ax: Axes, at: int, name: str, curve: Mapping[Any, Mean]) -> None:
    points = list(curve.items())
    left_out = [x for x, (found, _) in points if found is None]
    if left_out:
        warnings.warn(f"{name}: the mean at {left_out[0]} is not drawn, since its values have bounds on both sides", stacklevel=4)
    if len(left_out) == len(points):
        raise InputError(f"{name} has no value to draw")
    is_number = all(isinstance(x, (int, float)) for x, _ in points)
    if is_number:
        points.sort(key=lambda point: point[0])
    places = [x if is_number else str(x) for x, _ in points]
    nan = math.nan
    exact = [found[0] if found is not None and bound is None else nan for _, (found, bound) in points]
    color = _core.STYLE[2][at % len(_core.STYLE[2])]
    ax.plot(places, exact, marker=MARKERS[at % len(MARKERS)], color=color, label=name)
    for kind, marker in BOUNDS.items():
        means = [found[0] if found is not None and bound == kind else nan for _, (found, bound) in points]
        if not all(math.isnan(one) for one in means):
            ax.plot(places, means, marker=marker, linestyle="none", markerfacecolor="none", color=color, label=f"{name}, {kind}")
    low, high = ([_end(found, bound, end) for _, (found, bound) in points] for end in (1, 2))
    if not all(math.isnan(one) for one in low):
        ax.fill_between(places, low, high, color=color, alpha=0.18, linewidth=0)


def _end(found: Interval | None, bound: str | None, which: int) -> float:
    """An end of the interval of a mean; NaN if it has none."""
    end = None if found is None or bound is not None else found[which]
    return math.nan if end is None else float(end)
