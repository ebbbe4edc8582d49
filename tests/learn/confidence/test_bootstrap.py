"""The bootstrap of structure learners and the strengths of edges."""

import numpy as np
import pytest

from plausible.data.table import Table
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs import DAG, PDAG
from plausible.learn.confidence.resampling import bootstrap
from plausible.learn.confidence.weighted_graphs import EdgeStrengths, WeightedGraphs, estimate_threshold
from plausible.variables import Variable
from refusals import refuses

EMPTY = [Variable("a", 2), Variable("b", 3)]


def _rows(num_rows=150, seed=0):
    rng = np.random.default_rng(seed)
    a, free = rng.integers(0, 2, num_rows), rng.integers(0, 2, num_rows)
    return {"a": a, "b": np.where(rng.random(num_rows) < 0.9, a, 1 - a), "free": free}


@pytest.mark.parametrize("kind", ["ordinary", "bayesian"])
def test_a_strong_edge_comes_back_always_and_an_absent_one_rarely(kind):
    strengths = bootstrap(_rows(), num_samples=12, kind=kind).strengths()
    assert strengths.strength("a", "b") == 1.0
    assert strengths.strength("a", "free") < 0.5
    assert strengths.consensus(0.6).skeleton().num_edges == 1


def test_the_answer_does_not_depend_on_threads_and_repeats_with_the_seed():
    one, two = (bootstrap(_rows(), num_samples=4, num_threads=n, seed=4).adjacency for n in (1, 2))
    assert np.array_equal(one, two)
    assert not np.array_equal(one, bootstrap(_rows(60, 1), num_samples=4, seed=5).adjacency)


def test_ordinary_samples_are_rows_drawn_again_and_bayesian_ones_weights_of_the_same_sum():
    seen = []

    def learner(table):
        seen.append(table)
        return DAG("a -> b; free")

    rows = _rows(40)
    bootstrap(rows, learner, 5, num_threads=1)
    drawn = {tuple(column) for table in seen for column in table.codes.T.tolist()}
    assert drawn <= {tuple(column) for column in Table.read(rows).codes.T.tolist()}
    assert all(table.num_rows == 40 for table in seen)
    assert len({table.codes.tobytes() for table in seen}) == 5
    seen.clear()
    bootstrap(rows, learner, 200, kind="bayesian", num_threads=1)
    weights = np.array([table.weights for table in seen])
    assert weights.sum(axis=1) == pytest.approx(40)
    # Flat Dirichlet weights: 40 times a Beta(1, 39), whose variance is 39 / (40² 41).
    assert weights.var() == pytest.approx(39 / 41, rel=0.1)


def test_progress_is_told_and_may_stop():
    told = []
    found = bootstrap(
        _rows(30), lambda table: DAG("a; b; free"), 10, progress=lambda *n: told.append(n) or len(told) == 2
    )
    assert told == [(2, 10), (4, 10)]
    assert len(found) == 4
    assert len(bootstrap(_rows(30), lambda table: DAG("a; b; free"), 10, time_limit=0)) == 2


@pytest.mark.parametrize("kind", ["ordinary", "bayesian"])
@pytest.mark.parametrize(
    "rows",
    [
        {"a": [1, 1], "b": [0, 0]},
        {"a": [1, 1, 1], "b": [0, 1, 0]},
        Table.read({"a": [], "b": []}, EMPTY),
        {"a": [1, 0]},
    ],
)
def test_degenerate_data_give_graphs_without_edges(rows, kind):
    found = bootstrap(rows, num_samples=3, kind=kind)
    assert not found.adjacency.any()
    assert found.strengths().consensus().num_edges == 0


@pytest.mark.parametrize("num", [3, 7, 10, 49, 100])
def test_a_share_is_a_count_divided_once(num):
    """To the last digit, also where graphs are put together into classes: what all graphs have, has strength one."""
    graphs = [DAG("A -> B -> C"), DAG("C -> B -> A"), DAG("A -> B; C")]
    found = WeightedGraphs.of([graphs[place % 3] for place in range(num)])
    counts = [len(range(place, num, 3)) for place in range(3)]
    strengths = found.strengths()
    assert strengths.strength("A", "B") == found.as_classes().strengths().strength("A", "B") == 1.0
    assert strengths.edge("A", "B") == (counts[0] + counts[2]) / num
    assert strengths.path("A", "C") == counts[0] / num
    assert strengths.blanket("B", "C") == (counts[0] + counts[1]) / num
    assert found.probability(lambda graph: graph.is_adjacent("A", "B")) == 1.0
    assert found.distinct().weights.tolist() == sorted((count / num for count in counts), reverse=True)


def test_shares_of_edges_directions_paths_and_blankets():
    graphs = [DAG("A -> B -> C"), DAG("A -> B <- C"), PDAG("A -> B - C"), PDAG("C - B; A")]
    strengths = WeightedGraphs.of(graphs).strengths()
    assert strengths.edge("A", "B") == 0.75
    assert strengths.edge("B", "C") == pytest.approx((1 + 0 + 0.5 + 0.5) / 4)
    assert strengths.strength("C", "B") == 1.0
    assert strengths.direction("B", "C") == 0.5
    assert np.isnan(strengths.direction("A", "C"))
    assert strengths.path("A", "C") == 0.25
    assert strengths.blanket("A", "C") == 0.25
    frame = strengths.to_frame()
    assert list(frame.columns) == ["from", "to", "strength", "direction", "path"]
    assert len(frame) == 4
    assert frame.strength.tolist() == [1.0, 1.0, 0.75, 0.75]


def test_graphs_that_are_alike_count_together_and_equivalent_ones_as_one_class():
    graphs = WeightedGraphs.of([DAG("A -> B"), DAG("B -> A"), DAG("A -> B"), DAG("A; B")], [1, 1, 1, 2])
    distinct = graphs.distinct()
    assert distinct.weights.tolist() == [0.4, 0.4, 0.2]
    classes = graphs.as_classes()
    assert sorted(classes.weights.tolist()) == [pytest.approx(0.4), pytest.approx(0.6)]
    assert classes.strengths().edge("A", "B") == pytest.approx(0.3)
    assert isinstance(classes.graph(0), PDAG)


def test_the_threshold_is_that_of_the_paper_and_of_a_fine_grid():
    """Scutari & Nagarajan's example with six edges; and min over t of ∫|F - t| on a grid."""
    assert estimate_threshold(np.array([0.0460, 0.2242, 0.3921, 0.7689, 0.8935, 0.9439])) == 0.3921
    rng = np.random.default_rng(0)
    for _ in range(20):
        values = np.round(rng.beta(0.5, 0.5, 9), 3)
        grid = (np.arange(4000) + 0.5) / 4000
        function = (values[None] <= grid[:, None]).mean(axis=1)
        norms = [np.abs(function - t / 9).mean() for t in range(10)]
        best = int(np.argmin(norms))
        expected = np.sort(values)[best - 1] if best else 0.0
        chosen = estimate_threshold(values)
        level = int((values <= chosen).sum()) if chosen else 0
        assert chosen == expected or norms[level] == pytest.approx(min(norms), abs=1e-3)


@pytest.mark.parametrize(
    ("values", "num_kept"), [([0, 0, 0], 0), ([1, 1, 1], 3), ([0, 1, 1], 2), ([0.6] * 3, 3), ([0.4] * 3, 0), ([], 0)]
)
def test_certain_edges_are_kept_and_absent_ones_not(values, num_kept):
    threshold = estimate_threshold(np.array(values, dtype=float))
    assert sum(value > threshold for value in values) == num_kept


def test_the_consensus_keeps_all_strong_edges_and_has_no_cycle():
    edges = np.zeros((3, 3))
    edges[0, 1], edges[1, 2], edges[2, 0] = 0.9, 0.8, 0.7
    graph = EdgeStrengths(("A", "B", "C"), edges, None, None, "test").consensus(0.5)
    assert set(graph.edges) == {("A", "B"), ("B", "C"), ("A", "C")}


def test_the_text_lists_edges_that_occur_with_their_directions():
    """Strongest first: 0.4 and 0.5 of A - B are 0.9, of which 5/9 go from B; A - C never occurs."""
    edges = np.zeros((3, 3))
    edges[0, 1], edges[1, 0], edges[1, 2] = 0.4, 0.5, 0.7
    found = EdgeStrengths(("A", "B", "C"), edges, None, None, "three graphs", is_posterior=True)
    assert str(found).splitlines() == [
        "three graphs; edges stronger than 0.5 stand out",
        "0.900  B -> A  (0.556)",
        "0.700  B -> C  (1.000)",
    ]
    assert found.to_frame()["direction"].tolist() == pytest.approx([5 / 9, 4 / 9, 1, 0])
    assert np.isnan(found.direction("A", "C"))
    even = EdgeStrengths(("B", "A"), np.array([[0.0, 0.4], [0.4, 0.0]]), None, None, "ties", is_posterior=True)
    assert str(even).splitlines()[1:] == ["0.800  A -> B  (0.500)"]  # of two directions the first by name


def test_no_share_of_graphs_exceeds_one():
    """An edge that all graphs have, some in the other direction: its shares add up to one, whatever graphs weigh."""
    graphs = [DAG("A -> B"), DAG("B -> A")] * 2 + [DAG("A -> B")]
    for weights in np.random.default_rng(0).random((300, 5)):
        found = WeightedGraphs.of(graphs, weights)
        strengths = found.strengths()
        assert 1 - 1e-12 < strengths.strength("A", "B") <= 1
        assert max(strengths.strengths.max(), strengths.blankets.max()) <= 1
        assert found.probability(lambda graph: True) == 1


def test_errors_name_the_fix():
    refuses(InvalidArgument, "'ordinary' or 'bayesian'", bootstrap, _rows(), kind="jackknife")
    refuses(InvalidArgument, "num_samples=0", bootstrap, _rows(), num_samples=0)
    with pytest.raises(UnknownVariable, match="free"):
        bootstrap(_rows(20), lambda table: DAG("a; b; free"), 2).strengths().edge("fre", "a")
    refuses(InvalidArgument, "same variables", WeightedGraphs.of, [DAG("A -> B"), DAG("A -> C")])
