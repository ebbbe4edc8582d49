"""Decisions whose place in time is open."""

from __future__ import annotations

from collections.abc import Iterable

from plausible.base.frozen import Frozen
from plausible.cpds.reading import VariableLike, name_of
from plausible.decisions.parts import Decision
from plausible.errors import InvalidModel
from plausible.variables import State, Variable

__all__ = ["FreeDecision", "read_names"]


class FreeDecision(Frozen):
    """A decision whose place in time is open.

    Parameters
    ----------
    variable
        Its name (then see `states`) or a `Variable`.
    states
        The actions to choose from.
    releases
        Names of chance variables that can't be seen before this decision is made.
    after
        Names of decisions that must be made, and of chance variables that must be seen, before this one.

    Examples
    --------
    >>> FreeDecision("test", ["no", "yes"], releases=["result"])
    FreeDecision('test', ['no', 'yes'], releases=['result'])
    """

    __slots__ = ("after", "releases", "variable")

    variable: Variable
    releases: tuple[str, ...]
    after: tuple[str, ...]

    def __init__(
        self,
        variable: VariableLike,
        states: Iterable[State] | int | None = None,
        releases: VariableLike | Iterable[VariableLike] = (),
        after: VariableLike | Iterable[VariableLike] = (),
    ) -> None:
        self.variable = Decision(variable, states).variable
        self.releases = read_names(releases, f"what {self.name!r} releases")
        self.after = read_names(after, f"what {self.name!r} comes after")

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name

    def __eq__(self, other: object) -> bool:
        return isinstance(other, FreeDecision) and self._key == other._key

    def __hash__(self) -> int:
        return hash(self._key)

    @property
    def _key(self) -> tuple[Variable, frozenset[str], frozenset[str]]:
        return self.variable, frozenset(self.releases), frozenset(self.after)

    def __repr__(self) -> str:
        parts = [repr(self.name), repr(list(self.variable.states))]
        parts += [f"releases={list(self.releases)!r}"] if self.releases else []
        parts += [f"after={list(self.after)!r}"] if self.after else []
        return f"FreeDecision({', '.join(parts)})"


def read_names(names: VariableLike | Iterable[VariableLike], what: str) -> tuple[str, ...]:
    """Names, each once, from one or several names or variables; `what` says in errors what they are."""
    listed = (names,) if isinstance(names, (str, Variable)) else tuple(names)
    for name in listed:
        if not isinstance(name, (str, Variable)):
            raise InvalidModel(f"Names say {what}, not {name!r}.")
    return tuple(dict.fromkeys(map(name_of, listed)))
