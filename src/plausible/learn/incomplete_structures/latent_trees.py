"""Many hidden variables at once: trees over the columns, and hidden variables whose children overlap."""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import combinations, count
from typing import TypeAlias

import numpy as np

from plausible.base import Seed, check_count, generator_of
from plausible.cpds import TableCPD
from plausible.data import Statistics, TableStatistics
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.incomplete_structures.available import AvailableStatistics
from plausible.learn.incomplete_structures.completion import FittedGraph, GraphJudge, read_cases, usual_prior
from plausible.learn.scores.penalized import mutual_information
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import Score
from plausible.models import BayesianNetwork
from plausible.search.run import Stops, best_first
from plausible.variables import Variable

#: A column, or the branches of a hidden variable.
Hierarchy: TypeAlias = "str | Sequence[Hierarchy]"


@dataclass(frozen=True, slots=True, eq=False)
class LatentTree:
    """A tree whose leaves are columns and whose inner nodes are hidden; made by `learn_latent_tree`."""

    hierarchy: Hierarchy  # Which columns are together: nested tuples of names
    hidden: tuple[str, ...]  # The hidden variables, the root first
    best: FittedGraph  # The network, its score and its likelihood
    runs: tuple[float, ...]  # The scores of all runs of EM, the best first


def hierarchy_graph(hierarchy: Hierarchy, prefix: str = "H") -> DAG:
    """The tree of a hierarchy: a hidden variable for each group, with its branches as children.

    Inference in it is linear in the number of variables (Koller & Friedman 2009, figure 19.11). Hidden variables are
    named by a prefix and a number, the root first; groups of one branch have none.

    >>> hierarchy_graph([["a", "b"], ["c", "d"], "e"]).edges
    (('H1', 'H2'), ('H1', 'H3'), ('H1', 'e'), ('H2', 'a'), ('H2', 'b'), ('H3', 'c'), ('H3', 'd'))
    """
    nodes: list[str] = []
    edges: list[tuple[str, str]] = []
    numbers, waiting = count(1), deque[tuple[Hierarchy, str | None]]([(hierarchy, None)])
    while waiting:
        branch, parent = waiting.popleft()
        while not isinstance(branch, str) and len(branch) == 1:
            branch = branch[0]
        node = branch if isinstance(branch, str) else f"{prefix}{next(numbers)}"
        if node in nodes:
            raise InvalidArgument(f"{node!r} is in the hierarchy twice; name it once, or take another prefix=.")
        nodes.append(node)
        edges += [] if parent is None else [(parent, node)]
        waiting += [] if isinstance(branch, str) else [(inner, node) for inner in branch]
    return DAG(sorted(edges), nodes=nodes)


def overlapping_graph(groups: Mapping[str, Iterable[str]]) -> DAG:
    """Independent hidden variables, each a parent of its group; groups may share columns (figure 19.12).

    A column in k groups has k hidden parents: tables grow as fast as 2ᵏ, and observing columns joins all hidden
    variables, so that exact inference may be out of reach. Learn such columns as compact distributions:
    `learn_em(graph, data, hidden=..., kinds={"x": "noisy-or"})`.

    >>> overlapping_graph({"taste": ["a", "b"], "wealth": ["b", "c"]}).edges
    (('taste', 'a'), ('taste', 'b'), ('wealth', 'b'), ('wealth', 'c'))
    """
    listed = {name: list(group) for name, group in groups.items()}
    for name, group in listed.items():
        inner = next((node for node in group if node in listed), None)
        if inner is not None:
            raise InvalidArgument(f"{inner!r} is in the group of {name!r} and has one itself; see hierarchy_graph.")
    return DAG([(name, node) for name, group in listed.items() for node in group], nodes=listed)


def hierarchy_by_information(statistics: Statistics) -> Hierarchy:
    """Join the two groups with most mutual information between their members, on average, until there is one.

    Ties are broken by names. Cost: n² counts of pairs, and n³ steps.

    >>> rows = {"a": [0, 1, 0, 1] * 9, "c": [0, 0, 1, 1] * 9, "b": [0, 1, 0, 1] * 9, "d": [0, 0, 1, 1] * 9}
    >>> hierarchy_by_information(TableStatistics(rows))
    (('a', 'b'), ('c', 'd'))
    """
    groups: list[Hierarchy] = [*sorted(statistics.variables)]
    num = len(groups)
    near = np.full((num, num), -np.inf)
    for one, two in combinations(range(num), 2):
        name, other = str(groups[one]), str(groups[two])
        near[one, two] = near[two, one] = mutual_information(statistics, other, [name])
    sizes = np.ones(num)
    while len(groups) > 1:
        one, two = sorted(int(place) for place in np.unravel_index(int(near.argmax()), near.shape))
        mean = (sizes[one] * near[one] + sizes[two] * near[two]) / (sizes[one] + sizes[two])
        near[one], near[:, one] = mean, mean
        near[one, one] = -np.inf
        near = np.delete(np.delete(near, two, axis=0), two, axis=1)
        groups[one], sizes[one] = (groups[one], groups[two]), sizes[one] + sizes[two]
        del groups[two]
        sizes = np.delete(sizes, two)
    return groups[0] if groups else ()


def learn_latent_tree(
    data: TableLike,
    hierarchy: Hierarchy | None = None,
    num_states: int = 2,
    score: str | Score = "bic",
    *,
    prefix: str = "H",
    restarts: int = 3,
    seed: Seed = 0,
    stops: Stops | None = None,
) -> LatentTree:
    """Explain all dependence between columns by a tree of hidden variables, learned by EM.

    Parameters
    ----------
    hierarchy
        Which columns are together, as nested lists. By default greedily by mutual information, two groups at a time;
        then a hidden variable is taken out, its branches going to the one above it, as long as the score rises.
    num_states, prefix
        Of each hidden variable; what their names begin with.
    score, stops
        A score of counts, or its name; when EM ends.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 2, 500)
    >>> rows = {column: np.where(rng.random(500) < 0.9, kind, 1 - kind) for column in "abc"}
    >>> found = learn_latent_tree(rows)
    >>> found.hierarchy, found.hidden
    (('a', 'b', 'c'), ('H1',))
    """
    check_count("num_states", num_states, 1)
    check_count("restarts", restarts)
    table, read, generator = Table.for_learning(data), read_score(score), generator_of(seed)
    counted = AvailableStatistics(table) if table.missing else TableStatistics(table)
    wanted = hierarchy_by_information(counted) if hierarchy is None else hierarchy
    tree = hierarchy_graph(wanted, prefix)
    leaves = {str(node) for node in tree.nodes if not tree.children(node)}
    for name in sorted(leaves ^ set(table.variables)):
        if name in _inner(tree):
            raise InvalidArgument(f"The data have a column {name!r}; choose another prefix= for hidden variables.")
        where = "the hierarchy is not in the data" if name in leaves else "the data is not in the hierarchy"
        raise InvalidArgument(f"{name!r} of {where}; the leaves of the tree are the columns.")
    fitter = _TreeFitter(table, read, num_states, prefix, stops or Stops(tolerance=1e-7, max_steps=500))
    runs = fitter.runs(wanted, 1 + restarts, generator)
    if hierarchy is None:
        wanted, contracted = fitter.contracted(wanted, runs[0])
        more = [] if contracted is runs[0] else [contracted, *fitter.runs(wanted, 1 + restarts, generator)]
        runs = best_first(more or runs, lambda run: run.score)
    return LatentTree(wanted, _inner(hierarchy_graph(wanted, prefix)), runs[0], tuple(run.score for run in runs))


@dataclass(frozen=True, slots=True, eq=False)
class _TreeFitter:
    """Fits the trees of hierarchies to one table."""

    table: Table
    score: Score
    num_states: int
    prefix: str
    stops: Stops

    def judge(self, hierarchy: Hierarchy) -> tuple[GraphJudge, DAG]:
        """What judges a tree, and the tree, its nodes in the order of the columns and then of the hidden variables."""
        tree = hierarchy_graph(hierarchy, self.prefix)
        cases = read_cases(self.table, dict.fromkeys(_inner(tree), self.num_states))
        judge = GraphJudge(cases, self.score, usual_prior(self.score), stops=self.stops)
        return judge, DAG(tree.edges, nodes=cases.variables)

    def runs(self, hierarchy: Hierarchy, num: int, generator: np.random.Generator) -> list[FittedGraph]:
        """Runs of EM from random tables, the best first."""
        judge, graph = self.judge(hierarchy)
        fitted = [judge.fit(graph, judge.start(graph, generator)) for _ in range(num)]
        return best_first(fitted, lambda run: run.score)

    def contracted(self, hierarchy: Hierarchy, best: FittedGraph) -> tuple[Hierarchy, FittedGraph]:
        """Without hidden variables that the score is better without, one after the other; tables are carried over."""
        waiting = list(_contractions(hierarchy))
        while waiting:
            candidate = waiting.pop(0)
            judge, graph = self.judge(candidate)
            if judge.clock.is_over:
                break
            fitted = judge.fit(graph, _carried_over(best.network, graph, judge.cases.variables))
            if fitted.score > best.score:
                hierarchy, best = candidate, fitted
                waiting = list(_contractions(hierarchy))
        return hierarchy, best


def _inner(tree: DAG) -> tuple[str, ...]:
    """The hidden variables of a tree, the root first."""
    return tuple(str(node) for node in tree.nodes if tree.children(node))


def _contractions(hierarchy: Hierarchy) -> Iterator[Hierarchy]:
    """All hierarchies in which one group has gone, its branches in its place."""
    if isinstance(hierarchy, str):
        return
    for place, branch in enumerate(hierarchy):
        if not isinstance(branch, str):
            yield (*hierarchy[:place], *branch, *hierarchy[place + 1 :])
            yield from ((*hierarchy[:place], inner, *hierarchy[place + 1 :]) for inner in _contractions(branch))


def _carried_over(network: BayesianNetwork, graph: DAG, variables: Mapping[str, Variable]) -> BayesianNetwork:
    """Tables on a contracted tree: P(node | what is above it) under the network; nodes go by the leaves below them."""
    old = {_leaves(network.graph, node): node for node in network.variables}
    cpds = []
    for name, variable in variables.items():
        node = old[_leaves(graph, name)]
        table = network.cpd(node).to_factor().values
        above = next(iter(graph.parents(name)), None)
        if above is None:
            cpds.append(TableCPD(variable, table))
            continue
        end = old[_leaves(graph, str(above))]
        while (step := str(network.graph.parents(node)[0])) != end:
            node = step
            table = network.cpd(node).to_factor().values @ table
        cpds.append(TableCPD(variable, table, [variables[str(above)]]))
    return BayesianNetwork(cpds)


def _leaves(tree: DAG, node: str) -> frozenset[str]:
    below = {node, *map(str, tree.descendants([node]))}
    return frozenset(name for name in below if not tree.children(name))
