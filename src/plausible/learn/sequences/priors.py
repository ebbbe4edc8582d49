"""Priors of hidden Markov models, as cases that were seen before."""

from __future__ import annotations

import math
from dataclasses import dataclass, fields

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument


@dataclass(frozen=True, slots=True)
class HMMPrior:
    """Pseudo-counts whose posterior mode EM climbs to; all zero, as by default, for the greatest likelihood.

    Tables have Dirichlet densities with parameters 1 + pseudo-count: `initial` for each state, `transitions` for each
    transition that the start leaves possible, `symbols` for each symbol in each state, `weights` for each component of
    a mixture. Numbers have |Σ|^(-s/2) exp(-s tr(Σ⁻¹ V)/2 - κ (μ - m)ᵀ Σ⁻¹ (μ - m)/2), m and V the means and variances
    of the whole columns: `means` is κ, cases at the mean of the column, and `variances` is s, cases that are spread as
    the column is. Nothing is hidden: hmmlearn's Gaussian models, by contrast, add 0.01 to scatters and one to counts
    unless told not to.

    >>> HMMPrior(transitions=1.0)
    HMMPrior(initial=0.0, transitions=1.0, symbols=0.0, weights=0.0, means=0.0, variances=0.0)
    """

    initial: float = 0.0
    transitions: float = 0.0
    symbols: float = 0.0
    weights: float = 0.0
    means: float = 0.0
    variances: float = 0.0

    def __post_init__(self) -> None:
        for field in fields(self):
            value = getattr(self, field.name)
            if isinstance(value, bool) or not isinstance(value, int | float) or not 0 <= value < math.inf:
                raise InvalidArgument(f"HMMPrior: {field.name}={value!r} is a number of cases, zero or more.")


def map_rows(counts: Floats, before: Floats, pseudo: float) -> Floats:
    """Rows of greatest posterior density; what was zero stays zero, and rows that nothing is known of stay."""
    cells = np.where(before > 0, counts + pseudo, 0.0)
    totals = np.broadcast_to(cells.sum(axis=-1, keepdims=True), cells.shape)
    return np.asarray(np.divide(cells, totals, out=before.copy(), where=totals > 0))


def log_dirichlet(rows: Floats, pseudo: float) -> float:
    """The logarithm of their density, but for a constant; zeros are no parameters."""
    return pseudo * float(np.log(rows[rows > 0]).sum()) if pseudo else 0.0
