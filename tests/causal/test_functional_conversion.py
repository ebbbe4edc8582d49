"""Functional models of Bayesian networks have the network's distributions, whatever the coupling."""

import numpy as np
import pytest

from network_oracle import random_network
from plausible.causal.counterfactuals.potential import Potential
from plausible.causal.counterfactuals.query import counterfactual
from plausible.causal.functional.conversion import functional_model, observational_network
from plausible.cpds import NoisyOr, TableCPD
from plausible.errors import InvalidArgument, TooLarge
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from seeds import few_of


@pytest.mark.parametrize("coupling", ["independent", "comonotone"])
@pytest.mark.parametrize("seed", few_of(6, 25))
def test_observations_and_interventions_are_those_of_the_network(seed, coupling):
    """The noise is independent, so the model has the network's graph and tables."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=4, max_states=2 if coupling == "independent" else 3, edge_probability=0.5)
    model = functional_model(net, coupling)
    assert observational_network(model).is_close(net, 1e-12)
    assert set(model.graph.edges) == {edge for edge in model.graph.edges if edge.is_directed}
    name, target = rng.permutation(list(net.variables))[:2]
    do = {str(name): net.variables[name].states[-1]}
    assert model.query(str(target), do=do).is_close(net.query(str(target), do=do), 1e-12)


def test_independent_rows_multiply_and_comonotone_rows_move_together():
    """P(Y_0, Y_1) is the product of its marginals, or as near to the diagonal as these allow."""
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("Y", [[0.8, 0.2], [0.3, 0.7]], ["X"]))
    terms = [Potential("Y", {"X": 0}), Potential("Y", {"X": 1})]
    table = counterfactual(functional_model(net), terms).values
    np.testing.assert_allclose(table, np.outer([0.8, 0.2], [0.3, 0.7]), atol=1e-15)
    table = counterfactual(functional_model(net, "comonotone"), terms).values
    np.testing.assert_allclose(table, [[0.3, 0.5], [0.0, 0.2]], atol=1e-15)


@pytest.mark.parametrize("seed", few_of(6, 20))
def test_comonotone_types_are_few_and_ordered(seed):
    """At most m (k - 1) + 1 quantile functions, each at least as large as the one before."""
    rng = np.random.default_rng(seed)
    states, rows = int(rng.integers(1, 5)), int(rng.integers(1, 7))
    table = rng.dirichlet(np.ones(states) * 0.5, size=rows)
    table[0] = table[-1]  # jumps at one level
    net = BayesianNetwork(TableCPD("P", np.full(rows, 1 / rows)), TableCPD("X", table, ["P"]))
    responses = np.array(functional_model(net, "comonotone").noise.variables["U_X"].states).reshape(-1, rows)
    assert len(responses) <= rows * (states - 1) + 1
    assert np.all(np.diff(responses, axis=0) >= 0)
    assert np.all(responses[:, 0] == responses[:, -1])


def test_a_noisy_or_brings_its_own_mechanism():
    """The effect is the or of the noisy copies: removing a cause that did not pass changes nothing."""
    causes = [Variable(f"C{i}", 2) for i in range(3)]
    net = BayesianNetwork(
        *(TableCPD(cause, [0.5, 0.5]) for cause in causes), NoisyOr("E", causes, [0.9, 0.5, 0.0], leak=0.2)
    )
    model = functional_model(net)
    names = [cause.name for cause in causes] + ["E"]
    np.testing.assert_allclose(model.query(names).values, net.joint().values, atol=1e-15)
    assert model.parents("E") == ("Z_E_C0", "Z_E_C1", "Z_E_C2")
    seen = {"C0": 1, "C1": 1, "C2": 1, "E": True, "Z_E_C0": False}
    assert counterfactual(model, "E", evidence=seen, do={"C0": 0}).values[1] == 1.0


def test_a_noisy_or_of_many_causes_stays_small():
    """No table over all the causes is ever written."""
    causes = [Variable(f"C{i}", 2) for i in range(30)]
    net = BayesianNetwork(*(TableCPD(c, [0.9, 0.1]) for c in causes), NoisyOr("E", causes, [0.5] * 30))
    answer = counterfactual(functional_model(net), "E", evidence={"E": True, "C0": 1}, do={"C0": 0})
    others = 1 - 0.95**29
    assert answer.values[1] == pytest.approx(others / (1 - 0.5 * (1 - others)), abs=1e-12)


def test_names_of_noise_keep_clear_of_the_networks_own():
    """U_X is taken."""
    net = BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("U_X", [0.1, 0.9]))
    assert list(functional_model(net).noise.variables) == ["U_X_", "U_U_X"]


def test_functions_that_can_not_be_listed_are_refused_with_a_way_out():
    """Size, coupling, kind of model."""
    big = [Variable(f"P{i}", 3) for i in range(4)]
    rows = np.full([3] * 4 + [3], 1 / 3)
    net = BayesianNetwork(*(TableCPD(p, [1 / 3] * 3) for p in big), TableCPD("X", rows, big))
    with pytest.raises(TooLarge, match="comonotone"):
        functional_model(net)
    assert len(functional_model(net, "comonotone").noise.variables["U_X"].states) == 3
    with pytest.raises(InvalidArgument, match="coupling="):
        functional_model(net, "other")
    with pytest.raises(InvalidArgument, match="without inputs"):
        functional_model(BayesianNetwork(TableCPD("X", [[0.5, 0.5]] * 2, ["P"]), inputs=[Variable("P", 2)]))
