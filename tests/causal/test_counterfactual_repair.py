"""Repairs: what persists, what gets fixed, and where the short way is wrong."""

from itertools import product as cartesian

import numpy as np
import pytest

from plausible.causal.counterfactuals.repair import rank_repairs, repair, single_fault_repairs
from plausible.causal.functional.conversion import functional_model
from plausible.cpds import DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, TooLarge, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import Variable


def _many_faults(priors, activation, leak=0.0):
    faults = [Variable(f"F{i}", ["ok", "broken"]) for i in range(len(priors))]
    cpds = [TableCPD(fault, [1 - p, p]) for fault, p in zip(faults, priors, strict=True)]
    return BayesianNetwork(*cpds, NoisyOr("fails", faults, activation, leak=leak))


def _single_fault(priors, activation):
    """Exactly one fault: a root chooses it; a noisy sign of the first fault is seen too."""
    names = [f"F{i}" for i in range(len(priors))]
    root = Variable("fault", names)
    faults = [DeterministicCPD(n, lambda f, n=n: f == n, [root], states=[False, True]) for n in names]
    sign = TableCPD("sign", [[0.9, 0.1], [0.3, 0.7]], ["F0"])
    return BayesianNetwork(TableCPD(root, priors), *faults, NoisyOr("fails", names, activation), sign)


def _enumerated(priors, activation, leak, repaired):
    """P(works after the repair | failed before), and P(fault j | that it still fails), over faults and passes."""
    size = len(priors)
    fixed = failed = 0.0
    still = np.zeros(size)
    for faults in cartesian([0, 1], repeat=size):
        for passes in cartesian([0, 1], repeat=size):
            for leaks in (0, 1):
                chance = np.prod([p if f else 1 - p for p, f in zip(priors, faults, strict=True)])
                chance *= np.prod([a if z else 1 - a for a, z in zip(activation, passes, strict=True)])
                chance *= leak if leaks else 1 - leak
                before = leaks or any(f and z for f, z in zip(faults, passes, strict=True))
                after = [0 if i == repaired else f for i, f in enumerate(faults)]
                works = not leaks and not any(f and z for f, z in zip(after, passes, strict=True))
                failed += chance * bool(before)
                fixed += chance * bool(before and works)
                still += chance * bool(before and not works) * np.array(after)
    return fixed / failed, still / (failed - fixed)


@pytest.mark.parametrize("seed", range(3))
def test_repairs_equal_enumeration_of_faults_and_inhibitors(seed):
    """The inhibitors persist: what did not pass before won't pass after."""
    rng = np.random.default_rng(seed)
    priors, activation = rng.random((2, 3)) * 0.8 + 0.1
    leak = 0.2 * (seed % 2)
    net = _many_faults(priors, activation, leak)
    for repaired in range(3):
        others = [f"F{i}" for i in range(3) if i != repaired]
        found = repair(net, {f"F{repaired}": "ok"}, works={"fails": False}, evidence={"fails": True}, faults=others)
        fixed, still = _enumerated(priors, activation, leak, repaired)
        assert found.probability_fixed == pytest.approx(fixed, abs=1e-12)
        for name in others:
            assert found.faults_if_failed[name].values[1] == pytest.approx(still[int(name[1])], abs=1e-12)
            expected = net.query(name, evidence={"fails": True})
            assert found.faults[name].is_close(expected, 1e-12)


def test_a_plain_intervention_is_the_wrong_question():
    """P(works | do(repair)) forgets that it failed before; given that it fails, it would be a contradiction."""
    net = _many_faults([0.1, 0.1], [1.0, 1.0])
    found = repair(net, {"F0": "ok"}, works={"fails": False}, evidence={"fails": True})
    assert found.probability_fixed == pytest.approx(0.09 / 0.19, abs=1e-12)
    assert net.query("fails", do={"F0": "ok"}).values[0] == pytest.approx(0.9)


@pytest.mark.parametrize("seed", range(4))
def test_the_short_way_equals_the_twin_network_for_a_single_fault(seed):
    """P(z_i | fails, e) is the probability that repairing i helps."""
    rng = np.random.default_rng(seed)
    net = _single_fault(rng.dirichlet(np.ones(3)), rng.random(3) * 0.9 + 0.05)
    evidence = {"sign": int(rng.integers(2))}
    short = single_fault_repairs(net, "fails", evidence)
    for name, chance in short.items():
        found = repair(net, {name: False}, works={"fails": False}, evidence={**evidence, "fails": True})
        assert found.probability_fixed == pytest.approx(chance, abs=1e-12)
    assert sum(short.values()) == pytest.approx(1.0, abs=1e-12)


def test_the_short_way_is_wrong_where_faults_come_together():
    """Two independent faults: a repair helps only where the other did not pass as well."""
    net = _many_faults([0.5, 0.5], [0.8, 0.8])
    passes, fails = 0.4, 1 - 0.6**2
    assert single_fault_repairs(net, "fails")["F0"] == pytest.approx(passes / fails, abs=1e-12)
    found = repair(net, {"F0": "ok"}, works={"fails": False}, evidence={"fails": True})
    assert found.probability_fixed == pytest.approx(passes * 0.6 / fails, abs=1e-12)
    assert found.probability_fixed < passes / fails


def test_repairs_are_ranked_by_success_per_cost():
    """A likely repair loses to a cheap one."""
    net = _single_fault([0.6, 0.3, 0.1], [1.0, 1.0, 1.0])
    healthy = dict.fromkeys(("F0", "F1", "F2"), False)
    given = {"works": {"fails": False}, "evidence": {"fails": True}}
    ranked = rank_repairs(net, healthy, **given)
    assert [next(iter(one.components)) for one in ranked] == ["F0", "F1", "F2"]
    ranked = rank_repairs(functional_model(net), healthy, **given, costs={"F0": 10.0, "F1": 1.0, "F2": 1.0})
    assert [next(iter(one.components)) for one in ranked] == ["F1", "F2", "F0"]
    with pytest.raises(InvalidArgument, match="'F2' needs a positive cost"):
        rank_repairs(net, healthy, **given, costs={"F0": 1.0, "F1": 1.0})


def test_repairs_that_make_no_sense_are_refused():
    """Leaks, other kinds, several outcomes, unknown names, evidence that it works."""
    leaky = _many_faults([0.5], [0.5], leak=0.1)
    with pytest.raises(InvalidModel, match="leak"):
        single_fault_repairs(leaky, "fails")
    with pytest.raises(InvalidModel, match="NoisyOr"):
        single_fault_repairs(leaky, "F0")
    with pytest.raises(ImpossibleEvidence, match="contradicts fails=True"):
        single_fault_repairs(_many_faults([0.5], [0.5]), "fails", {"fails": False})
    with pytest.raises(InvalidArgument, match="works="):
        repair(leaky, {"F0": "ok"}, works={})
    with pytest.raises(UnknownVariable, match="'fail'"):
        repair(leaky, {"F0": "ok"}, works={"fail": False})
    sure = repair(_many_faults([0.5], [0.5]), {"F0": "ok"}, works={"fails": False}, faults="F0")
    assert sure.probability_fixed == 1.0
    assert sure.faults_if_failed == {}


def test_costs_of_what_is_not_repaired_are_refused():
    net = _single_fault([0.6, 0.4], [1.0, 1.0])
    given = {"works": {"fails": False}, "evidence": {"fails": True}}
    with pytest.raises(UnknownVariable, match="'zz'"):
        rank_repairs(net, {"F0": False}, **given, costs={"F0": 1.0, "zz": 1.0})


def test_evidence_that_agrees_with_the_effect_changes_nothing():
    """That it fails is taken for granted; a list with that state says no more."""
    net = _single_fault([0.6, 0.4], [0.5, 1.0])
    plain = single_fault_repairs(net, "fails")
    assert single_fault_repairs(net, "fails", {"fails": [True]}) == plain
    assert single_fault_repairs(net, "fails", {"fails": [False, True]}) == plain


def test_networks_with_large_families_are_repaired_under_a_coupling():
    """Five causes have 2^32 independent functions, but few comonotone ones; a functional model has its own."""
    faults = [TableCPD(f"F{place}", [0.9, 0.1], states=["ok", "bad"]) for place in range(5)]
    chances = np.random.default_rng(0).uniform(0.05, 0.95, [2] * 5)
    names = [f"F{place}" for place in range(5)]
    net = BayesianNetwork(*faults, TableCPD("fails", np.stack([1 - chances, chances], -1), names))
    given = {"works": {"fails": 0}, "evidence": {"fails": 1}}
    with pytest.raises(TooLarge):
        repair(net, {"F0": "ok"}, **given)
    functional = functional_model(net, "comonotone")
    expected = repair(functional, {"F0": "ok"}, **given).probability_fixed
    assert repair(net, {"F0": "ok"}, **given, coupling="comonotone").probability_fixed == expected
    (ranked,) = rank_repairs(net, {"F0": "ok"}, **given, coupling="comonotone")
    assert ranked.probability_fixed == expected
    with pytest.raises(InvalidArgument, match="leave it out"):
        repair(functional, {"F0": "ok"}, **given, coupling="comonotone")
