"""The ID algorithm on bit sets: which steps lead from the observed distribution to each district's."""

from __future__ import annotations

from typing import NamedTuple

from plausible.causal.identification.masks import MaskGraph

__all__ = ["DistrictPlan", "EffectPlan", "Failure", "Restriction", "plan_effect"]


class Restriction(NamedTuple):
    """One step of the algorithm: the distribution goes over to fewer variables.

    Attributes
    ----------
    line
        Of the algorithm ID: 2 sums out all but ancestors, 7 goes over to a district.
    members
        What is left.
    """

    line: int
    members: int


class DistrictPlan(NamedTuple):
    """How Q[district] = P(district | do(everything else)) is got from the observed distribution.

    Attributes
    ----------
    district
        A district of the graph without the treatments.
    ancestors
        Its ancestors: nothing else matters for it (line 2).
    steps
        From these ancestors down to the last graph, of which `district` is a district.
    """

    district: int
    ancestors: int
    steps: tuple[Restriction, ...]


class EffectPlan(NamedTuple):
    """P(outcome | do(treatment)) = Σ over the rest of `actors` of Π Q[district].

    Attributes
    ----------
    ancestors
        The ancestors of the outcome: nothing else matters (line 2).
    actors
        The ancestors of the outcome along paths that meet no treatment (line 3 sets all others).
    districts
        A plan for each district of the actors (line 4).
    """

    ancestors: int
    actors: int
    districts: tuple[DistrictPlan, ...]


class Failure(NamedTuple):
    """Line 5: `outer` is one district, and so is `inner` within it, of which all of `outer` are ancestors."""

    outer: int
    inner: int


def plan_effect(graph: MaskGraph, outcome: int, treatment: int) -> EffectPlan | Failure:
    """The plan for P(outcome | do(treatment)), or why there is none.

    The algorithm ID of Shpitser & Pearl (2006), with lines 1-4 done once for all districts, as in Tian & Pearl (2002).
    It is complete: a `Failure` proves that the effect is not identifiable. O(n²) set operations for each district, as
    each step removes a node; a few in practice.

    References
    ----------
    Shpitser & Pearl (2006), Identification of joint interventional distributions in recursive semi-Markovian causal
    models, AAAI. Tian & Pearl (2002), A general identification condition for causal effects, AAAI.

    Parameters
    ----------
    graph
        The causal graph.
    outcome, treatment
        Disjoint bit sets.
    """
    ancestors = graph.ancestors(outcome, graph.members)
    actors = graph.ancestors(outcome, ancestors & ~treatment)
    plans: list[DistrictPlan] = []
    for district in graph.districts(actors):
        plan = _plan_district(graph, ancestors, district)
        if isinstance(plan, Failure):
            return plan
        plans.append(plan)
    return EffectPlan(ancestors, actors, tuple(plans))


def _plan_district(graph: MaskGraph, members: int, target: int) -> DistrictPlan | Failure:
    members = ancestors = graph.ancestors(target, members)
    steps: list[Restriction] = []
    while (district := graph.district(target, members)) != target:
        if district == members:
            return Failure(members, target)
        steps.append(Restriction(7, district))
        members = graph.ancestors(target, district)
        if members != district:
            steps.append(Restriction(2, members))
    return DistrictPlan(target, ancestors, tuple(steps))
