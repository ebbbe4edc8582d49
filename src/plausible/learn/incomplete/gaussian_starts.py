"""Where EM sets out from with Gaussians."""

from __future__ import annotations

from dataclasses import replace

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.gaussian_maximization import GaussianLines, GaussianMomentLearner, MomentRegression

__all__ = ["gaussian_start"]


def gaussian_start(regression: MomentRegression, cases: Cases, kind: str, generator: np.random.Generator) -> CPD:
    """A Gaussian to start from.

    "available" is the regression in the cases in which the family is complete, with one more case of independent
    columns for each context; "random" draws intercepts and coefficients from N(0, 1), in units in which columns have
    mean zero and variance one; others are the distribution of the column, whatever the parents.
    """
    if kind == "random":
        shape = len(regression.units.names) - 1
        count = int(np.prod(regression.shape))
        lines = GaussianLines(
            generator.standard_normal(count), generator.standard_normal((count, shape)), np.ones(count)
        )
        return regression.of(lines)
    if kind != "available":
        return regression.standard_normal()
    careful = replace(regression, learner=GaussianMomentLearner(regression.learner.variance_floor, 1.0))
    return careful.fit(_available(regression, cases), regression.standard_normal())[0]


def _available(regression: MomentRegression, cases: Cases) -> Floats:
    """The moments of the cases in which all of a family is observed, and the child was not set."""
    discrete, continuous = list(cases.variables), list(cases.continuous)
    numbers = cases.numbers[:, [continuous.index(name) for name in regression.units.names]]
    codes = cases.codes[:, [discrete.index(v.name) for v in regression.parents if not v.is_continuous]]
    is_free = np.array([regression.variable.name not in names for names in cases.setting_names])[cases.settings]
    whole = ~np.isnan(numbers).any(axis=1) & (codes >= 0).all(axis=1) & is_free
    return regression.moments(numbers[whole], list(codes[whole].T.astype(np.intp)), cases.weights[whole])
