"""Independence as a graph states it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from plausible.errors import InvalidArgument
from plausible.graphs import DAG, MAG, CausalGraph
from plausible.graphs.graph_input import GraphLike, read_as
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.learn.independence.independence_test import Answers, IndependenceResult, IndependenceTest, Question

_SEPARATED, _CONNECTED = IndependenceResult(0.0, 1.0, 1.0), IndependenceResult(1.0, 0.0, 1.0)


@final
class DSeparationOracle(IndependenceTest):
    """A test that is never wrong about a graph: the p-value is 1 where it separates, else 0.

    What a learner makes of it is what it would learn from endless data of a faithful distribution.

    Parameters
    ----------
    graph
        A DAG, or what stands for one.

    Examples
    --------
    >>> DSeparationOracle(DAG("A -> C <- B")).test("A", "B", given="C").is_independent()
    False
    """

    __slots__ = ("_graph",)

    def __init__(self, graph: DAG | str) -> None:
        self._graph = graph if isinstance(graph, DAG) else DAG(graph)

    @property
    def names(self) -> Sequence[str]:
        """The nodes."""
        return tuple(map(str, self._graph.nodes))

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        found: list[IndependenceResult] = []
        for x, given, others in questions:
            connected = self._graph.d_connected(x, given=given)
            found += [_CONNECTED if other in connected else _SEPARATED for other in others]
        return Answers.of(found)


@final
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

    __slots__ = ("_graph", "_names", "_selection")

    def __init__(self, graph: GraphLike[DAG | CausalGraph | MAG], latent: Nodes = (), selection: Nodes = ()) -> None:
        known: DAG | CausalGraph | MAG = read_as(graph, DAG, CausalGraph, MAG)
        index = NodeIndex(known.nodes)
        hidden, self._selection = index.names(index.select(latent)), index.names(index.select(selection))
        both = set(hidden) & set(self._selection)
        if both:
            raise InvalidArgument(f"{min(map(str, both))!r} can't be both latent and selected on.")
        self._names = tuple(str(node) for node in known.nodes if node not in (*hidden, *self._selection))
        self._graph = known.to_dag() if isinstance(known, CausalGraph) else known

    @property
    def names(self) -> Sequence[str]:
        """The observed nodes."""
        return self._names

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        found: list[IndependenceResult] = []
        for x, given, others in questions:
            fixed = (*given, *self._selection)
            found += [_CONNECTED if is_connected else _SEPARATED for is_connected in self._connected(x, others, fixed)]
        return Answers.of(found)

    def _connected(self, x: str, others: Sequence[str], given: tuple[Node, ...]) -> list[bool]:
        graph = self._graph
        if isinstance(graph, MAG):
            return [not graph.m_separated(x, other, given) for other in others]
        reached = graph.d_connected(x, given=given)
        return [other in reached for other in others]
