"""Random networks, and what they say by plain enumeration: dictionaries and a big array, no algebra of the library."""

from __future__ import annotations

from itertools import product as cartesian
from math import fsum

import numpy as np

from plausible.cpds import TableCPD
from plausible.factors import Factor
from plausible.models import BayesianNetwork, MarkovNetwork
from plausible.variables import Variable


def random_rows(rng, shape, zeros=0.2):
    """Rows that sum to one, some of their entries zero."""
    weights = rng.gamma(1.0, size=shape) * (rng.random(shape) >= zeros)
    weights[..., 0] += (weights.sum(axis=-1) == 0) * 1.0
    return weights / weights.sum(axis=-1, keepdims=True)


def random_network(rng, num_variables=5, max_states=3, edge_probability=0.5, zeros=0.2):
    """Tables over a random DAG: one-state variables, zeros and disconnected parts occur."""
    variables = [Variable(f"X{i}", int(rng.integers(1, max_states + 1))) for i in range(num_variables)]
    cpds = []
    for place, variable in enumerate(variables):
        parents = [variables[other] for other in range(place) if rng.random() < edge_probability]
        rng.shuffle(parents)
        shape = [v.num_states for v in (*parents, variable)]
        cpds.append(TableCPD(variable, random_rows(rng, shape, zeros), parents))
    rng.shuffle(cpds)
    return BayesianNetwork(cpds)


def random_markov_network(rng, num_variables=5, max_states=3, num_factors=5, zeros=0.15):
    """Factors over random scopes of one to three variables; a variable may be in none."""
    variables = [Variable(f"X{i}", int(rng.integers(1, max_states + 1))) for i in range(num_variables)]
    factors = []
    for _ in range(num_factors):
        chosen = rng.permutation(num_variables)[: rng.integers(1, 4)]
        scope = [variables[i] for i in chosen]
        shape = [v.num_states for v in scope]
        values = rng.gamma(1.0, size=shape) * 5
        values[(rng.random(shape) < zeros)] = 0.0
        values.flat[0] += 0.1  # the assignment of first states is never ruled out
        factors.append(Factor(scope, values))
    return MarkovNetwork(factors, variables=variables)


def assignments(variables):
    """All assignments as dictionaries, the last variable changing fastest."""
    names = list(variables)
    for states in cartesian(*(variables[name].states for name in names)):
        yield dict(zip(names, states, strict=True))


def joint_of_bayesian_network(net):
    """[(assignment, probability)], each a product of table entries."""
    return _products(net.variables, [((*cpd.parents, cpd.variable), cpd.values) for cpd in net.cpds.values()])


def measure_of_markov_network(net):
    """[(assignment, Π φ)]."""
    return _products(net.variables, [(factor.scope, factor.values) for factor in net.factors])


def _products(variables, tables):
    """[(assignment, product of the entries)] of tables with one axis for each variable of their scopes."""
    products = np.ones([variable.num_states for variable in variables.values()])
    for scope, values in tables:
        names = [variable.name for variable in scope]
        missing = [name for name in variables if name not in names]
        spread = np.reshape(values, (*np.shape(values), *(1 for _ in missing)))
        products = products * spread.transpose([(*names, *missing).index(name) for name in variables])
    return list(zip(assignments(variables), products.ravel().tolist(), strict=True))


def agrees(assignment, evidence):
    """Whether an assignment has all observed states."""
    return all(assignment[name] == state for name, state in evidence.items())


def total(joint, evidence):
    """The sum over all assignments that agree with the evidence."""
    return fsum(weight for assignment, weight in joint if agrees(assignment, evidence))


def posterior(joint, targets, evidence):
    """{states of the targets: probability}; the evidence must be possible."""
    table = {}
    for assignment, weight in joint:
        if agrees(assignment, evidence):
            key = tuple(assignment[name] for name in targets)
            table[key] = table.get(key, 0.0) + weight
    whole = fsum(table.values())
    return {key: weight / whole for key, weight in table.items()}


def assert_factor_equals(factor, expected, tolerance=1e-10):
    """Every entry of a factor equals the expected one; entries not listed are zero."""
    for states in cartesian(*(variable.states for variable in factor.scope)):
        value = factor[dict(zip(factor.names, states, strict=True))]
        assert abs(value - expected.get(states, 0.0)) <= tolerance, (states, value, expected.get(states, 0.0))


def random_evidence(rng, variables, count):
    """States of `count` random variables."""
    names = [list(variables)[i] for i in rng.permutation(len(variables))[:count]]
    return {name: variables[name].states[rng.integers(variables[name].num_states)] for name in names}


def binary(name, probability, parents=()):
    """A table over False and True, from the probability of True for each assignment to the parents (also binary)."""
    true = np.asarray(probability, dtype=float)
    return TableCPD(name, np.stack([1 - true, true], axis=-1), parents, states=[False, True])


def burglary_network():
    """Burglary and earthquake set off an alarm, on which John and Mary call (Pearl 1988; the conventional numbers)."""
    return BayesianNetwork(
        binary("B", 0.001),
        binary("E", 0.002),
        binary("A", [[0.001, 0.29], [0.94, 0.95]], ["B", "E"]),
        binary("J", [0.05, 0.90], ["A"]),
        binary("M", [0.01, 0.70], ["A"]),
    )


def asia_network():
    """Visit to Asia, tuberculosis, smoking, cancer, bronchitis, x-ray, dyspnoea (Lauritzen & Spiegelhalter 1988)."""
    return BayesianNetwork(
        binary("V", 0.01),
        binary("S", 0.5),
        binary("T", [0.01, 0.05], ["V"]),
        binary("L", [0.01, 0.1], ["S"]),
        binary("B", [0.3, 0.6], ["S"]),
        binary("A", [[0, 1], [1, 1]], ["T", "L"]),
        binary("X", [0.05, 0.98], ["A"]),
        binary("D", [[0.1, 0.8], [0.7, 0.9]], ["A", "B"]),
    )


def sprinkler_network():
    """Cloudy, sprinkler, rain, wet grass (the conventional numbers)."""
    return BayesianNetwork(
        binary("Cloudy", 0.5),
        binary("Sprinkler", [0.5, 0.1], ["Cloudy"]),
        binary("Rain", [0.2, 0.8], ["Cloudy"]),
        binary("WetGrass", [[0.0, 0.9], [0.9, 0.99]], ["Sprinkler", "Rain"]),
    )
