"""How Gaussian emissions and mixtures of them are learned: from expected moments, in units of the columns."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.incomplete.gaussian_rows import PatternRows, column_units
from plausible.learn.mixtures.em import clipped
from plausible.learn.sequences.emission_learner import EmissionLearner, EmissionRules, Statistics, pooled
from plausible.learn.sequences.priors import log_dirichlet, map_rows
from plausible.models.sequences.emissions import Emission, ObservedRows
from plausible.models.sequences.gaussian_emissions import GaussianEmission, GaussianMixtureEmission


def number_units(emission: Emission, rows: ObservedRows, rules: EmissionRules) -> tuple[Floats, Floats]:
    """Mean and deviation of each column, those that are given first; one for columns that never vary.

    Columns with one variance have one unit, too.
    """
    center, variances = column_units(rows.content, np.ones(len(rows.content)))
    if getattr(emission, "covariance", "") == "spherical" and variances.any():
        variances = np.full(variances.shape, variances[variances > 0].mean())
    scale = np.sqrt(np.where(variances > 0, variances, 1.0))
    for place, variable in enumerate(emission.variables):
        center[place], scale[place] = rules.units.get(variable.name, (center[place], scale[place]))
    return center, scale


class NumberLearner(EmissionLearner[GaussianEmission]):
    """In units in which columns have mean zero and variance one."""

    def __init__(self, emission: Emission, rows: ObservedRows, rules: EmissionRules) -> None:
        self.rules = rules
        self.center, self.scale = number_units(emission, rows, rules)
        self.numbers = (rows.content - self.center) / self.scale
        self.known = ~np.isnan(self.numbers)
        self.is_complete = bool(self.known.all())
        self.filled = self.numbers if self.is_complete else np.where(self.known, self.numbers, 0.0)
        self.squares = np.hstack([np.ones((len(self.filled), 1)), self.filled, self.filled**2])
        has_matrices = getattr(emission, "covariance", "full") in ("full", "tied") and self.filled.shape[1] > 1
        self.patterns = (
            PatternRows.of(self.numbers, emission.num_states) if has_matrices and not self.is_complete else None
        )

    def parameters(self, emission: GaussianEmission) -> tuple[Floats, Floats]:
        """Means and covariances in these units."""
        return (emission.means - self.center) / self.scale, emission.covariances / np.outer(self.scale, self.scale)

    def own(self, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
        """Means and covariances in these units as those of the columns."""
        return self.center + self.scale * means, covariances * np.outer(self.scale, self.scale)

    def statistics(self, emission: GaussianEmission, sums: Floats) -> Statistics:
        return self.moments(*self.parameters(emission), sums, emission.covariance)

    def moments(self, means: Floats, covariances: Floats, shares: Floats, kind: str) -> Statistics:
        """Expected counts (K, d), sums (K, d) and products (K, d, d), or squares (K, d) where that is enough."""
        size = means.shape[1]
        if self.patterns is not None:
            density = self.patterns.density(means, covariances)
            found = self.patterns.moments(density, shares, means, covariances)
            return np.repeat(found[:, :1, 0], size, axis=1), found[:, 0, 1:], found[:, 1:, 1:]
        table = shares.T @ self.squares
        firsts, seconds = table[:, 1 : size + 1], table[:, size + 1 :]
        counts = np.repeat(table[:, :1], size, axis=1) if self.is_complete else shares.T @ self.known.astype(float)
        if size == 1 or kind in ("diagonal", "spherical"):
            return counts, firsts, seconds
        return counts, firsts, np.stack([(self.filled * own[:, None]).T @ self.filled for own in shares.T])

    def maximized(self, emission: GaussianEmission, statistics: Statistics) -> GaussianEmission:
        groups = self.rules.tied
        means, covariances = self.best(
            emission.covariance, *self.parameters(emission), *(pooled(groups, part) for part in statistics)
        )
        return emission.with_parameters(*self.own(means, covariances))

    def best(
        self, kind: str, means: Floats, covariances: Floats, counts: Floats, firsts: Floats, seconds: Floats
    ) -> tuple[Floats, Floats]:
        """Means and covariances of greatest posterior density; those that nothing is known of stay."""
        prior, size = self.rules.prior, means.shape[1]
        known = counts + prior.means
        centers = np.divide(firsts, known, out=means.copy(), where=known > 0)
        if seconds.ndim == 2:
            scatter = seconds - 2 * centers * firsts + counts * centers**2 + prior.means * centers**2 + prior.variances
            cases = counts + prior.variances
            if kind == "tied":
                scatter, cases = (np.broadcast_to(part.sum(axis=0), part.shape) for part in (scatter, cases))
            if kind == "spherical":
                scatter, cases = (
                    np.broadcast_to(part.sum(axis=1, keepdims=True), part.shape) for part in (scatter, cases)
                )
            old = np.diagonal(covariances, axis1=1, axis2=2).copy()
            variances = np.divide(np.maximum(scatter, 0.0), cases, out=old, where=cases > 0)
            return centers, np.maximum(variances, self.rules.variance_floor)[:, :, None] * np.eye(size)
        crossed = centers[:, :, None] * firsts[:, None, :]
        totals = (counts[:, :1] + prior.means)[:, :, None]
        scatters = seconds - crossed - np.swapaxes(crossed, 1, 2) + totals * centers[:, :, None] * centers[:, None, :]
        scatters = scatters + prior.variances * np.eye(size)
        cases = counts[:, :1, None] + prior.variances
        if kind == "tied":
            scatters = np.broadcast_to(scatters.sum(axis=0), scatters.shape)
            cases = np.broadcast_to(cases.sum(axis=0), cases.shape)
        cases = np.broadcast_to(cases, scatters.shape)
        scatters = (scatters + np.swapaxes(scatters, 1, 2)) / 2
        found = np.divide(scatters, cases, out=covariances.copy(), where=cases > 0)
        return centers, clipped(found, self.rules.variance_floor)

    def log_prior(self, emission: GaussianEmission) -> float:
        return self.log_density(*self.parameters(emission), emission.covariance)

    def log_density(self, means: Floats, covariances: Floats, kind: str) -> float:
        """Of the normal-Wishart kernel; a covariance that is tied counts for each state that has it."""
        prior, value = self.rules.prior, 0.0
        if not (prior.means or prior.variances):
            return value
        inverse = np.linalg.inv(covariances)
        value -= prior.means / 2 * float(np.einsum("ki,kij,kj->", means, inverse, means))
        spread = np.linalg.slogdet(covariances)[1] + np.trace(inverse, axis1=1, axis2=2)
        return value - prior.variances / 2 * float(spread.sum())

    def floored(self, emission: GaussianEmission) -> list[int]:
        least = np.linalg.eigvalsh(self.parameters(emission)[1]).min(axis=1)
        return np.flatnonzero(least <= self.rules.variance_floor * (1 + 1e-9)).tolist()


class MixtureLearner(EmissionLearner[GaussianMixtureEmission]):
    """Each component is a Gaussian of its own; its share of a state is that of the state, cut up once more."""

    def __init__(self, emission: Emission, rows: ObservedRows, rules: EmissionRules) -> None:
        self.rows, self.rules = rows, rules
        self.numbers = NumberLearner(emission, rows, rules)

    def flat(self, emission: GaussianMixtureEmission) -> GaussianEmission:
        """All components of all states, one after the other."""
        size = emission.means.shape[2]
        names = [variable.name for variable in emission.variables]
        covariances = emission.covariances.reshape(-1, size, size)
        tied = covariances[0] if emission.covariance == "tied" else covariances
        return GaussianEmission(emission.means.reshape(-1, size), tied, names, covariance=emission.covariance)

    def statistics(self, emission: GaussianMixtureEmission, sums: Floats) -> Statistics:
        logs = emission.log_components(self.rows)
        logs -= np.logaddexp.reduce(logs, axis=2, keepdims=True)
        shares = np.exp(logs) * sums[:, :, None]
        flat = self.flat(emission)
        moments = self.numbers.moments(*self.numbers.parameters(flat), shares.reshape(len(shares), -1), flat.covariance)
        shape = emission.weights.shape
        return shares.sum(axis=0), *(part.reshape(*shape, *part.shape[1:]) for part in moments)

    def maximized(self, emission: GaussianMixtureEmission, statistics: Statistics) -> GaussianMixtureEmission:
        counts, *moments = (pooled(self.rules.tied, part) for part in statistics)
        weights = map_rows(counts, emission.weights, self.rules.prior.weights)
        flat = self.flat(emission)
        parts = [part.reshape(-1, *part.shape[2:]) for part in moments]
        best = self.numbers.best(flat.covariance, *self.numbers.parameters(flat), *parts)
        means, covariances = self.numbers.own(*best)
        shape = emission.means.shape
        return emission.with_parameters(weights, means.reshape(shape), covariances.reshape(*shape, shape[-1]))

    def log_prior(self, emission: GaussianMixtureEmission) -> float:
        value = self.numbers.log_prior(self.flat(emission))
        return value + log_dirichlet(emission.weights, self.rules.prior.weights)

    def floored(self, emission: GaussianMixtureEmission) -> list[int]:
        parts = self.numbers.floored(self.flat(emission))
        return sorted({part // emission.num_components for part in parts})
