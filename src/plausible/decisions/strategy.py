"""Strategies: a rule for each decision."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeAlias

import numpy as np

from plausible.cpds import TableCPD
from plausible.cpds.rows import checked_rows
from plausible.decisions.wording import seen_text
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable, suggestion
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at
from plausible.variables import State, Variable
from plausible.variables.frozen import Frozen
from plausible.variables.frozen_mapping import FrozenMapping

__all__ = ["RuleLike", "Strategy", "read_rule"]

#: A rule as people write it: a factor over what is seen and the decision, the same as a table CPD, an action to take
#: whatever is seen, a mapping from what is seen (a state, or a tuple of them) to actions, or a function of it.
RuleLike: TypeAlias = Factor | TableCPD | State | Mapping[Any, State] | Callable[..., State]

#: Rules for more information states than this are not printed in full.
_MAX_ROWS = 32


class Strategy(Frozen, Mapping[str, Factor]):
    """A rule for each decision: `strategy[name]` is P(decision | what it sees), a factor over both.

    Rules may be deterministic or mix actions. Make one with `InfluenceDiagram.strategy`, which reads rules in the forms
    in which people write them.

    Examples
    --------
    >>> seen, act = Variable("forecast", ["sun", "rain"]), Variable("umbrella", ["leave", "take"])
    >>> strategy = Strategy({"umbrella": Factor([seen, act], [[1.0, 0.0], [0.0, 1.0]])})
    >>> strategy.action("umbrella", {"forecast": "rain"})
    'take'
    >>> strategy.is_deterministic
    True
    >>> print(strategy)
    umbrella
      forecast=sun: leave
      forecast=rain: take
    """

    __slots__ = ("_rules",)

    def __init__(self, rules: Mapping[str, Factor]) -> None:
        self._rules = FrozenMapping(rules)

    def __getitem__(self, name: str) -> Factor:
        if name not in self._rules:
            raise UnknownVariable(f"{name!r} has no rule in this strategy.{suggestion(name, self._rules)}")
        return self._rules[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._rules)

    def __len__(self) -> int:
        return len(self._rules)

    @property
    def is_deterministic(self) -> bool:
        """Whether every rule takes one action for sure, whatever is seen."""
        return all(bool(((rule.flat == 0) | (rule.flat == 1)).all()) for rule in self._rules.values())

    @property
    def is_fully_mixed(self) -> bool:
        """Whether every rule gives every action a chance, whatever is seen."""
        return all(bool((rule.flat > 0).all()) for rule in self._rules.values())

    def action(self, name: str, seen: Mapping[str, State] | None = None) -> State:
        """The action that a rule takes most likely, given what is seen; the first of several as likely."""
        rule = self[name].reduce(seen or {})
        if left := [variable.name for variable in rule.scope if variable.name != name]:
            raise InvalidArgument(f"The decision {name!r} also sees {left}: say what was seen there.")
        return rule.argmax()[name]

    def replace(self, rules: Mapping[str, Factor]) -> Strategy:
        """This strategy with some rules replaced."""
        for name in rules:
            self[name]
        return Strategy({**self._rules, **rules})

    def __eq__(self, other: object) -> bool:
        return dict(self._rules) == dict(other._rules) if isinstance(other, Strategy) else NotImplemented

    def __hash__(self) -> int:
        return hash(frozenset(self._rules.items()))

    def __repr__(self) -> str:
        return f"Strategy({list(self._rules)!r})"

    def __str__(self) -> str:
        """Each rule by what is seen; see `strategy[name]` for rules too long to list."""
        return "\n".join(line for name, rule in self._rules.items() for line in _rule_lines(name, rule))


def _rule_lines(name: str, rule: Factor) -> list[str]:
    """A rule as text, a line for each thing that may be seen, up to a limit."""
    *seen, decision = rule.scope
    rows = rule.flat.reshape(-1, decision.num_states)
    lines = [name]
    for place, row in enumerate(rows[:_MAX_ROWS]):
        where = seen_text(assignment_at(tuple(seen), place)) or "always"
        likely = np.flatnonzero(row)
        actions = [f"{decision.states[i]}" + (f" ({row[i]:.6g})" if len(likely) > 1 else "") for i in likely]
        lines.append(f"  {where}: {' or '.join(actions)}")
    if len(rows) > _MAX_ROWS:
        lines.append(f"  ... and {len(rows) - _MAX_ROWS} more")
    return lines


def read_rule(rule: RuleLike, seen: tuple[Variable, ...], decision: Variable) -> Factor:
    """A rule as a factor over `(*seen, decision)`, from any of the forms in which it may be given.

    >>> sky, umbrella = Variable("sky", ["sun", "rain"]), Variable("umbrella", ["leave", "take"])
    >>> read_rule({"sun": "leave", "rain": "take"}, (sky,), umbrella).values
    array([[1., 0.],
           [0., 1.]])
    """
    scope = (*seen, decision)
    if isinstance(rule, TableCPD):
        rule = rule.bind({variable.name: variable for variable in seen}).to_factor()
    if isinstance(rule, Factor):
        return _checked(rule, scope, decision)
    if isinstance(rule, Mapping):
        return _deterministic(_listed(rule, scope), scope)
    if callable(rule):
        return _deterministic([rule(*states) for states in _seen(scope)], scope)
    return _deterministic([rule], scope)


def _checked(rule: Factor, scope: tuple[Variable, ...], decision: Variable) -> Factor:
    """The factor with its axes in order, if it is a distribution over actions for each thing seen."""
    if set(rule.scope) != set(scope):
        raise InvalidArgument(
            f"The rule of {decision.name!r} is a factor over {[variable.name for variable in scope]} "
            f"with their states, not over {list(rule.names)}."
        )
    ordered = rule.reorder([variable.name for variable in scope])
    rows, _ = checked_rows(np.array(ordered.values))
    return Factor(scope, rows)


def _seen(scope: tuple[Variable, ...]) -> Iterator[tuple[State, ...]]:
    """All that may be seen, the last variable changing fastest."""
    return product(*(variable.states for variable in scope[:-1]))


def _listed(rule: Mapping[Any, State], scope: tuple[Variable, ...]) -> list[State]:
    """The actions of a mapping, for all that may be seen."""
    keys: Iterator[Any] = _seen(scope) if len(scope) != 2 else iter(scope[0].states)
    missing: Any = object()
    actions = [rule.get(key, missing) for key in keys]
    place = next((place for place, action in enumerate(actions) if action is missing), None)
    if place is not None:
        states = next(islice(_seen(scope), place, None))
        key = states[0] if len(states) == 1 else states
        raise InvalidArgument(f"The rule of {scope[-1].name!r} says nothing for {key!r}: add it to the mapping.")
    return actions


def _deterministic(actions: Sequence[State], scope: tuple[Variable, ...]) -> Factor:
    """The rule that takes these actions, one for each thing seen, or the same one whatever is seen."""
    decision = scope[-1]
    positions = {state: position for position, state in enumerate(decision.states)}
    try:
        chosen = np.array([positions[action] for action in actions])
    except (KeyError, TypeError):
        place = next(place for place, action in enumerate(actions) if not decision.has_state(action))
        where = f" for {next(islice(_seen(scope), place, None))!r}" if len(actions) > 1 else ""
        error = decision.unknown_state(actions[place])
        raise UnknownState(f"The rule of {decision.name!r}{where}: {error}") from None
    rows = np.eye(decision.num_states)[chosen]
    shape = [variable.num_states for variable in scope]
    return Factor(scope, np.broadcast_to(rows, (math.prod(shape[:-1]), shape[-1])).reshape(shape))
