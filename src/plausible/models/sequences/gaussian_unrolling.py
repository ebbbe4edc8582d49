"""A linear dynamical system as a Bayesian network of so many steps."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD, LinearGaussianCPD
from plausible.errors import NotSupported
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.sequences.system_matrices import LinearSystem


def unrolled_system(model: LinearSystem, inputs: Floats) -> BayesianNetwork:
    """The steps one after the other; variables are called `name[t]`, from 0."""
    if len(model.initial.diffuse):
        raise NotSupported(
            "The first state has infinite variance, which no distribution of a network has: give initial_covariance= "
            "with finite variances."
        )
    cpds: list[CPD] = []
    for t in range(len(inputs)):
        here, before = _at(model.states, t), _at(model.states, t - 1)
        if t:
            means, noise = inputs[t] @ model.transition_input.T, model.transition_noise
            cpds += _regressions(here, means, before, model.transition, noise)
        else:
            empty = np.zeros((len(here), 0))
            cpds += _regressions(here, model.initial.mean, (), empty, model.initial.covariance)
        seen, moved = _at(model.observations, t), inputs[t] @ model.observation_input.T
        cpds += _regressions(seen, moved, here, model.observation, model.observation_noise)
    return BayesianNetwork(cpds)


def _at(names: Sequence[str], t: int) -> tuple[str, ...]:
    return tuple(f"{name}[{t}]" for name in names)


def _regressions(
    names: Sequence[str], means: Floats, parents: Sequence[str], gains: Floats, noise: Floats
) -> list[CPD]:
    """names = means + gains · parents + noise, one after the other: each given the ones before it, too."""
    cpds: list[CPD] = []
    for i, name in enumerate(names):
        shares = np.linalg.lstsq(noise[:i, :i], noise[:i, i], rcond=None)[0] if i else np.zeros(0)
        variance = float(noise[i, i] - shares @ noise[:i, i])
        weights = dict(zip(parents, gains[i] - shares @ gains[:i], strict=True))
        weights |= dict(zip(names[:i], shares, strict=True))
        kept = {parent: float(weight) for parent, weight in weights.items() if weight != 0.0}
        intercept = float(means[i] - shares @ means[:i])
        cpds.append(LinearGaussianCPD(name, intercept, kept, variance if variance > 1e-12 * noise[i, i] else 0.0))
    return cpds
