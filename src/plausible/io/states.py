"""States that are not text, in formats that know only text.

A format writes `str(state)`. Where that would lose something (the number 1, the boolean True), it also writes the
property `plausible_states`, a JSON list that other programs pass over and our readers restore the states from.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from plausible.errors import NotRepresentable
from plausible.variables import State, Variable

__all__ = ["PROPERTY", "restore_states", "state_texts", "states_property", "to_plain"]

PROPERTY = "plausible_states"


def state_texts(variable: Variable) -> list[str]:
    """The states as text; two states that print alike can't be written.

    >>> state_texts(Variable("X", [False, True]))
    ['False', 'True']
    """
    texts = [str(state) for state in variable.states or ()]
    if len(set(texts)) < len(texts):
        raise NotRepresentable(f"Two states of {variable.name!r} print alike: {texts}. Rename one, or save as JSON.")
    return texts


def states_property(variable: Variable) -> str | None:
    """The JSON list that restores the states exactly, where their text would not.

    >>> states_property(Variable("X", [0, 1])), states_property(Variable("X", ["0", "1"]))
    ('[0, 1]', None)
    """
    states = variable.states or ()
    if all(isinstance(state, str) for state in states):
        return None
    return json.dumps([to_plain(state, variable.name) for state in states])


def to_plain(state: State, name: str) -> Any:
    """A state as JSON can hold it: text, number, boolean, null; a tuple becomes a list."""
    if state is None or isinstance(state, (str, bool, int, float)):
        return state
    if isinstance(state, tuple):
        return [to_plain(part, name) for part in state]
    if hasattr(state, "item"):
        return to_plain(state.item(), name)
    raise NotRepresentable(
        f"The state {state!r} of {name!r} is a {type(state).__name__}: files hold text, numbers, booleans and tuples."
    )


def restore_states(texts: Sequence[str], listed: str) -> list[State] | None:
    """States from the property, if it is a list that prints as `texts`; None where it does not fit.

    >>> restore_states(["False", "True"], "[false, true]")
    [False, True]
    """
    try:
        states = [from_plain(item) for item in json.loads(listed)]
    except (ValueError, TypeError, RecursionError):
        return None
    return states if [str(state) for state in states] == list(texts) else None


def from_plain(item: Any) -> State:
    """The inverse of `to_plain`."""
    if isinstance(item, list):
        return tuple(from_plain(part) for part in item)
    if isinstance(item, dict):
        raise TypeError("a state can't be an object")
    return item  # type: ignore[no-any-return]
