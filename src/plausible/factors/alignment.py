"""Arrays with named axes: the bookkeeping under `Factor`.

A factor keeps its numbers without the axes of one-state variables. What is left has at least two states an axis, so any
table that fits in memory has fewer than 64 of them, which is as many as NumPy allows, however long the scope is.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidArgument, InvalidFactor, TooLarge, UnknownVariable
from plausible.variables import Assignment, State, Variable

Scope: TypeAlias = tuple[Variable, ...]
Table: TypeAlias = npt.NDArray[np.float64]

#: The largest table that an operation may build: 2**28 numbers are 2 GiB.
MAX_ENTRIES = 2**28


def read_scope(scope: Iterable[Variable] | Mapping[str, Iterable[State] | int]) -> Scope:
    """Variables from whatever a caller gave, each once and discrete."""
    if isinstance(scope, Mapping):
        listed: tuple[Variable, ...] = tuple(Variable(name, states) for name, states in scope.items())
    else:
        listed = (scope,) if isinstance(scope, Variable) else tuple(scope)
    seen: set[str] = set()
    for variable in listed:
        if not isinstance(variable, Variable):
            raise InvalidFactor(
                f"A scope holds Variable objects, not {variable!r}; or give a mapping from names to states."
            )
        if variable.is_continuous:
            raise InvalidFactor(f"{variable.name!r} is continuous: a table can't hold it; see GaussianFactor.")
        if variable.name in seen:
            raise InvalidFactor(f"{variable.name!r} stands twice in the scope.")
        seen.add(variable.name)
    return listed


def scope_text(scope: Scope) -> str:
    """The names of a scope for messages, cut short where there are many."""
    return "(" + ", ".join(variable.name for variable in scope[:8]) + (", ..." if len(scope) > 8 else "") + ")"


def axes_named(names: str | Iterable[str], own: Iterable[str], place: str) -> dict[str, int]:
    """One name or several, in the order asked for and each once, with its position in `own`, the names of `place`."""
    known = {name: axis for axis, name in enumerate(own)}
    wanted = dict.fromkeys((names,) if isinstance(names, str) else names)
    UnknownVariable.check_all(wanted, known, place)
    return {name: known[name] for name in wanted}


def wide(scope: Iterable[Variable]) -> Scope:
    """The variables of a scope that have an axis of their own: those with two or more states."""
    return tuple(variable for variable in scope if variable.num_states > 1)


def table_shape(scope: Iterable[Variable]) -> tuple[int, ...]:
    """The shape of a table over the wide axes of a scope."""
    return tuple(variable.num_states for variable in scope if variable.num_states > 1)


def assignment_at(scope: Scope, position: int) -> Assignment:
    """The assignment at a position in row-major order."""
    states: dict[str, State] = {}
    for variable in reversed(scope):
        position, index = divmod(position, variable.num_states)
        states[variable.name] = variable.states[index]
    return Assignment(dict(reversed(states.items())))


def num_entries(scope: Iterable[Variable]) -> int:
    """The number of assignments to the scope; exact, however large."""
    return math.prod(variable.num_states for variable in scope)


def check_size(scope: Sequence[Variable], what: str = "This table", limit: int = MAX_ENTRIES) -> None:
    """Refuse a table that would not fit, before anything is allocated."""
    if not isinstance(limit, (int, float, np.number)):
        raise InvalidArgument(
            f"max_entries= takes a number of entries, not {limit!r}. The joint of some variables is query([...])."
        )
    entries = num_entries(scope)
    if entries > limit:
        names = ", ".join(variable.name for variable in scope[:6]) + (", ..." if len(scope) > 6 else "")
        raise TooLarge(
            f"{what} over {len(scope)} variables ({names}) would have {_approximate(entries)} entries "
            f"({_approximate(entries * 8 // 2**30)} GiB); the limit is {_approximate(limit)}."
        )


def _approximate(number: int) -> str:
    """Three digits of a whole number that may be too large for a float."""
    if number < 10**6:
        return str(number)
    exponent = int(math.log10(number))
    return f"{number // 10 ** (exponent - 2) / 100:.3g}e+{exponent:02d}"


def union_scope(scopes: Iterable[Scope]) -> Scope:
    """All variables in order of first appearance; a name must mean the same states everywhere."""
    found: dict[str, Variable] = {}
    for scope in scopes:
        for variable in scope:
            known = found.setdefault(variable.name, variable)
            if known is not variable and known != variable:
                raise InvalidFactor(
                    f"{variable.name!r} {_states(known)} in one factor and {_states(variable)} in another."
                    f"{_advice(known, variable)}"
                )
    return tuple(found.values())


def _states(variable: Variable) -> str:
    return "is continuous" if variable.is_continuous else f"has the states {list(variable.states)}"


def _advice(one: Variable, two: Variable) -> str:
    """What to do about the same states in another order: the usual cause is a frame read by order of appearance."""
    if one.is_continuous or two.is_continuous or set(one.states) != set(two.states):
        return ""
    return " Only the order differs: fix it where the factors are made, as by states= in Factor.from_frame."


def align(table: Table, scope: Scope, target: Scope) -> Table:
    """A view of `table` (over the wide axes of `scope`) that broadcasts over the wide axes of `target`."""
    own = {variable.name: axis for axis, variable in enumerate(wide(scope))}
    axes = wide(target)
    order = [own[variable.name] for variable in axes if variable.name in own]
    shape = [variable.num_states if variable.name in own else 1 for variable in axes]
    return table.transpose(order).reshape(shape)


def combine(
    operation: Callable[..., Table], left: Table, left_scope: Scope, right: Table, right_scope: Scope
) -> tuple[Scope, Table]:
    """Apply a binary operation, which writes into `out=`, over the union of two scopes."""
    scope = union_scope((left_scope, right_scope))
    check_size(scope, "The result")
    table = np.empty(table_shape(scope))
    # A copy in the order of the result costs less than striding through an operand in another order.
    above, below = (np.asarray(align(*side, scope), order="C") for side in ((left, left_scope), (right, right_scope)))
    with refusing_nan(scope):
        _apply(operation, above, below, table)
    return scope, table


@contextmanager
def refusing_nan(scope: Scope) -> Iterator[None]:
    """Arithmetic on tables over `scope` in which infinities that cancel are an error."""
    try:
        with np.errstate(invalid="raise"):
            yield
    except FloatingPointError as error:
        if "invalid" not in str(error):  # a caller has asked to be told of numbers that are too small or too large
            raise
        raise InvalidFactor(
            f"Arithmetic over {scope_text(scope)} meets infinities that cancel: 0 · inf, inf - inf or inf / inf."
        ) from None


def _apply(operation: Callable[..., Table], left: Table, right: Table, out: Table) -> None:
    """The operation by columns of the last axis where that is short and one side lacks it; else in one go."""
    if out.size < 4096 or out.shape[-1] > 8 or left.shape[-1] == right.shape[-1]:
        operation(left, right, out=out)
        return
    for column in range(out.shape[-1]):
        sides = (side[..., min(column, side.shape[-1] - 1)] for side in (left, right))
        operation(*sides, out=out[..., column])


def axes_of(scope: Scope, names: Mapping[str, object] | set[str]) -> tuple[int, ...]:
    """The positions, among the wide axes of `scope`, of the variables in `names`."""
    return tuple(axis for axis, variable in enumerate(wide(scope)) if variable.name in names)


def reduce_axes(operation: np.ufunc, table: Table, axes: tuple[int, ...]) -> Table:
    """Reduce some axes of a C-ordered table, such as `np.add` or `np.maximum` over them.

    NumPy's own reduction is fast along long runs of memory only, and factors have many axes of two or three states.
    So neighbouring axes that share their fate are merged, and each run of them is reduced by itself.
    """
    runs = [(fate, list(group)) for fate, group in groupby(range(table.ndim), key=set(axes).__contains__)]
    sizes = [math.prod(table.shape[axis] for axis in group) for _, group in runs]
    kept = [size for size, axis in zip(table.shape, range(table.ndim), strict=True) if axis not in set(axes)]
    for place, (reduced, _) in enumerate(runs):
        if reduced:
            inner = math.prod(sizes[place + 1 :])
            table = _reduce_middle(operation, table.reshape(-1, sizes[place], inner))
    return table.reshape(kept)


def _reduce_middle(operation: np.ufunc, table: Table) -> Table:
    outer, size, inner = table.shape
    if size * inner > 64 or outer < 64:
        return np.asarray(operation.reduce(table, axis=1))
    result = np.array(table[:, 0, :], order="C")
    for column in range(inner):
        for row in range(1, size):
            operation(result[:, column], table[:, row, column], out=result[:, column])
    return result


#: Fewer than 2**64 entries up to this size have a finite sum.
_SAFE_PEAK = 2.0**959


def divide(above: Table, below: Table, out: Table) -> Table:
    """The quotient with 0/0 = 0; NaN marks any other division by zero."""
    zero = below == 0
    if not zero.any():
        return np.divide(above, below, out=out)
    np.divide(above, np.where(zero, 1.0, below), out=out)
    out[np.broadcast_to(zero, out.shape) & (out != 0)] = np.nan
    return out


def dot(weights: Table, values: Table) -> float:
    """Σ w f with 0 · ±inf = 0."""
    return float(np.sum(np.multiply(weights, values, out=np.zeros(weights.shape), where=weights != 0)))


def scaled_to_sum(table: Table, axes: tuple[int, ...]) -> Table:
    """The numbers divided by their peak along some axes, where a sum could overflow; infinities stay."""
    peaks = np.abs(table).max(axis=axes, keepdims=True, initial=0.0)
    if np.all(peaks <= _SAFE_PEAK):
        return table
    return table / np.where((peaks > _SAFE_PEAK) & np.isfinite(peaks), peaks, 1.0)
