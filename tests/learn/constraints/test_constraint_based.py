"""Learners that ask for independence: right with an oracle, and consistent without."""

import math
from functools import partial
from itertools import combinations

import numpy as np
import pytest

from benchmark_networks import benchmark_network
from plausible.causal.discovery.fci import fci
from plausible.errors import CyclicGraph, InvalidArgument, InvalidGraph, PlausibleWarning, UnknownVariable
from plausible.graphs import DAG, PDAG, essential_graph, immoralities
from plausible.graphs.equivalence import near_extension
from plausible.graphs.random import erdos_renyi_dag
from plausible.learn.constraint_based.blanket_structure import markov_blanket, structure_from_blankets
from plausible.learn.constraint_based.orientation import CopyGuard
from plausible.learn.constraint_based.parents_and_children import parents_and_children
from plausible.learn.constraint_based.pc import ConstraintResult, pc
from plausible.learn.constraint_based.skeleton import largest_accepted
from plausible.learn.estimation.priors import BDeu
from plausible.learn.independence.count_tests import GTest
from plausible.learn.independence.independence_test import DSeparationOracle, FunctionTest
from plausible.learn.learned_parameters import learn_parameters
from plausible.learn.learned_structure import learn_structure
from plausible.learn.scores.score import CountScore
from plausible.learn.structures.knowledge import Knowledge
from refusals import refuses

VARIANTS = ["stable", "original", "majority", "conservative"]
METHODS = ["grow-shrink", "iamb", "inter-iamb"]


def _random_dags(number, max_nodes=8):
    return [erdos_renyi_dag(seed % (max_nodes + 1), 0.15 + 0.1 * (seed % 5), seed=seed) for seed in range(number)]


class _BIC(CountScore):
    is_score_equivalent = True

    def of_counts(self, counts, total):
        rows = counts.sum(axis=2, keepdims=True)
        terms = counts * np.log(np.where(counts > 0, counts / np.maximum(rows, 1), 1.0))
        penalty = 0.5 * math.log(total) * counts.shape[1] * (counts.shape[2] - 1)
        return terms.sum(axis=(1, 2)) - penalty


def _sample(dag, num_rows, seed):
    """Binary columns; each parent pulls the same way."""
    rng, columns = np.random.default_rng(seed), {}
    for node in dag.topological_order:
        pull = sum((2 * columns[parent] - 1 for parent in dag.parents(node)), np.zeros(num_rows))
        columns[node] = (rng.random(num_rows) < 1 / (1 + np.exp(-1.7 * pull))).astype(int)
    return {node: columns[node] for node in dag.nodes}


@pytest.mark.parametrize("variant", VARIANTS)
def test_pc_with_an_oracle_finds_the_essential_graph(variant):
    for dag in _random_dags(60, max_nodes=7):
        found = pc(DSeparationOracle(dag), variant=variant)
        assert found.graph == essential_graph(dag)
        assert (found.conflicts, found.ambiguous, found.stopped_by) == ((), (), "")
        for pair, given in found.separating_sets.items():
            assert dag.d_separated(*pair, given=given)
        non_edges = {pair for pair in map(frozenset, combinations(dag.nodes, 2)) if not dag.is_adjacent(*pair)}
        assert set(found.separating_sets) == non_edges


@pytest.mark.slow
@pytest.mark.parametrize("variant", VARIANTS)
def test_pc_with_an_oracle_finds_the_essential_graphs_of_thousands_of_graphs(variant):
    for seed in range(3000):
        dag = erdos_renyi_dag(2 + seed % 9, 0.1 + 0.1 * (seed % 4), seed=seed)
        assert pc(DSeparationOracle(dag), variant=variant).graph == essential_graph(dag), seed


@pytest.mark.slow
@pytest.mark.parametrize("method", METHODS)
def test_blankets_with_an_oracle_give_the_essential_graphs_of_thousands_of_graphs(method):
    for seed in range(2000):
        dag = erdos_renyi_dag(2 + seed % 8, 0.1 + 0.1 * (seed % 4), seed=seed)
        assert structure_from_blankets(DSeparationOracle(dag), method=method).graph == essential_graph(dag), seed


@pytest.mark.parametrize("method", METHODS)
def test_blankets_with_an_oracle_are_those_of_the_graph_and_give_the_essential_graph(method):
    for dag in _random_dags(45, max_nodes=7):
        oracle = DSeparationOracle(dag)
        for node in dag.nodes:
            found = markov_blanket(oracle, node, method=method)
            assert set(found.blanket) == set(dag.markov_blanket(node))
            assert {step.name for step in found.trace} >= set(found.blanket)
        assert structure_from_blankets(oracle, method=method).graph == essential_graph(dag)


def test_parents_and_children_with_an_oracle_are_the_neighbours():
    for dag in _random_dags(45, max_nodes=7):
        for node in dag.nodes:
            expected = {*dag.parents(node), *dag.children(node)}
            assert set(parents_and_children(DSeparationOracle(dag), node).neighbors) == expected


@pytest.mark.parametrize("variant", VARIANTS)
def test_knowledge_that_is_true_directs_more_and_takes_nothing_away(variant):
    for number, dag in enumerate(_random_dags(42, max_nodes=6)):
        if dag.num_edges < 2:
            continue
        required, order = [dag.edges[0]], list(dag.topological_order)
        half = len(order) // 2
        absent = [(a, b) for a, b in combinations(order, 2) if not dag.is_adjacent(a, b)][:1]
        knowledge = Knowledge(
            required=required,
            forbidden=[*absent, *(pair[::-1] for pair in absent)],
            tiers=[order[:half], order[half:]] if number % 2 else (),
        )
        found = pc(DSeparationOracle(dag), variant=variant, knowledge=knowledge).graph
        assert found.skeleton() == dag.skeleton()
        assert set(found.directed_edges) <= set(dag.edges)
        assert set(found.directed_edges) >= {*required, *essential_graph(dag).directed_edges}
        if number % 2:
            assert {(a, b) for a, b in dag.edges if a in order[:half] and b in order[half:]} <= set(
                found.directed_edges
            )


def test_a_required_edge_stays_though_its_ends_are_independent():
    found = pc(DSeparationOracle(DAG("A -> B", nodes=["A", "B", "C"])), knowledge=Knowledge(required="C -> B"))
    assert ("C", "B") in found.graph.directed_edges
    assert found.graph.is_adjacent("A", "B")
    refuses(InvalidArgument, "max_parents", pc, DSeparationOracle("A -> B"), knowledge=Knowledge(max_parents=1))


def test_no_variable_and_no_edge_are_fine():
    assert len(pc(DSeparationOracle(DAG())).graph) == 0
    assert len(structure_from_blankets(DSeparationOracle(DAG())).graph) == 0
    assert pc({"a": ["x"] * 4, "b": ["x", "y"] * 2}).graph.num_edges == 0


def _independencies(names, listed):
    """Only the pairs listed are independent, given what is listed."""
    table = {(frozenset(pair), frozenset(given)) for pair, given in listed}
    return FunctionTest(names, lambda x, y, given: float((frozenset((x, y)), frozenset(given)) in table))


def test_colliders_that_contradict_each_other_leave_the_edge_undirected_and_are_reported():
    """A - B - C - D with A, C and B, D independent outright: B -> C and C -> B."""
    test = _independencies("ABCD", [("AC", ""), ("BD", ""), ("AD", "")])
    found = pc(test)
    assert [(conflict.kind, conflict.names) for conflict in found.conflicts] == [("opposed colliders", ("B", "C"))]
    assert set(found.graph.directed_edges) == {("A", "B"), ("D", "C")}
    assert found.graph.undirected_edges == (("B", "C"),)
    assert "B - C stays undirected" in str(found.conflicts[0])


def test_knowledge_stands_against_a_collider():
    found = pc(DSeparationOracle("A -> B <- C"), knowledge=Knowledge(forbidden="A -> B"))
    assert ("B", "A") in found.graph.directed_edges
    assert [conflict.kind for conflict in found.conflicts] == ["against knowledge"]


#: A - X - Z, B - Y - X and C - Z - Y are colliders; A and Y, B and Z, C and X are separated by the one between.
TRIANGLE = [*((pair, "") for pair in ("AZ", "BX", "CY", "AB", "AC", "BC")), ("AY", "X"), ("BZ", "Y"), ("CX", "Z")]


def test_directions_that_close_a_cycle_are_taken_back():
    """Colliders at X, Y, Z that each take the last one in: X -> Y -> Z -> X."""
    names = ["A", "B", "C", "X", "Y", "Z"]
    found = pc(_independencies(names, TRIANGLE))
    cyclic = {conflict.names for conflict in found.conflicts if conflict.kind == "cycle"}
    assert {("X", "Y"), ("Y", "Z"), ("Z", "X")} <= cyclic
    assert found.graph.num_edges == 6
    again = pc(_independencies(names[::-1], TRIANGLE))
    assert (again.graph, again.conflicts) == (found.graph, found.conflicts)


def test_a_triple_that_votes_for_both_is_ambiguous_for_the_conservative_and_stays_undirected():
    """A and C are separated by nothing and by B: a collider and not."""
    test = _independencies("ABC", [("AC", ""), ("AC", "B")])
    assert pc(test, variant="stable").graph.directed_edges == (("A", "B"), ("C", "B"))
    for variant in ("majority", "conservative"):
        found = pc(test, variant=variant)
        assert found.ambiguous == (("A", "B", "C"),)
        assert found.graph.directed_edges == ()


GRAPH = DAG("A -> C <- B; C -> D; D -> E; B -> F; F -> G <- E")


@pytest.mark.parametrize("variant", VARIANTS)
def test_pc_on_many_rows_finds_the_class_whatever_the_order_of_columns_and_rows(variant):
    columns = _sample(GRAPH, 20_000, seed=1)
    found = pc(columns, alpha=0.001, variant=variant)
    assert found.graph.skeleton() == GRAPH.skeleton()
    rng = np.random.default_rng(2)
    for _ in range(2):
        rows = rng.permutation(20_000)
        shuffled = {name: columns[name][rows] for name in rng.permutation(list(columns)).tolist()}
        again = pc(GTest(shuffled, num_threads=1), alpha=0.001, variant=variant)
        assert (again.graph, again.separating_sets, again.num_tests) == (
            found.graph,
            found.separating_sets,
            found.num_tests,
        )


def test_the_skeleton_of_pc_stable_is_that_of_its_definition():
    """Level by level with the neighbours frozen, one test at a time."""
    columns = _sample(GRAPH, 400, seed=3)
    test, alpha = GTest(columns), 0.2
    around = {name: set(columns) - {name} for name in columns}
    for level in range(len(columns) - 1):
        frozen = {name: sorted(row) for name, row in around.items()}
        for x in columns:
            for y in frozen[x]:
                for given in combinations([z for z in frozen[x] if z != y], level):
                    if test.test(x, y, given).is_independent(alpha):
                        around[x].discard(y)
                        around[y].discard(x)
    found = pc(test, alpha=alpha)
    assert {frozenset(pair) for pair in found.graph.skeleton().edges} == {
        frozenset((x, y)) for x, row in around.items() for y in row
    }


def test_a_limit_on_those_given_a_stop_and_a_time_limit_end_the_search():
    columns = _sample(GRAPH, 500, seed=4)
    assert len(pc(columns, max_given=1).num_tests) == 2
    seen = []
    stopped = pc(columns, progress=lambda state: seen.append(state) or len(seen) == 2)
    assert (stopped.stopped_by, len(seen)) == ("interrupted", 2)
    assert pc(columns, time_limit=0.0).stopped_by == "time limit"
    refuses(InvalidArgument, "alpha=0", pc, columns, alpha=0)
    refuses(InvalidArgument, r"no variant 'stabel'.*'stable'", pc, columns, variant="stabel")


def test_false_discovery_control_keeps_the_share_of_false_edges_low():
    """On columns that have nothing to do with each other hardly any edge is found; on others true ones are."""
    rng, plain, controlled = np.random.default_rng(5), 0, 0
    for _ in range(10):
        columns = {f"v{place}": rng.integers(0, 2, 300) for place in range(12)}
        plain += pc(columns).graph.num_edges
        for method in ("benjamini-hochberg", "benjamini-yekutieli"):
            controlled += pc(columns, false_discovery_rate=method).graph.num_edges
    assert plain > 10
    assert controlled <= 4
    found = pc(_sample(GRAPH, 5000, seed=6), false_discovery_rate="benjamini-hochberg", alpha=0.01)
    assert found.graph.skeleton() == GRAPH.skeleton()


@pytest.mark.parametrize("method", ["benjamini-hochberg", "benjamini-yekutieli"])
def test_the_largest_discovery_is_that_of_scipy(method):
    from scipy.stats import false_discovery_control

    for seed in range(20):
        p_values = np.random.default_rng(seed).random(15) ** 3
        adjusted = false_discovery_control(p_values, method="bh" if method.endswith("hochberg") else "by")
        expected = p_values[adjusted <= 0.1]
        assert largest_accepted(p_values, 0.1, method) == (expected.max() if expected.size else -1.0)
    assert largest_accepted(np.array([]), 0.1) == -1.0
    refuses(InvalidArgument, "bonferroni", largest_accepted, np.array([0.5]), 0.1, "bonferroni")


@pytest.mark.parametrize("method", METHODS)
def test_blankets_on_many_rows_are_those_of_the_graph(method):
    columns = _sample(GRAPH, 20_000, seed=1)
    for node in "CEG":
        found = markov_blanket(columns, node, method=method, alpha=0.001)
        assert found.blanket == tuple(sorted(GRAPH.markov_blanket(node)))
        assert found.num_tests > 0
    assert parents_and_children(columns, "C", alpha=0.001, max_given=2).neighbors == ("A", "B", "D")
    refuses(UnknownVariable, "'Q'", markov_blanket, columns, "Q")
    refuses(InvalidArgument, r"'imab'.*'iamb'", markov_blanket, columns, "C", method="imab")


def test_max_min_hill_climbing_joins_candidates_only_and_keeps_required_edges():
    columns = _sample(GRAPH, 20_000, seed=1)
    climb = partial(learn_structure, method="mmhc", score=_BIC(), alpha=0.001)
    found = climb(columns)
    assert found.graph.skeleton() == GRAPH.skeleton()
    shuffled = {name: columns[name] for name in "GDBACEF"}
    assert climb(shuffled).graph == found.graph
    forced = climb(columns, knowledge=Knowledge(required="A -> G"))
    assert ("A", "G") in forced.graph.edges
    candidates = {name: parents_and_children(columns, name, alpha=0.001).neighbors for name in GRAPH.nodes}
    assert all(b in candidates[a] for a, b in forced.graph.edges if (a, b) != ("A", "G"))


def test_a_result_of_tests_becomes_a_network_of_its_class():
    columns = _sample(GRAPH, 20_000, seed=1)
    found = pc(columns, alpha=0.001)
    net = found.network(columns, prior=BDeu(1))
    assert essential_graph(net.graph) == found.graph
    assert net == learn_parameters(net.graph, columns, BDeu(1))


def test_tests_that_contradict_each_other_have_no_graph_and_say_so():
    cycle = ConstraintResult(PDAG("A - B - C - D - A"), {}, {}, (0,))
    refuses(InvalidGraph, r"variant='conservative'", cycle.dag, strict=True)
    with pytest.warns(PlausibleWarning, match=r"also has A -> D <- C \(1 in all\)"):
        assert cycle.dag().num_edges == 4


def test_pc_always_gives_a_graph_with_its_edges_and_directions():
    for seed in range(40):
        found = pc(_sample(erdos_renyi_dag(8, 0.4, seed=seed), 60, seed), alpha=0.2)
        near = found.extension()
        assert {frozenset(edge) for edge in near.graph.edges} == set(
            map(frozenset, (*found.graph.directed_edges, *found.graph.undirected_edges))
        )
        assert set(found.graph.directed_edges) <= set(near.graph.edges)
        if not near.new_immoralities:
            assert near.graph == found.dag(strict=True)


def test_tests_on_rows_of_alarm_give_a_network():
    rows = benchmark_network("alarm").sample(1000, seed=2)
    found = pc(rows, max_given=2)
    with pytest.raises(InvalidGraph):
        found.dag(strict=True)
    with pytest.warns(PlausibleWarning, match="contradict"):
        assert found.network(rows, BDeu(1)).graph == found.extension().graph


@pytest.mark.parametrize(
    "learn", [pc, partial(pc, variant="stable"), partial(pc, variant="original"), structure_from_blankets]
)
def test_a_copy_of_a_common_cause_makes_no_collider_of_the_cause(learn):
    rng = np.random.default_rng(3)
    cause = rng.integers(0, 2, 5000)
    effects = {name: np.where(rng.random(5000) < 0.2, 1 - cause, cause) for name in ("bronc", "lung")}
    found = learn(CopyGuard(GTest({"copy": cause, "smoke": cause, **effects})))
    assert len(found.ambiguous) == (learn is not pc)  # most sets have the cause in them; one set alone tells nothing
    assert not found.graph.directed_edges


@pytest.mark.parametrize("method", METHODS)
def test_what_blankets_report_as_separating_separates(method):
    for seed in range(6):
        test = GTest(_sample(erdos_renyi_dag(8, 0.3, seed=seed), 300, seed))
        found = structure_from_blankets(test, method=method)
        for pair, given in found.separating_sets.items():
            outcome = test.test(*sorted(pair), given)
            assert outcome.is_independent(0.05)
            assert found.p_values[pair] >= outcome.p_value - 1e-12


@pytest.mark.parametrize("learn", [pc, structure_from_blankets])
def test_copies_keep_their_edges_where_a_guard_is_asked_for(learn):
    rng = np.random.default_rng(0)
    a = rng.integers(0, 2, 400)
    b = np.where(rng.random(400) < 0.2, 1 - a, a)
    found = learn(CopyGuard(GTest({"A": a, "A2": a, "A3": a, "B": b})))
    assert {frozenset(edge) for edge in found.graph.undirected_edges} == set(
        map(frozenset, combinations(["A", "A2", "A3", "B"], 2))
    )


@pytest.mark.parametrize("learn", [pc, structure_from_blankets])
def test_edges_that_go_since_others_determine_a_variable_are_reported(learn):
    rng = np.random.default_rng(0)
    a, b = rng.integers(0, 2, (2, 2000))
    either = a | b
    effect = np.where(rng.random(2000) < 0.2, 1 - either, either)
    found = learn({"A": a, "B": b, "either": either, "effect": effect})
    assert found.determined == (frozenset(("either", "effect")),)
    assert "1 pair separated by what determines one" in str(found)
    assert not learn({"A": a, "B": b, "effect": effect}).determined


@pytest.mark.parametrize("alpha", [2, -1, 0, "x"])
def test_a_level_that_is_none_is_refused_everywhere(alpha):
    data = {"A": [0, 1, 0, 1], "B": [0, 1, 1, 1]}
    learners = (
        pc,
        structure_from_blankets,
        partial(markov_blanket, target="A"),
        partial(parents_and_children, target="A"),
    )
    for learn in learners:
        refuses(InvalidArgument, "alpha=", learn, data, alpha=alpha)
    for seconds in (-1, math.nan, "x"):
        refuses(InvalidArgument, "time_limit=", pc, data, time_limit=seconds)


def test_a_result_of_tests_prints_its_graph_in_two_lines():
    found = pc(DSeparationOracle("A -> C <- B"))
    assert str(found) == f"3 variables, 2 directed and 0 undirected edges; {sum(found.num_tests)} tests\nA -> C; B -> C"


def test_any_partly_directed_graph_is_near_one_that_has_its_edges_and_directions():
    """The immoralities are those of the PDAG and the new ones that are reported."""
    rng = np.random.default_rng(0)
    for seed in range(200):
        edges = erdos_renyi_dag(9, 0.35, seed=seed).edges
        pdag = PDAG("; ".join(f"{a} {'->' if rng.random() < 0.4 else '-'} {b}" for a, b in edges))
        near = near_extension(pdag)
        assert {frozenset(edge) for edge in near.graph.edges} == {frozenset(edge) for edge in edges}
        assert set(pdag.directed_edges) <= set(near.graph.edges)
        assert set(immoralities(near.graph)) == {*immoralities(pdag), *near.new_immoralities}


def test_options_that_pc_does_not_have_are_refused_with_what_to_do_instead():
    rows = {"x": [0, 1, None], "y": [1, 0, 1]}
    refuses(InvalidArgument, r"takes no missing=.*learn\.complete_rows", pc, rows, missing="complete-rows")
    refuses(InvalidArgument, r"no option 'max_gven'\. Did you mean 'max_given'", pc, rows, max_gven=2)


def test_by_default_many_sets_tell_colliders():
    """10,000 rows of sachs, all of whose edges data leave undirected: one set alone would direct many of them."""
    network = benchmark_network("sachs")
    for seed in (1, 2):
        frame = network.sample(10_000, seed=seed)
        assert pc(frame).graph == essential_graph(network.graph)
        assert pc(frame, variant="stable").graph.directed_edges


def test_a_search_that_was_stopped_goes_by_the_sets_that_it_has():
    """Of many neighbours that are left there may be more sets than there is time for."""
    oracle, asked = DSeparationOracle(erdos_renyi_dag(8, 0.4, seed=3)), []

    def p_value(x, y, given):
        asked.append(given)
        return oracle.test(x, y, given).p_value

    def stop(progress):
        if progress.level == 1:
            asked.clear()
        return progress.level == 1

    found = pc(FunctionTest(oracle.names, p_value), progress=stop)
    assert found.stopped_by == "interrupted"
    assert found.separating_sets
    assert () not in asked


@pytest.mark.parametrize(("left", "right"), [(15, 15), (70, 2), (40, 8)])
def test_columns_with_many_states_for_their_rows_are_joined_at_the_level_only(left, right):
    """At 0.05 more than 6 edges of 40 come by chance once in a hundred times or less."""
    rng = np.random.default_rng(left)
    samples = [{"a": rng.integers(0, left, 300), "b": rng.integers(0, right, 300)} for _ in range(40)]
    assert sum(pc(columns).graph.num_edges for columns in samples) <= 6


def test_edges_that_could_not_be_tested_are_told():
    columns = {"a": [f"s{row}" for row in range(60)], "b": np.arange(60) % 3, "c": np.arange(60) // 2 % 2}
    for learner in (pc, structure_from_blankets, fci):
        with pytest.warns(
            PlausibleWarning, match="2 edges could not be tested, for too few rows, and stayed: a - b, a - c"
        ):
            found = learner(GTest(columns))
        assert set(found.untested) == {frozenset("ab"), frozenset("ac")}
        assert "2 untested edges" in str(found)
        assert found.to_frame()["p_value"].isna().tolist() == [True, True]
    required = pc(GTest(columns), knowledge=Knowledge(required=[("a", "b"), ("a", "c")]))  # warns of none
    assert required.to_frame()[["left", "edge", "right"]].to_numpy().tolist() == [["a", "->", "b"], ["a", "->", "c"]]


@pytest.mark.parametrize(
    "knowledge",
    [
        Knowledge(required="a -> b; b -> c", forbidden="a -> c"),
        Knowledge(forbidden="b -> a; c -> b; a -> c"),
        Knowledge(required="a -> b", forbidden="c -> b; a -> c"),
    ],
)
def test_knowledge_that_directs_edges_in_a_circle_is_refused_by_name(knowledge):
    """The tests find all three edges; knowledge leaves a -> b -> c -> a only, which no graph has."""
    with pytest.raises(CyclicGraph, match="Knowledge directs") as caught:
        pc(DSeparationOracle("a -> b -> c <- a"), knowledge=knowledge)
    assert set(caught.value.cycle) == {"a", "b", "c"}


def test_an_edge_may_be_forbidden_both_ways_in_arrows():
    """Arrows that are forbidden may form a cycle: none of them is there."""
    known = Knowledge(forbidden="x -> z; z -> x")
    assert known.forbidden == (("x", "z"), ("z", "x"))
    assert pc(DSeparationOracle("x -> z <- y"), knowledge=known).graph == PDAG("y - z", nodes=["x", "y", "z"])
