"""Estimates by evaluation: of an estimand on the observed frequencies, or of a fitted network."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.estimation.covariates import observed_nodes
from plausible.causal.estimation.estimate import Means, PreparedEstimate
from plausible.causal.estimation.rows import (
    FEW_CASES,
    EffectTask,
    PositivityReport,
    ThinCell,
    expected_outcome,
    refuse_unusable,
    totals,
)
from plausible.causal.expressions.notation import distinct_parts
from plausible.causal.expressions.tree import Probability
from plausible.causal.identification.algorithm import identify
from plausible.causal.identification.question import Estimand
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, PositivityViolation, TooLarge
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.learned_parameters import fit_parameters
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

#: More joint states of the variables of an estimand are not tabulated.
_MAX_STATES = 2**20


@dataclass(frozen=True, slots=True)
class Identified:
    """The estimand that the complete identification algorithm finds, with frequencies for its probabilities.

    All variables in it must be discrete. It needs neither a set to adjust for nor a front door. See Shpitser & Pearl
    (2006), Identification of joint interventional distributions in recursive semi-Markovian causal models, AAAI.
    """

    name: ClassVar[str] = "identified"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Identify the effect among the columns there are, and count their joint states."""
        causes = read_causes(graph)
        names = (task.outcome.name, task.treatment.name)
        observed = [*observed_nodes(task, causes), *names]
        estimand = identify(causes, outcome=names[0], treatment=names[1], observed=observed)
        used = [name for name in task.table.variables if name in {*estimand.variables, *names}]
        weights, states = _joint_states(task, used)
        variables = [task.table.variables[name] for name in used]
        shape = tuple(variable.num_states for variable in variables)

        def joint(resampled: Floats) -> Factor:
            counts = totals(states, resampled, math.prod(shape)).reshape(shape)
            return Factor(variables, counts / counts.sum())

        def estimate(resampled: Floats) -> Means:
            try:
                return _means(task, estimand, joint(resampled))
            except PositivityViolation:  # in a resample, what the estimand conditions on can be missing
                return Means(math.nan, math.nan, math.nan)

        _means(task, estimand, joint(weights))
        thin = _thin_conditions(task, estimand, totals(states, weights, math.prod(shape)).reshape(shape), used)
        others = tuple(name for name in used if name not in names)
        return PreparedEstimate(weights, estimate, others, PositivityReport.of(thin))


def _means(task: EffectTask, estimand: Estimand, joint: Factor) -> Means:
    assert task.scores is not None
    treatment = task.treatment.name
    return Means.of(
        [float(estimand.evaluate(joint, do={treatment: level}).values @ task.scores) for level in task.levels]
    )


def _thin_conditions(task: EffectTask, estimand: Estimand, counts: Floats, names: list[str]) -> Iterator[ThinCell]:
    """What the estimand conditions on and few cases have; what no case has does not matter, or was refused."""
    parts = distinct_parts(estimand.expression, lambda part: part.parts)
    conditions = (part.given for part in parts if isinstance(part, Probability) and part.given)
    for given in dict.fromkeys(frozenset(symbol.variable for symbol in symbols) for symbols in conditions):
        kept = [task.table.variables[name] for name in names if name in given]
        table = counts.sum(axis=tuple(place for place, name in enumerate(names) if name not in given))
        for place in np.argwhere((table > 0) & (table < FEW_CASES)).tolist():
            states = {variable.name: variable.states[i] for variable, i in zip(kept, place, strict=True)}
            number = float(table[tuple(place)])
            yield ThinCell(None, MappingProxyType(states), number, number / float(counts.sum()))


def _joint_states(task: EffectTask, names: list[str]) -> tuple[Floats, Ints]:
    """The different joint states of some columns: how much each weighs, and its place in their joint table."""
    table = task.table
    refuse_unusable(table, names)
    for name in names:
        if table.variables[name].is_continuous:
            raise NotSupported(f"{name!r} is continuous: this estimand needs states. Discretize it.")
    shape = tuple(table.variables[name].num_states for name in names)
    if math.prod(shape) > _MAX_STATES:
        raise TooLarge(
            f"The estimand is about {len(names)} columns with {math.prod(shape):,} joint states; merge some."
        )
    columns = tuple(np.asarray(table.column(name), dtype=np.int64) for name in names)
    places, row_of = np.unique(np.ravel_multi_index(columns, shape), return_inverse=True)
    weights = table.row_weights
    return totals(row_of.reshape(-1), weights, len(places)), places.astype(np.int64)


#: A stratum in which fewer cases than these are to be expected does not count.
_LEAST_CASES = 0.5


@dataclass(frozen=True, slots=True)
class PlugIn:
    """E[Y | do(x)] in the network whose parameters are learned from the data; its graph has no latent causes.

    It uses all that the graph says, and so is precise where the graph and the kinds of distributions are right.
    Missing cells are completed, and rows with interventions are used. Where no case tells what a variable does, the
    prior does; the report on positivity names these places.

    Parameters
    ----------
    prior
        Of the tables, as for `learn.parameters`.
    """

    prior: PriorLike = "bdeu:1"

    name: ClassVar[str] = "plug-in"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        causes = CausalGraph(read_causes(graph))
        latent = next((edge for edge in causes.edges if edge.is_bidirected), None)
        if latent is not None:
            raise NotSupported(
                f"'{latent}' is a latent cause, which no network of the observed variables has. Use another method, or "
                "evaluate the estimand of identify() on a fitted network."
            )
        # What does not lead to the outcome once the treatment is set drops out of P(y | do(x)).
        names = (task.outcome.name, task.treatment.name)
        mutilated = causes.without_incoming(task.treatment.name)
        kept = mutilated.ancestors(task.outcome.name).union(names)
        dag = mutilated.subgraph([node for node in causes.nodes if node in kept]).directed_part()
        hidden = [node for node in dag.nodes if node not in task.table.variables]
        if hidden:
            raise InvalidArgument(
                f"The data have no column for {hidden[0]!r}. Ask about latent_projection(graph, observed=...)."
            )
        marks = task.table.interventions
        for name in map(str, dag.nodes):
            if name != task.treatment.name and name in marks and marks[name].all():
                raise NotSupported(
                    f"In all {task.table.num_rows} rows {name!r} was set from outside, so that none tells how it comes "
                    "about by itself. Give rows in which it was not set."
                )
        table, weights = _distinct(task.table.select([str(node) for node in dag.nodes]))

        def fitted_to(resampled: Floats) -> BayesianNetwork:
            return fit_parameters(dag, table.weighted(resampled), self.prior).network

        def estimate(resampled: Floats) -> Means:
            fitted = fitted_to(resampled)
            settings = [{task.treatment.name: level} for level in task.levels]
            return Means.of([expected_outcome(fitted, task.outcome, task.scores, do) for do in settings])

        thin = _thin_parents(task, table.weighted(weights), fitted_to(weights))
        used = tuple(str(node) for node in dag.nodes if node not in names)
        return PreparedEstimate(weights, estimate, used, PositivityReport.of(thin))


def _thin_parents(task: EffectTask, table: Table, network: BayesianNetwork) -> Iterator[ThinCell]:
    """The states of parents that setting the treatment brings about and that few cases have, or none."""
    treatment = task.treatment.name
    for child, cpd in network.cpds.items():
        parents = [table.variables[name] for name in cpd.parent_names]
        if child == treatment or not parents or any(parent.is_continuous for parent in parents):
            continue
        counts, others = _parent_counts(table, child, parents), [p for p in parents if p.name != treatment]
        # How likely each joint state of the other parents is once the treatment is set.
        names = [parent.name for parent in others]
        reached: dict[State, Floats] = {
            level: network.query(names, do={treatment: level}).values if names else np.ones(()) for level in task.levels
        }
        tables: dict[State | None, Floats] = {None: counts}
        if len(others) < len(parents):
            axis = cpd.parent_names.index(treatment)
            tables = {level: np.asarray(counts.take(task.treatment.index(level), axis=axis)) for level in task.levels}
        for level, here in tables.items():
            share = np.maximum(*reached.values()) if level is None else reached[level]
            for place in np.argwhere((here < FEW_CASES) & (share * table.total >= _LEAST_CASES)).tolist():
                states = {p.name: p.states[i] for p, i in zip(others, place, strict=True)}
                at = tuple(place)
                yield ThinCell(level, MappingProxyType(states), float(here[at]), float(share[at]))


def _parent_counts(table: Table, child: str, parents: list[Variable]) -> Floats:
    """How many cases tell what a child does, for each joint state of its parents."""
    shape = tuple(parent.num_states for parent in parents)
    columns = np.stack([table.column(parent.name) for parent in parents])
    own = table.column(child)
    known = (columns >= 0).all(axis=0) & (~np.isnan(own) if table.variables[child].is_continuous else own >= 0)
    if child in table.interventions:
        known &= ~np.asarray(table.interventions[child], dtype=bool)
    weights = table.row_weights
    places = np.ravel_multi_index(tuple(columns[:, known].astype(np.int64)), shape)
    return totals(places, weights[known], math.prod(shape)).reshape(shape)


def _distinct(table: Table) -> tuple[Table, Floats]:
    """The different rows, where they can be told apart at once, and how often each occurs."""
    weights = table.row_weights
    if table.continuous or table.interventions or not table.num_rows:
        return table, weights
    _, first, place = np.unique(table.codes, axis=1, return_index=True, return_inverse=True)
    return table.take(first), totals(place.reshape(-1), weights, len(first))
