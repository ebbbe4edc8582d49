"""I-maps and perfect maps, of distributions given as tables and of ideal ones that a random DAG describes."""

from itertools import combinations, permutations, product

import networkx as nx
import numpy as np
import pytest

from plausible.errors import NotSupported, TooLarge
from plausible.graphs.dag import DAG
from plausible.graphs.independence_maps import (
    find_unentailed,
    find_violation,
    is_i_map,
    is_minimal_i_map,
    is_perfect_map,
    minimal_i_map,
    minimal_undirected_i_map,
)
from plausible.graphs.independencies import Independence, local_independencies, separation_oracle
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses


class Joint:
    """A joint table that compares P(x, y, z) P(z) with P(x, z) P(y, z), for sets jointly."""

    def __init__(self, names, values):
        self.names, self.values = list(names), values / values.sum()

    def marginal(self, kept):
        dropped = tuple(axis for axis, name in enumerate(self.names) if name not in kept)
        return self.values.sum(axis=dropped, keepdims=True)

    def is_independent(self, x, y, given):
        x, y, given = set(x), set(y), set(given)
        both = self.marginal(x | y | given) * self.marginal(given)
        return np.allclose(both, self.marginal(x | given) * self.marginal(y | given), atol=1e-12)


def table(names, weight, states=2):
    """The joint of a function of an assignment."""
    values = np.zeros((states,) * len(names))
    for assignment in product(range(states), repeat=len(names)):
        values[assignment] = weight(*assignment)
    return Joint(names, values)


def random_network(dag, rng):
    """A joint that factorises over the DAG with random positive conditional tables."""
    nodes = list(dag.nodes)
    values = np.ones((2,) * len(nodes))
    for node in nodes:
        axes = [nodes.index(parent) for parent in dag.parents(node)] + [nodes.index(node)]
        cpd = rng.dirichlet([1.0, 1.0], size=(2,) * (len(axes) - 1))
        shape = [2 if axis in axes else 1 for axis in range(len(nodes))]
        values = values * cpd.transpose(np.argsort(axes)).reshape(shape)
    return Joint(nodes, values)


def random_gibbs(graph, rng):
    """A joint that is a product of random positive tables over the maximal cliques."""
    nodes = list(graph.nodes)
    values = np.ones((2,) * len(nodes))
    for clique in nx.find_cliques(graph.to_networkx()):
        shape = [2 if node in clique else 1 for node in nodes]
        values = values * rng.uniform(0.2, 5.0, size=shape)
    return Joint(nodes, values)


def d_separation(dag):
    """The ideal distribution of a DAG, as networkx sees it."""
    directed = dag.to_networkx()
    return lambda x, y, given: nx.is_d_separator(directed, set(x), set(y), set(given))


def random_dags(count, largest=6):
    for seed in range(count):
        random = nx.gnp_random_graph(2 + seed % (largest - 1), 0.45, seed=seed, directed=True)
        yield DAG([(a, b) for a, b in random.edges if a < b], nodes=random.nodes)


XOR = table(["X1", "X2", "Y"], lambda x1, x2, y: float(y == x1 ^ x2))
COPIES = table(["A", "B", "C"], lambda a, b, c: float(a == b == c))
SQUARE = UndirectedGraph("A - B - C - D - A")
#: Uniform over eight assignments: Markov to the square, but no product of tables over its edges (Moussouris 1974).
EIGHT = {"0000", "1000", "1100", "1110", "0001", "0011", "0111", "1111"}
MOUSSOURIS = table("ABCD", lambda *assignment: float("".join(map(str, assignment)) in EIGHT))


# --- directed graphs ---


def test_minimal_i_map_along_a_topological_order_of_a_faithful_distribution_is_its_dag():
    for dag in random_dags(40):
        assert minimal_i_map(d_separation(dag), dag.topological_order) == dag


def test_minimal_i_map_of_a_random_network_is_its_dag_along_a_topological_order():
    rng = np.random.default_rng(1)
    for dag in random_dags(20, largest=5):
        assert minimal_i_map(random_network(dag, rng), dag.topological_order) == dag


def test_minimal_i_map_along_any_order_is_a_minimal_i_map():
    for dag in random_dags(12, largest=5):
        distribution = d_separation(dag)
        for order in list(permutations(dag.nodes))[::7]:
            found = minimal_i_map(distribution, order)
            assert all(order.index(a) < order.index(b) for a, b in found.edges)
            assert is_i_map(found, distribution)
            assert is_minimal_i_map(found, distribution)


def test_minimal_i_map_takes_no_more_parents_than_needed_if_there_are_zeros():
    """Of three copies of a coin the third needs one of the other two, not both and not none."""
    found = minimal_i_map(COPIES, ["A", "B", "C"])
    assert found == DAG("A -> B -> C")
    assert is_minimal_i_map(found, COPIES)
    assert is_minimal_i_map(DAG("A -> B; A -> C"), COPIES)


def test_dag_is_an_i_map_exactly_if_all_its_d_separations_hold():
    """The local statements decide about all others."""
    dags = list(random_dags(12, largest=4))
    outcomes = set()
    for dag, other in product(dags, dags):
        if set(dag.nodes) != set(other.nodes):
            continue
        claimed, real = d_separation(dag), d_separation(other)
        expected = True
        for x, y in combinations(dag.nodes, 2):
            others = [node for node in dag.nodes if node not in (x, y)]
            for size in range(len(others) + 1):
                for given in combinations(others, size):
                    expected &= real({x}, {y}, given) or not claimed({x}, {y}, given)
        assert is_i_map(dag, real) == expected
        outcomes.add(expected)
    assert outcomes == {True, False}


def test_exclusive_or_convicts_tests_that_take_variables_one_by_one():
    """Y is independent of X1 and of X2 but not of both, so the graph without edges is no I-map."""
    for pair in combinations(["X1", "X2", "Y"], 2):
        assert XOR.is_independent(pair[:1], pair[1:], ())
    assert not XOR.is_independent(("Y",), ("X1", "X2"), ())
    no_edges = DAG("X1; X2; Y")
    violation = find_violation(no_edges, XOR)
    assert violation == Independence("X1", ["X2", "Y"])
    assert not is_i_map(no_edges, XOR)
    assert not is_i_map(no_edges.skeleton(), XOR)
    assert minimal_i_map(XOR, ["X1", "X2", "Y"]) == DAG("X1 -> Y <- X2")


def test_exclusive_or_has_minimal_i_maps_but_no_perfect_map():
    """Soundness without completeness: X1 and Y are joined by an edge and independent all the same."""
    collider = DAG("X1 -> Y <- X2")
    assert is_minimal_i_map(collider, XOR)
    assert find_violation(collider, XOR) is None
    assert find_unentailed(collider, XOR) == Independence("X1", "Y")
    assert not is_perfect_map(collider, XOR)


def test_violation_is_a_statement_of_the_graph_that_the_distribution_lacks():
    rng = np.random.default_rng(2)
    distribution = random_network(DAG("A -> B -> C -> D"), rng)
    wrong = DAG("A -> B <- C -> D")
    violation = find_violation(wrong, distribution)
    assert separation_oracle(wrong)(violation.x, violation.y, violation.given)
    assert not distribution.is_independent(violation.x, violation.y, violation.given)


# --- perfect maps ---


def test_dag_is_a_perfect_map_of_its_faithful_distribution_and_of_no_other_class():
    for dag in random_dags(20, largest=5):
        assert is_perfect_map(dag, d_separation(dag))
        for edge in dag.edges:
            assert not is_perfect_map(dag.without_edge(*edge), d_separation(dag))
    chain = d_separation(DAG("A -> B -> C"))
    assert is_perfect_map(DAG("A <- B -> C"), chain)
    assert is_perfect_map(UndirectedGraph("A - B - C"), chain)
    assert not is_perfect_map(DAG("A -> B <- C"), chain)


def test_square_has_a_perfect_undirected_map_and_a_collider_has_none():
    square = random_gibbs(SQUARE, np.random.default_rng(3))
    assert is_perfect_map(SQUARE, square)
    for order in permutations("ABCD"):
        assert not is_perfect_map(minimal_i_map(square, order), square)
    collider = d_separation(DAG("A -> C <- B"))
    nodes = ["A", "B", "C"]
    pairs = list(combinations(nodes, 2))
    for size in range(4):
        for edges in combinations(pairs, size):
            assert not is_perfect_map(UndirectedGraph(edges, nodes=nodes), collider)


# --- undirected graphs ---


@pytest.mark.parametrize("seed", range(5))
def test_graph_is_an_i_map_of_every_gibbs_distribution_over_it_and_its_minimal_one(seed):
    """Overview 65: what factorises over H has all separations of H; the pairwise construction finds H again."""
    graph = UndirectedGraph(nx.gnp_random_graph(5, 0.5, seed=seed))
    distribution = random_gibbs(graph, np.random.default_rng(seed))
    assert is_i_map(graph, distribution)
    assert is_i_map(graph, distribution, is_positive=True)
    assert minimal_undirected_i_map(graph.nodes, distribution) == graph
    assert is_minimal_i_map(graph, distribution)
    for a, b in graph.edges:
        assert not is_i_map(graph.without_edge(a, b), distribution)
        assert not is_i_map(graph.without_edge(a, b), distribution, is_positive=True)
    for a, b in combinations(graph.nodes, 2):
        if not graph.has_edge(a, b):
            assert is_i_map(graph.with_edge(a, b), distribution)
            assert not is_minimal_i_map(graph.with_edge(a, b), distribution)
            assert not is_minimal_i_map(graph.with_edge(a, b), distribution, is_positive=True)


def test_moral_graph_is_the_minimal_undirected_i_map_of_a_faithful_distribution():
    for dag in random_dags(30):
        assert minimal_undirected_i_map(dag.nodes, d_separation(dag)) == dag.moralize()


@pytest.mark.parametrize("seed", range(8))
def test_positive_distribution_factorises_over_its_undirected_i_maps(seed):
    """Hammersley & Clifford: the canonical energy of a set that is no clique is zero.

    ε_D = Σ_{S ⊆ D} (-1)^{|D - S|} ln P(x_S = 1, the rest 0), by Möbius inversion of ln P.
    """
    dag = list(random_dags(8, largest=5))[seed]
    distribution = random_network(dag, np.random.default_rng(seed))
    graph = dag.moralize()
    assert is_i_map(graph, distribution)
    nodes = distribution.names
    for size in range(len(nodes) + 1):
        for chosen in combinations(nodes, size):
            energy = 0.0
            for ones in (set(part) for k in range(size + 1) for part in combinations(chosen, k)):
                cell = tuple(int(node in ones) for node in nodes)
                energy += (-1) ** (size - len(ones)) * np.log(distribution.values[cell])
            if not all(graph.has_edge(a, b) for a, b in combinations(chosen, 2)):
                assert energy == pytest.approx(0.0, abs=1e-9)


def test_distribution_with_zeros_may_be_markov_to_a_graph_over_which_it_does_not_factorise():
    """A cell of probability zero, each of whose edges takes values that do occur: no edge table can be zero there."""
    assert is_i_map(SQUARE, MOUSSOURIS)
    edges = [(0, 1), (1, 2), (2, 3), (3, 0)]
    occurring = [{(cell[i], cell[j]) for cell in EIGHT} for i, j in edges]
    impossible = {"".join(cell) for cell in product("01", repeat=4)} - EIGHT
    assert any(
        all((cell[i], cell[j]) in seen for (i, j), seen in zip(edges, occurring, strict=True)) for cell in impossible
    )


def test_pairwise_statements_are_not_enough_if_there_are_zeros():
    """Each two of three copies of a coin are independent given the third; yet no two are independent."""
    empty = minimal_undirected_i_map(["A", "B", "C"], COPIES)
    assert empty.num_edges == 0
    assert is_i_map(empty, COPIES, is_positive=True)
    assert not is_i_map(empty, COPIES)
    assert find_violation(empty, COPIES) == Independence("A", ["B", "C"])


def test_local_statements_are_not_enough_if_there_are_zeros():
    """Four copies of a coin: given its neighbour each is known, so nothing tells more; yet the two edges depend."""
    copies = table("ABCD", lambda *assignment: float(len(set(assignment)) == 1))
    pairs = UndirectedGraph("A - B; C - D")
    assert all(statement.holds_in(copies.is_independent) for statement in local_independencies(pairs))
    assert find_violation(pairs, copies) == Independence(["A", "B"], ["C", "D"])


# --- the edges of the contract ---


def test_distribution_may_be_a_function_or_an_object_and_must_be_one_of_them():
    collider = DAG("X1 -> Y <- X2")
    assert is_i_map(collider, XOR)
    assert is_i_map(collider, XOR.is_independent)
    refuses(NotSupported, "A dict does not tell independencies", is_i_map, collider, {})


def test_queries_name_their_nodes_in_tuples():
    asked = []

    def oracle(x, y, given):
        asked.append((x, y, given))
        return True

    is_i_map(DAG("A -> B -> C"), oracle)
    is_perfect_map(UndirectedGraph("A - B - C"), oracle)
    minimal_i_map(oracle, ["A", "B", "C"])
    assert asked
    assert all(isinstance(part, tuple) for query in asked for part in query)


def test_maps_of_one_variable_and_of_none_are_perfect():
    for graph in (DAG(), DAG("A"), UndirectedGraph(), UndirectedGraph("A")):
        assert is_perfect_map(graph, d_separation(DAG("A")))
        assert is_minimal_i_map(graph, d_separation(DAG("A")))
    assert minimal_i_map(d_separation(DAG("A")), ["A"]) == DAG("A")
    assert minimal_i_map(d_separation(DAG()), []) == DAG()


def test_many_nodes_are_refused_where_all_sets_would_be_asked_about():
    chain = DAG([(i, i + 1) for i in range(19)])
    distribution = separation_oracle(chain)
    assert is_i_map(chain, distribution)
    assert is_i_map(chain.skeleton(), distribution, is_positive=True)
    for question in (
        lambda: is_i_map(chain.skeleton(), distribution),
        lambda: is_perfect_map(chain, distribution),
        lambda: find_unentailed(chain, distribution),
    ):
        refuses(TooLarge, "20 nodes", question)
