"""The algebra of factors, against plain enumeration in dictionaries.

The oracle knows assignments as sets of (name, state) pairs and no axes. Entries are small whole numbers, so sums and
products are exact and laws hold without a tolerance.
"""

from __future__ import annotations

import math
from itertools import product as cartesian

import numpy as np
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from plausible.errors import InvalidFactor
from plausible.factors import Factor, product
from plausible.variables import Variable
from refusals import refuses

POOL = (
    Variable("A", ["a0", "a1"]),
    Variable("B", [1, 2, 3]),
    Variable("C", ["only"]),
    Variable("D", [True, False]),
    Variable("E", [("t", 0), ("t", 1)]),
    Variable("F", 1),
)
CASES = settings(max_examples=24, deadline=None)

Table = dict[frozenset, float]


@st.composite
def factors(draw, low=0, high=8, max_size=4):
    scope = draw(st.lists(st.sampled_from(POOL), unique=True, max_size=max_size))
    size = math.prod(len(variable.states) for variable in scope)
    return Factor.from_flat(scope, draw(st.lists(st.integers(low, high), min_size=size, max_size=size)))


def subsets(factor):
    return st.lists(st.sampled_from(factor.names), unique=True) if factor.names else st.just([])


def rows(variables) -> list[dict]:
    ordered = list(variables)
    return [
        dict(zip([v.name for v in ordered], states, strict=True)) for states in cartesian(*(v.states for v in ordered))
    ]


def table(factor) -> Table:
    """What the factor says of each assignment, asked one by one."""
    return {frozenset(row.items()): factor[row] for row in rows(factor.scope)}


def pick(row, names) -> frozenset:
    return frozenset((name, row[name]) for name in names)


def combined(operation, left, right) -> Table:
    f, g = table(left), table(right)
    union = {variable.name: variable for variable in (*left.scope, *right.scope)}
    return {
        frozenset(row.items()): operation(f[pick(row, left.names)], g[pick(row, right.names)])
        for row in rows(union.values())
    }


def eliminated(operation, factor, names) -> Table:
    kept = [name for name in factor.names if name not in names]
    groups: dict[frozenset, list[float]] = {}
    for row in rows(factor.scope):
        groups.setdefault(pick(row, kept), []).append(factor[row])
    return {key: operation(numbers) for key, numbers in groups.items()}


# --- each operation does what its definition says ---


@CASES
@given(factors(-4), factors(-4))
def test_product_sum_and_difference_equal_enumeration(f, g):
    """(φ ∘ ψ)(x) = φ(x restricted to its scope) ∘ ψ(x restricted to its scope)."""
    assert table(f * g) == combined(lambda a, b: a * b, f, g)
    assert table(f + g) == combined(lambda a, b: a + b, f, g)
    assert table(f - g) == combined(lambda a, b: a - b, f, g)


@CASES
@given(factors(-4), factors(1))
def test_quotient_equals_enumeration(f, g):
    """(φ / ψ)(x) = φ(x) / ψ(x) where ψ is positive."""
    assert table(f / g) == combined(lambda a, b: a / b, f, g)


@CASES
@given(factors(), factors())
def test_zero_by_zero_is_zero_and_other_division_by_zero_is_refused(f, g):
    """0/0 = 0; any other division by zero raises and names the assignment."""
    expected = combined(lambda a, b: (a / b if b else 0.0) if b or not a else math.nan, f, g)
    if any(math.isnan(number) for number in expected.values()):
        with pytest.raises(InvalidFactor, match="by zero at"):
            f / g
    else:
        assert table(f / g) == expected


@CASES
@given(st.data())
def test_summing_and_maximising_out_equal_enumeration(data):
    """Σ_Y φ and max_Y φ run over all states of Y."""
    f = data.draw(factors(-4))
    names = data.draw(subsets(f))
    assert table(f.marginalize(names)) == eliminated(sum, f, names)
    assert table(f.maximize(names)) == eliminated(max, f, names)


@CASES
@given(st.data())
def test_marginal_keeps_what_is_asked_in_the_order_asked(data):
    """marginal(names) is the sum over all others, its axes in the order of names."""
    f = data.draw(factors())
    names = data.draw(subsets(f))
    answer = f.marginal(names)
    assert answer.names == tuple(names)
    assert table(answer) == eliminated(sum, f, [name for name in f.names if name not in names])


@CASES
@given(st.data())
def test_reduction_is_the_slice_and_ignores_other_names(data):
    """φ[u](x) = φ(x, u); what u says about variables outside the scope does not matter."""
    f = data.draw(factors())
    names = data.draw(subsets(f))
    context = {name: data.draw(st.sampled_from(f.variable(name).states)) for name in names}
    expected = {
        pick(row, [n for n in f.names if n not in context]): f[row]
        for row in rows(f.scope)
        if all(row[n] == s for n, s in context.items())
    }
    assert table(f.reduce({**context, "elsewhere": "x"})) == expected


def test_reduction_looks_up_its_own_variables_only():
    """Evidence about a hundred thousand others costs nothing: it is never gone through."""

    class LookedUp(dict):
        def _refuse(self):
            raise AssertionError("the evidence is gone through")

        __iter__ = items = keys = values = _refuse

    f = Factor({"A": 2, "B": 2}, [[1, 2], [3, 4]])
    assert f.reduce(LookedUp(A=1, elsewhere=0)).values.tolist() == [3, 4]


@CASES
@given(factors(), st.data())
def test_reordering_changes_no_entry(f, data):
    """A factor is a function of named arguments: the order of axes is only a layout."""
    names = data.draw(st.permutations(f.names))
    assert table(f.reorder(names)) == table(f)
    assert f.reorder(names).names == tuple(names)
    assert f.reorder(names).reorder(f.names) == f


@CASES
@given(factors(), factors())
def test_extension_is_constant_in_the_new_variables(f, g):
    """extend(V)(x, v) = φ(x)."""
    assert table(f.extend(g.scope)) == combined(lambda a, _: a, f, g)


@CASES
@given(factors(-4))
def test_totals_and_extremes_equal_enumeration(f):
    """sum, max, min, argmax and argmin; ties go to the first assignment in row-major order."""
    numbers = [f[row] for row in rows(f.scope)]
    assert (f.sum(), f.max(), f.min(), f.size) == (sum(numbers), max(numbers), min(numbers), len(numbers))
    assert dict(f.argmax()) == rows(f.scope)[numbers.index(max(numbers))]
    assert dict(f.argmin()) == rows(f.scope)[numbers.index(min(numbers))]


# --- laws ---


@CASES
@given(factors(-4), factors(-4), factors(-4))
def test_product_is_commutative_and_associative_with_neutral_one(f, g, h):
    """φψ = ψφ, (φψ)χ = φ(ψχ), 1φ = φ, up to the order of the axes; `product` is the same."""
    assert (f * g).is_close(g * f, 0)
    assert (f * g) * h == f * (g * h) == product([f, g, h])
    assert product([]) * f == f * 1 == f


@CASES
@given(factors(), factors(), factors())
def test_product_distributes_over_sum(f, g, h):
    """φ(ψ + χ) = φψ + φχ."""
    assert (f * (g + h)).is_close(f * g + f * h, 0)


@CASES
@given(st.data())
def test_marginalisation_commutes(data):
    """Σ_X Σ_Y φ = Σ_Y Σ_X φ = Σ_XY φ, and likewise for max."""
    f = data.draw(factors())
    names = data.draw(subsets(f))
    first, second = names[: len(names) // 2], names[len(names) // 2 :]
    assert f.marginalize(first).marginalize(second) == f.marginalize(second).marginalize(first) == f.marginalize(names)
    assert f.maximize(first).maximize(second) == f.maximize(second).maximize(first) == f.maximize(names)


@CASES
@given(st.data())
def test_sums_and_maxima_push_past_factors_without_the_variable(data):
    """Σ_X φψ = φ Σ_X ψ and max_X φψ = φ max_X ψ, where X is not in the scope of φ and φ ≥ 0."""
    f, g = data.draw(factors()), data.draw(factors(-4))
    names = [name for name in g.names if name not in f.names]
    assert (f * g).marginalize(names) == f * g.marginalize(names)
    assert (f * g).maximize(names) == f * g.maximize(names)


def test_maximum_does_not_push_past_a_negative_factor():
    """The condition φ ≥ 0 of the push-in rule for max is needed."""
    f, g = Factor({"A": 2}, [-1.0, 1.0]), Factor({"B": 2}, [1.0, 2.0])
    assert (f * g).maximize("B") != f * g.maximize("B")


@CASES
@given(st.data())
def test_reduction_commutes_with_marginalisation_and_product(data):
    """(Σ_Y φ)[u] = Σ_Y φ[u] for u outside Y, and (φψ)[u] = φ[u]ψ[u]."""
    f, g = data.draw(factors()), data.draw(factors())
    names = data.draw(subsets(f))
    free = [variable for variable in f.scope if variable.name not in names]
    context = {variable.name: data.draw(st.sampled_from(variable.states)) for variable in free[::2]}
    assert f.marginalize(names).reduce(context) == f.reduce(context).marginalize(names)
    assert (f * g).reduce(context) == f.reduce(context) * g.reduce(context)


@CASES
@given(factors(), factors(1))
def test_division_inverts_multiplication_on_the_support(f, g):
    """(φψ)/ψ = φ, extended to the union, where ψ > 0; and (φψ)/φ = ψ on the support of φ, zero off it."""
    assert ((f * g) / g).is_close(f.extend(g.scope), 1e-12)
    support = (f / f).extend(g.scope)
    assert ((f * g) / f).is_close(g * support, 1e-12)


@CASES
@given(factors())
def test_normalising_gives_a_distribution_and_is_idempotent(f):
    """φ/Σφ sums to one; normalising it again changes nothing; a zero factor is refused."""
    if f.sum() == 0:
        refuses(InvalidFactor, "sums to 0", f.normalize)
        return
    once = f.normalize()
    assert once.is_distribution()
    assert once.is_close(f * (1 / f.sum()), 1e-15)
    assert once.normalize().is_close(once, 1e-15)


@CASES
@given(st.data())
def test_conditioning_normalises_every_row_that_has_mass(data):
    """normalize(over=X) sums to one over X in each context of positive mass and to zero elsewhere."""
    f = data.draw(factors())
    names = data.draw(subsets(f))
    mass = f.marginalize(names)
    sums = table(f.normalize(over=names).marginalize(names))
    for context, total in table(mass).items():
        assert sums[context] == pytest.approx(1.0 if total else 0.0, abs=1e-12)
    assert (f.normalize(over=names) * mass).is_close(f, 1e-12)


@CASES
@given(factors())
def test_logarithm_and_exponential_are_inverse(f):
    """exp log φ = φ, zeros included, and a product is the exponential of a sum."""
    assert f.log().exp().is_close(f, 1e-12)
    assert (f.log() + f.log()).exp().is_close(f * f, 1e-9)


@CASES
@given(factors(), factors())
def test_factorisation_implies_independence(f, g):
    """P(X, Y, Z) ∝ φ(X, Z) ψ(Y, Z) implies X ⟂ Y | Z."""
    shared = [name for name in f.names if name in g.names]
    joint = f * g
    assume(joint.sum() > 0)
    left = [name for name in f.names if name not in shared]
    right = [name for name in g.names if name not in shared]
    assert joint.is_independent(left, right, given=shared)


@CASES
@given(factors(), factors(1))
def test_expectation_is_linear_and_equals_enumeration(f, g):
    """E[aX + b] = aE[X] + b and E[X] = Σ x P(x); a factor, a callable and enumeration agree."""
    assume(f.sum() > 0 and set(g.names) <= set(f.names))
    p = f.normalize()
    expected = sum(p[row] * g[row] for row in rows(p.scope))
    assert p.expectation(g) == pytest.approx(expected)
    assert p.expectation(lambda row: g[row]) == pytest.approx(expected)
    assert p.expectation(g * 3.0 + 2.0) == pytest.approx(3 * expected + 2)


# --- sizes ---


@pytest.mark.parametrize("num_axes", [33, 65, 100])
def test_laws_hold_beyond_the_axes_that_numpy_has(num_axes):
    """One-state variables take no axis, so a scope may be longer than any array's."""
    wide = (Variable("A", 2), Variable("B", 3))
    narrow = [Variable(f"N{i}", 1) for i in range(num_axes)]
    f = Factor.from_flat([*narrow[: num_axes // 2], wide[0], *narrow[num_axes // 2 :], wide[1]], range(6))
    g = Factor.from_flat([wide[1], *narrow], [1, 2, 3])
    h = f * g
    assert h.names == f.names
    assert h.flat.tolist() == [0, 2, 6, 3, 8, 15]
    assert h.marginalize([v.name for v in narrow]).values.tolist() == [[0, 2, 6], [3, 8, 15]]
    assert h.marginal("A").values.tolist() == [8, 26]
    assert h.reorder(h.names[::-1]).flat.tolist() == [0, 3, 2, 8, 6, 15]
    assert h[dict.fromkeys((v.name for v in narrow), 0) | {"A": 1, "B": 2}] == 15
    assert dict(h.argmax())["B"] == 2
    assert f.reduce({"N0": 0, "A": 1}).flat.tolist() == [3, 4, 5]


def test_many_binary_axes_multiply_and_sum_as_flat_arithmetic_says():
    """Sixteen axes: entry i of the table is a function of the bits of i, so sums over bits are known in closed form."""
    size = 16
    scope = [Variable(f"X{i}", 2) for i in range(size)]
    f = Factor.from_flat(scope, range(2**size))
    for gone in ([0, 3, 4, 15], list(range(0, size, 2)), list(range(1, size, 2)), [15], [14], list(range(size))):
        kept = [i for i in range(size) if i not in gone]
        place = [size - 1 - i for i in range(size)]
        spread = sum(2 ** place[i] for i in gone)
        summed, largest = (f.marginalize([f"X{i}" for i in gone]), f.maximize([f"X{i}" for i in gone]))
        for row in (0, 2 ** len(kept) - 1, 5 % 2 ** len(kept)):
            bits = [(row >> (len(kept) - 1 - j)) & 1 for j in range(len(kept))]
            base = sum(bit << place[i] for bit, i in zip(bits, kept, strict=True))
            assert summed.flat[row] == 2 ** len(gone) * base + 2 ** (len(gone) - 1) * spread
            assert largest.flat[row] == base + spread
    every_other = Factor.from_flat(scope[1::2][::-1], range(2 ** (size // 2)))
    joint = f * every_other
    for row in (0, 1, 2**size - 1, 0b0101010101010101, 0b0010010010010011):
        bits = [(row >> (size - 1 - i)) & 1 for i in range(size)]
        other = sum(bit << j for j, bit in enumerate(bits[1::2]))
        assert joint.flat[row] == row * other


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32 - 1))
def test_large_tables_equal_sums_of_products_by_einsum(seed):
    """Thousands of entries and axes of two to nine states take other paths through memory, not to other numbers."""
    rng = np.random.default_rng(seed)
    letters = "abcdefgh"
    sizes = rng.choice([1, 2, 2, 3, 4, 9], size=len(letters))
    while sizes.prod() < 10_000:
        sizes[rng.integers(len(sizes))] += 1
    variables = [Variable(letter, int(size)) for letter, size in zip(letters, sizes, strict=True)]
    while math.prod(sizes) > 200_000:
        sizes, variables, letters = sizes[:-1], variables[:-1], letters[:-1]
    some = [v for v in rng.permutation(len(letters)) if rng.random() < 0.5]
    left = Factor.from_flat(variables, rng.integers(0, 5, size=math.prod(sizes)))
    right = Factor.from_flat([variables[i] for i in some], rng.integers(1, 5, size=math.prod(sizes[some])))
    other = "".join(letters[i] for i in some)
    kept = "".join(letter for letter in letters if rng.random() < 0.5)
    joint, gone = left * right, [letter for letter in letters if letter not in kept]
    whole = np.einsum(f"{letters},{other}->{letters}", left.values, right.values)
    assert np.array_equal(joint.values, whole)
    assert np.array_equal((right * left).reorder(left.names).values, whole)
    assert np.array_equal(joint.marginalize(gone).values, np.einsum(f"{letters}->{kept}", whole))
    assert np.array_equal(joint.maximize(gone).values, whole.max(axis=tuple(letters.index(g) for g in gone)))
    assert np.array_equal((joint / right).values, left.values)
    assert (
        (left + 1.0)
        .normalize(over=letters[-1])
        .marginalize(letters[-1])
        .is_close(Factor.scalar(1.0).extend(variables[:-1]), 1e-12)
    )
