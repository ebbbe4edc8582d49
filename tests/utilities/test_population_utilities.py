"""Populations of utilities: posteriors, EM, mixtures over decompositions and evidence, against dense formulas."""

from __future__ import annotations

import itertools
from dataclasses import replace
from fractions import Fraction

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats

import plausible as pb
from plausible import errors
from plausible.search.run import Stops
from plausible.utilities.attributes.additive_utility import utility_basis
from plausible.utilities.populations.em import PopulationPrior, condition, read_answers
from plausible.utilities.populations.population import fit_population, fit_population_mixture
from plausible.utilities.populations.selection import DecompositionPrior, score_decompositions, search_decomposition
from refusals import refuses
from seeds import few_of

SEEDS = st.integers(0, 10**6)
STATES = {"A": 2, "B": 2, "C": 2}
GRID = np.indices((2, 2, 2)).reshape(3, -1)
ASKED = dict(zip("ABC", GRID, strict=True))
SCOPES = [("A", "B"), ("B", "C")]


def _design(scopes, columns=GRID):
    variables = [pb.Variable(name, size) for name, size in STATES.items()]
    basis = utility_basis(variables, scopes)
    return basis, basis.rows(dict(zip("ABC", columns, strict=True)), columns.shape[1])


def _people(rng, number, noise=0.1, missing=0.3):
    """Answers of people with Gaussian coordinates; the coordinates too."""
    basis, design = _design(SCOPES)
    mean = rng.normal(size=basis.size)
    root = rng.normal(size=(basis.size, basis.size)) * 0.4
    coordinates = mean + rng.normal(size=(number, basis.size)) @ root.T
    answers = coordinates @ design.T + rng.normal(0, noise, size=(number, 8))
    answers[rng.random(answers.shape) < missing] = np.nan
    return answers, coordinates, mean, root @ root.T


@settings(max_examples=16, deadline=None)
@given(seed=SEEDS, is_singular=st.booleans())
def test_posteriors_of_people_equal_dense_gaussian_conditioning(seed, is_singular):
    """Any pattern of missing answers, none known included; singular prior covariances too."""
    rng = np.random.default_rng(seed)
    size, num_outcomes, noise = 3, 4, 0.3
    design = rng.normal(size=(num_outcomes, size))
    root = rng.normal(size=(size, 1 if is_singular else size))
    prior = root @ root.T
    values = np.where(rng.random((6, num_outcomes)) < 0.5, np.nan, rng.normal(size=(6, num_outcomes)))
    values[0] = np.nan
    means = rng.normal(size=(6, size))
    seen = set()
    for block in condition(read_answers(values, num_outcomes), design, means, prior, noise):
        for place, person in enumerate(block.people):
            known = ~np.isnan(values[person])
            x, y = design[known], values[person][known]
            total = x @ prior @ x.T + noise * np.eye(len(y))
            gain = prior @ x.T @ np.linalg.inv(total)
            residual = y - x @ means[person]
            assert block.moves[place] == pytest.approx(gain @ residual, abs=1e-8)
            covariance = block.covariances[block.pattern_of[place]]
            assert covariance == pytest.approx(prior - gain @ x @ prior, abs=1e-8)
            log_det = np.linalg.slogdet(total)[1] - len(y) * np.log(noise)
            assert block.log_determinants[place] == pytest.approx(log_det, abs=1e-8)
            assert block.squares[place] / noise == pytest.approx(residual @ np.linalg.inv(total) @ residual, abs=1e-8)
            seen.add(int(person))
    assert seen == set(range(6))


def _exactly_solved(matrix, right):
    """matrix⁻¹ right in rational numbers, of positive definite matrices, by Gauss and Jordan."""
    size = len(matrix)
    rows = [[*map(Fraction, left), *map(Fraction, after)] for left, after in zip(matrix, right, strict=True)]
    for place in range(size):
        rows[place] = [entry / rows[place][place] for entry in rows[place]]
        for other in range(size):
            if other != place:
                pivot = rows[other][place]
                rows[other] = [entry - pivot * own for entry, own in zip(rows[other], rows[place], strict=True)]
    return np.array([row[size:] for row in rows])


@pytest.mark.parametrize("seed", range(6))
@pytest.mark.parametrize("scale", [1e-3, 1e3])
def test_posteriors_are_accurate_where_noise_is_a_trillionth_of_the_spread(seed, scale):
    """Against rational arithmetic: directions that the answers settle, and those that the prior settles."""
    rng = np.random.default_rng(seed)
    size, num_outcomes = 4, 3
    exact = np.vectorize(Fraction)
    design = rng.normal(size=(num_outcomes, size))
    root = rng.normal(size=(size, size)) * np.array([1.0, 1.0, 1e-2, 1e-5])
    prior, noise = scale**2 * (root @ root.T), scale**2 * 1e-12
    values = scale * rng.normal(size=(1, num_outcomes))
    block = next(condition(read_answers(values, num_outcomes), design, np.zeros((1, size)), prior, noise))
    x, spread = exact(design), exact(prior)
    total = x @ spread @ x.T + Fraction(noise) * exact(np.eye(num_outcomes))
    gain = _exactly_solved(total, x @ spread).T
    covariance = (spread - gain @ x @ spread).astype(float)
    mean = (gain @ exact(values[0])).astype(float)
    assert block.moves[0] == pytest.approx(mean, abs=1e-8 * np.abs(mean).max())
    assert block.covariances[0] == pytest.approx(covariance, abs=1e-4 * covariance.max())
    square = exact(values[0]) @ _exactly_solved(total, exact(values).T)[:, 0]
    assert block.squares[0] / noise == pytest.approx(float(square), rel=1e-8)


@pytest.mark.parametrize("seed", [1, 3, 19, 29])
def test_em_never_lowers_its_objective_where_a_few_people_are_fitted_without_a_prior(seed):
    """Covariances and noise then shrink until they are nearly singular; the last gain is the one that stops it."""
    rng = np.random.default_rng(seed)
    cells = np.indices((2, 3, 2)).reshape(3, -1)
    num_outcomes = int(rng.integers(3, 6))
    asked = cells[:, rng.choice(12, num_outcomes, replace=False)]
    answers = rng.normal(size=(int(rng.integers(6, 13)), num_outcomes))
    answers[rng.random(answers.shape) < 0.3] = np.nan
    people = fit_population(
        dict(zip("ABC", asked, strict=True)),
        answers,
        [("A", "B"), "C"],
        {"A": 2, "B": 3, "C": 2},
        prior=PopulationPrior("parts", 0.0),
        stops=Stops(max_steps=300),
    )
    assert (np.diff(people.trace) > -1e-9 * np.abs(people.trace).max()).all()


def test_em_does_not_mind_where_the_zero_of_utilities_is():
    """Answers moved by ten million: the same spread of people, and the same noise."""
    answers, *_ = _people(np.random.default_rng(12), 60)
    near, far = (
        fit_population(ASKED, answers + shift, SCOPES, STATES, stops=Stops(max_steps=30)) for shift in (0.0, 1e7)
    )
    assert far.covariance == pytest.approx(near.covariance, abs=1e-5)
    assert far.noise == pytest.approx(near.noise, rel=1e-5)


@pytest.mark.parametrize("covariance", ["full", "parts", "diagonal"])
@pytest.mark.parametrize("shrinkage", [0.0, 1.0])
def test_em_never_lowers_its_objective_and_reports_the_true_likelihood(covariance, shrinkage):
    """The trace rises; the log-likelihood is that of dense Gaussians."""
    answers, *_ = _people(np.random.default_rng(1), 40)
    states = []
    stops = Stops(max_steps=60, progress=states.append)
    people = fit_population(ASKED, answers, SCOPES, STATES, prior=PopulationPrior(covariance, shrinkage), stops=stops)
    assert (np.diff(people.trace) > -1e-8 * np.abs(people.trace[:-1])).all()
    assert len(states) == len(people.trace)
    _, design = _design(SCOPES)
    total = 0.0
    for row in answers:
        known = ~np.isnan(row)
        x = design[known]
        if known.any():
            spread = x @ people.covariance @ x.T + people.noise * np.eye(known.sum())
            total += stats.multivariate_normal(x @ people.mean[:, 0], spread).logpdf(row[known])
    assert people.log_likelihood == pytest.approx(total, rel=1e-9)
    if covariance == "diagonal":
        assert np.count_nonzero(people.covariance) == people.basis.size
    if covariance == "parts":
        first, second = people.basis.blocks
        assert not people.covariance[first, second].any()


def test_em_without_missing_answers_agrees_with_factor_analysis_by_direct_maximisation():
    """Where answers are many and noise small, maximum likelihood is near the sample moments of least squares."""
    answers, coordinates, *_ = _people(np.random.default_rng(2), 300, noise=0.01, missing=0.0)
    people = fit_population(ASKED, answers, SCOPES, STATES, prior=PopulationPrior(shrinkage=0.0))
    assert people.mean[:, 0] == pytest.approx(coordinates.mean(axis=0), abs=0.01)
    assert people.covariance == pytest.approx(np.cov(coordinates.T, bias=True), abs=0.01)
    assert np.sqrt(people.noise) == pytest.approx(0.01, rel=0.2)


def test_a_population_is_recovered_from_incomplete_answers():
    """Six hundred people who answered two questions of three."""
    answers, _, mean, spread = _people(np.random.default_rng(3), 600, noise=0.1, missing=0.33)
    people = fit_population(ASKED, answers, SCOPES, STATES)
    assert people.mean[:, 0] == pytest.approx(mean, abs=0.15)
    assert people.covariance == pytest.approx(spread, abs=0.35)
    assert np.sqrt(people.noise) == pytest.approx(0.1, abs=0.02)


def test_a_few_answers_of_a_new_person_go_a_long_way():
    """The error is what the estimate says, and three answers that fix an outcome by the structure fix it."""
    rng = np.random.default_rng(4)
    answers, *_ = _people(np.random.default_rng(5), 500, missing=0.2)
    people = fit_population(ASKED, answers, SCOPES, STATES)
    _, design = _design(SCOPES)
    target = {"A": 1, "B": 1, "C": 1}
    before = people.prior().at(target).standard_deviation
    deviations = []
    for asked in ([0, 1], [6, 3, 2]):  # given B, what A adds and what C adds are independent of each other
        columns = {name: column[asked] for name, column in ASKED.items()}
        scaled = []
        for _ in range(100):
            theta = rng.multivariate_normal(people.mean[:, 0], people.covariance)
            reply = design[asked] @ theta + rng.normal(0, np.sqrt(people.noise), size=len(asked))
            user = people.predict(columns, reply)
            estimate = user.at(target)
            scaled.append((estimate.mean - design[7] @ theta) / estimate.standard_deviation)
        assert 0.75 < np.std(scaled) < 1.25
        assert abs(np.mean(scaled)) < 0.3
        deviations.append(estimate.standard_deviation)
        assert user.standard_deviations()[1, 1, 1] == pytest.approx(estimate.standard_deviation)
    assert deviations[0] < before
    assert deviations[1] < 0.2 < before
    silent = people.predict(columns, np.full(3, np.nan))
    assert silent.mean == pytest.approx(people.mean[:, 0])


def test_lotteries_are_estimated_by_their_marginals():
    """The mean is the expected utility of the mean; a lottery is exactly as good as itself."""
    people = fit_population(ASKED, _people(np.random.default_rng(5), 50)[0], SCOPES, STATES)
    lottery = pb.Factor(STATES, np.random.default_rng(0).dirichlet(np.ones(8)).reshape(2, 2, 2))
    user = people.predict(ASKED, np.arange(8.0))
    worth = user.expected_utility(lottery)
    assert worth.mean == pytest.approx((user.utility.table().values * lottery.values).sum())
    row = lottery.flat @ _design(SCOPES)[1]
    assert worth.standard_deviation == pytest.approx(np.sqrt(row @ user.covariance @ row))
    assert user.difference(lottery, lottery).standard_deviation == 0


def test_mean_utilities_depend_on_the_background():
    """θ = A z + noise: the slope of age is found, and used for a new person."""
    rng = np.random.default_rng(6)
    age = rng.uniform(-1, 1, size=400)
    gain = 1.0 + 3.0 * age
    answers = np.outer(gain, GRID[0]) + rng.normal(0, 0.1, size=(400, 8))
    people = fit_population(ASKED, answers, ["A", "B", "C"], STATES, background=age)
    young, old = people.utility([-1.0]).table(), people.utility([1.0]).table()
    assert young[1, 0, 0] - young[0, 0, 0] == pytest.approx(-2.0, abs=0.05)
    assert old[1, 0, 0] - old[0, 0, 0] == pytest.approx(4.0, abs=0.05)
    refuses(errors.InvalidArgument, "1 numbers", people.utility)


def _two_kinds(rng, number):
    """People whose utility is additive, and people for whom A and B go together."""
    is_joint = rng.random(number) < 0.3
    plain = rng.normal([1.0, 1.0, 1.0], 0.2, size=(number, 3)) @ GRID
    both = rng.normal(4.0, 0.5, size=(number, 1)) * (GRID[0] * GRID[1])
    answers = plain + is_joint[:, None] * both + rng.normal(0, 0.1, size=(number, 8))
    answers[rng.random(answers.shape) < 0.1] = np.nan
    return answers, is_joint


def test_a_mixture_over_decompositions_tells_who_has_which():
    """Shares, classes of people, and the class of a new person after the telling answers."""
    answers, is_joint = _two_kinds(np.random.default_rng(7), 300)
    mixture = fit_population_mixture(
        ASKED,
        answers,
        [["A", "B", "C"], [("A", "B"), "C"]],
        STATES,
        seed=0,
        restarts=1,
        stops=Stops(max_steps=200),
    )
    assert (np.diff(mixture.trace) > -1e-8 * np.abs(mixture.trace[:-1])).all()
    found = mixture.posteriors(ASKED, answers)
    assert found.sum(axis=1) == pytest.approx(1.0)
    assert ((found[:, 1] > 0.5) == is_joint).mean() > 0.97
    assert mixture.weights.flat[1] == pytest.approx(is_joint.mean(), abs=0.05)
    asked = {"A": [0, 1, 0, 1], "B": [0, 0, 1, 1], "C": [0, 0, 0, 0]}
    user = mixture.predict(asked, [0.0, 1.0, 1.0, 6.0])
    assert user.weights.flat[1] > 0.95
    assert user.at({"A": 1, "B": 1, "C": 1}).mean == pytest.approx(7.0, abs=0.3)
    assert user.utility[{"A": 1, "B": 1, "C": 1}] == pytest.approx(user.at({"A": 1, "B": 1, "C": 1}).mean)


def test_the_posterior_of_the_class_is_bayes_rule_on_dense_densities():
    """P(class | answers) ∝ P(class) N(answers; X μ, X Σ Xᵀ + noise)."""
    answers, _ = _two_kinds(np.random.default_rng(8), 60)
    mixture = fit_population_mixture(
        ASKED,
        answers,
        [["A", "B", "C"], [("A", "B"), "C"]],
        STATES,
        seed=1,
        restarts=0,
        stops=Stops(max_steps=5),
    )
    row = np.array([0.0, 1.0, np.nan, 2.0, 1.0, np.nan, 4.0, 5.0])
    known = ~np.isnan(row)
    joint = []
    for weight, one in zip(mixture.weights.flat, mixture.populations, strict=True):
        x = _design(one.basis.scopes)[1][known]
        spread = x @ one.covariance @ x.T + one.noise * np.eye(known.sum())
        joint.append(np.log(weight) + stats.multivariate_normal(x @ one.mean[:, 0], spread).logpdf(row[known]))
    expected = np.exp(np.array(joint) - np.logaddexp(*joint))
    assert mixture.posteriors(ASKED, row)[0] == pytest.approx(expected, abs=1e-9)
    user = mixture.predict(ASKED, row)
    assert user.weights.flat == pytest.approx(expected, abs=1e-9)
    doubtful = replace(user, weights=pb.Factor(user.weights.scope, [0.4, 0.6]))
    outcome = {"A": 1, "B": 1, "C": 0}
    one, two = (component.at(outcome) for component in user.components)
    second = 0.4 * (one.standard_deviation**2 + one.mean**2) + 0.6 * (two.standard_deviation**2 + two.mean**2)
    estimate = doubtful.at(outcome)
    assert estimate.mean == pytest.approx(0.4 * one.mean + 0.6 * two.mean)
    assert estimate.standard_deviation == pytest.approx(np.sqrt(second - estimate.mean**2))
    assert abs(one.mean - two.mean) > 1e-3
    sure = np.zeros((2, 2, 2))
    sure[1, 1, 0] = 1.0
    assert doubtful.expected_utility(pb.Factor(STATES, sure)).mean == pytest.approx(estimate.mean)


@settings(max_examples=12, deadline=None)
@given(seed=SEEDS)
def test_evidence_is_the_density_of_a_multivariate_student_distribution(seed):
    """Effects and noise integrated out: 2a degrees of freedom, scale (b/a)(I + X D Xᵀ), for each person."""
    rng = np.random.default_rng(seed)
    answers = rng.normal(size=(3, 8))
    answers[rng.random((3, 8)) < 0.3] = np.nan
    answers[:, 0] = rng.normal(size=3)
    prior = DecompositionPrior(spread=2.0, noise_share=0.1, noise_weight=3.0)
    scores = score_decompositions(ASKED, answers, [SCOPES, ["A"]], STATES, prior)
    variance = np.nanvar(answers)
    for scopes, value in zip((SCOPES, ["A"]), scores.log_evidences, strict=True):
        _, design = _design(scopes)
        effects = np.diag(np.where(np.arange(design.shape[1]) == 0, 100.0, 1.0) * 4.0 / (design**2).mean(axis=0))
        total = 0.0
        for row in answers:
            known = ~np.isnan(row)
            x = design[known]
            spread = 0.2 * variance / 3.0 * (np.eye(known.sum()) + x @ effects @ x.T)
            total += stats.multivariate_t(np.zeros(known.sum()), spread, df=6.0).logpdf(row[known])
        assert value == pytest.approx(total, rel=1e-8)
    assert scores.posterior.sum() == pytest.approx(1.0)


def _families():
    """All decompositions of three attributes into sets none of which is within another."""
    sets = [frozenset(c) for size in range(4) for c in itertools.combinations("ABC", size)]
    for size in range(1, 4):
        for chosen in itertools.combinations(sets, size):
            if not any(a < b for a in chosen for b in chosen):
                yield [sorted(one) for one in chosen]


@pytest.mark.parametrize("truth", [["A", "B", "C"], [("A", "B"), "C"], [("A", "B"), ("B", "C")], ["B"]])
def test_the_search_finds_the_decomposition_that_made_the_answers(truth):
    """And it is the best of all decompositions of three attributes."""
    rng = np.random.default_rng(9)
    _, design = _design(truth)
    coordinates = rng.choice([-1, 1], size=(10, design.shape[1])) * rng.uniform(1, 2, size=(10, design.shape[1]))
    answers = coordinates @ design.T + rng.normal(0, 0.1, size=(10, 8))
    told = []
    found = search_decomposition(ASKED, answers, STATES, progress=lambda state: told.append(state))
    assert sorted(map(sorted, found.scopes)) == sorted(sorted([s] if isinstance(s, str) else s) for s in truth)
    assert found.finished
    assert (np.diff(found.trace) > 0).all()
    scores = score_decompositions(ASKED, answers, list(_families()), STATES)
    assert found.log_evidence == pytest.approx(max(scores.log_evidences))
    assert tuple(state.log_evidence for state in told) == found.trace[1:]


@pytest.mark.parametrize("shrinkage", [0.0, 1.0])
@pytest.mark.parametrize("seed", few_of(1, 2))
def test_a_class_that_nobody_is_left_in_does_no_harm(seed, shrinkage):
    """Its share may fall to the smallest of all numbers: parameters stay finite, and the trace rises."""
    rng = np.random.default_rng(seed)
    asked = {"A": [0, 0, 1, 1], "B": [0, 1, 0, 1]}
    answers = rng.normal(1.0, 0.1, size=(90, 2)) @ np.array([asked["A"], asked["B"]])
    answers += rng.normal(0.0, 0.05, size=answers.shape)
    answers[::3, 3] += rng.normal(4.0, 0.5, size=30)
    mixture = fit_population_mixture(
        asked,
        answers,
        [["A", "B"], [("A", "B")]],
        {"A": 2, "B": 2},
        prior=PopulationPrior(shrinkage=shrinkage),
        restarts=1,  # the second run loses a class after 242 steps
        stops=Stops(max_steps=260),
    )
    assert mixture.weights.flat.sum() == pytest.approx(1.0)
    for one in mixture.populations:
        assert np.isfinite(one.mean).all()
        assert np.isfinite(one.covariance).all()
    assert (np.diff(mixture.trace) > -1e-8 * np.abs(mixture.trace[:-1])).all()


def test_what_was_learned_of_people_prints_in_a_few_lines():
    """Decomposition, noise and fit of a population; shares of a mixture; outcomes of a person, the first of many."""
    answers, _ = _two_kinds(np.random.default_rng(7), 40)
    people = fit_population(ASKED, answers, ["A", "B", "C"], STATES, stops=Stops(max_steps=2))
    assert str(people).startswith("U(A) + U(B) + U(C): 4 coordinates, noise ")
    assert str(people).endswith(", not converged")
    mixture = fit_population_mixture(ASKED, answers, [["A", "B", "C"], [("A", "B"), "C"]], STATES, restarts=0)
    assert len(str(mixture).splitlines()) == 5
    assert "1: U(A, B) + U(C)" in str(mixture)
    user = mixture.predict(ASKED, answers[0])
    assert str(user).splitlines()[-1].split(" | ")[:3] == ["1", "1", "1"]
    many = fit_population({"A": [0, 39]}, [[0.0, 1.0]], ["A"], {"A": 40}, stops=Stops(max_steps=1))
    assert "24 more" in str(many.prior())


def test_who_was_asked_nothing_is_what_the_population_says():
    """No rows of answers: the prior, for one population and for a mixture."""
    answers, _ = _two_kinds(np.random.default_rng(7), 40)
    nothing = {"A": [], "B": [], "C": []}
    people = fit_population(ASKED, answers, ["A", "B", "C"], STATES)
    assert people.predict(nothing, []).mean == pytest.approx(people.mean[:, 0])
    assert people.predict(nothing, []).covariance == pytest.approx(people.covariance)
    mixture = fit_population_mixture(ASKED, answers, [["A", "B", "C"], [("A", "B"), "C"]], STATES, restarts=0)
    assert mixture.predict(nothing, []).weights.flat == pytest.approx(mixture.weights.flat)


def test_answers_and_outcomes_that_can_not_be_read_are_refused():
    """Words for numbers, rows of different lengths, attributes left out, several people where one is asked about."""
    people = fit_population(ASKED, np.arange(16.0).reshape(2, 8), SCOPES, STATES, stops=Stops(max_steps=2))
    for answers in ([["x"] * 8], [[1.0, 2.0], [3.0]]):
        with pytest.raises(errors.InvalidArgument, match="answers=: expected a regular array of numbers"):
            fit_population(ASKED, answers, SCOPES, STATES)
        refuses(errors.InvalidArgument, "answers=: expected a regular array of numbers", people.predict, ASKED, answers)
    with pytest.raises(errors.InvalidArgument, match="background=: expected"):
        fit_population(ASKED, np.zeros((2, 8)), SCOPES, STATES, background=["a", "b"])
    with pytest.raises(errors.InvalidArgument, match="each of 2 people"):
        fit_population(ASKED, np.zeros((2, 8)), SCOPES, STATES, background=[1.0, 2.0, 3.0])
    with pytest.raises(errors.UnknownVariable, match=r"lacks 'C'; it has \['A', 'B'\]"):
        people.prior().at({"A": 0, "B": 1})
    refuses(errors.InvalidArgument, "answers of 2 people", people.predict, ASKED, np.zeros((2, 8)))


def test_long_work_can_be_stopped_and_mistakes_are_named():
    """A true answer of progress=, a limit of time, and arguments out of range."""
    answers, *_ = _people(np.random.default_rng(10), 30)
    stopped = fit_population(ASKED, answers, SCOPES, STATES, stops=Stops(progress=lambda state: state.num_steps >= 3))
    assert len(stopped.trace) == 3
    assert not stopped.converged
    assert fit_population(ASKED, answers, SCOPES, STATES, stops=Stops(time_limit=0.0)).trace == ()
    assert not search_decomposition(ASKED, _two_kinds(np.random.default_rng(0), 9)[0], STATES, time_limit=0.0).finished
    with pytest.raises(errors.InvalidArgument, match="column for each of the 8 outcomes"):
        fit_population(ASKED, np.zeros((3, 2)), SCOPES, STATES)
    refuses(errors.InvalidArgument, "no answer", fit_population, ASKED, np.full((2, 8), np.nan), SCOPES, STATES)
    refuses(errors.InvalidArgument, "covariance=", PopulationPrior, "half")
    refuses(errors.InvalidArgument, "restarts", fit_population_mixture, ASKED, answers, [SCOPES], STATES, restarts=-1)
    refuses(errors.InvalidArgument, "no candidate", score_decompositions, ASKED, answers, [], STATES)
