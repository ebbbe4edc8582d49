"""Bounds of samples: confidence regions cover, and the bootstrap scatters around what it should."""

from __future__ import annotations

import math

import numpy as np
import pytest

from bounds_oracle import random_units
from plausible.causal.partial.bounds import bounds
from plausible.causal.partial.checks import bootstrap_bounds, falsification
from plausible.causal.partial.linear_form import NotLinear
from plausible.causal.partial.linear_query import Limit, Monotone, average_causal_effect, probability_of
from plausible.causal.partial.systems import binomial_interval
from plausible.errors import InvalidArgument, ModelContradicted
from plausible.factors import Factor

IV = "A -> T -> O; T <-> O"
EFFECT = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})


def _rows(rng, joint, num):
    cells = rng.choice(joint.values.size, size=num, p=joint.values.ravel() / joint.values.sum())
    codes = np.unravel_index(cells, joint.values.shape)
    return {variable.name: column for variable, column in zip(joint.scope, codes, strict=True)}


def _with_all_states(rows):
    """One row more for each of two states, so that columns know both."""
    return {name: np.concatenate([column, [0, 1]]) for name, column in rows.items()}


def _binomial_tail(num, low, high, p):
    return sum(math.comb(num, k) * p**k * (1 - p) ** (num - k) for k in range(low, high + 1))


@pytest.mark.parametrize(("successes", "trials"), [(0, 8), (3, 8), (8, 8), (1, 50)])
def test_binomial_intervals_invert_the_two_tails(successes, trials):
    """At the lower end the upper tail has probability alpha / 2, and the other way round."""
    low, high = (float(end[0]) for end in binomial_interval(np.array([successes * 1.0]), np.array([trials * 1.0]), 0.1))
    if successes:
        assert _binomial_tail(trials, successes, trials, low) == pytest.approx(0.05)
    else:
        assert low == 0.0
    if successes < trials:
        assert _binomial_tail(trials, 0, successes, high) == pytest.approx(0.05)
    else:
        assert high == 1.0


def test_without_trials_everything_is_possible():
    """[0, 1]."""
    low, high = binomial_interval(np.zeros(1), np.zeros(1), 0.05)
    assert (low[0], high[0]) == (0.0, 1.0)


@pytest.mark.slow
def test_confidence_bounds_cover_the_sharp_bounds():
    """In at least 95 % of samples, up to chance: misses of 40 are at most 4."""
    rng = np.random.default_rng(0)
    misses = 0
    for _ in range(40):
        units = random_units(rng, IV, dict.fromkeys("ATO", 2), num_types=6)
        joint = units.joint()
        truth = bounds(IV, EFFECT, joint)
        found = bounds(IV, EFFECT, _with_all_states(_rows(rng, joint, 150)), confidence=0.95)
        assert found.confidence == 0.95
        misses += not (found.lower - 1e-7 <= truth.lower and truth.upper <= found.upper + 1e-7)
    assert misses <= 4


def test_confidence_bounds_shrink_to_the_sharp_ones():
    """More rows and lower levels narrow them; they contain the bounds of the sample itself."""
    rng = np.random.default_rng(1)
    joint = random_units(rng, IV, dict.fromkeys("ATO", 2), num_types=8).joint()
    sharp = bounds(IV, EFFECT, joint)
    widths = []
    for num in (200, 2000, 200_000):
        rows = _with_all_states(_rows(rng, joint, num))
        wide, narrow, plain = (bounds(IV, EFFECT, rows, confidence=level) for level in (0.99, 0.5, None))
        assert wide.lower <= narrow.lower + 1e-9
        assert narrow.upper <= wide.upper + 1e-9
        assert wide.lower <= plain.lower + 1e-9
        assert plain.upper <= wide.upper + 1e-9
        widths.append(wide.width)
    assert widths[0] > widths[1] > widths[2]
    assert widths[2] == pytest.approx(sharp.width, abs=0.05)


def test_regions_of_products_cover_too():
    """Front door: the outside parent is an effect of a member, so that Q is a product of conditionals."""
    rng = np.random.default_rng(2)
    graph, misses = "X -> Z -> Y; X <-> Y", 0
    for _ in range(15):
        units = random_units(rng, graph, dict.fromkeys("XZY", 2), num_types=5)
        rows = _with_all_states(_rows(rng, units.joint(), 300))
        found = bounds(graph, probability_of({"Y": 1}, do={"Z": 1}), rows, confidence=0.9)
        truth = units.probability(("Y", {"Z": 1}, {1}))
        misses += not (found.lower - 1e-7 <= truth <= found.upper + 1e-7)
    assert misses <= 3


def test_conditions_are_uncertain_within_a_region():
    """A counterfactual of the treated among the assigned: a ratio; P(A) cancels, other products are refused."""
    rng = np.random.default_rng(3)
    units = random_units(rng, IV, dict.fromkeys("ATO", 2), num_types=8)
    rows = _rows(rng, units.joint(), 3000)
    given = {"A": 1, "T": 1}
    query = probability_of({"O": 1}, do={"T": 0}, evidence=given)
    wide, plain = (bounds(IV, query, rows, confidence=level) for level in (0.95, None))
    truth = units.probability(("A", {}, {1}), ("T", {}, {1}), ("O", {"T": 0}, {1}))
    truth /= units.probability(("A", {}, {1}), ("T", {}, {1}))
    assert wide.lower - 1e-7 <= truth <= wide.upper + 1e-7
    assert wide.lower <= plain.lower + 1e-7
    assert plain.upper <= wide.upper + 1e-7
    with pytest.raises(NotLinear, match="bootstrap_bounds"):
        bounds(IV, probability_of({"O": 1}, do={"T": 0}, evidence={"T": 1}), rows, confidence=0.95)


def test_regions_need_data_and_a_level():
    """A distribution has no noise; 95 is no probability."""
    joint = Factor({"X": 2, "Y": 2}, np.full((2, 2), 0.25))
    query = probability_of({"Y": 1}, do={"X": 1})
    with pytest.raises(InvalidArgument, match="give data"):
        bounds("X -> Y; X <-> Y", query, joint, confidence=0.95)
    with pytest.raises(InvalidArgument, match=r"such as 0\.95, not 95"):
        bounds("X -> Y; X <-> Y", query, {"X": [0, 1], "Y": [0, 1]}, confidence=95)
    with pytest.raises(InvalidArgument, match="needs data"):
        bootstrap_bounds("X -> Y; X <-> Y", query, joint)
    with pytest.raises(InvalidArgument, match="no rows"):
        bounds("X -> Y", query, {"X": [], "Y": []})


def test_true_instruments_are_contradicted_by_noise_but_not_by_regions():
    """Tables on the edge of the model: about half of the samples leave it, and none leaves its region's reach."""
    rng = np.random.default_rng(4)
    joint = Factor({"A": 2, "T": 2, "O": 2}, [[[0.25, 0.25], [0.0, 0.0]], [[0.25, 0.25], [0.0, 0.0]]])
    noisy, sure = 0, 0
    for _ in range(12):
        rows = _rows(rng, joint, 400)
        rows["T"] = np.append(rows["T"], 1)
        rows = {name: column if name == "T" else np.append(column, 1) for name, column in rows.items()}
        noisy += falsification(IV, rows).is_contradicted
        sure += falsification(IV, rows, confidence=0.99).is_contradicted
        assert bounds(IV, EFFECT, rows).violation == pytest.approx(falsification(IV, rows).violations["T", "O"])
    assert noisy >= 6
    assert sure == 0


@pytest.mark.slow
def test_the_bootstrap_scatters_as_the_ends_do():
    """Ends of the bow are shares: their bootstrap deviation is that of a binomial share."""
    rows = _rows(np.random.default_rng(5), Factor({"X": 2, "Y": 2}, [[0.3, 0.1], [0.2, 0.4]]), 500)
    found = bootstrap_bounds("X -> Y; X <-> Y", probability_of({"Y": 1}, do={"X": 1}), rows, num_samples=80)
    share = np.mean((rows["X"] == 1) & (rows["Y"] == 1))
    assert found.bounds.lower == pytest.approx(share, abs=1e-7)
    assert found.lowers.std() == pytest.approx(np.sqrt(share * (1 - share) / 500), rel=0.3)
    assert found.lowers.mean() == pytest.approx(share, abs=0.01)
    low, high = found.interval(0.9)
    assert low < found.bounds.lower <= found.bounds.upper < high
    again = bootstrap_bounds("X -> Y; X <-> Y", probability_of({"Y": 1}, do={"X": 1}), rows, num_samples=3)
    assert np.array_equal(again.lowers, found.lowers[:3])


def test_the_bootstrap_stops_when_told_and_survives_empty_samples():
    """Rare evidence is absent from some samples, limits fail in others: these have no bounds."""
    rows = {"X": [0] * 9 + [1], "Y": [0, 1] * 5}
    query = probability_of({"Y": 1}, do={"X": 0}, evidence={"X": 1})
    told = []

    def progress(done, total):
        told.append((done, total))
        return done == 12

    found = bootstrap_bounds("X -> Y; X <-> Y", query, rows, num_samples=40, progress=progress)
    assert told[-1] == (12, 40)
    assert len(found.lowers) == 12
    assert 0 < np.isnan(found.lowers).sum() < 12
    assert len(bootstrap_bounds("X -> Y; X <-> Y", query, rows, time_limit=0.0).lowers) == 1
    limit = Limit(probability_of({"Y": 1}), lower=0.45)
    strict = bootstrap_bounds(
        "X -> Y; X <-> Y", probability_of({"Y": 1}, do={"X": 0}), rows, num_samples=12, assumptions=[limit]
    )
    assert 0 < np.isnan(strict.uppers).sum() < 12
    with pytest.raises(InvalidArgument, match="level="):
        found.interval(1.0)


def _trial_rows(rng, num=2000):
    """Some take what they are assigned, some always, some never; who takes it of his own accord fares better."""
    drive, assigned = rng.random(num), rng.integers(2, size=num)
    taken = ((assigned == 1) & (drive > 0.3)) | (drive > 0.9)
    well = rng.random(num) < 0.2 + 0.4 * taken + 0.3 * (drive > 0.5)
    return {"A": assigned, "T": taken.astype(int), "O": well.astype(int)}


@pytest.mark.parametrize("confidence", [None, 0.95])
def test_data_that_refute_the_graph_beyond_noise_have_no_bounds(confidence):
    """Where `falsification` contradicts, bounds raise; they go on only if told to project, and then say so."""
    rows = _trial_rows(np.random.default_rng(0))
    assert bounds(IV, EFFECT, rows, confidence=confidence).violation == 0.0
    follows = {**rows, "O": np.where(rows["T"] == 0, rows["A"], rows["O"])}
    assert falsification(IV, follows, confidence=confidence).is_contradicted
    with pytest.raises(ModelContradicted, match="nor anything within sampling noise") as caught:
        bounds(IV, EFFECT, follows, confidence=confidence)
    assert caught.value.violation > 0.1
    falling = Monotone("O", "T", is_decreasing=True)
    with pytest.raises(ModelContradicted, match="Drop an assumption"):
        bounds(IV, EFFECT, rows, assumptions=falling, confidence=confidence)
    with pytest.raises(ModelContradicted):
        bootstrap_bounds(IV, EFFECT, follows, num_samples=2)
    moved = bounds(IV, EFFECT, follows, confidence=confidence, contradictions="project")
    assert f"moved by {moved.violation:.3g} in total" in str(moved)


def test_noise_alone_moves_data_and_is_told():
    """Six rows that no instrument shows, as chance makes them: bounds are of the nearest that one can show."""
    rows = {"A": [0, 0, 0, 1, 1, 1], "T": [0, 0, 0, 0, 0, 1], "O": [0, 0, 1, 1, 1, 1]}
    found = bounds(IV, EFFECT, rows)
    assert found.violation > 0
    assert "What is observed was moved by" in str(found)
    assert "moved by" in repr(found)
    with pytest.raises(ModelContradicted, match="if this is sampling noise"):
        bounds(IV, EFFECT, rows, contradictions="raise")
    assert bounds(IV, EFFECT, rows, contradictions="test").violation == found.violation
