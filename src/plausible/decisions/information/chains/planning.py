"""The best plan to observe a chain, each observation by what the earlier ones said."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

import numpy as np

from plausible.base import Floats, Ints, Result, format_number, record
from plausible.decisions.information.chains.tables import ChainProblem, ChainScope, Rewards, read_chain_problem
from plausible.decisions.information.subsets import Limits
from plausible.errors import ImpossibleEvidence, TooLarge, UnknownVariable
from plausible.models import BayesianNetwork
from plausible.variables import State
from plausible.variables.evidence import EvidenceLike

#: Observations in a row that are printed.
_DEPTH = 3


@record(eq=False)
class ChainPlan(Result):
    """Which variable of a chain to look at next, by what was seen."""

    expected_reward: float  # The sum of the rewards that is to be expected, costs taken off where they are charged
    without: float  # And without any observation
    #: Whether no plan is better. If not, none is that divides what is left to spend at every look; one that takes from
    #: one side what the other, after a look at it, turns out not to need, could be.
    is_exact: bool
    _policy: ChainPolicy = field(repr=False)

    @property
    def value(self) -> float:
        """What looking is worth, net of its costs."""
        return self.expected_reward - self.without

    def next(self, seen: Mapping[str, State] | None = None) -> str | None:
        """The variable to look at where these, which the plan asked for, were seen; none where the plan is at its end.

        More may be given, of which the plan takes what it asks for.
        """
        return self._follow(seen or {})[1]

    def run(self, states: Mapping[str, State]) -> tuple[str, ...]:
        """The variables that the plan looks at, in order, where things are so."""
        looked, missing = self._follow(states)
        if missing is not None:
            raise UnknownVariable.named(missing, states, "these states, and the plan looks at it")
        return looked

    def _follow(self, states: Mapping[str, State]) -> tuple[tuple[str, ...], str | None]:
        """What the plan looks at, and the first variable of which the state is not given."""
        waiting, looked = [self._policy.whole], list[str]()
        while waiting:
            stretch = waiting.pop(0)
            place = self._policy.look(stretch)
            if place:
                variable = self._policy.tables.variables[place - 1]
                if variable.name not in states:
                    return tuple(looked), variable.name
                looked.append(variable.name)
                index = variable.index(states[variable.name])
                if not self._policy.probability(stretch, place)[index] > 0:
                    given = f" where {', '.join(looked[:-1])} are as given" if looked[1:] else ""
                    raise ImpossibleEvidence(f"{variable.name}={states[variable.name]} can't be{given}.")
                waiting[:0] = self._policy.rest(stretch, place, int(self._policy.tables.starts[place]) + index)
        return tuple(looked), None

    def __str__(self) -> str:
        how = "the best plan" if self.is_exact else "the best plan that divides its budget at every look"
        head = (
            f"Expected reward {format_number(self.expected_reward)} by {how}; without looking "
            f"{format_number(self.without)}."
        )
        return "\n".join([head, *self._lines((self._policy.whole,), "", 0)])

    def _lines(self, waiting: tuple[Stretch, ...], label: str, depth: int) -> Iterator[str]:
        indent = "  " * depth
        while waiting and not self._policy.look(waiting[0]):
            waiting = waiting[1:]
        if not waiting:
            yield f"{indent}{label}stop"
            return
        place = self._policy.look(waiting[0])
        variable = self._policy.tables.variables[place - 1]
        yield f"{indent}{label}look at {variable.name}{' ...' if depth == _DEPTH else ''}"
        chances = self._policy.probability(waiting[0], place)
        for index, state in enumerate(variable.states if depth < _DEPTH else ()):
            if chances[index] > 0:
                seen = int(self._policy.tables.starts[place]) + index
                rest = (*self._policy.rest(waiting[0], place, seen), *waiting[1:])
                yield from self._lines(rest, f"{variable.name}={state}: ", depth + 1)


def chain_observation_plan(
    network: BayesianNetwork,
    rewards: Rewards,
    costs: float | Mapping[str, float] | None = None,
    limits: Limits | int | None = None,
    scope: ChainScope | None = None,
    evidence: EvidenceLike | None = None,
) -> ChainPlan:
    """The best way to look at variables of a Markov chain one after the other, each by what the earlier ones said.

    A variable that is seen cuts the chain into stretches that have nothing to do with each other any more, but for a
    common budget. So the best plan for a stretch depends on the states at its ends, and is found from those for shorter
    ones. Without a limit no plan is better, nor with one where the past alone counts, so that the plan goes along the
    chain. Otherwise each look divides what is left to spend between its two sides, for good; no plan that does so is
    better, and up to two looks none at all.

    Arguments are as of `choose_chain_observations`.

    The time is that of n³ k³ numbers for n variables with k states, times the square of the units of the budget.

    Krause & Guestrin (2009), Optimal value of information in graphical models, Journal of Artificial Intelligence
    Research 35.

    Seven parts in a row, of which one that fails takes all behind it along: the plan looks in the middle first.

    >>> import plausible as pb
    >>> from plausible.decisions import Limits, NegativeEntropy
    >>> first = pb.TableCPD("P1", [0.1, 0.9], states=["out", "on"])
    >>> step = [[1, 0], [0.3, 0.7]]
    >>> others = [pb.TableCPD(f"P{i}", step, [f"P{i - 1}"], states=["out", "on"]) for i in range(2, 8)]
    >>> plan = chain_observation_plan(pb.BayesianNetwork(first, *others), NegativeEntropy(), limits=Limits(number=2))
    >>> print(plan)
    Expected reward -0.632648 by the best plan; without looking -3.57289.
    look at P4
      P4=out: look at P2
        P2=out: stop
        P2=on: stop
      P4=on: look at P6
        P6=out: stop
        P6=on: stop
    >>> plan.next(), plan.next({"P4": "on"}), plan.next({"P4": "on", "P6": "on"})
    ('P4', 'P6', None)
    """
    problem = read_chain_problem(network, rewards, costs, (limits, scope), evidence)
    policy = _Forward(problem) if problem.is_filtering else _Splitting(problem)
    is_exact = problem.is_filtering or not problem.resource.is_limiting or problem.resource.most <= 2
    return ChainPlan(policy.expected, float(problem.tables.between[0, -1]), is_exact, policy)


#: The entries of a table over pairs of states and what may be spent.
_MAX_ENTRIES = 2**25


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the chain in which nothing is seen yet."""

    left: int  # the states that it lies between, numbered through
    right: int
    available: int  # what may be spent on it


class ChainPolicy(ABC):
    """What to look at in each stretch of a chain, and what that brings."""

    def __init__(self, problem: ChainProblem) -> None:
        tables, resource = problem.tables, problem.resource
        places = {variable.name: place for place, variable in enumerate(tables.variables, 1)}
        self.tables, self.available = tables, resource.available
        # What is taken off the reward for each place: a little more than its cost, so that no look is for nothing.
        self.costs = {places[name]: cost + tables.rounding() for name, cost in problem.costs.items()}
        self.units = {places[name]: resource.units[name] for name in problem.costs}  # what looking takes of the limit
        size = int(tables.starts[-1])
        if size**2 * (resource.available + 1) > _MAX_ENTRIES:
            raise TooLarge(
                f"A plan for {size - 2} states and {resource.available} units to spend does not fit. Look at a part of "
                "the chain, or round the costs."
            )

    @property
    def whole(self) -> Stretch:
        return Stretch(0, int(self.tables.starts[-1]) - 1, self.available)

    @property
    @abstractmethod
    def expected(self) -> float:
        """The reward to be expected of all of the chain, costs taken off."""

    @abstractmethod
    def look(self, stretch: Stretch) -> int:
        """The place to look at; 0 for none."""

    @abstractmethod
    def probability(self, stretch: Stretch, place: int) -> Floats:
        """Of the states of a place within a stretch."""

    @abstractmethod
    def rest(self, stretch: Stretch, place: int, state: int) -> tuple[Stretch, ...]:
        """What is left of a stretch, in the order to go on in, where a state (numbered through) is seen in it."""


class _Forward(ChainPolicy):
    """Places are looked at in the order of the chain, each judged by what was seen up to it.

    V(x, t) = max over the next place j, or none, of E[rewards before j + reward at j - cost + V(x_j, t - units) | x].
    """

    def __init__(self, problem: ChainProblem) -> None:
        super().__init__(problem)
        tables, shape = self.tables, (int(self.tables.starts[-1]), self.available + 1)
        self._worth: Floats = np.repeat(tables.between[:, -1:], shape[1], axis=1)
        self._place: Ints = np.zeros(shape, dtype=np.int64)
        for place in range(tables.end - 1, -1, -1):
            here = tables.rows(place)
            for ahead in (other for other in self.costs if other > place):
                there, taken = tables.rows(ahead), self.units[ahead]
                reach = tables.reach[here, there]
                known = (reach * (tables.between[here, there] + tables.at[there])).sum(axis=1) - self.costs[ahead]
                worth = known[:, None] + reach @ self._worth[there, : max(self.available + 1 - taken, 0)]
                better = worth > self._worth[here, taken:]
                self._worth[here, taken:] = np.where(better, worth, self._worth[here, taken:])
                self._place[here, taken:] = np.where(better, ahead, self._place[here, taken:])

    @property
    def expected(self) -> float:
        return float(self._worth[0, -1])

    def look(self, stretch: Stretch) -> int:
        return int(self._place[stretch.left, stretch.available])

    def probability(self, stretch: Stretch, place: int) -> Floats:
        return self.tables.reach[stretch.left, self.tables.rows(place)]

    def rest(self, stretch: Stretch, place: int, state: int) -> tuple[Stretch, ...]:
        return (Stretch(state, stretch.right, stretch.available - self.units[place]),)


class _Splitting(ChainPolicy):
    """Places are looked at in any order; each divides its stretch, and what is left to spend, between its two sides.

    V(x, z, t) = max over j between, or none, of E[reward at j - cost + max_s V(x, x_j, s) + V(x_j, z, t' - s) | x, z],
    with t' = t - units.
    """

    def __init__(self, problem: ChainProblem) -> None:
        super().__init__(problem)
        tables, size, levels = self.tables, int(self.tables.starts[-1]), self.available + 1
        self._worth: Floats = np.repeat(tables.between[:, :, None], levels, axis=2)
        self._place: Ints = np.zeros((size, size, levels), dtype=np.int64)
        for width in range(2, tables.end + 1):
            for place in range(tables.end + 1 - width):
                self._settle(place, place + width)

    def _settle(self, first: int, last: int) -> None:
        """The stretches between two places; those within are settled."""
        inner = [place for place in self.costs if first < place < last]
        if not inner:
            return
        sizes = [self.tables.variables[place - 1].num_states for place in inner]
        states = np.concatenate([np.arange(*self.tables.starts[place : place + 2]) for place in inner])
        parts = np.cumsum([0, *sizes[:-1]])
        left, right = self.tables.rows(first), self.tables.rows(last)
        charged = self.tables.at[states] - np.repeat([self.costs[place] for place in inner], sizes)
        sides = _max_plus(self._worth[left][:, states], self._worth[states][:, right]) + charged[:, None, None]
        looked = np.add.reduceat(self._shares(left, states, right)[..., None] * sides, parts, axis=1)
        self._choose(np.array(inner), looked, left, right)

    def _choose(self, inner: Ints, looked: Floats, left: slice, right: slice) -> None:
        """Look at the best of some places, by what each brings (on the second axis), where that is better than none."""
        worth, chosen = self._worth[left, right], self._place[left, right]
        units = np.array([self.units[place] for place in inner.tolist()])
        for taken in np.unique(units[units <= self.available]).tolist():
            group = np.flatnonzero(units == taken)
            now = looked[:, group, :, : self.available + 1 - taken]
            best = now.argmax(axis=1)
            most = np.take_along_axis(now, best[:, None], axis=1)[:, 0]
            better = (most > worth[..., taken:]) & (self.tables.reach[left, right, None] > 0)
            worth[..., taken:] = np.where(better, most, worth[..., taken:])
            chosen[..., taken:] = np.where(better, inner[group][best], chosen[..., taken:])

    def _shares(self, left: slice | int, states: Ints | slice, right: slice | int) -> Floats:
        """The probability of states within a stretch, given its ends; axes: left, states, right."""
        reach = self.tables.reach
        joint = reach[left, states][..., None] * reach[states, right]
        total = reach[left, right][..., None, :]
        return np.divide(joint, total, out=np.zeros_like(joint), where=total > 0)

    @property
    def expected(self) -> float:
        return float(self._worth[0, -1, -1])

    def look(self, stretch: Stretch) -> int:
        return int(self._place[stretch.left, stretch.right, stretch.available])

    def probability(self, stretch: Stretch, place: int) -> Floats:
        left, right = slice(stretch.left, stretch.left + 1), slice(stretch.right, stretch.right + 1)
        return self._shares(left, self.tables.rows(place), right)[0, :, 0]

    def rest(self, stretch: Stretch, place: int, state: int) -> tuple[Stretch, ...]:
        left_over = stretch.available - self.units[place]
        before = self._worth[stretch.left, state, : left_over + 1]
        behind = self._worth[state, stretch.right, : left_over + 1][::-1]
        spent = int(np.argmax(before + behind))
        return Stretch(stretch.left, state, spent), Stretch(state, stretch.right, left_over - spent)


def _max_plus(left: Floats, right: Floats) -> Floats:
    """max_s left[x, y, s] + right[y, z, t - s], for all x, y, z and t."""
    both = left[:, :, None, :1] + right[None]
    for spent in range(1, left.shape[-1]):
        there = both[..., spent:]
        np.maximum(there, left[:, :, None, spent, None] + right[None, ..., : left.shape[-1] - spent], out=there)
    return both
