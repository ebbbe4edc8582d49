"""The parent sets of each variable that some best graph may have, best first."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from itertools import islice
from typing import Literal

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Ints, check_count, score_noise
from plausible.data.statistics import Request
from plausible.errors import InvalidArgument, TooLarge
from plausible.graphs.mark_masks import bits
from plausible.kernels.graph_moves import find_fitting
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.exact.optimal_parents import NoBound, SupersetBound
from plausible.learn.structures.knowledge import Constraints, Knowledge
from plausible.search.run import Clock

Words = NDArray[np.uint64]

MAX_FAMILIES = 2_000_000  # More families are not scored unless a caller says so

_BASES_AT_ONCE = 64  # So many sets get one more parent between two looks at the clock

_Added = tuple[int, ...]  # A set of candidates, by their places, sorted; the required parents come on top


@dataclass(frozen=True, slots=True, eq=False)
class ParentSets:
    """Parent sets worth having: each beats all of its subsets; made by `find_parent_sets`."""

    names: tuple[str, ...]  # the variables, sorted; they go by their places here
    masks: Words  # axes: set, word. A bit for each parent
    scores: Floats  # of each set with its child; the best set of a child comes first
    firsts: Ints  # the sets of v are those from `firsts[v]` to before `firsts[v + 1]`
    missing: Floats  # for each variable: no set that was not looked at scores more; -inf where none is missing
    constraints: Constraints  # what the sets agree with
    num_families: int  # how many were scored
    #: why some sets are missing: "time limit" or "family limit"; "" where none is
    stopped_by: Literal["", "time limit", "family limit"] = ""

    def __len__(self) -> int:
        return len(self.scores)

    @property
    def is_complete(self) -> bool:
        """Whether all sets were looked at or ruled out."""
        return bool((self.missing == -np.inf).all())

    @property
    def bound(self) -> float:
        """No graph scores more: each variable with its best parents, acyclic or not."""
        return math.fsum(np.maximum(self.scores[self.firsts[:-1]], self.missing).tolist())

    def above(self, floor: float) -> ParentSets:
        """Without the sets that no graph with a score of `floor` has, all others with their best parents; if complete.

        The required parents alone stay, so that each order has its graph.
        """
        if floor == -math.inf or not self.is_complete:
            return self
        children = np.repeat(np.arange(len(self.names)), np.diff(self.firsts))
        least = self.scores[self.firsts[:-1]] - (self.bound - floor) - score_noise(floor)
        required = self.words(sum(1 << v for v in places) for places in self.constraints.required_families)
        stays = (self.scores >= least[children]) | (self.masks == required[children]).all(axis=1)
        firsts = np.concatenate(([0], np.cumsum(stays)))[self.firsts]
        return replace(self, masks=self.masks[stays], scores=self.scores[stays], firsts=firsts)

    def best(self, children: Sequence[int] | Ints, allowed: Words) -> tuple[Ints, Floats]:
        """For each child its best set within the row of allowed variables, -1 if there is none, and its score."""

        asked = np.array(children, dtype=np.int64)
        found = np.empty(len(asked), dtype=np.int64)
        find_fitting(self.masks, self.firsts, asked, np.ascontiguousarray(allowed), found)
        return found, np.where(found >= 0, self.scores[found], -np.inf)

    def parents(self, child: int, allowed: int) -> tuple[int, ...]:
        """The best parents among some, given by bits; of sets that differ by rounding the smallest, then the first."""
        row = self.words([allowed])[0]
        masks = self.masks[self.firsts[child] : self.firsts[child + 1]]
        scores = self.scores[self.firsts[child] : self.firsts[child + 1]]
        fits = np.flatnonzero(((masks & ~row) == 0).all(axis=1))
        top = float(scores[fits[0]])
        equal = [place for place in fits.tolist() if scores[place] >= top - score_noise(top)]
        return min(
            (tuple(bits(int.from_bytes(masks[place].astype("<u8").tobytes(), "little"))) for place in equal),
            key=lambda places: (len(places), places),
        )

    def words(self, masks: Iterable[int]) -> Words:
        """Sets given by bits of whole numbers, as rows of words."""
        size = 8 * self.masks.shape[1]
        packed = b"".join(mask.to_bytes(size, "little") for mask in masks)
        return np.frombuffer(packed, dtype="<u8").reshape(-1, self.masks.shape[1]).astype(np.uint64)

    def families(self, order: Sequence[int]) -> list[tuple[int, ...]]:
        """The best parents of each variable among those before it in an order."""
        found: list[tuple[int, ...]] = [()] * len(self.names)
        before = 0
        for v in order:
            found[v] = self.parents(v, before)
            before |= 1 << v
        return found


def find_parent_sets(
    scores: FamilyScores,
    knowledge: Knowledge | None = None,
    *,
    bound: SupersetBound | None = None,
    max_families: int = MAX_FAMILIES,
    may_miss: bool = False,
    time_limit: float | None = None,
) -> ParentSets:
    """Score the parent sets of all variables, by size, and keep those that beat all of their subsets.

    A set is in no best graph if one of its subsets is as good: that would do instead. Where a bound says that no set
    above some set beats the best one below it, none of them is looked at.

    Parameters
    ----------
    scores, knowledge
        Scores of families; required and forbidden edges, tiers, and how many parents there may be.
    bound
        Of the score: `PenaltyBound` for BIC and AIC, `GaussianBound` for them on numbers, `DirichletBound` for BDeu.
        Without it each of the n 2^(n - 1) families within the limit of parents is scored.
    max_families
        Score no more; `TooLarge` is raised, at once if there is neither a bound nor a time limit.
    may_miss
        Leave larger sets out instead where there are more families; `missing` says what they can score at most.
    time_limit
        After so many seconds larger sets are left out in the same way.

    Examples
    --------
    >>> class Pairs(FamilyScores):
    ...     names = ("A", "B", "C")
    ...     def family(self, child, parents): return -abs(len(list(parents)) - 1.0)
    >>> sets = find_parent_sets(Pairs())
    >>> len(sets), sets.num_families, sets.bound
    (9, 12, 0.0)
    """
    check_count("max_families", max_families)
    clock = Clock.of(time_limit)
    names = tuple(sorted(scores.names))
    constraints = Knowledge.read(knowledge).on(names)
    if bound is None and not may_miss and time_limit is None:
        free = (constraints.allowed & ~constraints.required).sum(axis=0).tolist()
        rooms = [constraints.max_parents - len(required) for required in constraints.required_families]
        num = sum(math.comb(m, size) for m, room in zip(free, rooms, strict=True) for size in range(min(m, room) + 1))
        if num > max_families:
            raise _too_large(f"{num:,}")
    lattices = [_Lattice(scores, names, v, constraints, bound or NoBound()) for v in range(len(names))]

    def stopped_by() -> Literal["", "time limit", "family limit"]:
        if sum(lattice.num_families for lattice in lattices) >= max_families:
            return "family limit"
        return "time limit" if clock.is_over else ""

    growing = [lattice for lattice in lattices if lattice.is_growing]
    while growing and not stopped_by():
        for lattice in growing:
            lattice.grow(stopped_by)
        growing = [lattice for lattice in growing if lattice.is_growing]
    reason = stopped_by() if growing else ""
    if reason == "family limit" and not may_miss:
        raise _too_large(f"more than {max_families:,}")
    return _gathered(names, constraints, lattices, reason)


class _Lattice:
    """The parent sets of one child, from small to large."""

    def __init__(
        self, scores: FamilyScores, names: Sequence[str], child: int, constraints: Constraints, bound: SupersetBound
    ) -> None:
        self._scores, self._names, self._child, self._bound = scores, names, names[child], bound
        required = constraints.required[:, child]
        self._required = tuple(np.flatnonzero(required).tolist())
        self._candidates = np.flatnonzero(constraints.allowed[:, child] & ~required).tolist()
        self._room = min(constraints.max_parents - len(self._required), len(self._candidates))
        self.kept: list[tuple[float, _Added]] = []
        self.num_families = 1
        #: the sets of the largest size looked at that may have better ones above them -> the best score up to each
        self._top: dict[_Added, float] = {}
        self._consider(self._top, (), -math.inf, scores.family(self._child, self._named(self._required)))

    @property
    def is_growing(self) -> bool:
        """Whether there may be better sets that are larger."""
        return bool(self._top) and self._room > 0

    @property
    def missing(self) -> float:
        """No set that was not looked at scores more."""
        return max(map(self._upper, self._top), default=-math.inf) if self.is_growing else -math.inf

    def grow(self, is_over: Callable[[], object]) -> None:
        """Look at the sets that have one parent more, all of whose subsets may have better ones above them.

        Where it is over before all of them were met, those met are kept, and what is above the sets below stays open.
        """
        larger: dict[_Added, float] = {}
        room = self._room
        self._room -= 1
        bases = iter(self._top.items())
        while some := list(islice(bases, _BASES_AT_ONCE)):
            if is_over():
                self._room = room
                return
            chosen = {added: more for added, best in some if (more := self._chosen(added, best))}
            found = self._scores.extended_each(
                [
                    Request(self._child, self._named((*self._required, *added)), self._named(v for v, _ in more))
                    for added, more in chosen.items()
                ]
            )
            for (added, more), scores in zip(chosen.items(), found, strict=True):
                self.num_families += len(more)
                for (v, below), score in zip(more, scores.tolist(), strict=True):
                    self._consider(larger, (*added, v), below, score)
        self._top = larger

    def _chosen(self, added: _Added, best: float) -> list[tuple[int, float]]:
        """What to add to a set, with the best score of the subsets; each larger set is met from one set only."""
        chosen = []
        for v in self._candidates:
            if not added or v > added[-1]:
                below = [self._top.get((*added[:place], *added[place + 1 :], v)) for place in range(len(added))]
                if None not in below:  # else a subset rules it out
                    chosen.append((v, max([best, *(score for score in below if score is not None)])))
        return chosen

    def _consider(self, level: dict[_Added, float], added: _Added, below: float, score: float) -> None:
        """Keep a set if it is better than those below it, and what is above it if that may be better still."""
        if math.isnan(score) or score == math.inf:
            parents = ", ".join(self._named((*self._required, *added))) or "no parents"
            raise InvalidArgument(f"The score of {self._child!r} with {parents} is {score}. Give a number or -inf.")
        if score > -math.inf and (below == -math.inf or score > below + score_noise(below)):
            self.kept.append((score, tuple(sorted((*self._required, *added)))))
        best = max(below, score)
        if self._room > 0 and self._upper(added) > best:
            level[added] = best

    def _upper(self, added: _Added) -> float:
        others = self._named(v for v in self._candidates if v not in added)
        return self._bound.above(self._child, self._named((*self._required, *added)), others)

    def _named(self, places: Iterable[int]) -> tuple[str, ...]:
        return tuple(self._names[place] for place in places)


def _gathered(
    names: tuple[str, ...],
    constraints: Constraints,
    lattices: Sequence[_Lattice],
    stopped: Literal["", "time limit", "family limit"],
) -> ParentSets:
    for name, lattice in zip(names, lattices, strict=True):
        if not lattice.kept:
            raise InvalidArgument(f"No parents of {name!r} that were looked at have a finite score.")
    ordered = [sorted(lattice.kept, key=lambda kept: (-kept[0], len(kept[1]), kept[1])) for lattice in lattices]
    sets = [kept for of_child in ordered for kept in of_child]
    masks = np.zeros((len(sets), -(-max(len(names), 1) // 64)), dtype=np.uint64)
    for row, (_, places) in zip(masks, sets, strict=True):
        for place in places:
            row[place // 64] |= np.uint64(1 << place % 64)
    scores = np.array([score for score, _ in sets], dtype=np.float64)
    firsts = np.cumsum([0, *map(len, ordered)]).astype(np.int64)
    missing = np.array([lattice.missing for lattice in lattices], dtype=np.float64)
    num_families = sum(lattice.num_families for lattice in lattices)
    return ParentSets(names, masks, scores, firsts, missing, constraints, num_families, stopped)


def _too_large(number: str) -> TooLarge:
    return TooLarge(
        f"Exact search would have to score {number} families. Limit the number of parents (max_parents), give a time "
        "limit, or take a search over orders (method 'a-star' or 'orders'), which does without the largest families "
        "and says how far from the best it can be. In Python max_families allows more of them."
    )
