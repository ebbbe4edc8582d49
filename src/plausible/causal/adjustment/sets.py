"""Finding sets to adjust for: one, all, the cheapest, the most precise."""

from __future__ import annotations

import math
from collections.abc import Mapping

from plausible.causal.adjustment.problem import (
    USUAL_LIMIT,
    AdjustableGraph,
    AdjustmentProblem,
    Criterion,
    causal_nodes,
    listed,
    read_allowed,
    read_problem,
)
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.separator_choice import SeparatorChoice

__all__ = ["adjustment_set", "adjustment_sets", "optimal_adjustment_set"]


def adjustment_set(
    graph: AdjustableGraph,
    outcome: Nodes,
    treatment: Nodes,
    *,
    included: Nodes = (),
    allowed: Nodes | None = None,
    criterion: Criterion = "adjustment",
    costs: Mapping[Node, float] | None = None,
) -> frozenset[Node] | None:
    """A set to adjust for, none of whose members can be spared; `None` if there is none.

    Parameters
    ----------
    graph, outcome, treatment
        As for `check_adjustment`.
    included
        Nodes that the set must contain; minimal then means that none of the others can be spared.
    allowed
        Nodes from which the set must be taken, such as those that are observed; by default all.
    criterion
        "adjustment", which misses no set, or "back-door".
    costs
        Node -> what observing it costs, not negative; one for each node left out. With it the set is one of least total
        cost; with `costs={}`, one with the fewest members.

    Notes
    -----
    Linear in the edges of the moral graph; with costs, a maximum flow.

    References
    ----------
    van der Zander, Liskiewicz & Textor (2019), Separators and adjustment sets in causal graphs, Artificial Intelligence
    270.

    Examples
    --------
    >>> graph = "Z1 -> X; Z1 -> A -> Y; Z2 -> A; Z2 -> B -> X; X -> Y"
    >>> sorted(adjustment_set(graph, outcome="Y", treatment="X"))
    ['B', 'Z1']
    >>> sorted(adjustment_set(graph, "Y", "X", costs={}))
    ['A']
    """
    problem = read_problem(graph, outcome, treatment, criterion)
    choice = _choice(problem, included, allowed)
    if costs is not None:
        _check_costs(problem, costs)
    if choice is None:
        return None
    return choice.one() if costs is None else choice.cheapest(costs)


def adjustment_sets(
    graph: AdjustableGraph,
    outcome: Nodes,
    treatment: Nodes,
    *,
    included: Nodes = (),
    allowed: Nodes | None = None,
    criterion: Criterion = "adjustment",
    limit: int | None = USUAL_LIMIT,
) -> Listing[frozenset[Node]]:
    """All minimal sets to adjust for, each once; O(nodes x edges) between two of them.

    Parameters
    ----------
    graph, outcome, treatment, included, allowed, criterion
        As for `adjustment_set`.
    limit
        Stop after this many, with a warning if the usual limit leaves sets out; `None` for all, of which there can be
        exponentially many.

    Examples
    --------
    >>> adjustment_sets("X <- A -> B -> Y; X <- C -> Y; X -> Y", outcome="Y", treatment="X")
    [{'A', 'C'}, {'B', 'C'}]
    """
    choice = _choice(read_problem(graph, outcome, treatment, criterion), included, allowed)
    return listed(lambda: iter(()) if choice is None else choice.all(), limit)


def optimal_adjustment_set(
    graph: AdjustableGraph, outcome: Nodes, treatment: Nodes, *, allowed: Nodes | None = None
) -> frozenset[Node] | None:
    """The set with the least asymptotic variance of all: the parents of the causal paths that may be adjusted for.

    O = pa(cn) minus the forbidden nodes, with cn the nodes after X on proper causal paths to Y. No other set gives an
    adjusted estimate with less asymptotic variance, in linear models by least squares and otherwise by efficient
    estimators. `None` if no set will do, or if a member of O is not allowed: a best set need not exist then, nor where
    the treatment has no causal path to the outcome. Linear in the edges.

    Parameters
    ----------
    graph
        A DAG, or a PDAG that stands for a class: its members agree on the set.
    outcome, treatment, allowed
        As for `adjustment_set`.

    References
    ----------
    Henckel, Perkovic & Maathuis (2022), Graphical criteria for efficient total effect estimation via adjustment in
    causal linear models, Journal of the Royal Statistical Society B 84; Rotnitzky & Smucler (2020), Efficient
    adjustment sets for population average causal treatment effect estimation, Journal of Machine Learning Research 21.

    Examples
    --------
    >>> sorted(optimal_adjustment_set("P -> A -> X -> M -> Y; A -> B -> Y; R -> M", outcome="Y", treatment="X"))
    ['B', 'R']
    """
    problem = read_problem(graph, outcome, treatment)
    latent = next((edge for edge in problem.causes.edges if edge.is_bidirected), None)
    if latent is not None:
        raise NotSupported(
            f"With latent causes, as in '{latent}', no set need be best. Take one of adjustment_sets(...) and "
            "compare the standard errors."
        )
    between = causal_nodes(problem.causes, problem.outcome, problem.treatment)
    parents = {parent for node in between for parent in problem.causes.parents(node)}
    members = frozenset(parents) - problem.forbidden - frozenset(problem.treatment)
    _, free = read_allowed(problem.causes, _roles(problem), (), allowed)
    is_right = bool(between) and problem.unclear is None and members <= free and problem.separates(members)
    return members if is_right else None


def _choice(problem: AdjustmentProblem, included: Nodes, allowed: Nodes | None) -> SeparatorChoice | None:
    """The sets that will do, unless it is clear at once that none does."""
    needed, free = read_allowed(problem.causes, _roles(problem), included, allowed)
    if problem.unclear is not None or problem.forbidden.intersection(needed):
        return None
    return SeparatorChoice(problem.cut.to_dag(), problem.treatment, problem.outcome, needed, free - problem.forbidden)


def _roles(problem: AdjustmentProblem) -> dict[str, tuple[Node, ...]]:
    return {"outcome": problem.outcome, "treatment": problem.treatment}


def _check_costs(problem: AdjustmentProblem, costs: Mapping[Node, float]) -> None:
    for node, cost in costs.items():
        if node not in problem.causes:
            raise UnknownVariable.named(node, problem.causes.nodes, "this graph, though costs= names it")
        if not 0 <= cost < math.inf:
            raise InvalidArgument(f"costs= gives {node!r} the cost {cost!r}; costs are finite and not negative.")
