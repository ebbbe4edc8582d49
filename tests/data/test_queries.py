"""`pb.data.read_query`: columns from what a database answers, checked on SQLite."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import pytest

import plausible as pb
from plausible.data import read_query


@pytest.fixture
def database():
    """A database of three students, one of whom nobody knows anything of."""
    with closing(sqlite3.connect(":memory:")) as connection:
        connection.execute("create table student (id integer, name text, age integer, height real)")
        rows = [(1, "anna", 20, 1.5), (2, "bob", None, 2.0), (3, None, None, None)]
        connection.executemany("insert into student values (?, ?, ?, ?)", rows)
        yield connection


def test_columns_are_what_the_database_has(database):
    """Whole numbers, texts and fractions as they are, NULL as None, in the order of the query."""
    assert read_query(database, "select * from student order by id desc") == {
        "id": [3, 2, 1],
        "name": [None, "bob", "anna"],
        "age": [None, None, 20],
        "height": [None, 2.0, 1.5],
    }
    table = pb.Table.read(read_query(database, "select age, height > 1.7 as tall from student"))
    assert (table.num_rows, table.missing) == (3, {"age": 2, "tall": 1})


@pytest.mark.parametrize("row", [sqlite3.Row, lambda cursor, cells: dict(zip(["id", "age"], cells, strict=True))])
def test_rows_of_any_shape_and_open_places_are_read(database, row):
    """A driver may give rows as tuples, as rows of its own or as dictionaries; parameters go to it as they are."""
    database.row_factory = row
    assert read_query(database, "select id, age from student where id < ?", (3,)) == {"id": [1, 2], "age": [20, None]}


def test_an_answer_without_rows_has_its_columns(database):
    """Each of them empty."""
    assert read_query(database, "select id, name from student where id > 3") == {"id": [], "name": []}


@pytest.mark.parametrize(
    ("sql", "told"),
    [
        ("select a.id, b.id from student a, student b", "called 'id'.*id as other"),
        ("delete from student", "answers no rows.*select"),
    ],
)
def test_what_gives_no_columns_is_refused(database, sql, told):
    """By the name that stands twice, or by what a query is."""
    with pytest.raises(pb.errors.InvalidArgument, match=told):
        read_query(database, sql)


def test_what_is_no_connection_is_refused():
    """By its type."""
    with pytest.raises(pb.errors.InvalidArgument, match="A str has no cursor"):
        read_query("students.db", "select 1")
