"""Independence of attributes: of preferences, of utilities, of every set (sums, products) or every single one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import reduce
from itertools import combinations
from itertools import product as cartesian
from typing import Literal

import numpy as np

from plausible.base import Floats, FrozenMapping, Result, record
from plausible.errors import InvalidArgument, counted
from plausible.factors import Factor, product
from plausible.factors.alignment import assignment_at
from plausible.utilities.attributes.outcome_tables import (
    Holds,
    Names,
    PreferenceChange,
    TwoSides,
    check_names,
    check_utility,
    largest_miss,
    outcome_text,
    slack,
    two_sides,
)
from plausible.variables import Assignment, State

#: Differences that are looked at in one go.
_BLOCK = 2**22
#: How many groups of outcomes that tie are printed.
_NUM_SHOWN = 8


@record
class PreferentialIndependence(Result, Holds):
    """Whether some attributes are preferentially independent of all others."""

    attributes: tuple[str, ...]  # The ones in question
    holds: bool  # Whether their outcomes come in the same order, ties included, in every context
    #: Two outcomes and two contexts that order them differently: of all the pair with the strongest reversal.
    witness: PreferenceChange | None
    #: By how much the difference of the two outcomes changes between the two contexts; zero where it holds.
    deviation: float

    def __str__(self) -> str:
        names = ", ".join(self.attributes)
        if self.holds:
            return f"{names}: preferentially independent of the other attributes"
        return f"{names}: preferences depend on the other attributes. {self.witness}"


def preferential_independence(utility: Factor, attributes: Names, tolerance: float = 1e-9) -> PreferentialIndependence:
    """Whether U(x, y) ≥ U(x', y) for one y means the same for every y (Koller & Friedman 2009, definition 22.5).

    The relation is not symmetric: see the example. Y are all other attributes; differences of at most the tolerance, as
    a share of the range of U, are indifference. All pairs of outcomes of X are looked at in all contexts: |X|² |Y|
    differences.

    Fame is only welcome together with success:

    >>> taste = Factor({"success": ["no", "yes"], "fame": ["no", "yes"]}, [[1.0, 0.0], [2.0, 3.0]])
    >>> preferential_independence(taste, "success").holds
    True
    >>> print(preferential_independence(taste, "fame"))
    fame: preferences depend on the other attributes. [fame=no] against [fame=yes]: +1 where success=no, -1 where
        success=yes
    """
    sides = two_sides(utility, attributes)
    names = tuple(variable.name for variable in sides.x)
    pair = _strongest_reversal(sides.table, slack(utility, tolerance))
    if pair is None:
        return PreferentialIndependence(names, True, None, 0.0)
    winner, loser = pair
    gain = sides.table[winner] - sides.table[loser]
    here, there = int(gain.argmax()), int(gain.argmin())
    gains = (float(gain[here]), float(gain[there]))
    better, worse = (((sides.row(number), 1.0),) for number in pair)
    change = PreferenceChange(better, worse, sides.column(here), sides.column(there), gains)
    return PreferentialIndependence(names, False, change, gains[0] - gains[1])


def _strongest_reversal(table: Floats, zero: float) -> tuple[int, int] | None:
    """Two outcomes that contexts order differently: by the greatest lesser of gain and loss, then by the gain."""
    found, best = None, (-np.inf, -np.inf)
    size = max(1, _BLOCK // max(1, table.size))
    for start in range(0, len(table), size):
        gains = table[start : start + size, None, :] - table[None]  # first outcome, second outcome, context
        most, least = gains.max(axis=2), gains.min(axis=2)
        is_changed = (most > zero) & (least <= zero)  # a change from worse to equal is one of the swapped pair
        strength = np.where(is_changed, np.minimum(most, -least), -np.inf)
        ties = np.where(strength == strength.max(), most, -np.inf)
        first, second = (int(place) for place in np.unravel_index(int(ties.argmax()), ties.shape))
        if is_changed[first, second] and (strength[first, second], most[first, second]) > best:
            found, best = (start + first, second), (strength[first, second], most[first, second])
    return found


@record
class ConditionalPreference(Result):
    """The order that a context gives to lotteries over the other attributes."""

    context: Assignment  # The attributes that are fixed
    utility: Factor  # The utility of the others in that context
    tolerance: float  # The difference of expected utilities that still counts as indifference

    def expected_utility(self, lottery: Factor) -> float:
        """Of a distribution over the free attributes, extended with certainty of the context."""
        if set(lottery.names) != set(self.utility.names):
            raise InvalidArgument(
                f"The lottery is over {list(lottery.names)}; this context needs one over {list(self.utility.names)}."
            )
        return lottery.expectation(self.utility)

    def prefers(self, first: Factor, second: Factor) -> bool:
        """Whether the first lottery is better than the second by more than the tolerance."""
        return self.expected_utility(first) - self.expected_utility(second) > self.tolerance

    def is_indifferent(self, first: Factor, second: Factor) -> bool:
        """Whether neither is preferred."""
        return not self.prefers(first, second) and not self.prefers(second, first)

    def ranking(self) -> tuple[tuple[Assignment, ...], ...]:
        """The sure outcomes from best to worst, those that tie with the next one in one group."""
        order = np.argsort(-self.utility.flat, kind="stable")
        falls = -np.diff(self.utility.flat[order]) > self.tolerance
        groups = np.split(order, np.flatnonzero(falls) + 1)
        return tuple(tuple(assignment_at(self.utility.scope, int(cell)) for cell in group) for group in groups)

    def __str__(self) -> str:
        """The sure outcomes from best to worst, the first few of many."""
        groups = self.ranking()
        told = [" ~ ".join(f"[{outcome_text(outcome)}]" for outcome in group) for group in groups[:_NUM_SHOWN]]
        end = " > ..." if len(groups) > _NUM_SHOWN else ""
        return f"where {outcome_text(self.context)}: {' > '.join(told)}{end}"


def conditional_preference(
    utility: Factor, context: Mapping[str, State], tolerance: float = 1e-9
) -> ConditionalPreference:
    """The preference over lotteries on X with Y fixed to y (Koller & Friedman 2009, definition 22.6).

    Differences of at most the tolerance, as a share of the range of U, are indifference.

    >>> taste = Factor({"success": ["no", "yes"], "fame": ["no", "yes"]}, [[1.0, 0.0], [2.0, 3.0]])
    >>> conditional_preference(taste, {"success": "yes"}).ranking()
    ((Assignment(fame='yes'),), (Assignment(fame='no'),))
    >>> print(conditional_preference(taste, {"success": "no"}))
    where success=no: [fame=no] > [fame=yes]
    """
    check_utility(utility)
    check_names(context, utility.names)
    return ConditionalPreference(Assignment(context), utility.reduce(context), slack(utility, tolerance))


@record
class UtilityIndependence(Result, Holds):
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
    # The column with the largest range, its best and its worst row.
    table = sides.table
    home = int(np.ptp(table, axis=0).argmax())
    best, worst = int(table[:, home].argmax()), int(table[:, home].argmin())
    offset, scale = table[worst], table[best] - table[worst]
    shape = (table[:, home] - offset[home]) / scale[home] if scale[home] else np.zeros(len(table))
    residual = table - offset - scale * shape[:, None]
    deviation = largest_miss(residual, utility)
    matters = scale[home] > zero
    is_flat = scale <= zero if not allow_constant else scale < -zero
    holds = deviation <= zero and not (matters and is_flat.any())
    witness = None if holds else _witness(sides, (scale, shape, home), residual, zero)
    names = tuple(variable.name for variable in sides.x)
    f, g, h = (Factor.from_flat(scope, part) for scope, part in ((sides.y, offset), (sides.y, scale), (sides.x, shape)))
    return UtilityIndependence(names, holds, f, g if matters else g * 0.0 + 1.0, h, deviation, witness)


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


@record
class MutualUtilityIndependence(Result, Holds):
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

    def __str__(self) -> str:
        if self.holds:
            return f"every set of attributes is utility independent of the others: the utility is {self.form}"
        missed = f"sum and product miss the utility by {self.deviation:.3g}"
        reason = f"no set fails by more than the tolerance, but {missed}" if self.failing is None else self.failing
        return f"not every set of attributes is utility independent of the others. {reason}"


def mutual_utility_independence(utility: Factor, tolerance: float = 1e-9) -> MutualUtilityIndependence:
    """Whether U is Σ U_i(V_i) or Π U_i(V_i) + c (Keeney & Raiffa 1976; Koller & Friedman 2009, proposition 22.2).

    Either form makes each set of attributes utility independent of the rest, as long as the product has no change of
    sign, and these are the only forms that do. In a product (a - c)(d - c) = (b - c)(e - c) for the four corners of any
    rectangle of outcomes; the one with the largest mixed difference a + d - b - e gives c. The tolerance is a share of
    the range of U. The forms cost a few passes over the table; a failing set is looked for among all of them, small
    ones first.

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
    # Functions of single axes that add up to the table, if any do: lines through the first cell.
    origin = (0,) * values.ndim
    start = float(values[origin])
    sums = [line - start for line in _lines(values, origin)]
    parts = np.ix_(*sums) if sums else ()
    additive = float(np.abs(values - start - np.asarray(sum(parts, np.zeros(())))).max())
    if additive <= zero:
        return MutualUtilityIndependence(True, "additive", start, 1.0, _factors(utility, sums), additive, None)
    constant, sign, factors = _products(values)
    whole = reduce(np.multiply.outer, factors, np.ones(()))
    multiplicative = float(np.abs(values - constant - sign * whole).max())
    if multiplicative <= zero and whole.min() > zero:
        singles = _factors(utility, factors)
        return MutualUtilityIndependence(True, "multiplicative", constant, sign, singles, multiplicative, None)
    sets = (names for size in range(1, len(utility.scope)) for names in combinations(utility.names, size))
    answers = (utility_independence(utility, names, tolerance=tolerance) for names in sets)
    failing = next((answer for answer in answers if not answer.holds), None)
    return MutualUtilityIndependence(False, None, 0.0, 1.0, (), min(additive, multiplicative), failing)


def _lines(values: Floats, cell: Sequence[int]) -> list[Floats]:
    """The lines through a cell along each axis."""
    return [np.moveaxis(values, axis, -1)[tuple(np.delete(cell, axis))] for axis in range(values.ndim)]


def _products(values: Floats) -> tuple[float, float, list[Floats]]:
    """c, the sign of U - c where it is largest, and functions of single axes whose product is |U - c|, if any is."""
    # The corners of a rectangle, one side along an axis, with a large mixed difference a - b - e + d. Differences are
    # taken from the first cell of each side: at least a quarter of the largest one of all.
    (a, b, e, d), widest = np.zeros(4), -1.0
    for axis in range(values.ndim):
        matrix = np.moveaxis(values, axis, 0).reshape(values.shape[axis], -1)
        mixed = matrix - matrix[:1] - matrix[:, :1] + matrix[0, 0]
        row, column = np.unravel_index(int(np.abs(mixed).argmax()), mixed.shape)
        if abs(mixed[row, column]) > widest:
            widest = float(abs(mixed[row, column]))
            a, b, e, d = matrix[0, 0], matrix[row, 0], matrix[0, column], matrix[row, column]
    constant = float((a * d - b * e) / (a + d - b - e))
    shifted = values - constant
    home = tuple(int(place) for place in np.unravel_index(int(np.abs(shifted).argmax()), values.shape))
    sign, scale = float(np.sign(shifted[home])), abs(float(shifted[home]))
    first, *others = (np.abs(line) / scale for line in _lines(shifted, home))
    return constant, sign, [first * scale, *others]


def _factors(utility: Factor, lines: list[Floats]) -> tuple[Factor, ...]:
    return tuple(Factor((variable,), line) for variable, line in zip(utility.scope, lines, strict=True))


@record
class MultilinearForm(Result, Holds):
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

    def __str__(self) -> str:
        if self.failing is not None:
            return f"not multilinear: {self.failing}"
        if not self.holds:
            return f"not multilinear: no attribute fails by more than the tolerance, the form by {self.deviation:.3g}"
        return f"multilinear with {counted(self.num_coefficients, 'coefficient')}, within {self.deviation:.3g}"


def multilinear_form(utility: Factor, tolerance: float = 1e-9) -> MultilinearForm:
    """The multilinear form of a utility, by least squares (Koller & Friedman 2009, proposition 22.3).

    The shapes h_i are those of `utility_independence`; given these, the coefficients are linear, and as outcomes form a
    grid they are fitted one axis at a time. The tolerance is a share of the range of U. There are 2^k numbers for k
    attributes.

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
