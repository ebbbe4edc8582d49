"""Districts: joint response types of variables that latent causes join, and what is observed of them."""

from __future__ import annotations

import math
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import TABLE_ROUNDING, Floats, Positions
from plausible.causal.functional.model import FunctionalModel
from plausible.causal.functional.responses import MAX_TYPES, ResponseVariable, written_product
from plausible.causal.partial.linear_query import TypeAssumption
from plausible.causal.queries.observed import ObservedModel
from plausible.data.statistics import Statistics
from plausible.data.stream_statistics import read_statistics
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.nodes import Node
from plausible.models import BayesianNetwork
from plausible.variables import Variable

if TYPE_CHECKING:
    from scipy.sparse import csr_array


#: A joint distribution, a model whose observed variables have one, rows of data, or what was counted in them.
SourceLike: TypeAlias = "Factor | BayesianNetwork | ObservedModel | FunctionalModel | DataLike"


@dataclass(frozen=True, slots=True, eq=False)
class Observed:
    """Joint tables of the observed variables."""

    variables: Mapping[str, Variable]  # Name -> variable.
    # Names -> their joint table, axes in the order asked for: probabilities, or counts of data.
    tables: Callable[[Sequence[str]], Floats]
    total: float | None  # How many rows there are; `None` for a distribution.
    # Several lists of names -> their joint tables, where these are cheaper at once than one by one.
    shared: Callable[[Sequence[Sequence[str]]], list[Floats]] | None = None

    @property
    def is_sample(self) -> bool:
        """Whether these are data, whose shares are not the probabilities."""
        return self.total is not None

    def joint_tables(self, groups: Sequence[Sequence[str]]) -> list[Floats]:
        """The joint table of each group of names."""
        return [self.tables(names) for names in groups] if self.shared is None else self.shared(groups)

    def variable(self, name: object) -> Variable:
        """The variable of a node of the graph; it must have states."""
        if not isinstance(name, str) or name not in self.variables:
            raise UnknownVariable.named(name, self.variables, "the observed distribution")
        if self.variables[name].is_continuous:
            raise NotSupported(f"{name!r} is continuous: response types need states. See binarize and discretize.")
        return self.variables[name]


def read_source(source: SourceLike) -> Observed:
    """What is observed, from any of the forms that it may have."""
    if isinstance(source, Factor):
        if not source.is_distribution(TABLE_ROUNDING):
            raise InvalidArgument(
                f"The table over {list(source.names)} is no joint distribution: it sums to {source.sum():.6g}. A table "
                "of P(rest | A) becomes one when it is multiplied by any positive P(A)."
            )
        return Observed({variable.name: variable for variable in source.scope}, partial(_summed, source), None)
    if isinstance(source, ObservedModel):
        variables = {name: source.network.variables[name] for name in source.observed}
        return Observed(variables, partial(_asked, source), None, partial(_asked_at_once, source, source.network))
    if isinstance(source, (BayesianNetwork, FunctionalModel)):
        network = source.network if isinstance(source, FunctionalModel) else source
        return Observed(source.variables, partial(_asked, source), None, partial(_asked_at_once, source, network))
    statistics = read_statistics(source)
    if statistics.interventions:
        raise NotSupported(
            "The data have rows in which variables were set from outside; bounds need what is observed only. "
            "Take the other rows: table.take(...)."
        )
    if not statistics.total > 0:
        raise InvalidArgument("There are no rows, and so nothing is observed.")
    return Observed(statistics.variables, partial(_counted, statistics), float(statistics.total))


# The ways to a table are partial functions, so that what holds them can cross process boundaries.


def _summed(factor: Factor, names: Sequence[str]) -> Floats:
    return np.asarray(factor.marginal(names).reorder(list(names)).values, dtype=np.float64) / factor.sum()


def _asked(model: Any, names: Sequence[str]) -> Floats:
    return np.asarray(model.query(list(names)).reorder(list(names)).values, dtype=np.float64)


def _asked_at_once(model: Any, network: BayesianNetwork, groups: Sequence[Sequence[str]]) -> list[Floats]:
    """Parts of families of a network from one calibration of what is upstream of them; other tables one by one."""
    scopes = {names[-1]: network.cpd(names[-1]).scope for names in groups}
    families = [names for names in groups if {v.name for v in scopes[names[-1]]}.issuperset(names)]
    found: dict[tuple[str, ...], Floats] = {}
    if len(families) > 1 and (upstream := network.subnetwork([names[-1] for names in families])).is_discrete:
        try:
            counts = upstream.expected_counts({families[0][-1]: [None]}, families=[names[-1] for names in families])
        except TooLarge:  # a table may need less of the network than all of them together
            return [_asked(model, names) for names in groups]
        for names in families:
            joint = Factor(scopes[names[-1]], counts[names[-1]])
            found[tuple(names)] = _summed(joint, names)
    return [found[key] if (key := tuple(names)) in found else _asked(model, names) for names in groups]


def _counted(statistics: Statistics, names: Sequence[str]) -> Floats:
    return np.asarray(statistics.counts(names[-1], list(names[:-1])), dtype=np.float64)


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

    def incidence(self, level: int) -> csr_array:
        """(cells of the table (outside, first members)) × types: whether the type shows the cell."""
        from scipy.sparse import csr_array

        # Joint types × assignments to `outside`: the place of what is seen in the table.
        cells = np.broadcast_to(np.arange(self.values.shape[2]), self.values.shape[1:])
        num_types, num_cells = cells.shape
        columns = np.repeat(np.arange(num_types), num_cells)
        for response, values in zip(self.responses[:level], self.values[:level], strict=True):
            cells = cells * response.variable.num_states + values
            num_cells *= response.variable.num_states
        return csr_array((np.ones(cells.size), (cells.ravel(), columns)), shape=(num_cells, num_types))


def ordered_members(graph: CausalGraph, node: Node) -> tuple[Node, ...]:
    """The district of a node, causes first."""
    members = graph.district(node)
    return tuple(member for member in graph.topological_order if member in members)


def build_district(
    graph: CausalGraph, members: Sequence[Node], observed: Observed, assumptions: Sequence[TypeAssumption]
) -> District:
    """The district with these members, once it is found to be small enough."""
    responses = tuple(_response(graph, member, observed, assumptions) for member in members)
    parents = dict.fromkeys(parent for member in members for parent in graph.parents(member))
    outside = tuple(observed.variable(parent) for parent in parents if parent not in set(members))
    num_types = [len(response.types) for response in responses]
    num_outside = [variable.num_states for variable in outside]
    if math.prod(num_types) > MAX_TYPES or math.prod(num_types + num_outside) > MAX_CELLS:
        sizes = " x ".join(f"{len(response.types)} of {response.variable.name}" for response in responses)
        raise TooLarge(
            f"The district {[response.variable.name for response in responses]} has {written_product(num_types)} "
            f"joint response types ({sizes}) for {written_product(num_outside)} assignments to its outside parents; at "
            f"most {MAX_TYPES} types and {MAX_CELLS} pairs fit. Assume that some types don't occur (Monotone, "
            "NoDirectEffect), or leave variables out: latent_projection(graph, observed=...) gives bounds that are "
            "valid, if wider."
        )
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
        matrices.append(district.incidence(level)[chosen] if level else csr_array(np.ones((1, district.num_types))))
        lower.append(np.ravel(low)[chosen])
        upper.append(np.ravel(high)[chosen])
    matrix = csr_array(vstack(matrices, format="csr"))
    top = np.concatenate(upper)
    shows_nothing = np.asarray(matrix[np.flatnonzero(top <= 0)].sum(axis=0)).ravel()
    alive = np.flatnonzero(shows_nothing == 0)
    if not len(alive):
        alive = np.arange(district.num_types)
    return Polytope(district, matrix, np.concatenate(lower), top, alive)


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
