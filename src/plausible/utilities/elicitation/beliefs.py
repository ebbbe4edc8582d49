"""What is believed about somebody's utilities, and how answers change it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from plausible.base import WRITTEN_ROUNDING, Floats, Frozen
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, counted, suggestion
from plausible.utilities.elicitation.questions import Answer, Question
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, tie_room, utility_of
from plausible.utilities.lotteries.regret import ActionRanking, DecisionSituation

#: Answers on a scale are told apart in so many bins.
_BINS = 512


@dataclass(frozen=True, slots=True)
class LinearQuestion:
    """Σ c(o) U(o) is asked for: its sign, by a choice, or its value."""

    weights: Floats  # c, over the outcomes of a belief
    choices: tuple[str, ...]  # The words for above 0, below and at 0; empty where the value is told
    limits: tuple[float, float]  # The scale of told values, which are turned into shares of it

    @property
    def is_choice(self) -> bool:
        """Whether only the sign is told."""
        return bool(self.choices)

    def sign(self, answer: Answer) -> int | None:
        """1, -1 or 0 for a choice; `None` for a number."""
        return (1, -1, 0)[self.choices.index(str(answer))] if self.choices else None

    def reading(self, answer: Answer) -> float:
        """The value told, from 0 to 1."""
        low, high = self.limits
        return (float(answer) - low) / (high - low)

    def likelihood(self, answer: Answer, utilities: Floats, noise: float) -> Floats:
        """The likelihood of an answer under each utility function (rows); without noise, half each way at zero."""
        values, sign = self._values(utilities), self.sign(answer)
        if sign:
            return _above(sign * values, noise)
        errors = (0.0 if sign == 0 else self.reading(answer)) - values
        if noise == 0:
            return (np.abs(errors) <= WRITTEN_ROUNDING).astype(float)
        return np.asarray(np.exp(-0.5 * (errors / noise) ** 2) / (noise * math.sqrt(2 * math.pi)))

    def likelihoods(self, utilities: Floats, noise: float) -> Floats:
        """Answers × functions: the probability of each answer under each; columns sum to one.

        A choice has two answers. A told value is taken in bins, which loses a little and never adds information.
        """
        values = self._values(utilities)
        if self.choices:
            above = _above(values, noise)
            return np.stack([above, 1.0 - above])
        if noise == 0:
            # One answer for all values that differ by no more than the room from one to the next.
            different = np.unique(values)
            firsts = different[np.diff(different, prepend=-np.inf) > tie_room(utilities)]
            answers = np.searchsorted(firsts, values, side="right") - 1
            return np.asarray(np.arange(len(firsts))[:, None] == answers, dtype=float)
        borders = np.linspace(values.min() - 6 * noise, values.max() + 6 * noise, _BINS + 1)[1:-1]
        below = 1.0 - _above(values - borders[:, None], noise)
        ends = np.zeros((1, values.size))
        return np.diff(np.concatenate([ends, below, ends + 1.0]), axis=0)

    def _values(self, utilities: Floats) -> Floats:
        """c·U of each function, zero where floats can't tell it from zero."""
        values = utilities @ self.weights
        return np.where(np.abs(values) <= tie_room(utilities), 0.0, values)


def _above(values: Floats, noise: float) -> Floats:
    """P(value + error > 0)."""
    if noise == 0:
        return np.where(values == 0, 0.5, (values > 0).astype(float))
    from scipy.special import ndtr

    return np.asarray(ndtr(values / noise))


class AnswerWorth(NamedTuple):
    """What an answer is expected to bring to a decision.

    >>> from plausible.utilities.elicitation.questions import gamble_question
    >>> belief = DiscreteUtilityBelief([{"none": 0, "tea": t, "milk": 0.5, "feast": 1} for t in (0.2, 0.8)])
    >>> drinks = DecisionSituation({"order tea": "tea", "order milk": "milk"}, {})
    >>> round(belief.worth_of([gamble_question("tea", "none", "feast", 0.5)], drinks)[0].value, 6)
    0.15
    """

    #: The expected value of information, E[max_a E[EU(a) | answer]] - max_a E[EU(a)], which is never below 0.
    value: float
    #: How much of the variance of EU(best) - EU(a) it removes, summed over the other actions: what the answer
    #: contributes even where it takes further ones to change the action.
    variance: float


class UtilityBelief(Frozen, ABC):
    """A distribution over utility functions of some outcomes.

    By linearity the expected utility of an action is that under the mean utilities, so decisions need no more
    (EU(a) = Σ π_a(o) E[U(o)]).

    >>> belief = DiscreteUtilityBelief([{"tea": 1, "milk": 0}, {"tea": 0.2, "milk": 0.6}])
    >>> belief.rank(DecisionSituation({"order tea": "tea", "order milk": "milk"}, {})).action
    'order tea'
    """

    __slots__ = ()

    outcomes: tuple[Hashable, ...]
    #: The standard deviation of errors in answers, on the scale of the utilities.
    noise: float

    @property
    @abstractmethod
    def mean_values(self) -> Floats:
        """E[U(o)], in the order of the outcomes."""

    @property
    @abstractmethod
    def deviations(self) -> Floats:
        """The standard deviation of U(o), in the order of the outcomes."""

    @abstractmethod
    def expected_regret(self, situation: DecisionSituation) -> float:
        """E[max_a EU(a)] - max_a E[EU(a)]: what knowing the utilities would bring."""

    @abstractmethod
    def worth_of(self, questions: Iterable[Question], situation: DecisionSituation) -> list[AnswerWorth]:
        """What an answer to each question is expected to bring to the decision."""

    @abstractmethod
    def after(self, question: Question, answer: Answer) -> Self:
        """The belief given an answer."""

    def value_of(self, question: Question, situation: DecisionSituation) -> float:
        """The expected value of information of one answer."""
        return self.worth_of([question], situation)[0].value

    @property
    def mean(self) -> dict[Hashable, float]:
        """E[U(o)] of each outcome: all that a decision needs."""
        return dict(zip(self.outcomes, self.mean_values.tolist(), strict=True))

    def rank(self, situation: DecisionSituation) -> ActionRanking:
        """The actions by expected utility, with the mean utilities."""
        return situation.with_utility(self.mean).rank()

    def chances(self, situation: DecisionSituation) -> Floats:
        """Actions × outcomes of this belief: π_a(o)."""
        table = np.zeros((len(situation.actions), len(self.outcomes)))
        table[:, [self._place(outcome) for outcome in situation.outcomes]] = situation.outcome_model
        return table

    def _place(self, outcome: Hashable) -> int:
        if outcome not in self.outcomes:
            raise InvalidArgument(f"The belief says nothing on {outcome!r}.{suggestion(outcome, self.outcomes)}")
        return self.outcomes.index(outcome)

    def linear(self, question: Question) -> LinearQuestion:
        """The question as a comparison of Σ c(o) U(o) with zero, or as a noisy reading of it.

        The item against a gamble is U(item) - (1 - α) U(worst) - α U(best) against 0; a place on a scale is U(item), if
        its anchors have the utilities 0 and 1.
        """
        if question.kind == "time":
            raise NotSupported("Time trade-offs are about years, not outcomes of a decision: ask gambles or scales.")
        weights = np.zeros(len(self.outcomes))
        weights[self._place(question.item)] = 1.0
        for anchor, level in ((question.worst, 0.0), (question.best, 1.0)):
            if question.kind == "gamble":
                weights[self._place(anchor)] -= question.level if level else 1.0 - question.level
            elif anchor in self.outcomes and abs(self.mean[anchor] - level) > WRITTEN_ROUNDING:
                raise InvalidArgument(
                    f"Places on a scale are utilities only if its anchors are at 0 and 1, but the belief has "
                    f"{self.mean[anchor]:.6g} for {anchor!r}: rescale it, or ask gambles."
                )
        return LinearQuestion(weights, question.choices, question.limits)


@final
class DiscreteUtilityBelief(UtilityBelief):
    """Some utility functions, each with its probability; answers are weighed exactly by Bayes' rule.

    Utilities are mappings from outcomes, or functions of them, with equal weights where none are given; the outcomes
    are by default those of the first mapping. The noise is the standard deviation of errors in answers.

    >>> belief = DiscreteUtilityBelief([{"tea": 1, "milk": 0}, {"tea": 0.2, "milk": 0.6}], [0.25, 0.75])
    >>> {outcome: round(value, 9) for outcome, value in belief.mean.items()}
    {'tea': 0.4, 'milk': 0.45}
    """

    __slots__ = ("noise", "outcomes", "utilities", "weights")

    utilities: Floats  # Functions × outcomes
    weights: Floats

    def __init__(
        self,
        utilities: Iterable[UtilityLike],
        weights: npt.ArrayLike | None = None,
        outcomes: Iterable[Hashable] | None = None,
        noise: float = 0.0,
    ) -> None:
        listed = list(utilities)
        if not listed:
            raise InvalidArgument("A belief needs a utility function, at least.")
        if outcomes is None and not isinstance(listed[0], Mapping):
            raise InvalidArgument("The outcomes of a function are not known: list them with outcomes=[...].")
        first: Any = listed[0]
        names = tuple(first if outcomes is None else outcomes)
        read = [read_utility(each) for each in listed]
        table = np.array([[utility_of(each, outcome) for outcome in names] for each in read])
        chances = np.ones(len(listed)) if weights is None else np.array(weights, dtype=float)
        if chances.shape != (len(listed),) or not (chances >= 0).all() or not chances.sum() > 0:
            raise InvalidArgument(f"The {len(listed)} utility functions need as many weights, none negative.")
        self._fill(names, table, chances / chances.sum(), checked_noise(noise))

    def _fill(self, outcomes: tuple[Hashable, ...], utilities: Floats, weights: Floats, noise: float) -> None:
        utilities.flags.writeable = weights.flags.writeable = False
        self.outcomes, self.utilities, self.weights, self.noise = outcomes, utilities, weights, noise

    @property
    def mean_values(self) -> Floats:
        return np.asarray(self.weights @ self.utilities)

    @property
    def deviations(self) -> Floats:
        return np.asarray(np.sqrt(self.weights @ (self.utilities - self.mean_values) ** 2))

    def expected_regret(self, situation: DecisionSituation) -> float:
        values = self.utilities @ self.chances(situation).T
        best = int((self.weights @ values).argmax())
        # a sum of terms that are not negative: nothing is left where one action is the best for all
        return float(self.weights @ (values.max(axis=1) - values[:, best]))

    def worth_of(self, questions: Iterable[Question], situation: DecisionSituation) -> list[AnswerWorth]:
        """What an answer to each question is expected to bring; numbers on a scale are told apart in 512 bins."""
        weighted = self.weights[:, None] * (self.utilities @ self.chances(situation).T)
        means = weighted.sum(axis=0)
        best, worths = int(means.argmax()), []
        for question in questions:
            likelihoods = self.linear(question).likelihoods(self.utilities, self.noise)
            scores, chances = likelihoods @ weighted, likelihoods @ self.weights
            gaps = scores - scores[:, [best]]
            squares = np.divide(gaps**2, chances[:, None], out=np.zeros_like(gaps), where=chances[:, None] > 0)
            variance = float((squares.sum(axis=0) - (means - means[best]) ** 2).sum())
            worths.append(AnswerWorth(float(gaps.max(axis=1).sum()), max(0.0, variance)))
        return worths

    def after(self, question: Question, answer: Answer) -> Self:
        weights = self.weights * self.linear(question).likelihood(answer, self.utilities, self.noise)
        if not weights.sum() > 0:
            raise ImpossibleEvidence(
                f"No utility function of this belief allows the answer {answer!r} on {question.item!r}: "
                f"give the belief noise=, or more functions."
            )
        changed = object.__new__(type(self))
        changed._fill(self.outcomes, self.utilities, weights / weights.sum(), self.noise)
        return changed

    def __repr__(self) -> str:
        return f"DiscreteUtilityBelief({counted(len(self.weights), 'function')} of {list(self.outcomes)!r})"


def checked_noise(noise: float) -> float:
    if not (noise >= 0 and math.isfinite(noise)):
        raise InvalidArgument(f"noise={noise!r} must be a number that is not negative.")
    return float(noise)
