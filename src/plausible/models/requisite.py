"""Which distributions and findings of a network an answer can depend on, whatever the numbers are."""

from __future__ import annotations

from collections.abc import Collection, Iterable
from dataclasses import dataclass

from plausible.graphs import DAG


@dataclass(frozen=True, slots=True)
class Requisite:
    """What P(targets | evidence) can depend on, whatever the numbers of the network are."""

    distributions: frozenset[str]  # The variables whose conditional distributions matter
    findings: frozenset[str]  # The observed variables whose states matter


def requisite(
    graph: DAG, targets: Iterable[str], observed: Collection[str], weighed: Collection[str] = ()
) -> Requisite:
    """What a query needs, by bouncing a ball through the graph (Bayes-ball, Shachter 1998).

    The ball starts at each target as if it came from a child. An unobserved variable passes a ball from a child on to
    its parents and children, one from a parent to its children. An observed variable stops a ball from a child and
    sends one from a parent back to its parents. The distributions of all variables that send the ball to their parents
    are requisite: others are barren, or cut off from the targets by evidence.

    Variables that are `weighed` (by soft findings) let the ball through, and send one from a parent back as well, as
    one with an observed child would. Linear in the part of the graph that is visited.
    """
    known, soft = frozenset(observed), frozenset(weighed)
    to_parents: set[str] = set()
    to_children: set[str] = set()
    findings: set[str] = set()
    waiting = [(name, True) for name in targets if name not in known]  # (variable, whether from a child)
    while waiting:
        name, from_child = waiting.pop()
        if name in known:
            findings.add(name)
        if name not in to_parents and (name in soft or from_child == (name not in known)):
            to_parents.add(name)
            waiting += [(str(parent), True) for parent in graph.parents(name)]
        if name not in to_children and name not in known:
            to_children.add(name)
            waiting += [(str(child), False) for child in graph.children(name)]
    return Requisite(frozenset(to_parents), frozenset(findings))
