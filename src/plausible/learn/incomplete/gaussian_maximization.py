"""The M-step of Gaussians: weighted regression on expected second moments, where it begins, and what is mixed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base import Flags, Floats
from plausible.cpds import CPD, ConditionalGaussianCPD, LinearGaussianCPD
from plausible.data import Table, TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.estimation.families import CPDLearner, Families, FamilyFit, FamilyTask, ParameterKnowledge
from plausible.learn.estimation.learners import GaussianLearner, gaussian_cpd, regress_covariances
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.gaussian_rows import NumberUnits
from plausible.variables import Variable

#: A context of which less is expected keeps its line.
_NOTHING = 1e-200


class GaussianLines(NamedTuple):
    """The line of each joint state of discrete parents: arrays of C numbers, and coefficients (C, continuous)."""

    intercept: Floats
    coefficients: Floats
    variance: Floats


def gaussian_lines(cpd: CPD) -> GaussianLines:
    """The numbers of a linear Gaussian distribution, the last discrete parent's state changing fastest."""
    if isinstance(cpd, LinearGaussianCPD):
        return GaussianLines(np.array([cpd.intercept]), np.array([cpd.coefficients]), np.array([cpd.variance]))
    if not isinstance(cpd, ConditionalGaussianCPD):
        raise InvalidArgument(f"{cpd.variable.name!r} is continuous, but its {cpd.kind} distribution is no Gaussian.")
    slopes = [cpd.coefficients[name].ravel() for name in cpd.continuous_names]
    table = np.stack(slopes, axis=1) if slopes else np.zeros((cpd.intercept.size, 0))
    return GaussianLines(cpd.intercept.ravel(), table, cpd.variance.ravel())


@dataclass(frozen=True, slots=True)
class GaussianMomentLearner:
    """Linear Gaussians whose likelihood is bounded: a smallest variance, and cases that are believed beforehand.

    In units in which each column has mean zero and variance one, with z = (1, continuous parents, child) and
    M = Σ_rows E[z zᵀ | row] + s I in each context: β solves the normal equations of M, and σ² is what is left of
    M_yy over its cases, but at least the floor, which is where the likelihood is greatest under that bound (Koller &
    Friedman 2009, exercise 19.10). The s cases of the prior are independent columns, as spread as those of the data:
    log P(θ) = - s/2 Σ (log σ² + (1 + |β|²)/σ²), so that coefficients shrink as in ridge regression.

    >>> from plausible.learn.estimation.families import read_families
    >>> task = FamilyTask(read_families("x -> y", {"x": [-1.5, 1.5], "y": [-3.5, 3.5]}), "y")
    >>> print(GaussianMomentLearner(variance_floor=0.01, prior_cases=2.0).fit(task).cpd)
    y ~ N(1.16667 x, 9.1875)
    """

    variance_floor: float = 1e-6  # The smallest variance, as a share of the column's
    prior_cases: float = 0.0  # s for each context: zero for maximum likelihood

    def __post_init__(self) -> None:
        if not 0 < self.variance_floor < math.inf:
            raise InvalidArgument(
                f"variance_floor={self.variance_floor!r} must be above zero: without it the likelihood has no bound."
            )
        if not 0 <= self.prior_cases < math.inf:
            raise InvalidArgument(f"prior_cases={self.prior_cases!r} is a number of cases, zero or more.")

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a variable in complete rows."""
        rows = task.rows()
        family = [v for v in task.parents if v.is_continuous] + [task.child]
        numbers = np.stack([np.asarray(rows.columns[v.name], dtype=np.float64) for v in family], axis=1)
        total = max(float(rows.weights.sum()), np.finfo(float).tiny)
        center = rows.weights @ numbers / total
        scale = np.sqrt(rows.weights @ (numbers - center) ** 2 / total)
        units = NumberUnits(tuple(v.name for v in family), center, np.where(scale > 0, scale, 1.0))
        regression = MomentRegression(task.child, task.parents, units, self)
        contexts = [rows.columns[v.name] for v in task.parents if not v.is_continuous]
        moments = regression.moments(numbers, contexts, rows.weights)
        cpd, is_empty = regression.fit(moments, regression.drawn())
        return FamilyFit(cpd, is_empty)


@dataclass(frozen=True, slots=True, eq=False)
class MomentRegression:
    """How one Gaussian is got from the moments of its family."""

    variable: Variable
    parents: tuple[Variable, ...]
    units: NumberUnits  # of its continuous parents, in order, and of the variable itself: those of the moments
    learner: GaussianMomentLearner  # the floor and the prior

    @property
    def shape(self) -> tuple[int, ...]:
        """An axis for each discrete parent."""
        return tuple(parent.num_states for parent in self.parents if not parent.is_continuous)

    def moments(self, numbers: Floats, contexts: Sequence[NDArray[Any]], weights: Floats) -> Floats:
        """Σ weight · z zᵀ of complete rows in each context, with axes (discrete parents..., z, z).

        `numbers` (rows, continuous parents and child) are not in the units; `contexts` are states of discrete parents.
        """
        size = numbers.shape[1] + 1
        filled = np.column_stack([np.ones(len(numbers)), self.units.standard(numbers)])
        place = np.zeros(len(numbers), dtype=np.intp)
        if contexts:
            place = np.ravel_multi_index(tuple(contexts), self.shape)
        total = np.empty((math.prod(self.shape), size, size))
        for i, j in np.ndindex(size, size):
            total[:, i, j] = np.bincount(place, weights * filled[:, i] * filled[:, j], len(total))
        return total.reshape(*self.shape, size, size)

    def fit(self, moments: Floats, before: CPD) -> tuple[CPD, Flags]:
        """The most likely distribution, and the contexts of which nothing is expected: they keep their line."""
        size = moments.shape[-1]
        table = moments.reshape(-1, size, size) + self.learner.prior_cases * np.eye(size)
        cases = table[:, 0, 0]
        is_empty = cases <= _NOTHING
        table = table / np.where(is_empty, 1.0, cases)[:, None, None]
        means = table[:, 0, 1:]
        covariances = table[:, 1:, 1:] - means[:, :, None] * means[:, None, :]
        slopes = regress_covariances(covariances)[0]
        intercept = means[:, -1] - (slopes * means[:, :-1]).sum(axis=1)
        residual = np.column_stack([-intercept, -slopes, np.ones(len(table))])
        variance = np.einsum("ci,cij,cj->c", residual, table, residual)
        lines = self._own(intercept, slopes, np.maximum(variance, self.learner.variance_floor))
        pairs = zip(gaussian_lines(before), lines, strict=True)
        found = (np.where(is_empty.reshape(-1, *[1] * (new.ndim - 1)), kept, new) for kept, new in pairs)
        return gaussian_cpd(self.variable, self.parents, *found), is_empty.reshape(self.shape)

    def drawn(self, generator: np.random.Generator | None = None) -> CPD:
        """Intercepts and coefficients drawn from N(0, 1), in the units, or all zero, and unit variances."""
        count, slopes = math.prod(self.shape), (math.prod(self.shape), len(self.units.names) - 1)
        draw = np.zeros if generator is None else generator.standard_normal
        return gaussian_cpd(self.variable, self.parents, *self._own(draw(count), draw(slopes), np.ones(count)))

    def log_prior(self, cpd: CPD) -> float:
        """- s/2 Σ (log σ² + (1 + |β|²)/σ²) over the contexts, in the units."""
        if not self.learner.prior_cases:
            return 0.0
        lines = self._standard(cpd)
        squares = 1.0 + lines.intercept**2 + (lines.coefficients**2).sum(axis=1)
        return -0.5 * self.learner.prior_cases * float((np.log(lines.variance) + squares / lines.variance).sum())

    def expected_log_likelihood(self, cpd: CPD, moments: Floats) -> float:
        """Σ E[log N(child; line of the parents, σ²)], from the moments that `fit` takes."""
        lines, size = self._standard(cpd), moments.shape[-1]
        table = moments.reshape(-1, size, size)
        residual = np.column_stack([-lines.intercept, -lines.coefficients, np.ones(len(table))])
        squares = np.einsum("ci,cij,cj->c", residual, table, residual)
        logs = np.log(2.0 * math.pi * lines.variance) + 2.0 * math.log(self.units.scale[-1])
        return -0.5 * float((table[:, 0, 0] * logs + squares / lines.variance).sum())

    def _own(self, intercept: Floats, coefficients: Floats, variance: Floats) -> GaussianLines:
        """Lines in the units as lines of the variables themselves."""
        scale, center = self.units.scale, self.units.center
        slopes = coefficients * (scale[-1] / scale[:-1])
        return GaussianLines(
            center[-1] + scale[-1] * intercept - slopes @ center[:-1], slopes, variance * scale[-1] ** 2
        )

    def _standard(self, cpd: CPD) -> GaussianLines:
        lines, scale, center = gaussian_lines(cpd), self.units.scale, self.units.center
        intercept = (lines.intercept + lines.coefficients @ center[:-1] - center[-1]) / scale[-1]
        return GaussianLines(intercept, lines.coefficients * (scale[:-1] / scale[-1]), lines.variance / scale[-1] ** 2)


def gaussian_start(
    regression: MomentRegression, moments: Floats | None, kind: str, generator: np.random.Generator
) -> CPD:
    """A Gaussian to start from.

    "available" is the regression on the moments of the cases in which the family is complete and the child was not set,
    with one more case of independent columns for each context; "random" draws intercepts and coefficients from N(0, 1),
    in units in which columns have mean zero and variance one; others are the distribution of the column, whatever the
    parents.
    """
    if moments is None:
        return regression.drawn(generator if kind == "random" else None)
    careful = replace(regression, learner=GaussianMomentLearner(regression.learner.variance_floor, 1.0))
    return careful.fit(moments, regression.drawn())[0]


def available_moments(regression: MomentRegression, cases: Cases) -> Floats:
    """The moments of the cases in which the family is complete and the child was not set."""
    discrete, continuous = list(cases.variables), list(cases.continuous)
    numbers = cases.numbers[:, [continuous.index(name) for name in regression.units.names]]
    codes = cases.codes[:, [discrete.index(v.name) for v in regression.parents if not v.is_continuous]]
    whole = ~np.isnan(numbers).any(axis=1) & (codes >= 0).all(axis=1) & ~cases.is_set(regression.variable.name)
    return regression.moments(numbers[whole], list(codes[whole].T.astype(np.intp)), cases.weights[whole])


def gaussian_regressions(
    families: Families, cases: IncompleteRows, learners: Mapping[str, CPDLearner]
) -> dict[str, CPDLearner | MomentRegression]:
    """The learners, those of continuous variables as regressions on moments in the units of the cases."""
    units = NumberUnits.of(cases)
    found: dict[str, CPDLearner | MomentRegression] = dict(learners)
    for name in cases.continuous:
        learner = learners.get(name)
        if learner is None:
            continue
        if not isinstance(learner, (GaussianLearner, GaussianMomentLearner)):
            raise NotSupported(
                f"{name!r} is continuous: EM learns it as linear Gaussian, or by a GaussianMomentLearner, and not by "
                f"{learner!r}."
            )
        parents = families.parents_of(name)
        own = units.some([*(parent.name for parent in parents if parent.is_continuous), name])
        options = learner if isinstance(learner, GaussianMomentLearner) else GaussianMomentLearner()
        found[name] = MomentRegression(families.variables[name], parents, own, options)
    return found


def settle_mixed(
    families: Families, rows: IncompleteRows, learners: Mapping[str, CPDLearner], knowledge: ParameterKnowledge
) -> tuple[dict[str, CPDLearner], ParameterKnowledge]:
    """Learn discrete children of numbers at once, and fix them: being observed with their parents, they stay so."""
    mixed = [
        name
        for name in learners
        if name in rows.variables and any(parent.is_continuous for parent in families.parents_of(name))
    ]
    if not mixed:
        return dict(learners), knowledge
    cases = rows.in_memory(f"Learning the discrete {mixed[0]!r}, which depends on numbers,")
    masks = {name: mask for name in (*cases.variables, *cases.continuous) if (mask := cases.is_set(name)).any()}
    columns = np.ascontiguousarray(cases.codes.T), np.ascontiguousarray(cases.numbers.T)
    table = Table({**cases.variables, **cases.continuous}, *columns, cases.weights, masks)
    for name in mixed:
        for variable in (*families.parents_of(name), families.variables[name]):
            if variable.name in table.missing:
                raise NotSupported(
                    f"The discrete {name!r} depends on numbers, and {variable.name!r} is missing in "
                    f"{table.missing[variable.name]} rows: exact inference can't integrate that. Fill it in, leave "
                    f"these rows out, or turn the edges of {name!r} around."
                )
    whole = Families(families.variables, families.parents, TableStatistics(table))
    fitted = [learners[name].fit(FamilyTask(whole, name, start=knowledge.start_cpds.get(name))).cpd for name in mixed]
    fixed = replace(knowledge, fixed=(*knowledge.fixed_cpds.values(), *fitted))
    return {name: learner for name, learner in learners.items() if name not in mixed}, fixed
