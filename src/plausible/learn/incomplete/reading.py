"""Reading what EM is given: incomplete rows over the variables of a graph, in memory or in pieces."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base import Argument
from plausible.data import Statistics, Stream, Table
from plausible.data.columns import has_values
from plausible.data.source_parts import is_in_pieces
from plausible.data.sources import open_columns
from plausible.data.stream_statistics import PartitionedStatistics, StreamStatistics, as_stream, large_stream
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
from plausible.learn.incomplete.cases import Cases, IncompleteRows
from plausible.learn.incomplete.cases_in_pieces import CasesInPieces
from plausible.models import BayesianNetwork
from plausible.variables import Variable

_NOTHING_KNOWN: Mapping[str, Variable] = MappingProxyType({})


def read_rows(
    variables: Mapping[str, Variable],
    data: DataLike | Cases,
    unseen: Iterable[str] = (),
) -> IncompleteRows:
    """The rows over some variables, those without a column hidden; in pieces where a table would be too large.

    Refuses values of those that are said to be unseen.
    """
    rows: Any = data
    if not isinstance(data, Cases):
        pieces = statistics_in_pieces(data, variables, variables)
        if pieces is not None:
            refuse_seen(unseen, pieces)
            return CasesInPieces.of(variables, pieces)
        if isinstance(data, Statistics):
            rows = data.with_variables(variables).table
        elif isinstance(data, Stream) or is_in_pieces(data):
            rows = _table_of_stream(as_stream(data), variables, variables)
        elif not isinstance(data, Table):
            rows = open_columns(data, variables).read(variables)
    refuse_seen(unseen, rows)
    return Cases.of(variables, rows, has_numbers=True)


def statistics_in_pieces(
    data: DataLike, names: Iterable[str] | None, known: Mapping[str, Variable]
) -> PartitionedStatistics | None:
    """Statistics of rows in pieces, with columns of these names, by states that are known; `None` for other data."""
    if isinstance(data, Statistics) and isinstance(data.by_rows, PartitionedStatistics):
        return data.by_rows.with_variables(known)
    stream = large_stream(data)
    if stream is None:
        return None
    chosen = set(stream.names if names is None else names)
    columns = [name for name in stream.names if name in chosen]
    return StreamStatistics(stream.read_with(variables={**stream.given, **known}, columns=columns))


def _table_of_stream(stream: Stream, names: Iterable[str], known: Mapping[str, Variable]) -> Table:
    """Rows in pieces that fit in memory, a byte a cell: the columns of these names, by states that are known."""
    chosen = set(names)
    columns = [name for name in stream.names if name in chosen]
    return Table.read(stream.read_with(variables={**stream.given, **known}, columns=columns))


def rows_of_graph(
    network: BayesianNetwork | None,
    nodes: Sequence[str],
    data: DataLike | Cases,
    unseen: Mapping[str, Variable],
    named: Mapping[str, Variable],
) -> IncompleteRows:
    """The cells of the nodes, and no others; columns of hidden variables, which hold nothing, are read as these."""
    for name in unseen:
        if name not in nodes:
            message = (f"{name!r} is not a variable of the graph, though ", Argument("hidden"), " has it.")
            raise UnknownVariable(*message, suggestion(name, nodes))
    if network is not None:
        known = dict(network.variables)
        for name, variable in unseen.items():  # states without names only have a number
            own, wanted = known[name].states, variable.states
            if own != wanted and (len(own) != len(wanted) or wanted != Variable(name, len(wanted)).states):
                raise InvalidArgument(
                    f"hidden= gives {name!r} the states {list(wanted)}, the network has {list(own)}. Leave it out of "
                    "hidden=, or give the graph alone: network.graph."
                )
        return read_rows(known, data, unseen)
    if isinstance(data, Cases):
        raise InvalidArgument("Cases are of the variables of a network: give that, and not its graph alone.")
    known = {name: named[name] for name in nodes if name in named and name not in unseen}
    given = {**known, **unseen}
    pieces = statistics_in_pieces(data, nodes, given)
    if pieces is not None:
        _refuse_unknown(nodes, [*pieces.variables, *unseen])
        return read_rows({node: given.get(node) or pieces.variables[node] for node in nodes}, pieces, unseen)
    opened: Any = data.with_variables(known).table if isinstance(data, Statistics) else data
    if isinstance(data, Stream) or is_in_pieces(data):
        stream = as_stream(data)
        _refuse_unknown(nodes, [*stream.names, *unseen])
        opened = _table_of_stream(stream, nodes, given)
    opened = opened if isinstance(opened, Table) else open_columns(opened, known)
    _refuse_unknown(nodes, [*(opened.variables if isinstance(opened, Table) else opened.names), *unseen])
    used = opened if isinstance(opened, Table) else opened.read(nodes)
    refuse_seen(unseen, used)
    table = used if isinstance(used, Table) else Table.read(used, [given[name] for name in given if name in used])
    variables = {**table.variables, **given}
    return Cases.of({node: variables[node] for node in nodes}, table, has_numbers=True)


def _refuse_unknown(nodes: Sequence[str], columns: Iterable[Any]) -> None:
    there = list(dict.fromkeys(map(str, columns)))
    for node in nodes:
        if node not in there:
            problem = f"the data. If it is hidden, say how many states it has: hidden={{{node!r}: 2}}"
            raise UnknownVariable.named(node, there, problem)


def refuse_seen(unseen: Iterable[str], rows: Table | Cases | Statistics | Mapping[Any, Any]) -> None:
    """Refuse hidden variables that rows have values of."""
    for name in unseen:
        if isinstance(rows, Cases):
            is_seen = rows.visibility.get(name, "hidden") != "hidden"
        elif isinstance(rows, (Table, Statistics)):
            is_seen = name in rows.variables and rows.missing.get(name, 0) < rows.num_rows
        else:
            is_seen = name in rows and has_values(name, rows[name])
        if is_seen:
            raise InvalidArgument(
                f"{name!r} is in hidden=, but has values in the data. Leave it out of hidden=, and its empty cells are "
                "completed; or drop the column, and it is hidden; or give the hidden variable another name. "
                "Table.read(..., variables=...) names states that no "
                "row has."
            )


def hidden_variables(
    hidden: Mapping[str, int] | Iterable[Variable], known: Mapping[str, Variable] = _NOTHING_KNOWN
) -> dict[str, Variable]:
    """Name -> variable, from numbers of states or a list; those known with so many states are taken as they are.

    >>> hidden_variables({"H": 2})
    {'H': Variable('H', [0, 1])}
    """
    read: dict[str, Variable] = {}
    for name, given in hidden.items() if isinstance(hidden, Mapping) else [(None, each) for each in hidden]:
        if isinstance(given, Variable) and name in (None, given.name):
            read[given.name] = given
            continue
        if name is None or isinstance(given, Variable):
            raise InvalidArgument(
                "hidden= maps names to numbers of states, such as {'H': 3}, or lists variables; "
                f"{given if name is None else {name: given}!r} is neither."
            )
        if isinstance(given, bool) or not isinstance(given, int | np.integer) or given < 1:
            raise InvalidArgument(f"hidden={{{name!r}: {given!r}}} must tell how many states {name!r} has, 1 or more.")
        same = known.get(name)
        read[name] = same if same is not None and same.num_states == given else Variable(name, int(given))
    return read
