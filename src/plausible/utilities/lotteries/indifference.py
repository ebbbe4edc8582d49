"""The chance at which a gamble is as good as something sure, and the utilities that such chances make."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cmp_to_key

from plausible.base.display import TextTable, html_of_print
from plausible.base.frozen import FrozenMapping
from plausible.base.records import Result, record
from plausible.errors import InvalidArgument
from plausible.utilities.lotteries.lottery import Lottery, LotteryLike, as_lottery
from plausible.utilities.lotteries.preferences import PreferenceLike, PreferenceRelation, as_relation

#: What is enough, or too much, at so small a chance is infinitely good or bad.
_EXTREME = 1e-12


@dataclass(frozen=True, slots=True)
class Indifference:
    """b ~ [a: α; c: 1 - α] for a > b > c, or that no α is found.

    >>> asked = PreferenceRelation.from_utility({"dead": 0, "blind": 0.4, "healthy": 1})
    >>> found = indifference_probability(asked, "blind", "dead", "healthy", tolerance=0.25)
    >>> found.low, found.high, found.is_exact
    (0.25, 0.5, False)
    >>> print(found)
    [blind: 1] ~ [healthy: 0.375; dead: 0.625]
    """

    #: b, c and a.
    item: Lottery
    worst: Lottery
    best: Lottery
    #: The bracket of α: b is better than the gamble with the chance `low`, and worse than that with `high`; the same
    #: number, if indifference was stated.
    low: float
    high: float
    num_questions: int  # How many comparisons it took
    reason: str = ""  # Why there is none; else empty

    @property
    def is_found(self) -> bool:
        """Whether there is such a chance."""
        return not self.reason

    @property
    def probability(self) -> float:
        """α, the middle of the bracket; NaN if there is none."""
        return (self.low + self.high) / 2 if self.is_found else math.nan

    @property
    def is_exact(self) -> bool:
        """Whether indifference was stated, instead of bracketed to the tolerance."""
        return self.low == self.high

    @property
    def gamble(self) -> Lottery:
        """[a: α; c: 1 - α], flat."""
        return self.gamble_at(self.probability)

    def gamble_at(self, chance: float) -> Lottery:
        """[a: chance; c: 1 - chance], flat."""
        return Lottery.gamble(self.best, self.worst, chance).flatten()

    def __str__(self) -> str:
        return f"{self.item} ~ {self.gamble}" if self.is_found else self.reason

    _repr_html_ = html_of_print


def indifference_probability(
    relation: PreferenceLike, item: LotteryLike, worst: LotteryLike, best: LotteryLike, tolerance: float = 1e-6
) -> Indifference:
    """The chance α of `best`, against `worst`, that is as good as `item`, by bisection: log₂(1/tolerance) questions.

    Continuity counts as broken where even a chance of 1e-12 of the best is preferred (it is infinitely good), or one of
    1e-12 of the worst is too much (it is infinitely bad). Who is asked is given as for `check_axioms`; α is bracketed
    to the tolerance.

    >>> asked = PreferenceRelation.from_utility({"dead": 0, "blind": 0.4, "healthy": 1})
    >>> round(indifference_probability(asked, "blind", "dead", "healthy").probability, 5)
    0.4
    """
    if not 0 < tolerance < 0.5:
        raise InvalidArgument(f"tolerance={tolerance!r} must lie between 0 and 0.5.")
    asked: PreferenceRelation = as_relation(relation)
    sure, bad, good = (as_lottery(thing) for thing in (item, worst, best))
    low, high, num = 0.0, 1.0, 0

    def answered(reason: str = "") -> Indifference:
        return Indifference(sure, bad, good, low, high, num, reason)

    while high - low > tolerance:
        chance, num = (low + high) / 2, num + 1
        sign = asked.compare(Lottery.gamble(good, bad, chance).flatten(), sure)
        if sign is None:
            return answered(f"{sure} can't be compared with gambles on {good} and {bad}")
        low, high = (chance if sign <= 0 else low), (chance if sign >= 0 else high)
    # Where a far more extreme chance gets the same answer, no tolerance would find indifference.
    if low == 0.0 and asked.compare(Lottery.gamble(good, bad, _EXTREME).flatten(), sure) == 1:
        return answered(f"{good} is infinitely better than {sure}: a chance of {_EXTREME:.0e} is enough")
    if high == 1.0 and asked.compare(Lottery.gamble(good, bad, 1 - _EXTREME).flatten(), sure) == -1:
        return answered(f"{bad} is infinitely worse than {sure}: a chance of {_EXTREME:.0e} is too much")
    return answered()


@record
class ConstructedUtility(Result):
    """The utility that preferences amount to, between 0 for the worst outcome and 1 for the best.

    >>> found = utility_from_preferences(PreferenceRelation.from_utility(len), ["of", "to", "three", "a"])
    >>> found.worst, found.best, dict(found.utility)
    ('a', 'three', {'of': 0.25, 'to': 0.25, 'three': 1.0, 'a': 0.0})
    """

    utility: Mapping[Hashable, float]  # Of each outcome
    #: The anchors.
    worst: Hashable
    best: Hashable
    num_questions: int  # How many comparisons it took

    def __str__(self) -> str:
        rows = tuple((str(outcome), f"{value:.4g}") for outcome, value in self.utility.items())
        return str(TextTable(("outcome", "utility"), rows, 1))


def utility_from_preferences(
    relation: PreferenceLike, outcomes: Iterable[Hashable], tolerance: float = 1e-6
) -> ConstructedUtility:
    """The utility that represents rational preferences, up to a positive affine map (theorem 22.1).

    Outcomes are sorted by asking; the worst gets 0, the best 1, and every other the chance α with o ~ [best: α; worst:
    1 - α]. By the axioms EU then orders all lotteries, nested ones too, as the relation does. About n log n pairs of
    outcomes and n log₂(1/tolerance) gambles are asked for; the tolerance is that of each utility.

    >>> asked = PreferenceRelation.from_utility({"none": 0, "poor": -7, "fair": 5, "great": 20})
    >>> print(utility_from_preferences(asked, ["none", "poor", "fair", "great"]))
    outcome | utility
    --------+--------
    none    |  0.2593
    poor    |       0
    fair    |  0.4444
    great   |       1
    """
    asked, listed, count = as_relation(relation), list(dict.fromkeys(outcomes)), 0
    if not listed:
        raise InvalidArgument("There is no outcome to find a utility for.")

    def compare(first: Hashable, second: Hashable) -> int:
        nonlocal count
        sign, count = asked.compare(first, second), count + 1
        if sign is None:
            raise InvalidArgument(f"{first!r} and {second!r} can't be compared, so that no utility stands for this.")
        return sign

    ordered = sorted(listed, key=cmp_to_key(compare))
    worst, best = ordered[0], ordered[-1]
    values: dict[Hashable, float] = {}
    for outcome in listed:
        if outcome in (worst, best):
            values[outcome] = float(outcome == best and compare(best, worst) > 0)
        elif compare(outcome, worst) == 0 or compare(outcome, best) == 0:
            values[outcome] = float(compare(outcome, worst) != 0)
        else:
            found = indifference_probability(asked, outcome, worst, best, tolerance)
            if not found.is_found:
                raise InvalidArgument(f"No utility stands for these preferences: {found.reason}.")
            values[outcome], count = found.probability, count + found.num_questions
    return ConstructedUtility(FrozenMapping(values), worst, best, count)
