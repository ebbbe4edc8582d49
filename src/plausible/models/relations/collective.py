"""What tables lack, inferred for all objects together: by messages where they are exact, by a tree where one fits."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np

from plausible.base.arrays import Floats, Ints, starts_of
from plausible.base.query_info import QueryInfo
from plausible.cpds import CPD
from plausible.errors import ImpossibleEvidence, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import table_shape
from plausible.inference.budget import Budget
from plausible.inference.compiled import CompiledFactors, compile_factors
from plausible.inference.engines import check_engine
from plausible.inference.estimates import Estimate
from plausible.inference.problem import strides_of
from plausible.inference.propagation.belief_graph import Clusters, hosts_in, is_forest, merged
from plausible.inference.propagation.belief_messages import factor_beliefs, reparametrise, stretches, variable_beliefs
from plausible.inference.propagation.belief_propagation import LoopyBP
from plausible.inference.within_budget import MESSAGES
from plausible.models.relations.ground_factors import Block, GroundFactors
from plausible.models.relations.grounding import Grounding
from plausible.variables import Evidence, Variable

#: Clique trees are tried for so many factors: each becomes an object.
_MOST_FACTORS = 50_000
_NOTHING = Evidence({}, {}, {})
_IMPOSSIBLE = "The values in the tables have probability zero under this model."
_SIZES = "The cells that references are chosen from have their expected sizes, as not all attributes are known."
_ADVICE = "The messages have not settled: try a larger budget, or engine=Gibbs()."


@dataclass(frozen=True, slots=True, eq=False)
class Solution:
    """Beliefs about all variables and factors, on flat arrays."""

    #: P(state) of each variable, one after the other.
    singles: Floats
    #: The belief about each factor's variables, each where the factor's logarithms are.
    tables: Floats
    #: log Σ Π φ; minus the Bethe free energy where it is not exact.
    log_total: float
    info: QueryInfo


class Collective:
    """All that is not known on an instance, as one problem."""

    def __init__(self, grounding: Grounding, cpds: Sequence[CPD]) -> None:
        self.grounding = grounding
        self.ground = GroundFactors(grounding, cpds)

    def beliefs(self, attribute: str, engine: Any = "auto", budget: Budget | None = None) -> tuple[Floats, QueryInfo]:
        """P(attribute) of each object, a row each; the known ones for certain."""
        grounding, clusters = self.grounding, self.ground.clusters
        size = grounding.schema.variable(attribute).num_states
        start = grounding.starts[attribute]
        nodes = start + np.arange(grounding.instance.num_objects(attribute.partition(".")[0]))
        variables = self.ground.variable_of[nodes]
        hidden = variables >= 0
        rows = np.zeros((len(nodes), size))
        rows[~hidden, grounding.codes[nodes[~hidden]]] = 1.0
        if not hidden.any():
            return rows, QueryInfo("what the tables have")
        solution = self.solve(engine, budget)
        firsts = starts_of(clusters.sizes)[variables[hidden]]
        rows[hidden] = solution.singles[firsts[:, None] + np.arange(size)]
        return rows, solution.info

    def log_likelihood(self, engine: Any = "auto", budget: Budget | None = None) -> float:
        """log P(what is known); an `Estimate`."""
        solution = self.solve(engine, budget)
        value = solution.log_total + self.ground.log_constant
        if solution.info.exact:
            return Estimate.within(value, solution.info, 1e-12 * (abs(value) + 1.0))
        return Estimate(value, solution.info)

    def expected_counts(self, solution: Solution) -> list[Floats]:
        """For each family the expected number of objects with each joint state of parents (axes first) and child."""
        counts = [np.zeros(table.size) for table in self.ground.tables]
        for block in self.ground.blocks:
            table, axes = self.ground.tables[block.family], self.ground.axes[block.family]
            strides = np.array(table.strides) // table.itemsize
            codes = np.column_stack([axis.codes[block.places] for axis in axes])
            codes[:, [place >= 0 for place in block.along]] = 0
            steps = np.zeros(len(block.axes), dtype=np.int64)
            for axis, place in enumerate(block.along):
                if place >= 0:
                    steps[place] += strides[axis]
            inner = np.array([steps @ states for states in np.ndindex(block.shape)], dtype=np.int64)
            cells = (codes @ strides)[:, None] + inner
            beliefs = self._beliefs_of(block, solution)
            counts[block.family] += np.bincount(cells.ravel(), beliefs.ravel(), table.size)
        return [one.reshape(table.shape) for one, table in zip(counts, self.ground.tables, strict=True)]

    def _beliefs_of(self, block: Block, solution: Solution) -> Floats:
        """The beliefs about what is hidden of each factor of a block, a row each."""
        clusters, size = self.ground.clusters, math.prod(block.shape)
        if not block.axes:
            return np.ones((len(block.places), 1))
        if block.first < 0:
            variables = self.ground.axes[block.family][block.axes[0]].variables[block.places]
            return np.asarray(solution.singles[starts_of(clusters.sizes)[variables][:, None] + np.arange(size)])
        start = int(clusters.table_starts[block.first])
        return solution.tables[start : start + len(block.places) * size].reshape(-1, size)

    def solve(self, engine: Any = "auto", budget: Budget | None = None) -> Solution:
        """Beliefs by the way that an engine names: "auto" takes what is exact and affordable, else messages."""
        solution = self._solve(engine, budget)
        if not self.ground.is_approximate:
            return solution
        told = replace(solution.info, exact=False, error=None, advice=_SIZES)
        return replace(solution, info=told)

    def _solve(self, engine: Any, budget: Budget | None) -> Solution:
        clusters = self.ground.clusters
        if engine not in (None, "auto"):
            return _by_engine(clusters, engine)
        within = merged(clusters)
        if is_forest(within):
            return _by_messages(clusters, within, LoopyBP())
        if engine is None or clusters.num_factors <= _MOST_FACTORS:
            try:
                return _by_tree(clusters, budget)
            except TooLarge:
                if engine is None:
                    raise
        return _by_messages(clusters, within, MESSAGES)


def _by_messages(clusters: Clusters, within: Clusters, engine: LoopyBP) -> Solution:
    """Beliefs that messages on all factors agree on; exact on a forest."""
    state = engine.run_on(within).state
    if state.is_contradictory:
        raise ImpossibleEvidence(_IMPOSSIBLE)
    found = reparametrise(state, is_max=False)
    info = state.info(
        "belief propagation" if state.is_forest else "loopy belief propagation",
        is_exact=state.is_forest and state.converged,
        cost=int(clusters.logs.size),
        largest_table=int(np.diff(clusters.table_starts).max(initial=0)),
        advice=_ADVICE,
    )
    return Solution(variable_beliefs(state), _spread(clusters, within, factor_beliefs(state)), found.log_constant, info)


def _spread(clusters: Clusters, within: Clusters, beliefs: Floats) -> Floats:
    """The beliefs about all factors, from those about the ones that they were merged into."""
    hosts = hosts_in(clusters)
    is_host = hosts == np.arange(clusters.num_factors)
    if is_host.all():
        return beliefs
    numbers = np.cumsum(is_host) - 1
    owner = numbers[hosts]  # the place of each factor's host among those that are left
    lengths = np.diff(within.table_starts)[owner]
    cells = stretches(within.table_starts[:-1][owner], lengths)
    within_table = cells - np.repeat(within.table_starts[:-1][owner], lengths)
    place = np.repeat(clusters.table_starts[:-1], lengths)
    own_strides, host_strides = _strides(clusters), _strides(within)
    arities = np.diff(clusters.scope_starts)
    for axis in range(int(arities.max(initial=0))):
        chosen = np.flatnonzero(arities > axis)
        at = clusters.scope_starts[:-1][chosen] + axis
        spot = _places_in(within, owner[chosen], clusters.scopes[at])
        stride, width = host_strides[spot], clusters.sizes[clusters.scopes[at]]
        mask = np.repeat(arities > axis, lengths)
        states = within_table[mask] // np.repeat(stride, lengths[chosen]) % np.repeat(width, lengths[chosen])
        place[mask] += states * np.repeat(own_strides[at], lengths[chosen])
    return np.bincount(place, beliefs[cells], len(clusters.logs)).astype(np.float64)


def _places_in(clusters: Clusters, factors: Ints, variables: Ints) -> Ints:
    """Where in `scopes` each of some factors has a variable, which it does have."""
    arities = np.diff(clusters.scope_starts)
    found = np.zeros(len(factors), dtype=np.int64)
    for axis in range(int(arities.max(initial=0))):
        there = arities[factors] > axis
        at = clusters.scope_starts[:-1][factors[there]] + axis
        hit = clusters.scopes[at] == variables[there]
        found[np.flatnonzero(there)[hit]] = at[hit]
    return found


def _strides(clusters: Clusters) -> Ints:
    return strides_of(clusters.sizes[clusters.scopes], clusters.scope_starts)


def _by_tree(clusters: Clusters, budget: Budget | None) -> Solution:
    """Beliefs by a clique tree."""
    variables, factors, scale = _factors(clusters)
    tree: CompiledFactors = compile_factors(factors, variables, budget=budget)
    log_total = tree.log_total(_NOTHING)
    if log_total == -np.inf:
        raise ImpossibleEvidence(_IMPOSSIBLE)
    singles = tree.marginals(_NOTHING)
    wide = [factor.scope for factor in factors[: clusters.num_factors]]
    tables = _flat(tree.joints(wide, _NOTHING))
    return Solution(_flat(singles[variable.name] for variable in variables), tables, log_total + scale, tree.info)


def _by_engine(clusters: Clusters, engine: Any) -> Solution:
    """Beliefs by an engine that the caller named."""
    variables, factors, scale = _factors(clusters)
    check_engine(engine, [variable.name for variable in variables])
    singles = engine.marginals(factors, variables, _NOTHING)
    total = engine.log_total(factors, _NOTHING)
    wide = [factor.scope for factor in factors[: clusters.num_factors]]
    joints = (
        engine.joints(factors, wide, _NOTHING)
        if hasattr(engine, "joints")
        else [engine.query(factors, scope, _NOTHING) for scope in wide]
    )
    info = next((factor.info for factor in singles.values()), None) or QueryInfo(type(engine).__name__)
    return Solution(_flat(singles[variable.name] for variable in variables), _flat(joints), float(total) + scale, info)


def _flat(factors: Iterable[Factor]) -> Floats:
    return np.concatenate([np.empty(0), *(factor.flat for factor in factors)])


def _factors(clusters: Clusters) -> tuple[list[Variable], list[Factor], float]:
    """The factors as objects, those of several variables first, then a field for each; and the log of their scale."""
    variables = [Variable(str(place), size) for place, size in enumerate(clusters.sizes.tolist())]
    factors = []
    numbers = np.exp(clusters.logs)
    for number in range(clusters.num_factors):
        members = clusters.scopes[clusters.scope_starts[number] : clusters.scope_starts[number + 1]].tolist()
        scope = tuple(variables[member] for member in members)
        stretch = numbers[clusters.table_starts[number] : clusters.table_starts[number + 1]]
        factors.append(Factor.trusted(scope, stretch.reshape(table_shape(scope))))
    starts = starts_of(clusters.sizes)
    peaks = np.maximum.reduceat(clusters.fields, starts[:-1]) if len(variables) else np.empty(0)
    if (peaks == -np.inf).any():
        raise ImpossibleEvidence(_IMPOSSIBLE)
    fields = np.exp(clusters.fields - np.repeat(peaks, clusters.sizes))
    factors += [
        Factor((variable,), fields[start:end])
        for variable, start, end in zip(variables, starts[:-1].tolist(), starts[1:].tolist(), strict=True)
    ]
    return variables, factors, float(peaks.sum())
