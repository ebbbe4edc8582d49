"""Lotteries of many stages: each stage is looked at once."""

from __future__ import annotations

import copy
import pickle
import subprocess
import sys
import time
from fractions import Fraction

import pytest

from plausible.utilities import Lottery


def chain(depth):
    """With 1/2 nothing more, else on to the next stage."""
    lottery = Lottery({"a": 0.5, "b": 0.5})
    for _ in range(depth - 1):
        lottery = Lottery({lottery: 0.5, "b": 0.5})
    return lottery


def lattice(depth):
    """Two stages at each level, both of which stand in both of the next: 2**depth paths."""
    first, second = Lottery({"a": 0.5, "b": 0.5}), Lottery({"a": 0.25, "b": 0.75})
    for _ in range(depth):
        first, second = Lottery({first: 0.5, second: 0.5}), Lottery({first: 0.25, second: 0.75})
    return first


@pytest.mark.parametrize("depth", [1, 20, 300, 3000])
def test_a_chain_of_stages_takes_milliseconds(depth):
    """2**-depth is left of the first outcome; 3000 stages neither recurse nor multiply."""
    start = time.perf_counter()
    lottery, twin = chain(depth), chain(depth)
    assert lottery.flatten()["a"] == 2.0**-depth
    assert lottery.expected_utility({"a": 0.0, "b": 8.0}) == pytest.approx(8.0 * (1 - 2.0**-depth))
    assert lottery == twin
    assert hash(lottery) == hash(twin)
    assert lottery != chain(depth + 1)
    assert lottery.is_close(lottery.flatten())
    assert len(str(lottery)) < 200
    assert time.perf_counter() - start < 2.0


def test_stages_that_stand_in_many_places_are_evaluated_once():
    """Against the two-state Markov chain in fractions."""
    start = time.perf_counter()
    chances = [Fraction(1, 2), Fraction(1, 4)]
    for _ in range(300):
        chances = [(chances[0] + chances[1]) / 2, (chances[0] + 3 * chances[1]) / 4]
    lottery = lattice(300)
    assert lottery.final_probabilities()["a"] == pytest.approx(float(chances[0]))
    assert lottery.expected_utility({"a": 1.0, "b": 0.0}) == pytest.approx(float(chances[0]))
    assert lottery == lattice(300)
    assert lottery != lattice(299)
    assert time.perf_counter() - start < 2.0


def test_outcomes_keep_the_order_in_which_they_are_read():
    """Also where an inner stage comes first, or twice."""
    inner = Lottery({"c": 0.5, "a": 0.5})
    assert list(Lottery({inner: 0.5, "b": 0.25, Lottery({inner: 1.0}): 0.25}).flatten()) == ["c", "a", "b"]


def test_a_stage_of_probability_zero_needs_no_utility():
    lottery = Lottery({"a": 1.0, Lottery({"unknown": 1.0}): 0.0})
    assert lottery.expected_utility({"a": 2.0}) == 2.0
    assert lottery == Lottery({"a": 1.0})


def test_hashes_are_those_of_the_process_that_reads():
    """Hashes of texts differ from process to process, so a pickled lottery makes its own anew."""
    lottery = chain(5)
    assert copy.copy(lottery) == copy.deepcopy(lottery) == lottery
    code = (
        "import pickle, sys; from plausible.utilities.lotteries.lottery import Lottery; "
        "read = pickle.loads(sys.stdin.buffer.read()); print(read in {Lottery(dict(read))})"
    )
    asked = subprocess.run([sys.executable, "-c", code], input=pickle.dumps(lottery), capture_output=True, check=True)
    assert asked.stdout.split() == [b"True"]
