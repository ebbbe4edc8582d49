"""The k best assignments against sorting all of them."""

from __future__ import annotations

import math
from itertools import permutations

import numpy as np
import pytest

import plausible as pb
from benchmark_networks import benchmark_network
from network_oracle import (
    agrees,
    burglary_network,
    joint_of_bayesian_network,
    measure_of_markov_network,
    random_evidence,
    random_markov_network,
    random_network,
)
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidFactor, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.inference.exact_map.max_elimination import best_assignments, constrained_order, max_product
from plausible.variables import Evidence, Variable, likelihood
from refusals import refuses
from seeds import few_of


def check_against(answers, weights, k):
    """The answers are distinct, attain their values, descend, and have the k largest of all weights."""
    expected = sorted((weight for weight in weights.values() if weight > 0), reverse=True)[:k]
    assert [math.exp(a.log_probability) for a in answers] == pytest.approx(expected, rel=1e-10)
    keys = [tuple(answer.values()) for answer in answers]
    assert len(set(keys)) == len(keys)
    for key, answer in zip(keys, answers, strict=True):
        assert weights[key] == pytest.approx(math.exp(answer.log_probability), rel=1e-10)
    logs = [answer.log_probability for answer in answers]
    assert logs == sorted(logs, reverse=True)


@pytest.mark.parametrize("seed", few_of(8, 40))
@pytest.mark.parametrize("k", [1, 7, 1000])
def test_best_assignments_are_the_first_of_all_sorted(seed, k):
    """With zeros, one-state variables and evidence; fewer answers where fewer are possible."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.3)
    joint = joint_of_bayesian_network(net)
    evidence = random_evidence(rng, net.variables, int(rng.integers(0, 3)))
    weights = {tuple(a.values()): weight for a, weight in joint if agrees(a, evidence)}
    found = Evidence.read(evidence, net.variables)
    variables = list(net.variables.values())
    if not any(weights.values()):
        with pytest.raises(ImpossibleEvidence):
            best_assignments(net.factors, k, found, variables)
        return
    check_against(best_assignments(net.factors, k, found, variables), weights, k)


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_ties_are_all_found(seed):
    """Weights of 0, 1 and 2 alone: most products tie, and each assignment still comes once."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables=5, num_factors=5)
    factors = [
        Factor(f.scope, rng.integers(0, 3, f.shape) + (np.arange(f.size) == 0).reshape(f.shape)) for f in net.factors
    ]
    tied = pb.MarkovNetwork(factors, variables=net.variables.values())
    weights = {tuple(a.values()): weight for a, weight in measure_of_markov_network(tied)}
    variables = list(net.variables.values())
    for k in (3, 40, 10_000):
        check_against(best_assignments(factors, k, Evidence.read({}, {}), variables), weights, k)


def test_a_longer_list_begins_with_the_shorter_one():
    """Also where all are equally good, and whenever it is asked."""
    variables = [Variable(f"X{i}", 3) for i in range(5)]
    factors = [Factor(variables[i : i + 2], np.ones((3, 3))) for i in range(4)]
    everything = best_assignments(factors, 1000, Evidence.read({}, {}))
    assert len(everything) == len(set(everything)) == 3**5
    assert best_assignments(factors, 20, Evidence.read({}, {})) == everything[:20]
    assert best_assignments(factors, 1000, Evidence.read({}, {})) == everything


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_other_variables_are_summed_out(seed):
    """Given targets, the answers are the most probable assignments to these."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.3)
    targets = [list(net.variables)[i] for i in rng.permutation(6)[: rng.integers(0, 5)]]
    weights = {}
    for assignment, weight in joint_of_bayesian_network(net):
        key = tuple(assignment[name] for name in targets)
        weights[key] = weights.get(key, 0.0) + weight
    answers = best_assignments(net.factors, 10, Evidence.read({}, {}), [net.variables[name] for name in targets])
    check_against(answers, weights, 10)


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("k", [1, 5, 1000])
def test_a_search_finds_the_same_list_where_the_tables_do_not_fit(seed, k):
    """Other variables are summed out, zeros and evidence included; tables of two entries are too large."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=7, zeros=0.3)
    evidence = random_evidence(rng, net.variables, 1)
    targets = list(net.variables)[::2]
    weights = {}
    for assignment, weight in joint_of_bayesian_network(net):
        if agrees(assignment, evidence):
            key = tuple(assignment[name] for name in targets)
            weights[key] = weights.get(key, 0.0) + weight
    if not any(weights.values()):
        return
    found, wanted = Evidence.read(evidence, net.variables), [net.variables[name] for name in targets]
    answers = best_assignments(net.factors, k, found, wanted, max_entries=1)
    check_against(answers, weights, k)
    expected = best_assignments(net.factors, k, found, wanted)
    assert [a.log_probability for a in answers] == pytest.approx([a.log_probability for a in expected], rel=1e-10)


def test_a_search_that_does_not_end_in_time_is_refused():
    """Sixty maxima over a grid of hidden variables: no answer is passed off as the best."""
    rng = np.random.default_rng(0)
    pairs = [(f"X{i}", f"X{j}") for i in range(40) for j in rng.choice(40, 3) if i != j]
    factors = [Factor({a: 2, b: 2}, rng.gamma(0.3, size=(2, 2)) + 1e-3) for a, b in pairs]
    hidden = [Factor({f"X{i}": 2, f"H{i % 5}": 2}, rng.gamma(0.3, size=(2, 2)) + 1e-3) for i in range(40)]
    wanted = [Variable(f"X{i}", 2) for i in range(40)]
    with pytest.raises(TooLarge, match="did not come to its end"):
        best_assignments([*factors, *hidden], 50, Evidence.read({}, {}), wanted, max_entries=2**10, time_limit=0.01)


def test_soft_evidence_weighs():
    """Virtual evidence multiplies; one of several states excludes the others."""
    a, b = Variable("A", ["x", "y", "z"]), Variable("B", 2)
    table = Factor((a, b), [[0.1, 0.2], [0.3, 0.1], [0.2, 0.1]])
    variables = {"A": a, "B": b}
    found = Evidence.read({"A": ["x", "z"], "B": likelihood([1.0, 0.25])}, variables)
    answers = best_assignments([table], 9, found)
    values = {tuple(answer.values()): math.exp(answer.log_probability) for answer in answers}
    assert values == pytest.approx({("z", 0): 0.2, ("x", 0): 0.1, ("x", 1): 0.05, ("z", 1): 0.025})
    with pytest.raises(NotSupported):
        best_assignments([table], 1, Evidence({}, {}, {"x": 0.5}))


def test_variables_without_factors_take_every_state():
    """They multiply the number of answers, not the value."""
    a, lonely = Variable("A", 2), Variable("L", 3)
    answers = best_assignments([Factor((a,), [0.25, 0.75])], 4, Evidence.read({}, {}), [lonely, a])
    assert [answer["A"] for answer in answers] == [1, 1, 1, 0]
    assert {answer["L"] for answer in answers[:3]} == {0, 1, 2}
    assert [math.exp(answer.log_probability) for answer in answers] == pytest.approx([0.75] * 3 + [0.25])


def test_nothing_to_assign():
    """No variables: one empty assignment, of the product of the constants."""
    (only,) = best_assignments([Factor.scalar(0.5)], 5, Evidence.read({}, {}))
    assert dict(only) == {}
    assert math.exp(only.log_probability) == pytest.approx(0.5)


@pytest.mark.parametrize("k", [0, -1, 1.5, True, "3", None])
def test_k_is_a_positive_integer(k):
    """Anything else is refused by name."""
    refuses(InvalidArgument, "how many assignments", best_assignments, [], k, Evidence.read({}, {}))


def test_tables_that_do_not_fit_are_refused():
    """Before any work is done."""
    factors = [Factor({f"X{i}": 2, f"X{j}": 2}, np.ones((2, 2))) for i in range(40) for j in range(i)]
    refuses(TooLarge, "40 variables", best_assignments, factors, 2, Evidence.read({}, {}))


def test_a_hundred_best_of_a_real_network():
    """ALARM: the first is the MPE, each value is the product of its table entries, and no two are the same."""
    net = benchmark_network("alarm")
    evidence = {"HRBP": "HIGH", "BP": "LOW"}
    found = Evidence.read(evidence, net.variables)
    answers = best_assignments(net.factors, 100, found, list(net.variables.values()))
    assert len(set(answers)) == 100
    assert answers[0].log_probability == pytest.approx(net.mpe(evidence).log_probability, rel=1e-12)
    rows = {name: [answer[name] for answer in answers] for name in net.variables}
    logs = [answer.log_probability for answer in answers]
    assert logs == pytest.approx(net.log_likelihood(rows).tolist(), rel=1e-10)
    assert logs == sorted(logs, reverse=True)
    assert all(answer["HRBP"] == "HIGH" for answer in answers)


@pytest.mark.parametrize("seed", few_of(16, 40))
def test_the_best_assignment_has_the_largest_product(seed):
    """The value is the maximum over the whole joint, and the assignment attains it."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6, zeros=0.3)
    joint = joint_of_bayesian_network(net)
    best = max_product(net.factors)
    assert math.exp(best.log_probability) == pytest.approx(max(weight for _, weight in joint), rel=1e-12)
    attained = next(weight for assignment, weight in joint if assignment == dict(best))
    assert attained == pytest.approx(math.exp(best.log_probability), rel=1e-12)


@pytest.mark.parametrize("seed", range(5))
def test_every_order_gives_the_same_value(seed):
    """Maxima commute; the traceback of every order attains the maximum."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables=4, num_factors=6)
    inside = sorted({name for factor in net.factors for name in factor.names})
    products = measure_of_markov_network(net)
    largest = max(weight for _, weight in products)
    for order in permutations(inside):
        best = max_product(net.factors, order)
        assert math.exp(best.log_probability) == pytest.approx(largest, rel=1e-12)
        weights = {weight for assignment, weight in products if all(assignment[name] == best[name] for name in best)}
        assert max(weights) == pytest.approx(largest, rel=1e-12)


def test_the_alarm_most_likely_stays_silent():
    """By hand: no burglary, no earthquake, no alarm, no calls, 0.999 · 0.998 · 0.999 · 0.95 · 0.99."""
    best = max_product(burglary_network().factors)
    assert not any(best.values())
    assert math.exp(best.log_probability) == pytest.approx(0.999 * 0.998 * 0.999 * 0.95 * 0.99)


def test_ties_go_to_the_first_state():
    """All assignments are equally good: each variable takes its first state, in every order."""
    scope = [Variable(name, ["u", "v", "w"]) for name in "ABC"]
    flat = [Factor(scope[:2], np.ones((3, 3))), Factor(scope[1:], np.ones((3, 3)))]
    for order in permutations("ABC"):
        assert set(max_product(flat, order).values()) == {"u"}


def test_products_far_below_the_smallest_float():
    """A chain of 1000 steps of probability 1e-3 has the right logarithm."""
    chain = [Factor({f"X{i}": 2, f"X{i + 1}": 2}, [[1e-3, 1e-4], [1e-5, 1e-4]]) for i in range(1000)]
    best = max_product(chain)
    assert best.log_probability == pytest.approx(1000 * math.log(1e-3), rel=1e-12)
    assert set(best.values()) == {0}


def test_nothing_to_maximize():
    """The empty product is one; constants count; one-state variables have their state."""
    assert max_product([]).log_probability == 0
    assert max_product([Factor.scalar(3.0)]).log_probability == pytest.approx(math.log(3))
    assert max_product([Factor({"A": ["only"]}, [0.5])]) == {"A": "only"}


def test_all_zero_is_impossible():
    """There is no best among impossible assignments; a negative entry has no logarithm."""
    with pytest.raises(ImpossibleEvidence, match="No assignment has a positive product"):
        max_product([Factor({"A": 2}, [1, 0]), Factor({"A": 2}, [0, 1])])
    with pytest.raises(InvalidFactor):
        max_product([Factor({"A": 2}, [1, -1])])


def test_too_large_is_refused_before_any_work():
    """The error names the largest table."""
    factors = [Factor({f"X{i}": 2, f"X{j}": 2}, np.ones((2, 2))) for i in range(40) for j in range(i)]
    refuses(TooLarge, r"largest over 40 variables \(.*\.\.\.\)", max_product, factors)


def test_orders_are_checked():
    """A variable left out; a maximum before a sum; names that no factor has are passed over."""
    factor = Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]])
    refuses(InvalidArgument, "lacks 'B'", max_product, [factor], ["A"])
    refuses(InvalidArgument, "'A', which is maximised, before", constrained_order, [factor], ["A"], ["A", "B"])
    assert max_product([factor], ["A", "C", "B"]) == {"A": 1, "B": 1}


def test_sums_come_before_maxima():
    """The price of the constraint: the hub of a star, summed first, joins all leaves."""
    star = [Factor({"C": 2, f"L{i}": 2}, np.ones((2, 2))) for i in range(6)]
    leaves = [f"L{i}" for i in range(6)]
    constrained = constrained_order(star, leaves)
    assert constrained.sums == ("C",)
    assert constrained.largest_table == 2**7
    assert constrained_order(star, ["C", *leaves]).largest_table == 4
