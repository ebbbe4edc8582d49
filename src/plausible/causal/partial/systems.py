"""The districts of a graph with the constraints on their types, each made when it is first needed."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.partial.assumptions import TypeAssumption
from plausible.causal.partial.constraints import Polytope, conditional, polytope
from plausible.causal.partial.district import build_district, ordered_members
from plausible.causal.partial.feasibility import Contradictions, settled
from plausible.causal.partial.region import confidence_polytope
from plausible.causal.partial.source import Observed
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node

__all__ = ["Members", "Systems"]

Members = tuple[Node, ...]

#: At this level data contradict a graph, where no other was asked for.
_TEST_LEVEL = 0.95


@dataclass(frozen=True, slots=True, eq=False)
class Systems:
    """A causal graph over observed variables, and what is assumed of it.

    Attributes
    ----------
    graph
        The causal graph.
    observed
        What is seen of it.
    assumptions
        Which response types do not occur.
    contradictions
        What to do where no types show what is seen.
    confidence
        The level at which sampling noise is allowed for; `None` where what is seen is taken as it is.
    latent
        What is not observed and was projected out of the graph.
    """

    graph: CausalGraph
    observed: Observed
    assumptions: tuple[TypeAssumption, ...]
    contradictions: Contradictions
    confidence: float | None = None
    latent: tuple[Node, ...] = ()
    _polytopes: dict[Members, Polytope] = field(default_factory=dict)
    _violations: dict[Members, float] = field(default_factory=dict)
    _conditionals: dict[str, Floats | None] = field(default_factory=dict)

    def members(self, node: Node) -> Members:
        """The district of a node, causes first; it names the district."""
        return ordered_members(self.graph, node)

    def polytope(self, members: Members) -> Polytope:
        """The constraints on a district's types; they have a solution."""
        if members not in self._polytopes:
            self._polytopes[members], self._violations[members] = self._made(members)
        return self._polytopes[members]

    def _made(self, members: Members) -> tuple[Polytope, float]:
        district = build_district(self.graph, members, self.observed, self.assumptions)

        def region() -> Polytope:
            return confidence_polytope(self.graph, district, self.observed, self.confidence or _TEST_LEVEL)

        found = polytope(self.graph, district, self.observed) if self.confidence is None else region()
        return settled(found, self.contradictions, region)

    def violation(self, members: Sequence[Members]) -> float:
        """By how much, in total, what is seen missed what these districts can show."""
        return sum(self._violations.get(one, 0.0) for one in members)

    def own_conditionals(self, names: Sequence[str]) -> dict[str, Floats]:
        """P(x | pa), a row for each assignment, of those without latent causes for which it is that simple."""
        new = [name for name in names if name not in self._conditionals]
        families = {
            name: [self.observed.variable(node).name for node in (*self.graph.parents(name), name)]
            for name in new
            if self._is_plain(name)
        }
        joints = dict(zip(families, self.observed.together(list(families.values())), strict=True))
        for name in new:
            table = conditional(joints[name]) if name in joints else None
            if table is None or np.isnan(table).any():
                self._conditionals[name] = None
            else:
                self._conditionals[name] = table.reshape(-1, table.shape[-1])
        return {name: table for name in names if (table := self._conditionals[name]) is not None}

    def _is_plain(self, name: str) -> bool:
        is_assumed = any(assumption.variable == name for assumption in self.assumptions)
        return self.confidence is None and not self.graph.siblings(name) and not is_assumed
