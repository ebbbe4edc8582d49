"""The shape that all engines of belief propagation share: messages as a state, a round as a step."""

from __future__ import annotations

import math
from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count, check_number
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.inference.info import QueryInfo
from plausible.inference.iteration import IterativeEngine
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import (
    Clusters,
    is_forest,
    message_graph,
    read_clusters,
    tree_weights,
    walking_order,
)
from plausible.kernels.messages import CONTRADICTION, MessageGraph, Messages, Rule, Workspace, pull_all, push_all, sweep
from plausible.kernels.residual_messages import chase

__all__ = ["MessageEngine", "MessageState", "ReweightedEngine", "workspace"]


#: Changes of final messages that come from rounding alone stay below this.
_ROUNDING = 1e-12

_SCHEDULES = ("sequential", "synchronous", "residual")


@dataclass(frozen=True, slots=True, eq=False)
class MessageState:
    """All messages after some rounds; it can be pickled, and a run can go on from it.

    Attributes
    ----------
    graph
        The factor graph, with how often each factor counts: factors within others are merged into these.
    order
        The variables, as a walk through the graph comes by them.
    is_forest
        Whether it has no cycles.
    messages
        The logarithms of the messages from factors to variables and back: those of edge e, a number for each state,
        begin at `graph.edges["start"][e]`, their peaks near zero.
    urgencies
        By how much what the factors of each variable were told has changed since its last turn.
    iterations
        How many rounds there were.
    residual
        By how much the last one changed a message.
    converged
        Whether that was too little to go on.
    is_contradictory
        Whether the messages leave some variable no state, which proves that the product is zero everywhere.
    """

    graph: MessageGraph
    order: Ints
    is_forest: bool
    messages: Messages
    urgencies: Floats
    iterations: int = 0
    residual: float = math.inf
    converged: bool = False
    is_contradictory: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEngine(IterativeEngine[MessageState]):
    """Options and rounds of message passing on the factor graph."""

    schedule: str = "sequential"
    damping: float = 0.0
    tolerance: float = 1e-8
    max_iterations: int = 1000

    def __post_init__(self) -> None:
        if self.schedule not in _SCHEDULES:
            raise InvalidArgument(f"schedule={self.schedule!r} must be one of {', '.join(map(repr, _SCHEDULES))}.")
        check_number("damping", self.damping, least=0, below=1)
        check_number("tolerance", self.tolerance, least=0)
        check_count("max_iterations", self.max_iterations, 1)

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

    # --- rounds ---

    def init(self, problem: Problem) -> MessageState:
        """Messages from factors that say nothing, and from variables that tell their fields."""

        clusters = read_clusters(problem)
        graph, order = message_graph(clusters, self._weights(clusters)), walking_order(clusters)
        num = int(clusters.sizes[clusters.scopes].sum())
        messages = Messages(np.zeros(num), np.zeros(num), np.ones(num))
        state = MessageState(graph, order, is_forest(clusters), messages, np.full(order.size, np.inf))
        is_possible = push_all(graph, messages, self._rule(state), workspace(graph))
        if is_possible and order.size:
            return state
        return replace(state, residual=0.0, converged=True, is_contradictory=not is_possible)

    def step(self, problem: Problem, state: MessageState) -> MessageState:
        """One round: each variable's messages renewed once, or twice if sequential.

        If residual, as many turns as there are variables, each for the one with most news.
        """
        if not problem.variables:
            return state
        messages, urgencies = type(state.messages)(*(part.copy() for part in state.messages)), state.urgencies.copy()
        # On a forest the messages are final after some rounds, up to rounding: nothing less is exact.
        target = min(self.tolerance, _ROUNDING) if state.is_forest else self.tolerance
        residual = self._play(state, messages, urgencies, target)
        return replace(
            state,
            messages=messages,
            urgencies=urgencies,
            iterations=state.iterations + 1,
            residual=max(residual, 0.0),
            converged=residual <= target,
            is_contradictory=residual < 0,
        )

    def _play(self, state: MessageState, messages: Messages, urgencies: Floats, target: float) -> float:
        """Renew the messages in place; the largest change, or the largest urgency left; negative if contradictory."""

        graph, rule, space = state.graph, self._rule(state), workspace(state.graph)
        if self.schedule == "sequential":
            return sweep(graph, messages, np.concatenate([state.order[::-1], state.order]), rule, space)
        if self.schedule == "residual":
            return chase(graph, messages, urgencies, rule, target, space)
        change = pull_all(graph, messages, rule, space)
        return change if push_all(graph, messages, rule, space) else CONTRADICTION

    def _rule(self, state: MessageState) -> Rule:

        # A small change of a small number may be the whole truth on a forest: there logarithms have to settle.
        return Rule(float(self.damping), self._is_max, self._in_logs or state.is_forest)

    # --- what the messages say ---

    def _settled(self, problem: Problem) -> MessageState:
        """The end of a run; refuses a product that it finds to be zero."""
        state = self.run(problem)
        if state.is_contradictory:
            raise ImpossibleEvidence.outright()
        return state

    def _info(self, problem: Problem, state: MessageState, engine: str, advice: str) -> QueryInfo:
        is_exact = state.is_contradictory or (state.is_forest and state.residual <= _ROUNDING)
        return QueryInfo(
            engine,
            exact=is_exact,
            converged=state.converged,
            error=0.0 if is_exact else None,
            cost=int(problem.tables.size),
            largest_table=int(np.diff(problem.table_starts).max(initial=0)),
            iterations=state.iterations,
            residual=state.residual,
            advice="" if is_exact or state.converged else advice,
        )


@dataclass(frozen=True, slots=True, kw_only=True)
class ReweightedEngine(MessageEngine):
    """Messages with factors counted by random trees; logarithms have to settle."""

    num_trees: int = 30
    seed: int = 0

    def __post_init__(self) -> None:
        MessageEngine.__post_init__(self)
        check_count("num_trees", self.num_trees, 1)
        check_count("seed", self.seed)

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
