"""Markov equivalence against enumeration of all small DAGs and their independencies."""

import random
from collections import Counter, defaultdict
from itertools import combinations, permutations
from math import factorial, prod

import pytest

from marked_graph_oracles import all_dags, consistent_orientations, independence_model, unshielded_colliders
from plausible.errors import InvalidGraph
from plausible.graphs.classes import class_members, class_size
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import (
    compelled_edges,
    consistent_extension,
    covered_edges,
    essential_graph,
    is_essential_graph,
    is_i_equivalent,
    reversible_edges,
)
from plausible.graphs.meek import Immorality, apply_meek_rules, immoralities
from plausible.graphs.mixed import PDAG
from refusals import refuses
from seeds import few_of

NODES = list("ABCD")


def signature(arrows):
    """Skeleton and immoralities of an arrow set, from the definition."""
    return frozenset(map(frozenset, arrows)), frozenset(unshielded_colliders(arrows))


def classes_of(nodes):
    """All DAGs, as arrow sets, grouped into equivalence classes."""
    classes = defaultdict(list)
    for arrows in all_dags(nodes):
        classes[signature(arrows)].append(arrows)
    return list(classes.values())


CLASSES = {size: classes_of(NODES[:size]) for size in range(5)}


def union_pdag(members, nodes):
    """Direct the edges on which all members agree."""
    edges = []
    for pair in {frozenset(arrow) for arrow in members[0]}:
        ways = {arrow for member in members for arrow in member if frozenset(arrow) == pair}
        a, b = next(iter(ways))
        edges.append((a, "->" if len(ways) == 1 else "-", b))
    return PDAG(edges, nodes=nodes)


def random_arrows(rng, num_nodes, probability):
    nodes = [f"N{i}" for i in range(num_nodes)]
    order = rng.sample(nodes, num_nodes)
    return nodes, [(a, b) for a, b in combinations(order, 2) if rng.random() < probability]


# --- the test for equivalence ---


@pytest.mark.parametrize(
    ("size", "num_dags", "num_classes"), [(0, 1, 1), (1, 1, 1), (2, 3, 2), (3, 25, 11), (4, 543, 185)]
)
def test_the_number_of_classes(size, num_dags, num_classes):
    """Overview, section 2: 3/2, 25/11 and 543/185 DAGs and classes; by the library's own essential graphs."""
    members = [DAG(arrows, nodes=NODES[:size]) for group in CLASSES[size] for arrows in group]
    assert len(members) == num_dags
    assert len(set(map(essential_graph, members))) == num_classes


@pytest.mark.parametrize("size", [2, 3, 4])
def test_dags_share_an_essential_graph_exactly_if_they_share_all_independencies(size):
    """I(G) by listing every path; on 2 and 3 nodes all pairs of DAGs are put to `is_i_equivalent`."""
    nodes = NODES[:size]
    dags = [DAG(arrows, nodes=nodes) for group in CLASSES[size] for arrows in group]
    models = [frozenset(independence_model(nodes, [(a, "->", b) for a, b in dag.edges])) for dag in dags]
    partition = defaultdict(set)
    for dag, model in zip(dags, models, strict=True):
        partition[model].add(essential_graph(dag))
    assert all(len(graphs) == 1 for graphs in partition.values())
    assert len(partition) == len(CLASSES[size])
    if size < 4:
        for (first, model), (second, other) in combinations(list(zip(dags, models, strict=True)), 2):
            assert is_i_equivalent(first, second) == is_i_equivalent(second, first) == (model == other)


def test_equivalence_needs_the_same_nodes():
    assert not is_i_equivalent(DAG("A -> B"), DAG("A -> B; C"))
    assert not is_i_equivalent(DAG("A -> B"), DAG("A -> C"))
    assert is_i_equivalent(DAG(), DAG())


def test_the_four_graphs_on_a_chain_of_three():
    """Three equivalent ones and the collider (Koller & Friedman 2009, section 3.3.4)."""
    chains = [DAG("A -> B -> C"), DAG("A <- B <- C"), DAG("A <- B -> C")]
    assert all(is_i_equivalent(first, second) for first in chains for second in chains)
    assert not any(is_i_equivalent(chain, DAG("A -> B <- C")) for chain in chains)


def test_immoralities_are_listed_and_shielded_colliders_are_not():
    assert immoralities(DAG("A -> C <- B; A -> B")) == ()
    assert set(immoralities(DAG("A -> D <- B; D <- C; A -> B"))) == {
        Immorality("C", "D", "A"),
        Immorality("B", "D", "C"),
    }
    assert str(immoralities(DAG('"a 1" -> C <- B'))[0]) == '"a 1" -> C <- B'
    assert immoralities(PDAG("A -> C <- B; C - D")) == (Immorality("A", "C", "B"),)


@pytest.mark.parametrize("size", [3, 4])
def test_immoralities_agree_with_their_definition(size):
    for group in CLASSES[size]:
        for arrows in group:
            found = {(frozenset((v.left, v.right)), v.child) for v in immoralities(DAG(arrows, nodes=NODES[:size]))}
            assert found == unshielded_colliders(arrows)


# --- the essential graph ---


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_the_essential_graph_is_the_union_of_the_class(size):
    nodes = NODES[:size]
    for group in CLASSES[size]:
        expected = union_pdag(group, nodes)
        assert all(essential_graph(DAG(arrows, nodes=nodes)) == expected for arrows in group)
        assert is_essential_graph(expected)


@pytest.mark.parametrize("seed", few_of(12, 20))
def test_the_essential_graph_is_the_union_of_the_class_on_six_nodes(seed):
    """Members found by trying every orientation of the skeleton."""
    rng = random.Random(seed)
    nodes, arrows = random_arrows(rng, 6, rng.choice([0.3, 0.5, 0.7]))
    lines = [tuple(arrow) for arrow in arrows]
    members = [
        chosen
        for chosen in orientations_of(nodes, lines)
        if unshielded_colliders(chosen) == unshielded_colliders(arrows)
    ]
    dag = DAG(arrows, nodes=nodes)
    assert essential_graph(dag) == union_pdag(members, nodes)
    assert {frozenset(member.edges) for member in class_members(dag)} == set(members)
    assert class_size(dag) == len(members)


def orientations_of(nodes, lines):
    """All acyclic orientations: those consistent with an order of the nodes, found edge by edge."""
    found = [frozenset()]
    for a, b in lines:
        found = [chosen | {arrow} for chosen in found for arrow in ((a, b), (b, a)) if not leads(chosen, *arrow[::-1])]
    return found


def leads(arrows, start, goal):
    """Whether the arrows lead from start to goal."""
    reached, frontier = {start}, [start]
    while frontier:
        here = frontier.pop()
        fresh = {b for a, b in arrows if a == here} - reached
        reached |= fresh
        frontier.extend(fresh)
    return goal in reached


def test_the_student_network():
    """Causality, section 2.16: D -> G, I -> G, G -> J directed and I - S undirected."""
    dag = DAG("D -> G <- I -> S; G -> J")
    assert essential_graph(dag) == PDAG("D -> G <- I; G -> J; I - S")
    assert compelled_edges(dag) == (("D", "G"), ("G", "J"), ("I", "G"))
    assert reversible_edges(dag) == (("I", "S"),)
    assert covered_edges(dag) == (("I", "S"),)


@pytest.mark.parametrize("seed", range(5))
def test_chickering_and_meek_find_the_same_graph_on_300_nodes(seed):
    """Skeleton and immoralities, closed by Meek's rules, is an independent way to the essential graph."""
    rng = random.Random(seed)
    nodes, arrows = random_arrows(rng, 300, rng.choice([0.004, 0.008, 0.02]))
    dag = DAG(arrows, nodes=nodes)
    in_immorality = {(parent, child) for parents, child in unshielded_colliders(arrows) for parent in parents}
    pattern = PDAG([(a, "->" if (a, b) in in_immorality else "-", b) for a, b in arrows], nodes=nodes)
    assert apply_meek_rules(pattern) == essential_graph(dag)


def test_graphs_that_are_no_essential_graphs():
    for text in ("A -> B", "A -> B - C", "A - B - C - D - A", "A -> B <- C; A - C", "A -> B -> C; A -> C"):
        assert not is_essential_graph(PDAG(text))
    for text in ("A - B", "A -> B <- C", "A -> B <- C; B -> D", "A - B - C - A", ""):
        assert is_essential_graph(PDAG(text))


@pytest.mark.parametrize("size", [3, 4])
def test_exactly_the_covered_edges_can_be_turned_within_the_class(size):
    nodes = NODES[:size]
    for group in CLASSES[size]:
        members = set(group)
        for arrows in group:
            turnable = {(a, b) for a, b in arrows if arrows - {(a, b)} | {(b, a)} in members}
            assert set(covered_edges(DAG(arrows, nodes=nodes))) == turnable


# --- members ---


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_class_members_are_all_dags_of_the_class_each_once(size):
    nodes = NODES[:size]
    for group in CLASSES[size]:
        start = DAG(group[0], nodes=nodes)
        for graph in (start, essential_graph(start)):
            found = list(class_members(graph))
            assert {frozenset(member.edges) for member in found} == set(group)
            assert len(found) == len(group) == class_size(graph)
            assert all(member.nodes == start.nodes for member in found)


@pytest.mark.parametrize("size", [0, 1, 2, 3, 4])
def test_a_consistent_extension_is_in_the_class(size):
    nodes = NODES[:size]
    for group in CLASSES[size]:
        extension = consistent_extension(essential_graph(DAG(group[0], nodes=nodes)))
        assert frozenset(extension.edges) in set(group)


def random_pdag(rng, nodes):
    """Arrows that follow an order, and lines anywhere."""
    order = rng.sample(nodes, len(nodes))
    kinds = {pair: rng.choice([None, "->", "-", "-"]) for pair in combinations(order, 2)}
    return [pair for pair, kind in kinds.items() if kind == "->"], [pair for pair, kind in kinds.items() if kind == "-"]


@pytest.mark.parametrize("size", [4, 5])
def test_any_pdag_stands_for_exactly_its_consistent_orientations(size):
    """Also for PDAGs that no class has: then there are no members and no extension."""
    rng = random.Random(size)
    nodes = list("ABCDE"[:size])
    outcomes = Counter()
    for _ in range(150):
        arrows, lines = random_pdag(rng, nodes)
        pdag = PDAG([(a, "->", b) for a, b in arrows] + [(a, "-", b) for a, b in lines], nodes=nodes)
        expected = set(consistent_orientations(nodes, arrows, lines))
        found = list(class_members(pdag))
        assert {frozenset(member.edges) for member in found} == expected
        assert len(found) == len(expected) == class_size(pdag)
        outcomes[bool(expected)] += 1
        if expected:
            assert frozenset(consistent_extension(pdag).edges) in expected
        else:
            refuses(InvalidGraph, "No DAG fits this PDAG", consistent_extension, pdag)
    assert min(outcomes[True], outcomes[False]) >= 5


@pytest.mark.parametrize("order", list(permutations("ABCD")), ids="".join)
def test_members_with_knowledge_do_not_depend_on_the_node_order(order):
    """A square with one chord, where rule 4 can be met by any of its edges last; all members by brute force."""
    lines = [("A", "B"), ("B", "C"), ("C", "D"), ("A", "D"), ("A", "C")]
    for known in (("C", "B"), ("D", "C"), ("A", "B"), ("D", "A")):
        pdag = PDAG([(a, "-", b) for a, b in lines], nodes=order).with_direction(*known)
        found = [frozenset(member.edges) for member in class_members(pdag)]
        rest = [line for line in lines if set(line) != set(known)]
        assert sorted(map(sorted, found)) == sorted(map(sorted, consistent_orientations(order, [known], rest)))


def test_members_come_one_at_a_time():
    """The first members of an astronomically large class are there at once."""
    members = class_members(DAG([(a, b) for a, b in combinations(range(40), 2)]))
    first, second = next(members), next(members)
    assert first != second
    assert is_i_equivalent(first, second)


# --- counting ---


@pytest.mark.parametrize("length", [1, 2, 3, 4, 5, 60])
def test_a_chain_has_one_member_for_each_root(length):
    """Causality, section 2.17."""
    assert class_size(DAG([(i, i + 1) for i in range(length - 1)], nodes=range(length))) == length


def test_sizes_in_closed_form():
    """Trees have n members, complete graphs n!, disjoint parts the product; immoralities leave nothing open."""
    tree = [((i - 1) // 2, i) for i in range(1, 50)]
    assert class_size(DAG(tree)) == 50
    complete = list(combinations(range(100, 112), 2))
    assert class_size(DAG(tree + complete)) == 50 * factorial(12)
    without_one = [pair for pair in complete if pair != (110, 111)]
    # K_n without one edge: the two loose ends can't both precede the same node, unless no node comes after both.
    assert class_size(DAG(without_one)) == 2 * factorial(11) - factorial(10)
    assert class_size(DAG("A -> C <- B")) == 1
    assert class_size(DAG()) == 1


def by_rooting(neighbors):
    """Acyclic orientations without immorality by brute force over orders of the nodes of a small graph."""
    nodes = sorted(neighbors)
    found = set()

    def place(order, arrows):
        if len(order) == len(nodes):
            found.add(frozenset(arrows))
            return
        for node in nodes:
            if node not in order:
                before = [other for other in order if other in neighbors[node]]
                if all(b in neighbors[a] for a, b in combinations(before, 2)):
                    place([*order, node], [*arrows, *((other, node) for other in before)])

    place([], [])
    return len(found)


@pytest.mark.parametrize("seed", few_of(6, 25))
def test_clique_picking_counts_random_chordal_graphs(seed):
    """Chordal graphs on seven nodes grown from a perfect order; the oracle tries all orders of the nodes."""
    rng = random.Random(seed)
    neighbors = {0: set()}
    for node in range(1, 7):
        clique = {rng.randrange(node)}
        for other in rng.sample(range(node), node):
            if rng.random() < 0.7 and all(other in neighbors[member] for member in clique):
                clique.add(other)
        neighbors[node] = set(clique)
        for member in clique:
            neighbors[member].add(node)
    pdag = PDAG([(a, "-", b) for a in neighbors for b in neighbors[a] if a < b], nodes=range(7))
    assert class_size(pdag) == by_rooting(neighbors)


def test_large_sparse_classes_are_counted_by_their_components():
    """A sparse DAG on 60 nodes: the product over chain components of their own sizes."""
    rng = random.Random(3)
    nodes, arrows = random_arrows(rng, 60, 0.03)
    pdag = essential_graph(DAG(arrows, nodes=nodes))
    parts = [class_size(pdag.subgraph(part)) for part in undirected_components(pdag)]
    assert class_size(pdag) == prod(parts)
    assert all(
        size == sum(1 for _ in class_members(pdag.subgraph(part)))
        for size, part in zip(parts, undirected_components(pdag), strict=True)
    )


def undirected_components(pdag):
    left, parts = set(pdag.nodes), []
    while left:
        part = frontier = {left.pop()}
        while frontier:
            frontier = {b for a in frontier for b in pdag.neighbors(a)} - part
            part = part | frontier
        left -= part
        parts.append(sorted(part))
    return parts
