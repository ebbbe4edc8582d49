"""What a learner of emissions is: statistics of rows with their states, and the best emission for these."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Generic, TypeVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.learn.sequences.priors import HMMPrior
from plausible.models.sequences.emissions import Emission

EmissionT = TypeVar("EmissionT", bound=Emission)
#: Sums over rows, in tuples that may lie in tuples; those of several sets of rows can be added.
Statistics = tuple[Any, ...]


@dataclass(frozen=True, slots=True)
class EmissionRules:
    """What holds of all emissions of a model while it is learned."""

    prior: HMMPrior
    variance_floor: float  # the least eigenvalue of a covariance, in shares of the columns' variances
    #: Groups of states that share their emission, by position.
    tied: tuple[tuple[int, ...], ...] = ()
    #: Name -> the mean and the deviation that a column of numbers is measured by; by default those of its rows.
    units: Mapping[str, tuple[float, float]] = field(default_factory=dict)


class EmissionLearner(ABC, Generic[EmissionT]):
    """Learns emissions of one kind from given rows."""

    rules: EmissionRules

    @abstractmethod
    def statistics(self, emission: EmissionT, sums: Floats) -> Statistics:
        """Of expected states: `sums` has for each of the rows how often each state went with it."""

    @abstractmethod
    def maximized(self, emission: EmissionT, statistics: Statistics) -> EmissionT:
        """The emission of greatest posterior density."""

    def log_prior(self, emission: EmissionT) -> float:
        """The logarithm of the prior's density, but for a constant."""
        return 0.0

    def floored(self, emission: EmissionT) -> list[int]:
        """The states whose variances stand at their floor."""
        return []


def weighted_sum(one: Statistics, a: float, two: Statistics, b: float) -> Statistics:
    """a · one + b · two."""
    return tuple(
        weighted_sum(x, a, y, b) if isinstance(x, tuple) else a * x + b * y for x, y in zip(one, two, strict=True)
    )


def pooled(groups: Sequence[Sequence[int]], sums: Floats) -> Floats:
    """Sums whose first axis is that of the states, with the mean of a group at each of its states."""
    if not groups:
        return sums
    shared = sums.copy()
    for group in groups:
        shared[list(group)] = sums[list(group)].mean(axis=0)
    return shared


def sums_by_row(sums: Floats, places: Any, num_rows: int) -> Floats:
    """Sums over combinations, by the row that each of them has in one part."""
    if len(sums) == num_rows and np.array_equal(places, np.arange(num_rows)):
        return sums
    return np.stack([np.bincount(places, weights=own, minlength=num_rows) for own in sums.T], axis=1)
