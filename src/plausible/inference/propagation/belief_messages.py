"""The shape that all engines of belief propagation share: messages as a state, a round as a step."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count
from plausible.inference.info import QueryInfo
from plausible.inference.iteration import IterativeEngine, RoundState, check_rounds
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
class MessageState(RoundState):
    """All messages between factors and variables after some rounds."""

    graph: MessageGraph  # with how often each factor counts: factors within others are merged into these
    order: Ints  # the variables, as a walk through the graph comes by them
    is_forest: bool
    #: Logarithms: those of edge e, a number for each state, begin at `graph.edges["start"][e]`, their peaks near zero.
    messages: Messages
    urgencies: Floats  # by how much what the factors of each variable were told has changed since its last turn


@dataclass(frozen=True, slots=True, kw_only=True)
class MessageEngine(IterativeEngine[MessageState]):
    """Options and rounds of message passing on the factor graph."""

    schedule: str = "sequential"
    damping: float = 0.0
    tolerance: float = 1e-8
    max_steps: int = 1000

    def __post_init__(self) -> None:
        check_rounds(self.schedule, _SCHEDULES, self.damping, self.tolerance, self.max_steps)

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
        return state.at_rest(is_contradictory=not is_possible)

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
        return state.after_round(residual, target, messages=messages, urgencies=urgencies)

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

    def _info(self, problem: Problem, state: MessageState, engine: str, advice: str) -> QueryInfo:
        return state.info(
            engine,
            is_exact=state.is_forest and state.residual <= _ROUNDING,
            cost=int(problem.tables.size),
            largest_table=int(np.diff(problem.table_starts).max(initial=0)),
            advice=advice,
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
