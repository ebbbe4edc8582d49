"""The families of a network over time as rows: which steps share a distribution, and what of it is hidden there."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Floats, Ints
from plausible.cpds import CPD, LogisticCPD, TableCPD
from plausible.data.sequences import Sequences
from plausible.learn.estimation.learners import gaussian_cpd
from plausible.learn.estimation.priors import Estimate, PriorLike, pseudo_counts
from plausible.learn.incomplete.gaussian_maximization import GaussianMomentLearner
from plausible.learn.incomplete.maximization import prior_exponents
from plausible.learn.sequences.weighted_families import NumberFamily, WeightedFamily, weighted_family
from plausible.models.sequences.template import Lagged, Template, lagged
from plausible.variables import Variable

#: How numbers are learned: variances that run to zero stop where they are a millionth of the column's.
_NUMBERS = GaussianMomentLearner()


@dataclass(frozen=True, slots=True, eq=False)
class SliceFamily:
    """A distribution that some slices share, and the rows it is learned from: each with all states of hidden cells."""

    name: str
    slices: tuple[int, ...]  # of the template
    hidden: tuple[Lagged, ...]  # the variables of the family, with states, that some of its steps do not tell
    steps: Ints
    learner: WeightedFamily

    def weights(self, joint: Floats) -> Floats:
        """Of the rows, from the joint of the hidden variables at all steps."""
        return np.ascontiguousarray(joint[self.steps]).reshape(-1)


@dataclass(frozen=True, slots=True, eq=False)
class CountedTable(WeightedFamily):
    """A table: counts with the exponents of the prior, over their sums; rows without any stay."""

    places: NDArray[np.intp]  # of rows in the table
    exponents: Floats

    def best(self, before: CPD, weights: Floats) -> CPD:
        counts = np.bincount(self.places, weights, self.exponents.size).reshape(self.exponents.shape) + self.exponents
        totals = np.broadcast_to(counts.sum(axis=-1, keepdims=True), counts.shape)
        kept = np.array(before.to_factor().values.reshape(counts.shape))
        return TableCPD(before.variable, np.divide(counts, totals, out=kept, where=totals > 0), before.parents)

    def log_prior(self, cpd: CPD) -> float:
        live = self.exponents != 0
        with np.errstate(divide="ignore"):
            return float(self.exponents[live] @ np.log(cpd.to_factor().values.reshape(self.exponents.shape)[live]))


@dataclass(frozen=True, slots=True, eq=False)
class FamilyRows:
    """Finds the families of a template among the steps of some sequences."""

    template: Template
    sequences: Sequences
    prior: PriorLike
    estimate: Estimate

    def families(self, shared: Mapping[str, Sequence[tuple[int, ...]]]) -> list[SliceFamily]:
        """The families of groups of slices: name -> those that have one distribution."""
        return [self._family(name, slices) for name, groups in shared.items() for slices in groups]

    def _family(self, name: str, slices: tuple[int, ...]) -> SliceFamily:
        cpd = self.template.slices[slices[-1]][name]
        steps = self._told(cpd, np.flatnonzero(self._is_in(slices)))
        hidden = self._hidden(cpd.scope, steps)
        columns = self._columns(cpd.scope, hidden, steps)
        learner: WeightedFamily
        if isinstance(cpd, TableCPD):
            shape = tuple(variable.num_states for variable in cpd.scope)
            learner = CountedTable(
                np.ravel_multi_index(tuple(columns.values()), shape), self._exponents(cpd, slices[0])
            )
        else:
            learner = weighted_family(cpd, columns, len(steps), 0.0, _NUMBERS)
        return SliceFamily(name, slices, hidden, steps, learner)

    def begun(self, family: SliceFamily) -> SliceFamily | None:
        """A family of a number as if all steps had it that have its parents; none where these are too few to tell."""
        cpd = self.template.slices[family.slices[-1]][family.name]
        reach = max((lagged(text).lag for text in cpd.parent_names), default=0)
        steps = self._told(cpd, np.flatnonzero(self._positions() >= reach))
        if not cpd.variable.is_continuous or len(steps) <= cpd.num_parameters:
            return None
        hidden = self._hidden(cpd.scope, steps)
        learner = NumberFamily.of(cpd, self._columns(cpd.scope, hidden, steps), _NUMBERS)
        return SliceFamily(family.name, family.slices, hidden, steps, learner)

    # --- rows ---

    def _positions(self) -> Ints:
        lengths = np.diff(self.sequences.starts)
        return np.arange(self.sequences.num_steps) - np.repeat(self.sequences.starts[:-1], lengths)

    def _is_in(self, slices: Collection[int]) -> Flags:
        """The steps of some slices."""
        return np.isin(np.minimum(self._positions(), self.template.num_first), list(slices))

    def _told(self, cpd: CPD, steps: Ints) -> Ints:
        """Those of the steps that tell something of a distribution: all its numbers are known there."""
        for text in (variable.name for variable in cpd.scope if variable.is_continuous):
            name, lag = lagged(text)
            steps = steps[~np.isnan(self.sequences.columns[name][steps - lag])]
        return steps

    def _hidden(self, scope: Sequence[Variable], steps: Ints) -> tuple[Lagged, ...]:
        found = []
        for variable in scope:
            if variable.is_continuous:
                continue
            one = lagged(variable.name)
            column = self.sequences.columns.get(one.name)
            if column is None or (column[steps - one.lag] < 0).any():
                found.append(one)
        return tuple(found)

    def _columns(self, scope: Sequence[Variable], hidden: Sequence[Lagged], steps: Ints) -> dict[str, NDArray[Any]]:
        """Name -> cells of the scope: each step with all joint states of its hidden variables, in order."""
        sizes = [self.template.variables[one.name].num_states for one in hidden]
        count = math.prod(sizes)
        states = np.unravel_index(np.arange(count), sizes) if sizes else ()
        open_states = {str(one): np.tile(own, len(steps)) for one, own in zip(hidden, states, strict=True)}
        columns = {}
        for variable in scope:
            one = lagged(variable.name)
            if variable.name in open_states:
                columns[variable.name] = open_states[variable.name]
            else:
                columns[variable.name] = np.repeat(self.sequences.columns[one.name][steps - one.lag], count)
        return columns

    def _exponents(self, cpd: TableCPD, at: int) -> Floats:
        """Those of the prior of a table, under the names that its variables have in the first of its slices."""
        parents = []
        for parent in cpd.parents:
            one = lagged(parent.name)
            parents.append(parent.renamed(f"{one.name}[{at - one.lag}]"))
        name = f"{cpd.variable.name}[{at}]"
        return prior_exponents(name, pseudo_counts(self.prior, cpd.variable.renamed(name), parents), self.estimate)


def prototype(variable: Variable, parents: tuple[Variable, ...], column: Floats) -> CPD:
    """A distribution that looks at no parent: a table, logistic where it depends on numbers, or Gaussian.

    `column` has the values of a number.
    """
    discrete = [parent.num_states for parent in parents if not parent.is_continuous]
    if variable.is_continuous:
        known, count = column[~np.isnan(column)], math.prod(discrete)
        center, variance = (known.mean(), known.var() or 1.0) if len(known) else (0.0, 1.0)
        slopes = np.zeros((count, len(parents) - len(discrete)))
        return gaussian_cpd(variable, parents, np.full(count, center), slopes, np.full(count, variance))
    free = variable.num_states - 1
    if len(discrete) < len(parents):
        return LogisticCPD(variable, parents, [_no_weights(parent, free) for parent in parents], np.zeros(free))
    return TableCPD(variable, np.full((*discrete, free + 1), 1 / (free + 1)), parents)


def _no_weights(parent: Variable, free: int) -> Floats:
    shape = () if free == 1 else (free,)
    return np.zeros(shape) if parent.is_continuous else np.zeros((parent.num_states, *shape))
