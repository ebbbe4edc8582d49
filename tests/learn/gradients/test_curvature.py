"""Hessian, observed information and identifiability, against differences of an enumerated likelihood."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

import likelihood_oracle as oracle
from network_oracle import random_network
from plausible.cpds import NoisyOr, Split, TableCPD, TreeCPD
from plausible.errors import NotSupported, TooLarge
from plausible.learn.estimation.families import ParameterKnowledge
from plausible.learn.estimation.priors import Dirichlet
from plausible.learn.gradients import information
from plausible.learn.gradients.information import identifiability, log_likelihood_hessian, observed_information
from plausible.learn.gradients.learner import GradientOptions, learn_by_gradient
from plausible.models import BayesianNetwork
from plausible.variables import Variable


def test_worked_example_has_the_corrected_diagonal():
    """o = (a1, ?, ?, d0): -.340410 between d0|c0 and d0|c1, and -1.077966, not +.075647, for d0|c0 itself."""

    def table(name, second, parents=()):
        return TableCPD(name, np.stack([1 - np.array(second), np.array(second)], axis=-1), parents)

    network = BayesianNetwork(
        table("A", 0.3),
        table("B", 0.9),
        table("C", [[0.83, 0.09], [0.6, 0.2]], ["A", "B"]),
        table("D", [0.1, 0.8], ["C"]),
    )
    block = log_likelihood_hessian(network, {"A": [1], "D": [0]}).block("D", "D")
    assert block[0, 0, 1, 0] == pytest.approx(-0.340410, abs=1e-6)
    assert block[0, 0, 0, 0] == pytest.approx(-1.077966, abs=1e-6)


@settings(max_examples=12, deadline=None)
@given(st.integers(0, 2**32))
def test_hessian_is_the_second_derivative_of_the_enumerated_likelihood(seed):
    """P(o) is linear in each entry, so that differences over a step of one give its derivatives exactly."""
    rng = np.random.default_rng(seed)
    network = random_network(rng, num_variables=3, zeros=0.2)
    rows, weights = oracle.random_rows_of(network, rng, 5), rng.gamma(1.0, size=5) + 0.1
    hessian = log_likelihood_hessian(network, oracle.frame_of(network, rows), weights)
    tables = oracle.own_tables(network)

    def chances(*changes):
        moved = tables
        for name, index in changes:
            moved = oracle.changed(moved, name, index, 1.0)
        return oracle.row_probabilities(network, moved, rows)

    base = chances()
    cells = [(name, index) for name, table in tables.items() for index in np.ndindex(table.shape)]
    for one in cells[:6]:
        for two in cells:
            found = hessian.block(one[0], two[0])[(*one[1], *two[1])]
            if tables[one[0]][one[1]] == 0 or tables[two[0]][two[1]] == 0:
                assert np.isnan(found)
                continue
            first, second = chances(one) - base, chances(two) - base
            mixed = np.zeros(5) if one == two else chances(one, two) - chances(one) - chances(two) + base
            expected = weights @ (mixed / base - first * second / base**2)
            assert found == pytest.approx(expected, rel=1e-6, abs=1e-7)


def test_information_in_free_parameters_is_the_curvature_along_them_with_tied_tables_trees_and_a_prior():
    """-d²(ℓ + log prior)/dp² by differences, where p moves a shared row and a leaf."""
    a, b = Variable("A", 2), Variable("B", 2)

    def network(p, q):
        shared = [[p, 1 - p], [0.3, 0.7]]
        tree = TreeCPD(Variable("T", 2), Split("B", {0: [q, 1 - q], 1: [0.6, 0.4]}), [a, b])
        return BayesianNetwork(TableCPD("X", [0.4, 0.6]), TableCPD(a, shared, ["X"]), TableCPD(b, shared, [a]), tree)

    rows = np.array([[0, -1, 1, -1], [-1, 0, -1, 1], [1, -1, -1, 0], [-1, -1, 0, 0], [0, -1, -1, 1]])
    knowledge = ParameterKnowledge(tied=[["A", "B"]])
    found = observed_information(
        network(0.2, 0.9), oracle.frame_of(network(0.2, 0.9), rows), {"A": Dirichlet(3)}, knowledge=knowledge
    )
    assert "P(A=0 | X=0)" in found.labels
    assert "P(T=0 | B=0)" in found.labels
    assert len(found.labels) == 5

    def value(p, q):
        other = network(p, q)
        prior = 2 * (np.log(p) + np.log(1 - p))
        return oracle.log_likelihood(other, oracle.own_tables(other), rows, np.ones(5)) + prior

    places = [found.labels.index("P(A=0 | X=0)"), found.labels.index("P(T=0 | B=0)")]
    h = 1e-4
    second = [
        (value(0.2 + h, 0.9) - 2 * value(0.2, 0.9) + value(0.2 - h, 0.9)) / h**2,
        (value(0.2, 0.9 + h) - 2 * value(0.2, 0.9) + value(0.2, 0.9 - h)) / h**2,
    ]
    corners = [value(0.2 + i * h, 0.9 + j * h) * i * j for i in (-1, 1) for j in (-1, 1)]
    np.testing.assert_allclose(np.diag(found.matrix)[places], np.negative(second), rtol=1e-4)
    assert found.matrix[places[0], places[1]] == pytest.approx(-sum(corners) / (4 * h * h), abs=1e-4)


def test_standard_errors_of_complete_data_are_those_of_multinomials():
    """√(θ (1 - θ) / N_u); zero entries have none, rows without cases an infinite one."""
    rows = {"A": [0] * 30 + [1] * 10, "B": [0] * 20 + [1] * 10 + [1] * 10}
    network = BayesianNetwork(
        TableCPD("A", [0.75, 0.25, 0.0]), TableCPD("B", [[2 / 3, 1 / 3], [0.0, 1.0], [0.5, 0.5]], ["A"])
    )
    found = observed_information(network, rows)
    np.testing.assert_allclose(found.standard_errors["A"][:2], np.sqrt(0.75 * 0.25 / 40))
    assert np.isnan(found.standard_errors["A"][2])
    np.testing.assert_allclose(found.standard_errors["B"][0], np.sqrt(2 / 9 / 30))
    assert np.isinf(found.standard_errors["B"][2]).all()
    assert (found.rank, len(found.labels), found.is_maximum) == (2, 3, True)


def test_standard_errors_of_hidden_data_agree_with_the_inverse_of_the_differenced_curvature():
    """A hidden cause of three effects is identified: all errors are finite, and larger than with the cause seen."""
    rng = np.random.default_rng(6)
    cause = rng.random(2000) < 0.4
    chances = {"X": (0.9, 0.2), "Y": (0.8, 0.1), "Z": (0.2, 0.7)}
    rows = {n: (rng.random(2000) < np.where(cause, on, off)).astype(int).tolist() for n, (on, off) in chances.items()}
    start = BayesianNetwork(
        TableCPD("H", [0.6, 0.4]),
        *(TableCPD(n, [[1 - off, off], [1 - on, on]], ["H"]) for n, (on, off) in chances.items()),
    )
    fit = learn_by_gradient(start, rows, options=GradientOptions(tolerance=1e-9))
    hidden = observed_information(fit.network, rows)
    assert (hidden.rank, hidden.is_maximum) == (7, True)
    np.testing.assert_allclose(hidden.covariance @ hidden.matrix, np.eye(7), atol=1e-8)
    seen = observed_information(fit.network, {**rows, "H": cause.astype(int).tolist()})
    assert hidden.standard_errors["X"][0, 0] > seen.standard_errors["X"][0, 0]


def test_a_point_that_is_no_maximum_has_no_standard_errors():
    """A hidden variable whose states are alike, with correlated effects: a saddle."""
    network = BayesianNetwork(
        TableCPD("H", [0.5, 0.5]), *(TableCPD(name, [[0.5, 0.5], [0.5, 0.5]], ["H"]) for name in "XYZ")
    )
    rows = {name: [0, 0, 0, 1, 1, 1] for name in "XYZ"}
    found = observed_information(network, rows)
    assert not found.is_maximum
    assert np.isnan(found.standard_errors["X"]).all()


@pytest.mark.parametrize(
    ("num_effects", "states", "dimension"), [(1, 2, 1), (2, 2, 3), (3, 2, 7), (4, 2, 9), (3, 3, 11)]
)
def test_effective_dimension_of_latent_classes(num_effects, states, dimension):
    """Two effects of a hidden binary cause have 5 parameters but 3 dimensions; three have 7 of 7; four 9 of 9.

    With three states of the hidden cause of three binary effects, 11 parameters meet a joint of 7 dimensions.
    """
    rng = np.random.default_rng(7)
    names = [f"X{i}" for i in range(num_effects)]
    network = BayesianNetwork(
        TableCPD("H", rng.dirichlet(np.ones(states) * 3)),
        *(TableCPD(name, rng.dirichlet(np.ones(2) * 2, states), ["H"]) for name in names),
    )
    cells = list(np.ndindex(*[2] * num_effects))
    found = identifiability(network, {name: [cell[i] for cell in cells] for i, name in enumerate(names)})
    assert found.effective_dimension == min(dimension, 2**num_effects - 1)
    assert len(found.flat_directions) == len(found.labels) - found.effective_dimension
    assert found.is_identified == (not found.flat_directions)


def test_flat_directions_leave_the_likelihood_as_it_is_and_are_named():
    """Moving along a flat direction changes log P(o) in second order only; an unseen row is flat by itself."""
    network = BayesianNetwork(
        TableCPD("C", [0.4, 0.6]), TableCPD("T", [[0.9, 0.1], [0.2, 0.8]], ["C"]), TableCPD("Z", [0.5, 0.5])
    )
    found = identifiability(network, {"T": [0, 1], "Z": [None, None]})
    assert "P(Z=0)" in found.unidentified
    assert {"P(Z=0)": 1.0} in [dict(direction) for direction in found.flat_directions]
    assert "flat directions" in str(found)
    rows = np.array([[-1, 0, -1], [-1, 1, -1]])
    for direction in found.flat_directions:

        def along(step, direction=direction):
            c = 0.4 + step * direction.get("P(C=0)", 0.0)
            first = 0.9 + step * direction.get("P(T=0 | C=0)", 0.0)
            second = 0.2 + step * direction.get("P(T=0 | C=1)", 0.0)
            tables = {
                "C": np.array([c, 1 - c]),
                "T": np.array([[first, 1 - first], [second, 1 - second]]),
                "Z": np.array([0.5, 0.5]),
            }
            return oracle.log_likelihood(network, tables, rows, np.ones(2))

        assert oracle.slope(along) == pytest.approx(0, abs=1e-8)


@given(st.integers(0, 2**32 - 1), st.integers(1, 4), st.integers(0, 5), st.booleans())
@settings(max_examples=60, deadline=None)
def test_a_flat_space_has_one_reduced_basis_whatever_factorisation_gave_it(seed, size, more, has_ties):
    """Mixed by a random rotation, with noise in the last digits, columns of equal weight among them."""
    rng = np.random.default_rng(seed)
    space = rng.normal(size=(size, size + more))
    if has_ties:  # every column twice, up to its sign: names must decide
        space = np.hstack([space, space * rng.choice([-1, 1], size + more)])
    rotation = np.linalg.qr(rng.normal(size=(size, size)))[0]
    mixed = rotation @ np.linalg.qr(space.T)[0].T
    mixed = mixed * (1 + 1e-14 * rng.uniform(-1, 1, mixed.shape))
    reduced, again = information._reduced(space), information._reduced(mixed)
    assert again == pytest.approx(reduced, abs=1e-9 * np.abs(reduced).max())
    assert np.linalg.matrix_rank(np.vstack([space, reduced]), tol=1e-9) == size
    own = [
        int(np.flatnonzero(np.isclose(row, 1.0) & np.isclose(np.abs(reduced).sum(axis=0), 1.0))[0]) for row in reduced
    ]
    assert len(set(own)) == size


def test_flat_directions_do_not_hang_on_the_singular_vectors(monkeypatch):
    """A hidden cause of one test leaves a plane open, of which any rotation is as good a basis to a factorisation."""
    net = BayesianNetwork(TableCPD("C", [0.4, 0.6]), TableCPD("T", [[0.9, 0.1], [0.2, 0.8]], ["C"]))
    first = identifiability(net, {"T": [0, 1]})
    exact = np.linalg.svd

    def turned(scores):
        left, values, right = exact(scores)
        rotation = np.linalg.qr(np.random.default_rng(0).normal(size=(2, 2)))[0]
        return left, values, np.vstack([-right[:1], rotation @ right[1:]])

    monkeypatch.setattr(np.linalg, "svd", turned)
    assert str(identifiability(net, {"T": [0, 1]})) == str(first)
    # the slopes of P(T=0) are 0.7, 0.4 and 0.6
    assert first.flat_directions[0] == pytest.approx({"P(C=0)": -4 / 7, "P(T=0 | C=0)": 1.0})
    assert first.flat_directions[1] == pytest.approx({"P(C=0)": -6 / 7, "P(T=0 | C=1)": 1.0})


def test_curvature_that_costs_too_much_or_is_not_of_tables_is_refused(monkeypatch):
    """With what to do instead."""
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5]))
    monkeypatch.setattr(information, "_MOST_RUNS", 3)
    with pytest.raises(TooLarge, match="knowledge="):
        log_likelihood_hessian(network, {"A": [0, 1]})
    noisy = NoisyOr("E", [Variable("A", 2)], [0.5], 0.1)
    with pytest.raises(NotSupported, match="to_table"):
        identifiability(BayesianNetwork(TableCPD("A", [0.5, 0.5]), noisy), {"A": [0]})


def test_no_rows_tell_nothing_and_no_parameters_need_nothing():
    """Rank zero: all flat, or nothing to be flat."""
    network = BayesianNetwork(TableCPD("A", [0.5, 0.5]))
    assert identifiability(network, {"A": []}).unidentified == ("P(A=0)",)
    fixed = identifiability(network, {"A": [0]}, knowledge=ParameterKnowledge(fixed=[network.cpd("A")]))
    assert (fixed.labels, fixed.is_identified, fixed.effective_dimension) == ((), True, 0)
    assert observed_information(network, {"A": []}).rank == 0
