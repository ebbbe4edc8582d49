"""Estimates and bounds with their intervals, side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plausible.base.records import Result
from plausible.errors import InvalidArgument
from plausible.plotting.charts.chart import Chart
from plausible.plotting.charts.chart_axes import MOST_ROWS, ChartAxes, label_of, left_out, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes


class Interval(NamedTuple):
    """A number and where it may lie; NaN for what is not known."""

    middle: float
    low: float
    high: float


def plot_intervals(
    estimates: Mapping[str, Any], ax: Axes | None = None, title: str = "Estimates", what: str = "value"
) -> Chart:
    """Several estimates with their intervals, one below the other.

    Parameters
    ----------
    estimates
        Name -> an estimate of an effect, bounds, a pooled estimate, a posterior answer, a pair (low, high), or a
        number.

    Examples
    --------
    >>> import plausible as pb
    >>> print(pb.plotting.plot_intervals({"assumed": 0.2, "bounds": (-0.1, 0.4)}, title="Effect"))
    Effect
    assumed: 0.2
    bounds: from -0.1 to 0.4
    """
    if not isinstance(estimates, Mapping):
        raise InvalidArgument("estimates= takes names with what they stand for: {name: estimate, ...}.")
    read = {name: _interval_of(found, name) for name, found in estimates.items()}
    shown = list(read.items())[:MOST_ROWS]
    axes = ChartAxes(ax, title, len(shown))
    for row, (_, (middle, low, high)) in enumerate(shown):
        axes.line([low, high], [row, row], marker="|", markersize=9, linewidth=2.2)
        axes.points([middle], [row], colour=axes.colour("seen"))
    axes.name_rows(name for name, _ in shown)
    axes.grid("x")
    axes.ax.margins(x=0.1)
    if axes.ax.get_xlim()[0] < 0 < axes.ax.get_xlim()[1]:
        axes.rule(0.0)
    if not shown:
        axes.nothing("There are no estimates.")
    says = [f"{label_of(name)}: {_in_words(interval)}" for name, interval in shown]
    return axes.chart(what, "", says + left_out(len(read), len(shown), "estimates"))


def _interval_of(found: Any, name: str) -> Interval:
    """What is known of an estimate under the names that records have for it."""
    if isinstance(found, int | float) and not isinstance(found, bool):
        return Interval(float(found), np.nan, np.nan)
    if isinstance(found, tuple) and len(found) == 2:
        return Interval(np.nan, float(found[0]), float(found[1]))
    middles = (getattr(found, key) for key in ("difference", "estimate", "mean") if hasattr(found, key))
    middle = next(middles, np.nan)
    if isinstance(found, Result) and hasattr(found, "lower"):
        return Interval(middle, *(float(getattr(found, end)) for end in ("lower", "upper")))
    if isinstance(found, Result) and hasattr(found, "interval"):
        interval = found.interval() if callable(found.interval) else found.interval
        return Interval(middle, *(interval or (np.nan, np.nan)))
    raise InvalidArgument(f"{name!r} has no interval to draw: give an estimate, bounds, (low, high) or a number.")


def _in_words(interval: Interval) -> str:
    middle, low, high = interval
    ends = "" if np.isnan(low) and np.isnan(high) else f"from {told(low)} to {told(high)}"
    return ", ".join(filter(None, ["" if np.isnan(middle) else told(middle), ends])) or "not known"
