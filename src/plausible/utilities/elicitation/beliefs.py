"""What is believed about somebody's utilities, and how answers change it."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, NamedTuple, Self, final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.frozen import Frozen
from plausible.errors import ImpossibleEvidence, InvalidArgument, counted, suggestion
from plausible.utilities.elicitation.answers import LinearQuestion, linear_question
from plausible.utilities.elicitation.questions import Answer, Question
from plausible.utilities.lotteries.outcome_utilities import UtilityLike, read_utility, utility_of
from plausible.utilities.lotteries.situation import ActionRanking, DecisionSituation


class AnswerWorth(NamedTuple):
    """What an answer is expected to bring to a decision.

    Examples
    --------
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

    Examples
    --------
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
        for outcome in situation.outcomes:
            if outcome not in self.outcomes:
                raise InvalidArgument(
                    f"The belief says nothing on the outcome {outcome!r}.{suggestion(outcome, self.outcomes)}"
                )
        model, places = situation.outcome_model, [self.outcomes.index(outcome) for outcome in situation.outcomes]
        table = np.zeros((len(situation.actions), len(self.outcomes)))
        table[:, places] = model
        return table

    def linear(self, question: Question) -> LinearQuestion:
        """The question as a comparison of Σ c(o) U(o) with zero, or as a noisy reading of it."""
        if question.kind == "scale":
            for anchor, level in ((question.worst, 0.0), (question.best, 1.0)):
                if anchor in self.outcomes and abs(self.mean[anchor] - level) > 1e-9:
                    raise InvalidArgument(
                        f"Places on a scale are utilities only if its anchors are at 0 and 1, but the belief has "
                        f"{self.mean[anchor]:.6g} for {anchor!r}: rescale it, or ask gambles."
                    )
        return linear_question(question, self.outcomes)


@final
class DiscreteUtilityBelief(UtilityBelief):
    """Some utility functions, each with its probability; answers are weighed exactly by Bayes' rule.

    Parameters
    ----------
    utilities
        Mappings from outcomes, or functions of them.
    weights
        Their probabilities; by default equal.
    outcomes
        Which; by default those of the first mapping.
    noise
        The standard deviation of errors in answers.

    Examples
    --------
    >>> belief = DiscreteUtilityBelief([{"tea": 1, "milk": 0}, {"tea": 0.2, "milk": 0.6}], [0.25, 0.75])
    >>> {outcome: round(value, 9) for outcome, value in belief.mean.items()}
    {'tea': 0.4, 'milk': 0.45}
    """

    __slots__ = ("noise", "outcomes", "utilities", "weights")

    outcomes: tuple[Hashable, ...]
    noise: float
    #: Functions × outcomes.
    utilities: Floats
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
        """E[U(o)], in the order of the outcomes."""
        return np.asarray(self.weights @ self.utilities)

    @property
    def deviations(self) -> Floats:
        """The standard deviation of U(o), in the order of the outcomes."""
        return np.asarray(np.sqrt(self.weights @ (self.utilities - self.mean_values) ** 2))

    def expected_regret(self, situation: DecisionSituation) -> float:
        """E[max_a EU(a)] - max_a E[EU(a)], exactly."""
        values = self.utilities @ self.chances(situation).T
        best = int((self.weights @ values).argmax())
        # a sum of terms that are not negative: nothing is left where one action is the best for all
        return float(self.weights @ (values.max(axis=1) - values[:, best]))

    def worth_of(self, questions: Iterable[Question], situation: DecisionSituation) -> list[AnswerWorth]:
        """What an answer to each question is expected to bring; numbers on a scale are told apart in 512 bins."""
        weighted = self.weights[:, None] * (self.utilities @ self.chances(situation).T)
        return [
            _answer_worth(weighted, self.weights, self.linear(question).likelihoods(self.utilities, self.noise))
            for question in questions
        ]

    def after(self, question: Question, answer: Answer) -> Self:
        """The belief given an answer, by Bayes' rule."""
        likelihood = self.linear(question).likelihood(answer, self.utilities, self.noise)
        weights = self.weights * likelihood
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
    """The deviation of errors, if it is one.

    >>> checked_noise(0.1)
    0.1
    """
    if not (noise >= 0 and math.isfinite(noise)):
        raise InvalidArgument(f"noise={noise!r} must be a number that is not negative.")
    return float(noise)


def _answer_worth(weighted: Floats, weights: Floats, likelihoods: Floats) -> AnswerWorth:
    """From P(u) EU(a; u), functions × actions, P(u), and P(answer | u), answers × functions."""
    means, scores, chances = weighted.sum(axis=0), likelihoods @ weighted, likelihoods @ weights
    best = int(means.argmax())
    gaps = scores - scores[:, [best]]
    value = float(gaps.max(axis=1).sum())
    squares = np.divide(gaps**2, chances[:, None], out=np.zeros_like(gaps), where=chances[:, None] > 0)
    variance = float((squares.sum(axis=0) - (means - means[best]) ** 2).sum())
    return AnswerWorth(value, max(0.0, variance))
