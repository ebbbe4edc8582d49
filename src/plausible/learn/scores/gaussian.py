"""Scores of linear Gaussian families by least squares, likelihoods and BGe; of mixed data, in each context."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from plausible.base import DETERMINED, Floats
from plausible.data.moments import FamilyMoments, Moments
from plausible.data.statistics import Request, Statistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.scores.penalized import PenalizedLikelihood, Penalty, check_penalty, half_log, price_of
from plausible.learn.scores.score import CountedScores, FamilyScores, KeptScores, Score, check_family


@dataclass(frozen=True, slots=True, eq=False)
class Residuals:
    """A child and all other variables, regressed on sets of parents; in units of each variable's own scatter."""

    child: int  # its place
    scales: Floats  # the square roots of the diagonal of the matrix
    shares: Floats  # axes: set of parents, variable. The share of its scatter that the parents leave
    shared: Floats  # axes: set of parents, variable. What is left in common with the child
    log_determinants: Floats  # of the parents' matrix for each set; directions without scatter count as nearly so

    @classmethod
    def of(cls, matrix: Floats, child: int, sets: Sequence[Sequence[int]]) -> Residuals:
        """Regress everything on each of several sets of k parents; O(n k² + k³) for a set."""
        scales = np.sqrt(np.diag(matrix))
        units = np.where(scales > 0, scales, 1.0)
        places = np.array(sets, dtype=np.intp).reshape(len(sets), -1)
        scaled = matrix / np.outer(units, units)
        across = scaled[places]  # axes: set, parent, variable
        sizes, axes = np.linalg.eigh(scaled[places[:, :, None], places[:, None, :]])
        inverses = np.where(sizes > DETERMINED, 1 / np.maximum(sizes, DETERMINED), 0.0)
        slopes = (axes * inverses[:, None, :]) @ (axes.transpose(0, 2, 1) @ across)
        shares = np.maximum((scales > 0) - (across * slopes).sum(axis=1), 0.0)
        shared = scaled[child] - (across[:, None, :, child] @ slopes)[:, 0]
        log_sizes, log_units = np.log(np.maximum(sizes, DETERMINED)), np.log(units[places])
        return cls(child, scales, shares, shared, log_sizes.sum(axis=1) + 2 * log_units.sum(axis=1))

    @property
    def own(self) -> float:
        """The scatter of the child."""
        return float(self.scales[self.child] ** 2)

    @property
    def alone(self) -> tuple[Floats, Floats]:
        """What each set leaves of the child, and the logarithm of the determinant of its matrix."""
        return self.shares[:, self.child] * self.own, self.log_determinants

    def with_each(self, sets: Sequence[int], candidates: Sequence[int]) -> tuple[Floats, Floats]:
        """The same for each of some sets with a candidate as another parent; one that is determined adds nothing."""
        rows, places = np.array(sets, dtype=np.intp), np.array(candidates, dtype=np.intp)
        left, common = self.shares[rows, places], self.shared[rows, places]
        is_new = left > DETERMINED
        gains = np.where(is_new, common**2 / np.where(is_new, left, 1.0), 0.0)
        residuals = np.maximum(self.shares[rows, self.child] - gains, 0.0) * self.own
        squares = np.maximum(left, DETERMINED) * self.scales[places] ** 2
        return residuals, self.log_determinants[rows] + np.log(np.maximum(squares, np.finfo(np.float64).tiny))


def unexplained_shares(scatters: Floats) -> Floats:
    """For each of several scatter matrices the share of its last variable that the others leave."""
    scales = np.sqrt(np.diagonal(scatters, axis1=1, axis2=2))
    units = np.where(scales > 0, scales, 1.0)
    scaled = scatters / (units[:, :, None] * units[:, None, :])
    across = scaled[:, :-1, -1]
    inverses = np.linalg.pinv(scaled[:, :-1, :-1], rcond=DETERMINED, hermitian=True)
    explained = np.einsum("gi,gij,gj->g", across, inverses, across)
    return np.asarray(np.maximum((scales[:, -1] > 0) - explained, 0.0), dtype=np.float64)


class GaussianFit(NamedTuple):
    """Several families of one child with equally many parents, fitted."""

    moments: Moments  # of the rows that say something about the child
    num_parents: int  # how many, without the intercept
    own: float  # the scatter of the child around its mean
    residuals: Floats  # for each family the sum of squares that the parents leave unexplained
    log_determinants: Floats  # for each family the logarithm of the determinant of its parents' matrix


class GaussianScore(Score):
    """A score of the scatter matrix of a family of continuous variables."""

    @abstractmethod
    def of_fit(self, fit: GaussianFit) -> Floats:
        """The score of each of several fitted families."""

    def matrix(self, moments: Moments) -> Floats:
        """The matrix in which children are regressed on parents."""
        return moments.scatter

    def on(self, statistics: Statistics) -> FamilyScores:
        if statistics.discrete:
            raise NotSupported(
                f"{statistics.discrete[0]!r} is discrete, but {type(self).__name__} is a score of numbers. Read "
                "it as a continuous variable, leave it out, or take 'conditional-gaussian-bic'."
            )
        return GaussianScores(self, statistics)


class GaussianScores(KeptScores):
    """Of the variables with numbers, from one matrix of moments, and one more for each that was set from outside."""

    def __init__(self, score: GaussianScore, statistics: Statistics) -> None:
        super().__init__(statistics.continuous)
        self._score, self._statistics = score, statistics
        self._set = frozenset(statistics.interventions)
        self._matrices: dict[str, tuple[Moments, Floats]] = {}
        for name in statistics.continuous[:1]:
            self._matrix(name)  # refuses missing cells at once

    def _scored(self, families: Sequence[Request]) -> Iterable[float]:
        for child, parents, _ in families:
            moments, fitted = self._fitted(child, [parents])
            fit = GaussianFit(moments, len(parents), fitted.own, *fitted.alone)
            yield float(self._score.of_fit(fit)[0])

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        """Requests of one child with as many parents by one regression of everything on each set of parents."""
        found: list[Floats] = [np.empty(0)] * len(requests)
        alike: dict[tuple[str, int], list[int]] = {}
        for place, request in enumerate(requests):
            check_family(request.child, request.candidates or (), self._places)
            if request.candidates:
                alike.setdefault((request.child, len(request.parents)), []).append(place)
        for (child, num_parents), places in alike.items():
            moments, fitted = self._fitted(child, [sorted(requests[place].parents) for place in places])
            candidates = [requests[place].candidates or () for place in places]
            rows = [row for row, names in enumerate(candidates) for _ in names]
            chosen = [self._places[name] for names in candidates for name in names]
            fit = GaussianFit(moments, num_parents + 1, fitted.own, *fitted.with_each(rows, chosen))
            parts = np.split(self._score.of_fit(fit), np.cumsum([len(names) for names in candidates])[:-1])
            for place, scores in zip(places, parts, strict=True):
                found[place] = scores
        return found

    def _fitted(self, child: str, sets: Sequence[Sequence[str]]) -> tuple[Moments, Residuals]:
        for parents in sets:
            check_family(child, parents, self._places)
        moments, matrix = self._matrix(child)
        places = [[self._places[name] for name in parents] for parents in sets]
        return moments, Residuals.of(matrix, self._places[child], places)

    def _matrix(self, child: str) -> tuple[Moments, Floats]:
        key = child if child in self._set else ""
        if key not in self._matrices:
            moments = self._statistics.moments(child)
            self._matrices[key] = (moments, self._score.matrix(moments))
        return self._matrices[key]


@dataclass(frozen=True, slots=True)
class GaussianLikelihood(GaussianScore):
    """ln of the density at the best parameters, less ψ(N) for each: -N/2 (ln 2πσ̂² + 1) - ψ(N) (k + 2) per family.

    The k + 2 parameters are a slope for each parent, the intercept and the variance σ̂², which is at least 1e-10 of
    the child's own, so that exact functions have a finite score. A constant has no density: it counts as 0. A family
    with parents and fewer than k + 2 cases has -inf, since any numbers would fit; a row of weight w is w cases.

    The penalty ψ is a number or a function of N: 0 is the likelihood, 1 AIC, ½ ln N (by default) BIC. Geiger &
    Heckerman (1994), Learning Gaussian networks, UAI.

    >>> data = {"dose": [0.5, 1.0, 1.5, 2.0], "effect": [1.25, 1.75, 3.25, 3.75]}
    >>> scores = GaussianLikelihood().on_data(data)
    >>> round(scores.family("effect", ["dose"]), 3), round(scores.family("effect", []), 3)
    (-1.764, -7.183)
    """

    penalty: Penalty = half_log
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        check_penalty(self.penalty)

    def of_fit(self, fit: GaussianFit) -> Floats:
        weight, num_parents = fit.moments.weight, fit.num_parents
        price = price_of(self.penalty, weight) * (num_parents + 2)
        if weight > 0 and num_parents and fit.moments.num_cases < num_parents + 2:
            return np.full(len(fit.residuals), -np.inf)
        if weight <= 0 or fit.own <= 0:
            return np.full(len(fit.residuals), -price)
        variances = np.maximum(fit.residuals, DETERMINED * fit.own) / weight
        return np.asarray(-weight / 2 * (np.log(2 * math.pi * variances) + 1) - price, dtype=np.float64)


@dataclass(frozen=True, slots=True)
class BGe(GaussianScore):
    """ln p(D | G) where means and precisions have a normal-Wishart prior: score equivalent.

    A family's score is ln p(D of child and parents) - ln p(D of parents), each a ratio of multivariate gamma functions
    and determinants of T and R = T + S + N α_μ / (N + α_μ) (ν - x̄)(ν - x̄)ᵀ, with T = t I and t = α_μ (α_w - n - 1) /
    (α_μ + 1). The variances expected beforehand are near 1/2, so bring variables to comparable units first. Geiger &
    Heckerman (2002), Parameter priors for directed acyclic graphical models, Annals of Statistics 30; corrected by
    Kuipers, Moffa & Heckerman (2014), Addendum on the scoring of Gaussian directed acyclic graphical models, Annals of
    Statistics 42.

    Parameters
    ----------
    mean_weight, wishart_degrees
        α_μ, how many rows the prior mean is worth; and α_w > n + 1, by default n + α_μ + 1.
    mean
        ν: the prior mean of each variable, in the order of the data; by default that of the data.

    Examples
    --------
    >>> data = {"dose": [0.5, 1.0, 1.5, 2.0], "effect": [1.25, 1.75, 3.25, 3.75]}
    >>> BGe().on_data(data).family("effect", ["dose"]) > BGe().on_data(data).family("effect", [])
    True
    """

    mean_weight: float = 1.0
    wishart_degrees: float | None = None
    mean: Sequence[float] | None = None
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.mean_weight < math.inf:
            raise InvalidArgument(f"mean_weight is a positive number, not {self.mean_weight}.")

    def matrix(self, moments: Moments) -> Floats:
        """R, the posterior's parameter matrix."""
        num = moments.mean.size
        apart = np.zeros(num) if self.mean is None else np.array(self.mean, dtype=np.float64)
        if apart.shape != (num,):
            raise InvalidArgument(f"mean has {apart.size} numbers for {num} variables. Give one for each.")
        apart = apart if self.mean is None else apart - moments.mean
        share = moments.weight * self.mean_weight / (moments.weight + self.mean_weight)
        return self._scale(num) * np.eye(num) + moments.scatter + share * np.outer(apart, apart)

    def of_fit(self, fit: GaussianFit) -> Floats:
        from scipy.special import gammaln

        weight, num_variables, num_parents = fit.moments.weight, fit.moments.mean.size, fit.num_parents
        before = self._degrees(num_variables) - num_variables + num_parents
        after = before + weight
        scale = self._scale(num_variables)
        residuals = np.maximum(fit.residuals, scale)  # which is so but for rounding, as R - T has no negative direction
        constant = (
            0.5 * math.log(self.mean_weight / (weight + self.mean_weight))
            + float(gammaln((after + 1) / 2) - gammaln((before + 1) / 2))
            - weight / 2 * math.log(math.pi)
            + (before / 2 + (num_parents + 1) / 2) * math.log(scale)
        )
        return constant - (after + 1) / 2 * np.log(residuals) - 0.5 * fit.log_determinants

    def _degrees(self, num_variables: int) -> float:
        degrees = num_variables + self.mean_weight + 1 if self.wishart_degrees is None else self.wishart_degrees
        if not num_variables + 1 < degrees < math.inf:
            raise InvalidArgument(
                f"wishart_degrees is {degrees}; with {num_variables} variables it must be above {num_variables + 1}."
            )
        return degrees

    def _scale(self, num_variables: int) -> float:
        return self.mean_weight * (self._degrees(num_variables) - num_variables - 1) / (self.mean_weight + 1)


@dataclass(frozen=True, slots=True)
class ConditionalGaussian(Score):
    """Likelihood less ψ(N) for each parameter, of conditional linear Gaussian families.

    A continuous child has, in each joint state of its discrete parents, a regression of its own on its k continuous
    parents, with k + 2 parameters; contexts without rows add nothing but their price. A context with fewer than k + 2
    cases (a row of weight w is w cases), too few to tell a variance, takes that of the child in all rows. A discrete
    child of discrete parents is scored by its counts. A discrete child of a continuous parent is outside of this class
    of networks: it has -inf, so that searches never make one. On data of one kind the score is `PenalizedLikelihood` or
    `GaussianLikelihood`.

    The penalty ψ is a number or a function of N: 0 is the likelihood, 1 AIC, ½ ln N (by default) BIC. Lauritzen &
    Wermuth (1989), Graphical models for associations between variables, some of which are qualitative and some
    quantitative, Annals of Statistics 17.

    >>> data = {"drug": ["no", "no", "no", "yes", "yes", "yes"], "effect": [0.1, -0.2, 0.3, 4.9, 5.2, 5.0]}
    >>> scores = ConditionalGaussian().on_data(data)
    >>> scores.family("effect", ["drug"]) > scores.family("effect", []), scores.family("drug", ["effect"])
    (True, -inf)
    """

    penalty: Penalty = half_log
    is_score_equivalent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        check_penalty(self.penalty)

    def on(self, statistics: Statistics) -> FamilyScores:
        return _MixedScores(self.penalty, statistics)


class _MixedScores(KeptScores):
    def __init__(self, penalty: Penalty, statistics: Statistics) -> None:
        super().__init__(statistics.variables)
        self._statistics, self._penalty = statistics, penalty
        self._counted = CountedScores(PenalizedLikelihood(penalty).bound(), statistics)
        self._fitted = GaussianScores(GaussianLikelihood(penalty), statistics)

    def _scored(self, families: Sequence[Request]) -> Iterable[float]:
        for child, parents, _ in families:
            check_family(child, parents, self._places)
            num_contexts = sum(not self._is_continuous(name) for name in parents)
            if not self._is_continuous(child):
                yield self._counted.family(child, parents) if num_contexts == len(parents) else -math.inf
            else:
                alone = not num_contexts
                yield self._fitted.family(child, parents) if alone else self._in_contexts(child, parents)

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        """Candidates of one kind at once where the family has no contexts."""
        return [self._extended(*request) for request in requests]

    def _extended(self, child: str, parents: Sequence[str], candidates: Sequence[str] | None) -> Floats:
        if not candidates:
            return np.empty(0)
        check_family(child, (*parents, *candidates), self._places)
        is_number = np.array([self._is_continuous(name) for name in candidates])
        kinds = {self._is_continuous(name) for name in parents}
        is_continuous = self._is_continuous(child)
        scores = np.full(len(candidates), -np.inf)
        at_once = (is_number == is_continuous) & (kinds <= {is_continuous})
        alike = [candidates[place] for place in np.flatnonzero(at_once).tolist()]
        if alike:
            scores[at_once] = (self._fitted if is_continuous else self._counted).extended(child, parents, alike)
        for place in np.flatnonzero(~at_once).tolist():
            scores[place] = self.family(child, (*parents, candidates[place]))
        return scores

    def _is_continuous(self, name: str) -> bool:
        return self._statistics.variables[name].is_continuous

    def _in_contexts(self, child: str, parents: Sequence[str]) -> float:
        """A regression in each joint state of the discrete parents that has rows."""
        variables = self._statistics.variables
        sizes = [variables[name].num_states for name in parents if not variables[name].is_continuous]
        (found,) = self._statistics.moments_of([Request(child, tuple(parents))])
        total, num_parameters = float(found.weight.sum()), math.prod(sizes) * (len(parents) - len(sizes) + 2)
        price = price_of(self._penalty, total) * num_parameters
        if 0 < max(total, float(found.num_rows.sum())) < len(parents) - len(sizes) + 2:
            return -math.inf
        family = [name for name in self._statistics.continuous if name in (child, *parents)]
        return _log_density(found, family.index(child)) - price


def _log_density(found: FamilyMoments, child: int) -> float:
    """The density of a number, in each joint state by a regression of its own on all others."""
    whole = found.pooled
    overall = float(whole.scatter[child, child]) / whole.weight if whole.weight else 0.0
    if overall <= 0:
        return 0.0
    order = [*(place for place in range(len(whole.mean)) if place != child), child]
    scatters = found.scatter[:, order][:, :, order]
    cases = np.maximum(found.weight, found.num_rows)
    residuals = unexplained_shares(scatters) * scatters[:, -1, -1]
    variances = np.maximum(residuals / found.weight, DETERMINED * overall)
    is_told = cases >= len(order) + 1
    variances = np.where(is_told, variances, overall)
    return float((-found.weight / 2 * (np.log(2 * math.pi * variances) + is_told)).sum())
