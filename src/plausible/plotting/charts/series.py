"""What is believed over time: states stacked, means with bands, forecasts."""

from __future__ import annotations

from collections.abc import Iterable
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, counted
from plausible.plotting.charts.chart import Chart
from plausible.plotting.charts.chart_axes import ChartAxes, label_of, steps_of, told

if TYPE_CHECKING:
    import pandas as pd
    from matplotlib.axes import Axes

    from plausible.models.sequences.state_estimates import Innovations

#: Lines with bands in one chart.
_MOST_LINES = 6


class HasBands(Protocol):
    """Means and standard deviations of states over steps."""

    states: tuple[str, ...]
    mean: Floats
    index: Any

    @property
    def deviation(self) -> Floats:
        """By step and state."""


def plot_states(beliefs: pd.DataFrame, ax: Axes | None = None, title: str = "Beliefs over time") -> Chart:
    """The probabilities of states at each step, stacked on each other.

    Parameters
    ----------
    beliefs
        A column for each state, a row for each step: what `filter`, `smooth` and `predict` of a hidden Markov model
        give.

    Examples
    --------
    >>> import plausible as pb
    >>> hmm = pb.HiddenMarkovModel([.5, .5], [[.7, .3], [.3, .7]], [[.9, .1], [.2, .8]], states=["rain", "dry"])
    >>> print(pb.plotting.plot_states(hmm.smooth([0, 0, 1])))
    Beliefs over time
    rain: from 0.862 to 0.191 in 3 steps
    dry: from 0.138 to 0.809 in 3 steps
    """
    values = _numbers(beliefs, "a column of probabilities for each state")
    axes, steps = ChartAxes(ax, title), steps_of(beliefs.index)
    ends = np.cumsum(values, axis=1)
    for place, state in enumerate(beliefs.columns):
        low, high = (np.append(end, end[-1:]) for end in (ends[:, place] - values[:, place], ends[:, place]))
        look: dict[str, Any] = {"step": "post", "alpha": 0.85, "label": str(state)}
        axes.band(steps.edges, low, high, colour=axes.series(place, values.shape[1]), **look)
    axes.name_steps(steps)
    axes.ax.set_ylim(0, 1)
    if not len(values):
        axes.nothing("There are no steps.")
    return axes.chart(steps.name, "probability", _courses(beliefs.columns, values))


def plot_bands(estimates: HasBands, ax: Axes | None = None, *, level: float = 0.9, title: str = "") -> Chart:
    """The mean of each state over time, in a band that it is in with probability `level`."""
    from plausible.models.sequences.state_estimates import width_of

    shown, width = min(len(estimates.states), _MOST_LINES), width_of(level)
    axes, steps = ChartAxes(ax, title or f"States over time, {level:.0%} bands"), steps_of(estimates.index)
    for place, state in enumerate(estimates.states[:shown]):
        colour, mean = axes.series(place), estimates.mean[:, place]
        half = width * estimates.deviation[:, place]
        axes.band(steps.places, mean - half, mean + half, colour=colour)
        axes.line(steps.places, mean, colour=colour, label=state if len(estimates.states) > 1 else "")
    axes.name_steps(steps)
    axes.grid("y")
    if not len(estimates.mean):
        axes.nothing("There are no steps.")
    more = [f"... {len(estimates.states) - shown} more states"] if shown < len(estimates.states) else []
    name = estimates.states[0] if len(estimates.states) == 1 else "value"
    return axes.chart(steps.name, name, _courses(estimates.states[:shown], estimates.mean[:, :shown]) + more)


def plot_forecast(forecast: pd.DataFrame, past: Any = None, ax: Axes | None = None, title: str = "Forecast") -> Chart:
    """What is expected of a number in the steps to come, in its band, behind what was observed.

    Parameters
    ----------
    forecast
        Columns mean, lower and upper: what `forecast(rows)[name]` gives.
    past
        The numbers observed before, the last one at step 0.

    Examples
    --------
    >>> import pandas as pd
    >>> import plausible as pb
    >>> ahead = pd.DataFrame({"mean": [2.0, 2.5], "lower": [1.0, 0.5], "upper": [3.0, 4.5]}, index=[1, 2])
    >>> print(pb.plotting.plot_forecast(ahead, past=[1.0, 1.5]))
    Forecast
    1: 2, from 1 to 3
    2: 2.5, from 0.5 to 4.5
    """
    if not {"mean", "lower", "upper"} <= set(forecast.columns):
        raise InvalidArgument("A forecast has columns mean, lower and upper: give what forecast(rows)[name] gives.")
    axes, steps = ChartAxes(ax, title), steps_of(forecast.index)
    mean, low, high = (forecast[name].to_numpy(np.float64) for name in ("mean", "lower", "upper"))
    if past is not None:
        before = np.asarray(past, dtype=np.float64)
        axes.line(
            steps.places[:1].sum() - np.arange(len(before), 0, -1),
            before,
            colour=axes.colour("muted"),
            label="observed",
        )
    axes.band(steps.places, low, high, colour=axes.colour("bar"))
    axes.line(steps.places, mean, label="forecast")
    axes.name_steps(steps)
    axes.grid("y")
    rows = zip(forecast.index, mean, low, high, strict=True)
    return axes.chart(steps.name, "value", [f"{at}: {told(m)}, from {told(a)} to {told(b)}" for at, m, a, b in rows])


def plot_innovations(innovations: Innovations, ax: Axes | None = None) -> Chart:
    """The standardised surprises: if the model fits, nineteen of twenty lie between the dashed lines."""
    axes, steps = ChartAxes(ax, "Standardised innovations"), steps_of(innovations.index)
    number = len(innovations.observations)
    for place, name in enumerate(innovations.observations):
        look: dict[str, Any] = {"label": name if number > 1 else "", "markersize": 4}
        axes.points(steps.places, innovations.standardized[:, place], colour=axes.series(place, number), **look)
    for end in (-1.96, 0.0, 1.96):
        axes.rule(end, axis="y")
    axes.name_steps(steps)
    outside = (np.abs(innovations.standardized) > 1.96).sum(axis=0)
    says = [
        f"{label_of(n)}: {counted(int(k), 'step')} outside"
        for n, k in zip(innovations.observations, outside, strict=True)
    ]
    return axes.chart(steps.name, "standard deviations", says)


def _numbers(frame: pd.DataFrame, wanted: str) -> Floats:
    columns = getattr(frame, "columns", None)
    if columns is None or getattr(columns, "nlevels", 1) > 1:
        raise InvalidArgument(f"Give a data frame with {wanted}, not {type(frame).__name__}.")
    values: Floats = frame.to_numpy(np.float64)
    return values


def _courses(names: Iterable[object], values: Floats) -> list[str]:
    """What each column begins and ends with."""
    size = counted(len(values), "step")
    if not len(values):
        return []
    ends = zip(names, values[0], values[-1], strict=True)
    return [f"{label_of(name)}: from {told(first)} to {told(last)} in {size}" for name, first, last in ends]
