"""Utilities from choices: logit against a general optimiser; choices at their word, with minimal contradictions."""

from __future__ import annotations

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import optimize
from scipy.optimize import linprog

import plausible as pb
from plausible import errors
from plausible.errors import InvalidArgument
from plausible.utilities import ObservedChoices, fit_additive_utility, fit_choices, fit_population, rationalize_choices
from plausible.utilities.attributes.additive_utility import utility_basis
from refusals import refuses
from seeds import few_of

STATES = {"A": 3, "B": 2}
SCOPES = ["A", "B"]
SEEDS = st.integers(0, 10**6)


def _features(columns, scopes=SCOPES):
    basis = utility_basis([pb.Variable(name, size) for name, size in STATES.items()], scopes)
    return basis.rows(columns, len(columns["A"]))


def _choices(rng, number, weights, background=None):
    """Situations of two to four options, chosen by the logit rule."""
    sizes = rng.integers(2, 5, size=number)
    situation = np.repeat(np.arange(number), sizes)
    columns = {"A": rng.integers(3, size=len(situation)), "B": rng.integers(2, size=len(situation))}
    scores = (
        (_features(columns) * weights[situation]).sum(axis=1) if weights.ndim == 2 else _features(columns) @ weights
    )
    noisy = scores + rng.gumbel(size=len(scores))
    chosen = np.zeros(len(scores), dtype=bool)
    for one in range(number):
        rows = np.flatnonzero(situation == one)
        chosen[rows[noisy[rows].argmax()]] = True
    given_rows = None if background is None else background[situation]
    return ObservedChoices(columns, situation, chosen, background=given_rows)


def _log_posterior(theta, choices, deviation):
    x = _features(choices.outcomes)
    total = -0.5 * float(theta @ theta) / deviation**2
    for one in np.unique(choices.situation):
        rows = np.flatnonzero(choices.situation == one)
        scores = x[rows] @ theta
        total += scores[choices.chosen[rows]][0] - np.log(np.exp(scores).sum())
    return total


@settings(max_examples=5, deadline=None)
@given(seed=SEEDS, deviation=st.sampled_from([0.5, 2.0]))
def test_the_mode_and_its_curvature_equal_those_of_a_general_optimiser(seed, deviation):
    """The log posterior is written situation by situation; its Hessian is by differences."""
    rng = np.random.default_rng(seed)
    choices = _choices(rng, 12, rng.normal(size=4))
    model = fit_choices(choices, SCOPES, STATES, prior=deviation)
    found = optimize.minimize(lambda theta: -_log_posterior(theta, choices, deviation), np.zeros(4), tol=1e-10)
    mode = model.mean[:, 0]
    assert mode == pytest.approx(found.x, abs=1e-4)
    assert model.converged
    step, hessian = 1e-4, np.zeros((4, 4))
    moves = np.eye(4) * step
    for i in range(4):
        for j in range(4):
            corners = [(1, 1), (1, -1), (-1, 1), (-1, -1)]
            values = [_log_posterior(mode + a * moves[i] + b * moves[j], choices, deviation) for a, b in corners]
            hessian[i, j] = -(values[0] - values[1] - values[2] + values[3]) / (4 * step**2)
    assert np.linalg.inv(model.covariance) == pytest.approx(hessian, abs=1e-3)


def test_evidence_by_laplace_is_near_the_integral_of_one_coordinate():
    """One attribute of two states: the integral by a fine grid."""
    shown = {"A": np.tile([0, 1], 15)}
    took = np.tile([True, False], 15)
    took[:8] = ~took[:8]
    choices = ObservedChoices(shown, np.repeat(np.arange(15), 2), took)
    model = fit_choices(choices, ["A"], {"A": 2}, prior=1.0)
    grid = np.linspace(-8, 8, 20001)
    gap = grid * np.sqrt(2.0)  # an orthonormal contrast: state one less state zero
    logs = 4 * gap - 15 * np.log1p(np.exp(gap)) - 0.5 * grid**2 - 0.5 * np.log(2 * np.pi)
    integral = np.log(np.exp(logs).sum() * (grid[1] - grid[0]))
    assert model.log_evidence == pytest.approx(integral, abs=0.03)


def test_many_choices_recover_differences_of_utility():
    """Two thousand choices; utilities are known up to a constant, which keeps its prior."""
    rng = np.random.default_rng(0)
    weights = np.array([0.0, 1.0, -1.0, 1.5])
    choices = _choices(rng, 2000, weights)
    model = fit_choices(choices, SCOPES, STATES, prior=10.0)
    assert model.mean[1:, 0] == pytest.approx(weights[1:], abs=0.2)
    assert model.mean[0, 0] == pytest.approx(0.0, abs=1e-6)
    assert model.covariance[0, 0] == pytest.approx(100.0)
    best = model.utility().best().outcome
    rows = _features({"A": np.repeat(np.arange(3), 2), "B": np.tile(np.arange(2), 3)}) @ weights
    assert (best["A"], best["B"]) == tuple(np.unravel_index(rows.argmax(), (3, 2)))


def test_preferences_that_depend_on_the_background():
    """What the old choose is not what the young choose: a slope for every coordinate."""
    rng = np.random.default_rng(1)
    age = rng.uniform(-1, 1, size=3000)
    weights = np.outer(np.ones(3000), [0, 0.5, 0, 0]) + np.outer(age, [0, 0, 0, 2.0])
    model = fit_choices(_choices(rng, 3000, weights, age), SCOPES, STATES)
    assert model.mean[3, 1] == pytest.approx(2.0, abs=0.3)
    assert model.mean[1, 0] == pytest.approx(0.5, abs=0.2)
    assert model.utility([1.0]).best().outcome["B"] == 1
    assert model.utility([-1.0]).best().outcome["B"] == 0
    refuses(errors.InvalidArgument, "1 numbers", model.user)


def test_a_population_is_a_prior_for_the_choices_of_one_more_person():
    """Without telling choices the mode is the mean of the population."""
    rng = np.random.default_rng(2)
    grid = {"A": np.repeat(np.arange(3), 2), "B": np.tile(np.arange(2), 3)}
    answers = rng.normal([0, 1, 2, -1], 0.3, size=(100, 4)) @ _features(grid).T + rng.normal(0, 0.1, size=(100, 6))
    people = fit_population(grid, answers, SCOPES, STATES)
    same = ObservedChoices({"A": [1, 1], "B": [0, 0]}, [0, 0], [True, False])
    model = fit_choices(same, SCOPES, STATES, prior=people)
    assert model.mean[:, 0] == pytest.approx(people.mean[:, 0])
    assert model.covariance == pytest.approx(people.covariance)
    refuses(errors.InvalidArgument, "same scopes", fit_choices, same, ["A"], STATES, prior=people)


def test_options_may_be_lotteries_given_in_any_order_of_rows():
    """A gamble on A=2 or A=0 against A=1 for sure: E[U] decides."""
    columns = {"A": [2, 1, 0], "B": [0, 0, 0]}
    choices = ObservedChoices(
        columns, ["s", "s", "s"], [True, False, True], option=["g", "sure", "g"], probability=[0.25, 1.0, 0.75]
    )
    model = fit_choices(choices, SCOPES, STATES, prior=1.0)
    user = model.user()
    gamble = pb.Factor(STATES, [[0.75, 0], [0, 0], [0.25, 0]])
    sure = pb.Factor(STATES, [[0, 0], [1.0, 0], [0, 0]])
    gain = user.difference(gamble, sure).mean
    assert gain > 0
    assert model.probabilities(choices) == pytest.approx([1 / (1 + np.exp(-gain)), 1 / (1 + np.exp(gain))])


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS, is_honest=st.booleans())
def test_choices_by_some_utility_are_rationalised_and_contradictions_are_real(seed, is_honest):
    """The utility found ranks what was chosen first; a contradiction stays one without the other choices."""
    rng = np.random.default_rng(seed)
    number = 10
    situation = np.repeat(np.arange(number), 3)
    columns = {"A": rng.integers(3, size=30), "B": rng.integers(2, size=30)}
    scores = _features(columns) @ rng.normal(size=4) if is_honest else rng.normal(size=30)
    chosen = np.zeros(30, dtype=bool)
    chosen[np.arange(number) * 3 + scores.reshape(number, 3).argmax(axis=1)] = True
    answer = rationalize_choices(ObservedChoices(columns, situation, chosen), SCOPES, STATES)
    assert answer.is_consistent or not is_honest
    assert answer.is_consistent == (answer.margin > 0)
    worth = np.array([answer.utility[{"A": a, "B": b}] for a, b in zip(columns["A"], columns["B"], strict=True)])
    cells = columns["A"] * 2 + columns["B"]
    for one in range(number):
        rows = np.flatnonzero(situation == one)
        taken = rows[chosen[rows]][0]
        others = [row for row in rows if cells[row] != cells[taken]]
        is_best = all(worth[taken] > worth[row] + 1e-9 for row in others)
        assert is_best == (one not in answer.violated)
    if not answer.is_consistent:
        assert answer.violated
        rows = np.isin(situation, answer.contradiction)
        part = ObservedChoices({name: column[rows] for name, column in columns.items()}, situation[rows], chosen[rows])
        assert not rationalize_choices(part, SCOPES, STATES).is_consistent


def _gambles(base, gaps):
    """In each situation a lottery that differs from the base by a gap is preferred to the base."""
    number, size = len(gaps), len(base)
    lotteries = np.array([[base + gap, base] for gap in gaps])
    lotteries /= lotteries.sum(axis=2, keepdims=True)
    return ObservedChoices(
        {"X": np.tile(np.arange(size), 2 * number)},
        situation=np.repeat(np.arange(number), 2 * size),
        chosen=np.tile(np.repeat([True, False], size), number),
        option=np.tile(np.repeat([0, 1], size), number),
        probability=lotteries.reshape(-1),
    )


@pytest.mark.parametrize("power", range(8))
def test_lotteries_that_hardly_differ_are_judged_as_those_that_do(power):
    """Choices by a utility are explained; ones whose weighted differences cancel are not, however small these are."""
    rng = np.random.default_rng(power)
    for _ in range(5):
        size, number = int(rng.integers(3, 6)), int(rng.integers(1, 5))
        base = 0.5 * rng.dirichlet(np.ones(size)) + 0.5 / size
        gaps = rng.normal(size=(number, size))
        gaps -= gaps.mean(axis=1, keepdims=True)
        gaps *= 0.1**power / (20 * np.abs(gaps).max())
        utility = rng.normal(size=size)
        honest = gaps * np.sign(gaps @ utility)[:, None]
        answer = rationalize_choices(_gambles(base, honest), ["X"], {"X": size})
        assert answer.is_consistent
        worth = np.array([answer.utility[{"X": state}] for state in range(size)])
        assert (honest @ worth > 0).all()
        planted = [*honest, -rng.dirichlet(np.ones(number)) @ honest]
        refused = rationalize_choices(_gambles(base, planted), ["X"], {"X": size})
        assert not refused.is_consistent
        assert number in refused.contradiction
        assert refused.violated


def test_probabilities_with_few_digits_do_not_speak_for_an_option():
    """Thirds that sum to 0.999999 are the lottery of exact thirds: choosing it over itself says nothing."""
    columns = {"X": [0, 1, 2] * 2}
    rounded = [0.333333] * 3 + [1 / 3] * 3
    chosen = [True] * 3 + [False] * 3
    seen = ObservedChoices(columns, [0] * 6, chosen, option=[0] * 3 + [1] * 3, probability=rounded)
    model = fit_choices(seen, ["X"], {"X": 3})
    assert model.mean == pytest.approx(0.0, abs=1e-12)
    assert model.probabilities(seen) == pytest.approx([0.5, 0.5], abs=1e-12)


def test_of_contradictory_choices_the_fewer_give_way():
    """A=2 over A=0 twice, and once the other way round: the utility explains the two."""
    columns = {"A": [2, 0, 2, 0, 2, 0], "B": [0, 0, 1, 1, 0, 0]}
    answer = rationalize_choices(
        ObservedChoices(columns, [1, 1, 2, 2, 3, 3], [True, False, True, False, False, True]), SCOPES, STATES
    )
    assert not answer.is_consistent
    assert answer.violated == (3,)
    assert 3 in answer.contradiction
    assert answer.utility[{"A": 2, "B": 0}] > answer.utility[{"A": 0, "B": 0}]


def test_choices_that_can_not_be_read_are_refused():
    """One option taken in each situation; probabilities that sum to one; a value for each row."""
    columns = {"A": [0, 1], "B": [0, 0]}
    refuses(errors.InvalidArgument, "situation 7 not exactly one", ObservedChoices, columns, [7, 7], [True, True])
    with pytest.raises(errors.InvalidArgument, match="situation 7 not exactly one option is chosen, but 0"):
        ObservedChoices(columns, [7, 7], [False, False])
    refuses(errors.InvalidArgument, "sum to one", ObservedChoices, columns, [7, 7], [True, False], probability=[0.5, 1])
    with pytest.raises(errors.InvalidArgument, match="situation 7 some rows"):
        ObservedChoices(columns, [7, 7], [True, False], option=[1, 1], probability=[0.5, 0.5])
    with pytest.raises(errors.InvalidArgument, match=r"situation 7 .* the least being -0\.5"):
        ObservedChoices(columns, [7, 7], [True, True], option=[1, 1], probability=[1.5, -0.5])
    refuses(errors.InvalidArgument, "2 rows", ObservedChoices, columns, [7], [True, False])
    with pytest.raises(errors.InvalidArgument, match="positive"):
        fit_choices(ObservedChoices(columns, [7, 7], [True, False]), SCOPES, STATES, prior=0.0)
    with pytest.raises(errors.InvalidArgument, match="probability=: expected"):
        ObservedChoices(columns, [7, 7], [True, False], probability=["a", "b"])
    nothing = ObservedChoices({"A": [], "B": []}, [], [])
    refuses(errors.InvalidArgument, "no choice to learn from", fit_choices, nothing, SCOPES, STATES)
    assert rationalize_choices(nothing, SCOPES, STATES).is_consistent
    alone = rationalize_choices(ObservedChoices({"A": [0], "B": [0]}, [1], [True]), SCOPES, STATES)
    assert alone.is_consistent


def explains(columns, situation, chosen, kept):
    """Whether a sum of a utility of A and one of B puts each choice of some situations first, by one at least."""
    both = np.hstack([np.eye(3)[columns["A"]], np.eye(2)[columns["B"]]])
    rows = [
        both[other] - both[taken]
        for one in kept
        for taken in np.flatnonzero((situation == one) & chosen)
        for other in np.flatnonzero((situation == one) & ~chosen)
        if (both[other] != both[taken]).any()
    ]
    if not rows:
        return True
    return linprog(np.zeros(5), np.array(rows), -np.ones(len(rows)), bounds=(None, None), method="highs").status == 0


def is_minimal(columns, situation, chosen, kept):
    """Whether some situations contradict each other, and all sets of one less do not."""
    return not explains(columns, situation, chosen, kept) and all(
        explains(columns, situation, chosen, [other for other in kept if other != one]) for one in kept
    )


@pytest.mark.parametrize("seed", few_of(6, 30))
def test_no_situation_of_a_contradiction_can_be_left_out(seed):
    """Five random data sets each: consistent just if some utility explains all, else the set named is minimal."""
    rng = np.random.default_rng(seed)
    for _ in range(5):
        number = int(rng.integers(2, 6))
        situation = np.repeat(np.arange(number), 3)
        columns = {"A": rng.integers(3, size=len(situation)), "B": rng.integers(2, size=len(situation))}
        chosen = np.zeros(len(situation), dtype=bool)
        chosen[3 * np.arange(number) + rng.integers(3, size=number)] = True
        answer = rationalize_choices(ObservedChoices(columns, situation, chosen), ["A", "B"], STATES)
        assert answer.is_consistent == explains(columns, situation, chosen, range(number))
        assert answer.is_consistent or is_minimal(columns, situation, chosen, answer.contradiction)


def test_a_situation_that_two_others_contradict_without_is_not_named():
    """Of three, the second and the third are enough."""
    columns = {"A": [1, 1, 2, 1, 1, 2, 1, 2, 2], "B": [1, 1, 0, 0, 0, 1, 1, 1, 0]}
    chosen = np.array([0, 0, 1, 1, 0, 0, 0, 1, 0], dtype=bool)
    situation = np.repeat([0, 1, 2], 3)
    answer = rationalize_choices(ObservedChoices(columns, situation, chosen), ["A", "B"], STATES)
    assert answer.contradiction == (1, 2)
    arrays = {name: np.array(column) for name, column in columns.items()}
    assert is_minimal(arrays, situation, chosen, answer.contradiction)


def test_choices_among_the_same_say_nothing():
    """Any utility explains them, and the text says so; there is no margin to speak of."""
    same = ObservedChoices({"A": [1, 1], "B": [0, 0]}, [5, 5], [True, False])
    answer = rationalize_choices(same, ["A", "B"], STATES)
    assert (answer.is_consistent, answer.margin, answer.contradiction, answer.violated) == (True, math.inf, (), ())
    assert str(answer) == "any utility explains all choices: no situation has options that differ"


# --- outcomes in lists ---


def test_outcomes_may_be_a_list_of_mappings():
    """As in columns, in any order of names; in choices as well."""
    columns = {"A": [0, 1, 2, 1], "B": [0, 1, 1, 0]}
    listed = [{"B": b, "A": a} for a, b in zip(columns["A"], columns["B"], strict=True)]
    values = [1.0, 5.0, 2.0, 4.5]
    fits = [fit_additive_utility(given, values, ["A", "B"], STATES) for given in (columns, listed)]
    assert fits[0].utility == fits[1].utility
    seen = [ObservedChoices(given, [1, 1, 2, 2], [True, False, False, True]) for given in (columns, listed)]
    first, second = (fit_choices(one, ["A", "B"], STATES).mean for one in seen)
    np.testing.assert_array_equal(first, second)


@pytest.mark.parametrize(
    ("outcomes", "told"),
    [
        ([{"A": 0, "B": 0}, {"A": 0}], r"Outcome 1, \{'A': 0\}, has no 'B'"),
        ([{"A": 0, "b": 0}], "Outcome 0, .* has no 'B'. Did you mean 'b'"),
        ([(0, 0)], r"Outcome 0 is \(0, 0\): give a mapping"),
    ],
)
def test_lists_of_outcomes_with_gaps_are_refused_with_their_place(outcomes, told):
    refuses(InvalidArgument, told, fit_additive_utility, outcomes, [0.0] * len(outcomes), ["A", "B"], STATES)
