"""One decision and what could be seen before it, on arrays: P(seen) and P(seen) E[U | seen, action]."""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.findings import impossible, read_findings
from plausible.decisions.solving.joint_tree import JointTree
from plausible.decisions.solving.problem import read_problem
from plausible.factors.alignment import MAX_ENTRIES
from plausible.graphs import DAG
from plausible.variables import Variable
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["SeenTable", "informative", "seen_tables"]


@dataclass(frozen=True, slots=True, eq=False)
class SeenTable:
    """What the only decision of a diagram sees, what else it could see, and what its actions bring then.

    Attributes
    ----------
    seen, candidates
        What the decision sees anyway, and what it could see.
    decision
        The decision.
    probability
        P(seen, candidates), with these axes.
    weighted
        P(seen, candidates) E[U | seen, candidates, action], with the action as last axis.
    """

    seen: tuple[Variable, ...]
    candidates: tuple[Variable, ...]
    decision: Variable
    probability: Floats
    weighted: Floats

    def axis(self, place: int) -> int:
        """The axis of a candidate."""
        return len(self.seen) + place

    def expected_utility(self, observed: Collection[int] | None = None) -> float:
        """The most that can be had where some candidates are seen, by place; by default all."""
        places = range(len(self.candidates))
        gone = tuple(self.axis(place) for place in places if observed is not None and place not in observed)
        return float(self.weighted.sum(axis=gone).max(axis=-1).sum())


def seen_tables(
    diagram: InfluenceDiagram,
    decision: str,
    sets: Sequence[Sequence[str]],
    evidence: EvidenceLike | None = None,
    max_entries: int = MAX_ENTRIES,
) -> list[SeenTable]:
    """The tables of several sets of candidates, all from one clique tree.

    Each set lies in one clique together with what the decision sees, so that two messages along each edge are all that
    is to be computed (Dittmer & Jensen 1997; Koller & Friedman 2009, exercise 23.14).

    Parameters
    ----------
    diagram
        An influence diagram with one decision.
    decision
        The decision.
    sets
        Sets of chance variables that the decision does not influence and does not see.
    evidence
        What is known before the decision is made.
    max_entries
        The limit on the entries of all cliques together; `TooLarge` beyond it.
    """
    findings = read_findings(diagram, evidence)
    sees = diagram.decisions[decision].sees
    asked = {*diagram.utilities, *findings, *sees, decision, *(name for names in sets for name in names)}
    relevant = asked.union(map(str, diagram.graph.ancestors(asked)))
    problem = read_problem(diagram, findings, {decision: sees}, relevant)
    number = {variable.name: place for place, variable in enumerate(problem.variables)}
    scopes = [tuple(number[name] for name in (*sees, *names, decision)) for names in sets]
    tree = JointTree(problem, {}, scopes, max_entries)
    seen, own = tuple(diagram.variables[name] for name in sees), diagram.variables[decision]
    tables = []
    for names, scope, clique in zip(sets, scopes, tree.together, strict=True):
        phi, weighted = tree.open_table(clique, scope, ())
        total = phi[..., 0].sum()
        if total <= 0:
            raise impossible(diagram, evidence)
        candidates = tuple(diagram.variables[name] for name in names)
        tables.append(SeenTable(seen, candidates, own, phi[..., 0] / total, np.asarray(weighted / total)))
    return tables


def informative(diagram: InfluenceDiagram, decision: str, evidence: EvidenceLike | None = None) -> frozenset[str]:
    """The variables that may say something about the utilities which the only decision can change, by the graph."""
    utilities = diagram.graph.descendants(decision) & set(diagram.utilities)
    if not utilities:
        return frozenset()
    findings = [(name, ("finding", name)) for name in read_findings(diagram, evidence)]
    graph = DAG([*diagram.graph.edges, *findings], nodes=diagram.graph.nodes)
    observed = [decision, *diagram.decisions[decision].sees, *(finding for _, finding in findings)]
    return frozenset(map(str, graph.d_connected(list(utilities), given=observed)))
