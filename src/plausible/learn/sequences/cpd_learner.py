"""How emissions by conditional distributions are learned: each by what learns its kind, from weighted rows."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.base.tolerances import score_noise
from plausible.cpds import (
    CPD,
    ConditionalGaussianCPD,
    LinearGaussianCPD,
    LogisticCPD,
    NoisyOr,
    TableCPD,
    TreeCPD,
)
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import NotSupported
from plausible.learn.estimation.families import CPDLearner, Families, FamilyTask
from plausible.learn.estimation.learners import LogisticLearner, NoisyOrLearner
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner, MomentRegression, gaussian_lines
from plausible.learn.incomplete.gaussian_rows import NumberUnits, column_units
from plausible.learn.incomplete.maximization import LeafLearner
from plausible.learn.sequences.emission_learner import EmissionLearner, EmissionRules, Statistics, pooled
from plausible.learn.sequences.priors import log_dirichlet, map_rows
from plausible.models.sequences.cpd_emission_rows import CompletedRows
from plausible.models.sequences.cpd_emissions import CPDEmission
from plausible.models.sequences.emissions import ObservedRows
from plausible.variables import Variable

#: The precision of the prior of a logistic weight: so small that the likelihood alone decides, but for weights that
#: would run away.
_PENALTY = 1e-3


class DistributionLearner(EmissionLearner[CPDEmission]):
    """Each distribution learns from the completed rows that it speaks of, each row with every state.

    What it learns is taken where the rows are as probable under it as under the one before, so that EM never goes down.
    """

    def __init__(self, emission: CPDEmission, rows: ObservedRows, rules: EmissionRules) -> None:
        self.rows: CompletedRows = rows.content
        self.rules = rules
        self.chosen, self.families = [], []
        for cpd, chosen in emission.by_step(self.rows):
            num_states, state = emission.num_states, emission.state
            columns = {name: np.repeat(cells[chosen], num_states) for name, cells in self.rows.of(cpd, state).items()}
            columns[state.name] = np.tile(np.arange(num_states), len(chosen))
            self.chosen.append(chosen)
            scope = {variable.name: columns[variable.name] for variable in cpd.scope}
            self.families.append(_family(cpd, scope, num_states, rules))

    def statistics(self, emission: CPDEmission, sums: Floats) -> Statistics:
        """How often each state goes with each completed row."""
        if len(self.rows.owner) == self.rows.num_rows:
            return (sums,)
        logs = emission.log_completions(self.rows)
        totals = self.rows.summed(logs)[self.rows.owner]
        return (np.exp(logs - np.where(np.isneginf(totals), 0.0, totals)) * sums[self.rows.owner],)

    def maximized(self, emission: CPDEmission, statistics: Statistics) -> CPDEmission:
        shares = pooled(self.rules.tied, statistics[0].T).T
        cpds = [
            family.best(cpd, shares[chosen].reshape(-1))
            for family, cpd, chosen in zip(self.families, _cpds(emission), self.chosen, strict=True)
        ]
        number = len(emission.cpds)
        return emission.with_cpds(cpds[:number], cpds[number:])

    def log_prior(self, emission: CPDEmission) -> float:
        return math.fsum(family.log_prior(cpd) for family, cpd in zip(self.families, _cpds(emission), strict=True))

    def floored(self, emission: CPDEmission) -> list[int]:
        found: set[int] = set()
        for family, cpd in zip(self.families, _cpds(emission), strict=True):
            found |= family.floored(cpd, emission.state)
        return sorted(found)


def _cpds(emission: CPDEmission) -> tuple[CPD, ...]:
    return (*emission.cpds, *emission.first)


class _Family(ABC):
    """Rows of a family, parents first, of which the weights are yet to come."""

    @abstractmethod
    def best(self, before: CPD, weights: Floats) -> CPD:
        """The distribution of greatest posterior density, of the kind of the one before."""

    def log_prior(self, cpd: CPD) -> float:
        """The logarithm of the prior's density, but for a constant."""
        return 0.0

    def floored(self, cpd: CPD, state: Variable) -> set[int]:
        """The states whose variance stands at its floor."""
        return set()


def _family(cpd: CPD, columns: Mapping[str, NDArray[Any]], num_states: int, rules: EmissionRules) -> _Family:
    """What learns a distribution of a kind."""
    if isinstance(cpd, TableCPD):
        shape = cpd.values.shape
        return _TableFamily(np.ravel_multi_index(tuple(columns.values()), shape), rules.prior.symbols)
    is_gaussian = isinstance(cpd, (LinearGaussianCPD, ConditionalGaussianCPD))
    num_rows = len(columns[cpd.variable.name]) // num_states
    if not cpd.num_parameters or (is_gaussian and num_rows <= cpd.num_parameters):
        return _FixedFamily()
    if is_gaussian:
        return _NumberFamily.of(cpd, columns, rules)
    learners: dict[type[CPD], CPDLearner] = {NoisyOr: NoisyOrLearner(), LogisticCPD: LogisticLearner(_PENALTY)}
    learner = LeafLearner(cpd) if isinstance(cpd, TreeCPD) else learners.get(type(cpd))
    if learner is None:
        raise NotSupported(
            f"The emission of {cpd.variable.name!r} is a {type(cpd).__name__}, which learn.hmm does not learn. It "
            "learns tables, trees, noisy-or, logistic and Gaussian distributions: cpd.to_table() makes a table of "
            "any with states."
        )
    return _LearnedFamily(cpd.scope, columns, learner)


class _FixedFamily(_Family):
    """A distribution without parameters, or numbers of which there are no more rows than parameters.

    The likelihood of so few would have no bound: those of first steps, where there are few sequences, stay as they are.
    """

    def best(self, before: CPD, weights: Floats) -> CPD:
        return before


@dataclass(frozen=True, slots=True, eq=False)
class _TableFamily(_Family):
    places: Positions  # of rows in the table
    pseudo: float

    def best(self, before: CPD, weights: Floats) -> CPD:
        assert isinstance(before, TableCPD)
        table = np.array(before.values, dtype=np.float64)
        counts: Floats = np.bincount(self.places, weights, table.size).reshape(table.shape).astype(np.float64)
        return TableCPD(before.variable, map_rows(counts, table, self.pseudo), before.parents)

    def log_prior(self, cpd: CPD) -> float:
        assert isinstance(cpd, TableCPD)
        return log_dirichlet(np.asarray(cpd.values), self.pseudo)


@dataclass(frozen=True, slots=True, eq=False)
class _NumberFamily(_Family):
    """A regression on what is known, in units in which columns have mean zero and variance one."""

    regression: MomentRegression
    numbers: Floats  # of continuous parents and of the child
    contexts: list[NDArray[Any]]  # states of discrete parents

    @classmethod
    def of(cls, cpd: CPD, columns: Mapping[str, NDArray[Any]], rules: EmissionRules) -> _NumberFamily:
        names = [variable.name for variable in cpd.scope if variable.is_continuous]
        numbers = np.stack([columns[name] for name in names], axis=1)
        center, variances = column_units(numbers, np.ones(len(numbers)))
        units = NumberUnits(tuple(names), center, np.sqrt(np.where(variances > 0, variances, 1.0)))
        options = GaussianMomentLearner(rules.variance_floor, rules.prior.variances)
        contexts = [columns[parent.name] for parent in cpd.parents if not parent.is_continuous]
        return cls(MomentRegression(cpd.variable, cpd.parents, units, options), numbers, contexts)

    def best(self, before: CPD, weights: Floats) -> CPD:
        return self.regression.fit(self.regression.moments(self.numbers, self.contexts, weights), before)[0]

    def log_prior(self, cpd: CPD) -> float:
        return self.regression.log_prior(cpd)

    def floored(self, cpd: CPD, state: Variable) -> set[int]:
        names = [parent.name for parent in cpd.parents if not parent.is_continuous]
        if state.name not in names:
            return set()
        floor = self.regression.learner.variance_floor * self.regression.units.scale[-1] ** 2
        low = (gaussian_lines(cpd).variance <= floor * (1 + 1e-9)).reshape(self.regression.shape)
        return set(np.nonzero(low)[names.index(state.name)].tolist())


@dataclass(frozen=True, slots=True, eq=False)
class _LearnedFamily(_Family):
    scope: tuple[Variable, ...]
    columns: Mapping[str, NDArray[Any]]
    learner: CPDLearner

    def best(self, before: CPD, weights: Floats) -> CPD:
        chosen = np.flatnonzero(weights > 0)
        if not len(chosen):
            return before
        statistics = TableStatistics(self._table(chosen, weights[chosen]))
        child = self.scope[-1].name
        parents = tuple(variable.name for variable in self.scope[:-1])
        families = Families(statistics.variables, {child: parents}, statistics)
        found = self.learner.fit(FamilyTask(families, child, start=before, estimate="mle")).cpd
        columns = {name: column[chosen] for name, column in self.columns.items()}
        new, old = (float(weights[chosen] @ cpd.log_probability(columns)) for cpd in (found, before))
        return found if new >= old - score_noise(old) else before

    def _table(self, chosen: Positions, weights: Floats) -> Table:
        numbers = [v for v in self.scope if v.is_continuous]
        discrete = [v for v in self.scope if not v.is_continuous]
        codes = [self.columns[v.name][chosen].astype(np.int32) for v in discrete]
        values = [self.columns[v.name][chosen] for v in numbers]
        return Table(
            {variable.name: variable for variable in (*discrete, *numbers)},
            np.ascontiguousarray(np.stack(codes)) if codes else np.zeros((0, len(chosen)), dtype=np.int32),
            np.ascontiguousarray(np.stack(values)) if values else np.zeros((0, len(chosen))),
            weights,
        )
