"""Diagnosis utilities: the best diagnosis, inferential loss, cheaper assessment, two scales; micromorts and QALYs."""

from __future__ import annotations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import plausible as pb
from plausible import errors
from plausible.errors import InvalidArgument
from plausible.utilities import DiagnosisUtility, MicromortRate
from plausible.utilities.elicitation.health import (
    HealthTrajectory,
    MicromortCurve,
    micromorts,
    quality_adjusted_years,
)
from plausible.utilities.lotteries.lottery import Lottery
from refusals import refuses

SEEDS = st.integers(0, 10**6)


def _random(rng, size):
    disease = pb.Variable("disease", [f"d{i}" for i in range(size)])
    other = pb.Variable("diagnosis", disease.states)
    return disease, DiagnosisUtility(pb.Factor([disease, other], rng.normal(size=(size, size))))


@settings(max_examples=20, deadline=None)
@given(seed=SEEDS, size=st.integers(1, 5))
def test_the_best_diagnosis_and_inferential_loss_are_sums_over_diseases(seed, size):
    """argmax Σ P(d) u[d, d'], one disease at a time; the loss is never negative, and zero for equal posteriors."""
    rng = np.random.default_rng(seed)
    disease, utility = _random(rng, size)
    gold, system = (rng.dirichlet(np.ones(size)) for _ in range(2))
    worth = [sum(gold[d] * utility.table.values[d, e] for d in range(size)) for e in range(size)]
    choice = utility.best(pb.Factor([disease], gold))
    assert choice.diagnosis == f"d{int(np.argmax(worth))}"
    assert choice.expected_utility == pytest.approx(max(worth))
    loss = utility.inferential_loss(pb.Factor([disease], gold), pb.Factor([disease], system))
    chosen = int(np.argmax(system @ utility.table.values))
    assert loss.loss == pytest.approx(max(worth) - worth[chosen])
    assert loss.loss >= 0
    assert utility.inferential_loss(pb.Factor([disease], gold), pb.Factor([disease], gold)).loss == 0


def test_hindsight_blames_a_good_decision_that_inferential_loss_does_not():
    """The system agrees with the gold standard, and the unlikely disease it was makes an outcome loss."""
    states = ["common", "rare"]
    utility = DiagnosisUtility(pb.Factor({"disease": states, "diagnosis": states}, [[0, -10], [-10, 0]]))
    posterior = pb.Factor({"disease": states}, [0.95, 0.05])
    assert utility.inferential_loss(posterior, posterior).loss == 0
    assert utility.outcome_loss("rare", posterior) == 10
    assert utility.outcome_loss("common", posterior) == 0


def test_disutilities_decompose_into_treatment_delay_and_needless_treatment():
    """3n assessments fill n² entries; for sixty diseases 180 instead of 3600, in 36 groups 1296."""
    rng = np.random.default_rng(0)
    disease = pb.Variable("disease", 60)
    columns = [dict(enumerate(rng.uniform(0, 9, size=60))) for _ in range(3)]
    utility = DiagnosisUtility.from_disutilities(disease, *columns)
    assert utility.table.size == 3600
    treated, delayed, unnecessary = columns
    assert -utility.table[7, 7] == pytest.approx(treated[7])
    assert -utility.table[7, 9] == pytest.approx(treated[7] + delayed[7] + unnecessary[9])
    groups = {f"g{i}": [i] if i else [0, *range(36, 60)] for i in range(36)}
    assert utility.grouped(groups).table.size == 1296


def test_groups_of_diseases_with_the_same_utilities_lead_to_the_same_choice():
    """Aggregation loses nothing where the treatment is the same."""
    rng = np.random.default_rng(1)
    small = rng.normal(size=(2, 2))
    table = small[np.ix_([0, 0, 1], [0, 0, 1])]
    disease = pb.Variable("disease", ["a", "b", "c"])
    utility = DiagnosisUtility(pb.Factor([disease, pb.Variable("diagnosis", disease.states)], table))
    grouped = utility.grouped({"ab": ["a", "b"], "c": ["c"]}, weights={"a": 3, "b": 1, "c": 1})
    assert grouped.table.values == pytest.approx(small)
    posterior = np.array([0.1, 0.3, 0.6])
    best = grouped.best(pb.Factor({"disease": ["ab", "c"]}, [0.4, 0.6]))
    whole = utility.best(pb.Factor([disease], posterior))
    assert best.expected_utility == pytest.approx(whole.expected_utility)
    assert str(whole.diagnosis) in str(best.diagnosis)


def test_pathfinder_numbers_and_the_end_of_the_linear_range():
    """(340 - 16) micromorts at 20 dollars are 6480 dollars; large sums are not exchanged."""
    scale = MicromortRate(20.0)
    assert scale == MicromortRate()
    assert scale.disutilities({"a": 1e-4}, {"b": 100.0}) == pytest.approx({"a": 100.0, "b": 5.0})
    refuses(errors.InvalidArgument, "ask for the risk", scale.disutilities, {}, {"loss of a limb": 1e6})
    refuses(errors.InvalidArgument, "as a risk and as a payment", scale.disutilities, {"a": 0.1}, {"a": 1.0})
    refuses(errors.InvalidArgument, "probability", scale.disutilities, {"a": 1.1}, {})


@pytest.mark.parametrize("rate", [MicromortRate(), MicromortRate(50.0, limit=300.0), MicromortRate(0.5)])
def test_risks_and_money_have_one_price_and_one_linear_range(rate):
    """Risks are worth so many dollars, and these as many micromorts, up to the same limit."""
    for risk in (0.0, 12.5, 0.999 * rate.limit, rate.limit):
        assert rate.to_dollars(risk) == pytest.approx(risk * rate.dollars)
        assert rate.disutilities({}, {"x": risk * rate.dollars})["x"] == pytest.approx(risk)
    refuses(errors.InvalidArgument, "no price per micromort holds", rate.to_dollars, 1.001 * rate.limit)
    refuses(errors.InvalidArgument, "the risk", rate.disutilities, {}, {"x": 1.001 * rate.limit * rate.dollars})


def test_tables_and_posteriors_that_do_not_fit_are_refused():
    """Two variables with the same states, and a distribution over the first."""
    refuses(errors.InvalidArgument, "same states", DiagnosisUtility, pb.Factor({"a": 2, "b": 3}, np.zeros((2, 3))))
    _, utility = _random(np.random.default_rng(0), 2)
    refuses(errors.InvalidArgument, "over", utility.best, pb.Factor({"other": 2}, [0.5, 0.5]))
    refuses(errors.InvalidArgument, "exactly one group", utility.grouped, {"all": ["d0"]})


def test_conversion_is_linear_in_the_small_range_and_refused_beyond():
    """(340 - 16) micromorts at 20 dollars are 6480; half a death has no price."""
    rate = MicromortRate(20.0)
    assert rate.to_dollars(340 - 16) == 6480
    assert rate.to_micromorts(rate.to_dollars(12.5)) == pytest.approx(12.5)
    assert rate.to_dollars(-3) == -60
    for refused in (lambda: rate.to_dollars(micromorts(0.5)), lambda: rate.to_micromorts(10**6)):
        refuses(InvalidArgument, "no price per micromort holds", refused)
    refuses(InvalidArgument, "positive", MicromortRate, -1)
    refuses(InvalidArgument, "positive and finite", MicromortRate, np.inf)
    refuses(InvalidArgument, r"limit=2000000\.0", MicromortRate, 20.0, 2e6)
    refuses(InvalidArgument, "probability", micromorts, 1.5)


def test_curves_are_asymmetric_and_never_extrapolated():
    """More is demanded for a risk than paid to be rid of it; the curve's end is the end."""
    curve = MicromortCurve([-100, -10, 10, 100, 1000], [-800, -150, 300, 4000, 90_000])
    assert curve.amount(0) == 0
    assert curve.amount(50) > -curve.amount(-50) > 0
    assert curve.asymmetry(100) == pytest.approx(5.0)
    amounts = [curve.amount(risk) for risk in np.linspace(-100, 1000, 50).tolist()]
    assert (np.diff(amounts) > 0).all()
    refuses(InvalidArgument, "ask about this risk", curve.amount, 2000)
    refuses(InvalidArgument, "million", MicromortCurve, [2e6], [1])


def test_the_price_of_a_micromort_holds_where_the_curve_is_straight():
    """The limit is where the average price departs by the tolerance."""
    risks = np.array([1, 10, 50, 100, 200, 400, 1000.0])
    curve = MicromortCurve(risks, 20 * risks * (1 + (risks / 400) ** 2))
    rate = curve.rate(1.0, tolerance=0.1)
    assert rate.dollars == pytest.approx(20, rel=1e-3)
    assert 100 < rate.limit < 160
    assert abs(curve.amount(rate.limit) / rate.limit / rate.dollars - 1) <= 0.1


def test_years_add_with_their_weights():
    """Σ years · weight, negative where life is worse than death."""
    weights = {"healthy": 1.0, "ill": 0.4, "coma": -0.2}
    course = HealthTrajectory((("healthy", 5), ("ill", 2.5), ("coma", 1), ("healthy", 0)))
    found = quality_adjusted_years(course, weights)
    assert found.total == pytest.approx(5 + 1.0 - 0.2)
    assert float(found) == found.total
    assert course.life_years == 8.5
    assert quality_adjusted_years([], weights).total == 0


def test_discounting_equals_integration():
    """∫ weight(t) (1 + r)⁻ᵗ dt by a fine sum."""
    course, weights = [("a", 3.0), ("b", 7.0), ("c", 2.0)], {"a": 1.0, "b": 0.5, "c": -0.1}
    times = (np.arange(12_000) + 0.5) / 1000
    levels = np.where(times < 3, 1.0, np.where(times < 10, 0.5, -0.1))
    expected = (levels * 1.05**-times).sum() / 1000
    assert quality_adjusted_years(course, weights, discount=0.05).total == pytest.approx(expected, rel=1e-6)


def test_lotteries_of_lives_have_a_mean():
    """An operation that may kill against years of illness."""
    weights = {"healthy": 1.0, "ill": 0.6, "dead": 0.0}
    operate = Lottery({HealthTrajectory((("healthy", 20),)): 0.9, HealthTrajectory((("dead", 20),)): 0.1})
    wait = Lottery.certain(HealthTrajectory((("ill", 20),)))
    worth = [
        each.expected_utility(lambda course: quality_adjusted_years(course, weights).total) for each in (operate, wait)
    ]
    assert worth == pytest.approx([18.0, 12.0])


def test_impossible_courses_are_refused():
    """Negative years, weights above that of health."""
    refuses(InvalidArgument, "'ill'", HealthTrajectory, (("ill", -1),))
    refuses(InvalidArgument, "exceeds 1", quality_adjusted_years, [("bliss", 1)], {"bliss": 1.2})
    refuses(InvalidArgument, "discount", quality_adjusted_years, [("bliss", 1)], {"bliss": 1.0}, discount=-0.1)


def test_a_course_of_health_from_lists_is_an_outcome():
    """Lists become tuples, so that it can be hashed; what is no stage is named."""
    course = HealthTrajectory([["ill", 2], ("well", 10)])
    assert course == HealthTrajectory((("ill", 2.0), ("well", 10.0)))
    lottery = Lottery({course: 0.25, HealthTrajectory([("well", 4)]): 0.75})
    mean = sum(
        chance * float(quality_adjusted_years(life, {"ill": 0.5, "well": 1})) for life, chance in lottery.items()
    )
    assert mean == pytest.approx(0.25 * 11 + 0.75 * 4)
    refuses(InvalidArgument, r"'ill' is no stage: give \(state, years\) pairs", HealthTrajectory, ["ill"])
    refuses(InvalidArgument, "'two' years in 'ill'", HealthTrajectory, [("ill", "two")])
