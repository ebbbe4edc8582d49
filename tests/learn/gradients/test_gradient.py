"""The gradient of the observed-data log-likelihood, against differences of an enumerated likelihood."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likelihood_oracle as oracle
from network_oracle import random_network
from plausible.cpds import LogisticCPD, NoisyMax, NoisyOr, Split, TableCPD, TreeCPD
from plausible.data.table import Table
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownVariable
from plausible.learn.gradients.gradient import log_likelihood_gradient
from plausible.learn.incomplete.problem import observed_log_likelihood
from plausible.models import BayesianNetwork
from plausible.variables import Variable


def diamond():
    """A and B -> C -> D, all binary (Koller & Friedman 2009, figure 19.6)."""

    def table(name, second, parents=()):
        second = np.array(second)
        states = [f"{name.lower()}0", f"{name.lower()}1"]
        return TableCPD(name, np.stack([1 - second, second], axis=-1), parents, states=states)

    return BayesianNetwork(
        table("A", 0.3),
        table("B", 0.9),
        table("C", [[0.83, 0.09], [0.6, 0.2]], ["A", "B"]),
        table("D", [0.1, 0.8], ["C"]),
    )


def test_worked_example_of_one_instance():
    """o = (a1, ?, ?, d0): P(o) = .2196 and dlog P(o) = 1.038251, .327869 at P(d0 | c)."""
    gradient = log_likelihood_gradient(diamond(), {"A": ["a1"], "D": ["d0"]})
    assert gradient.log_likelihood == pytest.approx(np.log(0.2196))
    np.testing.assert_allclose(gradient.entries["D"], [[1.038251, 0], [0.327869, 0]], atol=1e-6)
    bc = gradient.expected_counts["C"][1]
    np.testing.assert_allclose(bc, [[0.0492, 0.0164], [0.8852, 0.0492]], atol=1e-4)


def test_worked_example_uses_the_evidence_that_its_numbers_belong_to():
    """(a0, ?, ?, d1) has other derivatives than those printed for it, which are those of (a1, ?, ?, d1)."""
    right = log_likelihood_gradient(diamond(), {"A": ["a0"], "D": ["d1"]})
    np.testing.assert_allclose(right.entries["D"][:, 1], [3.891993, 0.763501], atol=1e-6)
    assert np.exp(right.log_likelihood) == pytest.approx(0.15036)
    printed = log_likelihood_gradient(diamond(), {"A": ["a1"], "D": ["d1"]})
    np.testing.assert_allclose(printed.entries["D"][:, 1], [2.835821, 0.895522], atol=1e-6)


def test_worked_example_of_two_instances_in_all_forms():
    """Single-parameter, softmax and projected gradients of the two rows (a1, d0), (a1, d1)."""
    gradient = log_likelihood_gradient(diamond(), {"A": ["a1", "a1"], "D": ["d0", "d1"]})
    np.testing.assert_allclose(gradient.single_parameter("D"), [1.79757, 0.567654], atol=1e-5)
    np.testing.assert_allclose(gradient.softmax("D"), [[-0.161781, 0.161781], [-0.090825, 0.090825]], atol=1e-6)
    np.testing.assert_allclose(gradient.projected("D"), [[-0.898785, 0.898785], [-0.283827, 0.283827]], atol=1e-6)
    other = log_likelihood_gradient(diamond(), {"A": ["a1", "a0"], "D": ["d0", "d1"]})
    assert other.single_parameter("D")[0] == pytest.approx(2.853741, abs=1e-6)


@settings(max_examples=25, deadline=None)
@given(st.integers(0, 2**32))
def test_entry_gradient_is_the_derivative_of_the_enumerated_likelihood_also_at_zeros(seed):
    """dℓ/dP(x|u) of each entry by itself, zeros, one-state variables and weights included; none is negative."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=int(rng.integers(1, 5)), zeros=0.3)
    rows = oracle.random_rows_of(network, rng, 6)
    weights = rng.gamma(1.0, size=6) * (rng.random(6) < 0.9)
    gradient = log_likelihood_gradient(network, oracle.frame_of(network, rows), weights)
    tables = oracle.own_tables(network)
    assert gradient.log_likelihood == pytest.approx(oracle.log_likelihood(network, tables, rows, weights), abs=1e-10)
    probabilities = oracle.row_probabilities(network, tables, rows)
    for name, table in tables.items():
        assert (gradient.entries[name] >= 0).all()
        for index in np.ndindex(table.shape):
            # P(o) is linear in an entry: a difference over a step of one is exact.
            rise = oracle.row_probabilities(network, oracle.changed(tables, name, index, 1.0), rows) - probabilities
            assert gradient.entries[name][index] == pytest.approx(weights @ (rise / probabilities), rel=1e-7, abs=1e-9)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_softmax_gradient_is_the_derivative_along_logits_and_projected_rows_sum_to_zero(seed):
    """dℓ/dλ by differences of the enumerated likelihood; both forms are tangent to the simplex."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=4, zeros=0.0)
    rows, weights = oracle.random_rows_of(network, rng, 5), np.ones(5)
    gradient = log_likelihood_gradient(network, oracle.frame_of(network, rows))
    tables = oracle.own_tables(network)
    for name, table in tables.items():
        np.testing.assert_allclose(gradient.projected(name).sum(axis=-1), 0, atol=1e-9)
        for index in np.ndindex(table.shape):

            def along(step, name=name, table=table, index=index):
                moved = table.copy()
                moved[index] *= np.exp(step)
                moved /= moved.sum(axis=-1, keepdims=True)
                return oracle.log_likelihood(network, {**tables, name: moved}, rows, weights)

            assert gradient.softmax(name)[index] == pytest.approx(oracle.slope(along, 1e-3), abs=1e-8)


def causes_and_effect(effect):
    """Two causes, an effect of some kind, and a symptom of it."""
    return BayesianNetwork(
        TableCPD("A", [0.6, 0.4]),
        TableCPD("B", [0.3, 0.5, 0.2]),
        effect,
        TableCPD("S", [[0.8, 0.2], [0.3, 0.7]], ["E"]),
    )


ROWS = np.array([[0, -1, 1, -1], [1, 2, -1, 0], [-1, -1, 0, 1], [-1, 0, -1, 1], [1, 1, 1, -1], [-1, -1, -1, 0]])
A, B, E = Variable("A", 2), Variable("B", 3), Variable("E", 2)


def noisy_or(leak=0.1, a=0.7, b=0.4):
    return NoisyOr(E, [A, B], [a, b], leak, active_states={"B": 2})


def logistic(intercept=-0.5, slope=1.2, first=0.0, second=0.6, third=-0.9):
    return LogisticCPD(E, [A, B], [slope, [first, second, third]], intercept)


def tree(first=0.2, second=0.9):
    split = Split("A", {0: [1 - first, first], 1: [1 - second, second]})
    return TreeCPD(E, split, [A, B])


def derivative(kind, argument, value):
    """dℓ/dargument of a kind of distribution, by differences of the enumerated likelihood."""

    def along(step):
        network = causes_and_effect(kind(**{argument: value + step}))
        return oracle.log_likelihood(network, oracle.own_tables(network), ROWS, np.ones(len(ROWS)))

    return oracle.slope(along, 1e-4)


def gradient_of(kind):
    network = causes_and_effect(kind())
    return log_likelihood_gradient(network, oracle.frame_of(network, ROWS)).parameters("E")


def test_chain_rule_of_a_noisy_or():
    """dℓ/dλ of leak and activations."""
    found = gradient_of(noisy_or)
    for argument, key, value in (("leak", "(leak)", 0.1), ("a", "A", 0.7), ("b", "B", 0.4)):
        assert found[key] == pytest.approx(derivative(noisy_or, argument, value), abs=1e-7)


def test_chain_rule_of_a_noisy_or_at_the_edge_needs_no_division():
    """With λ = 0 and λ = 1 the derivative is that from within."""
    network = causes_and_effect(noisy_or(leak=0.0, a=1.0))
    found = log_likelihood_gradient(network, oracle.frame_of(network, ROWS)).parameters("E")

    def inside(step, name):
        net = causes_and_effect(
            noisy_or(**({"leak": step, "a": 1.0} if name == "leak" else {"leak": 0.0, "a": 1 - step}))
        )
        return oracle.log_likelihood(net, oracle.own_tables(net), ROWS, np.ones(len(ROWS)))

    for name, key, sign in (("leak", "(leak)", 1), ("a", "A", -1)):
        h = 1e-6
        once = (-3 * inside(0.0, name) + 4 * inside(h, name) - inside(2 * h, name)) / (2 * h)
        assert found[key] == pytest.approx(sign * once, abs=1e-4)


def test_chain_rule_of_a_logistic_distribution():
    """dℓ/dw of the intercept, of a slope, and of the weights of states."""
    found = gradient_of(logistic)
    assert found["(intercept)"][0] == pytest.approx(derivative(logistic, "intercept", -0.5), abs=1e-8)
    assert found["A"][0] == pytest.approx(derivative(logistic, "slope", 1.2), abs=1e-8)
    for place, (argument, value) in enumerate((("first", 0.0), ("second", 0.6), ("third", -0.9))):
        assert found["B"][place, 0] == pytest.approx(derivative(logistic, argument, value), abs=1e-8)


def test_chain_rule_of_the_leaves_of_a_tree():
    """The derivative of P(x | leaf) with 1 - P for the other state: the difference of the leaf's two entries."""
    found = gradient_of(tree)["rows"]
    np.testing.assert_allclose(
        found[:, 1] - found[:, 0], [derivative(tree, "first", 0.2), derivative(tree, "second", 0.9)], atol=1e-7
    )


def test_gradient_of_a_shared_table_is_the_sum_of_its_users():
    """Moving one table that two variables have moves the likelihood by both gradients."""

    def chain(p):
        shared = [[1 - p, p], [0.3, 0.7]]
        return BayesianNetwork(TableCPD("X", [0.5, 0.5]), TableCPD("Y", shared, ["X"]), TableCPD("Z", shared, ["Y"]))

    rows = np.array([[0, -1, 1], [-1, 0, -1], [1, -1, -1], [-1, -1, 0]])
    shared = log_likelihood_gradient(chain(0.2), oracle.frame_of(chain(0.2), rows)).shared(["Y", "Z"])

    def along(step):
        return oracle.log_likelihood(chain(0.2), oracle.own_tables(chain(0.2 + step)), rows, np.ones(4))

    assert shared[0, 1] - shared[0, 0] == pytest.approx(oracle.slope(along), abs=1e-8)


def test_residual_vanishes_exactly_at_the_fixed_point_of_expectation_maximisation():
    """θ = M[x,u] / M[u] of complete data is one; elsewhere the residual is what EM would move, times M[u]."""
    rows = {"A": [0, 0, 1, 1], "B": [0, 1, 1, 1]}
    best = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5], [0.0, 1.0]], ["A"]))
    assert log_likelihood_gradient(best, rows).residual == pytest.approx(0, abs=1e-12)
    worse = best.with_cpd(TableCPD("A", [0.25, 0.75]))
    assert log_likelihood_gradient(worse, rows).residual == pytest.approx(1.0)


@settings(max_examples=15, deadline=None)
@given(st.integers(0, 2**32))
def test_a_small_projected_step_climbs_and_a_huge_one_stays_on_the_simplex(seed):
    """The step is cut where an entry meets zero; entries at zero do not block it."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=3, zeros=0.3)
    frame = oracle.frame_of(network, oracle.random_rows_of(network, rng, 8))
    gradient = log_likelihood_gradient(network, frame)
    climbed = observed_log_likelihood(gradient.after_projected_step(1e-7), frame)
    assert climbed >= gradient.log_likelihood - 1e-10
    for cpd in gradient.after_projected_step(1e9).cpds.values():
        assert (cpd.values >= 0).all()
        np.testing.assert_allclose(cpd.values.sum(axis=-1), 1)


def test_a_projected_step_moves_a_coin_by_half_the_difference_of_its_slopes():
    """dℓ/dθ of 3 heads and a tail at 1/2 is (6, 2), within Σ θ = 1 (2, -2); a step that is too long ends at (1, 0)."""
    coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("same", [[0.5, 0.5]] * 2, ["coin"]))
    gradient = log_likelihood_gradient(coin, {"coin": [0, 0, 0, 1]})
    for size, expected in ((0.0, [0.5, 0.5]), (0.1, [0.7, 0.3]), (9.0, [1.0, 0.0])):
        after = gradient.after_projected_step(size)
        assert list(after.variables) == ["coin", "same"]
        np.testing.assert_allclose(after.cpd("coin").values, expected, atol=1e-12)
        np.testing.assert_allclose(after.cpd("same").values, 0.5)


def test_tables_with_codes_and_weights_say_the_same_as_frames():
    """A weighted Table is read as such; a weight of zero drops even an impossible row."""
    network = BayesianNetwork(TableCPD("A", [1.0, 0.0]), TableCPD("B", [[0.4, 0.6], [0.5, 0.5]], ["A"]))
    table = Table.read({"A": [0, None, 1], "B": [1, 0, 1]}, network.variables, weights=[2, 3, 0])
    gradient = log_likelihood_gradient(network, table)
    assert gradient.log_likelihood == pytest.approx(2 * np.log(0.6) + 3 * np.log(0.4))
    np.testing.assert_allclose(gradient.expected_counts["A"], [5, 0])


def test_no_rows_have_no_gradient_and_an_empty_network_no_entries():
    """ℓ = 0 everywhere."""
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5]))
    gradient = log_likelihood_gradient(network, {"A": []})
    assert (gradient.log_likelihood, gradient.residual) == (0.0, 0.0)
    np.testing.assert_array_equal(gradient.entries["A"], [0, 0])
    assert log_likelihood_gradient(BayesianNetwork(), {}).log_likelihood == 0.0


def test_what_has_no_gradient_is_refused_by_name():
    """Impossible rows, numbers, wrong kinds and unknown names."""
    network = BayesianNetwork(TableCPD("A", [1.0, 0.0]))
    with pytest.raises(ImpossibleEvidence, match="Row 1"):
        log_likelihood_gradient(network, {"A": [0, 1]})
    with pytest.raises(UnknownVariable, match="'B'"):
        log_likelihood_gradient(network, {"A": [0]}).projected("B")
    with pytest.raises(InvalidArgument, match="two"):
        log_likelihood_gradient(BayesianNetwork(TableCPD("A", [0.2, 0.3, 0.5])), {"A": [0]}).single_parameter("A")
    with pytest.raises(NotSupported, match="set from outside"):
        log_likelihood_gradient(network, Table.read({"A": [0]}, network.variables, interventions={"A": [True]}))
    maximum = NoisyMax("E", [A], [[[1.0, 0.0], [0.4, 0.6]]], states=[0, 1])
    pair = BayesianNetwork(TableCPD(A, [0.5, 0.5]), maximum)
    with pytest.raises(NotSupported, match="to_table"):
        log_likelihood_gradient(pair, {"E": [0]}).parameters("E")
