"""The statements that graphs make, against networkx and against separation by enumeration of paths."""

from itertools import combinations, product

import networkx as nx
import pytest

from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.graphs.dag import DAG
from plausible.graphs.independencies import (
    Independence,
    all_independencies,
    global_independencies,
    local_independencies,
    markov_blanket_independencies,
    pairwise_independencies,
    separation_oracle,
)
from plausible.graphs.mixed import PDAG
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses

ALARM = DAG("B -> A <- E -> R")
STUDENT = DAG("D -> G <- I -> S; G -> L")


def random_dags(largest=8):
    for seed in range(25):
        random = nx.gnp_random_graph(1 + seed % largest, 0.3, seed=seed, directed=True)
        names = [f"n{(7 * i) % 11}" for i in range(len(random))]
        yield DAG([(names[a], names[b]) for a, b in random.edges if a < b], nodes=names[::-1])


def random_undirected(largest=7):
    for seed in range(25):
        yield UndirectedGraph(nx.gnp_random_graph(1 + seed % largest, 0.35, seed=seed))


def d_separated_on_every_path(dag, x, y, given):
    """The definition: every path has an inner node that blocks it."""
    directed = dag.to_networkx()
    for path in nx.all_simple_paths(directed.to_undirected(), x, y):
        blocked = False
        for before, node, after in zip(path, path[1:], path[2:], strict=False):
            if directed.has_edge(before, node) and directed.has_edge(after, node):
                blocked |= not ({node} | nx.descendants(directed, node)) & set(given)
            else:
                blocked |= node in given
        if not blocked:
            return False
    return True


def separated_on_every_path(graph, x, y, given):
    return all(set(path[1:-1]) & set(given) for path in nx.all_simple_paths(graph.to_networkx(), x, y))


def brute_force(graph, is_separated):
    found = set()
    for x, y in combinations(graph.nodes, 2):
        others = [node for node in graph.nodes if node not in (x, y)]
        for size in range(len(others) + 1):
            for given in combinations(others, size):
                if is_separated(graph, x, y, given):
                    found.add(Independence(x, y, given))
    return found


# --- the record ---


def test_independence_is_symmetric_and_blind_to_order():
    """I(X, Z, Y) and I(Y, Z, X) are one statement."""
    statement = Independence("X", ["Y", "W"], given=["Z", "V"])
    same = Independence(["W", "Y"], "X", given=["V", "Z"])
    assert statement == same
    assert len({statement, same}) == 1
    assert statement != Independence("X", ["Y", "W"], given="Z")
    assert statement != Independence("Y", ["X", "W"], given=["Z", "V"])
    assert statement != "X ⟂ Y, W | Z, V"


def test_independence_prints_as_it_is_written():
    assert str(Independence("X", ["Y", "W"], given=["Z", "V"])) == "X ⟂ Y, W | Z, V"
    assert str(Independence("X", "Y")) == "X ⟂ Y"
    assert str(Independence(1, [2, 3])) == "1 ⟂ 2, 3"


def test_independence_keeps_tuples_without_repeats_and_is_frozen():
    statement = Independence(["X", "X"], "Y", given=["Z"])
    assert (statement.x, statement.y, statement.given) == (("X",), ("Y",), ("Z",))
    with pytest.raises(AttributeError):
        statement.x = ("W",)


def test_sides_must_be_disjoint_and_not_empty():
    refuses(InvalidArgument, "'Y' is in x and in y", Independence, ["X", "Y"], "Y")
    refuses(InvalidArgument, "'Z' is in y and in given", Independence, "X", ["Y", "Z"], given="Z")
    refuses(InvalidArgument, "y has none", Independence, "X", ())


# --- worked statements ---


def test_alarm_network_states_the_worked_independencies():
    """B -> A <- E -> R: A ⟂ R | B, E; R ⟂ A, B | E; E ⟂ B."""
    assert set(local_independencies(ALARM)) == {
        Independence("A", "R", given=["B", "E"]),
        Independence("R", ["A", "B"], given="E"),
        Independence("E", "B"),
        Independence("B", ["E", "R"]),
    }
    everything = set(all_independencies(ALARM))
    assert {
        Independence("A", "R", given=["B", "E"]),
        Independence("R", "B", given="E"),
        Independence("E", "B"),
    } <= everything
    assert Independence("E", "B", given="A") not in everything


def test_alarm_network_has_blankets():
    assert set(markov_blanket_independencies(ALARM)) == {
        Independence("B", "R", given=["A", "E"]),
        Independence("A", "R", given=["B", "E"]),
        Independence("R", ["A", "B"], given="E"),
    }


# --- Markov properties of DAGs ---


def test_every_statement_of_a_markov_property_is_a_d_separation():
    for dag in random_dags():
        directed = dag.to_networkx()
        for property_ in (local_independencies, markov_blanket_independencies, pairwise_independencies):
            for statement in property_(dag):
                assert nx.is_d_separator(directed, set(statement.x), set(statement.y), set(statement.given))


def test_local_statements_cover_all_nondescendants():
    """Local Markov query: X ⟂ Z | parents, for every nondescendant Z; nothing is said where there is none."""
    for dag in random_dags():
        directed = dag.to_networkx()
        found = {statement.x[0]: statement for statement in local_independencies(dag)}
        for node in dag.nodes:
            parents = set(directed.predecessors(node))
            others = set(dag.nodes) - nx.descendants(directed, node) - parents - {node}
            assert (node in found) == bool(others)
            if others:
                assert set(found[node].y) == others
                assert set(found[node].given) == parents


def test_pairwise_statements_are_one_for_each_missing_edge():
    for graph in (*random_dags(), *random_undirected()):
        pairs = [frozenset(statement.x + statement.y) for statement in pairwise_independencies(graph)]
        joined = set(map(frozenset, graph.edges))
        assert len(pairs) == len(set(pairs))
        assert set(pairs) == {frozenset(pair) for pair in combinations(graph.nodes, 2)} - joined


def test_complete_graph_states_nothing():
    complete = DAG(list(combinations("ABCD", 2)))
    for graph in (complete, complete.skeleton(), DAG("A"), UndirectedGraph(), UndirectedGraph("A")):
        assert local_independencies(graph) == ()
        assert markov_blanket_independencies(graph) == ()
        assert pairwise_independencies(graph) == ()
        assert all_independencies(graph) == ()


# --- all statements ---


def test_all_independencies_of_a_dag_are_those_that_block_every_path():
    for dag in random_dags(largest=5):
        found = all_independencies(dag)
        assert len(found) == len(set(found))
        assert set(found) == brute_force(dag, d_separated_on_every_path)


def test_all_independencies_of_an_undirected_graph_are_those_that_cut_every_path():
    for graph in random_undirected(largest=5):
        assert set(all_independencies(graph)) == brute_force(graph, separated_on_every_path)


def test_observation_never_creates_dependence_in_an_undirected_graph():
    """Overview 65: with more given, separated stays separated; a collider shows that a DAG is otherwise."""
    for graph in random_undirected(largest=6):
        found = set(all_independencies(graph))
        for statement in found:
            for more in set(graph.nodes) - {*statement.x, *statement.y, *statement.given}:
                assert Independence(statement.x, statement.y, (*statement.given, more)) in found
    assert Independence("D", "I") in all_independencies(STUDENT)
    assert Independence("D", "I", given="L") not in all_independencies(STUDENT)


def test_limit_on_given_keeps_the_small_statements():
    full = all_independencies(STUDENT)
    for limit in range(5):
        limited = all_independencies(STUDENT, max_given=limit)
        assert limited == tuple(statement for statement in full if len(statement.given) <= limit)


def test_all_statements_about_many_nodes_are_refused_unless_limited():
    chain = DAG([(i, i + 1) for i in range(19)])
    refuses(TooLarge, "20 nodes", all_independencies, chain)
    assert Independence(0, 2, given=1) in all_independencies(chain, max_given=1)
    refuses(TooLarge, "20 nodes", global_independencies, chain.skeleton())


# --- the global property of undirected graphs ---


def test_global_statements_are_separations_from_which_every_separation_of_sets_can_be_read():
    """X and Y are separated by Z exactly if each node of X is stated, given Z, against all nodes of Y."""
    for graph in random_undirected(largest=5):
        work = graph.to_networkx()
        statements = global_independencies(graph)
        stated = set()
        for statement in statements:
            rest = set(graph.nodes) - set(statement.given)
            assert set(statement.x) | set(statement.y) == rest
            assert not any(work.has_edge(a, b) for a, b in product(statement.x, statement.y))
            for a, b in product(statement.x, statement.y):
                stated |= {(a, b, frozenset(statement.given)), (b, a, frozenset(statement.given))}
        for single in brute_force(graph, separated_on_every_path):
            assert (*single.x, *single.y, frozenset(single.given)) in stated


def test_local_statements_of_an_undirected_graph_separate_a_node_from_the_rest_by_its_neighbours():
    square = UndirectedGraph("A - B - C - D - A; E")
    assert local_independencies(square) == markov_blanket_independencies(square)
    assert set(local_independencies(square)) == {
        Independence("A", ["C", "E"], given=["B", "D"]),
        Independence("B", ["D", "E"], given=["A", "C"]),
        Independence("C", ["A", "E"], given=["B", "D"]),
        Independence("D", ["B", "E"], given=["A", "C"]),
        Independence("E", ["A", "B", "C", "D"]),
    }


# --- oracles ---


def test_oracle_answers_by_the_kind_of_separation_that_the_graph_has():
    assert separation_oracle(DAG("A -> B <- C"))(("A",), ("C",), ())
    assert not separation_oracle(UndirectedGraph("A - B - C"))(("A",), ("C",), ())
    assert not separation_oracle("A -> B <-> C")(("A",), ("C",), ("B",))
    assert separation_oracle(nx.DiGraph([("A", "B"), ("C", "B")]))(("A",), ("C",), ())
    refuses(NotSupported, "PDAG does not answer", separation_oracle, PDAG("A - B"))
    refuses(NotSupported, "not an int", separation_oracle, 3)


def test_a_statement_shows_itself_as_it_is_written():
    """In an interactive session a list of statements can be read."""
    assert repr(Independence("D", ["I", "S"], given="G")) == "<Independence: D ⟂ I, S | G>"
    assert repr(local_independencies("A -> B -> C")) == "(<Independence: C ⟂ A | B>,)"
