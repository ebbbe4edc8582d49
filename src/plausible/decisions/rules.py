"""Decision rules in the forms in which people write them."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping, Sequence
from itertools import islice, product
from typing import Any, TypeAlias

import numpy as np

from plausible.cpds import TableCPD
from plausible.cpds.rows import BadRow, checked_rows
from plausible.errors import InvalidArgument, UnknownState, suggestion
from plausible.factors import Factor
from plausible.factors.alignment import check_size, num_entries
from plausible.utilities.local import check_arguments
from plausible.utilities.wording import seen_text
from plausible.variables import State, Variable

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
    _check_scope(rule, whole, decision)
    scope = tuple(variable for variable in whole if variable.name in rule.names)
    ordered = rule.reorder([variable.name for variable in scope])
    try:
        rows, _ = checked_rows(np.array(ordered.values))
    except BadRow as error:
        places = zip(scope[:-1], error.row, strict=True)
        where = seen_text({variable.name: variable.states[place] for variable, place in places})
        raise InvalidArgument(f"The rule of {decision.name!r}{where and f' for {where}'} {error.problem}.") from None
    return Factor(scope, rows)


def _check_scope(rule: Factor, whole: tuple[Variable, ...], decision: Variable) -> None:
    """Whether a rule is over the decision and a part of what it sees, with the states that these have here."""
    known = {variable.name: variable for variable in whole}
    if decision.name not in rule.names or not set(rule.names) <= set(known):
        raise InvalidArgument(f"The rule of {decision.name!r} is over {list(rule.names)}, not over {list(known)}.")
    for variable in rule.scope:
        if variable != known[variable.name]:
            raise InvalidArgument(
                f"The rule of {decision.name!r} is for {variable.name!r} with the states {list(variable.states)}; here "
                f"it has {list(known[variable.name].states)}. Write the rule for this diagram: diagram.strategy(...)."
            )


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
