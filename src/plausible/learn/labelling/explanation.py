"""Why a token has its label: what its features and the labels beside it add to the log-odds."""

from __future__ import annotations

from collections.abc import Hashable, Sequence
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, ranked
from plausible.base.records import Result, record
from plausible.base.tolerances import PROBABILITY_NOISE, SCORE_NOISE
from plausible.errors import UnknownState, suggestion
from plausible.learn.labelling.chains import Chains


@record
class Contribution(Result):
    """What one feature, or the labels on one side, says for a label against another."""

    name: str  # the feature, or "labels before", "labels after"
    value: float | None  # of the feature
    weight: float | None  # of the feature with the label
    weight_against: float | None  # of the feature with the other label
    contribution: float  # to the log-odds

    def __str__(self) -> str:
        return f"{self.contribution:+.4f} {self.name}"


@record
class Explanation(Result):
    """The log-odds of a token's label against another, as a sum of contributions."""

    _rows = "contributions"

    position: int
    label: Hashable
    against: Hashable
    probability: float  # P(label | sequence)
    probability_against: float
    log_odds: float  # log of their quotient: the sum of the contributions
    contributions: tuple[Contribution, ...]  # the greatest first, in size

    def __str__(self) -> str:
        head = (
            f"Position {self.position}: {self.label} ({self.probability:.4f}) rather than {self.against} "
            f"({self.probability_against:.4f}), log-odds {self.log_odds:.4f}"
        )
        return "\n".join([head, *(f"  {part}" for part in self.contributions)])


class TokenFeature(NamedTuple):
    """A feature of the token, its value, and its weight with each label."""

    name: str
    value: float
    weights: Floats


def explained(
    chains: Chains,
    position: int,
    features: Sequence[TokenFeature],
    start: Floats,
    classes: Sequence[Hashable],
    against: Hashable = None,
) -> Explanation:
    """The contributions to the log-odds at a position of the only sequence.

    What the score of a token has besides its features is `start`, and, in a model that normalises each label by
    itself, what follows for the next one.
    """
    if against is not None and against not in classes:
        raise UnknownState(f"against={against!r} is no label that was learned.{suggestion(against, classes)}")
    beliefs = chains.sums().beliefs[position]
    order = ranked(range(len(beliefs)), beliefs.__getitem__, PROBABILITY_NOISE)
    one, two = order[0], list(classes).index(against) if against is not None else order[min(1, len(order) - 1)]
    left, right = _sides(chains, position)
    own = sum((feature.value * feature.weights for feature in features), np.zeros(len(classes)))
    sides = {"labels before": left} if position else {"start": start}
    if position < len(chains.scores) - 1:
        sides["labels after"] = right + chains.scores[position] - own - (0.0 if position else start)
    told = [
        Contribution(name, value, float(of[one]), float(of[two]), value * float(of[one] - of[two]))
        for name, value, of in features
    ]
    told += [Contribution(name, None, None, None, float(side[one] - side[two])) for name, side in sides.items()]
    parts = ranked((part for part in told if part.contribution), lambda part: abs(part.contribution), SCORE_NOISE)
    probabilities, log_odds = (float(beliefs[one]), float(beliefs[two])), sum(part.contribution for part in parts)
    return Explanation(position, classes[one], classes[two], *probabilities, log_odds, tuple(parts))


def _sides(chains: Chains, position: int) -> tuple[Floats, Floats]:
    """Messages to a token from the left and from the right, as logarithms but for a constant."""
    scores = chains.scores.copy()
    scores[position] = 0.0
    left = Chains(np.array([0, position + 1]), scores[: position + 1].copy(), chains.transitions, 1)
    right = Chains(np.array([0, len(scores) - position]), scores[position:].copy(), chains.transitions, 1)
    with np.errstate(divide="ignore"):
        return np.log(left.sums().beliefs[-1]), np.log(right.sums().beliefs[0])
