"""Means and scatter matrices: all that Gaussian learning asks of data."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import WEIGHT_NOISE
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.variables import Variable

__all__ = ["MomentStatistics", "Moments"]


_LACKING = "These moments lack rows that are taken away from them. Take away only moments of rows that are in them."


@dataclass(frozen=True, slots=True, eq=False)
class Moments:
    """The sufficient statistics of a Gaussian; sums, differences and multiples of moments are moments.

    Attributes
    ----------
    weight
        N: how much the rows weigh.
    num_rows
        How many of them weigh anything.
    mean
        x̄, a number for each variable.
    scatter
        Σ w (x - x̄)(x - x̄)ᵀ over the rows.
    """

    weight: float
    num_rows: float
    mean: Floats
    scatter: Floats

    @classmethod
    def of_rows(cls, numbers: Floats, weights: Floats | None = None) -> Moments:
        """The moments of rows; a line of `numbers` for each variable.

        The first row is subtracted before anything is summed, so that a constant has a scatter of exactly zero and
        large means cost no digits.
        """
        num_variables, num_rows = numbers.shape
        if not num_rows or (weights is not None and not weights.any()):
            return cls(0.0, 0, np.zeros(num_variables), np.zeros((num_variables, num_variables)))
        shift = numbers[:, :1]
        shifted = numbers - shift
        weight = float(num_rows if weights is None else weights.sum())
        means = (shifted.sum(axis=1) if weights is None else shifted @ weights) / weight
        shifted -= means[:, None]
        scatter = (shifted if weights is None else shifted * weights) @ shifted.T
        counted = num_rows if weights is None else int(np.count_nonzero(weights))
        return cls(weight, counted, means + shift[:, 0], scatter)

    @property
    def num_cases(self) -> float:
        """How many cases the rows are: what they weigh, but at least one each."""
        return max(self.weight, self.num_rows)

    def __add__(self, other: Moments) -> Moments:
        """The moments of the rows of both; of a difference, those that are left."""
        weight = self.weight + other.weight
        if abs(weight) <= WEIGHT_NOISE * (abs(self.weight) + abs(other.weight)):
            return Moments(0.0, 0, np.zeros_like(self.mean), np.zeros_like(self.scatter))
        apart = other.mean - self.mean
        between = np.outer(apart, apart) * (self.weight * other.weight / weight)
        mean = self.mean + apart * (other.weight / weight)
        parts = (self.scatter, other.scatter, between)
        return Moments(weight, self.num_rows + other.num_rows, mean, _left(weight, parts))

    def __mul__(self, factor: float) -> Moments:
        """Each row counted as often as the factor says; negative ones are taken away when added."""
        rows = self.num_rows * np.sign(factor)
        return Moments(self.weight * factor, float(rows), self.mean, self.scatter * factor)


@dataclass(frozen=True, slots=True, eq=False)
class MomentStatistics:
    """The moments of the continuous variables of a table, which must be complete in them; made by `of`.

    Sums, differences and multiples of statistics of the same variables are statistics. Memory: n² numbers, and as many
    for each variable that was set from outside in some rows.

    Attributes
    ----------
    variables
        Name -> continuous variable, in the order of the moments.
    common
        The moments of all rows.
    own
        Name -> the moments of the rows in which that variable was not set from outside, if it was in any.
    """

    variables: Mapping[str, Variable]
    common: Moments
    own: Mapping[str, Moments] = field(default_factory=lambda: MappingProxyType({}))

    @classmethod
    def of(cls, data: TableLike) -> MomentStatistics:
        """The moments of a table, or of what `Table.read` takes.

        Examples
        --------
        >>> statistics = MomentStatistics.of({"height": [1.5, 1.75, 1.75, 2.0], "weight": [50.5, 70.0, 70.0, 89.5]})
        >>> statistics.moments("weight").mean
        array([ 1.75, 70.  ])
        >>> statistics.moments("weight").scatter
        array([[1.250e-01, 9.750e+00],
               [9.750e+00, 7.605e+02]])
        """
        table = Table.read(data)
        for name, number in table.missing.items():
            if table.variables[name].is_continuous:
                raise InvalidArgument(
                    f"{name!r} is missing in {number} of {table.num_rows} rows; moments need complete columns. Leave "
                    "these rows out."
                )
        variables = {name: table.variables[name] for name in table.continuous}
        set_rows = {name: mask for name, mask in table.interventions.items() if name in variables}
        own = {name: _moments(table.take(~mask)) for name, mask in set_rows.items()}
        return cls(MappingProxyType(variables), _moments(table), MappingProxyType(own))

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return self.common.weight

    def moments(self, child: str) -> Moments:
        """The moments of all variables in the rows that say something about a child."""
        if child not in self.variables:
            raise UnknownVariable.named(child, self.variables, "these moments")
        found = self.own.get(child, self.common)
        if found.weight < 0:
            raise InvalidArgument(_LACKING)
        return found

    def __add__(self, other: MomentStatistics) -> MomentStatistics:
        """What both have seen."""
        return self._combined(other, 1.0)

    def __sub__(self, other: MomentStatistics) -> MomentStatistics:
        """What was seen without what the other has seen, such as rows that are forgotten."""
        return self._combined(other, -1.0)

    def __mul__(self, factor: float) -> MomentStatistics:
        """Each row counted as often as the factor says."""
        own = {name: moments * factor for name, moments in self.own.items()}
        return MomentStatistics(self.variables, self.common * factor, MappingProxyType(own))

    __rmul__ = __mul__

    def _combined(self, other: MomentStatistics, sign: float) -> MomentStatistics:
        if list(self.variables) != list(other.variables):
            raise InvalidArgument(
                f"Only moments of the same variables can be combined, not those of {list(self.variables)} with "
                f"{list(other.variables)}. Select the same columns of both, in one order."
            )
        names = [name for name in self.variables if name in self.own or name in other.own]
        own = {name: self.moments(name) + other.moments(name) * sign for name in names}
        return MomentStatistics(self.variables, self.common + other.common * sign, MappingProxyType(own))


def _left(weight: float, parts: Sequence[Floats]) -> Floats:
    """The sum of scatters, in which no variable may owe any; rounding is."""
    scatter = np.sum(parts, axis=0)
    own = np.diag(scatter) * np.sign(weight)
    if own.min(initial=0.0) >= 0:
        return np.asarray(scatter)
    if (own < -WEIGHT_NOISE * np.abs([np.diag(part) for part in parts]).sum(axis=0)).any():
        raise InvalidArgument(_LACKING)
    constant = own <= 0
    scatter[constant] = scatter[:, constant] = 0.0
    return np.asarray(scatter)


def _moments(table: Table) -> Moments:
    weights: Any = table.weights
    return Moments.of_rows(table.numbers, weights)
