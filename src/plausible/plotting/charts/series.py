"""What is believed over time: states stacked, means with bands, forecasts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import plain
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
        A column for each state, a row for each step of one sequence: what `filter`, `smooth` and `predict` of a hidden
        Markov model give. Steps whose index is dates, or has a name and numbers, are drawn in its order, others as they
        stand. So that answers have the times of their rows as index: `hmm.smooth(rows.set_index("day", drop=False),
        time="day")`; of several sequences `rows.set_index(["town", "day"], drop=False)`, and `beliefs.loc["A"]`.

    Examples
    --------
    >>> import plausible as pb
    >>> hmm = pb.HiddenMarkovModel([.5, .5], [[.7, .3], [.3, .7]], [[.9, .1], [.2, .8]], states=["rain", "dry"])
    >>> print(pb.plotting.plot_states(hmm.smooth([0, 0, 1])))
    Beliefs over time
    rain: from 0.862 to 0.191 in 3 steps
    dry: from 0.138 to 0.809 in 3 steps
    """
    beliefs = _one_sequence(_frame(beliefs, "a column of probabilities for each state"), "beliefs")
    values = _numbers(beliefs, "beliefs")
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

    _refuse_several(estimates.index, "estimates", "ask about one of them alone")
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
        Columns mean, lower and upper: what `forecast(rows)[name]` gives; of several sequences one,
        `forecast(rows, sequence="machine")[name].loc["A"]`.
    past
        The numbers observed before in that sequence, the last one at step 0.

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
    forecast = _one_sequence(_forecast(forecast), "forecast")
    mean, low, high = _numbers(forecast[["mean", "lower", "upper"]], "forecast").T
    before = None if past is None else _past(past)
    axes, steps = ChartAxes(ax, title), steps_of(forecast.index)
    if before is not None:
        ago = np.arange(len(before), 0, -1)
        axes.line(steps.places[:1].sum() - ago, before, colour=axes.colour("muted"), label="observed")
    axes.band(steps.places, low, high, colour=axes.colour("bar"))
    axes.line(steps.places, mean, label="forecast")
    axes.name_steps(steps)
    axes.grid("y")
    rows = zip(forecast.index, mean, low, high, strict=True)
    return axes.chart(steps.name, "value", [f"{at}: {told(m)}, from {told(a)} to {told(b)}" for at, m, a, b in rows])


def plot_innovations(innovations: Innovations, ax: Axes | None = None) -> Chart:
    """The standardised surprises: if the model fits, nineteen of twenty lie between the dashed lines."""
    _refuse_several(innovations.index, "innovations", "ask about one of them alone")
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


def _frame(frame: pd.DataFrame, wanted: str) -> pd.DataFrame:
    columns = getattr(frame, "columns", None)
    if columns is None or getattr(columns, "nlevels", 1) > 1:
        raise InvalidArgument(f"Give a data frame with {wanted}, not {type(frame).__name__}.")
    return frame


def _forecast(forecast: Any) -> pd.DataFrame:
    """The frame of one number; others are refused with what to give."""
    if isinstance(forecast, Mapping):
        names = [plain(name) for name in forecast]
        one = f"one of them, such as forecast[{names[0]!r}]" if names else "what forecast(rows)[name] gives"
        raise InvalidArgument(f"A forecast has a frame for each variable, here for {names}: give {one}.")
    frame = _frame(forecast, "columns mean, lower and upper")
    if not {"mean", "lower", "upper"} <= set(frame.columns):
        raise InvalidArgument(
            "A forecast of a number has columns mean, lower and upper: give what forecast(rows)[name] gives. One of "
            "states has a column for each of them, which plot_states draws."
        )
    return frame


def _past(past: Any) -> Floats:
    """What was observed before, as a column of numbers."""
    _refuse_several(getattr(past, "index", None), "past", "choose one of them, as in past.loc[{label!r}]")
    try:
        before: Floats = np.asarray(past, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument("past= is the column of numbers observed before: it holds others, too.") from None
    if before.ndim != 1:
        raise InvalidArgument(f"past= is one column of numbers, not an array of shape {before.shape}: past[name].")
    return before


def _numbers(frame: pd.DataFrame, name: str) -> Floats:
    try:
        values: Floats = frame.to_numpy(np.float64)
    except (TypeError, ValueError):
        others = [column for column, kind in frame.dtypes.items() if kind.kind not in "biuf"]
        raise InvalidArgument(
            f"{name} has columns of numbers, which {others} are not: leave them out, or use astype(float)."
        ) from None
    return values


def _refuse_several(index: Any, name: str, advice: str) -> None:
    """Refuse steps of several sequences, which the outer levels of an index tell."""
    if getattr(index, "nlevels", 1) < 2:
        return
    labels = index.droplevel(-1).unique()
    if len(labels) > 1:
        how = advice.format(label=plain(labels[0]))
        raise InvalidArgument(f"{name} has steps of {len(labels)} sequences, and a chart shows one: {how}.")


def _one_sequence(frame: pd.DataFrame, name: str) -> pd.DataFrame:
    """The steps of one sequence, in the order of time where the index tells times."""
    _refuse_several(frame.index, name, f"choose one of them, as in {name}.loc[{{label!r}}]")
    if frame.index.nlevels > 1:
        frame = frame.set_axis(frame.index.get_level_values(-1))
    index = frame.index
    is_time = index.dtype.kind == "M" or (index.name is not None and index.dtype.kind in "iuf")
    return frame.sort_index() if is_time and index.is_unique and not index.hasnans else frame


def _courses(names: Iterable[object], values: Floats) -> list[str]:
    """What each column begins and ends with."""
    size = counted(len(values), "step")
    if not len(values):
        return []
    ends = zip(names, values[0], values[-1], strict=True)
    return [f"{label_of(name)}: from {told(first)} to {told(last)} in {size}" for name, first, last in ends]
