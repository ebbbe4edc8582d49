"""Trees: none of the other spanning trees, by enumeration, is better."""

from itertools import combinations, product

import networkx as nx
import numpy as np
import pytest

from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.score import FamilyScores
from plausible.learn.structures.constructive import learn_tan, learn_tree
from plausible.learn.structures.knowledge import Knowledge, StructureTask
from refusals import refuses

NAMES = ["a", "b", "c", "d", "e"]


def _data(seed, num_rows=60):
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 3, size=(5, num_rows))
    for child in range(1, 5):
        copied = rng.random(num_rows) < 0.5
        codes[child, copied] = codes[rng.integers(child), copied]
    return {name: codes[place].tolist() for place, name in enumerate(NAMES)}


def _information(data, first, second, given=None):
    """N times the (conditional) mutual information, summed over the values that occur."""
    columns = [np.array(data[name]) for name in (first, second)]
    z = np.array(data[given]) if given else np.zeros(len(columns[0]))
    total = 0.0
    for x, y, w in product(np.unique(columns[0]), np.unique(columns[1]), np.unique(z)):
        is_x, is_y, is_z = columns[0] == x, columns[1] == y, z == w
        joint = (is_x & is_y & is_z).sum()
        if joint:
            total += joint * np.log(joint * is_z.sum() / ((is_x & is_z).sum() * (is_y & is_z).sum()))
    return total


def _best_by_enumeration(data, names, given=None):
    weights = {pair: _information(data, *pair, given) for pair in combinations(names, 2)}
    trees = [edges for edges in combinations(weights, len(names) - 1) if nx.is_tree(nx.Graph(list(edges)))]
    assert len(trees) == len(names) ** (len(names) - 2)  # Cayley
    return max(sum(weights[edge] for edge in edges) for edges in trees), weights


@pytest.mark.parametrize("seed", range(4))
def test_a_chow_liu_tree_is_the_best_of_all_spanning_trees_whatever_its_root(seed):
    data = _data(seed)
    best, weights = _best_by_enumeration(data, NAMES)
    scores = set()
    for root in NAMES:
        found = learn_structure(data, "chow-liu", root=root)
        assert nx.is_tree(nx.Graph(list(found.graph.edges)))
        assert found.graph.roots == (root,)
        assert sum(weights[tuple(sorted(edge))] for edge in found.graph.edges) == pytest.approx(best)
        scores.add(round(found.score, 6))
    assert len(scores) == 1
    empty = sum(found.scores.family(name, ()) for name in NAMES)
    assert found.score == pytest.approx(empty + best)  # LL = -N Σ H(X) + N Σ MI
    assert found.stopped_by == "optimal"


@pytest.mark.parametrize("seed", range(3))
def test_the_features_of_tan_form_the_best_tree_given_the_class(seed):
    data = _data(seed, 200)
    best, weights = _best_by_enumeration(data, NAMES[1:], "a")
    graph = learn_structure(data, "tan", class_variable="a").graph
    assert all(graph.has_edge("a", name) for name in NAMES[1:])
    among = [edge for edge in graph.edges if "a" not in edge]
    assert sum(weights[tuple(sorted(edge))] for edge in among) == pytest.approx(best)


class _Weights(FamilyScores):
    """A weight for each edge, not the same both ways; more than one parent is out of the question."""

    def __init__(self, seed, mean=0.0):
        self.weights = np.random.default_rng(seed).normal(mean, 1.0, size=(4, 4))

    names = ("a", "b", "c", "d")

    def family(self, child, parents):
        return float(sum(self.weights[self.names.index(parent), self.names.index(child)] for parent in parents))


def _branchings(knowledge):
    """All forests on four nodes with at most one parent each that agree with what is known, as edges."""
    names = _Weights.names
    constraints = knowledge.on(names)
    for parents in product([None, *range(4)], repeat=4):
        edges = [(parent, child) for child, parent in enumerate(parents) if parent is not None]
        graph = nx.DiGraph(edges)
        is_known = all(constraints.allowed[edge] for edge in edges)
        is_acyclic = not edges or nx.is_directed_acyclic_graph(graph)
        if is_known and is_acyclic and all(map(graph.has_edge, *np.nonzero(constraints.required))):
            yield edges


@pytest.mark.parametrize("is_forest", [True, False])
@pytest.mark.parametrize(
    "knowledge",
    [Knowledge(), Knowledge(required="d -> a"), Knowledge(forbidden=[("a", "b"), ("b", "a")], tiers=[["c"], ["d"]])],
    ids=["nothing", "required", "forbidden"],
)
def test_where_directions_matter_a_branching_is_the_best_by_enumeration(knowledge, is_forest):
    for seed in range(6):
        scores = _Weights(seed)
        found = learn_tree(StructureTask(scores, knowledge), is_forest=is_forest)
        rivals = [edges for edges in _branchings(knowledge) if is_forest or len(edges) == 3]
        best = max(sum(scores.weights[edge] for edge in edges) for edges in rivals)
        assert found.trace[-1][1] == pytest.approx(best)


def test_a_forest_leaves_out_what_does_not_pay():
    rng = np.random.default_rng(0)
    x = rng.integers(0, 2, 300)
    data = {"x": x, "y": np.where(rng.random(300) < 0.1, 1 - x, x), "z": rng.integers(0, 2, 300)}
    assert learn_structure(data, "forest").graph.edges == (("x", "y"),)
    assert learn_structure(data, "chow-liu").graph.num_edges == 2


def test_a_tree_of_one_variable_has_no_edges():
    assert learn_structure({"a": [0, 1, 1]}, "chow-liu").graph.num_edges == 0


def test_trees_that_can_not_be_are_refused():
    task = StructureTask(_Weights(0), Knowledge(required="a -> c; b -> c"))
    refuses(InvalidArgument, "required edges", learn_tree, task)
    refuses(InvalidArgument, "Ask for a forest", learn_tree, StructureTask(_Weights(0), Knowledge(max_parents=0)))
    refuses(UnknownVariable, "'q'", learn_tree, task, root="q")
    refuses(UnknownVariable, "class", learn_tan, task, class_variable="q")
    with pytest.raises(InvalidArgument, match="'b' can't have it"):
        learn_tan(StructureTask(_Weights(0), Knowledge(forbidden=[("a", "b")])), class_variable="a")
