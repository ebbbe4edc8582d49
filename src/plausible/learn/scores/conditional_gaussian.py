"""The score of mixed data: counts for discrete families, a regression in each context for continuous ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.tolerances import DETERMINED
from plausible.data.moments import FamilyMoments
from plausible.data.statistics import Request, Statistics
from plausible.errors import InvalidArgument
from plausible.learn.scores.gaussian import GaussianLikelihood, GaussianScores, unexplained_shares
from plausible.learn.scores.penalized import PenalizedLikelihood, half_log
from plausible.learn.scores.score import CountedScores, FamilyScores, Score, check_family

Penalty = Callable[[float], float]


@dataclass(frozen=True, slots=True)
class ConditionalGaussian(Score):
    """Likelihood less ψ(N) for each parameter, of conditional linear Gaussian families.

    A continuous child has, in each joint state of its discrete parents, a regression of its own on its k continuous
    parents, with k + 2 parameters; contexts without rows add nothing but their price. A context with fewer than k + 2
    cases (a row of weight w is w cases), too few to tell a variance, takes that of the child in all rows. A discrete
    child of discrete parents is scored by its counts. A discrete child of a continuous parent is outside of this class
    of networks: it has -inf, so that searches never make one. On data of one kind the score is `PenalizedLikelihood` or
    `GaussianLikelihood`.

    Parameters
    ----------
    penalty
        ψ: a number or a function of N. 0 is the likelihood, 1 AIC, ½ ln N (by default) BIC.

    References
    ----------
    Lauritzen & Wermuth (1989), Graphical models for associations between variables, some of which are qualitative and
    some quantitative, Annals of Statistics 17.

    Examples
    --------
    >>> data = {"drug": ["no", "no", "no", "yes", "yes", "yes"], "effect": [0.1, -0.2, 0.3, 4.9, 5.2, 5.0]}
    >>> scores = ConditionalGaussian().on_data(data)
    >>> scores.family("effect", ["drug"]) > scores.family("effect", []), scores.family("drug", ["effect"])
    (True, -inf)
    """

    penalty: float | Penalty = half_log
    is_score_equivalent: ClassVar[bool] = False

    def __post_init__(self) -> None:
        if not callable(self.penalty) and not self.penalty >= 0:
            raise InvalidArgument(f"The price of a parameter is not negative, but penalty is {self.penalty}.")

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data, of either kind."""
        return _MixedScores(self.penalty, statistics)


class _MixedScores(FamilyScores):
    __slots__ = ("_cache", "_counted", "_fitted", "_penalty", "_statistics")

    def __init__(self, penalty: float | Penalty, statistics: Statistics) -> None:
        self._statistics, self._penalty = statistics, penalty
        self._counted = CountedScores(PenalizedLikelihood(penalty).bound(), statistics)
        self._fitted = GaussianScores(GaussianLikelihood(penalty), statistics)
        self._cache: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._statistics.variables)

    def family(self, child: str, parents: Iterable[str]) -> float:
        ordered = sorted(set(parents))
        check_family(child, ordered, self._statistics.variables)
        num_contexts = sum(not self._is_continuous(name) for name in ordered)
        if not self._is_continuous(child):
            return self._counted.family(child, ordered) if num_contexts == len(ordered) else -math.inf
        if not num_contexts:
            return self._fitted.family(child, ordered)
        key = (child, frozenset(ordered))
        if key not in self._cache:
            self._cache[key] = self._in_contexts(child, ordered)
        return self._cache[key]

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        """Candidates of one kind at once where the family has no contexts."""
        return [self._extended(*request) for request in requests]

    def _extended(self, child: str, parents: Sequence[str], candidates: Sequence[str] | None) -> Floats:
        if not candidates:
            return np.empty(0)
        check_family(child, (*parents, *candidates), self._statistics.variables)
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
        price = (self._penalty(total) if callable(self._penalty) else self._penalty) * num_parameters
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
