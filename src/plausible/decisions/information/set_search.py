"""Sets of observations within a budget, and what each of them is worth."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator, Mapping
from itertools import combinations
from typing import TYPE_CHECKING, NamedTuple, TypeAlias

from plausible.decisions.information.observing import observing
from plausible.decisions.information.ranking import InformationValue
from plausible.decisions.information.tables import seen_tables
from plausible.decisions.information.value import gain
from plausible.decisions.solving.options import Options
from plausible.decisions.solving.solve import solve
from plausible.errors import TooLarge
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["SetSearch", "Told", "Value", "Worth", "worth_of_sets"]

#: Sets of variables with at most this many joint entries are kept in one table.
_MAX_TABLE = 2**16


class Value(NamedTuple):
    """What a diagram is worth, and whether that is proved to be the maximum."""

    expected_utility: float
    is_proved: bool


#: What a diagram is worth where a set of variables is seen.
Worth: TypeAlias = Callable[[tuple[str, ...]], Value]
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

    def found(self, names: tuple[str, ...]) -> InformationValue | None:
        """The value of a set; none where it costs too much, or the search is stopped."""
        cost = math.fsum(self.costs[name] for name in names)
        if self.is_stopped or cost > self.budget * (1 + 1e-12):
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
            sets = [found for names in combinations(self.costs, size) if (found := self.found(names)) is not None]
            if sets:
                yield max(sets, key=_net)

    def greedy(self, most: int) -> Iterator[InformationValue]:
        """Sets that grow by the best variable at a time; past sets that are worse, as two may help together."""
        chosen: InformationValue | None = self.found(())
        while chosen is not None:
            yield chosen
            left = [name for name in self.costs if name not in chosen.variables and len(chosen.variables) < most]
            grown = [found for name in left if (found := self.found((*chosen.variables, name))) is not None]
            chosen = max(grown, key=_net, default=None)


def _net(found: InformationValue) -> float:
    return found.net_value


def worth_of_sets(
    diagram: InfluenceDiagram,
    decision: str,
    names: tuple[str, ...],
    evidence: EvidenceLike | None,
    options: Options | None,
) -> Worth:
    """A function from what is seen to MEU."""
    new = [name for name in names if name not in diagram.decisions[decision].sees]
    size = math.prod(diagram.variables[name].num_states for name in (*new, *diagram.decisions[decision].sees))
    if len(diagram.decisions) == 1 and size <= _MAX_TABLE and all(name in diagram.chance for name in new):
        try:
            (table,) = seen_tables(diagram, decision, [new], evidence, 64 * _MAX_TABLE)
        except TooLarge:
            pass
        else:
            place = {name: number for number, name in enumerate(new)}
            return lambda seen: Value(table.expected_utility({place[name] for name in seen if name in place}), True)

    def solved(seen: tuple[str, ...]) -> Value:
        solution = solve(observing(diagram, seen, decision), "auto", evidence, options)
        return Value(solution.expected_utility, solution.is_optimal)

    return solved
