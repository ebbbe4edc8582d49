"""Weighted linear and logistic regression: small enough to be fitted anew for every resample."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats

__all__ = ["linear_fit", "logistic_fit", "logistic_mean"]


#: Precision of the Normal prior of each slope, per unit of weight: it only settles what the data leave open.
_RIDGE = 1e-8
_MAX_STEPS = 50


def linear_fit(design: Floats, response: Floats, weights: Floats) -> Floats:
    """The coefficients that minimise Σ w (y - xᵀβ)², of these the shortest.

    >>> linear_fit(np.array([[1.0, 0.0], [1.0, 1.0], [1.0, 2.0]]), np.array([1.0, 3.0, 5.0]), np.ones(3)).round(6)
    array([1., 2.])
    """
    root = np.sqrt(weights)
    return np.asarray(np.linalg.lstsq(design * root[:, None], response * root, rcond=None)[0])


def logistic_fit(design: Floats, response: Floats, weights: Floats) -> Floats:
    """The coefficients that maximise Σ w (y log σ(η) + (1 - y) log σ(-η)), η = xᵀβ, by Newton's method.

    A slight ridge keeps them finite where the data are separable; steps that would lower the objective are halved.

    >>> design = np.array([[1.0, 0.0], [1.0, 0.0], [1.0, 1.0], [1.0, 1.0]])
    >>> slopes = logistic_fit(design, np.array([0.0, 1.0, 0.0, 1.0]), np.array([3.0, 1.0, 1.0, 1.0]))
    >>> logistic_mean(design, slopes).round(4)
    array([0.25, 0.25, 0.5 , 0.5 ])
    """
    ridge = _RIDGE * max(weights.sum(), 1.0)
    slopes = np.zeros(design.shape[1])
    value = _objective(design, response, weights, slopes, ridge)
    for _ in range(_MAX_STEPS):
        mean = logistic_mean(design, slopes)
        gradient = design.T @ (weights * (response - mean)) - ridge * slopes
        curvature = (design * (weights * mean * (1 - mean))[:, None]).T @ design + ridge * np.eye(len(slopes))
        step = np.linalg.solve(curvature, gradient)
        for _ in range(30):
            tried = _objective(design, response, weights, slopes + step, ridge)
            if tried >= value:
                break
            step = step / 2
        slopes, gain, value = slopes + step, tried - value, tried
        if gain <= 1e-12 * (abs(value) + 1):
            break
    return slopes


def logistic_mean(design: Floats, slopes: Floats) -> Floats:
    """σ(xᵀβ) for each row."""
    return np.asarray(0.5 * (1.0 + np.tanh(0.5 * (design @ slopes))))


def _objective(design: Floats, response: Floats, weights: Floats, slopes: Floats, ridge: float) -> float:
    odds = design @ slopes
    return float(weights @ (response * odds - np.logaddexp(0.0, odds)) - 0.5 * ridge * slopes @ slopes)
