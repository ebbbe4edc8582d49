"""Data sets that a study may bring, as counts of states, and what they are worth to several decisions."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple, TypeAlias

import numpy as np
from scipy.special import gammaln

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_count, check_seconds
from plausible.base.seeds import generator_of
from plausible.cpds import CPD, TableCPD
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import observing
from plausible.decisions.information.value import gain
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import solve
from plausible.errors import TooLarge
from plausible.search.clock import Clock
from plausible.variables import Variable
from plausible.variables.evidence import EvidenceLike, findings_of

#: Stands for the logarithm of zero: no number of observations of anything else makes up for it.
_NEVER = -1e200
#: So many data sets at most are the states of one variable.
_MAX_STATES = 2**10
#: Data sets between two reports of progress.
_BLOCK = 50

#: A variable with its distribution, and how many copies of it are observed.
Study: TypeAlias = tuple[CPD, int]


@dataclass(frozen=True, slots=True)
class SampleState:
    """How far sampling is: data sets drawn, and the estimate from them."""

    num_samples: int
    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class SampleOptions:
    """How many data sets to draw, from what source, for how long, and whom to tell.

    Examples
    --------
    >>> SampleOptions(2000, seed=1).num_samples
    2000
    """

    num_samples: int = 10_000  # How many data sets
    seed: int | np.random.Generator = 0  # Their source
    time_limit: float | None = None  # No more are drawn after so many seconds
    #: Told a `SampleState` after each block; an answer that is true ends it.
    progress: Callable[[SampleState], object] | None = None

    def __post_init__(self) -> None:
        check_count("num_samples", self.num_samples, 2)
        check_seconds("time_limit", self.time_limit)


class SampleEstimate(NamedTuple):
    """What data sets are worth on average, how sure that is, over how many, and whether these are all."""

    value: float
    standard_error: float
    num_data_sets: int
    is_exact: bool


def num_data_sets(size: int, num_states: int) -> int:
    """How many vectors of counts there are for so many observations."""
    return math.comb(size + num_states - 1, num_states - 1)


def all_data_sets(size: int, num_states: int) -> Ints:
    """All of them, one in each row: the distances between bars that are put among stars."""
    places = size + num_states - 1
    bars = np.array(list(combinations(range(places), num_states - 1)), dtype=np.int64)
    shaped = bars.reshape(num_data_sets(size, num_states), num_states - 1)
    return np.diff(shaped, axis=1, prepend=-1, append=places) - 1


def log_rows(rows: Floats) -> Floats:
    """Logarithms of probabilities, with a number for that of zero."""
    return np.where(rows > 0, np.log(np.where(rows > 0, rows, 1.0)), _NEVER)


def data_set_probabilities(counts: Ints, rows: Floats) -> Floats:
    """P(counts) under each row of probabilities of the states: rows x data sets, multinomial."""
    ways = gammaln(counts.sum(axis=1) + 1.0) - gammaln(counts + 1.0).sum(axis=1)
    return np.asarray(np.exp(log_rows(rows) @ counts.T + ways))


def estimated(draw: Callable[[np.random.Generator, int], Floats], block: int, options: SampleOptions) -> SampleEstimate:
    """The mean of gains that are drawn a block at a time, until there are enough or someone ends it."""
    rng, clock = generator_of(options.seed), Clock.of(options.time_limit)
    gains = np.empty(0)
    while len(gains) < options.num_samples:
        gains = np.concatenate([gains, draw(rng, min(block, options.num_samples - len(gains)))])
        error = float(gains.std(ddof=1) / math.sqrt(len(gains))) if len(gains) > 1 else math.inf
        state = SampleState(len(gains), float(gains.mean()), error)
        if (options.progress is not None and options.progress(state)) or clock.is_over:
            break
    return SampleEstimate(state.value, state.standard_error, state.num_samples, is_exact=False)


# --- several decisions ---


def solved_samples(
    diagram: Diagram, study: Study, decision: str, evidence: EvidenceLike | None, options: SampleOptions
) -> SampleEstimate:
    """The value of copies of a variable at a decision and all later ones."""
    cpd, size = study
    number = num_data_sets(size, cpd.variable.num_states)
    before = solve(diagram, "auto", evidence)
    if number <= min(options.num_samples, _MAX_STATES):
        return _exact(diagram, study, decision, evidence, before)
    rows = cpd.to_factor().values
    first = observing(diagram.with_chance(_finding(diagram, cpd, np.ones(rows.shape[:-1]))), [_name(diagram)], decision)
    if earlier := [name for name, later in first.decisions.items() if _name(diagram) not in later.sees]:
        raise TooLarge(
            f"{earlier} come before {decision!r} and don't see the sample, so that all of its {number} data sets have "
            f"to be weighed at once, beyond the limit of {min(options.num_samples, _MAX_STATES)}: ask for fewer copies "
            "of a variable, or one with fewer states."
        )
    return estimated(_Gains(diagram, study, evidence, before).draw, _BLOCK, options)


def _exact(
    diagram: Diagram, study: Study, decision: str, evidence: EvidenceLike | None, before: Solution
) -> SampleEstimate:
    """The value of a variable whose states are the data sets."""
    cpd, size = study
    rows = cpd.to_factor().values
    counts = all_data_sets(size, rows.shape[-1])
    likely = data_set_probabilities(counts, rows.reshape(-1, rows.shape[-1])).reshape(*rows.shape[:-1], len(counts))
    whole = TableCPD(
        Variable(_name(diagram), len(counts)), likely / likely.sum(axis=-1, keepdims=True), cpd.parent_names
    )
    after = solve(observing(diagram.with_chance(whole), [whole.variable.name], decision), "auto", evidence)
    value = gain(after.expected_utility, before.expected_utility, before.rounding)
    return SampleEstimate(value, 0.0, len(counts), before.is_optimal and after.is_optimal)


@dataclass(frozen=True, slots=True, eq=False)
class _Gains:
    """What data sets that are drawn bring, each solved for once."""

    diagram: Diagram
    study: Study
    evidence: EvidenceLike | None
    before: Solution

    def draw(self, rng: np.random.Generator, block: int) -> Floats:
        """The gains of some data sets."""
        cpd, size = self.study
        rows = cpd.to_factor().values.reshape(-1, cpd.variable.num_states)
        counts = rng.multinomial(size, rows[rng.choice(len(rows), size=block, p=self._beliefs())])
        unique, place = np.unique(counts, axis=0, return_inverse=True)
        likely = unique @ log_rows(rows).T
        gains = [self._gain(weights) for weights in np.exp(likely - likely.max(axis=1, keepdims=True))]
        return np.array(gains)[place.reshape(-1)]

    def _beliefs(self) -> Floats:
        """P(u | evidence): no decision has an influence on it."""
        names = self.study[0].parent_names
        if not names:
            return np.ones(1)
        blind = self.diagram.with_information(dict.fromkeys(self.diagram.decisions, ()))
        network = blind.network(blind.uniform_strategy())
        return network.query(list(names), evidence=self.evidence).reorder(names).values.reshape(-1)

    def _gain(self, weights: Floats) -> float:
        """By how much the best strategy after a data set is better than the present one."""
        cpd = self.study[0]
        finding = _finding(self.diagram, cpd, weights.reshape([parent.num_states for parent in cpd.parents]))
        informed = self.diagram.with_chance(finding)
        known = {**findings_of(self.evidence), finding.variable.name: 1}
        after = solve(informed, "auto", known)
        now = expected_utility(informed, self.before.strategy, known)
        return gain(after.expected_utility, now, after.rounding)


def _finding(diagram: Diagram, cpd: CPD, weights: Floats) -> TableCPD:
    """A variable whose state 1 says of the parents what a data set says."""
    return TableCPD(Variable(_name(diagram), 2), np.stack([1.0 - weights, weights], axis=-1), cpd.parent_names)


def _name(diagram: Diagram) -> str:
    """A name that the diagram does not have."""
    name = "sample"
    while name in diagram.graph:
        name += "'"
    return name
