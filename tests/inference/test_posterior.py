"""Conditional queries over bare factors: elimination and enumeration agree."""

from __future__ import annotations

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
from plausible.inference import enumerate_posterior, posterior
from plausible.inference.posterior import read_targets
from plausible.variables import Evidence, Variable, likelihood
from refusals import refuses
from seeds import few_of


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
