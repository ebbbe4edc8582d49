"""Local values of a team: tables, and rules that count where a context holds; best joint actions by rules."""

from __future__ import annotations

import math
from collections.abc import Collection, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeAlias

import numpy as np

from plausible.base import FrozenMapping, format_number, html_of_print
from plausible.errors import InvalidArgument, InvalidModel, TooLarge, shortened
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.variables import State, Variable


@dataclass(frozen=True, slots=True)
class ValueRule:
    """⟨context : value⟩: a team gains the value wherever the context, of state and actions, holds.

    Guestrin, Venkataraman & Koller (2002), Context-specific multiagent coordination and planning with factored MDPs.
    The context maps state variables and agents to a state or action, or a collection of them ("one of"). The value is
    any number; the values of all rules that hold add up.

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
        context = {}
        for name, given in self.context.items():
            is_collection = isinstance(given, Collection) and not isinstance(given, (str, bytes, Mapping))
            context[name] = tuple(given) if is_collection else (given,)
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
    if isinstance(part, ValueRule):
        return part
    if isinstance(part, Factor):
        return TableValue(part)
    raise InvalidModel(f"The values of a team are factors and value rules, not {part!r}.")


#: More rules than this are not built on the way.
MAX_RULES = 2**18

#: Agent -> the positions of the actions for which a rule holds.
_Context = dict[str, frozenset[int]]


@dataclass(frozen=True, slots=True)
class _Coded:
    """A rule over agents alone, by positions."""

    context: _Context
    value: float


class _Live:
    """The rules that still count, found by their agents.

    `prices` has for each agent that is left how many joint actions of it and its neighbours its elimination looks at,
    at most; `constants` are the values of rules that hold whatever anyone does.
    """

    def __init__(self, agents: Mapping[str, Variable]) -> None:
        self._agents = agents
        self._rules: dict[str, dict[int, _Coded]] = {name: {} for name in agents}
        self.prices = dict.fromkeys(agents, 1)
        self._stale: set[str] = set()
        self.constants: list[float] = []
        self.num_rules = 0

    def add(self, rule: _Coded) -> None:
        """Another rule; one that can't hold is left out."""
        if not all(rule.context.values()):
            return
        self.num_rules += 1
        for name in rule.context:
            self._rules[name][self.num_rules] = rule
        self._stale.update(rule.context)
        if not rule.context:
            self.constants.append(rule.value)

    def take(self, name: str) -> list[_Coded]:
        """All rules of an agent, who is then gone."""
        taken = self._rules.pop(name)
        del self.prices[name]
        for number, rule in taken.items():
            for other in rule.context.keys() & self._rules.keys():
                del self._rules[other][number]
                self._stale.add(other)
        return list(taken.values())

    def cheapest(self) -> str:
        for name in self._stale & self._rules.keys():
            near = {other for rule in self._rules[name].values() for other in rule.context}
            self.prices[name] = math.prod(self._agents[other].num_states for other in near)
        self._stale.clear()
        return min(self.prices, key=self.prices.__getitem__)


@dataclass(frozen=True, slots=True)
class RuleMaximum:
    """The best joint action, and how many rules it took."""

    actions: dict[str, State]  # agent -> action
    value: float  # of the rules that then hold
    num_rules: int  # those given, and those made on the way


def best_by_rules(rules: Iterable[ValueRule], agents: Sequence[Variable]) -> RuleMaximum:
    """argmax_a Σ value of the rules that hold, by eliminating agents from rules.

    An agent's rules are replaced by rules over the others: contexts are split only as far as the rules at hand
    mention other agents, and branches of the same value are joined. Rules that don't interact never meet, so the cost
    depends on contexts rather than on tables; at worst it is that of tables.
    """
    by_name = {agent.name: agent for agent in agents}
    live = _Live(by_name)
    for rule in rules:  # actions that an agent does not have under its role are left out
        context = {
            name: frozenset(by_name[name].index(action) for action in allowed if by_name[name].has_state(action))
            for name, allowed in rule.context.items()
        }
        live.add(_Coded(_narrow(context, by_name), rule.value))
    decided: list[tuple[Variable, list[_Coded]]] = []
    while live.prices:
        agent = by_name[live.cheapest()]
        mine = live.take(agent.name)
        decided.append((agent, mine))
        for made in _maximized(agent, mine, by_name):
            live.add(made)
        if live.num_rules > MAX_RULES:
            raise TooLarge(f"Eliminating agents makes more than {MAX_RULES} rules. Use MaxProduct(), or give roles.")
    return RuleMaximum(_decoded(decided), math.fsum(live.constants), live.num_rules)


def _maximized(agent: Variable, rules: Sequence[_Coded], agents: Mapping[str, Variable]) -> list[_Coded]:
    """Rules over the others, of which one holds, whose value is the best that the agent can add."""
    made: list[_Coded] = []
    waiting: list[tuple[Sequence[_Coded], _Context]] = [(rules, {})]
    while waiting:
        live, path = waiting.pop()
        other = next((name for rule in live for name in rule.context if name != agent.name and name not in path), None)
        if other is None:
            value = max(_added(agent, live))
            if value:
                made.append(_Coded(path, value))
            continue
        for positions, kept in _branches(agents[other], live):
            waiting.append((kept, {**path, other: positions}))
    return [_Coded(_narrow(rule.context, agents), rule.value) for rule in _joined(made)]


def _narrow(context: _Context, agents: Mapping[str, Variable]) -> _Context:
    """Without the agents of whom every action is allowed."""
    return {name: where for name, where in context.items() if len(where) < agents[name].num_states}


def _added(agent: Variable, rules: Sequence[_Coded]) -> list[float]:
    """What the rules give for each action of the agent."""
    every = frozenset(range(agent.num_states))
    return [
        math.fsum(rule.value for rule in rules if action in rule.context.get(agent.name, every))
        for action in range(agent.num_states)
    ]


def _branches(variable: Variable, rules: Sequence[_Coded]) -> list[tuple[frozenset[int], Sequence[_Coded]]]:
    """Actions for which the same rules are left go together."""
    together: dict[tuple[int, ...], list[int]] = {}
    for position in range(variable.num_states):
        left = tuple(
            number
            for number, rule in enumerate(rules)
            if variable.name not in rule.context or position in rule.context[variable.name]
        )
        together.setdefault(left, []).append(position)
    return [(frozenset(positions), [rules[number] for number in left]) for left, positions in together.items()]


def _joined(rules: Sequence[_Coded]) -> list[_Coded]:
    """Rules of the same value that differ in one agent only become one; those at hand never hold together."""
    joined = list(rules)
    names = dict.fromkeys(name for rule in rules for name in rule.context)
    for name in reversed(names):
        groups: dict[object, list[_Coded]] = {}
        for rule in joined:
            rest = frozenset((other, where) for other, where in rule.context.items() if other != name)
            groups.setdefault((rest, rule.value, name in rule.context), []).append(rule)
        joined = []
        for same in groups.values():
            where = frozenset[int]().union(*(rule.context.get(name, ()) for rule in same))
            joined.append(_Coded({**same[0].context, name: where}, same[0].value) if len(same) > 1 else same[0])
    return joined


def _decoded(decided: Sequence[tuple[Variable, list[_Coded]]]) -> dict[str, State]:
    """Actions in reverse of the elimination, each the first best given those chosen before."""
    chosen: dict[str, int] = {}
    for agent, rules in reversed(decided):
        holding = [
            rule
            for rule in rules
            if all(chosen[name] in where for name, where in rule.context.items() if name != agent.name)
        ]
        added = _added(agent, holding)
        chosen[agent.name] = added.index(max(added))
    by_name = {agent.name: agent for agent, _ in decided}
    return {name: by_name[name].states[position] for name, position in chosen.items()}
