"""Ising models, Boltzmann machines and metric networks."""

from __future__ import annotations

import math
from itertools import product

import numpy as np
import pytest
from scipy.special import logsumexp

from plausible.errors import InvalidArgument
from plausible.graphs import UndirectedGraph
from plausible.models import boltzmann_machine, grid, ising, metric_network


def test_grid_has_the_edges_of_a_grid():
    """r (c - 1) + (r - 1) c edges, at most four at a node; one row is a chain."""
    graph = grid(3, 4)
    assert len(graph) == 12
    assert graph.num_edges == 3 * 3 + 2 * 4
    assert sorted(graph.degree(node) for node in graph.nodes) == [2] * 4 + [3] * 6 + [4] * 2
    assert grid(1, 3) == UndirectedGraph("0_0 - 0_1 - 0_2")
    assert len(grid(1, 1)) == 1
    with pytest.raises(ValueError, match="at least one row"):
        grid(0, 3)


def test_two_spins():
    """w = -1: agreement .440399 each, disagreement .059601 each, Z = 6.172323; w = +1 swaps them."""
    agree = ising("a - b", coupling=-1.0)
    joint = agree.joint()
    assert joint[1, 1] == joint[-1, -1] == pytest.approx(0.440399, abs=1e-6)
    assert joint[1, -1] == joint[-1, 1] == pytest.approx(0.059601, abs=1e-6)
    assert math.exp(agree.log_partition()) == pytest.approx(6.172323, abs=1e-6)
    assert ising("a - b", coupling=1.0).joint()[1, -1] == pytest.approx(0.440399, abs=1e-6)


def test_ising_energy_is_the_sum_over_edges_and_spins():
    """E = Σ w_ij x_i x_j + Σ u_i x_i on a 2 x 2 grid with its own numbers on each edge and spin."""
    coupling = {("0_0", "0_1"): -0.5, ("1_0", "0_0"): 0.25, ("0_1", "1_1"): 1.0, ("1_0", "1_1"): -2.0}
    field = {"0_0": 0.3, "1_1": -0.7}
    net = ising((2, 2), coupling, field)
    for states in product((-1, 1), repeat=4):
        x = dict(zip(net.variables, states, strict=True))
        energy = sum(w * x[a] * x[b] for (a, b), w in coupling.items()) + sum(u * x[n] for n, u in field.items())
        assert net.energy(x) == pytest.approx(energy)


@pytest.mark.parametrize(("coupling", "message"), [({("a", "c"): 1.0}, "not an edge"), ({}, r"the edge \('a', 'b'\)")])
def test_numbers_must_fit_the_edges(coupling, message):
    """Every edge has one, and nothing else."""
    with pytest.raises(ValueError, match=message):
        ising("a - b; c", coupling)
    with pytest.raises(KeyError, match="'d' is not a variable"):
        ising("a - b", 1.0, field={"d": 1.0})


def test_nodes_must_be_text():
    """A number can't name a variable."""
    with pytest.raises(ValueError, match="nodes must be text"):
        ising(UndirectedGraph([(1, 2)]), 1.0)


def test_boltzmann_unit_is_a_sigmoid_of_its_neighbours():
    """P(x_i = 1 | rest) = σ(Σ w x + b); with energies, the negated weights, σ(-Σ w x - u)."""
    weights = {("a", "b"): 1.5, ("b", "c"): -0.5, ("a", "c"): 0.25}
    biases = {"a": 0.2, "b": -1.0}
    net = boltzmann_machine("a - b - c - a", weights, biases)
    negated = boltzmann_machine(
        "a - b - c - a", {e: -w for e, w in weights.items()}, {n: -b for n, b in biases.items()}
    )
    for a, c in product((0, 1), repeat=2):
        z = 1.5 * a - 0.5 * c - 1.0
        assert net.query("b", {"a": a, "c": c})[1] == pytest.approx(1 / (1 + math.exp(-z)))
        assert negated.query("b", {"a": a, "c": c})[1] == pytest.approx(1 / (1 + math.exp(z)))


def test_boltzmann_machine_is_an_ising_model():
    """x = (1 + s) / 2 turns one into the other: s couples with -w/4, the field is -b/2 - Σ w/4."""
    weights = {("a", "b"): 1.0, ("b", "c"): -2.0}
    biases = {"a": 0.5, "b": 0.1, "c": -0.3}
    field = {n: -b / 2 - sum(w for e, w in weights.items() if n in e) / 4 for n, b in biases.items()}
    machine = boltzmann_machine("a - b - c", weights, biases)
    spins = ising("a - b - c", {e: -w / 4 for e, w in weights.items()}, field)
    np.testing.assert_allclose(machine.joint().values, spins.joint().values)


def test_metric_network_energy():
    """E = Σ ε_i + Σ w d, and truncation bounds what two neighbours pay."""
    preferences = {"a": [0.0, 1.0, 2.0], "c": [0.5, 0.0, 0.25]}
    net = metric_network("a - b - c", [0, 1, 2], preferences, weight=2.0, truncation=1.5)
    for a, b, c in product(range(3), repeat=3):
        energy = preferences["a"][a] + preferences["c"][c] + 2 * min(abs(a - b), 1.5) + 2 * min(abs(b - c), 1.5)
        assert net.energy({"a": a, "b": b, "c": c}) == pytest.approx(energy)


def test_metric_of_labels():
    """By a function of labels or by a table."""
    potts = metric_network("a - b", ["sky", "sea", "land"], {}, metric=lambda x, y: float(x != y))
    table = metric_network("a - b", ["sky", "sea", "land"], {}, metric=1 - np.eye(3))
    assert potts == table
    assert potts.energy({"a": "sky", "b": "land"}) == pytest.approx(1.0)


@pytest.mark.parametrize(
    "metric", [[[0, 1], [2, 0]], [[0, -1], [-1, 0]], [[1, 1], [1, 0]], [[0, math.nan], [math.nan, 0]]]
)
def test_what_is_no_distance_is_refused(metric):
    """Asymmetric, negative, not zero on the diagonal, no number."""
    with pytest.raises(ValueError, match="a distance is not negative"):
        metric_network("a - b", ["x", "y"], {}, metric=metric)
    with pytest.raises(ValueError, match="square table"):
        metric_network("a - b", ["x", "y"], {}, metric=[[0.0]])


def test_denoising_smooths_a_lonely_pixel():
    """A 3 x 3 image with one wrong pixel: neighbours outvote it, by truncated linear energies."""
    image = np.array([[3, 3, 3], [3, 0, 3], [3, 3, 3]])
    labels = range(4)
    data = {f"{r}_{c}": [min(abs(label - image[r, c]), 2.0) for label in labels] for r in range(3) for c in range(3)}
    net = metric_network((3, 3), labels, data, weight=1.0, truncation=2.0)
    assert net.query("1_1").argmax()["1_1"] == 3
    assert net.energy(dict.fromkeys(net.variables, 3)) == pytest.approx(2.0)


def _assert_is_gibbs(net, energy):
    """Energies, log Z, every marginal and the most probable state, against log-sum-exp over all assignments."""
    rows = list(product(*(variable.states for variable in net.variables.values())))
    energies = np.array([energy(*row) for row in rows])
    log_partition = logsumexp(-energies)
    probabilities = np.exp(-energies - log_partition)
    for row, expected in zip(rows, energies, strict=True):
        assert net.energy(dict(zip(net.variables, row, strict=True))) == pytest.approx(expected, rel=1e-12, abs=1e-9)
    assert net.log_partition() == pytest.approx(log_partition, rel=1e-12)
    assert net.joint().flat == pytest.approx(probabilities, abs=1e-9)
    marginals = net.marginals()
    for place, (name, variable) in enumerate(net.variables.items()):
        column = [
            sum(p for row, p in zip(rows, probabilities, strict=True) if row[place] == s) for s in variable.states
        ]
        assert net.query(name).flat == pytest.approx(column, abs=1e-9)
        assert marginals[name].flat == pytest.approx(column, abs=1e-9)


@pytest.mark.parametrize("offset", [0.0, 1000.0, -1000.0, 1e5])
def test_energies_may_be_large(offset):
    """exp(-1000) is no float, but only differences of energies matter to the distribution, and log Z is a number."""
    own = {"a": [offset, offset + 1.0], "b": [0.5, 0.0]}
    net = metric_network("a - b", [0, 1], own)
    _assert_is_gibbs(net, lambda a, b: own["a"][a] + own["b"][b] + abs(a - b))


@pytest.mark.parametrize("coupling", [-800.0, 800.0, 3000.0])
@pytest.mark.parametrize("graph", ["a - b", "a - b - c - a", "a - b; b - c"])
def test_couplings_may_be_large(graph, coupling):
    """No state is ruled out by rounding: in a frustrated triangle every assignment pays exp(-800) somewhere."""
    pairs = [("abc".index(a), "abc".index(b)) for a, b in UndirectedGraph(graph).edges]
    net = ising(graph, coupling, field={"a": -0.5})
    _assert_is_gibbs(net, lambda *x: sum(coupling * x[i] * x[j] for i, j in pairs) - 0.5 * x[0])


def test_an_infinite_energy_rules_out_and_limits_are_told():
    """inf is zero probability; minus infinity, nan and energies beyond all measure are refused."""
    net = metric_network("a", [0, 1], {"a": [0.0, math.inf]})
    assert net.query("a").values.tolist() == [1.0, 0.0]
    for energy, message in ((-math.inf, "-inf at"), (math.nan, "not a number"), (1e9, "Subtract a constant")):
        with pytest.raises(ValueError, match=message):
            metric_network("a", [0, 1], {"a": [0.0, energy]})


@pytest.mark.parametrize("truncation", [-1.0, math.nan])
def test_truncation_is_not_negative(truncation):
    """Neighbours would be paid for being apart."""
    with pytest.raises(InvalidArgument, match="truncation"):
        metric_network("a - b", [0, 1], {}, truncation=truncation)
