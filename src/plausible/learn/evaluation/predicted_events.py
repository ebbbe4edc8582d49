"""How good predicted probabilities of an event are: whether they rank cases first (ROC), and whether they come true."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import field
from statistics import NormalDist
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base import PROBABILITY_NOISE, Flags, Floats, Ints, Result, chart_by, check_count, counted, record, shown
from plausible.errors import InvalidArgument
from plausible.variables import State

if TYPE_CHECKING:
    import pandas as pd

    from plausible.base.pictured import Axes, Chart

#: The level of the intervals of observed shares.
_LEVEL = 0.9


@record(eq=False)
class RocCurve(Result):
    """What share of the cases is found, by what share of the others is taken for one."""

    _told = ("event", "area", "num_cases", "num_others")

    event: State  # What a case is
    false_positives: Floats = field(repr=False)  # The share of others at or above each threshold
    true_positives: Floats = field(repr=False)  # The share of cases at or above it
    thresholds: Floats = field(repr=False)  # Infinite, then all different probabilities, falling
    num_cases: int
    num_others: int

    @property
    def area(self) -> float:
        """The probability that a case has a larger probability than another row; half of ties count."""
        return float(np.trapezoid(self.true_positives, self.false_positives))

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw the curve; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_roc", self, ax)

    def __str__(self) -> str:
        return f"area {self.area:.4g} for {self.event}, {counted(self.num_cases, 'case')}, {self.num_others} others"


@record(eq=False)
class Calibration(Result):
    """How often an event came about where its predicted probability was about so large."""

    _told = ("event", "predicted", "observed", "counts", "intervals")
    _also = ("expected_error",)

    event: State  # What was predicted
    predicted: Floats  # The mean predicted probability of each bin that has rows
    observed: Floats  # The share of its rows in which the event came about
    counts: Ints  # Its number of rows
    intervals: Floats  # [bin, end]: where the share may lie (Wilson's interval, 90 %)
    brier_score: float  # The mean squared distance of predictions from what came about

    @property
    def expected_error(self) -> float:
        """The mean distance of predicted and observed shares, a row at a time."""
        return float(np.average(np.abs(self.predicted - self.observed), weights=self.counts))

    def plot(self, ax: Axes | None = None) -> Chart:
        """Draw observed against predicted; it needs matplotlib (the extra `plot`)."""
        return chart_by("plot_calibration", self, ax)

    def __str__(self) -> str:
        lines = [f"{self.event}: Brier score {self.brier_score:.4g}, expected error {self.expected_error:.4g}"]
        rows = zip(self.predicted, self.observed, self.counts, strict=True)
        return "\n".join(
            [*lines, *(f"predicted {p:.3f}, observed {o:.3f} in {counted(int(n), 'row')}" for p, o, n in rows)]
        )


def roc_curve(truth: Sequence[State], probabilities: pd.DataFrame | npt.ArrayLike, event: State) -> RocCurve:
    """The ROC curve of predicted probabilities of one event.

    Parameters
    ----------
    truth
        The state of each row.
    probabilities
        P(event) of each row; or a frame with a column for each state, as `predict_proba` of a compiled model gives.

    Examples
    --------
    >>> roc_curve(["ill", "ill", "well", "well"], [0.9, 0.4, 0.6, 0.1], "ill").area
    0.75
    """
    is_case, chance = _read(truth, probabilities, event)
    num_cases = int(is_case.sum())
    if num_cases in (0, len(is_case)):
        raise InvalidArgument(f"A ROC curve needs rows with {shown(event)} and rows with another state.")
    order = np.argsort(-chance, kind="stable")
    ends = np.flatnonzero(np.append(np.diff(chance[order]) != 0, True))
    found = np.cumsum(is_case[order])[ends]
    taken = ends + 1 - found
    num_others = len(is_case) - num_cases
    wrong, right = np.append(0.0, taken / num_others), np.append(0.0, found / num_cases)
    return RocCurve(event, wrong, right, np.append(np.inf, chance[order][ends]), num_cases, num_others)


def calibration(
    truth: Sequence[State], probabilities: pd.DataFrame | npt.ArrayLike, event: State, num_bins: int = 10
) -> Calibration:
    """Compare predicted probabilities of an event with how often it came about, in bins of equal width.

    Parameters
    ----------
    truth, probabilities
        As of `roc_curve`.
    num_bins
        Into how many parts 0 to 1 is cut; those without rows are left out.

    Examples
    --------
    >>> print(calibration(["yes", "no", "yes", "yes"], [0.6, 0.55, 0.9, 0.95], "yes", num_bins=2))
    yes: Brier score 0.1188, expected error 0
    predicted 0.750, observed 0.750 in 4 rows
    """
    check_count("num_bins", num_bins, 1)
    is_case, chance = _read(truth, probabilities, event)
    places = np.minimum((chance * num_bins).astype(np.int64), num_bins - 1)
    counts = np.bincount(places, minlength=num_bins)
    used = counts > 0
    sums = (np.bincount(places, weights, num_bins)[used] for weights in (chance, is_case.astype(np.float64)))
    predicted, observed = (total / counts[used] for total in sums)
    brier = float(np.square(chance - is_case).mean())
    return Calibration(event, predicted, observed, counts[used], _wilson(observed, counts[used]), brier)


class _Predictions(NamedTuple):
    is_case: Flags
    chance: Floats


def _read(truth: Sequence[State], probabilities: Any, event: State) -> _Predictions:
    chance = np.asarray(probabilities[event] if hasattr(probabilities, "columns") else probabilities, dtype=np.float64)
    states = np.asarray(truth, dtype=object)
    if chance.ndim != 1 or chance.shape != states.shape:
        raise InvalidArgument(
            f"There are {len(states)} rows and probabilities of shape {chance.shape}: give one for each row, P(event)."
        )
    if not len(states):
        raise InvalidArgument("There are no rows to compare predictions with.")
    if not ((chance >= -PROBABILITY_NOISE) & (chance <= 1 + PROBABILITY_NOISE)).all():
        raise InvalidArgument("Predictions are probabilities: numbers from 0 to 1, and none missing.")
    if any(state is None or state != state for state in states):
        raise InvalidArgument("Some rows do not say what came about: leave them out of both.")
    return _Predictions(np.array([state == event for state in states], dtype=np.bool_), np.clip(chance, 0.0, 1.0))


def _wilson(shares: Floats, counts: Ints) -> Floats:
    """Wilson's interval of a proportion (Wilson 1927): it stays within 0 and 1, and has a width for few rows too."""
    width = NormalDist().inv_cdf((1 + _LEVEL) / 2)
    middle = (shares + width**2 / (2 * counts)) / (1 + width**2 / counts)
    half = width * np.sqrt(shares * (1 - shares) / counts + (width / (2 * counts)) ** 2) / (1 + width**2 / counts)
    return np.stack([np.maximum(middle - half, 0.0), np.minimum(middle + half, 1.0)], axis=1)
