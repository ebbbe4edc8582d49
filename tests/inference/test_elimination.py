"""Sum-product elimination over bare factors."""

from __future__ import annotations

import math
from itertools import permutations, product

import numpy as np
import pytest

from network_oracle import (
    assert_factor_equals,
    measure_of_markov_network,
    random_evidence,
    random_markov_network,
    total,
)
from network_oracle import posterior as posterior_by_hand
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.inference import absorb, enumerate_posterior, posterior, sum_product
from plausible.inference.elimination import finite_peaks, log_marginalize
from plausible.inference.posterior import read_targets
from plausible.variables import Evidence, Variable, likelihood
from refusals import refuses
from seeds import few_of


def _sums(net, targets):
    table = {}
    for assignment, weight in measure_of_markov_network(net):
        key = tuple(assignment[name] for name in targets)
        table[key] = table.get(key, 0.0) + weight
    return table


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_any_order_gives_the_same_sums(seed):
    """Sums commute; factor times scale is the unnormalised marginal."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables=4, num_factors=6)
    inside = sorted({name for factor in net.factors for name in factor.names})
    targets = inside[:2]
    hidden = inside[2:]
    expected = _sums(net, inside[:2])
    lonely = math.prod(v.num_states for name, v in net.variables.items() if name not in inside)
    for order in [None, *permutations(hidden)]:
        result = sum_product(net.factors, targets, order)
        assert result.factor.names == tuple(targets)
        for states, weight in expected.items():
            value = result.factor[dict(zip(targets, states, strict=True))] * math.exp(result.log_scale)
            assert value == pytest.approx(weight / lonely)
        assert result.log_total == pytest.approx(math.log(sum(expected.values()) / lonely))


def test_no_factors_and_scalars():
    """The empty product is one."""
    assert sum_product([], ()).log_total == 0
    assert sum_product([Factor.scalar(3.0)], ()).log_total == pytest.approx(math.log(3))
    assert sum_product([Factor.scalar(0.0)], ()).log_total == -math.inf
    assert sum_product([Factor.scalar(0.0)], ()).is_zero


def test_cost_is_the_sum_of_the_products():
    """A chain of n binary variables: a product of two variables a step."""
    chain = [Factor({f"X{i}": 2, f"X{i + 1}": 2}, np.ones((2, 2))) for i in range(10)]
    info = sum_product(chain, ["X10"]).info
    assert info.largest_table == 4
    assert info.cost == 10 * 4 + 2
    star = [Factor({"C": 2, f"L{i}": 2}, np.ones((2, 2))) for i in range(4)]
    assert sum_product(star, (), ["C", "L0", "L1", "L2", "L3"]).info.largest_table == 32
    assert sum_product(star, (), ["L0", "L1", "L2", "L3", "C"]).info.largest_table == 4


def test_too_large_is_refused_before_any_work():
    """The error names the clique and its size."""
    factors = [Factor({f"X{i}": 2, f"X{j}": 2}, np.ones((2, 2))) for i in range(40) for j in range(i)]
    refuses(TooLarge, r"a table over 40 variables \(X1, X0, .*\.\.\.\) with 1.1e\+12 entries", sum_product, factors, ())
    with pytest.raises(TooLarge):
        sum_product([Factor({"A": 4, "B": 4}, np.ones((4, 4)))], (), max_entries=15)


def test_orders_are_checked():
    """A variable left out, a target in the order; names that no factor has are passed over."""
    factor = Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]])
    refuses(InvalidArgument, "lacks 'B'", sum_product, [factor], ["A"], [])
    refuses(InvalidArgument, "has 'A', which is a target", sum_product, [factor], ["A"], ["A", "B"])
    assert sum_product([factor], ["A"], ["Z", "B"]).factor.normalize().values == pytest.approx([0.3, 0.7])


@pytest.mark.parametrize("power", [10, 1000, 5000])
def test_probabilities_far_below_the_smallest_float(power):
    """A product of ten thousand small numbers comes out right: 1e-5000 and less."""
    a = Variable("A", 2)
    factors = [Factor((a,), [0.1, 0.05])] * power
    result = sum_product(factors, ())
    assert result.log_total == pytest.approx(power * math.log(0.1) + math.log1p(0.5**power))


def test_underflow_is_not_mistaken_for_zero():
    """What is too small for a float in one factor may be all that is left in the end."""
    a, b = Variable("A", 2), Variable("B", 2)
    factors = [Factor((a,), [1.0, 1e-200])] * 3 + [Factor((a, b), [[0.0, 0.0], [1.0, 3.0]])]
    result = sum_product(factors, ["B"])
    assert result.factor.normalize().values == pytest.approx([0.25, 0.75])
    assert result.log_total == pytest.approx(600 * math.log(0.1) + math.log(4))
    zero = sum_product([*factors, Factor((b,), [0.0, 0.0])], ["B"])
    assert zero.is_zero
    assert zero.log_total == -math.inf


def test_thousands_of_opposed_factors_need_no_logarithms(monkeypatch):
    """Their product halves again and again, but it is scaled before it vanishes: no digit is lost."""
    monkeypatch.setattr("plausible.inference.elimination.log_marginalize", None)
    a, b = Variable("A", 2), Variable("B", 2)
    opposed = [Factor((a,), [1.0, 0.5]), Factor((a,), [0.5, 1.0])] * 2000
    result = sum_product([*opposed, Factor((a, b), [[0.25, 0.5], [0.125, 0.125]])], ["B"])
    assert result.factor.normalize().values.tolist() == [0.375, 0.625]
    assert result.log_total == pytest.approx(-2000 * math.log(2), rel=1e-15)
    large = sum_product([Factor((a,), [2.0**200, 2.0**200])] * 2000, ())
    assert large.log_total == pytest.approx(400_001 * math.log(2), rel=1e-15)


def test_scaling_rounds_nothing():
    """Powers of two: the answer of a single table is the table."""
    values = np.random.default_rng(0).random((3, 4))
    result = sum_product([Factor({"A": 3, "B": 4}, values)], ["A", "B"])
    scale = math.exp(result.log_scale)
    assert math.log2(scale) == pytest.approx(round(math.log2(scale)))
    np.testing.assert_array_equal(result.factor.values * 2.0 ** round(math.log2(scale)), values)


def test_log_marginalize_of_minus_infinity():
    """log Σ exp of nothing is -inf, and never NaN."""
    table = Factor({"A": 2, "B": 2}, [[-math.inf, -math.inf], [-math.inf, 0.0]])
    assert log_marginalize(table, "B").values.tolist() == [-math.inf, 0.0]
    assert finite_peaks(table, "B").values.tolist() == [0.0, 0.0]


def test_absorbing_evidence():
    """States reduce, soft findings become factors; other kinds are refused."""
    a, b = Variable("A", 2), Variable("B", 3)
    table = Factor((a, b), np.arange(6).reshape(2, 3))
    variables = {"A": a, "B": b}
    reduced = absorb([table], Evidence.read({"A": 1}, variables))
    assert [factor.values.tolist() for factor in reduced] == [[3, 4, 5]]
    soft = absorb([table], Evidence.read({"B": [0, 2]}, variables))
    assert soft[1].values.tolist() == [1, 0, 1]
    with pytest.raises(NotSupported):
        absorb([table], Evidence({}, {}, {"x": 0.5}))


def test_grids_are_summed_exactly():
    """A 3 x 4 grid against all 4096 assignments."""
    rng = np.random.default_rng(3)
    names = [[f"{r}{c}" for c in range(4)] for r in range(3)]
    pairs = [(names[r][c], names[r][c + 1]) for r in range(3) for c in range(3)]
    pairs += [(names[r][c], names[r + 1][c]) for r in range(2) for c in range(4)]
    tables = [rng.random((2, 2)) for _ in pairs]
    flat = [name for row in names for name in row]
    total = 0.0
    for states in product(range(2), repeat=12):
        x = dict(zip(flat, states, strict=True))
        weight = 1.0
        for (a, b), table in zip(pairs, tables, strict=True):
            weight *= table[x[a], x[b]]
        total += weight
    factors = [Factor({a: 2, b: 2}, table) for (a, b), table in zip(pairs, tables, strict=True)]
    result = sum_product(factors, ())
    assert result.log_total == pytest.approx(math.log(total))
    assert result.info.largest_table <= 2**4


@pytest.mark.parametrize("seed", few_of(12, 30))
@pytest.mark.parametrize("engine", [posterior, enumerate_posterior], ids=["elimination", "enumeration"])
def test_engines_equal_plain_loops(engine, seed):
    """Both exact engines, random factors, hard and soft evidence."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_factors=7)
    factors = [*net.factors, *(Factor((v,), np.ones(v.num_states)) for v in net.variables.values())]
    evidence = random_evidence(rng, net.variables, 2)
    measure = measure_of_markov_network(net)
    targets = [list(net.variables.values())[i] for i in rng.permutation(5)[:2]]
    soft = next((v for name, v in net.variables.items() if name not in evidence), None)
    weights = rng.random(soft.num_states) + 0.1
    weighted = [(a, w * weights[a[soft.name]]) for a, w in measure]
    found = Evidence.read({**evidence, soft.name: likelihood(weights)}, net.variables)
    if total(weighted, evidence) == 0:
        with pytest.raises(ImpossibleEvidence):
            engine(factors, targets, found)
    else:
        answer = engine(factors, targets, found)
        assert_factor_equals(answer, posterior_by_hand(weighted, [t.name for t in targets], evidence))
        assert answer.info.exact


def test_enumeration_is_refused_where_it_is_hopeless():
    """2^40 entries."""
    factors = [Factor({f"X{i}": 2}, [1, 1]) for i in range(40)]
    none = Evidence.read({}, {})
    refuses(TooLarge, "The joint distribution over 40 variables", enumerate_posterior, factors, factors[0].scope, none)
    assert posterior(factors, factors[0].scope, none).values == pytest.approx([0.5, 0.5])
    assert enumerate_posterior(factors[:3], factors[0].scope, none).info.cost == 8


def test_parts_without_targets_are_summed_only_if_they_have_zeros():
    """The cost tells what was done; zeros elsewhere are found out."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    none = Evidence.read({}, {})
    table = Factor((a,), [1, 3])
    answer = posterior([table, Factor((b, c), np.ones((2, 2)))], [a], none)
    assert answer.info.cost == 2
    assert answer.values == pytest.approx([0.25, 0.75])
    with pytest.raises(ImpossibleEvidence):
        posterior([table, Factor((b, c), np.eye(2)), Factor((b,), [1, 0]), Factor((c,), [0, 1])], [a], none)
    with pytest.raises(ImpossibleEvidence):
        posterior([table, Factor.scalar(0.0)], [a], none)


def test_targets_are_read_with_care():
    """One name or several, each once; unknown and continuous ones are refused."""
    variables = {"A": Variable("A", 2), "B": Variable("B", 2), "x": Variable("x")}
    assert [v.name for v in read_targets(["B", "A"], variables, "here")] == ["B", "A"]
    refuses(InvalidArgument, "twice", read_targets, ["B", "A", "B"], variables, "here")
    assert [v.name for v in read_targets("A", variables, "here")] == ["A"]
    refuses(UnknownVariable, "'C' is not a variable of here", read_targets, ["C"], variables, "here")
    refuses(NotSupported, "'x' is continuous", read_targets, "x", variables, "here")
    refuses(InvalidArgument, "not 3", read_targets, [3], variables, "here")


def test_no_targets_is_the_constant_one():
    """P() = 1."""
    answer = posterior([Factor({"A": 2}, [1, 3])], [], Evidence.read({}, {}))
    assert answer.names == ()
    assert answer.sum() == 1.0
