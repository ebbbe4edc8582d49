"""Rejection sampling and likelihood weighting: the truth within their error bars, zeros, refusals, reproducibility."""

from __future__ import annotations

import math
import pickle

import numpy as np
import pytest

from network_oracle import (
    burglary_network,
    joint_of_bayesian_network,
    posterior,
    random_network,
    sprinkler_network,
    total,
)
from plausible.cpds import ConditionalGaussianCPD, NoisyOr, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge, UnknownVariable
from plausible.factors import Factor
from plausible.inference.engines import Engine, VariableElimination
from plausible.inference.sampling.chains import Gibbs
from plausible.inference.sampling.directed_sampling import EvidenceNotSeen, LikelihoodWeighting, RejectionSampling, draw
from plausible.inference.sampling.importance_sampling import ImportanceSampling
from plausible.inference.sampling.sampling_plan import SamplingPlan, ordered_families, stream_key
from plausible.models import BayesianNetwork
from plausible.variables import Evidence, Variable, jeffrey, likelihood

SAMPLERS = [RejectionSampling, LikelihoodWeighting, ImportanceSampling]
NONE = Evidence.read({}, {})


def families(net):
    return [cpd.to_factor() for cpd in net.cpds.values()]


def found(net, findings):
    return Evidence.read(findings, net.variables)


def possible_findings(rng, net, count):
    """States of some variables that occur together in a forward sample drawn here."""
    states = {}
    for name in net.graph.topological_order:
        row = net.cpds[name].values[tuple(states[parent.name] for parent in net.cpds[name].parents)]
        states[name] = int(rng.choice(len(row), p=row))
    return {name: net.variables[name].states[states[name]] for name in rng.permutation(list(states))[:count]}


# --- the truth ---


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("seed", range(6))
def test_marginals_lie_within_twice_their_error_of_enumeration(sampler, seed):
    """Random networks with zeros, one-state variables and disconnected parts; hard, one-of and virtual evidence."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=6)
    findings = possible_findings(rng, net, 3)
    names = list(findings)
    evidence = dict(findings)
    evidence[names[0]] = {findings[names[0]], net.variables[names[0]].states[0]}
    evidence[names[1]] = likelihood(rng.random(net.variables[names[1]].num_states) + 0.1)
    free = [variable for name, variable in net.variables.items() if name != names[2]]
    given = found(net, evidence)
    answers = sampler(20_000, seed=seed).marginals(families(net), net.variables.values(), given)
    for variable in free:
        exact = VariableElimination().query(families(net), [variable], given).values
        answer = answers[variable.name]
        assert np.abs(answer.values - exact).max() <= 2 * answer.info.error + 1e-12
        assert not np.any(answer.values[exact == 0])
        assert not answer.info.exact
    assert answers[names[2]].values[net.variables[names[2]].index(findings[names[2]])] == 1
    estimate = sampler(20_000, seed=seed).log_total(families(net), given)
    truth = VariableElimination().log_total(families(net), given)
    assert abs(estimate - truth) <= max(2 * (estimate.upper - estimate), 2 * (estimate - estimate.lower), 1e-12)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_joint_beliefs_of_groups_come_from_one_run(sampler):
    net = sprinkler_network()
    names = list(net.variables)
    evidence = {names[-1]: net.variables[names[-1]].states[1]}
    groups = [[net.variables[n] for n in (names[1], names[0], names[-1])], [], [net.variables[names[2]]]]
    joints = sampler(50_000).joints(families(net), groups, found(net, evidence))
    exact = VariableElimination().query(families(net), groups[0], found(net, evidence))
    assert joints[0].names == exact.names
    assert np.abs(joints[0].values - exact.values).max() <= 2 * joints[0].info.error
    assert joints[1].scope == ()
    assert joints[1].sum() == 1


def test_burglary_posterior_and_its_likelihood_weights():
    """P(B | J, ¬M) = .0051299, P(B | J, M) = .2841718; the weights of J, ¬M are .9 · .3 with A, .05 · .99 without."""
    net = burglary_network()
    names = list(net.variables)
    b, a, j, m = (next(n for n in names if n.startswith(letter)) for letter in "BAJM")
    yes = {name: net.variables[name].states[1] for name in names}
    no = {name: net.variables[name].states[0] for name in names}
    joint = joint_of_bayesian_network(net)
    for finding, number in (({j: yes[j], m: no[m]}, 0.0051299), ({j: yes[j], m: yes[m]}, 0.2841718)):
        truth = total(joint, {**finding, b: yes[b]}) / total(joint, finding)
        assert truth == pytest.approx(number, abs=1e-6)
        answer = ImportanceSampling().query(families(net), [net.variables[b]], found(net, finding))
        assert abs(answer.values[1] - truth) <= 2 * answer.info.error
        assert answer.info.error < 0.01
    samples = draw(families(net), 200_000, found(net, {j: yes[j], m: no[m]}), seed=3)
    alarm = samples.states[:, [v.name for v in samples.variables].index(a)]
    weights = np.exp(samples.log_weights)
    assert np.allclose(weights[alarm == 1], 0.27)
    assert np.allclose(weights[alarm == 0], 0.0495)
    assert {0, 1} == set(alarm.tolist())


@pytest.mark.slow
@pytest.mark.parametrize("sampler", SAMPLERS)
def test_nominal_95_percent_intervals_cover_the_truth(sampler):
    """In 200 repetitions the intervals for P(x | e) and for log P(e) hold the truth 90 to 99 times in a hundred."""
    rng = np.random.default_rng(5)
    net = random_network(rng, num_variables=6, max_states=2, zeros=0.0)
    target, *rest = [variable for variable in net.variables.values() if variable.num_states == 2]
    evidence = found(net, {rest[0].name: rest[0].states[0], rest[1].name: likelihood([0.9, 0.3])})
    truth = VariableElimination().query(families(net), [target], evidence).values[0]
    log_truth = VariableElimination().log_total(families(net), evidence)
    assert 0.05 < truth < 0.95
    hits = log_hits = 0
    for seed in range(200):
        engine = sampler(2000, seed=seed)
        answer = engine.query(families(net), [target], evidence)
        estimate = engine.log_total(families(net), evidence)
        hits += abs(answer.values[0] - truth) <= answer.info.error
        log_hits += estimate.lower <= log_truth <= estimate.upper
    assert 180 <= hits <= 199
    assert 180 <= log_hits <= 199


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_errors_shrink_as_the_square_root_of_the_samples(sampler):
    net = random_network(np.random.default_rng(8), num_variables=6, max_states=3, zeros=0.0)
    names = list(net.variables)
    evidence = found(net, {names[-1]: net.variables[names[-1]].states[0]})
    target = max(net.variables.values(), key=lambda v: (v.name != names[-1], v.num_states))
    truth = VariableElimination().query(families(net), [target], evidence).values
    few, many = (sampler(n).query(families(net), [target], evidence) for n in (4_000, 400_000))
    assert few.info.error / many.info.error == pytest.approx(10, rel=0.25)
    assert np.abs(many.values - truth).max() <= 2 * many.info.error


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_mean_weight_is_unbiased(sampler):
    """The mean of 150 small runs' mean weights is P(e) within four of its standard errors."""
    net = random_network(np.random.default_rng(11), num_variables=5, max_states=3)
    finding = possible_findings(np.random.default_rng(1), net, 2)
    truth = total(joint_of_bayesian_network(net), finding)
    assert 0.01 < truth < 0.6
    means = [math.exp(sampler(40, seed=seed).log_total(families(net), found(net, finding))) for seed in range(150)]
    assert abs(np.mean(means) - truth) <= 4 * np.std(means) / math.sqrt(len(means)) + 1e-12


def test_estimates_and_errors_equal_the_formulas_on_the_samples_themselves():
    """The delta method, the effective size and the mean weight, from the rows and weights in plain NumPy."""
    net = random_network(np.random.default_rng(6), num_variables=5, max_states=3, zeros=0.0)
    names = list(net.variables)
    given = found(net, {names[-1]: net.variables[names[-1]].states[0]})
    plan = LikelihoodWeighting().plan(list(ordered_families(families(net), given).families.values()), given)
    place = max(range(len(plan.variables)), key=lambda i: plan.variables[i].num_states)
    sums = plan.sums([[plan.variables[place]]], 70_000, stream_key(1))
    states, log_weights = plan.draw(70_000, stream_key(1))
    weights = np.exp(log_weights)
    indicators = states[:, [place]] == np.arange(plan.variables[place].num_states)
    p = weights @ indicators / weights.sum()
    assert np.allclose(sums.frequencies[0], p)
    errors = np.sqrt(((weights[:, None] * (indicators - p)) ** 2).sum(axis=0)) / weights.sum()
    assert np.allclose(sums.standard_errors[0], errors)
    assert sums.error == pytest.approx(1.96 * errors.max())
    assert sums.effective_size == pytest.approx(weights.sum() ** 2 / (weights**2).sum())
    estimate = sums.log_mean(LikelihoodWeighting().info(sums), math.inf)
    assert estimate == pytest.approx(math.log(weights.mean()))
    spread = weights.std() / math.sqrt(len(weights)) / weights.mean()
    assert estimate.upper - estimate == pytest.approx(1.96 * spread)


# --- the draws ---


def test_states_follow_half_open_intervals_and_zeros_are_never_drawn():
    """Frequencies match the table, and states of probability zero, also the last ones, do not occur."""
    variable = Variable("X", 6)
    row = np.array([0.0, 0.1, 0.0, 0.7, 0.2, 0.0])
    samples = draw([Factor([variable], row)], 300_000, NONE, seed=0).states[:, 0]
    frequencies = np.bincount(samples, minlength=6) / len(samples)
    assert np.all(frequencies[row == 0] == 0)
    assert np.abs(frequencies - row).max() < 4 * 0.5 / math.sqrt(len(samples))


def test_thresholds_of_rows_with_trailing_zeros_are_exactly_one():
    """Ten tenths do not add up to one in floating point; a uniform number just below one must not see that."""
    variable = Variable("X", 12)
    plan = SamplingPlan.of([Factor([variable], [0.1] * 10 + [0.0, 0.0])], [])
    assert plan.draws.tables[9] == plan.draws.tables[10] == 1.0


def test_samples_of_a_network_have_its_joint_distribution():
    """A chi-square of 200 000 forward samples against the product of the tables, cell by cell."""
    net = random_network(np.random.default_rng(2), num_variables=4, max_states=3)
    samples = draw(families(net), 200_000, NONE, seed=1)
    assert not np.any(samples.log_weights)
    places = {variable.name: place for place, variable in enumerate(samples.variables)}
    statistic, cells = 0.0, 0
    for assignment, probability in joint_of_bayesian_network(net):
        columns = [(places[name], net.variables[name].index(state)) for name, state in assignment.items()]
        count = np.logical_and.reduce([samples.states[:, place] == state for place, state in columns]).sum()
        if probability == 0:
            assert count == 0
        else:
            statistic += (count - 200_000 * probability) ** 2 / (200_000 * probability)
            cells += 1
    assert statistic < cells - 1 + 5 * math.sqrt(2 * cells)


def test_columns_and_rows_of_uniform_numbers_are_uncorrelated():
    """Independent fair coins: no pair of columns, nor a column and its neighbour's next row, correlates."""
    coins = [Factor([Variable(f"C{i}", 2)], [0.5, 0.5]) for i in range(12)]
    states = draw(coins, 100_000, NONE, seed=9).states - 0.5
    limit = 5 / math.sqrt(100_000)
    assert np.abs(np.corrcoef(states.T) - np.eye(12)).max() < limit
    assert np.abs(4 * states[:-1].T @ states[1:] / 100_000).max() < limit


def test_draw_fixes_evidence_keeps_the_order_of_families_and_repeats_itself():
    net = sprinkler_network()
    listed = families(net)[::-1]
    name = listed[0].names[-1]
    evidence = found(net, {name: net.variables[name].states[1]})
    samples = draw(listed, 3000, evidence, seed=4)
    assert [v.name for v in samples.variables] == [family.names[-1] for family in listed]
    assert np.all(samples.states[:, 0] == 1)
    again = draw(listed, 3000, evidence, seed=4)
    assert np.array_equal(samples.states, again.states)
    assert np.array_equal(samples.states[:100], draw(listed, 100, evidence, seed=4).states)
    assert draw(listed, 0, evidence).states.shape == (0, len(listed))


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_same_seed_gives_the_same_bits_on_any_number_of_threads(sampler):
    net = random_network(np.random.default_rng(3), num_variables=6)
    variables = [[v] for v in net.variables.values() if v.name != "X5"]
    evidence = found(net, {"X5": net.variables["X5"].states[0]})
    runs = [sampler(300_000, seed=7).run(families(net), variables, evidence, threads) for threads in (1, 2, 5)]
    for run in runs[1:]:
        assert (run.total, run.squares, run.log_unit) == (runs[0].total, runs[0].squares, runs[0].log_unit)
        assert all(np.array_equal(*pair) for pair in zip(run.cells, runs[0].cells, strict=True))
    other = sampler(300_000, seed=8).run(families(net), variables, evidence)
    assert any(not np.array_equal(*pair) for pair in zip(other.cells, runs[0].cells, strict=True))


# --- honesty ---


def test_acceptance_rate_is_told_and_few_accepted_bring_a_remedy():
    rare = Factor({"A": 2}, [0.9995, 0.0005])
    evidence = Evidence.read({"A": 1}, {"A": rare.scope[0]})
    other = Factor({"B": 2}, [0.5, 0.5])
    answer = RejectionSampling(20_000).query([rare, other], other.scope, evidence)
    accepted = int(answer.info.advice.split()[1])
    assert 0 < accepted < 40
    assert f"acceptance rate {accepted / 20_000:.4g}" in answer.info.advice
    assert "LikelihoodWeighting()" in answer.info.advice
    assert not answer.info.converged
    assert answer.info.num_steps == 20_000


def test_no_accepted_sample_is_an_error_with_a_remedy_and_bounds_the_probability():
    rare = Factor({"A": 2}, [1 - 1e-9, 1e-9])
    other = Factor({"B": 2}, [0.5, 0.5])
    evidence = Evidence.read({"A": 1}, {"A": rare.scope[0]})
    with pytest.raises(EvidenceNotSeen, match=r"None of 1000 samples.*use LikelihoodWeighting\(\)"):
        RejectionSampling(1000).query([rare, other], other.scope, evidence)
    estimate = RejectionSampling(1000).log_total([rare, other], evidence)
    assert estimate == -math.inf
    assert estimate.upper == pytest.approx(math.log(3 / 1000))
    assert not estimate.is_bound
    assert not estimate.info.converged
    assert LikelihoodWeighting(1000).log_total([rare, other], evidence) == pytest.approx(math.log(1e-9))


def test_a_single_seen_cell_is_not_taken_for_certainty():
    """All samples in one state leave the rule of three, not an error of zero."""
    rare = Factor({"A": 2}, [1 - 1e-9, 1e-9])
    answer = LikelihoodWeighting(1000).query([rare], rare.scope, NONE)
    assert answer.values.tolist() == [1.0, 0.0]
    assert answer.info.error == pytest.approx(0.003)


def test_low_effective_sample_size_is_told():
    a, b = Variable("A", 2), Variable("B", 2)
    factors = [Factor((a,), [0.999, 0.001]), Factor((a, b), [[1 - 1e-7, 1e-7], [0.1, 0.9]])]
    answer = LikelihoodWeighting(20_000).query(factors, [a], Evidence.read({"B": 1}, {"B": b}))
    size = answer.info.effective_samples
    assert size < 100
    assert "ImportanceSampling()" in answer.info.advice
    assert not answer.info.converged
    better = ImportanceSampling(20_000).query(factors, [a], Evidence.read({"B": 1}, {"B": b}))
    assert better.info.effective_samples > 10_000
    assert better.info.converged


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_impossible_evidence_is_refused_and_has_probability_zero(sampler):
    a, b = Variable("A", 2), Variable("B", 2)
    equal = [Factor((a,), [0.5, 0.5]), Factor((a, b), np.eye(2))]
    clash = Evidence.read({"A": 0, "B": 1}, {"A": a, "B": b})
    with pytest.raises(ImpossibleEvidence):
        sampler(100).query(equal, [a], clash)
    estimate = sampler(100).log_total(equal, clash)
    assert estimate == -math.inf
    assert estimate.upper == -math.inf
    assert estimate.is_bound
    with pytest.raises(ImpossibleEvidence):
        sampler(100).query([*equal, Factor.scalar(0.0)], [a], NONE)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_contradictions_that_no_single_factor_shows_give_zero_weights(sampler):
    """C = A xor B with A = B for sure: C = 1 is impossible, though each table by itself allows all states."""
    a, b, c = (Variable(name, 2) for name in "ABC")
    exclusive = np.zeros((2, 2, 2))
    for x in range(2):
        for y in range(2):
            exclusive[x, y, x ^ y] = 1.0
    factors = [Factor((a,), [0.5, 0.5]), Factor((a, b), np.eye(2)), Factor((a, b, c), exclusive)]
    with pytest.raises(EvidenceNotSeen):
        sampler(500).query(factors, [a], Evidence.read({"C": 1}, {"C": c}))
    estimate = sampler(500).log_total(factors, Evidence.read({"C": 1}, {"C": c}))
    assert estimate == -math.inf
    assert estimate.info.error is None


# --- what is taken and what is refused ---


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_degenerate_problems(sampler):
    """No factors, only constants, everything observed, targets that are observed."""
    a = Variable("A", 3)
    prior = Factor((a,), [0.2, 0.3, 0.5])
    seen = Evidence.read({"A": 2}, {"A": a})
    engine = sampler(1000)
    assert engine.log_total([], NONE) == 0
    assert engine.log_total([Factor.scalar(0.25), prior], NONE) == pytest.approx(math.log(0.25))
    assert engine.query([prior], [a], seen).values.tolist() == [0, 0, 1]
    assert engine.query([prior], [a], seen).info.error == 0
    assert engine.marginals([prior], [], seen) == {}
    estimate = engine.log_total([prior], seen)
    assert estimate.lower <= math.log(0.5) <= estimate.upper
    one = Variable("one", 1)
    assert engine.query([Factor((one,), [1.0])], [one], NONE).values.tolist() == [1.0]


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_an_observed_parent_needs_no_family(sampler):
    """Models leave out what lies above observed variables."""
    a, b = Variable("A", 2), Variable("B", 2)
    answer = sampler(20_000).query([Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])], [b], Evidence.read({"A": 1}, {"A": a}))
    assert np.abs(answer.values - [0.2, 0.8]).max() <= 2 * answer.info.error


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_jeffrey_evidence_replaces_the_belief(sampler):
    net = sprinkler_network()
    name = list(net.variables)[-1]
    wanted = {name: jeffrey([0.3, 0.7])}
    answer = net.query(name, wanted, engine=sampler(200_000))
    assert np.abs(answer.values - [0.3, 0.7]).max() < 0.01
    with pytest.raises(NotSupported, match="has no probability"):
        net.log_probability(wanted, engine=sampler())


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_nothing_is_advised_where_there_is_nothing_to_say(sampler):
    net = sprinkler_network()
    name = list(net.variables)[-1]
    info = sampler(20_000).query(families(net), [net.variables[name]], NONE).info
    assert info.converged
    assert info.advice == ""


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_a_noisy_or_of_thirty_parents_is_sampled_through_its_model(sampler):
    """P(parent | effect) in closed form: the effect is absent with probability Π (1 - p w)."""
    weights, prior = np.linspace(0.1, 0.9, 30), 0.1
    parents = [f"P{place}" for place in range(30)]
    net = BayesianNetwork(*(TableCPD(name, [1 - prior, prior]) for name in parents), NoisyOr("Y", parents, weights))
    absent = np.prod(1 - prior * weights)
    without = absent / (1 - prior * weights[3])
    truth = prior * (1 - (1 - weights[3]) * without) / (1 - absent)
    answer = net.query("P3", {"Y": net.variables["Y"].states[1]}, engine=sampler(20_000))
    assert abs(answer.values[1] - truth) <= 2 * answer.info.error < 0.03


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_several_jeffrey_findings_hold_together(sampler):
    """All wanted beliefs come about, and a third variable's is that of exact fitting; likelihoods stay in force."""
    net = sprinkler_network()
    names = list(net.variables)
    wanted = {names[0]: jeffrey([0.3, 0.7]), names[1]: jeffrey([0.45, 0.55]), names[3]: likelihood([1.0, 0.4])}
    answers = net.marginals(wanted, engine=sampler(60_000))
    for name in names:
        exact = net.query(name, wanted, engine=VariableElimination()).values
        assert np.abs(answers[name].values - exact).max() < 0.012
    assert np.abs(answers[names[1]].values - [0.45, 0.55]).max() < 0.01


@pytest.mark.parametrize("sampler", SAMPLERS)
@pytest.mark.parametrize("seed", range(2))
def test_factors_that_are_no_family_multiply_the_weights(sampler, seed):
    """Likelihoods over several variables, above one, with zeros or over observed ones: the product is the same."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5, zeros=0.0)
    first, second, third = list(net.variables.values())[:3]
    shape = first.num_states, second.num_states
    extra = [
        Factor((first, second), 5 * rng.random(shape) * (np.arange(math.prod(shape)).reshape(shape) % 3 != 1)),
        Factor((third,), rng.random(third.num_states) + 0.1),
        Factor((third, second), np.full((third.num_states, second.num_states), 1 / second.num_states)),
    ]
    for findings in ({}, {third.name: third.states[-1]}):
        evidence, factors = found(net, findings), [*extra, *families(net)]
        exact = VariableElimination().query(factors, [first], evidence).values
        answer = sampler(40_000, seed=seed).query(factors, [first], evidence)
        assert np.abs(answer.values - exact).max() <= 2 * answer.info.error
        estimate = sampler(40_000, seed=seed).log_total(factors, evidence)
        truth = VariableElimination().log_total(factors, evidence)
        assert abs(estimate - truth) <= 2 * max(estimate.upper - estimate, estimate - estimate.lower)


@pytest.mark.parametrize("sampler", [*SAMPLERS, Gibbs])
def test_observed_numbers_weigh_the_states_of_their_parents(sampler):
    """A network with conditional Gaussians, whose densities reach the sampler as likelihoods."""
    kind, size = TableCPD("kind", [0.7, 0.3]), TableCPD("size", [[0.8, 0.2], [0.4, 0.6]], parents=["kind"])
    height = ConditionalGaussianCPD("height", [10.0, 12.0], {}, [1.0, 2.0], [kind.variable])
    weight = ConditionalGaussianCPD("weight", [3.0, 5.0], {"height": 0.5}, 1.0, [size.variable, "height"])
    net = BayesianNetwork(kind, size, height, weight)
    seen = {"height": 11.2, "weight": 9.1}
    answer = net.query(["kind", "size"], seen, engine=sampler(num_samples=40_000))
    assert np.abs(answer.values - net.query(["kind", "size"], seen).values).max() <= 2 * answer.info.error


def test_two_samples_sizes_and_rates_stand_in_the_record():
    """Effective sizes for all, the acceptance rate for rejection; equal weights count in full."""
    net = sprinkler_network()
    name = list(net.variables)[-1]
    evidence = found(net, {name: net.variables[name].states[1]})
    target = [next(iter(net.variables.values()))]
    rejected = RejectionSampling(10_000).query(families(net), target, evidence).info
    assert rejected.acceptance == rejected.effective_samples / 10_000
    assert rejected.acceptance == pytest.approx(math.exp(net.log_probability({name: 1})), abs=0.03)
    weighed = LikelihoodWeighting(10_000).query(families(net), target, evidence).info
    assert rejected.effective_samples < weighed.effective_samples < 10_000
    assert weighed.acceptance is None
    assert LikelihoodWeighting(500).query(families(net), target, NONE).info.effective_samples == pytest.approx(500)


def test_factors_that_are_no_families_are_refused_with_a_remedy():
    a, b = Variable("A", 2), Variable("B", 2)
    prior, edge, back = Factor((a,), [0.5, 0.5]), Factor((a, b), np.full((2, 2), 0.5)), Factor((b, a), np.eye(2))
    cases = {
        "'A' is the last variable of none": [edge],
        "is its own ancestor": [edge, back],
        "rows that are no distributions": [Factor((a,), [3.0, 2.0])],
    }
    for problem, factors in cases.items():
        with pytest.raises(NotSupported, match=rf"{problem}.*Use Gibbs\(\)"):
            LikelihoodWeighting(10).query(factors, [a], NONE)
    assert list(ordered_families([edge, prior], NONE).families) == ["A", "B"]


def test_wrong_options_targets_and_sizes_are_refused():
    for wrong in ({"num_samples": 0}, {"num_samples": 2.5}, {"seed": -1}, {"seed": None}, {"num_samples": True}):
        with pytest.raises(InvalidArgument, match=next(iter(wrong))):
            RejectionSampling(**wrong)
    prior = Factor({"A": 2}, [0.5, 0.5])
    with pytest.raises(UnknownVariable):
        LikelihoodWeighting().query([prior], [Variable("B", 2)], NONE)
    coins = [Factor({f"C{i}": 2}, [0.5, 0.5]) for i in range(40)]
    with pytest.raises(TooLarge):
        LikelihoodWeighting().query(coins, [coin.scope[0] for coin in coins], NONE)


@pytest.mark.parametrize("sampler", SAMPLERS)
def test_engines_are_frozen_picklable_values_that_models_take(sampler):
    engine = sampler(5000, seed=3)
    assert isinstance(engine, Engine)
    assert pickle.loads(pickle.dumps(engine)) == engine == sampler(5000, seed=3) != sampler(5000, seed=4)
    net = sprinkler_network()
    name = next(iter(net.variables))
    last = list(net.variables)[-1]
    evidence = {last: net.variables[last].states[1]}
    answer = net.query(name, evidence, engine=engine)
    truth = posterior(joint_of_bayesian_network(net), [name], evidence)
    exact = [truth[(state,)] for state in net.variables[name].states]
    assert np.abs(answer.values - exact).max() <= 2 * answer.info.error


def test_weights_far_below_the_smallest_float_are_kept_in_logarithms():
    """A thousand observed leaves of one root: P(e) is near 1e-1000, and the posterior still comes out."""
    root = Variable("R", 2)
    leaves = [Variable(f"L{i}", 2) for i in range(1000)]
    factors = [Factor((root,), [0.5, 0.5])]
    factors += [Factor((root, leaf), [[0.9, 0.1], [0.8999, 0.1001]]) for leaf in leaves]
    evidence = Evidence.read({leaf.name: 1 for leaf in leaves}, {leaf.name: leaf for leaf in leaves})
    answer = LikelihoodWeighting(20_000).query(factors, [root], evidence)
    ratio = (0.1001 / 0.1) ** 1000
    assert abs(answer.values[1] - ratio / (1 + ratio)) <= 2 * answer.info.error
    estimate = LikelihoodWeighting(20_000).log_total(factors, evidence)
    truth = 1000 * math.log(0.1) + math.log((1 + ratio) / 2)
    assert abs(estimate - truth) < 0.05
    assert estimate < -2000


def test_stream_keys_differ():
    keys = {int(stream_key(*seed)) for seed in ((0,), (1,), (0, 1), (0, 2), (1, 0, 3))}
    assert len(keys) == 5
