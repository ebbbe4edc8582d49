"""Rows with interventions: reading, counts, estimates and scores by their formulas; classes that experiments leave."""

from __future__ import annotations

import math
from collections import defaultdict
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from graph_strategies import dags
from marked_graph_oracles import all_dags, unshielded_colliders
from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, PDAG, class_members, class_size, erdos_renyi_dag, essential_graph
from plausible.graphs.classes import (
    interventional_class_members,
    interventional_class_size,
    interventional_essential_graph,
    is_interventionally_equivalent,
)
from plausible.learn.confidence.resampling import bootstrap
from plausible.learn.estimation.families import log_likelihood
from plausible.learn.estimation.priors import BDeu, Dirichlet
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.reading import read_score
from plausible.models import BayesianNetwork
from plausible.variables import Variable
from refusals import refuses
from score_oracles import random_columns

SIZES = {"A": 2, "B": 3, "C": 2}
GRAPH = DAG("A -> B -> C; A -> C")


def random_table(seed, num_rows):
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, list(SIZES.values()), num_rows)
    marks = {name: rng.random(num_rows) < 0.4 for name in ("B", "C")}
    table = Table.read(columns, [Variable(name, size) for name, size in SIZES.items()], interventions=marks)
    return columns, marks, table


def counts_by_hand(columns, marks, child, parents):
    """M[x; u]: how many rows have these states and did not have the child set."""
    counts = np.zeros([SIZES[name] for name in (*parents, child)], dtype=int)
    for row in range(len(columns[child])):
        if child not in marks or not marks[child][row]:
            counts[tuple(columns[name][row] for name in (*parents, child))] += 1
    return counts


# --- reading ---


def test_all_ways_of_naming_targets_mean_the_same():
    columns = {"A": [0, 1, 1, 0], "B": [1, 1, 0, 0]}
    masks = Table.read(columns, interventions={"A": [False, True, True, False], "B": [False, False, True, False]})
    ways = [
        Table.read(columns, interventions=[None, "A", "A,B", ""]),
        Table.read(columns, interventions=[float("nan"), ["A"], ("B", "A"), []]),
        Table.read(columns, interventions=["", "A,", "A, B;", " "]),
        Table.read(columns, interventions={"A": [0, 1, 1, 0], "B": np.array([0.0, 0.0, 1.0, 0.0])}),
        Table.read(columns, interventions={1: "A", 2: {"A", "B"}}),
        Table.read(pd.DataFrame({**columns, "INT": [None, "A", "B; A", None]}), interventions="INT"),
        Table.read(Table.read(columns), interventions=np.array([None, "A", "A + B", None], dtype=object)),
        Table.read(Table.read({**columns, "INT": [None, "A", "A,B", None]}), interventions="INT"),
    ]
    for table in ways:
        assert list(table.variables) == ["A", "B"]
        assert list(table.interventions) == ["A", "B"]
        for name in "AB":
            np.testing.assert_array_equal(table.interventions[name], masks.interventions[name])
    assert not Table.read(columns, interventions=[None] * 4).interventions
    assert not Table.read(columns, interventions={}).interventions


def test_a_file_has_its_targets_in_a_column(tmp_path):
    path = tmp_path / "cells.csv"
    path.write_text('A,B,target\n0,1,\n1,1,A\n1,0,"A,B"\n')
    table = Table.read(path, interventions="target")
    assert table.interventions["A"].tolist() == [False, True, True]
    assert table.interventions["B"].tolist() == [False, False, True]


def test_names_that_are_one_text_with_a_comma_stay_one_name():
    table = Table.read({"a,b": [0, 1], "a": [0, 1]}, interventions=["a,b", None])
    assert list(table.interventions) == ["a,b"]


@pytest.mark.parametrize(
    ("given", "error", "match"),
    [
        ([None, "X"], UnknownVariable, "'X'.*row 1"),
        ([None], InvalidArgument, "2 rows, but interventions for 1"),
        ({5: "A"}, InvalidArgument, "row 5"),
        ([None, 1], InvalidArgument, "row 1 is 1"),
        ("INT", UnknownVariable, "'INT'"),
        (3, InvalidArgument, "interventions=3"),
        ({"A": [0, 2]}, InvalidArgument, "'A' are a list of True and False, or 1 and 0, for 2 rows"),
        ({"A": "ab"}, UnknownVariable, "'ab' is not a variable of the data, though interventions= names it"),
        ({True: "A"}, InvalidArgument, "key True: give number of a row"),
        ("A", InvalidArgument, "'A' takes that column for the targets.*the first is 0.*{'A': "),
        ({"X": [True, False]}, UnknownVariable, "'X'"),
    ],
)
def test_wrong_targets_are_refused(given, error, match):
    with pytest.raises(error, match=match):
        Table.read({"A": [0, 1]}, interventions=given)


# --- counts and likelihood ---


@settings(max_examples=12, deadline=None)
@given(seed=st.integers(0, 10**6), num_rows=st.integers(0, 40))
def test_counts_leave_out_rows_in_which_the_child_was_set(seed, num_rows):
    columns, marks, table = random_table(seed, num_rows)
    statistics = TableStatistics(table)
    for child, parents in (("B", ["A"]), ("A", ["B"]), ("C", ["A", "B"]), ("B", []), ("B", ["C"])):
        np.testing.assert_array_equal(statistics.counts(child, parents), counts_by_hand(columns, marks, child, parents))


def test_counts_are_not_symmetric_in_child_and_parent():
    """Σ_y M[y; x] counts the rows in which y was not set, M[x] those in which x was not: they differ."""
    table = Table.read({"x": [0, 0, 1, 1], "y": [0, 1, 1, 1]}, interventions={"y": [True, True, False, False]})
    statistics = TableStatistics(table)
    assert statistics.counts("y", ["x"]).sum(axis=1).tolist() == [0, 2]
    assert statistics.counts("x").tolist() == [2, 2]
    assert statistics.counts("x", ["y"]).sum() == 4


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_likelihood_of_a_row_is_the_product_over_variables_that_were_not_set(seed):
    columns, marks, table = random_table(seed, 12)
    net = learn_parameters(GRAPH, table.take(np.arange(12)), Dirichlet(1.0))
    tables = {name: np.asarray(net.cpd(name).values) for name in SIZES}
    parents = {name: [variable.name for variable in net.cpd(name).parents] for name in SIZES}
    expected = 0.0
    for row in range(12):
        for name in SIZES:
            if name not in marks or not marks[name][row]:
                cell = tuple(columns[other][row] for other in (*parents[name], name))
                expected += math.log(tables[name][cell])
    assert log_likelihood(net, table) == pytest.approx(expected)


# --- estimates and scores ---


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6))
def test_estimates_are_the_usual_ones_of_interventional_counts(seed):
    columns, marks, table = random_table(seed, 60)
    likely = learn_parameters(GRAPH, table, unseen="uniform")
    smooth = learn_parameters(GRAPH, table, BDeu(6.0))
    for name in SIZES:
        parents = [variable.name for variable in likely.cpd(name).parents]
        counts = counts_by_hand(columns, marks, name, parents)
        totals = counts.sum(axis=-1, keepdims=True)
        ratio = np.divide(counts, totals, out=np.full(counts.shape, 1 / SIZES[name]), where=totals > 0)
        np.testing.assert_allclose(likely.cpd(name).values, ratio)
        share = 6.0 / counts.size
        np.testing.assert_allclose(smooth.cpd(name).values, (counts + share) / (totals + share * SIZES[name]))


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), num_rows=st.integers(1, 50))
def test_scores_are_the_usual_ones_of_interventional_counts(seed, num_rows):
    columns, marks, table = random_table(seed, num_rows)
    bic, bde = 0.0, 0.0
    for name in SIZES:
        parents = [str(parent) for parent in GRAPH.parents(name)]
        counts = counts_by_hand(columns, marks, name, parents).reshape(-1, SIZES[name])
        total = counts.sum()
        bic += sum(n * math.log(n / row.sum()) for row in counts for n in row if n)
        bic -= 0.5 * math.log(total) * len(counts) * (SIZES[name] - 1) if total else 0.0
        share = 4.0 / counts.size
        for row in counts:
            bde += math.lgamma(share * len(row)) - math.lgamma(share * len(row) + row.sum())
            bde += sum(math.lgamma(share + n) - math.lgamma(share) for n in row)
    if all(counts_by_hand(columns, marks, name, []).sum() for name in SIZES):
        assert read_score("bic").on_data(table).graph(GRAPH) == pytest.approx(bic, abs=1e-9)
    assert read_score("bdeu:4").on_data(table).graph(GRAPH) == pytest.approx(bde, abs=1e-9)


def test_graphs_of_one_class_have_the_same_score_by_observation_only():
    _, _, table = random_table(7, 200)
    for score in ("bic", "bdeu"):
        observed = read_score(score).on_data(Table.read(table, interventions={}))
        intervened = read_score(score).on_data(table)
        members = list(class_members(DAG("A -> B -> C")))
        assert np.ptp([observed.graph(member) for member in members]) < 1e-8
        assert np.ptp([intervened.graph(member) for member in members]) > 0.1


def test_gaussian_statistics_of_each_child_are_sums_over_its_own_rows():
    rng = np.random.default_rng(3)
    numbers = rng.normal(size=(3, 30)) + 5
    numbers[1] += 0.8 * numbers[0]
    is_set = rng.random(30) < 0.4
    table = Table.read(dict(zip("xyz", numbers, strict=True)), interventions={"y": is_set})
    statistics = TableStatistics(table)
    for child, rows in (("x", np.full(30, True)), ("y", ~is_set), ("z", np.full(30, True))):
        moments = statistics.moments(child)
        kept = numbers[:, rows]
        assert moments.weight == rows.sum()
        np.testing.assert_allclose(moments.mean * moments.weight, kept.sum(axis=1))
        squares = moments.scatter + moments.weight * np.outer(moments.mean, moments.mean)
        np.testing.assert_allclose(squares, kept @ kept.T)
    kept = numbers[:, ~is_set]
    design = np.column_stack([np.ones(kept.shape[1]), kept[0]])
    solution, *_ = np.linalg.lstsq(design, kept[1], rcond=None)
    variance = np.mean((kept[1] - design @ solution) ** 2)
    n = kept.shape[1]
    expected = -n / 2 * (math.log(2 * math.pi * variance) + 1) - 0.5 * math.log(n) * 3
    assert read_score("gaussian-bic").on_data(table).family("y", ["x"]) == pytest.approx(expected)
    net = learn_parameters(DAG("x -> y", nodes=["z"]), table)
    assert net.cpd("y").intercept == pytest.approx(solution[0])


# --- search and confidence ---


def chain_rows(num_rows=1500):
    """A -> B -> C, with B set at random in half of the rows."""
    rng = np.random.default_rng(0)
    is_set = np.arange(num_rows) % 2 == 0
    a = rng.integers(0, 2, num_rows)
    b = np.where(is_set, rng.integers(0, 2, num_rows), np.where(rng.random(num_rows) < 0.8, a, 1 - a))
    c = np.where(rng.random(num_rows) < 0.8, b, 1 - b)
    return Table.read({"A": a, "B": b, "C": c}, interventions={"B": is_set})


@pytest.mark.parametrize("method", ["hill-climbing", "tabu", "exact", "a-star", "orders", "chow-liu"])
@pytest.mark.parametrize("score", ["bic", "bdeu"])
def test_search_by_an_interventional_score_directs_the_edges_at_a_target(method, score):
    found = learn_structure(chain_rows(), method, score)
    assert set(found.graph.edges) == {("A", "B"), ("B", "C")}


def test_bootstrap_draws_rows_with_their_marks():
    strengths = bootstrap(chain_rows(600), num_samples=10).strengths()
    assert strengths.edge("A", "B") >= 0.9
    assert strengths.edge("B", "C") >= 0.9


def test_samples_under_do_are_rows_of_the_mutilated_network():
    """Rows of experiments made by a network give its tables back; rows that are not marked give others."""
    rng = np.random.default_rng(1)
    net = learn_parameters("A -> B", {"A": [0, 0, 0, 1, 1], "B": [0, 0, 1, 1, 1]}, Dirichlet(1.0))
    assert isinstance(net, BayesianNetwork)
    frames = [net.sample(2000, seed=rng), net.sample(2000, seed=rng, do={"B": 1})]
    both = pd.concat(frames, ignore_index=True)
    marked = learn_parameters("A -> B", Table.read(both, net.variables, interventions={"B": np.arange(4000) >= 2000}))
    unmarked = learn_parameters("A -> B", Table.read(both, net.variables))
    np.testing.assert_allclose(marked.cpd("B").values, net.cpd("B").values, atol=0.04)
    assert abs(unmarked.cpd("B").values[0, 0] - net.cpd("B").values[0, 0]) > 0.2


def test_a_column_of_flags_is_given_with_the_variable_that_it_is_about():
    """{"B": "set_B"} takes that column for flags, no variable; alone it is refused with the way to write it."""
    frame = pd.DataFrame({"A": [0, 1, 0], "B": [1, 0, 1], "set_B": [0, 1, 1]})
    for source in (frame, Table.read(frame)):
        for columns in (None, ["A", "B"]):
            table = Table.read(source, interventions={"B": "set_B"}, columns=columns)
            assert list(table.variables) == ["A", "B"]
            assert table.interventions["B"].tolist() == [False, True, True]
    with pytest.raises(InvalidArgument, match=r"in which rows 'B' was set, give interventions=\{'B': 'set_B'\}"):
        Table.read(frame, interventions="set_B")


@pytest.mark.parametrize("kind", [list, tuple, np.array])
def test_a_column_of_targets_may_hold_lists(kind):
    """Also where no cell is empty, and where the lists are arrays, as some readers of files make them."""
    cells = [["A"], ["A", "B"], ["B"]]
    for last in (["B"], []):
        columns = {"A": [0, 1, 0], "B": [1, 0, 1], "set": [kind(cell) for cell in (*cells[:2], last)]}
        marks = Table.read(pd.DataFrame(columns), interventions="set").interventions
        assert marks["A"].tolist() == [True, True, False]
        assert marks["B"].tolist() == [False, True, bool(last)]


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
