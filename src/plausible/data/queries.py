"""Columns from databases: what a query answers over a connection of any driver."""

from __future__ import annotations

from collections.abc import Mapping
from contextlib import closing
from typing import Any

from plausible.errors import InvalidArgument


def read_query(connection: Any, sql: str, parameters: Any = ()) -> dict[str, list[Any]]:
    """Name -> column of what a query answers, over any connection by the rules of DB-API 2.0 (PEP 249).

    Those are the connections of sqlite3, psycopg, pyodbc, DuckDB and others. The columns are data for all that takes
    a table; NULL is a missing cell.

    Parameters
    ----------
    parameters
        For the places that `sql` leaves open, written as the driver has them, such as `?`.

    Examples
    --------
    >>> import sqlite3
    >>> import plausible as pb
    >>> with sqlite3.connect(":memory:") as connection:
    ...     _ = connection.execute("create table student (id text, wits text)")
    ...     _ = connection.execute("insert into student values ('anna', 'high'), ('bob', null)")
    >>> pb.data.read_query(connection, "select * from student")
    {'id': ['anna', 'bob'], 'wits': ['high', None]}
    """
    if not hasattr(connection, "cursor"):
        raise InvalidArgument(
            f"A {type(connection).__name__} has no cursor(), as the connections of database drivers have."
        )
    with closing(connection.cursor()) as cursor:
        cursor.execute(sql, *([parameters] if parameters else []))
        if cursor.description is None:
            raise InvalidArgument(f"{sql!r} answers no rows. Write a query, such as 'select * from student'.")
        names = [column[0] for column in cursor.description]
        rows = cursor.fetchall()
    for name in names:
        if names.count(name) > 1:
            raise InvalidArgument(f"Two columns of {sql!r} are called {name!r}: rename one, as in {name} as other.")
    # Some drivers can be told to give rows as dictionaries.
    cells = zip(*(row.values() if isinstance(row, Mapping) else row for row in rows), strict=True)
    return dict(zip(names, map(list, cells), strict=True)) if rows else {name: [] for name in names}
