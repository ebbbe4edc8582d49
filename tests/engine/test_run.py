"""Runs: totals, marginals, beliefs, best assignments and draws against the full product."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_problems import flat, full_product, problems, random_tables
from plausible.engine.compilation import compile_program
from plausible.engine.run import Semiring, Workspace

# With blocks of 1,024 entries, these two have cliques of several blocks, and of several rows in a block.
WIDE = [
    (((0, 1, 2), (2, 3), (3, 4, 0), (5, 1, 4), (4,), ()), (12, 9, 7, 8, 11, 3)),
    (((0, 1, 2, 3, 4, 5, 6), (6, 7), (7, 8, 0), (8, 1)), (4, 3, 4, 2, 5, 3, 4, 3, 6)),
]


def check_sums(scopes, sizes, tables, weights, semiring):
    """Total, marginals and beliefs of a new workspace against one einsum over everything."""
    product = full_product(scopes, tables, sizes)
    for variable, vector in weights.items():
        product = product * np.reshape(vector, [-1 if v == variable else 1 for v in range(len(sizes))])
    program = compile_program(scopes, sizes)
    workspace = Workspace.of(program, flat(tables), semiring)
    check_against(workspace, product, weights)


def check_against(workspace, product, weights):
    program, everything = workspace.program, list(range(product.ndim))
    log_total = workspace.collect(weights)
    if product.sum() == 0:
        assert log_total == -np.inf
        return
    np.testing.assert_allclose(log_total, np.log(product.sum()), atol=1e-10)
    workspace.distribute()
    for variable, marginal in enumerate(workspace.marginals()):
        np.testing.assert_allclose(marginal, np.einsum(product, everything, [variable]) / product.sum(), atol=1e-12)
    for position in range(program.num_cliques):
        clique = list(program.clique(position))
        for wanted in (clique, clique[::-2], clique[1:2], []):
            expected = np.einsum(product, everything, wanted) / product.sum()
            np.testing.assert_allclose(workspace.joint(position, wanted), expected, atol=1e-12)


def random_weights(sizes, seed):
    rng = np.random.default_rng(seed)
    chosen = [v for v in range(len(sizes)) if rng.random() < 0.3]
    return {v: rng.random(sizes[v]) * (rng.random(sizes[v]) < 0.7) for v in chosen}


@pytest.mark.parametrize("semiring", [Semiring.SUM, Semiring.LOG_SUM])
@settings(max_examples=32, deadline=None)
@given(problem=problems(), seed=st.integers(0, 10**6))
def test_totals_and_beliefs_equal_the_full_product(semiring, problem, seed):
    """log Σ Π φ w, all marginals and all clique beliefs, on numbers and on logarithms."""
    scopes, sizes = problem
    check_sums(scopes, sizes, random_tables(scopes, sizes, seed), random_weights(sizes, seed), semiring)


@pytest.mark.parametrize("semiring", [Semiring.SUM, Semiring.LOG_SUM])
@pytest.mark.parametrize("problem", WIDE)
@pytest.mark.parametrize("zeros", [0.0, 0.3, 0.9])
def test_cliques_of_many_blocks_equal_the_full_product(semiring, problem, zeros):
    """Blocks inside rows, rows inside blocks, and blocks that are zero."""
    scopes, sizes = problem
    for seed in range(3):
        tables = random_tables(scopes, sizes, seed, zeros)
        check_sums(scopes, sizes, tables, random_weights(sizes, seed), semiring)


@settings(max_examples=40, deadline=None)
@given(problem=problems(), seed=st.integers(0, 10**6))
def test_best_states_have_the_largest_product(problem, seed):
    """The value is the maximum of the full product, and the states attain it."""
    scopes, sizes = problem
    check_best(scopes, sizes, random_tables(scopes, sizes, seed))


@pytest.mark.parametrize("problem", WIDE)
def test_best_states_of_cliques_of_many_blocks(problem):
    """The best row may lie in any block."""
    scopes, sizes = problem
    for seed in range(5):
        check_best(scopes, sizes, random_tables(scopes, sizes, seed, zeros=0.5))


def check_best(scopes, sizes, tables):
    product = full_product(scopes, tables, sizes)
    workspace = Workspace.of(compile_program(scopes, sizes), flat(tables), Semiring.MAX)
    log_best = workspace.collect({})
    if product.max() == 0:
        assert log_best == -np.inf
        return
    np.testing.assert_allclose(log_best, np.log(product.max()), atol=1e-10)
    np.testing.assert_allclose(product[tuple(workspace.best_states())], product.max())


@pytest.mark.parametrize("semiring", [Semiring.SUM, Semiring.LOG_SUM])
@settings(max_examples=24, deadline=None)
@given(problem=problems(), seed=st.integers(0, 10**6))
def test_evidence_that_comes_and_goes_leaves_no_trace(semiring, problem, seed):
    """A workspace after other evidence gives the very bits of a new one."""
    scopes, sizes = problem
    tables = random_tables(scopes, sizes, seed, zeros=0.0)
    program = compile_program(scopes, sizes)
    used = Workspace.of(program, flat(tables), semiring)
    for turn in range(4):
        weights = random_weights(sizes, seed + turn)
        new = Workspace.of(program, flat(tables), semiring)
        assert used.collect(weights) == new.collect(weights)
        used.distribute()
        new.distribute()
        np.testing.assert_array_equal(np.concatenate(used.marginals()), np.concatenate(new.marginals()))


def test_only_messages_that_evidence_touches_are_computed_again():
    """In a chain rooted at one end, evidence next to the root leaves all other messages as they were."""
    scopes, sizes = tuple((v, v + 1) for v in range(50)), (2,) * 51
    program = compile_program(scopes, sizes)
    workspace = Workspace.of(program, flat(random_tables(scopes, sizes, 0)))
    workspace.collect({})
    root_variable = program.clique(program.num_cliques - 1)[0]
    workspace.buffers.log_scales[:-2] += 1.0  # a mark that a new message would wipe out
    marked = workspace.buffers.log_scales.copy()
    workspace.collect({root_variable: np.array([0.5, 1.0])})
    assert (workspace.buffers.log_scales != marked).sum() <= 2


def test_risk_of_underflow_is_seen_before_it_happens():
    """Products below the smallest float are flagged; on logarithms they come out right."""
    scopes, sizes = ((0,), (0,), (0, 1)), (2, 2)
    tables = [np.array([1.0, 1e-200]), np.array([1e-5, 1e-200]), np.eye(2)]
    program = compile_program(scopes, sizes)
    seen = {1: np.array([0.0, 1.0])}
    plain = Workspace.of(program, flat(tables))
    plain.collect(seen)
    assert plain.is_risky
    logs = Workspace.of(program, flat(tables), Semiring.LOG_SUM)
    np.testing.assert_allclose(logs.collect(seen), -400 * np.log(10))
    assert not logs.is_risky
    logs.distribute()
    np.testing.assert_allclose(logs.marginals()[0], [0, 1])


def test_answers_for_some_cliques_are_those_for_all():
    """Passing answers only as far as to some cliques changes none of their bits."""
    scopes, sizes = WIDE[0]
    program = compile_program(scopes, sizes)
    whole, part = (Workspace.of(program, flat(random_tables(scopes, sizes, 3))) for _ in range(2))
    whole.collect({})
    part.collect({})
    whole.distribute()
    for variable in range(len(sizes)):
        part.distribute([int(program.layout.readings[variable, 0])])
        np.testing.assert_array_equal(part.marginals([variable])[0], whole.marginals()[variable])


def test_draws_have_the_frequencies_of_the_product():
    """Each cell of the joint within five standard errors; impossible cells never drawn."""
    scopes, sizes = ((0, 1), (1, 2), (3,)), (2, 3, 2, 2)
    tables = random_tables(scopes, sizes, 5, zeros=0.2)
    product = full_product(scopes, tables, sizes)
    joint = product / product.sum()
    workspace = Workspace.of(compile_program(scopes, sizes), flat(tables))
    workspace.collect({})
    count = 40_000
    drawn = workspace.draw(np.random.default_rng(0).random((count, workspace.program.num_cliques)))
    frequencies = np.zeros(sizes)
    np.add.at(frequencies, tuple(drawn.T), 1 / count)
    assert not frequencies[joint == 0].any()
    assert (np.abs(frequencies - joint) <= 5 * np.sqrt(joint / count)).all()


@settings(max_examples=40, deadline=None)
@given(problem=problems(), seed=st.integers(0, 10**6))
def test_expected_sums_are_those_of_the_full_product(problem, seed):
    """E of a sum of signed terms, one over each scope and one over nothing, in one pass."""
    scopes, sizes = problem
    check_expectation(scopes, sizes, random_tables(scopes, sizes, seed), seed)


@pytest.mark.parametrize("problem", WIDE)
def test_expected_sums_over_cliques_of_many_blocks(problem):
    """Terms lie on outer and on inner axes."""
    scopes, sizes = problem
    for seed in range(3):
        check_expectation(scopes, sizes, random_tables(scopes, sizes, seed, zeros=0.5), seed)


def check_expectation(scopes, sizes, tables, seed):
    product = full_product(scopes, tables, sizes)
    rng = np.random.default_rng(seed)
    places = [*scopes, ()]
    terms = [rng.normal(size=[sizes[v] for v in scope]) for scope in places]
    program = compile_program(scopes, sizes)
    workspace = Workspace.of(program, flat(tables))
    workspace.collect({})
    homes = program.smallest_cliques(places)
    if product.sum() > 0:
        everything = list(range(len(sizes)))
        means = [np.sum(np.einsum(product, everything, list(s)) * t) for s, t in zip(places, terms, strict=True)]
        value = workspace.expectation([term.ravel() for term in terms], places, homes)
        np.testing.assert_allclose(value, sum(means) / product.sum(), atol=1e-9)
