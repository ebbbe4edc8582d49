"""The only door between learning and data: what is asked of data, and what answers."""

from __future__ import annotations

import functools
import math
import operator
from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from itertools import chain
from operator import itemgetter
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.base.remedies import Call, Remedy
from plausible.base.tolerances import WEIGHT_NOISE
from plausible.data.moments import FamilyMoments, Moments, joined_moments
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.variables import Variable

Counts = NDArray[Any]


class Request(NamedTuple):
    """One family, or with `candidates` several: the family with each of them as another parent, before all others.

    >>> Request("grass", ("rain",), ("sprinkler", "wind")).families
    [('grass', ('sprinkler', 'rain')), ('grass', ('wind', 'rain'))]
    """

    child: str
    parents: tuple[str, ...] = ()
    candidates: tuple[str, ...] | None = None

    @property
    def families(self) -> list[tuple[str, tuple[str, ...]]]:
        """(child, parents) of each."""
        if self.candidates is None:
            return [(self.child, self.parents)]
        return [(self.child, (candidate, *self.parents)) for candidate in self.candidates]


class Stack(NamedTuple):
    """Counts of those families of a request that have one shape."""

    places: Ints  # which of the candidates, in order; 0 where there are none
    counts: Counts  # axes: family, parents..., child


def in_order(stacks: Sequence[Stack]) -> Iterable[Counts]:
    """The tables of a request in the order of its candidates."""
    if len(stacks) == 1:
        return stacks[0].counts
    pairs = chain.from_iterable(zip(stack.places.tolist(), stack.counts, strict=True) for stack in stacks)
    return [counts for _, counts in sorted(pairs, key=itemgetter(0))]


class RequestCost(NamedTuple):
    """What the answers to some requests take."""

    num_families: int
    num_cells: int  # of all tables of counts
    num_reads: float  # cells of data that are looked at
    num_bytes: float = 0.0  # read from outside of memory


class FamilyRows(NamedTuple):
    """The cases of one family, equal ones together where all of its variables have states."""

    columns: Mapping[str, NDArray[Any]]  # name -> positions of states, or numbers
    weights: Floats  # how often each counts


class Statistics(ABC):
    """What learners ask of data: counts and moments of families, many at a time.

    A subclass tells its `variables`, its `total` and `counts_of`; where it has more to tell it says so: `moments_of`
    of numbers, `interventions`, `missing` cells, its `table`. Sums, differences and multiples of statistics are
    statistics. Counts are whole numbers where every row counts once, else floats.
    """

    __slots__ = ()

    @property
    @abstractmethod
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, with states or with numbers: all columns."""

    @property
    @abstractmethod
    def total(self) -> float:
        """How much all rows weigh."""

    @property
    def num_rows(self) -> float:
        """How many rows there are, whatever they weigh; what they weigh, where that is not known."""
        return self.total

    @property
    def discrete(self) -> list[str]:
        """The names of the variables with states."""
        return [name for name, variable in self.variables.items() if not variable.is_continuous]

    @property
    def continuous(self) -> list[str]:
        """The names of the variables with numbers."""
        return [name for name, variable in self.variables.items() if variable.is_continuous]

    @property
    def interventions(self) -> Mapping[str, float]:
        """Name -> how many rows it was set from outside in: they say nothing about its causes."""
        return {}

    @property
    def missing(self) -> Mapping[str, int]:
        """Name -> how many cells of it are missing; these have to be completed before anything is counted."""
        return {}

    @property
    def has_rows(self) -> bool:
        """Whether the rows are at hand; else counts and moments are all there is."""
        return False

    @property
    def table(self) -> Table:
        """The rows themselves, for what can't do without; refused where there are none at hand."""
        raise NotSupported(f"{type(self).__name__} has no rows, which this needs: give a table, not its statistics.")

    @property
    def by_rows(self) -> Statistics:
        """Statistics of the same data that go through its rows, where others can do so; else these."""
        return self

    def with_variables(self, variables: Mapping[str, Variable]) -> Statistics:
        """The same rows by the states of these variables, as far as there are any of their names.

        By default refused where the states differ: one that has its rows reads them again.
        """
        for name in self.variables.keys() & variables.keys():
            if (here := self.variables[name]) != variables[name]:
                raise InvalidArgument(
                    f"{name!r} has the states {list(here.states)} in the data, but {list(variables[name].states)} in "
                    "the network. Count the data by the states of the network."
                )
        return self

    def for_learning(self, named: Iterable[str] = ()) -> Statistics:
        """The same without columns that are hardly variables, of which a warning tells; these names are kept."""
        return self

    @abstractmethod
    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """How often the joint states of families occur: for each request the counts of its families, by shape.

        Rows in which the child was set from outside are left out. All requests are answered together, so that one
        pass over the data may do.
        """

    def moments_of(self, requests: Sequence[Request]) -> list[FamilyMoments]:
        """For the family of each request, by its joint states that occur: weight, means and scatter of its numbers."""
        for name in (name for request in requests for name in (*request.parents, request.child)):
            if name in self.variables and self.variables[name].is_continuous:
                raise NotSupported(f"{type(self).__name__} has no moments, but {name!r} is continuous.")
        return [_without_numbers(answer[0].counts[0]) for answer in self.counts_of(requests)]

    def cost(self, requests: Sequence[Request]) -> RequestCost:
        """What the answers would take: by default one pass over the columns that are asked about."""
        families = [family for request in requests for family in request.families]
        names = {name for child, parents in families for name in (child, *parents)}
        num_cells = sum(self._num_cells((child, *parents)) for child, parents in families)
        return RequestCost(len(families), num_cells, self.num_rows * len(names))

    def _num_cells(self, scope: Iterable[str]) -> int:
        variables = (self.variables[name] for name in scope)
        return math.prod(variable.num_states for variable in variables if not variable.is_continuous)

    def counts(self, child: str, parents: Sequence[str] = ()) -> Counts:
        """How often each joint state occurs: an axis for each parent, in the order given, then one for the child."""
        return np.asarray(self.counts_of([Request(child, tuple(parents))])[0][0].counts[0])

    def moments(self, child: str) -> Moments:
        """Those of all numbers, in the order of `continuous`, in the rows that say something about one of them."""
        if child not in self.continuous:
            raise UnknownVariable.named(child, self.continuous, "these moments")
        others = tuple(name for name in self.continuous if name != child)
        return self.moments_of([Request(child, others)])[0].pooled

    def rows(self, child: str, parents: Sequence[str] = ()) -> FamilyRows:
        """The cases of a family that say something about the child; refused for numbers where there are no rows."""
        scope = (*parents, child)
        if any(self.variables[name].is_continuous for name in scope):
            raise NotSupported("Continuous variables are learned from rows: give a table, not its statistics.")
        counts = self.counts(child, parents)
        places = np.nonzero(counts)
        return FamilyRows(dict(zip(scope, places, strict=True)), counts[places].astype(np.float64))

    def __add__(self, other: Statistics) -> Statistics:
        """What both have counted."""
        return _combined(self, other, 1.0) if isinstance(other, Statistics) else NotImplemented

    def __sub__(self, other: Statistics) -> Statistics:
        """What was counted without what the other has counted, such as rows that are forgotten."""
        return _combined(self, other, -1.0) if isinstance(other, Statistics) else NotImplemented

    def __mul__(self, factor: float) -> Statistics:
        """Each row counted as often as the factor says."""
        return CombinedStatistics(((self, float(factor)),)) if isinstance(factor, (int, float)) else NotImplemented

    __rmul__ = __mul__


def counted_each(count: Callable[[str, Sequence[str]], Counts], requests: Iterable[Request]) -> list[list[Stack]]:
    """The answers to requests by a function that counts one family at a time."""
    return [_stacked([count(child, parents) for child, parents in request.families]) for request in requests]


def _stacked(tables: Sequence[Counts]) -> list[Stack]:
    """Tables of one child, those of one shape together."""
    alike: dict[tuple[int, ...], list[int]] = {}
    for place, counts in enumerate(tables):
        alike.setdefault(counts.shape, []).append(place)
    return [Stack(np.array(places), np.stack([tables[place] for place in places])) for places in alike.values()]


def refuse_uncounted(statistics: Statistics, names: Sequence[str]) -> None:
    """Refuse a family that has no counts: of names that are unknown or there twice, of numbers, of missing cells."""
    if len(set(names)) < len(names):
        raise InvalidArgument(f"Each variable counts once, but {', '.join(map(repr, names))} has one twice.")
    variables, missing = statistics.variables, statistics.missing
    for name in names:
        if name not in variables:
            raise UnknownVariable.named(name, statistics.discrete, "this data")
        if variables[name].is_continuous:
            raise NotSupported(f"{name!r} is continuous: it has no counts. Discretise it, or ask for moments.")
        if number := missing.get(name):
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {statistics.num_rows:.0f} rows; counts need complete columns.",
                remedies=[Remedy("leave these rows out"), Remedy("learn with expected counts: ", Call("learn.em"))],
            )


def refuse_unmeasured(statistics: Statistics, names: Sequence[str]) -> None:
    """Refuse a family that has no moments: of names that are unknown, of missing cells."""
    variables, missing = statistics.variables, statistics.missing
    for name in names:
        if name not in variables:
            raise UnknownVariable.named(name, variables, "this data")
        if number := missing.get(name):
            raise InvalidArgument(
                f"{name!r} is missing in {number} of {statistics.num_rows:.0f} rows; moments need complete columns. "
                "Leave these rows out."
            )


def _without_numbers(counts: Counts) -> FamilyMoments:
    """The joint states that occur in a table, and how often."""
    states = np.argwhere(counts)
    weight = np.asarray(counts[tuple(states.T)], dtype=np.float64)
    return FamilyMoments(
        states, weight, np.ones(len(weight)), np.empty((len(weight), 0)), np.empty((len(weight), 0, 0))
    )


@dataclass(frozen=True, slots=True, eq=False)
class CombinedStatistics(Statistics):
    """Σ factor x statistics, all of the same variables; made by arithmetic."""

    parts: tuple[tuple[Statistics, float], ...]

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Those of all parts."""
        return self.parts[0][0].variables

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return sum(factor * part.total for part, factor in self.parts)

    @property
    def num_rows(self) -> float:
        """The rows of all parts, less those that were taken away."""
        return sum(math.copysign(part.num_rows, factor) for part, factor in self.parts)

    @property
    def interventions(self) -> Mapping[str, float]:
        """Those of all parts."""
        names = {name for part, _ in self.parts for name in part.interventions}
        return {name: sum(part.interventions.get(name, 0) for part, _ in self.parts) for name in sorted(names)}

    @property
    def missing(self) -> Mapping[str, int]:
        """Those of all parts."""
        names = {name for part, _ in self.parts for name in part.missing}
        return {name: sum(part.missing.get(name, 0) for part, _ in self.parts) for name in sorted(names)}

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """The sums of the parts' answers, each of which is asked once."""
        factors, answers = [factor for _, factor in self.parts], []
        for parts in zip(*(part.counts_of(requests) for part, _ in self.parts), strict=True):
            tables = [_counted(map(_times, factors, counts)) for counts in zip(*map(in_order, parts), strict=True)]
            answers.append(_stacked(tables))
        return answers

    def moments_of(self, requests: Sequence[Request]) -> list[FamilyMoments]:
        """The sums of the parts' answers."""
        answers = zip(*(part.moments_of(requests) for part, _ in self.parts), strict=True)
        return [joined_moments(parts, [factor for _, factor in self.parts]) for parts in answers]

    def cost(self, requests: Sequence[Request]) -> RequestCost:
        """The families are asked of each part."""
        costs = [part.cost(requests) for part, _ in self.parts]
        reads, num_bytes = sum(cost.num_reads for cost in costs), sum(cost.num_bytes for cost in costs)
        return RequestCost(costs[0].num_families, costs[0].num_cells, reads, num_bytes)


def _combined(first: Statistics, second: Statistics, sign: float) -> Statistics:
    if dict(first.variables) != dict(second.variables):
        different = [name for name in first.variables if second.variables.get(name) != first.variables[name]]
        raise InvalidArgument(
            f"Only statistics of the same variables can be combined; these differ, as in {different[:3]}. "
            "Read both tables with the same variables=."
        )
    more = second.parts if isinstance(second, CombinedStatistics) else ((second, 1.0),)
    parts = first.parts if isinstance(first, CombinedStatistics) else ((first, 1.0),)
    return CombinedStatistics((*parts, *((part, sign * factor) for part, factor in more)))


def _counted(parts: Iterable[Counts]) -> Counts:
    """The sum, in which nothing may be left owing; rounding is."""
    listed = list(parts)
    counts = functools.reduce(operator.add, listed)
    if counts.min(initial=0) >= 0:
        return counts
    if (counts < -WEIGHT_NOISE * sum(np.abs(part) for part in listed)).any():
        raise InvalidArgument("There are negative counts. Take away only statistics of rows that were counted.")
    return np.maximum(counts, 0)


def _times(factor: float, counts: Counts) -> Counts:
    """The product; whole numbers stay whole where the factor is."""
    return counts * (int(factor) if factor.is_integer() else factor)


class MomentStatistics(Statistics):
    """The moments of numbers alone, as they are published, or expected where cells are missing.

    Memory: n² numbers, and as many for each variable that was set from outside in some rows.

    Parameters
    ----------
    variables
        Name -> continuous variable, in the order of the moments.
    common
        The moments of all rows.
    own
        Name -> the moments of the rows in which that variable was not set from outside, if it was in any.
    """

    __slots__ = ("_common", "_own", "_variables")

    def __init__(
        self, variables: Mapping[str, Variable], common: Moments, own: Mapping[str, Moments] | None = None
    ) -> None:
        self._variables, self._common, self._own = variables, common, own or {}

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> continuous variable, in the order of the moments."""
        return self._variables

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return self._common.weight

    @property
    def num_rows(self) -> float:
        """How many rows there are."""
        return self._common.num_rows

    @property
    def interventions(self) -> Mapping[str, float]:
        """Name -> how many rows it was set from outside in."""
        return {name: self._common.num_rows - moments.num_rows for name, moments in self._own.items()}

    def counts_of(self, requests: Sequence[Request]) -> list[list[Stack]]:
        """Refused: numbers have no counts."""
        raise NotSupported(f"{requests[0].child!r} is continuous: it has no counts. Discretise it, or ask for moments.")

    def moments_of(self, requests: Sequence[Request]) -> list[FamilyMoments]:
        """For the family of each request the means and the scatter."""
        answers = []
        for request in requests:
            family = (*request.parents, request.child)
            for name in family:
                if name not in self.variables:
                    raise UnknownVariable.named(name, self.variables, "these moments")
            moments = self._own.get(request.child, self._common)
            answers.append(moments.part([place for place, name in enumerate(self.variables) if name in family]))
        return answers
