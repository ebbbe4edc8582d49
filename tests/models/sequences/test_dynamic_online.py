"""Rows that come in one by one: after each one the filter knows what filtering all of them would say."""

from __future__ import annotations

import json

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible import TableCPD
from plausible.cpds import ConditionalGaussianCPD
from plausible.errors import ImpossibleEvidence, InvalidModel, UnknownVariable
from slice_oracle import random_tables, random_weights


def _follow(model, rows):
    """Feed all rows, through JSON each time, and compare with `filter` at each of them."""
    filtered, steps = model.filter(rows), model.step_log_likelihoods(rows)
    now = model.online()
    assert now.beliefs == {}
    for place, row in enumerate(rows.to_dict("records")):
        now = type(now).from_dict(json.loads(json.dumps(now.to_dict())), model).update(row)
        assert now.num_steps == place + 1
        assert now.log_likelihood == pytest.approx(steps.iloc[: place + 1].sum(), abs=1e-11)
        assert list(now.beliefs) == list(filtered)
        for name, frame in filtered.items():
            np.testing.assert_allclose(now.beliefs[name], frame.iloc[place], rtol=0, atol=1e-12)
            assert list(now.beliefs[name].index) == list(frame.columns)
    return now


@pytest.mark.parametrize("seed", range(8))
def test_each_row_gives_the_filtered_belief(seed):
    """Any tables, one or two steps back, likelihoods in cells and cells that are empty."""
    rng = np.random.default_rng(seed)
    tables = random_tables(rng, lags=int(rng.integers(1, 3)), num_variables=int(rng.integers(1, 3)))
    model = tables.model()
    rows, _ = random_weights(rng, tables, 5, model)
    _follow(model, pd.DataFrame(rows, dtype=object))


def test_numbers_and_inputs_of_earlier_rows_are_kept():
    """A number that depends on the number before it, and a state on the input one step before."""
    button = pb.Variable("button", ["off", "on"])
    first = [TableCPD("X", [0.5, 0.5]), ConditionalGaussianCPD("y", [0.0, 2.0], {}, 1.0, parents=["X"])]
    later = [
        TableCPD("X", [[[0.9, 0.1], [0.5, 0.5]], [[0.4, 0.6], [0.2, 0.8]]], parents=["button[-1]", "X[-1]"]),
        ConditionalGaussianCPD("y", [0.0, 2.0], {"y[-1]": [0.5, 0.9]}, 1.0, parents=["X", "y[-1]"]),
    ]
    model = pb.DynamicBayesianNetwork(first, later, inputs=[button])
    rows = model.sample(6, seed=0, inputs={"button": ["on", "off", "off", "on", "on", "off"]})[["button", "y"]]
    now = _follow(model, rows)
    assert now.probability("X", 1) == pytest.approx(float(now.beliefs["X"][1]))
    with pytest.raises(InvalidModel, match="'button' is an input"):
        now.update({"y": 1.0})
    with pytest.raises(UnknownVariable, match="'colour'"):
        now.update({"button": "on", "colour": 1})


def test_a_filter_is_a_value():
    """An update leaves the filter that it came from as it was; impossible rows are refused."""
    model = pb.DynamicBayesianNetwork(
        [TableCPD("X", [1.0, 0.0])], [TableCPD("X", [[1.0, 0.0], [0.0, 1.0]], parents=["X[-1]"])]
    )
    start = model.online().update()
    assert start.update(0).probability("X", 0) == 1.0
    with pytest.raises(ImpossibleEvidence, match="after the 1 rows before it"):
        start.update({"X": 1})
    assert (start.num_steps, start.log_likelihood) == (1, 0.0)
