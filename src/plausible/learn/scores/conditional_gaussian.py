"""The score of mixed data: counts for discrete families, a regression in each context for continuous ones."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import ClassVar

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.tolerances import DETERMINED
from plausible.data.moment_statistics import MomentStatistics
from plausible.data.statistics import Statistics
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.scores.gaussian import GaussianLikelihood
from plausible.learn.scores.penalized import PenalizedLikelihood, half_log
from plausible.learn.scores.regression import unexplained_shares
from plausible.learn.scores.score import FamilyScores, Score, check_family

__all__ = ["ConditionalGaussian"]

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
        """The scores of the families of a table."""
        if not isinstance(statistics, TableStatistics):
            raise NotSupported("ConditionalGaussian needs the rows of a table: give it a TableStatistics.")
        return _MixedScores(self.penalty, statistics.table)


class _MixedScores(FamilyScores):
    __slots__ = ("_cache", "_counted", "_fitted", "_penalty", "_table")

    def __init__(self, penalty: float | Penalty, table: Table) -> None:
        self._table, self._penalty = table, penalty
        self._counted = PenalizedLikelihood(penalty).on_data(table.select(table.discrete))
        self._fitted = GaussianLikelihood(penalty).on(MomentStatistics.of(table))
        self._cache: dict[tuple[str, frozenset[str]], float] = {}

    @property
    def names(self) -> Sequence[str]:
        return list(self._table.variables)

    def family(self, child: str, parents: Iterable[str]) -> float:
        ordered = sorted(set(parents))
        check_family(child, ordered, self._table.variables)
        contexts = [name for name in ordered if not self._is_continuous(name)]
        if not self._is_continuous(child):
            return self._counted.family(child, ordered) if len(contexts) == len(ordered) else -math.inf
        if not contexts:
            return self._fitted.family(child, ordered)
        key = (child, frozenset(ordered))
        if key not in self._cache:
            self._cache[key] = self._in_contexts(child, contexts, [name for name in ordered if name not in contexts])
        return self._cache[key]

    def extended(self, child: str, parents: Sequence[str], candidates: Sequence[str]) -> Floats:
        """Candidates of one kind at once where the family has no contexts."""
        if not candidates:
            return np.empty(0)
        check_family(child, (*parents, *candidates), self._table.variables)
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
        return self._table.variables[name].is_continuous

    def _in_contexts(self, child: str, contexts: Sequence[str], parents: Sequence[str]) -> float:
        """A regression in each joint state of the contexts that has rows."""
        table = self._table.select([*contexts, *parents, child])
        set_rows = table.interventions.get(child)
        table = table if set_rows is None else table.take(~set_rows)
        sizes = [table.variables[name].num_states for name in contexts]
        weights = table.row_weights
        total, num_parameters = float(weights.sum()), math.prod(sizes) * (len(parents) + 2)
        price = (self._penalty(total) if callable(self._penalty) else self._penalty) * num_parameters
        if (table.codes < 0).any():
            TableStatistics(table).counts(contexts[0], contexts[1:])  # raises the error that names the column
        if 0 < max(total, float(np.count_nonzero(weights))) < len(parents) + 2:
            return -math.inf
        cells = np.ravel_multi_index(tuple(table.codes.astype(np.int64)), sizes)
        return _log_density(table.numbers, np.unique(cells, return_inverse=True)[1], weights) - price


def _log_density(numbers: Floats, groups: Ints, weights: Floats) -> float:
    """The density of the last line of numbers, each group's rows by their own regression on the lines before."""
    weight = np.bincount(groups, weights)
    overall = float(np.average((numbers[-1] - numbers[-1, 0]) ** 2, weights=weights)) if weights.any() else 0.0
    if overall <= 0:
        return 0.0
    overall -= float(np.average(numbers[-1] - numbers[-1, 0], weights=weights)) ** 2
    seen = weight > 0
    scatters = _scatters(numbers, groups, weights)[seen]
    weight = weight[seen]
    cases = np.maximum(weight, np.bincount(groups, weights > 0)[seen])
    residuals = unexplained_shares(scatters) * scatters[:, -1, -1]
    variances = np.maximum(residuals / weight, DETERMINED * overall)
    is_told = cases >= len(numbers) + 1
    variances = np.where(is_told, variances, overall)
    return float((-weight / 2 * (np.log(2 * math.pi * variances) + is_told)).sum())


def _scatters(numbers: Floats, groups: Ints, weights: Floats) -> Floats:
    """The scatter matrix of each group of rows."""
    weight = np.bincount(groups, weights)
    means = np.array([np.bincount(groups, weights * line) for line in numbers]) / np.where(weight > 0, weight, 1.0)
    centred = numbers - means[:, groups]
    products = [[np.bincount(groups, weights * one * other) for other in centred] for one in centred]
    return np.moveaxis(np.array(products), 2, 0)
