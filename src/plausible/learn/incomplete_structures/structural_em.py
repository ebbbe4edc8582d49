"""Structural EM: graphs from incomplete data by any search over completed data (Friedman 1997, 1998)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np

from plausible.base import (
    CLIMBED_NOISE,
    Seed,
    check_count,
    generator_of,
    real,
    whole,
)
from plausible.data.statistics import Request, Statistics
from plausible.data.table import TableLike
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import counted
from plausible.graphs import DAG, PDAG, essential_graph
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.starts_and_stops import start_network
from plausible.learn.incomplete_structures.completed_statistics import completed_statistics
from plausible.learn.incomplete_structures.completion import (
    FittedGraph,
    GraphJudge,
    GraphRules,
    GraphStart,
    IncompleteFit,
    Judge,
    best_graphs,
    first_network,
    read_cases,
)
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structure_methods import StructureSearch
from plausible.learn.structures.knowledge import Knowledge
from plausible.models import BayesianNetwork
from plausible.search.checkpoint import AnyPath, checkpointed
from plausible.search.local_search import SearchMethod
from plausible.search.run import CONVERGED, made
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class SEMRules(GraphRules, tolerance=real(least=0), max_completions=whole(), num_draws=whole()):
    """How structural EM goes about it; `em_steps` and `em_tolerance` are those of EM for each graph."""

    max_steps: int = 50  # At most so many graphs are searched for
    em_steps: int = 20
    tolerance: float = 1e-6  # The relative gain of the score below which a step that finds the same graph is the last
    #: Up to so many completions of the parts that missing cells come in are listed, the smallest parts first: counts
    #: are exact then (see `ExpectedStatistics`).
    max_completions: int = 2**22
    #: Where some parts are too large for that, as with many missing cells or hidden variables that meet, so many draws
    #: of each stand for its completions while a graph is searched. The graph found is taken only where the exact counts
    #: of the families that changed agree, so that the score never falls all the same. 0 to search by exact counts, each
    #: by inference: that may take very long.
    num_draws: int = 10


class SEMState(NamedTuple):
    """What the next step needs, and how it came there."""

    best: FittedGraph  # The graph and its parameters
    num_steps: int = 0  # How many steps were made
    #: Graphs that completed data preferred and observed cells did not; with BIC and maximum likelihood there are none.
    num_refused: int = 0
    #: "converged" where the last step found the same graph and gained next to nothing, "interrupted" or "time limit"
    #: where its search ended for that; else empty.
    stopped_by: str = ""


def sem_init(judge: Judge, start: BayesianNetwork) -> SEMState:
    """The state before the first step: parameters fitted to the first graph."""
    return SEMState(judge.fit(start.graph, start))


def sem_step(judge: GraphJudge, search: StructureSearch, state: SEMState, rules: SEMRules) -> SEMState:
    """Complete the data, search a graph for them, fit its parameters (Koller & Friedman 2009, algorithm 19.3)."""
    before = state.best
    statistics = completed_statistics(before.network, judge.cases, rules.max_completions)
    searched: Statistics = statistics
    if not isinstance(statistics, TableStatistics) and rules.num_draws:
        searched = statistics.estimated(rules.num_draws, np.random.default_rng([search.seed, state.num_steps]))
    found, cut_short = search_from(search, before.graph, searched)
    changed = [name for name in before.graph.nodes if set(before.graph.parents(name)) != set(found.parents(name))]
    families = [(str(name), [*map(str, graph.parents(name))]) for name in changed for graph in (before.graph, found)]
    scores = judge.score.on(statistics).families(families)
    gain = sum((scores[1::2] - scores[::2]).tolist())
    is_better = gain > CLIMBED_NOISE * abs(before.score)
    graph = found if is_better else before.graph
    start = before.network
    if is_better:  # from the parameters of greatest likelihood, or posterior, for the completed data
        maximization = judge.maximization(graph)
        even = start_network(maximization, judge.cases, "uniform", np.random.default_rng(0))
        answers = statistics.counts_of([Request(n, p) for n, p in maximization.parents.items()])
        tables = [np.asarray(stack.counts[0], np.float64) for (stack,) in answers]
        start = maximization.network(dict(zip(maximization.parents, tables, strict=True)), even).network
    return sem_update(state, judge.fit(graph, start), rules, cut_short)


def search_from(search: StructureSearch, graph: DAG, statistics: Statistics) -> tuple[DAG, str]:
    """The graph that a search finds from another one, where it has a start; and what cut it short, or ""."""
    here = replace(search, start=graph) if search.has_start else search
    found, _ = here.on(statistics)
    return found.graph, found.stopped_by if found.stopped_by in ("interrupted", "time limit") else ""


def sem_update(state: SEMState, after: FittedGraph, rules: SEMRules, cut_short: str = "") -> SEMState:
    """The state after a step that fitted a graph, which is refused where it is worse for the observed cells."""
    before = state.best
    slack = rules.tolerance * (1.0 + abs(before.score))
    if after.score < before.score - CLIMBED_NOISE * (1.0 + abs(before.score)):
        return SEMState(before, state.num_steps + 1, state.num_refused + 1, cut_short or CONVERGED)
    has_settled = after.graph == before.graph and after.score - before.score <= slack
    return SEMState(after, state.num_steps + 1, state.num_refused, cut_short or (CONVERGED if has_settled else ""))


@dataclass(frozen=True, slots=True, eq=False)
class StructuralEMFit(IncompleteFit[SEMState]):
    """A network learned by structural EM; made by `learn_structural_em`.

    The `trace` of its `run`, the best one, has the score of the observed cells, which never falls; `seconds` is the
    time of all runs.
    """

    runs: tuple[float, ...]  # The final scores of all runs, the best first
    cases: IncompleteRows  # The data

    @property
    def equivalence_class(self) -> PDAG:
        """All graphs with the same independencies."""
        return essential_graph(self.graph)

    @property
    def hidden(self) -> tuple[str, ...]:
        """The variables that no row observes."""
        return tuple(self.cases.hidden)

    def __repr__(self) -> str:
        return f"<StructuralEMFit: {counted(self.graph.num_edges, 'edge')}, score {self.score:.6g}, {self.stopped_by}>"


def learn_structural_em(
    data: DataLike,
    method: str | SearchMethod = "hill-climbing",
    score: str | Score = "bic",
    knowledge: Knowledge | None = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    prior: PriorLike = None,
    start: GraphStart | BayesianNetwork = None,
    restarts: int = 0,
    seed: Seed = 0,
    rules: SEMRules | None = None,
    checkpoint: AnyPath | None = None,
    **options: Any,
) -> StructuralEMFit:
    """Learn a network, both graph and parameters, from data with missing cells.

    Each step completes the data to D* using the expectations of the current network, and searches for a better graph as
    if D* were complete. With BIC, score(G' : D*) - score(G : D*) is at most the true gain (Friedman 1997), so the score
    of the observed cells never falls. The run ends when no search over the completed data improves the graph; better
    graphs may still exist nearby. With a Bayesian score the gain is an approximation (Friedman 1998), and a graph that
    lowers the score of the observed cells is rejected. Cells are assumed to be missing at random. A step lists the
    completions of each group of missing cells (see `ExpectedStatistics`; if there are too many, see
    `SEMRules.num_draws`), searches, and runs EM for the new graph.

    Parameters
    ----------
    data
        Rows with missing states, or statistics of them; where these come in pieces, each piece is completed by itself.
    method, score, knowledge, **options
        The search; see `learn_structure`.
    hidden
        Variables that are not in the data: name -> number of states, or `Variable` objects.
    prior
        The prior of the parameters; by default BDeu if the score is BDeu, else none.
    start
        Where to start: a graph, a network with parameters (which also sets the states), "naive-bayes" (hidden variables
        are parents of all others), "random" (parents of a random half; without hidden variables a random sparse graph),
        or "empty".
    restarts
        How many more runs to make from "random" graphs; with hidden variables there are usually several optima.

    Warns
    -----
    DisconnectedHidden
        If a hidden variable has no edge at the start.

    Examples
    --------
    >>> import plausible as pb
    >>> frame = pb.examples.load("asia").sample(1000, seed=1)[["smoke", "lung", "either"]]
    >>> holes = pb.learn.hide(frame, pb.learn.CompletelyAtRandom(0.2), seed=0).data
    >>> fit = pb.learn.structural_em(holes)
    >>> fit.converged, fit.graph.is_adjacent("lung", "either")
    (True, True)
    """
    given, generator = rules or SEMRules(), generator_of(seed)
    read, known = read_score(score), Knowledge.read(knowledge)
    check_count("restarts", restarts)
    cases = read_cases(data, hidden, start)
    judge = GraphJudge.by(cases, read, given, prior)
    search = StructureSearch(method, options, read, known, None, int(generator.integers(2**62)), None, judge.clock)
    wanted: list[GraphStart | BayesianNetwork] = [start, *["random"] * restarts]

    def asked() -> dict[str, object]:
        told = {"data": cases, "score": read, "knowledge": known, "prior": prior, "start": start, "restarts": restarts}
        return {**told, "method": method, "seed": search.seed, "rules": given.told, **options}

    with checkpointed(checkpoint, "learn.structural_em", asked) as saved:
        networks = (first_network(judge, each, known, generator) for each in wanted)
        starts = (made(saved, partial(sem_init, judge, network)) for network in networks)
        step = partial(sem_step, judge, search, rules=given)
        return StructuralEMFit(*best_graphs(judge, step, starts, given, saved), cases)


def completed_scores(network: BayesianNetwork, data: TableLike | Cases, score: str | Score = "bic") -> FamilyScores:
    """The scores of families on the data completed under a network.

    With BIC, and parameters θ̃ of maximum likelihood for the graph G of the network, `scores.graph(G') -
    scores.graph(G)` is at most the true gain BIC(G' : D) - BIC(G : D) (Koller & Friedman 2009, theorem 19.10). That
    holds between G and any other graph, not between two others; with Bayesian scores it is an approximation.
    """
    return read_score(score).on(completed_statistics(network, Cases.of(network.variables, data)))
