"""Utility independence: are the utilities in all contexts positive affine images of one another?"""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.utilities.attributes.outcome_tables import Names, TwoSides, largest_miss, slack, two_sides
from plausible.utilities.attributes.witnesses import PreferenceChange


@record
class UtilityIndependence:
    """Whether some attributes X are utility independent of all others Y, and U = f(Y) + g(Y) h(X)."""

    attributes: tuple[str, ...]  # X
    holds: bool  # Whether lotteries over X come in the same order in every context y
    #: f(Y), g(Y) and h(X), h from 0 to 1, as they follow from the context in which X matters most; where it does not
    #: hold, U differs from f + g h by up to `deviation`.
    offset: Factor
    scale: Factor
    shape: Factor
    deviation: float  # The largest |U - f - g h|
    witness: PreferenceChange | None  # Two lotteries over X and two contexts that compare them differently

    def table(self) -> Factor:
        """f(Y) + g(Y) h(X)."""
        return self.offset + self.scale * self.shape

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        names = ", ".join(self.attributes)
        if self.holds:
            return f"{names}: utility independent of the other attributes, within {self.deviation:.3g}"
        return f"{names}: not utility independent of the other attributes. {self.witness}"


def utility_independence(
    utility: Factor, attributes: Names, *, allow_constant: bool = False, tolerance: float = 1e-9
) -> UtilityIndependence:
    """Whether U(X, Y) = f(Y) + g(Y) h(X) with g > 0 (Koller & Friedman 2009, definition 22.7, proposition 22.1).

    Of the context y* with the largest range take best and worst outcome x⁺ and x⁻. Then h is U(·, y*) scaled to [0, 1],
    f(y) = U(x⁻, y), g(y) = U(x⁺, y) - U(x⁻, y), and the claim holds where these reproduce U. An outcome x that they
    miss is the witness: in y* it is as good as the gamble on x⁺ with probability h(x) and x⁻ otherwise, elsewhere not.

    Parameters
    ----------
    utility
        A factor over all attributes.
    attributes
        X; the relation is between a set and all the rest, and not symmetric.
    allow_constant
        Whether contexts in which X does not matter at all, g(y) = 0, are let pass. They are no utility independence in
        the strict sense unless X matters in no context.
    tolerance
        As a share of the range of U.

    Examples
    --------
    >>> taste = Factor({"pay": [1, 2, 3], "place": ["here", "there"]}, [[0, 1], [2, 2], [8, 5]])
    >>> answer = utility_independence(taste, "pay")
    >>> answer.holds, answer.scale.values, answer.shape.values
    (True, array([8., 4.]), array([0.  , 0.25, 1.  ]))
    >>> print(utility_independence(taste, "place"))
    place: not utility independent of the other attributes. [place=here] against [place=there]: +3 where pay=3, -1 where
        pay=1
    """
    sides = two_sides(utility, attributes)
    if not sides.x:
        raise InvalidArgument("Name at least one attribute to ask whether it is independent of the others.")
    zero = slack(utility, tolerance)
    offset, scale, shape, home = _decomposed(sides.table)
    residual = sides.table - offset - scale * shape[:, None]
    deviation = largest_miss(residual, utility)
    matters = scale[home] > zero
    is_flat = scale <= zero if not allow_constant else scale < -zero
    holds = deviation <= zero and not (matters and is_flat.any())
    witness = None if holds else _witness(sides, (scale, shape, home), residual, zero)
    names = tuple(variable.name for variable in sides.x)
    f, g, h = (Factor.from_flat(scope, part) for scope, part in ((sides.y, offset), (sides.y, scale), (sides.x, shape)))
    return UtilityIndependence(names, holds, f, g if matters else g * 0.0 + 1.0, h, deviation, witness)


def _decomposed(table: Floats) -> tuple[Floats, Floats, Floats, int]:
    """f, g and h from the column with the largest range, and the place of that column."""
    home = int(np.ptp(table, axis=0).argmax())
    best, worst = int(table[:, home].argmax()), int(table[:, home].argmin())
    offset, scale = table[worst], table[best] - table[worst]
    shape = (table[:, home] - offset[home]) / scale[home] if scale[home] else np.zeros(len(table))
    return offset, scale, shape, home


def _witness(
    sides: TwoSides, parts: tuple[Floats, Floats, int], residual: Floats, zero: float
) -> PreferenceChange | None:
    scale, shape, home = parts
    best, worst = sides.row(int(shape.argmax())), sides.row(int(shape.argmin()))
    there = int(scale.argmin())
    if scale[there] <= zero < scale[home]:
        gains = (float(scale[home]), float(scale[there]))
        return PreferenceChange(((best, 1.0),), ((worst, 1.0),), sides.column(home), sides.column(there), gains)
    row, column = np.unravel_index(int(np.abs(residual).argmax()), residual.shape)
    gamble = ((best, float(shape[row])), (worst, float(1 - shape[row])))
    gains = (float(residual[row, home]), float(residual[row, column]))
    return PreferenceChange(((sides.row(int(row)), 1.0),), gamble, sides.column(home), sides.column(int(column)), gains)
