"""Chi-square and G: tests of independence on counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from typing import ClassVar, NamedTuple, final

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.data.statistics import Request, Statistics, in_order
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.kernels.contingency import measure_dependence
from plausible.learn.independence.independence_test import Answers, IndependenceTest, Question

__all__ = ["ChiSquareTest", "CountTest", "GTest", "only_observed"]

#: Tables of about so many cells are measured together.
_CELLS_AT_ONCE = 2**20


class CountTest(IndependenceTest):
    """A test of discrete variables that compares counts with those expected under independence.

    Each joint state z of what is given is a stratum; a statistic of its table of x and y is summed over them, and has a
    chi-square distribution with Σ_z (r_z - 1)(c_z - 1) degrees of freedom, r_z and c_z being the rows and columns of
    the stratum that are not empty. Without that adjustment it would be (|x| - 1)(|y| - 1) Π |z|, too many in a sparse
    table. Where no stratum has two rows and two columns there are none: what is given determines x or y.

    Parameters
    ----------
    data
        What `Table.read` takes, or statistics.
    min_rows_per_degree
        A test with fewer rows for each of its (|x| - 1)(|y| - 1) Π |z| degrees of freedom is not reliable and not
        made: with so many cells the chi-square distribution is far off, and nothing would ever be rejected (Spirtes et
        al. 2000; Tsamardinos et al. 2006). 0 makes all tests.
    adjust
        Whether empty rows and columns take no degrees of freedom.
    num_threads
        At most this many; outcomes do not depend on it.

    References
    ----------
    Spirtes, Glymour & Scheines (2000), Causation, Prediction, and Search, section 5.5.
    """

    __slots__ = ("_adjust", "_min_rows", "_names", "_sizes", "_statistics")

    _is_pearson: ClassVar[bool]

    def __init__(
        self,
        data: DataLike,
        *,
        min_rows_per_degree: float = 5.0,
        adjust: bool = True,
        num_threads: int = 2,
    ) -> None:
        if min_rows_per_degree < 0:
            raise InvalidArgument(f"min_rows_per_degree={min_rows_per_degree} can't be negative.")
        statistics = data if isinstance(data, Statistics) else TableStatistics(data, num_threads=num_threads)
        self._statistics = only_observed(statistics)
        self._sizes = {name: statistics.variables[name].num_states for name in statistics.discrete}
        self._names = tuple(self._sizes)
        self._min_rows, self._adjust = min_rows_per_degree, adjust

    @property
    def names(self) -> Sequence[str]:
        """The discrete variables of the data."""
        return self._names

    def ask(self, questions: Sequence[Question]) -> Answers:
        """The outcomes for each question and each of its others, in order."""
        if not questions:
            return Answers.of(())
        shapes = self._shapes(questions)
        nominal = (shapes[:, 0] - 1) * shapes[:, 1] * (shapes[:, 2] - 1)
        total = self._statistics.total
        reliable = (total > 0) & (self._min_rows * nominal <= total)
        statistics, degrees = np.full(len(shapes), np.nan), nominal.astype(np.float64)
        for batch in self._batches(questions, shapes, reliable):
            measured, used = self._measure(batch, shapes[batch.places])
            statistics[batch.places] = measured
            degrees[batch.places] = used if self._adjust else np.where(used == 0, 0.0, degrees[batch.places])
        return Answers(statistics, _chi_square_tail(statistics, degrees), degrees, reliable)

    # --- tables ---

    def _shapes(self, questions: Sequence[Question]) -> Ints:
        """A line (states of the other, of what is given, of x) for each test."""
        sizes, shapes = self._sizes, []
        for x, given, others in questions:
            num_strata = math.prod([sizes[name] for name in given])
            shapes += [(sizes[other], num_strata, sizes[x]) for other in others]
        return np.array(shapes, dtype=np.int64).reshape(-1, 3)

    def _batches(self, questions: Sequence[Question], shapes: Ints, reliable: Flags) -> Iterator[_Batch]:
        """The reliable tests in batches, their tables small enough to be held together."""
        sizes, is_made = shapes.prod(axis=1).tolist(), reliable.tolist()
        asked: list[Request] = []
        places: list[int] = []
        first = num_cells = 0
        for x, given, others in questions:
            made = [first + place for place in range(len(others)) if is_made[first + place]]
            if made:
                asked.append(Request(x, given, tuple(others[place - first] for place in made)))
                places += made
                num_cells += sum(sizes[place] for place in made)
            first += len(others)
            if num_cells > _CELLS_AT_ONCE:
                yield _Batch(asked, places)
                asked, places, num_cells = [], [], 0
        if places:
            yield _Batch(asked, places)

    def _measure(self, batch: _Batch, shapes: Ints) -> tuple[Floats, Ints]:
        """The tables of a batch, axes (other, given..., x), counted together and compared with independence."""
        tables = [
            table.reshape(-1) for stacks in self._statistics.counts_of(batch.requests) for table in in_order(stacks)
        ]
        counts = np.concatenate(tables, dtype=np.float64)
        measured, used = np.zeros(len(shapes)), np.zeros(len(shapes), dtype=np.int64)
        measure_dependence(counts, shapes, self._is_pearson, measured, used)
        return measured, used


class _Batch(NamedTuple):
    """Requests of counts for tests that are all made, and the places of these tests among all."""

    requests: Sequence[Request]
    places: Sequence[int]


@final
class GTest(CountTest):
    """The likelihood-ratio test: G = 2 Σ n ln(n / e), which is 2 N times the mutual information of x and y given z.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 9, "grass": ["dry", "wet", "wet", "wet"] * 9}
    >>> outcome = GTest(rows).test("rain", "grass")
    >>> round(outcome.statistic, 3), outcome.degrees_of_freedom, outcome.is_independent()
    (15.535, 1.0, False)
    """

    __slots__ = ()

    _is_pearson = False


@final
class ChiSquareTest(CountTest):
    """Pearson's test: X² = Σ (n - e)² / e.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 9, "grass": ["dry", "wet", "wet", "wet"] * 9}
    >>> round(ChiSquareTest(rows).test("rain", "grass").statistic, 3)
    12.0
    """

    __slots__ = ()

    _is_pearson = True


def only_observed(statistics: Statistics) -> Statistics:
    """The statistics, if nothing in them was set from outside: a test would take that for independence."""
    if statistics.interventions:
        names = ", ".join(map(repr, sorted(statistics.interventions)))
        raise NotSupported(
            f"Tests of independence need rows that were only observed, but {names} was set from outside in some. Leave "
            "these rows out with table.take, or learn by a score."
        )
    return statistics


def _chi_square_tail(statistics: Floats, degrees: Floats) -> Floats:
    """The probability of a larger value; 1 without degrees of freedom."""
    from scipy.special import gammaincc

    tail: Floats = gammaincc(np.maximum(degrees, 1) / 2, np.maximum(statistics, 0) / 2)
    return np.where((degrees == 0) & ~np.isnan(statistics), 1.0, tail)
