"""Fingerprints tell values apart by what they hold, in every process alike."""

import subprocess
import sys

import numpy as np
import pytest

from plausible.base.fingerprints import fingerprint
from plausible.cpds import TableCPD
from plausible.data.table import Table
from plausible.graphs import DAG
from plausible.learn.estimation.priors import BDeu
from plausible.learn.structures.knowledge import Knowledge
from plausible.models import BayesianNetwork

COIN = BayesianNetwork(TableCPD("coin", [0.25, 0.75]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
#: Pairs of values that differ, mostly in one thing that is small or hidden.
DIFFERENT = [
    (1, 1.0),
    (1, True),
    ("1", 1),
    (None, "None"),
    ([1, 2], (1, 2)),
    ([1, [2]], [[1], 2]),
    ({"a": 1}, {"a": 2}),
    ({"a": 1}, {"b": 1}),
    ({1, 2}, {1, 3}),
    (np.zeros(3), np.zeros((3, 1))),
    (np.zeros(3), np.zeros(3, dtype=np.float32)),
    (np.array(["a", 1], dtype=object), np.array(["a", 2], dtype=object)),
    (BDeu(1), BDeu(2)),
    (Knowledge(required="A -> B"), Knowledge(forbidden="A -> B")),
    (DAG("A -> B"), DAG("B -> A")),
    (DAG("A -> B"), DAG("A -> B", nodes=["A", "B", "C"])),
    (COIN, COIN.with_cpd(TableCPD("coin", [0.5, 0.5]))),
    (Table.read({"a": [0, 1]}), Table.read({"a": [1, 0]})),
    (Table.read({"a": [0, 1]}), Table.read({"a": [0, 1]}).weighted([1, 2])),
    (lambda x: x + 1, lambda x: x + 2),
    (np.random.default_rng(0), np.random.default_rng(1)),
    (len, max),
    (int, float),
]


@pytest.mark.parametrize(
    "pair", DIFFERENT, ids=[f"{number} {type(one).__name__}" for number, (one, _) in enumerate(DIFFERENT)]
)
def test_what_differs_has_another_fingerprint(pair):
    first, second = map(fingerprint, pair)
    assert first != second


def test_the_order_of_sets_and_mappings_and_what_was_asked_before_say_nothing():
    assert fingerprint({"a": 1, "b": {3, 1, 2}}) == fingerprint({"b": {2, 1, 3}, "a": 1})
    before = fingerprint(COIN)
    COIN.query("coin", {"call": 0})
    COIN.graph.d_separated("coin", "call")
    assert fingerprint(COIN) == before
    closed = [(lambda x, n=number: x + n) for number in (1, 2, 1)]
    assert fingerprint(closed[0]) == fingerprint(closed[2]) != fingerprint(closed[1])


def test_what_lies_in_itself_has_one():
    ring, other = [1], [1]
    ring.append(ring)
    other.append(other)
    assert fingerprint(ring) == fingerprint(other) != fingerprint([1, [1]])


def test_every_process_gives_the_same():
    code = (
        "from plausible.base.fingerprints import fingerprint\n"
        "from plausible.graphs import DAG\n"
        "print(fingerprint({'a': {'x', 'y', 'z'}, 'g': DAG('A -> B <- C'), 'f': sorted}))"
    )
    shown = [
        subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True, env=env).stdout
        for env in ({"PYTHONHASHSEED": "1", **_path()}, {"PYTHONHASHSEED": "2", **_path()})
    ]
    assert shown[0] == shown[1] != ""


def _path():
    import os

    return {name: value for name, value in os.environ.items() if name != "PYTHONHASHSEED"}
