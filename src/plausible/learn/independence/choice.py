"""The test that a name, or the kinds of the variables, stand for."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Literal, TypeAlias

from plausible.data.statistics import Statistics
from plausible.data.table import Table
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.independence.count_tests import ChiSquareTest, GTest, PermutationTest
from plausible.learn.independence.gaussian_tests import ConditionalGaussianTest, FisherZ
from plausible.learn.independence.independence_test import IndependenceTest

TestName: TypeAlias = Literal["auto", "g", "chi-square", "permutation", "fisher-z", "conditional-gaussian"]

_TESTS: dict[str, Callable[[Statistics], IndependenceTest]] = {
    "g": GTest,
    "chi-square": ChiSquareTest,
    "permutation": PermutationTest,
    "fisher-z": FisherZ,
    "conditional-gaussian": ConditionalGaussianTest,
}


def read_test(
    source: DataLike | IndependenceTest, name: TestName = "auto", named: Iterable[str] = ()
) -> IndependenceTest:
    """A test of data, without columns that are hardly variables, unless they are named."""
    if isinstance(source, IndependenceTest):
        return source
    statistics = source if isinstance(source, Statistics) else TableStatistics(Table.for_learning(source, named))
    if name == "auto":
        name = "g" if not statistics.continuous else "conditional-gaussian" if statistics.discrete else "fisher-z"
    if name not in _TESTS:
        raise InvalidArgument(f"There is no test {name!r}.{suggestion(name, ['auto', *_TESTS])}")
    for column, num_missing in statistics.missing.items():
        raise InvalidArgument(
            f"{column!r} is missing in {num_missing} of {statistics.num_rows:g} rows; tests need complete columns. "
            "Leave these rows out, as frame.dropna() does, fill them in by pb.learn.impute, or search by a score with "
            "EM, without hidden causes: pb.learn.structural_em."
        )
    test = _TESTS[name](statistics)
    left = [variable for variable in statistics.variables if variable not in test.names]
    if left:
        raise InvalidArgument(
            f"The test {name!r} can't be used for {left[0]!r}, which is of the other kind. Use "
            "'conditional-gaussian', or discretise it."
        )
    return test
