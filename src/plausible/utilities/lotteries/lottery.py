"""Lotteries: outcomes, each with its probability."""

from __future__ import annotations

import math
from collections.abc import Callable, Hashable, Mapping
from itertools import accumulate
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np

from plausible.base import WRITTEN_ROUNDING, Floats, FrozenMapping, chart_by, check_number, format_number, html_of_print
from plausible.errors import InvalidArgument, shortened
from plausible.factors import Factor
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

#: What stands for a lottery: one, a dict from outcomes to probabilities, or an outcome for sure.
LotteryLike: TypeAlias = Hashable | Mapping[Any, float]
#: How many stages of a nested lottery are printed.
_NUM_STAGES_SHOWN = 8


class Lottery(FrozenMapping[Hashable, float]):
    """Outcomes, each with its probability; an outcome may be a lottery again (Koller & Friedman 2009, definition 22.1).

    Two lotteries are equal if they give the same outcomes the same probabilities, outcomes of probability zero aside; a
    nested lottery differs from its flat form, although by the axiom of decomposability nobody should care. An outcome
    is anything hashable: a text, a number, an assignment, a `Lottery`.

    >>> game = Lottery({"win": 0.5, Lottery({"draw": 0.25, "lose": 0.75}): 0.5})
    >>> print(game.flatten())
    [win: 0.5; draw: 0.125; lose: 0.375]
    >>> game.expected_utility({"win": 3, "draw": 50, "lose": 0})
    7.75
    """

    __slots__ = ("_hash",)

    def __init__(self, probabilities: Mapping[Hashable, float]) -> None:
        self.__setstate__(_checked(probabilities))

    @classmethod
    def certain(cls, outcome: Hashable) -> Lottery:
        """The lottery that gives one outcome for sure; a lottery stands for itself."""
        if isinstance(outcome, Lottery):
            return outcome
        try:
            return cls({outcome: 1.0})
        except TypeError:
            raise InvalidArgument(
                f"{shortened(outcome)} can't be an outcome, as it can change: give a text, a number or a tuple, "
                f"or a lottery as Lottery({{outcome: probability}})."
            ) from None

    @classmethod
    def gamble(cls, best: Hashable, worst: Hashable, probability: float) -> Lottery:
        """The standard gamble: `best` with this probability, `worst` otherwise.

        >>> print(Lottery.gamble("healthy", "dead", 0.9))
        [healthy: 0.9; dead: 0.1]
        """
        return cls.certain(best) if best == worst else cls({best: probability, worst: 1.0 - probability})

    @classmethod
    def from_factor(cls, factor: Factor) -> Lottery:
        """The distribution that a factor holds: over states of one variable, or over tuples of the states of several.

        >>> from plausible.variables import Variable
        >>> print(Lottery.from_factor(Factor([Variable("rain", ["no", "yes"])], [0.7, 0.3])))
        [no: 0.7; yes: 0.3]
        """
        return cls(factor.to_dict())

    @property
    def is_compound(self) -> bool:
        """Whether an outcome is a lottery again."""
        return any(isinstance(outcome, Lottery) for outcome in self)

    @property
    def support(self) -> tuple[Hashable, ...]:
        """The outcomes of positive probability."""
        return tuple(outcome for outcome, probability in self.items() if probability > 0)

    def flatten(self) -> Lottery:
        """The same chances of final outcomes in one stage: probabilities multiply, and add where outcomes are equal."""
        return Lottery(self.final_probabilities()) if self.is_compound else self

    def final_probabilities(self) -> dict[Hashable, float]:
        """The probability of each outcome that is no lottery."""
        stages, outcomes = _read_through(self)
        total = dict.fromkeys(outcomes, 0.0)
        reached = {id(stage): 0.0 for stage in stages} | {id(self): 1.0}
        for stage in reversed(stages):
            for outcome, probability in stage.items():
                chance = reached[id(stage)] * probability
                if isinstance(outcome, Lottery):
                    reached[id(outcome)] += chance
                else:
                    total[outcome] += chance
        return total

    def mixed_with(self, other: LotteryLike, probability: float) -> Lottery:
        """The flat mixture [this: probability; other: 1 - probability]."""
        return Lottery.gamble(self, as_lottery(other), probability).flatten()

    def expected_utility(self, utility: UtilityLike) -> float:
        """Σ π(o) U(o), through all stages; outcomes of probability zero need no utility.

        `utility` is a mapping from final outcomes, or a function of them, such as a `UtilityCurve`. Each stage is
        evaluated once, in however many places it stands.
        """
        value, worth = read_utility(utility), dict[int, float]()
        for stage in _read_through(self, only_possible=True)[0]:
            worth[id(stage)] = math.fsum(
                probability * (worth[id(o)] if isinstance(o, Lottery) else utility_of(value, o))
                for o, probability in stage.items()
                if probability > 0
            )
        return worth[id(self)]

    def expectation(self) -> float:
        """The mean outcome, where outcomes are numbers."""
        return self.expected_utility(_as_number)

    def probability_of(self, event: Callable[[Any], bool]) -> float:
        """How likely the outcome is one of which something holds.

        >>> Lottery({-70: 0.5, 50: 0.3, 200: 0.2}).probability_of(lambda amount: amount < 100)
        0.8
        """
        return math.fsum(probability for outcome, probability in self.final_probabilities().items() if event(outcome))

    def quantile(self, level: float) -> float:
        """The least outcome that is not exceeded with at least this probability, where outcomes are numbers.

        >>> Lottery({-70: 0.5, 50: 0.3, 200: 0.2}).quantile(0.75)
        50.0
        """
        check_number("level", level, least=0, most=1)
        chances = sorted((_as_number(outcome), p) for outcome, p in self.final_probabilities().items() if p > 0)
        reached = accumulate(p for _, p in chances)
        return chances[next(i for i, sure in enumerate(reached) if sure >= level - 2 * WRITTEN_ROUNDING)][0]

    def is_close(self, other: LotteryLike, tolerance: float = WRITTEN_ROUNDING) -> bool:
        """Whether both give each final outcome the same probability, to within the tolerance."""
        first, second = self.final_probabilities(), as_lottery(other).final_probabilities()
        return all(abs(first.get(o, 0.0) - second.get(o, 0.0)) <= tolerance for o in {**first, **second})

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Lottery):
            return NotImplemented
        if self is other or self._hash != other._hash:
            return self is other
        # Stages are numbered from the inside; equal stages get the same number.
        numbers: dict[int, int] = {}
        known: dict[frozenset[tuple[bool, Hashable, float]], int] = {}
        for stage in (*_read_through(self, only_possible=True)[0], *_read_through(other, only_possible=True)[0]):
            content = frozenset(
                (True, numbers[id(o)], p) if isinstance(o, Lottery) else (False, o, p)
                for o, p in stage.items()
                if p > 0
            )
            numbers[id(stage)] = known.setdefault(content, len(known))
        return numbers[id(self)] == numbers[id(other)]

    def __hash__(self) -> int:
        return self._hash

    # Hashes of texts differ from one process to the next.
    def __getstate__(self) -> dict[Hashable, float]:
        return self._items

    def __setstate__(self, probabilities: dict[Hashable, float]) -> None:
        self._items = probabilities
        # Inner lotteries have theirs already, so that this takes no longer for a deep lottery.
        self._hash = hash(frozenset((outcome, probability) for outcome, probability in self.items() if probability > 0))

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw how probable it is to get no more than each amount; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_risk", self, ax)

    def __str__(self) -> str:
        return self._told(_NUM_STAGES_SHOWN)

    _repr_html_ = html_of_print

    def _told(self, num_stages: int) -> str:
        if not num_stages:
            return "[...]"
        parts = []
        for outcome, probability in self.items():
            if isinstance(outcome, Lottery):
                told = outcome._told(num_stages - 1)
            else:
                told = format_number(outcome) if isinstance(outcome, float) else str(outcome)
            parts.append(f"{told}: {probability:.6g}")
        return f"[{'; '.join(parts)}]"

    def __repr__(self) -> str:
        return f"Lottery({self._items!r})"


def as_lottery(given: LotteryLike) -> Lottery:
    """What somebody gave for a lottery: one, a dict of outcomes and their probabilities, or an outcome for sure."""
    # Mappings that can be hashed, such as an `Assignment`, are outcomes.
    if isinstance(given, Mapping) and type(given).__hash__ is None:
        return Lottery(given)
    return Lottery.certain(given)


def _read_through(top: Lottery, *, only_possible: bool = False) -> tuple[list[Lottery], list[Hashable]]:
    """The stages of a lottery, each once and inner before outer, and its final outcomes as they are read."""
    stages: list[Lottery] = []
    outcomes: dict[Hashable, None] = {}
    seen, path = {id(top)}, [(top, iter(top))]
    while path:
        stage, unread = path[-1]
        for outcome in unread:
            if only_possible and stage[outcome] == 0:
                continue
            if not isinstance(outcome, Lottery):
                outcomes[outcome] = None
            elif id(outcome) not in seen:
                seen.add(id(outcome))
                path.append((outcome, iter(outcome)))
                break
        else:
            stages.append(stage)
            path.pop()
    return stages, list(outcomes)


def _checked(probabilities: Mapping[Hashable, float]) -> dict[Hashable, float]:
    """The probabilities as floats, if they are a distribution."""
    if not isinstance(probabilities, Mapping) or not probabilities:
        raise InvalidArgument(
            f"A lottery is a mapping of outcomes to probabilities, as in Lottery({{'win': 0.2, 'lose': 0.8}}); "
            f"not {shortened(probabilities)}."
        )
    read: dict[Hashable, float] = {}
    for outcome, number in probabilities.items():
        try:
            probability = float(number)
        except (TypeError, ValueError):
            probability = math.nan
        if not -WRITTEN_ROUNDING <= probability <= 1.0 + WRITTEN_ROUNDING:
            raise InvalidArgument(
                f"The outcome {shortened(outcome)} has {shortened(number)} for a probability; it must lie in [0, 1]."
            )
        read[outcome] = min(max(probability, 0.0), 1.0)
    total = math.fsum(read.values())
    if abs(total - 1.0) > WRITTEN_ROUNDING:
        raise InvalidArgument(
            f"The probabilities of {shortened(list(read))} sum to {total:.9g}, not to 1: add what is missing, "
            f"or divide each by the sum."
        )
    return read


def _as_number(outcome: Hashable) -> float:
    try:
        return float(outcome)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        raise InvalidArgument(
            f"The outcome {shortened(outcome)} is no number, so that the lottery has no mean: "
            f"give utilities to expected_utility instead."
        ) from None


def amount_of(outcome: Hashable) -> float:
    """An outcome as a finite number."""
    return utility_of(_as_number, outcome)


def amounts_of(lottery: LotteryLike) -> tuple[Floats, Floats]:
    """What may be gained or lost, and how likely it is."""
    amounts: dict[float, float] = {}
    for outcome, probability in as_lottery(lottery).final_probabilities().items():
        if probability > 0:
            amount = amount_of(outcome)
            amounts[amount] = amounts.get(amount, 0.0) + probability
    return np.array(list(amounts)), np.array(list(amounts.values())) / math.fsum(amounts.values())
