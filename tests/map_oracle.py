"""The largest product by trying every assignment, and small models with labels on a grid."""

from __future__ import annotations

import math

import numpy as np
import pytest

from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.variables import Evidence, Variable

NO_EVIDENCE = Evidence.read({}, {})


def log_products(factors):
    """The names of the variables, and the logarithm of the product for every assignment, by state positions."""
    sizes = {variable.name: variable.num_states for factor in factors for variable in factor.scope}
    total = np.zeros(list(sizes.values()))
    for factor in factors:
        with np.errstate(divide="ignore"):
            table = np.log(factor.values)
        missing = tuple(name for name in sizes if name not in factor.names)
        table = table.reshape(table.shape + (1,) * len(missing))
        total = total + table.transpose([(*factor.names, *missing).index(name) for name in sizes])
    return list(sizes), dict(zip(np.ndindex(total.shape), total.ravel().tolist(), strict=True))


def largest(factors):
    """The largest logarithm of a product."""
    return max(log_products(factors)[1].values())


def assert_certified(engine, factors):
    """A value is at most the best, which is at most the value and its error; where it says exact it is the best."""
    expected = largest(factors)
    try:
        best = engine.best(factors, NO_EVIDENCE)
    except ImpossibleEvidence:
        assert expected == -math.inf
        return
    error = math.inf if best.info.error is None else best.info.error
    assert best.log_probability <= expected + 1e-9
    assert best.log_probability == -math.inf or expected <= best.log_probability + error + 1e-9
    assert not best.info.exact or best.log_probability == pytest.approx(expected, abs=1e-8)


def random_factors(rng, *, zeros=0.0, max_arity=3):
    """Up to eight factors over up to six variables of one to three states; some factors have no variables."""
    variables = [Variable(f"X{i}", int(rng.integers(1, 4))) for i in range(rng.integers(1, 7))]
    factors = []
    for _ in range(rng.integers(1, 9)):
        arity = rng.integers(0, min(len(variables), max_arity) + 1)
        scope = [variables[i] for i in rng.choice(len(variables), arity, replace=False)]
        table = np.exp(2 * rng.normal(size=[variable.num_states for variable in scope]))
        factors.append(Factor(scope, table * (rng.random(table.shape) >= zeros)))
    return factors


def random_labels(rng, distance, *, num_labels, num_variables=5, num_pairs=6):
    """Random preferences for labels, and exp(-weight * distance) of random pairs; a few variables have one state."""
    sizes = np.where(rng.random(num_variables) < 0.1, 1, num_labels)
    variables = [Variable(f"X{i}", int(size)) for i, size in enumerate(sizes)]
    factors = [Factor((v,), np.exp(-3 * rng.random(v.num_states))) for v in variables]
    for _ in range(num_pairs):
        i, j = rng.choice(num_variables, 2, replace=False)
        table = np.exp(-rng.uniform(0.1, 1.5) * distance)
        factors.append(Factor((variables[i], variables[j]), table[: sizes[i], : sizes[j]]))
    return factors


def grid(side, preferences, pair):
    """The same factor on each pair of neighbours in a square, and one for each pixel's preferences."""
    variables = [[Variable(f"X{i}_{j}", len(pair)) for j in range(side)] for i in range(side)]
    factors = [Factor((variables[i][j],), preferences[i][j]) for i in range(side) for j in range(side)]
    factors += [Factor((variables[i][j], variables[i + 1][j]), pair) for i in range(side - 1) for j in range(side)]
    factors += [Factor((variables[i][j], variables[i][j + 1]), pair) for i in range(side) for j in range(side - 1)]
    return factors
