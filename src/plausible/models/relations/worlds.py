"""What is known of ground atoms, read from frames, lists and mappings."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Codes, Ints
from plausible.base.options import read_names
from plausible.base.records import shortened
from plausible.data.columns import encode_small, frame_columns
from plausible.errors import InvalidArgument, InvalidEvidence, NotSupported, UnknownVariable, suggestion
from plausible.models.relations.vocabulary import Predicate, Universe
from plausible.variables import Variable

#: Ground atoms with their states, or predicates with frames, lists of constants, or {constants: state}.
WorldLike: TypeAlias = Mapping[str, Any]


def read_world(universe: Universe, world: WorldLike | None, closed: Iterable[str] = ()) -> dict[str, Codes]:
    """Predicate -> the state of each atom, -1 where nothing tells it; atoms of closed predicates are then false.

    Those that are told to be missing stay unknown: -2, until all is read.
    """
    read = {name: np.full(shape, -1, dtype=np.int32) for name, shape in universe.shapes.items()}
    if world is not None and not isinstance(world, Mapping):
        raise InvalidArgument(
            'What is known of atoms is a mapping: {"Smokes(anna)": True}, or {"Friends": frame}; '
            f"not {shortened(world)}."
        )
    single: dict[str, dict[tuple[str, ...], Any]] = {}
    for key, value in (world or {}).items():
        if key in universe.predicates and not (isinstance(value, bool) and not universe.predicates[key].types):
            _put(read, universe, key, _columns(universe.predicates[key], value))
        else:
            name, arguments = _split(key, universe)
            single.setdefault(name, {})[arguments] = value
    for name, values in single.items():
        places = [
            [universe.place(one, kind, f"{name}({', '.join(row)})") for one, kind in zip(row, kinds, strict=True)]
            for row in values
            for kinds in [universe.predicates[name].types]
        ]
        table = np.array(places, dtype=np.int64).reshape(len(values), -1).T
        _write(
            read,
            universe,
            name,
            table,
            encode_small(universe.predicates[name].variable, list(values.values()), allow_missing=True),
        )
    for name in read_closed(universe.predicates, closed):
        read[name][read[name] == -1] = 0
    return {name: np.maximum(codes, -1) for name, codes in read.items()}


def read_closed(predicates: Mapping[str, Predicate], names: Iterable[str], option: str = "closed") -> tuple[str, ...]:
    """The predicates that an option names; closed ones are true or false."""
    chosen = read_names(option, names)
    for name in chosen:
        if name not in predicates:
            raise UnknownVariable(f"{option}= names {name!r}, which is no predicate.{suggestion(name, predicates)}")
        if option == "closed" and not predicates[name].is_boolean:
            raise NotSupported(
                f"{predicates[name]} is not true or false, so it can't be closed: give all of its atoms."
            )
    return chosen


def _split(key: Any, universe: Universe) -> tuple[str, tuple[str, ...]]:
    """Predicate and arguments of a ground atom as it is written."""
    name, bracket, rest = str(key).partition("(")
    name = name.strip()
    if name not in universe.predicates:
        raise UnknownVariable(
            f"{str(key)!r} is no predicate, and no atom of one.{suggestion(name, universe.predicates)}"
        )
    predicate = universe.predicates[name]
    inner = rest.rstrip().removesuffix(")")
    arguments = tuple(one.strip().strip("'\"") for one in inner.split(",")) if inner.strip() else ()
    if len(arguments) != len(predicate.types) or bool(bracket) != rest.rstrip().endswith(")"):
        raise InvalidEvidence(f"{str(key)!r} is no atom of {predicate.text}, such as {_sample(predicate, universe)!r}.")
    return name, arguments


def _sample(predicate: Predicate, universe: Universe) -> str:
    return universe.names(np.array([universe.starts[predicate.variable.name]]))[0]


def _columns(predicate: Predicate, table: Any) -> list[Any]:
    """The arguments of atoms, column by column, and their states in a last one, if there is one."""
    arity = len(predicate.types)
    rows: list[Any]
    if isinstance(table, Mapping) and not any(_is_column(value) for value in table.values()):
        rows = [(*(key if isinstance(key, tuple) else (key,)), value) for key, value in table.items()]
    elif isinstance(table, list | tuple | set | frozenset):
        rows = [row if isinstance(row, tuple | list) else (row,) for row in table]
    else:
        columns = list((table if isinstance(table, Mapping) else frame_columns(table)).values())
        if len(columns) not in (arity, arity + 1):
            raise _wrong_width(predicate, "The table", len(columns), "columns")
        return columns
    width = len(rows[0]) if rows else arity
    for row in rows:
        if len(row) != width or width not in (arity, arity + 1):
            raise _wrong_width(predicate, f"{row!r}, one of the atoms", len(row), "parts")
    return [[row[place] for row in rows] for place in range(width)]


def _is_column(value: Any) -> bool:
    return isinstance(value, list | tuple | np.ndarray) or hasattr(value, "to_numpy")


def _wrong_width(predicate: Predicate, what: str, number: int, parts: str) -> InvalidEvidence:
    arity = len(predicate.types)
    wanted = f"{arity}, or {arity + 1} with the state" if predicate.is_boolean else f"{arity + 1}, the last the state"
    return InvalidEvidence(f"{what} of {predicate.text} has {number} {parts}; it takes {wanted}.")


def _put(read: dict[str, Codes], universe: Universe, name: str, columns: list[Any]) -> None:
    """Put the rows of a table in; those without a state are true."""
    predicate, arity = universe.predicates[name], len(universe.predicates[name].types)
    places = [
        encode_small(Variable(f"{kind} of {name}", universe.constants[kind].states), column)
        for kind, column in zip(predicate.types, columns, strict=False)
    ]
    if len(columns) > arity:
        states = encode_small(predicate.variable, columns[arity], allow_missing=True)
    elif not predicate.is_boolean and len(columns[0]):
        raise _wrong_width(predicate, "The table", len(columns), "columns")
    else:
        states = np.ones(len(places[0]) if places else 0, dtype=np.int32)
    if len({len(column) for column in (*places, states)}) > 1:
        raise InvalidEvidence(f"The columns of {predicate.text} have different lengths.")
    _write(read, universe, name, np.array(places, dtype=np.int64).reshape(arity, states.size), states)


def _write(read: dict[str, Codes], universe: Universe, name: str, places: Ints, states: Any) -> None:
    """Put states in; two for one atom are refused."""
    flat = np.zeros(len(states), dtype=np.int64)
    for place, size in zip(places, universe.shapes[name], strict=True):
        flat = flat * size + place
    table, known = read[name].reshape(-1), np.asarray(states) >= 0
    table[flat[~known]] = np.where(table[flat[~known]] < 0, -2, table[flat[~known]])
    flat, given = flat[known], np.asarray(states, dtype=np.int32)[known]
    before = table[flat]
    table[flat] = given
    wrong = (table[flat] != given) | ((before >= 0) & (before != given))
    if wrong.any():
        atom = flat[wrong.argmax()]
        told = sorted({*given[flat == atom].tolist(), *before[flat == atom].tolist()} - {-1, -2})
        one, other = (universe.predicates[name].variable.states[state] for state in told[:2])
        called = universe.names(np.array([atom + universe.starts[name]]))[0]
        raise InvalidEvidence(f"{called!r} is told to be {one} and to be {other}: an atom has one state.")
