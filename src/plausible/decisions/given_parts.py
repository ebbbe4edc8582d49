"""The parts of a diagram as people give them: whether they are of the right kinds and stand once each."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import TypeVar

from plausible.cpds import CPD
from plausible.decisions.parts import Decision
from plausible.errors import CyclicGraph, InvalidModel, PlausibleWarning, warn_caller
from plausible.factors import Factor
from plausible.models import BayesianNetwork
from plausible.utilities.local import Utility
from plausible.variables import Variable

__all__ = ["check_kind", "collected", "explained_cycle", "listed", "named", "warn_of_twins"]

_Part = TypeVar("_Part")


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


def explained_cycle(cycle: tuple[object, ...], decisions: Mapping[str, Decision]) -> CyclicGraph:
    """The error for a cycle, which says of a decision in it that it can't see what comes after it."""
    for seen, name in zip(cycle, (*cycle[1:], *cycle[:1]), strict=True):
        if name in decisions:
            return CyclicGraph(cycle, f"The decision {name!r} can't see {seen!r}, which depends on it: change sees=.")
    return CyclicGraph(cycle)


def collected(chance: Iterable[CPD], decisions: Iterable[Decision]) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    kinds: dict[str, str] = {}
    kept = [(cpd.variable, "chance") for cpd in chance] + [(made.variable, "decisions") for made in decisions]
    for variable, kind in kept:
        if variable.name in found:
            where = f"in {kind}=" if kinds[variable.name] == kind else "in chance= and in decisions="
            raise InvalidModel(f"{variable.name!r} stands twice, {where}: leave one out, or give it another name.")
        if variable.is_continuous:
            raise InvalidModel(f"{variable.name!r} is continuous; a diagram has variables with states. Discretise it.")
        found[variable.name], kinds[variable.name] = variable, kind
    return found


def named(utilities: Iterable[Utility], variables: Mapping[str, Variable]) -> dict[str, Utility]:
    found: dict[str, Utility] = {}
    for utility in utilities:
        if utility.name in found or utility.name in variables:
            raise InvalidModel(f"{utility.name!r} is the name of two nodes; give the utility another name=.")
        found[utility.name] = utility
    return found
