"""Programs: what is laid out is a clique tree of the factors, whatever their scopes."""

from __future__ import annotations

import pickle
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_problems import problems
from plausible.engine.compilation import TreeTooLarge, compile_program
from plausible.engine.run import Workspace
from plausible.kernels.elimination import eliminate
from plausible.kernels.heuristics import MIN_FILL, MIN_NEIGHBORS, MIN_WEIGHT, WEIGHTED_MIN_FILL


@settings(max_examples=40, deadline=None)
@given(problem=problems())
def test_trees_hold_every_scope_and_have_the_running_intersection(problem):
    """Each scope fits into a clique; the cliques with a variable hang together; no clique contains another."""
    scopes, sizes = problem
    program = compile_program(scopes, sizes)
    cliques = [frozenset(program.clique(position)) for position in range(program.num_cliques)]
    parents = program.layout.cliques["parent"].tolist()
    assert all(any(clique.issuperset(scope) for clique in cliques) for scope in scopes)
    assert frozenset().union(*cliques) == set(range(len(sizes)))
    assert not any(a <= b or b <= a for a, b in combinations(cliques, 2))
    for position, parent in enumerate(parents):
        assert parent == -1 or parent > position
        shared = cliques[position] & cliques[parent] if parent >= 0 else frozenset()
        assert frozenset(program.separator(position)) == shared
    for variable in range(len(sizes)):
        holding = [position for position, clique in enumerate(cliques) if variable in clique]
        tops = [p for p in holding if parents[p] == -1 or variable not in cliques[parents[p]]]
        assert len(tops) == 1


def greedy_cost(scopes, sizes, heuristic):
    """Entries of the cliques of the greedy order, ties by number: by sets, and costs computed anew at every step."""
    around = {v: set() for v in range(len(sizes))}
    for scope in scopes:
        for a, b in combinations(scope, 2):
            around[a].add(b)
            around[b].add(a)

    def cost(v):
        missing = [(a, b) for a, b in combinations(around[v], 2) if b not in around[a]]
        entries = int(np.prod([sizes[u] for u in around[v]], initial=sizes[v]))
        weighted = sum(sizes[a] * sizes[b] for a, b in missing)
        return {
            MIN_NEIGHBORS: len(around[v]),
            MIN_FILL: len(missing),
            WEIGHTED_MIN_FILL: weighted,
            MIN_WEIGHT: entries,
        }[heuristic]

    order, total = [], 0
    while around:
        v = min(around, key=lambda u: (cost(u), u))
        order.append(v)
        total += int(np.prod([sizes[u] for u in around[v]], initial=sizes[v]))
        for a, b in combinations(around[v], 2):
            around[a].add(b)
            around[b].add(a)
        for u in around.pop(v):
            around[u].discard(v)
    return order, total


@settings(max_examples=32, deadline=None)
@given(
    problem=problems(max_variables=14, max_size=4),
    heuristic=st.sampled_from([MIN_NEIGHBORS, MIN_FILL, WEIGHTED_MIN_FILL, MIN_WEIGHT]),
)
def test_greedy_orders_are_those_of_their_definition(problem, heuristic):
    """The costs that are kept up to date from step to step equal costs computed anew."""
    scopes, sizes = problem
    members = np.array([v for scope in scopes for v in scope], dtype=np.int64)
    starts = np.cumsum([0, *map(len, scopes)])
    nothing = np.empty(0, dtype=np.int64)
    order, _, _, cost, _ = eliminate(members, starts, np.array(sizes), heuristic, nothing, 0, np.inf)
    assert (order.tolist(), cost) == greedy_cost(scopes, sizes, heuristic)


@settings(max_examples=20, deadline=None)
@given(problem=problems(max_variables=12), seed=st.integers(1, 99))
def test_random_ties_give_an_order_of_all_variables_that_costs_what_it_says(problem, seed):
    """The cost of a run with random ties is that of following its order."""
    scopes, sizes = problem
    members = np.array([v for scope in scopes for v in scope], dtype=np.int64)
    starts = np.cumsum([0, *map(len, scopes)])
    nothing = np.empty(0, dtype=np.int64)
    order, _, _, cost, _ = eliminate(members, starts, np.array(sizes), WEIGHTED_MIN_FILL, nothing, seed, np.inf)
    assert sorted(order.tolist()) == list(range(len(sizes)))
    assert cost == eliminate(members, starts, np.array(sizes), MIN_FILL, order, 0, np.inf)[3]


def test_chordal_graphs_get_no_fill():
    """A chain of triangles: every clique has three variables, whatever the numbering."""
    numbers = np.random.default_rng(0).permutation(200)
    scopes = tuple(tuple(int(numbers[i + k]) for k in range(3)) for i in range(198))
    assert compile_program(scopes, (2,) * 200).width == 2


def test_an_order_that_is_given_is_followed():
    """A star eliminated from the centre is one large clique, from the leaves many small ones."""
    scopes, sizes = tuple((0, leaf) for leaf in range(1, 6)), (2,) * 6
    assert compile_program(scopes, sizes, order=(0, 1, 2, 3, 4, 5)).width == 5
    assert compile_program(scopes, sizes, order=(1, 2, 3, 4, 5, 0)).width == 1


def test_no_variables_make_an_empty_program():
    """Nothing to sum up: the total is one."""
    program = compile_program((), ())
    assert (program.num_cliques, program.num_entries, program.width) == (0, 0, -1)
    assert Workspace.of(program, np.empty(0)).collect({}) == 0.0


def test_programs_are_cached_by_structure_and_can_be_pickled():
    """The same scopes and sizes give the same program; a copy of it says the same."""
    program = compile_program(((0, 1),), (2, 3))
    assert compile_program(((0, 1),), (2, 3)) is program
    assert str(pickle.loads(pickle.dumps(program))) == str(program)


def test_a_tree_that_would_take_forever_is_refused_with_its_largest_clique():
    """Sixty variables that all meet: refused before anything is allocated."""
    with pytest.raises(TreeTooLarge) as caught:
        compile_program(tuple(combinations(range(60), 2)), (2,) * 60)
    assert caught.value.clique == tuple(range(60))
    assert caught.value.entries == 2.0**60
    with pytest.raises(TreeTooLarge, match="more than 1e308"):
        compile_program(tuple(combinations(range(60), 2)), (10**6,) * 60)


def test_the_estimate_of_time_grows_with_the_factors_on_a_clique():
    """Each block is multiplied by all of them: n pairs more cost n times what one more costs, in each entry."""

    def seconds(num_variables, repeats):
        pairs = tuple(combinations(range(num_variables), 2))
        return compile_program(pairs * repeats, (2,) * num_variables).seconds

    for num in (8, 16):  # one block, and many
        one, two, five = (seconds(num, repeats) for repeats in (1, 2, 5))
        assert five - one == pytest.approx(4 * (two - one), rel=1e-12)
        assert two > 1.5 * one
    alone = compile_program((tuple(range(16)),), (2,) * 16).seconds
    assert seconds(16, 1) / alone > 10
    assert seconds(20, 1) / seconds(16, 1) > 2**4


def test_many_factors_count_as_work_where_tables_are_large():
    """A clique of 27 variables with all its 351 pairs is no matter of a second, and budgets are told."""
    pairs = tuple(combinations(range(27), 2))
    assert compile_program(pairs, (2,) * 27).seconds > 10
    assert compile_program((tuple(range(20)),), (2,) * 20).seconds < 0.02
