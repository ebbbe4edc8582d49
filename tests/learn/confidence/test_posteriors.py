"""Posteriors over graphs: exact sums, averages along orders and chains agree with the enumeration of all graphs."""

import math
from itertools import permutations, product

import networkx as nx
import numpy as np
import pytest

from plausible.cpds import TableCPD
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, TooLarge
from plausible.learn.confidence.chains import (
    GraphMoves,
    StructureWalk,
    order_posterior,
    sample_orders,
    sample_structures,
)
from plausible.learn.confidence.exact_posterior import edge_posterior, enumerate_posterior, score_sensitivity
from plausible.learn.confidence.model_average import ModelAverage
from plausible.learn.scores.score import FamilyFunction
from plausible.learn.structures.graph_search import Move
from plausible.learn.structures.knowledge import Knowledge
from plausible.models import BayesianNetwork
from plausible.search.chains import ChainLengths
from refusals import refuses

NAMES = ["d", "b", "a", "c"]


def _scores(seed, spread=2.0, offset=-500.0):
    """Any number for each family, as a table and as scores."""
    rng = np.random.default_rng(seed)
    sets = [tuple(p) for mask in product([0, 1], repeat=4) for p in [sorted(np.array(NAMES)[np.array(mask) > 0])]]
    table = {(child, p): offset + spread * rng.standard_normal() for child in NAMES for p in sets if child not in p}
    score = FamilyFunction(lambda child, parents: table[child, tuple(parents)])
    return table, score.on_data({name: [0, 1] for name in NAMES})


def _all_graphs():
    """All 543 acyclic graphs on four nodes, from all 4096 sets of edges."""
    pairs = list(permutations(NAMES, 2))
    for chosen in product([False, True], repeat=len(pairs)):
        graph = nx.DiGraph([pair for pair, there in zip(pairs, chosen, strict=True) if there])
        graph.add_nodes_from(NAMES)
        if nx.is_directed_acyclic_graph(graph):
            yield graph


GRAPHS = list(_all_graphs())


def _num_orders(graph):
    return sum(all(order.index(u) < order.index(v) for u, v in graph.edges) for order in permutations(NAMES))


NUM_ORDERS = [_num_orders(graph) for graph in GRAPHS]


def _posterior(table, counts=None, allowed=lambda graph: True):
    """The probability of each graph, and the log of the sum, plainly."""
    logs = np.array([sum(table[v, tuple(sorted(g.predecessors(v)))] for v in NAMES) for g in GRAPHS])
    weights = np.exp(logs - logs.max()) * (1 if counts is None else np.array(counts))
    weights *= [allowed(graph) for graph in GRAPHS]
    return weights / weights.sum(), logs.max() + math.log(weights.sum())


def _edge(weights, u, v):
    return sum(w for w, graph in zip(weights, GRAPHS, strict=True) if graph.has_edge(u, v))


def test_there_are_as_many_graphs_as_robinson_counted():
    assert len(GRAPHS) == 543
    graphs = enumerate_posterior({name: [0, 1] for name in "abcde"}, FamilyFunction(lambda child, parents: 0.0))
    assert len(graphs) == 29281


@pytest.mark.parametrize("seed", range(3))
@pytest.mark.parametrize("spread", [0.0, 2.0, 60.0])
@pytest.mark.parametrize("over", ["graphs", "orders"])
def test_exact_edge_posteriors_equal_enumeration_with_any_score(over, spread, seed):
    table, scores = _scores(seed, spread)
    weights, total = _posterior(table, NUM_ORDERS if over == "orders" else None)
    found = edge_posterior(scores, over=over)
    assert found.log_evidence == pytest.approx(total, abs=1e-9)
    for u, v in permutations(NAMES, 2):
        assert found.strengths.edge(u, v) == pytest.approx(_edge(weights, u, v), abs=1e-10)


@pytest.mark.parametrize("over", ["graphs", "orders"])
def test_exact_edge_posteriors_respect_knowledge(over):
    table, scores = _scores(4)
    known = Knowledge(required="c -> a", forbidden=[("b", "d")], max_parents=2)

    def allowed(graph):
        few = max(dict(graph.in_degree).values()) <= 2
        return few and graph.has_edge("c", "a") and not graph.has_edge("b", "d")

    weights, _ = _posterior(table, NUM_ORDERS if over == "orders" else None, allowed)
    found = edge_posterior(scores, knowledge=known, over=over).strengths
    for u, v in permutations(NAMES, 2):
        assert found.edge(u, v) == pytest.approx(_edge(weights, u, v), abs=1e-10)


def test_enumeration_gives_paths_blankets_and_any_feature():
    table, scores = _scores(5)
    weights, _ = _posterior(table)
    found = enumerate_posterior(scores)
    strengths = found.strengths()
    for u, v in permutations(NAMES, 2):
        assert strengths.edge(u, v) == pytest.approx(_edge(weights, u, v))
        path = sum(w for w, g in zip(weights, GRAPHS, strict=True) if nx.has_path(g, u, v))
        assert strengths.path(u, v) == pytest.approx(path)
        blanket = sum(
            w
            for w, g in zip(weights, GRAPHS, strict=True)
            if g.has_edge(u, v) or g.has_edge(v, u) or set(g.successors(u)) & set(g.successors(v))
        )
        assert strengths.blanket(u, v) == pytest.approx(blanket)
    separated = sum(w for w, g in zip(weights, GRAPHS, strict=True) if nx.is_d_separator(g, {"a"}, {"b"}, {"c"}))
    assert found.probability(lambda graph: graph.d_separated("a", "b", ["c"])) == pytest.approx(separated)


def test_average_given_an_order_equals_the_sum_over_its_graphs():
    table, scores = _scores(6)
    order = ["c", "d", "a", "b"]
    weights, total = _posterior(table, allowed=lambda g: all(order.index(u) < order.index(v) for u, v in g.edges))
    found = order_posterior(scores, order)
    assert found.log_evidence == pytest.approx(total)
    for u, v in permutations(NAMES, 2):
        assert found.strengths.edge(u, v) == pytest.approx(_edge(weights, u, v))


@pytest.mark.parametrize("sample", [sample_structures, sample_orders])
def test_chains_agree_with_enumeration_within_their_error(sample):
    """Over graphs and, with each graph as often as it has orders, over orders; edges, paths, blankets."""
    table, scores = _scores(7, spread=1.0)
    weights, _ = _posterior(table, NUM_ORDERS if sample is sample_orders else None)
    thin = 1 if sample is sample_orders else 2
    found = sample(scores, lengths=ChainLengths(num_draws=1000, burn_in=200 if thin > 1 else 50, thin=thin), seed=3)
    assert found.worst_r_hat < 1.05
    for u, v in permutations(NAMES, 2):
        place = found.strengths.names.index(u), found.strengths.names.index(v)
        error = found.standard_errors[place]
        assert 0 < error < 0.03
        assert abs(found.strengths.edge(u, v) - _edge(weights, u, v)) < 4.5 * error + 1e-9
        path = sum(w for w, g in zip(weights, GRAPHS, strict=True) if nx.has_path(g, u, v))
        assert found.strengths.path(u, v) == pytest.approx(path, abs=0.05)


def test_a_chain_over_graphs_visits_only_what_is_allowed():
    _, scores = _scores(8, spread=0.5)
    known = Knowledge(required="c -> a", forbidden=[("b", "d")], tiers=[["c"], ["d"]], max_parents=2)
    graphs = sample_structures(scores, knowledge=known, lengths=ChainLengths(200, 2, 10, 1)).graphs
    for place in range(0, len(graphs), 7):
        graph = graphs.graph(place)
        assert graph.has_edge("c", "a")
        assert not graph.has_edge("b", "d")
        assert not graph.has_edge("d", "c")
        assert max(len(graph.parents(name)) for name in NAMES) <= 2
    assert graphs.strengths().edge("a", "d") > 0


def test_moves_are_balanced():
    """P(G) q(G -> H) a(G -> H) is the same from H to G: weights of moves and of their reversals differ by the gain."""
    _, scores = _scores(9)
    moves, rng = GraphMoves(scores, Knowledge(max_parents=2)), np.random.default_rng(0)
    state = StructureWalk.begun(moves, rng)
    for _ in range(60):
        here = moves.around(state.families)
        for turn, child, parent in np.argwhere(np.isfinite(here.gains)).tolist():
            kind = "reverse" if turn else "delete" if here.adjacency[child, parent] else "add"
            after = moves.search.apply(state.families, Move(kind, parent, child))
            assert moves.search.is_legal(state.families, Move(kind, parent, child))
            gain = moves.search.score(after) - moves.search.score(state.families)
            assert here.gains[turn, child, parent] == pytest.approx(gain, abs=1e-9)
            there = moves.around(after)
            back = (1, parent, child) if turn else (0, child, parent)
            forth = here.log_weights[turn, child, parent]
            assert forth == pytest.approx(gain + there.log_weights[back], abs=1e-9)
        assert np.isfinite(here.gains).sum() == len(moves.search.operators(state.families))
        state = state.moved()


def test_chains_and_exact_sums_agree_on_data():
    rng = np.random.default_rng(2)
    a, b = rng.integers(0, 2, 60), rng.integers(0, 3, 60)
    rows = {"a": a, "b": b, "c": np.where(rng.random(60) < 0.7, a, b % 2), "d": rng.integers(0, 2, 60), "one": [1] * 60}
    exact = edge_posterior(rows, "bdeu").strengths
    chain = sample_structures(rows, "bdeu", lengths=ChainLengths(600, 4, 100, 2))
    assert (np.abs(exact.edges - chain.strengths.edges) < 4.5 * chain.standard_errors + 0.002).all()
    assert np.median(chain.standard_errors) < 0.02
    plain = enumerate_posterior(rows, "bdeu").strengths()
    assert np.abs(exact.edges - plain.edges).max() < 1e-9
    gaussian = {name: rng.standard_normal(40) for name in "xyz"}
    assert (
        np.abs(edge_posterior(gaussian).strengths.edges - enumerate_posterior(gaussian).strengths().edges).max() < 1e-9
    )


@pytest.mark.parametrize(
    "columns", [{}, {"a": [1, 0, 1]}, {"a": [1], "b": [0]}, {"a": [1, 1], "b": [0, 0], "c": [2, 2]}]
)
def test_tiny_and_constant_data_leave_graphs_equally_probable(columns):
    """Without a variable, with one, with one row, with constant columns: no graph is preferred."""
    lengths = ChainLengths(num_draws=50, num_chains=2, burn_in=5, thin=1)
    exact = edge_posterior(columns).strengths
    plain = enumerate_posterior(columns)
    assert len(plain) == [1, 1, 3, 25][len(columns)]
    assert plain.weights == pytest.approx(1 / len(plain))
    assert exact.edges == pytest.approx(plain.strengths().edges)
    for found in (sample_structures(columns, lengths=lengths), sample_orders(columns, lengths=lengths)):
        assert found.strengths.edges.shape == (len(columns), len(columns))


def test_seeds_repeat_and_columns_may_come_in_any_order():
    _, scores = _scores(10)
    lengths = ChainLengths(50, 2, 20, 2)
    for sample in (sample_structures, sample_orders):
        first, second = (sample(scores, lengths=lengths, seed=5).strengths.edges for _ in range(2))
        assert np.array_equal(first, second)
    rows = {"x": [0, 0, 1, 1, 1], "y": [0, 1, 1, 1, 0], "z": [1, 0, 1, 0, 0]}
    turned = {name: rows[name][::-1] for name in "zyx"}
    for sample in (sample_structures, sample_orders):
        one, other = (sample(data, lengths=lengths, seed=5).strengths for data in (rows, turned))
        assert one.edge("x", "y") == pytest.approx(other.edge("x", "y"))


def test_what_is_too_large_or_impossible_is_refused():
    rows = {f"v{place}": [0, 1] for place in range(20)}
    refuses(TooLarge, "sample_orders", edge_posterior, rows)
    refuses(TooLarge, "edge_posterior", enumerate_posterior, rows)
    _, scores = _scores(1)
    with pytest.raises(InvalidArgument, match="against it"):
        order_posterior(scores, ["a", "b", "c", "d"], knowledge=Knowledge(required="c -> a"))
    refuses(InvalidArgument, "each variable once", order_posterior, scores, ["a", "b"])
    refuses(NotSupported, "paths", edge_posterior(scores).strengths.path, "a", "b")
    with pytest.raises(InvalidArgument, match="has a score"):
        edge_posterior({"a": [0, 1]}, FamilyFunction(lambda child, parents: -math.inf))


def _coins(*rows):
    return BayesianNetwork(TableCPD("x", rows[0]), TableCPD("y", rows[1:], parents=["x"]))


def test_average_of_queries_weighs_networks_by_what_they_say_of_the_evidence():
    first, second = _coins([0.2, 0.8], [0.5, 0.5], [0.1, 0.9]), _coins([0.7, 0.3], [0.9, 0.1], [0.4, 0.6])
    average = ModelAverage.of([first, second], [3, 1])
    joint = 0.75 * first.joint().values + 0.25 * second.joint().values
    assert average.query(["x", "y"]).values == pytest.approx(joint)
    assert average.query("x", {"y": 1}).values == pytest.approx(joint[:, 1] / joint[:, 1].sum())
    assert average.log_probability({"y": 1}) == pytest.approx(math.log(joint[:, 1].sum()))
    sure = ModelAverage.of([_coins([1, 0], [1, 0], [1, 0])], [1])
    with pytest.raises(ImpossibleEvidence):
        sure.query("x", {"y": 1})


def test_average_over_all_graphs_is_the_sum_over_learned_networks():
    rng = np.random.default_rng(1)
    rows = {"x": rng.integers(0, 2, 30), "y": rng.integers(0, 2, 30)}
    graphs = enumerate_posterior(rows)
    average = ModelAverage.learn(graphs, rows)
    assert len(average.networks) == 3
    expected = sum(
        w * n.joint().reorder(["x", "y"]).values for n, w in zip(average.networks, average.weights, strict=True)
    )
    assert average.query(["x", "y"]).values == pytest.approx(expected)
    assert len(ModelAverage.learn(graphs.as_classes(), rows, most=1).networks) == 1


def test_varied_scores_show_which_edges_depend_on_the_choice():
    """A constant number more for an edge scales the odds of graphs with it: odds 2 e^x to 1 for the pair."""
    rows = {"x": [0, 1], "y": [0, 1], "z": [0, 1]}

    def score(bonus):
        """Graphs with edges at z hardly count."""
        return FamilyFunction(
            lambda child, parents: -99.0 * ("z" in (child, *parents)) * len(parents) + bonus * bool(parents)
        )

    scores = {str(bonus): score(bonus) for bonus in (-2, 0, 3)}
    found = score_sensitivity(rows, scores)
    shares = [2 * math.exp(bonus) / (1 + 2 * math.exp(bonus)) for bonus in (-2, 0, 3)]
    frame = found.to_frame()
    assert frame.iloc[0].tolist()[:2] == ["x", "y"]
    assert frame.iloc[0].tolist()[2:] == pytest.approx([*shares, shares[2] - shares[0]])
    assert found.ranges[0, 2] == pytest.approx(0, abs=1e-9)


def test_edges_of_a_posterior_stand_out_if_they_are_more_probable_than_not():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 2, 40) for name in "abcd"}
    for strengths in (edge_posterior(data).strengths, enumerate_posterior(data).as_classes().strengths()):
        assert strengths.threshold == 0.5
        assert all(strengths.strength(*edge) > 0.5 for edge in strengths.consensus().edges)


def test_advice_names_the_quantity_and_what_was_not_tried():
    rng = np.random.default_rng(0)
    data = {name: rng.integers(0, 2, 40) for name in "abcd"}
    lengths = ChainLengths(num_draws=4, num_chains=4, burn_in=0, thin=1)
    orders, graphs = (sample(data, lengths=lengths, seed=1) for sample in (sample_orders, sample_structures))
    assert "R-hat of" in orders.advice
    assert "sample orders" not in orders.advice
    assert "sample orders" in graphs.advice
    assert graphs.advice in str(graphs).splitlines()


def test_lengths_that_are_none_are_refused():
    for sample in (sample_orders, sample_structures):
        refuses(InvalidArgument, "ChainLengths", sample, {"a": [0, 1]}, lengths=300)


def test_posteriors_print_briefly():
    data = {"a": [0, 1] * 10, "b": [0, 1] * 10}
    assert "log evidence" in str(edge_posterior(data))
    assert "3 graphs over 2 variables" in str(enumerate_posterior(data))
    assert "array" not in repr(enumerate_posterior(data)) + repr(edge_posterior(data))


@pytest.mark.parametrize("sample", [sample_orders, sample_structures])
def test_chains_over_graphs_and_orders_stop_when_told_and_go_no_further(sample):
    """A true answer of progress= ends with the draws made by then; too few draws are refused."""
    rows = {"a": [0, 1] * 10, "b": [0, 0, 1, 1] * 5}
    lengths = ChainLengths(num_draws=50, num_chains=2, burn_in=4, thin=1)
    stopped = sample(rows, lengths=lengths, progress=lambda told: told.num_steps == 14)
    assert len(stopped.graphs) == 20
    assert (stopped.stopped_by, stopped.num_steps, len(stopped.states)) == ("interrupted", 14, 2)
    with pytest.raises(InvalidArgument, match="stopped by time_limit= after 0 of 54 steps, before 4 draws"):
        sample(rows, lengths=lengths, time_limit=0)
