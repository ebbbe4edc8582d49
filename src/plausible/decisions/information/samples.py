"""The value of sample information: what a study of a given size is worth before its data are there."""

from __future__ import annotations

import math
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.display import format_number
from plausible.base.options import check_count, check_number
from plausible.base.records import record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.data_sets import (
    SampleEstimate,
    SampleOptions,
    all_data_sets,
    data_set_probabilities,
    estimated,
    log_rows,
    num_data_sets,
    solved_samples,
)
from plausible.decisions.information.observing import SeenTable, observing, read_chance, read_decision, seen_tables
from plausible.decisions.information.value import gain
from plausible.decisions.totals import utility_rounding
from plausible.variables.evidence import EvidenceLike

#: Data sets are drawn and weighed in blocks of about this many numbers.
_BLOCK = 2**20
#: All data sets are weighed at once up to this many numbers.
_MAX_NUMBERS = 2**23


@record
class ValueOfSample:
    """What a number of independent observations is worth."""

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
        return worth if self.tells_about else f"{worth}\n{self._told_root}"

    @property
    def _told_root(self) -> str:
        return (
            f"{self.variable} has no parents, so that independent copies of it say nothing about it or anything else: "
            f"sample what depends on it, or ask value_of_information what it is worth to see {self.variable} itself."
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

    Parameters
    ----------
    diagram
        The influence diagram.
    variable
        The chance variable X of which copies are observed; no parent of it may come after the decision. Copies tell
        about the parents alone: a variable without parents is worth 0, see `value_of_information` for seeing itself.
    size
        n.
    decision
        The first decision that sees them; not needed where there is only one.
    cost
        What all observations cost together.
    evidence
        What is known before any decision is made.
    options
        How many data sets to draw, and how.

    Notes
    -----
    With one decision time O(data sets x states of the parents and of what the decision sees). With several a diagram
    is solved in which one variable holds all data sets, up to 1024 of them; beyond that one for each data set, which
    needs that no decision comes before those that see it.

    References
    ----------
    Raiffa & Schlaifer (1961), Applied statistical decision theory.

    Examples
    --------
    >>> import plausible as pb
    >>> survey = pb.TableCPD("survey", [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]], ["market"])
    >>> diagram = pb.InfluenceDiagram(
    ...     [pb.TableCPD("market", [0.5, 0.3, 0.2]), survey],
    ...     [pb.Decision("found", ["no", "yes"])],
    ...     [pb.Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
    ... )
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
        found = solved_samples(diagram, (cpd, size), name, evidence, chosen)
    else:
        new = [parent for parent in cpd.parent_names if parent not in diagram.decisions[name].sees]
        (table,) = seen_tables(diagram, name, [new], evidence)
        rows = _rows(table, cpd.to_factor().values, cpd.parent_names)
        found = _Study.of(table, rows).estimate(size, chosen, utility_rounding(diagram))
    worth = (found.value, found.standard_error, float(cost), *found[2:])
    return ValueOfSample(variable, size, name, cpd.parent_names, *worth)


def _rows(table: SeenTable, values: Floats, parents: tuple[str, ...]) -> Floats:
    """P(x | u) with a row for each assignment to what is seen and the other parents."""
    names = [variable.name for variable in (*table.seen, *table.candidates)]
    order = sorted(range(len(parents)), key=lambda place: names.index(parents[place]))
    shape = [1] * len(names)
    for parent in parents:
        shape[names.index(parent)] = values.shape[parents.index(parent)]
    spread = values.transpose(*order, len(parents)).reshape(*shape, values.shape[-1])
    return np.broadcast_to(spread, (*table.probability.shape, values.shape[-1])).reshape(-1, values.shape[-1])


@dataclass(frozen=True, slots=True, eq=False)
class _Study:
    """Copies of a variable before the only decision of a diagram."""

    probability: Floats  # P(seen, u): what is seen anyway x the other parents
    weighted: Floats  # P(seen, u) E[U | seen, u, action], with the action as last axis
    rows: Floats  # P(x | u) for each assignment to both

    @classmethod
    def of(cls, table: SeenTable, rows: Floats) -> _Study:
        phi = table.probability.reshape(math.prod(variable.num_states for variable in table.seen), -1)
        return cls(phi, table.weighted.reshape(*phi.shape, -1), rows)

    def estimate(self, size: int, options: SampleOptions, rounding: float) -> SampleEstimate:
        number = num_data_sets(size, self.rows.shape[1])
        if number <= options.num_samples and number * self.weighted.size <= _MAX_NUMBERS:
            return SampleEstimate(self._exact(size, rounding), 0.0, number, is_exact=True)
        logs, now = log_rows(self.rows), self.weighted.sum(axis=1).argmax(axis=1)

        def draw(rng: np.random.Generator, block: int) -> Floats:
            place = rng.choice(self.probability.size, size=block, p=self.probability.ravel() / self.probability.sum())
            return self._gains(rng.multinomial(size, self.rows[place]), place // self.probability.shape[1], logs, now)

        return estimated(draw, max(2, _BLOCK // self.rows.size), options)

    def _exact(self, size: int, rounding: float) -> float:
        """Σ_seen Σ_data max_action Σ_u P(data | u) P(seen, u) E[U | seen, u, action], less the same without data."""
        likely = data_set_probabilities(all_data_sets(size, self.rows.shape[1]), self.rows)
        brings = np.einsum("sud,sua->sda", likely.reshape(*self.probability.shape, -1), self.weighted)
        return gain(float(brings.max(axis=-1).sum()), float(self.weighted.sum(axis=1).max(axis=-1).sum()), rounding)

    def _gains(self, counts: Ints, seen: Ints, logs: Floats, now: Ints) -> Floats:
        """For each data set, by how much the best action then is better than the best one now."""
        own = logs.reshape(*self.probability.shape, -1)[seen]  # data sets x parents x states
        likely = np.einsum("sx,sux->su", counts, own)
        weights = np.exp(likely - likely.max(axis=1, keepdims=True))
        total = (weights * self.probability[seen]).sum(axis=1, keepdims=True)
        brings = np.einsum("su,sua->sa", weights, self.weighted[seen]) / total
        return np.asarray(brings.max(axis=1) - np.take_along_axis(brings, now[seen][:, None], axis=1)[:, 0])
