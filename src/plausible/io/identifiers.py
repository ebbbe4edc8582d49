"""Names that a format can't write: legal, unique stand-ins for them, and the way back."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Sequence
from typing import Any, Final

from plausible.errors import NotRepresentable
from plausible.variables import State, Variable

#: Tuples in a state may be nested this deeply.
MAX_DEPTH: Final = 20


def state_texts(variable: Variable) -> list[str]:
    """The states as text; two states that print alike can't be written.

    >>> state_texts(Variable("X", [False, True]))
    ['False', 'True']
    """
    texts = [str(state) for state in variable.states]
    if len(set(texts)) < len(texts):
        raise NotRepresentable(f"Two states of {variable.name!r} print alike: {texts}. Rename one, or save as JSON.")
    return texts


def to_plain(state: State, name: str, depth: int = 0) -> Any:
    """A state as JSON can hold it: text, number, boolean, null; a tuple becomes a list."""
    if state is None or isinstance(state, (str, bool, int, float)):
        return state
    if isinstance(state, tuple) and depth < MAX_DEPTH:
        return [to_plain(part, name, depth + 1) for part in state]
    if hasattr(state, "item") and depth < MAX_DEPTH:
        return to_plain(state.item(), name, depth + 1)
    raise NotRepresentable(
        f"A state of {name!r} is or holds a {type(state).__name__}, {str(state)[:40]}: files hold text, numbers, "
        f"booleans and tuples of these, nested at most {MAX_DEPTH} deep."
    )


def from_plain(item: Any, depth: int = 0) -> State:
    """The inverse of `to_plain`; a `TypeError` for what is no state.

    >>> from_plain(to_plain((1, "a"), "X"))
    (1, 'a')
    """
    if isinstance(item, list) and depth < MAX_DEPTH:
        return tuple(from_plain(part, depth + 1) for part in item)
    if isinstance(item, dict | list):
        raise TypeError("a state can't be an object, nor a list that is nested more deeply than any that is written")
    return item  # type: ignore[no-any-return]


def stand_ins(names: Sequence[str], legal: Callable[[str], str]) -> list[str]:
    """For each of the different names a legal text, all different; a name that is legal stands for itself.

    >>> stand_ins(["a b", "a_b", "a-b"], lambda name: re.sub(r"\\W", "_", name))
    ['a_b_2', 'a_b', 'a_b_3']
    """
    taken = {name for name in names if legal(name) == name}
    chosen = []
    numbers: dict[str, int] = {}
    for name in names:
        text = base = legal(name)
        while text != name and text in taken:
            numbers[base] = numbers.get(base, 1) + 1
            text = f"{base}_{numbers[base]}"
        taken.add(text)
        chosen.append(text)
    return chosen


def state_stand_ins(variable: Variable, legal: Callable[[str], str]) -> tuple[list[str], str | None]:
    """Stand-ins for the states, and the JSON list that restores them, where it is needed."""
    texts = state_texts(variable)
    chosen = stand_ins(texts, legal)
    if chosen == list(variable.states):
        return chosen, None
    return chosen, json.dumps([to_plain(state, variable.name) for state in variable.states])


def restore_name(stand_in: str, written: str | None, legal: Callable[[str], str]) -> str:
    """The name for which a stand-in was written; the stand-in itself where the note on it does not fit."""
    name = _loads(written)
    if not isinstance(name, str) or not name:
        return stand_in
    return name if re.fullmatch(re.escape(legal(name)) + r"(_\d+)?", stand_in) else stand_in


def restore_states(stand_ins_read: list[str], written: str | None, legal: Callable[[str], str]) -> list[State]:
    """The states for which stand-ins were written; the stand-ins themselves where the note on them does not fit."""
    listed = _loads(written)
    if not isinstance(listed, list):
        return list(stand_ins_read)
    try:
        states = [from_plain(item) for item in listed]
    except TypeError:
        return list(stand_ins_read)
    return states if stand_ins([str(state) for state in states], legal) == stand_ins_read else list(stand_ins_read)


def _loads(written: str | None) -> object:
    if written is None:
        return None
    try:
        return json.loads(written)
    except (ValueError, RecursionError):
        return None
