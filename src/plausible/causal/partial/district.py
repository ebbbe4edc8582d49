"""Districts: joint response types of variables that latent causes join, and what is observed of them."""

from __future__ import annotations

import math
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.causal.functional.responses import MAX_TYPES, ResponseVariable, written_product
from plausible.causal.partial.assumptions import TypeAssumption
from plausible.causal.partial.source import Observed
from plausible.errors import TooLarge
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node
from plausible.variables import Variable

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: The most (joint type, state of the outside parents) pairs: each is an entry of the constraint matrix.
MAX_CELLS = 2**22

#: Constraints of one level: how many members, which of its cells or all, and the least and greatest of each.
LevelRows: TypeAlias = tuple[int, Any, Floats, Floats]
#: That all types sum to one.
WHOLE: LevelRows = (0, None, np.ones((1, 1)), np.ones((1, 1)))


@dataclass(frozen=True, slots=True, eq=False)
class District:
    """The joint response types of variables that latent causes join."""

    responses: tuple[ResponseVariable, ...]  # The response variable of each member, causes first.
    outside: tuple[Variable, ...]  # The parents of members that are no members themselves.
    values: Positions  # Members × joint types × assignments to `outside`: the position of the member's state.
    # Whether every two members share a latent cause, so that any joint distribution of the types can be.
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

    def spread(self, table: Floats, names: Collection[str], place: int) -> Floats:
        """A table of some variables with an axis for every outside parent and every member up to a place."""
        layout = [*self.outside, *(response.variable for response in self.responses[: place + 1])]
        return table.reshape([variable.num_states if variable.name in names else 1 for variable in layout])

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
    is_complete = all(graph.has_edge(a, b, "<->") for a, b in combinations(members, 2))
    return District(responses, outside, _values(responses, outside), is_complete)


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


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """{ν ≥ 0: lower ≤ A ν ≤ upper}: the distributions of joint response types that show what is observed."""

    district: District  # Whose types they are.
    matrix: csr_array  # A, constraints × types.
    lower: Floats  # What the rows must sum to; equal unless sampling noise is allowed for.
    upper: Floats
    alive: Positions  # The joint types that may occur: the others would show what is never seen.

    @property
    def rank(self) -> int:
        """The rank of the constraints."""
        return int(np.linalg.matrix_rank((self.matrix @ self.matrix.T).toarray(), hermitian=True))

    @property
    def live_matrix(self) -> csr_array:
        """A without the columns of types that can't occur."""
        return self.matrix[:, self.alive]

    def split(self, functionals: Floats) -> tuple[Floats, Floats]:
        """Each functional f as c + g: what the constraints determine, a number, and a functional orthogonal to them.

        f = Aᵀλ + g with A g = 0, and f(ν) = λᵀb + g(ν); f is determined by the constraints where g = 0.
        """
        matrix = self.live_matrix
        inverse = np.linalg.pinv((matrix @ matrix.T).toarray(), hermitian=True)
        weights = inverse @ (matrix @ functionals.T)
        rest = functionals - (matrix.T @ weights).T
        rest[np.abs(rest).max(axis=1, initial=0.0) < 1e-9] = 0.0
        return weights.T @ self.lower, rest


def polytope(graph: CausalGraph, district: District, observed: Observed) -> Polytope:
    """The types of a district that reproduce an observed distribution.

    One equation for each joint state c of the members and each of their outside parents: Σ ν(types that show c there)
    = Q[C](c | parents). What follows a state that never occurs is not observed and so gives no equation.
    """
    levels = observed_levels(graph, district, observed)
    if not np.isnan(levels[-1]).any():
        return assembled(district, [(len(levels), None, levels[-1], levels[-1])])
    rows = [WHOLE]
    for place, level in enumerate(levels):
        is_known = ~np.isnan(level)
        if place + 1 < len(levels):
            is_known &= np.isnan(levels[place + 1]).reshape(*level.shape, -1).any(axis=-1)
        rows.append((place + 1, is_known, level, level))
    return assembled(district, rows)


def assembled(district: District, rows: Sequence[LevelRows]) -> Polytope:
    """The polytope with the rows of some levels."""
    from scipy.sparse import csr_array, vstack

    matrices, lower, upper = [], [], []
    for level, wanted, low, high in rows:
        chosen = slice(None) if wanted is None else np.flatnonzero(np.asarray(wanted).ravel())
        if level:
            matrices.append(_incidence(district, level)[chosen])
        else:
            matrices.append(csr_array(np.ones((1, district.num_types))))
        lower.append(np.ravel(low)[chosen])
        upper.append(np.ravel(high)[chosen])
    matrix = csr_array(vstack(matrices, format="csr"))
    top = np.concatenate(upper)
    shows_nothing = np.asarray(matrix[np.flatnonzero(top <= 0)].sum(axis=0)).ravel()
    alive = np.flatnonzero(shows_nothing == 0)
    if not len(alive):
        alive = np.arange(district.num_types)
    return Polytope(district, matrix, np.concatenate(lower), top, alive)


def _incidence(district: District, level: int) -> csr_array:
    """(cells of a level) × types: whether the type shows the cell."""
    from scipy.sparse import csr_array

    cells = district.cells(level)
    num_types, num_outside = cells.shape
    num_cells = num_outside * math.prod(response.variable.num_states for response in district.responses[:level])
    columns = np.repeat(np.arange(num_types), num_outside)
    return csr_array((np.ones(cells.size), (cells.ravel(), columns)), shape=(num_cells, num_types))


def observed_levels(graph: CausalGraph, district: District, observed: Observed) -> list[Floats]:
    """Q of the first one, two, ... members: (assignments to `outside`, states of the first member, ...) tables.

    Q[C](c | outside) = Π P(x | its district so far, and the parents of that) (Tian & Pearl 2002, lemma 1); NaN where
    that is not observed.
    """
    levels: list[Floats] = []
    shape = [variable.num_states for variable in district.outside]
    product: Floats = np.ones(shape)
    for place, response in enumerate(district.responses):
        names = scope_of(graph, district, place)
        table = district.spread(conditional(observed.tables(names)), names, place)
        with np.errstate(invalid="ignore"):
            product = np.where(product[..., None] == 0.0, 0.0, product[..., None] * table)
        shape.append(response.variable.num_states)
        levels.append(product.reshape(math.prod(shape[: len(district.outside)]), *shape[len(district.outside) :]))
    return levels


def scope_of(graph: CausalGraph, district: District, place: int) -> list[str]:
    """What a member's conditional is given: the part of its district before it that it hangs together with, and pa."""
    before = district.names[: place + 1]
    joined = graph.subgraph(before).district(before[-1])
    wanted = joined | {parent for member in joined for parent in graph.parents(member)}
    layout = [*(variable.name for variable in district.outside), *before]
    return [name for name in layout if name in wanted]


def conditional(table: Floats) -> Floats:
    """P(last | others) of a joint table, axes in this order; NaN where the others are never seen."""
    total = table.sum(axis=-1, keepdims=True)
    with np.errstate(invalid="ignore", divide="ignore"):
        return np.where(total > 0, table / total, np.nan)
