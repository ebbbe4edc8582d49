"""Bayesian networks against plain enumeration of the joint."""

from __future__ import annotations

import math
import pickle
from itertools import combinations

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    assert_factor_equals,
    binary,
    burglary_network,
    joint_of_bayesian_network,
    posterior,
    random_evidence,
    random_network,
    total,
)
from plausible.cpds import (
    TableCPD,
)
from plausible.errors import ImpossibleEvidence, UnknownState, UnknownVariable
from plausible.graphs import DAG
from plausible.models import BayesianNetwork, Notes, VariableNotes
from plausible.variables import likelihood
from seeds import few_of

SEEDS = few_of(8, 40)


# --- building ---


def test_variables_keep_the_order_in_which_cpds_come():
    """Nothing is reordered, and a child may come before its parents."""
    net = BayesianNetwork(TableCPD("B", [[0.5, 0.5], [0.1, 0.9]], parents=["A"]), TableCPD("A", [0.5, 0.5]))
    assert list(net.variables) == ["B", "A"]
    assert net.graph == DAG("A -> B")
    assert len(net) == 2
    assert "A" in net
    assert "C" not in net


def test_cpds_can_come_in_one_list():
    """A list of CPDs will do."""
    assert BayesianNetwork([TableCPD("A", [1.0])]) == BayesianNetwork(TableCPD("A", [1.0]))


def test_a_network_without_variables_is_the_constant_one():
    """The empty product."""
    net = BayesianNetwork()
    assert net.joint().sum() == 1
    assert net.num_parameters == net.num_joint_parameters == 0
    assert net.log_probability({}) == 0


@pytest.mark.parametrize(
    ("cpds", "message"),
    [
        ([TableCPD("A", [0.5, 0.5]), TableCPD("A", [0.5, 0.5])], "'A' has two distributions"),
        ([TableCPD("A", [[1.0]], parents=["B"]), TableCPD("B", [[1.0]], parents=["A"])], "directed cycle: "),
        (
            [TableCPD("A", [[1.0]], parents=["Bee"]), TableCPD("Bea", [1.0])],
            "'Bee' is not a variable.*Did you mean 'Bea'",
        ),
        (["A"], "made of CPDs, not of 'A'"),
    ],
)
def test_parts_that_make_no_network_are_refused(cpds, message):
    """The error names the variable."""
    with pytest.raises(Exception, match=message):
        BayesianNetwork(cpds)


def test_unknown_names_get_suggestions():
    """As a target, in evidence, in do, and as a state."""
    net = burglary_network().renamed({"A": "Alarm"})
    for ask in (
        lambda: net.query("Alrm"),
        lambda: net.query("J", evidence={"Alrm": True}),
        lambda: net.query("J", do={"Alrm": True}),
        lambda: net.cpd("Alrm"),
    ):
        with pytest.raises(UnknownVariable, match="Did you mean 'Alarm'"):
            ask()
    with pytest.raises(UnknownState, match="'maybe' is not a state of 'J'"):
        net.query("Alarm", evidence={"J": "maybe"})


def test_networks_survive_pickling():
    """Notes and all."""
    notes = Notes("n", properties={"a": "b"}, variables={"B": VariableNotes("label", properties={"c": "d"})})
    net = burglary_network().with_notes(notes)
    again = pickle.loads(pickle.dumps(net))
    assert again == net
    assert again.notes == notes
    assert again.query("B").is_close(net.query("B"))


# --- the joint ---


@pytest.mark.parametrize("seed", SEEDS)
def test_joint_is_the_product_of_the_tables_and_sums_to_one(seed):
    """P(x) = Π P(x_i | u_i)."""
    net = random_network(np.random.default_rng(seed))
    joint = net.joint()
    assert joint.names == tuple(net.variables)
    assert joint.sum() == pytest.approx(1.0)
    for assignment, probability in joint_of_bayesian_network(net):
        assert joint[assignment] == pytest.approx(probability, abs=1e-14)


def test_joint_too_large_is_refused_before_it_is_built():
    """A hundred binary variables are too many for a table."""
    net = BayesianNetwork(binary(f"X{i}", 0.5) for i in range(100))
    with pytest.raises(Exception, match="The joint distribution over 100 variables"):
        net.joint()
    assert net.num_joint_parameters == 2**100 - 1


@pytest.mark.parametrize("seed", SEEDS)
def test_log_probability_of_complete_rows_is_a_sum_of_look_ups(seed):
    """One by one and as a table of rows."""
    net = random_network(np.random.default_rng(seed), num_variables=4)
    joint = joint_of_bayesian_network(net)
    columns = {name: [row[name] for row, _ in joint] for name in net.variables}
    with np.errstate(divide="ignore"):
        expected = np.log([probability for _, probability in joint])
    np.testing.assert_allclose(net.log_likelihood(columns), expected, atol=1e-12)
    for (row, _), value in zip(joint, expected, strict=True):
        assert net.log_probability(row) == pytest.approx(value)


# --- queries ---


@pytest.mark.parametrize("seed", SEEDS)
def test_query_equals_enumeration(seed):
    """P(T | e) for random targets and evidence; impossible evidence is refused."""
    rng = np.random.default_rng(seed)
    net = random_network(rng)
    joint = joint_of_bayesian_network(net)
    for _ in range(8):
        evidence = random_evidence(rng, net.variables, int(rng.integers(0, 4)))
        targets = [list(net.variables)[i] for i in rng.permutation(len(net))[: rng.integers(1, 4)]]
        probability = total(joint, evidence)
        log_probability = net.log_probability(evidence)
        if probability == 0:
            assert log_probability == -math.inf
            with pytest.raises(ImpossibleEvidence):
                net.query(targets, evidence)
        else:
            assert log_probability == pytest.approx(math.log(probability), abs=1e-10)
            answer = net.query(targets, evidence)
            assert answer.names == tuple(targets)
            assert_factor_equals(answer, posterior(joint, targets, evidence))


def test_query_says_how_it_was_got():
    """The record that comes with the answer."""
    info = asia_network().query("D", evidence={"X": True}).info
    assert info.engine == "variable elimination"
    assert info.exact
    assert info.converged
    assert 0 < info.largest_table <= info.cost


def test_barren_variables_cost_nothing():
    """A root's prior is asked for without a look at its descendants."""
    net = BayesianNetwork(binary("A", 0.5), *(binary(f"X{i}", [0.1, 0.9], ["A"]) for i in range(50)))
    assert net.query("A").info.cost == 2


def test_separated_parts_cost_nothing():
    """A given B is asked for without a look at what lies beyond B."""
    net = BayesianNetwork(
        binary("A", 0.5), binary("B", [0.1, 0.9], ["A"]), binary("C", [0.2, 0.8], ["B"]), binary("D", [0.3, 0.7], ["C"])
    )
    assert net.query("A", evidence={"B": True, "D": True}).info.cost == 2


def test_separated_parts_still_can_make_the_evidence_impossible():
    """Evidence of probability zero is refused even if it says nothing about the target."""
    net = BayesianNetwork(binary("A", 0.5), binary("B", 0.5), binary("C", [0.0, 1.0], ["B"]))
    with pytest.raises(ImpossibleEvidence, match=r"B=False, C=True"):
        net.query("A", evidence={"B": False, "C": True})
    with pytest.raises(ImpossibleEvidence):
        net.query("A", evidence={"B": likelihood([1.0, 0.0]), "C": True})


def test_impossible_evidence_names_a_smallest_contradiction():
    """Findings that have nothing to do with it are not named."""
    net = asia_network()
    evidence = {"S": True, "T": True, "A": False, "X": True, "V": False}
    with pytest.raises(ImpossibleEvidence) as caught:
        net.query("D", evidence)
    assert "T=True, A=False" in str(caught.value)
    assert "S=" not in str(caught.value)
    assert "X=" not in str(caught.value)


@pytest.mark.parametrize("seed", SEEDS)
def test_d_separation_implies_independence(seed):
    """Every separation that the graph claims holds in the numbers."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=5, zeros=0.1)
    joint = net.joint()
    for x, y in combinations(net.variables, 2):
        rest = [name for name in net.variables if name not in (x, y)]
        given = [name for name in rest if rng.random() < 0.5]
        if net.graph.d_separated(x, y, given=given):
            assert joint.is_independent(x, y, given)


# --- equality ---


def test_networks_are_equal_by_content():
    """Whatever the order of the CPDs and the notes."""
    net = asia_network()
    again = BayesianNetwork(reversed(list(net.cpds.values())), notes=Notes("other"))
    assert net == again
    assert hash(net) == hash(again)
    assert net != net.with_cpd(binary("S", 0.4))
    assert net.is_close(net.with_cpd(binary("S", 0.5 + 1e-12)))
    assert not net.is_close(net.with_cpd(binary("S", 0.4)))
    assert not net.is_close(net.subnetwork("D"))
    assert net != "asia"


def test_repr_says_how_large_it_is():
    """Name, variables, edges, parameters."""
    assert (
        repr(asia_network().with_notes(Notes("Asia")))
        == "<BayesianNetwork 'Asia': 8 variables, 8 edges, 18 parameters>"
    )
