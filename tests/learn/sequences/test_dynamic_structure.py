"""Graphs of dynamic networks from rows in time."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible.errors import InvalidArgument
from plausible.learn import Knowledge


def _rows(seed=0, length=3000):
    """x drives itself, y follows x of two steps before, z is y with noise in the same slice."""
    rng = np.random.default_rng(seed)
    x = [0]
    for _ in range(length - 1):
        x.append(x[-1] if rng.random() < 0.8 else 1 - x[-1])
    x = np.array(x)
    y = np.where(rng.random(length) < 0.9, np.roll(x, 2), rng.integers(2, size=length))
    z = np.where(rng.random(length) < 0.9, y, 1 - y)
    return {"x": x, "y": y, "z": z}


def test_a_known_graph_is_found_again():
    """Persistence, a lag of two and an edge within the slice, up to its direction."""
    found = pb.learn.dynamic_structure(_rows(), lags=2).graph
    edges = {(str(cause), str(effect)) for cause, effect in found.edges}
    assert ("x[-1]", "x") in edges
    assert {("x[-2]", "y"), ("y", "z")} <= edges or {("x[-2]", "z"), ("z", "y")} <= edges
    assert not any("[" in effect for _, effect in edges)


def test_the_score_is_that_of_the_families_of_a_slice():
    """Lagged copies are conditions, not data of their own: BIC by hand from counts of steps with a step before."""
    rows = _rows(length=400)
    knowledge = Knowledge(required="x[-1] -> x", max_parents=1)
    result = pb.learn.dynamic_structure({"x": rows["x"]}, score="bic", knowledge=knowledge)
    counts = np.zeros((2, 2))
    np.add.at(counts, (rows["x"][:-1], rows["x"][1:]), 1)
    likelihood = (counts * np.log(counts / counts.sum(axis=1, keepdims=True))).sum()
    assert result.score == pytest.approx(likelihood - 0.5 * np.log(399) * 2, rel=1e-12)
    fit = pb.learn.dynamic(result, {"x": rows["x"].tolist()})
    np.testing.assert_allclose(fit.model.transition["x"].values, counts / counts.sum(axis=1, keepdims=True))


def test_knowledge_of_time():
    """Edges within a slice can be left out; what is forbidden stays out; sequences are not glued together."""
    apart = pb.learn.dynamic_structure(_rows(), lags=2, within=False).graph
    assert all("[" in str(cause) for cause, _ in apart.edges)
    barred = pb.learn.dynamic_structure(_rows(), lags=2, knowledge=Knowledge(forbidden="x[-1] -> x")).graph
    assert ("x[-1]", "x") not in {(str(cause), str(effect)) for cause, effect in barred.edges}
    parts = [{"x": [0, 1], "y": [0, 0]}, {"x": [1, 1], "y": [1, 0]}, {"x": [1, 0], "y": [1, 1]}]
    assert pb.learn.dynamic_structure(parts).search.table.num_rows == 3
    with pytest.raises(InvalidArgument, match="leads into a slice before"):
        pb.learn.dynamic_structure(_rows(), knowledge=Knowledge(required="x -> y[-1]"))


def test_numbers_and_states_together():
    """A number that goes on by itself and drives a switch one step later, and one that has nothing to do with them."""
    rng = np.random.default_rng(3)
    x = np.zeros(600)
    for t in range(1, 600):
        x[t] = 0.8 * x[t - 1] + rng.normal()
    switch = np.where(np.roll(x, 1) + 0.3 * rng.normal(size=600) > 0, "on", "off")
    rows = pd.DataFrame({"x": x, "switch": switch, "noise": rng.normal(size=600)})[1:]
    found = pb.learn.dynamic_structure(rows, within=False)
    assert {("x[-1]", "x")} <= set(found.graph.edges)
    assert not any("noise" in str(end) for edge in found.graph.edges for end in edge)
    assert pb.learn.dynamic(found, rows).model.transition["x"].coefficients[0] == pytest.approx(0.8, abs=0.1)
