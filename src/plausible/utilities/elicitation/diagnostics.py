"""How far to trust elicited utilities: other anchors, other schedules, other methods."""

from __future__ import annotations

from collections.abc import Callable, Hashable, Iterable, Mapping, Sequence
from itertools import combinations

import numpy as np

from plausible.base import Floats, Result, TextTable, record
from plausible.errors import InvalidArgument, shortened
from plausible.utilities.elicitation.methods import ElicitationSession, standard_gamble
from plausible.utilities.elicitation.questions import SCHEDULES, Respondent, Schedule
from plausible.utilities.elicitation.session import run_session


@record
class DiscrepancyReport(Result):
    """The same utilities found in several ways.

    >>> report = compare_elicitations({"gamble": {"blind": 0.6, "deaf": 0.8}, "scale": {"blind": 0.4, "deaf": 0.3}})
    >>> round(report.greatest_spread, 6), report.reversals
    (0.5, (('deaf', 'blind', 'gamble', 'scale'),))
    """

    items: tuple[Hashable, ...]  # What was judged
    ways: tuple[str, ...]  # How: methods, schedules or anchors
    utilities: Floats  # Items × ways, on one scale
    #: Pairs of items that two ways put in opposite orders: (better by the first way, other item, first way, second).
    reversals: tuple[tuple[Hashable, Hashable, str, str], ...]

    @property
    def spreads(self) -> dict[Hashable, float]:
        """The greatest minus the least utility of each item."""
        return dict(zip(self.items, np.ptp(self.utilities, axis=1).tolist(), strict=True))

    @property
    def greatest_spread(self) -> float:
        """Over all items."""
        return float(np.ptp(self.utilities, axis=1).max())

    @property
    def shifts(self) -> dict[str, float]:
        """By how much each way is above the mean of all, on average: a bias that goes one way."""
        means = self.utilities - self.utilities.mean(axis=1, keepdims=True)
        return dict(zip(self.ways, means.mean(axis=0).tolist(), strict=True))

    def __str__(self) -> str:
        rows = tuple(
            (str(item), *(f"{value:.4g}" for value in row), f"{max(row) - min(row):.4g}")
            for item, row in zip(self.items, self.utilities.tolist(), strict=True)
        )
        lines = [
            f"{first} puts {better} above {other}, {second} below" for better, other, first, second in self.reversals
        ]
        return "\n".join([str(TextTable(("item", *self.ways, "spread"), rows, 1)), *lines])


def compare_elicitations(
    results: Mapping[str, Mapping[Hashable, float]] | Iterable[Mapping[Hashable, float]],
) -> DiscrepancyReport:
    """Compare utilities of the same outcomes found in several ways: for one person they usually disagree.

    Each has 0 and 1 for the same anchors; outcomes that all have in common are compared. Results in a list are named by
    their methods, and numbered where these are the same.

    >>> print(compare_elicitations({"gamble": {"blind": 0.6, "deaf": 0.8}, "scale": {"blind": 0.4, "deaf": 0.3}}))
    item  | gamble | scale | spread
    ------+--------+-------+-------
    blind |    0.6 |   0.4 |    0.2
    deaf  |    0.8 |   0.3 |    0.5
    gamble puts deaf above blind, scale below
    """
    if isinstance(results, Mapping):
        named = results
    else:
        listed = list(results)
        methods = [str(getattr(result, "method", "way")) for result in listed]
        numbered = [f"{method} {methods[: place + 1].count(method)}" for place, method in enumerate(methods)]
        names = [one if methods.count(one) == 1 else more for one, more in zip(methods, numbered, strict=True)]
        named = dict(zip(names, listed, strict=True))
    ways = tuple(named)
    if not ways:
        raise InvalidArgument("There is nothing to compare: give a mapping from names to utilities, or a list of them.")
    for way, utilities in named.items():
        if not isinstance(utilities, Mapping):
            raise InvalidArgument(
                f"{way!r} has no utilities by outcome, but {shortened(utilities)}: compare {{name: result, ...}}, "
                "or [result, ...]."
            )
    items = tuple(item for item in named[ways[0]] if all(item in named[way] for way in ways))
    if not items:
        raise InvalidArgument(f"{', '.join(ways)} have no outcome in common.")
    table = np.array([[float(named[way][item]) for way in ways] for item in items])
    reversals = []
    for (first, one), (second, other) in combinations(enumerate(items), 2):
        gaps = table[first] - table[second]
        highest, lowest = int(gaps.argmax()), int(gaps.argmin())
        if gaps[lowest] < 0 < gaps[highest]:
            early, late = sorted((highest, lowest))
            better, worse = (one, other) if gaps[early] > 0 else (other, one)
            reversals.append((better, worse, ways[early], ways[late]))
    return DiscrepancyReport(items, ways, table, tuple(reversals))


def schedule_sensitivity(
    start: Callable[[Schedule], ElicitationSession],
    respondent: Respondent,
    schedules: Iterable[Schedule] = SCHEDULES,
) -> DiscrepancyReport:
    """Ask the same with levels shown in other orders, and compare.

    `start` makes a fresh session of a schedule; the same respondent answers all of them.

    >>> from plausible.utilities.elicitation.questions import SimulatedRespondent
    >>> steady = SimulatedRespondent({"dead": 0, "blind": 0.43, "healthy": 1})
    >>> def start(schedule):
    ...     return standard_gamble(["blind"], "dead", "healthy", schedule=schedule)
    >>> schedule_sensitivity(start, steady).greatest_spread < 0.01
    True
    """
    return compare_elicitations(
        {str(schedule): run_session(start(schedule), respondent).result for schedule in schedules}
    )


def anchor_sensitivity(
    items: Iterable[Hashable],
    anchors: Sequence[tuple[Hashable, Hashable]],
    respondent: Respondent,
    *,
    tolerance: float = 0.01,
    schedule: Schedule = "bisection",
) -> DiscrepancyReport:
    """Judge the same outcomes by standard gambles between other anchors, and compare on one scale.

    The first pair of anchors makes the scale. Every further anchor is judged on it first, and what is found between two
    of them is moved there: U(o) = U(worst') + α (U(best') - U(worst')). Rational answers agree. The items lie between
    all anchors, which are pairs (worst, best), the widest first.

    >>> from plausible.utilities.elicitation.questions import SimulatedRespondent
    >>> steady = SimulatedRespondent({"dead": 0, "lame": 0.2, "blind": 0.43, "deaf": 0.8, "healthy": 1})
    >>> report = anchor_sensitivity(["blind"], [("dead", "healthy"), ("lame", "deaf")], steady)
    >>> report.ways, report.greatest_spread < 0.02
    (('dead to healthy', 'lame to deaf'), True)
    """
    asked = tuple(items)
    if not anchors:
        raise InvalidArgument("Give pairs of anchors: anchors=[(worst, best), ...].")

    def judge(outcomes: Iterable[Hashable], pair: tuple[Hashable, Hashable]) -> dict[Hashable, float]:
        listed = [outcome for outcome in dict.fromkeys(outcomes) if outcome not in pair]
        session = standard_gamble(listed, *pair, tolerance=tolerance, schedule=schedule)
        return dict(run_session(session, respondent).result)

    scale = judge([*asked, *(anchor for pair in anchors for anchor in pair)], anchors[0])
    found: dict[str, Mapping[Hashable, float]] = {}
    for worst, best in anchors:
        inside = scale if (worst, best) == anchors[0] else judge(asked, (worst, best))
        moved = {item: scale[worst] + inside[item] * (scale[best] - scale[worst]) for item in asked}
        found[f"{worst} to {best}"] = inside if (worst, best) == anchors[0] else moved
    return compare_elicitations({way: {item: values[item] for item in asked} for way, values in found.items()})
