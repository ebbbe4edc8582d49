"""`pb.io.load_schema`: tables and keys that a file in TOML names."""

from __future__ import annotations

import pytest

import plausible as pb
from plausible.io import load_schema

FILE = """
missing_values = "?"
inputs = ["student.age"]
acyclic = ["student.friend"]
[tables]
student = "rows/students.csv"
registration = ["one.csv", "two.csv"]
[keys]
"registration.student" = "student"
student.friend = "student"
[variables]
"student.age" = "numbers"
"student.wits" = ["low", "high"]
[parents]
"registration.grade" = [["registration.student.wits"], []]
[hidden]
"student.honours" = 2
[inverse]
"registration.student" = "courses"
"""


@pytest.fixture
def folder(tmp_path):
    (tmp_path / "rows").mkdir()
    (tmp_path / "rows/students.csv").write_text("id,friend,wits,age\n1,2,high,20\n2,,?,30\n3,1,high,?\n")
    (tmp_path / "one.csv").write_text("student,grade\n1,A\n")
    (tmp_path / "two.csv").write_text("student,grade\n2,B\n2,A\n")
    return tmp_path


def test_a_file_says_what_a_schema_and_learning_take(folder):
    """Each section is an argument of `Schema` or `learn.relational`; paths begin where the file is."""
    file = folder / "schema.toml"
    file.write_text(FILE)
    told = load_schema(file)
    expected = pb.Schema(
        student={"id": [1, 2, 3], "friend": [2, None, 1], "wits": ["high", None, "high"], "age": [20, 30, None]},
        registration={"student": [1, 2, 2], "grade": ["A", "B", "A"]},
        keys={"registration.student": "student", "student.friend": "student"},
        variables={"student.age": None, "student.wits": ["low", "high"]},
        inverse={"registration.student": "courses"},
        acyclic=["student.friend"],
    )
    assert told.schema == expected
    assert told.parents == {"registration.grade": [["registration.student.wits"], []]}
    assert (told.hidden, told.inputs) == ({"student.honours": 2}, ("student.age",))
    instance = pb.RelationalModel(told.schema, []).read(told.tables)
    assert instance.references["registration.student"].tolist() == [0, 1, 1]
    assert instance.is_known("student.wits").tolist() == [True, False, True]
    assert instance.is_known("student.age").tolist() == [True, True, False]


@pytest.mark.parametrize(
    ("text", "told"),
    [
        ("[tables]\na = 'a.csv'\n[key]\n", "'key' is nothing that a schema has. Did you mean 'keys'"),
        ("[keys]\n'a.b' = 'a'\n", r"section \[tables\] is missing"),
        ("tables = 'a.csv'\n", r"write \[tables\] above"),
        ("[tables]\na = 1\n", r"'a' in \[tables\] is 1; expected a file"),
        ("[tables]\na = 'a.csv'\n[variables]\n'a.b' = true\n", "is True; expected a list of states"),
        ("[tables]\na = 'a.csv'\n[hidden]\n'a.b' = 'numbers'\n", "expected a list of states"),
        ("[tables]\na = 'a.csv'\n[parents]\n'a.b' = [['a.c'], 'a.d']\n", "list of such lists"),
        ("[tables]\na = 'a.csv'\ninputs = ['a.b']\n", r"'inputs' stands in \[tables\]: write it above"),
        ("acyclic = 3\n[tables]\na = 'a.csv'\n", "'acyclic' is 3; expected a list of texts"),
        ("[tables\n", "no TOML: .*line 1"),
    ],
)
def test_what_a_file_says_wrongly_is_told_with_its_name(tmp_path, text, told):
    """The file, the place in it, and what it may have meant."""
    file = tmp_path / "schema.toml"
    file.write_text(text)
    with pytest.raises(pb.errors.FormatError, match=f"schema.toml: .*{told}"):
        load_schema(file)


def test_keys_that_lead_nowhere_are_told_with_the_name_of_the_file(folder):
    """As a schema tells them."""
    file = folder / "schema.toml"
    file.write_text("[tables]\nstudent = 'rows/students.csv'\n[keys]\n'student.frend' = 'student'\n")
    with pytest.raises(pb.errors.FormatError, match=r"schema.toml: .* 'frend'.*Did you mean 'friend'"):
        _ = load_schema(file).schema
    with pytest.raises(FileNotFoundError, match=r"Did you mean 'schema\.toml'"):
        load_schema(folder / "schemas.toml")


def test_states_in_files_are_those_of_the_schema(tmp_path):
    """A column that happens to hold digits alone still has the texts that are its states."""
    schema = pb.Schema(student={"id": ["anna"], "grade": ["1"]}, variables={"student.grade": ["1", "2", "A"]})
    file = tmp_path / "students.csv"
    file.write_text("id,grade\nbob,2\ncleo,1\n")
    instance = pb.RelationalModel(schema, []).read({"student": file})
    assert instance.column("student.grade").tolist() == [1, 0]
