"""Hidden variables are found where there is one, and refused where there is none."""

from itertools import combinations

import numpy as np
import pytest
from scipy.special import xlogy

from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument
from plausible.graphs import DAG, UndirectedGraph
from plausible.learn.incomplete_structures.hidden_variables import dependence_graph, find_hidden, semi_cliques
from plausible.learn.incomplete_structures.structural_em import SEMRules
from plausible.learn.learned_structure import learn_structure


def of_one_kind(seed, num_rows=1500, keep_kind=False):
    """Five columns that show one kind each with errors, and a coin; the kind itself is a column or not."""
    rng = np.random.default_rng(seed)
    kind = rng.integers(0, 2, num_rows)
    columns = {f"x{i}": np.where(rng.random(num_rows) < 0.85, kind, 1 - kind) for i in range(5)}
    return columns | {"coin": rng.integers(0, 2, num_rows)} | ({"kind": kind} if keep_kind else {})


@pytest.mark.parametrize("signal", ["semi-cliques", "mutual-information"])
def test_a_hidden_common_parent_is_found_and_gains(signal):
    data = of_one_kind(1)
    learned = learn_structure(data).graph
    found = find_hidden(data, learned, signal=signal, max_groups=2)
    assert found.group == ("x0", "x1", "x2", "x3", "x4")
    assert found.best.score > found.without.score + 10.0
    assert found.trials[0].gain == pytest.approx(found.best.score - found.without.score)


def test_where_the_common_parent_is_a_column_pairs_propose_and_the_score_refuses():
    """Mutual information is confounded by observed parents; the trial tells."""
    data = of_one_kind(2, keep_kind=True)
    learned = learn_structure(data).graph
    assert semi_cliques(learned) == ()
    found = find_hidden(data, learned, signal="mutual-information")
    assert found.trials
    assert found.group == ()
    assert found.best is found.without


def test_structural_em_goes_on_from_there_and_missing_cells_are_taken():
    rng = np.random.default_rng(3)
    data = {
        name: [None if rng.random() < 0.1 else int(c) for c in column] for name, column in of_one_kind(3, 500).items()
    }
    graph = DAG([(f"x{i}", f"x{j}") for i, j in combinations(range(5), 2) if j - i < 3])
    plain = find_hidden(data, graph, restarts=1)
    further = find_hidden(data, graph, restarts=1, rules=SEMRules(max_steps=3))
    assert further.best.score >= plain.best.score - 1e-3
    assert plain.trials[0].gain > 0


@pytest.mark.parametrize("seed", range(10))
def test_every_member_of_a_semi_clique_has_edges_with_half_of_the_others_and_none_can_join(seed):
    rng = np.random.default_rng(seed)
    names = list("abcdefgh")
    edges = [pair for pair in combinations(names, 2) if rng.random() < 0.4]
    graph = UndirectedGraph(edges, nodes=names)
    is_joined = {frozenset(edge) for edge in edges}

    def is_dense(group):
        return all(2 * sum({a, b} in is_joined for b in group if b != a) >= len(group) - 1 for a in group)

    groups = semi_cliques(graph)
    assert bool(groups) == any(all({a, b} in is_joined for a, b in combinations(t, 2)) for t in combinations(names, 3))
    for group in groups:
        assert is_dense(group)
        assert not any(is_dense((*group, other)) for other in names if other not in group)


@pytest.mark.parametrize("weight", [0.002, 1.0, 7.0])
def test_dependent_pairs_are_those_that_bic_joins(weight):
    """N · I(X; Y) > ½ ln N (|X| - 1)(|Y| - 1) for states of different numbers, and no price below one row."""
    rng = np.random.default_rng(8)
    sizes = {"a": 2, "b": 3, "c": 4, "d": 2, "e": 5, "f": 3}
    kind, nearness, num_joined = rng.random(300), [], 0
    for share in np.linspace(0.05, 0.8, 12):
        shown = {name: np.where(rng.random(300) < share, 0.9 * kind, rng.random(300)) for name in sizes}
        data = {name: (size * shown[name]).astype(int) for name, size in sizes.items()}
        graph = dependence_graph(TableStatistics(Table.read(data, weights=np.full(300, weight))))
        total = 300 * weight
        for one, two in combinations(sizes, 2):
            joint = weight * np.histogram2d(data[one], data[two], bins=(sizes[one], sizes[two]))[0]
            expected = joint.sum(axis=1, keepdims=True) * joint.sum(axis=0) / total
            gained = np.sum(xlogy(joint, joint / np.where(joint > 0, expected, 1.0)))
            price = 0.5 * max(0.0, np.log(total)) * (sizes[one] - 1) * (sizes[two] - 1)
            assert graph.has_edge(one, two) == (gained > price)
            nearness.append(abs(gained / price - 1) if price else 1.0)
            num_joined += gained > price
    assert num_joined > 20
    if weight >= 1:
        assert min(nearness) < 0.02
        assert num_joined < len(nearness) - 20


def test_wrong_words_are_refused():
    with pytest.raises(InvalidArgument, match="coin"):
        find_hidden(of_one_kind(5, 20), DAG("x0 -> x1"), name="coin")
    with pytest.raises(InvalidArgument, match="semi-cliques"):
        find_hidden(of_one_kind(5, 20), DAG("x0 -> x1"), signal="semi-clique")
    assert find_hidden(of_one_kind(5, 20), DAG("x0 -> x1")).trials == ()


def test_the_search_for_hidden_variables_tells_its_trials_and_stops_when_told_or_late():
    data = of_one_kind(1, 300)
    graph = DAG([(f"x{i}", f"x{j}") for i, j in combinations(range(5), 2) if j - i < 3])
    told = []
    assert find_hidden(data, graph, restarts=0, progress=told.append).stopped_by == "converged"
    assert told
    assert find_hidden(data, graph, restarts=0, progress=lambda trial: True).stopped_by == "interrupted"
    late = find_hidden(data, graph, restarts=0, time_limit=0.0)
    assert (late.stopped_by, late.trials) == ("time limit", ())
