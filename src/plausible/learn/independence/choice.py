"""The test that a name, or the kinds of the variables, stand for."""

from __future__ import annotations

from collections.abc import Callable
from typing import Literal, TypeAlias

from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, suggestion
from plausible.learn.independence.conditional_gaussian_test import ConditionalGaussianTest
from plausible.learn.independence.count_tests import ChiSquareTest, GTest
from plausible.learn.independence.fisher_z import FisherZ
from plausible.learn.independence.independence_test import IndependenceTest
from plausible.learn.independence.permutation_test import PermutationTest

__all__ = ["TestName", "read_test"]

TestName: TypeAlias = Literal["auto", "g", "chi-square", "permutation", "fisher-z", "conditional-gaussian"]

_TESTS: dict[str, Callable[[Table], IndependenceTest]] = {
    "g": GTest,
    "chi-square": ChiSquareTest,
    "permutation": PermutationTest,
    "fisher-z": FisherZ,
    "conditional-gaussian": ConditionalGaussianTest,
}


def read_test(source: TableLike | IndependenceTest, name: TestName = "auto") -> IndependenceTest:
    """A test of data.

    Parameters
    ----------
    source
        A test, which is returned, or what `Table.read` takes.
    name
        Which test; "auto" is G for discrete variables, Fisher's z for continuous ones, and the conditional Gaussian
        test for both.

    Examples
    --------
    >>> type(read_test({"A": ["no", "yes"], "B": ["no", "yes"]})).__name__
    'GTest'
    """
    if isinstance(source, IndependenceTest):
        return source
    table = Table.read(source)
    if name == "auto":
        kinds = {variable.is_continuous for variable in table.variables.values()}
        name = "conditional-gaussian" if len(kinds) > 1 else "fisher-z" if kinds == {True} else "g"
    if name not in _TESTS:
        raise InvalidArgument(f"There is no test {name!r}.{suggestion(name, ['auto', *_TESTS])}")
    for column, num_missing in table.missing.items():
        raise InvalidArgument(
            f"{column!r} is missing in {num_missing} of {table.num_rows} rows; tests need complete columns. Leave "
            "these rows out, as frame.dropna() does, fill them in by pb.learn.impute, or search by a score with EM, "
            "without hidden causes: pb.learn.structural_em."
        )
    test = _TESTS[name](table)
    left = [variable for variable in table.variables if variable not in test.names]
    if left:
        raise InvalidArgument(
            f"The test {name!r} can't be used for {left[0]!r}, which is of the other kind. Use "
            "'conditional-gaussian', or discretise it."
        )
    return test
