"""Utilities as diagrams have them: numbers for the states of a few variables."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from inspect import signature
from itertools import product
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base import Floats, Frozen, format_number
from plausible.cpds.reading import VariableLike, name_of
from plausible.errors import InvalidFactor, InvalidModel, UnknownState, UnknownVariable
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at
from plausible.variables import State, Variable


def seen_text(seen: Mapping[str, State]) -> str:
    """What is seen, name by name."""
    return ", ".join(f"{name}={state}" for name, state in seen.items())


def place_text(decision: str, seen: Mapping[str, State], probability: float | None = None) -> str:
    """A decision, what is seen there, and how likely that is."""
    likely = "" if probability is None else f" (probability {format_number(probability)})"
    return f"{decision}, {seen_text(seen) or 'always'}{likely}"


#: Larger utilities could not be added up.
_LARGEST = 1e300

#: An array over the states of the parents, a mapping from their states, or a function of them, named or in order.
UtilityValues: TypeAlias = npt.ArrayLike | Mapping[Any, float] | Callable[..., float]


class Utility(Frozen):
    """A utility: a number for each combination of its parents' states. The utilities of a diagram add up.

    Parameters
    ----------
    parents
        The variables it depends on: names or `Variable` objects.
    values
        An array with an axis for each parent, in order; a mapping from the parents' states (a tuple if there are
        several parents) to numbers; or a function of these states, with one argument for each parent, in order.
    name
        By default `U(parents)`.

    Examples
    --------
    >>> profit = Utility(["market", "found"], {("bad", "yes"): -7, ("good", "yes"): 20, ("bad", "no"): 0,
    ...                                        ("good", "no"): 0})
    >>> profit
    Utility(['market', 'found'], name='U(market, found)')
    >>> variables = {"market": Variable("market", ["bad", "good"]), "found": Variable("found", ["no", "yes"])}
    >>> print(profit.factor(variables))
    market | found=no | found=yes
    -------+----------+----------
    bad    |        0 |        -7
    good   |        0 |        20
    """

    __slots__ = ("_values", "name", "parent_names")

    name: str
    parent_names: tuple[str, ...]

    def __init__(
        self, parents: VariableLike | Iterable[VariableLike], values: UtilityValues, name: str | None = None
    ) -> None:
        self.parent_names = read_names(parents, "a utility depends on")
        self.name = f"U({', '.join(self.parent_names)})" if name is None else name
        what = f"The utility {self.name!r}"
        # As they are now: what the caller does to an array or mapping later is no matter.
        if callable(values):
            self._values: UtilityValues = values
        elif isinstance(values, Factor):
            raise InvalidModel(
                f"{what} is given by a Factor, which names its parents itself: use Utility.from_factor(factor)."
            )
        else:
            self._values = dict(values) if isinstance(values, Mapping) else _numbers(values, what)

    @classmethod
    def from_factor(cls, factor: Factor, name: str | None = None) -> Utility:
        """The utility that a factor lists."""
        return cls(factor.scope, factor.values, name)

    def factor(self, variables: Mapping[str, Variable]) -> Factor:
        """Its numbers as a factor over the parents, which are looked up in `variables`."""
        for parent in self.parent_names:
            if parent not in variables:
                raise UnknownVariable.named(parent, variables, f"the diagram of the utility {self.name!r}")
        scope = tuple(variables[parent] for parent in self.parent_names)
        names, shape = [variable.name for variable in scope], tuple(variable.num_states for variable in scope)
        what, values = f"The utility {self.name!r}", self._values
        if callable(values):
            check_arguments(values, scope, what)
            listed = [values(*states) for states in product(*(variable.states for variable in scope))]
            table = _numbers(listed, what).reshape(shape)
        elif isinstance(values, Mapping):
            try:
                table = np.array(Factor.from_dict(scope, values).values)
            except (InvalidFactor, UnknownState) as problem:
                raise type(problem)(f"{what} has states of {names} for keys. {problem}") from None
        else:
            table = _numbers(values, what)
        if table.shape != shape:
            advice = ""
            if table.shape == shape[::-1]:
                advice = f" Transpose it, or name the parents in the order {names[::-1]}."
            elif table.ndim == 1 and table.size == math.prod(shape):
                advice = f" If the states of {names[-1]!r} change fastest in the list, reshape it: .reshape{shape}."
            raise InvalidModel(
                f"{what} needs values of shape {shape}, the numbers of states of {names}, not {table.shape}.{advice}"
            )
        for cell in np.flatnonzero(~(np.abs(table) <= _LARGEST)).tolist():
            where, number = seen_text(assignment_at(scope, cell)), table.ravel()[cell]
            advice = "" if np.isnan(number) else " Actions that can't be taken are for with_allowed_actions."
            raise InvalidModel(
                f"{what} is {number} at {where or 'all times'}: give a number up to {_LARGEST:g}.{advice}"
            )
        return Factor(scope, table)

    def __repr__(self) -> str:
        return f"Utility({list(self.parent_names)!r}, name={self.name!r})"


def read_names(names: VariableLike | Iterable[VariableLike], what: str) -> tuple[str, ...]:
    if not isinstance(names, (str, Variable, Iterable)):
        raise InvalidModel(f"What {what} is a list of names, not {names!r}.")
    listed = (names,) if isinstance(names, (str, Variable)) else tuple(names)
    for name in listed:
        if not isinstance(name, (str, Variable)):
            raise InvalidModel(f"What {what} is a list of names, not of {name!r}.")
    found = tuple(name_of(name) for name in listed)
    if len(set(found)) < len(found):
        repeated = next(name for name in found if found.count(name) > 1)
        raise InvalidModel(f"{repeated!r} stands twice among what {what}.")
    return found


def _numbers(values: Any, what: str) -> Floats:
    try:
        return np.array(values, dtype=np.float64)
    except (TypeError, ValueError):
        raise InvalidModel(f"{what} needs numbers, in rows of the same length, not {values!r}.") from None


def check_arguments(function: Callable[..., Any], scope: tuple[Variable, ...], what: str) -> None:
    """Refuse a function that does not take the states of the variables, one argument for each."""
    try:
        signature(function).bind(*scope)
    except TypeError as problem:
        names = [variable.name for variable in scope]
        raise InvalidModel(f"{what} is a function of the states of {names}, in order: {problem}.") from None
    except ValueError:  # built-in functions don't tell their arguments
        return
