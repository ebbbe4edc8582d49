"""What a score is: a number for each family, bound to data.

Conventions, the same for all scores: natural logarithms; the higher, the better; the score of a graph is the sum over
its families. Rows in which the child was set from outside say nothing about its family, so that N is how much the other
rows weigh. Without rows every likelihood is one. A family of which no score can be told, because its kind is not
supported, has -inf: no search takes it.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Iterable, Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, ClassVar, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Ints
from plausible.data.statistics import Request, Stack, Statistics
from plausible.data.table import TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.kernels.counting import sum_family_terms
from plausible.kernels.jit import runs_as_machine_code

_MAX_TABLED = 2**24  # All tables of terms of one data set have at most so many entries

Term = Callable[[Any], Floats]


class FamilyScores(ABC):
    """The scores of all families on some data; higher is better."""

    __slots__ = ()

    @property
    @abstractmethod
    def names(self) -> Sequence[str]:
        """The variables, in the order of the data."""

    @property
    def are_dear(self) -> bool:
        """Whether it takes long to be asked at all, as where files are read, so that more is asked for at once."""
        return False

    @abstractmethod
    def family(self, child: str, parents: Iterable[str]) -> float:
        """The score of a variable with these parents."""

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> Floats:
        """The scores of several families, (child, parents) each."""
        return np.array([self.family(child, parents) for child, parents in families], dtype=np.float64)

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        """For each request the scores of its family with each of its candidates as another parent."""
        return [self.families(request.families) for request in requests]

    def extended(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> Floats:
        """The score of the family with each candidate as another parent."""
        return self.extended_each([Request(child, tuple(parents), tuple(candidates))])[0]

    def reduced(self, child: str, parents: Sequence[str]) -> Floats:
        """The score of the family without each of its parents."""
        return self.families((child, [other for other in parents if other != gone]) for gone in parents)

    def around(self, requests: Sequence[Request]) -> list[tuple[float, Floats, Floats]]:
        """For each request the scores of its family, of those with a candidate more, and with a parent less."""
        own = [self.family(request.child, request.parents) for request in requests]
        less = [self.reduced(request.child, request.parents) for request in requests]
        return list(zip(own, self.extended_each(requests), less, strict=True))

    def graph(self, graph: DAG) -> float:
        """The sum over all families of a graph."""
        return math.fsum(self.families((name, map(str, graph.parents(name))) for name in self.names))


class KeptScores(FamilyScores):
    """Scores that are worked out once for each family, those that are not known yet together."""

    def __init__(self, names: Iterable[str]) -> None:
        self._places = {name: place for place, name in enumerate(names)}
        self._cache: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._places)

    def family(self, child: str, parents: Iterable[str]) -> float:
        key = (child, frozenset(parents))
        return self._cache[key] if key in self._cache else float(self.families([key])[0])

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> Floats:
        keys = [(child, frozenset(parents)) for child, parents in families]
        if new := list(dict.fromkeys(key for key in keys if key not in self._cache)):
            scores = self._scored([Request(child, tuple(sorted(parents))) for child, parents in new])
            self._cache.update(zip(new, scores, strict=True))
        return np.array([self._cache[key] for key in keys], dtype=np.float64)

    @abstractmethod
    def _scored(self, families: Sequence[Request]) -> Iterable[float]:
        """The scores of new families, whose parents are sorted."""


class Score(ABC):
    """A decomposable score: a frozen object that holds its options; `on` binds it to data."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_score_equivalent(self) -> bool:
        """Whether graphs that stand for the same independencies have the same score."""

    @abstractmethod
    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data."""

    def on_data(self, data: TableLike) -> FamilyScores:
        """The scores of the families of a table, or of what `Table.read` takes."""
        return self.on(TableStatistics(data))


class CountScore(Score):
    """A score of the counts of a discrete family."""

    __slots__ = ()

    @abstractmethod
    def of_counts(self, counts: NDArray[Any], total: float) -> Floats:
        """The score of each of several families of one child and one shape.

        The axes of the counts: family, joint state of the parents, state of the child; the rows counted weigh `total`.
        """

    def on(self, statistics: Statistics) -> FamilyScores:
        refuse_continuous(self, statistics)
        return CountedScores(self.bound(), statistics)

    def bound(self) -> Callable[[NDArray[Any], float], Floats]:
        """What does the work of `of_counts` many times over, on one data set."""
        return self.of_counts


def refuse_continuous(score: Score, statistics: Statistics) -> None:
    """Refuse rows with numbers, which a score of counts would leave out."""
    if statistics.continuous:
        raise NotSupported(
            f"{statistics.continuous[0]!r} is continuous, but {type(score).__name__} is a score of counts. "
            "Discretise it, leave it out, or take a score of numbers, such as 'gaussian-bic', or of mixed data: "
            "'conditional-gaussian-bic'."
        )


def check_family(child: str, parents: Iterable[str], names: Collection[str]) -> None:
    """Refuse names that are not there, and a variable that is its own parent."""
    UnknownVariable.check_all((child, *parents), names, "the data")
    if child in parents:
        raise InvalidArgument(f"{child!r} can't be its own parent; leave it out of the parents.")


class CountedScores(KeptScores):
    """Of the variables with states, by their counts."""

    def __init__(self, of_counts: Callable[[NDArray[Any], float], Floats], statistics: Statistics) -> None:
        super().__init__(statistics.discrete)
        self._of_counts, self._statistics = of_counts, statistics

    @property
    def are_dear(self) -> bool:
        return self._statistics.cost(()).num_bytes > 0

    def _scored(self, families: Sequence[Request]) -> Iterable[float]:
        return [float(self._of(stack.counts)[0]) for (stack,) in self._statistics.counts_of(families)]

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        """Candidates with as many states are scored at once."""
        for request in requests:
            check_family(request.child, (*request.parents, *(request.candidates or ())), self._places)
        asked = [request._replace(parents=tuple(sorted(request.parents))) for request in requests]
        answers = self._statistics.counts_of(asked)
        return [self._stacked(request, answer) for request, answer in zip(asked, answers, strict=True)]

    def reduced(self, child: str, parents: Sequence[str]) -> Floats:
        """From the counts of the whole family, one parent summed out at a time."""
        return self._summed_out(self._statistics.counts(child, sorted(parents)), parents)

    def around(self, requests: Sequence[Request]) -> list[tuple[float, Floats, Floats]]:
        """All are counted together."""
        asked: list[Request] = []
        for child, parents, candidates in requests:
            family = tuple(sorted(parents))
            asked += [Request(child, family), Request(child, family, candidates or ())]
        answers = self._statistics.counts_of(asked)
        found = []
        for request, (own,), more in zip(requests, answers[::2], answers[1::2], strict=True):
            score = float(self._of(own.counts)[0])
            self._cache[request.child, frozenset(request.parents)] = score
            found.append((score, self._stacked(request, more), self._summed_out(own.counts[0], request.parents)))
        return found

    def _stacked(self, request: Request, stacks: Sequence[Stack]) -> Floats:
        scores = np.empty(len(request.candidates or ()))
        for places, counts in stacks:
            scores[places] = self._of(counts)
        return scores

    def _summed_out(self, counts: NDArray[Any], parents: Sequence[str]) -> Floats:
        ordered = sorted(parents)
        summed = [counts.sum(axis=ordered.index(gone)) for gone in parents]
        return np.array([float(self._of(less[None])[0]) for less in summed], dtype=np.float64)

    def _of(self, counts: NDArray[Any]) -> Floats:
        """The scores of several families of one child, so that all of them have counted the same rows."""
        return self._of_counts(counts.reshape(len(counts), -1, counts.shape[-1]), float(counts[0].sum()))


@dataclass(frozen=True, slots=True)
class FamilyFunction(Score):
    """Any number for each family; asked once for each.

    The function takes the child and its sorted parents; higher is better, -inf for a family that must not be.

    >>> score = FamilyFunction(lambda child, parents: -len(parents))
    >>> score.on_data({"rain": ["no", "yes"], "grass": ["dry", "wet"]}).family("grass", ["rain"])
    -1.0
    """

    function: Callable[[str, tuple[str, ...]], float]
    is_score_equivalent: ClassVar[bool] = False

    def on(self, statistics: Statistics) -> FamilyScores:
        return _FunctionScores(self.function, list(statistics.variables))


class _FunctionScores(KeptScores):
    def __init__(self, function: Callable[[str, tuple[str, ...]], float], names: Sequence[str]) -> None:
        super().__init__(names)
        self._function = function

    def _scored(self, families: Sequence[Request]) -> Iterable[float]:
        return [float(self._function(family.child, family.parents)) for family in families]


@dataclass(frozen=True, slots=True)
class CountFunction(CountScore):
    """Any number for the counts of each family.

    The function takes counts with the axes joint state of the parents and state of the child; higher is better.

    >>> score = CountFunction(lambda counts: counts.max(axis=1).sum())  # how often the best guess is right
    >>> score.on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]}).family("grass", ["rain"])
    2.0
    """

    function: Callable[[NDArray[Any]], float]
    is_score_equivalent: ClassVar[bool] = False

    def of_counts(self, counts: NDArray[Any], total: float) -> Floats:
        return np.array([float(self.function(one)) for one in counts], dtype=np.float64)


class Terms(NamedTuple):
    """A score is Σ cell(N_ux) - Σ row(N_u) + constant, over the joint states u of the parents and x of the child."""

    cell: Term
    row: Term
    constant: float = 0.0


class TermScore(CountScore):
    """A score that is a sum of functions of single counts, as most are.

    On data whose rows count once, the functions are tabled for 0, ..., N as soon as they were worked out for as many
    counts, so that a search looks its terms up in compiled code.
    """

    __slots__ = ()

    @abstractmethod
    def terms(self, num_rows: int, num_states: int, total: float) -> Terms:
        """The terms of families of one shape."""

    def num_rows(self, counts: NDArray[Any]) -> Ints | int:
        """How many joint states of the parents the terms are for: a number for each family, or one for all."""
        return int(counts.shape[1])

    def of_counts(self, counts: NDArray[Any], total: float) -> Floats:
        return self._summed(counts, total, self.terms, None)

    def bound(self) -> Callable[[NDArray[Any], float], Floats]:
        """The same with tables of terms."""
        tables, terms = _Tables(), cache(self.terms)
        return lambda counts, total: self._summed(counts, total, terms, tables)

    def _summed(
        self, counts: NDArray[Any], total: float, terms: Callable[[int, int, float], Terms], tables: _Tables | None
    ) -> Floats:
        """Families whose terms are the same together, by tables if there are any."""
        num_rows = self.num_rows(counts)
        if isinstance(num_rows, int):
            found = terms(num_rows, counts.shape[2], total)
            return _direct(counts, found) if tables is None else tables.sums(counts, found, int(total))
        scores = np.empty(len(counts))
        for sort in np.unique(num_rows).tolist():
            chosen, found = num_rows == sort, terms(sort, counts.shape[2], total)
            part = counts[chosen]
            scores[chosen] = _direct(part, found) if tables is None else tables.sums(part, found, int(total))
        return scores


def n_log_n(counts: Any) -> Floats:
    """Each number times its logarithm; zero for zero."""
    from scipy.special import xlogy

    return np.asarray(xlogy(counts, counts), dtype=np.float64)


def _direct(counts: NDArray[Any], terms: Terms) -> Floats:
    return _summed_in_order(terms.cell(counts), terms.row(counts.sum(axis=2))) + terms.constant


def _summed_in_order(cells: Floats, rows: Floats) -> Floats:
    """Cells less rows, in the order of `sum_family_terms`: the same bits by tables or not, whatever came before."""
    num_families, num_rows, num_cells = cells.shape
    listed = np.concatenate([cells, -rows[..., None]], axis=2).reshape(num_families, num_rows * (num_cells + 1))
    return np.asarray(np.add.accumulate(listed, axis=1)[:, -1], dtype=np.float64)


class _Tables:
    """The terms of 0, ..., N, by the shape of families; those that do not depend on it are kept once."""

    def __init__(self) -> None:
        self._entries = 0
        self._found: dict[tuple[Term, int], Floats] = {}
        self._spent: dict[tuple[Term, int], int] = {}

    def sums(self, counts: NDArray[Any], terms: Terms, total: int) -> Floats:
        """The sums of terms of families, by table once as many terms were wanted as a table has."""
        pair = (terms.cell, total), (terms.row, total)
        if counts.dtype.kind not in "iu":
            return _direct(counts, terms)
        if pair[0] not in self._found or pair[1] not in self._found:
            self._spent[pair[0]] = self._spent.get(pair[0], 0) + counts.size
            if self._spent[pair[0]] < total:
                return _direct(counts, terms)
            for key in pair:
                if key not in self._found:
                    if self._entries + total + 1 > _MAX_TABLED:
                        return _direct(counts, terms)
                    self._found[key] = key[0](np.arange(total + 1))
                    self._entries += total + 1
        sums = np.empty(len(counts))
        whole = np.ascontiguousarray(counts, dtype=np.int64).view()
        whole.setflags(write=False)  # whoever counted: one kind of array, one compiled kernel
        cells, rows = (self._found[key] for key in pair)
        sum_family_terms(whole, cells, rows, sums)
        if not runs_as_machine_code(sum_family_terms):  # but in another order
            sums = _summed_in_order(cells[whole], rows[whole.sum(axis=2)])
        return sums + terms.constant
