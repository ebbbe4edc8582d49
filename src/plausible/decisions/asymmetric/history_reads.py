"""Histories that note what was read in them, and answers that are kept for all histories that agree on it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping
from typing import Generic, TypeVar, overload

from plausible.errors import UnknownVariable, suggestion
from plausible.variables import State

__all__ = ["KnownAnswers", "NotedHistory"]

Answer = TypeVar("Answer")

#: Stands for the state of what was not met.
_ABSENT = object()


class NotedHistory(Mapping[str, State]):
    """A history that adds each name that somebody asks for to `reads`, whether it was met or not.

    Names that no node carries are refused: `get` of a misspelt one would be silent for ever.

    Examples
    --------
    >>> reads = set()
    >>> met = NotedHistory({"test": "yes", "result": "bad"}, {"test", "result", "build"}, reads)
    >>> met.get("result"), "build" in met, sorted(reads)
    ('bad', False, ['build', 'result'])
    >>> met.get("reslut")
    Traceback (most recent call last):
        ...
    plausible.errors.UnknownVariable: 'reslut' is not a node of this diagram. Did you mean 'result' ...
    """

    __slots__ = ("_history", "_nodes", "_reads")

    def __init__(self, history: Mapping[str, State], nodes: Collection[str], reads: set[str] | None = None) -> None:
        self._history, self._nodes = history, nodes
        self._reads: set[str] = set() if reads is None else reads

    def __getitem__(self, name: str) -> State:
        if name not in self:
            raise UnknownVariable(f"{name!r} was not met before: ask with get({name!r}).")
        return self._history[name]

    def __contains__(self, name: object) -> bool:
        if name not in self._nodes:
            raise UnknownVariable(f"{name!r} is not a node of this diagram.{suggestion(name, self._nodes)}")
        self._reads.add(str(name))
        return name in self._history

    @overload
    def get(self, name: str, /) -> State | None: ...
    @overload
    def get(self, name: str, /, default: State) -> State: ...
    def get(self, name: str, /, default: State | None = None) -> State | None:
        """The state of a node, or the default where it was not met."""
        return self._history[name] if name in self else default

    def __iter__(self) -> Iterator[str]:
        self._reads.update(self._nodes)
        return iter(self._history)

    def __len__(self) -> int:
        self._reads.update(self._nodes)
        return len(self._history)

    def __repr__(self) -> str:
        return repr(dict(self._history))


class KnownAnswers(Generic[Answer]):
    """Answers by the part of a history on which they depend: those that agree on it share one.

    Examples
    --------
    >>> known = KnownAnswers()
    >>> known.add({"test": "yes", "result": "bad"}, {"result"}, 7)
    >>> known.find({"test": "no", "result": "bad"}), known.find({"result": "good"})
    (7, None)
    """

    def __init__(self) -> None:
        self._tables: dict[tuple[str, ...], dict[tuple[object, ...], Answer]] = {}

    def add(self, history: Mapping[str, State], reads: set[str] | frozenset[str], answer: Answer) -> None:
        """Keep an answer that was found by reading these names only."""
        names = tuple(sorted(reads))
        self._tables.setdefault(names, {})[_part(history, names)] = answer

    def find(self, history: Mapping[str, State]) -> Answer | None:
        """An answer for a history that agrees on all that was read, if there is one."""
        for names, table in self._tables.items():
            if (key := _part(history, names)) in table:
                return table[key]
        return None

    def __len__(self) -> int:
        return sum(map(len, self._tables.values()))


def _part(history: Mapping[str, State], names: tuple[str, ...]) -> tuple[object, ...]:
    return tuple(history.get(name, _ABSENT) for name in names)
