"""Beliefs as bars: of one question, of all variables, and side by side."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.plotting.charts.chart import Chart
from plausible.plotting.charts.chart_axes import MOST_ROWS, ChartAxes, label_of, left_out, states_at, told
from plausible.plotting.nodes import percentage

if TYPE_CHECKING:
    from matplotlib.axes import Axes

#: A sum that is as near to one as this is shown as probabilities.
_NEAR_ONE = 1e-6
#: The least share of a strip that has room for a letter of its label.
_SHARE_OF_LETTER = 0.021
#: Bars beside each other whose numbers are written.
_MOST_NUMBERS = 3


def plot_beliefs(beliefs: Factor, ax: Axes | None = None) -> Chart:
    """A bar for each state; of a joint distribution one for each combination of states, of many the most probable."""
    return _side_by_side({"": beliefs}, ax, ", ".join(beliefs.names))


def plot_comparison(beliefs: Mapping[str, Factor], ax: Axes | None = None, title: str = "") -> Chart:
    """Bars of several distributions over the same variables side by side, such as those given several findings.

    Examples
    --------
    >>> import plausible as pb
    >>> asia = pb.examples.load("asia")
    >>> given = {"nothing": {}, "xray = yes": {"xray": "yes"}}
    >>> print(pb.plotting.plot_comparison({name: asia.query("lung", seen) for name, seen in given.items()}))
    lung
    yes: nothing 5.5%, xray = yes 48.9%
    no: nothing 94.5%, xray = yes 51.1%
    """
    if not isinstance(beliefs, Mapping) or not beliefs:
        raise InvalidArgument("There are no distributions to compare: give {name: factor, ...}.")
    first = next(iter(beliefs.values()))
    for name, factor in beliefs.items():
        if not isinstance(factor, Factor):
            raise InvalidArgument(f"{name!r} is no distribution, but {type(factor).__name__}: give answers of query.")
        if factor.scope != first.scope:
            raise InvalidArgument(
                f"{name!r} is over {', '.join(factor.names)}, and the first over {', '.join(first.names)}: compare "
                "distributions of the same variables, in the same order."
            )
    return _side_by_side(beliefs, ax, title or ", ".join(first.names))


def plot_marginals(marginals: Mapping[str, Factor], ax: Axes | None = None) -> Chart:
    """A strip for each variable, parted among its states."""
    shown = list(marginals.items())[:MOST_ROWS]
    axes = ChartAxes(ax, "Beliefs", len(shown))
    for row, (_, factor) in enumerate(shown):
        _add_strip(axes, row, factor)
    axes.name_rows(name for name, _ in shown)
    axes.ax.set_xlim(0, 1)
    if not shown:
        axes.nothing("There are no variables.")
    says = [f"{label_of(name)}: {', '.join(_parts(factor))}" for name, factor in shown]
    return axes.chart("probability", "", says + left_out(len(marginals), len(shown), "variables"))


def _add_strip(axes: ChartAxes, row: int, factor: Factor) -> None:
    ends = np.cumsum(factor.flat)
    number = len(ends)
    for place, (start, end, state) in enumerate(zip(ends - factor.flat, ends, factor.scope[0].states, strict=True)):
        # The first state is the darkest; the paper between states tells them apart.
        shade = 0.9 - 0.75 * place / max(number - 1, 1)
        axes.bars([row], [end], start, thickness=0.78, colour=(axes.colour("bar"), shade), edge=axes.paper)
        room = int((end - start) / _SHARE_OF_LETTER)
        label = label_of(state)
        if len(label) <= room:
            axes.text((start + end) / 2, row, label, ha="center", color=axes.colour("paper" if shade > 0.6 else "ink"))


def _parts(factor: Factor) -> list[str]:
    pairs = zip(factor.scope[0].states, factor.flat.tolist(), strict=True)
    return [f"{label_of(state)} {percentage(value)}" for state, value in pairs]


def _side_by_side(beliefs: Mapping[str, Factor], ax: Axes | None, title: str) -> Chart:
    tables = np.array([factor.flat for factor in beliefs.values()])
    scope = next(iter(beliefs.values())).scope
    rows, number = _largest(tables), len(tables)
    axes = ChartAxes(ax, title, round(len(rows) * max(1.0, 0.5 + 0.5 * number)))
    are_shares = _are_shares(tables)
    write: Any = _share if are_shares else told
    thickness = 0.76 / number
    for place, (name, values) in enumerate(zip(beliefs, tables[:, rows], strict=True)):
        at = np.arange(len(rows)) + (place - (number - 1) / 2) * thickness
        look = {"colour": axes.series(place, number), "label": name}
        axes.bars(at, values, thickness=thickness * 0.92, **look)
        if number <= _MOST_NUMBERS:
            axes.end_labels(at, values, list(map(write, values.tolist())))
    labels = [label_of(states_at(scope, row)) for row in rows]
    axes.name_rows(labels)
    axes.grid("x")
    if are_shares:
        axes.ax.set_xlim(0, 1.13)
        axes.ax.set_xticks(np.linspace(0, 1, 6))
    else:
        axes.ax.margins(x=0.16)
        axes.rule(0.0)
    says = [f"{label}: {_numbers(beliefs, tables[:, row], write)}" for label, row in zip(labels, rows, strict=True)]
    names = ", ".join(variable.name for variable in scope)
    kind = "probability" if are_shares else "value"
    return axes.chart(kind, "" if names == axes.title else names, says + left_out(tables.shape[1], len(rows), "rows"))


def _are_shares(tables: Floats) -> bool:
    """Whether the tables hold a distribution, or one for each combination of some of the variables."""
    known = np.isnan(tables) | ((tables >= 0) & (tables <= 1 + _NEAR_ONE))
    sums = np.nansum(tables, axis=1)
    return bool(known.all() and (np.abs(sums - np.rint(sums)) <= _NEAR_ONE).all() and (sums > _NEAR_ONE).all())


def _largest(tables: Floats) -> list[int]:
    """The rows to show: all, or the largest ones of very many, the largest first."""
    if tables.shape[1] <= MOST_ROWS:
        return list(range(tables.shape[1]))
    order: list[int] = np.argsort(-np.abs(np.nan_to_num(tables)).max(axis=0), kind="stable")[:MOST_ROWS].tolist()
    return order


def _share(probability: float) -> str:
    return told(probability) if np.isnan(probability) else percentage(probability)


def _numbers(beliefs: Mapping[str, Factor], values: Floats, write: Any) -> str:
    pairs = zip(beliefs, values.tolist(), strict=True)
    return ", ".join(f"{label_of(name)} {write(value)}" if name else write(value) for name, value in pairs)
