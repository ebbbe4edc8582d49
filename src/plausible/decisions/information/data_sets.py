"""Data sets that a study may bring, as counts of states: all that there can be, or some that are drawn."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from time import monotonic
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count, check_seconds
from plausible.base.seeds import generator_of

__all__ = [
    "Estimate",
    "SampleOptions",
    "SampleState",
    "all_data_sets",
    "data_set_probabilities",
    "estimated",
    "log_rows",
    "num_data_sets",
]

#: Stands for the logarithm of zero: no number of observations of anything else makes up for it.
_NEVER = -1e200


@dataclass(frozen=True, slots=True)
class SampleState:
    """How far sampling is: data sets drawn, and the estimate from them."""

    num_samples: int
    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How many data sets to draw, from what source, for how long, and whom to tell.

    Attributes
    ----------
    num_samples
        How many data sets.
    seed
        Their source.
    time_limit
        No more are drawn after so many seconds.
    progress
        Told a `SampleState` after each block; an answer that is true ends it.

    Examples
    --------
    >>> SampleOptions(2000, seed=1).num_samples
    2000
    """

    num_samples: int = 10_000
    seed: int | np.random.Generator = 0
    time_limit: float = math.inf
    progress: Callable[[SampleState], object] | None = None

    def __post_init__(self) -> None:
        check_count("num_samples", self.num_samples, 2)
        check_seconds("time_limit", self.time_limit)


class Estimate(NamedTuple):
    """What data sets are worth on average, how sure that is, over how many, and whether these are all."""

    value: float
    standard_error: float
    num_data_sets: int
    is_exact: bool


def num_data_sets(size: int, num_states: int) -> int:
    """How many vectors of counts there are for so many observations.

    >>> num_data_sets(10, 3)
    66
    """
    return math.comb(size + num_states - 1, num_states - 1)


def all_data_sets(size: int, num_states: int) -> Ints:
    """All of them, one in each row: the distances between bars that are put among stars.

    >>> all_data_sets(2, 2).tolist()
    [[0, 2], [1, 1], [2, 0]]
    """
    places = size + num_states - 1
    bars = np.array(list(combinations(range(places), num_states - 1)), dtype=np.int64)
    shaped = bars.reshape(num_data_sets(size, num_states), num_states - 1)
    return np.diff(shaped, axis=1, prepend=-1, append=places) - 1


def log_rows(rows: Floats) -> Floats:
    """Logarithms of probabilities, with a number for that of zero."""
    return np.where(rows > 0, np.log(np.where(rows > 0, rows, 1.0)), _NEVER)


def data_set_probabilities(counts: Ints, rows: Floats) -> Floats:
    """P(counts) under each row of probabilities of the states: rows x data sets, multinomial.

    >>> data_set_probabilities(all_data_sets(2, 2), np.array([[0.5, 0.5], [1.0, 0.0]])).round(6).tolist()
    [[0.25, 0.5, 0.25], [0.0, 0.0, 1.0]]
    """
    ways = gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    return np.asarray(np.exp(log_rows(rows) @ counts.T + ways))


def estimated(draw: Callable[[np.random.Generator, int], Floats], block: int, options: SampleOptions) -> Estimate:
    """The mean of gains that are drawn a block at a time, until there are enough or someone ends it."""
    rng, deadline = generator_of(options.seed), monotonic() + options.time_limit
    gains = np.empty(0)
    while len(gains) < options.num_samples:
        gains = np.concatenate([gains, draw(rng, min(block, options.num_samples - len(gains)))])
        error = float(gains.std(ddof=1) / math.sqrt(len(gains))) if len(gains) > 1 else math.inf
        state = SampleState(len(gains), float(gains.mean()), error)
        if (options.progress is not None and options.progress(state)) or monotonic() > deadline:
            break
    return Estimate(state.value, state.standard_error, state.num_samples, is_exact=False)
