"""Counts of the rows that happen to be complete where it matters: no model, no completion."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from itertools import combinations

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.remedies import Argument, Remedy
from plausible.base.tolerances import SMALLEST
from plausible.data.moments import Moments
from plausible.data.statistics import Counts, MomentStatistics, Request, Stack, Statistics, counted_each
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
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
    is_whole = ~incomplete_rows(table)
    if table.num_rows and not is_whole.any():
        raise InvalidArgument(
            f"None of {table.num_rows} rows is complete.",
            remedies=[Remedy("complete them by a model: ", Argument("missing", "sem"))],
        )
    return table.take(np.flatnonzero(is_whole))


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

    def __init__(self, data: TableLike) -> None:
        table = Table.read(data)
        self._variables = {name: table.variables[name] for name in table.discrete}
        # the discrete columns, with one state more that stands for a missing cell
        marked = {name: Variable(name, variable.num_states + 1) for name, variable in self._variables.items()}
        sizes = np.array([variable.num_states for variable in self._variables.values()], dtype=np.int32)
        codes = np.where(table.codes < 0, sizes[:, None], table.codes).astype(np.int32)
        numbers, weights = np.empty((0, table.num_rows)), table.row_weights
        self._marked = TableStatistics(Table(marked, codes, numbers, table.weights, table.interventions))
        self._free = {name: float(weights[~rows].sum()) for name, rows in table.interventions.items()}

    @property
    def variables(self) -> Mapping[str, Variable]:
        return self._variables

    @property
    def total(self) -> float:
        return self._marked.total

    def num_complete(self, child: str, parents: Sequence[str] = ()) -> float:
        """How much the rows weigh in which a family is complete and the child was not set."""
        return float(self._observed(child, parents).sum())

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """How often joint states occur, made up to all rows."""
        return counted_each(self._counts, requests)

    def _counts(self, child: str, parents: Sequence[str]) -> Counts:
        counts = self._observed(child, parents)
        wanted = self._free.get(child, self.total)
        return counts * (wanted / counts.sum()) if counts.sum() > 0 else np.full(counts.shape, wanted / counts.size)

    def _observed(self, child: str, parents: Sequence[str]) -> Floats:
        marked = self._marked.counts(child, parents)
        states = tuple(slice(self._variables[name].num_states) for name in (*parents, child))
        return np.asarray(marked[states], dtype=np.float64)


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

    def _counts(self, child: str, parents: Sequence[str]) -> Counts:
        """How often each joint state would occur if pairs were all there is."""
        if len(parents) < 2:
            return super()._counts(child, parents)
        ordered = sorted(parents)  # one order for pairs that do not agree: else a search climbs in circles
        names = (*ordered, child)
        wanted, pairs = self._free.get(child, self.total), []
        for a, b in combinations(range(len(names)), 2):  # those of two parents are scaled to the rows of the child
            counts = np.asarray(super()._counts(names[b], [names[a]]))
            pairs.append((a, b, counts * (wanted / counts.sum()) if counts.sum() > 0 else counts))
        table = fit_to_pairs([self.variables[name].num_states for name in names], pairs)
        return table.transpose([*(ordered.index(parent) for parent in parents), len(ordered)])

    def num_complete(self, child: str, parents: Sequence[str] = ()) -> float:
        """How much the rows weigh that have the pair of a family that fewest rows have."""
        if len(parents) < 2:
            return super().num_complete(child, parents)
        pairs = combinations((*sorted(parents), child), 2)
        return min(super(PairwiseStatistics, self).num_complete(second, [first]) for first, second in pairs)


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

    @abstractmethod
    def _on_rows(self, child: str, parents: Sequence[str]) -> tuple[Callable[[Sequence[str]], float], float]:
        """The score with some of these parents on the rows of the family, and how often these go into all rows."""


class SeparateScores(_ScaledScores):
    """Scores of families that are each counted in rows of their own; see `_ScaledScores`.

    The counts of a smaller family are not sums of those of a larger one; taken for such, the gains of moves would not
    add up to differences of scores, and a search could climb in circles.
    """

    __slots__ = ("_score", "_statistics")

    def __init__(self, score: Score, statistics: AvailableStatistics) -> None:
        score.on(statistics)  # refuses what it can't score
        super().__init__(statistics.variables)
        self._score, self._statistics = score, statistics

    def _on_rows(self, child: str, parents: Sequence[str]) -> tuple[Callable[[Sequence[str]], float], float]:
        """By the counts of as many rows as speak for the family, at least one."""
        counts = self._statistics.counts(child, parents)
        scale = max(float(counts.sum()) / max(self._statistics.num_complete(child, parents), 1.0), SMALLEST)
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
