"""Tests of a causal graph by inequalities: can any response types show what is observed?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

from plausible.causal.partial.assumptions import TypeAssumption
from plausible.causal.partial.bounds import read_systems
from plausible.causal.partial.constraints import polytope
from plausible.causal.partial.district import build_district
from plausible.causal.partial.feasibility import ROUNDING, smallest_violation
from plausible.causal.partial.region import confidence_polytope
from plausible.causal.partial.source import SourceLike, read_source
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike

__all__ = ["Falsification", "falsification"]


@dataclass(frozen=True, slots=True)
class Falsification:
    """How far what is observed is from what a graph can show.

    Attributes
    ----------
    violations
        District -> the least Σ |shown - observed| over distributions of its response types.
    confidence
        The level of the region around data within which everything counts as shown; `None` without one.
    """

    violations: Mapping[tuple[str, ...], float]
    confidence: float | None

    @property
    def is_contradicted(self) -> bool:
        """Whether no model of the graph shows what is observed."""
        return any(violation > ROUNDING for violation in self.violations.values())


def falsification(
    graph: GraphLike[DAG | CausalGraph],
    source: SourceLike,
    *,
    assumptions: Iterable[TypeAssumption] = (),
    confidence: float | None = None,
) -> Falsification:
    """Whether what is observed contradicts a causal graph, district by district.

    A district that latent causes join must have response types; that they can't be negative are inequalities such as
    that of an instrument. Independences of the graph are not looked at: those are tested by separation.

    Parameters
    ----------
    graph
        A causal graph.
    source
        The observed distribution, or data.
    assumptions
        Response types that do not occur.
    confidence
        With data: contradict only what contradicts everything within a confidence region at this level. Then a true
        graph is contradicted with probability 1 - confidence at most in each district.

    Examples
    --------
    The outcome follows the assignment although the treatment never changes:

    >>> from plausible.factors import Factor
    >>> trial = Factor({"A": 2, "T": 2, "O": 2}, [[[0.5, 0.0], [0.0, 0.0]], [[0.0, 0.5], [0.0, 0.0]]])
    >>> found = falsification("A -> T -> O; T <-> O", trial)
    >>> found.is_contradicted, round(found.violations["T", "O"], 6)
    (True, 2.0)
    """
    systems = read_systems(graph, read_source(source), assumptions)
    violations = {}
    for members in dict.fromkeys(systems.members(node) for node in systems.graph.nodes):
        if len(members) == 1 and not any(one.variable == members[0] for one in systems.assumptions):
            continue
        district = build_district(systems.graph, members, systems.observed, systems.assumptions)
        if confidence is None:
            shown = polytope(systems.graph, district, systems.observed)
        else:
            shown = confidence_polytope(systems.graph, district, systems.observed, confidence)
        violations[district.names] = smallest_violation(shown)
    return Falsification(violations, confidence)
