"""The spectral gap of Markov chains against closed forms and plain eigenvalues."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import sparse

from plausible.inference.markov_chains.markov_chain import MarkovChain


def birth_death(size, up, down):
    """Up and down with these probabilities, staying else."""
    ups, downs = np.r_[np.full(size - 1, up), 0.0], np.r_[0.0, np.full(size - 1, down)]
    return sparse.diags_array([downs[1:], 1 - ups - downs, ups[:-1]], offsets=[-1, 0, 1], format="csr")


def birth_death_gap(size, up, down):
    """p + q - 2 √(pq) cos(π/n), without cancellation."""
    return (np.sqrt(up) - np.sqrt(down)) ** 2 + 4 * np.sqrt(up * down) * np.sin(np.pi / (2 * size)) ** 2


@pytest.mark.parametrize("size", [2, 100, 200, 700, 3000, 8000])
@pytest.mark.parametrize(("up", "down"), [(0.2, 0.4), (0.3, 0.3), (1e-6, 2e-6), (1e-9, 1e-9)])
def test_gap_of_birth_death_chains_has_its_closed_form(size, up, down):
    """The matrix is far from normal and π underflows; the gap has eight digits all the same."""
    found = MarkovChain(birth_death(size, up, down)).spectral_gap()
    assert found == pytest.approx(birth_death_gap(size, up, down), rel=1e-8, abs=0)


@pytest.mark.parametrize(("height", "width", "rate"), [(15, 20, 0.25), (90, 80, 0.25), (60, 50, 1e-9), (90, 80, 0.2)])
def test_gap_of_grids_is_that_of_the_longer_side(height, width, rate):
    """A walk along one of two birth-death chains at a time: the rates 1 - λ add up, so that the least is of one."""
    ways = [birth_death(size, rate, rate) - sparse.eye_array(size) for size in (height, width)]
    table = sparse.kron(ways[0], sparse.eye_array(width)) + sparse.kron(sparse.eye_array(height), ways[1])
    chain = MarkovChain((table + sparse.eye_array(height * width)).tocsr())
    assert chain.spectral_gap() == pytest.approx(birth_death_gap(max(height, width), rate, rate), rel=1e-8, abs=0)


@pytest.mark.parametrize(("size", "coupling"), [*product([2, 40], [1e-9, 1e-13, 1e-100]), (520, 1e-100)])
def test_gap_of_halves_that_hardly_meet_is_their_rate_of_exchange(coupling, size):
    """Two cliques joined at one pair with rate c each way: 1 - λ_2 = 2 c / m up to terms of c²."""
    half = np.full((size, size), 1 / size)
    doors = sparse.csr_array(([coupling] * 2, ([0, size], [size, 0])), shape=(2 * size, 2 * size))
    table = sparse.block_diag([half, half], format="csr") + doors
    assert MarkovChain(table).spectral_gap() == pytest.approx(2 * coupling / size, rel=max(1e-9, 20 * coupling), abs=0)


@settings(max_examples=24, deadline=None)
@given(seed=st.integers(0, 2**16), size=st.integers(1, 7), transient=st.integers(0, 3), lazy=st.booleans())
def test_gap_of_reversible_chains_with_transient_states(seed, size, transient, lazy):
    """A closed class in detailed balance, states that lead to it and to each other: 1 - |λ_2| of all eigenvalues."""
    rng = np.random.default_rng(seed)
    flows = rng.random((size, size)) + 0.01
    flows = flows + flows.T + lazy * np.diag(rng.random(size) * 9)
    table = np.zeros((size + transient, size + transient))
    table[:size, :size] = flows / flows.sum(axis=1, keepdims=True)
    if transient:
        rows = rng.random((transient, size + transient)) * (rng.random((transient, size + transient)) < 0.7) + 1e-3
        table[size:] = rows / rows.sum(axis=1, keepdims=True)
    moduli = np.sort(np.abs(np.linalg.eigvals(table)))
    expected = 1 - moduli[-2] if len(table) > 1 else 1.0
    chain = MarkovChain(table)
    assert chain.spectral_gap() == pytest.approx(expected, abs=1e-10)
    assert chain.is_reversible


@pytest.mark.parametrize("size", [50, 1501])
def test_gap_of_a_walk_that_never_stays_is_at_the_other_end(size):
    """On an odd ring λ = cos(2πk/n): the gap is 1 + cos(π (n-1)/n), nearer to -1 than to 1; zero on an even one."""
    places = np.arange(size)
    columns = np.concatenate([(places + 1) % size, (places - 1) % size])
    chain = MarkovChain(sparse.csr_array((np.full(2 * size, 0.5), (np.tile(places, 2), columns))))
    expected = 2 * np.sin(np.pi / (2 * size)) ** 2 if size % 2 else 0.0
    assert chain.spectral_gap() == pytest.approx(expected, rel=1e-7, abs=1e-15)


def test_absorption_from_one_end_has_its_closed_form():
    """Left for good at the bottom, held back at the top: 1 - λ = 2 p (1 - cos(π / (2n + 1))) of n transient states."""
    size, rate = 1500, 1e-7
    table = birth_death(size + 1, rate, rate).tolil()
    table[0, 0], table[0, 1] = 1.0, 0.0
    expected = 4 * rate * np.sin(np.pi / (2 * (2 * size + 1))) ** 2
    assert MarkovChain(table.tocsr()).spectral_gap() == pytest.approx(expected, rel=1e-8, abs=0)


def test_long_drifts_are_reversible():
    """Weights far below the least float are in balance; a triangle turned one way by 1e-6 is not."""
    assert MarkovChain(birth_death(5000, 0.1, 0.8)).is_reversible
    turn = np.array([[0.4, 0.3 + 1e-6, 0.3 - 1e-6], [0.3 - 1e-6, 0.4, 0.3 + 1e-6], [0.3 + 1e-6, 0.3 - 1e-6, 0.4]])
    assert not MarkovChain(turn).is_reversible
