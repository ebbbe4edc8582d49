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
