"""What a question does not need may go: answers stay, and enumeration says so."""

from __future__ import annotations

import math
from contextlib import suppress
from itertools import pairwise
from itertools import product as cartesian

import numpy as np
import pytest

from network_oracle import (
    agrees,
    assert_factor_equals,
    joint_of_bayesian_network,
    measure_of_markov_network,
    random_evidence,
    random_markov_network,
    random_network,
    total,
)
from network_oracle import posterior as posterior_by_hand
from plausible.cpds import Multiplexer, NoisyOr, Split, TreeCPD
from plausible.errors import ImpossibleEvidence, NotSupported
from plausible.factors import Factor
from plausible.inference.elimination import sum_product
from plausible.inference.relevance import possible_states, prune, reduce_states
from plausible.variables import Evidence, Variable, likelihood
from refusals import refuses
from seeds import few_of

NOTHING = Evidence.read({}, {})


def problem(seed, zeros=0.5):
    """Factors with many zeros, findings, and the measure by enumeration."""
    rng = np.random.default_rng(seed)
    net = random_markov_network(rng, num_variables=6, num_factors=7, zeros=zeros)
    factors = [*net.factors, *(Factor((v,), np.ones(v.num_states)) for v in net.variables.values())]
    return rng, net, factors, random_evidence(rng, net.variables, 1), measure_of_markov_network(net)


# --- states ---


@pytest.mark.parametrize("seed", few_of(24, 60))
def test_no_possible_state_is_struck_out(seed):
    """Every state of every assignment with a positive product is left; impossible is said only of the impossible."""
    _, net, factors, evidence, measure = problem(seed)
    try:
        live = possible_states(factors, Evidence.read(evidence, net.variables))
    except ImpossibleEvidence:
        assert total(measure, evidence) == 0
        return
    for assignment, weight in measure:
        if weight > 0 and agrees(assignment, evidence):
            assert all(live[name][v.index(assignment[name])] for name, v in net.variables.items())


@pytest.mark.parametrize("seed", few_of(24, 60))
def test_what_is_left_is_supported_by_every_factor(seed):
    """The fixed point: each state left has, in each factor, a positive entry over states left."""
    _, net, factors, evidence, _ = problem(seed)
    try:
        live = possible_states(factors, Evidence.read(evidence, net.variables))
    except ImpossibleEvidence:
        return
    for factor in factors:
        places = [np.flatnonzero(live[name]).tolist() for name in factor.names]
        supported = [set() for _ in places]
        for entry in cartesian(*places):
            if factor.values[entry] > 0:
                for found, position in zip(supported, entry, strict=True):
                    found.add(position)
        assert [sorted(found) for found in supported] == places


@pytest.mark.parametrize("seed", few_of(12, 30))
def test_on_a_chain_exactly_the_possible_states_are_left(seed):
    """Local checks are complete where the factors form a tree."""
    rng = np.random.default_rng(seed)
    chain = [Variable(f"X{i}", int(rng.integers(1, 5))) for i in range(6)]
    factors = []
    for a, b in pairwise(chain):
        shape = (a.num_states, b.num_states)
        factors.append(Factor((a, b), rng.random(shape) * (rng.random(shape) < 0.4)))
    possible = {variable.name: set() for variable in chain}
    for states in cartesian(*(range(variable.num_states) for variable in chain)):
        if all(factor.values[states[i], states[i + 1]] > 0 for i, factor in enumerate(factors)):
            for variable, state in zip(chain, states, strict=True):
                possible[variable.name].add(state)
    if not possible["X0"]:
        refuses(ImpossibleEvidence, "probability zero", possible_states, factors, NOTHING)
    else:
        assert {n: set(np.flatnonzero(mask)) for n, mask in possible_states(factors, NOTHING).items()} == possible


@pytest.mark.parametrize("seed", few_of(12, 60))
def test_reduced_problems_have_the_same_marginals_total_and_maximum(seed):
    """Hard and soft findings built in; answers expanded to all states."""
    rng, net, factors, evidence, measure = problem(seed)
    soft = next(v for name, v in net.variables.items() if name not in evidence)
    weights = np.r_[1.0, rng.random(soft.num_states - 1)]
    weighted = [(a, w * weights[soft.index(a[soft.name])]) for a, w in measure]
    found = Evidence.read({**evidence, soft.name: likelihood(weights)}, net.variables)
    if total(weighted, evidence) == 0:
        with suppress(ImpossibleEvidence):  # found out at once, or the sum is zero
            assert sum_product(reduce_states(factors, found).factors, ()).is_zero
        return
    reduced = reduce_states(factors, found)
    assert sum_product(reduced.factors, ()).log_total == pytest.approx(math.log(total(weighted, evidence)))
    for name in net.variables:
        answer = sum_product(reduced.factors, [name] if name in reduced.variables else []).factor.normalize()
        assert_factor_equals(reduced.expand(answer, [name]), posterior_by_hand(weighted, [name], evidence))
    best = max(w for a, w in weighted if agrees(a, evidence))
    joint = math.prod(reduced.factors, start=Factor.scalar(1.0))
    assert joint.max() == pytest.approx(best)


def test_reduction_without_zeros_or_evidence_changes_nothing():
    """The very same factors."""
    factors = (Factor({"A": 2, "B": 3}, np.ones((2, 3))), Factor({"B": 3}, [1, 2, 3]))
    reduced = reduce_states(factors, NOTHING)
    assert all(after is before for after, before in zip(reduced.factors, factors, strict=True))
    assert reduced.num_struck == 0


def test_reduction_of_degenerate_problems():
    """No factors; one-state variables; a zero constant; variables that no factor has; evidence on them."""
    assert reduce_states([], NOTHING).factors == ()
    one = Variable("one", 1)
    reduced = reduce_states([Factor((one,), [3.0])], NOTHING)
    assert reduced.factors[0].sum() == 3.0
    assert not reduced.variables
    assert reduced.expand(Factor.scalar(1.0), ["one"]).values.tolist() == [1.0]
    with pytest.raises(ImpossibleEvidence):
        reduce_states([Factor.scalar(0.0)], NOTHING)
    free, seen = Variable("free", 2), Variable("seen", 3)
    reduced = reduce_states([], Evidence.read({"seen": 2}, {"seen": seen}), [free, seen])
    assert list(reduced.variables) == ["free"]
    assert reduced.expand(Factor((free,), [0.5, 0.5]), ["seen", "free"]).values.tolist() == [[0, 0], [0, 0], [0.5, 0.5]]
    with pytest.raises(NotSupported):
        reduce_states([Factor((free,), [1, 1])], Evidence({}, {}, {"x": 0.5}))


# --- factors ---


@pytest.mark.parametrize("seed", few_of(12, 60))
def test_pruned_factors_have_the_same_marginal_of_the_targets(seed):
    """Σ Π of what is left, times the scale, is Σ Π of all."""
    rng, net, factors, evidence, measure = problem(seed, zeros=0.15)
    targets = [list(net.variables.values())[i] for i in rng.permutation(6)[: rng.integers(0, 3)]]
    free = [v.name for v in targets if v.name not in evidence]
    pruned = prune(factors, targets, Evidence.read(evidence, net.variables))
    result = sum_product(pruned.factors, free)
    if total(measure, evidence) == 0:
        assert result.is_zero
    else:
        assert result.log_total + pruned.log_scale == pytest.approx(math.log(total(measure, evidence)))
        assert_factor_equals(result.factor.normalize(), posterior_by_hand(measure, free, evidence))


@pytest.mark.parametrize("seed", few_of(12, 30))
def test_barren_variables_are_in_no_factor_that_is_left(seed):
    """Only ancestors of targets and findings stay; what is left still answers."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=7)
    evidence, target = random_evidence(rng, net.variables, 1), str(rng.choice(list(net.variables)))
    pruned = prune(
        [cpd.to_factor() for cpd in net.cpds.values()], [net.variables[target]], Evidence.read(evidence, net.variables)
    )
    needed = {target, *evidence}
    assert {n for factor in pruned.factors for n in factor.names} <= needed | set(net.graph.ancestors(needed))
    joint = joint_of_bayesian_network(net)
    if total(joint, evidence) > 0 and target not in evidence:
        answer = sum_product(pruned.factors, [target]).factor.normalize()
        assert_factor_equals(answer, posterior_by_hand(joint, [target], evidence))


def test_a_known_selector_leaves_one_input_of_a_multiplexer():
    """Independence in a context: the other inputs and all that is above them fall away."""
    inputs = [Variable(f"Z{i}", 3) for i in range(4)]
    selector = Variable("A", 4)
    copy = Multiplexer("Y", selector, inputs)
    priors = [Factor((z,), [0.2, 0.3, 0.5]) for z in inputs]
    found = Evidence.read({"A": 2}, {"A": selector})
    pruned = prune([*copy.to_factors(), *priors, Factor((selector,), [0.1, 0.2, 0.3, 0.4])], [copy.variable], found)
    assert {name for factor in pruned.factors for name in factor.names} == {"Y", "Z2"}
    answer = sum_product(pruned.factors, ["Y"])
    assert answer.factor.normalize().values == pytest.approx([0.2, 0.3, 0.5])
    assert answer.log_total + pruned.log_scale == pytest.approx(math.log(0.3))


def test_a_tree_in_a_branch_loses_the_parents_of_other_branches():
    """rain=yes makes the sprinkler, and what is known of it, irrelevant."""
    rain, sprinkler, clock = Variable("rain", ["no", "yes"]), Variable("sprinkler", 2), Variable("clock", 2)
    wet = TreeCPD("wet", Split("rain", {"yes": [0.1, 0.9], "no": Split("sprinkler", {0: [1, 0], 1: [0.2, 0.8]})}),
                  parents=[rain, sprinkler])  # fmt: skip
    others = [
        Factor((rain,), [0.7, 0.3]),
        Factor((clock, sprinkler), [[0.9, 0.1], [0.2, 0.8]]),
        Factor((clock,), [0.5, 0.5]),
    ]
    variables = {v.name: v for v in (rain, sprinkler, clock, wet.variable)}
    pruned = prune([*wet.to_factors(), *others], [clock], Evidence.read({"rain": "yes", "wet": 1}, variables))
    assert {name for factor in pruned.factors for name in factor.names} == {"clock"}
    assert math.exp(sum_product(pruned.factors, ()).log_total + pruned.log_scale) == pytest.approx(0.27)
    kept = prune([*wet.to_factors(), *others], [clock], Evidence.read({"rain": "no", "wet": 1}, variables))
    assert sum_product(kept.factors, ["clock"]).factor.normalize().values == pytest.approx([0.1 / 0.9, 0.8 / 0.9])


def test_an_unasked_noisy_or_falls_away_with_its_auxiliaries():
    """A chain of partial maxima below the question is summed up from its end."""
    causes = [Variable(f"C{i}", 2) for i in range(12)]
    effect = NoisyOr("Y", causes, [0.5] * 12, leak=0.1)
    priors = [Factor((c,), [0.9, 0.1]) for c in causes]
    pruned = prune([*effect.to_factors(), *priors], [causes[3]], NOTHING)
    assert [factor.names for factor in pruned.factors] == [("C3",)]
    assert pruned.log_scale == pytest.approx(0.0, abs=1e-12)


def test_targets_that_lose_their_factors_are_given_back():
    """A constant factor of a target is still a factor of it, and a variable that drops out counts its states."""
    a, b = Variable("A", 2), Variable("B", 3)
    found = Evidence.read({"A": 1}, {"A": a})
    constant = Factor((a, b), [[1, 2, 3], [4, 4, 4]])
    pruned = prune([constant], [b], found)
    assert [f.names for f in pruned.factors] == [("B",)]
    assert pruned.log_scale == pytest.approx(math.log(4))
    assert math.exp(prune([constant], [], found).log_scale) == pytest.approx(12)
    assert prune([], [], NOTHING).factors == ()
    assert prune([Factor.scalar(0.0)], [], NOTHING).factors[0].sum() == 0
