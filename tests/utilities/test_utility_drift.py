"""Beliefs about utilities that change over time."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.errors import InvalidArgument
from plausible.utilities.elicitation.adaptive import adaptive_elicitation
from plausible.utilities.elicitation.gaussian_belief import GaussianUtilityBelief, aged_belief, follow_utilities
from plausible.utilities.elicitation.questions import gamble_question, scale_question
from plausible.utilities.lotteries.regret import DecisionSituation
from refusals import refuses

OUTCOMES = ("a", "b", "c")


def random_covariance(rng, rank=3):
    root = rng.normal(size=(3, rank))
    return root @ root.T / 10


def random_answers(rng, times):
    """Numbers on a scale and indifferences, as (time, question, answer), and as rows c·U(t) = y."""
    answers, rows, readings = [], [], []
    for time in times:
        if rng.random() < 0.5:
            place, number = int(rng.integers(3)), float(rng.uniform(0, 100))
            answers.append((time, scale_question(OUTCOMES[place], "dead", "healthy", (0, 100)), number))
            rows.append(np.eye(3)[place])
            readings.append(number / 100)
        else:
            item, worst, best = rng.permutation(3).tolist()
            level = float(rng.uniform(0.1, 0.9))
            question = gamble_question(OUTCOMES[item], OUTCOMES[worst], OUTCOMES[best], level)
            answers.append((time, question, "same"))
            rows.append(np.eye(3)[item] - (1 - level) * np.eye(3)[worst] - level * np.eye(3)[best])
            readings.append(0.0)
    return answers, np.array(rows), np.array(readings)


def conditioned(mean, covariance, drift, noise, start, now, times, rows, readings):
    """U(now) given all readings at once: the walk at all times is jointly Normal, Cov(U(s), U(t)) = P + min(s, t) Q."""
    ages = np.array(times) - start
    gain = np.array(
        [covariance @ row + min(now - start, age) * drift @ row for row, age in zip(rows, ages, strict=True)]
    )
    joint = rows @ covariance @ rows.T + np.minimum.outer(ages, ages) * (rows @ drift @ rows.T)
    joint += noise**2 * np.eye(len(rows))
    weights = np.linalg.solve(joint, gain).T
    prior = covariance + (now - start) * drift
    return mean + weights @ (readings - rows @ mean), prior - weights @ gain


@pytest.mark.parametrize("rank", [0, 1, 3])
@pytest.mark.parametrize("seed", range(6))
def test_the_filter_equals_conditioning_the_whole_walk_at_once(seed, rank):
    """At the last answer and later, with answers at equal times, and with drifts of every rank."""
    rng = np.random.default_rng([seed, rank])
    mean, covariance = rng.uniform(size=3), random_covariance(rng)
    drift = random_covariance(rng, rank) if rank else np.zeros((3, 3))
    times = np.sort(rng.integers(0, 6, size=5)).astype(float).tolist()
    answers, rows, readings = random_answers(rng, times)
    belief = GaussianUtilityBelief(dict(zip(OUTCOMES, mean.tolist(), strict=True)), covariance, noise=0.2)
    course = follow_utilities(belief, answers, drift, start=-1.0)
    for now in (times[-1], times[-1] + 2.5):
        found = course.at(now)
        expected, spread = conditioned(mean, covariance, drift, 0.2, -1.0, now, times, rows, readings)
        assert found.mean_values == pytest.approx(expected, abs=1e-9)
        assert found.covariance == pytest.approx(spread, abs=1e-9)


@pytest.mark.parametrize("seed", range(3))
def test_a_time_between_answers_knows_only_the_earlier_ones(seed):
    rng = np.random.default_rng(seed)
    mean, covariance, drift = rng.uniform(size=3), random_covariance(rng), random_covariance(rng)
    times = [0.0, 1.0, 1.0, 4.0]
    answers, rows, readings = random_answers(rng, times)
    belief = GaussianUtilityBelief(dict(zip(OUTCOMES, mean.tolist(), strict=True)), covariance, noise=0.1)
    found = follow_utilities(belief, answers, drift).at(3.0)
    expected, spread = conditioned(mean, covariance, drift, 0.1, 0.0, 3.0, times[:3], rows[:3], readings[:3])
    assert found.mean_values == pytest.approx(expected, abs=1e-9)
    assert found.covariance == pytest.approx(spread, abs=1e-9)


def test_old_answers_count_less_than_new_ones():
    """Two numbers as far from the prior mean: without drift their order is all the same, with it the later one wins."""
    belief = GaussianUtilityBelief({"a": 0.5}, 0.04, noise=0.1)
    question = scale_question("a", "dead", "healthy", (0, 1))
    for drift, order in ((0.0, 0), (0.01, 1)):
        later_high = follow_utilities(belief, [(0, question, 0.3), (5, question, 0.7)], drift).latest.mean["a"]
        assert np.sign(round(later_high - 0.5, 12)) == order
    assert follow_utilities(belief, [(0, question, 0.3), (5, question, 0.7)], 0.01).times == (0.0, 5.0)


def test_choices_without_drift_are_those_of_one_sitting():
    belief = GaussianUtilityBelief({"worst": 0, "a": 0.5, "best": 1}, np.diag([0, 0.04, 0]), noise=0.05)
    asked = [gamble_question("a", "worst", "best", level) for level in (0.5, 0.7)]
    course = follow_utilities(belief, [(1, asked[0], "sure"), (9, asked[1], "2")], drift=0.0)
    direct = belief.after(asked[0], "sure").after(asked[1], "gamble")
    assert course.latest.mean_values == pytest.approx(direct.mean_values)
    assert course.latest.covariance == pytest.approx(direct.covariance)


def test_a_settled_decision_opens_again_with_time():
    """Anchors that are left out of the drift stay where they are; the mean, and so the action, stays too."""
    surgery = DecisionSituation({"wait": "pain", "operate": {"healthy": 0.9, "dead": 0.1}}, {})
    belief = GaussianUtilityBelief({"dead": 0, "pain": 0.8, "healthy": 1}, np.diag([0, 1e-6, 0]))
    assert adaptive_elicitation(surgery, belief, tolerance=1e-3).is_done
    aged = aged_belief(belief, 5.0, {"pain": 0.01})
    assert aged.mean == belief.mean
    assert aged.deviations.tolist() == pytest.approx([0, (1e-6 + 0.05) ** 0.5, 0])
    assert adaptive_elicitation(surgery, aged, tolerance=1e-3).question.item == "pain"


def test_courses_refuse_what_they_can_not_use():
    belief = GaussianUtilityBelief({"a": 0.5, "b": 0.1}, 0.04)
    question = scale_question("a", "dead", "healthy", (0, 1))
    refuses(InvalidArgument, "order of time", follow_utilities, belief, [(2, question, 0.3), (1, question, 0.3)], 0.1)
    refuses(InvalidArgument, "order of time", follow_utilities, belief, [(2, question, 0.3)], 0.1, start=3)
    with pytest.raises(InvalidArgument, match="order of time"):
        follow_utilities(belief, [(0, question, 0.3), (float("nan"), question, 0.3)], 0.1)
    refuses(InvalidArgument, "start=", follow_utilities, belief, [], 0.1)
    with pytest.raises(InvalidArgument, match="before the start"):
        follow_utilities(belief, [], 0.1, start=3).at(2)
    refuses(InvalidArgument, "time=-1", aged_belief, belief, -1, 0.1)
    refuses(InvalidArgument, "drift: it has a negative variance", aged_belief, belief, 1, -0.01)
    refuses(InvalidArgument, "drift: the belief says nothing on 'c'", aged_belief, belief, 1, {"c": 0.1})
    refuses(InvalidArgument, "drift: give a number", aged_belief, belief, 1, [0.1, 0.2])
