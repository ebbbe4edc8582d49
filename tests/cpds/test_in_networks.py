"""Structured CPDs answer the queries of a network as their tables do."""

from __future__ import annotations

import math
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
from plausible.models import BayesianNetwork


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
def test_compact_factors_answer_as_tables(structured: BayesianNetwork, targets: Any, evidence: dict[str, Any]) -> None:
    tables = BayesianNetwork(*(cpd.to_table() for cpd in structured.cpds.values()))
    assert structured.query(targets, evidence).is_close(tables.query(targets, evidence), 1e-12)
    assert structured.log_probability(evidence) == pytest.approx(tables.log_probability(evidence), abs=1e-12)


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
