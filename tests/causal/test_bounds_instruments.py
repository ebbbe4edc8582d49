"""Instruments in closed form against linear programs, reports of trials, and bounds of samples."""

from __future__ import annotations

import math
from itertools import product as cartesian

import numpy as np
import pytest

from bounds_oracle import random_units
from plausible.causal.partial.bounds import bounds
from plausible.causal.partial.checks import bootstrap_bounds, falsification
from plausible.causal.partial.linear_form import NotLinear
from plausible.causal.partial.linear_query import Limit, Monotone, average_causal_effect, probability_of
from plausible.causal.partial.noncompliance import (
    binarize,
    encouragement_effect,
    instrument_bounds,
    instrumental_inequality,
    natural_bounds,
    noncompliance_rate,
    noncompliance_report,
)
from plausible.causal.partial.systems import binomial_interval
from plausible.errors import InvalidArgument, ModelContradicted
from plausible.factors import Factor
from refusals import refuses

IV = "A -> T -> O; T <-> O"
EFFECT = average_causal_effect({"O": 1}, {"T": 1}, {"T": 0})
CHOLESTYRAMINE = np.array([[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]])
FUNCTIONS = list(cartesian((0, 1), repeat=2))


def _trial(types):
    """P(t, o | a) and the ACE of a 4 × 4 table of (never, complier, defier, always) × (never, helped, hurt, always)."""
    table, effect = np.zeros((2, 2, 2)), 0.0
    for (i, takes), (j, fares) in cartesian(enumerate(FUNCTIONS), enumerate(FUNCTIONS)):
        for assigned in (0, 1):
            table[assigned, takes[assigned], fares[takes[assigned]]] += types[i, j]
        effect += types[i, j] * (fares[1] - fares[0])
    return table, effect


def _types(rng):
    concentration = rng.choice([0.1, 0.5, 2.0])
    return rng.dirichlet(np.full(16, concentration)).reshape(4, 4)


def _joint(table, assigned=0.5):
    return Factor({"A": 2, "T": 2, "O": 2}, table * np.array([1 - assigned, assigned])[:, None, None])


def test_the_closed_form_is_the_linear_program():
    """Balke & Pearl's sixteen formulas against HiGHS, and both contain the truth; P(A) makes no difference."""
    rng = np.random.default_rng(0)
    for _ in range(10):
        table, effect = _trial(_types(rng))
        closed = instrument_bounds(table)
        found = bounds(IV, EFFECT, _joint(table, rng.uniform(0.1, 0.9)))
        assert (found.lower, found.upper) == pytest.approx(tuple(closed), abs=1e-6)
        assert closed.lower - 1e-9 <= effect <= closed.upper + 1e-9


def test_natural_bounds_hold_and_are_as_wide_as_noncompliance():
    """They contain the sharp ones, and are these where nobody defies."""
    rng = np.random.default_rng(1)
    for case in range(60):
        types = _types(rng)
        if case % 2:
            types[2] = 0.0
            types /= types.sum()
        table, effect = _trial(types)
        natural, sharp = natural_bounds(table), instrument_bounds(table)
        assert natural.lower - 1e-9 <= sharp.lower
        assert sharp.upper <= natural.upper + 1e-9
        assert natural.width == pytest.approx(noncompliance_rate(table))
        assert natural.lower - 1e-9 <= effect <= natural.upper + 1e-9
        if case % 2:
            assert natural == pytest.approx(sharp, abs=1e-9)


def test_sharp_bounds_are_narrower_than_natural_ones_where_many_defy():
    """Everybody defies, everybody is helped: the table tells it, the natural bounds do not."""
    types = np.zeros((4, 4))
    types[2, 1] = 1.0
    table, effect = _trial(types)
    assert effect == 1.0
    assert tuple(instrument_bounds(table)) == pytest.approx((1.0, 1.0))
    assert tuple(natural_bounds(table)) == pytest.approx((-1.0, 1.0))


def test_full_compliance_identifies_the_effect():
    """Encouragement = ACE, and all bounds are points."""
    types = np.zeros((4, 4))
    types[1] = [0.1, 0.5, 0.15, 0.25]
    table, effect = _trial(types)
    assert encouragement_effect(table) == pytest.approx(effect)
    assert noncompliance_rate(table) == 0.0
    assert tuple(natural_bounds(table)) == pytest.approx((effect, effect))
    assert tuple(instrument_bounds(table)) == pytest.approx((effect, effect))


def test_the_instrumental_inequality_is_feasibility_of_the_program():
    """On random tables P(t, o | a), of instruments or not: the binary inequality is sufficient, too."""
    rng = np.random.default_rng(2)
    verdicts = []
    for _ in range(40):
        table = rng.dirichlet(np.full(4, 0.6), size=2).reshape(2, 2, 2)
        test = instrumental_inequality(table)
        found = falsification(IV, _joint(table))
        assert found.is_contradicted == (not test.is_satisfied)
        assert (test.excess > 0) == (found.violations["T", "O"] > 1e-6)
        verdicts.append(test.is_satisfied)
    assert 5 < sum(verdicts) < 35


def test_the_instrumental_inequality_holds_for_any_numbers_of_states():
    """Tables of three assignments, two treatments and four outcomes that come from response types satisfy it."""
    rng = np.random.default_rng(3)
    for _ in range(20):
        table = np.zeros((3, 2, 4))
        for share in rng.dirichlet(np.ones(6)):
            takes, fares = rng.integers(2, size=3), rng.integers(4, size=2)
            table[np.arange(3), takes, fares[takes]] += share
        assert instrumental_inequality(table).is_satisfied


def test_assumptions_can_be_falsified_alone():
    """Some defy: the graph is right, but the assumption that nobody does is contradicted."""
    from plausible.causal.partial.linear_query import Monotone

    types = np.zeros((4, 4))
    types[2, 1] = 1.0
    joint = _joint(_trial(types)[0])
    assert not falsification(IV, joint).is_contradicted
    assert falsification(IV, joint, assumptions=[Monotone("T", "A")]).is_contradicted


def test_a_graph_without_latent_causes_has_no_inequalities():
    """Nothing to check, nothing contradicted."""
    found = falsification("A -> T", Factor({"A": 2, "T": 2}, np.full((2, 2), 0.25)))
    assert found.violations == {}
    assert not found.is_contradicted


def test_the_report_of_cholestyramine():
    """Box 21.B: encouragement 0.465, noncompliance 0.388, ACE in [0.392, 0.780]."""
    report = noncompliance_report(_joint(CHOLESTYRAMINE), "O", "T", "A")
    assert report.encouragement == pytest.approx(0.465)
    assert report.noncompliance == pytest.approx(0.388)
    assert tuple(report.natural) == pytest.approx((0.392, 0.780))
    assert (report.effect.lower, report.effect.upper) == pytest.approx((0.392, 0.780), abs=1e-7)
    assert (report.treated.lower, report.treated.upper) == pytest.approx((0.473, 0.861), abs=1e-7)
    assert report.untreated.upper == pytest.approx(0.081, abs=1e-7)
    assert report.inequality.is_satisfied
    assert report.table.values == pytest.approx(CHOLESTYRAMINE)
    monotone = noncompliance_report(_joint(CHOLESTYRAMINE), "O", "T", "A", has_no_defiers=True)
    assert monotone.effect.lower == pytest.approx(0.392, abs=1e-7)


def test_reports_of_rows_tell_of_contradictions():
    """Rows that no instrument makes: the report projects, and says so first."""
    rows = {"A": [0, 0, 0, 1, 1, 1], "T": [0, 0, 0, 0, 0, 1], "O": [0, 0, 0, 1, 1, 1]}
    report = noncompliance_report(rows, "O", "T", "A")
    assert not report.inequality.is_satisfied
    assert "violated by 0.6667" in str(report)
    first, *_ = str(report).splitlines()
    assert first.startswith(f"What is observed contradicts the model: {report.effect.violation:.4g} away")
    assert "of the nearest table that the model can show" in str(report)
    assert report.is_contradicted
    assert report.effect.lower <= report.effect.upper


def test_both_bounds_of_a_report_allow_for_noise_at_the_level_that_it_tells():
    """The natural bounds hold the sharp ones always, so they do over a region; both hold those of the sample."""
    rng = np.random.default_rng(0)
    names = {"assignment": "A", "treatment": "T", "outcome": "O"}
    for _ in range(4):
        table = _trial(rng.dirichlet(np.ones(16)).reshape(4, 4))[0]
        cells = rng.choice(8, size=400, p=table.ravel() / 2)
        rows = dict(zip("ATO", np.unravel_index(cells, (2, 2, 2)), strict=True))
        plain, wide = noncompliance_report(rows, **names), noncompliance_report(rows, **names, confidence=0.9)
        assert wide.natural.lower < plain.natural.lower < plain.natural.upper < wide.natural.upper
        assert wide.natural.lower <= wide.effect.lower + 1e-7
        assert wide.effect.upper <= wide.natural.upper + 1e-7
        assert wide.natural.width < plain.natural.width + 0.5
        assert str(wide).count("at 90% confidence") == 2
        assert "confidence" not in str(plain)
    assert "without defiers" in str(noncompliance_report(_joint(CHOLESTYRAMINE), **names, has_no_defiers=True))


def test_wrong_tables_are_refused():
    """Shapes, sums, states that do not occur, variables with more than two states."""
    refuses(InvalidArgument, "sums to one for each state of the assignment", natural_bounds, CHOLESTYRAMINE / 2)
    refuses(InvalidArgument, r"shape \(2, 2, 2\)", instrument_bounds, np.full((3, 2, 2), 0.25))
    with pytest.raises(InvalidArgument, match="Both states of 'A'"):
        noncompliance_report(_joint(CHOLESTYRAMINE, assigned=0.0), "O", "T", "A")
    with pytest.raises(InvalidArgument, match="'O' has 3 states"):
        noncompliance_report(Factor({"A": 2, "T": 2, "O": 3}, np.full((2, 2, 3), 1 / 12)), "O", "T", "A")


def test_binarization_cuts_the_range_in_the_middle():
    """Or where it is told to; missing stays missing, and a constant reaches its own middle."""
    assert binarize([0, 49, 50, 100]).tolist() == [0, 0, 1, 1]
    assert binarize([3.0, 3.0]).tolist() == [1, 1]
    cut = binarize([np.nan, 1.0, 30.0], threshold=28.0)
    assert np.isnan(cut[0])
    assert cut[1:].tolist() == [0, 1]
    refuses(InvalidArgument, "give a threshold", binarize, [np.nan])
    refuses(InvalidArgument, "is a number", binarize, [1.0], threshold=np.nan)


def test_a_trial_with_doses_is_bounded_after_binarization():
    """Simulated doses and improvements: the effect of the binarised treatment is within the bounds of its table."""
    rng = np.random.default_rng(5)
    num = 4000
    assigned, careful = rng.integers(2, size=num), rng.random(num) < 0.7
    dose = np.where(assigned == 1, np.where(careful, rng.uniform(60, 100, num), rng.uniform(0, 40, num)), 0.0)
    treated = dose >= 50
    base = rng.normal(10, 10, num) + 5 * careful
    gain = base + 25 * treated
    rows = {"A": assigned, "T": binarize(dose).astype(int), "O": binarize(gain, 28.0).astype(int)}
    report = noncompliance_report(rows, "O", "T", "A")
    truth = np.mean(base + 25 >= 28) - np.mean(base >= 28)
    assert report.effect.lower - 0.05 <= truth <= report.effect.upper + 0.05
    assert report.effect.lower > 0


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
    refuses(InvalidArgument, "needs data", bootstrap_bounds, "X -> Y; X <-> Y", query, joint)
    refuses(InvalidArgument, "no rows", bounds, "X -> Y", query, {"X": [], "Y": []})


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
