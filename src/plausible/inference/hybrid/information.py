"""Information between a state and a number whose distribution is a mixture of Gaussians."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from plausible.factors.information import log_unit
from plausible.inference.gaussian.regression import Array

#: Where panels of the quadrature end, in deviations from the mean of each component.
_ENDS = np.array([0.0, 0.5, 1.0, 1.5, 2.0, 2.5, 3.0, 4.0, 5.0, 6.0, 7.5, 9.0])
#: Nodes in each panel.
_NODES, _WEIGHTS = np.polynomial.legendre.leggauss(16)
#: Information below this is rounding.
_ROUNDING = 1e-14
#: Densities that are computed at a time.
_MAX_STEP = 2**22


@dataclass(frozen=True, slots=True)
class NumberInformation:
    """What a number tells about a discrete variable."""

    mutual_information: float  # I(T; X)
    entropy: float  # The differential entropy of X, which may be negative; -inf where X has a point mass


def number_information(weights: Array, means: Array, variances: Array, base: float = math.e) -> NumberInformation:
    """I(T; X) = Σ_t ∫ p(t, x) log p(t, x) / (P(t) p(x)) dx, of X a mixture of Gaussians for each state t.

    There is no closed form. The integral is one-dimensional and smooth: Gauss-Legendre quadrature on panels that are
    short beside every component that lies there gives about ten digits. Components without variance are point masses
    and are summed.

    Notes
    -----
    O(c²) for c different components.
    """
    live = weights > 0
    states = np.broadcast_to(np.arange(len(weights))[:, None], weights.shape)[live]
    shares = weights.sum(axis=1)
    is_point = variances[live] == 0
    pairs = np.column_stack([means[live], variances[live]])
    information, entropy = 0.0, 0.0
    for chosen in (is_point, ~is_point):
        if chosen.any():
            kinds, places = np.unique(pairs[chosen], axis=0, return_inverse=True)
            mass = np.zeros((len(weights), len(kinds)))
            np.add.at(mass, (states[chosen], places.reshape(-1)), weights[live][chosen])
            if chosen is is_point:
                information += _divergence(mass.T, shares)
                entropy = -math.inf
            else:
                gained, spread = _integrals(mass, np.sqrt(kinds[:, 1]), kinds[:, 0], shares)
                information, entropy = information + gained, entropy + spread
    unit = log_unit(base)
    return NumberInformation(information / unit if information > _ROUNDING else 0.0, entropy / unit)


def _integrals(mass: Array, deviations: Array, centers: Array, shares: Array) -> tuple[float, float]:
    """The information and the entropy of components with a density."""
    offsets = np.concatenate([-_ENDS[:0:-1], _ENDS])
    ends = np.unique(centers[:, None] + deviations[:, None] * offsets)
    lengths = np.diff(ends) / 2
    points = ((ends[:-1] + lengths)[:, None] + lengths[:, None] * _NODES).ravel()
    areas = (lengths[:, None] * _WEIGHTS).ravel()
    information = entropy = 0.0
    step = max(_MAX_STEP // len(centers), 1)
    for start in range(0, len(points), step):
        x, area = points[start : start + step], areas[start : start + step]
        noise = (x[:, None] - centers) / deviations
        densities = np.exp(-0.5 * noise * noise) / (deviations * math.sqrt(2 * math.pi))
        joint = densities @ mass.T
        information += _divergence(joint, shares, area)
        total = joint.sum(axis=1)
        entropy -= float(area @ (total * np.log(np.where(total > 0, total, 1.0))))
    return information, entropy


def _divergence(joint: Array, shares: Array, area: Array | None = None) -> float:
    """Σ p(t, x) log p(t, x) / (P(t) p(x)) over rows x, which weigh as their areas."""
    independent = joint.sum(axis=1, keepdims=True) * shares
    live = joint > 0
    terms = np.zeros(joint.shape)
    terms[live] = joint[live] * np.log(joint[live] / np.where(independent > 0, independent, 1.0)[live])
    rows = terms.sum(axis=1)
    return float(rows.sum() if area is None else area @ rows)
