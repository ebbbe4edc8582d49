"""Which observations to buy together, before any of them is made."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import dataclass
from itertools import combinations
from typing import TYPE_CHECKING, TypeAlias

import numpy as np

from plausible.base import (
    SCORE_NOISE,
    Checked,
    Result,
    TextTable,
    chart_by,
    format_number,
    ranked,
    real,
    record,
    unless,
    whole,
)
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import observing, read_candidates, seen_tables
from plausible.decisions.information.ranking import InformationValue
from plausible.decisions.information.value import gain
from plausible.decisions.solving.problem import SolvingOptions
from plausible.decisions.solving.solve import Asked
from plausible.decisions.totals import utility_rounding
from plausible.errors import InvalidArgument, TooLarge, counted
from plausible.search.run import CONVERGED
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

#: Sets of variables with at most this many joint entries are kept in one table.
_MAX_TABLE = 2**16


#: What a diagram is worth where a set of variables is seen, and whether that is proved to be the maximum.
Worth: TypeAlias = Callable[[tuple[str, ...]], tuple[float, bool]]
#: Takes the number of sets so far and the best of them; whether to stop.
Told: TypeAlias = Callable[[int, InformationValue], bool]


class SetSearch:
    """The sets within the limits, and what they are worth."""

    def __init__(
        self, worth: Worth, costs: Mapping[str, float], limits: tuple[float, bool], rounding: float, told: Told
    ) -> None:
        self.worth, self.told = worth, told
        self.costs, self.rounding = costs, rounding
        self.budget, self.is_charged = limits
        self.before, self.is_proved = worth(())
        self.best = InformationValue((), 0.0, 0.0, self.is_charged)
        self.num_sets = 0
        self.is_stopped = False

    def weighed(self, names: tuple[str, ...]) -> InformationValue | None:
        """The value of a set; none where it costs too much, or the search is stopped."""
        cost = math.fsum(self.costs[name] for name in names)
        if self.is_stopped or cost > self.budget * (1 + SCORE_NOISE):
            return None
        self.num_sets += 1
        after, is_proved = self.worth(names)
        self.is_proved = self.is_proved and is_proved
        value = InformationValue(names, gain(after, self.before, self.rounding), cost, self.is_charged)
        self.best = max(self.best, value, key=_net)
        self.is_stopped = self.told(self.num_sets, self.best)
        return value

    def all_sets(self, most: int) -> Iterator[InformationValue]:
        """The best set of each size."""
        for size in range(most + 1):
            sets = [one for names in combinations(self.costs, size) if (one := self.weighed(names)) is not None]
            if sets:
                yield max(sets, key=_net)

    def greedy(self, most: int) -> Iterator[InformationValue]:
        """Sets that grow by the best variable at a time; past sets that are worse, as two may help together."""
        chosen: InformationValue | None = self.weighed(())
        while chosen is not None:
            yield chosen
            left = [name for name in self.costs if name not in chosen.variables and len(chosen.variables) < most]
            grown = [one for name in left if (one := self.weighed((*chosen.variables, name))) is not None]
            chosen = max(grown, key=_net, default=None)


def _net(value: InformationValue) -> float:
    return value.net_value


def worth_of_sets(asked: Asked, decision: str, names: tuple[str, ...]) -> Worth:
    """A function from what is seen to MEU."""
    diagram = asked.diagram
    new = [name for name in names if name not in diagram.decisions[decision].sees]
    size = math.prod(diagram.variables[name].num_states for name in (*new, *diagram.decisions[decision].sees))
    if len(diagram.decisions) == 1 and size <= _MAX_TABLE and all(name in diagram.chance for name in new):
        try:
            (table,) = seen_tables(diagram, decision, [new], asked.evidence, 64 * _MAX_TABLE)
        except TooLarge:
            pass
        else:
            place = {name: number for number, name in enumerate(new)}
            return lambda seen: (table.expected_utility({place[name] for name in seen if name in place}), True)

    def solved(seen: tuple[str, ...]) -> tuple[float, bool]:
        solution = asked.solved(observing(diagram, seen, decision))
        return solution.expected_utility, solution.is_optimal

    return solved


#: Up to this many sets are all looked at.
_MAX_SETS = 2**12


@dataclass(frozen=True, slots=True)
class Limits(Checked, number=unless(None, whole()), budget=unless(math.inf, real(least=0))):
    """How much may be observed.

    >>> Limits(number=2, budget=25, is_charged=False)  # two tests at most, 25 minutes
    Limits(number=2, budget=25, is_charged=False)
    """

    number: int | None = None  # At most so many variables
    budget: float = math.inf  # Costs of at most this in all
    #: Whether costs are in units of utility, and taken off the value; if not, they count for the budget alone.
    is_charged: bool = True


def read_limits(limits: Limits | int | None) -> Limits:
    """The limits meant: a whole number is how many may be observed, `None` stands for no limit."""
    if limits is None or isinstance(limits, Limits):
        return limits or Limits()
    if isinstance(limits, bool) or not isinstance(limits, int | np.integer):
        raise InvalidArgument(
            f"limits={limits!r} says neither how many may be observed nor what they may cost: write a whole number, "
            "or Limits(number=..., budget=...)."
        )
    return Limits(number=int(limits))


@dataclass(frozen=True, slots=True)
class ChoiceState:
    """How far a choice is."""

    #: How many sets were looked at, and how many there can be.
    num_sets: int
    most_sets: int
    best: InformationValue  # The best of them


@record
class ObservationChoice(Result):
    """A set of observations, and the best of each size."""

    _rows = "by_size"

    decision: str  # The first decision that would see them
    best: InformationValue  # The set with the largest net value within the limits
    #: The best set of each size that is possible within the limits, nothing first; of a greedy choice, the sets on its
    #: way.
    by_size: tuple[InformationValue, ...]
    #: Whether all sets were looked at, and what each is worth was proved; otherwise see `is_greedy`, or give the
    #: solutions more time.
    is_exact: bool
    is_greedy: bool  # Whether variables were added one by one, the best at a time, which gives no guarantee in general
    num_sets: int  # How many sets were looked at
    stopped_by: str = CONVERGED  # "converged", or "interrupted" where `progress` ended it before its time

    @property
    def converged(self) -> bool:
        """Whether all sets that were to be looked at were."""
        return self.stopped_by == CONVERGED

    def to_table(self) -> TextTable:
        """A row for each size: the best set of it."""
        rows = tuple(
            (
                str(len(one.variables)),
                ", ".join(one.variables) or "nothing",
                *map(format_number, (one.value, one.cost, one.net_value)),
            )
            for one in self.by_size
        )
        return TextTable(("size", "best set", "value", "cost", "net"), rows, 2)

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw what the best set of each size is worth; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_values", self.by_size, ax, f"Sets of observations at {self.decision}")

    def __str__(self) -> str:
        how = "greedy, without a guarantee, after" if self.is_greedy else "the best of all"
        how = "stopped early, the best of the first" if not self.converged else how
        doubt = "" if self.is_exact or self.is_greedy or not self.converged else ", some of them not solved to the end"
        number = counted(self.num_sets, "set")
        lines = [f"At {self.decision} observe {self.best} ({how} {number}{doubt})."]
        if not self.best.is_charged:
            lines.append("Costs count for the budget alone; they are not taken off the value.")
        return "\n".join([*lines, str(self.to_table())])


def choose_observations(
    diagram: Diagram,
    decision: str | None = None,
    candidates: Iterable[str] | None = None,
    costs: float | Mapping[str, float] | None = None,
    limits: Limits | int | None = None,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
    progress: Callable[[ChoiceState], object] | None = None,
) -> ObservationChoice:
    """The set of variables to observe before a decision, all at once: the largest value less cost within limits.

    Sets are judged as wholes, since values do not add up (Koller & Friedman 2009, section 23.7.2 and exercise 23.13).
    Up to 4096 sets are all looked at; beyond that variables are added one by one, always the one that is best then.

    Parameters
    ----------
    decision, candidates, costs
        As of `rank_observations`: the first decision that sees them, what to choose from, and what it costs to see it.
    limits
        How many may be seen, as a number; or that and what they may cost, as `Limits`.
    options
        As of `solve`, for each set where there are several decisions.

    Examples
    --------
    Two coins, of which each alone says nothing about whether they agree:

    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> coins = [TableCPD("A", [0.5, 0.5]), TableCPD("B", [0.5, 0.5])]
    >>> agree = Utility(["A", "B", "guess"], [[[0, 1], [1, 0]], [[1, 0], [0, 1]]])
    >>> print(choose_observations(InfluenceDiagram(coins, [Decision("guess", ["no", "yes"])], [agree]), costs=0.1))
    At guess observe A, B: worth 0.5, net 0.3 (the best of all 4 sets).
    size | best set | value | cost |  net
    -----+----------+-------+------+-----
    0    | nothing  |     0 |    0 |    0
    1    | A        |     0 |  0.1 | -0.1
    2    | A, B     |   0.5 |  0.2 |  0.3
    """
    first, prices = read_candidates(diagram, decision, candidates, costs)
    names, bounds = tuple(prices), read_limits(limits)
    most = len(names) if bounds.number is None else min(bounds.number, len(names))
    total = sum(math.comb(len(names), size) for size in range(most + 1))
    is_greedy = total > _MAX_SETS
    ahead = 1 + sum(len(names) - size for size in range(most)) if is_greedy else total

    def told(number: int, best: InformationValue) -> bool:
        return progress is not None and bool(progress(ChoiceState(number, ahead, best)))

    worth = worth_of_sets(Asked(diagram, evidence, options), first, names)
    search = SetSearch(worth, prices, (bounds.budget, bounds.is_charged), utility_rounding(diagram), told)
    by_size = tuple(search.greedy(most) if is_greedy else search.all_sets(most))
    is_exact = search.is_proved and not is_greedy and not search.is_stopped
    stopped_by = "interrupted" if search.is_stopped else CONVERGED
    best = ranked(by_size, _net, utility_rounding(diagram))[0]
    return ObservationChoice(first, best, by_size, is_exact, is_greedy, search.num_sets, stopped_by)
