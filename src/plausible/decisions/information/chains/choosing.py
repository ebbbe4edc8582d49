"""The best set of observations along a chain, to be made all at once."""

from __future__ import annotations

from collections.abc import Mapping
from itertools import pairwise

import numpy as np

from plausible.base import Floats, Result, format_number, record
from plausible.decisions.information.chains.tables import ChainProblem, ChainScope, Rewards, read_chain_problem
from plausible.decisions.information.ranking import InformationValue
from plausible.decisions.information.subsets import Limits
from plausible.models import BayesianNetwork
from plausible.variables.evidence import EvidenceLike

#: Lines of a printed answer.
_SHOWN = 12


@record
class ChainObservations(Result):
    """The best set of observations along a chain."""

    #: The set with the largest net value within the limits; of several, one that takes the least of them.
    best: InformationValue
    #: What a set takes of the limit (its number, or its cost) -> the set, for all sets that are better than those that
    #: take less; only the best one where nothing is limited.
    by_limit: Mapping[float, InformationValue]
    expected_reward: float  # The sum of the rewards that is to be expected with the best set, costs not taken off
    without: float  # And without any observation

    def __str__(self) -> str:
        lines = [
            f"Observe {self.best} (expected reward {format_number(self.expected_reward)}, without observations "
            f"{format_number(self.without)})."
        ]
        lines += [f"{taken:g}: {chosen}" for taken, chosen in self.by_limit.items() if len(self.by_limit) > 1]
        return "\n".join(lines if len(lines) <= _SHOWN else [*lines[:_SHOWN], f"... {len(lines) - _SHOWN} more"])


def choose_chain_observations(
    network: BayesianNetwork,
    rewards: Rewards,
    costs: float | Mapping[str, float] | None = None,
    limits: Limits | int | None = None,
    scope: ChainScope | None = None,
    evidence: EvidenceLike | None = None,
) -> ChainObservations:
    """The set of variables of a Markov chain to observe, all at once: the largest expected reward within limits.

    The reward is a sum over the variables, each term a function of the distribution of one variable given all that is
    seen. A variable that is seen cuts the chain, so that the reward of others depends on the nearest that are seen on
    either side of it only, and the best set is a longest path: from each seen variable to the next one, weighted by the
    expected rewards of those between.

    The best set in general networks is out of reach (NP^PP-hard); `choose_observations` looks at all sets of a few
    variables. The time here is that of n³ k³ numbers for n variables with k states, and n² steps for each unit of the
    budget.

    Krause & Guestrin (2009), Optimal value of information in graphical models, Journal of Artificial
    Intelligence Research 35.

    Parameters
    ----------
    rewards
        What it is worth to know a variable as well as one does, for each variable or one for all: `NegativeEntropy`,
        `BestAction`, `Margin`, or any function of distributions with the states on the last axis. Variables that are
        not named have none.
    costs
        What it costs to see each variable, or a number for all; what is not named is free.
    limits
        How many may be seen, as a number; or that or what they may cost in all, as `Limits`, which also say whether
        costs are taken off the reward.
    scope
        Which variables form the chain, which can be observed, and whether the past alone counts.
    evidence
        What is known before, such as readings of sensors.

    Examples
    --------
    Five rooms in a row, each as warm as the one before it with probability 0.9; where to put two thermometers?

    >>> import plausible as pb
    >>> from plausible.decisions import Limits, NegativeEntropy
    >>> step = [[0.9, 0.1], [0.1, 0.9]]
    >>> rooms = [pb.TableCPD("R1", [0.5, 0.5]), *(pb.TableCPD(f"R{i}", step, [f"R{i - 1}"]) for i in range(2, 6))]
    >>> print(choose_chain_observations(pb.BayesianNetwork(rooms), NegativeEntropy(), limits=Limits(number=2)))
    Observe R1, R4: worth 2.65899, net 2.65899 (expected reward -0.806742, without observations -3.46574).
    0: nothing: worth 0, net 0
    1: R3: worth 1.87278, net 1.87278
    2: R1, R4: worth 2.65899, net 2.65899
    """
    search = _Search(read_chain_problem(network, rewards, costs, (limits, scope), evidence))
    by_limit = search.run()
    best = max(by_limit.values(), key=lambda chosen: chosen.net_value)
    return ChainObservations(best, by_limit, search.without + best.value, search.without)


class _Search:
    """Longest paths along the chain, for each amount that may be spent."""

    def __init__(self, problem: ChainProblem) -> None:
        tables, resource = problem.tables, problem.resource
        self.tables, self.costs, self.resource = tables, problem.costs, resource
        self.names = [variable.name for variable in tables.variables]
        self.between, self.at = tables.expected_between(), tables.expected_at()
        self.without, self.rounding = float(self.between[0, -1]), tables.rounding()
        self.expected = np.full((tables.end + 1, resource.available + 1), -np.inf)
        self.before = np.zeros(self.expected.shape, dtype=np.int64)

    def run(self) -> dict[float, InformationValue]:
        """What is spent -> the best set for it, where it is better than all for less."""
        self.expected[0] = 0.0
        for place in range(1, self.tables.end + 1):
            self._settle(place)
        ends = self.expected[-1]
        improved = np.flatnonzero(ends > np.append(-np.inf, np.maximum.accumulate(ends)[:-1]))
        return {spent * self.resource.size: self._set(spent) for spent in improved.tolist()}

    def _settle(self, place: int) -> None:
        if place == self.tables.end:
            taken, own = 0, 0.0
        elif (name := self.names[place - 1]) in self.costs:
            taken, own = self.resource.units[name], float(self.at[place]) - self.costs[name] - self.rounding
        else:
            return
        if taken > self.resource.available:
            return
        earlier = self.expected[:place, : self.resource.available + 1 - taken]
        paths: Floats = earlier + self.between[:place, place, None]
        self.before[place, taken:] = paths.argmax(axis=0)
        self.expected[place, taken:] = paths.max(axis=0) + own

    def _set(self, spent: int) -> InformationValue:
        """The set behind a number, and what it is worth by itself."""
        places: list[int] = []
        place = int(self.before[-1, spent])
        while place:
            places.insert(0, place)
            left = spent - self.resource.units[self.names[place - 1]]
            place, spent = int(self.before[place, spent]), left
        path = [0, *places, self.tables.end]
        total = sum(self.between[a, b] for a, b in pairwise(path)) + self.at[places].sum()
        value = float(total) - self.without
        names = tuple(self.names[place - 1] for place in places)
        worth = value if abs(value) > self.rounding else 0.0
        return InformationValue(names, worth, sum(self.costs[name] for name in names))
