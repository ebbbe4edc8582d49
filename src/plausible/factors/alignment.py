"""Arrays with named axes: the bookkeeping under `Factor`.

A factor keeps its numbers without the axes of one-state variables. What is left has at least two states an axis, so any
table that fits in memory has fewer than 64 of them, which is as many as NumPy allows, however long the scope is.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import prod
from typing import TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidFactor, TooLarge
from plausible.variables import Variable

__all__ = ["MAX_ENTRIES", "Scope", "Table", "align", "check_size", "combine", "num_entries", "union_scope", "wide"]

Scope: TypeAlias = tuple[Variable, ...]
Table: TypeAlias = npt.NDArray[np.float64]

#: The largest table that an operation may build: 2**28 numbers are 2 GiB.
MAX_ENTRIES = 2**28


def wide(scope: Iterable[Variable]) -> Scope:
    """The variables of a scope that have an axis of their own: those with two or more states."""
    return tuple(variable for variable in scope if variable.num_states > 1)


def num_entries(scope: Iterable[Variable]) -> int:
    """The number of assignments to the scope; exact, however large."""
    return prod(variable.num_states for variable in scope)


def check_size(scope: Sequence[Variable], what: str = "This table", limit: int = MAX_ENTRIES) -> None:
    """Refuse a table that would not fit, before anything is allocated."""
    entries = num_entries(scope)
    if entries > limit:
        names = ", ".join(variable.name for variable in scope[:6]) + (", ..." if len(scope) > 6 else "")
        raise TooLarge(
            f"{what} over {len(scope)} variables ({names}) would have {entries:.3g} entries "
            f"({entries * 8 / 2**30:.3g} GiB); the limit is {limit:.3g}."
        )


def union_scope(scopes: Iterable[Scope]) -> Scope:
    """All variables in order of first appearance; a name must mean the same states everywhere."""
    found: dict[str, Variable] = {}
    for scope in scopes:
        for variable in scope:
            known = found.setdefault(variable.name, variable)
            if known is not variable and known != variable:
                raise InvalidFactor(
                    f"{variable.name!r} has the states {_states(known)} in one factor, {_states(variable)} in another."
                )
    return tuple(found.values())


def _states(variable: Variable) -> str:
    return "of a real number" if variable.states is None else str(list(variable.states))


def align(table: Table, scope: Scope, target: Scope) -> Table:
    """A view of `table` (over the wide axes of `scope`) that broadcasts over the wide axes of `target`."""
    own = {variable.name: axis for axis, variable in enumerate(wide(scope))}
    axes = wide(target)
    order = [own[variable.name] for variable in axes if variable.name in own]
    shape = [variable.num_states if variable.name in own else 1 for variable in axes]
    return table.transpose(order).reshape(shape)


def combine(
    operation: Callable[[Table, Table], Table], left: Table, left_scope: Scope, right: Table, right_scope: Scope
) -> tuple[Scope, Table]:
    """Apply a binary operation over the union of two scopes."""
    scope = union_scope((left_scope, right_scope))
    check_size(scope, "The result")
    table = operation(align(left, left_scope, scope), align(right, right_scope, scope))
    return scope, np.array(np.broadcast_to(table, [variable.num_states for variable in wide(scope)]), order="C")


def axes_of(scope: Scope, names: Mapping[str, object] | set[str]) -> tuple[int, ...]:
    """The positions, among the wide axes of `scope`, of the variables in `names`."""
    return tuple(axis for axis, variable in enumerate(wide(scope)) if variable.name in names)
