"""What the variables outside a set can earn at most: cycles are forbidden within groups of variables only."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from plausible.learn.structures.exact.parent_sets import ParentSets

__all__ = ["PatternBounds"]

#: Variables in a group: its table has 2^8 entries.
_GROUP_SIZE = 8


@dataclass(frozen=True, slots=True, eq=False)
class PatternBounds:
    """Upper bounds of what is left to earn, added up over groups of variables.

    Of a group, those left in a set U are put in the best order, where all variables outside of the group may be
    parents: entry(U) = max over v in U of best(v, all but U) + entry(U - v). With groups of one variable that is the
    best family of each, acyclic or not.

    Attributes
    ----------
    groups
        The variables of each group.
    entries
        For each group a number for each subset of it: bit i stands for its variable i.

    References
    ----------
    Yuan & Malone (2012), An improved admissible heuristic for learning optimal Bayesian networks, UAI.
    """

    groups: tuple[tuple[int, ...], ...]
    entries: tuple[tuple[float, ...], ...]

    @classmethod
    def of(cls, sets: ParentSets) -> PatternBounds:
        """Groups of variables that want each other as parents, and their tables."""
        groups = _groups(sets)
        return cls(groups, tuple(_entries(sets, group) for group in groups))

    def upper(self, chosen: int) -> float:
        """What the variables outside a set can earn at most, once those inside are there."""
        total = 0.0
        for group, entries in zip(self.groups, self.entries, strict=True):
            left = 0
            for bit, v in enumerate(group):
                left |= (~chosen >> v & 1) << bit
            total += entries[left]
        return total


def _entries(sets: ParentSets, group: Sequence[int]) -> tuple[float, ...]:
    everything = (1 << len(sets.names)) - 1
    lefts = [(left, bit) for left in range(1, 1 << len(group)) for bit in range(len(group)) if left >> bit & 1]
    allowed = [everything & ~sum(1 << v for b, v in enumerate(group) if left >> b & 1) for left, _ in lefts]
    scores = sets.best([group[bit] for _, bit in lefts], sets.words(allowed))[1].tolist()
    entries = [0.0] + [-float("inf")] * ((1 << len(group)) - 1)
    for (left, bit), score in zip(lefts, scores, strict=True):
        entries[left] = max(entries[left], score + entries[left ^ (1 << bit)])
    return tuple(entries)


def _groups(sets: ParentSets) -> tuple[tuple[int, ...], ...]:
    """Grow each group by the variable with the most edges to it among the best families of all."""
    num = len(sets.names)
    wanted = [set(sets.parents(v, (1 << num) - 1)) for v in range(num)]
    left = list(range(num))
    groups = []
    while left:
        group = [left.pop(0)]
        while left and len(group) < _GROUP_SIZE:
            ties = [sum((u in wanted[v]) + (v in wanted[u]) for u in group) for v in left]
            group.append(left.pop(ties.index(max(ties))))
        groups.append(tuple(group))
    return tuple(groups)
