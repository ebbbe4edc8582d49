"""Chi-square and G: tests of independence on counts."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from itertools import pairwise
from typing import ClassVar, NamedTuple, final

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.data.statistics import Counts, Statistics
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.kernels.contingency import measure_dependence
from plausible.learn.independence.independence_test import Answers, IndependenceTest, Question

__all__ = ["ChiSquareTest", "CountTest", "GTest", "observed_table"]

#: Tables of about so many cells are measured together.
_CELLS_AT_ONCE = 2**20
#: Fewer rows than this are counted in one thread: threads would mostly wait for each other's turn at the interpreter.
_FEW_ROWS = 2**15


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

    __slots__ = ("_adjust", "_min_rows", "_names", "_num_threads", "_sizes", "_statistics")

    _is_pearson: ClassVar[bool]

    def __init__(
        self,
        data: TableLike | Statistics,
        *,
        min_rows_per_degree: float = 5.0,
        adjust: bool = True,
        num_threads: int = 2,
    ) -> None:
        if min_rows_per_degree < 0:
            raise InvalidArgument(f"min_rows_per_degree={min_rows_per_degree} can't be negative.")
        if isinstance(data, Statistics):
            self._statistics = data
        else:
            self._statistics = TableStatistics(observed_table(data), num_threads=1)
        self._sizes = {name: variable.num_states for name, variable in self._statistics.variables.items()}
        self._names = tuple(self._sizes)
        self._min_rows, self._adjust, self._num_threads = min_rows_per_degree, adjust, num_threads

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
        asked: list[Question] = []
        places: list[int] = []
        first = num_cells = 0
        for x, given, others in questions:
            made = [first + place for place in range(len(others)) if is_made[first + place]]
            if made:
                asked.append(Question(x, given, tuple(others[place - first] for place in made)))
                places += made
                num_cells += sum(sizes[place] for place in made)
            first += len(others)
            if num_cells > _CELLS_AT_ONCE:
                yield _Batch(asked, places)
                asked, places, num_cells = [], [], 0
        if places:
            yield _Batch(asked, places)

    def _measure(self, batch: _Batch, shapes: Ints) -> tuple[Floats, Ints]:

        counts = np.concatenate([table.ravel() for table in self._count(batch)], dtype=np.float64)
        measured, used = np.zeros(len(shapes)), np.zeros(len(shapes), dtype=np.int64)
        measure_dependence(counts, shapes, self._is_pearson, measured, used)
        return measured, used

    def _count(self, batch: _Batch) -> list[Counts]:
        """The tables of a batch; axes: other, given..., x."""

        def count(questions: Sequence[Question]) -> list[Counts]:
            tables: list[Counts] = []
            for x, given, others in questions:
                tables += self._statistics.extensions(x, given, others)
            return tables

        questions = batch.questions
        if self._num_threads < 2 or len(questions) < 2 or self._statistics.total < _FEW_ROWS:
            return count(questions)
        limits = np.linspace(0, len(questions), 4 * self._num_threads + 1).astype(int).tolist()
        stretches = [questions[start:end] for start, end in pairwise(limits)]
        with ThreadPoolExecutor(self._num_threads) as pool:
            return [table for tables in pool.map(count, stretches) for table in tables]


class _Batch(NamedTuple):
    """Questions whose tests are all made, and the places of these tests among all."""

    questions: Sequence[Question]
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


def observed_table(data: TableLike) -> Table:
    """The table, if nothing in it was set from outside: a test would take that for independence."""
    table = Table.read(data)
    if table.interventions:
        names = ", ".join(map(repr, sorted(table.interventions)))
        raise NotSupported(
            f"Tests of independence need rows that were only observed, but {names} was set from outside in some. Leave "
            "these rows out with table.take, or learn by a score."
        )
    return table


def _chi_square_tail(statistics: Floats, degrees: Floats) -> Floats:
    """The probability of a larger value; 1 without degrees of freedom."""
    from scipy.special import gammaincc

    tail: Floats = gammaincc(np.maximum(degrees, 1) / 2, np.maximum(statistics, 0) / 2)
    return np.where((degrees == 0) & ~np.isnan(statistics), 1.0, tail)
