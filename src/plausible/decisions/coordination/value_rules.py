"""Value rules, numbers that count where a context holds; and best joint actions by eliminating agents from them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

from plausible.errors import InvalidArgument, TooLarge
from plausible.factors.display import format_number
from plausible.variables import State, Variable

__all__ = ["MAX_RULES", "RuleMaximum", "ValueRule", "best_by_rules"]

#: More rules than this are not built on the way.
MAX_RULES = 2**18

#: Agent -> the positions of the actions for which a rule holds.
_Context = dict[str, frozenset[int]]


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
        if not isinstance(self.value, (int, float)) or not math.isfinite(self.value):
            raise InvalidArgument(
                f"The value of the rule {dict(self.context)!r} is a finite number, not {self.value!r}."
            )
        context = {name: _choices(value) for name, value in self.context.items()}
        object.__setattr__(self, "context", MappingProxyType(context))
        object.__setattr__(self, "value", float(self.value))

    def given(self, state: Mapping[str, State]) -> ValueRule | None:
        """The rule in a state of the world, without what the state settles; `None` where it can't hold."""
        for name, allowed in self.context.items():
            if name in state and state[name] not in allowed:
                return None
        left = {name: allowed for name, allowed in self.context.items() if name not in state}
        return ValueRule(left, self.value)

    def __hash__(self) -> int:
        return hash((frozenset(self.context.items()), self.value))

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle by the constructor: a read-only mapping can't be pickled."""
        return ValueRule, (dict(self.context), self.value)

    def __str__(self) -> str:
        inside = ", ".join(f"{name}={'|'.join(map(str, allowed))}" for name, allowed in self.context.items())
        return f"{inside or 'always'}: {format_number(self.value)}"


def _choices(value: Any) -> tuple[State, ...]:
    return tuple(value) if isinstance(value, (list, tuple, set, frozenset)) else (value,)


@dataclass(frozen=True, slots=True)
class _Coded:
    """A rule over agents alone, by positions."""

    context: _Context
    value: float


@dataclass(frozen=True, slots=True)
class RuleMaximum:
    """The best joint action, and how many rules it took.

    Attributes
    ----------
    actions
        Agent -> action.
    value
        Of the rules that then hold.
    num_rules
        Those given, and those made on the way.
    """

    actions: dict[str, State]
    value: float
    num_rules: int


def best_by_rules(rules: Iterable[ValueRule], agents: Sequence[Variable]) -> RuleMaximum:
    """argmax_a Σ value of the rules that hold, by eliminating agents from rules.

    An agent's rules are replaced by rules over the others: contexts are split only as far as the rules at hand
    mention other agents, and branches of the same value are joined. Rules that don't interact never meet, so the cost
    depends on contexts rather than on tables; at worst it is that of tables.

    Parameters
    ----------
    rules
        Rules whose contexts mention agents only.
    agents
        The agents, with their actions.
    """
    by_name = {agent.name: agent for agent in agents}
    live = [_coded(rule, by_name) for rule in rules]
    live = [rule for rule in live if all(rule.context.values())]
    num_rules, decided = len(live), list[tuple[Variable, list[_Coded]]]()
    while remaining := [agent for agent in agents if agent.name in by_name]:
        agent = min(remaining, key=lambda one: _price(one, live, by_name))
        del by_name[agent.name]
        mine = [rule for rule in live if agent.name in rule.context]
        made = _maximized(agent, mine, {other.name: other for other in agents})
        decided.append((agent, mine))
        live = [rule for rule in live if agent.name not in rule.context] + made
        num_rules += len(made)
        if num_rules > MAX_RULES:
            raise TooLarge(f"Eliminating agents makes more than {MAX_RULES} rules. Use MaxProduct(), or give roles.")
    return RuleMaximum(_decoded(decided), math.fsum(rule.value for rule in live), num_rules)


def _coded(rule: ValueRule, agents: Mapping[str, Variable]) -> _Coded:
    """By positions; actions that an agent does not have under its role are left out."""
    context = {
        name: frozenset(agents[name].index(action) for action in allowed if agents[name].has_state(action))
        for name, allowed in rule.context.items()
    }
    return _Coded({name: where for name, where in context.items() if len(where) < agents[name].num_states}, rule.value)


def _price(agent: Variable, live: Sequence[_Coded], left: Mapping[str, Variable]) -> int:
    """How many joint actions of its neighbours an agent's elimination looks at, at most."""
    near = {name for rule in live if agent.name in rule.context for name in rule.context}
    return math.prod(left[name].num_states for name in near)


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
        joined = [_united(group, name) if len(group) > 1 else group[0] for group in groups.values()]
    return joined


def _united(group: Sequence[_Coded], name: str) -> _Coded:
    where = frozenset().union(*(rule.context[name] for rule in group))
    return _Coded({**group[0].context, name: where}, group[0].value)


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
