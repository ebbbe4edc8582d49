"""Climbing the likelihood of incomplete data: maxima, priors, shared and structured distributions, resuming."""

import pickle

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likelihood_oracle as oracle
from network_oracle import random_network
from plausible.cpds import DeterministicCPD, LogisticCPD, NoisyOr, Split, TableCPD, TreeCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import Dirichlet
from plausible.learn.gradients.gradient import log_likelihood_gradient
from plausible.learn.gradients.learner import GradientOptions, learn_by_gradient
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.problem import observed_log_likelihood
from plausible.models import BayesianNetwork
from plausible.search.ascent import LBFGS, SteepestAscent
from plausible.variables import Variable

METHODS = ["l-bfgs", "conjugate-gradient", "steepest"]


def hidden_cause():
    """A hidden variable with two states and three visible effects."""
    return BayesianNetwork(
        TableCPD("H", [0.45, 0.55]),
        *(TableCPD(name, [[0.7, 0.3], [0.4, 0.6]], ["H"]) for name in "XYZ"),
    )


def hidden_rows(rng, num_rows=300):
    cause = rng.random(num_rows) < 0.35
    columns = {
        name: (rng.random(num_rows) < np.where(cause, on, off)).astype(int).tolist()
        for name, on, off in (("X", 0.9, 0.2), ("Y", 0.8, 0.1), ("Z", 0.3, 0.7))
    }
    return columns


def expectation_maximisation(network, rows, weights, steps):
    """θ ← M[x,u] / M[u], by the whole joint table."""
    names = list(network.variables)
    tables = oracle.own_tables(network)
    for _ in range(steps):
        joint = oracle.joint_table(network, tables)
        expected = np.zeros(joint.shape)
        for row, weight in zip(rows, weights, strict=True):
            place = tuple(slice(None) if c < 0 else slice(c, c + 1) for c in row)
            expected[place] += weight * joint[place] / joint[place].sum()
        for name, cpd in network.cpds.items():
            axes = [names.index(v.name) for v in cpd.scope]
            counts = np.transpose(
                expected.sum(axis=tuple(i for i in range(len(names)) if i not in axes)), np.argsort(np.argsort(axes))
            )
            totals = counts.sum(axis=-1, keepdims=True)
            tables[name] = np.where(totals > 0, counts / np.where(totals > 0, totals, 1), tables[name])
    return oracle.log_likelihood(network, tables, rows, weights)


@pytest.mark.parametrize("method", METHODS)
def test_every_method_reaches_the_maximum_of_expectation_maximisation_from_the_same_start(method):
    """A hidden cause: the likelihood of a thousand EM steps, a residual of zero, and a trace that never falls."""
    rows = hidden_rows(np.random.default_rng(1))
    network = hidden_cause()
    codes = np.column_stack([np.full(300, -1), rows["X"], rows["Y"], rows["Z"]])
    target = expectation_maximisation(network, *np.unique(codes, axis=0, return_counts=True), 1000)
    options = GradientOptions(method=method, tolerance=1e-6 if method != "steepest" else 1e-4, max_steps=3000)
    fit = learn_by_gradient(network, rows, options=options)
    assert fit.converged
    assert fit.stopped_by == "converged"
    assert fit.log_likelihood >= target - 1e-3
    assert (np.diff(fit.trace) >= 0).all()
    assert log_likelihood_gradient(fit.network, rows).residual <= 300 * options.tolerance * 1.001
    assert len(fit.trace) == fit.num_steps + 1


@settings(max_examples=10, deadline=None)
@given(st.integers(0, 2**32))
def test_complete_data_lead_to_relative_frequencies_wherever_the_climb_starts(seed):
    """The likelihood of complete data has one maximum, in closed form; every row of a table has cases here."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=3, zeros=0.0)
    rows = oracle.random_rows_of(network, rng, 40, missing=0.0)
    every = list(np.ndindex(*[variable.num_states for variable in network.variables.values()]))
    rows = np.concatenate([rows, every])
    fit = learn_by_gradient(network, oracle.frame_of(network, rows), options=GradientOptions(tolerance=1e-9))
    names = list(network.variables)
    for cpd in fit.network.cpds.values():
        counts = np.zeros(cpd.values.shape)
        np.add.at(counts, tuple(rows[:, names.index(v.name)] for v in cpd.scope), 1)
        np.testing.assert_allclose(cpd.values, counts / counts.sum(axis=-1, keepdims=True), atol=1e-5)


def test_maximum_a_posteriori_of_complete_data_is_the_mode_of_the_posterior():
    """θ = (N + α - 1) / Σ (N + α - 1), also for the leaf of a tree, which has the pseudo-counts of its rows."""
    a, b = Variable("A", 2), Variable("B", 2)
    tree = TreeCPD(Variable("C", 2), Split("A", {0: [0.5, 0.5], 1: [0.4, 0.6]}), [a, b])
    network = BayesianNetwork(TableCPD(a, [0.5, 0.5]), TableCPD(b, [[0.5, 0.5], [0.5, 0.5]], [a]), tree)
    rows = {"A": [0, 0, 0, 1], "B": [0, 1, 1, 0], "C": [0, 0, 1, 1]}
    fit = learn_by_gradient(network, rows, Dirichlet(3.0), options=GradientOptions(tolerance=1e-10))
    np.testing.assert_allclose(fit.network.cpd("A").values, [5 / 8, 3 / 8], atol=1e-7)
    np.testing.assert_allclose(fit.network.cpd("B").values, [[3 / 7, 4 / 7], [3 / 5, 2 / 5]], atol=1e-7)
    np.testing.assert_allclose(fit.network.cpd("C").rows, [[7 / 13, 6 / 13], [5 / 11, 6 / 11]], atol=1e-7)
    assert fit.objective < fit.log_likelihood


def test_a_prior_without_a_mode_inside_is_refused():
    """Pseudo-counts below one."""
    with pytest.raises(InvalidArgument, match="edge"):
        learn_by_gradient(hidden_cause(), {"X": [0]}, Dirichlet(0.5))


def test_zeros_and_deterministic_distributions_stay_and_shared_tables_stay_shared():
    """Structural zeros are held, a fixed CPD is kept, tied tables end equal and at the pooled frequency."""
    copy = DeterministicCPD("W", lambda z: z, ["Z"], states=[0, 1])
    network = BayesianNetwork(
        TableCPD("X", [0.5, 0.5, 0.0]),
        TableCPD("Y", [[0.5, 0.5], [0.2, 0.8], [0.1, 0.9]], ["X"]),
        TableCPD("Z", [[0.5, 0.5], [0.6, 0.4]], ["Y"]),
        copy,
        TableCPD("V", [[0.9, 0.1], [0.3, 0.7]], ["Z"]),
    )
    rows = {"Y": [0, 0, 1, 1, 0], "Z": [0, 1, 1, 1, 1], "V": [0, 1, 1, 0, 1], "X": [0, 1, 1, None, 0]}
    knowledge = ParameterKnowledge(tied=[["Z", "V"]], fixed=[network.cpd("Y")])
    fit = learn_by_gradient(network, rows, knowledge=knowledge, options=GradientOptions(tolerance=1e-10))
    assert fit.network.cpd("X").values[2] == 0
    np.testing.assert_array_equal(fit.network.cpd("Y").values, network.cpd("Y").values)
    np.testing.assert_array_equal(fit.network.cpd("Z").values, fit.network.cpd("V").values)
    assert fit.network.cpd("W") == network.cpd("W")
    np.testing.assert_allclose(fit.network.cpd("Z").values, [[2 / 4, 2 / 4], [1 / 6, 5 / 6]], atol=1e-6)


def test_structured_distributions_climb_to_a_point_from_which_no_parameter_leads_higher():
    """Noisy-or and logistic parameters at the end: every small change lowers the enumerated likelihood."""
    a, b = Variable("A", 2), Variable("B", 2)
    rng = np.random.default_rng(3)
    truth = BayesianNetwork(
        TableCPD(a, [0.5, 0.5]),
        TableCPD(b, [0.6, 0.4]),
        NoisyOr(Variable("E", 2), [a, b], [0.7, 0.5], 0.2),
        LogisticCPD(Variable("F", 2), [a, b], [1.0, -1.0], 0.3),
    )
    rows = oracle.random_rows_of(truth, rng, 200, missing=0.2)
    start = truth.with_cpd(NoisyOr(Variable("E", 2), [a, b], [0.3, 0.3], 0.4)).with_cpd(
        LogisticCPD(Variable("F", 2), [a, b], [0.0, 0.0], 0.0)
    )
    fit = learn_by_gradient(start, oracle.frame_of(truth, rows))
    assert fit.converged

    def value(network):
        return oracle.log_likelihood(network, oracle.own_tables(network), rows, np.ones(len(rows)))

    best = value(fit.network)
    assert best == pytest.approx(fit.log_likelihood)
    assert best > value(truth)
    effect, sigmoid = fit.network.cpd("E"), fit.network.cpd("F")
    for change in (-0.01, 0.01):
        for place in range(2):
            moved = effect.activation + change * np.eye(2)[place]
            other = fit.network.with_cpd(NoisyOr(effect.variable, [a, b], moved, effect.leak))
            assert value(other) < best
            slopes = [float(w[0]) for w in sigmoid.weights.values()]
            slopes[place] += change
            changed = LogisticCPD(sigmoid.variable, [a, b], slopes, sigmoid.intercept.item())
            assert value(fit.network.with_cpd(changed)) < best


def test_identical_states_of_a_hidden_variable_stay_identical_and_a_restart_breaks_them():
    """The symmetric start is a saddle: only other starts leave it."""
    rows = hidden_rows(np.random.default_rng(2))
    alike = BayesianNetwork(
        TableCPD("H", [0.5, 0.5]), *(TableCPD(name, [[0.5, 0.5], [0.5, 0.5]], ["H"]) for name in "XYZ")
    )
    stuck = learn_by_gradient(alike, rows)
    np.testing.assert_allclose(stuck.network.cpd("X").values[0], stuck.network.cpd("X").values[1], atol=1e-6)
    free = learn_by_gradient(alike, rows, options=GradientOptions(restarts=3, seed=0))
    assert free.objective > stuck.objective + 5
    assert len(free.run_objectives) == 4
    assert free.run_objectives[0] == pytest.approx(stuck.objective)
    assert free.objective == pytest.approx(max(free.run_objectives), rel=1e-12)


def test_a_climb_goes_on_from_a_pickled_state_as_if_it_had_not_stopped():
    """Five steps, and five more from the state, are ten steps."""
    rows = hidden_rows(np.random.default_rng(4))
    short = GradientOptions(max_steps=5, tolerance=0)
    first = learn_by_gradient(hidden_cause(), rows, options=short)
    assert first.stopped_by == "step limit"
    run, longer = pickle.loads(pickle.dumps(first.run)), GradientOptions(max_steps=10, tolerance=0)
    second = learn_by_gradient(hidden_cause(), rows, options=longer, resume=run)
    whole = learn_by_gradient(hidden_cause(), rows, options=longer)
    assert second.num_steps == whole.num_steps == 10
    assert second.trace == whole.trace
    assert len(second.trace) == 11
    assert second.objective == whole.objective
    assert second.network == whole.network


def test_progress_and_time_limit_end_a_climb():
    """A true answer stops after that step; no time allows no step."""
    rows = hidden_rows(np.random.default_rng(5))
    seen = []
    fit = learn_by_gradient(
        hidden_cause(), rows, progress=lambda state: seen.append(state.num_steps) or state.num_steps == 3
    )
    assert (seen, fit.num_steps, fit.stopped_by) == ([1, 2, 3], 3, "interrupted")
    late = learn_by_gradient(hidden_cause(), rows, options=GradientOptions(time_limit=0.0))
    assert (late.num_steps, late.stopped_by) == (0, "time limit")


def test_a_fixed_learning_rate_takes_the_plain_step():
    """λ ← λ + η dℓ/dλ."""
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5]))
    options = GradientOptions(method=SteepestAscent(learning_rate=0.1), max_steps=1)
    fit = learn_by_gradient(network, {"A": [1, 1, 1, 0]}, options=options)
    logit = 2 * 0.1 * 1.0  # both logits move by η (3 - 4/2)
    assert fit.network.cpd("A").values[1] == pytest.approx(1 / (1 + np.exp(-logit)))


def test_no_data_and_no_parameters_converge_at_once():
    """Nothing to climb."""
    network = BayesianNetwork(TableCPD("A", [0.3, 0.7]))
    assert learn_by_gradient(network, {"A": []}).num_steps == 0
    single = BayesianNetwork(TableCPD("A", [1.0]))
    fit = learn_by_gradient(single, {"A": [0, None]})
    assert (fit.log_likelihood, fit.converged) == (0.0, True)
    assert learn_by_gradient(BayesianNetwork(), {}).converged


def test_options_and_rows_that_make_no_sense_are_refused():
    """Methods by name, positive rates, possible rows."""
    with pytest.raises(InvalidArgument, match="steepest"):
        GradientOptions(method="stepest")
    with pytest.raises(InvalidArgument, match="positive"):
        SteepestAscent(-1.0)
    with pytest.raises(InvalidArgument, match="at least one"):
        LBFGS(0)
    with pytest.raises(ImpossibleEvidence, match="Row 2"):
        learn_by_gradient(BayesianNetwork(TableCPD("A", [1.0, 0.0])), {"A": [0, None, 1]})


def test_weights_count_as_repeated_rows():
    """A row of weight two is two rows."""
    start = hidden_cause()
    weighted = learn_by_gradient(start, {"X": [0, 1], "Y": [0, 1]}, Dirichlet(2), weights=[2, 3])
    repeated = learn_by_gradient(start, {"X": [0, 0, 1, 1, 1], "Y": [0, 0, 1, 1, 1]}, Dirichlet(2))
    assert weighted.objective == pytest.approx(repeated.objective)
    cases = Cases.of(start.variables, {"X": [0, 1], "Y": [0, 1]}, [2, 3])
    assert observed_log_likelihood(weighted.network, cases) == pytest.approx(weighted.log_likelihood)
