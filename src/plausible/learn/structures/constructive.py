"""Learners that build a graph up: best trees and forests, TAN, K2, Buntine's B, and one graph a number of edges."""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from plausible.base import SCORE_NOISE, Floats, without_noise
from plausible.data.statistics import Request
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.graph_search import GraphSearch
from plausible.learn.structures.knowledge import Constraints, FoundGraph, StructureTask, search_ended
from plausible.search.local_search import GreedyAscent
from plausible.search.search_problem import improves

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
    UnknownVariable.check(class_variable, names, "the data, which should have it as the class")
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
            others = [other for other in names if other != names[child]]
            gains = scores.extended(names[child], given, others) - scores.family(names[child], given)
            weights[:, child] = np.insert(gains, child, -np.inf)
    slack = SCORE_NOISE * max(1.0, sum(abs(scores.family(name, given)) for name in names))
    # without knowledge, and with the same weights both ways, directions don't matter
    is_free = constraints.max_parents > 0 and constraints.allowed.sum() == len(names) * (len(names) - 1)
    upper = np.triu_indices(len(weights), 1)
    is_finite = bool(np.isfinite(weights[upper]).all())  # it is not where the rows are too few for a parent
    if is_free and is_finite and (np.abs(weights[upper] - weights.T[upper]) <= slack).all():
        tree = _spanning_tree(weights, place or 0, slack)
        return [edge for edge in tree if not is_forest or weights[edge] > slack], ""
    return _branching(without_noise(weights, slack), constraints, place, is_forest), ""


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


def learn_k2(task: StructureTask, *, order: Sequence[str]) -> FoundGraph:
    """Greedy parents along an order: the best predecessor is added as long as it improves the family.

    K2 with the K2 score (Cooper & Herskovits 1992), K3 with a description length or BIC (Bouckaert 1993). A gain must
    be positive: a parent that changes nothing is not added. Not optimal, but acyclic without any check, and a start for
    other searches. O(n²) families for each parent found.
    """
    names = sorted(task.scores.names)
    constraints = task.knowledge.on(names).along(order, names)
    place = {name: number for number, name in enumerate(names)}
    parents = {
        name: [names[parent] for parent in required]
        for name, required in zip(names, constraints.required_families, strict=True)
    }
    trace = [(0, sum(task.scores.family(name, parents[name]) for name in names))]
    stopped = ""
    for name in order:
        if stopped := task.stopped_by(*trace[-1]):
            break
        before, num_before = task.scores.family(name, parents[name]), len(parents[name])
        free = [names[other] for other in np.flatnonzero(constraints.allowed[:, place[name]]).tolist()]
        parents[name] = _greedy_parents(task, name, parents[name], free, constraints.max_parents)
        if len(parents[name]) > num_before:
            score = trace[-1][1] + task.scores.family(name, parents[name]) - before
            trace.append((trace[-1][0] + len(parents[name]) - num_before, score))
    edges = sorted((parent, name) for name in names for parent in parents[name])
    steps, score = trace[-1]
    return FoundGraph(DAG(edges, nodes=task.scores.names), score, stopped or "local maximum", steps, tuple(trace))


def _greedy_parents(
    task: StructureTask, child: str, required: Sequence[str], candidates: Sequence[str], most: int
) -> list[str]:
    parents = list(required)
    score = task.scores.family(child, parents)
    while len(parents) < most:
        left = [other for other in candidates if other not in parents]
        if not left:
            break
        scores = task.scores.extended(child, parents, left)
        top = float(scores.max())
        if not improves(top - score, score):
            break
        first = int((scores >= top - SCORE_NOISE * max(1.0, abs(top))).argmax())
        parents.append(left[first])
        score = float(scores[first])
    return parents


def learn_buntine(task: StructureTask, *, max_steps: int | None = None) -> FoundGraph:
    """Buntine's B: from no edges, the best edge anywhere that closes no cycle is added as long as it improves.

    Of Buntine (1991). It needs no order, and differs from hill climbing in that it takes nothing back.
    """
    problem = GraphSearch(task.scores, task.knowledge, only_additions=True)
    state = GreedyAscent(max_steps=max_steps).run(problem, problem.start, progress=task.is_over)
    trace, ended = state.trace, search_ended(task, state.stopped_by)
    return FoundGraph(problem.graph(state.best), state.best_score, ended, state.num_steps, trace)


def learn_by_edge_counts(task: StructureTask, *, patience: int = 20) -> FoundGraph:
    """For each number of edges a graph near to the data, and of all these the one with the best score.

    Lam and Bacchus' stratified search: which graph with k edges has the least divergence from the data does not depend
    on what edges cost, so that the cost, such as a description length, has to choose k alone. From k to k + 1 the edge
    is added that the likelihood gains most by. Cost: that of Buntine's B, and a score for each k. Lam & Bacchus (1994),
    Learning Bayesian belief networks: an approach based on the MDL principle.
    """
    if task.statistics is None:
        raise NotSupported("A search by numbers of edges needs data, for the likelihood.")
    problem = GraphSearch(
        read_score(fitting_score(task.statistics, "log-likelihood")).on(task.statistics),
        task.knowledge,
        only_additions=True,
    )
    state, steps, stopped = problem.start, 0, ""
    best, trace = state, [(0, task.scores.graph(problem.graph(state)))]
    while not stopped and steps - trace[-1][0] < patience:
        move = problem.best_operator(state)
        if move is None:
            break
        state, steps = problem.apply(state, move[0]), steps + 1
        score = task.scores.graph(problem.graph(state))
        if score > trace[-1][1]:
            best = state
            trace.append((steps, score))
        stopped = task.stopped_by(steps, trace[-1][1])
    return FoundGraph(problem.graph(best), trace[-1][1], stopped or "no progress", steps, tuple(trace))
