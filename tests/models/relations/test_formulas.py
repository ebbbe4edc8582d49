"""Formulas: how they are written, read and typed, and what is said of those that make no sense."""

import math
import pickle

import pytest
from hypothesis import given, settings

import formula_oracle as oracle
import plausible as pb
from plausible.cli.source import read_model
from plausible.errors import NotSupported
from refusals import refuses

SMOKERS = {"Smokes": ["person"], "Friends": ["person", "person"], "Topic": (["paper"], ["AI", "DB"])}


@given(one=oracle.formulas())
@settings(max_examples=200, deadline=None)
def test_a_formula_that_is_printed_and_read_again_is_the_same(one):
    """Parentheses that are not needed go, and the meaning stays."""
    formula = pb.Formula(oracle.written(one), weight=0.5)
    assert pb.Formula(str(formula), weight=0.5) == formula
    assert pb.Formula(str(formula)).text == str(formula)
    assert len(str(formula)) <= len(oracle.written(one))


@pytest.mark.parametrize(
    ("text", "whole"),
    [
        ("A(x) | B(x) & C(x)", "A(x) | (B(x) & C(x))"),
        ("!A(x) & B(x)", "(!A(x)) & B(x)"),
        ("A(x) => B(x) => C(x)", "A(x) => (B(x) => C(x))"),
        ("A(x) <=> B(x) <=> C(x)", "(A(x) <=> B(x)) <=> C(x)"),
        ("A(x) <=> B(x) => C(x) | D(x)", "A(x) <=> (B(x) => (C(x) | D(x)))"),
        ("forall x: A(x) => B(x)", "forall x: (A(x) => B(x))"),
        ("not A(x) and B(x) or C(x)", "((!A(x)) & B(x)) | C(x)"),
        ("∀x: ¬A(x) ∨ ∃y: B(y) ∧ x ≠ y", "forall x: ((!A(x)) | (exists y: (B(y) & (x != y))))"),
        ("~(x = y)", "x != y"),
    ],
)
def test_signs_bind_as_they_are_told_to(text, whole):
    """From ! to <=>, and quantifiers as far to the right as they can."""
    assert pb.Formula(text) == pb.Formula(whole, name=pb.Formula(text).name)


@pytest.mark.parametrize(
    ("text", "match"),
    [
        ("Smokes(x) & => Smokes(y)", r"A formula was expected.*there is '=>':\n    Smokes\(x\) & => .*\n {16}\^"),
        ("Smokes(x", r"',' or '\)' was expected, but the text ends:\n.*\n {12}\^"),
        ("Smokes(x) Smokes(y)", "could end here"),
        ("(Smokes(x) | Smokes(y)", r"'\)' was expected"),
        ("Smokes => Smokes(y)", r"'\(' was expected after a predicate"),
        ("Smokes(x) $ 2", "'\\$' has no meaning"),
        ("Topic('x) = AI", "quotation has no end"),
        ("forall X: Smokes(X)", "begins with a lower-case letter, not 'X'"),
        ("forall x Smokes(x)", "':' was expected"),
        ("Topic(p) = ", "A state of Topic was expected"),
        ("x = ", "A variable or a constant was expected"),
        ("", "the text ends"),
        (3, "A formula is text"),
    ],
)
def test_what_is_no_formula_is_told_with_its_place(text, match):
    """A caret stands below where reading stopped."""
    refuses(pb.errors.InvalidArgument, match, pb.Formula, text)


@pytest.mark.parametrize("weight", [math.nan, "1", None, True])
def test_weights_are_numbers(weight):
    """Infinite ones too."""
    refuses(pb.errors.InvalidArgument, "must be a number", pb.Formula, "A(x)", weight)


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("Smoke(x)", pb.errors.UnknownVariable, r"'Smoke' in Smoke\(x\) is no predicate. Did you mean 'Smokes'"),
        ("Friends(x)", pb.errors.InvalidModel, r"has 1 argument; Friends\(person, person\) takes 2"),
        ("Smokes(x) & Topic(x) = AI", pb.errors.InvalidModel, r"a person in Smokes\(x\) and a paper in Topic\(x\)"),
        ("Smokes(x) & Topic(p) = AI & x = p", pb.errors.InvalidModel, "'x' is a person in .* a paper in x = p"),
        ("Smokes(x) & y = z", pb.errors.InvalidModel, "Nothing tells the type of 'y'"),
        ("forall y: Smokes(x)", pb.errors.InvalidModel, "'y' stands behind a quantifier"),
        ("Topic(p)", pb.errors.InvalidModel, r"one of AI, DB: write Topic\(p\) = "),
        ("Topic(p) = IA", pb.errors.UnknownState, "Known: 'AI', 'DB'"),
        ("Topic(p) = Smokes(x)", pb.errors.InvalidModel, "no state in common"),
    ],
)
def test_what_predicates_do_not_allow_is_told(text, error, match):
    """Names, numbers of arguments, types and states, when the model is made."""
    refuses(error, match, pb.RelationalMarkovNetwork, [text], SMOKERS)


def test_variables_of_two_quantifiers_are_two_though_they_have_one_name():
    """Each has a type of its own."""
    model = pb.RelationalMarkovNetwork(["(exists x: Smokes(x)) & (exists x: Topic(x) = AI)"], SMOKERS)
    world = {"Smokes": ["ann"], "Topic": {"p1": "AI"}}
    counts = model.count({"person": ["ann"], "paper": ["p1"]}, world, closed=["Smokes", "Friends"])
    assert list(counts.values()) == [1]


def test_names_of_constants_are_constants():
    """In quotes, with a capital, and in lower case where the type has one of that name and it is no short name."""
    people = {"person": ["ann", "Bob", "x"], "paper": ["p1"]}
    world = {"Smokes": ["ann"], "Friends": [("ann", "Bob")], "Topic": {"p1": "AI"}}
    for text, count in {"Friends(ann, y)": 1, "Friends('ann', Bob)": 1, "Friends(y, Bob) & y != ann": 0}.items():
        model = pb.RelationalMarkovNetwork([text], SMOKERS)
        assert model.count(people, world, closed=["Smokes", "Friends"])[str(pb.Formula(text))] == count
    model = pb.RelationalMarkovNetwork(["Smokes(x)"], SMOKERS)
    refuses(pb.errors.InvalidModel, "may be a variable or the person of that name", model.ground, people)
    model = pb.RelationalMarkovNetwork(["Smokes(Bobb)"], SMOKERS)
    refuses(pb.errors.InvalidModel, "'Bobb' in Smokes\\(Bobb\\) is no person. Did you mean 'Bob'", model.ground, people)


def test_models_are_values():
    """Equal by content, edited by making new ones."""
    model = pb.RelationalMarkovNetwork([pb.Formula("Smokes(x)", 1.0, name="rate")], SMOKERS)
    assert model == pb.RelationalMarkovNetwork([pb.Formula("Smokes(x)", 1.0, name="rate")], SMOKERS)
    assert hash(model) == hash(model.with_weights({}))
    assert pickle.loads(pickle.dumps(model)) == model
    assert model.with_weights({"rate": 2.0}).weights == {"rate": 2.0}
    assert str(model).splitlines()[0] == "Smokes(person); Friends(person, person); Topic(paper) = AI | DB"
    refuses(pb.errors.UnknownVariable, "Did you mean 'rate'", model.with_weights, {"rates": 1.0})
    refuses(pb.errors.InvalidModel, "called 'Smokes\\(x\\)'", pb.RelationalMarkovNetwork, ["Smokes(x)"] * 2, SMOKERS)
    refuses(pb.errors.InvalidModel, "no formulas", pb.RelationalMarkovNetwork, [], SMOKERS)
    refuses(pb.errors.ImmutableValue, "can't be changed", setattr, model, "formulas", ())


@pytest.mark.parametrize(
    ("predicates", "match"),
    [
        ({}, "predicates= tells the types"),
        ({"Smokes": [3]}, "has a list of types"),
        ({"Smokes at": ["person"]}, "is no name of a predicate"),
    ],
)
def test_predicates_that_are_none_are_refused(predicates, match):
    """With how they are written."""
    refuses(pb.errors.InvalidArgument, match, pb.RelationalMarkovNetwork, ["Smokes(x)"], predicates)


def test_models_come_back_from_files(tmp_path):
    """Predicates, states, weights, infinite ones too, and names."""
    formulas = [
        pb.Formula("Smokes(x) & x != 'an na' => Topic(p) = AI", 0.1 + 0.2),
        pb.Formula("Friends(x, x)", -math.inf, name="no friend of oneself"),
    ]
    model = pb.RelationalMarkovNetwork(formulas, {**SMOKERS, "Rain": [], "Size": (["paper"], 3)})
    pb.save(model, tmp_path / "model.json")
    assert pb.load(tmp_path / "model.json") == model
    text = (tmp_path / "model.json").read_text().replace("Smokes(x) &", "Smoke(x) &")
    refuses(pb.errors.FormatError, "Did you mean 'Smokes'", pb.io.parse_json, text)
    refuses(NotSupported, "relational Markov network, which is asked", read_model, str(tmp_path / "model.json"))
