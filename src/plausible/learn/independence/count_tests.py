"""Tests of independence on counts: chi-square, G, and against tables drawn with the same margins."""

from __future__ import annotations

import math
import zlib
from collections.abc import Iterator, Sequence
from typing import Any, ClassVar, NamedTuple, final

import numpy as np
from numpy.typing import NDArray

from plausible.base import Flags, Floats, Ints
from plausible.data.statistics import Request, Statistics, in_order
from plausible.data.stream_statistics import read_statistics
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, NotSupported
from plausible.kernels.counting import measure_dependence
from plausible.learn.independence.independence_test import (
    Answers,
    IndependenceResult,
    IndependenceTest,
    Question,
    single_tests,
)

_CELLS_AT_ONCE = 2**20  # Tables of about so many cells are measured together
_MAX_GIVEN_SPARSE = 2  # Sparse tables are tested with at most so many given, if they have no more cells than the above
_NO_VARIANCE = 1e-9  # Of the squared mean: what rounding leaves where all tables with the same margins are alike


class CountTest(IndependenceTest):
    """A test of discrete variables that compares counts with those expected under independence.

    Each joint state z of what is given is a stratum; a statistic of its table of x and y is summed over them, and has a
    chi-square distribution with Σ_z (r_z - 1)(c_z - 1) degrees of freedom, r_z and c_z being the rows and columns of
    the stratum that are not empty. Without that adjustment (`adjust=False`) it would be (|x| - 1)(|y| - 1) Π |z|, too
    many in a sparse table. Where no stratum has two rows and two columns there are none: what is given determines x or
    y (Spirtes, Glymour & Scheines 2000, Causation, Prediction, and Search, section 5.5).

    With fewer than `min_rows_per_degree` rows for each of the (|x| - 1)(|y| - 1) Π |z| degrees of freedom the
    chi-square distribution is far off. With at most two variables given the statistic is then Pearson's, and has a
    gamma distribution with the mean and the variance that it has in all tables with the same margins (Haldane 1940).
    With more given such a test is not reliable and not made: it would hardly ever reject (Tsamardinos et al. 2006).
    """

    _is_pearson: ClassVar[bool]

    def __init__(
        self, data: DataLike, *, min_rows_per_degree: float = 5.0, adjust: bool = True, num_threads: int = 2
    ) -> None:
        if min_rows_per_degree < 0:
            raise InvalidArgument(f"min_rows_per_degree={min_rows_per_degree} can't be negative.")
        statistics = read_statistics(data, num_threads=num_threads)
        self._statistics = only_observed(statistics)
        self._sizes = {name: statistics.variables[name].num_states for name in statistics.discrete}
        self.names = tuple(self._sizes)
        self._min_rows, self._adjust = min_rows_per_degree, adjust

    def ask(self, questions: Sequence[Question]) -> Answers:
        if not questions:
            return Answers.of(())
        from scipy.special import gammaincc

        sizes, listed = self._sizes, []
        for x, given, others in questions:
            num_strata = math.prod([sizes[name] for name in given])
            listed += [(sizes[other], num_strata, sizes[x]) for other in others]
        shapes = np.array(listed, dtype=np.int64).reshape(-1, 3)
        nominal = (shapes[:, 0] - 1) * shapes[:, 1] * (shapes[:, 2] - 1)
        total = self._statistics.total
        reliable = (total > 0) & (self._min_rows * nominal <= total)
        statistics, degrees = np.full(len(shapes), np.nan), nominal.astype(np.float64)
        for requests, places in self._batches(questions, shapes, reliable):
            # tables with the axes (other, given..., x), counted together and compared with independence
            answers = self._statistics.counts_of(requests)
            tables = [table.reshape(-1) for stacks in answers for table in in_order(stacks)]
            measured, used = np.zeros(len(places)), np.zeros(len(places), dtype=np.int64)
            counts = np.concatenate(tables, dtype=np.float64)
            measure_dependence(counts, shapes[places], self._is_pearson, measured, used)
            statistics[places] = measured
            degrees[places] = used if self._adjust else np.where(used == 0, 0.0, degrees[places])
        tail: Floats = gammaincc(np.maximum(degrees, 1) / 2, np.maximum(statistics, 0) / 2)
        tail = np.where((degrees == 0) & ~np.isnan(statistics), 1.0, tail)
        found = Answers(statistics, tail, degrees, reliable)
        if total > 0 and not reliable.all():
            self._test_sparse_tables(questions, found, ~reliable & (shapes.prod(axis=1) <= _CELLS_AT_ONCE))
        return found

    def _test_sparse_tables(self, questions: Sequence[Question], answers: Answers, chosen: Flags) -> None:
        """Make the tests chosen that have few given, where the tables with the same margins differ at all."""
        from scipy.special import gammaincc

        pairs = single_tests(questions)
        for place in np.flatnonzero(chosen).tolist():
            x, y, given = pairs[place]
            if len(given) > _MAX_GIVEN_SPARSE:
                continue
            counts = self._statistics.counts_of([Request(y, (*given, x))])[0][0].counts[0]
            strata = np.ascontiguousarray(counts.reshape(-1, *counts.shape[-2:]).swapaxes(0, 1), dtype=np.float64)
            if not np.array_equal(strata, np.rint(strata)):  # fractional weights are no rows that could be permuted
                continue
            statistic, used = np.zeros(1), np.zeros(1, dtype=np.int64)
            measure_dependence(strata.reshape(-1), np.array([strata.shape]), True, statistic, used)
            mean, variance = _moments_of_tables(strata.sum(axis=2), strata.sum(axis=0))
            if variance > _NO_VARIANCE * mean**2:
                p_value = gammaincc(mean**2 / variance, statistic[0] * mean / variance)
            elif used[0] == 0:
                p_value = 1.0
            else:  # as where each row has a state of its own
                continue
            answers.statistics[place], answers.p_values[place] = statistic[0], p_value
            answers.degrees_of_freedom[place], answers.are_reliable[place] = used[0], True

    def _batches(
        self, questions: Sequence[Question], shapes: Ints, reliable: Flags
    ) -> Iterator[tuple[list[Request], list[int]]]:
        """The reliable tests in batches, their tables small enough to be held together; and their places among all."""
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
                yield asked, places
                asked, places, num_cells = [], [], 0
        if places:
            yield asked, places


def _moments_of_tables(rows: Floats, columns: Floats) -> tuple[float, float]:
    """The mean and variance of Pearson's statistic, summed over strata, of all tables with the same margins.

    With T = Σ n² / (r c) in a stratum of N rows the statistic is N (T - 1). Powers of counts are sums of falling
    factorials, whose means are E n^(m) = r^(m) c^(m) / N^(m), and alike for two cells; sums over cells are products of
    sums over rows and over columns. Haldane (1940), The mean and variance of χ², when used as a test of homogeneity,
    when expectations are small.

    `rows` has the shape (state, stratum), `columns` (stratum, state).
    """
    totals = columns.sum(axis=1)
    sides = [_MarginSums.of(rows.T[totals > 1]), _MarginSums.of(columns[totals > 1])]
    number = totals[totals > 1]
    falling = np.cumprod([np.maximum(number - k, 0.0) for k in range(4)], axis=0)  # N^(1), ... N^(4)
    over = np.divide(1.0, falling, out=np.zeros_like(falling), where=falling > 0)
    first = [left * right for left, right in zip(*(side.sums for side in sides), strict=True)]
    mean = first[0] * over[0] + first[1] * over[1]
    same_cell = sides[0].squares * sides[1].squares * over
    second = np.array([1.0, 7.0, 6.0, 1.0]) @ same_cell
    for a, b in ((0, 0), (0, 1), (1, 0), (1, 1)):
        apart = [side.sums[a] * side.sums[b] - side.products[a + b] for side in sides]
        alike = [side.squares[a + b + 1] for side in sides]
        second += (apart[0] * apart[1] + alike[0] * apart[1] + apart[0] * alike[1]) * over[a + b + 1]
    return float(number @ (mean - 1.0)), float(number**2 @ (second - mean**2))


class _MarginSums(NamedTuple):
    """Sums over the states of a margin r of each stratum, r^(m) being r (r - 1) ... (r - m + 1)."""

    sums: Floats  # Σ r^(m) / r for m = 1, 2
    products: Floats  # Σ (r^(a) / r) (r^(b) / r) for a + b = 2, 3, 4
    squares: Floats  # Σ r^(m) / r² for m = 1 to 4

    @classmethod
    def of(cls, margin: Floats) -> _MarginSums:
        ratios = [(margin > 0).astype(np.float64), np.maximum(margin - 1.0, 0.0)]
        falling = np.cumprod([np.maximum(margin - k, 0.0) for k in range(4)], axis=0)
        products = (ratios[0] * ratios[0], ratios[0] * ratios[1], ratios[1] * ratios[1])
        squares = falling / np.maximum(margin, 1.0) ** 2
        return cls(*(np.array([one.sum(axis=1) for one in each]) for each in (ratios, products, squares)))


@final
class GTest(CountTest):
    """The likelihood-ratio test: G = 2 Σ n ln(n / e), which is 2 N times the mutual information of x and y given z.

    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 9, "grass": ["dry", "wet", "wet", "wet"] * 9}
    >>> outcome = GTest(rows).test("rain", "grass")
    >>> round(outcome.statistic, 3), outcome.degrees_of_freedom, outcome.is_independent()
    (15.535, 1.0, False)
    """

    _is_pearson = False


@final
class ChiSquareTest(CountTest):
    """Pearson's test: X² = Σ (n - e)² / e.

    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 9, "grass": ["dry", "wet", "wet", "wet"] * 9}
    >>> round(ChiSquareTest(rows).test("rain", "grass").statistic, 3)
    12.0
    """

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


@final
class PermutationTest(IndependenceTest):
    """A Monte Carlo test of mutual information, right for few rows and sparse tables.

    To permute the values of y among the rows of a stratum is to draw a table with the same margins; that is done
    directly (Patefield 1981), so that the cost does not depend on the rows. The p-value is
    (1 + number of drawn G at least as large) / (1 + number drawn), which is never too small. The semiparametric form
    takes a chi-square distribution whose degrees of freedom are the mean of the drawn G (Tsamardinos & Borboudakis
    2010): it needs fewer draws, and gives small p-values.

    Parameters
    ----------
    data
        What `Table.read` takes, or statistics, without fractional weights.
    num_permutations, semiparametric
        How many tables are drawn, and whether they only tell the degrees of freedom.
    seed
        Draws depend on it and on the names of the variables, not on which tests were made before.

    Examples
    --------
    >>> rows = {"rain": ["no", "no", "yes", "yes"] * 9, "grass": ["dry", "wet", "wet", "wet"] * 9}
    >>> PermutationTest(rows, seed=1).test("rain", "grass").p_value < 0.1
    True
    """

    def __init__(
        self, data: DataLike, *, num_permutations: int = 999, semiparametric: bool = False, seed: int = 0
    ) -> None:
        if num_permutations < 1:
            raise InvalidArgument(f"num_permutations={num_permutations} must be at least 1.")
        self._statistics = only_observed(read_statistics(data))
        self.names = tuple(self._statistics.discrete)
        self._num_permutations, self._semiparametric, self._seed = num_permutations, semiparametric, seed

    def ask(self, questions: Sequence[Question]) -> Answers:
        pairs = single_tests(questions)
        answers = self._statistics.counts_of([Request(y, (*given, x)) for x, y, given in pairs])
        return Answers.of(self._one(*pair, answer[0].counts[0]) for pair, answer in zip(pairs, answers, strict=True))

    def _one(self, x: str, y: str, given: tuple[str, ...], counts: NDArray[Any]) -> IndependenceResult:
        strata = counts.reshape(-1, *counts.shape[-2:])
        if not np.array_equal(strata, np.rint(strata)):
            raise NotSupported("Rows with fractional weights can't be permuted. Use GTest.")
        rng = np.random.default_rng([self._seed, *(zlib.crc32(name.encode()) for name in (x, y, *given))])
        observed, drawn = 0.0, np.zeros(self._num_permutations)
        for stratum in strata[strata.any(axis=(1, 2))].astype(np.int64):
            observed += float(_g(stratum[None])[0])
            drawn += _g(_tables_like(stratum, self._num_permutations, rng))
        if self._semiparametric:
            degrees = float(drawn.mean())
            if degrees <= 0:
                return IndependenceResult(observed, 1.0, 0.0)
            from scipy.special import gammaincc

            return IndependenceResult(observed, float(gammaincc(degrees / 2, observed / 2)), degrees)
        # Sums of logarithms in another order differ by rounding; a tie must count as one.
        extreme = int(np.count_nonzero(drawn >= observed - 1e-9 * max(1.0, observed)))
        return IndependenceResult(observed, (1 + extreme) / (1 + drawn.size), float(drawn.mean()))


def _tables_like(table: Ints, number: int, rng: np.random.Generator) -> NDArray[Any]:
    """Tables with the margins of one, as permutations of its rows would give them."""
    from scipy.stats import random_table

    rows, columns = table.sum(axis=1), table.sum(axis=0)
    if np.count_nonzero(rows) < 2 or np.count_nonzero(columns) < 2:
        return np.broadcast_to(table, (number, *table.shape))
    drawn: NDArray[Any] = random_table(rows[rows > 0], columns[columns > 0]).rvs(number, random_state=rng)
    return drawn.reshape(number, np.count_nonzero(rows), np.count_nonzero(columns))


def _g(tables: NDArray[Any]) -> Floats:
    """2 Σ n ln(n / e) of each table."""

    def entropies(counts: NDArray[Any]) -> Floats:
        flat = counts.reshape(len(counts), -1).astype(np.float64)
        sums: Floats = (flat * np.log(np.maximum(flat, 1.0))).sum(axis=1)
        return sums

    joint, rows, columns = entropies(tables), entropies(tables.sum(axis=2)), entropies(tables.sum(axis=1))
    return np.maximum(2.0 * (joint - rows - columns + entropies(tables.sum(axis=(1, 2))[:, None])), 0.0)
