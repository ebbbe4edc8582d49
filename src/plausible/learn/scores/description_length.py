"""Description lengths: how many bits it takes to write down a network, and the data with its help."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import ClassVar

from plausible.data.statistics import Statistics
from plausible.errors import InvalidArgument
from plausible.learn.scores.penalized import PenalizedLikelihood, half_log
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.scores.structure_prior import EdgePenalty, WithPrior

__all__ = ["DescriptionLength"]


@dataclass(frozen=True, slots=True)
class DescriptionLength(Score):
    """The negative of Lam & Bacchus' description length, in nats as all scores: bits are -score / ln 2.

    The network takes Σ k log₂ n + d (|X| - 1) |U| bits, where k is a variable's number of parents and n the number of
    variables; the data take -N Σ P log₂ Q, with Q the best fit.

    Parameters
    ----------
    bits_per_number
        d; by default ½ log₂ N, which is as exact as N rows can tell.

    References
    ----------
    Lam & Bacchus (1994), Learning Bayesian belief networks: an approach based on the MDL principle, Computational
    Intelligence 10.

    Examples
    --------
    >>> from plausible.graphs import DAG
    >>> scores = DescriptionLength(8).on_data({"rain": ["no", "yes"], "grass": ["dry", "wet"]})
    >>> -scores.graph(DAG("rain -> grass")) / math.log(2)  # an edge, three numbers, two rows
    27.0
    """

    bits_per_number: float | None = None
    is_score_equivalent: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if self.bits_per_number is not None and not self.bits_per_number >= 0:
            raise InvalidArgument(f"A number takes no negative number of bits: {self.bits_per_number}.")

    def on(self, statistics: Statistics) -> FamilyScores:
        """The scores of the families of some data."""
        penalty = half_log if self.bits_per_number is None else self.bits_per_number * math.log(2)
        names: Sequence[str] = list(statistics.variables)
        return WithPrior(PenalizedLikelihood(penalty), EdgePenalty(1 / max(len(names), 1))).on(statistics)
