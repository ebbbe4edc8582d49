"""Local values of a team, tables or rules: read, narrowed and turned into each other."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from plausible.decisions.coordination.value_rules import ValueRule
from plausible.errors import TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES
from plausible.variables import State, Variable

__all__ = ["as_rules", "names_of", "narrowed", "rule_table", "worth_at"]


def names_of(part: Factor | ValueRule) -> tuple[str, ...]:
    """The agents and state variables that a value speaks of."""
    return part.names if isinstance(part, Factor) else tuple(part.context)


def worth_at(part: Factor | ValueRule, actions: Mapping[str, State]) -> float:
    """The value at actions of all agents that it speaks of."""
    if isinstance(part, Factor):
        return float(part.reduce({name: actions[name] for name in part.names}).sum())
    return part.value if all(actions[name] in allowed for name, allowed in part.context.items()) else 0.0


def narrowed(
    part: Factor | ValueRule, before: Mapping[str, Variable], agents: Mapping[str, list[State]]
) -> Factor | ValueRule | None:
    """A value for agents with fewer actions; `None` for a rule that can't hold any more."""
    if isinstance(part, ValueRule):
        context = {
            name: [state for state in allowed if name not in agents or state in agents[name]]
            for name, allowed in part.context.items()
        }
        return ValueRule(context, part.value) if all(context.values()) else None
    places = [
        [before[v.name].index(action) for action in agents[v.name]] if v.name in agents else range(v.num_states)
        for v in part.scope
    ]
    scope = [Variable(v.name, agents[v.name]) if v.name in agents else v for v in part.scope]
    return Factor(scope, part.values[np.ix_(*places)]) if scope else part


def rule_table(rule: ValueRule, agents: Mapping[str, Variable]) -> Factor:
    """A rule over agents as a factor; refused where that would be too large."""
    scope = [agents[name] for name in rule.context]
    entries = math.prod(agent.num_states for agent in scope)
    if entries > MAX_ENTRIES:
        raise TooLarge(f"The rule over {len(scope)} agents has a table of {entries:.3g} entries. Use method='rules'.")
    table = np.array(rule.value)
    for agent in scope:
        table = table[..., None] * np.array([action in rule.context[agent.name] for action in agent.states])
    return Factor(scope, table)


def as_rules(part: Factor | ValueRule) -> list[ValueRule]:
    """A factor as a rule for each entry that is not zero; a rule as itself."""
    if isinstance(part, ValueRule):
        return [part]
    return [
        ValueRule(
            {v.name: v.states[code] for v, code in zip(part.scope, codes, strict=True)},
            float(part.values[tuple(codes)]),
        )
        for codes in np.argwhere(part.values != 0).tolist()
    ]
