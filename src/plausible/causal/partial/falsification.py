"""Tests of a causal graph by inequalities: can any response types show what is observed?"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from plausible.causal.partial.assumptions import AssumptionsLike, Limit, read_assumptions
from plausible.causal.partial.bounds import limited_program, read_systems
from plausible.causal.partial.constraints import polytope
from plausible.causal.partial.district import build_district
from plausible.causal.partial.feasibility import ROUNDING, Contradictions, smallest_violation
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
    missed_limits
        By how much in total the limits are missed by the types that show what is observed, or the nearest to it.
    """

    violations: Mapping[tuple[str, ...], float]
    confidence: float | None
    missed_limits: float = 0.0

    @property
    def is_contradicted(self) -> bool:
        """Whether no model of the graph shows what is observed."""
        return any(violation > ROUNDING for violation in (*self.violations.values(), self.missed_limits))

    def __str__(self) -> str:
        within = "" if self.confidence is None else f" within the {self.confidence:.0%} confidence region of the data"
        if not self.is_contradicted:
            return f"Not contradicted: the graph can show what is observed{within}."
        far = [f"{', '.join(names)} by {far:.4g}" for names, far in self.violations.items() if far > ROUNDING]
        return f"Contradicted: no model of the graph shows what is observed{within}; nearest: {'; '.join(far)}."


def falsification(
    graph: GraphLike[DAG | CausalGraph],
    source: SourceLike,
    *,
    assumptions: AssumptionsLike = (),
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
        What else is claimed: `Monotone`, `NoDirectEffect`, `Limit`; one or several.
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
    >>> print(found)
    Contradicted: no model of the graph shows what is observed; nearest: T, O by 2.
    """
    listed = read_assumptions(assumptions)
    systems = read_systems(graph, read_source(source), listed, Contradictions.PROJECT, confidence)
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
    limits = [one for one in listed if isinstance(one, Limit)]
    return Falsification(violations, confidence, limited_program((), systems, limits).missed_limits())
