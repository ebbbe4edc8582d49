"""From a sequential diagram to the decision tree that it abbreviates."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plausible.base.options import check_count
from plausible.decisions.asymmetric.plan import History, met_twice
from plausible.decisions.asymmetric.posteriors import Posteriors
from plausible.decisions.asymmetric.recursion import Work, run_recursion
from plausible.decisions.trees.nodes import Chance, Choice, Outcome, TreeNode
from plausible.decisions.trees.tree import DecisionTree
from plausible.errors import TooLarge

if TYPE_CHECKING:
    from plausible.decisions.asymmetric.sequential import SequentialDiagram

__all__ = ["sequential_tree"]


def sequential_tree(diagram: SequentialDiagram, max_outcomes: int = 100_000) -> DecisionTree:
    """The decision tree of a sequential diagram: all paths, also those with equal ends.

    Branches of probability zero and closed actions are left out.

    Parameters
    ----------
    diagram
        The diagram.
    max_outcomes
        Refuse trees with more.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, SequentialDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = SequentialDiagram(
    ...     [TableCPD("coin", [0.5, 0.5], states=["heads", "tails"])],
    ...     [Decision("play", ["no", "yes"])],
    ...     [Utility("coin", [2, -1])],
    ...     first="play",
    ...     next={"play": {"no": None, "yes": "coin"}, "coin": None},
    ... )
    >>> print(sequential_tree(diagram).solve())
    □ play = 0.5
    ├─ no: 0
    └▶ yes: ○ coin = 0.5
       ├─ heads (0.5): 2
       └─ tails (0.5): -1
    """
    check_count("max_outcomes", max_outcomes, 1)
    start: tuple[str | None, History] = (diagram.first, {})
    return DecisionTree(run_recursion(_Unrolling(diagram, max_outcomes).node, start))


class _Unrolling:
    def __init__(self, diagram: SequentialDiagram, max_outcomes: int) -> None:
        self._diagram, self._max_outcomes = diagram, max_outcomes
        self._posteriors = Posteriors(diagram.parts)
        self._num_outcomes = 0

    def node(self, request: tuple[str | None, History]) -> Work[tuple[str | None, History], TreeNode]:
        """The node that comes after all that was met."""
        name, met = request
        if name is None:
            return self._outcome(met)
        if name in met:
            raise met_twice(name, met)
        is_choice = name in self._diagram.decisions
        chances = {} if is_choice else self._posteriors.of(name, met)
        children = {}
        for state in self._diagram.open_actions(name, met) if is_choice else chances:
            now = {**met, name: state}
            children[state] = yield self._diagram.next_node(name, now), now
        if is_choice:
            return Choice(name, children)
        return Chance(name, {state: (chance, children[state]) for state, chance in chances.items()})

    def _outcome(self, met: History) -> Outcome:
        self._num_outcomes += 1
        if self._num_outcomes > self._max_outcomes:
            raise TooLarge(
                f"The decision tree has more than max_outcomes={self._max_outcomes} outcomes: solve() the diagram "
                "itself, or raise the limit."
            )
        return Outcome(self._diagram.paid(met))
