"""Files in TOML that say which tables there are, and how they refer to one another."""

from __future__ import annotations

import tomllib
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from plausible.data.streams import Stream
from plausible.errors import FormatError, InvalidModel, MissingFile, UnknownVariable, suggestion
from plausible.io.files import PathLike
from plausible.models.relations.schema import Schema

#: What `variables` has for columns of numbers, which TOML has no word for.
_NUMBERS = "numbers"


def _is_text(value: Any) -> bool:
    return isinstance(value, str)


def _is_texts(value: Any) -> bool:
    return isinstance(value, str) or (isinstance(value, list) and all(map(_is_text, value)))


def _is_parents(value: Any) -> bool:
    return _is_texts(value) or (isinstance(value, list) and all(isinstance(one, list) for one in value))


def _are_states(value: Any) -> bool:
    return isinstance(value, list) or type(value) is int


#: Section -> which values its names may have, and what these are called.
_SECTIONS: Mapping[str, tuple[Callable[[Any], bool], str]] = {
    "tables": (_is_texts, 'a file, such as student = "students.csv", or a list of files'),
    "keys": (_is_text, 'a class, such as "registration.student" = "student"'),
    "variables": (
        lambda value: value == _NUMBERS or _are_states(value),
        f'a list of states, how many there are, or "{_NUMBERS}"',
    ),
    "parents": (_is_parents, "a list of parents, or a list of such lists"),
    "hidden": (_are_states, "a list of states, or how many there are"),
    "inverse": (_is_text, 'a name, such as "registration.student" = "courses"'),
}
#: What stands by itself, above all sections: lists of texts.
_LISTS = ("inputs", "acyclic", "existence", "missing_values")


@dataclass(frozen=True, eq=False)
class SchemaFile:
    """What a file says of tables that refer to one another; made by `load_schema`."""

    tables: Mapping[str, Any]  # Class -> where its table is read from
    parents: Mapping[str, Any] | None  # As `learn.relational` takes them; `None` where they are to be searched for
    hidden: Mapping[str, Any]  # "class.attribute" -> its states, of attributes that no table has
    inputs: tuple[str, ...]  # Attributes that get no distribution
    _path: Path = field(repr=False)
    _options: Mapping[str, Any] = field(repr=False)  # Of the schema

    @cached_property
    def schema(self) -> Schema:
        """The classes, attributes and references, for which the tables are read."""
        try:
            return Schema(self.tables, **self._options)
        except (InvalidModel, UnknownVariable) as error:
            raise FormatError(str(error), file=str(self._path)) from None


def load_schema(path: PathLike) -> SchemaFile:
    """The tables, keys and dependencies that a file in TOML tells.

    It has the sections `[tables]` (class = file, or a list of files, relative to this one), `[keys]`, `[variables]` and
    `[inverse]`, as of `Schema`, and `[parents]` and `[hidden]`, as of `learn.relational`; above them may stand the
    lists `acyclic`, `existence`, `inputs` and `missing_values` (what means missing in the files besides empty cells).
    A column of numbers is "numbers" in `[variables]`.

    Examples
    --------
    >>> from pathlib import Path
    >>> from tempfile import TemporaryDirectory
    >>> import plausible as pb
    >>> with TemporaryDirectory() as folder:
    ...     _ = Path(folder, "students.csv").write_text("id,wits\\nanna,high\\nbob,low\\n")
    ...     _ = Path(folder, "registrations.csv").write_text("student,grade\\nanna,A\\nbob,A\\nbob,B\\n")
    ...     file = Path(folder, "schema.toml")
    ...     _ = file.write_text('''
    ... [tables]
    ... student = "students.csv"
    ... registration = "registrations.csv"
    ... [keys]
    ... "registration.student" = "student"
    ... [parents]
    ... "registration.grade" = ["registration.student.wits"]
    ... ''')
    ...     told = pb.io.load_schema(file)
    ...     print(pb.learn.relational(told.schema, told.tables, told.parents, hidden=told.hidden, inputs=told.inputs))
    <RelationalModel: 2 classes, 2 attributes, 3 parameters>, log-likelihood -2.77259
    student.wits <- nothing
    registration.grade <- registration.student.wits
    """
    path = Path(path)
    if not path.is_file():
        raise MissingFile.at(path, (".toml",))
    try:
        told = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except ValueError as error:  # of TOML, or of UTF-8
        raise FormatError(f"This is no TOML: {error}.", file=str(path)) from None
    for name in told:
        if name not in (*_SECTIONS, *_LISTS):
            known = [*_SECTIONS, *_LISTS]
            raise FormatError(f"{name!r} is nothing that a schema has.{suggestion(name, known)}", file=str(path))
    sections = {name: _section(told, name, path) for name in _SECTIONS}
    lists = {name: _list(told, name, path) for name in _LISTS}
    if not sections["tables"]:
        raise FormatError('The section [tables] is missing, as in: student = "students.csv".', file=str(path))
    variables = {name: None if states == _NUMBERS else states for name, states in sections["variables"].items()}
    marked = lists["missing_values"]
    tables = {name: _table(files, path.parent, marked) for name, files in sections["tables"].items()}
    options = {
        "variables": variables,
        **{name: sections[name] for name in ("keys", "inverse")},
        **{name: lists[name] for name in ("acyclic", "existence")},
    }
    parents = sections["parents"] if "parents" in told else None
    return SchemaFile(tables, parents, sections["hidden"], lists["inputs"], path, options)


def _section(told: Mapping[str, Any], name: str, path: Path) -> dict[str, Any]:
    """Name -> value of a section; registration.student = "student" without quotes means the same as with them."""
    given = told.get(name, {})
    if not isinstance(given, dict):
        raise FormatError(f"{name!r} is a section: write [{name}] above its lines.", file=str(path))
    is_right, expected = _SECTIONS[name]
    values = _flat(given)
    for key, value in values.items():
        if key in _LISTS:
            raise FormatError(f"{key!r} stands in [{name}]: write it above all sections.", file=str(path))
        if not is_right(value):
            raise FormatError(f"{key!r} in [{name}] is {value!r}; expected {expected}.", file=str(path))
    return values


def _flat(given: Mapping[str, Any], before: str = "") -> dict[str, Any]:
    values: dict[str, Any] = {}
    for key, value in given.items():
        values |= _flat(value, f"{before}{key}.") if isinstance(value, dict) else {f"{before}{key}": value}
    return values


def _list(told: Mapping[str, Any], name: str, path: Path) -> tuple[str, ...]:
    value = told.get(name, [])
    if not _is_texts(value):
        raise FormatError(f"{name!r} is {value!r}; expected a list of texts.", file=str(path))
    return (value,) if isinstance(value, str) else tuple(value)


def _table(files: str | list[str], folder: Path, missing_values: tuple[str, ...]) -> Any:
    """Where a table is read from: paths relative to the folder, with what means missing there."""
    source = str(folder / files) if isinstance(files, str) else [str(folder / file) for file in files]
    return Stream(source, missing_values=missing_values) if missing_values else source
