"""The divergence of networks, family by family, against the joint tables."""

from __future__ import annotations

import itertools
import math

import numpy as np
import pytest

from network_oracle import binary, joint_of_bayesian_network, posterior, random_network, random_rows
from plausible.cpds import LinearGaussianCPD, NoisyOr, TableCPD
from plausible.errors import InvalidModel, NotSupported
from plausible.models import BayesianNetwork, kl_divergence_networks
from plausible.variables import Variable
from seeds import few_of


def _joint_divergence(p, q):
    """Σ P log P/Q over all assignments, each probability a product of table entries."""
    right = {frozenset(assignment.items()): y for assignment, y in joint_of_bayesian_network(q)}
    terms = []
    for assignment, x in joint_of_bayesian_network(p):
        y = right[frozenset(assignment.items())]
        if x > 0 and y == 0:
            return math.inf
        terms.append(x * math.log(x / y) if x > 0 else 0.0)
    return math.fsum(terms)


def _reparametrised(rng, net, zeros):
    """Another random graph and tables over the same variables."""
    variables = list(net.variables.values())
    rng.shuffle(variables)
    cpds = []
    for place, variable in enumerate(variables):
        parents = [other for other in variables[:place] if rng.random() < 0.4]
        cpds.append(TableCPD(variable, random_rows(rng, [v.num_states for v in (*parents, variable)], zeros), parents))
    return BayesianNetwork(cpds)


@pytest.mark.parametrize("zeros", [0.0, 0.15])
@pytest.mark.parametrize("seed", few_of(6, 20))
def test_divergence_equals_that_of_the_joints(seed, zeros):
    """D(P || Q) = Σ P log P/Q, infinite where the support fails."""
    rng = np.random.default_rng(seed)
    p = random_network(rng, num_variables=5, zeros=zeros)
    q = _reparametrised(rng, p, zeros)
    assert kl_divergence_networks(p, q) == pytest.approx(_joint_divergence(p, q), abs=1e-9)


@pytest.mark.parametrize("seed", range(10))
def test_a_small_change_costs_half_its_square(seed):
    """D(P || P + εδ) = ½ ε² Σ δ²/P + O(ε³): zero at P, and positive as soon as one leaves it."""
    rng = np.random.default_rng(seed)
    rows = random_rows(rng, (3, 4), zeros=0) + 0.1
    rows /= rows.sum(axis=-1, keepdims=True)
    change = rng.normal(size=(3, 4))
    change -= change.mean(axis=-1, keepdims=True)
    root = random_rows(rng, (3,), zeros=0)
    p, near = (
        BayesianNetwork(TableCPD("A", root), TableCPD("B", rows + epsilon * change, parents=["A"]))
        for epsilon in (0.0, 1e-4)
    )
    quadratic = 0.5e-8 * float(root @ (change**2 / rows).sum(axis=-1))
    assert kl_divergence_networks(p, near) == pytest.approx(quadratic, rel=0.02)
    assert kl_divergence_networks(p, p) == pytest.approx(0.0, abs=1e-14)


def test_support_decides_between_finite_and_infinite():
    """Q may allow more than P, but not less."""
    wide, narrow = (BayesianNetwork(binary("A", x)) for x in (0.5, 1.0))
    assert kl_divergence_networks(wide, narrow) == math.inf
    assert kl_divergence_networks(narrow, wide) == pytest.approx(math.log(2))


def test_a_long_chain_needs_no_joint():
    """A hundred variables: the divergence is the sum of its links'."""
    p, q = (
        BayesianNetwork(binary("X0", 0.5), *(binary(f"X{i}", [x, 1 - x], [f"X{i - 1}"]) for i in range(1, 100)))
        for x in (0.1, 0.2)
    )
    link = 0.1 * math.log(0.1 / 0.2) + 0.9 * math.log(0.9 / 0.8)
    assert kl_divergence_networks(p, q) == pytest.approx(99 * link)


def test_other_variables_and_inputs_are_refused():
    """The error names the variable."""
    with pytest.raises(InvalidModel, match="'A' is not the same variable"):
        kl_divergence_networks(BayesianNetwork(TableCPD("A", [0.5, 0.5])), BayesianNetwork(TableCPD("A", [1.0])))
    with pytest.raises(InvalidModel, match="'B' is not the same variable"):
        kl_divergence_networks(BayesianNetwork(), BayesianNetwork(TableCPD("B", [1.0])))
    with pytest.raises(InvalidModel, match="inputs"):
        kl_divergence_networks(BayesianNetwork(inputs=[Variable("A", 2)]), BayesianNetwork(TableCPD("A", [0.5, 0.5])))


@pytest.mark.parametrize("seed", range(10))
def test_removing_an_edge_costs_the_mutual_information_over_it(seed):
    """D(P || P without U -> X) = I(X; U | the other parents): no other tables lose less."""
    rng = np.random.default_rng(seed)
    p = random_network(rng, edge_probability=0.8, zeros=0)
    source, target = p.graph.edges[int(rng.integers(p.graph.num_edges))]
    others = [name for name in p.graph.parents(target) if name != source]
    joint = joint_of_bayesian_network(p)

    def entropy(names):
        table = posterior(joint, names, {})
        return -math.fsum(x * math.log(x) for x in table.values() if x > 0)

    information = entropy([*others, source]) + entropy([*others, target]) - entropy(others)
    information -= entropy([*others, source, target])
    assert kl_divergence_networks(p, p.without_edge(source, target)) == pytest.approx(information, abs=1e-10)


def _chain(keep, num_variables):
    links = (binary(f"X{i}", [1 - keep, keep], [f"X{i - 1}"]) for i in range(1, num_variables))
    return BayesianNetwork(binary("X0", 0.5), *links)


def test_families_inside_cliques_are_asked_for_at_once(monkeypatch):
    """One calibration answers for all links of a chain, whichever way they point: no query, so no quadratic cost."""

    def refused(*_):
        raise AssertionError("a query for a family that a clique holds")

    p, q = _chain(0.9, 300), _chain(0.8, 300)
    back = (binary(f"X{i}", [0.2, 0.8], [f"X{i + 1}"]) for i in range(299))
    reversed_q = BayesianNetwork(binary("X299", 0.5), *back)
    monkeypatch.setattr(BayesianNetwork, "query", refused)
    link = 0.1 * math.log(0.1 / 0.2) + 0.9 * math.log(0.9 / 0.8)
    assert kl_divergence_networks(p, q) == pytest.approx(299 * link)
    assert kl_divergence_networks(p, reversed_q) == pytest.approx(299 * link)


def test_a_family_in_no_clique_is_asked_for_by_itself():
    """Q joins the ends of a chain, which no clique of P holds together."""
    p = _chain(0.9, 6)
    end = p.cpd("X5")
    q = p.with_cpd(TableCPD("X5", [[0.75, 0.25], [0.25, 0.75]], parents=["X0"], states=end.variable.states))
    assert kl_divergence_networks(p, q) == pytest.approx(_joint_divergence(p, q))


def test_compact_families_are_no_cliques():
    """A noisy or of ten causes is compiled without its table; by hand, a sum over the 1024 states of the causes."""
    names = [f"C{i}" for i in range(10)]
    chances = [0.1 + 0.05 * i for i in range(10)]
    p, q = (
        BayesianNetwork(
            *(TableCPD(name, [1 - chance, chance]) for name, chance in zip(names, chances, strict=True)),
            NoisyOr("E", names, [strength] * 10, leak=0.1),
        )
        for strength in (0.3, 0.4)
    )
    expected = 0.0
    for causes in itertools.product((0, 1), repeat=10):
        weight = math.prod(c if on else 1 - c for on, c in zip(causes, chances, strict=True))
        off_p, off_q = (0.9 * (1 - strength) ** sum(causes) for strength in (0.3, 0.4))
        expected += weight * (off_p * math.log(off_p / off_q) + (1 - off_p) * math.log((1 - off_p) / (1 - off_q)))
    assert kl_divergence_networks(p, q) == pytest.approx(expected)


def test_a_continuous_variable_is_refused_by_name():
    """Only discrete networks have tables of families."""
    p = BayesianNetwork(LinearGaussianCPD("X", 1.0, variance=1.0))
    with pytest.raises(NotSupported, match="'X' is continuous"):
        kl_divergence_networks(p, p)


def test_no_variables_no_divergence():
    """The empty sum."""
    assert kl_divergence_networks(BayesianNetwork(), BayesianNetwork()) == 0.0
