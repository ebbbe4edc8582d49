"""What Gaussians of all forms share: scopes of continuous variables, points over them, and frozen parts."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, TypeVar

import numpy as np
import numpy.typing as npt

from plausible.errors import InvalidFactor
from plausible.factors.alignment import Scope
from plausible.factors.definite import Matrix
from plausible.variables import Variable

Value = TypeVar("Value")


def read_continuous_scope(scope: Iterable[Variable | str]) -> Scope:
    """Continuous variables from whatever a caller gave, each once; a name stands for a variable of that name."""
    listed = (scope,) if isinstance(scope, (str, Variable)) else tuple(scope)
    found: dict[str, Variable] = {}
    for item in listed:
        variable = Variable(item) if isinstance(item, str) else item
        if not isinstance(variable, Variable):
            raise InvalidFactor(f"A scope holds Variable objects or names, not {item!r}.")
        if not variable.is_continuous:
            raise InvalidFactor(f"{variable.name!r} is discrete: a Gaussian can't hold it; see Factor.")
        if variable.name in found:
            raise InvalidFactor(f"{variable.name!r} stands twice in the scope.")
        found[variable.name] = variable
    return tuple(found.values())


def read_point(scope: Scope, columns: Mapping[str, npt.ArrayLike], advice: str) -> Matrix:
    """The numbers of a point, or of many, broadcast; the last axis runs over the scope."""
    missing = [variable.name for variable in scope if variable.name not in columns]
    if missing:
        raise InvalidFactor(f"The point leaves {missing[0]!r} open; {advice}.")
    point = np.broadcast_arrays(*(np.asarray(columns[variable.name], dtype=np.float64) for variable in scope))
    return np.stack(point, axis=-1) if point else np.zeros(0)


def filled(value: Value, **parts: Any) -> Value:
    """A frozen value with its parts, which belong to it from now on: arrays become read-only."""
    for name, part in parts.items():
        if isinstance(part, np.ndarray):
            part.setflags(write=False)
        object.__setattr__(value, name, part)
    return value
