"""Scores of linear Gaussian families: each variable a linear function of its parents, with normal noise."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import DETERMINED
from plausible.data.moments import Moments
from plausible.data.statistics import Request, Statistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.scores.penalized import half_log
from plausible.learn.scores.regression import Residuals
from plausible.learn.scores.score import FamilyScores, Score, check_family

__all__ = ["GaussianFit", "GaussianLikelihood", "GaussianScore", "GaussianScores"]


class GaussianFit(NamedTuple):
    """Several families of one child with equally many parents, fitted.

    Attributes
    ----------
    moments
        Of the rows that say something about the child.
    num_parents
        How many, without the intercept.
    own
        The scatter of the child around its mean.
    residuals
        For each family the sum of squares that the parents leave unexplained.
    log_determinants
        For each family the logarithm of the determinant of its parents' matrix.
    """

    moments: Moments
    num_parents: int
    own: float
    residuals: Floats
    log_determinants: Floats


class GaussianScore(Score):
    """A score of the scatter matrix of a family of continuous variables."""

    __slots__ = ()

    @abstractmethod
    def of_fit(self, fit: GaussianFit) -> Floats:
        """The score of each of several fitted families."""

    def matrix(self, moments: Moments) -> Floats:
        """The matrix in which children are regressed on parents."""
        return moments.scatter

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data, whose variables are all continuous."""
        if statistics.discrete:
            raise NotSupported(
                f"{statistics.discrete[0]!r} is discrete, but {type(self).__name__} is a score of numbers. Read "
                "it as a continuous variable, leave it out, or take 'conditional-gaussian-bic'."
            )
        return GaussianScores(self, statistics)


class GaussianScores(FamilyScores):
    """Of the variables with numbers, from one matrix of moments, and one more for each that was set from outside."""

    __slots__ = ("_cache", "_matrices", "_places", "_score", "_set", "_statistics")

    def __init__(self, score: GaussianScore, statistics: Statistics) -> None:
        self._score, self._statistics = score, statistics
        self._places = {name: place for place, name in enumerate(statistics.continuous)}
        self._set = frozenset(statistics.interventions)
        self._matrices: dict[str, tuple[Moments, Floats]] = {}
        for name in statistics.continuous[:1]:
            self._matrix(name)  # refuses missing cells at once
        self._cache: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._places)

    def family(self, child: str, parents: Iterable[str]) -> float:
        key = (child, frozenset(parents))
        if key not in self._cache:
            moments, fitted = self._fitted(child, [sorted(key[1])])
            self._cache[key] = float(
                self._score.of_fit(GaussianFit(moments, len(key[1]), fitted.own, *fitted.alone))[0]
            )
        return self._cache[key]

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

    Parameters
    ----------
    penalty
        ψ: a number or a function of N. 0 is the likelihood, 1 AIC, ½ ln N (by default) BIC.

    References
    ----------
    Geiger & Heckerman (1994), Learning Gaussian networks, UAI.

    Examples
    --------
    >>> data = {"dose": [0.5, 1.0, 1.5, 2.0], "effect": [1.25, 1.75, 3.25, 3.75]}
    >>> scores = GaussianLikelihood().on_data(data)
    >>> round(scores.family("effect", ["dose"]), 3), round(scores.family("effect", []), 3)
    (-1.764, -7.183)
    """

    penalty: float | Callable[[float], float] = half_log
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not callable(self.penalty) and not self.penalty >= 0:
            raise InvalidArgument(f"The price of a parameter is not negative, but penalty is {self.penalty}.")

    def of_fit(self, fit: GaussianFit) -> Floats:
        """The likelihood at the best fit, less the price of its parameters."""
        weight, num_parents = fit.moments.weight, fit.num_parents
        price = (self.penalty(weight) if callable(self.penalty) else self.penalty) * (num_parents + 2)
        if weight > 0 and num_parents and fit.moments.num_cases < num_parents + 2:
            return np.full(len(fit.residuals), -np.inf)
        if weight <= 0 or fit.own <= 0:
            return np.full(len(fit.residuals), -price)
        variances = np.maximum(fit.residuals, DETERMINED * fit.own) / weight
        return np.asarray(-weight / 2 * (np.log(2 * math.pi * variances) + 1) - price, dtype=np.float64)
