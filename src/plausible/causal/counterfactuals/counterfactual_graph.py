"""Counterfactual graphs: which potential responses an event is about, copies that must agree merged."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass, field
from typing import NamedTuple, TypeAlias

from plausible.causal.counterfactuals.potential import Potential, Setting
from plausible.graphs import CausalGraph
from plausible.variables import State

__all__ = ["Constant", "Copy", "CounterfactualGraph", "counterfactual_graph"]

World: TypeAlias = "tuple[tuple[str, Setting], ...]"


class Constant(NamedTuple):
    """A variable that is set, or that may be replaced by the state which the event gives it."""

    state: State


@dataclass(slots=True)
class Copy:
    """A variable in one or more worlds, between which it can't differ.

    Attributes
    ----------
    variable
        Its name in the causal graph.
    parents
        For each parent what it is in these worlds: constants, or the positions of copies. There are several only where
        these are known to be in the same state.
    state
        What the event says, if anything.
    """

    variable: str
    parents: dict[str, dict[int | Constant, None]]
    state: Constant | None = None


@dataclass(slots=True)
class CounterfactualGraph:
    """The copies, causes first, and where each world has which."""

    copies: list[Copy] = field(default_factory=list)
    places: dict[World, dict[str, int | Constant]] = field(default_factory=dict)

    def place(self, term: Potential) -> int | Constant:
        """What a potential response is."""
        return self.places[term.settings][term.variable]


def counterfactual_graph(
    graph: CausalGraph, event: Mapping[Potential, State], merging: Collection[Potential]
) -> CounterfactualGraph | None:
    """The copies of variables that an event is about, and their ancestors; None where the event contradicts itself.

    Two copies of a variable are one if each of their parents is the same copy, or is known to be in the same state: by
    intervention, or by the event itself (Shpitser & Pearl 2008, lemma 24).

    Parameters
    ----------
    graph
        The causal graph.
    event
        Potential responses -> states; none is set by its own intervention.
    merging
        The part of the event whose states may be used to tell that copies agree.
    """
    found = CounterfactualGraph(places={term.settings: {} for term in event})
    needed = graph.ancestors([term.variable for term in event]) | {term.variable for term in event}
    for variable in map(str, graph.topological_order):
        if variable in needed and not _add(found, variable, graph, event, merging):
            return None
    return found


def _add(
    found: CounterfactualGraph,
    variable: str,
    graph: CausalGraph,
    event: Mapping[Potential, State],
    merging: Collection[Potential],
) -> bool:
    """Add the copies of a variable in all worlds; False where two states are given to one of them."""
    known: dict[tuple[int | Constant, ...], int] = {}
    for world, places in found.places.items():
        settings = dict(world)
        if variable in settings:
            places[variable] = Constant(settings[variable])
            continue
        parents = {str(parent): places[str(parent)] for parent in graph.parents(variable)}
        key = tuple(_replaced(found, place, event, merging) for place in parents.values())
        if key not in known:
            known[key] = len(found.copies)
            found.copies.append(Copy(variable, {name: {} for name in parents}))
        places[variable] = known[key]
        copy = found.copies[known[key]]
        for name, place in parents.items():
            copy.parents[name][place] = None
    for term, state in event.items():
        if term.variable == variable:
            place = found.place(term)
            if not isinstance(place, Constant) and not _set_state(found.copies[place], Constant(state)):
                return False
    return True


def _set_state(copy: Copy, state: Constant) -> bool:
    if copy.state is None:
        copy.state = state
    return copy.state == state


def _replaced(
    found: CounterfactualGraph, place: int | Constant, event: Mapping[Potential, State], merging: Collection[Potential]
) -> int | Constant:
    """A copy whose state is known stands for that state."""
    if isinstance(place, Constant):
        return place
    terms = (term for term in merging if term.variable == found.copies[place].variable)
    return next((Constant(event[term]) for term in terms if found.place(term) == place), place)
