"""What answers hang on: tornados, functions of one parameter and of two, the impact of findings."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.plotting.charts.chart import Chart
from plausible.plotting.charts.chart_axes import MOST_ROWS, ChartAxes, label_of, left_out, told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from plausible.decisions.sensitivity.thresholds import StrategyStability
    from plausible.decisions.sensitivity.tornado import DecisionTornado
    from plausible.inference.findings import Conflict, EvidenceImpact
    from plausible.inference.sensitivity.functions import SensitivityFunction
    from plausible.inference.sensitivity.surfaces import SensitivitySurface

#: Points of a curve, and along each side of a surface.
_POINTS, _GRID = 201, 81


def plot_tornado(table: pd.DataFrame, ax: Axes | None = None) -> Chart:
    """A bar for each parameter, from the answer where it is low to the answer where it is high.

    Parameters
    ----------
    table
        What `tornado` of a model gives, or some of its rows.

    Examples
    --------
    >>> import plausible as pb
    >>> table = pb.examples.load("asia").tornado("lung", "yes", {"xray": "yes"}, limit=2)
    >>> print(pb.plotting.plot_tornado(table))
    P(lung=yes | e) = 0.489
    P(xray=no | either=no): 0.271 at 0.855, 0.848 at 1
    P(lung=no | smoke=yes): 0.646 at 0.81, 0.142 at 0.99
    """
    if not {"parameter", "low", "high", "at_low", "at_high"} <= set(table.columns) or "probability" not in table.attrs:
        raise InvalidArgument("This is no table of a tornado: give what net.tornado(...) gives, or rows of it.")
    now, event = float(table.attrs["probability"]), table.attrs["event"]
    columns = [table[name].to_numpy(np.float64) for name in ("low", "high", "at_low", "at_high")]
    return _tornado(ax, f"P({event} | e) = {told(now)}", f"P({event} | e)", now, list(table["parameter"]), columns)


def plot_decision_tornado(found: DecisionTornado, ax: Axes | None = None) -> Chart:
    """The same for numbers of a diagram; a star where the strategy changes."""
    names = [f"{bar.number} *" if bar.changes_strategy else str(bar.number) for bar in found.bars]
    columns = np.array([(bar.low, bar.high, bar.at_low, bar.at_high) for bar in found.bars]).reshape(-1, 4).T
    title = f"{found.measure}, now {told(found.current)}"
    title += " (* the strategy changes)" if any(bar.changes_strategy for bar in found.bars) else ""
    return _tornado(ax, title, found.measure, found.current, names, list(columns))


def _tornado(ax: Axes | None, title: str, measure: str, now: float, names: list[Any], columns: list[Floats]) -> Chart:
    shown = min(len(names), MOST_ROWS)
    low, high, at_low, at_high = (column[:shown] for column in columns)
    axes, rows = ChartAxes(ax, title, shown), np.arange(shown)
    for ends, name, colour in ((at_low, "lowered", axes.colour("seen")), (at_high, "raised", axes.colour("bar"))):
        axes.bars(rows, np.where(np.isfinite(ends), ends, now), now, colour=colour, label=name)
    axes.rule(now)
    axes.name_rows(names[:shown])
    axes.grid("x")
    axes.ax.margins(x=0.06)
    if not shown:
        axes.nothing("No number moves it.")
    says = [
        f"{label_of(name)}: {told(at_low[row])} at {told(low[row])}, {told(at_high[row])} at {told(high[row])}"
        for row, name in enumerate(names[:shown])
    ]
    return axes.chart(measure, "", says + left_out(len(names), shown, "numbers"))


def plot_sensitivity(function: SensitivityFunction, ax: Axes | None = None) -> Chart:
    """The answer as a function of one parameter, with the present values marked."""
    values = np.linspace(0.0, 1.0, _POINTS)
    axes = ChartAxes(ax, f"P({function.event} | e) = {told(function.value)} now, at the dot")
    axes.line(values, function(values))
    axes.points([function.current], [function.value], colour=axes.colour("seen"), markersize=7)
    axes.grid("both")
    axes.ax.set_xlim(-0.02, 1.02)
    axes.ax.set_ylim(-0.03, 1.03)
    ends = [(at, function(at)) for at in (0.0, function.current, 1.0)]
    says = [f"{told(answer)} at {told(at)}" + (" (now)" if n == 1 else "") for n, (at, answer) in enumerate(ends)]
    return axes.chart(str(function.parameter), f"P({function.event} | e)", says)


def plot_surface(surface: SensitivitySurface, ax: Axes | None = None) -> Chart:
    """Lines of equal probability over two parameters, with the present values marked."""
    grid = np.linspace(0.0, 1.0, _GRID)
    heights = surface(grid, grid[:, None])  # a row for each value of the second parameter
    axes = ChartAxes(ax, f"P({surface.event} | e) = {told(surface.value)} now, at the dot")
    axes.contours(grid, grid, heights, np.linspace(0.1, 0.9, 9))
    axes.points([surface.current[0]], [surface.current[1]], colour=axes.colour("seen"), markersize=7, zorder=4)
    axes.ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02))
    corners = [(a, b, surface(a, b)) for a in (0.0, 1.0) for b in (0.0, 1.0)]
    says = [f"{told(answer)} at {told(a)} and {told(b)}" for a, b, answer in corners]
    first, second = map(str, surface.parameters)
    now = f"{told(surface.value)} at {' and '.join(map(told, surface.current))} (now)"
    return axes.chart(first, second, [now, *says])


def plot_evidence_impact(impact: EvidenceImpact, ax: Axes | None = None) -> Chart:
    """What each finding did to the belief: given the others, and by itself."""
    shown = impact.findings[:MOST_ROWS]
    axes, rows = ChartAxes(ax, f"Impact of findings on {impact.target}", len(shown) * 2), np.arange(len(shown))
    together, alone = [one.divergence for one in shown], [one.divergence_alone for one in shown]
    for side, label, values in ((-0.19, "given the others", together), (0.19, "alone", alone)):
        colour = axes.series(int(side > 0))
        axes.bars(rows + side, values, thickness=0.35, colour=colour, label=label)
        axes.end_labels(rows + side, values, list(map(told, values)))
    axes.name_rows(f"{finding.name}={finding.finding}" for finding in shown)
    axes.grid("x")
    axes.ax.margins(x=0.12)
    if not shown:
        axes.nothing("There are no findings.")
    says = [*map(str, shown), *left_out(len(impact.findings), len(shown), "findings")]
    return axes.chart("divergence from the belief without it (nats)", "", says)


def plot_conflict(conflict: Conflict, ax: Axes | None = None) -> Chart:
    """How much each finding disagrees with all others together."""
    ordered = sorted(conflict.partial.items(), key=lambda item: -item[1])
    shown = ordered[:MOST_ROWS]
    values = np.array([value for _, value in shown])
    told_first = str(conflict).split(", by finding")[0]
    axes, rows = ChartAxes(ax, told_first[:1].upper() + told_first[1:], len(shown)), np.arange(len(shown))
    for wanted, colour in ((values > 0, axes.colour("bad")), (values <= 0, axes.colour("bar"))):
        axes.bars(rows[wanted], values[wanted], colour=colour)
    axes.end_labels(rows, values, list(map(told, values)))
    axes.name_rows(name for name, _ in shown)
    axes.rule(0.0)
    axes.ax.margins(x=0.16)
    if not shown:
        axes.nothing("There are no findings.")
    says = [f"{label_of(name)}: {told(value)}" for name, value in shown]
    says += left_out(len(ordered), len(shown), "findings")
    return axes.chart("conflict with the other findings (nats)", "", says)


def plot_stability(stability: StrategyStability, ax: Axes | None = None) -> Chart:
    """For each number past which another strategy is better, how far it may move: in units of its scale."""
    fragile = stability.fragile
    shown = fragile[:MOST_ROWS]
    title = f"{len(fragile)} of {len(stability.intervals)} numbers can change the strategy"
    axes, rows = ChartAxes(ax, title, len(shown)), np.arange(len(shown))
    ends = np.array([[(end - one.current) / one.scale for end in (one.low, one.high)] for one in shown]).reshape(-1, 2)
    reach = 1.1 * np.abs(ends[np.isfinite(ends)]).max(initial=0.0) or 1.0
    axes.bars(rows, np.minimum(ends[:, 1], reach), np.maximum(ends[:, 0], -reach), thickness=0.5)
    axes.rule(0.0)
    axes.name_rows(one.number for one in shown)
    axes.grid("x")
    if not shown:
        axes.nothing("Whatever number is varied alone, the strategy stays the best.")
    says = [f"{one.number}: from {told(one.low)} to {told(one.high)}, now {told(one.current)}" for one in shown]
    return axes.chart("change that leaves the strategy optimal, as a share of the scale", "", says)
