"""Families of scopes: what they can tell apart, and a basis of the utilities that are sums over them."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import chain, combinations, pairwise

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, TooLarge, UnknownVariable, counted
from plausible.factors import Factor
from plausible.factors.alignment import Scope, num_entries
from plausible.utilities.attributes.outcome_tables import Names
from plausible.variables import Variable

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
    for name in chain.from_iterable(listed):
        if name not in known:
            raise UnknownVariable.named(name, known, "this utility")
    return listed


def sum_text(scopes: Iterable[Sequence[str]]) -> str:
    """The utilities that are sums over some scopes, in a line.

    >>> sum_text([("A", "B"), ("C",)])
    'U(A, B) + U(C)'
    """
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
    """The rank of the indicator columns of all scopes: Σ_S Π_{v ∈ S} (|v| - 1) over all S within some scope.

    >>> num_free_parameters([Variable("A", 2), Variable("B", 3)], [("A",), ("B",)])
    4
    """
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
    """The basis of the utilities that are sums of functions of the scopes.

    >>> utility_basis([Variable("A", 2), Variable("B", 3), Variable("C", 2)], [["A", "B"], ["B", "C"]]).size
    9
    """
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
