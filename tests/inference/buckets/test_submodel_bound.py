"""The bound from submodels against sums over all assignments, and its gradient against differences."""

from __future__ import annotations

import itertools
import math
from decimal import Decimal, localcontext
from fractions import Fraction

import numpy as np
import pytest

from map_oracle import NO_EVIDENCE, log_products
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.factors import Factor
from plausible.inference.buckets.submodel_bound import submodel_bound
from plausible.variables import Evidence, Variable, likelihood
from seeds import few_of


def joint(factors, powers=None):
    """log Σ Π φ^w, and the distribution over all assignments, by enumeration."""
    powers = np.ones(len(factors)) if powers is None else powers
    powered = [
        Factor(f.scope, f.values**w if w else np.ones(f.values.shape)) for f, w in zip(factors, powers, strict=True)
    ]
    values = np.array(list(log_products(powered)[1].values()))
    peak = values.max()
    total = peak + math.log(np.exp(values - peak).sum())
    return total, np.exp(values - total)


def random_case(seed, zeros=0.0):
    """A complete graph of four variables, and three submodels with weights that fit."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"X{i}", int(rng.integers(1, 4))) for i in range(4)]
    factors = []
    for a, b in itertools.combinations(variables, 2):
        table = np.exp(rng.normal(size=(a.num_states, b.num_states)))
        table *= rng.random(table.shape) >= zeros
        factors.append(Factor((a, b), np.where(table.any(), table, 1.0)))
    shares = rng.dirichlet(np.ones(3))
    weights = rng.random((3, len(factors))) * (rng.random((3, len(factors))) < 0.7)
    weights[0, ~weights.any(axis=0)] = 1.0
    return factors, weights / (shares @ weights), shares


@pytest.mark.parametrize("zeros", [0.0, 0.3])
@pytest.mark.parametrize("seed", range(7))
def test_the_bound_holds_and_is_the_mean_of_the_submodels(seed, zeros):
    """lower ≤ log Z ≤ Σ α log Z_k, each log Z_k by enumeration."""
    factors, weights, shares = random_case(seed, zeros)
    expected = log_products(factors)[1].values()
    total = math.log(sum(math.exp(value) for value in expected)) if max(expected) > -math.inf else -math.inf
    try:
        found = submodel_bound(factors, NO_EVIDENCE, weights, shares)
    except ImpossibleEvidence:
        assert total == -math.inf
        return
    assert found.estimate.lower - 1e-9 <= total <= found.estimate.upper + 1e-9
    exact = [joint(factors, row)[0] for row in weights]
    np.testing.assert_allclose(found.log_totals, exact, atol=1e-9)
    assert float(found.estimate) == pytest.approx(shares @ exact)


@pytest.mark.parametrize("seed", range(10))
def test_the_gap_is_the_mean_relative_entropy(seed):
    """Σ α D(P ‖ P_k), with the distributions by enumeration."""
    factors, weights, shares = random_case(seed)
    total, p = joint(factors)
    entropies = [float(p @ (np.log(p) - np.log(joint(factors, row)[1]))) for row in weights]
    assert submodel_bound(factors, NO_EVIDENCE, weights, shares).gap(total) == pytest.approx(shares @ entropies)


@pytest.mark.parametrize("seed", range(3))
def test_the_gradient_is_that_of_the_bound(seed):
    """Against central differences in the logarithm of each entry."""
    factors, weights, shares = random_case(seed)
    found = submodel_bound(factors, NO_EVIDENCE, weights, shares)
    for number, factor in enumerate(factors):
        for index in np.ndindex(factor.values.shape):
            ends = []
            for sign in (1, -1):
                table = factor.values.copy()
                table[index] *= math.exp(sign * 1e-5)
                changed = [*factors[:number], Factor(factor.scope, table), *factors[number + 1 :]]
                ends.append(float(shares @ [joint(changed, row)[0] for row in weights]))
            assert found.gradient[number].values[index] == pytest.approx((ends[0] - ends[1]) / 2e-5, abs=1e-6)


def test_the_model_itself_is_its_own_bound_with_evidence():
    """One submodel with weights of one; a state and a likelihood."""
    factors = [Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]]), Factor({"B": 2, "C": 2}, [[1, 5], [2, 1]])]
    variables = {variable.name: variable for factor in factors for variable in factor.scope}
    evidence = Evidence.read({"A": 1, "C": likelihood([0.5, 1.0])}, variables)
    found = submodel_bound(factors, evidence, [[1, 1]], [1])
    assert float(found.estimate) == pytest.approx(math.log(3 * (0.5 + 5) + 4 * (1 + 1)))


@pytest.mark.parametrize(
    ("weights", "shares", "words"),
    [
        ([[1, 1]], [0.5], "shares"),
        ([[1, 1]], [], "shares"),
        ([[1]], [1], "columns"),
        ([[1, 2]], [1], "factor 1"),
        ([[-1, 1], [3, 1]], [0.5, 0.5], "zeros"),
    ],
)
def test_what_is_no_mixture_is_refused(weights, shares, words):
    """By what is wrong."""
    factors = [Factor({"A": 2}, [0, 1]), Factor({"B": 2}, [1, 1])]
    with pytest.raises(InvalidArgument, match=words):
        submodel_bound(factors, NO_EVIDENCE, weights, shares)


def test_impossible_evidence_is_refused():
    """A factor that the evidence leaves no entry of."""
    factors = [Factor({"A": 2, "B": 2}, [[0, 0], [1, 1]])]
    evidence = Evidence.read({"A": 0}, {"A": factors[0].scope[0]})
    with pytest.raises(ImpossibleEvidence):
        submodel_bound(factors, evidence, [[1]], [1])


def test_powers_that_underflow_or_overflow_keep_the_bound():
    """Entries of 1e-200 and 1e-250, cubed or inverted, are beyond all floats; the bounds hold all the same."""
    variables = [Variable("A", 2), Variable("B", 2)]
    same = Factor(variables, np.full((2, 2), 1e-200) + np.array([[0.0, 1e-10], [1e-300, 0.0]]))
    ends = [Factor(variables[:1], [1.0, 1e-250]), Factor(variables[1:], [1e-250, 1.0])]
    truth = np.logaddexp.reduce(
        [
            np.log(same.values[a, b]) + np.log(ends[0].values[a]) + np.log(ends[1].values[b])
            for a in (0, 1)
            for b in (0, 1)
        ]
    )
    for weights in ([[3, 3, 3], [-1, -1, -1]], [[3, 1, -1], [-1, 1, 3]], [[1, 1, 1], [1, 1, 1]]):
        found = submodel_bound([same, *ends], Evidence.read({}, {}), weights, [0.5, 0.5])
        assert truth <= found.estimate.upper < math.inf
        assert found.estimate.lower <= truth


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_a_model_that_is_its_own_submodel_is_bracketed_to_the_last_bit(seed):
    """With one submodel the bound is log Z itself, so that rounding alone decides: it must not go below the sum."""
    rng = np.random.default_rng(seed)
    variables = [Variable(f"X{i}", 3) for i in range(6)]
    tables = [np.exp(5 * rng.normal(size=(3, 3))) for _ in range(5)]
    chain = [Factor(pair, table) for pair, table in zip(itertools.pairwise(variables), tables, strict=True)]
    exact = sum(
        math.prod(Fraction(table[i, j]) for table, (i, j) in zip(tables, itertools.pairwise(states), strict=True))
        for states in itertools.product(range(3), repeat=6)
    )
    found = submodel_bound(chain, Evidence.read({}, {}), np.ones((1, 5)), [1.0]).estimate.upper
    with localcontext(prec=40):
        log_exact = (Decimal(exact.numerator) / Decimal(exact.denominator)).ln()
        assert log_exact <= Decimal(found) <= log_exact + Decimal("1e-10")
