"""What an influence diagram has beside chance and utilities: decisions."""

from __future__ import annotations

from collections.abc import Iterable

from plausible.base.frozen import Frozen
from plausible.cpds.reading import VariableLike
from plausible.errors import InvalidModel
from plausible.utilities.local import read_names
from plausible.variables import State, Variable

__all__ = ["Decision"]


class Decision(Frozen):
    """A decision: a choice between actions, made knowing the states of the variables it `sees`.

    Parameters
    ----------
    variable
        A name (then give the `states`) or a `Variable`.
    states
        The actions to choose from.
    sees
        Names of the variables known when it is made: chance variables and earlier decisions.

    Examples
    --------
    >>> Decision("found", ["no", "yes"], sees=["survey"])
    Decision('found', ['no', 'yes'], sees=['survey'])
    """

    __slots__ = ("sees", "variable")

    variable: Variable
    sees: tuple[str, ...]

    def __init__(
        self,
        variable: VariableLike,
        states: Iterable[State] | int | None = None,
        sees: VariableLike | Iterable[VariableLike] = (),
    ) -> None:
        self.variable = _read_actions(variable, states)
        self.sees = read_names(sees, f"the decision {self.name!r} sees")
        if self.name in self.sees:
            raise InvalidModel(f"The decision {self.name!r} can't see itself; take it out of sees=.")

    @property
    def name(self) -> str:
        """The name of the variable."""
        return self.variable.name

    @property
    def states(self) -> tuple[State, ...]:
        """The actions."""
        return self.variable.states

    def seeing(self, names: Iterable[str]) -> Decision:
        """The same choice made with other knowledge."""
        return Decision(self.variable, sees=names)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Decision):
            return NotImplemented
        return self.variable == other.variable and self.sees == other.sees

    def __hash__(self) -> int:
        return hash((self.variable, self.sees))

    def __repr__(self) -> str:
        sees = f", sees={list(self.sees)!r}" if self.sees else ""
        return f"Decision({self.name!r}, {list(self.states)!r}{sees})"


def _read_actions(variable: VariableLike, states: Iterable[State] | int | None) -> Variable:
    if not isinstance(variable, Variable):
        if states is None:
            raise InvalidModel(f"The decision {variable!r} needs its actions: Decision({variable!r}, [...]).")
        return Variable(variable, states)
    if states is not None:
        raise InvalidModel(f"{variable.name!r} is a Variable with states of its own; leave out states=.")
    if variable.is_continuous:
        raise InvalidModel(f"{variable.name!r} is continuous; a decision needs a finite list of actions.")
    return variable
