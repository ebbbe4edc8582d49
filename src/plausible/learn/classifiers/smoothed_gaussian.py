"""Gaussian distributions of features that never become certain."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD
from plausible.learn.estimation.gaussian import GaussianLearner
from plausible.learn.estimation.task import FamilyFit, FamilyTask

__all__ = ["SmoothedGaussian"]


@dataclass(frozen=True, slots=True)
class SmoothedGaussian:
    """The Gaussian of greatest likelihood, with a variance everywhere.

    A feature that is constant in a class would have no density there: it gets the variance that it has in all classes
    together. A small share of the variance of the whole column is added to each.

    Parameters
    ----------
    share
        What is added, as a share of the variance of the column, or of one where that is constant.
    """

    share: float = 1e-9

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a continuous variable given its parents."""
        fit = GaussianLearner().fit(task)
        cpd, more = fit.cpd, self._more(task)
        if isinstance(cpd, ConditionalGaussianCPD):
            variance = np.where(cpd.variance > 0, cpd.variance, _variance_in_all_contexts(task)) + more
            wider = ConditionalGaussianCPD(cpd.variable, cpd.intercept, cpd.coefficients, variance, cpd.parents)
            return fit._replace(cpd=wider)
        assert isinstance(cpd, LinearGaussianCPD)
        return fit._replace(
            cpd=LinearGaussianCPD(cpd.variable, cpd.intercept, cpd.coefficients, cpd.variance + more, cpd.parents)
        )

    def _more(self, task: FamilyTask) -> float:
        rows = task.rows()
        column = np.asarray(rows.columns[task.name], dtype=np.float64)
        mean = float(np.average(column, weights=rows.weights))
        spread = float(np.average((column - mean) ** 2, weights=rows.weights))
        is_constant = spread <= (1e-12 * mean) ** 2  # nothing but rounding
        return self.share * (1.0 if is_constant else spread)


def _variance_in_all_contexts(task: FamilyTask) -> float:
    """What is left of the variance by the continuous parents alone."""
    continuous = tuple(parent.name for parent in task.parents if parent.is_continuous)
    parents = {**task.families.parents, task.name: continuous}
    pooled = GaussianLearner().fit(replace(task, families=replace(task.families, parents=parents))).cpd
    assert isinstance(pooled, LinearGaussianCPD)
    return pooled.variance
