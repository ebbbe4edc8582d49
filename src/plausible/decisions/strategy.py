"""Strategies: a rule for each decision."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import TextTable, html_page
from plausible.base.frozen import Frozen, FrozenMapping
from plausible.errors import InvalidArgument, UnknownVariable, suggestion
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at
from plausible.utilities.wording import seen_text
from plausible.variables import State, Variable

#: Rules for more information states than this are not printed in full.
_MAX_ROWS = 32


class Strategy(Frozen, Mapping[str, Factor]):
    """A rule for each decision: `strategy[name]` is the factor P(decision | what it sees).

    Rules may be deterministic or random. Make a strategy with `InfluenceDiagram.strategy`, which accepts simple forms
    of rules.

    Examples
    --------
    >>> from plausible.variables import Variable
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
        self._rules = FrozenMapping({name: _with_decision_last(name, rule) for name, rule in rules.items()})

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
        told = {} if seen is None else seen
        if not isinstance(told, Mapping):
            raise InvalidArgument(
                f"What {name!r} sees is a mapping, name -> state, not a {type(told).__name__}; for rows of a table see "
                f"solution.policies[{name!r}].decide(rows)."
            )
        rule = self[name].reduce(told)
        if left := [variable.name for variable in rule.scope if variable.name != name]:
            strange = next((given for given in told if given not in self[name].names), None)
            meant = "" if strange is None else f" It does not see {strange!r}.{suggestion(strange, left)}"
            raise InvalidArgument(f"The decision {name!r} also sees {left}: say what was seen there.{meant}")
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

    def _repr_html_(self) -> str:
        return "".join(html_page(name, _rule_table(rule)) for name, rule in self._rules.items())


def _with_decision_last(name: str, rule: Factor) -> Factor:
    if not isinstance(rule, Factor) or name not in rule.names:
        given = f"a factor over {list(rule.names)}" if isinstance(rule, Factor) else repr(rule)
        raise InvalidArgument(
            f"The rule of {name!r} is a factor over what is seen and {name!r}, not {given}. "
            "diagram.strategy(...) reads rules in other forms."
        )
    return rule if rule.names[-1] == name else rule.reorder([*(other for other in rule.names if other != name), name])


def _rule_lines(name: str, rule: Factor) -> list[str]:
    """A rule as text, a line for each thing that may be seen, up to a limit."""
    *seen, decision = rule.scope
    rows = rule.flat.reshape(-1, decision.num_states)
    lines = [name]
    for place, row in enumerate(rows[:_MAX_ROWS]):
        where = seen_text(assignment_at(tuple(seen), place)) or "always"
        lines.append(f"  {where}: {_actions(decision, row)}")
    if len(rows) > _MAX_ROWS:
        lines.append(f"  ... and {len(rows) - _MAX_ROWS} more")
    return lines


def _rule_table(rule: Factor) -> TextTable:
    """A rule as a table: what is seen, and what is done."""
    *seen, decision = rule.scope
    chances = rule.flat.reshape(-1, decision.num_states)
    rows = tuple(
        (*map(str, assignment_at(tuple(seen), place).values()), _actions(decision, row))
        for place, row in enumerate(chances[:_MAX_ROWS])
    )
    header = (*(variable.name for variable in seen), decision.name)
    return TextTable(header, rows, len(seen), len(chances) - len(rows))


def _actions(decision: Variable, row: Floats) -> str:
    """The actions that may be taken, with their chances where there are several."""
    likely = np.flatnonzero(row)
    return " or ".join(f"{decision.states[i]}" + (f" ({row[i]:.6g})" if len(likely) > 1 else "") for i in likely)
