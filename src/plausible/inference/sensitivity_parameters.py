"""Which entry of which conditional table, and which event: the names in questions about sensitivity."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, TypeAlias

import numpy as np

from plausible.base.records import record
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.variables import Evidence, State, Variable

#: What public functions accept: (child, states of the parents, state of the child), the states of the parents as a
#: mapping or in the order of the parents; a `Parameter`; or the pair (child, state) of a child without parents. The
#: state may also come before a mapping of the parents, or be in it.
ParameterLike: TypeAlias = Any


@record
class Parameter:
    """θ = P(child = state | parents): one entry of a conditional table."""

    child: str  # The variable whose table it is in
    given: tuple[tuple[str, State], ...]  # (name, state) of each parent, in their order
    state: State  # The state of the child
    place: tuple[int, ...]  # The positions of these states: the index of the entry in the table

    @classmethod
    def read(cls, parameter: ParameterLike, families: Mapping[str, Sequence[Variable]]) -> Parameter:
        """The entry that (child, states of the parents, state of the child) names.

        `families` holds the scope (parents..., child) of each table, by child.

        >>> family = (Variable("rain", ["no", "yes"]), Variable("grass", ["dry", "wet"]))
        >>> print(Parameter.read(("grass", {"rain": "yes"}, "wet"), {"grass": family}))
        P(grass=wet | rain=yes)
        """
        child, given, state = _parts(parameter)
        if not isinstance(child, str) or child not in families:
            raise UnknownVariable.named(child, families, "this network that has a table")
        *parents, own = families[child]
        states = _parent_states(child, given, parents)
        place = tuple(variable.index(s) for variable, s in zip((*parents, own), (*states, state), strict=True))
        return cls.at(families[child], place)

    @classmethod
    def at(cls, family: Sequence[Variable], place: tuple[int, ...]) -> Parameter:
        """The entry at an index of a table with axes (parents..., child)."""
        named = [(v.name, v.states[position]) for v, position in zip(family, place, strict=True)]
        (child, state), given = named[-1], tuple(named[:-1])
        return cls(child, given, state, tuple(place))

    def __str__(self) -> str:
        given = ", ".join(f"{name}={state}" for name, state in self.given)
        return f"P({self.child}={self.state}{' | ' if given else ''}{given})"


def _parts(parameter: ParameterLike) -> tuple[Any, Any, Any]:
    if isinstance(parameter, Parameter):
        return parameter.child, dict(parameter.given), parameter.state
    if isinstance(parameter, Sequence) and not isinstance(parameter, str) and len(parameter) in (2, 3):
        child, *given, last = parameter
        if not isinstance(last, Mapping):
            return child, given[0] if given else {}, last
        if given and not isinstance(given[0], Mapping):
            return child, last, given[0]
        if not given and isinstance(child, str) and child in last:
            return child, {name: state for name, state in last.items() if name != child}, last[child]
    raise InvalidArgument(
        f"A parameter is (child, states of its parents, state), such as ('grass', {{'rain': 'yes'}}, 'wet'), "
        f"not {parameter!r}."
    )


def _parent_states(child: str, given: Any, parents: Sequence[Variable]) -> list[State]:
    """The states of the parents in their order, from a mapping or a sequence."""
    names = [parent.name for parent in parents]
    form = f"write ({child!r}, {{{', '.join(f'{name!r}: ...' for name in names)}}}, state)"
    if isinstance(given, Mapping) or given is None:
        states = given or {}
        for name in states:
            if name not in names:
                raise UnknownVariable.named(name, names, f"the parents of {child!r}")
    elif isinstance(given, Sequence) and not isinstance(given, str) and len(given) == len(names):
        states = dict(zip(names, given, strict=True))
    else:
        raise InvalidArgument(f"The parents of {child!r} are {names}, and {given!r} has no state of each: {form}.")
    if missing := [name for name in names if name not in states]:
        raise InvalidArgument(
            f"The parameter of {child!r} needs a state of each of its parents {names}; {missing[0]!r} has none: {form}."
        )
    return [states[name] for name in names]


@record
class Event:
    """That a variable is in a state."""

    variable: Variable
    state: State

    @classmethod
    def read(cls, target: str, state: State, variables: Mapping[str, Variable], place: str) -> Event:
        """A state of a discrete variable, by name."""
        if not isinstance(target, str) or target not in variables:
            raise UnknownVariable.named(target, variables, place)
        variable = variables[target]
        if variable.is_continuous:
            raise NotSupported(f"{target!r} is continuous: this question needs a state of a discrete variable.")
        variable.index(state)
        return cls(variable, state)

    def within(self, evidence: Evidence) -> Evidence | None:
        """The evidence and this event; `None` where they contradict each other at once."""
        name, position = self.variable.name, self.variable.index(self.state)
        if name in evidence.hard:
            return evidence if evidence.hard[name] == position else None
        weights = np.zeros(self.variable.num_states)
        weights[position] = evidence.soft[name][position] if name in evidence.soft else 1.0
        if not weights.any():
            return None
        weights.setflags(write=False)
        return replace(evidence, soft=MappingProxyType({**evidence.soft, name: weights}))

    def __str__(self) -> str:
        return f"{self.variable.name}={self.state}"


def sensitivity_set(graph: DAG, target: str, evidence: Evidence) -> list[str]:
    """The variables whose parameters P(target | evidence) can depend on, by the graph alone.

    Those are the ones whose parameters, seen as parents of their own, are d-connected with the target (Shachter 1998;
    Coupé & van der Gaag 2002), after all variables that are below target and findings have been left out.

    >>> found = Evidence.read({"B": 0}, {"B": Variable("B", 2)})
    >>> sensitivity_set(DAG("A -> B -> C -> D"), "C", found)
    ['C']
    """
    if target in evidence.hard:
        return []
    asked = {target, *evidence.names}
    kept = asked | graph.ancestors(asked)
    edges: list[Any] = [(a, b) for a, b in graph.edges if a in kept and b in kept]
    edges += [(("parameters", name), name) for name in kept]
    # Virtual evidence leaves its variable unobserved: what is observed is a child of it.
    soft = [*evidence.soft]
    edges += [(name, ("finding", name)) for name in soft]
    observed = [*evidence.hard, *evidence.values, *(("finding", name) for name in soft)]
    reached = DAG(edges).d_connected([target], given=observed)
    return [str(name) for name in graph.nodes if ("parameters", name) in reached]
