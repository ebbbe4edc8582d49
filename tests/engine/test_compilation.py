"""Programs: what is laid out is a clique tree of the factors, whatever their scopes."""

from __future__ import annotations

from itertools import combinations

import numpy as np
from hypothesis import given, settings
from hypothesis import strategies as st

from plausible.engine.compilation import compile_program
from plausible.engine.run import Workspace
from plausible.engine.tree import build_tree


@st.composite
def problems(draw):
    """Sizes of up to eight variables and scopes of up to three of them; some variables are in none."""
    sizes = tuple(draw(st.lists(st.integers(1, 3), min_size=1, max_size=8)))
    scope = st.lists(st.sampled_from(range(len(sizes))), unique=True, max_size=3).map(tuple)
    return tuple(draw(st.lists(scope, max_size=9))), sizes


@settings(max_examples=200, deadline=None)
@given(problem=problems())
def test_trees_hold_every_scope_and_have_the_running_intersection(problem):
    """Each scope fits into a clique; the cliques with a variable hang together; no clique contains another."""
    scopes, sizes = problem
    tree = build_tree(scopes, sizes)
    assert all(any(clique.issuperset(scope) for clique in tree.cliques) for scope in scopes)
    assert frozenset().union(*tree.cliques) == set(range(len(sizes)))
    assert not any(a <= b or b <= a for a, b in combinations(tree.cliques, 2))
    for position, parent in enumerate(tree.parents):
        assert parent == -1 or parent > position
    for variable in range(len(sizes)):
        holding = [position for position, clique in enumerate(tree.cliques) if variable in clique]
        tops = [p for p in holding if tree.parents[p] == -1 or variable not in tree.cliques[tree.parents[p]]]
        assert len(tops) == 1


@settings(max_examples=150, deadline=None)
@given(problem=problems(), seed=st.integers(0, 10**6))
def test_totals_and_beliefs_equal_the_full_product(problem, seed):
    """log Σ Π φ, all marginals and all clique beliefs against one einsum over everything."""
    scopes, sizes = problem
    rng = np.random.default_rng(seed)
    tables = [rng.random([sizes[v] for v in scope]) * (rng.random([sizes[v] for v in scope]) > 0.1) for scope in scopes]
    everything = list(range(len(sizes)))
    operands = [part for table, scope in zip(tables, scopes, strict=True) for part in (table, list(scope))]
    product = np.einsum(*operands, np.ones(sizes), everything, everything)
    program = compile_program(scopes, sizes)
    workspace = Workspace.of(program)
    sources = np.concatenate([table.ravel() for table in tables]) if tables else np.empty(0)
    log_total = workspace.collect(sources, {})
    if product.sum() == 0:
        assert log_total == -np.inf
        return
    np.testing.assert_allclose(log_total, np.log(product.sum()), atol=1e-10)
    workspace.calibrate(keep_all=True)
    for variable, marginal in enumerate(workspace.marginals()):
        np.testing.assert_allclose(marginal, np.einsum(product, everything, [variable]) / product.sum(), atol=1e-12)
    for position in range(program.num_cliques):
        expected = np.einsum(product, everything, list(program.clique(position))) / product.sum()
        np.testing.assert_allclose(workspace.belief(position), expected, atol=1e-12)


def test_an_order_that_is_given_is_followed():
    """A star eliminated from the centre is one large clique, from the leaves many small ones."""
    scopes, sizes = tuple((0, leaf) for leaf in range(1, 6)), (2,) * 6
    assert compile_program(scopes, sizes, order=(0, 1, 2, 3, 4, 5)).width == 5
    assert compile_program(scopes, sizes, order=(1, 2, 3, 4, 5, 0)).width == 1


def test_no_variables_make_an_empty_program():
    """Nothing to sum up: the total is one."""
    program = compile_program((), ())
    assert (program.num_cliques, program.num_entries, program.width) == (0, 0, -1)
    assert Workspace.of(program).collect(np.empty(0), {}) == 0.0


def test_programs_are_cached_by_structure():
    """The same scopes and sizes give the same program."""
    assert compile_program(((0, 1),), (2, 3)) is compile_program(((0, 1),), (2, 3))
