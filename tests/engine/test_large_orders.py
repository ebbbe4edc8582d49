"""Elimination of large graphs: hubs, grids and dense parts take no more than a moment."""

from __future__ import annotations

import time

import numpy as np
import pytest

from plausible.kernels.elimination import eliminate
from plausible.kernels.heuristics import MIN_FILL, MIN_NEIGHBORS, MIN_WEIGHT, WEIGHTED_MIN_FILL
from plausible.kernels.jit import use_tier

HEURISTICS = [MIN_NEIGHBORS, MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT]
NO_ORDER = np.empty(0, dtype=np.int64)


def run(edges, num, heuristic, order=NO_ORDER):
    """Eliminate ternary variables; the largest clique's size less one, and the cost."""
    scopes = np.asarray(edges, dtype=np.int64)
    starts = np.arange(0, scopes.size + 1, 2)
    began = time.thread_time()
    chosen, _, clique_starts, cost, _ = eliminate(scopes.ravel(), starts, np.full(num, 3), heuristic, order, 0, np.inf)
    assert time.thread_time() - began < 5.0  # the quadratic way would take far longer
    assert np.array_equal(np.sort(chosen), np.arange(num))
    return int(np.diff(clique_starts).max()) - 1, cost, chosen


@pytest.fixture(scope="module", autouse=True)
def compiled():
    """Time the machine code, not the compiler or the interpreter."""
    with use_tier("compiled"):
        eliminate(np.array([0, 1]), np.array([0, 2]), np.full(2, 3), MIN_FILL, NO_ORDER, 0, np.inf)
        yield


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_stars_lose_their_leaves_in_linear_time(heuristic):
    """Leaves go first, each with the hub alone; the same order, given, does the same."""
    num = 100_001
    edges = np.stack([np.zeros(num - 1, dtype=np.int64), np.arange(1, num)], axis=1)
    width, cost, order = run(edges, num, heuristic)
    assert (width, cost) == (1, 9.0 * (num - 1) + 3.0)
    assert run(edges, num, heuristic, order)[:2] == (width, cost)


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_wheels_have_width_three_in_linear_time(heuristic):
    """The rim goes first: each of its variables with the hub and two others, until three are left of it."""
    rim = np.arange(1, 20_001)
    edges = np.concatenate([np.stack([np.zeros_like(rim), rim], axis=1), np.stack([rim, np.roll(rim, 1)], axis=1)])
    width, cost, _ = run(edges, len(rim) + 1, heuristic)
    assert (width, cost) == (3, 81.0 * (len(rim) - 2) + 27.0 + 9.0 + 3.0)


def test_chains_of_any_numbering_have_width_one():
    """A hundred thousand variables in a row, numbered at random."""
    numbers = np.random.default_rng(0).permutation(100_000)
    assert run(np.stack([numbers[:-1], numbers[1:]], axis=1), len(numbers), WEIGHTED_MIN_FILL)[0] == 1


def test_grids_get_a_width_that_is_not_far_from_their_side():
    """A grid of 60 x 60 has tree-width 60; no order has less."""
    cells = np.arange(3600).reshape(60, 60)
    across = np.stack([cells[:, :-1], cells[:, 1:]], axis=-1).reshape(-1, 2)
    down = np.stack([cells[:-1], cells[1:]], axis=-1).reshape(-1, 2)
    assert 60 <= run(np.concatenate([across, down]), 3600, MIN_FILL)[0] <= 120


@pytest.mark.parametrize("heuristic", HEURISTICS)
def test_dense_graphs_become_one_clique_soon(heuristic):
    """Of 400 variables joined with probability one half, a clique of all but a few is left."""
    pairs = np.stack(np.triu_indices(400, 1), axis=1)
    edges = pairs[np.random.default_rng(0).random(len(pairs)) < 0.5]
    assert 370 <= run(edges, 400, heuristic)[0] <= 399
