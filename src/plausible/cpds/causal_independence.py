"""Causes that act independently of each other and of which the strongest effect wins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plausible.factors import Factor
from plausible.variables import Variable

__all__ = ["log_complement", "max_factors", "threshold_variable"]


def threshold_variable(child: Variable, parents: Sequence[Variable]) -> Variable:
    """The auxiliary variable of `max_factors`; its name is none of the scope's."""
    name = f"{child.name}≤"
    while any(variable.name == name for variable in (*parents, child)):
        name += "≤"
    return child.renamed(name)


def max_factors(
    child: Variable,
    parents: Sequence[Variable],
    cumulatives: Sequence[npt.NDArray[np.float64]],
    leak: npt.NDArray[np.float64],
) -> tuple[Factor, ...]:
    """Y = max(Y_0, Y_1, ..., Y_n) with Y_i ~ P(Y_i | x_i), as n + 1 factors of two variables each.

    P(Y ≤ y | x) = Π_i P(Y_i ≤ y | x_i), and P(Y = y | x) is a difference of two such products (Díez & Galán 2003):
    with an auxiliary variable T over the states of Y, Σ_t D(t, y) Π_i P(Y_i ≤ t | x_i), where D(t, y) is 1 at t = y,
    -1 at t = y - 1 and 0 elsewhere, times the leak's P(Y_0 ≤ t).

    D has negative entries and T must be summed out: before anything is maximised, and not in log space.

    Parameters
    ----------
    cumulatives
        For each parent P(Y_i ≤ y | x_i), of shape `(its states, states of the child)`.
    leak
        P(Y_0 ≤ y).
    """
    threshold = threshold_variable(child, parents)
    size = child.num_states
    difference = (np.eye(size) - np.eye(size, k=1)) * leak[:, None]
    pairs = zip(parents, cumulatives, strict=True)
    return (*(Factor((parent, threshold), table) for parent, table in pairs), Factor((threshold, child), difference))


def log_complement(logs: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    """log(1 - exp(a)) for a ≤ 0, exact near both ends (Mächler 2012).

    >>> log_complement(np.array([-1e-20, -np.inf, 0.0]))
    array([-46.05170186,  -0.        ,         -inf])
    """
    with np.errstate(divide="ignore"):
        return np.where(logs > -np.log(2.0), np.log(-np.expm1(logs)), np.log1p(-np.exp(logs)))
