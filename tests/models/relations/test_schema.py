"""Schemas and texts of parents: what they mean, and how errors help."""

import numpy as np
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, InvalidModel, InvalidVariable, UnknownState, UnknownVariable
from plausible.models.relations.terms import read_term

STUDENT = {"id": ["a", "b"], "wits": ["low", "high"]}
GRADES = ["A", "fair, so to say", "very good"]
REGISTRATION = {"id": [1, 2, 3], "student": ["a", "a", "a"], "grade": GRADES, "score": [1.5, 2.25, 4.125]}
TABLES = {"student": STUDENT, "registration": REGISTRATION}
KEYS = {"registration.student": "student"}
SCHEMA = pb.Schema(TABLES, keys=KEYS)


@pytest.mark.parametrize(
    ("options", "error", "text"),
    [
        ({"keys": {"registration.studnt": "student"}}, UnknownVariable,
         "'registration' has a column 'studnt', which its table lacks. Did you mean 'student'"),
        ({"keys": {"registration.student": "studen"}}, InvalidModel, "'studen' is not a class.*Did you mean 'student'"),
        ({"keys": {"student": "student"}}, InvalidModel, "'student' is no slot of a class"),
        ({"keys": {"student.id": "student"}}, InvalidModel, "which says nothing: leave it out"),
        ({"keys": KEYS, "acyclic": ["registration.studnt"]}, UnknownVariable, r"Did you mean 'registration\.student'"),
        ({"keys": KEYS, "inverse": {"registration.studnt": "x"}}, UnknownVariable,
         r"Did you mean 'registration\.student'"),
        ({"keys": KEYS, "variables": {"studnt.x": 2}}, UnknownVariable, "'studnt' is not a class.*mean 'student'"),
        ({"keys": KEYS, "variables": {"registration.student": 2}}, InvalidModel, r"'registration\.student' is a key"),
        ({"keys": KEYS, "variables": {"x": 2}}, InvalidArgument, "named with its class"),
        ({"variables": {"student.wits": "low high"}}, InvalidVariable, "a list in a fixed order"),
    ],
)  # fmt: skip
def test_schemas_refuse_by_name_what_they_do_not_know(options, error, text):
    """Keys, slots and attributes with typos get close matches."""
    with pytest.raises(error, match=text):
        pb.Schema(TABLES, **options)


def test_names_can_be_told_apart_in_longer_ones():
    """Names of classes and columns have no signs that separate the parts of names; a schema has a class."""
    with pytest.raises(InvalidModel, match=r"A class is named by .* not 'my student'. Rename it"):
        pb.Schema({"my student": STUDENT})
    with pytest.raises(InvalidModel, match=r"A column of 'student' is named by .* not 'first\.name'"):
        pb.Schema(student={"id": [1], "first.name": ["x"]})
    with pytest.raises(InvalidModel, match="needs the table of a class"):
        pb.Schema()
    assert list(pb.Schema(student={"id": ["a"], "wits": [None]}).variables) == []


def test_what_objects_also_are_is_no_circle():
    """Slots called "id" lead from a class to what its objects also are; a circle of them is refused, by names."""
    three = {"a": {"id": [1]}, "b": {"id": [1]}, "c": {"id": [1]}}
    with pytest.raises(InvalidModel, match="in a circle which objects are also others: 'a' -> 'b' -> 'a'"):
        pb.Schema(three, keys={"a.id": "b", "b.id": "a"})
    with pytest.raises(InvalidModel, match="'b' -> 'c' -> 'b'"):
        pb.Schema(three, keys={"a.id": "b", "b.id": "c", "c.id": "b"})
    assert pb.Schema(three, keys={"a.id": "b", "b.id": "c"}).references == {"a.id": "b", "b.id": "c"}


@pytest.mark.parametrize(
    ("text", "error", "match"),
    [
        ("mode(student.registraton.grade)", UnknownVariable,
         "'student' has no slot 'registraton'. Did you mean 'registration'"),
        ("mode(student.registration.grad)", UnknownVariable, "no attribute or slot 'grad'. Did you mean 'grade'"),
        ("mod(student.registration.grade)", InvalidArgument, "no aggregate 'mod'. Did you mean 'mode'"),
        ("mode(student.registration.grade", InvalidArgument, "look at its parentheses"),
        ("mode()", InvalidArgument, "this one is empty"),
        ("teacher.wits", UnknownVariable, "'teacher' is not a class"),
        ("student", InvalidArgument, r"'student' names a class: an attribute of it is 'student\.attribute'"),
        ("student.registration.grade", InvalidModel, r"leads to many objects.*mode\(student\.registration\.grade\)"),
        ("value(student.registration.grade)", InvalidModel, "have no one value"),
        ("mode(student.registration)", InvalidModel, "add which of their attributes"),
        ("count(student.registration = A)", InvalidModel, "add which of their attributes"),
        ("count(student.registration.grade = F)", UnknownState, "'F' is not a state"),
        ("count(student.registration.score = 1.5)", InvalidModel, r"'registration\.score' is a number"),
        ("count(student.registration, cap=0)", InvalidArgument, "cap= is a whole number from 1 on"),
        ("mode(student.registration.grade, ties=up)", InvalidArgument, "ties= is 'lower' or 'upper'"),
        ("mode(student.registration.grade, emty=A)", InvalidArgument, "'emty=A' is no option. Did you mean 'empty'"),
        ("mode(student.registration.grade = A)", InvalidArgument, "only count"),
        ("exists(student.registration.grade = fair, so to say)", InvalidArgument, "with a comma stands in quotes"),
    ],
)  # fmt: skip
def test_parents_that_cannot_be_are_told(text, error, match):
    """Each error shows the text, and what would do."""
    with pytest.raises(error, match=match):
        read_term(text, SCHEMA)


@pytest.mark.parametrize(
    ("inside", "states"),
    [
        (" = A", ("A",)),
        ("=very good", ("very good",)),
        (" in A | very good", ("A", "very good")),
        (" = 'fair, so to say'", ("fair, so to say",)),
        (' = "fair, so to say", cap=1', ("fair, so to say",)),
        (" in A | 'fair, so to say' | very good, cap=1", ("A", "fair, so to say", "very good")),
    ],
)
def test_states_with_blanks_and_commas_are_looked_for(inside, states):
    """Blanks are part of a state; one with commas stands in quotes."""
    term = read_term(f"count(student.registration.grade{inside})", SCHEMA)
    assert term.of == states
    assert term.cap == (1 if "cap" in inside else 5)


def test_counts_of_such_states_are_right():
    """The aggregate over a state with a comma is that over the objects that have it."""
    text = "exists(student.registration.grade in 'fair, so to say' | A)"
    empty = "mode(student.registration.grade, empty='none, as yet')"
    assert read_term(empty, SCHEMA).variable(SCHEMA).states == (*GRADES, "none, as yet")
    model = pb.RelationalModel(
        SCHEMA,
        [
            pb.TableCPD("registration.grade", [0.2, 0.3, 0.5], states=GRADES),
            pb.TableCPD("student.glad", [[0.9, 0.1], [0.2, 0.8]], parents=[text], states=["no", "yes"]),
        ],
    )
    tables = {"student": {"id": ["a", "b"]}, "registration": {"id": [1, 2], "student": ["a", "a"]}}
    any_of_two = 1 - 0.5**2
    np.testing.assert_allclose(
        model.query("student[a].glad", tables=tables).values[1], 0.8 * any_of_two + 0.1 * (1 - any_of_two)
    )
    np.testing.assert_allclose(model.query("student[b].glad", tables=tables).values[1], 0.1)
    assert pb.RelationalModel.from_record(model.to_record()) == model


@pytest.mark.parametrize(("function", "value"), [("mean", 2.625), ("median", 2.25), ("max", 4.125), ("min", 1.5)])
def test_numbers_are_aggregated(function, value):
    """Mean, median and extremes of numbers are numbers; other aggregates are refused by name."""
    text = f"{function}(student.registration.score)"
    cpd = pb.LinearGaussianCPD("student.mark", parents=[text], coefficients={text: 2.0}, variance=1.0)
    tables = {**TABLES, "student": {"id": ["a"], "mark": [2 * value]}}
    model = pb.RelationalModel(SCHEMA, [cpd])
    assert model.log_likelihood(tables) == pytest.approx(-0.5 * np.log(2 * np.pi))
    none = pb.LinearGaussianCPD(
        "student.mark", parents=["mode(student.registration.score)"], coefficients=[2.0], variance=1.0
    )
    with pytest.raises(InvalidModel, match=r"numbers have no mode\. Take mean, median, max or min"):
        pb.RelationalModel(SCHEMA, [none]).log_likelihood(tables)


def test_a_parent_that_is_nowhere_needs_a_state_or_another_distribution():
    """The error names the object, the chain, and both remedies."""
    cpd = pb.TableCPD("student.glad", np.full((3, 2), 0.5), parents=["mode(student.registration.grade)"])
    model = pb.RelationalModel(SCHEMA, [pb.TableCPD("registration.grade", [0.2, 0.3, 0.5], states=GRADES), cpd])
    with pytest.raises(InvalidModel, match=r"'student\[b\]\.glad': 'mode\(.*' leads nowhere there.*empty=none"):
        model.ground(TABLES)


def test_distributions_of_one_attribute_have_the_same_states():
    """Another order would make one state of another: it is refused."""
    up = pb.TableCPD("registration.grade", [0.2, 0.3, 0.5], states=GRADES)
    down = pb.TableCPD("registration.grade", np.full((2, 3), 1 / 3), parents=["registration.student.wits"],
                       states=GRADES[::-1])  # fmt: skip
    with pytest.raises(InvalidModel, match=r"'registration\.grade' have the same states in the same order"):
        pb.RelationalModel(SCHEMA, [up, down])
    with pytest.raises(InvalidModel, match="told from the same object, so their chains begin with 'registration'"):
        pb.RelationalModel(SCHEMA, [pb.TableCPD("registration.grade", np.full((2, 3), 1 / 3), states=GRADES,
                                                parents=["student.wits"])])  # fmt: skip
