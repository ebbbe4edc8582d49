"""The linear program: a linear form, or a ratio of two, at its least and at its most over response types."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.causal.partial.district import Polytope
from plausible.causal.partial.linear_form import LinearForm
from plausible.causal.partial.systems import Members, least_total
from plausible.errors import ImpossibleEvidence, ModelContradicted, NotSupported

_INFEASIBLE = 2


class LimitRow(NamedTuple):
    """lower × denominator ≤ numerator ≤ upper × denominator."""

    numerator: LinearForm
    denominator: LinearForm
    lower: float
    upper: float
    text: str


class Extremum(NamedTuple):
    """An end, and for each district a distribution of the types that may occur which attains it."""

    value: float
    types: Mapping[Members, Floats]


@dataclass(frozen=True, slots=True, eq=False)
class BoundsProgram:
    """Polytopes of independent districts, and limits.

    Numerator and denominator are both made homogeneous by one more unknown t (Charnes & Cooper 1962): over y = t ν,
    the ratio is linear where the denominator is fixed to one. A plain linear form has the denominator t.
    """

    polytopes: Mapping[Members, Polytope]  # Those of all districts that matter.
    limits: Sequence[LimitRow] = ()  # What else must hold.

    def ends(self, numerator: LinearForm, denominator: LinearForm) -> tuple[Extremum, Extremum]:
        """The least and the greatest value of numerator / denominator."""
        from scipy.optimize import linprog
        from scipy.sparse import csr_array, vstack

        costs, (equal, upper) = self._row(numerator), self._constraints()
        equal = vstack([equal, csr_array(self._row(denominator)[None, :])], format="csr")
        sides = np.append(np.zeros(equal.shape[0] - 1), 1.0)
        starts = np.cumsum([len(polytope.alive) for polytope in self.polytopes.values()])
        extrema = []
        for sign in (1.0, -1.0):
            rows = {"A_ub": upper, "b_ub": np.zeros(upper.shape[0]), "A_eq": equal, "b_eq": sides}
            found = linprog(sign * costs, **rows, bounds=(0, None), method="highs")
            if found.status == _INFEASIBLE:
                if missed := self.missed_limits():
                    texts = "; ".join(limit.text for limit in self.limits)
                    raise ModelContradicted(
                        f"What is observed contradicts the assumptions {texts}: no response types satisfy them, and "
                        f"the nearest miss them by {missed:.4g} in total. Loosen one of them.",
                        missed,
                    )
                raise ImpossibleEvidence(
                    "The evidence has probability zero under all response types that show the data."
                )
            if found.status != 0 or found.x is None:
                raise NotSupported(f"The linear program of the bounds ended without an answer: {found.message}")
            parts = [np.maximum(part, 0.0) for part in np.split(found.x, starts)[:-1]]
            types = {members: part / part.sum() for members, part in zip(self.polytopes, parts, strict=True)}
            extrema.append(Extremum(float(costs @ found.x), types))
        return extrema[0], extrema[1]

    def _constraints(self) -> tuple[Any, Any]:
        """Rows that are zero and rows that are at most zero, over (y of each district, t)."""
        from scipy.sparse import csr_array, vstack

        empty = csr_array((0, self._size))
        equal, bands = [empty], [empty]
        for place, polytope in enumerate(self.polytopes.values()):
            matrix, is_equal = polytope.live_matrix, polytope.lower == polytope.upper
            equal.append(self._placed(matrix[np.flatnonzero(is_equal)], place, -polytope.lower[is_equal]))
            if not is_equal.all():
                rows = matrix[np.flatnonzero(~is_equal)]
                bands.append(self._placed(rows, place, -polytope.upper[~is_equal]))
                bands.append(self._placed(-rows, place, polytope.lower[~is_equal]))
        limits = [csr_array(row[None, :]) for row in self._limit_rows()]
        return vstack(equal, format="csr"), vstack([*bands, *limits], format="csr")

    def _placed(self, rows: Any, place: int, last: Floats) -> Any:
        """Rows over the types of one district as rows over all."""
        from scipy.sparse import csr_array, hstack

        sizes = [len(polytope.alive) for polytope in self.polytopes.values()]
        parts = [rows if i == place else csr_array((rows.shape[0], size)) for i, size in enumerate(sizes)]
        return hstack([*parts, csr_array(last[:, None])], format="csr")

    def _limit_rows(self) -> list[Floats]:
        """Each limit as rows that are at most zero."""
        rows = []
        for limit in self.limits:
            over, under = self._row(limit.numerator), self._row(limit.denominator)
            if limit.upper < np.inf:
                rows.append(over - limit.upper * under)
            if limit.lower > -np.inf:
                rows.append(limit.lower * under - over)
        return rows

    def missed_limits(self) -> float:
        """The least total by which types that show what is observed miss the limits; zero where some satisfy them."""
        from scipy.sparse import csr_array, eye_array, hstack, vstack

        if not self.limits:
            return 0.0
        equal, upper = self._constraints()
        first_limit = upper.shape[0] - len(self._limit_rows())
        slack = -eye_array(upper.shape[0], format="csr")[:, first_limit:]
        rows: Any = hstack([upper, slack], format="csr")
        scale = np.zeros((1, rows.shape[1]))
        scale[0, self._size - 1] = 1.0
        whole: Any = vstack([hstack([equal, csr_array((equal.shape[0], slack.shape[1]))]), csr_array(scale)])
        sides = np.append(np.zeros(equal.shape[0]), 1.0)
        costs = np.concatenate([np.zeros(self._size), np.ones(slack.shape[1])])
        return least_total("linear program of the limits", costs, (rows, np.zeros(rows.shape[0])), (whole, sides))

    @property
    def _size(self) -> int:
        return 1 + sum(len(polytope.alive) for polytope in self.polytopes.values())

    def _row(self, form: LinearForm) -> Floats:
        parts = [form.vectors.get(members, np.zeros(len(p.alive))) for members, p in self.polytopes.items()]
        return np.concatenate([*parts, [form.constant]])
