"""Expressions of observed probabilities: values, shorter forms, texts."""

from __future__ import annotations

import copy
import pickle
from itertools import product as cartesian

import numpy as np
import pytest

from plausible.causal.expressions.notation import LONGEST, Symbol
from plausible.causal.expressions.simplification import simplify, with_canonical_symbols
from plausible.causal.expressions.tree import (
    ONE,
    Probability,
    Product,
    Quotient,
    Sum,
    probability,
    product_of,
    sum_over,
)
from plausible.causal.identification.algorithm import identify
from plausible.cpds import TableCPD
from plausible.errors import InvalidArgument, NotSupported, PositivityViolation, UnknownVariable
from plausible.factors import Factor
from plausible.graphs import DAG
from plausible.models import BayesianNetwork
from refusals import refuses
from seeds import few_of

NAMES = "ABC"


def random_joint(rng, sizes=(2, 3, 2), zeros=0.0):
    """A joint distribution of A, B and C."""
    values = (rng.gamma(1.0, size=sizes) + 0.05) * (rng.random(sizes) >= zeros)
    values[(0,) * len(sizes)] += 0.01
    return Factor(dict(zip(NAMES, sizes, strict=True)), values / values.sum())


def random_expression(rng, depth=3):
    """Any tree over symbols of A, B and C with up to one prime; sums may shadow, and run over what is not there."""
    kind = rng.integers(4) if depth else 0
    if kind == 0:
        symbols = [Symbol(name, int(rng.integers(2))) for name in rng.permutation(list(NAMES))[: rng.integers(1, 4)]]
        cut = int(rng.integers(1, len(symbols) + 1))
        return Probability(tuple(symbols[:cut]), tuple(symbols[cut:]))
    if kind == 1:
        return Product(tuple(random_expression(rng, depth - 1) for _ in range(rng.integers(1, 4))))
    if kind == 2:
        over = [Symbol(name, int(rng.integers(2))) for name in rng.permutation(list(NAMES))[: rng.integers(1, 3)]]
        return Sum(tuple(over), random_expression(rng, depth - 1))
    return Quotient(random_expression(rng, depth - 1), random_expression(rng, depth - 1))


def plain_value(expression, values, joint):
    """The number at an assignment to symbols, by plain recursion over states."""
    if isinstance(expression, Probability):
        fixed = {s.variable: values[s] for s in (*expression.outcome, *expression.given)}
        condition = {s.variable: values[s] for s in expression.given}
        return plain_total(joint, fixed) / plain_total(joint, condition)
    if isinstance(expression, Product):
        return float(np.prod([plain_value(part, values, joint) for part in expression.parts]))
    if isinstance(expression, Quotient):
        return plain_value(expression.above, values, joint) / plain_value(expression.below, values, joint)
    ranges = [range(joint.values.shape[NAMES.index(s.variable)]) for s in expression.over]
    settings = (dict(zip(expression.over, states, strict=True)) for states in cartesian(*ranges))
    return sum(plain_value(expression.body, {**values, **setting}, joint) for setting in settings)


def plain_total(joint, fixed):
    """The sum of all entries that agree."""
    cells = (
        cell for cell in np.ndindex(joint.values.shape) if all(cell[NAMES.index(n)] == v for n, v in fixed.items())
    )
    return sum(float(joint.values[cell]) for cell in cells)


def plain_table(expression, joint):
    """The values for all assignments to the free symbols, in alphabetic order."""
    free = sorted(expression.free, key=str)
    shape = [joint.values.shape[NAMES.index(s.variable)] for s in free]
    table = np.empty(shape)
    for cell in np.ndindex(*shape):
        table[cell] = plain_value(expression, dict(zip(free, cell, strict=True)), joint)
    return table


def shared_tower(height, base="B"):
    """x -> x x / x, again and again: 3 ** height atoms when written out."""
    tower = probability("A", base)
    for _ in range(height):
        tower = Quotient(Product((tower, tower)), tower)
    return tower


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_values_are_those_of_plain_recursion(seed):
    """Tables, NumPy code and the simplified tree all say what the tree says, state by state."""
    rng = np.random.default_rng(seed)
    for _ in range(3):
        expression, joint = random_expression(rng), random_joint(rng)
        expected = plain_table(expression, joint)
        tolerance = 1e-9 * max(1.0, np.abs(expected).max())
        found = expression.evaluate(joint)
        assert found.names == tuple(str(s) for s in sorted(expression.free, key=str))
        assert np.allclose(found.values, expected, rtol=1e-9, atol=tolerance)
        code = {}
        exec(expression.python, code)
        axes = tuple(NAMES.index(name) for name in NAMES if name not in expression.variables)
        assert np.allclose(code["effect"](joint.values.sum(axis=axes)), expected, rtol=1e-9, atol=tolerance)
        assert np.allclose(with_canonical_symbols(expression).evaluate(joint).values, expected, rtol=1e-9)
        short = simplify(expression)
        assert short.size <= expression.size
        assert short.free <= expression.free
        gone = tuple(i for i, s in enumerate(sorted(expression.free, key=str)) if s not in short.free)
        assert np.allclose(np.expand_dims(short.evaluate(joint).values, gone), expected, rtol=1e-8, atol=tolerance)
        assert simplify(short).size == short.size


@pytest.mark.parametrize(
    ("expression", "short"),
    [
        (probability("A", "B") * probability("B"), "P(b, a)"),
        (probability("A", ["B", "C"]) * probability("B", "C") * probability("C"), "P(c, b, a)"),
        (probability("A", "B") * probability("B", "C"), "P(a | b) P(b | c)"),
        (probability(["A", "B"], "C") / probability("B", "C"), "P(a | b, c)"),
        (probability("A") * probability("B") / probability("A"), "P(b)"),
        (probability("A") / probability("A"), "1"),
        (sum_over("A", probability("A", "B")), "1"),
        (sum_over("A", probability("A", "B") * probability("C")), "P(c)"),
        (sum_over(["A", "B"], probability("A") * probability("C", "B")), "Σ_b P(c | b)"),
        (sum_over(["A", "B"], probability("C", "A") * probability("B", "A")), "Σ_a P(c | a)"),
        (sum_over("A", probability("C", "A") * probability("A")), "P(c)"),
        (sum_over("A", ONE), "Σ_a 1"),
        ((probability("A") / probability("B")) / (probability("C") / probability("B")), "P(a) / P(c)"),
        (probability("A") * probability("A"), "P(a) P(a)"),
    ],
    ids=str,
)
def test_each_law_shortens_as_written(expression, short):
    """The chain rule, cancelling, total probability, and what must stay as it is."""
    assert str(simplify(expression)) == short


def test_front_door_is_written_in_three_ways():
    """Text, LaTeX and code of the tobacco estimand."""
    other = Symbol("S", 1)
    inner = sum_over([other], probability("C", ["T", other]) * probability([other]))
    expression = sum_over("T", probability("T", "S") * inner)
    assert str(expression) == "Σ_t P(t | s) Σ_s' P(c | t, s') P(s')"
    assert expression.latex == r"\sum_{t} P(t \mid s) \, \sum_{s'} P(c \mid t, s') \, P(s')"
    assert expression.python.startswith("import numpy as np\n\n\ndef effect(joint):\n")
    assert repr(expression) == "<Sum: Σ_t P(t | s) Σ_s' P(c | t, s') P(s')>"
    assert expression.free == {Symbol("C"), Symbol("S")}
    assert expression.variables == {"C", "S", "T"}


def test_brackets_stand_where_reading_would_go_wrong():
    """A sum reaches to the end of its product unless brackets end it; quotients are bracketed in text."""
    total = sum_over("B", probability("A", "B") * probability("B"))
    assert str(total * probability("C")) == "[Σ_b P(a | b) P(b)] P(c)"
    assert str(probability("C") * total) == "P(c) Σ_b P(a | b) P(b)"
    assert str(total / probability("C")) == "[Σ_b P(a | b) P(b)] / P(c)"
    assert str(sum_over("C", probability("A", "C") / probability("B"))) == "Σ_c [P(a | c) / P(b)]"
    assert (total / probability("C")).latex == r"\frac{\sum_{b} P(a \mid b) \, P(b)}{P(c)}"


def test_names_stay_distinct_in_small_letters_and_legal_in_latex():
    """'a' and 'A' keep their cases; digits become indices, underscores are escaped."""
    assert str(probability("a", "A")) == "P(a | A)"
    assert probability("Z1", ["tar_level", 3]).latex == r"P(z_{1} \mid \mathit{tar\_level}, \mathit{3})"


def test_canonical_symbols_have_the_fewest_primes_that_keep_scopes_apart():
    """Siblings may use the same symbol; what is nested or free may not."""
    x2, x3 = Symbol("A", 2), Symbol("A", 3)
    siblings = sum_over([x2], probability("B", [x2])) * sum_over([x3], probability("C", [x3]))
    assert str(with_canonical_symbols(siblings)) == "[Σ_a P(b | a)] Σ_a P(c | a)"
    nested = sum_over("A", probability("B", "A") * sum_over("A", probability("C", "A")))
    assert str(with_canonical_symbols(nested)) == "Σ_a P(b | a) Σ_a' P(c | a')"


def test_equality_is_by_content_and_survives_copying():
    """The order of conditions does not matter; that of factors does; copies and pickles are equal."""
    assert probability("A", ["B", "C"]) == probability("A", ["C", "B"])
    assert hash(probability("A", ["B", "C"])) == hash(probability("A", ["C", "B"]))
    assert probability("A", "B") != probability("B", "A")
    assert probability("A", "B") * probability("B") != probability("B") * probability("A", "B")
    assert probability("A") != "P(a)"
    expression = sum_over("B", probability("A", "B") * probability("B")) / probability("C")
    for twin in (copy.copy(expression), copy.deepcopy(expression), pickle.loads(pickle.dumps(expression))):
        assert twin == expression
        assert (twin.free, twin.size, str(twin)) == (expression.free, expression.size, str(expression))
    with pytest.raises(AttributeError):
        expression.above = ONE


def test_shared_parts_are_handled_once():
    """A tree of 3 ** 60 atoms is compared, printed, coded, pickled and evaluated by its 120 different parts."""
    tower, twin = shared_tower(60), shared_tower(60)
    assert tower.size == 2 * 3**60 > LONGEST
    assert tower == twin
    assert tower != shared_tower(60, base="C")
    assert simplify(tower) is tower
    assert pickle.loads(pickle.dumps(tower)) == tower
    lines = str(tower).splitlines()
    assert lines[0] == "[[Q59(a, b)] [Q59(a, b)]] / [Q59(a, b)]"
    assert lines[1] == "where Q1(a, b) = [P(a | b) P(a | b)] / P(a | b)"
    assert len(lines) == 60
    joint = random_joint(np.random.default_rng(0))
    expected = joint.marginal(["A", "B"]).normalize("A")
    assert tower.evaluate(joint).is_close(expected)
    code = {}
    exec(tower.python, code)
    assert np.allclose(code["effect"](joint.values.sum(axis=2)), expected.values)


def test_a_network_is_asked_for_small_tables_only():
    """P(last | first) of a chain of 80 ternary variables: its joint has 3 ** 80 entries."""
    rng = np.random.default_rng(4)
    rows = [rng.dirichlet(np.ones(3), size=3) for _ in range(79)]
    cpds = [TableCPD("X0", rng.dirichlet(np.ones(3)))]
    cpds += [TableCPD(f"X{i + 1}", rows[i], parents=[f"X{i}"]) for i in range(79)]
    network = BayesianNetwork(cpds)
    expected = np.linalg.multi_dot(rows)
    for source in (network, network.compile()):
        assert np.allclose(probability("X79", "X0").evaluate(source).values, expected)
    total = sum_over([f"X{i}" for i in range(1, 79)], product_of(probability(f"X{i + 1}", f"X{i}") for i in range(79)))
    assert np.allclose(total.evaluate(network).values, expected)


def test_conditions_that_never_happen_are_reported_with_their_states():
    """P(a | b) where P(b) = 0 has no value; the error says where, and keeps that when it is copied."""
    joint = Factor({"A": 2, "B": ["x", "y"]}, [[0.3, 0.0], [0.7, 0.0]])
    with pytest.raises(PositivityViolation, match="B='y'") as caught:
        probability("A", "B").evaluate(joint)
    assert caught.value.undefined == ({"A": 0, "B": "y"}, {"A": 1, "B": "y"})
    assert pickle.loads(pickle.dumps(caught.value)).undefined == caught.value.undefined
    with pytest.raises(PositivityViolation, match="divisor"):
        (probability("A") / probability("B")).evaluate(joint)


def test_what_is_multiplied_by_zero_need_not_be_defined():
    """Σ_b P(a | b) P(b) = P(a), though P(a | b) is undefined for a b of probability zero."""
    joint = Factor({"A": 2, "B": 2}, [[0.3, 0.0], [0.7, 0.0]])
    total = sum_over("B", probability("A", "B") * probability("B"))
    assert np.allclose(total.evaluate(joint).values, [0.3, 0.7])


def test_joint_factors_need_not_be_normalised_and_one_state_variables_do_no_harm():
    """Counts will do."""
    counts = Factor({"A": 2, "B": 1}, [[3.0], [7.0]])
    assert np.allclose(probability("A", "B").evaluate(counts).values, [[0.3], [0.7]])
    assert ONE.evaluate(counts).values == 1.0
    assert sum_over("B", ONE).evaluate(counts).values == 1.0


def test_wrong_parts_are_refused_by_name():
    """Probabilities without an outcome or with a variable twice; sources that are none; unknown variables."""
    refuses(InvalidArgument, "outcome", probability, [], "A")
    refuses(InvalidArgument, "each variable once", probability, "A", [Symbol("A", 1)])
    refuses(NotSupported, r"learn\.parameters", probability("A").evaluate, [1, 2])
    refuses(UnknownVariable, "'Grass'", probability("Grss").evaluate, Factor({"Grass": 2}, [0.5, 0.5]))
    with pytest.raises(TypeError):
        probability("A") * 2
    with pytest.raises(TypeError):
        probability("A") / 2
    many = product_of(probability(f"V{i}") for i in range(60))
    with pytest.raises(NotSupported, match="einsum"):
        many.python  # noqa: B018


def test_depth_is_no_limit_to_writing_and_evaluating():
    """A tower of 2000 quotients, whose recursion Python would end."""
    joint = random_joint(np.random.default_rng(1))
    tower = shared_tower(1000)
    assert tower.depth == 2001
    assert len(str(tower).splitlines()) == 1000
    assert tower.evaluate(joint).is_close(joint.marginal(["A", "B"]).normalize("A"))
    assert tower.python.count("np.einsum") > 2000


@pytest.mark.parametrize("name", ['a"""b', 'ends"', "two\nlines", "back\\slash", "tail\\", "\r\x00\u2028", "it's"])
def test_python_text_compiles_whatever_names_are_in_it(name):
    """Names end neither the docstring nor a comment, and the function computes the effect."""
    text = identify(DAG([("Z", name), ("Z", "Y"), (name, "Y")]), "Y", name).python
    scope = {}
    exec(compile(text, "effect.py", "exec"), scope)
    joint = np.random.default_rng(0).dirichlet(np.ones(8)).reshape(2, 2, 2)
    assert np.allclose(scope["effect"](joint).sum(axis=-1), 1.0)


def test_names_with_spaces_are_clear_in_text_and_latex():
    """Sums over them are in braces, and their spaces do not vanish."""
    estimand = identify(DAG([("a z", "X"), ("a z", "Y"), ("X", "Y")]), "Y", "X")
    assert estimand.formula == "Σ_{a z} P(y | x, a z) P(a z)"
    assert r"\sum_{\mathit{a\ z}}" in estimand.latex
