"""Tests of a causal graph by inequalities: can any response types show what is observed?"""

from __future__ import annotations

from collections.abc import Mapping

from plausible.base.records import record
from plausible.causal.partial.assumptions import AssumptionsLike, Limit, read_assumptions
from plausible.causal.partial.bounds import limited_program, read_systems
from plausible.causal.partial.district import build_district, polytope
from plausible.causal.partial.source import SourceLike, read_source
from plausible.causal.partial.systems import ROUNDING, Contradictions, confidence_polytope, smallest_violation
from plausible.causal.queries.arguments import CausalLike


@record
class Falsification:
    """How far what is observed is from what a graph can show."""

    #: District -> the least Σ |shown - observed| over distributions of its response types, whatever the limits.
    violations: Mapping[tuple[str, ...], float]
    #: The level of the region around data within which everything counts as shown; `None` without one.
    confidence: float | None
    #: By how much in total the limits are missed by the types that show what is observed, or the nearest to it.
    missed_limits: float = 0.0
    limits: tuple[Limit, ...] = ()  # What was claimed of quantities

    @property
    def is_contradicted(self) -> bool:
        """Whether no model of the graph shows what is observed and keeps the limits."""
        return any(violation > ROUNDING for violation in (*self.violations.values(), self.missed_limits))

    def __str__(self) -> str:
        within = "" if self.confidence is None else f" within the {self.confidence:.0%} confidence region of the data"
        if not self.is_contradicted:
            return f"Not contradicted: the graph can show what is observed{within}."
        far = [f"{', '.join(names)} by {far:.4g}" for names, far in self.violations.items() if far > ROUNDING]
        shown = f"no model of the graph shows what is observed{within}; nearest: {'; '.join(far)}"
        if not far:
            shown = f"the graph can show what is observed{within}"
        if self.missed_limits <= ROUNDING:
            return f"Contradicted: {shown}."
        claims = "; ".join(map(str, self.limits))
        missed = f"the limits {claims} are missed by at least {self.missed_limits:.4g} in total"
        if len(self.limits) == 1:
            missed = f"the limit {claims} is missed by at least {self.missed_limits:.4g}"
        return f"Contradicted: {shown}{'; and' if far else ', but'} {missed}."


def falsification(
    graph: CausalLike, source: SourceLike, *, assumptions: AssumptionsLike = (), confidence: float | None = None
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

    A graph that fits may still not keep a limit that is claimed besides:

    >>> from plausible.causal.partial.linear_query import average_causal_effect
    >>> trial = Factor({"A": 2, "T": 2, "O": 2}, [[[0.45, 0.05], [0.0, 0.0]], [[0.15, 0.05], [0.05, 0.25]]])
    >>> effect = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})
    >>> print(falsification("A -> T -> O; T <-> O", trial, assumptions=Limit(effect, upper=0.1)))
    Contradicted: the graph can show what is observed, but the limit -inf <= P(O[T=1]=1) - P(O[T=0]=1) <= 0.1 is missed
    by at least 0.3.
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
    limits = tuple(one for one in listed if isinstance(one, Limit))
    missed = limited_program((), systems, limits).missed_limits()
    return Falsification(violations, confidence, missed, limits)
