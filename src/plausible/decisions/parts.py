"""The parts of an influence diagram: decisions, and whether all parts are of the right kinds and stand once each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from plausible.base import Frozen
from plausible.cpds import CPD
from plausible.cpds.reading import VariableLike
from plausible.errors import InvalidModel, PlausibleWarning, warn_caller
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.utilities.local import Utility, read_names
from plausible.variables import State, Variable

_Part = TypeVar("_Part")


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
        if not isinstance(variable, Variable):
            if states is None:
                raise InvalidModel(f"The decision {variable!r} needs its actions: Decision({variable!r}, [...]).")
            variable = Variable(variable, states)
        elif states is not None:
            raise InvalidModel(f"{variable.name!r} is a Variable with states of its own; leave out states=.")
        if variable.is_continuous:
            raise InvalidModel(f"{variable.name!r} is continuous; a decision needs a finite list of actions.")
        self.variable = variable
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


def warn_of_twins(utility: Utility, others: Mapping[str, Utility]) -> None:
    """Warn where a utility without a name of its own stands beside one that has the same parents."""
    if utility.name in others or utility.name != Utility(utility.parent_names, 0.0).name:
        return
    twin = next((name for name, other in others.items() if set(other.parent_names) == set(utility.parent_names)), None)
    if twin is not None:
        warn_caller(
            f"{utility.name!r} is added to {twin!r}, which has the same parents. To replace that, name it so: "
            f"name={twin!r}; to have both, give it a name of its own.",
            PlausibleWarning,
        )


def listed(parts: Iterable[_Part], kind: type, place: str) -> list[_Part]:
    """The parts, if they are a list of the right things."""
    if isinstance(parts, (str, Mapping)) or not isinstance(parts, Iterable):
        raise InvalidModel(f"{place} takes a list of {kind.__name__} objects, not {_described(parts)}.")
    given = list(parts)
    for part in given:
        check_kind(part, kind, place)
    return given


def check_kind(part: object, kind: type, place: str) -> None:
    if not isinstance(part, kind):
        raise InvalidModel(f"{place} takes {kind.__name__} objects, not {_described(part)}.")


def _described(thing: object) -> str:
    if isinstance(thing, Factor):
        return f"a Factor over {list(thing.names)}: see Utility.from_factor and TableCPD"
    if isinstance(thing, BayesianNetwork):
        return "a BayesianNetwork: give its cpds.values()"
    if isinstance(thing, Mapping):
        return f"a mapping of {list(thing)}: give its values()"
    if isinstance(thing, (CPD, Decision, Utility)):
        return f"{thing!r} alone: put it in a list"
    return repr(thing)


def collected(chance: Iterable[CPD], decisions: Iterable[Decision]) -> dict[str, Variable]:
    variables: dict[str, Variable] = {}
    kinds: dict[str, str] = {}
    kept = [(cpd.variable, "chance") for cpd in chance] + [(made.variable, "decisions") for made in decisions]
    for variable, kind in kept:
        if variable.name in variables:
            where = f"in {kind}=" if kinds[variable.name] == kind else "in chance= and in decisions="
            raise InvalidModel(f"{variable.name!r} stands twice, {where}: leave one out, or give it another name.")
        if variable.is_continuous:
            raise InvalidModel(f"{variable.name!r} is continuous; a diagram has variables with states. Discretise it.")
        variables[variable.name], kinds[variable.name] = variable, kind
    return variables


def named(utilities: Iterable[Utility], variables: Mapping[str, Variable]) -> dict[str, Utility]:
    by_name: dict[str, Utility] = {}
    for utility in utilities:
        if utility.name in by_name or utility.name in variables:
            raise InvalidModel(f"{utility.name!r} is the name of two nodes; give the utility another name=.")
        by_name[utility.name] = utility
    return by_name
