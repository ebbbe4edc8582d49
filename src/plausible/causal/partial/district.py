"""Districts: variables whose response types depend on each other, and what each joint type shows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Positions
from plausible.causal.functional.responses import MAX_TYPES, ResponseVariable, written_product
from plausible.causal.partial.assumptions import TypeAssumption
from plausible.causal.partial.source import Observed
from plausible.errors import TooLarge
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node
from plausible.variables import Variable

__all__ = ["MAX_CELLS", "District", "build_district", "ordered_members"]

#: The most (joint type, state of the outside parents) pairs: each is an entry of the constraint matrix.
MAX_CELLS = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class District:
    """The joint response types of variables that latent causes join.

    Attributes
    ----------
    responses
        The response variable of each member, causes first.
    outside
        The parents of members that are no members themselves.
    values
        Members × joint types × assignments to `outside`: the position of the member's state.
    is_complete
        Whether every two members share a latent cause, so that any joint distribution of the types can be.
    """

    responses: tuple[ResponseVariable, ...]
    outside: tuple[Variable, ...]
    values: Positions
    is_complete: bool

    @property
    def names(self) -> tuple[str, ...]:
        """The members, causes first."""
        return tuple(response.variable.name for response in self.responses)

    @property
    def shape(self) -> tuple[int, ...]:
        """The number of response types of each member."""
        return tuple(len(response.types) for response in self.responses)

    @property
    def num_types(self) -> int:
        """The number of joint types."""
        return math.prod(self.shape)

    def cells(self, level: int) -> Positions:
        """Joint types × assignments to `outside`: the place of what is seen in the table (outside, first members)."""
        place = np.broadcast_to(np.arange(self.values.shape[2]), self.values.shape[1:])
        for response, values in zip(self.responses[:level], self.values[:level], strict=True):
            place = place * response.variable.num_states + values
        return np.asarray(place)


def ordered_members(graph: CausalGraph, node: Node) -> tuple[Node, ...]:
    """The district of a node, causes first."""
    members = graph.district(node)
    return tuple(member for member in graph.topological_order if member in members)


def build_district(
    graph: CausalGraph, members: Sequence[Node], observed: Observed, assumptions: Sequence[TypeAssumption]
) -> District:
    """The district with these members, once it is found to be small enough.

    The number of joint types is Π k^m over members with k states and m assignments to their parents, less what the
    assumptions exclude.
    """
    responses = tuple(_response(graph, member, observed, assumptions) for member in members)
    parents = dict.fromkeys(parent for member in members for parent in graph.parents(member))
    outside = tuple(observed.variable(parent) for parent in parents if parent not in set(members))
    _refuse_large(responses, outside)
    return District(responses, outside, _values(responses, outside), _is_complete(graph, members))


def _is_complete(graph: CausalGraph, members: Sequence[Node]) -> bool:
    return all(graph.has_edge(a, b, "<->") for a, b in combinations(members, 2))


def _response(
    graph: CausalGraph, member: Node, observed: Observed, assumptions: Sequence[TypeAssumption]
) -> ResponseVariable:
    variable = observed.variable(member)
    parents = [observed.variable(parent) for parent in graph.parents(member)]
    response = ResponseVariable(variable, parents)
    allowed = np.ones(len(response.types), dtype=np.bool_)
    for assumption in assumptions:
        if assumption.variable == variable.name:
            allowed &= assumption.allows(response)
    if allowed.all():
        return response
    types = [tuple(variable.states[code] for code in given) for given in response.types[allowed].tolist()]
    return ResponseVariable(variable, parents, types=types)


def _refuse_large(responses: Sequence[ResponseVariable], outside: Sequence[Variable]) -> None:
    num_types = [len(response.types) for response in responses]
    num_outside = [variable.num_states for variable in outside]
    if math.prod(num_types) <= MAX_TYPES and math.prod(num_types + num_outside) <= MAX_CELLS:
        return
    sizes = " x ".join(f"{len(response.types)} of {response.variable.name}" for response in responses)
    raise TooLarge(
        f"The district {[response.variable.name for response in responses]} has {written_product(num_types)} "
        f"joint response types ({sizes}) for {written_product(num_outside)} assignments to its outside parents; at "
        f"most {MAX_TYPES} types and {MAX_CELLS} pairs fit. Assume that some types don't occur (Monotone, "
        "NoDirectEffect), or leave variables out: latent_projection(graph, observed=...) gives bounds that are "
        "valid, if wider."
    )


def _values(responses: Sequence[ResponseVariable], outside: Sequence[Variable]) -> Positions:
    shape = [len(response.types) for response in responses]
    states = [variable.num_states for variable in outside]
    types = np.unravel_index(np.arange(math.prod(shape)), shape)
    seen: dict[str, NDArray[Any]] = {
        variable.name: codes[None, :]
        for variable, codes in zip(
            outside, np.unravel_index(np.arange(math.prod(states)), states or [1]), strict=bool(states)
        )
    }
    values = np.empty((len(responses), math.prod(shape), math.prod(states)), dtype=np.intp)
    for place, (response, chosen) in enumerate(zip(responses, types, strict=True)):
        row: Any = np.zeros((1, 1), dtype=np.intp)
        for parent in response.parents:
            row = row * parent.num_states + seen[parent.name]
        values[place] = response.types[chosen[:, None], row]
        seen[response.variable.name] = values[place]
    return values
