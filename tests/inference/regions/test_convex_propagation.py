"""Convex belief propagation against full products and against other counting numbers: it settles, on one answer."""

from __future__ import annotations

import math
import pickle
from decimal import Context, Decimal

import numpy as np
import pytest

from engine_problems import full_product, random_tables
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP, TreeReweightedBP
from plausible.inference.regions.convex_propagation import ConvexBP
from plausible.inference.regions.counting_numbers import (
    CountingNumbers,
    bethe_like_counts,
    convex_split,
    covering_counts,
    tree_counts,
)
from plausible.variables import Evidence, Variable

NONE = Evidence.read({}, {})
COUNTS = ("bethe-like", "trees", "covering")


def problem_of(scopes, tables, sizes):
    variables = [Variable(f"v{number}", size) for number, size in enumerate(sizes)]
    return Problem.of(
        [Factor([variables[v] for v in scope], table) for scope, table in zip(scopes, tables, strict=True)], NONE
    )


def frustrated(rng, num_variables=6, strength=1.5):
    """All pairs of binary variables, coupled with random signs."""
    pairs = [(i, j) for i in range(num_variables) for j in range(i)]
    scopes = [(v,) for v in range(num_variables)] + pairs
    tables = [np.exp(0.3 * rng.normal(size=2)) for _ in range(num_variables)]
    tables += [np.exp(strength * rng.choice([-1, 1]) * np.array([[1, -1], [-1, 1]])) for _ in pairs]
    return scopes, tables, (2,) * num_variables


def random_model(rng, zeros):
    sizes = tuple(rng.integers(1, 4, 5).tolist())
    scopes = [(v,) for v in range(5)] + [tuple(rng.choice(5, a, replace=False)) for a in rng.integers(2, 4, 6)]
    return scopes, random_tables(scopes, sizes, rng, zeros), sizes


# --- counting numbers ---


@pytest.mark.parametrize("maker", [covering_counts, tree_counts, bethe_like_counts])
def test_makers_give_valid_numbers_whose_split_proves_them_convex(maker):
    """c_v + Σ c_f = 1, and the shares add up to the counting numbers, none negative."""
    for seed in range(6):
        problem = problem_of(*random_model(np.random.default_rng(seed), 0.0))
        counts = maker(problem)
        split = convex_split(problem, counts)
        owners = np.repeat(np.arange(len(problem.factors)), np.diff(problem.scope_starts))
        np.testing.assert_allclose(
            split.factors + np.bincount(owners, split.edges, counts.factors.size), counts.factors, atol=1e-7
        )
        is_free = problem.sizes > 1
        shares = split.variables - np.bincount(problem.scopes, split.edges)
        np.testing.assert_allclose(shares[is_free], counts.variables[is_free], atol=1e-7)
        assert split.factors.min() > 0
        assert min(split.variables.min(), split.edges.min()) >= -1e-9


def test_numbers_of_bethe_are_strictly_convex_on_a_chain_and_refused_on_a_complete_graph():
    """Heskes' condition holds for a tree; on a complete graph of four it fails (Heskes 2006)."""

    def bethe(problem):
        degrees = np.bincount(problem.scopes)
        return CountingNumbers(np.ones(len(problem.factors)), 1.0 - degrees)

    pair = np.ones((2, 2))
    chain = problem_of([(0, 1), (1, 2)], [pair] * 2, (2, 2, 2))
    assert convex_split(chain, bethe(chain)).factors.min() > 0
    full = problem_of([(i, j) for i in range(4) for j in range(i)], [pair] * 6, (2,) * 4)
    with pytest.raises(InvalidArgument, match="not convex"):
        convex_split(full, bethe(full))
    with pytest.raises(InvalidArgument, match="must once"):
        convex_split(full, CountingNumbers(np.ones(6), np.zeros(4)))
    with pytest.raises(InvalidArgument, match="6 factors and 4 variables"):
        convex_split(full, CountingNumbers(np.ones(5), np.zeros(4)))


def test_bethe_like_numbers_are_those_of_bethe_on_small_forests_and_never_above_one():
    """One for each factor of several variables where that leaves each a share; elsewhere between zero and one."""
    pair = np.ones((2, 2))
    forests = [
        ([(0, 1)], 2),
        ([(0, 1), (2, 3)], 4),
        ([(0, 1), (1, 2), (3, 4)], 5),
        ([(0, 1), (1, 2), (1, 3)], 4),
    ]
    for scopes, num in forests:
        problem = problem_of(scopes, [pair] * len(scopes), (2,) * num)
        counts = bethe_like_counts(problem)
        np.testing.assert_allclose(counts.factors, 1.0, atol=1e-6)
        np.testing.assert_allclose(counts.variables, 1.0 - np.bincount(problem.scopes), atol=1e-5)
    for seed in range(6):
        counts = bethe_like_counts(problem_of(*random_model(np.random.default_rng(seed), 0.0)))
        assert (counts.factors > 0).all()
        assert (counts.factors < 1 + 1e-6).all()


def test_factors_of_one_variable_are_in_all_trees_and_change_no_draw():
    """The weights of pairs are the same with and without them."""
    pairs = [(i, j) for i in range(5) for j in range(i)]
    tables = [np.ones((2, 2))] * len(pairs)
    plain = tree_counts(problem_of(pairs, tables, (2,) * 5))
    fields = tree_counts(problem_of([(3,), *pairs, (1,)], [[1, 2], *tables, [2, 1]], (2,) * 5))
    assert fields.factors[[0, -1]].tolist() == [1.0, 1.0]
    np.testing.assert_array_equal(fields.factors[1:-1], plain.factors)
    assert plain.factors.sum() == pytest.approx(4)


# --- settling ---


def test_it_settles_on_frustrated_models_where_loopy_propagation_does_not():
    """Every one of 15 models with couplings of random signs; loopy belief propagation misses some."""
    convex, loopy = ConvexBP(counts="covering", tolerance=1e-3), LoopyBP(max_steps=200)
    num_loopy = 0
    for seed in range(15):
        problem = problem_of(*frustrated(np.random.default_rng(seed)))
        assert convex.run(problem).converged
        num_loopy += loopy.run(problem).converged
    assert num_loopy < 15


@pytest.mark.slow
@pytest.mark.parametrize("counts", ["covering", "trees"])
def test_it_settles_on_hundreds_of_frustrated_models(counts):
    """250 models with couplings of random signs and several strengths, each to 1e-4."""
    engine = ConvexBP(counts=counts, tolerance=1e-4, max_steps=100_000)
    for seed in range(250):
        strength = (0.5, 1.0, 1.5)[seed % 3]
        problem = problem_of(*frustrated(np.random.default_rng(seed), strength=strength))
        assert engine.run(problem).converged


@pytest.mark.parametrize("counts", COUNTS)
def test_the_dual_never_rises_and_all_starts_end_in_the_same_beliefs(counts):
    """A strictly convex energy has one minimum: any messages of the start are forgotten."""
    rng = np.random.default_rng(2)
    problem = problem_of(*frustrated(rng, num_variables=4, strength=0.5))
    engine = ConvexBP(counts=counts, tolerance=1e-9)
    estimates = [ConvexBP(counts=counts, max_steps=n).estimate(problem) for n in (1, 2, 3, 5, 9)]
    assert (np.diff(estimates) < 1e-10).all()
    plain = engine.run(problem).state
    start = engine.init(problem)
    taken = rng.normal(size=start.messages.size)
    places = np.concatenate([turn.entries for turn in start.layout.turns])
    messages = np.concatenate([turn.messages for turn in start.layout.turns])
    moved = start.logs - np.bincount(places, taken[messages])
    other = engine.run(problem, type(start)(start.layout, moved, taken)).state
    assert plain.converged
    assert other.converged
    np.testing.assert_allclose(np.exp(other.logs), np.exp(plain.logs), atol=1e-6)


def test_tree_counts_reach_the_bound_of_tree_reweighted_propagation():
    """The same energy by another algorithm: the same number."""
    problem = problem_of(*frustrated(np.random.default_rng(3), num_variables=4, strength=0.5))
    found = ConvexBP(counts="trees", tolerance=1e-9).estimate(problem)
    assert found == pytest.approx(float(TreeReweightedBP().estimate(problem)), abs=1e-6)


# --- bounds ---


@pytest.mark.parametrize("counts", ["trees", "covering"])
@pytest.mark.parametrize("max_steps", [1, 50])
def test_bounds_hold_at_any_time_with_zeros_and_one_state_variables(counts, max_steps):
    """log Z is at most `upper`, settled or not, and impossible products are found or bounded."""
    engine = ConvexBP(counts=counts, max_steps=max_steps)
    num_possible = 0
    for seed in range(20):
        scopes, tables, sizes = random_model(np.random.default_rng(seed), 0.25)
        joint = full_product(scopes, tables, sizes).sum()
        problem = problem_of(scopes, tables, sizes)
        if problem.is_impossible:
            continue
        found = engine.estimate(problem)
        assert found.is_bound
        assert joint == 0 or math.log(joint) <= found.upper
        assert found > -math.inf or joint == 0
        num_possible += joint > 0
    assert num_possible > 5


def test_only_numbers_with_a_theorem_are_called_bounds():
    """Those near Bethe's promise nothing, nor do a user's own unless they say so."""
    problem = problem_of(*frustrated(np.random.default_rng(4), num_variables=4))
    assert not ConvexBP(max_steps=3).estimate(problem).is_bound
    own = ConvexBP(counts=lambda p: CountingNumbers(covering_counts(p).factors, covering_counts(p).variables))
    assert not own.estimate(problem).is_bound
    assert own.estimate(problem) == pytest.approx(float(ConvexBP(counts="covering").estimate(problem)))


@pytest.mark.parametrize("counts", COUNTS)
@pytest.mark.parametrize("max_steps", [1, 2, 50])
def test_impossible_models_have_no_bound_that_is_no_number(counts, max_steps):
    """A factor of zeros, zeros found by the last turn of a round, and states ruled out by different factors."""
    same, other = np.eye(2), 1 - np.eye(2)
    models = [
        ([(0,), (0, 1)], [[0.0, 0.0], same], (2, 2)),
        ([(0, 1), (0, 1), (0,)], [same, other, [1.0, 0.0]], (2, 2)),
        ([(0, 1), (1,), (0,)], [same, [1.0, 0.0], [0.0, 1.0]], (2, 2)),
        ([(0, 1), (1, 2), (2, 3), (3,), (0,)], [same, same, same, [1.0, 0.0], [0.0, 1.0]], (2,) * 4),
    ]
    engine = ConvexBP(counts=counts, max_steps=max_steps)
    for scopes, tables, sizes in models:
        problem = problem_of(scopes, tables, sizes)
        found = engine.estimate(problem)
        assert not math.isnan(found.upper)
        if max_steps == 50 or problem.is_impossible:
            assert (found, found.upper, found.is_bound, found.info.exact) == (-math.inf, -math.inf, True, True)
        if found == -math.inf:
            with pytest.raises(ImpossibleEvidence):
                engine.beliefs(problem, [(0,)])


@pytest.mark.parametrize("counts", ["trees", "covering"])
def test_bounds_hold_where_scales_cancel(counts):
    """Factors that do not meet, so that the bound is log Z itself: Σ log of whole numbers, to fifty digits."""
    rng = np.random.default_rng(9)
    exponents = rng.permutation(np.repeat([-250, 250], 50))
    tables = rng.integers(1, 1000, (100, 2)) * 10.0 ** exponents[:, None]
    problem = problem_of([(v,) for v in range(100)], tables, (2,) * 100)
    context = Context(prec=50)
    expected = sum((Decimal(a) + Decimal(b)).ln(context) for a, b in tables.tolist())
    found = ConvexBP(counts=counts).estimate(problem)
    assert expected <= Decimal(found.upper)
    assert found.upper == pytest.approx(float(expected), abs=1e-7)
    constants = [0.1, 7.0, 1e300, 1e-300]
    empty = ConvexBP(counts=counts).log_total([Factor((), number) for number in constants], NONE)
    total = sum(Decimal(number).ln(context) for number in constants)
    assert Decimal(empty.lower) < total < Decimal(empty.upper)


def test_advice_names_what_helps_and_no_option_that_is_taken():
    """Other counts only where they are others."""
    problem = problem_of(*frustrated(np.random.default_rng(4), num_variables=4))
    for counts in COUNTS:
        advice = ConvexBP(counts=counts, max_steps=1).estimate(problem).info.advice
        assert ("counts='covering'" in advice) == (counts != "covering")
        assert "max_steps" in advice
        assert "MiniBuckets()" in advice


# --- beliefs ---


@pytest.mark.parametrize("counts", COUNTS)
def test_independent_factors_have_exact_beliefs(counts):
    """Where factors share no variable each counts once, and the beliefs are the product itself."""
    rng = np.random.default_rng(5)
    tables = [rng.random((2, 3)), rng.random((2, 1))]
    problem = problem_of([(0, 1), (2, 3)], tables, (2, 3, 2, 1))
    beliefs = ConvexBP(counts=counts).beliefs(problem, [(0, 1), (1, 0), (2,), ()])
    expected = tables[0] / tables[0].sum()
    np.testing.assert_allclose(beliefs.tables[0], expected, atol=1e-6)
    np.testing.assert_allclose(beliefs.tables[1], expected.T, atol=1e-6)
    np.testing.assert_allclose(beliefs.tables[2], tables[1].sum(axis=1) / tables[1].sum(), atol=1e-6)
    assert beliefs.info.converged


def test_settled_beliefs_agree_on_variables():
    """The marginals of two factors about their common variable are the same."""
    problem = problem_of(*frustrated(np.random.default_rng(6), num_variables=4, strength=0.4))
    pairs = ConvexBP(tolerance=1e-9).beliefs(problem, [(0, 1), (0, 2), (0,)]).tables
    np.testing.assert_allclose(pairs[0].sum(axis=1), pairs[2], atol=1e-6)
    np.testing.assert_allclose(pairs[1].sum(axis=1), pairs[2], atol=1e-6)


def test_empty_impossible_and_refused():
    """The degenerate problems, groups without a factor, options out of range, and a state that pickles."""
    engine = ConvexBP()
    assert engine.log_total([Factor((), 3.0)], NONE) == pytest.approx(math.log(3))
    variables = [Variable(name, 2) for name in "abc"]
    same, other = Factor(variables[:2], np.eye(2)), Factor(variables[:2], 1 - np.eye(2))
    third = Factor(variables[1:], np.eye(2))
    with pytest.raises(NotSupported, match="'a', 'c'"):
        engine.query([same, third], [variables[0], variables[2]], NONE)
    fixed = [same, other, Factor(variables[:1], [1.0, 0.0])]
    assert engine.log_total(fixed, NONE) == -math.inf
    with pytest.raises(ImpossibleEvidence):
        engine.query(fixed, variables[:1], NONE)
    bad = {"counts": ("none", 3, []), "tolerance": (-1.0, "x", math.nan, None), "max_steps": (0, 2.5, "x", True)}
    for options in [{name: value} for name, values in bad.items() for value in values]:
        with pytest.raises(InvalidArgument, match=f"{next(iter(options))}="):
            ConvexBP(**options)
    problem = Problem.of([same, third], NONE)
    state = engine.step(problem, engine.init(problem))
    again = engine.step(problem, pickle.loads(pickle.dumps(state)))
    np.testing.assert_array_equal(again.logs, engine.step(problem, state).logs)
