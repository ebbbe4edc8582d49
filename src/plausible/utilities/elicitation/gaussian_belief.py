"""A Normal belief about somebody's utilities, which may age between answers."""

from __future__ import annotations

import math
from collections.abc import Hashable, Iterable, Mapping
from typing import Any, Self, TypeAlias, final

import numpy as np
import numpy.typing as npt

from plausible.base import UTILITY_NOISE, WRITTEN_ROUNDING, Floats, Result, TextTable, record
from plausible.errors import InvalidArgument, suggestion
from plausible.utilities.elicitation.beliefs import AnswerWorth, LinearQuestion, UtilityBelief, checked_noise
from plausible.utilities.elicitation.questions import Answer, Question
from plausible.utilities.lotteries.regret import DecisionSituation


@final
class GaussianUtilityBelief(UtilityBelief):
    """Utilities with a joint Normal distribution.

    Numbers told on a scale update it exactly; a choice cuts the distribution by a plane, and the Normal distribution
    with the same mean and covariance goes on (assumed-density filtering, Minka 2001). The covariance is outcomes ×
    outcomes, in the order of the mean utilities; a single number is a variance that all have, independently. The noise
    is the standard deviation of errors in answers.

    >>> belief = GaussianUtilityBelief({"tea": 0.5, "milk": 0.5}, 0.04, noise=0.1)
    >>> belief.outcomes, belief.covariance.tolist()
    (('tea', 'milk'), [[0.04, 0.0], [0.0, 0.04]])
    """

    __slots__ = ("covariance", "mean_values", "noise", "outcomes")

    mean_values: Floats
    covariance: Floats

    def __init__(self, mean: Mapping[Hashable, float], covariance: npt.ArrayLike, noise: float = 0.0) -> None:
        if len(mean) == 0:
            raise InvalidArgument("A belief needs an outcome, at least: mean={'tea': 0.5}.")
        table = checked_covariance("covariance", covariance, len(mean))
        self._fill(tuple(mean), np.array(list(mean.values()), dtype=float), table, checked_noise(noise))

    def _fill(self, outcomes: tuple[Hashable, ...], mean: Floats, covariance: Floats, noise: float) -> None:
        mean.flags.writeable = covariance.flags.writeable = False
        self.outcomes, self.mean_values, self.covariance, self.noise = outcomes, mean, covariance, noise

    @property
    def deviations(self) -> Floats:
        return np.sqrt(np.maximum(np.diagonal(self.covariance), 0.0))

    def expected_regret(self, situation: DecisionSituation) -> float:
        """E[max_a EU(a)] - max_a E[EU(a)] for two actions; for more a bound, the sum over rivals of the best."""
        chances = self.chances(situation)
        means = chances @ self.mean_values
        gaps = chances - chances[int(means.argmax())]
        spreads = np.sqrt(np.maximum(np.einsum("ao,op,ap->a", gaps, self.covariance, gaps), 0.0))
        return float(_excess(gaps @ self.mean_values, spreads).sum())

    def worth_of(self, questions: Iterable[Question], situation: DecisionSituation) -> list[AnswerWorth]:
        """What an answer to each question is expected to bring, in closed form.

        For numbers that is the knowledge gradient (Frazier, Powell & Dayanik 2009).
        """
        chances = self.chances(situation)
        return [self._worth(self.linear(question), chances) for question in questions]

    def _worth(self, asked: LinearQuestion, chances: Floats) -> AnswerWorth:
        centre, spread, cover = self._moments(asked)
        if spread == 0:
            return AnswerWorth(0.0, 0.0)
        means, slopes = chances @ self.mean_values, chances @ cover / spread
        best = int(means.argmax())
        gaps, tilts = means - means[best], slopes - slopes[best]
        power = float((tilts**2).sum())
        if not asked.is_choice:
            return AnswerWorth(_greatest_of_lines(means, slopes), power)
        up, down = _mills(centre / spread), _mills(-centre / spread)
        chance = 0.5 * math.erfc(-centre / spread / math.sqrt(2.0))
        value = chance * (gaps + tilts * up).max() + (1 - chance) * (gaps - tilts * down).max()
        variance = power * (chance * up**2 + (1 - chance) * down**2)
        return AnswerWorth(float(value), variance)

    def after(self, question: Question, answer: Answer) -> Self:
        asked = self.linear(question)
        centre, spread, cover = self._moments(asked)
        if spread == 0:
            return self
        sign = asked.sign(answer)
        if sign is None or sign == 0:
            told = 0.0 if sign == 0 else asked.reading(answer)
            shift, shrink = (told - centre) / spread, 1.0
        else:
            z = sign * centre / spread
            mills = _mills(z)
            shift, shrink = sign * mills, mills * (mills + z)
        mean = self.mean_values + cover / spread * shift
        covariance = self.covariance - np.outer(cover, cover) / spread**2 * shrink
        is_known = np.diagonal(covariance) <= UTILITY_NOISE * np.diagonal(self.covariance)
        covariance[is_known] = covariance[:, is_known] = 0.0
        changed = object.__new__(type(self))
        changed._fill(self.outcomes, mean, (covariance + covariance.T) / 2, self.noise)
        return changed

    def _moments(self, asked: LinearQuestion) -> tuple[float, float, Floats]:
        """Mean and deviation of c·U with the noise, without what rounding leaves; its covariance with the utilities."""
        cover = self.covariance @ asked.weights
        variance, size = float(asked.weights @ cover), float(np.abs(asked.weights) @ self.deviations)
        spread = math.sqrt((variance if variance > UTILITY_NOISE * size**2 else 0.0) + self.noise**2)
        return float(asked.weights @ self.mean_values), spread, cover

    def __repr__(self) -> str:
        return f"GaussianUtilityBelief({self.mean!r})"


def checked_covariance(name: str, covariance: npt.ArrayLike, size: int) -> Floats:
    """A covariance of so many utilities as a table, if it is one; a number is a variance that all have."""
    table = np.array(covariance, dtype=float)
    table = table * np.eye(size) if table.ndim == 0 else table
    if table.shape != (size, size) or not np.isfinite(table).all() or not np.allclose(table, table.T):
        raise InvalidArgument(f"{name}: give a number that is a variance, or a symmetric table of {size} x {size}.")
    if np.linalg.eigvalsh(table).min() < -WRITTEN_ROUNDING * max(1.0, float(np.abs(table).max())):
        raise InvalidArgument(f"{name}: it has a negative variance in some direction.")
    return table


def _mills(z: float) -> float:
    """φ(z) / Φ(z), the mean of a standard Normal variable above -z."""
    from scipy.special import log_ndtr

    return math.exp(-0.5 * z * z - 0.5 * math.log(2 * math.pi) - float(log_ndtr(z)))


def _excess(means: Floats, spreads: Floats) -> Floats:
    """E[max(0, X)] for X of these means and deviations; zero for the best action against itself."""
    from scipy.special import ndtr

    z = np.divide(means, spreads, out=np.zeros_like(means), where=spreads > 0)
    normal = spreads * np.exp(-0.5 * z * z) / math.sqrt(2 * math.pi) + means * ndtr(z)
    return np.where(spreads > 0, normal, np.maximum(means, 0.0))


def _greatest_of_lines(levels: Floats, slopes: Floats) -> float:
    """E[max_i (levels_i + slopes_i Z)] - max_i levels_i for a standard Normal Z, by the upper envelope of the lines."""
    order = np.lexsort((levels, slopes))
    envelope: list[int] = []
    borders: list[float] = []
    for line in order.tolist():
        while envelope:
            rise = slopes[line] - slopes[envelope[-1]]
            border = (levels[envelope[-1]] - levels[line]) / rise if rise > 0 else -math.inf
            if borders and border <= borders[-1]:
                borders.pop()
                envelope.pop()
            elif not borders and border == -math.inf:
                envelope.pop()
            else:
                borders.append(border)
                break
        envelope.append(line)
    steps = np.diff(slopes[envelope])
    distance = -np.abs(np.array(borders))
    return float((steps * _excess(distance, np.ones_like(distance))).sum()) if borders else 0.0


#: By how much variance grows in a unit of time: for every outcome, for some of them, or as a covariance.
Drift: TypeAlias = Mapping[Any, float] | npt.ArrayLike


def aged_belief(belief: GaussianUtilityBelief, time: float, drift: Drift) -> GaussianUtilityBelief:
    """What is believed after some time without an answer: U(t + Δ) = U(t) + ε with ε ~ N(0, Δ · drift).

    Utilities walk at random, so the mean stays and the covariance grows: what was settled may be worth asking again.
    The drift is the variance that a unit of time adds to each outcome; a mapping for some outcomes, which leaves
    others, such as the anchors of the scale, where they are; or a table, outcomes × outcomes.

    >>> belief = GaussianUtilityBelief({"dead": 0, "ill": 0.6, "healthy": 1}, 0.0)
    >>> aged_belief(belief, 4.0, {"ill": 0.01}).deviations.tolist()
    [0.0, 0.2, 0.0]
    """
    return _aged(belief, time, _read_drift(belief, drift))


def _aged(belief: GaussianUtilityBelief, time: float, drift: Floats) -> GaussianUtilityBelief:
    if not (time >= 0 and math.isfinite(time)):
        raise InvalidArgument(f"time={time!r}: a belief ages by a number of units of time that is not negative.")
    return GaussianUtilityBelief(belief.mean, belief.covariance + time * drift, belief.noise)


def _read_drift(belief: GaussianUtilityBelief, drift: Drift) -> Floats:
    """The growth of the covariance in a unit of time, outcomes × outcomes."""
    if isinstance(drift, Mapping):
        for outcome in drift:
            if outcome not in belief.outcomes:
                raise InvalidArgument(
                    f"drift: the belief says nothing on {outcome!r}.{suggestion(outcome, belief.outcomes)}"
                )
        drift = np.diag([float(drift.get(outcome, 0.0)) for outcome in belief.outcomes])
    return checked_covariance("drift", drift, len(belief.outcomes))


@record
class UtilityCourse(Result):
    """What was believed about somebody's utilities, and when: see `follow_utilities`.

    >>> course = follow_utilities(GaussianUtilityBelief({"ill": 0.5}, 0.04), [], drift=0.01, start=2020)
    >>> course.times, course.latest.mean, round(float(course.at(2025).covariance[0, 0]), 6)
    ((2020.0,), {'ill': 0.5}, 0.09)
    """

    times: tuple[float, ...]  # When it changed, in order; the first is the start
    beliefs: tuple[GaussianUtilityBelief, ...]  # From each of these times on, by all answers up to it
    drift: Floats  # Outcomes × outcomes: how the covariance grows in a unit of time

    @property
    def latest(self) -> GaussianUtilityBelief:
        """The belief after all answers, at the time of the last."""
        return self.beliefs[-1]

    def at(self, time: float) -> GaussianUtilityBelief:
        """The belief at a time, by the answers up to it."""
        place = int(np.searchsorted(self.times, time, side="right")) - 1
        if place < 0:
            raise InvalidArgument(f"time={time!r} lies before the start at {self.times[0]:.6g}.")
        return _aged(self.beliefs[place], time - self.times[place], self.drift)

    def __str__(self) -> str:
        rows = []
        for time, each in zip(self.times, self.beliefs, strict=True):
            pairs = zip(each.mean_values, each.deviations, strict=True)
            rows.append((f"{time:.6g}", *(f"{mean:.3f} ± {deviation:.3f}" for mean, deviation in pairs)))
        return str(TextTable(("time", *map(str, self.latest.outcomes)), tuple(rows), 1))


def follow_utilities(
    belief: GaussianUtilityBelief,
    answers: Iterable[tuple[float, Question, Answer]],
    drift: Drift,
    *,
    start: float | None = None,
) -> UtilityCourse:
    """Learn utilities that change from answers given over time: a Kalman filter on a random walk (Kalman 1960).

    Before each answer the belief ages by the time since the last one, so that old answers count less. Numbers told on a
    scale and answers of "same" are weighed exactly, choices as `GaussianUtilityBelief` does. Answers are (time,
    question, answer) in the order of time; the belief holds from `start` on, by default from the first answer. The
    drift is that of `aged_belief`.

    >>> from plausible.utilities.elicitation.questions import scale_question
    >>> asked = scale_question("ill", "dead", "healthy", (0, 100))
    >>> belief = GaussianUtilityBelief({"ill": 0.5}, 0.04, noise=0.1)
    >>> told = [(0, asked, 40), (1, asked, 42), (12, asked, 70)]
    >>> print(follow_utilities(belief, told, drift=0.002))
    time |           ill
    -----+--------------
    0    | 0.420 ± 0.089
    1    | 0.420 ± 0.071
    12   | 0.624 ± 0.085
    """
    listed = list(answers)
    if start is None and not listed:
        raise InvalidArgument("Without answers the course has no time: say when the belief holds with start=.")
    growth, began = _read_drift(belief, drift), float(listed[0][0] if start is None else start)
    times, beliefs = [began], [belief]
    for time, question, answer in listed:
        if not time >= times[-1]:
            raise InvalidArgument(
                f"The answer on {question.item!r} was given at {time!r}, before {times[-1]:.6g}: "
                f"list answers in the order of time, from the start on."
            )
        changed = _aged(beliefs[-1], time - times[-1], growth).after(question, question.read(answer))
        if time == times[-1]:
            beliefs[-1] = changed
        else:
            times.append(float(time))
            beliefs.append(changed)
    return UtilityCourse(tuple(times), tuple(beliefs), growth)
