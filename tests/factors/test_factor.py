"""Factors as values: what they accept, what they refuse and how, and worked numbers."""

from __future__ import annotations

import copy
import math
import pickle

import numpy as np
import pytest

from plausible.errors import InvalidArgument, InvalidFactor, NotSupported, TooLarge, UnknownState, UnknownVariable
from plausible.factors import Factor, product
from plausible.factors.alignment import MAX_ENTRIES, check_size
from plausible.variables import Variable
from refusals import refuses

COIN = Variable("coin", ["heads", "tails"])
GRADE = Variable("grade", ["A", "B", "C"])


@pytest.fixture
def joint():
    return Factor([COIN, GRADE], [[0.1, 0.2, 0.3], [0.0, 0.15, 0.25]])


# --- worked numbers ---


def test_product_of_two_tables_and_its_sum():
    """f3(A, B, C) = f1(A, B) f2(B, C), and Σ_B f3."""
    states = [True, False]
    f1 = Factor({"A": states, "B": states}, [[0.3, 0.7], [0.9, 0.1]])
    f2 = Factor({"B": states, "C": states}, [[0.2, 0.8], [0.6, 0.4]])
    f3 = f1 * f2
    assert f3.names == ("A", "B", "C")
    assert f3.flat == pytest.approx([0.06, 0.24, 0.42, 0.28, 0.18, 0.72, 0.06, 0.04])
    assert f3.marginalize("B").flat == pytest.approx([0.48, 0.52, 0.24, 0.76])


def test_implication_gives_contraposition():
    """A → B as P(B=1 | A=1) = 1 gives P(A=0 | B=0) = 1."""
    prior = Factor({"A": 2}, [0.7, 0.3])
    rule = Factor({"A": 2, "B": 2}, [[0.8, 0.2], [0.0, 1.0]])
    assert (prior * rule).reduce({"B": 0}).normalize()[0] == 1.0


def test_exclusive_or_is_pairwise_independent_but_not_jointly():
    """X1, X2 fair, Y = X1 ⊕ X2: Y ⟂ X1 and Y ⟂ X2, but not Y ⟂ {X1, X2}; independence is a matter of sets."""
    fair = Factor({"X1": 2}, [0.5, 0.5]) * Factor({"X2": 2}, [0.5, 0.5])
    xor = Factor({"X1": 2, "X2": 2, "Y": 2}, [[[1, 0], [0, 1]], [[0, 1], [1, 0]]])
    joint = fair * xor
    assert joint.is_independent("Y", "X1")
    assert joint.is_independent("Y", "X2")
    assert not joint.is_independent("Y", ["X1", "X2"])
    assert not joint.is_independent("X1", "X2", given="Y")


def test_expectations():
    """E[aX + b], E[X + Y], and E[XY] = E[X]E[Y] under independence only."""
    die = Factor({"X": [1, 2, 3, 4, 5, 6]}, [1 / 6] * 6)
    two = die * die.rename({"X": "Y"})
    assert die.expectation("X") == pytest.approx(3.5)
    assert die.expectation(lambda row: 2 * row["X"] + 1) == pytest.approx(8)
    assert two.expectation(lambda row: row["X"] + row["Y"]) == pytest.approx(7)
    assert two.expectation(lambda row: row["X"] * row["Y"]) == pytest.approx(3.5**2)
    same = Factor({"X": [1, 2, 3, 4, 5, 6], "Y": [1, 2, 3, 4, 5, 6]}, np.eye(6) / 6)
    assert same.expectation(lambda row: row["X"] * row["Y"]) == pytest.approx(91 / 6)


def test_full_joint_of_a_chain_answers_by_enumeration():
    """A → B → C: P(B), P(C), P(A | C=1), and the most likely assignments."""
    joint = product(
        [
            Factor({"A": 2}, [0.6, 0.4]),
            Factor({"A": 2, "B": 2}, [[0.7, 0.3], [0.2, 0.8]]),
            Factor({"B": 2, "C": 2}, [[0.9, 0.1], [0.4, 0.6]]),
        ]
    )
    assert joint.marginal("B").values == pytest.approx([0.5, 0.5])
    assert joint.marginal("C").values == pytest.approx([0.65, 0.35])
    seen = joint.reduce({"C": 1})
    assert seen.marginal("A").normalize().values == pytest.approx([3 / 7, 4 / 7])
    assert (dict(joint.argmax()), joint.max()) == ({"A": 0, "B": 0, "C": 0}, pytest.approx(0.378))
    assert (dict(seen.argmax()), seen.max()) == ({"A": 1, "B": 1}, pytest.approx(0.192))
    assert seen.normalize().max() == pytest.approx(0.548571, abs=1e-6)


def test_posterior_over_hypotheses_is_prior_times_likelihood():
    """P(θ | D) ∝ P(θ) P(D | θ)."""
    prior = Factor({"θ": [0.2, 0.5, 0.8]}, [0.25, 0.5, 0.25])
    likelihood = Factor({"θ": [0.2, 0.5, 0.8]}, [θ**2 * (1 - θ) for θ in (0.2, 0.5, 0.8)])
    posterior = (prior * likelihood).normalize()
    weights = [0.25 * 0.032, 0.5 * 0.125, 0.25 * 0.128]
    assert posterior.values == pytest.approx([weight / sum(weights) for weight in weights])


# --- reading entries ---


def test_entries_are_found_by_mapping_tuple_or_bare_state(joint):
    """A mapping may speak of other variables too; a tuple gives states in scope order."""
    assert joint["heads", "B"] == joint[{"grade": "B", "coin": "heads", "weather": "fine"}] == 0.2
    assert joint.marginal("coin")["tails"] == pytest.approx(0.4)
    assert Factor({"X": [("a", 1), ("b", 2)]}, [1, 2])["b", 2] == 2
    assert Factor.scalar(3.0)[()] == Factor.scalar(3.0)[{}] == 3.0


def test_an_unknown_state_gets_close_matches(joint):
    """The error names the variable and what was meant."""
    with pytest.raises(UnknownState, match=r"'headz' is not a state of 'coin'\. Did you mean 'heads'\?"):
        joint["headz", "A"]
    refuses(UnknownState, "'grade'", joint.reduce, {"grade": "Z"})


def test_an_unknown_variable_gets_close_matches(joint):
    """Every operation that takes names checks them."""
    for operation in (joint.marginalize, joint.maximize, joint.marginal, joint.reorder, joint.variable):
        with pytest.raises(UnknownVariable, match=r"Did you mean 'grade'\?"):
            operation(["grde"] if operation != joint.variable else "grde")
    with pytest.raises(UnknownVariable):
        joint.rename({"grde": "g"})


def test_an_open_assignment_is_refused(joint):
    """A mapping that leaves a variable open is no position."""
    with pytest.raises(InvalidFactor, match="leaves 'grade' open"):
        joint[{"coin": "heads"}]
    with pytest.raises(InvalidFactor, match="for a slice use reduce"):
        joint["heads"]


# --- refusals ---


@pytest.mark.parametrize(
    ("scope", "values", "message"),
    [
        ([COIN], [1, 2, 3], r"needs values of shape \(2,\), not \(3,\)"),
        ([COIN], ["x", "y"], "are not numbers"),
        ([COIN], [1, math.nan], r"not a number at \{'coin': 'tails'\}"),
        ([COIN, COIN], [[1, 2], [3, 4]], "stands twice"),
        (["coin"], [1, 2], "Variable objects, not 'coin'"),
        ([Variable("x")], [1.0], "continuous.*GaussianFactor"),
        ({"x": None}, [1.0], "continuous.*GaussianFactor"),
    ],
)
def test_what_is_no_factor_is_refused(scope, values, message):
    """The error names the scope, the place and the fix."""
    refuses(InvalidFactor, message, Factor, scope, values)


def test_flat_numbers_are_checked_too():
    """from_flat refuses a wrong number of entries, text and NaN."""
    for values in ([1.0], ["x", "y"], [[1.0, 2.0]], [math.nan, 1.0]):
        with pytest.raises(InvalidFactor):
            Factor.from_flat([COIN], values)


def test_a_name_means_the_same_states_everywhere():
    """Combining factors whose variables clash is an error, not a broadcast."""
    f, g = Factor({"X": ["a", "b"]}, [1, 2]), Factor({"X": ["b", "a"]}, [1, 2])
    for operation in (lambda: f * g, lambda: f + g, lambda: f / g, lambda: product([f, g])):
        refuses(InvalidFactor, r"has the states \['a', 'b'\] in one factor", operation)
    with pytest.raises(InvalidFactor):
        f.normalize().expectation(g)


def test_a_table_too_large_is_refused_before_it_is_built():
    """The message gives the size, even where no float can hold it."""
    halves = [Factor.from_flat([Variable(f"{side}{i}", 2) for i in range(20)], np.ones(2**20)) for side in "LR"]
    with pytest.raises(TooLarge, match=r"40 variables .* 1\.09e\+12 entries"):
        halves[0] * halves[1]
    refuses(TooLarge, r"e\+602 entries", check_size, [Variable(f"X{i}", 2) for i in range(2000)])
    with pytest.raises(TooLarge):
        halves[0].extend(halves[1].scope)
    with pytest.raises(TooLarge):
        product(halves)
    assert MAX_ENTRIES == 2**28


def test_infinities_that_cancel_are_refused():
    """0 · inf and inf - inf have no value: no NaN gets into a factor."""
    zero, endless = Factor({"X": 2}, [0.0, 1.0]), Factor({"X": 2}, [math.inf, math.inf])
    opposite = Factor({"X": 2}, [math.inf, -math.inf])
    operations = (lambda: zero * endless, lambda: endless - endless, lambda: endless / endless)
    for operation in (*operations, lambda: opposite.marginalize("X")):
        refuses(InvalidFactor, "infinities that cancel", operation)
    assert (zero.log() + 1.0).values.tolist() == [-math.inf, 1.0]


def test_the_logarithm_of_a_negative_number_is_refused():
    """The error names the entry."""
    refuses(InvalidFactor, r"logarithm of -1, at \{'X': 1\}", Factor({"X": 2}, [1.0, -1.0]).log)


def test_an_expectation_needs_a_distribution_and_numbers(joint):
    """The sum, or the variable whose states are no numbers, is named."""
    refuses(InvalidFactor, r"sum to 2\b", (joint * 2.0).expectation, lambda row: 1.0)
    refuses(InvalidFactor, "states of 'grade' are not numbers", joint.expectation, "grade")
    with pytest.raises(UnknownVariable):
        joint.expectation(Factor({"elsewhere": 2}, [1, 2]))


def test_independence_refuses_a_variable_on_both_sides(joint):
    """X ⟂ X makes no sense; conditioning on it does."""
    refuses(InvalidFactor, "both sides", joint.is_independent, "coin", ["coin", "grade"])
    assert joint.is_independent("coin", "grade", given="coin")


def test_a_factor_combines_with_factors_and_numbers_only():
    """Anything else is a TypeError; NaN is no number."""
    f = Factor({"X": 2}, [1.0, 2.0])
    for operation in (lambda: f * "x", lambda: f / None, lambda: f - (1, 2), lambda: list(f), lambda: 1.0 in f):
        with pytest.raises(TypeError):
            operation()
    with pytest.raises(InvalidFactor):
        f * math.nan


# --- numbers as operands ---


def test_numbers_stand_on_either_side():
    """Python and NumPy numbers combine with factors from the left and from the right."""
    f = Factor({"X": 2}, [1.0, 4.0])
    for number in (2, 2.0, np.float64(2), np.int64(2)):
        assert (number * f).values.tolist() == (f * number).values.tolist() == [2.0, 8.0]
        assert (number + f).values.tolist() == [3.0, 6.0]
        assert (number - f).values.tolist() == [1.0, -2.0]
        assert (f - number).values.tolist() == [-1.0, 2.0]
        assert (f / number).values.tolist() == [0.5, 2.0]
    assert (-f).values.tolist() == [-1.0, -4.0]
    assert (f * 0.0 / 0.0).values.tolist() == [0.0, 0.0]


def test_indicator_selects_one_state():
    """φ · 1(X = x) keeps the slice and zeroes the rest."""
    f = Factor([GRADE], [1.0, 2.0, 3.0])
    assert (f * Factor.indicator(GRADE, "B")).values.tolist() == [0.0, 2.0, 0.0]


# --- as a value ---


def test_arrays_are_read_only_and_copied(joint):
    """Neither the array given nor the array shown can change a factor."""
    given = np.asfortranarray([[1.0, 2.0, 3.0], [4.0, 5.0, 6.0]])
    factor = Factor([COIN, GRADE], given)
    given[0, 0] = 7.0
    assert factor["heads", "A"] == 1.0
    assert factor.flat.tolist() == [1.0, 2.0, 3.0, 4.0, 5.0, 6.0]
    results = [
        joint,
        factor,
        joint.reduce({"coin": "heads"}),
        joint.marginalize("coin"),
        joint.reorder(["grade", "coin"]),
    ]
    for result in (*results, joint * joint, joint / joint, joint.extend([Variable("Z", 2)]), joint.log(), joint.exp()):
        for array in (result.values, result.flat):
            with pytest.raises(ValueError, match="read-only"):
                array[...] = 0.0
    with pytest.raises(AttributeError):
        joint.info = "changed"


def test_equality_is_by_content_in_axis_order(joint):
    """Equal factors have equal hashes, also where zeros differ in sign."""
    twin = Factor([COIN, GRADE], joint.values)
    assert twin == joint
    assert hash(twin) == hash(joint)
    assert joint != joint.reorder(["grade", "coin"])
    assert joint.is_close(joint.reorder(["grade", "coin"]))
    assert joint != "joint"
    positive, negative = Factor({"X": 1}, [0.0]), Factor({"X": 1}, [-0.0])
    assert positive == negative
    assert hash(positive) == hash(negative)
    assert not Factor({"X": 2}, [1, 2]).is_close(Factor({"Y": 2}, [1, 2]))


@pytest.mark.parametrize("clone", [copy.copy, copy.deepcopy, lambda value: pickle.loads(pickle.dumps(value))])
def test_copies_are_equal_and_frozen(joint, clone):
    """Copying and pickling keep numbers, scope, note and the read-only flag."""
    noted = joint.with_info({"exact": True})
    twin = clone(noted)
    assert twin == noted
    assert twin.info == {"exact": True}
    assert twin.scope == joint.scope
    with pytest.raises(ValueError, match="read-only"):
        twin.values[...] = 0.0
    scalar = clone(Factor.scalar(2.0))
    assert scalar == Factor.scalar(2.0)
    assert scalar.values.shape == ()


def test_scalars_have_no_axes_however_they_arise(joint):
    """Full reduction, full summation, an empty product and 1/Σ all have shape ()."""
    full = joint.reduce({"coin": "heads", "grade": "C"})
    for scalar in (full, joint.marginalize(joint.names), product([]), full * 1.0, full / full, full.reorder([])):
        assert scalar.scope == ()
        assert scalar.values.shape == ()
        assert scalar.flat.shape == (1,)
        assert scalar == Factor.scalar(scalar.sum())
    assert dict(full.argmax()) == {}
    assert full.normalize().sum() == 1.0


def test_renaming_keeps_numbers_and_refuses_clashes(joint):
    """The same table under other names; two axes can't share one."""
    assert joint.rename({"coin": "toss"})[{"toss": "heads", "grade": "A"}] == 0.1
    refuses(InvalidFactor, "stands twice", joint.rename, {"coin": "grade"})


def test_reorder_needs_every_name_once(joint):
    """Leaving out or repeating a name is no order."""
    for names in (["coin"], ["coin", "grade", "coin"]):
        refuses(InvalidFactor, "is not an order", joint.reorder, names)


def test_values_beyond_64_axes_are_flat_only():
    """NumPy has no such array; the numbers in a row are there."""
    factor = Factor.from_flat([Variable(f"X{i}", 1) for i in range(65)], [2.0])
    with pytest.raises(NotSupported, match=r"use \.flat"):
        _ = factor.values
    assert factor.flat.tolist() == [2.0]
    refuses(InvalidFactor, "from_flat", Factor, [Variable(f"X{i}", 1) for i in range(65)], 2.0)


def test_normalising_survives_sums_that_overflow():
    """Half each, although the sum of the row is no float; rows that need no care are as before."""
    rows = Factor({"A": 3, "B": 2}, [[1e308, 1e308], [1, 3], [0, 0]])
    assert rows.normalize(over="B").values.tolist() == [[0.5, 0.5], [0.25, 0.75], [0.0, 0.0]]
    assert Factor({"A": 2}, [1e308, 1e308]).normalize().values.tolist() == [0.5, 0.5]
    assert Factor({"A": 2}, [1.5e308, 0.5e308]).normalize(iter("A")).values.tolist() == [0.75, 0.25]
    for values in ([0.0, 0.0], [1.0, math.inf], [-1.7e308, -1.7e308]):
        refuses(InvalidFactor, "can't be normalised", Factor({"A": 2}, values).normalize)


def test_an_order_may_come_from_an_iterator():
    """Reordering reads the names once; too few or too many are no order."""
    factor = Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]])
    assert factor.reorder(iter("BA")).values.tolist() == [[1, 3], [2, 4]]
    for wrong in ("A", iter("AAB")):
        refuses(InvalidFactor, "not an order", factor.reorder, wrong)


def test_only_factors_are_close_to_factors():
    """Anything else is a mistake of the caller."""
    refuses(InvalidArgument, "3 is none", Factor({"A": 2}, [1, 2]).is_close, 3)
