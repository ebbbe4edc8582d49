"""How probable graphs are beforehand, added to any score."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import ClassVar, NamedTuple

import numpy as np

from plausible.base import Floats
from plausible.data.statistics import Request, Statistics
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.scores.score import FamilyScores, Score


class EdgeWeights(NamedTuple):
    """The logarithm of a prior, up to what all graphs share: a number for each family and each edge."""

    family: float  # for a family without parents
    edges: Floats  # by parent and child, what an edge adds


class StructurePrior(ABC):
    """A distribution over graphs in which edges count independently of each other."""

    __slots__ = ()

    @property
    @abstractmethod
    def is_even(self) -> bool:
        """Whether all edges count the same."""

    @abstractmethod
    def weights(self, names: Sequence[str]) -> EdgeWeights:
        """The logarithm of the prior for graphs on these names."""


@dataclass(frozen=True, slots=True)
class EdgePenalty(StructurePrior):
    """P(G) ∝ c^|E|: each edge makes a graph less probable by a factor c, in (0, 1]; 1 is the uniform prior."""

    factor: float
    is_even: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not 0 < self.factor <= 1:
            raise InvalidArgument(f"An edge makes graphs less probable: factor is in (0, 1], not {self.factor}.")

    def weights(self, names: Sequence[str]) -> EdgeWeights:
        return EdgeWeights(0.0, np.full((len(names), len(names)), math.log(self.factor)))


@dataclass(frozen=True, slots=True)
class ExpectedParents(StructurePrior):
    """Each of the n - 1 others is a parent with probability β = m / (n - 1): ln P = Σ k ln β + (n - 1 - k) ln(1 - β).

    m is how many parents a variable is expected to have.
    """

    num_parents: float = 1.0
    is_even: ClassVar[bool] = True

    def __post_init__(self) -> None:
        if not self.num_parents > 0:
            raise InvalidArgument(f"The expected number of parents is positive, not {self.num_parents}.")

    def weights(self, names: Sequence[str]) -> EdgeWeights:
        others = len(names) - 1
        if others < 1:
            return EdgeWeights(0.0, np.zeros((len(names), len(names))))
        if self.num_parents >= others:
            raise InvalidArgument(
                f"{self.num_parents} parents are expected, but with {len(names)} variables there are at most {others}. "
                "Expect fewer."
            )
        share = self.num_parents / others
        odds = math.log(share) - math.log1p(-share)
        return EdgeWeights(others * math.log1p(-share), np.full((len(names), len(names)), odds))


@dataclass(frozen=True, slots=True)
class EdgeLogOdds(StructurePrior):
    """ln P(G) = Σ over its edges of their log odds, as an expert gives them.

    They are given by (parent, child), positive where an edge is expected, and `others` for edges that are not listed.

    >>> from plausible.learn.scores.penalized import BIC
    >>> score = WithPrior(BIC(), EdgeLogOdds({("rain", "grass"): 2.0}))
    >>> scores = score.on_data({"rain": ["no", "yes", "no"], "grass": ["dry", "wet", "wet"]})
    >>> round(scores.family("grass", ["rain"]), 4)
    -0.4849
    """

    edges: Mapping[tuple[str, str], float] = field(default_factory=dict)
    others: float = 0.0
    is_even: ClassVar[bool] = False

    def weights(self, names: Sequence[str]) -> EdgeWeights:
        places = {name: place for place, name in enumerate(names)}
        edges = np.full((len(names), len(names)), float(self.others))
        for pair, odds in self.edges.items():
            UnknownVariable.check_all(pair, places, "the data, though the prior on edges names it")
            edges[places[pair[0]], places[pair[1]]] = odds
        return EdgeWeights(0.0, edges)


@dataclass(frozen=True, slots=True)
class WithPrior(Score):
    """A score to which the logarithm of a structure prior is added."""

    score: Score
    prior: StructurePrior

    @property
    def is_score_equivalent(self) -> bool:
        return self.score.is_score_equivalent and self.prior.is_even

    def on(self, statistics: Statistics) -> FamilyScores:
        return _WeightedScores(self.score.on(statistics), self.prior)


class _WeightedScores(FamilyScores):
    def __init__(self, scores: FamilyScores, prior: StructurePrior) -> None:
        self._scores, self._weights = scores, prior.weights(scores.names)
        self._places = {name: place for place, name in enumerate(scores.names)}

    @property
    def names(self) -> Sequence[str]:
        return self._scores.names

    def family(self, child: str, parents: Iterable[str]) -> float:
        known = list(dict.fromkeys(parents))
        return self._scores.family(child, known) + self._prior(child, known)

    def families(self, families: Iterable[tuple[str, Iterable[str]]]) -> Floats:
        listed = [(child, list(dict.fromkeys(parents))) for child, parents in families]
        return self._scores.families(listed) + [self._prior(child, parents) for child, parents in listed]

    def extended_each(self, requests: Sequence[Request]) -> list[Floats]:
        return [self._added(*pair) for pair in zip(requests, self._scores.extended_each(requests), strict=True)]

    def around(self, requests: Sequence[Request]) -> list[tuple[float, Floats, Floats]]:
        found = []
        for request, (score, added, removed) in zip(requests, self._scores.around(requests), strict=True):
            prior = self._prior(request.child, request.parents)
            removed = removed + prior - self._edges(request.child, request.parents)
            found.append((score + prior, self._added(request, added), removed))
        return found

    def _added(self, request: Request, scores: Floats) -> Floats:
        more = self._edges(request.child, request.candidates or ())
        return scores + self._prior(request.child, request.parents) + more

    def reduced(self, child: str, parents: Sequence[str]) -> Floats:
        return self._scores.reduced(child, parents) + self._prior(child, parents) - self._edges(child, parents)

    def _prior(self, child: str, parents: Sequence[str]) -> float:
        return self._weights.family + math.fsum(self._edges(child, parents))

    def _edges(self, child: str, parents: Sequence[str]) -> Floats:
        return self._weights.edges[[self._places[parent] for parent in parents], self._places[child]]
