"""What to look at in a stretch of the chain, by dynamic programming over its ends."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.decisions.information.chains.problem import ChainProblem
from plausible.errors import TooLarge

__all__ = ["ForwardPolicy", "Policy", "SplittingPolicy", "Stretch"]

#: The entries of a table over pairs of states and what may be spent.
_MAX_ENTRIES = 2**25


@dataclass(frozen=True, slots=True)
class Stretch:
    """A part of the chain in which nothing is seen yet.

    Attributes
    ----------
    left, right
        The states that it lies between, numbered through.
    available
        What may be spent on it.
    """

    left: int
    right: int
    available: int


class Policy(ABC):
    """What to look at in each stretch of a chain, and what that brings.

    Attributes
    ----------
    tables
        The chain.
    costs
        What is taken off the reward for each place that can be looked at; a little more than its cost, so that none is
        looked at for nothing.
    units
        What looking there takes of the limit.
    """

    def __init__(self, problem: ChainProblem) -> None:
        tables, resource = problem.tables, problem.resource
        places = {variable.name: place for place, variable in enumerate(tables.variables, 1)}
        self.tables, self.available = tables, resource.available
        self.costs = {places[name]: cost + tables.rounding() for name, cost in problem.costs.items()}
        self.units = {places[name]: resource.units[name] for name in problem.costs}
        size = int(tables.starts[-1])
        if size**2 * (resource.available + 1) > _MAX_ENTRIES:
            raise TooLarge(
                f"A plan for {size - 2} states and {resource.available} units to spend does not fit. Look at a part of "
                "the chain, or round the costs."
            )

    @property
    def whole(self) -> Stretch:
        """All of the chain."""
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


class ForwardPolicy(Policy):
    """Places are looked at in the order of the chain, each judged by what was seen up to it.

    V(x, t) = max over the next place j, or none, of E[rewards before j + reward at j - cost + V(x_j, t - units) | x].
    """

    def __init__(self, problem: ChainProblem) -> None:
        super().__init__(problem)
        tables, shape = self.tables, (int(self.tables.starts[-1]), self.available + 1)
        self._worth: Floats = np.repeat(tables.between[:, -1:], shape[1], axis=1)
        self._place: Ints = np.zeros(shape, dtype=np.int64)
        for place in range(tables.end - 1, -1, -1):
            self._settle(place)

    def _settle(self, place: int) -> None:
        here = self.tables.rows(place)
        for ahead in (other for other in self.costs if other > place):
            there, taken = self.tables.rows(ahead), self.units[ahead]
            reach = self.tables.reach[here, there]
            known = (reach * (self.tables.between[here, there] + self.tables.at[there])).sum(axis=1) - self.costs[ahead]
            worth = known[:, None] + reach @ self._worth[there, : max(self.available + 1 - taken, 0)]
            better = worth > self._worth[here, taken:]
            self._worth[here, taken:] = np.where(better, worth, self._worth[here, taken:])
            self._place[here, taken:] = np.where(better, ahead, self._place[here, taken:])

    @property
    def expected(self) -> float:
        """The reward to be expected of all of the chain, costs taken off."""
        return float(self._worth[0, -1])

    def look(self, stretch: Stretch) -> int:
        """The place to look at; 0 for none."""
        return int(self._place[stretch.left, stretch.available])

    def probability(self, stretch: Stretch, place: int) -> Floats:
        """Of the states of a place within a stretch."""
        return self.tables.reach[stretch.left, self.tables.rows(place)]

    def rest(self, stretch: Stretch, place: int, state: int) -> tuple[Stretch, ...]:
        """What is left of a stretch where a state is seen in it."""
        return (Stretch(state, stretch.right, stretch.available - self.units[place]),)


class SplittingPolicy(Policy):
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
        """The reward to be expected of all of the chain, costs taken off."""
        return float(self._worth[0, -1, -1])

    def look(self, stretch: Stretch) -> int:
        """The place to look at; 0 for none."""
        return int(self._place[stretch.left, stretch.right, stretch.available])

    def probability(self, stretch: Stretch, place: int) -> Floats:
        """Of the states of a place within a stretch."""
        left, right = slice(stretch.left, stretch.left + 1), slice(stretch.right, stretch.right + 1)
        return self._shares(left, self.tables.rows(place), right)[0, :, 0]

    def rest(self, stretch: Stretch, place: int, state: int) -> tuple[Stretch, ...]:
        """The two sides of a place where a state is seen there."""
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
