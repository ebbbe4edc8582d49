"""Asking only what the decision needs: the next question by its value of information."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Literal, NamedTuple, Self, TypeAlias, final

import numpy as np

from plausible.base import UTILITY_NOISE, Result, check_number, ranked, record
from plausible.errors import counted
from plausible.utilities.elicitation.beliefs import UtilityBelief
from plausible.utilities.elicitation.questions import Answer, Question, gamble_question
from plausible.utilities.elicitation.session import Session
from plausible.utilities.lotteries.outcome_utilities import tie_room
from plausible.utilities.lotteries.regret import ActionRanking, DecisionSituation

Ending: TypeAlias = Literal["open", "settled", "not worth asking", "enough questions"]
#: Where no single answer is worth this share of the regret, it takes several to change the action.
_GREAT_SHARE = 0.1
_TENTHS = np.arange(1, 10) / 10


@dataclass(frozen=True, slots=True)
class QuestionValue:
    """How much an answer is expected to improve the decision.

    >>> QuestionValue(gamble_question("pain", "dead", "healthy", 0.9), 0.05, 0.01).question.level
    0.9
    """

    question: Question  # The question
    value: float  # Its expected value of information, in utility
    variance: float  # How much of the variance of differences of expected utility it removes


def question_values(
    belief: UtilityBelief, situation: DecisionSituation, questions: Iterable[Question]
) -> tuple[QuestionValue, ...]:
    """The questions by their expected value of information, greatest first; among equals, by the variance they remove.

    What differs by no more than floats lose is equal; of questions that are equal in both the first listed comes first.
    The questions are gambles or scales on the outcomes of the situation, whose own utility is not used.

    >>> from plausible.utilities.elicitation.gaussian_belief import GaussianUtilityBelief
    >>> surgery = DecisionSituation({"wait": "pain", "operate": {"healthy": 0.9, "dead": 0.1}}, {})
    >>> belief = GaussianUtilityBelief({"dead": 0, "pain": 0.8, "healthy": 1}, np.diag([0, 0.04, 0]))
    >>> asked = [gamble_question("pain", "dead", "healthy", level) for level in (0.5, 0.7, 0.9)]
    >>> [(found.question.level, round(found.value, 4)) for found in question_values(belief, surgery, asked)]
    [(0.9, 0.0396), (0.7, 0.0013), (0.5, 0.0)]
    """
    listed = list(questions)
    worths = belief.worth_of(listed, situation)
    scored = [QuestionValue(question, *worth) for question, worth in zip(listed, worths, strict=True)]
    by_variance = ranked(scored, lambda each: each.variance, _lost_of_variances(belief))
    return tuple(ranked(by_variance, lambda each: each.value, tie_room(belief.mean_values, 0.0)))


@record
class AdaptiveResult(Result):
    """The decision as it stands."""

    ranking: ActionRanking  # The actions by expected utility under the mean utilities
    expected_regret: float  # What knowing the utilities would add, at most
    num_questions: int  # How many were answered
    ending: Ending  # "settled", "not worth asking", "enough questions", or "open"

    @property
    def action(self) -> Hashable:
        """The best action by what is known."""
        return self.ranking.action

    def __str__(self) -> str:
        return (
            f"{self.action} after {counted(self.num_questions, 'question')} ({self.ending}); "
            f"knowing the utilities would add {self.expected_regret:.4g} at most\n{self.ranking}"
        )


@final
class AdaptiveSession(Session):
    """A session that asks the question of greatest value, until the decision is settled: see `adaptive_elicitation`.

    >>> from plausible.utilities.elicitation.beliefs import DiscreteUtilityBelief
    >>> drinks = DecisionSituation({"order tea": "tea", "order milk": "milk"}, {})
    >>> tastes = [{"none": 0, "milk": 0.5, "tea": level, "feast": 1} for level in (0.2, 0.4, 0.7, 0.9)]
    >>> session = adaptive_elicitation(drinks, DiscreteUtilityBelief(tastes))
    >>> session.question.item, session.question.level
    ('tea', 0.5)
    >>> session.answer("sure").result.action
    'order tea'
    """

    __slots__ = ("_next", "_options", "_start", "answers", "asked", "belief", "situation")

    belief: UtilityBelief
    situation: DecisionSituation
    #: The questions that were answered, in order.
    asked: tuple[Question, ...]

    def __init__(
        self,
        situation: DecisionSituation,
        belief: UtilityBelief,
        options: _Options,
        start: AdaptiveSession | None = None,
        transcript: tuple[tuple[Question, Answer], ...] = (),
    ) -> None:
        self.situation, self.belief = situation, belief
        self.asked, self.answers = tuple(each for each, _ in transcript), tuple(told for _, told in transcript)
        self._options, self._start = options, self if start is None else start
        self._next = self._choose()

    @property
    def questions(self) -> tuple[Question, ...]:
        """Those that may be asked now: people repeat themselves, so none that was answered."""
        pool = usual_questions(self.belief) if self._options.pool is None else self._options.pool
        return tuple(each for each in pool if each not in self.asked)

    def _choose(self) -> tuple[Question | None, Ending]:
        """The best question, or why there is none."""
        regret = self.belief.expected_regret(self.situation)
        if regret <= self._options.tolerance:
            return None, "settled"
        if self._options.max_questions is not None and self.num_questions >= self._options.max_questions:
            return None, "enough questions"
        values = question_values(self.belief, self.situation, self.questions)
        if values and values[0].value > (self._options.cost or _GREAT_SHARE * regret):
            return values[0].question, "open"
        lost = _lost_of_variances(self.belief)
        telling = ranked(values, lambda each: each.variance, lost)[:1]
        if self._options.cost == 0 and telling and telling[0].variance > lost:
            return telling[0].question, "open"
        return None, "not worth asking"

    @property
    def question(self) -> Question | None:
        """The question of greatest value; `None` once the decision is settled or no answer is worth its cost."""
        return self._next[0]

    @property
    def result(self) -> AdaptiveResult:
        """The decision as it stands."""
        regret = self.belief.expected_regret(self.situation)
        return AdaptiveResult(self.belief.rank(self.situation), regret, self.num_questions, self._next[1])

    def started(self) -> Self:
        """The same session before any answer; `started().replay(answers)` resumes a saved one."""
        return self._start

    def _answered(self, question: Question, answer: Answer) -> Self:
        transcript = (*zip(self.asked, self.answers, strict=True), (question, answer))
        belief = self.belief.after(question, answer)
        return type(self)(self.situation, belief, self._options, self._start, transcript)

    def __repr__(self) -> str:
        answers = counted(self.num_questions, "answer")
        return f"AdaptiveSession({list(self.situation.actions)!r}, {answers}, {self._next[1]})"


class _Options(NamedTuple):
    pool: tuple[Question, ...] | None  # What may be asked, if that is fixed
    tolerance: float
    cost: float
    max_questions: int | None


def adaptive_elicitation(
    situation: DecisionSituation,
    belief: UtilityBelief,
    questions: Iterable[Question] | None = None,
    *,
    tolerance: float = 1e-9,
    cost: float = 0.0,
    max_questions: int | None = None,
) -> AdaptiveSession:
    """Ask about utilities only as far as the decision needs (Chajewska, Koller & Parr 2000).

    Each step asks the question whose answer improves the best expected utility most in expectation, and the session
    stops once full knowledge of the utilities would add no more than the tolerance. If asking is free and no single
    answer is worth a tenth of that, the one that removes most of the variance of differences between actions is asked.
    No question is asked twice.

    Parameters
    ----------
    situation, belief
        The actions and their lotteries; what is known of the utilities before. That of the situation is not used.
    questions
        Which may be asked; by default the `usual_questions` at each step.
    tolerance
        The expected regret at which the decision counts as settled.
    cost
        Of one answer, in utility: what is worth less is not asked.

    Examples
    --------
    >>> from plausible.utilities.elicitation.beliefs import DiscreteUtilityBelief
    >>> surgery = DecisionSituation({"wait": "pain", "operate": {"healthy": 0.9, "dead": 0.1}}, {})
    >>> tastes = [{"dead": 0.0, "pain": level / 20, "healthy": 1.0} for level in range(1, 20)]
    >>> session = adaptive_elicitation(surgery, DiscreteUtilityBelief(tastes))
    >>> print(session.question)
    Which would you rather have?
      1 (sure)   pain
      2 (gamble) healthy with a chance of 90%, dead with one of 10%
    >>> print(session.answer("gamble").result)
    operate after 1 question (settled); knowing the utilities would add 0 at most
    action  | expected utility | short of the best
    --------+------------------+------------------
    operate |              0.9 |                 0
    wait    |         0.462857 |          0.437143
    """
    for name, given in (("tolerance", tolerance), ("cost", cost), ("max_questions", max_questions or 0)):
        if given != math.inf:
            check_number(name, given, least=0)
    pool = None if questions is None else tuple(questions)
    return AdaptiveSession(situation, belief, _Options(pool, tolerance, cost, max_questions))


def usual_questions(belief: UtilityBelief) -> tuple[Question, ...]:
    """Gambles on the outcomes that are worst and best in the mean, for each other outcome that is not known.

    Chances are those from 10% to 90% by tens, and, to the percent, where the outcome is believed to lie and one
    standard deviation to either side.

    >>> from plausible.utilities.elicitation.gaussian_belief import GaussianUtilityBelief
    >>> belief = GaussianUtilityBelief({"dead": 0, "pain": 0.82, "healthy": 1}, np.diag([0, 0.01, 0]))
    >>> [question.level for question in usual_questions(belief)]
    [0.1, 0.2, 0.3, 0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 0.72, 0.82, 0.92]
    """
    means, deviations = belief.mean_values, belief.deviations
    low, high = int(np.argmin(means)), int(np.argmax(means))
    span = float(means[high] - means[low]) or 1.0
    found = []
    for place, item in enumerate(belief.outcomes):
        if place not in (low, high) and deviations[place] > 0:
            near = (means[place] - means[low] + deviations[place] * np.array([-1.0, 0.0, 1.0])) / span
            levels = np.round(np.concatenate([_TENTHS, np.clip(near, 0.01, 0.99)]), 2)
            asked = dict.fromkeys(levels.tolist())
            found += [gamble_question(item, belief.outcomes[low], belief.outcomes[high], level) for level in asked]
    return tuple(found)


def _lost_of_variances(belief: UtilityBelief) -> float:
    """What floats lose of the square of a utility: variances up to this are rounding."""
    return tie_room(belief.mean_values, 0.0) ** 2 / UTILITY_NOISE
