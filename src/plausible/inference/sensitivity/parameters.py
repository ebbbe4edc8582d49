"""Which entry of which conditional table, and which event: the names in questions about sensitivity.

The entries of a row sum to one, so that in a network one alone can't change. The others follow one of two conventions:

- `fixed`: they are held, and a derivative is the partial derivative proper; what learners and Hessians are made of;
- `proportional`: they keep their ratios and share what is left; what sensitivity analysis means by varying a parameter
  (van der Gaag & Renooij 2001). Where they are all zero, they share it equally.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any, Literal, TypeAlias

import numpy as np

from plausible.base import Floats, Result, record
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.variables import Evidence, State, Variable

#: What public functions accept: (child, states of the parents, state of the child), the states of the parents as a
#: mapping or in the order of the parents; a `Parameter`; or the pair (child, state) of a child without parents. The
#: state may also come before a mapping of the parents, or be in it.
ParameterLike: TypeAlias = Any


@record
class Parameter(Result):
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
class Event(Result):
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


#: What the other entries of a row do.
OtherEntries: TypeAlias = Literal["fixed", "proportional"]


def is_covarying(others: OtherEntries) -> bool:
    """Whether the other entries of a row change in proportion; refuses words that are neither."""
    if others not in ("fixed", "proportional"):
        raise InvalidArgument(f"The other entries of a row are 'fixed' or 'proportional', not {others!r}.")
    return others == "proportional"


def row_ends(table: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """A quantity at θ = 0 and at θ = 1 of each entry, the other entries of the row in proportion.

    The quantity is Σ θ · slope, linear in each entry; sums of what is left take the place of differences, so that
    nothing cancels.
    """
    rows = table.reshape(-1, table.shape[-1])
    partial = slopes.reshape(rows.shape)
    elsewhere = _sum_of_others(_terms(rows, partial).sum(axis=-1))[:, None]
    at_zero, at_one = elsewhere + _mean_of_others(rows, partial), elsewhere + partial
    return at_zero.reshape(table.shape), at_one.reshape(table.shape)


def covarying(table: Floats, slopes: Floats) -> Floats:
    """The derivatives in each entry while the others of its row change in proportion; `slopes` are partial ones.

    dF/dθ_c = ∂F/∂θ_c - Σ_{k≠c} θ_k / (1 - θ_c) ∂F/∂θ_k; for two states the difference of the two partial derivatives.
    """
    return slopes - _mean_of_others(table, slopes)


def _mean_of_others(table: Floats, slopes: Floats) -> Floats:
    """Σ_{k≠c} θ_k slope_k / Σ_{k≠c} θ_k for each entry c of each row; equal weights where all other θ are zero."""
    num_states = table.shape[-1]
    if num_states == 1:  # the only state is sure: nothing can take its share
        return slopes
    left = _sum_of_others(table)
    equally = _sum_of_others(slopes) / (num_states - 1)
    return np.asarray(np.divide(_sum_of_others(_terms(table, slopes)), left, out=equally, where=left > 0))


def _terms(table: Floats, slopes: Floats) -> Floats:
    """θ · slope, zero where θ is, even if the slope overflowed."""
    return np.multiply(table, slopes, out=np.zeros_like(slopes), where=table > 0)


def _sum_of_others(values: Floats) -> Floats:
    """For each entry the sum of all others along the last axis, without a difference."""
    before, after = np.zeros_like(values), np.zeros_like(values)
    np.cumsum(values[..., :-1], axis=-1, out=before[..., 1:])
    after[..., :-1] = np.cumsum(values[..., :0:-1], axis=-1)[..., ::-1]
    return before + after
