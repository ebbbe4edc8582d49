"""Naive Bayes networks."""

from __future__ import annotations

from math import prod

import numpy as np
import pytest

from network_oracle import random_rows
from plausible.cpds import ConditionalGaussianCPD, TableCPD
from plausible.errors import InvalidModel
from plausible.graphs import DAG
from plausible.models import Notes, naive_bayes
from plausible.variables import Variable


@pytest.mark.parametrize("seed", range(5))
def test_class_posterior_is_the_product_formula(seed):
    """P(c | x) ∝ P(c) Π P(x_i | c), with any subset of features observed."""
    rng = np.random.default_rng(seed)
    prior = random_rows(rng, (3,), 0)
    tables = [random_rows(rng, (3, 4), 0.1) for _ in range(6)]
    features = [TableCPD(f"X{i}", table, parents=["C"]) for i, table in enumerate(tables)]
    net = naive_bayes(TableCPD("C", prior), features, notes=Notes("nb"))
    assert net.graph == DAG([("C", f"X{i}") for i in range(6)])
    seen = {i: int(rng.integers(4)) for i in range(6) if rng.random() < 0.6}
    weights = np.array([prior[c] * prod(tables[i][c, x] for i, x in seen.items()) for c in range(3)])
    if weights.sum() > 0:
        answer = net.query("C", {f"X{i}": x for i, x in seen.items()})
        assert answer.values == pytest.approx(weights / weights.sum())
    assert net.notes.name == "nb"


def test_hundreds_of_features_do_not_underflow():
    """Likelihoods of 1e-3 each, multiplied four hundred times."""
    features = [TableCPD(f"X{i}", [[0.001, 0.999], [0.002, 0.998]], parents=["C"]) for i in range(400)]
    net = naive_bayes(TableCPD("C", [0.5, 0.5]), features)
    evidence = {f"X{i}": 0 for i in range(400)}
    assert net.query("C", evidence)[1] == pytest.approx(1.0)
    assert net.log_probability(evidence) == pytest.approx(np.log(0.5) + 400 * np.log(0.002))


def test_gaussian_features():
    """Continuous features work as soon as they are observed."""
    c = Variable("C", ["a", "b"])
    heights = ConditionalGaussianCPD("X", [0.0, 2.0], {}, 1.0, parents=[c])
    net = naive_bayes(TableCPD(c, [0.5, 0.5]), [heights])
    assert net.query("C", {"X": 1.0}).values == pytest.approx([0.5, 0.5])
    assert net.query("C", {"X": 2.0})["b"] == pytest.approx(1 / (1 + np.exp(-2)))


def test_what_is_not_naive_is_refused():
    """A class with parents, a feature with others."""
    with pytest.raises(InvalidModel, match="The class 'C' has no parents"):
        naive_bayes(TableCPD("C", [[0.5, 0.5]], parents=["D"]), [])
    with pytest.raises(InvalidModel, match="The feature 'X' must have the class 'C'"):
        naive_bayes(TableCPD("C", [0.5, 0.5]), [TableCPD("X", [0.5, 0.5])])
