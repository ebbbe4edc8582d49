"""Local values of a team: tables, and rules that count where a context holds, asked the same questions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Protocol

import numpy as np

from plausible.base.display import format_number, html_of_print
from plausible.base.frozen_mapping import FrozenMapping
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, shortened
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.variables import State, Variable

__all__ = ["LocalValue", "RuleValue", "TableValue", "ValueRule", "local_value"]


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


class LocalValue(Protocol):
    """A function of some agents' actions and some of the world's state."""

    #: Whether it is cheap to eliminate agents from as rules.
    is_rule: ClassVar[bool]

    @property
    def part(self) -> Factor | ValueRule:
        """The factor or rule as given."""

    @property
    def names(self) -> tuple[str, ...]:
        """The agents and state variables that it speaks of."""

    @property
    def largest(self) -> float:
        """The largest magnitude that it has."""

    @property
    def spread(self) -> float:
        """By how much its greatest value exceeds its least."""

    def check(self, agents: Mapping[str, Variable]) -> None:
        """Refuse actions that these agents do not have, and numbers that are not finite."""

    def at(self, actions: Mapping[str, State]) -> float:
        """The value at actions of all agents that it speaks of."""

    def given(self, state: Mapping[str, State]) -> Factor | ValueRule | None:
        """The value in a state of the world; `None` where it is zero whatever the agents do."""

    def narrowed(self, agents: Mapping[str, list[State]]) -> Factor | ValueRule | None:
        """The value for agents with fewer actions; `None` where it is zero whatever they do."""

    def table(self, agents: Mapping[str, Variable]) -> Factor:
        """The value as a factor over agents; refused where that would be too large."""

    def rules(self) -> list[ValueRule]:
        """The value as rules that add up to it."""


def local_value(part: Factor | ValueRule) -> LocalValue:
    """Read a factor or a rule."""
    if isinstance(part, Factor):
        return TableValue(part)
    if isinstance(part, ValueRule):
        return RuleValue(part)
    raise InvalidModel(f"The values of a team are factors and value rules, not {part!r}.")


@dataclass(frozen=True, slots=True)
class TableValue:
    """A value for each joint state of a scope; see `LocalValue`."""

    part: Factor
    is_rule: ClassVar[bool] = False

    @property
    def names(self) -> tuple[str, ...]:
        return self.part.names

    @property
    def largest(self) -> float:
        return float(np.abs(self.part.flat).max())

    @property
    def spread(self) -> float:
        return float(np.ptp(self.part.flat))

    def check(self, agents: Mapping[str, Variable]) -> None:
        for variable in self.part.scope:
            if variable.name in agents and variable != agents[variable.name]:
                raise InvalidModel(
                    f"The agent {variable.name!r} has the actions {agents[variable.name].states}, but a factor has "
                    f"{variable.states}."
                )
        if not np.isfinite(self.part.flat).all():
            raise InvalidModel(f"The values over {', '.join(self.names)} are not all finite.")

    def at(self, actions: Mapping[str, State]) -> float:
        return self.part.reduce({name: actions[name] for name in self.names}).sum()

    def given(self, state: Mapping[str, State]) -> Factor:
        return self.part.reduce(state)

    def narrowed(self, agents: Mapping[str, list[State]]) -> Factor:
        if not self.part.scope:
            return self.part
        places = [[v.index(state) for state in agents.get(v.name, v.states)] for v in self.part.scope]
        scope = [Variable(v.name, agents.get(v.name, v.states)) for v in self.part.scope]
        return Factor(scope, self.part.values[np.ix_(*places)])

    def table(self, agents: Mapping[str, Variable]) -> Factor:
        return self.part

    def rules(self) -> list[ValueRule]:
        return [
            ValueRule(
                {v.name: v.states[code] for v, code in zip(self.part.scope, codes, strict=True)},
                float(self.part.values[tuple(codes)]),
            )
            for codes in np.argwhere(self.part.values != 0).tolist()
        ]


@dataclass(frozen=True, slots=True)
class RuleValue:
    """A value where a context holds, zero elsewhere; see `LocalValue`."""

    part: ValueRule
    is_rule: ClassVar[bool] = True

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(self.part.context)

    @property
    def largest(self) -> float:
        return abs(self.part.value)

    @property
    def spread(self) -> float:
        return abs(self.part.value)

    def check(self, agents: Mapping[str, Variable]) -> None:
        for name in self.part.context.keys() & agents.keys():
            for action in self.part.context[name]:
                agents[name].index(action)

    def at(self, actions: Mapping[str, State]) -> float:
        holds = all(actions[name] in allowed for name, allowed in self.part.context.items())
        return self.part.value if holds else 0.0

    def given(self, state: Mapping[str, State]) -> ValueRule | None:
        return self.part.given(state)

    def narrowed(self, agents: Mapping[str, list[State]]) -> ValueRule | None:
        context = {
            name: [state for state in allowed if state in agents.get(name, allowed)]
            for name, allowed in self.part.context.items()
        }
        return ValueRule(context, self.part.value) if all(context.values()) else None

    def table(self, agents: Mapping[str, Variable]) -> Factor:
        scope = [agents[name] for name in self.names]
        entries = math.prod(agent.num_states for agent in scope)
        if entries > MAX_ENTRIES:
            raise TooLarge(
                f"The rule over {len(scope)} agents has a table of {entries:.3g} entries. Use method='rules'."
            )
        table = np.array(self.part.value)
        for agent in scope:
            table = table[..., None] * np.array([action in self.part.context[agent.name] for action in agent.states])
        return Factor(scope, table)

    def rules(self) -> list[ValueRule]:
        return [self.part]
