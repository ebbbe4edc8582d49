"""States that are not text, in files.

A format that knows only text writes `str(state)`. Where that would lose something (the number 1, the boolean True), it
also writes the states as a JSON list, from which our readers restore them and which other programs pass over.
"""

from __future__ import annotations

from typing import Any, Final

from plausible.errors import NotRepresentable
from plausible.variables import State, Variable

__all__ = ["MAX_DEPTH", "from_plain", "state_texts", "to_plain"]

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
