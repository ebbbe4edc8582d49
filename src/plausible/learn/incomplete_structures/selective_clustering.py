"""Clusters that explain some columns and leave the others alone: selective naive Bayes by structural EM."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

import numpy as np

from plausible.base.options import check_count
from plausible.base.seeds import Seed, generator_of
from plausible.cpds import CPD, TableCPD
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.graphs import DAG
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.expectations import ExactExpectations, FamilyCounts
from plausible.learn.incomplete_structures.completion import GraphJudge, IncompleteFit, best_graphs
from plausible.learn.incomplete_structures.starts import read_cases
from plausible.learn.incomplete_structures.structural_em import SEMRules, SEMState, sem_init, sem_update
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import Score
from plausible.models import BayesianNetwork


@dataclass(frozen=True, slots=True, eq=False)
class SelectiveClustering(IncompleteFit[SEMState]):
    """Clusters and the columns that they explain; made by `learn_selective_clustering`.

    Attributes
    ----------
    run
        The best run.
    """

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
    widened = _widened(state.best.network, name)
    pairs = ExactExpectations(judge.cases).at(widened).counts
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
    start = maximization.network(counts, state.best.network if graph == state.best.graph else _on(graph, widened))
    return sem_update(state, judge.fit(graph, start.network), rules)


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

    Parameters
    ----------
    data
        Rows of states; cells may be missing.
    num_clusters
        How many clusters there are.
    name
        What the variable of the cluster is called.
    score
        A score of counts, or its name.
    prior
        Of the parameters; by default BDeu where the score is, else none.
    rules
        Numbers of steps, limits, progress.

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> kind = rng.integers(0, 2, 500)
    >>> rows = {column: np.where(rng.random(500) < 0.9, kind, 1 - kind) for column in "abc"}
    >>> found = learn_selective_clustering({**rows, "noise": rng.integers(0, 2, 500)}, 2)
    >>> found.relevant, found.irrelevant
    (('a', 'b', 'c'), ('noise',))
    """
    check_count("num_clusters", num_clusters, 1)
    check_count("restarts", restarts)
    table = Table.read(data)
    if name in table.variables:
        raise InvalidArgument(f"The data have a column {name!r}; choose another name= for the cluster.")
    given, generator, read = rules or SEMRules(), generator_of(seed), read_score(score)
    cases = read_cases(table, {name: num_clusters})
    judge = GraphJudge.by(cases, read, given, prior)
    graph = DAG([(name, other) for other in table.variables], nodes=cases.variables)
    starts = (sem_init(judge, judge.start(graph, generator)) for _ in range(1 + restarts))
    return SelectiveClustering(
        *best_graphs(judge, partial(selective_step, judge, name, rules=given), starts, given), name
    )


def _widened(network: BayesianNetwork, name: str) -> BayesianNetwork:
    """The same distribution with the cluster as a parent of every column."""
    cluster = network.variables[name]
    cpds: list[CPD] = []
    for other, cpd in network.cpds.items():
        table = cpd.to_factor().values
        if other == name or cpd.parents:
            cpds.append(cpd)
        else:
            cpds.append(TableCPD(cpd.variable, np.repeat(table[None], cluster.num_states, axis=0), [cluster]))
    return BayesianNetwork(cpds)


def _on(graph: DAG, widened: BayesianNetwork) -> BayesianNetwork:
    """Tables on a graph for rows of which nothing is expected: those of a naive Bayes network, or their means."""
    cpds = widened.cpds
    cut = {n: TableCPD(c.variable, c.to_factor().values.mean(axis=0)) for n, c in cpds.items() if c.parents}
    return BayesianNetwork([cpd if graph.parents(name) else cut.get(name, cpd) for name, cpd in cpds.items()])
