"""Conjugate distributions of the parameters of a cluster: what rows say of it, and it of rows, in closed form.

Each part of a base measure is a value that rows turn into another of its kind: the posterior holds all that the rows
said, so it is its own sufficient statistics.
"""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import Any, TypeAlias

import numpy as np
from numpy.typing import ArrayLike, NDArray

from plausible.base import Floats, check_number
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.learn.estimation.priors import log_rising


@dataclass(frozen=True, slots=True)
class DirichletStates:
    """A discrete feature whose probabilities are Dirichlet(α).

    Q(x) = α_x / Σ α; P(rows) = Γ(Σ α) / Γ(Σ α + N) Π_x Γ(α_x + N_x) / Γ(α_x). All α are positive, one for each state;
    codes of -1 are missing and say nothing (Koller & Friedman 2009, eq. 19.10).

    >>> part = DirichletStates("wet", (1.0, 1.0)).updated(np.array([[0], [0], [-1]]))
    >>> part.pseudo_counts, np.exp(part.log_predictive(np.array([[0]]))).round(2)
    ((3.0, 1.0), array([0.75]))
    """

    name: str
    pseudo_counts: tuple[float, ...]

    def __post_init__(self) -> None:
        counts = tuple(map(float, self.pseudo_counts))
        if not counts or not all(0 < count < math.inf for count in counts):
            told = f"The pseudo-counts of {self.name!r} are positive numbers"
            raise InvalidArgument(f"{told}, not {self.pseudo_counts!r}.")
        object.__setattr__(self, "pseudo_counts", counts)

    @property
    def names(self) -> tuple[str, ...]:
        """The one feature."""
        return (self.name,)

    def updated(self, rows: NDArray[Any]) -> DirichletStates:
        """α + N."""
        return DirichletStates(self.name, tuple(self._counts(rows) + self.pseudo_counts))

    def log_marginal(self, rows: NDArray[Any]) -> float:
        """log P(rows); O(rows)."""
        alpha, counts = np.array(self.pseudo_counts), self._counts(rows)
        return float(log_rising(alpha, counts).sum() - log_rising(alpha.sum(), counts.sum()))

    def log_predictive(self, rows: NDArray[Any]) -> Floats:
        """log Q(x) of each row, zero where it is missing."""
        codes = rows[:, 0].astype(np.int64)
        logs = np.log(np.array(self.pseudo_counts) / sum(self.pseudo_counts))
        return np.where(codes < 0, 0.0, logs[codes])

    def sample(self, num_rows: int, rng: np.random.Generator) -> NDArray[Any]:
        """Codes (rows, 1)."""
        weights = np.array(self.pseudo_counts)
        return rng.choice(len(weights), (num_rows, 1), p=weights / weights.sum())

    def _counts(self, rows: NDArray[Any]) -> Floats:
        codes = rows[:, 0].astype(np.int64)
        return np.bincount(codes[codes >= 0], minlength=len(self.pseudo_counts)).astype(np.float64)


@dataclass(frozen=True, slots=True, eq=False)
class NormalInverseWishart:
    """Numbers that are jointly normal, Σ ~ InverseWishart(ν, Ψ) and mean ~ Normal(μ, Σ / κ).

    Q(x) is a multivariate t with ν - d + 1 degrees of freedom around μ, of scale Ψ (κ + 1) / (κ (ν - d + 1)), and
    P(rows) = π^{-Nd/2} Γ_d(ν_N / 2) / Γ_d(ν / 2) |Ψ|^{ν/2} / |Ψ_N|^{ν_N/2} (κ / κ_N)^{d/2}. Rows all of whose numbers
    are missing say nothing; with some missing there is no closed form. Murphy 2007, "Conjugate Bayesian analysis of
    the Gaussian distribution", §9.

    Parameters
    ----------
    names, mean
        The d features, and μ.
    strength, degrees
        κ > 0, how many rows the mean is worth; and ν > d - 1.
    scale
        Ψ, positive definite; E[Σ] = Ψ / (ν - d - 1).

    Examples
    --------
    >>> part = NormalInverseWishart(("height", "weight"), [0, 0], 1.0, 4.0, np.eye(2))
    >>> part.updated(np.array([[2.0, 0.0], [4.0, 3.0]])).mean
    array([2., 1.])
    """

    names: tuple[str, ...]
    mean: Floats
    strength: float
    degrees: float
    scale: Floats

    def __init__(
        self, names: tuple[str, ...], mean: ArrayLike, strength: float, degrees: float, scale: ArrayLike
    ) -> None:
        told = ", ".join(names)
        center, matrix = np.array(mean, dtype=np.float64), np.array(scale, dtype=np.float64)
        if center.shape != (len(names),) or matrix.shape != (len(names), len(names)) or not np.isfinite(center).all():
            raise InvalidArgument(f"({told}) need {len(names)} numbers as mean and a square matrix as scale.")
        if not 0 < strength < math.inf or not len(names) - 1 < degrees < math.inf:
            raise InvalidArgument(f"({told}) need strength > 0 and degrees > {len(names) - 1}: {strength}, {degrees}.")
        if not np.allclose(matrix, matrix.T) or not (np.linalg.eigvalsh(matrix) > 0).all():
            raise InvalidArgument(f"The scale of ({told}) must be symmetric and positive definite.")
        for array in (center, matrix):
            array.setflags(write=False)
        values = (names, center, float(strength), float(degrees), matrix)
        for name, value in zip(("names", "mean", "strength", "degrees", "scale"), values, strict=True):
            object.__setattr__(self, name, value)

    def updated(self, rows: NDArray[Any]) -> NormalInverseWishart:
        """κ + N, ν + N, (κ μ + Σ x) / (κ + N), Ψ + S + κ N / (κ + N) (x̄ - μ)(x̄ - μ)ᵀ; O(rows d²)."""
        seen = self.complete(rows)
        num = len(seen)
        if not num:
            return self
        average = seen.mean(axis=0)
        centered, shift = seen - average, average - self.mean
        strength = self.strength + num
        scale = self.scale + centered.T @ centered + self.strength * num / strength * np.outer(shift, shift)
        return NormalInverseWishart(
            self.names, self.mean + num / strength * shift, strength, self.degrees + num, (scale + scale.T) / 2
        )

    def log_marginal(self, rows: NDArray[Any]) -> float:
        """log P(rows); O(rows d²)."""
        from scipy.special import multigammaln

        after, size, total = self.updated(rows), len(self.names), 0.0
        for part, sign in ((after, 1), (self, -1)):
            log_determinant = 2 * np.log(np.diag(np.linalg.cholesky(part.scale))).sum()
            total += sign * (multigammaln(part.degrees / 2, size) - part.degrees / 2 * log_determinant)
        total -= (after.degrees - self.degrees) * size / 2 * math.log(math.pi)
        return float(total + size / 2 * math.log(self.strength / after.strength))

    def log_predictive(self, rows: NDArray[Any]) -> Floats:
        """log Q(x) of each row, zero where it is missing; O(rows d²)."""
        from scipy.special import gammaln

        self.complete(rows)
        size, factor = len(self.names), np.linalg.cholesky(self.scale)
        squares = (np.linalg.solve(factor, (rows - self.mean).T) ** 2).sum(axis=0) * self.strength / (self.strength + 1)
        constant = gammaln((self.degrees + 1) / 2) - gammaln((self.degrees + 1 - size) / 2)
        constant -= size / 2 * math.log(math.pi * (self.strength + 1) / self.strength) + np.log(np.diag(factor)).sum()
        return np.asarray(np.nan_to_num(constant - (self.degrees + 1) / 2 * np.log1p(squares), nan=0.0))

    def sample(self, num_rows: int, rng: np.random.Generator) -> NDArray[Any]:
        """Numbers (rows, d): normal draws over the root of a gamma make a t."""
        size = len(self.names)
        freedom = self.degrees - size + 1
        factor = np.linalg.cholesky(self.scale * (self.strength + 1) / (self.strength * freedom))
        roots = np.sqrt(rng.standard_gamma(freedom / 2, num_rows) * 2 / freedom)
        return np.asarray(self.mean + rng.standard_normal((num_rows, size)) @ factor.T / roots[:, None])

    def complete(self, rows: NDArray[Any]) -> Floats:
        """The rows whose numbers are all there; refuses rows where some are and some are not."""
        missing = np.isnan(rows)
        partly = missing.any(axis=1) & ~missing.all(axis=1)
        if partly.any():
            raise NotSupported(
                f"Row {int(np.argmax(partly))} has some of the numbers ({', '.join(self.names)}) but not all, and "
                'a full covariance has no closed form then. Use covariance="diagonal", which sums missing numbers out, '
                "or impute them first."
            )
        return np.asarray(rows[~missing.any(axis=1)], dtype=np.float64)


def normal_inverse_gamma(name: str, mean: float, strength: float, shape: float, scale: float) -> NormalInverseWishart:
    """A number that is normal, variance ~ InverseGamma(a, b) and mean ~ Normal(μ, variance / κ): ν = 2a and Ψ = 2b.

    Q(x) is Student's t with 2a degrees of freedom around μ, of squared scale b (κ + 1) / (a κ). `mean` is μ, `strength`
    κ, `shape` a and `scale` b.

    >>> normal_inverse_gamma("height", 170.0, 0.1, 2.0, 50.0).degrees
    4.0
    """
    return NormalInverseWishart((name,), [mean], strength, 2 * shape, [[2 * scale]])


#: The distribution of the parameters of some features, one or several; rows of these are (rows, features).
BasePart: TypeAlias = DirichletStates | NormalInverseWishart


@dataclass(frozen=True, slots=True)
class BaseMeasure:
    """The distribution of the parameters of a cluster: parts that are independent given it, a feature in one of them.

    >>> base = BaseMeasure((DirichletStates("wet", (1.0, 1.0)),))
    >>> round(float(np.exp(base.log_marginal(Table.read({"wet": [0, 0, 1]})))), 4)  # 1/2 · 2/3 · 1/4
    0.0833
    """

    parts: tuple[BasePart, ...]

    def __post_init__(self) -> None:
        names = [name for part in self.parts for name in part.names]
        for name in names:
            if names.count(name) > 1:
                raise InvalidArgument(f"{name!r} is in {names.count(name)} parts of the base measure: leave it in one.")

    @property
    def states(self) -> tuple[DirichletStates, ...]:
        """The parts of discrete features."""
        return tuple(part for part in self.parts if isinstance(part, DirichletStates))

    @property
    def blocks(self) -> tuple[NormalInverseWishart, ...]:
        """The parts of numbers."""
        return tuple(part for part in self.parts if isinstance(part, NormalInverseWishart))

    def updated(self, table: Table) -> BaseMeasure:
        """The distribution given rows of a cluster."""
        return BaseMeasure(tuple(part.updated(part_rows(part, table)) for part in self.parts))

    def log_marginal(self, table: Table) -> float:
        """log P(rows) when all of them are one cluster; missing features are summed out."""
        return sum(part.log_marginal(part_rows(part, table)) for part in self.parts)

    def log_predictive(self, table: Table) -> Floats:
        """log Q(x) of each row for itself; missing features are summed out."""
        return sum((part.log_predictive(part_rows(part, table)) for part in self.parts), np.zeros(table.num_rows))


def default_base(
    table: Table, *, pseudo_count: float = 1.0, covariance: str = "diagonal", within: float = 0.1
) -> BaseMeasure:
    """A weak base measure that fits the scales of the columns.

    Clusters are expected to have the share `within` of the variance of a column, and their means to spread as the
    column does: κ = `within`, ν = d + 2, Ψ = `within` times the variances.

    Parameters
    ----------
    table, within
        Rows, and the share of the variance within clusters.
    pseudo_count
        α of each state of discrete features.
    covariance
        "diagonal" for numbers that are independent within a cluster, "full" for all in one block.

    Examples
    --------
    >>> [part.names for part in default_base(Table.read({"age": [1.5, 2.5], "sex": ["f", "m"]})).parts]
    [('sex',), ('age',)]
    """
    check_number("pseudo_count", pseudo_count, above=0)
    check_number("within", within, above=0)
    if covariance not in ("diagonal", "full"):
        raise InvalidArgument(f'covariance is "diagonal" or "full", not {covariance!r}.')
    parts: list[BasePart] = [
        DirichletStates(name, (pseudo_count,) * table.variables[name].num_states) for name in table.discrete
    ]
    names, numbers = table.continuous, table.numbers
    there = ~np.isnan(numbers)
    totals = np.maximum(there.sum(axis=1), 1)
    means = np.where(there, numbers, 0.0).sum(axis=1) / totals
    variances = np.where(there, (numbers - means[:, None]) ** 2, 0.0).sum(axis=1) / totals
    # The mean of equal numbers may be off by rounding, and their variance then not zero.
    lowest = np.where(there, numbers, np.inf).min(axis=1, initial=np.inf)
    highest = np.where(there, numbers, -np.inf).max(axis=1, initial=-np.inf)
    variances = np.where((lowest < highest) & (variances > 0), variances, 1.0)
    blocks = [list(range(len(names)))] if covariance == "full" and names else [[i] for i in range(len(names))]
    for block in blocks:
        scale = np.diag(within * variances[block])
        chosen = tuple(names[i] for i in block)
        parts.append(NormalInverseWishart(chosen, means[block], within, len(block) + 2.0, scale))
    return BaseMeasure(tuple(parts))


def part_rows(part: BasePart, table: Table) -> NDArray[Any]:
    """The features of a part as (rows, features): codes or numbers."""
    for name in part.names:
        UnknownVariable.check(name, table.variables, "the data, though the base measure has it")
        if table.variables[name].is_continuous == isinstance(part, DirichletStates):
            kinds = ("states", "numbers")[:: 1 if isinstance(part, DirichletStates) else -1]
            raise InvalidArgument(f"The base measure has {kinds[0]} for {name!r}, which holds {kinds[1]}.")
    chosen = table.select(part.names)
    return (chosen.codes if isinstance(part, DirichletStates) else chosen.numbers).T
