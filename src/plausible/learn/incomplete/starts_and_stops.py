"""Where EM sets out from, and when it has done enough: rules that look at a run after each step."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Literal, TypeAlias

import numpy as np

from plausible.base import Floats
from plausible.cpds import CPD, TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, PlausibleWarning, UnknownVariable, suggestion, warn_caller
from plausible.learn.estimation.priors import pseudo_counts
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.gaussian_maximization import (
    MomentRegression,
    available_moments,
    gaussian_lines,
    gaussian_start,
)
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.problem import EMState, expectation_step
from plausible.models import BayesianNetwork
from plausible.search.run import CONVERGED, Rule, Run

#: A network; a table of completed rows (an M-step comes first); or how to make up tables.
StartLike: TypeAlias = "BayesianNetwork | Table | Literal['random', 'available', 'prior', 'uniform'] | None"

_WORDS = ("random", "available", "prior", "uniform")


class SymmetricStart(PlausibleWarning):
    """Clusters, or all states of a hidden variable, are alike at the start, and EM will never tell them apart."""


def start_network(
    maximization: Maximization, cases: IncompleteRows, start: StartLike, generator: np.random.Generator
) -> BayesianNetwork:
    """The network of a start.

    "available" counts the rows in which a family is complete, with one case more for each row of its table; "random"
    draws each row uniformly from all distributions; "prior" takes the means of the prior. By default families with a
    hidden variable are random, others "available". For Gaussians see `gaussian_start`.
    """
    if isinstance(start, BayesianNetwork):
        return _given(maximization, start)
    if isinstance(start, Table):
        completion = Cases.of(maximization.variables, start, has_numbers=bool(cases.continuous))
        if not completion.is_complete:
            raise InvalidArgument("The table of start= has missing cells: a completion has none.")
        uniform = start_network(maximization, cases, "uniform", generator)
        return maximization.network(expectation_step(completion, cases).at(uniform).counts, uniform).network
    if start is not None and start not in _WORDS:
        raise InvalidArgument(f"start= is a network, a completed table, or a word.{suggestion(str(start), _WORDS)}")
    hidden = set(cases.hidden)
    families = {name: (*parents, name) for name, parents in maximization.parents.items()}
    kinds = {name: start or ("random" if hidden & set(family) else "available") for name, family in families.items()}
    wanted = [name for name, kind in kinds.items() if kind == "available"]
    available = cases.summed(partial(_available, maximization=maximization, names=wanted), _added) if wanted else {}
    tables: dict[str, Floats] = {}
    gaussians: dict[str, CPD] = {}
    for name in sorted(maximization.variables):  # so that the order of columns does not matter
        learner, counts = maximization.learners.get(name), available.get(name)
        if isinstance(learner, MomentRegression):
            gaussians[name] = gaussian_start(learner, counts, kinds[name], generator)
        if any(maximization.variables[other].is_continuous for other in families[name]):
            continue
        owner = maximization.knowledge.owners.get(name)
        tables[name] = tables[owner] if owner in tables else _table(maximization, counts, name, kinds[name], generator)
    for name, owner in maximization.knowledge.owners.items():
        tables[name] = tables[owner]
    return _with_kinds(maximization, tables, gaussians)


def symmetric_hidden(network: BayesianNetwork, cases: IncompleteRows, tolerance: float = 1e-12) -> list[str]:
    """The hidden variables whose states no child can tell apart: EM keeps them alike for ever.

    Where P(X | u, h) is the same for all h, the posterior of h given a row does not depend on X, so that the expected
    counts of all h are proportional, and the next tables are the same for all h again. Numbers of a child that differ
    by less than the tolerance are alike.
    """
    symmetric = []
    for name in cases.hidden:
        children = [cpd for cpd in network.cpds.values() if name in cpd.parent_names]
        variable = network.variables[name]
        has_choice = variable.is_continuous or variable.num_states > 1
        if has_choice and children and all(_ignores(cpd, name, tolerance) for cpd in children):
            symmetric.append(name)
    return symmetric


def warn_of_symmetry(network: BayesianNetwork, cases: IncompleteRows) -> None:
    """Warn where a start keeps the states of a hidden variable alike."""
    for name in symmetric_hidden(network, cases):
        children = [cpd.variable for cpd in network.cpds.values() if name in cpd.parent_names]
        if all(not child.is_continuous and child.num_states == 1 for child in children):
            told = ", ".join(f"{child.name!r} has one state, {child.states[0]!r}" for child in children[:3])
            problem = f"stay alike, as nothing that depends on it varies ({told}{', ...' if children[3:] else ''})"
            advice = "Give rows that differ, or name more states: Table.read(..., variables=...)."
        else:
            problem = "are alike at the start, and will stay so"
            advice = "Start from random tables: learn.em(..., start='random')."
        warn_caller(
            f"All states of the hidden variable {name!r} {problem}: it will explain nothing. {advice}", SymmetricStart
        )


def _ignores(cpd: CPD, parent: str, tolerance: float) -> bool:
    """Whether no number of a distribution depends on a parent."""
    continuous = [variable.name for variable in cpd.parents if variable.is_continuous]
    if not cpd.variable.is_continuous:
        if continuous:
            return False
        table = cpd.to_factor().values.reshape([variable.num_states for variable in cpd.scope])
        return bool(np.ptp(table, axis=cpd.parent_names.index(parent)).max(initial=0.0) < tolerance)
    lines = gaussian_lines(cpd)
    if parent in continuous:
        return bool(np.abs(lines.coefficients[:, continuous.index(parent)]).max() < tolerance)
    discrete = [variable for variable in cpd.parents if not variable.is_continuous]
    table = np.column_stack(lines).reshape(*(variable.num_states for variable in discrete), -1)
    axis = [variable.name for variable in discrete].index(parent)
    return bool(np.ptp(table, axis=axis).max(initial=0.0) < tolerance)


def _available(cases: Cases, maximization: Maximization, names: Sequence[str]) -> dict[str, Floats]:
    """Name -> counts, or moments, of the cases in which all of its family is observed, and the child was not set."""
    columns, found = list(cases.variables), dict[str, Floats]()
    for name in names:
        family, learner = [*maximization.parents[name], name], maximization.learners.get(name)
        if isinstance(learner, MomentRegression):
            found[name] = available_moments(learner, cases)
        elif not any(maximization.variables[other].is_continuous for other in family):
            codes = cases.codes[:, [columns.index(other) for other in family]]
            whole = (codes >= 0).all(axis=1) & ~cases.is_set(name)
            shape = [maximization.variables[other].num_states for other in family]
            places = np.ravel_multi_index(tuple(codes[whole].T.astype(np.intp)), shape)
            counts = np.bincount(places, cases.weights[whole], int(np.prod(shape))).astype(np.float64)
            found[name] = counts.reshape(shape)
    return found


def _added(first: Mapping[str, Floats], second: Mapping[str, Floats]) -> dict[str, Floats]:
    return {name: table + second[name] for name, table in first.items()}


def _table(
    maximization: Maximization, available: Floats | None, name: str, kind: str, generator: np.random.Generator
) -> Floats:
    child = maximization.variables[name]
    parents = [maximization.variables[parent] for parent in maximization.parents[name]]
    shape = [variable.num_states for variable in (*parents, child)]
    if kind == "random":
        weights = generator.standard_exponential(shape)
    elif available is not None:
        weights = available + 1.0 / child.num_states
    elif kind == "prior":
        weights = pseudo_counts(maximization.prior, child, parents) + 0.0
        weights[weights.sum(axis=-1) <= 0] = 1.0
    else:
        weights = np.ones(shape)
    return np.asarray(weights / weights.sum(axis=-1, keepdims=True))


def _with_kinds(
    maximization: Maximization, tables: Mapping[str, Floats], gaussians: Mapping[str, CPD]
) -> BayesianNetwork:
    """The network of tables and Gaussians; other kinds are fitted to their tables, all states of parents alike."""
    variables, start = maximization.variables, maximization.knowledge.start_cpds
    cpds: dict[str, CPD] = dict(gaussians)
    for name, table in tables.items():
        parents = tuple(variables[parent] for parent in maximization.parents[name])
        cpds[name] = TableCPD._of(variables[name], parents, table)
    cpds |= maximization.knowledge.fixed_cpds
    cpds |= {name: start[name].bind(variables) for name in maximization.learners if name in start}
    for name, learner in maximization.learners.items():
        if name not in start and not isinstance(learner, MomentRegression):
            cpds[name] = maximization.learned(name, learner, {name: 100.0 * tables[name]}, cpds[name])
    return maximization.over(cpds)


def _given(maximization: Maximization, network: BayesianNetwork) -> BayesianNetwork:
    """The given parameters, as tables where tables are learned."""
    cpds: dict[str, CPD] = {}
    for name, variable in maximization.variables.items():
        wanted = maximization.parents[name]
        UnknownVariable.check(name, network.variables, "the network of start=, but one of the graph")
        cpd = network.cpd(name)
        for what, own, there in (
            ("states", list(cpd.variable.states), list(variable.states)),
            ("parents", sorted(cpd.parent_names), sorted(wanted)),
        ):
            if own != there:
                raise InvalidArgument(
                    f"{name!r} has the {what} {own} in the network of start=, but {there} in the graph. Give that "
                    "network, or its graph, as the graph to learn, or leave start= out."
                )
        if name in maximization.knowledge.fixed_cpds:
            cpd = maximization.knowledge.fixed_cpds[name]
        elif name not in maximization.learners:
            family = [maximization.variables[parent] for parent in wanted]
            cpd = TableCPD(variable, cpd.to_factor().reorder([*wanted, name]).values, family)
        cpds[name] = cpd
    return maximization.over(cpds)


#: Which rule ends a run; see `learn.em`.
Stopping: TypeAlias = Rule | Literal["likelihood", "parameters", "extrapolated", "validation"]

#: A fall by less than this, relatively, is rounding of sums over all cases.
_ROUNDING = 1e-10
#: So many gains tell the trend of an objective that has fallen.
_WINDOW = 10


def remaining_error(trace: Sequence[float]) -> float:
    """How far the last of some values is from their limit, where they converge linearly.

    If each error is at most a times the one before, the error after the gain g is at most g a / (1 - a); a is taken to
    be the ratio of the last two gains. Infinite where gains do not fall yet, are fewer than two, or are losses.

    >>> remaining_error([0.0, 8.0, 12.0, 14.0])
    2.0
    """
    if len(trace) < 3:
        return math.inf
    before, gain = trace[-2] - trace[-3], trace[-1] - trace[-2]
    if gain == 0:
        return 0.0
    if gain < 0:
        return math.inf
    return gain * (gain / before) / (1.0 - gain / before) if gain < before else math.inf


@dataclass(frozen=True, slots=True)
class ObjectiveGain:
    """Enough where the objective gains at most tolerance · |objective|: "likelihood".

    >>> ObjectiveGain(0.01)(Run(None, 2, trace=[-50.0, -40.0, -39.9]))
    'converged'
    """

    tolerance: float = 1e-6

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        room = self.tolerance * abs(run.trace[-1])
        return _at_rest(run.trace, room, run.trace[-1] - run.trace[-2] <= room)


@dataclass(frozen=True, slots=True)
class ExtrapolatedGain:
    """Enough where the distance to the limit, by `remaining_error`, is at most tolerance · |objective|: "extrapolated".

    >>> ExtrapolatedGain(0.01)(Run(None, 2, trace=[-50.0, -40.0, -39.9]))
    'converged'
    """

    tolerance: float = 1e-6

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        room = self.tolerance * abs(run.trace[-1])
        return _at_rest(run.trace, room, run.trace[-1] <= run.trace[-2] or remaining_error(run.trace) <= room)


def _at_rest(trace: Sequence[float], room: float, is_enough: bool) -> str:
    """What is enough for objectives that never fall, made a rule for all: one that fell lately is judged by its trend.

    The slope of its regression line must be within the room and two standard errors.
    """
    recent = np.asarray(trace[-_WINDOW - 1 :])
    if np.diff(recent).min() < -_ROUNDING * abs(trace[-1]):
        times = np.arange(len(recent)) - (len(recent) - 1) / 2
        slope = float(times @ recent / (times @ times))
        residuals = recent - recent.mean() - slope * times
        error = np.sqrt(residuals @ residuals / max(len(recent) - 2, 1) / (times @ times))
        is_enough = len(recent) > _WINDOW and bool(abs(slope) <= room + 2.0 * error)
    return CONVERGED if is_enough else ""


@dataclass(frozen=True, slots=True)
class ParameterChange:
    """Enough where no probability, and no number of a Gaussian, changes by more than the tolerance: "parameters"."""

    tolerance: float = 1e-6

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        assert run.previous is not None
        change = 0.0
        for name, cpd in run.previous.network.cpds.items():
            pair = (cpd, run.state.network.cpd(name))
            if cpd.variable.is_continuous:
                before, after = (np.column_stack(gaussian_lines(one)) for one in pair)
            elif any(parent.is_continuous for parent in cpd.parents):
                continue
            else:
                before, after = (one.to_factor().values for one in pair)
            change = max(change, float(np.abs(before - after).max(initial=0.0)))
        return CONVERGED if change <= self.tolerance else ""


@dataclass(frozen=True, slots=True)
class ValidationGain:
    """Enough where the log-likelihood of the validation data does not rise: "validation"; the state before is best."""

    tolerance: float = 0.0

    def __call__(self, run: Run[EMState]) -> str:
        """Why the run ends here; "" to go on."""
        *_, before, now = run.state.validation_trace
        return "validation" if now <= before else ""


#: Name -> rule, made with a tolerance.
STOPPING: Mapping[str, Callable[[float], Rule]] = MappingProxyType(
    {
        "likelihood": ObjectiveGain,
        "parameters": ParameterChange,
        "extrapolated": ExtrapolatedGain,
        "validation": ValidationGain,
    }
)


def read_stopping(stopping: Stopping, tolerance: float) -> Rule:
    """The rule that a name stands for, with a tolerance; a rule is taken as it is."""
    if callable(stopping):
        return stopping
    if not isinstance(stopping, str) or stopping not in STOPPING:
        hint = suggestion(str(stopping), STOPPING)
        raise InvalidArgument(f"stopping={stopping!r} is no rule.{hint} Or give a function from a Run to a reason.")
    return STOPPING[stopping](tolerance)
