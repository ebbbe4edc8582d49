"""Distributions of any kind learned from weighted rows: what completing hidden cells leaves to be learned."""

from __future__ import annotations

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
from plausible.learn.sequences.priors import log_dirichlet, map_rows
from plausible.variables import Variable

#: The precision of the prior of a logistic weight: so small that the likelihood alone decides, but for weights that
#: would run away.
_PENALTY = 1e-3


class WeightedFamily(ABC):
    """Rows of a family, parents first, of which the weights are yet to come."""

    @abstractmethod
    def best(self, before: CPD, weights: Floats) -> CPD:
        """The distribution of greatest posterior density, of the kind of the one before."""

    def log_prior(self, cpd: CPD) -> float:
        """The logarithm of the prior's density, but for a constant."""
        return 0.0

    def floored(self, cpd: CPD, state: Variable) -> set[int]:
        """The states of a parent whose variance stands at its floor."""
        return set()


def weighted_family(
    cpd: CPD, columns: Mapping[str, NDArray[Any]], num_rows: int, pseudo: float, numbers: GaussianMomentLearner
) -> WeightedFamily:
    """What learns a distribution of a kind.

    Parameters
    ----------
    cpd
        One of the kind, with all parents.
    columns
        The rows, each of them as often as hidden cells have states.
    num_rows
        How many rows there are but for that.
    pseudo
        The cases that each entry of a table has beforehand, if it is not zero.
    numbers
        How Gaussians are learned.
    """
    if isinstance(cpd, TableCPD):
        return TableFamily(np.ravel_multi_index(tuple(columns.values()), cpd.values.shape), pseudo)
    is_gaussian = isinstance(cpd, (LinearGaussianCPD, ConditionalGaussianCPD))
    if not cpd.num_parameters or (is_gaussian and num_rows <= cpd.num_parameters):
        return FixedFamily()
    if is_gaussian:
        return NumberFamily.of(cpd, columns, numbers)
    learners: dict[type[CPD], CPDLearner] = {NoisyOr: NoisyOrLearner(), LogisticCPD: LogisticLearner(_PENALTY)}
    learner = LeafLearner(cpd) if isinstance(cpd, TreeCPD) else learners.get(type(cpd))
    if learner is None:
        raise NotSupported(
            f"{cpd.variable.name!r} has a {type(cpd).__name__}, which is not learned from rows in time. Tables, trees, "
            "noisy-or, logistic and Gaussian distributions are: cpd.to_table() makes a table of any with states."
        )
    return LearnedFamily(cpd.scope, columns, learner)


class FixedFamily(WeightedFamily):
    """A distribution without parameters, or numbers of which there are no more rows than parameters.

    The likelihood of so few would have no bound: those of first steps, where there are few sequences, stay as they are.
    """

    def best(self, before: CPD, weights: Floats) -> CPD:
        return before


@dataclass(frozen=True, slots=True, eq=False)
class TableFamily(WeightedFamily):
    """A table, whose zeros stay."""

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
class NumberFamily(WeightedFamily):
    """A regression on what is known, in units in which columns have mean zero and variance one."""

    regression: MomentRegression
    numbers: Floats  # of continuous parents and of the child
    contexts: list[NDArray[Any]]  # states of discrete parents

    @classmethod
    def of(cls, cpd: CPD, columns: Mapping[str, NDArray[Any]], learner: GaussianMomentLearner) -> NumberFamily:
        """For rows as they are."""
        names = [variable.name for variable in cpd.scope if variable.is_continuous]
        numbers = np.stack([columns[name] for name in names], axis=1)
        center, variances = column_units(numbers, np.ones(len(numbers)))
        units = NumberUnits(tuple(names), center, np.sqrt(np.where(variances > 0, variances, 1.0)))
        contexts = [columns[parent.name] for parent in cpd.parents if not parent.is_continuous]
        return cls(MomentRegression(cpd.variable, cpd.parents, units, learner), numbers, contexts)

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
class LearnedFamily(WeightedFamily):
    """A kind with a learner of its own; what it learns is taken where the rows are no less probable under it."""

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
