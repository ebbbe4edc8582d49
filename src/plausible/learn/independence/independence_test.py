"""What a test of conditional independence is: p-values for many questions at once."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, UnknownVariable

Mask = NDArray[np.bool_]


@dataclass(frozen=True, slots=True)
class IndependenceResult:
    """The outcome of one test."""

    statistic: float  # The larger, the further from independence
    #: The probability of a statistic at least as large under independence; NaN where the test was not made.
    p_value: float
    #: Of the distribution under independence. 0 where what is given determines x or y, or one of them never varies:
    #: they are independent then, whatever else they have to do with each other.
    degrees_of_freedom: float
    #: Whether the test means anything. It does not with too few rows: such a test shows neither dependence nor
    #: independence, and its p-value is NaN.
    is_reliable: bool = True

    @classmethod
    def not_made(cls) -> IndependenceResult:
        """The outcome where nothing can be told."""
        return cls(math.nan, math.nan, 0.0, False)

    @classmethod
    def nothing_left(cls) -> IndependenceResult:
        """The outcome where x or y never varies once the others are given."""
        return cls(0.0, 1.0, 0.0)

    def is_independent(self, alpha: float = 0.05) -> bool:
        """Whether the test is reliable and does not reject independence at a level.

        >>> IndependenceResult(0.7, 0.4, 1.0).is_independent(), IndependenceResult(9.2, 0.002, 1.0).is_independent()
        (True, False)
        """
        return self.is_reliable and self.p_value > alpha


class Question(NamedTuple):
    """Whether x is independent of each of some others, given the same variables."""

    x: str
    given: tuple[str, ...]
    others: tuple[str, ...]


def single_tests(questions: Iterable[Question]) -> list[tuple[str, str, tuple[str, ...]]]:
    """(x, y, given) of each test, in the order of names: an answer depends on no other order."""
    return [(min(x, other), max(x, other), tuple(sorted(given))) for x, given, others in questions for other in others]


class Answers(NamedTuple):
    """The outcomes of all tests of some questions, in order; see `IndependenceResult` for the parts."""

    statistics: Floats
    p_values: Floats
    degrees_of_freedom: Floats
    are_reliable: Mask

    @classmethod
    def of(cls, results: Iterable[IndependenceResult]) -> Answers:
        """Single outcomes, collected."""
        listed = [(r.statistic, r.p_value, r.degrees_of_freedom, float(r.is_reliable)) for r in results]
        columns = np.array(listed, dtype=np.float64).reshape(-1, 4).T
        return cls(columns[0], columns[1], columns[2], columns[3] > 0)

    def are_independent(self, alpha: float) -> Mask:
        """Which tests are reliable and do not reject independence at a level."""
        return self.are_reliable & (self.p_values > alpha)

    @property
    def are_determined(self) -> Mask:
        """Which tests are reliable and had nothing to compare: x or y never varies once the others are given."""
        return np.asarray(self.are_reliable & (self.degrees_of_freedom == 0))

    def are_dependent(self, alpha: float) -> Mask:
        """Which tests are reliable and reject independence at a level."""
        return self.are_reliable & (self.p_values <= alpha)


class IndependenceTest(ABC):
    """A test bound to what it asks: data, a graph, or a function of the user."""

    __slots__ = ()

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The variables that can be asked about."""

    @abstractmethod
    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order; names are taken to be right."""

    def test(self, x: str, y: str, given: Iterable[str] | str = ()) -> IndependenceResult:
        """Whether x and y are independent given others.

        Parameters
        ----------
        x, y
            Two variables; their order does not matter.
        given
            Variables, in any order.
        """
        conditions = (given,) if isinstance(given, str) else tuple(sorted(given))
        asked = (x, y, *conditions)
        for name in asked:
            if name not in self.names:
                raise UnknownVariable.named(name, self.names, "this test")
        if len(set(asked)) < len(asked):
            raise InvalidArgument(f"A test is about different variables, but one of {', '.join(asked)} is there twice.")
        first, second = sorted((x, y))
        found = self.ask([Question(first, conditions, (second,))])
        return IndependenceResult(
            float(found.statistics[0]),
            float(found.p_values[0]),
            float(found.degrees_of_freedom[0]),
            bool(found.are_reliable[0]),
        )


#: Told x, y and what is given; a p-value, or the whole outcome.
TestFunction: TypeAlias = Callable[[str, str, tuple[str, ...]], "float | IndependenceResult"]


@final
class FunctionTest(IndependenceTest):
    """Any function as a test.

    Parameters
    ----------
    names
        The variables.
    function
        Called with x, y and the tuple of those given, each pair in the order of their names; returns a p-value or an
        `IndependenceResult`.

    Examples
    --------
    >>> FunctionTest("AB", lambda x, y, given: 0.3).test("A", "B").is_independent()
    True
    """

    __slots__ = ("_function", "_names")

    def __init__(self, names: Iterable[str], function: TestFunction) -> None:
        self._names, self._function = tuple(names), function

    @property
    def names(self) -> Sequence[str]:
        """The variables that can be asked about."""
        return self._names

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        return Answers.of(self._one(*asked) for asked in single_tests(questions))

    def _one(self, x: str, y: str, given: tuple[str, ...]) -> IndependenceResult:
        found = self._function(x, y, given)
        if isinstance(found, IndependenceResult):
            return found
        if not 0 <= found <= 1:
            raise InvalidArgument(f"The test of {x!r} and {y!r} returned {found!r}, which is no p-value.")
        return IndependenceResult(1.0 - found, float(found), 1.0)
