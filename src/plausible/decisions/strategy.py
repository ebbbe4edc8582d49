"""Strategies: a rule for each decision, and rules in the forms in which people write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeAlias

import numpy as np

from plausible.base import Floats, Frozen, FrozenMapping, TextTable, html_page, to_plain
from plausible.cpds import TableCPD
from plausible.cpds.reading import BadRow, checked_rows
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable, suggestion
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at, check_size, num_entries
from plausible.utilities.local import check_arguments, seen_text
from plausible.variables import Assignment, State, Variable

#: Rules for more information states than this are not printed in full.
_MAX_ROWS = 32

#: Rules that would have more entries are kept over what they use.
MAX_RULE = 2**12

#: A rule as people write it: a factor over what is seen and the decision, the same as a table CPD, an action to take
#: whatever is seen, a mapping from what is seen (a state, or a tuple of them) to actions, or a function of it.
RuleLike: TypeAlias = Factor | TableCPD | State | Mapping[Any, State] | Callable[..., State]


def read_rule(rule: RuleLike, seen: tuple[Variable, ...], decision: Variable) -> Factor:
    """A rule as a factor over `(*seen, decision)`, from any of the forms in which it may be given.

    A factor or table may be over a part of what is seen, and stays so; an action to take whatever is seen is one over
    the decision alone where a table over all that is seen would be large.
    """
    scope = (*seen, decision)
    if isinstance(rule, TableCPD):
        rule = rule.bind({variable.name: variable for variable in seen}).to_factor()
    if isinstance(rule, Factor):
        return _checked(rule, scope, decision)
    if isinstance(rule, Mapping):
        check_size(scope, f"The rule of {decision.name!r}")
        return _deterministic(_listed(rule, scope), scope)
    if callable(rule):
        check_size(scope, f"The rule of {decision.name!r}")
        check_arguments(rule, seen, f"The rule of {decision.name!r}")
        return _deterministic([rule(*states) for states in _seen(scope)], scope)
    return _deterministic([rule], scope if num_entries(scope) <= MAX_RULE else scope[-1:])


def _checked(rule: Factor, whole: tuple[Variable, ...], decision: Variable) -> Factor:
    """The factor with its axes in order, if it is a distribution over actions for each thing seen."""
    known = {variable.name: variable for variable in whole}
    if decision.name not in rule.names or not set(rule.names) <= set(known):
        raise InvalidArgument(f"The rule of {decision.name!r} is over {list(rule.names)}, not over {list(known)}.")
    for variable in rule.scope:
        if variable != known[variable.name]:
            raise InvalidArgument(
                f"The rule of {decision.name!r} is for {variable.name!r} with the states {list(variable.states)}; here "
                f"it has {list(known[variable.name].states)}. Write the rule for this diagram: diagram.strategy(...)."
            )
    scope = tuple(variable for variable in whole if variable.name in rule.names)
    ordered = rule.reorder([variable.name for variable in scope])
    try:
        rows, _ = checked_rows(np.array(ordered.values))
    except BadRow as error:
        places = zip(scope[:-1], error.row, strict=True)
        where = seen_text({variable.name: variable.states[place] for variable, place in places})
        raise InvalidArgument(f"The rule of {decision.name!r}{where and f' for {where}'} {error.problem}.") from None
    return Factor(scope, rows)


def _seen(scope: tuple[Variable, ...]) -> Iterator[tuple[State, ...]]:
    """All that may be seen, the last variable changing fastest."""
    return product(*(variable.states for variable in scope[:-1]))


def _listed(rule: Mapping[Any, State], scope: tuple[Variable, ...]) -> list[State]:
    """The actions of a mapping, for all that may be seen."""
    *seen, decision = (variable.name for variable in scope)
    if not seen:
        raise InvalidArgument(f"{decision!r} sees nothing: its rule is one action, not the mapping {dict(rule)!r}.")
    keys: list[Any] = list(_seen(scope) if len(seen) > 1 else scope[0].states)
    known = set(keys)
    if (strange := next((key for key in rule if key not in known), None)) is not None:
        form = f" Keys are states of ({', '.join(seen)}), such as {keys[0]!r}."
        meant = suggestion(strange, keys) if len(seen) == 1 else form
        raise InvalidArgument(f"The rule of {decision!r} has {strange!r}, which {', '.join(seen)} can't be.{meant}")
    if missing := [key for key in keys if key not in rule]:
        raise InvalidArgument(f"The rule of {decision!r} says nothing for {missing[0]!r}: add it to the mapping.")
    return [rule[key] for key in keys]


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
        is_mixed = isinstance(actions[place], (Mapping, Sequence, np.ndarray)) and not isinstance(actions[place], str)
        advice = " A rule that mixes actions is a TableCPD or a Factor of probabilities." if is_mixed else ""
        raise UnknownState(f"The rule of {decision.name!r}{where}: {error}{advice}") from None
    rows = np.eye(decision.num_states)[chosen]
    shape = [variable.num_states for variable in scope]
    return Factor(scope, np.broadcast_to(rows, (math.prod(shape[:-1]), shape[-1])).reshape(shape))


class Strategy(Frozen, Mapping[str, Factor]):
    """A rule for each decision: `strategy[name]` is the factor P(decision | what it sees).

    Rules may be deterministic or random. Make a strategy with `InfluenceDiagram.strategy`, which accepts simple forms
    of rules.

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

    def to_dict(self) -> dict[str, Any]:
        """Name -> rule, in the types that JSON knows."""
        return {name: to_plain(rule) for name, rule in self.items()}

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
        lines = []
        for name, rule in self._rules.items():
            rows, num_more = _rule_rows(rule)
            lines += [name, *(f"  {seen_text(seen) or 'always'}: {actions}" for seen, actions in rows)]
            lines += [f"  ... and {num_more} more"] if num_more else []
        return "\n".join(lines)

    def _repr_html_(self) -> str:
        pages = []
        for name, rule in self._rules.items():
            rows, num_more = _rule_rows(rule)
            cells = tuple((*map(str, seen.values()), actions) for seen, actions in rows)
            pages.append(html_page(name, TextTable(rule.names, cells, len(rule.names) - 1, num_more)))
        return "".join(pages)


#: A strategy, or a rule for each decision as people write it.
StrategyLike: TypeAlias = Strategy | Mapping[str, RuleLike]


def _with_decision_last(name: str, rule: Factor) -> Factor:
    if not isinstance(rule, Factor) or name not in rule.names:
        given = f"a factor over {list(rule.names)}" if isinstance(rule, Factor) else repr(rule)
        raise InvalidArgument(
            f"The rule of {name!r} is a factor over what is seen and {name!r}, not {given}. "
            "diagram.strategy(...) reads rules in other forms."
        )
    return rule if rule.names[-1] == name else rule.reorder([*(other for other in rule.names if other != name), name])


def _rule_rows(rule: Factor) -> tuple[list[tuple[Assignment, str]], int]:
    """What is seen and what is done then, up to a limit, and how many more there are."""
    *seen, decision = rule.scope
    chances = rule.flat.reshape(-1, decision.num_states)
    rows = [
        (assignment_at(tuple(seen), place), _actions(decision, row)) for place, row in enumerate(chances[:_MAX_ROWS])
    ]
    return rows, len(chances) - len(rows)


def _actions(decision: Variable, row: Floats) -> str:
    """The actions that may be taken, with their chances where there are several."""
    likely = np.flatnonzero(row)
    return " or ".join(f"{decision.states[i]}" + (f" ({row[i]:.6g})" if len(likely) > 1 else "") for i in likely)
