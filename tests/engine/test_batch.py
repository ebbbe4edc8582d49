"""Rows of evidence: the same answers as one by one, whatever the number of threads."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from engine_problems import flat, full_product, problems, random_tables
from plausible.engine import batch
from plausible.engine.batch import answer_rows
from plausible.engine.compilation import compile_program
from plausible.kernels.row_groups import _numbered
from seeds import few_of


def random_rows(sizes, count, seed):
    rng = np.random.default_rng(seed)
    rows = np.column_stack([rng.integers(0, size, count) for size in sizes])
    rows[rng.random(rows.shape) < 0.6] = -1
    return rows.astype(np.int32)


def expected(product, rows, target, weights):
    """log totals, marginals of the target, and the weighted sum of the normalised products."""
    log_totals, marginals, totals = [], [], np.zeros(product.shape)
    for row, weight in zip(rows, weights, strict=True):
        kept = product[tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)]
        total = kept.sum()
        log_totals.append(np.log(total) if total > 0 else -np.inf)
        belief = np.zeros(product.shape)
        if total > 0:
            belief[tuple(slice(None) if code < 0 else slice(code, code + 1) for code in row)] = kept / total
        marginals.append(belief.sum(axis=tuple(v for v in range(product.ndim) if v != target)))
        totals += weight * belief
    return np.array(log_totals), np.array(marginals), totals


@pytest.mark.parametrize("kept_entries", [2**23, 0])
@settings(max_examples=24, deadline=None)
@given(problem=problems(), seed=st.integers(0, 10**6), count=st.integers(0, 40))
def test_rows_equal_the_full_product(kept_entries, problem, seed, count):
    """By slices and by blocks: totals, marginals and summed beliefs."""
    scopes, sizes = problem
    tables = random_tables(scopes, sizes, seed)
    product = full_product(scopes, tables, sizes)
    rows, weights = random_rows(sizes, count, seed), np.random.default_rng(seed).random(count)
    program, target = compile_program(scopes, sizes), seed % len(sizes)
    before, batch._KEPT_ENTRIES = batch._KEPT_ENTRIES, kept_entries
    try:
        one = answer_rows(program, flat(tables), rows, target=target)
        two = answer_rows(program, flat(tables), rows, weights=weights)
    finally:
        batch._KEPT_ENTRIES = before
    log_totals, marginals, totals = expected(product, rows, target, weights)
    for answers in (one, two):
        np.testing.assert_allclose(answers.log_totals, log_totals, atol=1e-10)
    np.testing.assert_allclose(one.marginals, marginals.reshape(count, sizes[target]), atol=1e-12)
    for position in range(program.num_cliques):
        start = int(program.layout.cliques["table"][position])
        belief = two.totals[start : start + int(program.entries[position])]
        summed = np.einsum(totals, list(range(len(sizes))), list(program.clique(position)))
        np.testing.assert_allclose(belief, summed.ravel(), atol=1e-10)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_large_cliques_that_are_taken_apart_equal_the_full_product(seed):
    """A table with many children over the same and over nested variables, some of which are never observed."""
    generator = np.random.default_rng(seed)
    hub = (0, 1, 2, 3)
    leaves = [tuple(generator.choice(4, size=generator.integers(1, 3), replace=False).tolist()) for _ in range(5)]
    scopes = (hub, *((*leaf, 4 + place) for place, leaf in enumerate(leaves)))
    sizes = (6, 4, 5, 3, 2, 2, 3, 2, 2)
    tables = random_tables(scopes, sizes, seed)
    product = full_product(scopes, tables, sizes)
    rows = random_rows(sizes, 30, seed)
    rows[:, generator.permutation(9)[:5]] = -1
    program, weights = compile_program(scopes, sizes), generator.random(30)
    for target in range(9):
        log_totals, marginals, totals = expected(product, rows, target, weights)
        answers = answer_rows(program, flat(tables), rows, target=target)
        np.testing.assert_allclose(answers.log_totals, log_totals, atol=1e-10)
        np.testing.assert_allclose(answers.marginals, marginals, atol=1e-12)
    sums = answer_rows(program, flat(tables), rows, weights=weights).totals
    for position in range(program.num_cliques):
        start = int(program.layout.cliques["table"][position])
        summed = np.einsum(totals, list(range(9)), list(program.clique(position)))
        np.testing.assert_allclose(sums[start : start + summed.size], summed.ravel(), atol=1e-10)


def test_rows_in_tables_of_several_blocks_equal_the_full_product():
    """Cliques above the entries of a block, compiled or interpreted, are multiplied together from their first block."""
    sizes = (4,) * 8
    scopes = (tuple(range(8)), (1, 3), (0,), (6, 2))
    tables = random_tables(scopes, sizes, 0)
    product = full_product(scopes, tables, sizes)
    rows, weights = random_rows(sizes, 12, 0), np.random.default_rng(0).random(12)
    program = compile_program(scopes, sizes)
    assert int(program.layout.cliques["num_blocks"].max()) > 1
    log_totals, marginals, totals = expected(product, rows, 5, weights)
    answers = answer_rows(program, flat(tables), rows, target=5)
    np.testing.assert_allclose(answers.log_totals, log_totals, atol=1e-10)
    np.testing.assert_allclose(answers.marginals, marginals, atol=1e-12)
    (position,) = np.flatnonzero(program.layout.cliques["num_blocks"] > 1)
    start = int(program.layout.cliques["table"][position])
    summed = np.einsum(totals, list(range(8)), list(program.clique(position)))
    sums = answer_rows(program, flat(tables), rows, weights=weights).totals
    np.testing.assert_allclose(sums[start : start + summed.size], summed.ravel(), atol=1e-10)


def test_the_number_of_threads_changes_no_bit(monkeypatch):
    """One, two or five threads: the same totals, marginals and sums; threads are used however little there is to do."""
    monkeypatch.setattr(batch, "_SMALL_WORK", 0)
    scopes, sizes = ((0, 1, 2), (2, 3), (3, 4, 0), (5, 1, 4), (4,)), (6, 5, 4, 3, 5, 3)
    program, sources = compile_program(scopes, sizes), flat(random_tables(scopes, sizes, 0, zeros=0.0))
    rows, weights = random_rows(sizes, 3000, 1), np.random.default_rng(2).random(3000)
    first, *others = (answer_rows(program, sources, rows, weights=weights, threads=count) for count in (1, 2, 5))
    for other in others:
        np.testing.assert_array_equal(first.log_totals, other.log_totals)
        np.testing.assert_array_equal(first.totals, other.totals)


def test_rows_that_would_underflow_come_out_right():
    """Beside ordinary rows, one whose probability is 1e-400 and one that is impossible."""
    scopes, sizes = ((0,), (0,), (0, 1)), (3, 3)
    tables = [np.array([1.0, 1e-200, 0.0]), np.array([0.5, 1e-200, 1.0]), np.eye(3)]
    rows = np.array([[-1, 0], [-1, 1], [-1, 2], [-1, -1]], dtype=np.int32)
    program = compile_program(scopes, sizes)
    answers = answer_rows(program, flat(tables), rows, target=0)
    np.testing.assert_allclose(answers.log_totals, [np.log(0.5), -400 * np.log(10), -np.inf, np.log(0.5)])
    np.testing.assert_allclose(answers.marginals, [[1, 0, 0], [0, 1, 0], [0, 0, 0], [1, 0, 0]], atol=1e-300)
    totals = answer_rows(program, flat(tables), rows[:2], weights=np.array([1.0, 3.0])).totals
    clique = program.smallest_cliques([[0, 1]])[0]
    start = int(program.layout.cliques["table"][clique])
    belief = totals[start : start + 9].reshape(3, 3)
    np.testing.assert_allclose(belief, np.diag([1.0, 3.0, 0.0]))


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_tiny_numbers_in_factors_leave_most_rows_together(seed, monkeypatch):
    """EM drives probabilities to 1e-200 and beyond; only rows to which their products matter are run one by one."""
    generator, alone = np.random.default_rng(seed), []
    scopes, sizes = ((0,), (0, 1), (0, 1, 2), (2, 3)), (3, 3, 2, 3)
    tables = random_tables(scopes, sizes, seed)
    for table in tables:
        table /= table.max()
        table[generator.random(table.shape) < 0.3] = 1e-200
    rows = random_rows(sizes, 60, seed)
    run = batch._Job._run
    monkeypatch.setattr(batch._Job, "_run", lambda job, places, *rest: alone.extend(places) or run(job, places, *rest))
    weights = generator.random(60)
    answers = answer_rows(compile_program(scopes, sizes), flat(tables), rows, weights=weights)
    with np.errstate(divide="ignore"):
        logs = [np.log(table) for table in tables]
    for row, log_total in zip(rows, answers.log_totals, strict=True):
        states = np.array(list(np.ndindex(*sizes)))
        states = states[((states == row) | (row < 0)).all(axis=1)]
        each = sum(log[tuple(states[:, list(scope)].T)] for log, scope in zip(logs, scopes, strict=True))
        np.testing.assert_allclose(log_total, np.logaddexp.reduce(each), rtol=1e-12)
    assert len(alone) < 30


def test_beliefs_in_a_target_keep_their_digits_where_products_vanish():
    """P(a | b) = 1e-200, though P(a, b) = 1e-340 is less than any float."""
    scopes, sizes = ((0,), (0, 1), (0, 1, 2)), (2, 2, 2)
    tables = np.array([1.0, 1e-160]), np.array([[1.0, 1e-140], [1.0, 1e-180]]), np.full((2, 2, 2), 0.5)
    rows = np.array([[-1, 1, -1], [-1, 1, 1]], dtype=np.int32)
    answers = answer_rows(compile_program(scopes, sizes), flat(tables), rows, target=0)
    np.testing.assert_allclose(answers.marginals, [[1.0, 1e-200]] * 2, rtol=1e-12)


@pytest.mark.parametrize("size", [10.0, 1e100, 1e290])
def test_rows_of_large_numbers_do_not_overflow(size):
    """A chain of potentials far from one: totals leave the range of floats, marginals are those of the scaled."""
    count = 400 if size == 10 else 12
    scopes, sizes = tuple((v, v + 1) for v in range(count)), (2,) * (count + 1)
    table = np.array([[1.0, 0.1], [0.1, 1.0]])
    rows = np.array([[0, *[-1] * count], [1, *[-1] * count]], dtype=np.int32)
    program = compile_program(scopes, sizes)
    large = answer_rows(program, flat([size * table] * count), rows, target=1)
    plain = answer_rows(program, flat([table] * count), rows, target=1)
    np.testing.assert_allclose(large.log_totals, plain.log_totals + count * np.log(size))
    np.testing.assert_allclose(large.marginals, plain.marginals)
    np.testing.assert_allclose(large.marginals, [[1 / 1.1, 0.1 / 1.1], [0.1 / 1.1, 1 / 1.1]])


@pytest.mark.parametrize("count", [9, 300, 2000])
def test_stars_with_many_leaves_need_no_second_run(count):
    """Thousands of small likelihoods of one hidden variable, multiplied a few at a time; closed form as oracle."""
    generator = np.random.default_rng(count)
    likelihoods = generator.uniform(0.01, 0.5, size=(count, 3, 2))
    prior = np.array([0.2, 0.3, 0.5])
    scopes, sizes = ((0,), *((0, leaf) for leaf in range(1, count + 1))), (3, *[2] * count)
    rows = np.c_[np.full(20, -1), generator.integers(-1, 2, size=(20, count))].astype(np.int32)
    program = compile_program(scopes, sizes)
    sources = np.concatenate([prior, likelihoods.reshape(-1)])
    before, batch._Job._run = batch._Job._run, forbidden
    try:
        answers = answer_rows(program, sources, rows, target=0)
    finally:
        batch._Job._run = before
    logs = np.log(np.concatenate([likelihoods, likelihoods.sum(axis=2, keepdims=True)], axis=2))
    for row, log_total, marginal in zip(rows[:, 1:], answers.log_totals, answers.marginals, strict=True):
        joint = np.log(prior) + logs[np.arange(count), :, row].sum(axis=0)
        np.testing.assert_allclose(log_total, np.logaddexp.reduce(joint), rtol=1e-12)
        np.testing.assert_allclose(marginal, np.exp(joint - np.logaddexp.reduce(joint)), atol=1e-10)


def forbidden(self, places, semiring, totals):
    assert not len(places), "rows ran again by themselves"


def test_losses_that_come_to_matter_are_noticed():
    """A state that is 1e-400 times less likely than another by one half of the leaves is the only one in the end."""
    count = 400
    likelihoods = np.tile([[0.9, 0.1], [0.09, 0.91]], (count, 1, 1))
    scopes = ((0,), *((0, leaf) for leaf in range(1, count + 1)), (0, count + 1))
    sources = np.concatenate([[0.5, 0.5], likelihoods.reshape(-1), [1.0, 0.0, 0.0, 1.0]])
    program = compile_program(scopes, (2, *[2] * count, 2))
    row = np.array([[-1, *[0] * count, 1]], dtype=np.int32)
    answers = answer_rows(program, sources, row, target=0)
    np.testing.assert_allclose(answers.log_totals, [np.log(0.5) + count * np.log(0.09)], rtol=1e-12)
    np.testing.assert_allclose(answers.marginals, [[0.0, 1.0]])


def test_rows_that_differ_in_one_of_many_wide_columns_are_in_groups_of_their_own():
    """Their joint states would not fit into an integer."""
    rng = np.random.default_rng(0)
    some = rng.integers(-1, 2**20 - 2, size=(9, 5), dtype=np.int32)
    some[:, 0] = 16 * rng.integers(0, 2**15, size=9)  # they differ in their highest bits
    rows = np.tile(np.vstack([some, np.full(5, 2**20 - 2, dtype=np.int32)]), (3, 1))  # each of 2**20 codes
    rows[10:19, 0] = np.roll(rows[10:19, 0], 1)
    places = {}
    expected = [places.setdefault(tuple(row), len(places)) for row in rows.tolist()]
    numbers, firsts = _numbered(list(rows.T))
    assert numbers.tolist() == expected
    assert firsts.tolist() == [expected.index(number) for number in range(len(places))]


@pytest.mark.parametrize("hidden", [[0], [6], [1, 4], [0, 2, 5]])
def test_rows_that_hide_the_same_variables_equal_the_full_product(hidden, monkeypatch):
    """By looking entries up: totals, marginals and summed beliefs, of impossible rows too; and no messages are sent."""
    scopes, sizes = ((0, 1, 2), (2, 3), (3, 4, 0), (5, 1, 4), (4,), (6,), (7, 0)), (3, 2, 4, 2, 3, 2, 3, 1)
    tables = random_tables(scopes, sizes, 3, zeros=0.2)
    product = full_product(scopes, tables, sizes)
    rng = np.random.default_rng(len(hidden))
    rows = np.column_stack([rng.integers(0, size, 600) for size in sizes]).astype(np.int32)
    rows[:, hidden], weights = -1, rng.random(600)
    program = compile_program(scopes, sizes)
    log_totals, marginals, totals = expected(product, rows, hidden[-1], weights)
    assert 0 < np.isneginf(log_totals).sum() < 600
    monkeypatch.delattr(batch, "collect_rows")
    answers = answer_rows(program, flat(tables), rows, target=hidden[-1])
    np.testing.assert_allclose(answers.log_totals, log_totals, atol=1e-12)
    np.testing.assert_allclose(answers.marginals, marginals, atol=1e-12)
    prepared = batch.PreparedRows.of(program, rows)
    for scale in (1.0, 2.0):  # the numbers change, where rows look does not
        found = prepared.answer(flat([table * scale for table in tables]), weights)
        np.testing.assert_allclose(found.log_totals, log_totals + len(scopes) * np.log(scale), atol=1e-12)
        for position in range(program.num_cliques):
            start = int(program.layout.cliques["table"][position])
            summed = np.einsum(totals, list(range(len(sizes))), list(program.clique(position)))
            np.testing.assert_allclose(found.totals[start : start + summed.size], summed.ravel(), atol=1e-10)


def test_tiny_numbers_are_not_looked_up():
    """Rows that hide the same variable, in tables whose products leave the range of floats: as one by one."""
    scopes, sizes = ((0,), (0,), (0, 1)), (3, 3)
    tables = [np.array([1.0, 1e-200, 0.0]), np.array([0.5, 1e-200, 1.0]), np.eye(3)]
    rows = np.column_stack([np.full(600, -1), np.arange(600) % 3]).astype(np.int32)
    found = answer_rows(compile_program(scopes, sizes), flat(tables), rows, weights=np.ones(600)).log_totals
    np.testing.assert_allclose(found[:3], [np.log(0.5), -400 * np.log(10.0), -np.inf])
