"""What a test of conditional independence is: p-values for many questions at once; functions and graphs as tests."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple, TypeAlias, final

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, MAG, CausalGraph
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.nodes import NodeIndex, Nodes

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

    def is_independent(self, alpha: float = 0.05) -> bool:
        """Whether the test is reliable and does not reject independence at a level."""
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


class IndependenceTest(ABC):
    """A test bound to what it asks: data, a graph, or a function of the user."""

    __slots__ = ()

    names: Sequence[str]  # The variables that can be asked about

    @abstractmethod
    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order; names are taken to be right."""

    def test(self, x: str, y: str, given: Iterable[str] | str = ()) -> IndependenceResult:
        """Whether x and y are independent given others; no order matters."""
        conditions = (given,) if isinstance(given, str) else tuple(sorted(given))
        asked = (x, y, *conditions)
        UnknownVariable.check_all(asked, self.names, "this test")
        if len(set(asked)) < len(asked):
            raise InvalidArgument(f"A test is about different variables, but one of {', '.join(asked)} is there twice.")
        first, second = sorted((x, y))
        found = self.ask([Question(first, conditions, (second,))])
        numbers = float(found.statistics[0]), float(found.p_values[0]), float(found.degrees_of_freedom[0])
        return IndependenceResult(*numbers, bool(found.are_reliable[0]))


#: Told x, y and what is given; a p-value, or the whole outcome.
TestFunction: TypeAlias = Callable[[str, str, tuple[str, ...]], "float | IndependenceResult"]


@final
class FunctionTest(IndependenceTest):
    """Any function as a test: of x, y and the tuple of those given, pairs in the order of names.

    It returns a p-value or an `IndependenceResult`.

    >>> FunctionTest("AB", lambda x, y, given: 0.3).test("A", "B").is_independent()
    True
    """

    def __init__(self, names: Iterable[str], function: TestFunction) -> None:
        self.names, self._function = tuple(names), function

    def ask(self, questions: Sequence[Question]) -> Answers:
        return Answers.of(self._one(*asked) for asked in single_tests(questions))

    def _one(self, x: str, y: str, given: tuple[str, ...]) -> IndependenceResult:
        found = self._function(x, y, given)
        if isinstance(found, IndependenceResult):
            return found
        if not 0 <= found <= 1:
            raise InvalidArgument(f"The test of {x!r} and {y!r} returned {found!r}, which is no p-value.")
        return IndependenceResult(1.0 - found, float(found), 1.0)


_SEPARATED, _CONNECTED = IndependenceResult(0.0, 1.0, 1.0), IndependenceResult(1.0, 0.0, 1.0)


class MSeparationOracle(IndependenceTest):
    """A test that is never wrong about the observed nodes of a graph with latent causes and selection.

    Parameters
    ----------
    graph
        A DAG, a causal graph whose `<->` are latent common causes, or a MAG; or what stands for one.
    latent
        Nodes that can't be asked about.
    selection
        Nodes that are given in every question, and can't be asked about.

    Examples
    --------
    >>> asked = MSeparationOracle("A -> B <- L -> C", latent="L")
    >>> asked.names, asked.test("A", "C").is_independent(), asked.test("A", "C", given="B").is_independent()
    (('A', 'B', 'C'), True, False)
    """

    def __init__(self, graph: GraphLike[DAG | CausalGraph | MAG], latent: Nodes = (), selection: Nodes = ()) -> None:
        known: DAG | CausalGraph | MAG = read_as(graph, DAG, CausalGraph, MAG)
        index = NodeIndex(known.nodes)
        hidden, self._selection = index.names(index.select(latent)), index.names(index.select(selection))
        both = set(hidden) & set(self._selection)
        if both:
            raise InvalidArgument(f"{min(map(str, both))!r} can't be both latent and selected on.")
        self.names = tuple(str(node) for node in known.nodes if node not in (*hidden, *self._selection))
        self._graph = known.to_dag() if isinstance(known, CausalGraph) else known

    def ask(self, questions: Sequence[Question]) -> Answers:
        found: list[IndependenceResult] = []
        for x, given, others in questions:
            fixed, graph = (*given, *self._selection), self._graph
            if isinstance(graph, MAG):
                connected = {other for other in others if not graph.m_separated(x, other, fixed)}
            else:
                connected = set(map(str, graph.d_connected(x, given=fixed)))
            found += [_CONNECTED if other in connected else _SEPARATED for other in others]
        return Answers.of(found)


@final
class DSeparationOracle(MSeparationOracle):
    """A test that is never wrong about a graph: the p-value is 1 where it separates, else 0.

    What a learner makes of it is what it would learn from endless data of a faithful distribution.

    >>> DSeparationOracle(DAG("A -> C <- B")).test("A", "B", given="C").is_independent()
    False
    """

    def __init__(self, graph: DAG | str) -> None:
        super().__init__(graph if isinstance(graph, DAG) else DAG(graph))
