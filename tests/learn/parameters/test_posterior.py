"""Posteriors over tables: moments, predictions, streams, and error bars on answers."""

import math

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy import stats
from scipy.special import betaln

from network_oracle import random_network
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import NotSupported, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.posterior import parameter_posterior
from plausible.learn.estimation.priors import K2, BDeu, Dirichlet
from plausible.learn.evaluation.measures import row_losses
from plausible.learn.learned_parameters import learn_parameters
from plausible.variables import Variable
from refusals import refuses
from row_oracle import loop_counts, rows_of


def test_moments_intervals_and_samples_are_those_of_dirichlet_distributions():
    data = {"X": ["a", "b", "b", "c"] * 3, "Y": [0, 1, 1, 1] * 3}
    posterior = parameter_posterior("X -> Y", data, {"X": Dirichlet(0.5), "Y": Dirichlet([2.0, 0.25])})
    alpha = np.array([3.5, 6.5, 3.5])
    reference = stats.dirichlet(alpha)
    x = posterior["X"]
    np.testing.assert_allclose(x.mean, reference.mean())
    np.testing.assert_allclose(x.variance, reference.var())
    np.testing.assert_allclose(x.mode, (alpha - 1) / (alpha.sum() - 3))
    low, high = x.interval(0.8)
    np.testing.assert_allclose(low, stats.beta.ppf(0.1, alpha, alpha.sum() - alpha))
    np.testing.assert_allclose(high, stats.beta.ppf(0.9, alpha, alpha.sum() - alpha))
    tables = np.array([net.cpd("Y").values for net in posterior.sample(4000, seed=1)])
    np.testing.assert_allclose(tables.mean(axis=0), posterior["Y"].mean, atol=0.02)
    np.testing.assert_allclose(tables.std(axis=0), posterior["Y"].standard_deviation, atol=0.02)
    np.testing.assert_allclose(tables.sum(axis=-1), 1.0)


def test_tiny_pseudo_counts_give_rows_with_one_sure_state():
    """Gamma variables of shape 1e-6 are zero in floats; their logarithms are not."""
    posterior = parameter_posterior(DAG([], nodes=["X"]), {"X": [0, 1]}, None).forgetting(1e-6)
    tables = np.array([net.cpd("X").values for net in posterior.sample(300, seed=0)])
    assert np.isfinite(tables).all()
    assert ((tables > 0.999) | (tables < 0.001)).mean() > 0.99
    assert 0.4 < tables[:, 0].mean() < 0.6


def test_unidentified_rows_have_no_variance_and_open_intervals():
    posterior = parameter_posterior(DAG([], nodes=["X"]), Table.read({"X": []}, [Variable("X", 2)]))
    x = posterior["X"]
    assert x.unidentified
    assert np.isnan(x.variance).all()
    assert np.isnan(x.standard_error).all()
    assert x.interval().low.tolist() == [0, 0]
    assert x.interval().high.tolist() == [1, 1]
    np.testing.assert_allclose(posterior.sample(1, seed=0)[0].cpd("X").values.sum(), 1)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_predictives_of_rows_one_by_one_multiply_to_the_marginal_likelihood(seed):
    """P(D) = Π P(row | earlier rows), whatever the order (overview 127-130); tied tables included."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=3)
    shapes = {name: cpd.values.shape for name, cpd in net.cpds.items()}
    alike = [[a, b] for a in shapes for b in shapes if a < b and shapes[a] == shapes[b]][:1]
    table = rows_of(net, rng, 8)
    knowledge = ParameterKnowledge(tied=alike)
    empty = table.take(np.zeros(8, dtype=bool))
    posterior = parameter_posterior(net, empty, BDeu(2), knowledge=knowledge)
    total = 0.0
    for row in rng.permutation(8):
        one = table.take(np.array([row]))
        total += float(posterior.log_predictive(one)[0])
        posterior = posterior.partial_fit(one)
    assert total == pytest.approx(posterior.log_marginal_likelihood, abs=1e-9)
    whole = parameter_posterior(net, table, BDeu(2), knowledge=knowledge)
    assert whole.log_marginal_likelihood == pytest.approx(total, abs=1e-9)


def test_the_marginal_likelihood_of_a_coin_is_a_ratio_of_beta_functions():
    posterior = parameter_posterior(DAG([], nodes=["X"]), {"X": [0, 1, 1, 1, 0, 1]}, Dirichlet([0.5, 1.5]))
    assert posterior.log_marginal_likelihood == pytest.approx(betaln(2.5, 5.5) - betaln(0.5, 1.5))
    with pytest.raises(NotSupported, match="needs one"):
        _ = parameter_posterior(DAG([], nodes=["X"]), {"X": [0, 1]}).log_marginal_likelihood


def test_the_map_estimate_maximises_the_posterior_density():
    data = {"X": ["a", "b", "b", "c", "c", "c"]}
    found = learn_parameters(DAG([], nodes=["X"]), data, Dirichlet(2), estimate="map").cpd("X").values
    density = stats.dirichlet([3, 4, 5])
    rng = np.random.default_rng(0)
    others = rng.dirichlet(200 * found, size=500)
    assert all(density.logpdf(found) >= density.logpdf(row) for row in others)


def test_rows_in_parts_give_the_posterior_of_all_rows_and_forgetting_is_exponential():
    rng = np.random.default_rng(5)
    net = random_network(rng, num_variables=4)
    table = rows_of(net, rng, 50)
    parts = [table.take(np.arange(start, start + 10)) for start in range(0, 50, 10)]
    empty = table.take(np.arange(0))
    for decay in (1.0, 0.9):
        streamed = parameter_posterior(net, empty, BDeu(1))
        for part in parts:
            streamed = streamed.partial_fit(part, decay=decay)
        ages = np.arange(49, -1, -1)
        weighted = parameter_posterior(net, table.weighted(decay**ages), BDeu(1))
        for name, cpd in net.cpds.items():
            np.testing.assert_allclose(streamed[name].counts, weighted[name].counts, atol=1e-12)
            np.testing.assert_allclose(streamed[name].counts, loop_counts(table.weighted(decay**ages), cpd))


@pytest.mark.parametrize("share", [0.0, 0.3, 1.0])
def test_forgetting_leaves_a_share_of_each_case_and_the_whole_prior(share):
    rng = np.random.default_rng(6)
    net = random_network(rng, num_variables=4)
    table = rows_of(net, rng, 40)
    left = parameter_posterior(net, table, BDeu(1)).forgetting(share)
    weighted = parameter_posterior(net, table.weighted(np.full(40, share)), BDeu(1))
    for name, cpd in net.cpds.items():
        np.testing.assert_allclose(left[name].counts, share * loop_counts(table, cpd))
        np.testing.assert_allclose(left[name].prior, weighted[name].prior)


def test_statistics_will_do_in_place_of_rows():
    table = Table.read({"A": [0, 0, 1], "B": [1, 0, 1]})
    statistics = TableStatistics(table) * 3.0
    posterior = parameter_posterior("A -> B", statistics, K2())
    np.testing.assert_allclose(posterior["B"].counts, [[3, 3], [0, 3]])


def test_error_bars_are_the_spread_of_answers_of_sampled_networks():
    """The delta method and networks drawn from the posterior agree; tied tables and do= included."""
    rng = np.random.default_rng(8)
    a = rng.integers(2, size=400)
    b = (rng.random(400) < np.where(a, 0.8, 0.3)).astype(int)
    c = (rng.random(400) < np.where(b, 0.8, 0.3)).astype(int)
    knowledge = ParameterKnowledge(tied=[["B", "C"]])
    posterior = parameter_posterior("A -> B -> C", {"A": a, "B": b, "C": c}, K2(), knowledge=knowledge)
    net, drawn = posterior.network(), posterior.sample(1500, seed=2)
    first, second, third = (np.array([other.cpd(name).values for other in drawn]) for name in "ABC")
    np.testing.assert_array_equal(second, third)
    joint = np.einsum("sa,sab,sbc->sabc", first, second, third)
    set_joint = joint[:, 1] / first[:, 1, None, None]
    cases = (
        ("A", {"evidence": {"C": 1}}, joint[..., 1].sum(axis=2) / joint[..., 1].sum(axis=(1, 2))[:, None]),
        (["A", "C"], {"evidence": {"B": 1}}, joint[:, :, 1] / joint[:, :, 1].sum(axis=(1, 2))[:, None, None]),
        (["A", "C"], {}, joint.sum(axis=2)),
        ("C", {"do": {"A": 1}}, set_joint.sum(axis=1)),
    )
    for targets, question, answers in cases:
        answer = net.query(targets, **question, uncertainty=posterior)
        np.testing.assert_allclose(answer.info.standard_deviations, answers.std(axis=0), rtol=0.1)
        assert answer.info.error == pytest.approx(answer.info.standard_deviations.max())
        np.testing.assert_allclose(answer.values, net.query(targets, **question).values)
    refuses(NotSupported, "leave out 'C'", net.query, ["A", "C"], evidence={"C": 1}, uncertainty=posterior)


def test_error_bars_of_a_linear_answer_are_exact():
    """A marginal of a root is one of its parameters."""
    posterior = parameter_posterior("A -> B", {"A": [0, 1, 1], "B": [0, 1, 0]}, K2())
    answer = posterior.network().query("A", uncertainty=posterior)
    np.testing.assert_allclose(answer.info.standard_deviations, posterior["A"].standard_deviation)
    sure = posterior.network().query("A", evidence={"A": 1}, uncertainty=posterior)
    np.testing.assert_allclose(sure.info.standard_deviations, 0.0, atol=1e-12)


def test_predictions_leave_out_what_was_set_and_need_only_the_columns_of_the_network():
    posterior = parameter_posterior("x -> y", {"x": [0, 1, 1], "y": [0, 1, 0]}, K2())
    columns = {"x": [0, 1], "y": [1, 1], "z": ["a", None]}
    table = Table.read(columns, posterior.variables, interventions={"x": [True, False]})
    found = posterior.log_predictive(table)
    assert found == pytest.approx(-row_losses(posterior.network(), table))
    assert found[0] == pytest.approx(math.log(posterior["y"].mean[0, 1]))


def test_a_missing_column_of_more_data_is_called_missing():
    posterior = parameter_posterior("x -> y", {"x": [0, 1], "y": [0, 1]}, K2())
    with pytest.raises(UnknownVariable, match=r"'y' is not a variable of the data.*Its column is missing") as caught:
        posterior.partial_fit({"x": [0]})
    assert "drop" not in str(caught.value)
