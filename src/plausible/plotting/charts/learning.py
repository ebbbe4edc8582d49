"""What was learned, and how certain it is: learning curves, choices among models, strengths of edges, missing cells."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.plotting.charts.chart import Chart
from plausible.plotting.charts.chart_axes import MOST_ROWS, ChartAxes, finite, label_of, left_out, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from plausible.learn.confidence.weighted_graphs import EdgeStrengths
    from plausible.learn.evaluation.cross_validation import LearnerComparison, LearningCurve
    from plausible.learn.evaluation.predicted_events import Calibration, RocCurve
    from plausible.learn.missingness.diagnosis import MissingnessReport

#: Variables of a map of missing cells.
_MOST_COLUMNS = 60


def plot_learning_curve(curve: LearningCurve, ax: Axes | None = None) -> Chart:
    """The loss of each learner by the number of rows, on held-out rows and, dashed, on those learned from."""
    axes = ChartAxes(ax, "Learning curve (dashed: loss of the rows learned from)")
    for place, (name, losses) in enumerate(curve.held_out.items()):
        colour = axes.series(place, len(curve.held_out))
        masked = finite(losses, np.nan)
        axes.band(curve.sizes, masked.min(axis=1), masked.max(axis=1), colour=colour)
        axes.line(curve.sizes, losses.mean(axis=1), colour=colour, label=name)
        axes.line(curve.sizes, curve.training[name].mean(axis=1), colour=colour, dash=1)
    axes.grid("y")
    if len(curve.sizes) > 1 and max(curve.sizes) > 20 * min(curve.sizes):
        axes.ax.set_xscale("log")
    says = [
        f"{label_of(name)}: {told(losses[0].mean())} with {size} rows, {told(losses[-1].mean())} with {curve.sizes[-1]}"
        for name, losses in curve.held_out.items()
        for size in curve.sizes[:1]
    ]
    return axes.chart("rows learned from", "loss of a row (nats)", says)


def plot_learners(comparison: LearnerComparison, ax: Axes | None = None) -> Chart:
    """The mean loss of each learner, one standard error to each side."""
    losses = {name: (found.loss, found.standard_error) for name, found in comparison.results.items()}
    axes = ChartAxes(ax, "Held-out loss", len(losses))
    for row, (mean, error) in enumerate(losses.values()):
        axes.line([mean - error, mean + error], [row, row], marker="|", markersize=8)
        axes.points([mean], [row])
    axes.name_rows(losses)
    axes.grid("x")
    axes.ax.margins(x=0.1)
    says = [f"{label_of(name)}: {told(mean)} ± {told(error)}" for name, (mean, error) in losses.items()]
    return axes.chart("loss of a row (nats)", "", says)


def plot_strengths(strengths: EdgeStrengths, ax: Axes | None = None) -> Chart:
    """How probable each edge is, parted by its direction; those that stand out are dark."""
    ranked = [item for item in strengths._strongest() if item[0] > 0]
    shown = ranked[:MOST_ROWS]
    axes, rows = ChartAxes(ax, f"Strength of edges: {strengths.source}", len(shown)), np.arange(len(shown))
    whole = np.array([strength for strength, _, _ in shown])
    along = np.array([strengths.edge(parent, child) for _, parent, child in shown])
    axes.bars(rows, along, colour=axes.colour("bar"), label="as written")
    axes.bars(rows, whole, along, colour=axes.colour("seen"), label="the other way")
    axes.end_labels(rows, whole, list(map(told, whole)))
    least = strengths.threshold if ranked else 0.5
    axes.rule(least, "threshold")
    axes.name_rows(f"{parent} → {child}" for _, parent, child in shown)
    axes.grid("x")
    axes.ax.set_xlim(0, 1.1)
    if not shown:
        axes.nothing("No edge has any strength.")
    says = [
        f"{label_of(parent)} -> {label_of(child)}: {told(strength)}, the other way {told(strength - one)}"
        for (strength, parent, child), one in zip(shown, along, strict=True)
    ]
    return axes.chart("strength", "", says + left_out(len(ranked), len(shown), "edges"))


def plot_choice(
    values: Sequence[Any],
    scores: Sequence[float],
    best: Any,
    ax: Axes | None = None,
    *,
    title: str,
    what: str,
    score: str,
    beside: Sequence[float] = (),
    beside_name: str = "",
) -> Chart:
    """How well each of several values does, such as numbers of states or strengths of a penalty; the best is marked.

    Parameters
    ----------
    beside, beside_name
        Another number for each of them, drawn against an axis of its own on the right.
    """
    axes = ChartAxes(ax, f"{title}: {told(best)} chosen")
    axes.line(values, scores)
    axes.grid("y")
    places = [place for place, value in enumerate(values) if value == best]
    chosen = [(values[place], scores[place]) for place in places]
    axes.points(*np.array(chosen, np.float64).reshape(-1, 2).T, colour=axes.colour("seen"), markersize=8)
    numbers = np.array(values, dtype=np.float64)
    if len(numbers) > 2 and numbers.min() > 0 and numbers.max() > 20 * numbers.min():
        axes.ax.set_xscale("log")
    elif all(isinstance(value, int) for value in values):
        axes.ax.set_xticks(values)
    if len(beside):
        axes.line_on_the_right(values, beside, f"{beside_name} (dotted)")
    more = [f", {told(number)} {beside_name}" for number in beside] or [""] * len(values)
    marks = [" (chosen)" if place in places else "" for place in range(len(values))]
    says = [f"{told(v)}: {s:.6g}{rest}{mark}" for v, s, rest, mark in zip(values, scores, more, marks, strict=True)]
    return axes.chart(what, score, says)


def plot_missing(report: MissingnessReport, ax: Axes | None = None) -> Chart:
    """Which cells are missing: a column for each variable, a row for each pattern, as high as it has rows."""
    names = list(report.variables)[:_MOST_COLUMNS]
    shown = report.patterns[:MOST_ROWS]
    title = f"{report.num_complete} of {report.num_rows} rows are complete, {report.num_missing} cells are missing"
    axes = ChartAxes(ax, title)
    edges = np.cumsum([0, *(pattern.num_rows for pattern in shown)])
    if names and shown:
        axes.cells(edges, len(names), np.array([[name in set(p.missing) for name in names] for p in shown]))
    else:
        axes.nothing("There are no cells.")
    axes.name_columns(names)
    axes.ax.set_ylim(max(edges[-1], 1), 0)
    says = [
        f"{pattern.num_rows} rows lack {', '.join(map(label_of, pattern.missing)) or 'nothing'}" for pattern in shown
    ]
    return axes.chart("variable (red: missing)", "rows", says + left_out(len(report.patterns), len(shown), "patterns"))


def plot_roc(curve: RocCurve, ax: Axes | None = None) -> Chart:
    """The share of cases that are found by the share of others that are taken for cases."""
    axes = ChartAxes(ax, f"ROC of {curve.event}: area {told(curve.area)}")
    axes.line([0, 1], [0, 1], colour=axes.colour("faint"), dash=1, marker="")
    axes.line(curve.false_positives, curve.true_positives, marker="")
    axes.grid("both")
    axes.ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    return axes.chart("share of others taken for it", "share of cases found", [f"area {told(curve.area)}"])


def plot_calibration(found: Calibration, ax: Axes | None = None) -> Chart:
    """How often what was predicted came about, with 90 % intervals; on the diagonal predictions are calibrated."""
    axes = ChartAxes(ax, f"Calibration of {found.event}: Brier score {told(found.brier_score)}")
    axes.line([0, 1], [0, 1], colour=axes.colour("faint"), dash=1, marker="")
    for predicted, low, high in zip(found.predicted, *found.intervals.T, strict=True):
        axes.line([predicted, predicted], [low, high], marker="")
    axes.points(found.predicted, found.observed)
    axes.grid("both")
    axes.ax.set(xlim=(-0.02, 1.02), ylim=(-0.02, 1.02), aspect="equal")
    says = [
        f"predicted {told(p)}, observed {told(o)} of {told(n)} rows"
        for p, o, n in zip(found.predicted, found.observed, found.counts, strict=True)
    ]
    return axes.chart("predicted probability", "observed share", says)
