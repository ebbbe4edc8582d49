"""By how much each of some variables improves a family as another parent, scored many at once and remembered."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import islice
from typing import NamedTuple

import numpy as np

from plausible.base import Floats, Ints
from plausible.data.statistics import Request
from plausible.graphs.mark_masks import bits
from plausible.learn.scores.score import FamilyScores
from plausible.search.run import Clock

_BASES_AT_ONCE = 64  # Families with so many sets of parents are scored between two looks at the clock
_MAX_KEPT = 2**24  # At most so many gains are kept


class TimeIsUp(Exception):
    """The deadline passed while moves were scored."""


class Gains(NamedTuple):
    """What each of some variables adds to the score of a family."""

    others: int  # the variables, as bits
    values: Floats  # in their order


class FamilyGains:
    """The gains that were asked for so far; variables go by their places among the names."""

    def __init__(self, scores: FamilyScores, names: Sequence[str], clock: Clock) -> None:
        self._scores, self._names, self._clock = scores, names, clock
        self._known: dict[tuple[int, int], Gains] = {}
        self._num_kept = 0

    def look_at_clock(self) -> None:
        """Raise `TimeIsUp` after the deadline."""
        if self._clock.is_over:
            raise TimeIsUp

    def score(self, wanted: Mapping[tuple[int, int], int]) -> None:
        """Score what is not known yet: for each child and set of parents the other variables that are wanted."""
        if self._num_kept > _MAX_KEPT:
            self._known.clear()
            self._num_kept = 0
        new = {family: others & ~self._others_of(family) for family, others in wanted.items()}
        left = ((family, others) for family, others in new.items() if others)
        while some := list(islice(left, _BASES_AT_ONCE)):
            self.look_at_clock()
            asked = [
                Request(self._names[child], self._named(parents), self._named(others))
                for (child, parents), others in some
            ]
            before = self._scores.families((request.child, request.parents) for request in asked).tolist()
            found = self._scores.extended_each(asked)
            for (family, others), own, after in zip(some, before, found, strict=True):
                values = np.subtract(after, own, out=np.zeros(len(after)), where=after != own)  # none from -inf to -inf
                self._keep(family, Gains(others, values))

    def of(self, child: int, parents: int, others: int) -> tuple[Ints, Floats]:
        """The places of variables that were scored, and what each of them adds."""
        known = self._known[child, parents]
        places = places_of(others, len(self._names))
        if known.others == others:
            return places, known.values
        return places, known.values[np.searchsorted(places_of(known.others, len(self._names)), places)]

    def _others_of(self, family: tuple[int, int]) -> int:
        return self._known[family].others if family in self._known else 0

    def _keep(self, family: tuple[int, int], gains: Gains) -> None:
        self._num_kept += len(gains.values)
        if old := self._known.get(family):
            num = len(self._names)
            places = np.concatenate([places_of(old.others, num), places_of(gains.others, num)])
            values = np.concatenate([old.values, gains.values])[np.argsort(places)]
            gains = Gains(old.others | gains.others, values)
        self._known[family] = gains

    def _named(self, mask: int) -> tuple[str, ...]:
        return tuple(self._names[place] for place in bits(mask))


def mask_of(places: Ints) -> int:
    """Places as bits."""
    return sum(1 << place for place in places.tolist())


def places_of(mask: int, size: int) -> Ints:
    """The positions of the ones among so many bits, in order."""
    octets = np.frombuffer(mask.to_bytes(-(-size // 8), "little"), dtype=np.uint8)
    return np.flatnonzero(np.unpackbits(octets, bitorder="little"))
