"""Beliefs about utilities, the value of questions, and stopping early."""

from __future__ import annotations

import numpy as np
import pytest

from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.utilities.elicitation.adaptive import adaptive_elicitation, question_values
from plausible.utilities.elicitation.beliefs import DiscreteUtilityBelief
from plausible.utilities.elicitation.gaussian_belief import GaussianUtilityBelief
from plausible.utilities.elicitation.methods import standard_gamble
from plausible.utilities.elicitation.questions import (
    SimulatedRespondent,
    gamble_question,
    scale_question,
    time_question,
)
from plausible.utilities.elicitation.session import run_session
from plausible.utilities.lotteries.lottery import Lottery
from plausible.utilities.lotteries.regret import DecisionSituation
from refusals import refuses

OUTCOMES = ["dead", "ill", "lame", "healthy"]


def random_situation(rng, num_actions=3):
    model = rng.dirichlet(np.full(4, 0.7), size=num_actions)
    actions = {f"a{i}": Lottery(dict(zip(OUTCOMES, row.tolist(), strict=True))) for i, row in enumerate(model)}
    return DecisionSituation(actions, {}), model


def random_tastes(rng, size=12):
    table = np.column_stack([np.zeros(size), rng.random((size, 2)), np.ones(size)])
    return table, [dict(zip(OUTCOMES, row.tolist(), strict=True)) for row in table]


@pytest.mark.parametrize("seed", range(6))
def test_only_mean_utilities_matter(seed):
    """E over functions of EU = EU under the mean function (item 39)."""
    rng = np.random.default_rng(seed)
    table, tastes = random_tastes(rng)
    weights = rng.dirichlet(np.ones(12))
    situation, model = random_situation(rng)
    belief = DiscreteUtilityBelief(tastes, weights)
    direct = sum(w * (model @ u) for w, u in zip(weights, table, strict=True))
    ranking = belief.rank(situation)
    assert [ranking.expected_utilities[f"a{i}"] for i in range(3)] == pytest.approx(direct.tolist())
    gaussian = GaussianUtilityBelief(belief.mean, np.cov(table.T, aweights=weights))
    assert dict(gaussian.rank(situation).expected_utilities) == pytest.approx(dict(ranking.expected_utilities))


@pytest.mark.parametrize("noise", [0.0, 0.15])
@pytest.mark.parametrize("seed", range(4))
def test_value_of_a_choice_equals_enumeration(seed, noise):
    """Σ answers P(answer) max_a E[EU | answer] - max_a E[EU], function by function."""
    from scipy.stats import norm

    rng = np.random.default_rng(seed)
    table, tastes = random_tastes(rng)
    weights = rng.dirichlet(np.ones(12))
    situation, model = random_situation(rng)
    belief = DiscreteUtilityBelief(tastes, weights, noise=noise)
    question = gamble_question("ill", "dead", "healthy", 0.4)
    total, removed = 0.0, 0.0
    leader = int(np.argmax(model @ (weights @ table)))
    for sign in (1, -1):
        gaps = [sign * (u[1] - 0.4 * u[3] - 0.6 * u[0]) for u in table]
        likelihood = [norm.cdf(gap / noise) if noise else float(gap > 0) for gap in gaps]
        scores = [
            sum(w * like * float(row @ u) for w, like, u in zip(weights, likelihood, table, strict=True))
            for row in model
        ]
        total += max(scores)
        posterior = np.array(weights) * likelihood
        after = belief.after(question, "sure" if sign > 0 else "gamble")
        assert after.weights == pytest.approx(posterior / posterior.sum())
        moved = (model - model[leader]) @ (posterior / posterior.sum() @ table - weights @ table)
        removed += posterior.sum() * float((moved**2).sum())
    expected = total - max(float(weights @ (table @ row)) for row in model)
    assert belief.value_of(question, situation) == pytest.approx(expected, abs=1e-12)
    regret = sum(w * max(model @ u) for w, u in zip(weights, table, strict=True)) - max(model @ (weights @ table))
    assert belief.expected_regret(situation) == pytest.approx(regret)
    assert belief.worth_of([question], situation)[0].variance == pytest.approx(removed)
    assert 0 <= belief.value_of(question, situation) <= belief.expected_regret(situation) + 1e-12


def test_value_of_a_told_number_equals_simulation():
    """A place on a scale with noise, for both kinds of belief, against draws."""
    rng = np.random.default_rng(4)
    situation, model = random_situation(rng)
    question = scale_question("ill", "dead", "healthy", (0.0, 100.0))
    table, tastes = random_tastes(rng, 6)
    belief = DiscreteUtilityBelief(tastes, noise=0.1)
    picks = rng.integers(6, size=200_000)
    told = table[picks, 1] + 0.1 * rng.standard_normal(picks.size)
    likelihood = np.exp(-0.5 * ((told[:, None] - table[:, 1]) / 0.1) ** 2)
    posterior = likelihood / likelihood.sum(axis=1, keepdims=True)
    draws = (posterior @ table @ model.T).max(axis=1)
    expected = draws.mean() - (table.mean(axis=0) @ model.T).max()
    assert belief.value_of(question, situation) == pytest.approx(expected, abs=4 * draws.std() / np.sqrt(draws.size))


@pytest.mark.parametrize("seed", range(2))
def test_gaussian_values_equal_simulation(seed):
    """Choice and number, by drawing utilities and answers from the belief and updating means by regression."""
    rng = np.random.default_rng(seed)
    mean = np.array([0.0, 0.4, 0.6, 1.0])
    root = rng.normal(0, 0.15, (4, 4))
    root[[0, 3]] = 0.0
    belief = GaussianUtilityBelief(dict(zip(OUTCOMES, mean.tolist(), strict=True)), root @ root.T, noise=0.05)
    situation, model = random_situation(rng)
    draws = mean + rng.standard_normal((400_000, 4)) @ root.T
    worth = draws @ model.T
    room = 5 * worth.std() / np.sqrt(len(draws))

    asked = draws[:, 1] + 0.05 * rng.standard_normal(len(draws)) - 0.45
    best = sum(worth[mask].sum(axis=0).max() for mask in (asked > 0, asked <= 0)) / len(draws)
    question = gamble_question("ill", "dead", "healthy", 0.45)
    gaps = worth - worth[:, [int((model @ mean).argmax())]]
    means = [gaps[mask].mean(axis=0) for mask in (asked > 0, asked <= 0)]
    chance = (asked > 0).mean()
    removed = (chance * (1 - chance) * (means[0] - means[1]) ** 2).sum()
    assert belief.worth_of([question], situation)[0].variance == pytest.approx(removed, rel=0.05, abs=1e-5)
    assert belief.value_of(question, situation) == pytest.approx(best - (model @ mean).max(), abs=room)
    after = belief.after(question, "sure")
    assert after.mean_values == pytest.approx(draws[asked > 0].mean(axis=0), abs=5e-3)
    assert after.covariance == pytest.approx(np.cov(draws[asked > 0].T), abs=2e-3)

    told = draws[:, 1] + 0.05 * rng.standard_normal(len(draws))
    slopes = np.array([np.cov(worth[:, a], told)[0, 1] for a in range(3)]) / told.var()
    predicted = model @ mean + np.outer(told - mean[1], slopes)
    number = scale_question("ill", "dead", "healthy", (0.0, 10.0))
    assert belief.value_of(number, situation) == pytest.approx(
        predicted.max(axis=1).mean() - (model @ mean).max(), abs=room
    )
    near = np.abs(told - 0.7) < 0.01
    assert belief.after(number, 7.0).mean_values == pytest.approx(draws[near].mean(axis=0), abs=1e-2)
    assert belief.expected_regret(situation) >= worth.max(axis=1).mean() - (model @ mean).max() - room


@pytest.mark.parametrize("level", [0.35, 0.5, 0.65])
def test_a_gaussian_answer_that_may_change_the_action_has_its_value(level):
    """Two outcomes that are rivals: either answer favours one of them, with unequal chances off the mean."""
    situation = DecisionSituation({"first": "ill", "second": "lame"}, {})
    table = np.zeros((4, 4))
    table[1:3, 1:3] = [[0.04, -0.03], [-0.03, 0.04]]
    belief = GaussianUtilityBelief(dict(zip(OUTCOMES, [0.0, 0.45, 0.5, 1.0], strict=True)), table, noise=0.1)
    rng = np.random.default_rng(2)
    worth = rng.multivariate_normal([0.45, 0.5], table[1:3, 1:3], 10**6)
    above = worth[:, 0] + 0.1 * rng.standard_normal(len(worth)) > level
    best = sum(worth[mask].sum(axis=0).max() for mask in (above, ~above)) / len(worth)
    found = belief.value_of(gamble_question("ill", "dead", "healthy", level), situation)
    assert found == pytest.approx(best - 0.5, abs=1e-3)
    assert found > 0.02


def test_gaussian_regret_is_exact_for_two_actions():
    """E[max] - max E by draws."""
    rng = np.random.default_rng(8)
    situation, model = random_situation(rng, 2)
    belief = GaussianUtilityBelief(dict.fromkeys(OUTCOMES, 0.5), 0.04)
    worth = (0.5 + 0.2 * rng.standard_normal((400_000, 4))) @ model.T
    direct = worth.max(axis=1).mean() - 0.5
    assert belief.expected_regret(situation) == pytest.approx(direct, abs=1e-3)


def test_sameness_is_an_observation():
    """It moves c·U to zero: exactly, without noise, for a Normal belief; by the bell curve for functions."""
    question = gamble_question("ill", "dead", "healthy", 0.3)
    belief = GaussianUtilityBelief({"dead": 0.0, "ill": 0.6, "healthy": 1.0}, np.diag([0, 0.04, 0]))
    assert belief.after(question, "same").mean["ill"] == pytest.approx(0.3)
    assert belief.after(question, "same").covariance[1, 1] == pytest.approx(0)
    discrete = DiscreteUtilityBelief([{"dead": 0, "ill": u, "healthy": 1} for u in (0.1, 0.3, 0.9)])
    assert discrete.after(question, "same").weights.tolist() == [0, 1, 0]


@pytest.mark.parametrize("seed", range(6))
def test_asking_stops_early_with_the_best_action(seed):
    """Fewer questions than the full utility takes, and the choice is that of the true utility."""
    rng = np.random.default_rng(seed)
    situation, _ = random_situation(rng)
    levels = np.linspace(0.02, 0.98, 25)
    tastes = [{"dead": 0.0, "ill": a, "lame": b, "healthy": 1.0} for a in levels for b in levels if a < b]
    truth = tastes[int(rng.integers(len(tastes)))]
    pool = [
        gamble_question(item, "dead", "healthy", level / 100) for item in ("ill", "lame") for level in range(1, 100)
    ]
    session = run_session(
        adaptive_elicitation(situation, DiscreteUtilityBelief(tastes), pool), SimulatedRespondent(truth)
    )
    assert session.result.ending == "settled"
    best = situation.with_utility(truth).rank()
    assert best.expected_utilities[session.result.action] == pytest.approx(best.expected_utility, abs=1e-9)
    full = run_session(standard_gamble(["ill", "lame"], "dead", "healthy"), SimulatedRespondent(truth))
    assert session.num_questions < full.num_questions


def test_nothing_is_asked_where_all_tastes_agree():
    """A dominating action is settled at once, and a question costs more than it brings."""
    situation = DecisionSituation({"good": "healthy", "bad": "dead"}, {})
    belief = DiscreteUtilityBelief([{"dead": 0, "ill": u, "healthy": 1} for u in (0.2, 0.8)])
    session = adaptive_elicitation(situation, belief)
    assert session.is_done
    assert session.result.ending == "settled"
    assert session.result.action == "good"
    open_choice = DecisionSituation({"wait": "ill", "try": Lottery({"healthy": 0.5, "dead": 0.5})}, {})
    dear = adaptive_elicitation(open_choice, belief, cost=1.0)
    assert dear.result.ending == "not worth asking"
    assert adaptive_elicitation(open_choice, belief, max_questions=0).result.ending == "enough questions"
    cheap = adaptive_elicitation(open_choice, belief, cost=0.01)
    assert cheap.question is not None
    assert "settled" in str(cheap.answer("sure").result)


def test_gaussian_sessions_narrow_down():
    """A noisy respondent and a Normal belief settle on the right action; sessions can be resumed and taken back."""
    truth = {"dead": 0.0, "ill": 0.35, "healthy": 1.0}
    situation = DecisionSituation({"wait": "ill", "try": Lottery({"healthy": 0.6, "dead": 0.4})}, {})
    belief = GaussianUtilityBelief({"dead": 0.0, "ill": 0.65, "healthy": 1.0}, np.diag([0, 0.05, 0]), noise=0.05)
    start = adaptive_elicitation(situation, belief, tolerance=1e-3)
    done = run_session(start, SimulatedRespondent(truth, noise=0.05, seed=1))
    assert done.result.action == "try"
    assert done.num_questions < 15
    again = done.started().replay(done.answers)
    assert again.result == done.result
    assert done.undo().num_questions == done.num_questions - 1
    assert done.started().question == start.question


@pytest.mark.parametrize("seed", range(2))
def test_many_outcomes_take_few_questions_and_none_twice(seed):
    """Twenty outcomes: the decision is settled long before the utilities are known, with little loss."""
    rng = np.random.default_rng(seed)
    names = [f"o{i}" for i in range(20)]
    model = rng.dirichlet(np.full(20, 0.3), size=8)
    situation = DecisionSituation(
        {a: Lottery(dict(zip(names, row.tolist(), strict=True))) for a, row in enumerate(model)}, {}
    )
    values = np.sort(rng.random(20))
    values[[0, -1]] = 0.0, 1.0
    means = np.full(20, 0.5)
    means[[0, -1]] = 0.0, 1.0
    covariance = np.diag([0.0, *[0.08] * 18, 0.0])
    belief = GaussianUtilityBelief(dict(zip(names, means.tolist(), strict=True)), covariance, noise=0.05)
    shown = []

    def answer(question):
        shown.append((question.item, question.level))
        return SimulatedRespondent(dict(zip(names, values.tolist(), strict=True)))(question)

    session = run_session(adaptive_elicitation(situation, belief, tolerance=0.01), answer)
    assert session.result.ending == "settled"
    assert len(set(shown)) == len(shown) < 18 * 7  # what bisection to 0.01 takes
    worth = model @ values
    assert worth.max() - worth[session.result.action] < 0.05


def test_questions_are_ordered_by_value():
    """The threshold of the decision is the best level to ask about."""
    situation = DecisionSituation({"wait": "ill", "try": Lottery({"healthy": 0.6, "dead": 0.4})}, {})
    tastes = [{"dead": 0.0, "ill": (k + 0.5) / 100, "healthy": 1.0} for k in range(100)]
    pool = [gamble_question("ill", "dead", "healthy", level / 10) for level in range(1, 10)]
    values = question_values(DiscreteUtilityBelief(tastes), situation, pool)
    assert values[0].question.level == 0.6
    told = [round(each.value, 12) for each in values]
    assert told == sorted(told, reverse=True)


@pytest.mark.parametrize("seed", range(5))
def test_nothing_is_left_to_gain_where_one_action_is_the_best_for_all(seed):
    """Exactly zero: no answer changes the action, so that neither knowing nor asking is worth anything."""
    rng = np.random.default_rng(seed)
    _, tastes = random_tastes(rng, 30)
    chances = rng.dirichlet(np.ones(4))
    better = dict(zip(OUTCOMES, chances.tolist(), strict=True))
    worse = better | {"dead": better["dead"] + better["healthy"], "healthy": 0.0}
    situation = DecisionSituation({"worse": Lottery(worse), "better": Lottery(better)}, {})
    weights = rng.dirichlet(np.ones(30))
    asked = [gamble_question("ill", "dead", "healthy", 0.4), scale_question("lame", "dead", "healthy", (0, 100))]
    for belief in (DiscreteUtilityBelief(tastes, weights), DiscreteUtilityBelief(tastes, weights, noise=0.1)):
        assert belief.expected_regret(situation) == 0.0
        assert [worth.value for worth in belief.worth_of(asked, situation)] == [0.0, 0.0]
    gaussian = GaussianUtilityBelief({"dead": 0, "ill": 0.5, "lame": 0.7, "healthy": 1}, np.diag([0, 0.01, 0.01, 0]))
    assert gaussian.worth_of(asked[:1], situation)[0].value == 0.0


@pytest.mark.parametrize("unit", [1.0, 1000.0, 1e-6])
def test_a_function_that_is_indifferent_up_to_rounding_answers_half_each_way(unit):
    """0.1 + 0.2 and 0.3 are the same utility, in any unit, and tell nothing when they are told on a scale."""
    levels = [0.3, 0.1 + 0.2, 0.30000000000000016]
    belief = DiscreteUtilityBelief([{"dead": 0.0, "ill": level * unit, "healthy": unit} for level in levels])
    question = gamble_question("ill", "dead", "healthy", 0.3)
    assert belief.linear(question).likelihood("sure", belief.utilities, 0.0).tolist() == [0.5] * 3
    if unit == 1.0:
        told = belief.linear(scale_question("ill", "dead", "healthy", (0, 1)))
        assert told.likelihoods(belief.utilities, 0.0).tolist() == [[1.0] * 3]


@pytest.mark.parametrize("seed", range(20))
def test_what_was_told_without_error_stays_known_when_it_is_asked_again(seed):
    """Rounding leaves no variance that a second answer could move: neither of an outcome nor of a comparison."""
    rng = np.random.default_rng(seed)
    root = rng.normal(size=(4, 4)) * [[0.0], [1.0], [1.0], [0.0]]
    belief = GaussianUtilityBelief({"dead": 0.0, "ill": 0.4, "lame": 0.6, "healthy": 1.0}, root @ root.T)
    scale = scale_question("ill", "dead", "healthy", (0, 1))
    told = belief.after(scale, 1 / 3)
    assert told.deviations[1] == 0.0
    assert told.after(scale, 0.9) is told
    level = gamble_question("lame", "ill", "healthy", 0.3)
    equal = belief.after(level, "same")
    assert equal.mean["lame"] == pytest.approx(0.7 * equal.mean["ill"] + 0.3, abs=1e-9)
    assert equal.after(level, "sure") is equal


def test_questions_that_differ_by_rounding_stay_in_their_order():
    """Two outcomes about which the same is believed, up to the last digit: the one listed first is asked about."""
    situation = DecisionSituation({"a": {"ill": 0.5, "lame": 0.5}, "b": {"healthy": 0.5, "dead": 0.5}}, {})
    for shift in (-1e-16, 0.0, 1e-16):
        mean = {"dead": 0.0, "ill": 0.5 + shift, "lame": 0.5 - shift, "healthy": 1.0}
        covariance = np.diag([0.0, 0.04 + shift, 0.04 - shift, 0.0])
        belief = GaussianUtilityBelief(mean, covariance)
        asked = [gamble_question(name, "dead", "healthy", 0.5) for name in ("ill", "lame")]
        for order in (asked, asked[::-1]):
            assert [each.question for each in question_values(belief, situation, order)] == order


def test_beliefs_refuse_what_they_can_not_use():
    """Impossible answers, unknown outcomes, questions of other kinds, tables that are no covariance."""
    belief = DiscreteUtilityBelief([{"dead": 0, "ill": 0.5, "healthy": 1}])
    refuses(ImpossibleEvidence, "noise", belief.after, gamble_question("ill", "dead", "healthy", 0.9), "sure")
    refuses(InvalidArgument, "'lame'", belief.after, gamble_question("lame", "dead", "healthy", 0.9), "sure")
    refuses(InvalidArgument, "'lame'", belief.expected_regret, DecisionSituation({"a": "lame"}, {}))
    refuses(NotSupported, "years", belief.after, time_question("ill", "dead", "healthy", 0.9, 10), "longer")
    with pytest.raises(InvalidArgument, match="anchors"):
        GaussianUtilityBelief({"dead": -3, "healthy": 5}, 1.0).after(
            scale_question("dead", "dead", "healthy", (0, 1)), 0
        )
    refuses(InvalidArgument, "symmetric", GaussianUtilityBelief, {"a": 0, "b": 1}, [[1, 2], [0, 1]])
    refuses(InvalidArgument, "negative variance", GaussianUtilityBelief, {"a": 0, "b": 1}, [[1, 2], [2, 1]])
    refuses(InvalidArgument, "weights", DiscreteUtilityBelief, [{"a": 1}], [0.0])
    refuses(InvalidArgument, "noise", DiscreteUtilityBelief, [{"a": 1}], noise=-1)
