"""Independence as a graph states it."""

from __future__ import annotations

from collections.abc import Sequence
from typing import final

from plausible.graphs import DAG
from plausible.learn.independence.independence_test import Answers, IndependenceResult, IndependenceTest, Question

__all__ = ["DSeparationOracle"]

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
