"""Factors: real-valued tables over the states of named variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base import QueryInfo, by_label, chart_by, logarithms, own_methods
from plausible.errors import InvalidArgument, InvalidFactor, UnknownVariable
from plausible.factors import conversions
from plausible.factors.alignment import (
    Scope,
    Table,
    align,
    assignment_at,
    axes_named,
    axes_of,
    check_size,
    combine,
    divide,
    dot,
    num_entries,
    read_scope,
    reduce_axes,
    refusing_nan,
    scaled_to_sum,
    scope_text,
    table_shape,
    union_scope,
    wide,
)
from plausible.factors.labelled import MAX_AXES, LabelledTable
from plausible.variables import Assignment, State, Variable

if TYPE_CHECKING:
    import xarray as xr
    from narwhals.typing import IntoDataFrame

    from plausible.base.pictured import Axes, Chart


@own_methods
class Factor(LabelledTable):
    """A table with named axes: a number for each assignment of the variables in its scope.

    Axes are matched by name, so their order never affects what a result means. Factors are immutable; every operation
    returns a new one.

    Parameters
    ----------
    scope
        The variables in the order of the axes: `Variable` objects, or a mapping from names to states.
    values
        An array of shape `(states of scope[0], states of scope[1], ...)`, with finite numbers or ±inf. A pandas
        series or frame with labels is read by these, the states.
    info
        How the numbers were computed, if they answer a query.

    Examples
    --------
    >>> coin = Factor({"coin": ["heads", "tails"]}, [0.5, 0.5])
    >>> call = Factor({"coin": ["heads", "tails"], "call": ["right", "wrong"]}, [[0.9, 0.1], [0.2, 0.8]])
    >>> joint = coin * call
    >>> print(joint.marginalize("coin"))
    call  | value
    ------+------
    right |  0.55
    wrong |  0.45
    """

    __slots__ = ()

    # NumPy leaves products such as np.float64(2) * factor to the factor.
    __array_ufunc__ = None

    def __init__(
        self,
        scope: Iterable[Variable] | Mapping[str, Iterable[State] | int],
        values: npt.ArrayLike,
        *,
        info: QueryInfo | None = None,
    ) -> None:
        ordered = read_scope(scope)
        shape = tuple(variable.num_states for variable in ordered)
        array = _numbers(ordered, values, shape)
        if array.shape != shape:
            hint = "" if len(shape) <= MAX_AXES else f" For more than {MAX_AXES} axes use Factor.from_flat."
            raise InvalidFactor(
                f"The factor over {scope_text(ordered)} needs values of shape {shape}, not {array.shape}.{hint}"
            )
        self._scope = ordered
        self._table = _checked(array.reshape(table_shape(ordered)), ordered)
        self._info = info

    @classmethod
    def from_flat(cls, scope: Iterable[Variable], values: npt.ArrayLike) -> Factor:
        """Make a factor from a flat list of numbers, the last variable's state changing fastest.

        >>> Factor.from_flat([Variable(f"X{i}", 1) for i in range(100)], [7.0]).sum()
        7.0
        """
        ordered = read_scope(scope)
        flat = _numbers(ordered, values, (num_entries(ordered),))
        if flat.shape != (num_entries(ordered),):
            raise InvalidFactor(
                f"The factor over {scope_text(ordered)} needs {num_entries(ordered)} numbers in a row, "
                f"not an array of shape {flat.shape}."
            )
        return cls.trusted(ordered, _checked(flat.reshape(table_shape(ordered)), ordered))

    @classmethod
    def trusted(cls, scope: Scope, table: Table, info: QueryInfo | None = None) -> Factor:
        """From parts that are known to fit, without a check or a copy: for the library's own inner loops.

        `table` has the axes of the variables with two or more states, and belongs to the new factor.
        """
        factor = object.__new__(cls)
        table.setflags(write=False)
        factor._scope, factor._table, factor._info = scope, table, info
        return factor

    @classmethod
    def singles(
        cls, variables: Iterable[Variable], tables: Iterable[Table], info: QueryInfo | None = None
    ) -> list[Factor]:
        """As `trusted`, one factor for each variable, from arrays that nobody can write to: for hundreds at a time."""
        factors = []
        for variable, table in zip(variables, tables, strict=True):
            factor = object.__new__(cls)
            factor._scope, factor._info = (variable,), info
            factor._table = table if len(table) > 1 else table.reshape(())
            factors.append(factor)
        return factors

    @classmethod
    def scalar(cls, value: float) -> Factor:
        """Make a factor with an empty scope: a single number."""
        return cls((), value)

    @classmethod
    def indicator(cls, variable: Variable, state: State) -> Factor:
        """One at `state` and zero elsewhere: 1(X = x)."""
        values = np.zeros(variable.num_states)
        values[variable.index(state)] = 1.0
        return cls((variable,), values)

    @classmethod
    def from_dict(
        cls, scope: Iterable[Variable] | Mapping[str, Iterable[State] | int], values: Mapping[Any, float]
    ) -> Factor:
        """The inverse of `to_dict`; every assignment must be present.

        >>> Factor.from_dict({"A": ["x", "y"]}, {"y": 2.0, "x": 1.0}).values
        array([1., 2.])
        """
        ordered = read_scope(scope)
        return cls.from_flat(ordered, conversions.from_dict(ordered, values))

    @classmethod
    def from_frame(
        cls, frame: IntoDataFrame, value: str = "value", states: Mapping[str, Iterable[State]] | None = None
    ) -> Factor:
        """The inverse of `to_frame`, for any kind of frame: one row for each assignment.

        States and their order come from `states`; else from a categorical column; else in order of appearance.
        """
        scope, flat = conversions.from_frame(frame, value, states or {})
        return cls.from_flat(scope, flat)

    @classmethod
    def from_xarray(cls, array: xr.DataArray) -> Factor:
        """The inverse of `to_xarray`."""
        scope, values = conversions.from_xarray(array)
        return cls(scope, values)

    def with_info(self, info: QueryInfo | None) -> Factor:
        """Return the same numbers with a record of how they were computed."""
        return Factor.trusted(self._scope, self._table, info)

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by a constructor, so that the table comes back read-only."""
        return Factor.trusted, (self._scope, np.array(self._table), self._info)

    def __mul__(self, other: Factor | float) -> Factor:
        """The product φ(X, Y) ψ(Y, Z)."""
        return self._binary(np.multiply, other)

    def __add__(self, other: Factor | float) -> Factor:
        """The sum over the union scope, as utilities add."""
        return self._binary(np.add, other)

    def __sub__(self, other: Factor | float) -> Factor:
        """The difference over the union scope."""
        return self._binary(np.subtract, other)

    def __truediv__(self, other: Factor | float) -> Factor:
        """The quotient with 0/0 = 0; any other division by zero is an error that names the place.

        >>> (Factor({"A": 2}, [0.0, 6.0]) / Factor({"A": 2}, [0.0, 3.0])).values
        array([0., 2.])
        """
        return self._binary(divide, other)

    __rmul__ = __mul__
    __radd__ = __add__

    def __rsub__(self, other: float) -> Factor:
        return (self * -1.0)._binary(np.add, other)

    def __neg__(self) -> Factor:
        return self * -1.0

    def _binary(self, operation: Callable[..., Table], other: Factor | float) -> Factor:
        if isinstance(other, (int, float, np.number)):
            other = Factor.scalar(other)
        if not isinstance(other, Factor):
            return NotImplemented
        scope, table = combine(operation, self._table, self._scope, other._table, other._scope)
        if operation is divide and not other._table.all() and np.isnan(table).any():
            where = assignment_at(scope, int(np.argmax(np.isnan(table))))
            raise InvalidFactor(f"Division of a non-zero number by zero at {dict(where)!r}.")
        return Factor.trusted(scope, table)

    def marginalize(self, names: str | Iterable[str]) -> Factor:
        """Sum out variables: Σ_Y φ(X, Y)."""
        return self._without(names, np.add)

    def maximize(self, names: str | Iterable[str]) -> Factor:
        """Maximise out variables: max_Y φ(X, Y)."""
        return self._without(names, np.maximum)

    def _without(self, names: str | Iterable[str], operation: np.ufunc) -> Factor:
        gone = self._known(names)
        scope = tuple(variable for variable in self._scope if variable.name not in gone)
        with refusing_nan(self._scope):
            return Factor.trusted(scope, reduce_axes(operation, self._table, axes_of(self._scope, gone)))

    def marginal(self, names: str | Iterable[str]) -> Factor:
        """Sum out all variables except `names`; the axes of the result are in that order."""
        kept = self._known(names)
        return self.marginalize([name for name in self.names if name not in kept]).reorder(list(kept))

    def reduce(self, assignment: Mapping[str, State]) -> Factor:
        """Fix the states of some variables: the slice φ[u]. Names outside the scope are ignored."""
        fixed = {v.name: v.index(assignment[v.name]) for v in self._scope if v.name in assignment}
        scope = tuple(variable for variable in self._scope if variable.name not in fixed)
        index = tuple(fixed.get(variable.name, slice(None)) for variable in wide(self._scope))
        return Factor.trusted(scope, np.asarray(self._table[index], order="C"))

    def reorder(self, names: Sequence[str]) -> Factor:
        """Return the same function with its axes in the order of `names`."""
        listed = [names] if isinstance(names, str) else list(names)
        order = self._known(listed)
        if not len(listed) == len(order) == len(self._scope):
            raise InvalidFactor(f"{listed!r} is not an order of the scope {scope_text(self._scope)}.")
        scope = tuple(self.variable(name) for name in order)
        return Factor.trusted(scope, np.asarray(align(self._table, self._scope, scope), order="C"), self.info)

    def extend(self, variables: Iterable[Variable]) -> Factor:
        """Return the same function over a larger scope, constant in the new variables."""
        scope = union_scope((self._scope, read_scope(variables)))
        check_size(scope, "The extended factor")
        table = np.broadcast_to(align(self._table, self._scope, scope), table_shape(scope))
        return Factor.trusted(scope, np.array(table, order="C"))

    def rename(self, names: Mapping[str, str]) -> Factor:
        """Return the same numbers with some variables renamed."""
        self._known(names)
        return Factor.trusted(read_scope(v.renamed(names.get(v.name, v.name)) for v in self._scope), self._table)

    def _known(self, names: str | Iterable[str]) -> dict[str, int]:
        return axes_named(names, self.names, "this factor")

    def normalize(self, over: str | Iterable[str] | None = None) -> Factor:
        """Divide by the sum; with `over`, return the conditional distribution of those variables given the rest.

        >>> Factor({"A": 2, "B": 2}, [[1, 3], [0, 0]]).normalize("B").values
        array([[0.25, 0.75],
               [0.  , 0.  ]])
        """
        gone = self._known(self.names if over is None else over)
        scaled = Factor.trusted(self._scope, scaled_to_sum(self._table, axes_of(self._scope, gone)))
        totals = scaled.marginalize(gone)
        if over is None and not 0 < totals.sum() < math.inf:
            with np.errstate(over="ignore"):
                total = self.sum()
            raise InvalidFactor(f"The factor over {scope_text(self._scope)} sums to {total}: it can't be normalised.")
        return scaled / totals

    def log(self) -> Factor:
        """The natural logarithm of each entry; log 0 = -inf."""
        if self.min() < 0:
            raise InvalidFactor(f"The logarithm of {self.min():g}, at {dict(self.argmin())!r}, does not exist.")
        return Factor.trusted(self._scope, logarithms(self._table))

    def exp(self) -> Factor:
        """The exponential of each entry; infinite if it is too large for a float."""
        with np.errstate(over="ignore"):
            return Factor.trusted(self._scope, np.exp(self._table))

    def expectation(self, function: Factor | str | Callable[[Assignment], float]) -> float:
        """Compute the expectation E[f] under this distribution.

        f is a factor over variables of the scope, the name of a variable whose states are numbers, or a function.

        >>> die = Factor({"die": [1, 2, 3, 4, 5, 6]}, [1 / 6] * 6)
        >>> round(die.expectation("die"), 12)
        3.5
        """
        if not self.is_distribution():
            raise InvalidFactor(
                f"An expectation needs a distribution; these entries sum to {self.sum():.10g}. See normalize()."
            )
        values = self._as_factor(function)
        outside = [name for name in values.names if name not in self.names]
        if outside:
            raise UnknownVariable.named(outside[0], self.names, "this distribution")
        union_scope((self._scope, values._scope))
        return dot(self.marginal(values.names)._table, values._table)

    def _as_factor(self, function: Factor | str | Callable[[Assignment], float]) -> Factor:
        if isinstance(function, Factor):
            return function
        if isinstance(function, str):
            variable = self.variable(function)
            try:
                return Factor((variable,), [float(state) for state in variable.states])  # type: ignore[arg-type]
            except (TypeError, ValueError):
                raise InvalidFactor(
                    f"The states of {function!r} are not numbers; give a factor or a function."
                ) from None
        values = [function(assignment_at(self._scope, position)) for position in range(self.size)]
        return Factor.from_flat(self._scope, values)

    def is_close(self, other: Factor, tolerance: float = 1e-9) -> bool:
        """Whether both are equal up to `tolerance` in every entry, whatever the order of the axes."""
        if not isinstance(other, Factor):
            raise InvalidArgument(f"A Factor is close to another one or not; {other!r} is none.")
        if set(self._scope) != set(other._scope):
            return False
        return bool(np.allclose(self._table, other.reorder(self.names)._table, rtol=0, atol=tolerance))

    def is_independent(
        self, x: str | Iterable[str], y: str | Iterable[str], given: str | Iterable[str] = (), tolerance: float = 1e-9
    ) -> bool:
        """Whether X ⟂ Y | Z in this distribution: P(x, y, z) P(z) = P(x, z) P(y, z) everywhere."""
        left, right, rest = self._known(x), self._known(y), self._known(given)
        left, right = ({name: axis for name, axis in side.items() if name not in rest} for side in (left, right))
        if set(left) & set(right):
            raise InvalidFactor(f"{next(iter(set(left) & set(right)))!r} stands on both sides of the independence.")
        joint = self.normalize().marginal([*left, *right, *rest])
        difference = joint * joint.marginal(rest) - joint.marginal([*left, *rest]) * joint.marginal([*right, *rest])
        return max(difference.max(), -difference.min()) <= tolerance

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw a bar for each state, or combination of states; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_beliefs", self, ax)


def product(factors: Iterable[Factor]) -> Factor:
    """The product of any number of factors over the union of their scopes; one, where there are none.

    >>> product([]).sum()
    1.0
    """
    listed = list(factors)
    check_size(union_scope(factor.scope for factor in listed), "The product")
    if len(listed) < 2:
        return listed[0] if listed else Factor.scalar(1.0)
    scope, table = listed[0]._scope, listed[0]._table
    for factor in listed[1:]:
        scope, table = combine(np.multiply, table, scope, factor._table, factor._scope)
    return Factor.trusted(scope, table)


def _checked(table: Table, scope: Scope) -> Table:
    if np.isnan(table).any():
        where = assignment_at(scope, int(np.argmax(np.isnan(table))))
        raise InvalidFactor(f"The factor over {scope_text(scope)} is not a number at {dict(where)!r}.")
    table.setflags(write=False)
    return table


def _numbers(scope: Scope, values: npt.ArrayLike, shape: tuple[int, ...]) -> Table:
    """The values as an array, of this `shape` where they come with labels."""
    given = by_label(values)
    if given is not values:
        return conversions.from_labels(scope, given).reshape(shape)
    try:
        return np.array(values, dtype=np.float64, order="C")
    except (TypeError, ValueError):
        raise InvalidFactor(f"The values of the factor over {scope_text(scope)} are not numbers.") from None
