"""Local values of a team: tables, and rules that count where a context holds, asked the same questions."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from plausible.base.display import format_number, html_of_print
from plausible.base.frozen import FrozenMapping
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, shortened
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.variables import State, Variable


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
    is_rule: ClassVar[bool] = True

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

    @property
    def part(self) -> ValueRule:
        """The rule as given."""
        return self

    @property
    def names(self) -> tuple[str, ...]:
        """The agents and state variables that it speaks of."""
        return tuple(self.context)

    @property
    def largest(self) -> float:
        """The largest magnitude that it has."""
        return abs(self.value)

    @property
    def spread(self) -> float:
        """By how much its greatest value exceeds its least."""
        return abs(self.value)

    def check(self, agents: Mapping[str, Variable]) -> None:
        """Refuse actions that these agents do not have."""
        for name in self.context.keys() & agents.keys():
            for action in self.context[name]:
                agents[name].index(action)

    def at(self, actions: Mapping[str, State]) -> float:
        """The value at actions of all agents that it speaks of."""
        return self.value if all(actions[name] in allowed for name, allowed in self.context.items()) else 0.0

    def narrowed(self, agents: Mapping[str, list[State]]) -> ValueRule | None:
        """The value for agents with fewer actions; `None` where it is zero whatever they do."""
        context = {
            name: [state for state in allowed if state in agents.get(name, allowed)]
            for name, allowed in self.context.items()
        }
        return ValueRule(context, self.value) if all(context.values()) else None

    def table(self, agents: Mapping[str, Variable]) -> Factor:
        """The value as a factor over agents; refused where that would be too large."""
        scope = [agents[name] for name in self.names]
        entries = math.prod(agent.num_states for agent in scope)
        if entries > MAX_ENTRIES:
            raise TooLarge(
                f"The rule over {len(scope)} agents has a table of {entries:.3g} entries. Use method='rules'."
            )
        table = np.array(self.value)
        for agent in scope:
            table = table[..., None] * np.array([action in self.context[agent.name] for action in agent.states])
        return Factor(scope, table)

    def rules(self) -> list[ValueRule]:
        """The value as rules that add up to it."""
        return [self]

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


@dataclass(frozen=True, slots=True)
class TableValue:
    """A value for each joint state of a scope: a factor that is asked what a `ValueRule` is."""

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

    def given(self, state: Mapping[str, State]) -> TableValue:
        return TableValue(self.part.reduce(state))

    def narrowed(self, agents: Mapping[str, list[State]]) -> TableValue:
        if not self.part.scope:
            return self
        places = [[v.index(state) for state in agents.get(v.name, v.states)] for v in self.part.scope]
        scope = [Variable(v.name, agents.get(v.name, v.states)) for v in self.part.scope]
        return TableValue(Factor(scope, self.part.values[np.ix_(*places)]))

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


#: A function of some agents' actions and some of the world's state.
LocalValue: TypeAlias = TableValue | ValueRule


def local_value(part: Factor | ValueRule) -> LocalValue:
    """Read a factor or a rule."""
    if isinstance(part, ValueRule):
        return part
    if isinstance(part, Factor):
        return TableValue(part)
    raise InvalidModel(f"The values of a team are factors and value rules, not {part!r}.")
