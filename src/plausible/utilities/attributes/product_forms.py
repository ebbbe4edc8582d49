"""Every set of attributes utility independent of its complement: utilities that are sums or products."""

from __future__ import annotations

from collections.abc import Sequence
from functools import reduce
from itertools import combinations
from typing import Literal

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.errors import InvalidArgument
from plausible.factors import Factor, product
from plausible.utilities.attributes.outcome_tables import check_utility, slack
from plausible.utilities.attributes.utility_independence import UtilityIndependence, utility_independence


@record
class MutualUtilityIndependence:
    """Whether every set of attributes is utility independent of its complement."""

    holds: bool  # The answer
    #: "additive", U = Σ U_i + c; "multiplicative", U = ± Π U_i + c with positive U_i; None where it is neither.
    form: Literal["additive", "multiplicative"] | None
    constant: float  # c
    sign: float  # 1, or -1 where the product is subtracted from c
    #: U_i, one factor for each attribute: a linear number of parameters. Empty where it is neither form.
    parts: tuple[Factor, ...]
    deviation: float  # The largest difference between U and the form that is nearer
    #: A set of attributes that is not utility independent of the others, with its witness; None where none was found.
    failing: UtilityIndependence | None

    def table(self) -> Factor:
        """The utility in that form."""
        if self.form is None:
            raise InvalidArgument("This utility is neither a sum nor a product of functions of single attributes.")
        whole = sum(self.parts, Factor.scalar(0.0)) if self.form == "additive" else product(self.parts)
        return whole * self.sign + self.constant

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.holds:
            return f"every set of attributes is utility independent of the others: the utility is {self.form}"
        return f"not every set of attributes is utility independent of the others. {self._reason}"

    @property
    def _reason(self) -> str:
        if self.failing is not None:
            return str(self.failing)
        return f"no set fails by more than the tolerance, but sum and product miss the utility by {self.deviation:.3g}"


def mutual_utility_independence(utility: Factor, tolerance: float = 1e-9) -> MutualUtilityIndependence:
    """Whether U is Σ U_i(V_i) or Π U_i(V_i) + c (Keeney & Raiffa 1976; Koller & Friedman 2009, proposition 22.2).

    Either form makes each set of attributes utility independent of the rest, as long as the product has no change of
    sign, and these are the only forms that do. In a product (a - c)(d - c) = (b - c)(e - c) for the four corners of
    any rectangle of outcomes; the one with the largest mixed difference a + d - b - e gives c.

    Parameters
    ----------
    utility
        A factor over all attributes.
    tolerance
        As a share of the range of U.

    Notes
    -----
    The forms cost a few passes over the table; a failing set is looked for among all of them, small ones first.

    Examples
    --------
    >>> health = Factor({"years": [0, 1], "quality": [0, 1]}, [[3.0, 4.0], [5.0, 8.0]])  # 2 + (1 + 2y)(1 + q)
    >>> answer = mutual_utility_independence(health)
    >>> answer.form, answer.constant
    ('multiplicative', 2.0)
    >>> print(mutual_utility_independence(Factor({"success": 2, "fame": 2}, [[1.0, 0.0], [2.0, 3.0]])))
    not every set of attributes is utility independent of the others. fame: not utility independent of the other
        attributes. [fame=0] against [fame=1]: +1 where success=0, -1 where success=1
    """
    check_utility(utility)
    zero = slack(utility, tolerance)
    values = utility.values
    sums, start = _sums(values)
    additive = float(np.abs(values - start - _outer_sum(sums, values.ndim)).max())
    if additive <= zero:
        return MutualUtilityIndependence(True, "additive", start, 1.0, _factors(utility, sums), additive, None)
    constant, sign, factors = _products(values)
    whole = reduce(np.multiply.outer, factors, np.ones(()))
    multiplicative = float(np.abs(values - constant - sign * whole).max())
    if multiplicative <= zero and whole.min() > zero:
        parts = _factors(utility, factors)
        return MutualUtilityIndependence(True, "multiplicative", constant, sign, parts, multiplicative, None)
    failing = _first_failing(utility, tolerance)
    return MutualUtilityIndependence(False, None, 0.0, 1.0, (), min(additive, multiplicative), failing)


def _lines(values: Floats, cell: Sequence[int]) -> list[Floats]:
    """The lines through a cell along each axis."""
    return [np.moveaxis(values, axis, -1)[tuple(np.delete(cell, axis))] for axis in range(values.ndim)]


def _sums(values: Floats) -> tuple[list[Floats], float]:
    """The functions of single axes that add up to the table, if any do: from lines through the first cell."""
    origin = (0,) * values.ndim
    return [line - values[origin] for line in _lines(values, origin)], float(values[origin])


def _outer_sum(lines: list[Floats], num_axes: int) -> Floats:
    shapes = (tuple(-1 if place == axis else 1 for place in range(num_axes)) for axis in range(num_axes))
    return np.asarray(sum((line.reshape(shape) for line, shape in zip(lines, shapes, strict=True)), np.zeros(())))


def _products(values: Floats) -> tuple[float, float, list[Floats]]:
    """c, the sign of U - c where it is largest, and functions of single axes whose product is |U - c|, if any is."""
    a, b, e, d = _widest_rectangle(values)
    constant = float((a * d - b * e) / (a + d - b - e))
    shifted = values - constant
    home = tuple(int(place) for place in np.unravel_index(int(np.abs(shifted).argmax()), values.shape))
    sign, scale = float(np.sign(shifted[home])), abs(float(shifted[home]))
    first, *others = (np.abs(line) / scale for line in _lines(shifted, home))
    return constant, sign, [first * scale, *others]


def _widest_rectangle(values: Floats) -> Floats:
    """The corners a, b, e, d of a rectangle, one side along an axis, with a large mixed difference a - b - e + d.

    Differences are taken from the first cell of each side: at least a quarter of the largest one of all.
    """
    best, widest = np.zeros(4), -1.0
    for axis in range(values.ndim):
        matrix = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
        mixed = matrix - matrix[:1] - matrix[:, :1] + matrix[0, 0]
        row, column = np.unravel_index(int(np.abs(mixed).argmax()), mixed.shape)
        if abs(mixed[row, column]) > widest:
            widest = float(abs(mixed[row, column]))
            best = np.array([matrix[0, 0], matrix[row, 0], matrix[0, column], matrix[row, column]])
    return best


def _factors(utility: Factor, lines: list[Floats]) -> tuple[Factor, ...]:
    return tuple(Factor((variable,), line) for variable, line in zip(utility.scope, lines, strict=True))


def _first_failing(utility: Factor, tolerance: float) -> UtilityIndependence | None:
    for size in range(1, len(utility.scope)):
        for names in combinations(utility.names, size):
            answer = utility_independence(utility, names, tolerance=tolerance)
            if not answer.holds:
                return answer
    return None
