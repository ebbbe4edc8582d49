"""Decisions: what each action would bring, what may come of a strategy, what observations are worth."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.records import format_number
from plausible.errors import InvalidArgument
from plausible.plotting.charts.chart import Chart
from plausible.plotting.charts.chart_axes import MOST_ROWS, ChartAxes, label_of, left_out, states_at, told
from plausible.utilities import Lottery

if TYPE_CHECKING:
    from matplotlib.axes import Axes

    from plausible.decisions.information.ranking import InformationValue
    from plausible.decisions.sensitivity.comparison import ActionComparison
    from plausible.decisions.solving.solution import Policy


def plot_policy(policy: Policy, ax: Axes | None = None) -> Chart:
    """For each thing seen, the expected utility of each action: a dot on a line, the best one filled."""
    rows = np.flatnonzero(policy.probability > 0)
    shown, worth = rows[:MOST_ROWS], policy.expected_utility
    states = policy.decision.states
    axes, at = ChartAxes(ax, f"Decision {policy.decision.name}", len(shown)), np.arange(len(shown))
    if len(shown):
        axes.spans(at, worth[shown].min(axis=1), worth[shown].max(axis=1))
    for action, state in enumerate(states):
        colour, values = axes.series(action, len(states)), worth[shown, action]
        axes.points(values, at, colour=colour, label=label_of(state), markersize=7, markerfacecolor=axes.paper)
        chosen = policy.actions[shown] == action
        axes.points(values[chosen], at[chosen], colour=colour, markersize=7)
    seen = [label_of(states_at(policy.uses, int(row))) for row in shown]
    axes.name_rows(seen)
    axes.grid("x")
    axes.ax.margins(x=0.08)
    says = [
        f"{label}: {label_of(states[policy.actions[row]])}, worth {told(worth[row, policy.actions[row]])}"
        for label, row in zip(seen, shown, strict=True)
    ]
    names = ", ".join(variable.name for variable in policy.uses)
    return axes.chart(
        "expected utility (filled: what to do)", names or "always", says + left_out(len(rows), len(shown), "rows")
    )


def plot_actions(comparison: ActionComparison, ax: Axes | None = None) -> Chart:
    """The expected utility of each action where something is seen, the best one first."""
    shown = comparison.actions[:MOST_ROWS]
    values = [action.expected_utility for action in shown]
    seen = ", ".join(f"{name}={state}" for name, state in comparison.seen.items())
    axes, rows = (
        ChartAxes(ax, f"Decision {comparison.decision}{seen and ' seeing '}{seen}", len(shown)),
        np.arange(len(shown)),
    )
    axes.bars(rows, values)
    axes.end_labels(rows, values, list(map(told, values)))
    axes.name_rows(action.action for action in shown)
    axes.rule(0.0)
    axes.ax.margins(x=0.16)
    says = [f"{label_of(action.action)}: {told(action.expected_utility)}" for action in shown]
    return axes.chart("expected utility", "", says)


def plot_risk(profiles: Lottery | Mapping[str, Lottery], ax: Axes | None = None) -> Chart:
    """How probable it is to get no more than each amount; of several lotteries that with a line below is safer.

    Examples
    --------
    >>> import plausible as pb
    >>> oil = pb.examples.load("oil")
    >>> print(pb.plotting.plot_risk(oil.risk_profile(oil.solve().strategy)))
    Risk profile
    mean 16.75, from -92 to 238
    """
    named = {"": profiles} if isinstance(profiles, Lottery) else dict(profiles)
    axes = ChartAxes(ax, "Risk profile")
    says = []
    for place, (name, lottery) in enumerate(named.items()):
        amounts, chances = _amounts(lottery)
        colour, mean = axes.series(place, len(named)), float(amounts @ chances)
        axes.steps(amounts, np.cumsum(chances), colour=colour, label=name)
        axes.points([mean], [0.0], colour=colour, marker="^", markersize=8, clip_on=False)
        begin = f"{label_of(name)}: " if name else ""
        says.append(f"{begin}mean {format_number(mean)}, from {told(amounts[0])} to {told(amounts[-1])}")
    axes.grid("both")
    axes.ax.set_ylim(0, 1.03)
    return axes.chart("total utility (▲ mean)", "probability of no more", says)


def _amounts(lottery: Lottery) -> tuple[np.ndarray, np.ndarray]:
    """Amounts from the least up, and how probable they are."""
    final = {amount: chance for amount, chance in lottery.final_probabilities().items() if chance > 0}
    if not final or not all(isinstance(amount, int | float) for amount in final):
        raise InvalidArgument("A risk profile is of amounts, and this lottery has outcomes that are no numbers.")
    amounts = np.array(list(final), dtype=np.float64)
    order = np.argsort(amounts, kind="stable")
    return amounts[order], np.array(list(final.values()))[order]


def plot_values(values: Sequence[InformationValue], ax: Axes | None = None, title: str = "") -> Chart:
    """What observations are worth and, dark, what is left of it after their costs."""
    shown = values[:MOST_ROWS]
    axes, rows = ChartAxes(ax, title or "Value of information", len(shown)), np.arange(len(shown))
    worth, net = [one.value for one in shown], [one.net_value for one in shown]
    if worth == net:
        axes.bars(rows, worth)
    else:
        axes.bars(rows, worth, colour=axes.colour("track"), label="value")
        axes.bars(rows, net, thickness=0.4, label="net of cost")
    axes.end_labels(rows, np.maximum(worth, net), [told(one) for one in net])
    axes.name_rows(", ".join(one.variables) or "nothing" for one in shown)
    axes.rule(0.0)
    axes.ax.margins(x=0.16)
    if not shown:
        axes.nothing("There is nothing to observe.")
    return axes.chart("expected utility", "", [*map(str, shown), *left_out(len(values), len(shown), "observations")])
