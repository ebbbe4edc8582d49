"""Hidden variables that are looked for: parents of groups that depend on each other, clusters of some columns."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from dataclasses import dataclass, replace
from functools import partial
from itertools import combinations
from typing import Literal, NamedTuple, get_args

import numpy as np

from plausible.base import Seed, check_count, generator_of
from plausible.cpds import TableCPD
from plausible.data import Statistics, TableStatistics
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, suggestion
from plausible.graphs import DAG, UndirectedGraph
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.expectations import ExactExpectations, FamilyCounts
from plausible.learn.incomplete_structures.available import AvailableStatistics
from plausible.learn.incomplete_structures.completion import (
    FittedGraph,
    GraphJudge,
    IncompleteFit,
    best_graphs,
    read_cases,
    usual_prior,
)
from plausible.learn.incomplete_structures.structural_em import (
    SEMRules,
    SEMState,
    learn_structural_em,
    sem_init,
    sem_update,
)
from plausible.learn.scores.penalized import mutual_information
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import Score
from plausible.learn.structures.knowledge import check_progress
from plausible.models import BayesianNetwork
from plausible.search.run import CONVERGED, Clock, Stops, best_first

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
    #: "converged" (all groups were tried), "step limit" (more than max_groups=), "time limit" or "interrupted".
    stopped_by: str = CONVERGED

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
    Directions do not matter; groups smaller than `min_size` are left out.

    >>> semi_cliques(DAG("a -> b -> c, a -> c -> d, b -> d, d -> e"))
    (('a', 'b', 'c', 'd'),)
    """
    check_count("min_size", min_size, 3)
    skeleton = graph.skeleton() if isinstance(graph, DAG) else graph
    near = {str(node): set(map(str, skeleton.neighbors(node))) for node in skeleton.nodes}

    def grown(group: frozenset[str]) -> frozenset[str]:
        while wider := [node for node in sorted(near) if node not in group and is_dense(group | {node})]:
            group |= {max(wider, key=lambda node: len(near[node] & group))}
        return group

    def is_dense(group: frozenset[str]) -> bool:
        return all(2 * len(near[node] & group) >= len(group) - 1 for node in group)

    pairs = ((one, two, three) for one in near for two, three in combinations(sorted(near[one]), 2))
    found = {grown(frozenset((one, two, three))) for one, two, three in pairs if three in near[two]}
    largest = [group for group in found if not any(group < other for other in found)]
    listed = (tuple(name for name in near if name in group) for group in largest if len(group) >= min_size)
    return tuple(sorted(listed, key=lambda group: (-len(group), group)))


def dependence_graph(statistics: Statistics) -> UndirectedGraph:
    """An edge between each two variables that BIC joins: N · I(X; Y) > ½ ln N (|X| - 1)(|Y| - 1).

    Pairs need fewer rows than graphs, but variables with an observed common parent depend on each other as well.

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
    """The graph with a hidden common parent of a group, in place of the edges within the group."""
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
    data, graph
        Rows of states, of which cells may be missing, and a graph learned from them; see `learn_structure`.
    num_states, name
        Of the hidden variable.
    signal
        "semi-cliques" of the graph, or groups of high "mutual-information", whatever the graph.
    max_groups
        At most so many groups are tried, the largest first.
    rules
        Of structural EM after EM; `None` for EM alone.

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
    table, read, generator = Table.for_learning(data), read_score(score), generator_of(seed)
    if name in table.variables:
        raise InvalidArgument(f"The data have a column {name!r}; choose another name= for the hidden variable.")
    stops, unseen = Stops(tolerance=1e-7, max_steps=500), {name: num_states}
    plain = GraphJudge(read_cases(table), read, usual_prior(read), stops=stops, clock=clock)
    graph = DAG(graph.edges, nodes=plain.cases.variables)
    without = plain.fit(graph, plain.start(graph, generator))
    counts = AvailableStatistics(table) if table.missing else TableStatistics(table)
    groups = semi_cliques(graph if signal == "semi-cliques" else dependence_graph(counts))
    judge = GraphJudge(read_cases(table, unseen), read, usual_prior(read), stops=stops, clock=clock)
    trials: list[HiddenTrial] = []
    stopped_by = "step limit" if len(groups) > max_groups else CONVERGED
    for group in groups[:max_groups]:
        if judge.clock.is_over:
            stopped_by = "time limit"
            break
        joined = with_hidden_parent(graph, group, name)
        runs = [judge.fit(joined, judge.start(joined, generator))]
        while len(runs) <= restarts and not judge.clock.is_over:
            runs.append(judge.fit(joined, judge.start(joined, generator)))
        fitted = best_first(runs, lambda run: run.score)[0]
        if rules is not None:
            limit = math.inf if rules.time_limit is None else rules.time_limit
            limited = replace(rules, time_limit=min(clock.seconds_left, limit))
            sem = learn_structural_em(table, score=read, hidden=unseen, start=fitted.network, rules=limited)
            fitted = sem.state.best
        children = tuple(map(str, fitted.graph.children(name)))
        trials.append(HiddenTrial(children, fitted, fitted.score - without.score))
        if progress is not None and progress(trials[-1]):
            stopped_by = "interrupted"
            break
    return HiddenSearch(without, tuple(best_first(trials, lambda trial: trial.fitted.score)), stopped_by)


@dataclass(frozen=True, slots=True, eq=False)
class SelectiveClustering(IncompleteFit[SEMState]):
    """Clusters and the columns that they explain; made by `learn_selective_clustering`."""

    runs: tuple[float, ...]  # The final scores of all runs, the best first
    name: str  # The variable of the cluster

    @property
    def relevant(self) -> tuple[str, ...]:
        """The columns that depend on the cluster."""
        return tuple(map(str, self.state.best.graph.children(self.name)))

    @property
    def irrelevant(self) -> tuple[str, ...]:
        """The columns that are independent of the cluster."""
        return tuple(name for name in self.network.variables if name not in (self.name, *self.relevant))


def selective_step(judge: GraphJudge, name: str, state: SEMState, rules: SEMRules) -> SEMState:
    """One step: a column is a child of the cluster where that scores more on the completed data than a root.

    All counts M̄[x, c] come from one E-step on a naive Bayes network that means the same as the present one: columns
    without an edge have the same distribution in all clusters. 2n scores of families decide between 2ⁿ graphs.
    """
    cluster = judge.cases.variables[name]
    others = [other for other in judge.cases.variables if other != name]
    cpds = dict(state.best.network.cpds)  # the same distribution, with the cluster as a parent of every column
    for other, cpd in cpds.items():
        if other != name and not cpd.parents:
            repeated = np.repeat(cpd.to_factor().values[None], cluster.num_states, axis=0)
            cpds[other] = TableCPD(cpd.variable, repeated, [cluster])
    widened = BayesianNetwork(cpds.values())
    pairs = ExactExpectations(judge.cases.in_memory("Selective clustering")).at(widened).counts
    parents: dict[str, tuple[str, ...]] = dict.fromkeys(others, (name,)) | {name: ()}
    empty: dict[str, tuple[str, ...]] = dict.fromkeys(parents, ())
    alone = {other: pairs[other].sum(axis=0) for other in others} | {name: pairs[name]}
    total, variables = judge.cases.total, judge.cases.variables
    joined = judge.score.on(FamilyCounts(variables, parents, pairs, total))
    separate = judge.score.on(FamilyCounts(variables, empty, alone, total))
    chosen = [other for other in others if joined.family(other, [name]) > separate.family(other, [])]
    graph = DAG([(cluster.name, other) for other in chosen], nodes=variables)
    maximization = judge.maximization(graph)
    counts = {other: pairs[other] if other in chosen else alone[other] for other in parents}
    before = state.best.network
    if graph != state.best.graph:  # for rows of which nothing is expected: tables of the wider network, or their means
        means = {o: TableCPD(c.variable, c.to_factor().values.mean(axis=0)) for o, c in cpds.items() if c.parents}
        before = BayesianNetwork([means.get(o, c) if not graph.parents(o) else c for o, c in cpds.items()])
    return sem_update(state, judge.fit(graph, maximization.network(counts, before).network), rules)


def learn_selective_clustering(
    data: TableLike,
    num_clusters: int,
    name: str = "cluster",
    score: str | Score = "bic",
    *,
    prior: PriorLike = None,
    restarts: int = 4,
    seed: Seed = 0,
    rules: SEMRules | None = None,
) -> SelectiveClustering:
    """Cluster rows, and tell which columns the clusters explain.

    Structural EM (Friedman 1997) over the graphs in which each column is a child of the cluster or has no edge; see
    `selective_step`. Each run sets out from all columns as children, with random tables. Columns that depend on each
    other but not on the cluster are modelled as independent, so that the cluster may turn to explain their dependence:
    the expected counts of a column without an edge need not be independent of the cluster, and that is how it gains
    one (Koller & Friedman 2009, section 19.4.3.3 and exercise 19.26).

    `name` is that of the variable of clusters; data, score, prior and rules are as for `learn_structural_em`.

    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 2, 500)
    >>> rows = {column: np.where(rng.random(500) < 0.9, kind, 1 - kind) for column in "abc"}
    >>> found = learn_selective_clustering({**rows, "noise": rng.integers(0, 2, 500)}, 2)
    >>> found.relevant, found.irrelevant
    (('a', 'b', 'c'), ('noise',))
    """
    check_count("num_clusters", num_clusters, 1)
    check_count("restarts", restarts)
    table = Table.for_learning(data)
    if name in table.variables:
        raise InvalidArgument(f"The data have a column {name!r}; choose another name= for the cluster.")
    given, generator, read = rules or SEMRules(), generator_of(seed), read_score(score)
    cases = read_cases(table, {name: num_clusters})
    judge = GraphJudge.by(cases, read, given, prior)
    graph = DAG([(name, other) for other in table.variables], nodes=cases.variables)
    starts = (sem_init(judge, judge.start(graph, generator)) for _ in range(1 + restarts))
    step = partial(selective_step, judge, name, rules=given)
    return SelectiveClustering(*best_graphs(judge, step, starts, given), name)
