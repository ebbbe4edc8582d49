"""Utilities that change over time: a belief that ages between answers."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from typing import Any, TypeAlias

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.base.display import TextTable
from plausible.base.records import record
from plausible.errors import InvalidArgument, suggestion
from plausible.utilities.elicitation.gaussian_belief import GaussianUtilityBelief, checked_covariance
from plausible.utilities.elicitation.questions import Answer, Question

#: By how much variance grows in a unit of time: for every outcome, for some of them, or as a covariance.
Drift: TypeAlias = Mapping[Any, float] | npt.ArrayLike


def aged_belief(belief: GaussianUtilityBelief, time: float, drift: Drift) -> GaussianUtilityBelief:
    """What is believed after some time without an answer: U(t + Δ) = U(t) + ε with ε ~ N(0, Δ · drift).

    Utilities walk at random, so the mean stays and the covariance grows: what was settled may be worth asking again.

    Parameters
    ----------
    belief
        What was believed before.
    time
        Δ, not negative.
    drift
        The variance that a unit of time adds to each outcome; a mapping for some outcomes, which leaves others, such as
        the anchors of the scale, where they are; or a table, outcomes × outcomes.

    Examples
    --------
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
class UtilityCourse:
    """What was believed about somebody's utilities, and when: see `follow_utilities`.

    Examples
    --------
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
        rows = tuple(
            (
                f"{time:.6g}",
                *(f"{mean:.3f} ± {d:.3f}" for mean, d in zip(each.mean_values, each.deviations, strict=True)),
            )
            for time, each in zip(self.times, self.beliefs, strict=True)
        )
        return str(TextTable(("time", *map(str, self.latest.outcomes)), rows, 1))


def follow_utilities(
    belief: GaussianUtilityBelief,
    answers: Iterable[tuple[float, Question, Answer]],
    drift: Drift,
    *,
    start: float | None = None,
) -> UtilityCourse:
    """Learn utilities that change from answers given over time: a Kalman filter on a random walk (Kalman 1960).

    Before each answer the belief ages by the time since the last one, so that old answers count less. Numbers told on a
    scale and answers of "same" are weighed exactly, choices as `GaussianUtilityBelief` does.

    Parameters
    ----------
    belief
        What is believed at the start.
    answers
        (time, question, answer), in the order of time.
    drift
        As for `aged_belief`.
    start
        When the belief holds; by default at the time of the first answer.

    Examples
    --------
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
