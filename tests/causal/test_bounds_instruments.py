"""Instruments in closed form against linear programs, reports of trials, and inequalities that falsify."""

from __future__ import annotations

from itertools import product as cartesian

import numpy as np
import pytest

from plausible.causal.partial.bounds import bounds
from plausible.causal.partial.checks import falsification
from plausible.causal.partial.linear_query import average_causal_effect
from plausible.causal.partial.noncompliance import (
    binarize,
    encouragement_effect,
    instrument_bounds,
    instrumental_inequality,
    natural_bounds,
    noncompliance_rate,
    noncompliance_report,
)
from plausible.errors import InvalidArgument
from plausible.factors import Factor

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
    with pytest.raises(InvalidArgument, match="sums to one for each state of the assignment"):
        natural_bounds(CHOLESTYRAMINE / 2)
    with pytest.raises(InvalidArgument, match=r"shape \(2, 2, 2\)"):
        instrument_bounds(np.full((3, 2, 2), 0.25))
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
    with pytest.raises(InvalidArgument, match="give a threshold"):
        binarize([np.nan])
    with pytest.raises(InvalidArgument, match="is a number"):
        binarize([1.0], threshold=np.nan)


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
