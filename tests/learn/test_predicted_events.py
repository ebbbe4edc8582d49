"""Predicted probabilities compared with what came about."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given
from hypothesis import strategies as st

import plausible as pb
from plausible.errors import InvalidArgument
from plausible.learn.evaluation import calibration, roc_curve

PREDICTIONS = st.lists(
    st.tuples(st.booleans(), st.sampled_from([0.0, 0.1, 0.25, 0.5, 0.9, 1.0])), min_size=2, max_size=25
)


@given(rows=PREDICTIONS)
def test_the_area_is_the_chance_that_a_case_is_ranked_above_another_row(rows):
    """By looking at all pairs; half of ties count."""
    truth, chance = zip(*rows, strict=True)
    pairs = [(p > q) + (p == q) / 2 for case, p in rows if case for other, q in rows if not other]
    if not pairs:
        with pytest.raises(InvalidArgument, match="rows with another state"):
            roc_curve(truth, chance, True)
        return
    curve = roc_curve(truth, chance, True)
    assert curve.area == pytest.approx(np.mean(pairs))
    assert (curve.false_positives[0], curve.true_positives[0]) == (0, 0)
    assert (curve.false_positives[-1], curve.true_positives[-1]) == (1, 1)
    for share, threshold in zip(curve.true_positives, curve.thresholds, strict=True):
        assert share == pytest.approx(np.mean([p >= threshold for case, p in rows if case]))


@given(rows=PREDICTIONS, num_bins=st.integers(1, 7))
def test_bins_hold_the_rows_of_their_part(rows, num_bins):
    """Means and shares by looking at each row; the Brier score likewise."""
    truth, chance = zip(*rows, strict=True)
    found = calibration(truth, chance, True, num_bins)
    bins = {}
    for case, p in rows:
        bins.setdefault(min(int(p * num_bins), num_bins - 1), []).append((p, case))
    means = [np.mean(bins[place], axis=0) for place in sorted(bins)]
    assert found.predicted == pytest.approx([mean[0] for mean in means])
    assert found.observed == pytest.approx([mean[1] for mean in means])
    assert found.counts.tolist() == [len(bins[place]) for place in sorted(bins)]
    assert found.brier_score == pytest.approx(np.mean([(p - case) ** 2 for case, p in rows]))
    assert found.expected_error == pytest.approx(
        np.average([abs(mean[0] - mean[1]) for mean in means], weights=found.counts)
    )
    assert (found.intervals[:, 0] <= found.observed + 1e-12).all()
    assert (found.intervals[:, 1] >= found.observed - 1e-12).all()


def test_the_interval_is_that_of_wilson():
    """8 of 10 at 90 %: solved from (p - 0.8)² = z² p (1 - p) / 10."""
    found = calibration(["yes"] * 8 + ["no"] * 2, [0.5] * 10, "yes", 1)
    z2 = 1.6448536269514722**2
    roots = np.sort(np.roots([1 + z2 / 10, -(1.6 + z2 / 10), 0.64]).real)
    assert found.intervals[0] == pytest.approx(roots)


def test_frames_of_predictions_are_taken_by_their_column():
    """As `predict_proba` of a compiled network gives them."""
    asia = pb.examples.load("asia")
    rows = asia.sample(200, seed=1)
    frame = asia.compile().predict_proba(rows.drop(columns=["lung"]), "lung")
    assert roc_curve(rows["lung"], frame, "yes").area == roc_curve(rows["lung"], frame["yes"], "yes").area
    assert "lung" not in str(calibration(rows["lung"], frame, "yes"))


def test_what_can_not_be_compared_is_refused():
    """Each with what is wrong."""
    with pytest.raises(InvalidArgument, match="give one for each row"):
        roc_curve(["a", "b"], [0.5], "a")
    with pytest.raises(InvalidArgument, match="numbers from 0 to 1"):
        calibration(["a", "b"], [0.5, np.nan], "a")
    with pytest.raises(InvalidArgument, match="do not say what came about"):
        calibration(pd.Series(["a", None]), [0.5, 0.5], "a")
    with pytest.raises(InvalidArgument, match="There are no rows"):
        calibration([], [], "a")
