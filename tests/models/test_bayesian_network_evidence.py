"""Kinds of evidence, interventions and inputs, against plain enumeration."""

from __future__ import annotations

import math

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    assert_factor_equals,
    assignments,
    burglary_network,
    joint_of_bayesian_network,
    posterior,
    random_network,
    total,
)
from plausible.cpds import (
    TableCPD,
)
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidEvidence, InvalidModel, NotSupported
from plausible.models import BayesianNetwork
from plausible.variables import Variable, jeffrey, likelihood

# --- kinds of evidence ---


@pytest.mark.parametrize("seed", range(15))
def test_one_of_several_states_is_the_sum_over_them(seed):
    """P(T, X in S) = Σ over S."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, max_states=4, zeros=0)
    joint = joint_of_bayesian_network(net)
    name = next((n for n, v in net.variables.items() if v.num_states > 2), None)
    if name is None:
        return
    allowed = {0, 2}
    kept = [(assignment, p) for assignment, p in joint if assignment[name] in allowed]
    target = next(n for n in net.variables if n != name)
    assert_factor_equals(net.query([target, name], {name: allowed}), posterior(kept, [target, name], {}))
    assert net.log_probability({name: allowed}) == pytest.approx(math.log(math.fsum(p for _, p in kept)))


@pytest.mark.parametrize("seed", range(15))
def test_likelihood_multiplies_the_belief(seed):
    """P(T | virtual evidence on X) ∝ Σ λ(x) P(T, x), and its scale does not matter."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0)
    joint = joint_of_bayesian_network(net)
    name, target = list(net.variables)[:2]
    weights = rng.random(net.variables[name].num_states) + 0.1
    weighted = [(a, p * weights[a[name]]) for a, p in joint]
    for scale in (1.0, 1e-3):
        assert_factor_equals(net.query(target, {name: likelihood(weights * scale)}), posterior(weighted, [target], {}))


@pytest.mark.parametrize("seed", range(7))
def test_jeffrey_replaces_the_belief_and_keeps_what_follows(seed):
    """P'(T) = Σ q(x) P(T | x, e); the marginal of X is exactly q."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0, max_states=3)
    joint = joint_of_bayesian_network(net)
    names = list(net.variables)
    name, observed, target = (names[i] for i in rng.permutation(len(names))[:3])
    wanted = rng.dirichlet(np.ones(net.variables[name].num_states))
    evidence = {observed: 0}
    findings = {**evidence, name: jeffrey(wanted)}
    expected = {}
    for state, weight in zip(net.variables[name].states, wanted, strict=True):
        for key, p in posterior(joint, [target], {**evidence, name: state}).items():
            expected[key] = expected.get(key, 0.0) + weight * p
    assert_factor_equals(net.query(target, findings), expected)
    assert net.query(name, findings).values == pytest.approx(wanted)
    both = net.query([target, name], findings)
    assert both.marginal(target).is_close(net.query(target, findings))


def test_jeffrey_and_likelihood_are_not_the_same():
    """The prior enters one of them only."""
    net = burglary_network()
    assert net.query("B", {"B": jeffrey([0.5, 0.5])})[True] == pytest.approx(0.5)
    assert net.query("B", {"B": likelihood([0.5, 0.5])})[True] == pytest.approx(0.001)


def test_jeffrey_is_refused_where_it_means_nothing():
    """As an event, on a state that is ruled out, and on beliefs that can't hold together."""
    net = asia_network()
    copies = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[1, 0], [0, 1]], parents=["A"]))
    with pytest.raises(InvalidEvidence, match="can't be met"):
        copies.query("A", {"A": jeffrey([0.9, 0.1]), "B": jeffrey([0.5, 0.5])})
    with pytest.raises(NotSupported, match="has no probability"):
        net.log_probability({"S": jeffrey([0.5, 0.5])})
    with pytest.raises(ImpossibleEvidence, match="A=False"):
        net.query("L", {"T": True, "A": jeffrey([0.5, 0.5])})


@pytest.mark.parametrize("seed", range(5))
def test_several_jeffrey_findings_are_met_at_the_least_relative_entropy(seed):
    """The joint scaled in turn by its wanted marginals until all hold: whatever the order of the findings."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0)
    names = list(net.variables)
    first, second, target = (names[i] for i in rng.permutation(len(names))[:3])
    wanted = {name: rng.dirichlet(np.ones(net.variables[name].num_states)) for name in (first, second)}
    joint = net.joint().values.copy()
    for _ in range(2000):
        for name, belief in wanted.items():
            axis = names.index(name)
            others = tuple(k for k in range(joint.ndim) if k != axis)
            joint *= (belief / joint.sum(axis=others)).reshape([-1 if k == axis else 1 for k in range(joint.ndim)])
    others = tuple(k for k in range(joint.ndim) if k != names.index(target))
    for order in ((first, second), (second, first)):
        evidence = {name: jeffrey(wanted[name]) for name in order}
        np.testing.assert_allclose(net.query(target, evidence).values, joint.sum(axis=others), atol=1e-9)
        np.testing.assert_allclose(net.marginals(evidence)[target].values, joint.sum(axis=others), atol=1e-9)
        np.testing.assert_allclose(net.query(first, evidence).values, wanted[first], atol=1e-9)


# --- interventions ---


@pytest.mark.parametrize("seed", range(15))
def test_intervention_is_the_truncated_product(seed):
    """P(x | do(z)) = Π over variables that are not set, where z agrees."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, zeros=0)
    names = list(net.variables)
    target, acted, seen = (names[i] for i in rng.permutation(len(names))[:3])
    do = {acted: net.variables[acted].states[-1]}
    truncated = []
    for assignment in assignments(net.variables):
        p = float(assignment[acted] == do[acted])
        for name, cpd in net.cpds.items():
            if name != acted:
                p *= float(cpd.values[tuple(assignment[v.name] for v in cpd.scope)])
        truncated.append((assignment, p))
    evidence = {seen: 0}
    assert_factor_equals(net.query(target, evidence, do=do), posterior(truncated, [target], evidence))
    assert net.log_probability(evidence, do=do) == pytest.approx(math.log(total(truncated, evidence)))
    assert net.intervene(do).graph == net.graph.without_incoming(acted)


def test_to_do_is_to_see_for_a_parentless_variable():
    """P(Y | do(x)) = P(Y | x)."""
    net = asia_network()
    assert net.query("D", do={"S": True}).is_close(net.query("D", evidence={"S": True}))


# --- conditional networks ---


def _conditional():
    rain = Variable("rain", ["no", "yes"])
    return BayesianNetwork(
        TableCPD("wet", {"no": [0.9, 0.1], "yes": [0.2, 0.8]}, parents=["rain"]),
        TableCPD("slip", [[0.99, 0.01], [0.7, 0.3]], parents=["wet"]),
        inputs=[rain],
    )


def test_inputs_are_conditions():
    """P(rest | inputs): the inputs are given as evidence and have no probability themselves."""
    net = _conditional()
    assert net.inputs == ("rain",)
    assert list(net.variables) == ["rain", "wet", "slip"]
    assert net.query("slip", {"rain": "yes"})[1] == pytest.approx(0.2 * 0.01 + 0.8 * 0.3)
    assert net.query(["rain", "wet"], {"rain": "yes"}).values == pytest.approx(np.array([[0, 0], [0.2, 0.8]]))
    assert math.exp(net.log_probability({"rain": "yes", "wet": 1})) == pytest.approx(0.8)
    assert net.log_probability({"rain": "yes"}) == 0
    assert net.num_joint_parameters == 8 - 2
    np.testing.assert_allclose(net.joint().marginalize(["wet", "slip"]).values, [1, 1])
    rows = {"rain": ["yes", "no"], "wet": [1, 0], "slip": [1, 0]}
    assert np.exp(net.log_likelihood(rows)) == pytest.approx([0.8 * 0.3, 0.9 * 0.99])


def test_an_input_that_matters_must_be_observed():
    """It is never summed out in silence."""
    net = _conditional()
    for ask in (lambda: net.query("slip"), lambda: net.query("rain"), lambda: net.log_probability({"slip": 1})):
        with pytest.raises(InvalidModel, match="'rain' is an input"):
            ask()
    with pytest.raises(InvalidModel, match="'rain' is an input"):
        net.query("slip", {"rain": likelihood([0.5, 0.5])})
    with pytest.raises(InvalidModel, match="it has no CPD"):
        net.cpd("rain")
    assert net.query("slip", {"wet": 1, "rain": "no"})[1] == pytest.approx(0.3)


def test_what_contradicts_itself_at_the_ends_of_a_long_chain_is_impossible():
    """Each of 20 variables copies the one before it; targets in a set come in the order of the network."""
    copies = (TableCPD(f"X{i}", np.eye(2), [f"X{i - 1}"]) for i in range(1, 20))
    chain = BayesianNetwork(TableCPD("X0", [0.5, 0.5]), *copies)
    with pytest.raises(ImpossibleEvidence, match="X0=0, X19=1 has probability zero together"):
        chain.query("X10", {"X0": 0, "X19": 1})
    answer = chain.query({"X3", "X1", "X2"}, {"X0": 1})
    assert answer.names == ("X1", "X2", "X3")
    assert answer[1, 1, 1] == 1.0


def test_impossible_evidence_keeps_the_inputs():
    """The contradiction is looked for among the findings, for these inputs."""
    net = BayesianNetwork(TableCPD("X", [[1.0, 0.0], [0.0, 1.0]], parents=["U"]), inputs=[Variable("U", 2)])
    with pytest.raises(ImpossibleEvidence, match=r"^The evidence X=1 has probability zero\.$"):
        net.query("X", {"U": 0, "X": 1})


def test_evidence_against_an_intervention_says_so():
    """The message names the do, not a contradiction of findings."""
    net = BayesianNetwork(TableCPD("A", [0.5, 0.5]), TableCPD("B", [[0.5, 0.5], [0.1, 0.9]], parents=["A"]))
    with pytest.raises(ImpossibleEvidence, match=r"B=1 contradicts do=\{'B': 0\}"):
        net.query("A", evidence={"B": 1}, do={"B": 0})
    assert net.log_probability({"B": 1}, do={"B": 0}) == -math.inf


def test_targets_are_names_each_once():
    """A repeated name, or a Variable in place of its name, is an error that says so."""
    net = BayesianNetwork(TableCPD("A", [0.5, 0.5]))
    with pytest.raises(InvalidArgument, match="'A' stands twice"):
        net.query(["A", "A"])
    with pytest.raises(InvalidArgument, match="the name of a variable"):
        net.query(net.variables["A"])
