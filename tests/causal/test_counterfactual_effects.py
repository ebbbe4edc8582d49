"""Probabilities of causation, effects on the treated and natural effects equal enumeration."""

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
from plausible.causal.functional.model import FunctionalModel
from plausible.cpds import TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
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
    with pytest.raises(InvalidArgument, match="one variable"):
        probability_of_necessity(model, outcome={}, **question)
    with pytest.raises(InvalidArgument, match="not all"):
        probability_of_sufficiency(model, outcome={"Y": ["a", "b"]}, **question)
    with pytest.raises(InvalidArgument, match="different states"):
        probability_of_necessity(model, {"Y": "b"}, {"X": 1}, {"X": 1})
    with pytest.raises(UnknownVariable, match="'Z'"):
        probability_of_necessity_and_sufficiency(model, outcome={"Z": 1}, **question)
    with pytest.raises(InvalidArgument, match="same variables"):
        effect_on_treated(model, "Y", {"X": 1}, {"Y": "a"})
    with pytest.raises(InvalidArgument, match="mediator"):
        natural_effects(model, "Y", {"X": 1}, {"X": 0}, "X")
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
