"""The families to learn, and what the data say about them."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.cpds.base import Columns
from plausible.data.sources import open_columns
from plausible.data.statistics import Statistics
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.models import BayesianNetwork
from plausible.variables import Variable

__all__ = ["DataLike", "Families", "FamilyRows", "family_rows", "read_families"]

#: Rows of data, or what was counted in them.
DataLike: TypeAlias = "TableLike | Statistics"

#: The cases of families with at most so many cells are counted; of larger ones, taken row by row.
_MAX_CELLS = 2**18


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """A graph over the variables of some data.

    Attributes
    ----------
    variables
        Name -> variable, in the order of the graph.
    parents
        Name -> the names of its parents, in order.
    statistics
        What answers for counts; a `TableStatistics` where there are rows.
    """

    variables: Mapping[str, Variable]
    parents: Mapping[str, tuple[str, ...]]
    statistics: Statistics

    def parents_of(self, name: str) -> tuple[Variable, ...]:
        """The parents as variables."""
        return tuple(self.variables[parent] for parent in self.parents[name])

    def counts(self, name: str) -> Floats:
        """How often each joint state of the parents (axes first) and the child occurs."""
        counts = np.asarray(self.statistics.counts(name, self.parents[name]), dtype=np.float64)
        _refuse_overflow(counts)
        return counts

    @property
    def table(self) -> Table:
        """The rows; refused where there are only counts."""
        if not isinstance(self.statistics, TableStatistics):
            raise NotSupported("Continuous variables are learned from rows: give a table, not its statistics.")
        return self.statistics.table


def read_families(graph: object, data: DataLike) -> Families:
    """The families of a graph, in its order; a network also says which states its variables have."""
    known = graph.variables if isinstance(graph, BayesianNetwork) else None
    dag = graph.graph if isinstance(graph, BayesianNetwork) else read_dag(graph)
    statistics = data if isinstance(data, Statistics) else TableStatistics(_read(data, known or {}, dag))
    there = statistics.table.variables if isinstance(statistics, TableStatistics) else statistics.variables
    for node in dag.nodes:
        if node not in there:
            raise UnknownVariable.named(node, there, "the data")
        here, wanted = there[str(node)], (known or there)[str(node)]
        if here != wanted:
            raise InvalidArgument(
                f"{node!r} has the states {list(here.states)} in the data, but {list(wanted.states)} in the network. "
                "Read the table with variables=network.variables."
            )
    names = [str(node) for node in dag.nodes]
    parents = {name: tuple(map(str, dag.parents(name))) for name in names}
    if isinstance(graph, BayesianNetwork):
        parents |= {name: cpd.parent_names for name, cpd in graph.cpds.items()}
    return Families({name: there[name] for name in names}, parents, statistics)


def _read(data: TableLike, known: Mapping[str, Variable], dag: DAG) -> Table:
    """The columns that a graph has, and no others."""
    if isinstance(data, Table):
        return Table.read(data, known)
    opened = open_columns(data, known)
    for node in dag.nodes:
        if node not in opened.names:
            raise UnknownVariable.named(
                node,
                map(str, opened.names),
                f"the data. If it is hidden, learn.em learns it: hidden={{{str(node)!r}: 2}}",
            )
    return Table.read(opened.read(name for name in opened.names if name in dag), known)


@dataclass(frozen=True, slots=True, eq=False)
class FamilyRows:
    """The cases of one family, equal ones together where all of its variables have states.

    Attributes
    ----------
    columns
        Name -> positions of states, or numbers.
    weights
        How often each row counts.
    """

    columns: Columns
    weights: Floats


def family_rows(families: Families, name: str) -> FamilyRows:
    """The cases that say something about a variable: complete, without those in which it was set from outside."""
    scope = (*families.parents[name], name)
    if _is_countable(families, scope):
        counts = families.counts(name)
        places = np.nonzero(counts)
        return FamilyRows(dict(zip(scope, places, strict=True)), counts[places])
    table = families.table.select(scope)
    _refuse_missing(table)
    columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
    columns |= dict(zip(table.continuous, table.numbers, strict=True))
    weights = table.row_weights
    _refuse_overflow(weights)
    counting = weights > 0
    if name in table.interventions:
        counting = counting & ~table.interventions[name]
    return FamilyRows({other: column[counting] for other, column in columns.items()}, weights[counting])


def _is_countable(families: Families, scope: Sequence[str]) -> bool:
    """Whether the cases can be had from counts: no number among them, and the cells are not too many or all we have."""
    variables = [families.variables[name] for name in scope]
    if any(variable.is_continuous for variable in variables):
        return False
    is_small = math.prod(variable.num_states for variable in variables) <= _MAX_CELLS
    return is_small or not isinstance(families.statistics, TableStatistics)


def _refuse_overflow(weights: Floats) -> None:
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise InvalidArgument("The weights of the rows add up to more than a float holds. Divide all by the largest.")


def _refuse_missing(table: Table) -> None:
    for name, number in table.missing.items():
        raise InvalidArgument(
            f"{name!r} is missing in {number} of {table.num_rows} rows. learn.parameters and learn.em complete "
            "missing cells; here they have to be filled in, or these rows left out."
        )
