"""Preferences: statements or oracles, chances at which a gamble is as good as something sure, and their utilities."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Hashable, Iterable, Mapping
from dataclasses import dataclass
from functools import cmp_to_key, partial
from inspect import signature
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from plausible.base import UTILITY_NOISE, Frozen, FrozenMapping, Result, TextTable, html_of_print, record
from plausible.errors import InvalidArgument, counted, shortened
from plausible.utilities.lotteries.lottery import Lottery, LotteryLike, as_lottery
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of

#: ">" the first is better, "<" the second is, "~" neither, ">=" and "<=" at least as good.
Sign: TypeAlias = Literal[">", "<", "~", ">=", "<="]
#: (first, second) ↦ above 0 if the first is preferred, below 0 if the second, 0 if neither; `None`: can't say.
Oracle: TypeAlias = Callable[[Lottery, Lottery], float | None]
#: A statement as people write it: (first, ">", second).
StatementLike: TypeAlias = "Statement | tuple[LotteryLike, Sign, LotteryLike]"

#: Preferences as people write them: a relation, statements, or an oracle.
PreferenceLike: TypeAlias = "PreferenceRelation | Iterable[StatementLike] | Oracle"

#: Who adds up chances times utilities feels this much missing from a chance of one as this share of the utility.
_MISSING = 2.0**-31
#: A preference is clear if it is so many times what is not felt: also a tenth of it is felt then.
_CLEAR = 32
_FLIPPED: Mapping[str, Sign] = MappingProxyType({"<": ">", "<=": ">="})


@dataclass(frozen=True, slots=True)
class Statement:
    """Somebody says that one lottery is better than another, as good, or at least as good.

    >>> print(Statement(Lottery({"3M": 1.0}), ">", Lottery({"4M": 0.8, "0": 0.2})))
    [3M: 1] > [4M: 0.8; 0: 0.2]
    """

    first: Lottery
    sign: Literal[">", "~", ">="]
    second: Lottery

    def __str__(self) -> str:
        return f"{self.first} {self.sign} {self.second}"

    _repr_html_ = html_of_print


def read_statements(statements: Iterable[StatementLike]) -> tuple[Statement, ...]:
    """Statements, turned so that the better lottery comes first; outcomes stand for themselves for sure."""
    read = []
    for said in statements:
        if not isinstance(said, Statement):
            if not isinstance(said, tuple) or len(said) != 3 or said[1] not in (">", "<", "~", ">=", "<="):
                raise InvalidArgument(
                    f"A preference is written (first, '>', second), with one of > < ~ >= <=; not {shortened(said)}."
                )
            first, sign, second = as_lottery(said[0]), said[1], as_lottery(said[2])
            if sign in _FLIPPED:
                first, sign, second = second, _FLIPPED[sign], first
            said = Statement(first, sign, second)  # type: ignore[arg-type]
        read.append(said)
    return tuple(read)


class PreferenceRelation(Frozen):
    """Who is asked which of two lotteries is better: a finite list of statements, or an oracle that answers all.

    Parameters
    ----------
    oracle
        A function of two lotteries: above 0 if the first is preferred, below 0 if the second, 0 if neither, `None` if
        they can't be compared.
    tolerance
        Answers that are no whole numbers count as differences of utility, and as none up to this share of the greatest
        difference between the outcomes of the two lotteries and of the level of their utilities, since floats lose a
        share of that. The oracle is asked for both. With 0 every answer counts.

    Examples
    --------
    >>> asked = PreferenceRelation.from_statements([("tea", ">", "coffee"), ("coffee", "~", "milk")])
    >>> asked.compare("coffee", "tea"), asked.compare("tea", "milk")
    (-1, None)
    >>> PreferenceRelation.from_utility({"tea": 2, "milk": 1}).compare("tea", "milk")
    1
    """

    __slots__ = ("is_finite", "items", "oracle", "tolerance")

    oracle: Oracle
    #: The lotteries that statements are about; none for an oracle.
    items: tuple[Lottery, ...]
    #: Whether it knows only what was stated.
    is_finite: bool
    #: The share of the greatest difference, and of the level, that is not felt.
    tolerance: float

    def __init__(self, oracle: Oracle, tolerance: float = UTILITY_NOISE) -> None:
        if not callable(oracle):
            raise InvalidArgument(
                f"An oracle is a function of two lotteries, not {shortened(oracle)}: "
                f"statements are read by PreferenceRelation.from_statements."
            )
        if not 0 <= tolerance < 1:
            raise InvalidArgument(
                f"tolerance={tolerance!r} is a share of the greatest difference: at least 0, below 1."
            )
        self.oracle, self.items, self.is_finite, self.tolerance = oracle, (), False, float(tolerance)

    @classmethod
    def from_statements(cls, statements: Iterable[StatementLike]) -> PreferenceRelation:
        """Only what is stated, and that everything is as good as itself."""
        signs: dict[tuple[Lottery, Lottery], int] = {}
        for statement in read_statements(statements):
            if statement.sign == ">=":
                raise InvalidArgument(f"{statement}: say '>' or '~', or ask choice_consistency, which takes '>='.")
            sign = 1 if statement.sign == ">" else 0
            both = (statement.first, statement.second)
            for pair, value in ((both, sign), (both[::-1], -sign)):
                if signs.setdefault(pair, value) != value:
                    raise InvalidArgument(f"{statement} contradicts an earlier statement on the same two lotteries.")
        relation = object.__new__(cls)
        relation.oracle = partial(_stated, signs)
        relation.items = tuple(dict.fromkeys(lottery for pair in signs for lottery in pair))
        relation.is_finite, relation.tolerance = True, 0.0
        return relation

    @classmethod
    def from_utility(cls, utility: UtilityLike, tolerance: float = 1e-12) -> PreferenceRelation:
        """That of somebody who maximises expected utility, a mapping from outcomes or a function of them.

        Differences up to the tolerance, as a share of what the outcomes contribute that the lotteries don't have in
        common, are not felt: rounding of their chances makes such.
        """
        return cls(partial(_more_expected, read_utility(utility), tolerance), tolerance=0.0)

    def compare(self, first: LotteryLike, second: LotteryLike) -> int | None:
        """1 if the first is preferred, -1 if the second, 0 if neither, `None` if that is not known."""
        return self._sign(as_lottery(first), as_lottery(second), 1)

    def is_clear(self, first: LotteryLike, second: LotteryLike) -> bool:
        """Whether one is preferred by so much that a tenth of it would be felt too."""
        return bool(self._sign(as_lottery(first), as_lottery(second), _CLEAR))

    def _sign(self, first: Lottery, second: Lottery, times: float) -> int | None:
        """Of the answer, if it is more than so many times what is not felt."""
        answer = self._answer(first, second)
        if answer is None:
            return None
        if answer and self.tolerance and not isinstance(answer, int):
            answer = 0.0 if abs(answer) <= times * self._not_felt(first, second) else answer
        return (answer > 0) - (answer < 0)

    def _answer(self, first: Lottery, second: Lottery) -> float | None:
        """What the oracle says, as a number."""
        answer: object = self.oracle(first, second)
        if answer is None:
            return None
        try:
            number = int(answer) if isinstance(answer, numbers.Integral) else float(answer)  # type: ignore[arg-type]
        except (TypeError, ValueError):
            number = math.nan
        if math.isnan(number):
            raise InvalidArgument(
                f"Asked to compare {first} with {second}, the oracle says {shortened(answer)}: it must give a number, "
                f"or None where it can't say."
            )
        return number

    def _not_felt(self, first: Lottery, second: Lottery) -> float:
        """The share of the range of the outcomes' utilities and of their greatest level.

        Differences do not tell the level. But a chance of one of which a share is missing, less than lotteries are
        checked for, is felt as this share of the utility by whoever adds up chances times utilities.
        """
        outcomes = [*first.final_probabilities(), *second.final_probabilities()]
        sure = [Lottery.certain(outcome) for outcome in dict.fromkeys(outcomes)]
        above = [self._answer(one, sure[0]) or 0.0 for one in sure[1:]]
        short = [self._answer(one, Lottery(dict.fromkeys(one, 1.0 - _MISSING))) or 0.0 for one in sure]
        return self.tolerance * (max([0.0, *above]) - min([0.0, *above]) + max(map(abs, short)) / _MISSING)

    def __repr__(self) -> str:
        kind = counted(len(self.items), "lottery") if self.is_finite else "an oracle"
        return f"PreferenceRelation({kind})"


def as_relation(given: PreferenceLike) -> PreferenceRelation:
    """Preferences as a relation: that of statements (`PreferenceRelation.from_statements`) or of an oracle."""
    if isinstance(given, PreferenceRelation):
        return given
    if callable(given):
        try:
            called = signature(given)
        except (ValueError, TypeError):  # some functions don't say what they can be called with
            return PreferenceRelation(given)
        try:
            called.bind(None, None)
        except TypeError:
            raise InvalidArgument(
                f"An oracle is a function of two lotteries, above 0 if the first is better; {shortened(given)} takes "
                f"{called}. If it is the utility of an outcome, write PreferenceRelation.from_utility(function)."
            ) from None
        return PreferenceRelation(given)
    if isinstance(given, Mapping) or not isinstance(given, Iterable):
        raise InvalidArgument(
            f"Preferences are statements [(first, '>', second), ...], a function of two lotteries or a "
            f"PreferenceRelation, not {shortened(given)}; utilities are, by PreferenceRelation.from_utility(utilities)."
        )
    return PreferenceRelation.from_statements(given)


def _stated(signs: Mapping[tuple[Lottery, Lottery], int], first: Lottery, second: Lottery) -> int | None:
    return 0 if first == second else signs.get((first, second))


def _more_expected(utility: Callable[[Any], float], tolerance: float, first: Lottery, second: Lottery) -> float:
    """By how much the expected utility of the first is greater; 0 where that is not felt."""
    one, other = first.final_probabilities(), second.final_probabilities()
    pairs = {outcome: (one.get(outcome, 0.0), other.get(outcome, 0.0)) for outcome in {**one, **other}}
    worth = {outcome: utility_of(utility, outcome) for outcome, pair in pairs.items() if max(pair) > 0}
    changed = [outcome for outcome in worth if pairs[outcome][0] != pairs[outcome][1]]
    if not changed:
        return 0.0
    # The chances of what differs sum to the same, so utilities may be counted from any level.
    values = [worth[outcome] for outcome in changed]
    level = min(values) / 2 + max(values) / 2
    difference = math.fsum((pairs[o][0] - pairs[o][1]) * (worth[o] - level) for o in changed)
    room = tolerance * math.fsum(max(pairs[o]) * abs(worth[o] - level) for o in changed)
    return 0.0 if abs(difference) <= room else difference


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
    """The utility that preferences amount to, between 0 for the worst outcome and 1 for the best."""

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
