"""How runs went: objectives step by step, scores of searches, chains."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.pictured import kind_in_words
from plausible.errors import counted
from plausible.plotting.charts.chart import Chart
from plausible.plotting.charts.chart_axes import ChartAxes, told

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from plausible.learn.structures.knowledge import FoundGraph
    from plausible.search.run import HasRun

#: How many runs and chains have lines of their own.
_MOST_LINES = 40


def plot_run(result: HasRun, ax: Axes | None = None, title: str = "") -> Chart:
    """The objective at the start and after each step; other runs, from other starts, are faint behind the best."""
    best, others = result.run, getattr(result, "runs", (result.run,))[1:_MOST_LINES]
    ended = f"{result.stopped_by} after {counted(result.num_steps, 'step')}" if result.stopped_by else "not begun"
    axes = ChartAxes(ax, f"{title or kind_in_words(result)}: {ended}")
    for run in others:
        axes.line(range(len(run.trace)), run.trace, colour=axes.colour("faint"), label="", marker="")
    axes.line(range(len(best.trace)), best.trace)
    _step_axes(axes)
    if not len(best.trace):
        axes.nothing("This method has no objective to follow.")
    says = [_course(run.trace) for run in (best, *others) if len(run.trace)]
    return axes.chart("step", "objective", says)


def plot_search(found: FoundGraph, ax: Axes | None = None) -> Chart:
    """The best score of a search as it went on, and what no graph can score more than, where that is known."""
    steps, scores = np.array(found.trace, dtype=np.float64).reshape(-1, 2).T
    axes = ChartAxes(ax, f"Search: score {found.score:.6g} after {counted(found.num_steps, 'step')}")
    last = min(float(found.num_steps), 1.2 * steps.max(initial=0.0) + 1)  # later steps found nothing better
    axes.line([*steps, last], [*scores, scores[-1] if len(scores) else np.nan], drawstyle="steps-post")
    axes.rule(found.bound, "no graph scores more", axis="y", colour="good")
    _step_axes(axes)
    if not len(scores):
        axes.nothing("This method keeps no trace.")
    says = [f"{told(step)} steps: {score:.6g}" for step, score in zip(steps, scores, strict=True)]
    return axes.chart("step", "best score", says + ([f"bound {found.bound:.6g}"] if np.isfinite(found.bound) else []))


def plot_chains(
    draws: npt.ArrayLike, ax: Axes | None = None, title: str = "Chains", what: str = "log posterior"
) -> Chart:
    """The draws of each chain, in the order in which they were made: chains that agree lie over each other.

    Parameters
    ----------
    draws
        An array (chains, draws).
    what
        What is drawn of each.
    """
    from plausible.inference.sampling.chain_diagnostics import diagnose

    values = np.asarray(draws, dtype=np.float64)
    ratio = _r_hat(values, diagnose)
    axes = ChartAxes(ax, f"{title}: {ratio}" if ratio else title)
    shown = values[:_MOST_LINES]
    for place, chain in enumerate(shown):
        look: dict[str, Any] = {"linewidth": 0.9, "alpha": 0.8, "dash": 0}
        axes.line(
            np.arange(len(chain)), chain, colour=axes.series(place, len(shown)), label=f"chain {place + 1}", **look
        )
    _step_axes(axes)
    says = [f"chain {place + 1}: {_course(chain)}" for place, chain in enumerate(shown)]
    return axes.chart("draw", what, says)


def plot_draws(
    draws: Floats, weights: Floats, interval: tuple[float, float], ax: Axes | None = None, title: str = ""
) -> Chart:
    """A histogram of draws of one number, with its mean and an interval."""
    known = np.isfinite(draws)
    values, weighted = draws[known], weights[known]
    axes = ChartAxes(ax, title)
    heights, edges = np.histogram(values, bins=40, weights=weighted, density=len(values) > 0)
    middles = np.repeat(edges, 2)[1:-1]
    axes.band(middles, np.zeros(len(middles)), np.repeat(heights, 2), colour=axes.colour("bar"), alpha=0.75)
    mean = float(np.average(values, weights=weighted)) if len(values) else float("nan")
    axes.rule(mean, f"mean {told(mean)}", colour="seen")
    for place, end in enumerate(interval):
        axes.rule(end, "interval" if place == 0 else "")
    axes.ax.set_ylim(bottom=0)
    says = [f"mean {told(mean)}, from {told(interval[0])} to {told(interval[1])}"]
    return axes.chart("value", "density", says)


def _step_axes(axes: ChartAxes) -> None:
    from matplotlib.ticker import MaxNLocator

    axes.grid("y")
    axes.ax.xaxis.set_major_locator(MaxNLocator(integer=True, steps=[1, 2, 5, 10]))
    axes.ax.ticklabel_format(axis="y", useOffset=False)


def _course(trace: Sequence[float] | Floats) -> str:
    return f"from {trace[0]:.6g} to {trace[-1]:.6g} in {counted(len(trace), 'value')}"


def _r_hat(values: Floats, diagnose: Any) -> str:
    if values.ndim != 2 or values.shape[1] < 4 or not np.isfinite(values).all():
        return ""
    return f"R-hat {diagnose(values).r_hat:.3f}"
