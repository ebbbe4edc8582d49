"""Networks of structured and of continuous CPDs."""

from __future__ import annotations

import math

import numpy as np
import pytest

from network_oracle import (
    binary,
)
from plausible.cpds import (
    KINDS,
    ConditionalGaussianCPD,
    DeterministicCPD,
    LinearGaussianCPD,
    LogisticCPD,
    NoisyMax,
    NoisyOr,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.variables import Variable

# --- continuous variables ---


def _mixed():
    sex = Variable("sex", ["f", "m"])
    return BayesianNetwork(
        TableCPD(sex, [0.5, 0.5]),
        LinearGaussianCPD("age", intercept=30.0, variance=100.0),
        ConditionalGaussianCPD("height", [160.0, 175.0], {"age": [0.1, 0.0]}, [36.0, 49.0], parents=["sex", "age"]),
        LogisticCPD("tall", intercept=-170.0, weights={"height": 1.0}, parents=["height"]),
    )


def _normal(x, mean, variance):
    return math.exp(-((x - mean) ** 2) / (2 * variance)) / math.sqrt(2 * math.pi * variance)


def test_log_density_of_complete_rows():
    """Densities multiply where variables are continuous."""
    net = _mixed()
    row = {"sex": "f", "age": 40.0, "height": 170.0, "tall": 1}
    density = 0.5 * _normal(40, 30, 100) * _normal(170, 164, 36) * 0.5
    assert net.log_probability(row) == pytest.approx(math.log(density))
    assert net.log_likelihood({name: [value] for name, value in row.items()})[0] == pytest.approx(math.log(density))
    assert net.log_probability({"age": 40.0}) == pytest.approx(math.log(_normal(40, 30, 100)))


def test_discrete_targets_given_observed_numbers():
    """Where every continuous variable that matters is observed, its density is a likelihood."""
    net = _mixed()
    evidence = {"age": 40.0, "height": 170.0}
    weights = [0.5 * _normal(170, 164, 36), 0.5 * _normal(170, 175, 49)]
    assert net.query("sex", evidence).values == pytest.approx(np.array(weights) / sum(weights))
    assert net.log_probability(evidence) == pytest.approx(math.log(sum(weights) * _normal(40, 30, 100)))
    assert net.query("tall", {**evidence, "height": 171.0})[1] == pytest.approx(1 / (1 + math.exp(-1)))


def test_density_ratios_beyond_the_range_of_floats():
    """A height of 10^4 has a density of exp(-10^6); the posterior is still right."""
    net = _mixed()
    evidence = {"age": 30.0, "height": 1e4}
    logs = [-0.5 * math.log(36) - (1e4 - 163) ** 2 / 72, -0.5 * math.log(49) - (1e4 - 175) ** 2 / 98]
    assert net.query("sex", evidence)["m"] == pytest.approx(1 / (1 + math.exp(logs[0] - logs[1])))
    assert net.log_probability(evidence) < -1e5


def test_unobserved_numbers_are_integrated_out():
    """The height of f depends on the age, 160 + 0.1 age: without it, its variance is 36 + 0.01 * 100."""
    weights = np.array([_normal(170, 163, 37), _normal(170, 175, 49)])
    assert _mixed().query("sex", {"height": 170.0}).values == pytest.approx(weights / weights.sum())
    assert _mixed().log_probability({"height": 170.0}) == pytest.approx(math.log(weights.sum() / 2))
    assert _mixed().moments("age").mean == pytest.approx([30])


def test_numbers_are_no_targets_of_questions_for_tables():
    """The error names the variable, and what to ask."""
    with pytest.raises(NotSupported, match=r"'age' is continuous.*moments"):
        _mixed().query("age")
    with pytest.raises(NotSupported, match="continuous"):
        _mixed().joint()


def test_intervention_on_a_number():
    """do(height) tells nothing about the sex, and fixes what follows."""
    net = _mixed()
    assert net.query("sex", do={"height": 170.0}).values == pytest.approx([0.5, 0.5])
    assert net.query("tall", do={"height": 171.0})[1] == pytest.approx(1 / (1 + math.exp(-1)))
    assert net.log_probability({"tall": 1}, do={"height": 170.0}) == pytest.approx(math.log(0.5))
    assert net.log_probability({"tall": 1, "height": 170.0}, do={"height": 170.0}) == pytest.approx(math.log(0.5))
    assert net.log_probability({"height": 171.0}, do={"height": 170.0}) == -math.inf
    assert net.intervene({"height": 170.0}).graph.parents("height") == ()


# --- structured CPDs ---


def _structured(num_parents):
    """A noisy-or, a noisy-max and a tree over some coins, and the same network of tables."""
    coins = [binary(f"C{i}", 0.1 + 0.1 * i) for i in range(num_parents)]
    names = [f"C{i}" for i in range(num_parents)]
    cause = NoisyOr("or", names, activation=[0.3 + 0.05 * i for i in range(num_parents)], leak=0.02)
    effects = [[[1, 0, 0], [0.2, 0.5, 0.3]]] * num_parents
    level = NoisyMax("max", names, effects, leak=[0.9, 0.1, 0.0])
    tree = TreeCPD(
        "tree",
        Split("C0", {True: [0.1, 0.9], False: Split("or", {True: [0.5, 0.5], False: [1.0, 0.0]})}),
        parents=["C0", "or"],
    )
    net = BayesianNetwork(*coins, cause, level, tree)
    return net, BayesianNetwork(cpd.to_table() for cpd in net.cpds.values())


@pytest.mark.parametrize("num_parents", [2, 7])
def test_structured_cpds_answer_like_their_tables(num_parents):
    """Small ones as tables, large ones by their compact factors."""
    net, tables = _structured(num_parents)
    for evidence in ({}, {"or": True}, {"max": 2}, {"or": False, "max": 1}, {"tree": 1, "C1": True}):
        for target in ("C0", "C1", "or", "max", "tree"):
            assert net.query(target, evidence).is_close(tables.query(target, evidence), 1e-12)
        assert net.log_probability(evidence) == pytest.approx(tables.log_probability(evidence), abs=1e-12)


def test_a_large_noisy_or_is_never_a_table():
    """Forty causes: 2^40 rows, and an answer at once."""
    names = [f"C{i}" for i in range(40)]
    net = BayesianNetwork(*(binary(name, 0.1) for name in names), NoisyOr("Y", names, activation=[0.5] * 40, leak=0.0))
    assert net.query("Y")[True] == pytest.approx(1 - 0.95**40)
    assert net.query("C0", {"Y": False})[True] == pytest.approx(0.1 * 0.5 / 0.95)


def test_auxiliary_variables_do_not_meet_variables_of_the_same_name():
    """A network may have a variable with the name that a CPD gives to its own auxiliary one."""
    names = [f"C{i}" for i in range(12)]
    coins = [binary(name, 0.1) for name in names]
    cause = NoisyOr("Y", names, activation=[0.5] * 12, leak=0.0)
    auxiliary, *_ = BayesianNetwork(*coins, cause).cpd("Y").auxiliaries
    net = BayesianNetwork(*coins, cause, binary(auxiliary.name, 0.25), binary("Z", [0.1, 0.9], [auxiliary.name]))
    assert net.query("Y", {"Z": True})[True] == pytest.approx(1 - 0.95**12)
    assert net.query(auxiliary.name, {"Y": True})[True] == pytest.approx(0.25)
    split = [0.0, 1.0]  # all parents true, or else a quarter
    names = [f"P{i}" for i in range(20)]
    for name in names:
        split = Split(name, {False: [0.75, 0.25], True: split})
    tree = TreeCPD("Y", split, names, states=[False, True])
    net = BayesianNetwork(*(binary(name, 0.9) for name in names), tree, binary("Y#", 0.125))
    assert [variable.name for variable in net.cpd("Y").auxiliaries] == ["Y#"]
    assert net.query("Y")[True] == pytest.approx(0.9**20 + 0.25 * (1 - 0.9**20))
    assert net.query("Y#", {"Y": True})[True] == pytest.approx(0.125)


def test_factors_multiply_to_the_joint():
    """The compact factors, their auxiliary variables summed out."""
    net, tables = _structured(3)
    result = Factor.scalar(1.0)
    for factor in net.factors:
        result = result * factor
    assert result.marginal(list(net.variables)).is_close(tables.joint())


def test_every_kind_of_cpd_can_be_renamed():
    """Records are by position, so names and states can change under them."""
    net, _ = _structured(3)
    deterministic = DeterministicCPD("all", lambda *coins: all(coins), parents=["C0", "C1"], states=[False, True])
    net = net.with_cpd(deterministic)
    assert {cpd.kind for cpd in net.cpds.values()} <= set(KINDS)
    other = net.renamed({"C0": "first", "or": "either"}).with_states_renamed("first", {False: "off", True: "on"})
    assert other.query("tree", {"first": "on"}).is_close(net.query("tree", {"C0": True}))
    assert other.query("max", {"either": True}).is_close(net.query("max", {"or": True}))
    mixed = _mixed().renamed({"height": "cm", "sex": "s"})
    row = {"s": "f", "age": 40.0, "cm": 170.0, "tall": 1}
    assert mixed.log_probability(row) == pytest.approx(
        _mixed().log_probability({"sex": "f", "age": 40.0, "height": 170.0, "tall": 1})
    )
