"""Tables of every kind are read alike, and what is wrong in them is told with class, row and column."""

import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pytest

import plausible as pb
from plausible.errors import InvalidArgument, PlausibleWarning, UnknownState, UnknownVariable
from plausible.models.relations.instance import Instance

STUDENT = {"id": ["a", "b"], "wits": ["low", "high"]}
REGISTRATION = {"id": [1, 2, 3], "student": ["a", "a", "b"], "grade": ["A", "B", "A"]}
SCHEMA = pb.Schema(student=STUDENT, registration=REGISTRATION, keys={"registration.student": "student"})
MODEL = pb.RelationalModel(
    SCHEMA,
    [
        pb.TableCPD("student.wits", [0.6, 0.4], states=["low", "high"]),
        pb.TableCPD("registration.grade", [[0.3, 0.7], [0.8, 0.2]], states=["A", "B"],
                    parents=["registration.student.wits"]),
    ],
)  # fmt: skip


def read(**tables):
    return MODEL.read({"student": STUDENT, "registration": REGISTRATION, **tables})


@pytest.mark.parametrize(
    "table",
    [
        {"id": [1, 2], "student": [20, None], "grade": ["A", None]},
        {"id": [1, 2], "student": np.array([20.0, np.nan]), "grade": ["A", None]},
        pd.DataFrame({"id": [1, 2], "student": [20.0, None], "grade": ["A", None]}),
        pd.DataFrame({"id": [1, 2], "student": pd.array([20, None], dtype="Int64"), "grade": ["A", None]}),
        pl.DataFrame({"id": [1, 2], "student": [20, None], "grade": ["A", None]}),
        pa.table({"id": [1, 2], "student": [20, None], "grade": pa.array(["A", None]).dictionary_encode()}),
        [{"id": 1, "student": 20, "grade": "A"}, {"id": 2, "student": None, "grade": None}],
    ],
    ids=["lists", "floats with a gap", "pandas", "pandas with a mask", "polars", "arrow", "rows"],
)
def test_tables_of_all_kinds_say_the_same(table):
    """Whole numbers with gaps are the ids that they equal, also where a library makes floats of them."""
    instance = read(student={"id": [10, 20], "wits": ["low", None]}, registration=table)
    assert instance.references["registration.student"].tolist() == [1, -1]
    assert instance.column("registration.grade").tolist() == [0, -1]
    assert instance.ground_name("registration.grade", 1) == "registration[2].grade"


def test_files_are_tables_too(tmp_path):
    """Tables may be paths of CSV files, for the schema and for questions."""
    pd.DataFrame({"id": [1, 2], "wits": ["low", "high"]}).to_csv(tmp_path / "student.csv", index=False)
    pd.DataFrame({"student": [2, None], "grade": ["A", "B"]}).to_csv(tmp_path / "registration.csv", index=False)
    files = {name: tmp_path / f"{name}.csv" for name in ("student", "registration")}
    schema = pb.Schema(files, keys={"registration.student": "student"})
    assert schema.variable("student.wits").states == ("high", "low")
    instance = MODEL.read(files)
    assert instance.references["registration.student"].tolist() == [1, -1]
    assert instance.column("student.wits").tolist() == [0, 1]


def test_objects_may_be_few_and_unknown():
    """Tables without rows, attributes that are all missing, columns that the schema lacks, ids of several types."""
    empty = read(student={"id": []}, registration={})
    assert MODEL.log_likelihood(empty) == 0.0
    assert list(MODEL.ground(empty).variables) == []
    missing = read(student={"id": ["a", "b"], "wits": [None, None], "name": ["Anna", "Bob"]})
    assert not missing.is_known("student.wits").any()
    assert list(missing.to_frames()["student"]) == ["id", "wits"]
    mixed = read(student={"id": ["a", 1]}, registration={"student": [1, "a"]})
    assert mixed.references["registration.student"].tolist() == [1, 0]
    assert mixed.place("student", "1") == 1


@pytest.mark.parametrize(
    ("tables", "error", "text"),
    [
        ({"registration": {"student": ["a", "x", "y"]}}, InvalidArgument,
         r"'registration\.student' refers to 'x' \(row 1\), but no 'student' has that id \(1 more id of"),
        ({"registration": {"student": ["anna"]}, "student": {"id": ["Anna"]}}, InvalidArgument, "Did you mean 'Anna'"),
        ({"registration": {"student": ["1"]}, "student": {"id": [1]}}, InvalidArgument, "There is 1, of another type"),
        ({"student": {"id": ["a", "b", "a"]}}, InvalidArgument,
         r"Two objects of 'student' have the id 'a' \(rows 0, 2\)"),
        ({"student": {"id": ["a", None]}}, InvalidArgument, "Row 1 of 'student' has no id"),
        ({"student": {"id": [1.0, float("nan")]}}, InvalidArgument, "Row 1 of 'student' has no id"),
        ({"student": {**STUDENT, "wits": ["low", "hgh"]}}, UnknownState, r"Row 1 of column 'student\.wits': 'hgh'"),
        ({"student": {**STUDENT, "wits": ["low"]}}, InvalidArgument, r"'student\.wits' has 1 row, 'student\.id' has 2"),
        ({"registration": {"id": [1, 2], "grade": ["A", "A"]}}, InvalidArgument,
         "'registration' has 2 rows but no column 'student'"),
        ({"studnt": STUDENT}, UnknownVariable, "'studnt' is not a class of this schema. Did you mean 'student'"),
        ({"student": 3}, InvalidArgument, "The table of 'student'"),
    ],
)  # fmt: skip
def test_what_is_wrong_in_tables_is_told_with_its_place(tables, error, text):
    """Dangling keys, ids that stand twice or are missing, strange states, columns and classes that are not there."""
    with pytest.raises(error, match=text):
        read(**tables)


def test_every_class_needs_its_table():
    """A class without objects has a table without rows; what is no mapping of tables is refused."""
    with pytest.raises(InvalidArgument, match=r"lacks the table of 'registration'\. One without objects is"):
        MODEL.read({"student": STUDENT})
    with pytest.raises(InvalidArgument, match="tables= maps each class to its table"):
        MODEL.read([STUDENT])


def test_a_column_that_is_nearly_called_as_a_missing_one_is_told():
    """A slip would make all values unknown; columns of other names are passed over as they are."""
    schema = pb.Schema(order={"id": [1], "returned": ["no"]})
    with pytest.warns(PlausibleWarning, match="no column 'returned', .* but one called 'retruned'"):
        Instance.read(schema, {"order": {"id": [1, 2], "retruned": ["no", "no"], "note": ["", "x"]}})
    Instance.read(schema, {"order": {"id": [1, 2], "note": ["", "x"]}})
