"""Tables that agree with each other, have given means and the largest counted entropy: a program, by Newton steps."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_graph import hosts_of, is_forest, read_clusters
from plausible.inference.regions.counting_numbers import CountingNumbers
from plausible.learn.undirected.design import Design, interaction_transform
from plausible.variables import Evidence

if TYPE_CHECKING:
    from scipy.sparse import csr_array

#: Multipliers of constraints that say the same twice are kept small by so much.
_RIDGE = 1e-9
#: A Newton step goes no farther than this share of the way to where a belief would be zero, and is halved so often.
_SHARE, _MOST_HALVINGS = 0.95, 40
#: Where a start's probabilities are near zero, Newton steps are short: so much of each is even.
_EVEN = 0.1
#: Residuals that count as none, and the steps to get there.
_TOLERANCE, _MOST_STEPS = 1e-11, 200


class EntropyPoint(NamedTuple):
    """Where a program has come to."""

    moments: Floats  # P of each combination of states without first ones: coordinates in which tables always agree
    multipliers: Floats  # of the constraints; those of means are weights


@dataclass(frozen=True, slots=True, eq=False)
class EntropyProgram:
    """max Σ_r c_r H(b_r) + l·b over tables b_r that agree on single variables, and may be bound to have given means.

    Tables are those of a design, and then one for each variable. They are linear in moments η that all scopes share on
    single variables and have for themselves beyond these, b = b_0 + T η, so that they always agree and add up to one.
    A scope within another, whose entropy does not count, has the moments of that.
    """

    constant: Floats  # b_0
    transform: csr_array  # T
    counts: Floats  # c of each entry
    is_live: Flags  # False for entries that are ruled out
    features: csr_array  # entries x weights
    is_tree: bool  # whether the factor graph is
    independent: Callable[[Floats], Floats]  # from weights to moments of independent variables that they push

    @classmethod
    def of(cls, design: Design, counts: Callable[[Problem], CountingNumbers]) -> EntropyProgram:
        """Lay a design out."""
        from scipy.sparse import csr_array, vstack

        problem = Problem.of(design.factors(np.zeros(design.num_entries)), Evidence({}, {}, {}))
        numbers = counts(problem)
        place_of = {name: place for place, name in enumerate(design.variables)}
        singles = [place_of[variable.name] for variable in problem.variables]
        sizes = [int(np.prod(design.sizes[list(scope)])) for scope in design.scopes]
        owners = np.where(numbers.factors > 0, np.arange(len(design.scopes)), hosts_of(problem)).tolist()
        scopes = [*design.scopes, *((place,) for place in singles)]
        transform, indicators = interaction_transform(scopes, design.sizes, [*owners, *([-1] * len(singles))])
        dense, states = transform.T.tocsr(), design.sizes[singles]
        is_live, live_states = _live(design)
        each = np.concatenate([np.repeat(numbers.factors, sizes), np.repeat(numbers.variables, states)])
        alive = np.concatenate([is_live, *(live_states[place] for place in singles)])
        padding: Any = csr_array((int(states.sum()), design.num_weights))
        return cls(
            dense[:, [0]].toarray().ravel(),
            dense[:, 1:],
            np.where(alive, each, 0.0),
            alive,
            vstack([design.matrix, padding]).tocsr(),
            is_forest(read_clusters(problem)),
            lambda weights: _independent_moments(design, indicators[1:], live_states, weights),
        )

    def beliefs(self, moments: Floats) -> Floats:
        """The tables, those ruled out zero."""
        return np.where(self.is_live, self.constant + self.transform @ moments, 0.0)

    def entropy(self, moments: Floats) -> float:
        """Σ_r c_r H(b_r)."""
        beliefs = self.beliefs(moments)[self.is_live]
        return -float(self.counts[self.is_live] @ (beliefs * np.log(beliefs)))

    def bent(self, moments: Floats) -> Floats:
        """The slope, for each moment, of the entropies that count less than nothing."""
        return np.asarray(self.transform.T @ (np.minimum(self.counts, 0.0) * self._log(self.beliefs(moments))))

    def maximise(
        self, start: EntropyPoint, linear: Floats, means: Floats | None, *, is_concave: bool
    ) -> EntropyPoint | None:
        """The best point, Newton's method from any start (Boyd & Vandenberghe 2004, §10.3.2); None if it gets nowhere.

        Where the whole is not concave, entropies that count less than nothing are taken by their tangents at the start:
        they are convex, so that the whole is no less than what is maximised, and rises from a start that is feasible
        (Yuille 2002; Heskes 2006).

        Parameters
        ----------
        linear
            l, a number for each weight: l·b is Σ_i l_i E_b[f_i].
        means
            E_b[f] of each weight; free where left out.
        """
        rows, right = self._constraints(means)
        counts = self.counts if is_concave else np.maximum(self.counts, 0.0)
        slope = np.asarray(self.transform.T @ (self.features @ linear))
        if not is_concave:
            slope = slope - self.bent(start.moments)
        point = EntropyPoint(start.moments, _resized(start.multipliers, right.size))
        for _ in range(_MOST_STEPS):
            residual = self._residual(point, counts, slope, rows, right)
            if np.abs(residual).max(initial=0.0) <= _TOLERANCE * max(1.0, np.abs(point.multipliers).max(initial=0.0)):
                return point
            moved = self._step(point, counts, slope, rows, right, residual)
            if moved is None:  # as near as rounding lets it come, or nowhere
                return point if np.abs(residual).max() <= 1e3 * _TOLERANCE * (1 + np.abs(slope).max()) else None
            point = moved
        return None

    def _log(self, beliefs: Floats) -> Floats:
        """log b; zero where entries are ruled out."""
        return np.log(np.where(self.is_live, beliefs, 1.0))

    def _constraints(self, means: Floats | None) -> tuple[csr_array, Floats]:
        """Rows over moments, and what they add up to: means of features, and zeros of what is ruled out."""
        from scipy.sparse import vstack

        dead = np.flatnonzero(~self.is_live)
        rows, right = self.transform[dead], -self.constant[dead]
        if means is None:
            return rows.tocsr(), right
        held = (self.features.T @ self.transform).tocsr()
        return vstack([held, rows]).tocsr(), np.concatenate([means - self.features.T @ self.constant, right])

    def _residual(self, point: EntropyPoint, counts: Floats, slope: Floats, rows: csr_array, right: Floats) -> Floats:
        """The slope of the Lagrangian, and by how much constraints are missed."""
        bent = self.transform.T @ (counts * (self._log(self.beliefs(point.moments)) + 1.0))
        return np.concatenate([bent - slope - rows.T @ point.multipliers, rows @ point.moments - right])

    def _step(
        self, point: EntropyPoint, counts: Floats, slope: Floats, rows: csr_array, right: Floats, residual: Floats
    ) -> EntropyPoint | None:
        """A Newton step, as long as it brings the residual down."""
        from scipy.sparse import block_array, csc_array, diags_array, eye_array
        from scipy.sparse.linalg import splu

        beliefs = self.beliefs(point.moments)
        curvature = diags_array(np.where(self.is_live, counts / np.where(self.is_live, beliefs, 1.0), 0.0))
        hessian = self.transform.T @ curvature @ self.transform
        system = block_array([[hessian, rows.T], [rows, -_RIDGE * eye_array(right.size)]])
        moved = splu(csc_array(system)).solve(-residual)
        along, multipliers = moved[: point.moments.size], -moved[point.moments.size :]
        change = (self.transform @ along)[self.is_live]
        falling = change < 0
        length = min(1.0, float((_SHARE * -beliefs[self.is_live][falling] / change[falling]).min(initial=1.0)))
        size = float(np.linalg.norm(residual))
        for _ in range(_MOST_HALVINGS):
            tried = EntropyPoint(point.moments + length * along, point.multipliers + length * multipliers)
            if np.linalg.norm(self._residual(tried, counts, slope, rows, right)) < (1 - 0.01 * length) * size:
                return tried
            length /= 2
        return None


def _resized(multipliers: Floats, size: int) -> Floats:
    return multipliers if multipliers.size == size else np.zeros(size)


def _live(design: Design) -> tuple[Flags, list[Flags]]:
    """Which entries, and which states of variables, are not ruled out by the tables around them."""
    states = [np.ones(int(size), dtype=bool) for size in design.sizes]
    live, num_live = np.isfinite(design.base), -1
    while num_live != (num_live := int(live.sum())):
        for scope, start, end in zip(design.scopes, design.starts[:-1], design.starts[1:], strict=True):
            table = live[start:end].reshape([int(design.sizes[place]) for place in scope])
            for axis, place in enumerate(scope):
                states[place] &= table.any(axis=tuple(other for other in range(len(scope)) if other != axis))
                table &= states[place].reshape([-1 if other == axis else 1 for other in range(len(scope))])
    return live, states


def _independent_moments(
    design: Design, indicators: list[tuple[tuple[int, int], ...]], live: list[Flags], weights: Floats
) -> Floats:
    """P of combinations of states where variables are independent, each pushed by the mean of the tables around it."""
    pushes = [np.zeros(int(size)) for size in design.sizes]
    logs = design.matrix @ weights
    for scope, start, end in zip(design.scopes, design.starts[:-1], design.starts[1:], strict=True):
        table = logs[start:end].reshape([int(design.sizes[place]) for place in scope])
        for axis, place in enumerate(scope):
            pushes[place] += table.mean(axis=tuple(other for other in range(len(scope)) if other != axis))
    shares = [np.exp(push - push.max()) * alive for push, alive in zip(pushes, live, strict=True)]
    single = [
        (1 - _EVEN) * share / share.sum() + _EVEN * alive / alive.sum()
        for share, alive in zip(shares, live, strict=True)
    ]
    return np.array([float(np.prod([single[place][state] for place, state in each])) for each in indicators])
