"""Figures in the style of the project."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from . import _core
from ._errors import InputError, MachineError

if TYPE_CHECKING:
    from matplotlib.axes import Axes

Interval = tuple[float, float | None, float | None, int]

MARKERS = "osD^vP*X"


def draw(
    curves: Mapping[str | None, Mapping[Any, Interval | None]],
    x: str,
    measure: str,
    unit: str,
    workloads: Sequence[str],
    ax: Axes | None,
) -> Axes:
    """Means over a setting with their intervals, a curve for each policy."""
    try:
        from matplotlib import pyplot
    except ImportError:
        raise MachineError("plot needs matplotlib: pip install 'shortflow[plot]'") from None
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
        if len(curves) > 1:
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


def _curve(ax: Axes, at: int, name: str | None, curve: Mapping[Any, Interval | None]) -> None:
    known = [(x, found) for x, found in curve.items() if found is not None]
    if not known:
        raise InputError(f"{name} has no value to draw")
    if all(isinstance(x, (int, float)) for x, _ in known):
        known.sort()
        places = [x for x, _ in known]
    else:
        places = [str(x) for x, _ in known]
    means = [found[0] for _, found in known]
    color = _core.STYLE[2][at % len(_core.STYLE[2])]
    ax.plot(places, means, marker=MARKERS[at % len(MARKERS)], color=color, label=name or "policy of the scenario")
    if all(found[1] is not None for _, found in known):
        low, high = ([found[end] for _, found in known] for end in (1, 2))
        ax.fill_between(places, low, high, color=color, alpha=0.18, linewidth=0)
