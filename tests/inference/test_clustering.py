"""Clustering of loops: the merged network is a polytree with the same joint distribution."""

from __future__ import annotations

import math

import numpy as np
import pytest

from network_oracle import (
    asia_network,
    burglary_network,
    joint_of_bayesian_network,
    posterior,
    random_network,
    sprinkler_network,
    total,
)
from plausible.errors import InvalidArgument, InvalidGraph, TooLarge, UnknownVariable
from plausible.factors import Factor, product
from plausible.inference.engines import Pearl
from plausible.inference.polytree.clustering import cluster_variables, suggest_clusters
from plausible.variables import Evidence, likelihood
from refusals import refuses


def families(net):
    return [cpd.to_factor() for cpd in net.cpds.values()]


@pytest.mark.parametrize("seed", range(15))
def test_suggested_clusters_leave_an_equivalent_polytree(seed):
    """Every compound table is a conditional distribution, and their product is the old joint."""
    net = random_network(np.random.default_rng(seed), num_variables=6, edge_probability=0.5)
    clustered = cluster_variables(families(net), suggest_clusters(families(net)))
    assert clustered.graph.is_polytree
    for factor in clustered.factors:
        assert factor.marginalize(factor.names[-1]).values == pytest.approx(1.0)
        assert set(clustered.graph.parents(factor.names[-1])) == set(factor.names[:-1])
    joint = clustered.expand(product(clustered.factors))
    for assignment, probability in joint_of_bayesian_network(net):
        assert joint[assignment] == pytest.approx(probability, abs=1e-14)


@pytest.mark.parametrize("seed", range(7))
def test_pearl_answers_on_the_clustered_network(seed):
    """Findings of all kinds are translated, and the belief in a compound is summed to the member asked for."""
    rng = np.random.default_rng(100 + seed)
    net = random_network(rng, num_variables=6, edge_probability=0.5, zeros=0)
    clustered = cluster_variables(families(net), suggest_clusters(families(net)))
    names = [list(net.variables)[i] for i in rng.permutation(6)]
    weights = rng.random(net.variables[names[1]].num_states) + 0.1
    found = {names[0]: 0, names[1]: likelihood(weights), names[2]: [0]}
    evidence = clustered.translate(Evidence.read(found, net.variables))
    joint = [(a, p * weights[a[names[1]]]) for a, p in joint_of_bayesian_network(net)]
    hard = {names[0]: 0, names[2]: 0}
    log_total = Pearl().log_total(clustered.factors, evidence)
    assert math.exp(log_total) == pytest.approx(total(joint, hard))
    for name in names:
        compound = clustered.variables[clustered.compound_of(name)]
        belief = clustered.expand(Pearl().query(clustered.factors, [compound], evidence)).marginal(name)
        for (state,), expected in posterior(joint, [name], hard).items():
            assert belief[state] == pytest.approx(expected, abs=1e-12)


def test_worked_numbers_survive_clustering():
    """The sprinkler: P(wet grass | cloudy) = .7452; Asia: P(d) = .4359706."""
    net = sprinkler_network()
    clustered = cluster_variables(families(net), {"Water": ["Sprinkler", "Rain"]})
    assert repr(clustered.graph) == "DAG('Cloudy -> Water; Water -> WetGrass')"
    assert clustered.variables["Water"].states[1] == "Sprinkler=False, Rain=True"
    found = Evidence.read({"Cloudy": True}, clustered.variables)
    wet = Pearl().query(clustered.factors, [clustered.variables["WetGrass"]], found)
    assert wet[True] == pytest.approx(0.7452)
    asia = families(asia_network())
    clustered = cluster_variables(asia, suggest_clusters(asia))
    assert clustered.graph.is_polytree
    compound = clustered.variables[clustered.compound_of("D")]
    answer = Pearl().query(clustered.factors, [compound], Evidence.read({}, {}))
    assert clustered.expand(answer).marginal("D")[True] == pytest.approx(0.4359706, abs=5e-8)


def test_small_clusters_are_suggested():
    """None without loops; for the sprinkler the two causes of wet grass; for Asia compounds of few states."""
    assert suggest_clusters(families(burglary_network())) == ()
    assert suggest_clusters(families(sprinkler_network())) == (("Sprinkler", "Rain"),)
    assert sum(map(len, suggest_clusters(families(asia_network())))) <= 5


def test_groups_that_make_a_cycle_are_refused_by_name():
    """A and C of A -> B -> C: what lies between has to come along."""
    chain = [Factor(dict.fromkeys(scope, 2), np.full((2,) * len(scope), 0.5)) for scope in ("A", "AB", "BC")]
    refuses(InvalidGraph, r"cycle .*A\+C", cluster_variables, chain, [["A", "C"]])
    whole = cluster_variables(chain, [["A", "B", "C"]])
    assert whole.variables["A+B+C"].num_states == 8
    assert whole.graph.num_edges == 0


def test_groups_are_read_with_care():
    """Unknown names, groups of one, a variable in two groups, names that are taken, tables that do not fit."""
    pair = [Factor({name: 2}, [0.5, 0.5]) for name in "ABC"]
    refuses(UnknownVariable, "'X' is not a variable", cluster_variables, pair, [["A", "X"]])
    for groups in ([["A"]], ["AB"]):
        refuses(InvalidArgument, "two or more", cluster_variables, pair, groups)
    with pytest.raises(InvalidArgument, match=r"'A' is in the clusters 'A\+B' and 'A\+C'"):
        cluster_variables(pair, [["A", "B"], ["A", "C"]])
    refuses(InvalidArgument, "can't be called 'C'", cluster_variables, pair, {"C": ["A", "B"]})
    many = [Factor({f"X{i}": 2}, [0.5, 0.5]) for i in range(40)]
    refuses(TooLarge, "compound variable 'all'", cluster_variables, many, {"all": [f"X{i}" for i in range(40)]})
    clustered = cluster_variables(pair, [["A", "B"]])
    known = {factor.names[0]: factor.scope[0] for factor in pair}
    assert clustered.translate(Evidence.read({"C": likelihood([0.5, 0.5])}, known)).soft.keys() == {"C"}
    refuses(UnknownVariable, "'Z' is not a variable of the clustered network", clustered.compound_of, "Z")
