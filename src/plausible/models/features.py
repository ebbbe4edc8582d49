"""Features: real functions of a few variables, whose weights make a log-linear model."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from itertools import product as cartesian
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike

from plausible.base import Floats, Frozen, read_names
from plausible.errors import InvalidArgument
from plausible.factors.alignment import check_size
from plausible.variables import State, Variable

#: A function of the states of a scope, a table with an axis for each of its variables, or None for a weight each.
FeatureValues: TypeAlias = Callable[..., float | bool] | ArrayLike | None


class Feature(Frozen):
    """A function f of some variables with a weight θ: P(x) ∝ exp Σ θ_i f_i(x).

    A feature with several scopes is a template: all of its places share the one weight.

    Parameters
    ----------
    scope
        Names of variables, one alone or a list, or several such lists, for places that share the weight.
    function
        Any real function of the states, in the order of the scope, or a table of its values. Left out, each assignment
        to the scope has a weight of its own, shared by all places: a free table.
    name
        What the weight is called; a free table puts the states behind it.

    Examples
    --------
    >>> Feature(["A", "B"], lambda a, b: a == b, name="same")
    Feature('same': A, B)
    >>> chain = Feature([["Y1", "Y2"], ["Y2", "Y3"]], name="transition")
    >>> chain.is_table, chain.scopes
    (True, (('Y1', 'Y2'), ('Y2', 'Y3')))
    >>> same = Feature(["A", "B"], lambda a, b: a == b)
    >>> same.values([Variable("A", 2), Variable("B", 2)])
    array([[1., 0.],
           [0., 1.]])
    """

    __slots__ = ("_has_name", "function", "name", "scopes")

    def __init__(
        self,
        scope: str | Sequence[str] | Sequence[Sequence[str]],
        function: FeatureValues = None,
        name: str | None = None,
    ) -> None:
        self.scopes = _read_scopes(scope)
        self.function = function if function is None or callable(function) else _read_table(function, self.scopes[0])
        if name is not None and not (isinstance(name, str) and name):
            raise InvalidArgument(f"name={name!r} must be text: it is what the weight is called.")
        self._has_name = name is not None
        self.name = name or ", ".join(self.scopes[0])

    @property
    def is_table(self) -> bool:
        """Whether each assignment has a weight of its own."""
        return self.function is None

    def weight_names(self, variables: Sequence[Variable]) -> list[str]:
        """What its weights are called, where the variables of its first scope are these."""
        if not self.is_table:
            return [self.name]
        states = cartesian(*(variable.states for variable in variables))
        if self._has_name:
            return [f"{self.name}({', '.join(map(str, assignment))})" for assignment in states]
        names = [variable.name for variable in variables]
        return [", ".join(f"{n}={s}" for n, s in zip(names, assignment, strict=True)) for assignment in states]

    def values(self, variables: Sequence[Variable]) -> Floats:
        """f at each assignment to variables that stand for the scope: an array with an axis for each.

        Refuses values that are no finite numbers, and tables of another shape.
        """
        shape = tuple(variable.num_states for variable in variables)
        if isinstance(self.function, np.ndarray):
            if self.function.shape != shape:
                raise InvalidArgument(
                    f"The table of the feature {self.name!r} has the shape {self.function.shape}; the states of "
                    f"{', '.join(variable.name for variable in variables)} want {shape}."
                )
            return self.function
        check_size(variables, f"The feature {self.name!r}")
        return self.at(list(cartesian(*(variable.states for variable in variables)))).reshape(shape)

    def at(self, assignments: Sequence[tuple[State | float, ...]]) -> Floats:
        """f at some assignments, one call each."""
        assert callable(self.function)
        return np.array([self._number(assignment) for assignment in assignments])

    def _number(self, assignment: tuple[Any, ...]) -> float:
        assert callable(self.function)
        place = ", ".join(f"{n}={s!r}" for n, s in zip(self.scopes[0], assignment, strict=True))
        try:
            value = self.function(*assignment)
        except Exception as error:
            raise InvalidArgument(
                f"The function of the feature {self.name!r} fails at {place}: {error}. It takes the {len(assignment)} "
                "values of its scope, in order."
            ) from error
        try:
            number = float(value)
        except (TypeError, ValueError):
            raise InvalidArgument(f"The feature {self.name!r} is {value!r} at {place}, which is no number.") from None
        if not np.isfinite(number):
            raise InvalidArgument(
                f"The feature {self.name!r} is {number} at {place}: features are finite. Rule an assignment out by a "
                "zero in a factor of the network that is the start."
            )
        return number

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Feature):
            return NotImplemented
        if (self.scopes, self.name) != (other.scopes, other.name):
            return False
        if isinstance(self.function, np.ndarray) and isinstance(other.function, np.ndarray):
            return np.array_equal(self.function, other.function)
        return self.function is other.function

    def __hash__(self) -> int:
        return hash((self.scopes, self.name))

    def __repr__(self) -> str:
        places = "" if len(self.scopes) == 1 else f" and {len(self.scopes) - 1} more"
        return f"Feature({self.name!r}: {', '.join(self.scopes[0])}{places})"


def _read_scopes(scope: Any) -> tuple[tuple[str, ...], ...]:
    listed = [scope] if isinstance(scope, str) else list(scope) if isinstance(scope, Iterable) else [scope]
    is_one = all(isinstance(name, str) for name in listed)
    scopes = tuple(read_names("scope", names) for names in ([listed] if is_one else listed))
    if not scopes or not all(scopes):
        raise InvalidArgument("A feature has at least one variable: Feature(['A', 'B'], function).")
    for names in scopes:
        if len(set(names)) < len(names):
            raise InvalidArgument(f"The scope {list(names)} of a feature names a variable twice.")
        if len(names) != len(scopes[0]):
            raise InvalidArgument(
                f"The scopes {list(scopes[0])} and {list(names)} of one feature have different lengths: places that "
                "share a weight have the same form."
            )
    return scopes


def _read_table(values: Any, scope: tuple[str, ...]) -> Floats:
    try:
        table = np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidArgument(f"A feature is a function or a table of numbers, not {values!r}.") from None
    if table.ndim != len(scope):
        raise InvalidArgument(
            f"A table over ({', '.join(scope)}) has {len(scope)} axes, one for each; this one has {table.ndim}."
        )
    if not np.isfinite(table).all():
        raise InvalidArgument(f"The table of a feature over ({', '.join(scope)}) has entries that are not finite.")
    table.setflags(write=False)
    return table
