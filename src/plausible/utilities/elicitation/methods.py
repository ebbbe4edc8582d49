"""The three classical methods: standard gamble, time trade-off, visual-analog scale."""

from __future__ import annotations

import json
import math
import os
from abc import ABC, abstractmethod
from collections.abc import Hashable, Iterable, Mapping
from dataclasses import asdict, dataclass, fields
from numbers import Real
from pathlib import Path
from typing import Any, ClassVar, Self, final

from plausible.data.row_files import write_whole
from plausible.errors import FormatError, InvalidArgument, MissingFile, counted, shortened
from plausible.utilities.elicitation.questions import (
    Answer,
    IndifferenceSearch,
    Question,
    Schedule,
    gamble_question,
    scale_question,
    time_question,
)
from plausible.utilities.elicitation.session import ElicitationResult, ElicitedUtility, Session, amount_of


def _is_finite(value: Any) -> bool:
    return isinstance(value, Real) and math.isfinite(value)


@dataclass(frozen=True, slots=True)
class Method(ABC):
    """What is asked about each item, and what an answer tells."""

    name: ClassVar[str]

    items: tuple[Hashable, ...]
    worst: Hashable
    best: Hashable
    tolerance: float = 0.01
    schedule: Schedule = "bisection"
    step: float = 0.1

    def __post_init__(self) -> None:
        if not self.items:
            raise InvalidArgument("There is nothing to ask about: list the outcomes to judge.")
        for outcome in (*self.items, self.worst, self.best):
            try:
                hash(outcome)
            except TypeError:
                raise InvalidArgument(
                    f"{shortened(outcome)} is no outcome: name outcomes by texts, numbers or tuples."
                ) from None
        if len(set(self.items)) < len(self.items):
            raise InvalidArgument(f"An outcome stands twice in {list(self.items)!r}.")
        if self.worst == self.best:
            raise InvalidArgument(f"The anchors must differ; both are {self.best!r}.")
        if anchors := [item for item in self.items if item in (self.worst, self.best)]:
            raise InvalidArgument(f"{anchors[0]!r} is an anchor: its utility is known. Leave it out of what is judged.")
        low, high = amount_of(self.worst), amount_of(self.best)
        for item in self.items:
            amount = amount_of(item)
            if None not in (amount, low, high) and not min(low, high) < amount < max(low, high):  # type: ignore[type-var, operator]
                raise InvalidArgument(
                    f"{item!r} does not lie between the anchors {self.worst!r} and {self.best!r}: name anchors beyond "
                    f"it, or leave it out of what is judged."
                )
        self._check_options()

    def _check_options(self) -> None:  # noqa: B027
        """Check what only this method has, and make it of the right type."""

    @property
    def search(self) -> IndifferenceSearch:
        """Where the search for one item begins."""
        return IndifferenceSearch(self.tolerance, self.schedule, self.step)

    @abstractmethod
    def question(self, item: Hashable, level: float) -> Question:
        """What to ask about an item."""

    def learn(self, search: IndifferenceSearch, question: Question, answer: Answer) -> IndifferenceSearch:
        """What an answer tells: whoever takes the first thing rates the item above the level."""
        return search.after({question.choices[0]: 1, question.choices[1]: -1, "same": 0}[str(answer)])


@final
@dataclass(frozen=True, slots=True)
class StandardGamble(Method):
    """The outcome for sure, or a gamble on the anchors."""

    name: ClassVar[str] = "standard-gamble"

    def question(self, item: Hashable, level: float) -> Question:
        return gamble_question(item, self.worst, self.best, level)


@final
@dataclass(frozen=True, slots=True)
class TimeTradeOff(Method):
    """All the years in a state of health, or fewer in full health."""

    name: ClassVar[str] = "time-trade-off"

    years: float = 10.0

    def _check_options(self) -> None:
        if not (_is_finite(self.years) and self.years > 0):
            raise InvalidArgument(f"years={shortened(self.years)} must be a positive, finite number.")
        object.__setattr__(self, "years", float(self.years))

    def question(self, item: Hashable, level: float) -> Question:
        return time_question(item, self.worst, self.best, level, self.years)


@final
@dataclass(frozen=True, slots=True)
class VisualAnalog(Method):
    """A place on a scale."""

    name: ClassVar[str] = "visual-analog"

    limits: tuple[float, float] = (0.0, 100.0)

    def _check_options(self) -> None:
        limits = self.limits if isinstance(self.limits, (tuple, list)) else ()
        if not (len(limits) == 2 and all(map(_is_finite, limits)) and limits[0] < limits[1]):
            raise InvalidArgument(f"limits={shortened(self.limits)} must be two finite numbers that rise, as (0, 100).")
        object.__setattr__(self, "limits", (float(limits[0]), float(limits[1])))

    def question(self, item: Hashable, level: float) -> Question:
        return scale_question(item, self.worst, self.best, self.limits)

    def learn(self, search: IndifferenceSearch, question: Question, answer: Answer) -> IndifferenceSearch:
        """The place, as a share of the scale."""
        low, high = self.limits
        return search.placed((float(answer) - low) / (high - low))


#: The methods by their names.
METHODS: dict[str, type[Method]] = {each.name: each for each in (StandardGamble, TimeTradeOff, VisualAnalog)}


@final
class ElicitationSession(Session):
    """One method applied to several outcomes in turn: start one with `standard_gamble` and its kin.

    >>> session = standard_gamble(["blind"], worst="dead", best="healthy", tolerance=0.25)
    >>> session.answer("sure").question.level
    0.75
    >>> record = session.answer("sure").to_dict()
    >>> resume_session(record).answer("gamble").result["blind"]
    0.625
    """

    __slots__ = ("_method", "_searches", "answers")

    def __init__(
        self, method: Method, answers: tuple[Answer, ...] = (), searches: tuple[IndifferenceSearch, ...] | None = None
    ) -> None:
        self._method, self.answers = method, answers
        self._searches = (method.search,) * len(method.items) if searches is None else searches

    @property
    def method(self) -> str:
        """The name of the method."""
        return self._method.name

    @property
    def question(self) -> Question | None:
        """The next question, on the first item that is not settled; `None` when all are."""
        for item, search in zip(self._method.items, self._searches, strict=True):
            if not search.is_done:
                return self._method.question(item, search.level)
        return None

    @property
    def num_left(self) -> int:
        """How many questions are left, at most, if levels are halved."""
        left = [search for search in self._searches if not search.is_done]
        return len(left) if self.method == "visual-analog" else sum(search.max_questions for search in left)

    @property
    def result(self) -> ElicitationResult:
        """The utilities as they are known by now."""
        told = [
            ElicitedUtility(item, search.value, search.low, search.high, search.num_questions)
            for item, search in zip(self._method.items, self._searches, strict=True)
        ]
        return ElicitationResult(self.method, self._method.worst, self._method.best, tuple(told))

    def started(self) -> Self:
        """The same session before any answer."""
        return type(self)(self._method)

    def _answered(self, question: Question, answer: Answer) -> Self:
        place = self._method.items.index(question.item)
        searches = list(self._searches)
        searches[place] = self._method.learn(searches[place], question, answer)
        return type(self)(self._method, (*self.answers, answer), tuple(searches))

    def to_dict(self) -> dict[str, Any]:
        """The session as plain data (for JSON, if the outcomes are texts or numbers), for `resume_session`."""
        options = asdict(self._method)
        return {"method": self.method, **options, "items": list(self._method.items), "answers": list(self.answers)}

    def __repr__(self) -> str:
        state = "done" if self.is_done else f"at most {counted(self.num_left, 'question')} left"
        return f"ElicitationSession({self.method!r}, {list(self._method.items)!r}, {state})"


def resume_session(record: Mapping[str, Any]) -> ElicitationSession:
    """The session that `ElicitationSession.to_dict` saved.

    The record may have gone through JSON; a file of it is read by `load_session`.

    >>> saved = visual_analog(["blind", "deaf"], worst="dead", best="healthy").answer(40).to_dict()
    >>> resume_session(saved).question.item
    'deaf'
    """
    kind = METHODS.get(str(record.get("method")))
    if kind is None:
        raise FormatError(f"A saved session has a method of {sorted(METHODS)}, not {record.get('method')!r}.")
    known = {field.name for field in fields(kind)}
    if missing := known - set(record):
        raise FormatError(f"The saved session lacks {sorted(missing)}.")
    for name in ("items", "answers"):
        if not isinstance(listed := record.get(name, ()), (list, tuple)):
            raise FormatError(
                f"The saved session can't be gone on with: its {name} are a list, not {shortened(listed)}."
            )
    options = {name: _hashable(record[name]) for name in known}
    try:
        return ElicitationSession(kind(**options)).replay(record.get("answers", ()))
    except (InvalidArgument, TypeError) as error:
        raise FormatError(f"The saved session can't be gone on with: {error}") from None


def _hashable(value: Any) -> Any:
    """Lists, which is what JSON makes of tuples, as tuples again."""
    return tuple(map(_hashable, value)) if isinstance(value, list) else value


def _items(items: Iterable[Hashable]) -> tuple[Hashable, ...]:
    return (items,) if isinstance(items, str) else tuple(items)  # a text is an outcome, not its letters


def standard_gamble(
    items: Iterable[Hashable],
    worst: Hashable,
    best: Hashable,
    *,
    tolerance: float = 0.01,
    schedule: Schedule = "bisection",
    step: float = 0.1,
) -> ElicitationSession:
    """Find for each outcome the chance α with o ~ [best: α; worst: 1 - α]: its utility between 0 and 1.

    Whoever prefers the gamble is shown a lower chance next, whoever prefers the outcome a higher one (section 22.3.1).

    Parameters
    ----------
    items
        Outcomes between the anchors; where these are amounts, amounts between them.
    worst, best
        The anchors, of utility 0 and 1.
    tolerance
        The width to which each is bracketed: bisection takes log₂(1/tolerance) questions for each.
    schedule, step
        In which order chances are shown; answers of people depend on it.

    Examples
    --------
    >>> session = standard_gamble(["blind"], worst="dead", best="healthy")
    >>> print(session.question)
    Which would you rather have?
      1 (sure)   blind
      2 (gamble) healthy with a chance of 50%, dead with one of 50%
    """
    return ElicitationSession(StandardGamble(_items(items), worst, best, tolerance, schedule, step))


def time_trade_off(
    items: Iterable[Hashable],
    healthy: Hashable = "full health",
    dead: Hashable = "dead",
    *,
    years: float = 10.0,
    tolerance: float = 0.01,
    schedule: Schedule = "bisection",
    step: float = 0.1,
) -> ElicitationSession:
    """Find for each state of health the t' with: t years in it are as good as t' years in health; its utility is t'/t.

    t, the `years`, is positive and finite; tolerance, schedule and step are those of `standard_gamble`, in shares of t.

    >>> print(time_trade_off(["blind"], years=20).question)
    Which would you rather have?
      1 (longer)  20 years: blind, then dead
      2 (shorter) 10 years: full health, then dead
    """
    return ElicitationSession(TimeTradeOff(_items(items), dead, healthy, tolerance, schedule, step, years))


def visual_analog(
    items: Iterable[Hashable], worst: Hashable, best: Hashable, *, limits: tuple[float, float] = (0.0, 100.0)
) -> ElicitationSession:
    """Let each outcome be placed on a scale; the place, as a share of it, is taken for the utility.

    The anchors stand at the ends of the scale, whose numbers, the limits, are finite and rise.

    >>> visual_analog(["blind"], worst="dead", best="healthy").answer(40).result["blind"]
    0.4
    """
    return ElicitationSession(VisualAnalog(_items(items), worst, best, limits=limits))


def save_session(session: ElicitationSession, path: str | os.PathLike[str]) -> None:
    """Write a session to a JSON file; an older file is replaced at once, or left as it was if that fails.

    Its outcomes are texts or numbers; it may be finished or not.

    >>> from tempfile import TemporaryDirectory
    >>> with TemporaryDirectory() as folder:
    ...     save_session(visual_analog(["400"], worst="0", best="1000").answer(50), f"{folder}/money.json")
    ...     result = load_session(f"{folder}/money.json").result
    >>> result["400"], result.curve()(400)
    (0.5, 0.5)
    """
    write_whole(path, (json.dumps(session.to_dict(), indent=2) + "\n").encode("utf-8"))


def load_session(path: str | os.PathLike[str]) -> ElicitationSession:
    """The session in a JSON file, such as `plausible elicit --save` writes.

    `load_session(path).result` is the utility, as a mapping from outcomes; for amounts `result.curve()` is the curve.

    >>> load_session("missing/money.json")
    Traceback (most recent call last):
        ...
    plausible.errors.MissingFile: No such file: 'missing/money.json'. There is no folder '...missing'.
    """
    if not Path(path).exists():
        raise MissingFile.at(Path(path), (".json",))
    try:
        record = json.loads(Path(path).read_text(encoding="utf-8"))
    except ValueError as error:
        raise FormatError(f"It holds no saved session: {error}.", file=os.fspath(path)) from None
    if not isinstance(record, dict):
        raise FormatError(f"It holds no saved session, but a JSON {type(record).__name__}.", file=os.fspath(path))
    try:
        return resume_session(record)
    except FormatError as error:
        raise error.in_file(os.fspath(path)) from None
