"""Samples against the distribution they are drawn from."""

from __future__ import annotations

import math

import numpy as np
import pytest
from scipy.stats import chisquare, kstest

from network_oracle import random_markov_network, random_network
from plausible import learn
from plausible.cpds import ConditionalGaussianCPD, LinearGaussianCPD, TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.graphs import DAG
from plausible.inference import Gibbs
from plausible.models import BayesianNetwork
from plausible.variables import Variable, likelihood
from seeds import few_of


def _agrees(frame, expected):
    """Whether the rows of a frame could have been drawn from the distribution: chi-square on all assignments."""
    counts = frame.groupby(list(frame.columns)).size().to_dict()
    cells = expected.to_dict()
    keys = {key: key if isinstance(key, tuple) else (key,) for key in cells}
    observed = np.array([counts.get(keys[key], counts.get(key, 0)) for key in cells], dtype=float)
    wanted = np.array(list(cells.values())) * len(frame)
    assert observed[wanted == 0].sum() == 0
    if (wanted > 0).sum() == 1:  # one assignment has all the probability, and was drawn each time
        return True
    return chisquare(observed[wanted > 0], wanted[wanted > 0]).pvalue > 1e-4


@pytest.mark.parametrize("seed", range(6))
def test_forward_samples_have_the_joint_distribution(seed):
    """Without evidence: every assignment as often as its probability says, impossible ones never."""
    net = random_network(np.random.default_rng(seed), num_variables=4)
    assert _agrees(net.sample(20_000, seed=seed), net.joint())


@pytest.mark.parametrize("seed", range(6))
def test_samples_given_evidence_have_the_posterior_distribution(seed):
    """With evidence: drawn from the clique tree."""
    net = random_network(np.random.default_rng(seed), num_variables=5)
    name = list(net.variables)[-1]
    weights = np.random.default_rng(seed).random(net.variables[name].num_states) + 0.1
    posterior = net.query(list(net.variables), {name: likelihood(weights)})
    assert _agrees(net.sample(20_000, seed=seed, evidence={name: likelihood(weights)}), posterior)


@pytest.mark.parametrize("seed", range(4))
def test_markov_networks_are_sampled_too(seed):
    """Through their clique tree."""
    net = random_markov_network(np.random.default_rng(seed), num_variables=4)
    assert _agrees(net.compile().sample(20_000, seed=seed), net.joint())


def test_evidence_and_interventions_hold_in_every_row():
    """What is observed or set is so; what is set says nothing about its causes."""
    net = BayesianNetwork(
        TableCPD("A", [0.5, 0.5], states=["no", "yes"]),
        TableCPD("B", {"no": [0.9, 0.1], "yes": [0.1, 0.9]}, parents=["A"], states=["low", "high"]),
    )
    seen = net.sample(4000, seed=0, evidence={"B": "high"})
    done = net.sample(4000, seed=0, do={"B": "high"})
    assert set(seen["B"]) == set(done["B"]) == {"high"}
    assert (seen["A"] == "yes").mean() == pytest.approx(0.9, abs=0.03)
    assert (done["A"] == "yes").mean() == pytest.approx(0.5, abs=0.04)


def test_continuous_networks_are_sampled_forward():
    """A conditional Gaussian: the rows of each state are normal around their mean."""
    z = Variable("Z", ["a", "b"])
    net = BayesianNetwork(
        TableCPD(z, [0.3, 0.7]),
        LinearGaussianCPD("X", intercept=1.0, variance=4.0),
        ConditionalGaussianCPD(
            "Y", parents=[z, "X"], intercept=[0.0, 10.0], coefficients={"X": [1.0, -1.0]}, variance=[1.0, 0.25]
        ),
    )
    frame = net.sample(5000, seed=3)
    for state, intercept, slope, variance in (("a", 0.0, 1.0, 1.0), ("b", 10.0, -1.0, 0.25)):
        rows = frame[frame["Z"] == state]
        noise = (rows["Y"] - intercept - slope * rows["X"]) / math.sqrt(variance)
        assert kstest(noise, "norm").pvalue > 1e-4
    assert kstest((frame["X"] - 1.0) / 2.0, "norm").pvalue > 1e-4


def test_the_same_seed_gives_the_same_rows():
    """A number or a generator in the same state."""
    net = random_network(np.random.default_rng(1))
    assert net.sample(50, seed=7).equals(net.sample(50, seed=7))
    assert net.sample(50, seed=7).equals(net.sample(50, seed=np.random.default_rng(7)))
    assert not net.sample(50, seed=7).equals(net.sample(50, seed=8))


def test_states_keep_their_types_and_variables_their_order():
    """Numbers stay numbers, booleans booleans; no rows give an empty frame with all columns."""
    net = BayesianNetwork(TableCPD("n", [0.5, 0.5]), TableCPD("b", [0.5, 0.5], states=[False, True]))
    frame = net.sample(20, seed=0)
    assert list(frame.columns) == ["n", "b"]
    assert frame["n"].dtype.kind == "i"
    assert frame["b"].dtype.kind == "b"
    assert net.sample(0).shape == (0, 2)


def test_texts_are_categories_all_states_in_their_order():
    """Drawn or not, however rows are drawn; learners take states from there, and a file has the texts."""
    states = ["low", "high", "never"]
    table = TableCPD("A", [0.5, 0.5, 0.0], states=states)
    net, mixed = BayesianNetwork(table), BayesianNetwork(table, LinearGaussianCPD("x", variance=1.0))
    drawn = [net.sample(9, seed=0), net.sample(9, seed=0, evidence={"A": "low"}), net.sample(9, do={"A": "low"})]
    drawn += [net.compile().sample(9), net.to_markov_network().sample(9), net.sample(9, engine=Gibbs()), net.sample(0)]
    drawn += [mixed.sample(9, seed=0), mixed.sample(9, evidence={"x": 0.5})]
    assert [frame["A"].cat.categories.tolist() for frame in drawn] == [states] * len(drawn)
    assert learn.parameters(DAG(nodes=["A"]), drawn[0]).variables["A"].states == tuple(states)
    expected = "A\n" + "".join(f"{state}\n" for state in drawn[0]["A"].tolist())
    assert set(drawn[0]["A"]) == {"low", "high"}
    assert drawn[0].to_csv(index=False) == expected


def test_rows_of_many_states_and_parents_are_drawn_from_their_table():
    """More states and combinations of parents than a byte counts; also in more rows than are drawn at a time."""
    is_sum = np.add.outer(np.arange(200), np.arange(200)) == 199
    reverse, is_reverse = np.eye(200)[::-1], np.stack([is_sum, ~is_sum], axis=-1).astype(float)
    a, b = TableCPD("A", np.full(200, 0.005)), TableCPD("B", reverse, parents=["A"])
    net = BayesianNetwork(a, b, TableCPD("C", is_reverse, parents=["A", "B"]))
    frame = net.sample(70_000, seed=0)
    assert (frame["A"] + frame["B"] == 199).all()
    assert (frame["C"] == 0).all()
    assert chisquare(frame["A"].value_counts().reindex(range(200))).pvalue > 1e-4


def test_mistakes_are_named():
    """Negative counts, and evidence that can't happen."""
    net = BayesianNetwork(TableCPD("A", [1.0, 0.0]))
    with pytest.raises(InvalidArgument, match="not negative"):
        net.sample(-1)
    with pytest.raises(ImpossibleEvidence, match="A=1"):
        net.sample(5, evidence={"A": 1})


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_marginal_map_is_the_best_of_all_sums(seed):
    """The states of some variables with the largest total probability, and its logarithm."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5, zeros=0.0)
    names = rng.permutation(list(net.variables))[:2].tolist()
    observed = next(name for name in net.variables if name not in names)
    best = net.map(names, evidence={observed: 0})
    table = net.joint().reduce({observed: 0}).marginal(names)
    assert table[dict(best)] == pytest.approx(table.max(), rel=1e-12)
    assert best.log_probability == pytest.approx(math.log(table.max()))


def test_the_logarithm_of_a_map_counts_all_evidence():
    """A likelihood on the variable that is asked for counts too."""
    net = BayesianNetwork(TableCPD("A", [0.6, 0.4]))
    assert net.map("A", {"A": likelihood([0.5, 0.25])}).log_probability == pytest.approx(math.log(0.3))
