"""What decides an aggregate: sums over its parents, and the smallest chain of states that carries them."""

from __future__ import annotations

from abc import ABC, abstractmethod
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import Any, Literal, Self, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Flags, Positions
from plausible.errors import TooLarge

Ties: TypeAlias = Literal["lower", "upper"]
#: Whole numbers: of NumPy where they are small enough, else of Python, so that nothing is ever rounded.
Wholes: TypeAlias = npt.NDArray[Any]

#: The sums after all parents of a chain, for each sum before and state of the parent, are no more numbers.
MAX_SUMS = 2**24
#: The factors of a chain have no more entries.
MAX_ENTRIES = 2**26
_LARGEST_INTEGER = 2**62


@dataclass(frozen=True, slots=True)
class Summary(ABC):
    """An aggregate as a function of sums over its parents: Y = f(Σ_i s(x_i)), no sum higher than its `cap`."""

    @property
    @abstractmethod
    def steps(self) -> Wholes:
        """s(x), a row of at least zero for each state of a parent: shape `(states, sums)`."""

    @abstractmethod
    def results(self, sums: Wholes) -> Positions:
        """f: the position of Y for each row of sums."""

    @property
    def cap(self) -> int | None:
        """A sum that is reached is as good as any higher one."""
        return None

    def told(self, result: int) -> tuple[Summary, int]:
        """A summary that at least says whether Y has this position, and the result by which it does."""
        return self, result

    def added(self, sums: Wholes, steps: Wholes) -> Wholes:
        """Sums, and what is added to them."""
        total: Wholes = sums + steps
        return total if self.cap is None else np.minimum(total, self.cap)


@dataclass(frozen=True, slots=True)
class Ranked(Summary):
    """The parents' state of some rank, from the lowest: how many parents are up to each state, or above it."""

    num_states: int
    num_parents: int
    rank: int  # from 1 on
    thresholds: tuple[int, ...]  # the states j about which it matters whether Y > j

    @classmethod
    def of(cls, num_states: int, num_parents: int, rank: int) -> Self:
        """All states of Y told apart."""
        return cls(num_states, num_parents, rank, tuple(range(num_states - 1)))

    @property
    def _from_top(self) -> bool:
        return 2 * self.rank > self.num_parents + 1

    @property
    def cap(self) -> int:
        """Y > j where this many parents are above j, Y ≤ j where this many are up to j: whichever is fewer."""
        return self.num_parents - self.rank + 1 if self._from_top else self.rank

    @property
    def steps(self) -> Wholes:
        is_above = np.arange(self.num_states)[:, None] > np.array(self.thresholds, dtype=np.int64)
        return np.asarray(is_above == self._from_top, dtype=np.int64)

    def results(self, sums: Wholes) -> Positions:
        return np.asarray(((sums >= self.cap) == self._from_top).sum(axis=-1))

    def told(self, result: int) -> tuple[Ranked, int]:
        """Y = j: above j - 1 and not above j."""
        near = tuple(threshold for threshold in self.thresholds if threshold in (result - 1, result))
        return replace(self, thresholds=near), int(result > 0)


@dataclass(frozen=True, slots=True)
class Counted(Summary):
    """How many parents are in some of the states, up to a number that stands for itself and all higher ones."""

    is_counted: tuple[bool, ...]  # for each state
    most: int

    @property
    def cap(self) -> int:
        """The last number."""
        return self.most

    @property
    def steps(self) -> Wholes:
        return np.array(self.is_counted, dtype=np.int64)[:, None]

    def results(self, sums: Wholes) -> Positions:
        return np.asarray(np.minimum(sums[..., 0], self.most))

    def told(self, result: int) -> tuple[Counted, int]:
        """What is more than the result need not be counted further."""
        return replace(self, most=min(self.most, result + 1)), result


@dataclass(frozen=True, slots=True)
class Averaged(Summary):
    """The state whose number is nearest to the mean; in whole numbers, so that ties are ties on any machine."""

    values: tuple[int, ...]  # of each state; the lowest is zero
    num_parents: int
    ties: Ties

    @property
    def steps(self) -> Wholes:
        is_small = max(self.values) * self.num_parents < _LARGEST_INTEGER
        return np.array(self.values, dtype=np.int64 if is_small else object)[:, None]

    def results(self, sums: Wholes) -> Positions:
        return _first_or_last(-np.abs(self.steps[:, 0] * self.num_parents - sums), self.ties)


@dataclass(frozen=True, slots=True)
class MostFrequent(Summary):
    """The state that most parents have: how many have each."""

    num_states: int
    ties: Ties

    @property
    def steps(self) -> Wholes:
        return np.eye(self.num_states, dtype=np.int64)

    def results(self, sums: Wholes) -> Positions:
        return _first_or_last(sums, self.ties)


def _first_or_last(numbers: Wholes, ties: Ties) -> Positions:
    """The position of the largest number of each row: of equal ones the first, or the last."""
    if ties == "lower":
        return np.asarray(numbers.argmax(axis=-1))
    return np.asarray(numbers.shape[-1] - 1 - numbers[..., ::-1].argmax(axis=-1))


# --- chains ---


@lru_cache(maxsize=256)
def links(
    summary: Summary, num_parents: int, start: tuple[int, ...], result: int | None, num_results: int
) -> tuple[Positions, ...]:
    """What is known of Y after each of some parents, in as few states as can be: the smallest layered automaton.

    Link i holds, for each state before parent i (rows) and each state of that parent (columns), the state after it; -1
    where the `result` that is asked for can't come out any more. Rows that are -1 altogether are left out, also the
    only one before the first parent. States after the last parent are the positions of Y, or one, if there is a
    `result`. States before a parent are one where all that may follow ends alike.

    Parameters
    ----------
    num_parents
        How many parents are to come, at least one.
    start
        The sums over all others.
    num_results
        The states of Y.

    Raises
    ------
    TooLarge
        Where there is too much to be told apart.
    """
    layer, steps = np.array([start], dtype=summary.steps.dtype), summary.steps
    forward: list[Positions] = []
    num_sums = 0
    for place in range(1, num_parents + 1):
        num_sums += len(layer) * steps.size
        if num_sums > MAX_SUMS:
            raise TooLarge(f"{len(layer)} sums over the first {place - 1} of them have to be told apart.")
        after = summary.added(layer[:, None, :], steps)
        layer, link = _distinct(after.reshape(len(layer) * len(steps), steps.shape[1]))
        forward.append(link.reshape(-1, len(steps)))
    states = summary.results(layer)
    if result is not None:
        states = np.where(states == result, 0, -1)
    backward: list[Positions] = []
    num_after, num_entries = num_results if result is None else 1, 0
    for link in reversed(forward):
        rows = states[link]
        is_possible = (rows >= 0).any(axis=1)
        states = np.full(len(rows), -1)
        smallest, states[is_possible] = _distinct(rows[is_possible])
        smallest.setflags(write=False)
        backward.append(smallest)
        num_entries += smallest.size * num_after
        num_after = len(smallest)
        if num_entries > MAX_ENTRIES:
            raise TooLarge(f"The last {len(backward)} of its factors would have {num_entries:.3g} entries.")
    return tuple(reversed(backward))


def _distinct(rows: Wholes) -> tuple[Wholes, Positions]:
    """The distinct rows in order, and for each row which of them it is."""
    if rows.shape[1] == 1:
        values, inverse = np.unique(rows[:, 0], return_inverse=True)
        return values[:, None], inverse
    lowest = int(rows.min(initial=0))
    base = int(rows.max(initial=0)) - lowest + 1
    if base ** rows.shape[1] >= _LARGEST_INTEGER:
        distinct, inverse = np.unique(rows, axis=0, return_inverse=True)
        return distinct, inverse.reshape(-1)
    keys = (rows - lowest) @ base ** np.arange(rows.shape[1] - 1, -1, -1, dtype=np.int64)
    _, first, inverse = np.unique(keys, return_index=True, return_inverse=True)
    return rows[first], inverse


def is_decided(chain: tuple[Positions, ...], num_parents: int) -> Flags:
    """For each state after so many parents: whether the result is the same, whatever the others are."""
    results: Flags = np.eye(int(chain[-1].max()) + 1, dtype=bool)
    for link in reversed(chain[num_parents:]):
        results = np.asarray(results[link].any(axis=1))
    return np.asarray(results.sum(axis=1) == 1)
