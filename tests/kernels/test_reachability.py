"""The Bayes-ball kernel against its plain twin."""

from __future__ import annotations

import subprocess
import sys

import numpy as np
import pytest

from plausible.kernels.reachability import bayes_ball
from seeds import few_of


def twin(edges, starts, observed):
    """The states (node, side) that the ball enters, by applying the rules to all edges until nothing is new."""
    states = {(start, "child") for start in starts}
    while True:
        fresh = set()
        for a, b in edges:
            if any(((b, "child") in states and not observed[b], (b, "parent") in states and observed[b])):
                fresh.add((a, "child"))
            if not observed[a] and ((a, "child") in states or (a, "parent") in states):
                fresh.add((b, "parent"))
        if fresh <= states:
            return states
        states |= fresh


def rows(size, pairs):
    """Compressed rows of `pairs` (row, item)."""
    table = [[item for row, item in pairs if row == k] for k in range(size)]
    offsets = np.cumsum([0, *map(len, table)]).astype(np.int32)
    return offsets, np.array([item for row in table for item in row], dtype=np.int32)


def run(size, edges, starts, observed, target):
    parent_offsets, parents = rows(size, [(b, a) for a, b in edges])
    child_offsets, children = rows(size, edges)
    visited, stack = np.zeros(size, dtype=np.uint8), np.empty(2 * size, dtype=np.int32)
    starts = np.array(starts, dtype=np.int32)
    met = bayes_ball(parent_offsets, parents, child_offsets, children, starts, observed, target, visited, stack)
    return met, visited


@pytest.mark.parametrize("seed", few_of(10, 60))
def test_the_kernel_enters_the_states_of_the_rules_and_no_others(seed):
    rng = np.random.default_rng(seed)
    size = int(rng.integers(1, 12))
    edges = [(a, b) for a in range(size) for b in range(a + 1, size) if rng.random() < rng.choice([0.1, 0.3, 0.6])]
    observed = (rng.random(size) < 0.3).astype(np.uint8)
    starts = [node for node in rng.integers(size, size=3) if not observed[node]]
    states = twin(edges, starts, observed)
    met, visited = run(size, edges, starts, observed, np.zeros(size, dtype=np.uint8))
    assert not met
    for node in range(size):
        assert visited[node] == ((node, "child") in states) + 2 * ((node, "parent") in states)
    for node in np.flatnonzero(observed == 0):
        target = np.zeros(size, dtype=np.uint8)
        target[node] = 1
        assert run(size, edges, starts, observed, target)[0] == any(node == reached for reached, _ in states)


def test_no_starts_reach_nothing():
    none = np.zeros(3, dtype=np.uint8)
    met, visited = run(3, [(0, 1), (1, 2)], [], none, np.ones(3, dtype=np.uint8))
    assert not met
    assert not visited.any()


def test_small_graphs_are_answered_without_loading_the_compiler():
    """Numba costs half a second to import: a session with small graphs never pays it."""
    script = (
        "import sys; from plausible.graphs.dag import DAG;"
        "assert DAG('A -> B <- C').d_separated('A', 'C');"
        "heavy = {'numba', 'scipy', 'pandas', 'networkx'} & set(sys.modules); assert not heavy, heavy"
    )
    subprocess.run([sys.executable, "-c", script], check=True)
