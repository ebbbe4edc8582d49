"""Choice of experiments: values against listing all graphs of a class, and loops against the truth."""

from __future__ import annotations

import math
from collections import Counter

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_strategies import dags
from plausible.causal.interventional.experiments import (
    after_experiment,
    choose_experiment,
    experiment_information,
    plan_experiments,
    rank_experiments,
)
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, PDAG, class_members, class_size, erdos_renyi_dag, essential_graph, random_tree
from plausible.graphs.interventional_classes import interventional_essential_graph
from plausible.learn.confidence.weighted_graphs import WeightedGraphs


@settings(max_examples=25, deadline=None)
@given(graph=dags(6, 1))
def test_values_equal_grouping_all_members_by_the_edges_at_the_target(graph):
    """Outcomes are the sets of parents of the target; what is left of a class is the members with that set."""
    members = [frozenset(member.edges) for member in class_members(graph)]
    shared = frozenset.intersection(*members)
    for value in rank_experiments(graph):
        groups = {}
        for member in members:
            groups.setdefault(frozenset(a for a, b in member if b == value.target), []).append(member)
        sizes = [len(group) for group in groups.values()]
        directed = [len(frozenset.intersection(*group)) - len(shared) for group in groups.values()]
        shares = [size / len(members) for size in sizes]
        assert value.num_outcomes == len(groups)
        assert value.largest_class == max(sizes)
        assert value.entropy == pytest.approx(-sum(share * math.log(share) for share in shares), abs=1e-12)
        assert value.expected_class_size == pytest.approx(np.dot(shares, sizes))
        assert value.expected_directed == pytest.approx(np.dot(shares, directed))
        assert value.fewest_directed == min(directed)


def test_criteria_put_their_own_best_first():
    graph = erdos_renyi_dag(8, 0.3, seed=4)
    by_entropy, by_worst, by_edges = (rank_experiments(graph, criterion=c) for c in ("entropy", "minimax", "edges"))
    assert by_entropy[0].entropy == max(value.entropy for value in by_entropy)
    assert by_worst[0].largest_class == min(value.largest_class for value in by_worst)
    assert by_edges[0].expected_directed == max(value.expected_directed for value in by_edges)


@pytest.mark.parametrize("criterion", ["entropy", "minimax", "edges"])
@pytest.mark.parametrize("seed", range(5))
def test_experiments_end_at_the_true_graph_and_each_gives_the_class_of_its_targets(criterion, seed):
    truth = erdos_renyi_dag(9, 0.35, seed=seed)
    plan = plan_experiments(truth, truth.parents, criterion=criterion)
    assert plan.graph == PDAG(truth)
    assert len(set(plan.targets)) == len(plan.targets)
    for number in range(len(plan.targets) + 1):
        part = plan_experiments(truth, truth.parents, criterion=criterion, max_experiments=number)
        assert part.targets == plan.targets[:number]
        assert part.graph == interventional_essential_graph(truth, [[target] for target in part.targets])


def test_a_tree_needs_about_as_many_experiments_as_its_nodes_can_be_halved():
    """The best node leaves at most half of the roots of a tree open: so ceil(log2 n) experiments are enough."""
    for seed in range(2):
        truth = random_tree(40, seed=seed)
        plan = plan_experiments(truth, truth.parents, criterion="minimax")
        assert plan.graph == PDAG(truth)
        assert len(plan.targets) <= math.ceil(math.log2(40))


def test_chosen_experiments_beat_random_ones_on_chains():
    """Chains of 15 nodes, all roots: on average the choice by entropy needs far fewer than a random order."""
    names = [f"X{number:02}" for number in range(15)]
    rng = np.random.default_rng(0)
    chosen, drawn = [], []
    for root in range(15):
        truth = DAG([(names[i + 1], names[i]) if i < root else (names[i], names[i + 1]) for i in range(14)])
        chosen.append(len(plan_experiments(truth, truth.parents).targets))
        graph, number = essential_graph(truth), 0
        for target in rng.permutation(names):
            if graph.undirected_edges:
                graph, number = after_experiment(graph, target, truth.parents(target)), number + 1
        drawn.append(number)
    assert max(chosen) <= 4
    assert np.mean(chosen) < 0.8 * np.mean(drawn)


@settings(max_examples=16, deadline=None)
@given(graphs=st.lists(dags(4, 4), min_size=1, max_size=6), data=st.data())
def test_information_is_the_entropy_of_classes_that_an_experiment_adds(graphs, data):
    weights = data.draw(st.lists(st.integers(1, 5), min_size=len(graphs), max_size=len(graphs)))
    before = data.draw(st.lists(st.sampled_from("ABCD"), max_size=1))

    def entropy(family):
        shares = Counter()
        for graph, weight in zip(graphs, weights, strict=True):
            shares[interventional_essential_graph(graph, family)] += weight / sum(weights)
        return -sum(share * math.log(share) for share in shares.values())

    found = experiment_information(WeightedGraphs.of(graphs, weights), before)
    for name in "ABCD":
        assert found[name] == pytest.approx(entropy([*before, name]) - entropy(before), abs=1e-12)


def test_uniform_weights_on_a_class_give_the_same_information_as_the_class():
    graph = DAG("A -> B -> C -> D; B -> D")
    graphs = WeightedGraphs.of(list(class_members(graph)))
    found = experiment_information(graphs)
    assert class_size(graph) == len(graphs)
    for value in rank_experiments(graph):
        assert found[value.target] == pytest.approx(value.entropy)


def test_nothing_to_tell_and_wrong_arguments():
    assert choose_experiment(PDAG("A -> B")) is None
    assert plan_experiments(PDAG("A -> B"), lambda target: ()).targets == ()
    assert choose_experiment(PDAG("A - B - C"), candidates=["A"]).target == "A"
    with pytest.raises(UnknownVariable, match="'X'"):
        rank_experiments(PDAG("A - B"), candidates="X")
    with pytest.raises(InvalidArgument, match="criterion="):
        rank_experiments(PDAG("A - B"), criterion="luck")
    with pytest.raises(InvalidArgument, match="'C' can't be a cause of 'A'"):
        after_experiment(PDAG("A - B - C"), "A", "C")
    with pytest.raises(InvalidArgument, match="can't both be causes of 'B'"):
        after_experiment(PDAG("A - B - C"), "B", ["A", "C"])
    with pytest.raises(InvalidArgument, match="no essential graph"):
        rank_experiments(PDAG("A -> B - C"))
    with pytest.raises(InvalidArgument, match="undirected edges"):
        experiment_information(WeightedGraphs.of([PDAG("A - B")]))
