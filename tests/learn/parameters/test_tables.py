"""Tables: frequencies, posteriors and what they predict, against loops over rows and worked numbers."""

import math
import warnings
from functools import partial

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from network_oracle import random_network
from plausible.cpds import TableCPD
from plausible.data.events import empirical_distribution, event_count, where
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, UnknownState, UnknownVariable
from plausible.graphs import DAG
from plausible.learn.estimation.families import (
    ParameterKnowledge,
    UnidentifiedParameters,
    data_fragmentation,
    empirical_divergence,
    empirical_entropy,
    graph_log_likelihood,
    log_likelihood,
)
from plausible.learn.estimation.posterior import parameter_posterior
from plausible.learn.estimation.priors import K2, BDe, BDeu, Dirichlet
from plausible.learn.learned_parameters import fit_parameters, learn_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.dirichlet import BDeScore, BDeuScore, BDsScore
from plausible.learn.scores.penalized import conditional_entropy
from plausible.learn.structures.knowledge import Knowledge
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses
from row_oracle import loop_counts, rows_of

CASES = ["TFT", "TFT", "FTF", "FFT", "TFF", "TFT", "FFF", "TFT", "TFT", "FFT", "TFT", "TTT", "TFT", "TTT", "TFT", "TFT"]
HEALTH = {name: [case[place] == "T" for case in CASES] for place, name in enumerate("HSE")}
HEALTH_GRAPH = "H -> S; H -> E"
COIN = BayesianNetwork(TableCPD("coin", [0.5, 0.5]))


def test_worked_numbers_of_the_health_example():
    """Counts, parameters, entropies, likelihood and divergence of learning-basics 2.1."""
    assert event_count(HEALTH, {"H": True, "S": False, "E": True}) == 9
    assert event_count(HEALTH, where(H=True)) == 12
    assert event_count(HEALTH, where(H=True) | where(E=True)) == 14
    assert event_count(HEALTH, lambda row: row["H"] | row["E"]) == 14
    assert event_count(HEALTH, where()) == 16
    net = learn_parameters(HEALTH_GRAPH, HEALTH)
    np.testing.assert_allclose(net.cpd("H").values[1], 3 / 4)
    np.testing.assert_allclose(net.cpd("S").values[:, 1], [1 / 4, 1 / 6])
    np.testing.assert_allclose(net.cpd("E").values[:, 1], [1 / 2, 11 / 12])
    bits = math.log(2)
    entropies = [conditional_entropy(HEALTH, x, u) / bits for x, u in (("H", []), ("S", ["H"]), ("E", ["H"]))]
    np.testing.assert_allclose(entropies, [0.81128, 0.69034, 0.56036], atol=5e-6)
    assert log_likelihood(net, HEALTH) / bits == pytest.approx(-32.99163, abs=5e-6)
    assert graph_log_likelihood(HEALTH_GRAPH, HEALTH) / bits == pytest.approx(-32.99163, abs=5e-6)
    assert empirical_divergence(net, HEALTH) / bits == pytest.approx(0.09506, abs=5e-6)
    assert net.num_parameters == 5
    error = parameter_posterior(HEALTH_GRAPH, HEALTH)["S"].standard_error
    assert error[1, 1] ** 2 == pytest.approx(0.0115741, abs=5e-8)


def test_empirical_joint_of_the_health_example():
    """What never occurs stays zero."""
    joint = empirical_distribution(HEALTH, "HSE").values * 16
    expected = np.zeros((2, 2, 2))
    for case, count in {"TTT": 2, "TFT": 9, "TFF": 1, "FTF": 1, "FFT": 2, "FFF": 1}.items():
        expected[tuple(int(letter == "T") for letter in case)] = count
    np.testing.assert_allclose(joint, expected)


@settings(max_examples=40, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_tables_are_frequencies_and_rows_without_cases_are_flagged_and_uniform(seed):
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    table = rows_of(net, rng, int(rng.integers(0, 30)))
    if rng.random() < 0.5:
        table = table.weighted(rng.integers(0, 3, size=table.num_rows))
    fit = fit_parameters(net, table)
    for name, cpd in net.cpds.items():
        counts = loop_counts(table, cpd)
        totals = counts.sum(axis=-1)
        learned = fit.network.cpd(name)
        assert learned.parent_names == cpd.parent_names
        with np.errstate(invalid="ignore", divide="ignore"):
            expected = np.where(totals[..., None] > 0, counts / totals[..., None], 1 / counts.shape[-1])
        np.testing.assert_allclose(learned.values, expected, atol=1e-12)
        np.testing.assert_array_equal(fit.unidentified.get(name, np.zeros(totals.shape, dtype=bool)), totals == 0)
        rows = fit.unidentified_rows(name)
        assert len(rows) == (totals == 0).sum()
        assert all(set(row) == set(cpd.parent_names) for row in rows)


@settings(max_examples=25, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_likelihood_by_cases_by_entropies_and_by_divergence_agree(seed):
    """LL(ML) = -N Σ H(X | U), and LL(θ) = -N [H(P_D) + KL(P_D, P_θ)] for any θ."""
    rng = np.random.default_rng(seed)
    other = random_network(rng, zeros=0.0)
    table = rows_of(other, rng, int(rng.integers(1, 40))).weighted(None)
    best = learn_parameters(other, table, unseen="uniform")
    assert log_likelihood(best, table) == pytest.approx(graph_log_likelihood(other, table), abs=1e-8)
    for net in (best, other):
        by_divergence = -table.total * (empirical_entropy(table) + empirical_divergence(net, table))
        assert log_likelihood(net, table) == pytest.approx(by_divergence, abs=1e-8)
    assert log_likelihood(best, table) >= log_likelihood(other, table) - 1e-9


def test_estimates_from_simulated_rows_are_as_far_from_the_truth_as_standard_errors_say():
    """(θ - p) / SE is about standard Normal (learning-basics 7 and 12)."""
    truth = BayesianNetwork(TableCPD("A", [0.3, 0.7]), TableCPD("B", [[0.2, 0.5, 0.3], [0.6, 0.3, 0.1]], parents=["A"]))
    scores = []
    for seed in range(60):
        posterior = parameter_posterior(truth, truth.sample(300, seed=seed))
        for name, cpd in truth.cpds.items():
            scores.append(((posterior[name].frequencies - cpd.values) / posterior[name].standard_error).ravel())
    found = np.concatenate(scores)
    assert abs(found.mean()) < 0.2
    assert 0.85 < found.std() < 1.15


def test_data_with_other_states_than_the_network_are_refused():
    net = BayesianNetwork(TableCPD("A", [0.3, 0.7]))
    refuses(UnknownState, "'x' is not a state of 'A'", learn_parameters, net, Table.read({"A": ["x", "y"]}))


def test_rows_in_which_a_variable_was_set_do_not_count_for_it():
    table = Table.read({"A": [0, 0, 1, 1], "B": [0, 1, 1, 1]}, interventions={"B": [False, True, False, True]})
    net = learn_parameters("A -> B", table)
    np.testing.assert_allclose(net.cpd("B").values, [[1, 0], [0, 1]])
    np.testing.assert_allclose(net.cpd("A").values, [0.5, 0.5])
    assert log_likelihood(net, table) == pytest.approx(4 * math.log(0.5))


def test_policies_for_rows_without_cases():
    table = Table.read({"A": [0, 0, 0], "B": [0, 1, 1]}, [Variable("A", 2), Variable("B", 2)])
    with pytest.warns(UnidentifiedParameters, match="1 row of 'B'; what is missing was filled in"):
        learn_parameters("A -> B", table)
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        np.testing.assert_allclose(learn_parameters("A -> B", table, unseen="uniform").cpd("B").values[1], 0.5)
    refuses(InvalidArgument, "1 row of 'B'.* A=1. Give a prior=", fit_parameters, "A -> B", table, unseen="error")
    skewed = {"B": Dirichlet([3.0, 1.0])}
    mixed = fit_parameters("A -> B", table, skewed, estimate="mle", unseen="prior")
    np.testing.assert_allclose(mixed.network.cpd("B").values, [[1 / 3, 2 / 3], [0.75, 0.25]])
    assert not mixed.unidentified
    refuses(InvalidArgument, "needs a prior", fit_parameters, "A -> B", table, unseen="prior")


def test_the_order_of_rows_and_columns_does_not_matter():
    rng = np.random.default_rng(3)
    columns = {name: rng.choice(["b", "a", "c"], 60) for name in "ZXY"}
    order = rng.permutation(60)
    shuffled = {name: columns[name][order] for name in "XYZ"}
    graph = DAG("X -> Z <- Y")
    assert learn_parameters(graph, columns, BDeu(1)) == learn_parameters(graph, shuffled, BDeu(1))
    first, second = (parameter_posterior(graph, data, BDeu(1)).sample(2, seed=4) for data in (columns, shuffled))
    assert first == second


def test_an_empty_graph_is_learned_and_unknown_names_are_refused():
    assert len(learn_parameters(DAG(), {})) == 0
    with pytest.raises(UnknownVariable, match="'Grss' is not a variable of the data"):
        learn_parameters("Rain -> Grss", {"Rain": [0, 1], "Grass": [0, 1]})
    refuses(UnknownVariable, "prior= names it", learn_parameters, "A -> B", {"A": [0, 1], "B": [0, 1]}, {"C": K2()})


def test_priors_have_the_pseudo_counts_of_their_formulas():
    child, parents = Variable("X", 3), [Variable("U", 2), Variable("V", 2)]
    np.testing.assert_allclose(BDeu(6).pseudo_counts(child, parents), np.full((2, 2, 3), 0.5))
    np.testing.assert_allclose(K2().pseudo_counts(child, parents), np.ones((2, 2, 3)))
    rng = np.random.default_rng(1)
    prior = random_network(rng, num_variables=4)
    names = list(prior.variables)
    variables = [prior.variables[name] for name in names]
    joint = np.zeros([v.num_states for v in variables])
    for place in np.ndindex(joint.shape):
        position = dict(zip(names, place, strict=True))
        joint[place] = math.prod(cpd.values[tuple(position[v.name] for v in cpd.scope)] for cpd in prior.cpds.values())
    family = joint.sum(axis=(1,)).transpose([2, 0, 1])
    found = BDe(prior, 12).pseudo_counts(variables[2], [variables[3], variables[0]])
    np.testing.assert_allclose(found, 12 * family, atol=1e-12)
    assert found.sum() == pytest.approx(12)


@pytest.mark.parametrize("size", [0, -1, math.inf, math.nan, "x", None, True])
@pytest.mark.parametrize("kind", [BDeu, BDeuScore, BDsScore, partial(BDe, COIN), partial(BDeScore, COIN)])
def test_a_prior_is_worth_a_positive_number_of_cases(kind, size):
    refuses(InvalidArgument, f"^equivalent_sample_size={size!r} must be a number above 0", kind, size)


def test_bad_priors_are_refused():
    refuses(InvalidArgument, "not negative", Dirichlet(-1).pseudo_counts, Variable("X", 2), [])
    refuses(InvalidArgument, "shape", Dirichlet([1, 2, 3]).pseudo_counts, Variable("X", 2), [])
    refuses(InvalidArgument, "BDeu", learn_parameters, "A -> B", {"A": [0, 1], "B": [0, 1]}, 10)


def test_the_mean_mixes_prior_and_frequencies_and_tends_to_the_latter():
    """(α m + N f) / (α + N), which is f for many cases (networks-sequences-relations 43)."""
    for repeats in (1, 10, 1000):
        data = {"X": ["a", "b", "b", "c"] * repeats}
        mean = learn_parameters(DAG([], nodes=["X"]), data, Dirichlet([6, 2, 2])).cpd("X").values
        weight = 10 / (10 + 4 * repeats)
        expected = weight * np.array([0.6, 0.2, 0.2]) + (1 - weight) * np.array([0.25, 0.5, 0.25])
        np.testing.assert_allclose(mean, expected)
    np.testing.assert_allclose(mean, [0.25, 0.5, 0.25], atol=2e-3)


def test_knowledge_is_hard_or_a_prior_or_only_a_start():
    data = {"A": [0, 0, 1, 1], "B": [0, 1, 1, 1]}
    given = BayesianNetwork(TableCPD("A", [0.9, 0.1]), TableCPD("B", [[0.8, 0.2], [0.3, 0.7]], parents=["A"]))
    fixed = learn_parameters("A -> B", data, knowledge=ParameterKnowledge(fixed=[given.cpd("B")]))
    assert fixed.cpd("B") == given.cpd("B")
    np.testing.assert_allclose(fixed.cpd("A").values, [0.5, 0.5])
    believed = learn_parameters("A -> B", data, BDe(given, 4))
    np.testing.assert_allclose(believed.cpd("A").values, [(3.6 + 2) / 8, (0.4 + 2) / 8])
    started = learn_parameters("A -> B", data, knowledge=ParameterKnowledge(start=given))
    assert started == learn_parameters("A -> B", data)


def test_tied_tables_are_learned_from_the_cases_of_all():
    data = {"X0": [0, 0, 1], "X1": [0, 1, 1], "X2": [1, 1, 0]}
    fit = fit_parameters("X0 -> X1 -> X2", data, knowledge=ParameterKnowledge(tied=[["X1", "X2"]]))
    expected = np.array([[1, 2], [1, 2]]) / 3
    np.testing.assert_allclose(fit.network.cpd("X1").values, expected)
    np.testing.assert_allclose(fit.network.cpd("X2").values, expected)
    with pytest.raises(InvalidArgument, match="tied to"):
        fit_parameters("X0 -> X1 -> X2", data, knowledge=ParameterKnowledge(tied=[["X0", "X2"]]))
    with pytest.raises(InvalidArgument, match="fixed and tied"):
        ParameterKnowledge(fixed=[TableCPD("X1", [0.5, 0.5])], tied=[["X1", "X2"]])


def test_fragmentation_counts_the_cases_for_each_state_of_the_parents():
    rng = np.random.default_rng(2)
    data = {name: rng.integers(3, size=40) for name in "UVX"}
    report = data_fragmentation("U -> X <- V", data, fewest=4)
    cases = np.zeros((3, 3))
    for u, v in zip(data["U"], data["V"], strict=True):
        cases[u, v] += 1
    family = report.families["X"]
    np.testing.assert_array_equal(family.cases, cases)
    assert (family.num_thin, family.num_parameters) == ((cases < 4).sum(), 18)
    assert family.cases_per_parameter == pytest.approx(40 / 18)
    assert str(report).startswith("X: 9 rows")


def test_the_mode_without_a_prior_is_the_maximum_of_the_likelihood():
    rows = {"x": [0, 0, 0, 1]}
    assert learn_parameters(DAG("x"), rows, estimate="map").cpd("x").values == pytest.approx([0.75, 0.25])
    assert learn_parameters(DAG("x"), rows, K2(), estimate="map").cpd("x").values == pytest.approx([0.75, 0.25])


@pytest.mark.parametrize(
    ("name", "prior"), [("k2", K2()), ("BDeu", BDeu()), ("bdeu:4", BDeu(4)), ("dirichlet:0.5", Dirichlet(0.5))]
)
def test_priors_go_by_name(name, prior):
    assert learn_parameters(HEALTH_GRAPH, HEALTH, name) == learn_parameters(HEALTH_GRAPH, HEALTH, prior)


@pytest.mark.parametrize(("name", "told"), [("bdue", "mean 'bdeu'"), ("k2:3", "has no number"), ("bdeu:x", "colon")])
def test_names_that_are_no_priors_are_refused_with_help(name, told):
    refuses(InvalidArgument, told, learn_parameters, HEALTH_GRAPH, HEALTH, name)


def test_rows_left_to_a_prior_need_one_of_their_own_variable():
    table = Table.read({"x": [0, 0], "y": [0, 1]}, [Variable("x", 2)])
    with pytest.raises(InvalidArgument, match="1 row of 'y', such as that of x=1, and no prior"):
        learn_parameters("x -> y", table, {"x": K2()}, unseen="prior")
    assert learn_parameters("x -> y", table, {"y": K2()}, unseen="prior").cpd("y").values[1] == pytest.approx(
        [0.5, 0.5]
    )


def test_counts_that_were_taken_away_without_being_there_are_refused():
    few, more = TableStatistics({"x": [0, 1]}), TableStatistics({"x": [1, 0, 1, 1]})
    refuses(InvalidArgument, "negative counts", learn_parameters, DAG("x"), few - more)
    weighted = TableStatistics(Table.read({"x": [0, 1]}, weights=[0.1, 0.3]))
    left = (weighted + weighted + weighted) - weighted * 3.0
    assert left.counts("x").tolist() == [0.0, 0.0]


def test_weights_that_add_up_to_infinity_are_refused():
    table = Table.read({"x": [0, 1]}, weights=[1.5e308, 1.5e308])
    refuses(InvalidArgument, "Divide all by the largest", learn_parameters, DAG("x"), table)


def test_an_empty_group_of_ties_is_refused():
    refuses(InvalidArgument, "group of tied= is empty", ParameterKnowledge, tied=[[]])


def test_the_warning_about_open_rows_points_at_the_line_that_asked():
    table = Table.read({"x": [0, 0], "y": [0, 1]}, [Variable("x", 2)])
    found = learn_structure(table, knowledge=Knowledge(required="x -> y"))
    with pytest.warns(UnidentifiedParameters) as caught:
        found.network()
    assert caught[0].filename == __file__


def test_networks_say_which_states_there_are_whatever_the_rows_have():
    """The graph, a prior network or fixed CPDs; rows as a frame, a table or counted, two of them without "yes"."""
    net = BayesianNetwork(
        TableCPD(Variable("a", ["yes", "no"]), [0.5, 0.5]),
        TableCPD(Variable("b", ["yes", "no"]), [[0.8, 0.2], [0.4, 0.6]], parents=["a"]),
    )
    rows = {"a": ["no", "no"], "b": ["no", "yes"]}
    for data in (rows, Table.read(rows), TableStatistics(Table.read(rows))):
        counted = learn_parameters(net, data, "dirichlet:1")
        assert counted.cpd("a").to_table().values.tolist() == [0.25, 0.75]
        weighed = learn_parameters("a -> b", data, BDe(net, 2))
        assert weighed.cpd("a").to_table().values.tolist() == [0.25, 0.75]
        kept = learn_parameters("a -> b", data, knowledge=ParameterKnowledge(fixed=net))
        assert kept.variables["a"].states == ("yes", "no")
