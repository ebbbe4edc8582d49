"""Arguments of the wrong type are refused in the library's own words."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, InvalidEvidence, InvalidModel, UnknownVariable

NETWORK = pb.BayesianNetwork(pb.TableCPD("x", [0.5, 0.5]), pb.TableCPD("y", [[0.5, 0.5], [0.1, 0.9]], parents=["x"]))


@pytest.mark.parametrize(
    ("ask", "error", "message"),
    [
        (
            lambda: pb.BayesianNetwork(inputs=["q"]),
            InvalidModel,
            "inputs of a network are .* Variable objects, not 'q'",
        ),
        (lambda: pb.BayesianNetwork(inputs="q"), InvalidModel, "Variable objects, not 'q'"),
        (lambda: pb.BayesianNetwork(inputs=3), InvalidModel, "Variable objects, not 3"),
        (lambda: NETWORK.cpd(["x"]), UnknownVariable, r"\['x'\] is not a variable of this network"),
        (lambda: NETWORK.without_variable({"x"}), UnknownVariable, r"\{'x'\} is not a variable of this network"),
        (lambda: NETWORK.subnetwork(3), UnknownVariable, "3 is not a variable"),
        (lambda: NETWORK.query("y", do=["x"]), InvalidArgument, r"mapping, such as do=\{.*not \['x'\]"),
        (lambda: NETWORK.mpe(do=3), InvalidArgument, "An intervention is a mapping"),
        (lambda: NETWORK.intervene("x"), InvalidArgument, "An intervention is a mapping"),
        (lambda: NETWORK.query("y", evidence=["x"], do={"x": 1}), InvalidEvidence, "Evidence is a mapping"),
        (lambda: NETWORK.is_close(3), InvalidArgument, "another one or not; 3 is none"),
        (lambda: NETWORK.cpd("x").is_close("x"), InvalidArgument, "can't be compared with 'x'"),
        (lambda: NETWORK.to_markov_network().is_close(NETWORK), InvalidArgument, "MarkovNetwork is close to another"),
        (lambda: NETWORK.with_cpd(3), InvalidModel, "made of CPDs, not of 3"),
    ],
)
def test_a_wrong_type_is_named(ask: Callable[[], Any], error: type[Exception], message: str) -> None:
    with pytest.raises(error, match=message):
        ask()


@pytest.mark.parametrize(
    "frame",
    [
        pd.DataFrame([[0, 1, 1]], columns=["x", "y", "y"]),
        pa.table([[0], [1], [1]], names=["x", "y", "y"]),
    ],
    ids=["pandas", "arrow"],
)
def test_a_repeated_column_is_named(frame: Any) -> None:
    with pytest.raises(InvalidArgument, match="The data has 2 columns 'y'; keep one of them"):
        NETWORK.log_likelihood(frame)
    with pytest.raises(InvalidArgument, match="The data has 2 columns 'y'"):
        NETWORK.compile().predict_proba(frame, "x")


def test_frames_without_repeated_columns_still_pass() -> None:
    for frame in (pd.DataFrame({"x": [0], "y": [1]}), pl.DataFrame({"x": [0], "y": [1]})):
        assert NETWORK.log_likelihood(frame).shape == (1,)
