"""Hybrid networks by brute force: every discrete configuration with its weight and its Gaussian, in plain NumPy."""

from __future__ import annotations

import math
from itertools import product as cartesian

import numpy as np

from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, TableCPD
from plausible.models import BayesianNetwork
from plausible.variables import Variable

# --- the oracle ---


def gaussian_given(net, order, config):
    """Mean and covariance of the continuous variables where the discrete ones have the positions in `config`."""
    place = {name: i for i, name in enumerate(order)}
    B, a, v = np.zeros((len(order),) * 2), np.zeros(len(order)), np.zeros(len(order))
    for name in order:
        cpd = net.cpds[name]
        if isinstance(cpd, LinearGaussianCPD):
            parents = zip(cpd.parent_names, cpd.coefficients, strict=True)
            a[place[name]], v[place[name]] = cpd.intercept, cpd.variance
        else:
            at = tuple(config[parent] for parent in cpd.discrete_names)
            parents = [(parent, cpd.coefficients[parent][at]) for parent in cpd.continuous_names]
            a[place[name]], v[place[name]] = cpd.intercept[at], cpd.variance[at]
        for parent, slope in parents:
            B[place[name], place[parent]] = slope
    inverse = np.linalg.inv(np.eye(len(order)) - B)
    return inverse @ a, inverse @ np.diag(v) @ inverse.T


def condition(mean, covariance, seen, values):
    """(mean, covariance, log-density on the support, lost dimensions), or None where the values are impossible."""
    values = np.asarray(values, dtype=float)
    eigenvalues, vectors = np.linalg.eigh(covariance[np.ix_(seen, seen)])
    kept = eigenvalues > 1e-9
    surprise = values - mean[seen]
    inside = vectors[:, kept]
    if seen and np.abs(surprise - inside @ (inside.T @ surprise)).max() > 1e-6:
        return None
    pseudo = inside @ np.diag(1 / eigenvalues[kept]) @ inside.T
    log_density = -0.5 * (np.log(2 * np.pi * eigenvalues[kept]).sum() + surprise @ pseudo @ surprise)
    gain = covariance[:, seen] @ pseudo
    return mean + gain @ surprise, covariance - gain @ covariance[seen], log_density, int((~kept).sum())


class Enumerated:
    """Every discrete configuration with its weight and its Gaussian, by brute force."""

    def __init__(self, net, evidence, soft=None):
        self.discrete = [name for name, v in net.variables.items() if not v.is_continuous]
        self.order = [str(n) for n in net.graph.topological_order if net.variables[str(n)].is_continuous]
        seen = [i for i, name in enumerate(self.order) if name in evidence]
        values = [evidence[self.order[i]] for i in seen]
        found = []
        for positions in cartesian(*(range(net.variables[name].num_states) for name in self.discrete)):
            config = dict(zip(self.discrete, positions, strict=True))
            weight = math.prod(
                net.cpds[name].to_factor().values[(*(config[p] for p in net.cpds[name].parent_names), config[name])]
                for name in self.discrete
            )
            for name in self.discrete:
                weight *= (soft or {}).get(name, [1.0] * 99)[config[name]]
                if name in evidence:
                    weight *= net.variables[name].index(evidence[name]) == config[name]
            given = condition(*gaussian_given(net, self.order, config), seen, values) if weight > 0 else None
            if given is not None:
                found.append((config, math.log(weight) + given[2], given[0], given[1], given[3]))
        self.masses = max((entry[4] for entry in found), default=0)
        found = [entry for entry in found if entry[4] == self.masses]
        self.found = found
        logs = np.array([entry[1] for entry in found])
        self.log_total = -math.inf if not found else float(logs.max() + np.log(np.exp(logs - logs.max()).sum()))
        self.weights = np.exp(logs - self.log_total) if found else logs

    def table(self, names, sizes):
        table = np.zeros(sizes)
        for (config, *_), weight in zip(self.found, self.weights, strict=True):
            table[tuple(config[name] for name in names)] += weight
        return table

    def moments(self, names, where=None):
        """Weight, mean and covariance of continuous variables where some discrete ones have given positions."""
        axes = [self.order.index(name) for name in names]
        chosen = [
            (weight, mean[axes], covariance[np.ix_(axes, axes)])
            for (config, _, mean, covariance, _), weight in zip(self.found, self.weights, strict=True)
            if all(config[name] == position for name, position in (where or {}).items())
        ]
        total = sum(weight for weight, _, _ in chosen)
        mean = sum(weight * m for weight, m, _ in chosen) / total
        second = sum(weight * (c + np.outer(m, m)) for weight, m, c in chosen) / total
        return total, mean, second - np.outer(mean, mean)


# --- random networks ---


def random_hybrid(rng, num_discrete, num_continuous, zero_variances):
    """Discrete tables with zeros, then conditional Gaussians; one-state variables and loose parts occur."""
    discrete = [Variable(f"d{i}", int(rng.integers(1, 4))) for i in range(num_discrete)]
    cpds = []
    for place, variable in enumerate(discrete):
        parents = [other for other in discrete[:place] if rng.random() < 0.4]
        table = rng.gamma(1.0, size=[v.num_states for v in (*parents, variable)])
        table *= rng.random(table.shape) > 0.2
        table[..., 0] += table.sum(axis=-1) == 0
        cpds.append(TableCPD(variable, table / table.sum(axis=-1, keepdims=True), parents))
    names = [f"x{i}" for i in range(num_continuous)]
    for place, name in enumerate(names):
        above = [other for other in names[:place] if rng.random() < 0.5]
        choice = [0.0, 0.5, 1.0, 2.0] if zero_variances else [0.5, 1.0, 2.0]
        parents = [variable for variable in discrete if rng.random() < 0.3]
        if not parents:
            slopes = {other: float(rng.choice([-1.5, -1.0, 0.5, 1.0, 2.0])) for other in above}
            cpds.append(LinearGaussianCPD(name, float(rng.integers(-2, 3)), slopes, float(rng.choice(choice))))
            continue
        shape = [variable.num_states for variable in parents]
        slopes = {other: rng.choice([-1.5, -1.0, 0.0, 0.5, 1.0, 2.0], size=shape) for other in above}
        mixed = [*parents, *(Variable(other) for other in above)]
        rng.shuffle(mixed)
        intercept, variance = rng.integers(-2, 3, size=shape).astype(float), rng.choice(choice, size=shape)
        axes = [parents.index(variable) for variable in mixed if not variable.is_continuous]
        arrays = [array.transpose(axes) for array in (intercept, variance)]
        slopes = {other: array.transpose(axes) for other, array in slopes.items()}
        cpds.append(ConditionalGaussianCPD(name, arrays[0], slopes, arrays[1], mixed))
    rng.shuffle(cpds)
    return BayesianNetwork(cpds)


def random_evidence(rng, net):
    """Values that one forward sample took, for some of the variables."""
    row = net.sample(1, seed=int(rng.integers(2**31)))
    chosen = [name for name in net.variables if rng.random() < 0.4]
    return {name: row[name].iloc[0] for name in chosen}
