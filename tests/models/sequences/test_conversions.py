"""One model in two forms: as a hidden Markov model and as a dynamic network, with the same answers."""

from __future__ import annotations

import numpy as np
import pandas as pd
import pytest

import plausible as pb
from plausible import TableCPD
from plausible.cpds import ConditionalGaussianCPD
from plausible.errors import InvalidArgument, NotSupported, TooLarge


def _table(rng, name, parents, sizes, size):
    return TableCPD(name, rng.dirichlet(np.ones(size), size=sizes).reshape(*sizes, size), parents=parents)


def _coupled(rng):
    """Two hidden chains that touch within and between slices, one hidden in between, and three columns."""
    first = [_table(rng, "A", [], (), 2), _table(rng, "B", ["A"], (2,), 3)]
    later = [
        _table(rng, "A", ["A[-1]", "B[-1]"], (2, 3), 2),
        _table(rng, "B", ["A", "B[-1]"], (2, 3), 3),
        _table(rng, "C", ["B"], (3,), 2),
        _table(rng, "seen", ["C", "A"], (2, 2), 3),
        _table(rng, "alone", [], (), 2),
        ConditionalGaussianCPD("number", [[0.0, 1.0], [2.0, 4.0], [1.0, 3.0]], {}, 0.7, parents=["B", "C"]),
    ]
    return pb.DynamicBayesianNetwork(first, later)


def _with_gaps(rows, rng):
    rows = rows.astype(object)
    for name in rows.columns:
        rows.loc[rng.random(len(rows)) < 0.3, name] = None
    return rows.astype({"number": float}) if "number" in rows else rows


@pytest.mark.parametrize("seed", range(4))
def test_joint_states_have_the_likelihood_and_the_beliefs_of_the_network(seed):
    """P(rows) is the same, and beliefs of joint states add up to those of each variable."""
    rng = np.random.default_rng(seed)
    network = _coupled(rng)
    hmm = network.to_hmm(["seen", "alone", "number"])
    rows = _with_gaps(network.sample(9, seed=seed)[["seen", "alone", "number"]], rng)
    assert hmm.log_likelihood(rows) == pytest.approx(network.log_likelihood(rows), abs=1e-11)
    for question in ("filter", "smooth"):
        joint, beliefs = getattr(hmm, question)(rows).to_numpy(), getattr(network, question)(rows)
        for place, name in enumerate("ABC"):
            for position, state in enumerate(beliefs[name].columns):
                added = joint[:, [one[place] == state for one in hmm.states]].sum(axis=1)
                np.testing.assert_allclose(added, beliefs[name].iloc[:, position], rtol=0, atol=1e-12)
    whole = rows[["number"]].fillna(1.0).assign(seen=0, alone=0)
    best, states = network.mpe(whole), hmm.mpe(whole)
    assert best.log_probability == pytest.approx(states.log_probability, abs=1e-11)


def test_one_hidden_variable_keeps_its_name_and_columns_may_look_back():
    """Observations that depend on those of the step before are emissions that do."""
    rng = np.random.default_rng(5)
    network = pb.DynamicBayesianNetwork(
        [_table(rng, "mood", [], (), 2), _table(rng, "word", ["mood"], (2,), 3)],
        [_table(rng, "mood", ["mood[-1]"], (2,), 2), _table(rng, "word", ["mood", "word[-1]"], (2, 3), 3)],
    )
    hmm, rows = network.to_hmm("word"), network.sample(12, seed=1)[["word"]]
    assert hmm.state.name == "mood"
    assert hmm.log_likelihood(rows) == pytest.approx(network.log_likelihood(rows), abs=1e-11)
    np.testing.assert_allclose(hmm.smooth(rows), network.smooth(rows)["mood"], rtol=0, atol=1e-12)
    assert hmm.to_dynamic_network() == network


def test_hidden_markov_models_have_the_answers_of_their_networks():
    """Symbols beside correlated numbers, with gaps; there and back again is the same model."""
    rng = np.random.default_rng(2)
    emission = {
        "symbol": rng.dirichlet(np.ones(3), size=2),
        ("x", "y"): pb.GaussianEmission([[0.0, 1.0], [2.0, 0.0]], [[[1.0, 0.3], [0.3, 1.0]], [[2.0, 0.0], [0.0, 0.5]]]),
    }
    hmm = pb.HiddenMarkovModel([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], emission, states=["a", "b"])
    network, rows = hmm.to_dynamic_network(), hmm.sample(10, seed=3).drop(columns="state")
    rows.loc[2, "symbol"] = None
    assert network.log_likelihood(rows) == pytest.approx(hmm.log_likelihood(rows), abs=1e-11)
    np.testing.assert_allclose(network.smooth(rows)["state"], hmm.smooth(rows), rtol=0, atol=1e-12)
    plain = pb.HiddenMarkovModel([0.3, 0.7], [[0.8, 0.2], [0.4, 0.6]], [[0.5, 0.5], [0.1, 0.9]])
    assert plain.to_dynamic_network().to_hmm("observation") == plain


def test_inputs_stay_inputs():
    """Transitions that hang on a column do so in the network."""
    button = pb.Variable("button", ["off", "on"])
    moves = [[[0.9, 0.1], [0.1, 0.9]], [[0.5, 0.5], [0.2, 0.8]]]
    hmm = pb.HiddenMarkovModel([0.5, 0.5], moves, [[0.9, 0.1], [0.3, 0.7]], transition_input=button)
    rows = pd.DataFrame({"button": ["off", "on", "on", "off"], "observation": [0, 1, 1, 0]})
    network = hmm.to_dynamic_network()
    assert network.inputs == ("button",)
    assert network.log_likelihood(rows) == pytest.approx(hmm.log_likelihood(rows), abs=1e-12)


def test_the_diagram_of_states_is_a_chain_of_its_own():
    """States are vertices, possible transitions edges; the chain comes back from them."""
    moves = {"up": {"up": 0.9, "down": 0.1}, "down": {"down": 1.0}}
    hmm = pb.HiddenMarkovModel([1.0, 0.0], moves, [[1.0, 0.0], [0.5, 0.5]], states=["up", "down"])
    chain = hmm.to_markov_chain()
    assert chain.diagram() == moves
    assert type(chain)(chain.diagram(), start=[1.0, 0.0]) == chain
    again = pb.HiddenMarkovModel([1.0, 0.0], chain.diagram(), hmm.emission, states=["up", "down"])
    assert again == hmm
    text = chain.to_text()
    assert text == "up -> up: 0.9; up -> down: 0.1; down -> down: 1.0"
    assert type(chain)(text, start=[1.0, 0.0]) == chain
    assert pb.HiddenMarkovModel({"up": 1.0}, "up -> up: 0.9; up -> down; down -> down", hmm.emission) == hmm


def test_what_no_hidden_markov_model_expresses_is_refused():
    """The message names the variable and the influence."""
    rng = np.random.default_rng(0)
    network = _coupled(rng)
    with pytest.raises(InvalidArgument, match="'number' is continuous"):
        network.to_hmm("seen")
    with pytest.raises(NotSupported, match="'C' is hidden and depends on 'B'"):
        network.to_hmm(["seen", "number", "alone", "B"])
    with pytest.raises(InvalidArgument, match="something that is hidden"):
        network.to_hmm(list(network.variables))
    far = pb.DynamicBayesianNetwork(
        [_table(rng, "A", [], (), 2), _table(rng, "A[1]", [], (), 2)],
        [_table(rng, "A", ["A[-2]"], (2,), 2), _table(rng, "B", ["A"], (2,), 2)],
    )
    with pytest.raises(NotSupported, match="more than one step"):
        far.to_hmm("B")
    late = pb.DynamicBayesianNetwork(
        [_table(rng, "A", [], (), 2), _table(rng, "B", [], (), 2)],
        [_table(rng, "A", ["A[-1]"], (2,), 2), _table(rng, "B", ["A[-1]"], (2,), 2)],
    )
    with pytest.raises(NotSupported, match=r"'B' is observed and depends on 'A\[-1\]'"):
        late.to_hmm("B")
    names = [f"V{place}" for place in range(13)]
    many = pb.DynamicBayesianNetwork(
        [_table(rng, name, [], (), 2) for name in names],
        [*(_table(rng, name, [f"{name}[-1]"], (2,), 2) for name in names), _table(rng, "Y", ["V0"], (2,), 2)],
    )
    with pytest.raises(TooLarge, match="8192 joint states"):
        many.to_hmm("Y")


def _random_model(rng, *, is_numeric=False):
    """A chain with an impossible transition, rows drawn from it, and these with some cells missing."""
    count = int(rng.integers(2, 6))
    transition = rng.dirichlet(np.ones(count), size=count)
    transition[0, 1] = 0.0
    transition /= transition.sum(axis=1, keepdims=True)
    names = [f"s{place}" for place in range(count)]
    emission = (
        pb.GaussianEmission(rng.normal(size=count), rng.gamma(2.0, size=count), ["seen"])
        if is_numeric
        else rng.dirichlet(np.ones(3), size=count)
    )
    model = pb.HiddenMarkovModel(
        rng.dirichlet(np.ones(count)), transition, emission, names, state="hidden", observation="seen"
    )
    rows = model.sample(int(rng.integers(1, 30)), seed=rng)[["seen"]]
    return model, rows, rows.mask(rng.random(rows.shape) < 0.2)


@pytest.mark.parametrize("is_numeric", [False, True])
@pytest.mark.parametrize("seed", range(6))
def test_the_dynamic_network_of_a_chain_gives_its_answers(seed, is_numeric):
    """Filtered and smoothed beliefs, the likelihood of each step, and the best path, by two kinds of engines.

    The best course of a network tells missing cells, too; hence paths are those of complete rows.
    """
    model, complete, rows = _random_model(np.random.default_rng(seed), is_numeric=is_numeric)
    network = model.to_dynamic_network()
    assert network.log_likelihood(rows) == pytest.approx(model.log_likelihood(rows), rel=1e-10, abs=1e-12)
    np.testing.assert_allclose(network.step_log_likelihoods(rows), model.step_log_likelihoods(rows), atol=1e-10)
    np.testing.assert_allclose(network.filter(rows)["hidden"], model.filter(rows), atol=1e-10)
    np.testing.assert_allclose(network.smooth(rows)["hidden"], model.smooth(rows), atol=1e-10)
    best, path = network.mpe(complete), model.mpe(complete)
    assert best["hidden"].tolist() == list(path)
    assert best.log_probability == pytest.approx(path.log_probability, rel=1e-12)


def test_inputs_of_an_emission_are_those_of_the_dynamic_network():
    """A distribution with an input of its own is drawn from there, as the error says."""
    hidden, dose = pb.Variable("state", ["low", "high"]), pb.Variable("dose", [0, 1])
    seen = pb.TableCPD("seen", np.eye(2)[[[0, 1], [1, 0]]], [hidden, dose])
    model = pb.HiddenMarkovModel([1, 0], [[0, 1], [1, 0]], seen, hidden.states)
    with pytest.raises(NotSupported, match=r"'seen' depends on \['dose'\].*to_dynamic_network"):
        model.sample(4, seed=0)
    drawn = model.to_dynamic_network().sample(4, seed=0, inputs={"dose": [0, 0, 1, 1]})
    assert drawn["state"].tolist() == ["low", "high", "low", "high"]
    assert drawn["seen"].tolist() == [0, 1, 1, 0]
