"""d-separation, d-connection and minimal separators."""

from __future__ import annotations

from itertools import chain, combinations, pairwise

import networkx as nx
import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from graph_strategies import dags, few, node_sets, undirected_graphs
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.graphs.dag import DAG
from plausible.graphs.random import erdos_renyi_dag
from plausible.graphs.undirected import UndirectedGraph
from refusals import refuses

# --- the oracle: the definition, over all simple undirected paths ---


def simple_trails(edges, x, y):
    """All ways from x to y that visit no node twice, whatever the arrows."""
    links = {frozenset(edge) for edge in edges}
    stack = [(x,)]
    while stack:
        path = stack.pop()
        if path[-1] == y:
            yield path
        else:
            ends = {next(iter(link - {path[-1]})) for link in links if path[-1] in link}
            stack.extend((*path, end) for end in ends - set(path))


def below(edges, node):
    """The node and its descendants, by fixpoint."""
    found = {node}
    while extra := {b for a, b in edges if a in found} - found:
        found |= extra
    return found


def is_active(edges, path, z):
    for a, node, b in zip(path, path[1:], path[2:], strict=False):
        if (a, node) in edges and (b, node) in edges:
            if not below(edges, node) & z:
                return False
        elif node in z:
            return False
    return True


def separated_by_definition(graph, x, y, z):
    edges = set(graph.edges)
    pairs = ((a, b) for a in x - z for b in y - z)
    return not any(is_active(edges, path, z) for a, b in pairs for path in simple_trails(edges, a, b))


def subsets(items):
    items = list(items)
    return chain.from_iterable(combinations(items, size) for size in range(len(items) + 1))


# --- worked examples ---

BURGLARY = DAG("E -> R; E -> A <- B; A -> C")


@pytest.mark.parametrize(
    ("x", "z", "y", "expected"),
    [
        ("R", ["E", "A"], "B", True),
        ("R", ["A"], "B", False),
        ("R", ["B"], "C", False),
        ("R", [], "B", True),
        ("R", ["E"], "A", True),
        ("R", [], "A", False),
        ("B", [], "E", True),
        ("B", ["C"], "E", False),
    ],
)
def test_burglary_network_separations(x, z, y, expected):
    """The radio, earthquake, alarm, burglary and call network; z is the middle argument of I(x, z, y)."""
    assert BURGLARY.d_separated(x, y, given=z) is expected


@pytest.mark.parametrize(
    ("text", "empty", "observed"),
    [("A -> B -> C", False, True), ("A <- B -> C", False, True), ("A -> B <- C", True, False)],
)
def test_chains_and_forks_close_when_observed_and_colliders_open(text, empty, observed):
    graph = DAG(text + "; B -> D")
    assert graph.d_separated("A", "C") is empty
    assert graph.d_separated("A", "C", given="B") is observed
    assert not graph.d_separated("A", "C", given="D")


# --- against the definition, networkx and the laws ---


@given(dags(6, min_nodes=1), st.data())
@few(80)
def test_d_separation_of_sets_equals_the_definition_over_all_trails(graph, data):
    x, y, z = (data.draw(node_sets(graph)) for _ in range(3))
    assert graph.d_separated(x, y, given=z) == separated_by_definition(graph, x, y, z)


@pytest.mark.parametrize("seed", range(12))
def test_d_separation_of_every_pair_given_every_set_equals_networkx(seed):
    graph = erdos_renyi_dag(5, 0.5, nodes=list("ABCDE"), seed=seed)
    other = graph.to_networkx()
    for x, y in combinations(graph.nodes, 2):
        for z in subsets(set(graph.nodes) - {x, y}):
            expected = nx.is_d_separator(other, x, y, set(z))
            assert graph.d_separated(x, y, given=z) == graph.d_separated(y, x, given=z) == expected


@given(dags(6, min_nodes=1), st.data())
@few(40)
def test_d_connected_is_the_set_of_nodes_that_are_not_separated(graph, data):
    x, z = data.draw(node_sets(graph)), data.draw(node_sets(graph))
    expected = {node for node in set(graph.nodes) - z if not separated_by_definition(graph, x, {node}, z)}
    assert graph.d_connected(x, given=z) == expected


@given(dags(7, min_nodes=1))
@few(24)
def test_nodes_are_separated_from_non_descendants_by_parents_and_from_the_rest_by_the_blanket(graph):
    """The local Markov property, and that of the Markov blanket."""
    for node in graph.nodes:
        parents, blanket = graph.parents(node), graph.markov_blanket(node)
        assert graph.d_separated(node, graph.non_descendants(node), given=parents)
        assert graph.d_separated(node, set(graph.nodes) - {node, *blanket}, given=blanket)
        assert all(not graph.d_separated(node, other, given=set(blanket) - {other}) for other in blanket)


@given(dags(6, min_nodes=1), st.data())
@few(32)
def test_d_separation_is_separation_in_the_moral_graph_of_the_ancestors(graph, data):
    x, y, z = (data.draw(node_sets(graph)) for _ in range(3))
    moral = graph.subgraph(graph.ancestors(x | y | z) | x | y | z).moralize()
    assert graph.d_separated(x, y, given=z) == moral.separated(x, y, given=z)


def test_observed_nodes_drop_out_and_unobserved_ones_are_not_separated_from_themselves():
    graph = DAG("A -> B; C")
    assert not graph.d_separated("A", "A")
    assert graph.d_separated("A", "A", given="A")
    assert graph.d_separated("A", "B", given="A")
    assert not graph.d_separated(["A", "C"], ["C", "B"])
    assert graph.d_separated(["A", "C"], ["A", "B"], given="A")
    assert graph.d_separated([], ["A"])
    assert graph.d_connected("A", given="A") == frozenset()
    assert graph.d_connected("A") == {"A", "B"}


def test_unknown_nodes_are_refused():
    for arguments in (("Z", "A"), ("A", "Z"), ("A", "B", "Z")):
        refuses(UnknownVariable, "'Z'", DAG("A -> B").d_separated, *arguments)


# --- large graphs go to the kernel ---


@given(dags(6, min_nodes=2), st.data())
@few(24)
def test_the_kernel_agrees_with_plain_python_on_the_same_questions(graph, data):
    x, y, z = (data.draw(node_sets(graph)) for _ in range(3))
    expected = graph.d_separated(x, y, given=z), graph.d_connected(x, given=z)
    with pytest.MonkeyPatch.context() as patched:
        patched.setattr("plausible.graphs.separation.KERNEL_SIZE", 0)
        large = DAG(graph.edges, nodes=graph.nodes)
        assert (large.d_separated(x, y, given=z), large.d_connected(x, given=z)) == expected


def test_large_random_graphs_agree_with_networkx():
    rng = np.random.default_rng(7)
    graph = erdos_renyi_dag(1200, 2 / 1200 * 1.5, seed=1)
    other = graph.to_networkx()
    answers = []
    for size in (0, 20, 200, 600):
        for _ in range(6):
            drawn = [f"X{i}" for i in rng.permutation(1200)[: size + 4]]
            x, y, z = set(drawn[:2]), set(drawn[2:4]), set(drawn[4:])
            answers.append(graph.d_separated(x, y, given=z))
            assert answers[-1] == nx.is_d_separator(other, x, y, z)
            assert bool(graph.d_connected(x, given=z) & y) != answers[-1]
    assert {True, False} == set(answers)


# --- minimal separators ---


@given(dags(6, min_nodes=2), st.data())
@few(60)
def test_minimal_separator_separates_and_no_member_can_be_spared(graph, data):
    """It exists exactly if some allowed set separates; every proper subset with `included` fails."""
    x, y = data.draw(st.permutations(graph.nodes).map(lambda order: ({order[0]}, {order[1]})))
    others = set(graph.nodes) - x - y
    restricted = data.draw(st.frozensets(st.sampled_from(sorted(others)))) if others else frozenset()
    included = data.draw(st.frozensets(st.sampled_from(sorted(restricted)), max_size=2)) if restricted else frozenset()
    candidates = [included | set(z) for z in subsets(restricted - included)]
    separating = [z for z in candidates if separated_by_definition(graph, x, y, z)]
    found = graph.minimal_separator(x, y, included=included, restricted=restricted)
    if not separating:
        assert found is None
    else:
        assert found in separating
        assert not any(z < found for z in separating)


@given(dags(7, min_nodes=2), st.data())
@few(40)
def test_minimal_separators_of_sets_separate_them(graph, data):
    nodes = data.draw(st.permutations(graph.nodes))
    x, y = set(nodes[: len(nodes) // 3 + 1]), {nodes[-1]}
    found = graph.minimal_separator(x, y)
    if found is None:
        assert any(graph.is_adjacent(a, b) for a in x for b in y) or not any(
            separated_by_definition(graph, x, y, set(z)) for z in subsets(set(nodes) - x - y)
        )
    else:
        assert separated_by_definition(graph, x, y, set(found))
        assert not any(separated_by_definition(graph, x, y, set(found) - {node}) for node in found)


def test_adjacent_or_overlapping_nodes_have_no_separator():
    graph = DAG("A -> B -> C")
    assert graph.minimal_separator("A", "B") is None
    assert graph.minimal_separator("A", "A") is None
    assert graph.minimal_separator("A", "C") == {"B"}
    assert graph.minimal_separator("A", "C", restricted=[]) is None
    assert graph.minimal_separator(iter(["A"]), iter(["C"]), included=iter(()), restricted=iter("B")) == {"B"}
    assert DAG("A -> B <- C").minimal_separator("A", "C") == frozenset()


@pytest.mark.parametrize(("included", "restricted"), [("A", None), ("C", None), ("B", ["D"])])
def test_a_separator_that_must_contain_what_it_may_not_is_refused(included, restricted):
    with pytest.raises(InvalidArgument, match=repr(included)):
        DAG("A -> B -> C; B -> D").minimal_separator("A", "C", included=included, restricted=restricted)


def connected_without(edges, x, y, z):
    """Whether a path from x to y avoids z, by fixpoint over the edges."""
    found = {x}
    while extra := {b for edge in edges for a, b in (edge, edge[::-1]) if a in found and b not in z} - found:
        found |= extra
    return y in found


@given(undirected_graphs(6, min_nodes=2), st.data())
@few(40)
def test_all_minimal_separators_are_listed_once(graph, data):
    x, y = data.draw(st.permutations(graph.nodes))[:2]
    separating = [
        set(z) for z in subsets(set(graph.nodes) - {x, y}) if not connected_without(graph.edges, x, y, set(z))
    ]
    minimal = [z for z in separating if not any(other < z for other in separating)]
    listed = list(graph.minimal_separators(x, y, limit=None))
    assert len(listed) == len(minimal)
    assert all(set(cut) in minimal for cut in listed)
    single = graph.minimal_separator(x, y)
    assert single in listed if listed else single is None


def test_listing_many_separators_stops_at_the_limit():
    """Parallel paths of two inner nodes each: one of them is cut on each path."""
    edges = [pair for k in range(30) for pair in pairwise(["s", f"a{k}", f"b{k}", "t"])]
    graph = UndirectedGraph(edges)
    assert len(list(graph.minimal_separators("s", "t", limit=7))) == 7
    assert (
        sum(
            1
            for _ in graph.subgraph(["s", "t", *(f"{c}{k}" for k in range(5) for c in "ab")]).minimal_separators(
                "s", "t"
            )
        )
        == 32
    )
    refuses(InvalidArgument, "itself", graph.minimal_separators, "s", "s")
    refuses(InvalidArgument, "limit=-1", graph.minimal_separators, "s", "t", limit=-1)


@given(undirected_graphs(6, min_nodes=1), st.data())
@few(32)
def test_undirected_separation_equals_reachability_without_the_observed(graph, data):
    x, y, z = (data.draw(node_sets(graph)) for _ in range(3))
    expected = not any(connected_without(graph.edges, a, b, z) for a in x - z for b in y - z)
    assert graph.separated(x, y, given=z) == expected
