"""Relational models of tables in databases: DuckDB relations, and columns that SQLite answers."""

from __future__ import annotations

import sqlite3
from contextlib import closing

import duckdb
import numpy as np
import pandas as pd
import pytest

import plausible as pb

KEYS = {"registration.student": "student"}
PARENTS = {"registration.grade": [["registration.student.wits"], []]}


def frames():
    """Ids are numbers, more than could be states; some references, values and a whole column are missing."""
    rng = np.random.default_rng(0)
    students = pd.DataFrame({"id": np.arange(100, 150), "wits": rng.choice(["high", "low", None], 50), "hobby": None})
    registrations = pd.DataFrame(
        {
            "id": np.arange(120),
            "student": pd.array(np.where(np.arange(120) % 10, rng.integers(100, 150, 120), -1), dtype="Int64"),
            "grade": rng.choice(["A", "B", "C"], 120),
            "points": rng.integers(0, 3, 120),
        }
    )
    registrations.loc[registrations["student"] == -1, "student"] = pd.NA
    return {"student": students, "registration": registrations}


def of_duckdb(tables):
    """Relations of a database, with the types that it gives the columns."""
    connection = duckdb.connect()
    for name, frame in tables.items():
        connection.register("frame", frame)
        connection.execute(f"create table {name} as select * from frame")
        connection.unregister("frame")
    return {name: connection.table(name) for name in tables}


def of_sqlite(tables):
    """Columns that queries answer."""
    with closing(sqlite3.connect(":memory:")) as connection:
        for name, frame in tables.items():
            frame.to_sql(name, connection, index=False)
        return {name: pb.data.read_query(connection, f"select * from {name}") for name in tables}


@pytest.mark.parametrize("database", [of_duckdb, of_sqlite])
def test_tables_of_a_database_are_those_in_memory(database):
    """The schema, the model learned from them, its likelihood and all answers are those of the same frames."""
    tables = frames()
    stored = database(tables)
    schema = pb.Schema(tables, keys=KEYS)
    assert pb.Schema(stored, keys=KEYS) == schema
    fit = pb.learn.relational(schema, tables, PARENTS, prior=pb.BDeu(1))
    again = pb.learn.relational(pb.Schema(stored, keys=KEYS), stored, PARENTS, prior=pb.BDeu(1))
    assert again.log_likelihood == pytest.approx(fit.log_likelihood, rel=1e-12)
    model = fit.model
    beliefs = model.predict_proba(stored, "student.wits")
    np.testing.assert_allclose(beliefs, model.predict_proba(tables, "student.wits"), rtol=1e-12)
    assert beliefs.index.tolist() == list(range(100, 150))
    one = model.query("student[107].wits", tables=stored)
    np.testing.assert_allclose(one.values, beliefs.loc[107], rtol=1e-9)
