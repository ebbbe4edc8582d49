"""The units in which expected moments are summed: those in which each column has mean zero and variance one."""

from __future__ import annotations

from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.incomplete.cases import Cases

__all__ = ["NumberUnits"]


#: A deviation below this share of the mean is rounding.
_ROUNDING = 1e-12


class NumberUnits(NamedTuple):
    """(x - center) / scale for each continuous variable.

    Digits are lost where large means are summed, and a floor of variances means something only relative to the spread
    of a column. A variable that no case observes, or that never varies, has the scale one.

    >>> from plausible.variables import Variable
    >>> NumberUnits.of(Cases.of([Variable("x")], {"x": [1.0, 5.0, None]}, has_numbers=True))
    NumberUnits(names=('x',), center=array([3.]), scale=array([2.]))
    """

    names: tuple[str, ...]
    center: Floats
    scale: Floats

    @classmethod
    def of(cls, cases: Cases) -> NumberUnits:
        """The units of the numbers that are observed."""
        known = ~np.isnan(cases.numbers)
        totals = cases.weights @ known
        divisor = np.where(totals > 0, totals, 1.0)
        center = cases.weights @ np.where(known, cases.numbers, 0.0) / divisor
        variance = cases.weights @ np.where(known, cases.numbers - center, 0.0) ** 2 / divisor
        varies = variance > (_ROUNDING * center) ** 2
        return cls(tuple(cases.continuous), center, np.sqrt(np.where(varies, variance, 1.0)))

    def some(self, names: Sequence[str]) -> NumberUnits:
        """The units of some of the variables, in the order given."""
        places = [self.names.index(name) for name in names]
        return NumberUnits(tuple(names), self.center[places], self.scale[places])

    def standard(self, numbers: Floats) -> Floats:
        """Numbers in these units; the last axis is that of the variables."""
        return np.asarray((numbers - self.center) / self.scale)
