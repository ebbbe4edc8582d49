"""Best trees and forests: Chow-Liu's, by any decomposable score, and tree-augmented naive Bayes."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import SCORE_NOISE
from plausible.data.statistics import Request
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.knowledge import Constraints
from plausible.learn.structures.task import FoundGraph, StructureTask

Edge = tuple[int, int]


def learn_tree(task: StructureTask, *, root: str | None = None, is_forest: bool = False) -> FoundGraph:
    """The graph of best score in which no variable has two parents (Chow & Liu 1968; Heckerman et al. 1995).

    The weight of an edge, score(X | U) - score(X), is N times their mutual information if the score is the
    log-likelihood. Where weights are the same both ways and nothing is known of edges, any root of the maximum spanning
    tree gives the same score; else it is the best branching (Edmonds 1967). O(n²) families, and a spanning tree in
    O(n²) or a branching in O(n³). A search that is stopped gives the best forest of the edges scored by then.
    """
    names = sorted(task.scores.names)
    constraints = task.knowledge.on(names)
    edges, stopped = _best_edges(task, names, (), constraints, root, is_forest)
    return _found(task.scores, [(names[parent], names[child]) for parent, child in edges], stopped)


def learn_tan(
    task: StructureTask, *, class_variable: str, root: str | None = None, is_forest: bool = False
) -> FoundGraph:
    """Tree-augmented naive Bayes: a parent of all is the class, given which they form a best tree (Friedman 1997)."""
    names = sorted(task.scores.names)
    if class_variable not in names:
        raise UnknownVariable.named(class_variable, names, "the data, which should have it as the class")
    constraints = task.knowledge.on(names)
    place = names.index(class_variable)
    features = [number for number in range(len(names)) if number != place]
    for feature in features:
        if not constraints.allowed[place, feature] or constraints.max_parents < 1:
            raise InvalidArgument(f"The class needs an edge to each feature, but {names[feature]!r} can't have it.")
    if constraints.max_parents < 2 and len(features) > 1 and not is_forest:
        raise InvalidArgument(
            "A feature has the class and another feature as its parents, but max_parents=1. Give max_parents=2, or "
            "is_forest=True for the edges of the class alone."
        )
    among = Constraints(
        constraints.allowed[np.ix_(features, features)],
        constraints.required[np.ix_(features, features)],
        constraints.max_parents - 1,
    )
    named = [names[feature] for feature in features]
    edges, stopped = _best_edges(task, named, (class_variable,), among, root, is_forest)
    of_class = [(class_variable, name) for name in named]
    return _found(task.scores, [*of_class, *((named[parent], named[child]) for parent, child in edges)], stopped)


def edge_weights(scores: FamilyScores, names: Sequence[str], given: Sequence[str] = ()) -> Floats:
    """By parent and child, how much an edge adds to the score of a child that has the parents `given`."""
    others = [tuple(other for other in names if other != name) for name in names]
    asked = [Request(name, tuple(given), rest) for name, rest in zip(names, others, strict=True)]
    before = scores.families((name, given) for name in names)
    gains = [after - own for after, own in zip(scores.extended_each(asked), before, strict=True)]
    return np.array([np.insert(line, child, -np.inf) for child, line in enumerate(gains)]).T.copy()


def _weights_into(scores: FamilyScores, names: Sequence[str], given: Sequence[str], child: int) -> Floats:
    others = [other for other in names if other != names[child]]
    gains = scores.extended(names[child], given, others) - scores.family(names[child], given)
    return np.insert(gains, child, -np.inf)


def _found(scores: FamilyScores, edges: Sequence[tuple[str, str]], stopped: str) -> FoundGraph:
    graph = DAG(sorted(edges), nodes=scores.names)
    score = scores.graph(graph)
    return FoundGraph(graph, score, stopped or "optimal", 0, ((0, score),))


def _best_edges(
    task: StructureTask,
    names: Sequence[str],
    given: Sequence[str],
    constraints: Constraints,
    root: str | None,
    is_forest: bool,
) -> tuple[list[Edge], str]:
    """The edges, and what stopped the scoring of them; "" if nothing did."""
    if root is not None and root not in names:
        raise UnknownVariable.named(root, names, "the variables that a tree can start from")
    place = None if root is None else names.index(root)
    if len(names) < 2 or (constraints.max_parents < 1 and is_forest):
        return [], ""
    scores, weights = task.scores, np.full((len(names), len(names)), -np.inf)
    if task.progress is None and task.clock.deadline == math.inf:
        weights = edge_weights(scores, names, given)
    else:
        for child in range(len(names)):
            if stopped := task.stopped_by(child):
                weights[:, child:][constraints.required[:, child:]] = 0.0
                return _branching(weights, constraints, place, True), stopped
            weights[:, child] = _weights_into(scores, names, given, child)
    slack = SCORE_NOISE * max(1.0, sum(abs(scores.family(name, given)) for name in names))
    if _is_free(constraints) and _is_symmetric(weights, slack):
        tree = _spanning_tree(weights, place or 0, slack)
        return [edge for edge in tree if not is_forest or weights[edge] > slack], ""
    return _branching(weights, constraints, place, is_forest), ""


def _is_free(constraints: Constraints) -> bool:
    """Whether every variable could be a parent of every other one, and none must be."""
    num = len(constraints.allowed)
    return constraints.max_parents > 0 and constraints.allowed.sum() == num * (num - 1)


def _is_symmetric(weights: Floats, slack: float) -> bool:
    upper = np.triu_indices(len(weights), 1)
    return bool((np.abs(weights[upper] - weights.T[upper]) <= slack).all())


def _spanning_tree(weights: Floats, root: int, slack: float) -> list[Edge]:
    """Prim's algorithm in n passes over a line; of equal edges the first by name."""
    links, best = np.full(len(weights), root), weights[root].copy()
    is_open = np.ones(len(weights), dtype=np.bool_)
    is_open[root] = False
    edges = []
    while is_open.any():
        child = int(np.argmax(is_open & (best >= best[is_open].max() - slack)))
        edges.append((int(links[child]), child))
        is_open[child] = False
        is_nearer = is_open & (weights[child] > best + slack)
        links[is_nearer] = child
        best[is_nearer] = weights[child, is_nearer]
    return edges


def _branching(weights: Floats, constraints: Constraints, root: int | None, is_forest: bool) -> list[Edge]:
    """The best directed tree or forest of allowed edges, with all that are required."""
    import networkx as nx

    allowed = constraints.allowed & np.isfinite(weights) & (constraints.max_parents > 0)
    if root is not None:
        allowed[:, root] = False
    required = constraints.required & allowed
    if (required.sum(axis=0) > 1).any() or required.sum() < constraints.required.sum():
        raise InvalidArgument("No tree has all required edges: no variable can have two, and the root has no parent.")
    bonus = 1.0 + 2.0 * float(np.abs(weights[allowed]).sum())
    graph: nx.DiGraph[int] = nx.DiGraph()
    graph.add_nodes_from(range(len(weights)))
    for parent, child in np.argwhere(allowed).tolist():
        weight = float(weights[parent, child]) + (bonus if required[parent, child] else 0.0)
        graph.add_edge(parent, child, weight=weight)
    if is_forest:
        return sorted(nx.maximum_branching(graph).edges)
    try:
        return sorted(nx.maximum_spanning_arborescence(graph).edges)
    except nx.NetworkXException:
        raise InvalidArgument("No tree joins all variables within what is known. Ask for a forest.") from None
