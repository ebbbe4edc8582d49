"""What all graphs learned by tests of independence rest on."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import field
from typing import Generic, Literal, TypeVar

from plausible.base.records import record
from plausible.errors import counted
from plausible.graphs.marked import MarkedGraph
from plausible.learn.constraint_based.orientation import Triple
from plausible.learn.constraint_based.skeleton import Pair

__all__ = ["ConstraintBasedResult"]

GraphT = TypeVar("GraphT", bound=MarkedGraph)


@record
class ConstraintBasedResult(ABC, Generic[GraphT]):
    """A graph learned by tests, and what it rests on.

    Attributes
    ----------
    graph
        What the tests say.
    separating_sets
        Pair -> what made it independent.
    p_values
        Pair -> the largest p-value of its tests: for an edge, how nearly it was taken out.
    num_tests
        How many tests were made with 0, 1, ... given.
    conflicts
        What contradicted each other, and what was made of it.
    ambiguous
        Triples (left, middle, right) of which the tests do not tell whether they are colliders.
    determined
        Pairs separated by a set that determines one of them, such as a copy of it: independent they are then, whether
        or not they have to do with each other besides.
    stopped
        "" if the search came to its end, else "time limit" or "interrupted".
    """

    graph: GraphT
    separating_sets: Mapping[Pair, tuple[str, ...]] = field(repr=False)
    p_values: Mapping[Pair, float] = field(repr=False)
    num_tests: tuple[int, ...]
    conflicts: tuple[object, ...] = ()
    ambiguous: tuple[Triple, ...] = ()
    determined: tuple[Pair, ...] = ()
    stopped: Literal["", "time limit", "interrupted"] = ""

    @abstractmethod
    def _described(self) -> str:
        """The edges, counted by kind."""

    def __str__(self) -> str:
        parts = [
            f"{counted(len(self.graph.nodes), 'variable')}, {self._described()}",
            counted(sum(self.num_tests), "test"),
            counted(len(self.conflicts), "conflict") if self.conflicts else "",
            counted(len(self.ambiguous), "ambiguous triple") if self.ambiguous else "",
            f"{counted(len(self.determined), 'pair')} separated by what determines one" if self.determined else "",
            f"stopped by {self.stopped}" if self.stopped else "",
        ]
        return f"{'; '.join(filter(None, parts))}\n{self.graph}"
