"""Belief propagation on the factor graph: sum-product, loopy and tree-reweighted with an upper bound; max-product."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, ClassVar, cast

import numpy as np

from plausible.base import Floats, Ints, QueryInfo
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.inference.approximate import Beliefs, ResumableEngine
from plausible.inference.engine_bases import PROVED, Optimizer, Optimum
from plausible.inference.estimates import Estimate
from plausible.inference.optimization.graph_cuts import has_cut
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import Clusters
from plausible.inference.propagation.belief_messages import (
    MessageEngine,
    MessageState,
    Reparametrisation,
    ReweightedEngine,
    reparametrise,
    variable_beliefs,
    workspace,
)
from plausible.kernels.message_decoding import decode, improve

#: What else there is where messages don't settle: larger clusters, bounds from both sides, samples.
_OTHERS = "ClusterBP(bound=8), MiniBuckets() or Gibbs()"


@dataclass(frozen=True, slots=True, kw_only=True)
class SumProductEngine(MessageEngine, ResumableEngine[MessageState]):
    """Messages that sum: what is read off them."""

    _name: ClassVar[str]

    @property
    def _is_max(self) -> bool:
        return False

    @property
    @abstractmethod
    def _advice(self) -> str:
        """What to try where the messages have not settled."""

    @abstractmethod
    def estimate_from(self, problem: Problem, state: MessageState) -> Estimate:
        """log Z as a state of a run on the problem has it."""

    def estimate(self, problem: Problem) -> Estimate:
        """log Z at the end of a run."""
        return self.estimate_from(problem, self.run(problem).state)

    def beliefs_from(self, problem: Problem, state: MessageState, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The belief about each group: of one variable, or of several within the scope of a factor.

        Refuses a product that the messages find to be zero.
        """
        if state.is_contradictory:
            raise ImpossibleEvidence.outright()
        return Beliefs(_tables(problem, state, groups), self._info(problem, state, self._name, self._advice))


@dataclass(frozen=True, slots=True, kw_only=True)
class LoopyBP(SumProductEngine):
    r"""Loopy belief propagation: approximate in general, exact on trees (Koller & Friedman 2009, §11.3).

    There is one cluster for each factor φ_f and one for each variable. Messages start at one and are updated until they
    converge, if they do:

    .. math:: m_{f→v}(x) ∝ \sum_{x_f ∼ x} φ_f(x_f) \prod_{u ∈ f, u ≠ v} n_{u→f}(x_u),
              \qquad n_{v→f}(x) ∝ \prod_{g ∋ v, g ≠ f} m_{g→v}(x).

    The belief about a variable is the product of the messages into it; the belief about a factor's variables is the
    product of the factor and the messages into it. At convergence the beliefs agree with each other, and the Bethe free
    energy estimates log Z. With cycles, neither convergence nor accuracy is guaranteed; on a forest the beliefs are
    exact, and `.info` says so. A factor whose scope lies within that of another is merged into it first.

    Parameters
    ----------
    schedule
        "sequential" updates the messages of one variable after another, back and forth, so a forest takes one round,
        and a second one to see that nothing changes. "synchronous" updates all messages from those of the previous
        round. "residual" always updates the variable whose factors have received the largest changes since its last
        turn (Elidan, McGraw & Koller 2006, without their look-ahead: Sutton & McCallum 2007).
    damping
        The weight of the old message in the new one, on a log scale.
    tolerance
        Messages, scaled to a maximum of one, have converged when they change by no more than this; on a forest they are
        updated until only rounding is left.
    max_steps
        The most rounds to run. A round costs Σ arity · entries over the tables, twice that if sequential; a round of
        the residual schedule has one turn per variable.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")] + [Factor({"A": 2}, [3, 1])]
    >>> belief = LoopyBP().query(ring, ring[1].scope[:1], Evidence.read({}, {}))
    >>> belief.values.round(3), belief.info.converged, belief.info.exact
    (array([0.613, 0.387]), True, False)
    """

    _name: ClassVar[str] = "loopy belief propagation"

    @property
    def _in_logs(self) -> bool:
        return False

    def _weights(self, clusters: Clusters) -> Floats:
        return np.ones(clusters.num_factors)

    def estimate_from(self, problem: Problem, state: MessageState) -> Estimate:
        """The Bethe approximation of log Z, at a fixed point minus the Bethe free energy; exact on a forest."""
        state, found = _read_off(state)
        info = self._info(problem, state, self._name, self._advice)
        return _exact(problem, found, info) if info.exact else Estimate(found.log_constant + problem.log_scale, info)

    @property
    def _advice(self) -> str:
        damped = "" if self.damping >= 0.5 else "damping=0.5, "
        other = "" if self.schedule == "residual" else "schedule='residual', "
        return f"The messages have not settled. Try {damped}{other}more max_steps, TreeReweightedBP(), {_OTHERS}."


@dataclass(frozen=True, slots=True, kw_only=True)
class TreeReweightedBP(ReweightedEngine, SumProductEngine):
    r"""Tree-reweighted belief propagation: approximate beliefs, and an upper bound on log Z.

    Take some sets of factors without cycles, and let ρ_f be the share of them that contain factor f. Messages are those
    of belief propagation with φ_f^(1/ρ_f) for φ_f, and n_{v→f} = Π_g m_{g→v}^ρ_g / m_{f→v}. For any messages, the
    normalised beliefs b reparametrise the product, Π φ = c Π b_f^ρ_f Π b_v^(1 - Σ ρ_f), which is a geometric mean of
    products over trees. By Hölder's inequality

    .. math:: \log Z ≤ \log c + \sum_f ρ_f \max_{v ∈ f, x_v} \log \frac{\sum_{x_f ∼ x_v} b_f(x_f)}{b_v(x_v)}.

    The sum vanishes as the messages converge. Since it is part of the bound, `upper` holds at any time, converged or
    not; a margin of 1e-13 times the terms of log c covers rounding (Wainwright, Jaakkola & Willsky 2005; trees of
    factors of any arity in place of spanning trees).

    Messages have converged when their logarithms change by no more than the `tolerance`. So many random sets of factors
    are used (`num_trees`), and more are drawn if some factor is in none of them; other options are as for `LoopyBP`,
    but for the schedule: with cycles, "residual" takes a quarter to two thirds of the time of "sequential", and settles
    where that goes round in circles.

    >>> import math
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")]
    >>> found = TreeReweightedBP().log_total(ring, Evidence.read({}, {}))
    >>> found.is_bound, round(math.log(28), 3), round(found.upper, 3)
    (True, 3.332, 3.379)
    """

    _name: ClassVar[str] = "tree-reweighted belief propagation"

    schedule: str = "residual"

    def estimate_from(self, problem: Problem, state: MessageState) -> Estimate:
        """The reweighted approximation of log Z, with the upper bound that the messages prove."""
        state, found = _read_off(state)
        info = self._info(problem, state, self._name, self._advice)
        if info.exact:
            return _exact(problem, found, info)
        # No factor exceeds one, so that Z is at most the number of assignments.
        log_assignments = float(np.log(problem.sizes).sum()) * (1 + 1e-13)
        ceiling = min(found.log_constant + found.slack + found.rounding, log_assignments)
        upper = ceiling + problem.log_scale + problem.scale_rounding
        return Estimate(found.log_constant + problem.log_scale, info, upper=upper, is_bound=True)

    @property
    def _advice(self) -> str:
        damped = "" if self.damping >= 0.5 else "damping=0.5, "
        return f"The messages have not settled, so the bound could be tighter. Try {damped}more max_steps, {_OTHERS}."


def _read_off(state: MessageState) -> tuple[MessageState, Reparametrisation]:
    """What the messages add up to, and their state, contradictory where that shows it first."""
    if state.is_contradictory:
        return state, Reparametrisation(-math.inf, 0.0, 0.0, 0.0)
    found = reparametrise(state, is_max=False)
    if found.log_constant > -math.inf:
        return state, found
    return replace(state, converged=True, is_contradictory=True), found


def _exact(problem: Problem, found: Reparametrisation, info: QueryInfo) -> Estimate:
    """log Z of a forest, or of a product that is zero, between limits that rounding can't have crossed."""
    value, margin = found.log_constant + problem.log_scale, found.rounding + problem.scale_rounding
    lower, upper = value - found.shortfall - margin, value + found.slack + margin
    return Estimate(value, info, lower=lower, upper=upper, is_bound=True)


def _tables(problem: Problem, state: MessageState, groups: Sequence[tuple[int, ...]]) -> tuple[Floats, ...]:
    """The belief about each group of variables."""
    singles, starts, tables = variable_beliefs(state), state.graph.variables["start"], []
    for group in groups:
        wide = tuple(variable for variable in group if problem.sizes[variable] > 1)
        if len(wide) == 1:
            table = singles[starts[wide[0]] :][: problem.sizes[wide[0]]]
        else:
            table = _joint(problem, state, wide) if wide else np.ones(())
        tables.append(table.reshape([int(problem.sizes[variable]) for variable in group]))
    return tuple(tables)


def _joint(problem: Problem, state: MessageState, group: tuple[int, ...]) -> Floats:
    """The marginal of a factor's belief, the smallest factor that holds the group."""
    graph, factor = state.graph, _holder(problem, state, group)
    edges = graph.edges[graph.members[factor["first"] : factor["last"]]]
    scope, shape = edges["variable"].tolist(), graph.variables["num_states"][edges["variable"]].tolist()
    belief = graph.logs[factor["table"] :][: math.prod(shape)].reshape(shape)
    for axis, edge in enumerate(edges):
        message = state.messages.outgoing[edge["start"] :][: shape[axis]]
        belief = belief + message.reshape([-1 if i == axis else 1 for i in range(len(scope))])
    if belief.max() == -np.inf:
        raise ImpossibleEvidence.outright()
    belief = np.exp(belief - belief.max())
    belief = np.einsum(belief, list(range(len(scope))), [scope.index(variable) for variable in group])
    return np.asarray(belief / belief.sum())


def _holder(problem: Problem, state: MessageState, group: tuple[int, ...]) -> Any:
    """The record of the smallest factor that has all variables of a group."""
    graph = state.graph
    records = graph.variables[list(group)]
    rarest = records[np.argmin(records["last"] - records["first"])]
    smallest, holder = math.inf, None
    for factor in graph.factors[graph.edges["factor"][rarest["first"] : rarest["last"]]]:
        scope = graph.edges["variable"][graph.members[factor["first"] : factor["last"]]]
        entries = math.prod(graph.variables["num_states"][scope].tolist())
        if set(group) <= set(scope.tolist()) and entries < smallest:
            smallest, holder = entries, factor
    if holder is None:
        names = ", ".join(repr(problem.variables[variable].name) for variable in group)
        raise NotSupported(
            f"Belief propagation has no joint belief of {names}: no factor has them all. Ask for fewer of them at a "
            "time, add a factor of ones over them, or take an exact engine such as JunctionTree()."
        )
    return holder


_NAME = "max-product belief propagation"
#: Rounds between assignments, each of which takes about as long as a round.
_ROUNDS = 5
#: Assignments without news of value or bound, after which there will hardly be any.
_PATIENCE = 4


@dataclass(frozen=True, slots=True, eq=False, kw_only=True)
class MaxProductState(MessageState):
    """Messages, the best assignment that some of them have made, and what no assignment exceeds."""

    states: Ints  # the assignment, by state positions
    value: float = -math.inf  # log Π φ of it, `problem.log_scale` left out; -inf where there is none yet
    upper: float = 0.0  # the lowest bound so far: no factor exceeds one
    num_idle: int = 0  # assignments since value or bound improved by more than a hundredth of the gap


@dataclass(frozen=True, slots=True, kw_only=True)
class MaxProduct(ReweightedEngine, Optimizer):
    r"""Find a good assignment by max-product messages, and bound the best one; exact on trees.

    Messages maximise where those of `LoopyBP` sum; then states are chosen one by one, given those chosen before. On a
    forest the assignment is a best one, even with ties. With cycles, factors are weighted by random trees (see
    `TreeReweightedBP`), and for any messages, with beliefs b whose largest entry is one,

    .. math:: \max \log \prod φ ≤ \log c + \sum_f ρ_f \max_{v ∈ f, x_v} \log \frac{\max_{x_f ∼ x_v} b_f(x_f)}{b_v(x_v)}

    bounds all assignments (Wainwright, Jaakkola & Willsky 2005b). Every few rounds an assignment is read from the
    beliefs and improved one state at a time; the best assignment and the lowest bound are kept. A run ends when the two
    meet, which proves the assignment optimal, when the messages converge, or when both stop improving; `.info.error` is
    the gap.

    Parameters
    ----------
    schedule, damping, max_steps
        As for `LoopyBP`.
    tolerance, num_trees, seed
        As for `TreeReweightedBP`.
    reweighted
        Whether to weight factors by trees. If false, each factor counts once: the plain algorithm, which often finds an
        equally good assignment but, with cycles, gives only the trivial bound that no factor exceeds its largest entry.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> ring = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")] + [Factor({"A": 2}, [1, 3])]
    >>> best = MaxProduct().best(ring, Evidence.read({}, {}))
    >>> dict(best), best.info.exact
    ({'A': 1, 'B': 1, 'C': 1}, True)
    """

    tolerance: float = 1e-11
    max_steps: int = 300
    reweighted: bool = True

    @property
    def _is_max(self) -> bool:
        return True

    def _weights(self, clusters: Clusters) -> Floats:
        return ReweightedEngine._weights(self, clusters) if self.reweighted else np.ones(clusters.num_factors)

    def init(self, problem: Problem) -> MaxProductState:
        """Messages that say nothing, and each variable in its first state."""
        start = MessageEngine.init(self, problem)
        parts = {field.name: getattr(start, field.name) for field in fields(start)}
        return MaxProductState(**parts, states=np.zeros(start.order.size, dtype=np.int64))

    def step(self, problem: Problem, state: MessageState) -> MaxProductState:
        """One round, and every few rounds, or where the messages have settled, an assignment and a bound."""
        after = cast(MaxProductState, MessageEngine.step(self, problem, state))
        is_due = after.converged or after.num_steps % _ROUNDS == 0 or after.num_steps >= self.max_steps
        return self._judged(problem, after) if is_due and not after.is_contradictory else after

    def _judged(self, problem: Problem, state: MaxProductState) -> MaxProductState:
        """The state with a new assignment and a new bound, as far as they are better."""
        # A state for each variable in the order of the graph, given those before it, then improved one by one.
        states, space = np.zeros(state.order.size, dtype=np.int64), workspace(state.graph)
        messages = state.messages._replace(outgoing=state.messages.outgoing.copy())
        decode(state.graph, messages, state.order, space, states)
        improve(state.graph, states, space)
        upper = state.upper
        value = float(problem.log_product(states[None, :])[0])
        if self.reweighted or state.is_forest:
            found = reparametrise(state, is_max=True)
            if found.log_constant == -math.inf:
                return replace(state, converged=True, is_contradictory=True)
            upper = min(upper, found.log_constant + found.slack + found.rounding)
        gain = max(value - state.value, 0.0) + state.upper - upper
        is_idle = gain <= (1e-2 * (upper - max(value, state.value)) if self.reweighted else 0.0)
        if value <= state.value:
            states, value = state.states, state.value
        num_idle = state.num_idle + 1 if is_idle else 0
        is_over = state.converged or upper - value <= PROVED or (num_idle >= _PATIENCE and not state.is_forest)
        return replace(state, states=states, value=value, upper=upper, num_idle=num_idle, converged=is_over)

    def optimize(self, problem: Problem) -> Optimum:
        """The best assignment that the messages made on their way."""
        state = cast(MaxProductState, self.run(problem).state)
        if state.is_contradictory:
            raise ImpossibleEvidence.outright()
        info = self._info(problem, state, _NAME, "")
        if info.exact:
            return Optimum(state.states, float(problem.log_product(state.states[None, :])[0]), info)
        is_proved = state.upper - state.value <= PROVED
        has_settled = is_proved or state.residual <= self.tolerance
        return Optimum(
            state.states,
            state.upper,
            replace(info, converged=has_settled, advice="" if is_proved else self._advice(problem)),
        )

    def _advice(self, problem: Problem) -> str:
        if has_cut(problem):
            return "There may be a better assignment. GraphCut() finds a best one of these factors, and proves it."
        damped = "" if self.damping >= 0.5 else "damping=0.5, "
        other = "reweighted=False" if self.reweighted else "reweighted=True"
        return f"There may be a better assignment. Try {damped}{other}, more max_steps or DualDecomposition()."
