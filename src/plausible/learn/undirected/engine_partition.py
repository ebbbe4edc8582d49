"""log Z and beliefs as an engine tells them: any engine, or messages that go on from step to step."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import ImpossibleEvidence
from plausible.inference.engines import Engine
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import hosts_of
from plausible.inference.propagation.belief_messages import MessageState, factor_beliefs, variable_beliefs
from plausible.inference.propagation.belief_propagation import SumProductEngine
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.partition import Kind, Part, scaled_logs
from plausible.variables import Evidence

if TYPE_CHECKING:
    from scipy.sparse import csr_array

_NOTHING = Evidence({}, {}, {})


def _kind_of(found: Estimate | float) -> Kind:
    """What an engine's log Z is worth."""
    if not isinstance(found, Estimate) or found.info.exact:
        return "exact"
    if found.is_bound:
        return "upper bound" if math.isfinite(found.upper) else "lower bound"
    return "approximation"


def _advice_of(found: Estimate | float) -> str:
    """What to try where rounds ended before they settled; bounds hold at any time."""
    if not isinstance(found, Estimate) or found.is_bound or found.info.converged or found.info.residual is None:
        return ""
    return found.info.advice


class EnginePartition(Part):
    """log Z as an engine tells it, and the beliefs of that engine over each scope.

    The beliefs are the gradient where the engine's log Z is the value of a variational problem: a fixed point of
    belief propagation, tree-reweighted or mean-field messages that have converged.
    """

    __slots__ = ("_design", "_engine", "_estimate")

    is_convex = False  # as far as is known of what an engine tells

    def __init__(self, design: Design, engine: Engine) -> None:
        self._design, self._engine = design, engine
        self._estimate: Estimate | float = math.nan

    @property
    def kind(self) -> Kind:
        """What the last estimate of log Z was."""
        return _kind_of(self._estimate)

    @property
    def advice(self) -> str:
        """What to try where the engine has not settled."""
        return _advice_of(self._estimate)

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """log Z, and the beliefs over each scope, one after the other."""
        design, engine = self._design, self._engine
        peaks, _ = scaled_logs(design, logs)
        factors = design.factors(logs)
        self._estimate = engine.log_total(factors, _NOTHING)
        groups = [design.scope_variables(number) for number in range(len(design.scopes))]
        if hasattr(engine, "joints"):
            joints = engine.joints(factors, groups, _NOTHING)
        else:
            joints = [engine.query(factors, group, _NOTHING) for group in groups]
        beliefs = np.concatenate([joint.flat for joint in joints]) if joints else np.empty(0)
        return float(self._estimate) + peaks, beliefs


class MessagePartition(Part):
    """log Z and beliefs by messages, `LoopyBP` or `TreeReweightedBP`, which go on from those of the last evaluation.

    The factor graph is laid out once; only its numbers change from step to step.
    """

    __slots__ = ("_design", "_engine", "_estimate", "_problem", "_reader", "_state")

    is_convex = False  # as far as is known of what an engine tells

    def __init__(self, design: Design, engine: SumProductEngine) -> None:
        self._design, self._engine = design, engine
        self._problem = Problem.of(design.factors(np.zeros(design.num_entries)), _NOTHING)
        self._state = engine.init(self._problem)
        self._reader = _message_reader(design, self._problem, self._state)
        self._estimate = engine.estimate_from(self._problem, self._state)

    @property
    def kind(self) -> Kind:
        """What the last estimate of log Z was."""
        return _kind_of(self._estimate)

    @property
    def advice(self) -> str:
        """What to try where the engine has not settled."""
        return _advice_of(self._estimate)

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """log Z, and the beliefs over each scope."""
        peaks, scaled = scaled_logs(self._design, logs)
        problem = replace(self._problem, tables=np.exp(scaled), logs=scaled, log_scale=peaks)
        run = self._engine.run(problem, self._engine.restarted(problem, self._state))
        self._state, self._estimate = run.state, self._engine.estimate_from(problem, run.state)
        if run.state.is_contradictory:
            raise ImpossibleEvidence("All assignments are ruled out: the tables are zero everywhere.")
        beliefs = np.concatenate([factor_beliefs(run.state), variable_beliefs(run.state), [1.0]])
        return float(self._estimate), np.asarray(self._reader @ beliefs)


def _message_reader(design: Design, problem: Problem, state: MessageState) -> csr_array:
    """The matrix from beliefs of factors and then of variables to beliefs over scopes."""
    from scipy.sparse import csr_array

    graph, place_of, names = state.graph, problem.place_of, list(design.variables)
    members = graph.edges["variable"][graph.members]
    hosts = [
        tuple(members[first:last].tolist())
        for first, last in zip(*(graph.factors[k] for k in ("first", "last")), strict=True)
    ]
    host_of = hosts_of(problem)  # of each scope, by its number in the problem; the graph has hosts only
    homes = (np.cumsum(host_of == np.arange(host_of.size)) - 1)[host_of]
    sizes, rows, columns = problem.sizes, list[Any](), list[Any]()
    for number, scope in enumerate(design.scopes):
        wide = [place_of[names[place]] for place in scope if design.sizes[place] > 1]
        if len(wide) <= 1:
            # what has one state only is certain: the number behind all beliefs
            first = int(graph.logs.size) + int(graph.variables["start"][wide[0]] if wide else graph.fields.size)
            cells = np.arange(int(design.starts[number + 1] - design.starts[number]))
            rows.append(int(design.starts[number]) + cells)
            columns.append(first + cells)
            continue
        home = int(homes[number])
        shape = [int(sizes[variable]) for variable in hosts[home]]
        at = np.unravel_index(np.arange(math.prod(shape)), shape)
        axes = [hosts[home].index(variable) for variable in wide]
        rows.append(int(design.starts[number]) + np.ravel_multi_index([at[a] for a in axes], [shape[a] for a in axes]))
        columns.append(int(graph.factors["table"][home]) + np.arange(math.prod(shape)))
    width = int(graph.logs.size + graph.fields.size) + 1
    where, which = np.concatenate(rows), np.concatenate(columns)
    return csr_array((np.ones(where.size), (where, which)), shape=(design.num_entries, width))
