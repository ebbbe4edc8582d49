"""Sessions: a question at a time, each answer making a new session."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable
from typing import Any, Self, TypeVar

from plausible.base.frozen import Frozen
from plausible.errors import InvalidArgument
from plausible.search.clock import Clock
from plausible.utilities.elicitation.questions import Answer, Question, Respondent


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

        Parameters
        ----------
        answer
            One of `question.choices` (or its beginning, or 1, 2, =), or a number for a question without choices. What
            can't be read raises `InvalidArgument`, and the session stays as it is.
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

    Parameters
    ----------
    session
        Where to begin or to go on.
    respondent
        A function from a `Question` to an answer, such as a `SimulatedRespondent`.
    time_limit
        Seconds after which no further question is asked.

    Examples
    --------
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
