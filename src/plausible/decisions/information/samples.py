"""The value of sample information: what a study of a given size is worth before its data are there."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass
from itertools import combinations
from typing import NamedTuple

import numpy as np
from scipy.special import gammaln

from plausible.base import (
    Checked,
    Floats,
    Ints,
    Result,
    check_count,
    check_number,
    check_seconds,
    format_number,
    generator_of,
    record,
    whole,
)
from plausible.causal.queries.observed import fresh_name
from plausible.cpds import CPD, TableCPD
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import SeenTable, observing, read_chance, read_decision, seen_tables
from plausible.decisions.information.value import gain
from plausible.decisions.solving.arithmetic import placed
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import solve
from plausible.decisions.totals import utility_rounding
from plausible.errors import TooLarge
from plausible.search.run import Clock
from plausible.variables import Variable
from plausible.variables.evidence import EvidenceLike, findings_of

#: Stands for the logarithm of zero: no number of observations of anything else makes up for it.
_NEVER = -1e200
#: So many data sets at most are the states of one variable.
_MAX_STATES = 2**10
#: Data sets between two reports of progress, where a diagram is solved for each.
_FEW = 50
#: Data sets are drawn and weighed in blocks of about this many numbers.
_BLOCK = 2**20
#: All data sets are weighed at once up to this many numbers.
_MAX_NUMBERS = 2**23


@dataclass(frozen=True, slots=True)
class SampleState:
    """How far sampling is: data sets drawn, and the estimate from them."""

    num_samples: int
    value: float
    standard_error: float


@dataclass(frozen=True, slots=True)
class SampleOptions(Checked, num_samples=whole(2), time_limit=check_seconds):
    """How many data sets to draw, from what source, for how long, and whom to tell.

    >>> SampleOptions(2000, seed=1).num_samples
    2000
    """

    num_samples: int = 10_000  # How many data sets
    seed: int | np.random.Generator = 0  # Their source
    time_limit: float | None = None  # No more are drawn after so many seconds
    #: Told a `SampleState` after each block; an answer that is true ends it.
    progress: Callable[[SampleState], object] | None = None


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


def _one_decision(table: SeenTable, rows: Floats, size: int, options: SampleOptions, rounding: float) -> SampleEstimate:
    """The value of copies of a variable before the only decision; P(x | u) for each row of what is seen and parents."""
    # P(seen, u) and P(seen, u) E[U | seen, u, action]: what is seen anyway x the other parents.
    probability = table.probability.reshape(math.prod(variable.num_states for variable in table.seen), -1)
    weighted = table.weighted.reshape(*probability.shape, -1)
    number, now = num_data_sets(size, rows.shape[1]), weighted.sum(axis=1)
    if number <= options.num_samples and number * weighted.size <= _MAX_NUMBERS:
        # Σ_seen Σ_data max_action Σ_u P(data | u) P(seen, u) E[U | seen, u, action], less the same without data.
        likely = data_set_probabilities(all_data_sets(size, rows.shape[1]), rows)
        brings = np.einsum("sud,sua->sda", likely.reshape(*probability.shape, -1), weighted)
        value = gain(float(brings.max(axis=-1).sum()), float(now.max(axis=-1).sum()), rounding)
        return SampleEstimate(value, 0.0, number, is_exact=True)
    logs, best = log_rows(rows).reshape(*probability.shape, -1), now.argmax(axis=1)

    def draw(rng: np.random.Generator, block: int) -> Floats:
        """For each data set, by how much the best action then is better than the best one now."""
        place = rng.choice(probability.size, size=block, p=probability.ravel() / probability.sum())
        counts, seen = rng.multinomial(size, rows[place]), place // probability.shape[1]
        likely = np.einsum("sx,sux->su", counts, logs[seen])  # logs: data sets x parents x states
        weights = np.exp(likely - likely.max(axis=1, keepdims=True))
        total = (weights * probability[seen]).sum(axis=1, keepdims=True)
        brings = np.einsum("su,sua->sa", weights, weighted[seen]) / total
        return np.asarray(brings.max(axis=1) - np.take_along_axis(brings, best[seen][:, None], axis=1)[:, 0])

    return estimated(draw, max(2, _BLOCK // rows.size), options)


def _solved_samples(
    diagram: Diagram, cpd: CPD, size: int, decision: str, evidence: EvidenceLike | None, options: SampleOptions
) -> SampleEstimate:
    """The value of copies of a variable at a decision and all later ones."""
    rows, before = cpd.to_factor().values, solve(diagram, "auto", evidence)
    number = num_data_sets(size, cpd.variable.num_states)
    sample = fresh_name("sample", set(diagram.graph.nodes), "'")
    if number <= min(options.num_samples, _MAX_STATES):  # a variable whose states are the data sets
        counts = all_data_sets(size, rows.shape[-1])
        likely = data_set_probabilities(counts, rows.reshape(-1, rows.shape[-1])).reshape(*rows.shape[:-1], number)
        whole = TableCPD(Variable(sample, number), likely / likely.sum(axis=-1, keepdims=True), cpd.parent_names)
        after = solve(observing(diagram.with_chance(whole), [sample], decision), "auto", evidence)
        value = gain(after.expected_utility, before.expected_utility, before.rounding)
        return SampleEstimate(value, 0.0, number, before.is_optimal and after.is_optimal)
    finding = _finding(sample, cpd, np.ones(rows.shape[:-1]))
    first = observing(diagram.with_chance(finding), [sample], decision)
    if earlier := [name for name, later in first.decisions.items() if sample not in later.sees]:
        raise TooLarge(
            f"{earlier} come before {decision!r} and don't see the sample, so that all of its {number} data sets have "
            f"to be weighed at once, beyond the limit of {min(options.num_samples, _MAX_STATES)}: ask for fewer copies "
            "of a variable, or one with fewer states."
        )
    return estimated(_gains(diagram, cpd, size, sample, evidence, before), _FEW, options)


def _gains(
    diagram: Diagram, cpd: CPD, size: int, sample: str, evidence: EvidenceLike | None, before: Solution
) -> Callable[[np.random.Generator, int], Floats]:
    """What draws data sets and says what they bring, each solved for once."""
    rows, beliefs = cpd.to_factor().values.reshape(-1, cpd.variable.num_states), np.ones(1)
    if names := list(cpd.parent_names):  # P(u | evidence): no decision has an influence on it
        blind = diagram.with_information(dict.fromkeys(diagram.decisions, ()))
        network = blind.network(blind.uniform_strategy())
        beliefs = network.query(names, evidence=evidence).reorder(names).values.reshape(-1)
    known = {**findings_of(evidence), sample: 1}

    def gained(weights: Floats) -> float:
        """By how much the best strategy after a data set is better than the present one."""
        finding = _finding(sample, cpd, weights.reshape([parent.num_states for parent in cpd.parents]))
        informed = diagram.with_chance(finding)
        after = solve(informed, "auto", known)
        now = expected_utility(informed, before.strategy, known)
        return gain(after.expected_utility, now, after.rounding)

    def draw(rng: np.random.Generator, block: int) -> Floats:
        counts = rng.multinomial(size, rows[rng.choice(len(rows), size=block, p=beliefs)])
        unique, place = np.unique(counts, axis=0, return_inverse=True)
        likely = unique @ log_rows(rows).T
        gains = [gained(weights) for weights in np.exp(likely - likely.max(axis=1, keepdims=True))]
        return np.array(gains)[place.reshape(-1)]

    return draw


def _finding(sample: str, cpd: CPD, weights: Floats) -> TableCPD:
    """A variable whose state 1 says of the parents what a data set says."""
    return TableCPD(Variable(sample, 2), np.stack([1.0 - weights, weights], axis=-1), cpd.parent_names)


@record
class ValueOfSample(Result):
    """What a number of independent observations is worth."""

    _also = ("net_value",)

    #: What is observed, and how often.
    variable: str
    size: int
    decision: str  # The first decision that sees them; later ones do, too
    #: The parents of the variable: copies of it say something about these, and through them about all else. Copies of a
    #: variable without parents say nothing, not even about the variable itself.
    tells_about: tuple[str, ...]
    value: float  # The value, or an estimate of it
    standard_error: float  # The standard error of an estimate; 0 of an exact value
    cost: float  # What the observations cost together
    num_samples: int  # The data sets that it is a mean over
    is_exact: bool = False  # Whether these are all data sets that there can be, and all strategies are proved best

    @property
    def net_value(self) -> float:
        """The value less the cost."""
        return self.value - self.cost

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        error = "" if self.is_exact else f" ± {format_number(self.standard_error)}"
        cost = f", net {format_number(self.net_value)}" if self.cost else ""
        how = f"exactly, over all {self.num_samples}" if self.is_exact else f"by {self.num_samples}"
        many = "1 observation" if self.size == 1 else f"{self.size} observations"
        worth = (
            f"{many} of {self.variable} at {self.decision} {'is' if self.size == 1 else 'are'} worth "
            f"{format_number(self.value)}{error}{cost} ({how} data set{'' if self.num_samples == 1 else 's'})."
        )
        if self.tells_about:
            return worth
        return (
            f"{worth}\n{self.variable} has no parents, so that independent copies of it say nothing about it or "
            f"anything else: sample what depends on it, or ask value_of_information what it is worth to see "
            f"{self.variable} itself."
        )


def value_of_sample(
    diagram: Diagram,
    variable: str,
    size: int,
    decision: str | None = None,
    cost: float = 0.0,
    evidence: EvidenceLike | None = None,
    options: SampleOptions | None = None,
) -> ValueOfSample:
    """The expected value of sample information: of n independent copies of a variable, given its parents.

    MEU with the counts of the states of the copies seen at a decision and all later ones, less MEU. Where there are no
    more vectors of counts than data sets may be drawn, all are weighed, and the value is exact. Otherwise data sets are
    drawn from what is believed now: parents u from P(u), then counts from P(x | u). Each changes the beliefs about u,
    and with them perhaps what is best; the mean gain of that over the present strategy is the estimate. All but the
    data sets is exact, so that the estimate has no bias, and no gain is negative.

    With one decision time O(data sets x states of the parents and of what the decision sees). With several a diagram
    is solved in which one variable holds all data sets, up to 1024 of them; beyond that one for each data set, which
    needs that no decision comes before those that see it.

    Raiffa & Schlaifer (1961), Applied statistical decision theory.

    Parameters
    ----------
    variable
        The chance variable X of which copies are observed; no parent of it may come after the decision. Copies tell
        about the parents alone: a variable without parents is worth 0, see `value_of_information` for seeing itself.
    size
        n.
    decision
        The first decision that sees them; not needed where there is only one.
    cost
        What all observations cost together.
    options
        How many data sets to draw, and how.

    Examples
    --------
    >>> import plausible as pb
    >>> diagram = pb.examples.load("startup")
    >>> print(value_of_sample(diagram, "survey", 10, cost=0.5))
    10 observations of survey at found are worth 2.87244, net 2.37244 (exactly, over all 66 data sets).
    >>> [round(value_of_sample(diagram, "survey", size).value, 1) for size in (0, 1, 10, 100)]
    [0.0, 1.2, 2.9, 3.5]
    """
    cpd = read_chance(diagram, variable)
    name = read_decision(diagram, decision)
    check_count("size", size)
    check_number("cost", cost, least=0)
    chosen = options or SampleOptions()
    observing(diagram, [variable, *cpd.parent_names], name)
    if len(diagram.decisions) > 1:
        estimate = _solved_samples(diagram, cpd, size, name, evidence, chosen)
    else:
        new = [parent for parent in cpd.parent_names if parent not in diagram.decisions[name].sees]
        (table,) = seen_tables(diagram, name, [new], evidence)
        # P(x | u) with a row for each assignment to what is seen and the other parents.
        names, values = [variable.name for variable in (*table.seen, *table.candidates)], cpd.to_factor().values
        spread = placed(values, [*map(names.index, cpd.parent_names), len(names)], len(names) + 1)
        rows = np.broadcast_to(spread, (*table.probability.shape, values.shape[-1])).reshape(-1, values.shape[-1])
        estimate = _one_decision(table, rows, size, chosen, utility_rounding(diagram))
    worth = (estimate.value, estimate.standard_error, float(cost), *estimate[2:])
    return ValueOfSample(variable, size, name, cpd.parent_names, *worth)
