"""Search over interventional classes, and choice of experiments, against listing all graphs of a class."""

from __future__ import annotations

import math
from collections import Counter
from itertools import pairwise

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from class_moves import moves_of
from graph_strategies import dags
from marked_graph_oracles import is_acyclic
from plausible.causal.interventional.class_search import (
    after_turn,
    class_turns,
    gies,
    is_valid_turn,
    search_interventional_classes,
)
from plausible.causal.interventional.experiments import (
    after_experiment,
    check_regimes,
    choose_experiment,
    experiment_information,
    plan_experiments,
    rank_experiments,
    regimes,
)
from plausible.data.moments import Moments
from plausible.data.statistics import MomentStatistics
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable
from plausible.graphs import DAG, PDAG, class_members, class_size, erdos_renyi_dag, essential_graph, random_tree
from plausible.graphs.classes import interventional_class_members, interventional_essential_graph
from plausible.learn.confidence.weighted_graphs import WeightedGraphs
from plausible.learn.scores.gaussian import GaussianLikelihood
from plausible.learn.scores.reading import read_score
from plausible.learn.structures.exact.class_graph import ClassGraph, dag_of, masks_of
from plausible.learn.structures.knowledge import Knowledge
from plausible.variables import Variable
from refusals import refuses
from score_oracles import random_columns


def neighbours_of(graph, kind):
    """The graphs that one edge more, less or turned makes of a graph."""
    arrows, nodes = set(graph.edges), graph.nodes
    if kind == "insert":
        changed = [arrows | {(a, b)} for a in nodes for b in nodes if a != b and not graph.is_adjacent(a, b)]
    elif kind == "delete":
        changed = [arrows - {arrow} for arrow in arrows]
    else:
        changed = [arrows - {arrow} | {arrow[::-1]} for arrow in arrows]
    return [DAG(sorted(each), nodes=nodes) for each in changed if is_acyclic(nodes, each)]


def reached_by(essential, member, kind):
    """The graphs that the moves of a class lead to, made from one of its graphs."""
    names = range(len(essential.names))
    if kind == "turn":
        turns = [turn for y in names for turn in class_turns(essential, y)]
        return [after_turn(essential, turn) for turn in turns if is_valid_turn(essential, turn)]
    return [dag_of(essential.after(move, member), essential.names) for move in moves_of(essential, kind)]


@pytest.mark.parametrize("kind", ["insert", "delete", "turn"])
@settings(max_examples=16, deadline=None)
@given(graph=dags(5, 2), data=st.data())
def test_moves_lead_exactly_to_the_classes_that_one_edge_of_some_member_makes(kind, graph, data):
    check_moves(kind, graph, data.draw(st.lists(st.sets(st.sampled_from(graph.nodes)), max_size=2)))


@pytest.mark.parametrize("kind", ["insert", "delete", "turn"])
@pytest.mark.parametrize("more", ["x -> n", "x -> m -> n; x -> n; y -> m", "n -> v; y -> v"])
def test_moves_are_found_where_ways_round_an_edge_go_through_neighbours(kind, more):
    """y -> x may be turned though y -> n - x leads there too: n may come after x."""
    check_moves(kind, DAG(f"w -> y; z -> y; y -> x; y -> n; {more}"), [])


def check_moves(kind, graph, targets):
    essential = interventional_essential_graph(graph, targets)
    members = list(interventional_class_members(essential))
    expected = {
        interventional_essential_graph(other, targets) for member in members for other in neighbours_of(member, kind)
    }
    found = [
        interventional_essential_graph(g, targets)
        for g in reached_by(ClassGraph.of(essential, graph.nodes), masks_of(graph, graph.nodes), kind)
    ]
    assert set(found) == expected - {essential}
    assert len(found) < 8 * (len(expected) + 1)


@pytest.mark.parametrize("seed", range(4))
def test_a_turn_changes_the_score_by_what_its_bases_say(seed):
    """score(y, y_base + x) - score(y, y_base) + score(x, x_base) - score(x, x_base + y), with BIC of the graphs."""
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, [2, 3, 2, 2, 2], 50)
    names, scores = sorted(columns), read_score("bic").on_data(Table.read(columns))
    num_turns = 0
    for number in range(6):
        graph = DAG(erdos_renyi_dag(5, 0.6, nodes=names, seed=10 * seed + number).edges, nodes=names)
        essential = ClassGraph.of(essential_graph(graph), names)
        for turn in [turn for y in range(5) for turn in class_turns(essential, y) if is_valid_turn(essential, turn)]:
            x_base, y_base = ([names[v] for v in range(5) if mask >> v & 1] for mask in (turn.x_base, turn.y_base))
            x, y = names[turn.x], names[turn.y]
            gain = scores.family(y, [*y_base, x]) - scores.family(y, y_base)
            gain += scores.family(x, x_base) - scores.family(x, [*x_base, y])
            assert gain == pytest.approx(scores.graph(after_turn(essential, turn)) - scores.graph(graph), abs=1e-8)
            num_turns += 1
    assert num_turns > 10


@settings(max_examples=8, deadline=None)
@given(seed=st.integers(0, 10**6), num_rows=st.integers(0, 60))
def test_search_ends_where_no_neighbour_of_any_member_is_better_and_members_score_alike(seed, num_rows):
    rng = np.random.default_rng(seed)
    columns = random_columns(rng, [2, 3, 2, 2], num_rows)
    names = list(columns)
    sets = {name: rng.random(num_rows) < 0.4 for name in names[:2]}
    if any(mask.all() for mask in sets.values()):
        return
    variables = [Variable(name, size) for name, size in zip(names, [2, 3, 2, 2], strict=True)]
    table = Table.read(columns, variables, interventions=sets)
    for score in ("bic", "bdeu:2"):
        found = gies(table, score)
        scores = read_score(score).on_data(table)
        assert found.stopped_by == "local maximum"
        for member in interventional_class_members(found.graph):
            assert scores.graph(member) == pytest.approx(found.score, abs=1e-7)
            for kind in ("insert", "delete", "turn"):
                for other in neighbours_of(member, kind):
                    assert scores.graph(other) <= found.score + 1e-6
        assert found.graph == interventional_essential_graph(found.member, found.targets)
        assert all(before <= after for before, after in pairwise(found.trace))


# --- exact moments: many rows without noise ---


def exact_scores(graph, targets, rng, num_rows=1e7):
    """BIC on the moments themselves of a linear model in each experiment, in which targets are mere noise."""
    nodes = list(graph.nodes)
    place = {node: number for number, node in enumerate(nodes)}
    weights = np.zeros((len(nodes), len(nodes)))
    for a, b in graph.edges:
        weights[place[a], place[b]] = rng.uniform(0.5, 1.2) * rng.choice([-1, 1])
    noise = rng.uniform(0.6, 1.4, len(nodes))
    moments = []
    for target in targets:
        cut, own = weights.copy(), noise.copy()
        cut[:, [place[node] for node in target]] = 0
        own[[place[node] for node in target]] = rng.uniform(1.5, 3.0, len(target))
        spread = np.linalg.inv(np.eye(len(nodes)) - cut)
        moments.append(Moments(num_rows, num_rows, np.zeros(len(nodes)), num_rows * spread.T @ np.diag(own) @ spread))

    def total(parts):
        scatter = np.sum([part.scatter for part in parts], axis=0)
        weight = sum(part.weight for part in parts)
        return Moments(weight, weight, np.zeros(len(nodes)), scatter)

    own = {
        node: total([part for part, target in zip(moments, targets, strict=True) if node not in target])
        for node in nodes
        if any(node in target for target in targets)
    }
    variables = {node: Variable(node) for node in nodes}
    return GaussianLikelihood().on(MomentStatistics(variables, total(moments), own))


def test_search_with_exact_scores_finds_the_true_class_of_nearly_all_graphs_and_never_a_better_one():
    """The true class has the highest score; greedy steps from no edges reach it in at least nine graphs of ten."""
    rng = np.random.default_rng(1)
    num_found, num_more = 0, 0
    for seed in range(16):
        graph = erdos_renyi_dag(7, 0.35, seed=seed)
        targets = [(), *({str(node)} for node in rng.choice(graph.nodes, size=2, replace=False))]
        scores = exact_scores(graph, targets, rng)
        truth = interventional_essential_graph(graph, targets)
        found = search_interventional_classes(scores, targets)
        assert found.score <= scores.graph(graph) + 1e-6 * abs(found.score)
        num_found += found.graph == truth
        num_more += len(truth.directed_edges) > len(essential_graph(graph).directed_edges)
        from_truth = search_interventional_classes(scores, targets, start=graph)
        assert from_truth.graph == truth
    assert num_found >= 14
    assert num_more >= 6  # experiments do direct edges that observation leaves open


def test_scores_orient_a_chain_as_theory_says():
    """An experiment at X2 of X1 -> ... -> X5 directs its own edges and those after it, and no other."""
    names = [f"X{i}" for i in range(1, 6)]
    chain = DAG(list(pairwise(names)))
    for target in names:
        scores = exact_scores(chain, [(), {target}], np.random.default_rng(3))
        found = search_interventional_classes(scores, [{target}])
        assert found.graph == interventional_essential_graph(chain, [[target]])
        first = max(names.index(target) - 1, 0)
        assert set(found.graph.directed_edges) == set(pairwise(names[first:]))


# --- options and refusals ---


def two_columns(num_rows=200):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, num_rows)
    b = np.where(rng.random(num_rows) < 0.85, a, 1 - a)
    return {"a": a.tolist(), "b": b.tolist()}


def test_observation_alone_gives_the_class_of_observation():
    found = gies(two_columns())
    assert (found.graph, found.targets, found.size) == (PDAG("a - b"), (), 2)
    assert gies(Table.read({"a": ["x"]})).graph == PDAG(nodes=["a"])


def test_search_goes_on_from_where_it_was_stopped():
    rng = np.random.default_rng(5)
    columns = random_columns(rng, [2, 2, 3, 2, 2], 300)
    table = Table.read(columns, interventions={"A": np.arange(300) < 100})
    told = []
    whole = gies(table, progress=told.append)
    assert [step.num_steps for step in told] == list(range(1, len(told) + 1))
    first = gies(table, progress=lambda step: step.num_steps == 2)
    assert first.stopped_by == "interrupted"
    assert gies(table, start=first.member).score == pytest.approx(whole.score)
    assert gies(table, time_limit=0.0).stopped_by == "time limit"
    assert gies(table, knowledge=Knowledge(max_parents=0)).graph.num_edges == 0


def test_what_can_not_be_searched_is_refused_by_name():
    columns = two_columns(4)
    with pytest.raises(InvalidArgument, match="'a' was set from outside in all rows"):
        gies(Table.read(columns, interventions={"a": [True] * 4}))
    refuses(NotSupported, "K2Score", gies, columns, "k2")
    refuses(NotSupported, "'a' is missing in 1 row: ", gies, {**columns, "a": [None, 0, 1, 1]})
    refuses(InvalidArgument, "'z'", gies, columns, start="a -> z")


def test_regimes_part_the_rows_by_what_was_set():
    table = Table.read({"a": [0, 1, 0, 1], "b": [0, 1, 1, 0]}, interventions=["b", None, "a,b", "b"])
    found = regimes(table)
    assert [(regime.targets, regime.table.num_rows) for regime in found] == [((), 1), (("b",), 2), (("a", "b"), 1)]
    assert found[1].table.codes.tolist() == [[0, 1], [0, 0]]
    assert not any(regime.table.interventions for regime in found)
    assert [regime.targets for regime in regimes({"a": [0, 1]})] == [()]


@pytest.mark.parametrize("kind", ["states", "numbers"])
def test_mutilated_graphs_are_rejected_in_the_experiments_that_contradict_them(kind):
    """a -> b -> c: observation rejects neither it nor c -> b -> a, but rows of do(b) say that b has no cause in c."""
    rng = np.random.default_rng(2)
    is_set = np.arange(3000) % 2 == 0
    root, other = rng.normal(size=(2, 3000)) if kind == "numbers" else rng.integers(0, 2, size=(2, 3000))

    def effect(cause):
        if kind == "numbers":
            return cause + 0.7 * rng.normal(size=3000)
        return np.where(rng.random(3000) < 0.8, cause, 1 - cause)

    middle = np.where(is_set, other, effect(root))
    table = Table.read({"a": root, "b": middle, "c": effect(middle)}, interventions={"b": is_set})
    assert check_regimes("a -> b -> c", table).violations == ()
    assert check_regimes("c -> b -> a", table.take(~is_set)).violations == ()
    found = check_regimes("c -> b -> a", table).violations
    assert {(test.targets, frozenset((test.x, test.y))) for test in found} == {(("b",), frozenset("bc"))}
    assert check_regimes("a -> b -> c", Table.read(table, interventions={"b": [True] * 3000})).violations  # marks lie
    few = check_regimes("c -> b -> a", table.take(np.arange(4)))
    assert few.violations == ()
    refuses(UnknownVariable, "'z'", check_regimes, "a -> z", table)
    refuses(InvalidArgument, "alpha=", check_regimes, "a -> b", table, alpha=2)


def test_graphs_with_latent_causes_are_tested_by_m_separation():
    """a -> b <-> c: a and c are independent given nothing, not given b; pairs that nothing separates are left alone."""
    rng = np.random.default_rng(0)
    a, unseen, first, second = rng.normal(size=(4, 800))
    rows = {"a": a, "b": a + unseen + first, "c": unseen + second, "set": [None] * 800}
    table = Table.read(rows, interventions="set")
    found = check_regimes("a -> b <-> c", table)
    assert [(test.x, test.y, test.given) for test in found.tests] == [("a", "c", ())]
    assert found.violations == ()
    assert check_regimes("a -> c <-> b", table).violations
    assert check_regimes("a -> b -> c; b <-> c", table).tests == ()


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
    refuses(UnknownVariable, "'X'", rank_experiments, PDAG("A - B"), candidates="X")
    refuses(InvalidArgument, "criterion=", rank_experiments, PDAG("A - B"), criterion="luck")
    refuses(InvalidArgument, "'C' can't be a cause of 'A'", after_experiment, PDAG("A - B - C"), "A", "C")
    refuses(InvalidArgument, "can't both be causes of 'B'", after_experiment, PDAG("A - B - C"), "B", ["A", "C"])
    refuses(InvalidArgument, "no essential graph", rank_experiments, PDAG("A -> B - C"))
    refuses(InvalidArgument, "undirected edges", experiment_information, WeightedGraphs.of([PDAG("A - B")]))
