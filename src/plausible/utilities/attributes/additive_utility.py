"""Utilities that are sums of functions of few attributes, and a basis of those over given scopes."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations, pairwise
from typing import Protocol

import numpy as np

from plausible.base import Floats, Frozen, Remedy, Result, html_of_print, record
from plausible.errors import InvalidArgument, InvalidFactor, TooLarge, counted
from plausible.factors import Factor
from plausible.factors.alignment import MAX_ENTRIES, Scope, check_size, num_entries, read_scope, union_scope
from plausible.graphs import UndirectedGraph
from plausible.inference.exact_map.max_elimination import constrained_order, max_tables
from plausible.models import MarkovNetwork, log_linear
from plausible.utilities.attributes.outcome_tables import Names, check_names, outcome_text
from plausible.utilities.local import Utility
from plausible.variables import Assignment, State, Variable

#: More attributes than this in one scope have too many subsets to go through.
_LARGEST_SCOPE = 20
#: More numbers than this in the matrices of a basis are refused.
_LARGEST_BASIS = 2**26


def read_scopes(variables: Iterable[Variable], scopes: Iterable[Names]) -> tuple[tuple[str, ...], ...]:
    """Scopes by name, each attribute once in a scope; at least one scope."""
    known = [variable.name for variable in variables]
    listed = tuple(tuple(dict.fromkeys((scope,) if isinstance(scope, str) else scope)) for scope in scopes)
    if not listed:
        raise InvalidArgument("A decomposition has at least one scope; () is the scope of a constant.")
    check_names(chain.from_iterable(listed), known)
    return listed


def sum_text(scopes: Iterable[Sequence[str]]) -> str:
    """The utilities that are sums over some scopes, in a line."""
    return " + ".join(f"U({', '.join(scope)})" for scope in scopes) or "0"


def _new_subsets(scopes: Sequence[tuple[str, ...]]) -> list[list[tuple[str, ...]]]:
    """For each scope its subsets that no earlier scope has."""
    seen: set[frozenset[str]] = set()
    found = []
    for scope in scopes:
        if len(scope) > _LARGEST_SCOPE:
            raise TooLarge(f"A scope of {len(scope)} attributes has too many subsets; the limit is {_LARGEST_SCOPE}.")
        subsets = chain.from_iterable(combinations(scope, size) for size in range(len(scope) + 1))
        new = [subset for subset in subsets if frozenset(subset) not in seen]
        seen.update(map(frozenset, new))
        found.append(new)
    return found


def num_free_parameters(variables: Iterable[Variable], scopes: Sequence[tuple[str, ...]]) -> int:
    """The rank of the indicator columns of all scopes: Σ_S Π_{v ∈ S} (|v| - 1) over all S within some scope."""
    size = {variable.name: variable.num_states for variable in variables}
    subsets = chain.from_iterable(_new_subsets(scopes))
    return sum(math.prod(size[name] - 1 for name in subset) for subset in subsets)


@dataclass(frozen=True, slots=True, eq=False)
class UtilityBasis:
    """Coordinates θ of the utilities Σ_i U_i(Z_i): each such utility has exactly one θ.

    The directions are orthogonal over all outcomes: for each set S within a scope, functions of S with mean zero over
    every attribute of S. So least squares on a full table is a product with each direction.
    """

    variables: Scope  # All attributes
    scopes: tuple[tuple[str, ...], ...]  # Z_i, by name
    #: For each scope a matrix: a row for each assignment to Z_i, a column for each coordinate that this part carries.
    matrices: tuple[Floats, ...]

    @property
    def size(self) -> int:
        """The number of coordinates: the number of free parameters."""
        return sum(matrix.shape[1] for matrix in self.matrices)

    @property
    def blocks(self) -> tuple[slice, ...]:
        """Which coordinates each part carries."""
        ends = np.cumsum([0, *(matrix.shape[1] for matrix in self.matrices)])
        return tuple(slice(int(start), int(end)) for start, end in pairwise(ends))

    def __repr__(self) -> str:
        return f"<UtilityBasis: {sum_text(self.scopes)}, {counted(self.size, 'coordinate')}>"

    def scope_of(self, part: int) -> Scope:
        """The attributes of a part."""
        known = {variable.name: variable for variable in self.variables}
        return tuple(known[name] for name in self.scopes[part])

    def parts(self, coordinates: Floats) -> tuple[Factor, ...]:
        """The U_i that coordinates stand for."""
        return tuple(
            Factor.from_flat(self.scope_of(place), matrix @ coordinates[block])
            for place, (matrix, block) in enumerate(zip(self.matrices, self.blocks, strict=True))
        )

    def rows(self, columns: Mapping[str, np.ndarray[tuple[int, ...], np.dtype[np.int64]]], num_rows: int) -> Floats:
        """For each outcome the vector b with U(outcome) = b · θ; `columns` are positions of states, by name."""
        found = []
        for place, matrix in enumerate(self.matrices):
            cells = np.zeros(num_rows, dtype=np.int64)
            for variable in self.scope_of(place):
                cells = cells * variable.num_states + columns[variable.name]
            found.append(matrix[cells])
        return np.hstack(found)

    def expected_row(self, marginals: Sequence[Factor]) -> Floats:
        """The vector b with E[U] = b · θ under a lottery with these marginals, one for each scope, in its order."""
        return np.concatenate(
            [marginal.flat @ matrix for marginal, matrix in zip(marginals, self.matrices, strict=True)]
        )

    def coordinates(self, utility: Factor) -> Floats:
        """Of the nearest sum to a utility over all attributes, in the sense of least squares."""
        found = []
        for scope, matrix in zip(self.scopes, self.matrices, strict=True):
            means = utility.marginal(scope) * (num_entries(utility.variable(n) for n in scope) / utility.size)
            found.append(means.flat @ matrix / (matrix**2).sum(axis=0))
        return np.concatenate(found)


def utility_basis(variables: Iterable[Variable], scopes: Iterable[Names]) -> UtilityBasis:
    """The basis of the utilities that are sums of functions of the scopes."""
    listed = tuple(variables)
    named = read_scopes(listed, scopes)
    known = {variable.name: variable for variable in listed}
    total = sum(num_entries(known[name] for name in scope) ** 2 for scope in named)
    if total > _LARGEST_BASIS:
        raise TooLarge(f"The basis of these scopes would have {total} numbers; the limit is {_LARGEST_BASIS}.")
    matrices = []
    for scope, subsets in zip(named, _new_subsets(named), strict=True):
        columns = [np.zeros((num_entries(known[name] for name in scope), 0))]
        for subset in subsets:
            sizes = [known[name].num_states for name in scope]
            axes = [_contrasts(n) if name in subset else np.ones((n, 1)) for name, n in zip(scope, sizes, strict=True)]
            columns.append(
                reduce(lambda left, right: np.asarray(np.kron(left, right)), axes, np.asarray(np.ones((1, 1))))
            )
        matrices.append(np.hstack(columns))
    return UtilityBasis(listed, named, tuple(matrices))


def _contrasts(num_states: int) -> Floats:
    """Orthonormal columns, each with sum zero: a state against the mean of those before it (Helmert)."""
    matrix = np.zeros((num_states, num_states - 1))
    for column in range(num_states - 1):
        matrix[: column + 1, column] = -1.0
        matrix[column + 1, column] = column + 1.0
    return np.asarray(matrix / np.linalg.norm(matrix, axis=0))


class Expects(Protocol):
    """A model that gives the expectation of a sum of factors, such as a Bayesian network."""

    def expectation(self, terms: Iterable[Factor], evidence: Mapping[str, State] | None = None) -> float:
        """E[Σ f(X) | evidence]."""


@record
class BestOutcome(Result):
    """An outcome of the greatest utility."""

    outcome: Assignment  # A state of each attribute
    utility: float  # What it is worth

    def __str__(self) -> str:
        return f"{outcome_text(self.outcome)}: {self.utility:.6g}"


class AdditiveUtility(Frozen):
    """U(V) = Σ_i U_i(Z_i): a utility in parts, whose scopes may overlap (generalised additive independence).

    All that it needs of a lottery are the marginals on the scopes, E[U] = Σ_i Σ_z π(z) U_i(z), so that it never builds
    a table over all attributes unless asked to. Koller & Friedman 2009, §22.4.2. The parts U_i are factors with finite
    entries; `variables` come first, in this order, and may be ones that no part depends on.

    >>> trip = AdditiveUtility([
    ...     Factor({"weather": ["sun", "rain"], "hotel": ["beach", "town"]}, [[5, 2], [0, 3]]),
    ...     Factor({"hotel": ["beach", "town"], "price": ["low", "high"]}, [[0, -3], [0, -1]]),
    ... ])
    >>> trip.num_entries, trip.num_free_parameters
    (8, 6)
    >>> print(trip.best({"weather": "rain"}))
    weather=rain, hotel=town, price=low: 3
    """

    __slots__ = ("_variables", "parts")

    parts: tuple[Factor, ...]

    def __init__(self, parts: Iterable[Factor], variables: Iterable[Variable] = ()) -> None:
        self.parts = tuple(parts)
        for part in self.parts:
            if not isinstance(part, Factor):
                raise InvalidFactor(f"The parts of a utility are factors, not {part!r}.")
            if not np.isfinite(part.flat).all():
                raise InvalidFactor(f"The part over {list(part.names)} has numbers that are not finite.")
        self._variables = union_scope((read_scope(variables), *(part.scope for part in self.parts)))

    @property
    def scope(self) -> Scope:
        """All attributes."""
        return self._variables

    @property
    def names(self) -> tuple[str, ...]:
        """The names of all attributes."""
        return tuple(variable.name for variable in self._variables)

    @property
    def scopes(self) -> tuple[tuple[str, ...], ...]:
        """The names of the attributes of each part."""
        return tuple(part.names for part in self.parts)

    @property
    def num_outcomes(self) -> int:
        """The number of assignments to all attributes; exact, however large."""
        return num_entries(self._variables)

    @property
    def num_entries(self) -> int:
        """The numbers in all parts together."""
        return sum(num_entries(part.scope) for part in self.parts)

    @property
    def num_free_parameters(self) -> int:
        """The dimension of the utilities with parts over these scopes: less than `num_entries` where parts overlap."""
        return num_free_parameters(self._variables, self.scopes)

    @property
    def graph(self) -> UndirectedGraph:
        """Attributes that share a part are neighbours: separation is conditional additive independence (a CAI-map)."""
        wide = [[variable.name for variable in part.scope if variable.num_states > 1] for part in self.parts]
        return UndirectedGraph({pair for names in wide for pair in combinations(names, 2)}, nodes=self.names)

    def __getitem__(self, outcome: Mapping[str, State]) -> float:
        """What an outcome is worth."""
        return float(sum(part[outcome] if part.scope else part.sum() for part in self.parts))

    def table(self, max_entries: int = MAX_ENTRIES) -> Factor:
        """The utility of every outcome, as a factor over all attributes."""
        check_size(self._variables, "The utility of all outcomes", max_entries)
        return sum(self.parts, Factor.scalar(0.0)).extend(self._variables).reorder(self.names)

    def expected_utility(
        self, lottery: Factor | Iterable[Factor] | Expects, evidence: Mapping[str, State] | None = None
    ) -> float:
        """Σ_i Σ_z π(z_i) U_i(z_i).

        The lottery is a distribution over the attributes; the marginals of one, each scope being in one of them; or a
        model such as a `BayesianNetwork`, whose engine gives the expectation of all parts in one pass and no joint.
        Evidence is for models only.

        >>> spend = AdditiveUtility([Factor({"A": 2}, [0, 10]), Factor({"B": 2}, [0, -4])])
        >>> spend.expected_utility([Factor({"A": 2}, [0.5, 0.5]), Factor({"B": 2}, [0.75, 0.25])])
        4.0
        """
        if hasattr(lottery, "expectation") and not isinstance(lottery, Factor):
            return float(lottery.expectation(self.parts, evidence))
        if evidence:
            raise InvalidArgument("evidence= is for models; condition a distribution by reduce() and normalize().")
        marginals = [lottery] if isinstance(lottery, Factor) else list(lottery)
        total = 0.0
        for part in self.parts:
            holder = next((one for one in marginals if set(part.names) <= set(one.names)), None)
            if part.scope and holder is None:
                raise InvalidArgument(
                    f"No marginal of the lottery holds all of {list(part.names)}, which a part of the utility needs."
                )
            total += holder.expectation(part) if part.scope and holder is not None else part.sum()
        return float(total)

    def best(self, evidence: Mapping[str, State] | None = None, *, max_entries: int = 2**24) -> BestOutcome:
        """An outcome of the greatest utility among those that agree with the evidence, by max-sum elimination.

        An elimination whose tables together have more than `max_entries` is refused, before any work is done.
        """
        known = dict(evidence or {})
        check_names(known, self.names)
        free = [variable for variable in self._variables if variable.name not in known]
        terms = [part.reduce(known) for part in self.parts]
        terms += [Factor((variable,), np.zeros(variable.num_states)) for variable in free]
        order = constrained_order(terms, [variable.name for variable in free])
        order.check(max_entries, [Remedy("fix more attributes by evidence")])
        states = max_tables(terms, order).best()
        outcome = {v.name: known.get(v.name, v.states[states.get(v.name, 0)]) for v in self._variables}
        return BestOutcome(Assignment(outcome), self[outcome])

    def utilities(self) -> tuple[Utility, ...]:
        """The parts as utility nodes of an influence diagram, named by their scopes (and numbers, where they repeat).

        >>> AdditiveUtility([Factor({"A": 2}, [0, 1]), Factor({"A": 2}, [2, 0])]).utilities()
        (Utility(['A'], name='U(A)'), Utility(['A'], name='U(A) 2'))
        """
        seen: Counter[str] = Counter()
        nodes = []
        for part in self.parts:
            name = f"U({', '.join(part.names)})"
            seen[name] += 1
            nodes.append(Utility.from_factor(part, name if seen[name] == 1 else f"{name} {seen[name]}"))
        return tuple(nodes)

    def gibbs_network(self, temperature: float = 1.0) -> MarkovNetwork:
        """The Markov network P ∝ exp(U / temperature), in which conditional independence is CA-independence in U.

        Koller & Friedman 2009, lemma 22.1. Its most probable assignment is the best outcome.
        """
        if not temperature > 0:
            raise InvalidArgument(f"temperature={temperature!r} must be positive.")
        return log_linear(self.parts, [1.0 / temperature] * len(self.parts), variables=self._variables)

    def is_close(self, other: AdditiveUtility, tolerance: float = 1e-9) -> bool:
        """Whether both give every outcome the same utility, whatever their parts are; builds the tables."""
        return self.table().is_close(other.table(), tolerance)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, AdditiveUtility):
            return NotImplemented
        return self._variables == other._variables and self.parts == other.parts

    def __hash__(self) -> int:
        return hash((self._variables, self.parts))

    def __repr__(self) -> str:
        return f"<AdditiveUtility: {sum_text(self.scopes)}>"

    def __str__(self) -> str:
        return "\n\n".join(str(part) for part in self.parts) or "0"

    _repr_html_ = html_of_print
