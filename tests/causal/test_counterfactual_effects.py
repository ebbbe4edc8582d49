"""Probabilities of causation, effects on the treated, natural effects and repairs equal enumeration."""

from __future__ import annotations

from itertools import product as cartesian

import numpy as np
import pytest

from functional_oracle import Mechanism, Mechanisms, random_mechanisms
from plausible.causal.counterfactuals.contrasts import (
    effect_on_treated,
    natural_effects,
    probability_of_necessity,
    probability_of_necessity_and_sufficiency,
    probability_of_sufficiency,
)
from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.counterfactuals.repair import rank_repairs, repair, single_fault_repairs
from plausible.causal.functional.model import FunctionalModel, functional_model
from plausible.cpds import DeterministicCPD, NoisyOr, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported, TooLarge, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses
from seeds import few_of


def _random_case(seed):
    """A model with variables X0, ..., X3, of which X0 has two states or more."""
    rng = np.random.default_rng(seed)
    while True:
        plain = random_mechanisms(rng, edges=0.7)
        if plain.sizes["X0"] > 1 and plain.sizes["X3"] > 1:
            return plain


def _share(plain, event, given):
    """P(event | given), both functions of a unit; None where nothing is given."""
    chances = [(event(units), chance) for units, chance in plain.listed() if given(units)]
    total = sum(chance for _, chance in chances)
    return sum(chance for holds, chance in chances if holds) / total if total > 0 else None


def _same(answer, expected):
    if expected is None:
        with pytest.raises(ImpossibleEvidence):
            answer()
    else:
        assert answer() == pytest.approx(expected, abs=1e-10)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_necessity_and_sufficiency_equal_enumeration(seed):
    """PN, PS and PNS by their definitions, unit by unit."""
    plain = _random_case(seed)
    model = plain.model()

    def y(units, x=None):
        return plain.value("X3", {} if x is None else {"X0": x}, units) == 1

    def x(units):
        return plain.value("X0", {}, units)

    question = {"outcome": {"X3": 1}, "treatment": {"X0": 1}, "control": {"X0": 0}}
    expected = _share(plain, lambda u: not y(u, 0), lambda u: x(u) == 1 and y(u))
    _same(lambda: probability_of_necessity(model, **question), expected)
    expected = _share(plain, lambda u: y(u, 1), lambda u: x(u) == 0 and not y(u))
    _same(lambda: probability_of_sufficiency(model, **question), expected)
    expected = _share(plain, lambda u: y(u, 1) and not y(u, 0), lambda u: True)
    _same(lambda: probability_of_necessity_and_sufficiency(model, **question), expected)
    some = next(plain.listed())[0]["U0"]
    expected = _share(plain, lambda u: y(u, 1) and not y(u, 0), lambda u: u["U0"] == some)
    _same(lambda: probability_of_necessity_and_sufficiency(model, **question, evidence={"U0": some}), expected)


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_necessity_and_sufficiency_add_up(seed):
    """PNS = P(x, y) PN + P(x', y') PS for a binary cause and effect (Pearl 1999, lemma 1)."""
    rng = np.random.default_rng(seed)
    plain = Mechanisms({"U": 4}, rng.dirichlet(np.ones(4)), {"X": 2, "Y": 2})
    plain.mechanisms["X"] = Mechanism(["U"], np.array([0, 1, 0, 1]))
    plain.mechanisms["Y"] = Mechanism(["X", "U"], np.array([[0, 0, 1, 0], [1, 1, 0, 1]]))
    model = plain.model()
    question = {"outcome": {"Y": 1}, "treatment": {"X": 1}, "control": {"X": 0}}
    joint = model.query(["X", "Y"]).values
    total = joint[1, 1] * probability_of_necessity(model, **question)
    total += joint[0, 0] * probability_of_sufficiency(model, **question)
    assert probability_of_necessity_and_sufficiency(model, **question) == pytest.approx(total, abs=1e-12)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_the_effect_on_the_treated_equals_enumeration(seed):
    """P(Y_x | x) and P(Y_x' | x)."""
    plain = _random_case(seed)
    sides = [plain.probabilities([("X3", {"X0": x})], [("X0", {}, [1])]) for x in (1, 0)]
    if sides[0] is None:
        with pytest.raises(ImpossibleEvidence):
            effect_on_treated(plain.model(), "X3", {"X0": 1}, {"X0": 0})
        return
    effect = effect_on_treated(plain.model(), "X3", {"X0": 1}, {"X0": 0})
    np.testing.assert_allclose(effect.difference.values, sides[0] - sides[1], atol=1e-12)
    means = np.arange(plain.sizes["X3"]) @ (sides[0] - sides[1])
    assert effect.mean_difference == pytest.approx(means, abs=1e-12)


@pytest.mark.parametrize("seed", few_of(8, 40))
def test_natural_effects_equal_enumeration_and_add_up(seed):
    """Mediators X1 and X2 as they would be in the other world; total = direct + total indirect."""
    plain = _random_case(seed)
    effects = natural_effects(plain.model(), "X3", {"X0": 1}, {"X0": 0}, ["X1", "X2"])

    def under(own, others):
        nested = {name: (name, {"X0": others}) for name in ("X1", "X2")}
        return plain.probabilities([("X3", {"X0": own, **nested})], [])

    treated, untreated = (plain.probabilities([("X3", {"X0": x})], []) for x in (1, 0))
    np.testing.assert_allclose(effects.total.difference.values, treated - untreated, atol=1e-12)
    np.testing.assert_allclose(effects.direct.difference.values, under(1, 0) - untreated, atol=1e-12)
    np.testing.assert_allclose(effects.indirect.difference.values, under(0, 1) - untreated, atol=1e-12)
    parts = effects.direct.difference.values + effects.total_indirect.difference.values
    np.testing.assert_allclose(parts, effects.total.difference.values, atol=1e-12)


def test_effects_that_make_no_sense_are_refused():
    """Names, states and means."""
    model = FunctionalModel({"X": lambda U: U, "Y": lambda X: "b" if X else "a"}, [TableCPD("U", [0.5, 0.5])])
    question = {"treatment": {"X": 1}, "control": {"X": 0}}
    assert probability_of_necessity(model, outcome={"Y": ["b"]}, **question) == 1.0
    refuses(InvalidArgument, "one variable", probability_of_necessity, model, outcome={}, **question)
    refuses(InvalidArgument, "not all", probability_of_sufficiency, model, outcome={"Y": ["a", "b"]}, **question)
    refuses(InvalidArgument, "different states", probability_of_necessity, model, {"Y": "b"}, {"X": 1}, {"X": 1})
    refuses(UnknownVariable, "'Z'", probability_of_necessity_and_sufficiency, model, outcome={"Z": 1}, **question)
    refuses(InvalidArgument, "same variables", effect_on_treated, model, "Y", {"X": 1}, {"Y": "a"})
    refuses(InvalidArgument, "mediator", natural_effects, model, "Y", {"X": 1}, {"X": 0}, "X")
    with pytest.raises(NotSupported, match="numbers"):
        effect_on_treated(model, "Y", {"X": 1}, {"X": 0}).mean_difference  # noqa: B018


@pytest.mark.parametrize("seed", range(12))
def test_evidence_about_cause_and_effect_holds_besides_the_question(seed):
    """PN, PS and the effect on the treated given states of X0 and X3 equal enumeration; contradictions are refused."""
    rng = np.random.default_rng(seed)
    plain = random_mechanisms(rng, edges=0.8)
    while plain.sizes["X3"] < 3 or plain.sizes["X0"] < 2:
        plain = random_mechanisms(rng, edges=0.8)
    model = plain.model()

    def y(units, x=None):
        return plain.value("X3", {} if x is None else {"X0": x}, units)

    def x(units):
        return plain.value("X0", {}, units)

    question = {"outcome": {"X3": [1, 2]}, "treatment": {"X0": 1}, "control": {"X0": 0}}
    for key in ("X3", Potential("X3")):
        expected = _share(plain, lambda u: y(u, 0) == 0, lambda u: x(u) == 1 and y(u) == 2)
        _same(lambda key=key: probability_of_necessity(model, **question, evidence={key: 2}), expected)
    expected = _share(plain, lambda u: y(u, 1) in (1, 2), lambda u: x(u) == 0 and y(u) == 0)
    _same(lambda: probability_of_sufficiency(model, **question, evidence={"X3": [0, 1]}), expected)
    expected = _share(plain, lambda u: y(u, 0) == 2, lambda u: x(u) == 1)
    given = {"X0": [0, 1]}
    _same(lambda: effect_on_treated(model, "X3", {"X0": 1}, {"X0": 0}, given).control.values[2], expected)
    with pytest.raises(ImpossibleEvidence, match="X0=0 contradicts X0=1"):
        probability_of_necessity(model, **question, evidence={"X0": 0})
    with pytest.raises(ImpossibleEvidence, match="X0=0 contradicts X0=1"):
        effect_on_treated(model, "X3", {"X0": 1}, {"X0": 0}, {"X0": 0})
    with pytest.raises(ImpossibleEvidence, match="X3=2 contradicts"):
        probability_of_sufficiency(model, **question, evidence={"X3": 2})


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
    refuses(InvalidModel, "leak", single_fault_repairs, leaky, "fails")
    refuses(InvalidModel, "NoisyOr", single_fault_repairs, leaky, "F0")
    with pytest.raises(ImpossibleEvidence, match="contradicts fails=True"):
        single_fault_repairs(_many_faults([0.5], [0.5]), "fails", {"fails": False})
    refuses(InvalidArgument, "works=", repair, leaky, {"F0": "ok"}, works={})
    refuses(UnknownVariable, "'fail'", repair, leaky, {"F0": "ok"}, works={"fail": False})
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
