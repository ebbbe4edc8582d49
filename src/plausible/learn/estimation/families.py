"""The families to learn, what is known and what the data say about them, and how well networks explain the data.

Likelihood, entropy and divergence are one identity: LL(θ | D) = Σ_rows log P_θ(row) = -N [H(P_D) + KL(P_D, P_θ)], and
for the parameters of greatest likelihood LL = -N Σ_families H_D(X | U), where P_D is the empirical distribution.
Natural logarithms.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple, Protocol, runtime_checkable

import numpy as np
from numpy.typing import NDArray

from plausible.base import Flags, Floats, Result, record
from plausible.cpds import CPD
from plausible.data import Piece, Stream
from plausible.data.moments import FamilyMoments
from plausible.data.source_parts import is_in_pieces
from plausible.data.sources import open_columns
from plausible.data.statistics import FamilyRows, Request, Statistics
from plausible.data.stream_statistics import PartitionedStatistics, as_stream, read_statistics
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import InvalidArgument, NotSupported, PlausibleWarning, UnknownVariable, counted
from plausible.graphs import DAG
from plausible.graphs.graph_input import read_dag
from plausible.learn.estimation.priors import Estimate, PriorLike, Unseen, pseudo_counts
from plausible.models import BayesianNetwork
from plausible.variables import Variable


@dataclass(frozen=True, slots=True, eq=False)
class Families:
    """A graph over the variables of some data."""

    variables: Mapping[str, Variable]  # in the order of the graph
    parents: Mapping[str, tuple[str, ...]]  # name -> the names of its parents, in order
    statistics: Statistics
    _moments: dict[str, FamilyMoments] = field(default_factory=dict)

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

    def moments(self, name: str) -> FamilyMoments:
        """The moments of the family of a number; those of all numbers are asked for together."""
        if name not in self._moments:
            numbers = [each for each, variable in self.variables.items() if variable.is_continuous]
            answers = self.statistics.moments_of([Request(each, self.parents[each]) for each in numbers])
            self._moments.update(zip(numbers, answers, strict=True))
        return self._moments[name]

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
    if isinstance(data, Statistics):
        statistics = data.with_variables(known)
    elif isinstance(data, Stream) or is_in_pieces(data):
        statistics = read_statistics(_columns_of_graph(as_stream(data), known, dag))
    else:
        statistics = TableStatistics(_read(data, known, dag))
    there = statistics.variables
    UnknownVariable.check_all(dag.nodes, there, "the data")
    names = [str(node) for node in dag.nodes]
    parents = {name: tuple(map(str, dag.parents(name))) for name in names}
    if isinstance(graph, BayesianNetwork):
        parents |= {name: cpd.parent_names for name, cpd in graph.cpds.items()}
    return Families({name: there[name] for name in names}, parents, statistics)


def _columns_of_graph(stream: Stream, known: Mapping[str, Variable], dag: DAG) -> Stream:
    """Rows in pieces, of the columns that a graph has."""
    _refuse_hidden(dag, stream.names)
    return stream.read_with(variables={**stream.given, **known}, columns=[name for name in stream.names if name in dag])


def _refuse_hidden(dag: DAG, names: Iterable[Any]) -> None:
    there = list(names)
    for node in dag.nodes:
        if node not in there:
            where = f"the data. If it is hidden, learn.em learns it: hidden={{{str(node)!r}: 2}}"
            raise UnknownVariable.named(node, map(str, there), where)


def _read(data: TableLike, known: Mapping[str, Variable], dag: DAG) -> Table:
    """The columns that a graph has, and no others."""
    if isinstance(data, Table):
        return Table.read(data, known)
    opened = open_columns(data, known)
    _refuse_hidden(dag, opened.names)
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


@dataclass(frozen=True, slots=True)
class ParameterKnowledge:
    """Knowledge in two of its three strengths; the third, a preference that data can overrule, is a prior.

    Parameters
    ----------
    fixed
        Hard constraints: CPDs that are kept as they are, or a network of them.
    tied
        Groups of variables whose tables are one and the same, learned from the cases of all; states and parents
        correspond by their order.
    start
        CPDs from which iterative learners set out (noisy-or, logistic); where an estimate has a closed form, or its
        likelihood one maximum, the answer does not depend on it. A noisy-or also tells which states are active.

    Examples
    --------
    >>> ParameterKnowledge(tied=[["rain today", "rain tomorrow"]]).owners
    {'rain tomorrow': 'rain today'}
    """

    fixed: Sequence[CPD] | BayesianNetwork = ()
    tied: Sequence[Iterable[str]] = ()
    start: Sequence[CPD] | BayesianNetwork = ()
    fixed_cpds: Mapping[str, CPD] = field(init=False, compare=False)
    start_cpds: Mapping[str, CPD] = field(init=False, compare=False)
    #: Variable -> the one whose table it shares, for all but the first of each group.
    owners: Mapping[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        for name, cpds in (("fixed_cpds", self.fixed), ("start_cpds", self.start)):
            listed = cpds.cpds.values() if isinstance(cpds, BayesianNetwork) else cpds
            for cpd in listed:
                if not isinstance(cpd, CPD):
                    raise InvalidArgument(f"Known parameters are given as CPDs, not as {cpd!r}.")
            object.__setattr__(self, name, {cpd.variable.name: cpd for cpd in listed})
        owners: dict[str, str] = {}
        seen: set[str] = set()
        for group in self.tied:
            if isinstance(group, str):
                raise InvalidArgument(
                    f"tied= is a list of groups of names, such as [['X1', 'X2']]; {group!r} is no group."
                )
            names = list(group)
            if not names:
                raise InvalidArgument("A group of tied= is empty. Leave it out, or name variables: [['X1', 'X2']].")
            for name in names:
                if name in seen:
                    raise InvalidArgument(f"{name!r} is tied twice; join its groups.")
                if name in self.fixed_cpds and len(names) > 1:
                    raise InvalidArgument(f"{name!r} is fixed and tied to others; fix all of its group, or none.")
                seen.add(name)
            owners |= dict.fromkeys(names[1:], names[0])
        object.__setattr__(self, "owners", owners)


def check_knowledge(knowledge: ParameterKnowledge, families: Mapping[str, tuple[str, ...]]) -> None:
    """Refuse knowledge of variables that are not there, and fixed CPDs with other parents than the graph has."""
    UnknownVariable.check_all(
        (*knowledge.fixed_cpds, *knowledge.start_cpds, *knowledge.owners, *knowledge.owners.values()),
        families,
        "this graph, though knowledge= names it",
    )
    for name, cpd in knowledge.fixed_cpds.items():
        if set(cpd.parent_names) != set(families[name]):
            raise InvalidArgument(
                f"The fixed CPD of {name!r} has the parents {list(cpd.parent_names)}, "
                f"but the graph {list(families[name])}."
            )


class UnidentifiedParameters(PlausibleWarning):
    """Some parameters are not determined by the data and the prior; a policy chose them."""


def log_likelihood(network: BayesianNetwork, data: DataLike) -> float:
    """Σ log P(row), or its density, of complete rows, weighted or not; -inf where a row is impossible.

    Where a variable was set from outside, its own distribution does not count.

    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.25, 0.75]))
    >>> round(log_likelihood(coin, {"coin": [1, 1, 0]}), 6)
    -1.961659
    """
    statistics = read_families(network, data).statistics.by_rows
    if isinstance(statistics, PartitionedStatistics):
        return float(sum(statistics.each(partial(_of_piece, network=network))))
    return _of_rows(statistics.table, network)


def _of_piece(piece: Piece, network: BayesianNetwork) -> float:
    return _of_rows(piece.table, network)


def _of_rows(table: Table, network: BayesianNetwork) -> float:
    columns: dict[str, NDArray[Any]] = dict(zip(table.discrete, table.codes.astype(np.intp), strict=True))
    columns |= dict(zip(table.continuous, table.numbers, strict=True))
    weights = table.row_weights
    total = 0.0
    for name, cpd in network.cpds.items():
        counting = weights > 0
        if name in table.interventions:
            counting = counting & ~table.interventions[name]
        logs = np.broadcast_to(cpd.log_probability(columns), counting.shape)
        total += float(weights[counting] @ logs[counting])
    return total


def graph_log_likelihood(graph: object, data: DataLike) -> float:
    """-N Σ H_D(X | U): the greatest log-likelihood that tables on a graph can reach, by entropies of families."""
    families = read_families(graph, data)
    counted_families = families.counts_of(families.parents).values()
    return math.fsum(_entropy_terms(counts.sum(axis=-1)) - _entropy_terms(counts) for counts in counted_families)


def empirical_entropy(data: TableLike, names: Iterable[str] | None = None) -> float:
    """H(P_D), of the joint distribution of some variables, or of all, in the data. O(rows log rows)."""
    table = Table.read(data)
    weights = _distinct(table if names is None else table.select(names))[1]
    total = weights.sum()
    return float(_entropy_terms(weights) / total + np.log(total)) if total else 0.0


def empirical_divergence(network: BayesianNetwork, data: TableLike) -> float:
    """KL(P_D, P_θ) = Σ P_D(row) log P_D(row) / P_θ(row) ≥ 0; infinite where the network rules a row out.

    Its minimum over parameters is at those of greatest likelihood.
    """
    table = read_families(network, data).statistics.table.select(network.variables)
    codes, weights = _distinct(table)
    shares = weights / weights.sum() if weights.sum() else weights
    columns = dict(zip(table.discrete, codes.astype(np.intp), strict=True))
    logs = sum((cpd.log_probability(columns) for cpd in network.cpds.values()), np.zeros(len(weights)))
    return max(float(shares @ (np.log(shares) - logs)), 0.0)


def _distinct(table: Table) -> tuple[NDArray[Any], Floats]:
    """The rows that differ, as columns, and how much each weighs."""
    if table.continuous:
        raise NotSupported(f"{table.continuous[0]!r} is continuous: it has a density, and no empirical entropy.")
    rows, places = np.unique(table.codes, axis=1, return_inverse=True)
    weights = np.bincount(places.ravel(), table.weights, rows.shape[1]).astype(np.float64)
    return rows[:, weights > 0], weights[weights > 0]


def _entropy_terms(counts: Floats) -> float:
    """-Σ n log n, with 0 log 0 = 0."""
    live = counts[counts > 0]
    return -float(live @ np.log(live))


@dataclass(frozen=True, slots=True, eq=False)
class FamilyFragmentation:
    """How many cases there are for each joint state of the parents of one variable."""

    cases: Floats  # the numbers; an axis for each parent
    num_parameters: int  # the free parameters of the table
    num_unseen: int  # joint states of the parents without a case
    num_thin: int  # those with fewer cases than asked for
    median: float  # the number of cases that half of the joint states do not reach

    @property
    def cases_per_parameter(self) -> float:
        """All cases over all free parameters; infinite where there is nothing to learn."""
        return float(self.cases.sum()) / self.num_parameters if self.num_parameters else float("inf")


@record(eq=False)
class Fragmentation(Result):
    """The report on all families; `print` shows the thinnest first."""

    families: Mapping[str, FamilyFragmentation]
    fewest: float

    def __str__(self) -> str:
        lines = []
        for name, family in sorted(self.families.items(), key=lambda item: (item[1].cases_per_parameter, item[0])):
            thin = f"{family.num_thin} with fewer than {self.fewest:g}, median {family.median:g}"
            lines.append(f"{name}: {counted(family.cases.size, 'row')}, {family.num_unseen} without cases, {thin}")
        return "\n".join(lines)


def data_fragmentation(graph: object, data: DataLike, fewest: float = 5.0) -> Fragmentation:
    """How many cases there are to learn each row of each table from; those with fewer than `fewest` count as thin.

    Families with continuous variables are left out.

    >>> rows = {"rain": [0, 0, 0, 1], "wind": [0, 0, 1, 1], "wet": [0, 1, 0, 1]}
    >>> print(data_fragmentation("rain -> wet <- wind", rows, fewest=2))
    wet: 4 rows, 1 without cases, 3 with fewer than 2, median 1
    rain: 1 row, 0 without cases, 0 with fewer than 2, median 4
    wind: 1 row, 0 without cases, 0 with fewer than 2, median 4
    """
    if not fewest >= 0:
        raise InvalidArgument(f"fewest= is a number of cases, not {fewest!r}.")
    families = read_families(graph, data)
    numbers = {name for name, variable in families.variables.items() if variable.is_continuous}
    tables = [name for name in families.variables if not numbers & {name, *families.parents[name]}]
    found = {}
    for name, counts in families.counts_of(tables).items():
        variable, cases = families.variables[name], np.asarray(counts.sum(axis=-1))
        thin, unseen = int((cases < fewest).sum()), int((cases <= 0).sum())
        parameters = cases.size * (variable.num_states - 1)
        found[name] = FamilyFragmentation(cases, parameters, unseen, thin, float(np.median(cases)))
    return Fragmentation(MappingProxyType(found), fewest)
