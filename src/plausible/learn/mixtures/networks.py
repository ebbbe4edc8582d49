"""A mixture as a Bayesian network with a hidden class."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD, ConditionalGaussianCPD, TableCPD
from plausible.learn.mixtures.options import MixtureKind, MixtureParameters
from plausible.learn.mixtures.rows import MixtureSpace
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["mixture_network"]


def mixture_network(space: MixtureSpace, kind: MixtureKind, parameters: MixtureParameters) -> BayesianNetwork:
    """The same distribution: the cluster above all features, dependent numbers as a chain of regressions.

    Parameters
    ----------
    space
        The features and the units of their numbers.
    kind
        Whether numbers depend on each other.
    parameters
        In these units.
    """
    name, taken = "cluster", {variable.name for variable in (*space.discrete, *space.continuous)}
    while name in taken:
        name += "_"
    cluster = Variable(name, len(parameters.weights))
    cpds: list[CPD] = [TableCPD(cluster, parameters.weights)]
    for number, variable in enumerate(space.discrete):
        columns = slice(space.offsets[number], space.offsets[number + 1])
        cpds.append(TableCPD(variable, parameters.tables[:, columns], parents=[cluster]))
    means = space.location + space.scale * parameters.means
    if not kind.has_matrices:
        variances = parameters.covariances * space.scale**2
        for number, variable in enumerate(space.continuous):
            cpds.append(ConditionalGaussianCPD(variable, means[:, number], {}, variances[:, number], [cluster]))
        return BayesianNetwork(*cpds)
    covariances = parameters.covariances * np.outer(space.scale, space.scale)
    cpds += [_regression(number, space.continuous, cluster, means, covariances) for number in range(means.shape[1])]
    return BayesianNetwork(*cpds)


def _regression(
    number: int, variables: tuple[Variable, ...], cluster: Variable, means: Floats, covariances: Floats
) -> ConditionalGaussianCPD:
    """The distribution of a number given those before it, in each cluster."""
    before, across = covariances[:, :number, :number], covariances[:, :number, number]
    slopes = np.linalg.solve(before, across[:, :, None])[:, :, 0]
    intercepts = means[:, number] - (slopes * means[:, :number]).sum(axis=1)
    variances = covariances[:, number, number] - (slopes * across).sum(axis=1)
    parents = variables[:number]
    coefficients = {parent.name: slopes[:, place] for place, parent in enumerate(parents)}
    return ConditionalGaussianCPD(variables[number], intercepts, coefficients, variances, [cluster, *parents])
