"""Value rules: numbers that count where a context holds."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.base.display import format_number, html_of_print
from plausible.base.frozen_mapping import FrozenMapping
from plausible.errors import InvalidArgument, shortened
from plausible.variables import State

__all__ = ["ValueRule"]


@dataclass(frozen=True, slots=True)
class ValueRule:
    """⟨context : value⟩: a team gains the value wherever the context, of state and actions, holds.

    Parameters
    ----------
    context
        State variable or agent -> a state or action, or a collection of them ("one of").
    value
        Any number; the values of all rules that hold add up.

    References
    ----------
    Guestrin, Venkataraman & Koller (2002), Context-specific multiagent coordination and planning with factored MDPs.

    Examples
    --------
    >>> print(ValueRule({"open": "yes", "one": "pass", "two": ["run left", "run right"]}, 10))
    open=yes, one=pass, two=run left|run right: 10
    """

    context: Mapping[str, Any]
    value: float

    def __post_init__(self) -> None:
        if not isinstance(self.context, Mapping):
            raise InvalidArgument(f"The context of a value rule maps names to states, not {self.context!r}.")
        if not _is_finite(self.value):
            raise InvalidArgument(
                f"The value of the rule {dict(self.context)!r} is a finite number, not {shortened(self.value)}."
            )
        context = {name: _choices(value) for name, value in self.context.items()}
        object.__setattr__(self, "context", FrozenMapping(context))
        object.__setattr__(self, "value", float(self.value))

    def given(self, state: Mapping[str, State]) -> ValueRule | None:
        """The rule in a state of the world, without what the state settles; `None` where it can't hold."""
        for name, allowed in self.context.items():
            if name in state and state[name] not in allowed:
                return None
        left = {name: allowed for name, allowed in self.context.items() if name not in state}
        return ValueRule(left, self.value)

    def __repr__(self) -> str:
        return f"ValueRule({dict(self.context)!r}, {format_number(self.value)})"

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={'|'.join(map(str, allowed))}" for name, allowed in self.context.items())
        return f"{inside or 'always'}: {format_number(self.value)}"

    _repr_html_ = html_of_print


def _is_finite(value: object) -> bool:
    try:
        return isinstance(value, (int, float, np.integer, np.floating)) and math.isfinite(value)
    except OverflowError:  # a whole number beyond all floats
        return False


def _choices(value: Any) -> tuple[State, ...]:
    is_collection = isinstance(value, Collection) and not isinstance(value, (str, bytes, Mapping))
    return tuple(value) if is_collection else (value,)
