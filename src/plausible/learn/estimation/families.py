"""The families to learn, what the data say about them, and what a learner of one of them is."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, Protocol, runtime_checkable

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.cpds import CPD
from plausible.data.sources import open_columns
from plausible.data.statistics import FamilyRows, Request, Statistics
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.family_posterior import Estimate, Unseen
from plausible.learn.estimation.priors import PriorLike, pseudo_counts
from plausible.models import BayesianNetwork
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """A graph over the variables of some data."""

    variables: Mapping[str, Variable]  # in the order of the graph
    parents: Mapping[str, tuple[str, ...]]  # name -> the names of its parents, in order
    statistics: Statistics

    def parents_of(self, name: str) -> tuple[Variable, ...]:
        """The parents as variables."""
        return tuple(self.variables[parent] for parent in self.parents[name])

    def counts_of(self, names: Iterable[str]) -> dict[str, Floats]:
        """Name -> how often each joint state of its parents (axes first) and of it occurs; asked for together."""
        asked = list(names)
        answers = self.statistics.counts_of([Request(name, self.parents[name]) for name in asked])
        tables = [np.asarray(answer[0].counts[0], dtype=np.float64) for answer in answers]
        for table in tables:
            _refuse_overflow(table)
        return dict(zip(asked, tables, strict=True))

    def rows(self, name: str) -> FamilyRows:
        """The cases that say something about a variable: complete, without those in which it was set from outside."""
        rows = self.statistics.rows(name, self.parents[name])
        _refuse_overflow(rows.weights)
        return rows


def read_families(graph: object, data: DataLike, *networks: object) -> Families:
    """The families of a graph, in its order; a network, and others that are given, say which states there are."""
    dag = graph.graph if isinstance(graph, BayesianNetwork) else read_dag(graph)
    stated = [network.variables for network in (*networks, graph) if isinstance(network, BayesianNetwork)]
    known = {name: variable for each in stated for name, variable in each.items() if name in dag}
    if isinstance(data, TableStatistics) and any(data.variables.get(name) != known[name] for name in known):
        data = data.table
    statistics = data if isinstance(data, Statistics) else TableStatistics(_read(data, known, dag))
    there = statistics.variables
    for node in dag.nodes:
        if node not in there:
            raise UnknownVariable.named(node, there, "the data")
        here, wanted = there[str(node)], known.get(str(node), there[str(node)])
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
            where = f"the data. If it is hidden, learn.em learns it: hidden={{{str(node)!r}: 2}}"
            raise UnknownVariable.named(node, map(str, opened.names), where)
    return Table.read(opened.read(name for name in opened.names if name in dag), known)


def _refuse_overflow(weights: Floats) -> None:
    with np.errstate(over="ignore"):
        total = weights.sum()
    if not np.isfinite(total):
        raise InvalidArgument("The weights of the rows add up to more than a float holds. Divide all by the largest.")


@dataclass(frozen=True, slots=True, eq=False)
class FamilyTask:
    """A variable whose distribution is to be learned."""

    families: Families  # the graph and the data
    name: str  # the variable
    prior: PriorLike = None  # what is believed about tables
    start: CPD | None = None  # where iterative learners set out
    estimate: Estimate = "mean"  # which numbers stand for a posterior, for those that have one: trees
    unseen: Unseen = "uniform"  # what becomes of their rows without cases

    @property
    def child(self) -> Variable:
        """The variable itself."""
        return self.families.variables[self.name]

    @property
    def parents(self) -> tuple[Variable, ...]:
        """Its parents, in order."""
        return self.families.parents_of(self.name)

    def rows(self) -> FamilyRows:
        """The cases that say something about it."""
        return self.families.rows(self.name)

    def counts(self) -> Floats:
        """How often each joint state of its parents (axes first) and of it occurs."""
        return self.families.counts_of([self.name])[self.name]

    def pseudo_counts(self) -> Floats:
        """What the prior is worth in each cell of its table."""
        return pseudo_counts(self.prior, self.child, self.parents)


class FamilyFit(NamedTuple):
    """A distribution, and where the data do not tell all of its numbers."""

    cpd: CPD
    #: true where numbers are open: an axis for each discrete parent, or for noisy-or and logistic an entry for each
    unidentified: Flags


@runtime_checkable
class CPDLearner(Protocol):
    """What learns one kind of distribution."""

    def fit(self, task: FamilyTask) -> FamilyFit:
        """The distribution of a variable given its parents."""
