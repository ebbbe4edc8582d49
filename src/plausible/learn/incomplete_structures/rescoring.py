"""Greedy search over graphs for incomplete data that fits each candidate by EM: slow, and honest about each score."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from typing import Literal, NamedTuple

import numpy as np

from plausible.base import CLIMBED_NOISE, Floats, Seed, generator_of, ranked, score_noise, unless, whole
from plausible.cpds import TableCPD
from plausible.data.table import TableLike
from plausible.graphs import DAG
from plausible.learn.incomplete.expectations import ExactExpectations
from plausible.learn.incomplete.methods import FrozenFamily
from plausible.learn.incomplete_structures.completion import (
    FittedGraph,
    GraphJudge,
    GraphRules,
    GraphStart,
    IncompleteFit,
    best_graphs,
    first_network,
    read_cases,
)
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import Score
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.models import BayesianNetwork
from plausible.search.run import CONVERGED
from plausible.variables import Variable


class EdgeMove(NamedTuple):
    """A change of a graph: an edge added, deleted or reversed."""

    kind: Literal["add", "delete", "reverse"]
    parent: str
    child: str


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class RescoringRules(GraphRules, lifetime=whole(1), shortlist=unless(None, whole(1))):
    """How many of the candidates are fitted, and for how long a gain is believed; `em_steps` are those of each."""

    #: For so many steps the gain of a move is believed, though the graph has changed elsewhere: 1 to fit all moves
    #: again in every step. With missing cells the score does not decompose, so that older gains are guesses; none is
    #: acted on before the graph is fitted.
    lifetime: int = 1
    #: Only so many moves are fitted in a step, the best by an estimate that fits the changed tables alone with all
    #: others frozen. With BIC and maximum likelihood the estimate is at most the true score; with Bayesian scores
    #: nothing is known of it. `None` for all moves.
    shortlist: int | None = None
    max_steps: int = 100  # At most so many moves are made
    em_steps: int = 30


class RescoringState(NamedTuple):
    """What the next step needs."""

    best: FittedGraph  # The graph and its parameters
    num_steps: int = 0  # How many steps were made
    gains: Mapping[EdgeMove, tuple[float, int]] = {}  # Move -> the gain that was found last, and in which step
    num_fits: int = 0  # How many candidates were fitted by EM
    #: "converged" where the last step found no move that gains, "time limit" where it had no time for all candidates;
    #: else empty.
    stopped_by: str = ""


@dataclass(frozen=True, slots=True, eq=False)
class RescoringFit(IncompleteFit[RescoringState]):
    """A network learned by `learn_by_rescoring`.

    It has `converged` where no move that was fitted gains; up to the last step its `trace` rises.
    """


def graph_moves(graph: DAG, constraints: Constraints) -> dict[EdgeMove, DAG]:
    """All graphs that differ by one edge, and that what is known allows; in the order of the names."""
    names = list(map(str, graph.nodes))
    places = {name: place for place, name in enumerate(names)}

    def has_room(parent: str, child: str) -> bool:
        is_allowed = bool(constraints.allowed[places[parent], places[child]])
        return is_allowed and len(graph.parents(child)) < constraints.max_parents

    found: dict[EdgeMove, DAG] = {}
    for parent in sorted(names):
        for child in sorted(names):
            if graph.has_edge(parent, child):
                if constraints.required[places[parent], places[child]]:
                    continue
                cut = graph.without_edge(parent, child)
                found[EdgeMove("delete", parent, child)] = cut
                if has_room(child, parent) and parent not in cut.ancestors([child]):
                    found[EdgeMove("reverse", parent, child)] = cut.with_edge(child, parent)
            elif parent != child and has_room(parent, child) and child not in graph.ancestors([parent]):
                found[EdgeMove("add", parent, child)] = graph.with_edge(parent, child)
    return found


def frozen_network(judge: GraphJudge, network: BayesianNetwork, graph: DAG) -> BayesianNetwork:
    """The network on a changed graph whose changed tables are fitted while all others stay (FrozenFamily).

    Its likelihood is at most that of the best parameters of the graph. Families that lose parents go first, so that no
    graph on the way has a cycle.
    """
    wanted = {name: tuple(map(str, graph.parents(name))) for name in network.variables}
    changed = [name for name, cpd in network.cpds.items() if set(cpd.parent_names) != set(wanted[name])]
    exponents = judge.maximization(graph).exponents
    for name in sorted(changed, key=lambda name: len(wanted[name]) - len(network.cpd(name).parents)):
        parents = [network.variables[parent] for parent in wanted[name]]
        start = _carried_over(network, name, parents)
        network = network.with_cpd(TableCPD(network.variables[name], start, parents))
        frozen = FrozenFamily.of(network, name, judge.cases.in_memory("learn_by_rescoring"))
        table = frozen.learned(start, exponents[name], judge.stops.max_steps or 1000, 1e-6)
        network = network.with_cpd(TableCPD(network.variables[name], table, parents))
    return network


def rescoring_step(
    judge: GraphJudge, constraints: Constraints, state: RescoringState, rules: RescoringRules
) -> RescoringState:
    """Fit candidates whose gains are not known, or no longer; make the move that gains most."""
    now, before = state.num_steps + 1, state.best
    graphs = graph_moves(before.graph, constraints)
    gains = {m: gain for m, gain in state.gains.items() if m in graphs and now - gain[1] < rules.lifetime}
    starts = {move: frozen_network(judge, before.network, graphs[move]) for move in graphs if move not in gains}
    fitted: dict[EdgeMove, FittedGraph] = {}
    short = list(starts)
    if rules.shortlist is not None and rules.shortlist < len(starts):  # the best by what they score with frozen tables
        step = ExactExpectations(judge.cases.in_memory("learn_by_rescoring"))
        frozen = {move: judge.score_of(graphs[move], network, step.at(network)) for move, network in starts.items()}
        short = ranked(starts, lambda move: frozen[move], score_noise(max(frozen.values())))[: rules.shortlist]
    for move in short:
        if judge.clock.is_over:
            break
        fitted[move] = judge.fit(graphs[move], starts[move])
        gains[move] = fitted[move].score - before.score, now
    num_fits, least = state.num_fits + len(fitted), CLIMBED_NOISE * (1.0 + abs(before.score))
    while gains:
        move = ranked(sorted(gains), lambda move: gains[move][0], score_noise(before.score))[0]
        if gains[move][0] <= least:
            break
        if move not in fitted:
            fitted[move] = judge.fit(graphs[move], frozen_network(judge, before.network, graphs[move]))
            gains[move], num_fits = (fitted[move].score - before.score, now), num_fits + 1
            continue
        changed = {move.parent, move.child}  # the gain of a move in the same family says nothing any more
        kept = {other: gain for other, gain in gains.items() if not changed & {other.parent, other.child}}
        return RescoringState(fitted[move], now, kept, num_fits)
    # gains of former steps may be wrong the other way too: only fresh ones prove a maximum
    is_fresh = all(step == now for _, step in gains.values())
    stopped_by = "time limit" if judge.clock.is_over else CONVERGED if is_fresh else ""
    return RescoringState(before, now, {}, num_fits, stopped_by)


def learn_by_rescoring(
    data: TableLike,
    score: str | Score = "bic",
    knowledge: Knowledge | None = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    start: GraphStart | BayesianNetwork = None,
    seed: Seed = 0,
    rules: RescoringRules | None = None,
) -> RescoringFit:
    """Steepest ascent over graphs, where each candidate is fitted to the incomplete rows by EM.

    With missing cells the score of a graph is no sum over families: what an edge gains depends on edges elsewhere. So
    all O(n²) moves are fitted again in each step, which is what structural EM avoids (`learn_structural_em`); the rules
    trade some of that honesty for time (Koller & Friedman 2009, section 19.4.2.3).

    Parameters
    ----------
    data, score, knowledge, hidden, start
        As for `learn_structural_em`; Bayesian scores are had by the approximation of Cheeseman & Stutz.
    rules
        How many candidates are fitted, for how long gains are believed, limits, progress.

    Examples
    --------
    >>> rows = {"a": [0, 1, None, 1, 0, 1] * 20, "b": [0, 1, 0, None, 0, 1] * 20, "c": [0, 0, 1, 1, 0, None] * 20}
    >>> found = learn_by_rescoring(rows, rules=RescoringRules(shortlist=2))
    >>> found.converged, found.graph.is_adjacent("a", "b")
    (True, True)
    """
    given, generator = rules or RescoringRules(), generator_of(seed)
    read, known, cases = (
        read_score(score),
        Knowledge.read(knowledge),
        read_cases(data, hidden, start).in_memory("learn_by_rescoring"),
    )
    judge = GraphJudge.by(cases, read, given)
    constraints = known.on(list(cases.variables))
    first = first_network(judge, start, known, generator)
    fitted = judge.fit(DAG(first.graph.edges, nodes=cases.variables), first)
    step = partial(rescoring_step, judge, constraints, rules=given)
    return RescoringFit(best_graphs(judge, step, [RescoringState(fitted)], given)[0])


def _carried_over(network: BayesianNetwork, name: str, parents: list[Variable]) -> Floats:
    """A table for other parents: repeated for those that are new, the mean over those that are gone."""
    cpd = network.cpd(name)
    table = np.asarray(cpd.to_factor().values).reshape([variable.num_states for variable in cpd.scope])
    gone = tuple(axis for axis, old in enumerate(cpd.parent_names) if old not in {new.name for new in parents})
    kept = [old for old in cpd.parent_names if old in {new.name for new in parents}]
    table = table.mean(axis=gone) if gone else table
    order = [kept.index(new.name) for new in parents if new.name in kept]
    table = table.transpose([*order, len(kept)])
    for axis, new in enumerate(parents):
        if new.name not in kept:
            table = np.repeat(np.expand_dims(table, axis), new.num_states, axis=axis)
    return np.ascontiguousarray(table)
