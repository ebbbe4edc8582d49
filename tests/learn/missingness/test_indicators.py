"""Indicators as columns and in networks, and what holds whatever hides the cells."""

from __future__ import annotations

from itertools import product

import numpy as np
import pandas as pd
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import joint_of_bayesian_network, random_network, random_rows
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.missingness.diagnosis import (
    indicators,
    observation_log_likelihood,
    observation_network,
    proportion_bounds,
)
from plausible.models import BayesianNetwork
from plausible.variables import Variable

seeds = st.integers(0, 10**6)


@pytest.mark.parametrize("make", [dict, pd.DataFrame, pl.DataFrame, Table.read])
def test_indicators_are_one_exactly_where_a_cell_is_observed(make):
    """As columns of whole numbers after the others."""
    marked = indicators(make({"x": ["a", None, "b"], "y": [1.5, 2.5, None], "z": [1, 2, 3]}))
    table = Table.read(marked)
    assert list(table.variables) == ["x", "y", "z", "R_x", "R_y"]
    codes = dict(zip(table.discrete, table.codes.tolist(), strict=True))
    states = {name: [table.variables[name].states[c] for c in codes[name]] for name in ("R_x", "R_y")}
    assert states == {"R_x": [1, 0, 1], "R_y": [1, 1, 0]}
    with pytest.raises(InvalidArgument, match="already"):
        indicators(marked)
    with pytest.raises(UnknownVariable):
        indicators({"x": [1]}, ["y"])


def _mechanism(rng, network, parents_of):
    """Random CPDs of indicators."""
    cpds = []
    for name, parents in parents_of.items():
        variables = [network.variables[parent] for parent in parents]
        shape = [*(variable.num_states for variable in variables), 2]
        cpds.append(TableCPD(Variable(f"R_{name}", [0, 1]), random_rows(rng, shape, 0.0), variables))
    return cpds


def _incomplete_rows(rng, network, maybe_missing, num_rows=8):
    frame = network.sample(num_rows, seed=rng).astype(object)
    return {
        name: [None if name in maybe_missing and rng.random() < 0.5 else cell for cell in frame[name]]
        for name in network.variables
    }


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_the_likelihood_with_indicators_sums_the_joint_over_what_is_missing(seed):
    """log Σ P(x, r) over completions, by enumeration of the joint of variables and indicators."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, 4)
    parents = {name: [p for p in network.variables if rng.random() < 0.4] for name in ("X0", "X1")}
    both = observation_network(network, _mechanism(rng, network, parents))
    rows = _incomplete_rows(rng, network, parents)
    found = observation_log_likelihood(both, rows)
    joint = joint_of_bayesian_network(both)
    for row in range(8):
        cells = {name: column[row] for name, column in rows.items()}
        marks = {f"R_{name}": int(cells[name] is not None) for name in parents}
        known = {name: cell for name, cell in cells.items() if cell is not None} | marks
        total = sum(p for assignment, p in joint if all(assignment[n] == s for n, s in known.items()))
        assert np.exp(found[row]) == pytest.approx(total, abs=1e-12)


@given(seed=seeds)
@settings(max_examples=15, deadline=None)
def test_a_mechanism_at_random_does_not_change_likelihood_ratios(seed):
    """Exercise 19.2: if R depends on observed variables only, it cancels between any two parameters."""
    rng = np.random.default_rng(seed)
    first = random_network(rng, 4, zeros=0.0)
    second = BayesianNetwork(
        [TableCPD(c.variable, random_rows(rng, c.values.shape, 0.0), c.parents) for c in first.cpds.values()]
    )
    observed = [name for name in first.variables if name not in ("X0", "X1")]
    mechanism = _mechanism(rng, first, {"X0": observed[:1], "X1": observed})
    rows = _incomplete_rows(rng, first, ("X0", "X1"))
    with_marks = [observation_log_likelihood(observation_network(net, mechanism), rows) for net in (first, second)]
    without = [net.compile().log_likelihood(rows) for net in (first, second)]
    np.testing.assert_allclose(with_marks[0] - with_marks[1], without[0] - without[1], atol=1e-9)


def test_a_mechanism_by_the_value_itself_changes_likelihood_ratios():
    """So the law above can fail."""
    nets = [BayesianNetwork(TableCPD("X0", [p, 1 - p])) for p in (0.3, 0.6)]
    dropped = TableCPD("R_X0", [[0.9, 0.1], [0.1, 0.9]], parents=["X0"])
    ratio = [observation_log_likelihood(observation_network(net, [dropped]), {"X0": [None]})[0] for net in nets]
    assert np.exp(ratio) == pytest.approx([0.3 * 0.9 + 0.7 * 0.1, 0.6 * 0.9 + 0.4 * 0.1])


def test_indicators_that_are_none_are_refused():
    """By name and by states."""
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5]))
    with pytest.raises(InvalidArgument, match="no indicator"):
        observation_network(net, [TableCPD("R_Y", [0.5, 0.5])])
    with pytest.raises(InvalidArgument, match="states"):
        observation_network(net, [TableCPD("R_X", [0.5, 0.5], states=["gone", "there"])])


@given(seed=seeds)
@settings(max_examples=40, deadline=None)
def test_bounds_of_a_proportion_are_those_over_all_completions(seed):
    """Exercise 19.1: the least and largest maximum likelihood estimate, by enumeration of what cells may hold."""
    rng = np.random.default_rng(seed)
    cells = rng.integers(-1, 2, size=(2, 5))
    weights = rng.integers(1, 4, size=5)
    rows = {name: [None if c < 0 else int(c) for c in column] for name, column in zip("xy", cells, strict=True)}
    variables = {name: Variable(name, [0, 1]) for name in "xy"}
    table = Table.read(rows, variables, weights=weights)
    for given_x in (False, True):
        bounds = proportion_bounds(table, "y", 1, given={"x": 0} if given_x else None)
        options = [[c] if c >= 0 else [0, 1] for c in cells.ravel()]
        found = []
        for filled in product(*options):
            x, y = np.array(filled).reshape(2, 5)
            counted = weights * (x == 0) if given_x else weights
            if counted.sum():
                found.append((counted * (y == 1)).sum() / counted.sum())
        if not found:
            assert np.isnan([bounds.lower, bounds.upper]).all()
        else:
            assert (bounds.lower, bounds.upper) == pytest.approx((min(found), max(found)))


def test_bounds_name_what_is_wrong():
    """Unknown names, numbers, and a variable given itself; a complete column has no open interval."""
    with pytest.raises(UnknownVariable):
        proportion_bounds({"x": [1, 2]}, "y", 1)
    with pytest.raises(InvalidArgument, match="number"):
        proportion_bounds({"x": [1.5, 2.5]}, "x", 1.5)
    with pytest.raises(InvalidArgument, match="given"):
        proportion_bounds({"x": [1, 2]}, "x", 1, given={"x": 1})
    bounds = proportion_bounds({"x": [1, 2, 2, 2]}, "x", 1)
    assert (bounds.lower, bounds.upper, bounds.if_ignorable, bounds.missing) == (0.25, 0.25, 0.25, 0.0)
    assert str(bounds).startswith("between 0.25 and 0.25")
