"""Sessions: a question at a time, each answer making a new session; and what one found out."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import pairwise
from typing import Any, Self, TypeVar

from plausible.base import Frozen, Result, TextTable, record
from plausible.errors import InvalidArgument, shortened, suggestion
from plausible.search.run import Clock
from plausible.utilities.elicitation.questions import Answer, Question, Respondent
from plausible.utilities.lotteries.curve_base import UtilityCurve
from plausible.utilities.lotteries.curve_fitting import CurveFamily, fit_curve


class Session(Frozen, ABC):
    """A conversation that asks until it knows enough; a value, so that any state of it can be kept or gone back to.

    A terminal drives it so:

    >>> def interview(session, ask=input, tell=print):
    ...     while (question := session.question) is not None:
    ...         try:
    ...             session = session.answer(ask(f"{question.text}\\n> "))
    ...         except ValueError as error:
    ...             tell(error)
    ...     return session.result
    """

    __slots__ = ()

    #: The answers so far, in order.
    answers: tuple[Answer, ...]

    @property
    @abstractmethod
    def question(self) -> Question | None:
        """The next question; `None` when there is nothing left to ask."""

    @property
    @abstractmethod
    def result(self) -> Any:
        """What is known by now, as a record."""

    @abstractmethod
    def started(self) -> Self:
        """The same session before any answer."""

    @abstractmethod
    def _answered(self, question: Question, answer: Answer) -> Self:
        """The session after an answer that has been read."""

    @property
    def is_done(self) -> bool:
        """Whether there is nothing left to ask."""
        return self.question is None

    @property
    def num_questions(self) -> int:
        """How many were answered."""
        return len(self.answers)

    def answer(self, answer: object) -> Self:
        """The session after the answer to its question.

        That is one of `question.choices` (or its beginning, or 1, 2, =), or a number for a question without choices.
        What can't be read raises `InvalidArgument`, and the session stays as it is.
        """
        if (question := self.question) is None:
            raise InvalidArgument("This session is over: there is no question to answer. See its result.")
        return self._answered(question, question.read(answer))

    def replay(self, answers: Iterable[Answer]) -> Self:
        """The session after these answers to its next questions."""
        session = self
        for answer in answers:
            session = session.answer(answer)
        return session

    def undo(self) -> Self:
        """The session before its last answer."""
        if not self.answers:
            raise InvalidArgument("There is no answer to take back.")
        return self.started().replay(self.answers[:-1])


SessionT = TypeVar("SessionT", bound=Session)


def run_session(
    session: SessionT,
    respondent: Respondent,
    *,
    progress: Callable[[SessionT], object] | None = None,
    time_limit: float | None = None,
) -> SessionT:
    """Let somebody answer until a session is over.

    The respondent is a function from a `Question` to an answer, such as a `SimulatedRespondent`; the session may have
    begun.

    >>> from plausible.utilities.elicitation.methods import standard_gamble
    >>> def truthful(question):
    ...     return "sure" if question.level < 0.4 else "gamble"
    >>> done = run_session(standard_gamble(["blind"], worst="dead", best="healthy"), truthful)
    >>> print(done.result)
    item  | utility |    low |   high | questions
    ------+---------+--------+--------+----------
    blind |  0.4023 | 0.3984 | 0.4062 |         7
    """
    clock = Clock.of(time_limit)
    while (question := session.question) is not None and not clock.is_over:
        session = session.answer(respondent(question))
        if progress is not None and progress(session):
            break
    return session


@dataclass(frozen=True, slots=True)
class ElicitedUtility:
    """The utility of one outcome, on the scale from the worst anchor (0) to the best (1).

    >>> ElicitedUtility("blind", 0.4, 0.39, 0.41, 6).is_at_limit
    False
    """

    item: Hashable  # The outcome
    value: float  # Its utility: the middle of the bracket
    #: The bracket.
    low: float
    high: float
    num_questions: int  # How many it took

    @property
    def is_at_limit(self) -> bool:
        """Whether every answer pointed beyond an anchor, which may then be no worst or no best outcome."""
        return self.num_questions > 0 and (self.low == 0.0 or self.high == 1.0) and self.low < self.high


@record
class ElicitationResult(Mapping[Hashable, float], Result):
    """The utilities that somebody told: a mapping from outcomes to numbers, the anchors with 0 and 1 among them.

    Outcomes that nothing was asked about yet are not in it. Brackets are what the answers imply: of somebody who is not
    sure they say nothing of how sure; ask again, and `compare_elicitations`. On another scale: `rescaled_utility`.

    >>> from plausible.utilities.elicitation.methods import visual_analog
    >>> result = visual_analog([400, 700], worst=0, best=1000).replay([50, 80]).result
    >>> dict(result)
    {0: 0.0, 1000: 1.0, 400: 0.5, 700: 0.8}
    >>> round(result.curve().inverse(0.5), 6)
    400.0
    """

    method: str  # How they were asked for
    #: The anchors.
    worst: Hashable
    best: Hashable
    items_told: tuple[ElicitedUtility, ...]  # What is known on each outcome

    def _table(self) -> dict[Hashable, float]:
        """What was asked about, and the anchors."""
        asked = {told.item: told.value for told in self.items_told if told.num_questions}
        return {self.worst: 0.0, self.best: 1.0, **asked}

    def __getitem__(self, outcome: Hashable) -> float:
        table = self._table()
        if outcome not in table:
            raise InvalidArgument(f"{outcome!r} was not asked about.{suggestion(outcome, table)}")
        return table[outcome]

    def __contains__(self, outcome: object) -> bool:
        return outcome in self._table()

    def __iter__(self) -> Iterator[Hashable]:
        return iter(self._table())

    def __len__(self) -> int:
        return len(self._table())

    @property
    def reversals(self) -> tuple[tuple[ElicitedUtility, ElicitedUtility], ...]:
        """Amounts next to each other of which the one nearer to the worst came out better, by more than the brackets.

        >>> from plausible.utilities.elicitation.methods import visual_analog
        >>> result = visual_analog([400, 700], worst=0, best=1000).replay([80, 50]).result
        >>> [(one.item, other.item) for one, other in result.reversals]
        [(400, 700)]
        """
        worst, best = amount_of(self.worst), amount_of(self.best)
        asked = [(amount_of(told.item), told) for told in self.items_told if told.num_questions]
        amounts = [(amount, told) for amount, told in asked if amount is not None]
        if worst is None or best is None:
            return ()
        ordered = [told for _, told in sorted(amounts, key=lambda pair: abs(pair[0] - worst))]
        return tuple(
            (one, other) for one, other in pairwise(ordered) if one.low >= other.high and one.value > other.value
        )

    @property
    def num_questions(self) -> int:
        """In all."""
        return sum(told.num_questions for told in self.items_told)

    def curve(self, family: CurveFamily = "tabulated") -> UtilityCurve:
        """The utilities of amounts as a curve, for certainty equivalents and attitudes to risk: see `fit_curve`."""
        amounts = {outcome: amount_of(outcome) for outcome in self}
        for outcome, amount in amounts.items():
            if amount is None:
                raise InvalidArgument(
                    f"{shortened(outcome)} is no amount, so that there is no curve: the utilities are a mapping, "
                    f"as in DecisionSituation(actions, result)."
                )
        return fit_curve(family, list(amounts.values()), list(self.values())).curve  # type: ignore[arg-type]

    def __str__(self) -> str:
        rows = []
        for told in self.items_told:
            value = f"{told.value:.4g}" if told.num_questions else "-"
            rows.append((str(told.item), value, f"{told.low:.4g}", f"{told.high:.4g}", str(told.num_questions)))
        warnings = [
            f"{one.item} came out better than {other.item} ({one.value:.4g} and {other.value:.4g}), though it lies "
            f"nearer to the worst, {self.worst}: no curve goes through both. Ask about them again, or leave one out."
            for one, other in self.reversals
        ]
        return "\n".join([str(TextTable(("item", "utility", "low", "high", "questions"), tuple(rows), 1)), *warnings])


def amount_of(outcome: Hashable) -> float | None:
    """An outcome as a finite number; texts, as terminals and files have them, may be one. `None` for any other."""
    try:
        amount = float(outcome)  # type: ignore[arg-type]
    except (TypeError, ValueError):
        return None
    return amount if math.isfinite(amount) and not isinstance(outcome, bool) else None
