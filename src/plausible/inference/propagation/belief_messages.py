"""Messages of belief propagation: rounds, beliefs, and the reparametrisation that gives energies and bounds."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base import PROBABILITY_NOISE, Checked, Floats, Ints, QueryInfo, one_of, real, whole
from plausible.inference.engine_bases import IterativeEngine, RoundState
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import (
    Clusters,
    is_forest,
    message_graph,
    read_clusters,
    tree_weights,
    walking_order,
)
from plausible.kernels.messages import (
    CONTRADICTION,
    MessageGraph,
    Messages,
    Rule,
    Workspace,
    chase,
    pull_all,
    push_all,
    sweep,
)
from plausible.search.run import Run


@dataclass(frozen=True, slots=True, eq=False)
class MessageState(RoundState):
    """All messages between factors and variables after some rounds."""

    graph: MessageGraph  # with how often each factor counts: factors within others are merged into these
    order: Ints  # the variables, as a walk through the graph comes by them
    is_forest: bool
    #: Logarithms: those of edge e, a number for each state, begin at `graph.edges["start"][e]`, their peaks near zero.
    messages: Messages
    urgencies: Floats  # by how much what the factors of each variable were told has changed since its last turn


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEngine(
    IterativeEngine[MessageState],
    Checked,
    schedule=one_of("sequential", "synchronous", "residual"),
    damping=real(least=0, below=1),
    tolerance=real(least=0),
    max_steps=whole(1),
):
    """Options and rounds of message passing on the factor graph."""

    schedule: str = "sequential"
    damping: float = 0.0
    tolerance: float = 1e-8
    max_steps: int = 1000

    @property
    @abstractmethod
    def _is_max(self) -> bool:
        """Whether messages maximise rather than sum."""

    @property
    @abstractmethod
    def _in_logs(self) -> bool:
        """Whether changes are those of the logarithms of messages, rather than of messages whose peak is one."""

    @abstractmethod
    def _weights(self, clusters: Clusters) -> Floats:
        """How often each factor counts."""

    def init(self, problem: Problem) -> MessageState:
        """Messages from factors that say nothing, and from variables that tell their fields."""
        return self.begin(read_clusters(problem))

    def run_on(self, clusters: Clusters) -> Run[MessageState]:
        """Rounds on factors that lie on flat arrays already, none of them within another, as `run` has them."""
        return self._iterate(self.advance, self.begin(clusters))

    def begin(self, clusters: Clusters) -> MessageState:
        """The state before any round on such factors."""
        graph, order = message_graph(clusters, self._weights(clusters)), walking_order(clusters)
        num = int(clusters.sizes[clusters.scopes].sum())
        messages = Messages(np.zeros(num), np.zeros(num), np.ones(num))
        state = MessageState(graph, order, is_forest(clusters), messages, np.full(order.size, np.inf))
        is_possible = push_all(graph, messages, self._rule(state), workspace(graph))
        if is_possible and order.size:
            return state
        return state.at_rest(is_contradictory=not is_possible)

    def restarted(self, problem: Problem, state: MessageState) -> MessageState:
        """The state before any step on other numbers of the same factors, with the messages that there are.

        Where the numbers have changed little, as from step to step of learning, a few rounds are then enough.
        """
        graph = message_graph(read_clusters(problem), state.graph.factors["weight"])
        messages = Messages(*(part.copy() for part in state.messages))
        urgencies = np.full(state.order.size, np.inf)
        fresh = MessageState(graph, state.order, state.is_forest, messages, urgencies)
        if push_all(graph, messages, self._rule(fresh), workspace(graph)):
            return fresh
        return self.init(problem)

    def step(self, problem: Problem, state: MessageState) -> MessageState:
        """One round: each variable's messages renewed once, or twice if sequential.

        If residual, as many turns as there are variables, each for the one with most news.
        """
        return self.advance(state)

    def advance(self, state: MessageState) -> MessageState:
        """The same: all that a round needs is in the state."""
        if not state.order.size:
            return state
        graph, rule, space = state.graph, self._rule(state), workspace(state.graph)
        messages, urgencies = type(state.messages)(*(part.copy() for part in state.messages)), state.urgencies.copy()
        # On a forest the messages are final after some rounds, up to rounding: nothing less is exact.
        target = min(self.tolerance, PROBABILITY_NOISE) if state.is_forest else self.tolerance
        if self.schedule == "sequential":
            residual = sweep(graph, messages, np.concatenate([state.order[::-1], state.order]), rule, space)
        elif self.schedule == "residual":
            residual = chase(graph, messages, urgencies, rule, target, space)
        else:
            residual = pull_all(graph, messages, rule, space)
            residual = residual if push_all(graph, messages, rule, space) else CONTRADICTION
        return state.after_round(residual, target, messages=messages, urgencies=urgencies)

    def _rule(self, state: MessageState) -> Rule:

        # a small change of a small number may be the whole truth on a forest: there logarithms have to settle.
        return Rule(float(self.damping), self._is_max, self._in_logs or state.is_forest)

    def _info(self, problem: Problem, state: MessageState, engine: str, advice: str) -> QueryInfo:
        return state.info(
            engine,
            is_exact=state.is_forest and state.residual <= PROBABILITY_NOISE,
            cost=int(problem.tables.size),
            largest_table=int(np.diff(problem.table_starts).max(initial=0)),
            advice=advice,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReweightedEngine(MessageEngine, num_trees=whole(1), seed=whole()):
    """Messages with factors counted by random trees; logarithms have to settle."""

    num_trees: int = 30
    seed: int = 0

    @property
    def _in_logs(self) -> bool:
        return True

    def _weights(self, clusters: Clusters) -> Floats:
        return tree_weights(clusters, self.num_trees, self.seed)


def workspace(graph: MessageGraph) -> Workspace:
    """Room for a sweep to work in."""
    largest = np.diff(graph.factors["table"], append=graph.logs.size).max(initial=1)
    per_state = np.empty((3, graph.variables["num_states"].max(initial=1)))
    per_edge = np.empty((2, graph.edges.size))
    return Workspace(np.empty(largest), np.empty(largest), per_state, per_edge[0], per_edge[1])


@dataclass(frozen=True, slots=True)
class Reparametrisation:
    """Π φ as c Π b_f^ρ_f Π b_v^(1 - Σ ρ_f), the beliefs b of factors f and variables v normalised."""

    #: log c, the scale of the problem left out. With every ρ one and at a fixed point, it is minus the Bethe free
    #: energy (Yedidia, Freeman & Weiss 2005). It is -inf where some factor has no belief, which proves that the product
    #: is zero everywhere.
    log_constant: float
    #: Σ ρ_f max log (marginal of b_f / b_v), and minus the same with min for max: zero at a fixed point of the
    #: messages. On a forest log Z is at least log c minus the shortfall.
    slack: float
    shortfall: float
    rounding: float  # a generous measure of what rounding can have done to `log_constant`


def variable_beliefs(state: MessageState) -> Floats:
    """The normalised product of the field of each variable and the messages into it, each where its field is."""
    if not state.order.size:
        return np.empty(0)
    sizes, starts = state.graph.variables["num_states"], state.graph.variables["start"]
    sums = _sums(state, _spread(state))
    totals = _log_totals(sums, starts, sizes, is_max=False)
    return np.asarray(np.exp(sums - np.repeat(totals, sizes)))


def factor_beliefs(state: MessageState) -> Floats:
    """The normalised beliefs of all factors that are in none, each where its logarithms are in the graph."""
    graph = state.graph
    beliefs, edges = graph.logs.copy(), graph.edges[graph.members]  # factor by factor, in axis order
    widths = graph.variables["num_states"][edges["variable"]]
    starts = np.append(graph.factors["table"], graph.logs.size)
    within = np.arange(graph.logs.size)
    arities = graph.factors["last"] - graph.factors["first"]
    for axis in range(int(arities.max(initial=0))):
        chosen = np.flatnonzero(arities > axis)
        at = graph.factors["first"][chosen] + axis
        lengths = np.diff(starts)[chosen]
        cells = stretches(starts[chosen], lengths)
        states = (within[cells] - np.repeat(starts[chosen], lengths)) // np.repeat(edges["step"][at], lengths)
        beliefs[cells] += state.messages.outgoing[
            np.repeat(edges["start"][at], lengths) + states % np.repeat(widths[at], lengths)
        ]
    lengths = np.diff(starts)
    if not lengths.size:
        return beliefs
    totals = _log_totals(beliefs, starts[:-1], lengths, is_max=False)
    return np.asarray(np.exp(beliefs - np.repeat(totals, lengths)))


def stretches(starts: Ints, lengths: Ints) -> Ints:
    """The places of stretches that begin here and are so long, one after the other."""
    return np.repeat(starts - np.cumsum(lengths) + lengths, lengths) + np.arange(int(lengths.sum()))


def reparametrise(state: MessageState, *, is_max: bool) -> Reparametrisation:
    """The constant that any messages make, and how far they are from agreement; beliefs peak at one if `is_max`.

    With L_v the field of v and the sum of the weighted messages into it, Z_v = Σ exp L_v, and Z_f the sum of a
    factor's belief, log c is Σ ρ_f log Z_f + Σ (1 - Σ ρ_f) log Z_v: all messages cancel.
    """
    if not state.order.size:
        return Reparametrisation(0.0, 0.0, 0.0, 0.0)
    graph, spread = state.graph, _spread(state)
    sums = _sums(state, spread)
    totals = _log_totals(sums, graph.variables["start"], graph.variables["num_states"], is_max=is_max)
    shares = 1.0 - np.bincount(graph.edges["variable"], graph.edges["weight"], totals.size)
    if not graph.edges.size:
        return Reparametrisation(float(totals.sum()), 0.0, 0.0, _rounding(totals))
    outgoing, shifts = _released(state, spread, sums)
    answers, peaks = _answers(state, outgoing, is_max=is_max)
    marginals = answers + outgoing
    starts, weights = graph.edges["start"], graph.factors["weight"]
    if (np.maximum.reduceat(marginals, starts) == -np.inf).any():
        return Reparametrisation(-np.inf, 0.0, 0.0, 0.0)
    inner = _log_totals(marginals, starts, spread.widths, is_max=is_max)
    firsts = graph.factors["first"]
    factor_totals = (inner + peaks)[graph.members[firsts]] + np.add.reduceat(shifts[graph.members], firsts)
    terms = np.concatenate([weights * factor_totals, shares * totals])

    is_live = marginals > -np.inf
    levels = np.repeat(inner + shifts - totals[graph.edges["variable"]], spread.widths)
    excess = np.where(sums[spread.places] > -np.inf, -np.inf, 0.0)
    np.subtract(answers - levels, state.messages.incoming, out=excess, where=is_live)
    highest = np.maximum.reduceat(np.maximum.reduceat(excess, starts)[graph.members], firsts)
    lowest = np.minimum.reduceat(np.minimum.reduceat(excess, starts)[graph.members], firsts)
    return Reparametrisation(
        float(terms.sum()),
        float(weights @ np.maximum(highest, 0.0)),
        float(weights @ np.maximum(-lowest, 0.0)),
        _rounding(terms),
    )


def _rounding(terms: Floats) -> float:
    """What rounding can do to a sum of logarithms and to what each of them was made of."""
    return 1e-13 * float(np.abs(terms).sum()) + 1e-15 * terms.size


class _Spread(NamedTuple):
    """For each edge the states of its variable; for each number of each message its place in fields, and its weight."""

    widths: Ints
    places: Ints
    weights: Floats


def _spread(state: MessageState) -> _Spread:
    graph = state.graph
    edges, variables = graph.edges, graph.variables
    widths = variables["num_states"][edges["variable"]]
    shift = variables["start"][edges["variable"]] - edges["start"]
    places = np.repeat(shift, widths) + np.arange(state.messages.incoming.size)
    return _Spread(widths, places, np.repeat(edges["weight"], widths))


def _sums(state: MessageState, spread: _Spread) -> Floats:
    """For each state of each variable its field and the weighted sum of the messages into it."""
    messages = spread.weights * state.messages.incoming
    return np.asarray(state.graph.fields + np.bincount(spread.places, messages, state.graph.fields.size))


def _released(state: MessageState, spread: _Spread, sums: Floats) -> tuple[Floats, Floats]:
    """The messages from variables that belong to those into them, and their peaks, which are taken out.

    A sum that is -inf only because of the receiver is made anew without it, as far as the receiver counts once.
    """
    fields, incoming, places = state.graph.fields, state.messages.incoming, spread.places
    outgoing = np.full(incoming.size, -np.inf)
    np.subtract(sums[places], incoming, out=outgoing, where=sums[places] > -np.inf)
    is_zero = incoming == -np.inf
    if is_zero.any():
        others = fields + np.bincount(places, np.where(is_zero, 0.0, spread.weights * incoming), fields.size)
        is_sole = is_zero & (np.bincount(places, is_zero)[places] == 1) & (spread.weights == 1.0)
        outgoing[is_sole] = others[places[is_sole]]
    peaks = np.maximum.reduceat(outgoing, state.graph.edges["start"])
    return outgoing - np.repeat(peaks, spread.widths), peaks


def _answers(state: MessageState, outgoing: Floats, *, is_max: bool) -> tuple[Floats, Floats]:
    """What the factors answer to messages from variables, and the peaks that were taken out.

    All is -inf where some factor has no answer.
    """
    space = workspace(state.graph)
    messages = Messages(np.zeros_like(outgoing), outgoing, outgoing if is_max else np.exp(outgoing))
    change = pull_all(state.graph, messages, Rule(0.0, is_max, True), space)
    if change == CONTRADICTION:
        return np.full(outgoing.size, -np.inf), np.full(space.peaks.size, -np.inf)
    return messages.incoming, space.peaks


def _log_totals(values: Floats, starts: Ints, widths: Ints, *, is_max: bool) -> Floats:
    """For each stretch of logarithms the largest, or the logarithm of the sum of what they stand for."""
    peaks = np.maximum.reduceat(values, starts)
    if is_max:
        return np.asarray(peaks)
    return np.asarray(peaks + np.log(np.add.reduceat(np.exp(values - np.repeat(peaks, widths)), starts)))
