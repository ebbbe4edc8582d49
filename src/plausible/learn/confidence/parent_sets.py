"""The scores of all parent sets up to a size, and sums of them over the sets that an order, or a mask, allows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import combinations
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.data.statistics import Request
from plausible.data.table import Table, TableLike
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, TooLarge
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import FamilyScores, Score
from plausible.learn.structures.knowledge import Constraints, Knowledge

Bits = NDArray[np.int64]

#: A set of variables is one whole number, a bit for each.
_MOST_VARIABLES = 62
#: More sets are refused: their scores would take minutes.
_MOST_SETS = 2**22


class ScoredParentSets(NamedTuple):
    """All parent sets of each variable that knowledge allows, with their scores; variables go by their places."""

    names: tuple[str, ...]  # The variables, sorted
    masks: list[Bits]  # For each child its parent sets, a bit for each parent
    members: list[Bits]  # For each child the same sets as lists of places, filled up with the number of variables
    scores: list[Floats]  # For each child the scores of the sets

    def allowed(self, child: int, others: int) -> tuple[Bits, Floats]:
        """The numbers and the scores of the parent sets of a child within a set of others."""
        places = np.flatnonzero((self.masks[child] & ~others) == 0)
        return places, self.scores[child][places]

    def log_sum(self, child: int, others: int) -> float:
        """log Σ exp(score) over the parent sets within a set of others."""
        return log_sum(self.allowed(child, others)[1])


def posterior_scores(data: TableLike | FamilyScores, score: str | Score | None) -> FamilyScores:
    """The scores whose sums are log P(G) P(D | G), up to a constant: those given, or BDeu, or BGe for numbers."""
    if isinstance(data, FamilyScores):
        return data
    table = Table.read(data)
    usual = "bdeu" if not table.continuous else "conditional-gaussian-bic" if table.discrete else "bge"
    return read_score(score or usual).on(TableStatistics(table))


def score_parent_sets(scores: FamilyScores, knowledge: Knowledge | None) -> ScoredParentSets:
    """All families that knowledge allows; each call to the scores is for one set and all ways to add another parent."""
    names = tuple(sorted(scores.names))
    if len(names) > _MOST_VARIABLES:
        raise TooLarge(f"There are {len(names)} variables; sums over parent sets take {_MOST_VARIABLES} at most.")
    known = Knowledge.read(knowledge).on(names)
    columns = [_scored(scores, names, child, known) for child in range(len(names))]
    return ScoredParentSets(names, *(list(part) for part in zip(*columns, strict=True))) if names else _none()


def log_sum(logs: Floats) -> float:
    """log Σ exp; -inf of nothing."""
    top = float(logs.max(initial=-np.inf))
    return top + float(np.log(np.exp(logs - top).sum())) if top > -np.inf else top


def _none() -> ScoredParentSets:
    return ScoredParentSets((), [], [], [])


def _scored(scores: FamilyScores, names: Sequence[str], child: int, known: Constraints) -> tuple[Bits, Bits, Floats]:
    required = tuple(np.flatnonzero(known.required[:, child]).tolist())
    free = np.flatnonzero(known.allowed[:, child] & ~known.required[:, child]).tolist()
    most = min(known.max_parents - len(required), len(free))
    _check_size(names[child], len(free), most)
    sets: list[tuple[int, ...]] = [required]
    asked: list[Request] = []
    for size in range(most):
        for chosen in combinations(range(len(free)), size):
            more = range(chosen[-1] + 1 if chosen else 0, len(free))
            if len(more):
                base = (*required, *(free[place] for place in chosen))
                named = tuple(names[place] for place in base)
                asked.append(Request(names[child], named, tuple(names[free[place]] for place in more)))
                sets.extend((*base, free[place]) for place in more)
    masks = np.array([sum(1 << place for place in parents) for parents in sets], dtype=np.int64)
    members = np.full((len(sets), max(most, 0) + len(required)), len(names), dtype=np.int64)
    for row, parents in enumerate(sets):
        members[row, : len(parents)] = parents
    own = scores.families([(names[child], [names[place] for place in required])])
    found = np.concatenate([own, *scores.extended_each(asked)])
    if np.isnan(found).any() or (found == np.inf).any():
        raise InvalidArgument(f"A score of a family of {names[child]!r} is no number: it has no probability.")
    return masks, members, found


def _check_size(child: str, num_free: int, most: int) -> None:
    number = sum(math.comb(num_free, size) for size in range(most + 1))
    if number > _MOST_SETS:
        raise TooLarge(
            f"{child!r} has {number} parent sets, more than {_MOST_SETS}. Give knowledge=Knowledge(max_parents=3)."
        )
