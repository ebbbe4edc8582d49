"""What the learners climb: log-likelihoods of incomplete rows, added and taken away, and a prior."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.learn.gradients.observed import ObservedLikelihood, Tables
from plausible.learn.gradients.space import ParameterSpace

__all__ = ["Objective"]


@dataclass(frozen=True, slots=True, eq=False)
class Objective:
    """Σ_i s_i ℓ_i(θ) + Σ (α - 1) log θ, as a function of a point of a parameter space.

    Attributes
    ----------
    space
        The parameters.
    terms
        Signs, and the likelihoods that they stand before: (+1, ℓ) for the likelihood, (+1, ℓ_xy) and (-1, ℓ_x) for
        the conditional likelihood of y given x.
    prior_weights
        Name -> α - 1 of a table's prior.
    """

    space: ParameterSpace
    terms: tuple[tuple[float, ObservedLikelihood], ...]
    prior_weights: Tables

    @property
    def total(self) -> float:
        """How much all rows weigh."""
        return self.terms[0][1].total

    def log_likelihood(self, point: Floats) -> float:
        """Σ_i s_i ℓ_i at a point, without the prior."""
        tables = self.tables(point)
        return sum(sign * float(term.weights @ term.log_rows(tables)) for sign, term in self.terms)

    def tables(self, point: Floats) -> Tables:
        """The tables of all variables at a point."""
        return self._tables(self.space.cpds(point))

    def at(self, point: Floats) -> tuple[float, Floats]:
        """The value and the gradient at a point; -inf, and no gradient, where a row can't happen."""
        cpds = self.space.cpds(point)
        tables = self._tables(cpds)
        entries = {name: np.zeros(table.shape) for name, table in tables.items()}
        value = 0.0
        for sign, term in self.terms:
            log_rows, counts = term.counts(tables)
            value += sign * float(term.weights @ log_rows)
            for name, count in counts.items():
                entries[name] += sign * _ratio(count, tables[name])
        for name, weights in self.prior_weights.items():
            live = weights > 0
            with np.errstate(divide="ignore"):
                value += float(weights[live] @ np.log(tables[name][live]))
            entries[name] += _ratio(weights, tables[name])
        if not np.isfinite(value):
            return -np.inf, np.zeros(point.shape)
        return value, self.space.pull(cpds, entries)

    def _tables(self, cpds: list[CPD]) -> Mapping[str, Floats]:
        """The tables of all variables."""
        made: dict[str, Floats] = {}
        for block, cpd in zip(self.space.blocks, cpds, strict=True):
            made |= dict.fromkeys(block.users, cpd.to_factor().values)
        return {
            name: made[name] if name in made else cpd.to_factor().values
            for name, cpd in self.space.network.cpds.items()
        }


def _ratio(counts: Floats, table: Floats) -> Floats:
    """dℓ/dθ = M / θ; where θ is zero no free parameter moves it, so that any finite number will do."""
    return np.divide(counts, table, out=np.zeros(table.shape), where=table > 0)
