"""Classes of graphs that experiments can't tell apart: against graphs with a node for each experiment."""

from __future__ import annotations

from collections import defaultdict
from itertools import combinations

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_strategies import dags
from marked_graph_oracles import all_dags, unshielded_colliders
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, PDAG, class_members, class_size, erdos_renyi_dag, essential_graph
from plausible.graphs.interventional_classes import (
    interventional_class_members,
    interventional_class_size,
    interventional_essential_graph,
    is_interventionally_equivalent,
)
from refusals import refuses

NODES = list("ABCD")
FAMILIES = ["", "A", "AB", "A BC", "ABC", "ABCD", "A B C D", "AC AD"]


def with_experiments(arrows, targets):
    """A node for each experiment, a parent of its targets: equivalent are DAGs for which these graphs are."""
    arrows = {*arrows, *((f"experiment {number}", node) for number, t in enumerate(targets) for node in t)}
    return frozenset(map(frozenset, arrows)), frozenset(unshielded_colliders(arrows))


@pytest.mark.parametrize("family", FAMILIES)
def test_essential_graph_has_the_edges_that_all_equivalent_graphs_share(family):
    """All 543 DAGs of four nodes, grouped by skeleton and immoralities of the graphs with experiments as nodes.

    Of the groups every third is looked at.
    """
    targets = [list(target) for target in family.split()]
    groups = defaultdict(list)
    for arrows in all_dags(NODES):
        groups[with_experiments(arrows, targets)].append(arrows)
    for members in list(groups.values())[::3]:
        shared = frozenset.intersection(*members)
        either = {frozenset(arrow) for arrow in members[0]} - {frozenset(arrow) for arrow in shared}
        expected = PDAG([*((a, "->", b) for a, b in shared), *((a, "-", b) for a, b in map(sorted, either))], NODES)
        found = interventional_essential_graph(DAG(members[-1], nodes=NODES), targets)
        assert found == expected
        assert interventional_class_size(found) == len(members)
        assert {frozenset(member.edges) for member in interventional_class_members(found)} == set(members)


@settings(max_examples=40, deadline=None)
@given(first=dags(4, 4), data=st.data(), targets=st.lists(st.sets(st.sampled_from(NODES)), max_size=3))
def test_equivalent_are_graphs_that_agree_when_experiments_are_nodes(first, data, targets):
    other = data.draw(st.one_of(dags(4, 4), st.sampled_from(list(class_members(first)))))
    expected = with_experiments(first.edges, targets) == with_experiments(other.edges, targets)
    assert is_interventionally_equivalent(first, other, targets) == expected


@pytest.mark.parametrize("seed", range(6))
def test_sizes_of_larger_classes_equal_listing_and_observation_alone_gives_the_usual_class(seed):
    rng = np.random.default_rng(seed)
    graph = erdos_renyi_dag(9, 0.4, seed=seed)
    assert (
        interventional_essential_graph(graph) == interventional_essential_graph(graph, [()]) == essential_graph(graph)
    )
    assert interventional_class_size(graph) == class_size(graph)
    targets = [rng.choice(graph.nodes, size=2, replace=False).tolist() for _ in range(2)]
    assert interventional_class_size(graph, targets) == sum(1 for _ in interventional_class_members(graph, targets))


@pytest.mark.parametrize("length", [3, 4, 5])
def test_chain_has_as_many_equivalent_graphs_as_nodes_and_an_experiment_orients_it_away_from_its_target(length):
    """Of X1 -> ... -> Xn intervention at Xi directs both edges at it and so all after it; before, the root is free."""
    chain = DAG([(i, i + 1) for i in range(length - 1)])
    assert class_size(chain) == length
    for target in range(length):
        found = interventional_essential_graph(chain, [[target]])
        assert set(found.directed_edges) == {(i, i + 1) for i in range(max(target - 1, 0), length - 1)}
        assert interventional_class_size(found) == max(target, 1)
        assert chain.descendants(target) == set(range(target + 1, length))  # what responds


def test_a_graph_of_another_kind_is_counted_by_listing():
    pdag = PDAG("A -> B - C")
    assert interventional_class_size(pdag) == 1
    assert interventional_class_size(DAG(nodes=["A", "B"])) == 1
    assert interventional_class_size(DAG()) == 1


def test_hundreds_of_nodes_take_no_listing():
    nodes = range(300)
    chain = DAG([(i, i + 1) for i in nodes[:-1]])
    assert interventional_class_size(chain, [[150]]) == 150
    assert len(interventional_essential_graph(chain, combinations(nodes[:60], 1)).undirected_edges) == 0


def test_wrong_targets_are_refused_by_name():
    refuses(UnknownVariable, "'X'", interventional_essential_graph, "A -> B", ["X"])
    refuses(InvalidArgument, "Write targets=", interventional_essential_graph, "A -> B", "A")
    refuses(InvalidArgument, "with a DAG only", interventional_class_size, PDAG("A - B"), ["A"])
