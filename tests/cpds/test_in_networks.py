"""Structured CPDs answer the queries of a network as their tables do."""

from __future__ import annotations

import itertools
import math
from fractions import Fraction
from typing import Any

import numpy as np
import pytest

from plausible.cpds import (
    DeterministicCPD,
    LogisticCPD,
    Multiplexer,
    NoisyMax,
    NoisyOr,
    RuleCPD,
    Split,
    TableCPD,
    TreeCPD,
)
from plausible.errors import ImpossibleEvidence, TooLarge
from plausible.models import BayesianNetwork

#: Families up to this size become tables; at zero none does.
SMALL_TABLE = "plausible.models.lowering.SMALL_TABLE"


@pytest.fixture(scope="module")
def structured() -> BayesianNetwork:
    """All discrete kinds, bound by name."""
    return BayesianNetwork(
        *(TableCPD(f"C{i}", [0.7, 0.3]) for i in range(5)),
        NoisyOr("F", ["C0", "C1", "C2"], [0.8, 0.5, 0.3], leak=0.1),
        NoisyOr("H", ["C1", "C2", "C3", "C4"], [0.2, 0.9, 0.3, 0.4], leak=0.01),
        NoisyMax("G", ["C3", "H"], [[[1, 0, 0], [0.2, 0.5, 0.3]], [[1, 0, 0], [0.5, 0.1, 0.4]]], [0.9, 0.1, 0]),
        TreeCPD("T", Split("F", {True: [0.1, 0.9], False: Split("C4", {0: [0.5, 0.5], 1: [1, 0]})}), ["F", "C4", "H"]),
        RuleCPD("R", [({"G": [1, 2]}, 0.5), ({"G": 0, "T": 0, "R": 0}, 0.2), ({"G": 0, "T": 0, "R": 1}, 0.8),
                      ({"G": 0, "T": 1, "R": 0}, 1.0), ({"G": 0, "T": 1, "R": 1}, 0.0)], ["T", "G"], states=2),
        Multiplexer("M", "C0", ["F", "H"], states=[False, True]),
        LogisticCPD("L", ["M", "T"], [1.0, -2.0], 0.3),
        DeterministicCPD("D", lambda left, right: left != right, ["L", "M"], [False, True]),
    )  # fmt: skip


@pytest.mark.parametrize(
    ("targets", "evidence"),
    [
        ("C1", {"F": True}),
        ("C2", {"F": True, "H": True}),
        ("D", {}),
        ("C3", {"D": True, "T": 1, "H": True}),
        (["C0", "H"], {"M": True}),
        ("G", {"R": 1, "C4": 1}),
        (["C3", "T"], {"G": 2, "L": False}),
    ],
)
@pytest.mark.parametrize("compact", [True, False])
def test_compact_factors_answer_as_tables(
    structured: BayesianNetwork,
    monkeypatch: pytest.MonkeyPatch,
    targets: Any,
    evidence: dict[str, Any],
    compact: bool,
) -> None:
    """With auxiliary variables for the smallest family, and without, where families are small."""
    if compact:
        monkeypatch.setattr(SMALL_TABLE, 0)
    inside = {name for factor in structured.factors for name in factor.names}
    assert (len(inside) > len(structured.variables)) == compact
    tables = BayesianNetwork(*(cpd.to_table() for cpd in structured.cpds.values()))
    for model in (structured, structured.compile()):
        assert model.query(targets, evidence).is_close(tables.query(targets, evidence), 1e-12)
        assert model.log_probability(evidence) == pytest.approx(tables.log_probability(evidence), abs=1e-12)


def test_two_hundred_causes_of_one_effect() -> None:
    """P(F) = 1 - (1 - λ_0) Π (1 - p λ), and the posterior of a cause by Bayes' rule."""
    names = [f"C{i}" for i in range(200)]
    net = BayesianNetwork(*(TableCPD(name, [0.99, 0.01]) for name in names), NoisyOr("F", names, [0.5] * 200, 0.001))
    off = 0.999 * (1 - 0.005) ** 200
    assert net.query("F")[True] == pytest.approx(1 - off, rel=1e-12)
    likelihood = 1 - off / (1 - 0.005) * 0.5
    assert net.query("C7", {"F": True})[1] == pytest.approx(0.01 * likelihood / (1 - off), rel=1e-10)
    rows = {name: np.zeros(1, dtype=int) for name in names} | {"F": np.array([0])}
    assert net.log_likelihood(rows)[0] == pytest.approx(200 * math.log(0.99) + math.log(0.999), rel=1e-12)


# --- causes without number, and hardly any effect ---


@pytest.mark.parametrize("size", [1068, 1080])
def test_thousands_of_causes_keep_their_digits(size: int) -> None:
    """P(y) = 1 - (1 - λ/2)^n, beyond the 1,074 halvings that a double survives."""
    names = [f"x{i}" for i in range(size)]
    net = BayesianNetwork(*(TableCPD(name, [0.5, 0.5]) for name in names), NoisyOr("y", names, [0.001] * size))
    on = -math.expm1(size * math.log1p(-0.0005))
    cause = 0.5 * -math.expm1((size - 1) * math.log1p(-0.0005) + math.log1p(-0.001)) / on
    assert net.query("y")[True] == pytest.approx(on, rel=1e-12)
    assert net.log_probability({"y": False}) == pytest.approx(size * math.log1p(-0.0005), rel=1e-12)
    marginals = net.compile().marginals({"y": True})
    assert marginals["x3"][1] == pytest.approx(cause, rel=1e-12)
    assert marginals[names[-1]][1] == pytest.approx(cause, rel=1e-12)


@pytest.mark.parametrize("threshold", [0, 1024])
@pytest.mark.parametrize("strength", [1e-16, 1e-200])
@pytest.mark.parametrize("size", [3, 10, 14])
def test_causes_that_hardly_act_keep_their_posterior(
    monkeypatch: pytest.MonkeyPatch, size: int, strength: float, threshold: int
) -> None:
    """To first order P(y | x) is λ times the number of active causes: P(x_0 | y) = (n + 1) / 2n."""
    monkeypatch.setattr(SMALL_TABLE, threshold)
    names = [f"x{i}" for i in range(size)]
    net = BayesianNetwork(*(TableCPD(name, [0.5, 0.5]) for name in names), NoisyOr("y", names, [strength] * size))
    for model in (net, net.compile()):
        assert model.query("x0", {"y": True})[1] == pytest.approx((size + 1) / (2 * size), rel=1e-12)
        assert model.log_probability({"y": True}) == pytest.approx(math.log(strength * size / 2), rel=1e-12)
        with pytest.raises(ImpossibleEvidence):
            model.query("y", {**dict.fromkeys(names, 0), "y": True})


@pytest.mark.parametrize("threshold", [0, 1024])
@pytest.mark.parametrize("opposed", [False, True])
def test_underflow_beside_a_noisy_or_is_not_impossible(
    monkeypatch: pytest.MonkeyPatch, opposed: bool, threshold: int
) -> None:
    """A class with eight features of likelihood 1e-200 or 1, and an effect of the class and of seven coins."""
    monkeypatch.setattr(SMALL_TABLE, threshold)
    coins = [f"x{i}" for i in range(7)]
    rows = [[[0.0, 1.0], [1.0, 1e-200]], [[1.0, 1e-200], [0.0, 1.0]]]
    net = BayesianNetwork(
        TableCPD("C", [0.7, 0.3]),
        *(TableCPD(f"F{i}", rows[i % 2 if opposed else 1], parents=["C"]) for i in range(8)),
        *(TableCPD(name, [0.5, 0.5]) for name in coins),
        NoisyOr("y", ["C", *coins], [0.4, *[0.1] * 7]),
    )
    evidence = {"y": True, **{f"F{i}": 1 for i in range(8)}}
    log_features = [4 * math.log(1e-200)] * 2 if opposed else [8 * math.log(1e-200), 0.0]
    off = 0.95**7
    logs = [math.log(0.7 * (1 - off)) + log_features[0], math.log(0.3 * (1 - 0.6 * off)) + log_features[1]]
    total = max(logs) + math.log(sum(math.exp(log - max(logs)) for log in logs))
    for model in (net, net.compile()):
        assert model.query("C", evidence)[1] == pytest.approx(math.exp(logs[1] - total), rel=1e-10)
        assert model.log_probability(evidence) == pytest.approx(total, rel=1e-12)


# --- diseases and findings ---


def quickscore(prior: np.ndarray, leak: np.ndarray, strength: np.ndarray, is_on: np.ndarray) -> tuple[Any, np.ndarray]:
    """P(findings) and P(disease, findings) of two layers, by inclusion and exclusion over the positive findings.

    P(all of a set F are off | d) is a product over diseases, and P(on) = 1 - P(off) (Heckerman 1989). `strength` has
    shape (findings, diseases), zero where there is no edge.
    """
    total, joint = 0, 0 * prior
    positive = np.flatnonzero(is_on)
    for count in range(len(positive) + 1):
        for chosen in itertools.combinations(positive, count):
            off = ~is_on
            off[list(chosen)] = True
            inhibited = np.prod(1 - strength[off], axis=0)
            of_disease = 1 - prior + prior * inhibited
            term = (-1) ** count * np.prod(1 - leak[off]) * np.prod(of_disease)
            total += term
            joint += term * prior * inhibited / of_disease
    return total, joint


@pytest.mark.parametrize("threshold", [0, 1024])
def test_findings_speak_of_diseases_as_inclusion_and_exclusion_says(
    monkeypatch: pytest.MonkeyPatch, threshold: int
) -> None:
    """Forty diseases, sixty findings, five of them positive."""
    monkeypatch.setattr(SMALL_TABLE, threshold)
    rng = np.random.default_rng(5)
    prior, leak = rng.integers(1, 20, 40) / 128, rng.integers(1, 8, 60) / 128
    strength = np.zeros((60, 40))
    for row in strength:
        chosen = rng.permutation(40)[: rng.integers(4, 9)]
        row[chosen] = rng.integers(8, 120, len(chosen)) / 128
    is_on = np.arange(60) < 5
    findings = [
        NoisyOr(f"f{i}", [f"d{j}" for j in np.flatnonzero(row)], row[row > 0], leak[i])
        for i, row in enumerate(strength)
    ]
    net = BayesianNetwork(*(TableCPD(f"d{j}", [1 - p, p]) for j, p in enumerate(prior)), *findings)
    evidence = {f"f{i}": bool(on) for i, on in enumerate(is_on)}
    exact = np.vectorize(Fraction, otypes=[object])  # the terms cancel
    total, joint = quickscore(exact(prior), exact(leak), exact(strength), is_on)
    assert net.log_probability(evidence) == pytest.approx(math.log(total), rel=1e-13)
    for disease in (0, 17, 39):
        assert net.query(f"d{disease}", evidence)[1] == pytest.approx(float(joint[disease] / total), rel=1e-12)


def test_negative_findings_cost_next_to_nothing() -> None:
    """Three hundred findings of thirty diseases each: every factor is about one disease."""
    rng = np.random.default_rng(6)
    prior, leak, strength = rng.uniform(0.01, 0.2, 30), np.full(300, 0.01), rng.uniform(0, 0.01, (300, 30))
    diseases = [f"d{j}" for j in range(30)]
    net = BayesianNetwork(
        *(TableCPD(name, [1 - p, p]) for name, p in zip(diseases, prior, strict=True)),
        *(NoisyOr(f"f{i}", diseases, row, leak[i]) for i, row in enumerate(strength)),
    )
    answer = net.query("d0", {f"f{i}": False for i in range(300)})
    total, joint = quickscore(prior, leak, strength, np.zeros(300, dtype=bool))
    assert answer[1] == pytest.approx(joint[0] / total, rel=1e-9)
    assert answer.info.largest_table == 2


# --- evidence comes before the table ---


@pytest.mark.parametrize("num_free", [0, 1, 4])
def test_a_logistic_is_as_large_as_what_is_not_observed(num_free: int) -> None:
    """Thirty parents, most of them observed: the sum over the others, by a loop."""
    rng = np.random.default_rng(7)
    names, weights, states = [f"x{i}" for i in range(30)], rng.normal(size=30), rng.integers(2, size=30)
    net = BayesianNetwork(*(TableCPD(name, [0.7, 0.3]) for name in names), LogisticCPD("y", names, list(weights), -1.0))
    joint = np.zeros((2, 2))
    for free in itertools.product(range(2), repeat=num_free):
        chance = math.prod(0.3 if x else 0.7 for x in free)
        on = 1 / (1 + math.exp(1.0 - weights @ [*free, *states[num_free:]]))
        joint[free[0] if free else 0] += np.array([1 - on, on]) * chance
    evidence = {name: int(state) for name, state in zip(names[num_free:], states[num_free:], strict=True)}
    assert net.query("y", evidence).values == pytest.approx(joint.sum(axis=0), rel=1e-12)
    seen = math.prod(0.3 if x else 0.7 for x in states[num_free:])
    assert net.log_probability({**evidence, "y": 1}) == pytest.approx(math.log(joint[:, 1].sum() * seen), rel=1e-12)
    if num_free:
        assert net.query("x0", {**evidence, "y": 1})[1] == pytest.approx(joint[1, 1] / joint[:, 1].sum(), rel=1e-12)
    with pytest.raises(TooLarge, match="The table of 'y'"):
        net.query("y")


def test_what_a_logistic_makes_all_but_impossible_is_possible() -> None:
    """log P(y) = -900 + log Σ_x P(x) e^x, where e^-900 is no double."""
    net = BayesianNetwork(TableCPD("x", [0.5, 0.5]), LogisticCPD("y", ["x"], [1.0], -900.0))
    assert net.log_probability({"y": 1}) == pytest.approx(-900 + math.log(0.5 + 0.5 * math.e), rel=1e-14)
    assert net.query("x", {"y": 1})[1] == pytest.approx(math.e / (1 + math.e), rel=1e-10)


def test_auxiliaries_of_all_families_have_names_of_their_own() -> None:
    """Also where variables of the network have the names that two families would give to theirs."""
    names = [f"C{i}" for i in range(12)]
    effect = NoisyOr("Y", names, [0.5] * 12)
    net = BayesianNetwork(
        *(TableCPD(name, [0.9, 0.1]) for name in names),
        effect,
        TableCPD("Y≤1", [0.75, 0.25]),
        NoisyOr("Y≤", [*names, "Y≤1"], [0.25] * 13),
    )
    assert net.query("Y")[True] == pytest.approx(1 - 0.95**12, rel=1e-12)
    assert net.query("Y≤1", {"Y": True})[1] == pytest.approx(0.25, rel=1e-12)
    on = 1 - 0.975**12 * (1 - 0.25 * 0.25)
    assert net.query("Y≤1", {"Y≤": True})[1] == pytest.approx(0.25 * (1 - 0.75 * 0.975**12) / on, rel=1e-12)


def test_common_causes_listed_in_any_order_keep_the_chains_in_step():
    """Five findings over the same forty causes, each with them in another order: no table is wide."""
    rng = np.random.default_rng(0)
    causes = [f"C{i:02}" for i in range(40)]
    priors = [TableCPD(name, [0.9, 0.1], states=[False, True]) for name in causes]
    findings = [
        NoisyOr(f"F{i}", parents=rng.permutation(causes).tolist(), activation=[0.2] * 40, leak=0.01) for i in range(5)
    ]
    net = BayesianNetwork(*priors, *findings)
    answer = net.query("C00", {f"F{i}": True for i in range(5)})
    assert answer.info.largest_table <= 4096
    assert answer[True] > 0.1
