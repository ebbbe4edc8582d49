"""The multilinear form: every single attribute utility independent of the rest."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import product as cartesian

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.frozen import FrozenMapping
from plausible.base.records import record
from plausible.errors import counted
from plausible.factors import Factor
from plausible.utilities.attributes.outcome_tables import check_utility, largest_miss, slack
from plausible.utilities.attributes.utility_independence import UtilityIndependence, utility_independence


@record
class MultilinearForm:
    """U = Σ_S k_S Π_{i ∈ S} h_i(V_i), over all sets S of attributes."""

    holds: bool  # Whether every attribute is utility independent of the others and the form reproduces U
    shapes: Mapping[str, Factor]  # Name -> h_i, from 0 to 1
    coefficients: Mapping[tuple[str, ...], float]  # Set of names (a tuple) -> k_S; that of the empty set is a constant
    deviation: float  # The largest difference between U and the form, whose coefficients are those of least squares
    #: An attribute that is not utility independent of the others, with its witness; None where all are.
    failing: UtilityIndependence | None

    @property
    def num_coefficients(self) -> int:
        """2^k - 1 of them, beside the constant."""
        return len(self.coefficients) - 1

    def table(self) -> Factor:
        """The utility in this form."""
        corners = np.array(list(self.coefficients.values())).reshape([2] * len(self.shapes))
        designs = [_design(shape.flat) for shape in self.shapes.values()]
        scope = tuple(shape.scope[0] for shape in self.shapes.values())
        return Factor.from_flat(scope, _along_axes(corners, designs).reshape(-1))

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        if self.failing is not None:
            return f"not multilinear: {self.failing}"
        if not self.holds:
            return f"not multilinear: no attribute fails by more than the tolerance, the form by {self.deviation:.3g}"
        return f"multilinear with {counted(self.num_coefficients, 'coefficient')}, within {self.deviation:.3g}"


def multilinear_form(utility: Factor, tolerance: float = 1e-9) -> MultilinearForm:
    """The multilinear form of a utility, by least squares (Koller & Friedman 2009, proposition 22.3).

    The shapes h_i are those of `utility_independence`; given these, the coefficients are linear, and as outcomes form a
    grid they are fitted one axis at a time.

    Parameters
    ----------
    utility
        A factor over all attributes.
    tolerance
        As a share of the range of U.

    Notes
    -----
    2^k numbers for k attributes.

    Examples
    --------
    >>> values = np.fromfunction(lambda a, b, c: a + b + 2 * c + 3 * a * b - a * b * c, (2, 2, 2))
    >>> form = multilinear_form(Factor({"A": 2, "B": 2, "C": 2}, values))
    >>> form.holds, form.num_coefficients
    (True, 7)
    >>> round(form.coefficients["A", "B"], 9), round(form.coefficients["A", "B", "C"], 9)
    (3.0, -1.0)
    """
    check_utility(utility)
    answers = [utility_independence(utility, name, tolerance=tolerance) for name in utility.names]
    inverses = [np.asarray(np.linalg.pinv(_design(answer.shape.flat)), dtype=np.float64) for answer in answers]
    corners = _along_axes(utility.values, inverses)
    sets = (
        tuple(name for name, is_in in zip(utility.names, digits, strict=True) if is_in)
        for digits in cartesian((0, 1), repeat=len(answers))
    )
    failing = next((answer for answer in answers if not answer.holds), None)
    shapes = {name: answer.shape for name, answer in zip(utility.names, answers, strict=True)}
    coefficients = dict(zip(sets, map(float, corners.reshape(-1)), strict=True))
    form = MultilinearForm(False, FrozenMapping(shapes), FrozenMapping(coefficients), 0.0, failing)
    deviation = largest_miss(form.table().flat - utility.flat, utility)
    holds = failing is None and deviation <= slack(utility, tolerance)
    return MultilinearForm(holds, form.shapes, form.coefficients, deviation, failing)


def _design(shape: Floats) -> Floats:
    return np.column_stack([np.ones(len(shape)), shape])


def _along_axes(table: Floats, matrices: list[Floats]) -> Floats:
    """The table with each of its axes multiplied by a matrix of its own."""
    for axis, matrix in enumerate(matrices):
        table = np.moveaxis(np.tensordot(matrix, table, axes=(1, axis)), 0, axis)
    return table
