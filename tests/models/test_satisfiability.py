"""Formulas, by hand, by brute force and by inference."""

from __future__ import annotations

from itertools import product

import numpy as np
import pytest

from plausible.errors import InvalidModel, TooLarge, UnknownVariable
from plausible.models import CNF, Literal
from seeds import few_of

SIX_OF_EIGHT = [["q1", "~q2", "q3"], ["~q1", "q2", "~q3"]]
THREE_OF_EIGHT = [["~q1", "~q2"], ["q2", "q3"], ["~q1", "~q3"]]


def test_six_of_eight():
    """(q1 ∨ ¬q2 ∨ q3) ∧ (¬q1 ∨ q2 ∨ ¬q3) has six models."""
    formula = CNF(SIX_OF_EIGHT)
    assert formula.count_models() == 6
    assert formula.is_satisfiable()


def test_a_formula_that_is_satisfiable_after_all():
    """(¬q1 ∨ ¬q2) ∧ (q2 ∨ q3) ∧ (¬q1 ∨ ¬q3) has three models; with q1 it has none."""
    formula = CNF(THREE_OF_EIGHT)
    assert formula.count_models() == 3
    assert all(not model["q1"] for model in formula.models())
    assert not CNF([*THREE_OF_EIGHT, ["q1"]]).is_satisfiable()


def _random_clauses(rng, num_variables, num_clauses):
    names = [f"v{i}" for i in range(num_variables)]
    clauses = []
    for _ in range(num_clauses):
        chosen = rng.permutation(names)[: rng.integers(1, 4)]
        clauses.append([("~" if rng.random() < 0.5 else "") + str(name) for name in chosen])
    return clauses, names


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_count_equals_brute_force_and_the_network(seed):
    """2^n P(formula) is the number of models, and the models are those that evaluate to true."""
    clauses, names = _random_clauses(np.random.default_rng(seed), 5, 6)
    formula = CNF(clauses, variables=names)
    expected = []
    for values in product([False, True], repeat=5):
        truth = dict(zip(names, values, strict=True))
        holds = all(any(truth[text.lstrip("~")] != text.startswith("~") for text in clause) for clause in clauses)
        assert formula.evaluate(truth) is holds
        if holds:
            expected.append(truth)
    assert [dict(model) for model in formula.models()] == expected
    assert formula.count_models() == len(expected)
    assert formula.is_satisfiable() == bool(expected)
    net = formula.to_network()
    assert 2**5 * net.query("formula")[True] == pytest.approx(len(expected), abs=1e-9)
    assert (net.log_probability({"formula": True}) > -np.inf) == bool(expected)
    if expected:
        posterior = net.query(names, {"formula": True})
        for model in expected:
            assert posterior[model] == pytest.approx(1 / len(expected))


def test_random_walks_never_err_on_the_satisfiable_side():
    """What is found is a model; an unsatisfiable formula is never taken for satisfiable."""
    found = CNF(THREE_OF_EIGHT).find_model(seed=1)
    assert CNF(THREE_OF_EIGHT).evaluate(found)
    assert CNF([*THREE_OF_EIGHT, ["q1"]]).find_model(seed=1) is None
    assert CNF([[]]).find_model(seed=1) is None
    assert CNF([]).find_model(seed=1) == {}


@pytest.mark.parametrize("seed", range(5))
def test_one_walk_finds_half_of_what_is_there_and_more_walks_more(seed):
    """Two literals a clause: each try succeeds with probability 1/2 or more."""
    rng = np.random.default_rng(seed)
    names = [f"v{i}" for i in range(6)]
    hidden = dict(zip(names, rng.random(6) < 0.5, strict=True))
    clauses = []
    for _ in range(9):
        one, two = rng.permutation(names)[:2]
        agreeing = ("" if hidden[one] else "~") + one
        clauses.append([agreeing, ("~" if rng.random() < 0.5 else "") + two])
    formula = CNF(clauses)
    once = sum(formula.find_model(tries=1, seed=run) is not None for run in range(60))
    assert once > 30
    assert all(formula.find_model(tries=20, seed=run) is not None for run in range(20))


def test_inference_goes_where_brute_force_can_not():
    """A chain of implications over a hundred variables has 101 models."""
    formula = CNF([[f"~x{i}", f"x{i + 1}"] for i in range(99)])
    with pytest.raises(TooLarge, match="100 variables"):
        formula.count_models()
    log_count = 100 * np.log(2) + formula.to_network().log_probability({"formula": True})
    assert np.exp(log_count) == pytest.approx(101)


def test_empty_formulas_and_clauses():
    """No clauses: true. An empty clause: false. Variables without clauses count."""
    assert CNF([]).is_satisfiable()
    assert CNF([], variables=["a", "b"]).count_models() == 4
    assert CNF([]).to_network().query("formula")[True] == 1
    assert not CNF([[]]).is_satisfiable()
    assert CNF([["a"], []]).to_network().query("formula")[True] == 0
    assert str(CNF([])) == "⊤"
    assert str(CNF([[]])) == "(⊥)"


def test_tautologies_and_repeated_literals():
    """(a ∨ ¬a) holds always; (a ∨ a) is a."""
    assert CNF([["a", "~a"]]).count_models() == 2
    assert CNF([["a", "~a"]]).to_network().query("formula")[True] == 1
    assert CNF([["a", "a"]]).clauses == ((Literal("a"),),)


def test_literals_can_be_written_in_several_ways():
    """~, ¬, - and ! before a name; and as objects."""
    formula = CNF([["~a", "¬ b", "-c", "!d", Literal("e", positive=False)]])
    assert [literal.positive for literal in formula.clauses[0]] == [False] * 5
    assert formula == CNF([["~e", "~d", "~c", "~b", "~a"]])
    assert hash(formula) == hash(CNF([["~e", "~d", "~c", "~b", "~a"]]))
    assert repr(CNF([["a", "~b"]])) == "CNF([['a', '~b']])"


def test_mistakes():
    """Text for a clause, an empty literal, an incomplete assignment, a name that the network needs."""
    with pytest.raises(ValueError, match="A clause is a collection"):
        CNF(["ab"])
    with pytest.raises(ValueError, match="'~' is no literal"):
        CNF([["~"]])
    with pytest.raises(UnknownVariable, match="no truth value to 'b'"):
        CNF([["a", "b"]]).evaluate({"a": True})
    with pytest.raises(InvalidModel, match="choose another target="):
        CNF([["formula"]]).to_network()
    assert CNF([["formula"]]).to_network("φ").query("φ")[True] == 0.5
