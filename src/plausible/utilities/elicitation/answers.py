"""What an answer says about utilities: a linear form of them, compared with zero or read with noise."""

from __future__ import annotations

import math
from collections.abc import Hashable, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.utilities.elicitation.questions import Answer, Question
from plausible.utilities.lotteries.ties import tie_room

#: Answers on a scale are told apart in so many bins.
_BINS = 512


@dataclass(frozen=True, slots=True)
class LinearQuestion:
    """Σ c(o) U(o) is asked for: its sign, by a choice, or its value.

    Examples
    --------
    >>> asked = LinearQuestion(np.array([1.0]), (), (0.0, 100.0))
    >>> asked.is_choice, asked.reading(40)
    (False, 0.4)
    """

    weights: Floats  # c, over the outcomes of a belief
    choices: tuple[str, ...]  # The words for above 0, below and at 0; empty where the value is told
    limits: tuple[float, float]  # The scale of told values, which are turned into shares of it

    @property
    def is_choice(self) -> bool:
        """Whether only the sign is told."""
        return bool(self.choices)

    def sign(self, answer: Answer) -> int | None:
        """1, -1 or 0 for a choice; `None` for a number."""
        return (1, -1, 0)[self.choices.index(str(answer))] if self.choices else None

    def reading(self, answer: Answer) -> float:
        """The value told, from 0 to 1."""
        low, high = self.limits
        return (float(answer) - low) / (high - low)

    def likelihood(self, answer: Answer, utilities: Floats, noise: float) -> Floats:
        """The likelihood of an answer under each utility function (rows).

        Without noise a choice is what its sign says, and half each way at zero.
        """
        values = self._values(utilities)
        sign = self.sign(answer)
        if sign is None or sign == 0:
            return _bell((0.0 if sign == 0 else self.reading(answer)) - values, noise)
        return _above(sign * values, noise)

    def likelihoods(self, utilities: Floats, noise: float) -> Floats:
        """Answers × functions: the probability of each answer under each; columns sum to one.

        A choice has two answers. A told value is taken in bins, which loses a little and never adds information.
        """
        values = self._values(utilities)
        if self.choices:
            above = _above(values, noise)
            return np.stack([above, 1.0 - above])
        if noise == 0:
            return _told_apart(values, tie_room(utilities))
        borders = np.linspace(values.min() - 6 * noise, values.max() + 6 * noise, _BINS + 1)[1:-1]
        below = 1.0 - _above(values - borders[:, None], noise)
        ends = np.zeros((1, values.size))
        return np.diff(np.concatenate([ends, below, ends + 1.0]), axis=0)

    def _values(self, utilities: Floats) -> Floats:
        """c·U of each function, zero where floats can't tell it from zero."""
        values = utilities @ self.weights
        return np.where(np.abs(values) <= tie_room(utilities), 0.0, values)


def _told_apart(values: Floats, room: float) -> Floats:
    """Answers × functions: one answer for all values that differ by no more than the room from one to the next."""
    different = np.unique(values)
    firsts = different[np.diff(different, prepend=-np.inf) > room]
    answers = np.searchsorted(firsts, values, side="right") - 1
    return np.asarray(np.arange(len(firsts))[:, None] == answers, dtype=float)


def _above(values: Floats, noise: float) -> Floats:
    """P(value + error > 0)."""
    if noise == 0:
        return np.where(values == 0, 0.5, (values > 0).astype(float))
    from scipy.special import ndtr

    return np.asarray(ndtr(values / noise))


def _bell(errors: Floats, noise: float) -> Floats:
    if noise == 0:
        return (np.abs(errors) <= 1e-9).astype(float)
    return np.asarray(np.exp(-0.5 * (errors / noise) ** 2) / (noise * math.sqrt(2 * math.pi)))


def linear_question(question: Question, outcomes: Sequence[Hashable]) -> LinearQuestion:
    """A question as a linear form of the utilities of these outcomes.

    The item against a gamble is U(item) - (1 - α) U(worst) - α U(best) against 0; a place on a scale is U(item), if its
    anchors have the utilities 0 and 1.

    >>> from plausible.utilities.elicitation.questions import gamble_question
    >>> linear_question(gamble_question("ill", "dead", "well", 0.75), ["dead", "ill", "well"]).weights.tolist()
    [-0.25, 1.0, -0.75]
    """
    if question.kind == "time":
        raise NotSupported("Time trade-offs are about years, not outcomes of a decision: ask gambles or scales.")
    weights = np.zeros(len(outcomes))
    parts = [(question.item, 1.0)]
    if question.kind == "gamble":
        parts += [(question.worst, question.level - 1.0), (question.best, -question.level)]
    for outcome, weight in parts:
        if outcome not in outcomes:
            raise InvalidArgument(f"The belief says nothing on {outcome!r}.{suggestion(outcome, outcomes)}")
        weights[list(outcomes).index(outcome)] += weight
    return LinearQuestion(weights, question.choices, question.limits)
