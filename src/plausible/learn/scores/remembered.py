"""Scores of families that a checkpoint remembers: a search that is asked again goes on where no score is known."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from plausible.base import Floats, Ints, starts_of
from plausible.data.statistics import Request
from plausible.learn.scores.score import FamilyScores
from plausible.search.checkpoint import Checkpoint


class PackedScores(NamedTuple):
    """Scores of families on arrays; variables go by their places."""

    children: Ints
    starts: Ints  # where the parents of each begin, and where the last ones end
    parents: Ints
    scores: Floats


class RememberedScores(FamilyScores):
    """Scores that are asked for once each, and kept in a checkpoint; a search is a function of them alone."""

    __slots__ = ("_known", "_names", "_saved", "_scores")

    def __init__(self, scores: FamilyScores, saved: Checkpoint) -> None:
        self._scores, self._saved, self._names = scores, saved, list(scores.names)
        self._known: dict[tuple[str, frozenset[str]], float] = {}
        packed = saved.known("scores", self._packed)
        if packed is not None and len(packed.scores):
            names = np.array(self._names, dtype=object)
            families = np.split(names[packed.parents], packed.starts[1:-1])
            keys = zip(names[packed.children].tolist(), map(frozenset, families), strict=True)
            self._known = dict(zip(keys, packed.scores.tolist(), strict=True))

    @property
    def names(self) -> Sequence[str]:
        return self._names

    @property
    def are_dear(self) -> bool:
        return self._scores.are_dear

    def family(self, child: str, parents: Iterable[str]) -> float:
        """The score of a variable with these parents."""
        return float(self.families([(child, parents)])[0])

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> Floats:
        """Those that are not known are asked for together."""
        keys = [(child, frozenset(parents)) for child, parents in families]
        new = list(dict.fromkeys(key for key in keys if key not in self._known))
        if new:
            found = self._scores.families((child, sorted(parents)) for child, parents in new)
            self._learn(zip(new, found.tolist(), strict=True))
        return np.array([self._known[key] for key in keys], dtype=np.float64)

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        """Candidates that are not known are asked for together."""
        asked = []
        for request in requests:
            new = [parents[0] for child, parents in request.families if (child, frozenset(parents)) not in self._known]
            asked += [request._replace(candidates=tuple(new))] if new else []
        for request, scores in zip(asked, self._scores.extended_each(asked) if asked else (), strict=True):
            keys = ((child, frozenset(parents)) for child, parents in request.families)
            self._learn(zip(keys, scores.tolist(), strict=True))
        return [self.families(request.families) for request in requests]

    def around(self, requests: Sequence[Request]) -> list[tuple[float, Floats, Floats]]:
        """All around a family is asked for where some of it is not known."""
        asked = [request for request in requests if not all(key in self._known for key in _around(request))]
        for request, (own, added, removed) in zip(asked, self._scores.around(asked) if asked else (), strict=True):
            self._learn(zip(_around(request), [own, *added.tolist(), *removed.tolist()], strict=True))
        found = []
        for request in requests:
            scores = np.array([self._known[key] for key in _around(request)])
            num = len(request.candidates or ())
            found.append((float(scores[0]), scores[1 : 1 + num], scores[1 + num :]))
        return found

    def _learn(self, scored: Iterable[tuple[tuple[str, frozenset[str]], float]]) -> None:
        """Remember scores; what is known stays as it is, to the last bit."""
        for key, score in scored:
            self._known.setdefault(key, score)
        self._saved.grown()

    def _packed(self) -> PackedScores:
        places = {name: place for place, name in enumerate(self._names)}
        families = [sorted(places[parent] for parent in parents) for _, parents in self._known]
        return PackedScores(
            np.array([places[child] for child, _ in self._known], dtype=np.int64),
            starts_of(map(len, families)),
            np.array([parent for family in families for parent in family], dtype=np.int64),
            np.array(list(self._known.values()), dtype=np.float64),
        )


def _around(request: Request) -> list[tuple[str, frozenset[str]]]:
    """The family of a request, those with a candidate more, and those with a parent less."""
    child, parents, candidates = request
    more = [(child, frozenset((*parents, candidate))) for candidate in candidates or ()]
    less = [(child, frozenset(other for other in parents if other != gone)) for gone in parents]
    return [(child, frozenset(parents)), *more, *less]
