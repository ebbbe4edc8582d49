"""Where a hidden variable may be missing from a graph: groups that depend on each other, and a trial of each."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np

from plausible.base.options import check_count
from plausible.base.seeds import Seed, generator_of
from plausible.data.statistics import Statistics
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs import DAG, UndirectedGraph
from plausible.learn.incomplete_structures.available import AvailableStatistics
from plausible.learn.incomplete_structures.completion import FittedGraph, GraphJudge, usual_prior
from plausible.learn.incomplete_structures.starts import read_cases
from plausible.learn.incomplete_structures.structural_em import SEMRules, learn_structural_em
from plausible.learn.scores.penalized import mutual_information
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import Score
from plausible.learn.structures.task import check_progress
from plausible.search.clock import Clock
from plausible.search.run import Stops, best_first

Signal = Literal["semi-cliques", "mutual-information"]


class HiddenTrial(NamedTuple):
    """A hidden variable over a group, the network with it, and what it gains; only gains above zero speak for it."""

    group: tuple[str, ...]
    fitted: FittedGraph
    gain: float


@dataclass(frozen=True, slots=True, eq=False)
class HiddenSearch:
    """Trials of a hidden variable; made by `find_hidden`."""

    without: FittedGraph  # The network without it, fitted to the same rows
    trials: tuple[HiddenTrial, ...]  # All groups that were tried, the greatest gain first
    stopped: str = "all groups"  # Why the search ended: "all groups", "time limit" or "interrupted"

    @property
    def best(self) -> FittedGraph:
        """The network with the hidden variable that gains most; that without any where none gains."""
        return self.trials[0].fitted if self.trials and self.trials[0].gain > 0 else self.without

    @property
    def group(self) -> tuple[str, ...]:
        """The children of the hidden variable that is kept; empty where none gains."""
        return self.trials[0].group if self.trials and self.trials[0].gain > 0 else ()


def semi_cliques(graph: DAG | UndirectedGraph, min_size: int = 3) -> tuple[tuple[str, ...], ...]:
    """Groups in which each variable has an edge with at least half of the others; the largest first.

    Grown from triangles, one variable at a time, always by the one with most edges into the group. A hidden common
    parent leaves such groups in a graph that is learned without it (Elidan, Lotner, Friedman & Koller 2000).

    Parameters
    ----------
    graph
        A graph over observed variables; directions do not matter.
    min_size
        Smaller groups are left out.

    Examples
    --------
    >>> semi_cliques(DAG("a -> b -> c, a -> c -> d, b -> d, d -> e"))
    (('a', 'b', 'c', 'd'),)
    """
    check_count("min_size", min_size, 3)
    skeleton = graph.skeleton() if isinstance(graph, DAG) else graph
    near = {str(node): set(map(str, skeleton.neighbors(node))) for node in skeleton.nodes}
    found = set()
    for one in near:
        for two, three in combinations(sorted(near[one]), 2):
            if three in near[two]:
                found.add(_grown(frozenset((one, two, three)), near))
    largest = [group for group in found if not any(group < other for other in found)]
    listed = (tuple(name for name in near if name in group) for group in largest if len(group) >= min_size)
    return tuple(sorted(listed, key=lambda group: (-len(group), group)))


def dependence_graph(statistics: Statistics) -> UndirectedGraph:
    """An edge between each two variables that BIC joins: N · I(X; Y) > ½ ln N (|X| - 1)(|Y| - 1).

    Pairs need fewer rows than graphs, but variables with an observed common parent depend on each other as well.

    Parameters
    ----------
    statistics
        Counts of the data.

    Examples
    --------
    >>> rows = {"a": [0, 1] * 20, "b": [0, 1] * 20, "c": [0, 0, 1, 1] * 10}
    >>> dependence_graph(TableStatistics(rows)).edges
    (('a', 'b'),)
    """
    sizes = {name: variable.num_states for name, variable in statistics.variables.items()}
    price = 0.5 * math.log(max(statistics.total, 1.0))
    edges = [
        (one, two)
        for one, two in combinations(sizes, 2)
        if statistics.total * mutual_information(statistics, two, [one]) > price * (sizes[one] - 1) * (sizes[two] - 1)
    ]
    return UndirectedGraph(edges, nodes=sizes)


def with_hidden_parent(graph: DAG, group: Iterable[str], name: str) -> DAG:
    """The graph with a hidden common parent of a group, in place of the edges within the group.

    >>> with_hidden_parent(DAG("a -> b -> c, a -> c, d -> a"), ["a", "b", "c"], "H").edges
    (('H', 'a'), ('H', 'b'), ('H', 'c'), ('d', 'a'))
    """
    members = set(group)
    kept = [(parent, child) for parent, child in graph.edges if not {parent, child} <= members]
    nodes = list(map(str, graph.nodes))
    return DAG([*((name, node) for node in nodes if node in members), *kept], nodes=[name, *nodes])


def find_hidden(
    data: TableLike,
    graph: DAG,
    num_states: int = 2,
    name: str = "H",
    score: str | Score = "bic",
    *,
    signal: Signal = "semi-cliques",
    max_groups: int = 5,
    restarts: int = 3,
    seed: Seed = 0,
    rules: SEMRules | None = None,
    progress: Callable[[HiddenTrial], object] | None = None,
    time_limit: float | None = None,
) -> HiddenSearch:
    """Look for a hidden variable that makes a graph simpler, and keep it only where the score gains.

    Groups that depend on each other are proposed; for each a hidden parent takes the place of the edges within, its
    parameters are learned by EM, and with `rules` its graph by structural EM too. Constraints that a hidden variable
    leaves on the distribution of the observed ones (Pearl 2000) are not looked at.

    Parameters
    ----------
    data
        Rows of states; cells may be missing.
    graph
        A graph learned from them; see `learn_structure`.
    num_states, name
        Of the hidden variable.
    score
        A score of counts, or its name.
    signal
        "semi-cliques" of the graph, or groups of high "mutual-information", whatever the graph.
    max_groups
        At most so many groups are tried, the largest first.
    restarts
        So many more runs of EM for each.
    rules
        Of structural EM after EM; `None` for EM alone.
    time_limit
        In seconds; the trials that were made by then are told.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 2, 1000)
    >>> rows = {column: np.where(rng.random(1000) < 0.85, kind, 1 - kind) for column in "abcd"}
    >>> graph = DAG("a -> b, a -> c, b -> c, b -> d, c -> d")
    >>> found = find_hidden(rows, graph)
    >>> found.group, found.trials[0].gain > 0
    (('a', 'b', 'c', 'd'), True)
    """
    clock = Clock.of(time_limit)
    check_count("num_states", num_states, 2)
    check_count("max_groups", max_groups)
    check_count("restarts", restarts)
    check_progress(progress)
    if signal not in get_args(Signal):
        raise InvalidArgument(f"signal={signal!r} is no signal.{suggestion(signal, get_args(Signal))}")
    table, read, generator = Table.read(data), read_score(score), generator_of(seed)
    if name in table.variables:
        raise InvalidArgument(f"The data have a column {name!r}; choose another name= for the hidden variable.")
    stops = Stops(tolerance=1e-7, max_steps=500)
    plain = GraphJudge(read_cases(table), read, usual_prior(read), stops=stops, clock=clock)
    graph = DAG(graph.edges, nodes=plain.cases.variables)
    without = plain.fit(graph, plain.start(graph, generator))
    groups = semi_cliques(graph if signal == "semi-cliques" else dependence_graph(_counts(table)))
    judge = GraphJudge(read_cases(table, {name: num_states}), read, usual_prior(read), stops=stops, clock=clock)
    trials: list[HiddenTrial] = []
    stopped = "all groups"
    for group in groups[:max_groups]:
        if judge.clock.is_over:
            stopped = "time limit"
            break
        fitted = _tried(judge, with_hidden_parent(graph, group, name), 1 + restarts, generator)
        if rules is not None:
            limits = (clock.seconds_left, math.inf if rules.time_limit is None else rules.time_limit)
            limited = replace(rules, time_limit=min(limits))
            fitted = learn_structural_em(
                table, score=read, hidden={name: num_states}, start=fitted.network, rules=limited
            ).state.best
        children = tuple(map(str, fitted.graph.children(name)))
        trials.append(HiddenTrial(children, fitted, fitted.score - without.score))
        if progress is not None and progress(trials[-1]):
            stopped = "interrupted"
            break
    return HiddenSearch(without, tuple(best_first(trials, lambda trial: trial.fitted.score)), stopped)


def _tried(judge: GraphJudge, graph: DAG, num_runs: int, generator: np.random.Generator) -> FittedGraph:
    """The best of several runs of EM from random tables."""
    runs = [judge.fit(graph, judge.start(graph, generator))]
    while len(runs) < num_runs and not judge.clock.is_over:
        runs.append(judge.fit(graph, judge.start(graph, generator)))
    return best_first(runs, lambda run: run.score)[0]


def _counts(table: Table) -> Statistics:
    return AvailableStatistics(table) if table.missing else TableStatistics(table)


def _grown(group: frozenset[str], near: dict[str, set[str]]) -> frozenset[str]:
    while True:
        fitting = [node for node in sorted(near) if node not in group and _is_semi_clique(group | {node}, near)]
        if not fitting:
            return group
        group |= {max(fitting, key=lambda node: len(near[node] & group))}


def _is_semi_clique(group: frozenset[str], near: dict[str, set[str]]) -> bool:
    return all(2 * len(near[node] & group) >= len(group) - 1 for node in group)
