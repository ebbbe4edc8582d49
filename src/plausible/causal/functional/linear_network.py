"""Linear equations as a network in which correlated noise has explicit latent causes."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import numpy.typing as npt

from plausible.causal.functional.naming import fresh_name
from plausible.cpds import CPD, LinearGaussianCPD
from plausible.factors.definite import pivoted_root
from plausible.models import BayesianNetwork

__all__ = ["network_of"]

Array = npt.NDArray[np.float64]


def network_of(names: Sequence[str], coefficients: Array, intercepts: Array, covariance: Array) -> BayesianNetwork:
    """The linear Gaussian network of X = B X + c + ε, ε ~ N(0, Ω), with standard normal latent roots U.

    Each block of correlated noise is split as Ω = S (Λ Λᵀ + λ I) S, S the standard deviations and λ the smallest
    eigenvalue of the correlations, so that a variable keeps as much noise of its own as can be.

    Parameters
    ----------
    names
        The variables.
    coefficients
        B.
    intercepts
        c.
    covariance
        Ω.
    """
    loadings: dict[str, dict[str, float]] = {name: {} for name in names}
    own = covariance.diagonal().copy()
    latent: list[CPD] = []
    taken = set(names)
    for block in _blocks(covariance):
        scale = np.sqrt(own[block])
        correlation = covariance[np.ix_(block, block)] / scale[:, None] / scale
        least = max(float(np.linalg.eigvalsh(correlation)[0]), 0.0)
        weights = scale[:, None] * pivoted_root(correlation - least * np.eye(len(block)), 1e-12).root
        own[block] = least * scale**2
        for number, column in enumerate(weights.T.tolist(), start=1):
            name = fresh_name("_".join(["U", *(names[place] for place in block), str(number)]), taken)
            latent.append(LinearGaussianCPD(name))
            for place, weight in zip(block, column, strict=True):
                loadings[names[place]][name] = weight
    cpds: list[CPD] = []
    for place, name in enumerate(names):
        causes = {names[j]: float(coefficients[place, j]) for j in np.flatnonzero(coefficients[place]).tolist()}
        cpds.append(LinearGaussianCPD(name, float(intercepts[place]), {**causes, **loadings[name]}, float(own[place])))
    return BayesianNetwork([*latent, *cpds])


def _blocks(covariance: Array) -> list[list[int]]:
    """The connected groups of two or more positions whose noise is correlated."""
    blocks: list[list[int]] = []
    seen: set[int] = set()
    for start in range(len(covariance)):
        group, front = {start}, [start]
        while front:
            new = set(np.flatnonzero(covariance[front.pop()]).tolist()) - group
            group |= new
            front += new
        if len(group) > 1 and start not in seen:
            blocks.append(sorted(group))
        seen |= group
    return blocks
