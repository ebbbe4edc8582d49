"""Best joint actions by eliminating agents from value rules."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass

from plausible.decisions.coordination.local_values import ValueRule
from plausible.errors import TooLarge
from plausible.variables import State, Variable

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
        """The agent with the lowest price, the first of several."""
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
    for rule in rules:
        live.add(_coded(rule, by_name))
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


def _coded(rule: ValueRule, agents: Mapping[str, Variable]) -> _Coded:
    """By positions; actions that an agent does not have under its role are left out."""
    context = {
        name: frozenset(agents[name].index(action) for action in allowed if agents[name].has_state(action))
        for name, allowed in rule.context.items()
    }
    return _Coded({name: where for name, where in context.items() if len(where) < agents[name].num_states}, rule.value)


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
