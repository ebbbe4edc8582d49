"""Preferences: what somebody would rather have, as a finite list of statements or as an oracle."""

from __future__ import annotations

import math
import numbers
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from inspect import signature
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

from plausible.base.display import html_of_print
from plausible.base.frozen import Frozen
from plausible.base.tolerances import UTILITY_NOISE
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
