"""Counts of the rows that happen to be complete where it matters: no model, no completion."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base import SMALLEST, Argument, Floats, Remedy
from plausible.data import PartitionedStatistics, TableStatistics
from plausible.data.moments import Moments
from plausible.data.partitions import DerivedPartitions
from plausible.data.statistics import MomentStatistics, Request, Stack, Statistics, counted_each
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument
from plausible.learn.incomplete.expectations import FamilyCounts
from plausible.learn.missingness.cells import incomplete_rows, table_cells
from plausible.learn.scores.score import FamilyScores, Score, check_family
from plausible.variables import Variable

#: Passes over all pairs of a family; pairs counted in different rows need not agree, so that there may be no limit.
_PASSES = 100
#: What a pass changes of a table that is done, in shares of all rows: far less than a row.
_TOLERANCE = 1e-8


def complete_rows(data: TableLike) -> Table:
    """The rows in which nothing is missing; right only where cells are missing completely at random.

    >>> complete_rows({"rain": ["no", None, "yes"], "grass": ["dry", "wet", "wet"]}).num_rows
    2
    """
    table = Table.read(data)
    whole = _whole(table)
    _refuse_none(table.num_rows, whole.num_rows)
    return whole


def complete_rows_of(source: Table | PartitionedStatistics) -> Statistics:
    """The statistics of the rows in which nothing is missing, in pieces where all rows are."""
    if isinstance(source, Table):
        return TableStatistics(complete_rows(source))
    whole = PartitionedStatistics(DerivedPartitions(source.partitions, "complete", _whole))
    _refuse_none(source.num_rows, whole.num_rows)
    return whole


def _whole(table: Table) -> Table:
    return table.take(np.flatnonzero(~incomplete_rows(table)))


def _refuse_none(num_rows: float, num_complete: float) -> None:
    if num_rows and not num_complete:
        raise InvalidArgument(
            f"None of {num_rows} rows is complete.",
            remedies=[Remedy("complete them by a model: ", Argument("missing", "sem"))],
        )


Family: TypeAlias = tuple[str, tuple[str, ...]]  # (child, parents)


class AvailableCounts(NamedTuple):
    """The counts of a family, made up to all rows, and how much the rows weigh that they are known from."""

    counts: Floats
    num_complete: float


def _pairs(child: str, parents: tuple[str, ...]) -> list[Family]:
    """The families that stand for one: its pairs in one order of the parents, else a search climbs in circles."""
    if len(parents) < 2:
        return [(child, parents)]
    return [(second, (first,)) for first, second in combinations((*sorted(parents), child), 2)]


def _marked(table: Table, variables: Mapping[str, Variable]) -> Table:
    """The discrete columns, missing cells in a state of their own: the last."""
    sizes = np.array([variable.num_states - 1 for variable in variables.values()], dtype=table.codes.dtype)
    codes = np.where(table.codes < 0, sizes[:, None], table.codes)
    return Table(variables, codes, np.empty((0, table.num_rows)), table.weights, table.interventions)


class AvailableStatistics(Statistics):
    """Counts of each family in the rows that are complete in it, made up to the weight of all rows.

    N[x, u] = N_all / N_complete · #(rows with x and u); right only where cells are missing completely at random.
    Families that no row has complete are counted as evenly spread. A score of these counts takes them for as many rows
    as there are all together, and so prefers families with too many parents: `learn_structure(missing="available")`
    scores what `num_complete` rows say.

    >>> statistics = AvailableStatistics({"rain": ["no", None, "yes", "no"], "grass": ["dry", "wet", None, "dry"]})
    >>> statistics.counts("rain"), statistics.counts("grass", ["rain"])
    (array([2.66666667, 1.33333333]), array([[4., 0.],
           [0., 0.]]))
    """

    __slots__ = ("_free", "_marked", "_variables")

    def __init__(self, data: TableLike | PartitionedStatistics) -> None:
        source = data if isinstance(data, PartitionedStatistics) else Table.read(data)
        self._variables = {name: source.variables[name] for name in source.discrete}
        # the discrete columns, with one state more that stands for a missing cell
        marked = {name: Variable(name, variable.num_states + 1) for name, variable in self._variables.items()}
        self._marked: Statistics
        if isinstance(source, PartitionedStatistics):
            pieces = DerivedPartitions(source.partitions, "marked", partial(_marked, variables=marked), marked)
            self._marked = PartitionedStatistics(pieces)
        else:
            self._marked = TableStatistics(_marked(source, marked))
        set_names = list(self._marked.interventions)
        alone = self._marked.counts_of([Request(name) for name in set_names])
        self._free = {name: float(stack.counts.sum()) for name, (stack,) in zip(set_names, alone, strict=True)}

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._variables

    @property
    def total(self) -> float:
        return self._marked.total

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """How often joint states occur, made up to all rows."""
        families = list(dict.fromkeys(family for request in requests for family in request.families))
        found = dict(zip(families, self.available_each(families), strict=True))
        return counted_each(lambda child, parents: found[child, tuple(parents)].counts, requests)

    def available_each(self, families: Sequence[Family]) -> list[AvailableCounts]:
        """The counts of several families, (child, parents) each, and what they are known from; asked for together."""
        return [
            self._made_up(child, counts) for (child, _), counts in zip(families, self._observed(families), strict=True)
        ]

    def _made_up(self, child: str, counts: Floats) -> AvailableCounts:
        wanted, num = self._free.get(child, self.total), float(counts.sum())
        made_up = counts * (wanted / counts.sum()) if num > 0 else np.full(counts.shape, wanted / counts.size)
        return AvailableCounts(made_up, num)

    def _observed(self, families: Sequence[Family]) -> list[Floats]:
        """Of each family the counts of the rows in which it is complete and the child was not set."""
        answers = self._marked.counts_of([Request(child, parents) for child, parents in families])
        return [np.asarray(s.counts[0][(slice(-1),) * (s.counts.ndim - 1)], dtype=np.float64) for (s,) in answers]


class PairwiseStatistics(AvailableStatistics):
    """Counts of families from those of their pairs, each counted in all rows that have both cells.

    A larger family has the counts of greatest entropy that agree with all of its pairs, by iterative proportional
    fitting (Deming & Stephan 1940): more rows speak than with `AvailableStatistics`, and interactions of three
    variables, such as an exclusive or, are not seen. Pairs that contradict each other are agreed with in turn.

    >>> rows = {"a": [0, 0, 1, 1, None], "b": [0, 1, 0, 1, 1], "c": [0, 1, 0, 1, 1]}
    >>> PairwiseStatistics(rows).counts("c", ["b"])
    array([[2., 0.],
           [0., 3.]])
    """

    __slots__ = ()

    def available_each(self, families: Sequence[Family]) -> list[AvailableCounts]:
        """How often each joint state would occur if pairs were all there is; known from the rows of the rarest pair."""
        wanted = list(dict.fromkeys(pair for family in families for pair in _pairs(*family)))
        pairs = dict(zip(wanted, super().available_each(wanted), strict=True))
        return [self._fitted(child, parents, pairs) for child, parents in families]

    def _fitted(self, child: str, parents: Sequence[str], pairs: Mapping[Family, AvailableCounts]) -> AvailableCounts:
        if len(parents) < 2:
            return pairs[child, tuple(parents)]
        ordered = sorted(parents)
        names = (*ordered, child)
        wanted, scaled, fewest = self._free.get(child, self.total), [], math.inf
        for a, b in combinations(range(len(names)), 2):  # those of two parents are scaled to the rows of the child
            counts, num = pairs[names[b], (names[a],)]
            scaled.append((a, b, counts * (wanted / counts.sum()) if counts.sum() > 0 else counts))
            fewest = min(fewest, num)
        table = fit_to_pairs([self.variables[name].num_states for name in names], scaled)
        return AvailableCounts(table.transpose([*(ordered.index(parent) for parent in parents), len(ordered)]), fewest)


class _ScaledScores(FamilyScores):
    """Scores of families that are each known from rows of their own.

    What a parent gains is told by the n rows that speak for the whole family, in which the child is scored without that
    parent too; the gain is then scaled up to all N rows: score(X | U) is the least, over p in U, of score(X | U - p) +
    N/n · (score(X | U) - score(X | U - p), both on the n rows). So no parent gains more than on the same rows, and the
    price of parameters is weighed against the rows that are there. Where nothing is missing these are the scores
    themselves.
    """

    __slots__ = ("_kept", "_variables")

    def __init__(self, variables: Mapping[str, Variable]) -> None:
        self._variables = variables
        self._kept: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._variables)

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> Floats:
        """Those that are not known, and all that they are told from, are asked for together."""
        asked = [(child, frozenset(parents)) for child, parents in families]
        new, waiting = dict[tuple[str, frozenset[str]], None](), [key for key in asked if key not in self._kept]
        while waiting:
            child, parents = waiting.pop()
            new[child, parents] = None
            smaller = ((child, parents - {parent}) for parent in parents)
            waiting += [key for key in smaller if key not in self._kept and key not in new]
        self._ask([(child, tuple(sorted(parents))) for child, parents in new])
        return np.array([self.family(child, parents) for child, parents in asked], dtype=np.float64)

    def around(self, requests: Sequence[Request]) -> list[tuple[float, Floats, Floats]]:
        """All are asked for together."""
        self.families(
            family
            for child, parents, candidates in requests
            for family in (
                (child, parents),
                *((child, (*parents, candidate)) for candidate in candidates or ()),
                *((child, tuple(other for other in parents if other != gone)) for gone in parents),
            )
        )
        return super().around(requests)

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        """All are asked for together."""
        self.families(family for request in requests for family in request.families)
        return super().extended_each(requests)

    def family(self, child: str, parents: Iterable[str]) -> float:
        """The score of a variable with these parents; -inf where its rows allow none."""
        ordered = sorted(parents)
        key = (child, frozenset(ordered))
        check_family(child, ordered, self._variables)
        if key not in self._kept:
            on_rows, scale = self._on_rows(child, ordered)
            whole = on_rows(ordered)
            without = [[*ordered[:place], *ordered[place + 1 :]] for place in range(len(ordered))]
            gained = (self.family(child, others) + scale * (whole - on_rows(others)) for others in without)
            self._kept[key] = min(gained, default=scale * whole) if np.isfinite(whole) else -np.inf
        return self._kept[key]

    def _ask(self, families: Sequence[Family]) -> None:
        """Ask for what is needed of several families, sorted parents each, where that can be asked for together."""

    @abstractmethod
    def _on_rows(self, child: str, parents: Sequence[str]) -> tuple[Callable[[Sequence[str]], float], float]:
        """The score with some of these parents on the rows of the family, and how often these go into all rows."""


class SeparateScores(_ScaledScores):
    """Scores of families that are each counted in rows of their own; see `_ScaledScores`.

    The counts of a smaller family are not sums of those of a larger one; taken for such, the gains of moves would not
    add up to differences of scores, and a search could climb in circles.
    """

    __slots__ = ("_asked", "_score", "_statistics")

    def __init__(self, score: Score, statistics: AvailableStatistics) -> None:
        score.on(statistics)  # refuses what it can't score
        super().__init__(statistics.variables)
        self._score, self._statistics = score, statistics
        self._asked: dict[Family, AvailableCounts] = {}

    def _ask(self, families: Sequence[Family]) -> None:
        if families:
            self._asked |= zip(families, self._statistics.available_each(families), strict=True)

    def _on_rows(self, child: str, parents: Sequence[str]) -> tuple[Callable[[Sequence[str]], float], float]:
        """By the counts of as many rows as speak for the family, at least one."""
        family = child, tuple(parents)
        if family not in self._asked:
            self._ask([family])
        counts, num_complete = self._asked.pop(family)
        scale = max(float(counts.sum()) / max(num_complete, 1.0), SMALLEST)
        there = np.asarray(counts / scale)

        def score(some: Sequence[str]) -> float:
            part = there.sum(axis=tuple(axis for axis, parent in enumerate(parents) if parent not in some))
            rows = FamilyCounts(self._variables, {child: tuple(some)}, {child: part}, float(part.sum()))
            return self._score.on(rows).family(child, some)

        return score, scale


def fit_to_pairs(shape: Sequence[int], pairs: Sequence[tuple[int, int, Floats]]) -> Floats:
    """The table of greatest entropy with given sums over all axes but two, for several pairs of axes."""
    total = float(pairs[0][2].sum())
    even = np.full(tuple(shape), total / np.prod(shape))
    table = even
    for _ in range(_PASSES):
        before = table
        for a, b, wanted in pairs:
            others = tuple(axis for axis in range(len(shape)) if axis not in (a, b))
            sums = table.sum(axis=others)
            ratio = np.divide(wanted, sums, out=np.zeros(sums.shape), where=sums > 0)
            table = table * np.expand_dims(ratio, others)
        if np.abs(table - before).max(initial=0.0) <= _TOLERANCE * total:
            break
    left = float(table.sum())  # less than all where pairs rule each other out
    return np.asarray(table * (total / left)) if left > 0 else even


#: A correlation matrix has no smaller eigenvalues after it was made positive definite.
_LEAST_EIGENVALUE = 1e-3


def pairwise_moments(table: Table) -> MomentStatistics:
    """Means of columns and covariances of pairs, each from all rows that have them; right only where cells are missing
    completely at random.

    Correlations that no data could have together are made so: eigenvalues below a thousandth are raised to it, and the
    diagonal is brought back to ones. They count as many rows as the pair has that fewest rows have.
    """
    seen = ~np.isnan(table.numbers)
    filled, have = np.where(seen, table.numbers, 0.0), seen.astype(np.float64)
    pairs = have @ have.T
    _refuse_few(table, pairs)
    means = filled.sum(axis=1) / have.sum(axis=1)
    centred = np.where(seen, table.numbers - means[:, None], 0.0)
    covariances = (centred @ centred.T) / pairs
    deviations = np.sqrt(np.diag(covariances))
    scale = np.outer(deviations, deviations)
    correlations = np.divide(covariances, scale, out=np.eye(len(means)), where=scale > 0)
    num = int(pairs.min())
    values, vectors = np.linalg.eigh(correlations)
    if values.min() < _LEAST_EIGENVALUE:
        raised = (vectors * np.maximum(values, _LEAST_EIGENVALUE)) @ vectors.T
        ends = np.sqrt(np.diag(raised))
        correlations = raised / np.outer(ends, ends)
    return MomentStatistics(dict(table.variables), Moments(float(num), num, means, correlations * scale * num))


class AvailableRowScores(_ScaledScores):
    """Scores of families of numbers, or of numbers and states, each in the rows that are complete in it."""

    __slots__ = ("_missing", "_score", "_table")

    def __init__(self, score: Score, table: Table) -> None:
        super().__init__(table.variables)
        self._score, self._table, self._missing = score, table, table_cells(table)
        seen = (~np.isnan(table.numbers)).astype(np.float64)
        _refuse_few(table, seen @ seen.T)

    def _on_rows(self, child: str, parents: Sequence[str]) -> tuple[Callable[[Sequence[str]], float], float]:
        """No score where no more rows than cells have the family."""
        family = [*parents, child]
        rows = ~np.logical_or.reduce([self._missing[name] for name in family])
        if parents and np.count_nonzero(rows) <= len(family):
            return lambda some: -np.inf, 1.0
        there = self._score.on(TableStatistics(self._table.select(family).take(rows)))
        free = ~self._table.interventions.get(child, np.zeros(self._table.num_rows, dtype=np.bool_))
        weights = free * self._table.row_weights
        weight = float(weights[rows].sum())
        return partial(there.family, child), float(weights.sum()) / weight if weight > 0 else 1.0


def _refuse_few(table: Table, pairs: Floats) -> None:
    one, two = np.unravel_index(int(pairs.argmin()), pairs.shape)
    if pairs[one, two] < 2:
        names = table.continuous[int(one)], table.continuous[int(two)]
        raise InvalidArgument(
            f"{int(pairs[one, two])} rows have both {names[0]!r} and {names[1]!r}; two are needed.",
            remedies=[Remedy("take ", Argument("missing", "sem"))],
        )
