"""The linear constraints that what is observed puts on the joint response types of a district."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.causal.partial.district import District
from plausible.causal.partial.source import Observed
from plausible.graphs.causal_graph import CausalGraph

if TYPE_CHECKING:
    from scipy.sparse import csr_array

__all__ = ["Polytope", "assembled", "conditional", "observed_levels", "polytope", "scope_of"]


@dataclass(frozen=True, slots=True, eq=False)
class Polytope:
    """{ν ≥ 0: lower ≤ A ν ≤ upper}: the distributions of joint response types that show what is observed.

    Attributes
    ----------
    district
        Whose types they are.
    matrix
        A, constraints × types.
    lower, upper
        What the rows must sum to; equal unless sampling noise is allowed for.
    alive
        The joint types that may occur: the others would show what is never seen.
    """

    district: District
    matrix: csr_array
    lower: Floats
    upper: Floats
    alive: Positions

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

        Parameters
        ----------
        functionals
            Functionals × types that may occur.
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
    rows: list[tuple[int, Any, Floats, Floats]] = [(0, None, np.ones((1, 1)), np.ones((1, 1)))]
    for place, level in enumerate(levels):
        is_known = ~np.isnan(level)
        if place + 1 < len(levels):
            is_known &= np.isnan(levels[place + 1]).reshape(*level.shape, -1).any(axis=-1)
        rows.append((place + 1, is_known, level, level))
    return assembled(district, rows)


def assembled(district: District, rows: Sequence[tuple[int, Any, Floats, Floats]]) -> Polytope:
    """The polytope with the rows of some levels: (level, which cells or all, lower, upper)."""
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
        table = _spread(graph, district, place, observed)
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


def _spread(graph: CausalGraph, district: District, place: int, observed: Observed) -> Floats:
    """The conditional of a member with an axis for every outside parent and every member up to it."""
    names = scope_of(graph, district, place)
    layout = [*district.outside, *(response.variable for response in district.responses[: place + 1])]
    shape = [variable.num_states if variable.name in names else 1 for variable in layout]
    return conditional(observed.tables(names)).reshape(shape)
