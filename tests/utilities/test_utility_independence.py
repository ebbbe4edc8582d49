"""Utility and preferential independence, sums and products: against definitions, random lotteries and known forms."""

from __future__ import annotations

import itertools
from dataclasses import replace

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import errors
from plausible.utilities import (
    conditional_preference,
    multilinear_form,
    mutual_utility_independence,
    preferential_independence,
    utility_independence,
)
from refusals import refuses

SEEDS = st.integers(0, 10**6)


def _worth(utility, lottery, context):
    return sum(weight * utility[{**outcome, **context}] for outcome, weight in lottery)


def _check_change(utility, change):
    """The witness compares its lotteries as it says, and differently in the two contexts."""
    gains = [
        _worth(utility, change.first, where) - _worth(utility, change.second, where)
        for where in (change.context, change.other_context)
    ]
    assert gains == pytest.approx(list(change.differences), abs=1e-9)
    signs = [0 if abs(gain) < 1e-9 else np.sign(gain) for gain in gains]
    assert signs[0] != signs[1]


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, rows=st.integers(1, 4), columns=st.integers(1, 4))
def test_f_plus_g_h_is_utility_independent_and_its_decomposition_reproduces_it(seed, rows, columns):
    """Random f, g > 0 and h; lotteries over X then come in one order in all contexts."""
    rng = np.random.default_rng(seed)
    table = rng.normal(size=columns) + rng.uniform(0.1, 3, size=columns) * rng.normal(size=(rows, 1))
    utility = pb.Factor({"X": rows, "Y": columns}, table)
    answer = utility_independence(utility, "X")
    assert answer.holds
    assert answer.table().reorder(["X", "Y"]).values == pytest.approx(table)
    assert answer.scale.min() > 0
    assert 0 <= answer.shape.min() <= answer.shape.max() <= 1
    first, second = rng.dirichlet(np.ones(rows), size=2)
    gains = (first - second) @ table
    assert (np.sign(gains) == np.sign(gains[0])).all() or np.abs(gains).max() < 1e-9


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, rows=st.integers(2, 4), columns=st.integers(2, 3))
def test_any_other_utility_has_two_lotteries_that_change_places(seed, rows, columns):
    """Small whole numbers, with constant slices among them: whether slices are affine images, by rank."""
    values = np.random.default_rng(seed).integers(0, 3, size=(rows, columns)).astype(float)
    utility = pb.Factor({"X": rows, "Y": columns}, values)
    answer = utility_independence(utility, "X")
    moves = values - values[:1]
    home = int(np.abs(moves).sum(axis=0).argmax())
    slopes = moves.T @ moves[:, home]
    is_line = np.linalg.matrix_rank(moves) <= 1
    expected = is_line and ((slopes > 0).all() or not moves.any())
    assert answer.holds == expected
    if not answer.holds:
        _check_change(utility, answer.witness)


def test_a_context_in_which_attributes_do_not_matter_breaks_strict_independence_only():
    """g(y) = 0 makes all outcomes equal there: no utility independence, unless asked to let it pass."""
    utility = pb.Factor({"X": 3, "Y": 2}, [[0, 7], [1, 7], [4, 7]])
    assert not utility_independence(utility, "X").holds
    allowed = utility_independence(utility, "X", allow_constant=True)
    assert allowed.holds
    assert allowed.scale.values.tolist() == [4.0, 0.0]
    everywhere = utility_independence(pb.Factor({"X": 3, "Y": 2}, [[5, 7]] * 3), "X")
    assert everywhere.holds
    assert everywhere.scale.min() > 0
    assert everywhere.table().reorder(["X", "Y"]).values.tolist() == [[5, 7]] * 3
    reversed_slice = pb.Factor({"X": 2, "Y": 2}, [[0, 1], [1, 0]])
    assert not utility_independence(reversed_slice, "X", allow_constant=True).holds


def test_a_large_constant_does_not_spoil_the_test():
    """Rounding of 1e9 + small numbers is not taken for a dependence."""
    rng = np.random.default_rng(1)
    utility = pb.Factor({"X": 4, "Y": 3}, 1e9 + rng.normal(size=(4, 1)) * rng.uniform(1, 2, size=3))
    assert utility_independence(utility, "X").holds


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS, shape=st.lists(st.integers(1, 3), min_size=1, max_size=4), kind=st.sampled_from(["+", "*", "-*"]))
def test_sums_and_products_of_one_sign_make_every_set_utility_independent(seed, shape, kind):
    """The form found reproduces U, and each subset passes the test of its own."""
    rng = np.random.default_rng(seed)
    lines = [rng.uniform(0.5, 2.0, size=n) for n in shape]
    grid = np.meshgrid(*lines, indexing="ij")
    values = sum(grid) if kind == "+" else np.prod(grid, axis=0) * (1.0 if kind == "*" else -1.0)
    names = [f"V{i}" for i in range(len(shape))]
    utility = pb.Factor(dict(zip(names, shape, strict=True)), values + 3.0)
    answer = mutual_utility_independence(utility)
    assert answer.holds
    assert answer.table().reorder(names).values == pytest.approx(values + 3.0)
    if kind != "+" and sum(n > 1 for n in shape) > 1:
        assert answer.form == "multiplicative"
        assert answer.constant == pytest.approx(3.0)
    for size in range(1, len(names)):
        for chosen in itertools.combinations(names, size):
            assert utility_independence(utility, chosen).holds


@settings(max_examples=25, deadline=None)
@given(seed=SEEDS)
def test_mutual_utility_independence_equals_the_test_of_every_subset(seed):
    """On small whole numbers, where either answer is common."""
    values = np.random.default_rng(seed).integers(0, 3, size=(2, 2, 2)).astype(float)
    utility = pb.Factor({"A": 2, "B": 2, "C": 2}, values)
    sets = [chosen for size in (1, 2) for chosen in itertools.combinations("ABC", size)]
    answer = mutual_utility_independence(utility)
    assert answer.holds == all(utility_independence(utility, chosen).holds for chosen in sets)
    if not answer.holds:
        assert not answer.failing.holds
        refuses(errors.InvalidArgument, "neither", answer.table)


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS)
def test_the_text_of_a_failure_has_the_witness(seed):
    """The failing set, two lotteries and two contexts; the deviation where no set fails by more than the tolerance."""
    utility = pb.Factor({"A": 2, "B": 2, "C": 2}, np.random.default_rng(seed).normal(size=(2, 2, 2)))
    answer = mutual_utility_independence(utility)
    assert not answer.holds
    assert str(answer).endswith(str(answer.failing))
    assert str(answer.failing.witness) in str(answer)
    assert "but sum and product miss the utility by" in str(replace(answer, failing=None))


def test_a_product_that_changes_its_sign_is_not_mutually_utility_independent():
    """(a)(b) with a, b in {-1, 1} turns the order of b around."""
    answer = mutual_utility_independence(pb.Factor({"A": 2, "B": 2}, [[1, -1], [-1, 1]]))
    assert not answer.holds
    assert answer.failing is not None


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS, shape=st.lists(st.integers(1, 4), min_size=1, max_size=4))
def test_the_multilinear_form_finds_its_coefficients(seed, shape):
    """U = Σ_S k_S Π h_i with k_S > 0, hence each attribute utility independent of the rest."""
    rng = np.random.default_rng(seed)
    shapes = [np.sort(rng.uniform(0.1, 0.9, size=n)) for n in shape]
    for line in shapes:
        line[0], line[-1] = 0.0, 1.0 if len(line) > 1 else 0.0
    coefficients = {
        chosen: rng.uniform(0.1, 1.0)
        for size in range(len(shape) + 1)
        for chosen in itertools.combinations(range(len(shape)), size)
    }
    grid = np.meshgrid(*shapes, indexing="ij")
    values = sum(k * np.prod([grid[i] for i in chosen], axis=0) for chosen, k in coefficients.items())
    names = [f"V{i}" for i in range(len(shape))]
    form = multilinear_form(pb.Factor(dict(zip(names, shape, strict=True)), values * np.ones(shape)))
    assert form.holds
    assert form.num_coefficients == 2 ** len(shape) - 1
    assert form.table().values == pytest.approx(values * np.ones(shape))
    if min(shape) > 1:
        for chosen, k in coefficients.items():
            assert form.coefficients[tuple(names[i] for i in chosen)] == pytest.approx(k)


def test_three_attributes_have_seven_coefficients_and_a_failing_attribute_is_named():
    """2^3 - 1 = 7; fame that is only welcome with success is not utility independent."""
    assert multilinear_form(pb.Factor({"A": 2, "B": 2, "C": 2}, np.arange(8).reshape(2, 2, 2))).num_coefficients == 7
    form = multilinear_form(pb.Factor({"S": 2, "F": 2}, [[1, 0], [2, 3]]))
    assert not form.holds
    assert form.failing.attributes == ("F",)


TASTE = pb.Factor({"S": ["s0", "s1"], "F": ["f0", "f1"]}, [[1.0, 0.0], [2.0, 3.0]])


def test_success_is_preferentially_independent_of_fame_and_not_the_other_way_round():
    """(s0, f1) < (s0, f0) < (s1, f0) < (s1, f1): the relation is not symmetric."""
    assert preferential_independence(TASTE, "S").holds
    answer = preferential_independence(TASTE, "F")
    assert not answer
    assert answer.deviation == pytest.approx(2.0)
    assert "S=s0" in str(answer)


def _signs_agree(table: np.ndarray) -> bool:
    """The definition: every two rows compare alike in every column."""
    pairs = itertools.combinations(table, 2)
    return all(len(set(np.sign(first - second))) <= 1 for first, second in pairs)


@settings(max_examples=30, deadline=None)
@given(
    shape=st.lists(st.integers(1, 3), min_size=1, max_size=3),
    seed=st.integers(0, 10**6),
    top=st.integers(1, 3),
    size=st.integers(0, 3),
)
def test_preferential_independence_equals_its_definition_ties_included(shape, seed, top, size):
    """Few different numbers, so that ties are common; the witness must show what it claims."""
    rng = np.random.default_rng(seed)
    values = rng.integers(0, top + 1, size=shape).astype(float)
    names = [f"V{i}" for i in range(len(shape))]
    chosen = names[: min(size, len(names))]
    utility = pb.Factor(dict(zip(names, shape, strict=True)), values)
    answer = preferential_independence(utility, chosen)
    rows = int(np.prod(shape[: len(chosen)]))
    assert answer.holds == _signs_agree(values.reshape(rows, -1))
    if not answer.holds:
        change = answer.witness
        for context, difference in zip((change.context, change.other_context), change.differences, strict=True):
            first = utility[{**change.first[0][0], **context}]
            second = utility[{**change.second[0][0], **context}]
            assert first - second == pytest.approx(difference)
        assert change.differences[0] > 0 >= change.differences[1]
        assert answer.deviation > 0


def test_differences_within_the_tolerance_are_ties():
    """A reversal of a millionth of the range is none with a tolerance of a thousandth."""
    utility = pb.Factor({"A": 2, "B": 2}, [[0.0, 1.0], [1e-6, 1.0 - 1e-6]])
    assert not preferential_independence(utility, "A").holds
    assert preferential_independence(utility, "A", tolerance=1e-3).holds


@given(st.integers(0, 10**6))
@settings(max_examples=12, deadline=None)
def test_conditional_preference_compares_lotteries_extended_by_the_context(seed):
    """E[U(X, y)] by a sum over all outcomes, the context having probability one."""
    rng = np.random.default_rng(seed)
    utility = pb.Factor({"A": 3, "B": 2, "C": 2}, rng.normal(size=(3, 2, 2)))
    first, second = (pb.Factor({"A": 3, "C": 2}, rng.dirichlet(np.ones(6)).reshape(3, 2)) for _ in range(2))
    preference = conditional_preference(utility, {"B": 1})
    sums = [float((lottery.values * utility.values[:, 1, :]).sum()) for lottery in (first, second)]
    assert preference.expected_utility(first) == pytest.approx(sums[0])
    assert preference.prefers(first, second) == (sums[0] > sums[1])
    assert preference.is_indifferent(first, first)
    ranked = [utility[{**group[0], "B": 1}] for group in preference.ranking()]
    assert ranked == sorted(utility.values[:, 1, :].reshape(-1), reverse=True)


def test_ranking_puts_ties_together_and_mistakes_are_named():
    """Equal outcomes are one group; unknown names and wrong lotteries are errors."""
    flat = pb.Factor({"A": 3, "B": 2}, [[1, 1], [1, 1], [2, 1]])
    assert [len(group) for group in conditional_preference(flat, {"B": 0}).ranking()] == [1, 2]
    refuses(errors.UnknownVariable, "'fame'", conditional_preference, TASTE, {"fame": 1})
    with pytest.raises(errors.InvalidArgument, match="needs one over"):
        conditional_preference(TASTE, {"F": "f0"}).expected_utility(pb.Factor({"F": ["f0", "f1"]}, [0.5, 0.5]))
    refuses(errors.UnknownVariable, "'X'", preferential_independence, TASTE, "X")
    refuses(errors.InvalidFactor, "not finite", preferential_independence, pb.Factor({"A": 2}, [0.0, np.inf]), "A")
