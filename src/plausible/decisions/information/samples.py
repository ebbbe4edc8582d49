"""The value of sample information: what a study of a given size is worth before its data are there."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from time import monotonic
from typing import TYPE_CHECKING

import numpy as np

from plausible.decisions.information.observing import observing, read_decision
from plausible.decisions.information.tables import SeenTable, only_decision, seen_tables
from plausible.decisions.solving.problem import Floats
from plausible.errors import UnknownVariable
from plausible.factors.display import format_number
from plausible.inference.options import check_count, check_number, check_seconds, read_generator
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["SampleOptions", "SampleState", "ValueOfSample", "value_of_sample"]

#: Data sets are drawn and weighed in blocks of about this many numbers.
_BLOCK = 2**20
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
    """

    num_samples: int = 10_000
    seed: int | np.random.Generator = 0
    time_limit: float = math.inf
    progress: Callable[[SampleState], object] | None = None

    def __post_init__(self) -> None:
        check_count("num_samples", self.num_samples, 2)
        check_seconds("time_limit", self.time_limit)


@dataclass(frozen=True, slots=True)
class ValueOfSample:
    """An estimate of what a number of independent observations is worth.

    Attributes
    ----------
    variable, size
        What is observed, and how often.
    decision
        The decision that sees them.
    value
        The estimate.
    standard_error
        Its standard error.
    cost
        What the observations cost together.
    num_samples
        The data sets that it is a mean over.
    """

    variable: str
    size: int
    decision: str
    value: float
    standard_error: float
    cost: float
    num_samples: int

    @property
    def net_value(self) -> float:
        """The value less the cost."""
        return self.value - self.cost

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        cost = f", net {format_number(self.net_value)}" if self.cost else ""
        return (
            f"{self.size} observations of {self.variable} at {self.decision} are worth {format_number(self.value)} "
            f"± {format_number(self.standard_error)}{cost} ({self.num_samples} data sets)."
        )


def value_of_sample(
    diagram: InfluenceDiagram,
    variable: str,
    size: int,
    decision: str | None = None,
    cost: float = 0.0,
    evidence: EvidenceLike | None = None,
    options: SampleOptions | None = None,
) -> ValueOfSample:
    """The expected value of sample information: of n independent copies of a variable, given its parents.

    Data sets are drawn from what is believed now: parents u from P(u), then counts of the states of n copies from
    P(x | u). Each data set changes the beliefs about u, and with them perhaps the best action; the mean gain of that
    action over the present one is the estimate. The inner expectations are exact, so that the estimate has no bias, and
    no gain is negative.

    Parameters
    ----------
    diagram
        An influence diagram with one decision.
    variable
        The chance variable X of which copies are observed.
    size
        n.
    decision
        The decision; not needed, as there is only one.
    cost
        What all observations cost together.
    evidence
        What is known before.
    options
        How many data sets to draw, and how.

    Notes
    -----
    Time O(samples x states of the parents and of what the decision sees).

    References
    ----------
    Raiffa & Schlaifer (1961), Applied statistical decision theory.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> survey = TableCPD("survey", [[0.6, 0.3, 0.1], [0.3, 0.4, 0.3], [0.1, 0.4, 0.5]], ["market"])
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("market", [0.5, 0.3, 0.2]), survey],
    ...     [Decision("found", ["no", "yes"])],
    ...     [Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
    ... )
    >>> [round(value_of_sample(diagram, "survey", size).value, 1) for size in (0, 1, 10, 100)]
    [0.0, 1.2, 2.9, 3.5]
    """
    name = read_decision(diagram, decision)
    only_decision(diagram, name, "The value of sample information")
    if variable not in diagram.chance:
        raise UnknownVariable.named(variable, diagram.chance, "the chance variables of this diagram")
    check_count("size", size)
    check_number("cost", cost)
    chosen = options or SampleOptions()
    cpd = diagram.chance[variable]
    observing(diagram, [variable, *cpd.parent_names], name)
    new = [parent for parent in cpd.parent_names if parent not in diagram.decisions[name].sees]
    (table,) = seen_tables(diagram, name, [new], evidence)
    rows = _rows(table, cpd.to_factor().values, cpd.parent_names)
    gains = np.concatenate(list(_gains(table, rows, size, chosen)))
    error = float(gains.std(ddof=1) / math.sqrt(len(gains))) if len(gains) > 1 else math.inf
    return ValueOfSample(variable, size, name, float(gains.mean()), error, float(cost), len(gains))


def _rows(table: SeenTable, values: Floats, parents: tuple[str, ...]) -> Floats:
    """P(x | u) with a row for each assignment to what is seen and the other parents."""
    names = [variable.name for variable in (*table.seen, *table.candidates)]
    order = sorted(range(len(parents)), key=lambda place: names.index(parents[place]))
    shape = [1] * len(names)
    for parent in parents:
        shape[names.index(parent)] = values.shape[parents.index(parent)]
    spread = values.transpose(*order, len(parents)).reshape(*shape, values.shape[-1])
    return np.broadcast_to(spread, (*table.probability.shape, values.shape[-1])).reshape(-1, values.shape[-1])


def _gains(table: SeenTable, rows: Floats, size: int, options: SampleOptions) -> Iterator[Floats]:
    """For each data set, by how much the best action then is better than the best one now."""
    rng, deadline = read_generator(options.seed), monotonic() + options.time_limit
    num_seen = math.prod(variable.num_states for variable in table.seen)
    phi = table.probability.reshape(num_seen, -1)
    worth = table.weighted.reshape(num_seen, phi.shape[1], -1)
    now = worth.sum(axis=1).argmax(axis=1)
    logs = np.where(rows > 0, np.log(np.where(rows > 0, rows, 1.0)), _NEVER)
    done, total, squares = 0, 0.0, 0.0
    while done < options.num_samples:
        block = min(options.num_samples - done, max(2, _BLOCK // rows.size))
        place = rng.choice(phi.size, size=block, p=phi.ravel() / phi.sum())
        counts = rng.multinomial(size, rows[place])
        gains = _block_gains(counts, place, (phi, worth, now, logs))
        yield gains
        done, total, squares = done + block, total + gains.sum(), squares + (gains**2).sum()
        mean = total / done
        error = math.sqrt(max(0.0, squares / done - mean**2) / done)
        if options.progress is not None and options.progress(SampleState(done, mean, error)):
            return
        if monotonic() > deadline:
            return


def _block_gains(counts: np.ndarray, place: np.ndarray, parts: tuple[Floats, Floats, np.ndarray, Floats]) -> Floats:
    """The gains of data sets given by counts; each belongs to what is seen anyway in its row of `place`."""
    phi, worth, now, logs = parts
    seen = place // phi.shape[1]
    own = logs.reshape(*phi.shape, -1)[seen]  # data sets x parents x states
    likely = np.einsum("sx,sux->su", counts, own)
    weights = np.exp(likely - likely.max(axis=1, keepdims=True))
    brings = np.einsum("su,sua->sa", weights, worth[seen]) / (weights * phi[seen]).sum(axis=1, keepdims=True)
    return np.asarray(brings.max(axis=1) - np.take_along_axis(brings, now[seen][:, None], axis=1)[:, 0])
