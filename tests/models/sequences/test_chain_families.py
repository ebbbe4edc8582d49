"""Factorial and coupled hidden Markov models are dynamic networks of their structure."""

from __future__ import annotations

import numpy as np
import pytest

from plausible import TableCPD
from plausible.errors import InvalidModel
from plausible.models import coupled_hmm, factorial_hmm

START = [TableCPD("A", [0.5, 0.5]), TableCPD("B", [0.3, 0.7])]


def test_factorial_chains_are_one_chain_over_pairs():
    """Filtering two chains seen by their sum is filtering one chain whose moves are a Kronecker product."""
    first, second = np.array([[0.9, 0.1], [0.2, 0.8]]), np.array([[0.6, 0.4], [0.3, 0.7]])
    moves = [TableCPD("A", first, parents=["A[-1]"]), TableCPD("B", second, parents=["B[-1]"])]
    seen = np.array([[[0.8, 0.1, 0.1], [0.1, 0.8, 0.1]], [[0.1, 0.8, 0.1], [0.1, 0.1, 0.8]]])
    model = factorial_hmm(START, moves, TableCPD("sum", seen, parents=["A", "B"]))
    belief, rows = np.kron([0.5, 0.5], [0.3, 0.7]), [0, 2, 1]
    found = model.filter({"sum": rows})
    for step, row in enumerate(rows):
        belief = (belief @ np.kron(first, second) if step else belief) * seen.reshape(4, 3)[:, row]
        belief = belief / belief.sum()
        np.testing.assert_allclose(found["A"].iloc[step], belief.reshape(2, 2).sum(axis=1), atol=1e-13)
    with pytest.raises(InvalidModel, match="coupled_hmm"):
        factorial_hmm(START, [TableCPD("A", first, parents=["B[-1]"]), moves[1]], [])


def test_coupled_chains_have_observations_of_their_own():
    """Other structures are refused with the name of the function that takes them."""
    moves = [
        TableCPD("A", np.full((2, 2), 0.5), parents=["B[-1]"]),
        TableCPD("B", np.full((2, 2), 0.5), parents=["A[-1]"]),
    ]
    model = coupled_hmm(START, moves, [TableCPD("a", np.eye(2), parents=["A"])])
    assert model.inter_slice_edges == (("B[-1]", "A"), ("A[-1]", "B"))
    assert model.smooth({"a": [0, 1]})["A"].to_numpy().tolist() == [[1.0, 0.0], [0.0, 1.0]]
    with pytest.raises(InvalidModel, match="factorial_hmm"):
        coupled_hmm(START, moves, [TableCPD("s", np.full((2, 2, 2), 0.5), parents=["A", "B"])])
    with pytest.raises(InvalidModel, match="any parents"):
        coupled_hmm(START, [TableCPD("A", np.eye(2), parents=["B"]), moves[1]], [])
