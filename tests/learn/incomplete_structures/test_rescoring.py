"""Greedy search with EM for each candidate: against its own definition, and against what it is faster than."""

import pickle
from itertools import permutations, product

import numpy as np
import pytest

from completion_oracle import incomplete_table
from family_oracle import RandomScores
from incomplete_rows import holes, oracle_bic
from marked_graph_oracles import is_acyclic
from network_oracle import random_network
from plausible.cpds import TableCPD
from plausible.graphs import DAG, erdos_renyi_dag
from plausible.learn.incomplete.em import learn_em
from plausible.learn.incomplete_structures.completion import GraphJudge, read_cases
from plausible.learn.incomplete_structures.rescoring import (
    RescoringRules,
    frozen_network,
    graph_moves,
    learn_by_rescoring,
)
from plausible.learn.scores.dirichlet import BDeuScore
from plausible.learn.scores.penalized import BIC, LogLikelihood
from plausible.learn.structures.graph_search import GraphSearch
from plausible.learn.structures.knowledge import Knowledge
from plausible.models import BayesianNetwork
from plausible.search.run import Stops

RULES = [
    RescoringRules(),
    RescoringRules(lifetime=3),
    RescoringRules(shortlist=3),
    RescoringRules(lifetime=4, shortlist=3),
]


@pytest.mark.parametrize("rules", RULES, ids=["full", "stale", "two-stage", "both"])
def test_the_score_rises_with_each_move_to_a_graph_that_no_fitted_move_improves(rules):
    data = holes(1, num_rows=120)
    found = learn_by_rescoring(data, start="empty", rules=rules)
    assert found.stopped_by == "converged"
    assert sorted(set(found.trace)) == list(dict.fromkeys(found.trace))  # a step that makes no move leaves the score
    assert found.graph.is_adjacent("p", "q")
    assert found.graph.is_adjacent("q", "r")
    assert pickle.loads(pickle.dumps(found.run)).trace == found.trace


@pytest.mark.slow
def test_a_shortlist_and_older_gains_save_fits():
    data = holes(2, num_rows=100) | {f"{name}2": column for name, column in holes(3, num_rows=100).items()}
    del data["s"], data["r2"], data["s2"]
    full, *fewer = (learn_by_rescoring(data, start="empty", rules=rules) for rules in RULES)
    assert all(found.state.num_fits < full.state.num_fits for found in fewer)
    assert all(found.score == pytest.approx(full.score, abs=0.05) for found in fewer)


@pytest.mark.parametrize("seed", range(4))
def test_frozen_parameters_bound_the_likelihood_of_every_move_from_below(seed):
    """l(changed tables fitted alone) lies between those of the best old and the best new parameters."""
    rng = np.random.default_rng(seed)
    net = random_network(rng, num_variables=3, zeros=0.0)
    table, rows, weights = incomplete_table(net, rng, 60)
    judge = GraphJudge(read_cases(table), BIC(), stops=Stops(tolerance=1e-12, max_steps=2000))
    first = learn_em(net.graph, table, tolerance=1e-12).network
    moves = graph_moves(first.graph, Knowledge().on(list(first.variables)))
    for move, graph in moves.items():
        frozen = frozen_network(judge, first, graph)
        assert set(frozen.graph.edges) == set(graph.edges)
        fitted = judge.fit(graph, frozen)
        assert oracle_bic(frozen, rows, weights) <= oracle_bic(fitted.network, rows, weights) + 1e-6
        if move.kind == "add":
            dims = [oracle_bic(n, rows, weights) for n in (frozen, first)]
            free = np.log(max(weights.sum(), 1.0)) / 2 * (_dimension(frozen) - _dimension(first))
            assert dims[0] + free >= dims[1] - 1e-6


def _dimension(net):
    return sum(np.prod(c.values.shape[:-1], initial=1.0) * (c.values.shape[-1] - 1) for c in net.cpds.values())


@pytest.mark.parametrize("seed", range(40))
def test_moves_are_all_graphs_that_differ_by_one_edge_and_are_allowed(seed):
    """Of any step by one edge: no cycle, all required edges, no new edge that is forbidden, room for a new parent.

    So do the moves of local searches, which keep them in another form.
    """
    rng = np.random.default_rng(seed)
    names = list("abcd")
    start = erdos_renyi_dag(4, 0.5, nodes=names, seed=seed)
    pairs = list(permutations(names, 2))
    required = [edge for edge in start.edges if rng.random() < 0.2]
    forbidden = [edge for edge in pairs if edge not in start.edges and rng.random() < 0.3]
    most = max(len(start.parents(name)) for name in names) + int(rng.integers(2))
    knowledge = Knowledge(required=required, forbidden=forbidden, max_parents=most)
    expected = set()
    for kind, (parent, child) in product(("add", "delete", "reverse"), pairs):
        before, edge = set(start.edges), (parent, child)
        if (edge in before) == (kind == "add") or (kind == "add" and edge[::-1] in before):
            continue
        after = before | {edge} if kind == "add" else before - {edge}
        after |= {edge[::-1]} if kind == "reverse" else set()
        num_parents = max(sum(head == name for _, head in after) for name in names)
        is_known = set(required) <= after and not (after - before) & set(forbidden) and num_parents <= most
        if is_known and is_acyclic(names, after):
            expected.add((kind, parent, child))
    moves = graph_moves(start, knowledge.on(names))
    assert set(moves) == expected
    for (kind, parent, child), graph in moves.items():
        after = set(start.edges) ^ {(parent, child)}
        assert set(graph.edges) == (after | {(child, parent)} if kind == "reverse" else after)
    local = GraphSearch(RandomScores(4, seed, names=names), knowledge)
    found = local.operators(local.state(start))
    assert {(kind, names[parent], names[child]) for kind, parent, child in found} == expected


@pytest.mark.parametrize("score", [LogLikelihood(), BDeuScore(2.0)], ids=["likelihood", "cheeseman-stutz"])
def test_what_an_edge_gains_depends_on_edges_elsewhere_where_a_cluster_is_hidden(score):
    """Four graphs: with and without C -> x3, C -> x4. On complete data both gains would be the same."""
    rng = np.random.default_rng(5)
    kind = rng.integers(0, 2, 400)
    data = {f"x{i}": np.where(rng.random(400) < 0.85, kind, 1 - kind) for i in range(1, 5)}
    prior = None if isinstance(score, LogLikelihood) else "bdeu"
    judge = GraphJudge(read_cases(data, {"C": 2}), score, prior, stops=Stops(tolerance=1e-6, max_steps=200))

    def fitted(*children):
        graph = DAG([("C", f"x{child}") for child in (1, 2, *children)], nodes=judge.cases.variables)
        runs = [judge.fit(graph, judge.start(graph, np.random.default_rng(seed))).score for seed in range(3)]
        return max(runs)

    g00, g10, g01, g11 = fitted(), fitted(3), fitted(4), fitted(3, 4)
    assert abs((g10 - g00) - (g11 - g01)) > 5.0


def test_a_start_whose_tables_have_their_parents_in_another_order_than_the_graph_is_read_right():
    """b copies a and c is a coin: with the axes of P(b | c, a) taken for those of P(b | a, c), no row with a = 1 and
    b = 1 could happen; and with more states of c the table would not fit at all."""
    for num_states in (2, 3):
        copied = [[[1.0, 0.0], [0.0, 1.0]]] * num_states
        coin = TableCPD("c", np.full(num_states, 1 / num_states))
        start = BayesianNetwork(TableCPD("a", [0.5, 0.5]), coin, TableCPD("b", copied, ["c", "a"]))
        data = {"a": [0, 1, 1, 0, None], "c": [0, 0, 1, 1, 0], "b": [0, 1, 1, 0, 1]}
        judge = GraphJudge(read_cases(data, (), start), LogLikelihood())
        graph = DAG("a -> b; c -> b")
        assert graph.parents("b") != start.cpd("b").parent_names
        fitted = judge.fit(graph, start)
        assert fitted.log_likelihood >= start.compile().log_likelihood(data).sum() - 1e-9
        assert fitted.network.query("b", {"a": 1, "c": 0})[1] == 1.0


def test_the_order_of_parents_changes_no_run():
    """The same network, with its tables transposed, leads to the same graph and likelihood."""
    data = holes(4, num_rows=80)
    first = learn_by_rescoring(data, start="p -> q; r -> q", rules=RescoringRules(max_steps=0)).network
    turned = first.with_cpd(TableCPD("q", first.cpd("q").values.transpose(1, 0, 2), ["r", "p"]))
    assert turned.cpd("q").parent_names == first.cpd("q").parent_names[::-1]
    one, other = (learn_by_rescoring(data, start=net, rules=RescoringRules(max_steps=2)) for net in (first, turned))
    assert one.trace == pytest.approx(other.trace, rel=1e-9)
    assert set(one.graph.edges) == set(other.graph.edges)


@pytest.mark.parametrize("seed", range(4))
def test_the_last_digits_of_scores_neither_choose_the_graph_nor_make_data_impossible(seed, monkeypatch):
    """a -> b and b -> a have the same score, so that another processor might fit either first: names decide."""
    rng, exact = np.random.default_rng(seed), GraphJudge.score_of
    monkeypatch.setattr(GraphJudge, "score_of", lambda *args: exact(*args) * (1 + 1e-15 * rng.uniform(-1, 1)))
    rows = {"a": [0, 1, None, 1, 0, 1] * 20, "b": [0, 1, 0, None, 0, 1] * 20, "c": [0, 0, 1, 1, 0, None] * 20}
    found = learn_by_rescoring(rows, rules=RescoringRules(shortlist=2))
    assert found.graph.edges == (("a", "b"),)
    assert found.score == pytest.approx(-160.054014, abs=1e-4)


def test_it_can_be_stopped():
    assert learn_by_rescoring(holes(3), rules=RescoringRules(progress=lambda state: True)).stopped_by == "interrupted"
    assert learn_by_rescoring(holes(3), rules=RescoringRules(time_limit=0.0)).stopped_by == "time limit"
    assert learn_by_rescoring(holes(3), start="empty", rules=RescoringRules(max_steps=1)).stopped_by == "step limit"
