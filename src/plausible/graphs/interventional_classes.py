"""Interventional equivalence: which DAGs experiments can't tell apart, and the graph that stands for all of them."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import TypeAlias

from plausible.errors import InvalidArgument
from plausible.graphs.chordal import is_chordal
from plausible.graphs.class_size import class_members, class_size, count_orientations
from plausible.graphs.dag import DAG
from plausible.graphs.equivalence import essential_graph, is_i_equivalent
from plausible.graphs.graph_input import GraphLike, read_class, read_dag
from plausible.graphs.listing import Listing
from plausible.graphs.meek import Orientation
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex, Nodes

#: A family of targets: for each experiment the node or the nodes that were set from outside in it.
Targets: TypeAlias = Iterable[Nodes]


def interventional_essential_graph(dag: GraphLike[DAG], targets: Targets = ()) -> PDAG:
    """The graph of all DAGs that experiments can't tell from this one: directed are the edges that all of them share.

    Two DAGs are equivalent under a family of targets if they have the same skeleton and immoralities, and the same
    direction of every edge of which some target contains exactly one end. So the class is that of observation with
    these directions as further knowledge, closed under Meek's rules, which are complete. What is set from outside in
    one experiment is observed in others, if only in those without a target: the empty target always counts as given,
    and adds nothing where every node is left alone in some experiment.

    Parameters
    ----------
    dag
        A member of the class.
    targets
        For each experiment the nodes that were set together: a node or several.

    Notes
    -----
    O(edges x targets), and Meek's rules.

    References
    ----------
    Hauser & Bühlmann (2012), Characterization and greedy learning of interventional Markov equivalence classes of
    directed acyclic graphs, JMLR 13.

    Examples
    --------
    >>> interventional_essential_graph(DAG("A -> B -> C -> D"), targets=["B"])
    PDAG('A -> B; B -> C; C -> D')
    >>> interventional_essential_graph(DAG("A -> B -> C -> D"), targets=[["A", "B"], "D"])
    PDAG('B -> C; C -> D; A - B')
    """
    dag = read_dag(dag)
    masks = target_masks(dag.nodes, targets)
    work = Orientation(essential_graph(dag))
    for parent, children in enumerate(dag.child_rows):
        for child in children:
            if child in work.neighbors[parent] and separates(masks, parent, child):
                work.orient(parent, child)
    work.close()
    return work.to_pdag()


def is_interventionally_equivalent(first: GraphLike[DAG], second: GraphLike[DAG], targets: Targets = ()) -> bool:
    """Whether no experiment of a family tells two DAGs apart, however many rows it has.

    Parameters
    ----------
    first, second
        DAGs over the same nodes.
    targets
        For each experiment the nodes that were set together: a node or several.

    Examples
    --------
    >>> is_interventionally_equivalent(DAG("A -> B"), DAG("B -> A"), targets=[["A", "B"]])
    True
    >>> is_interventionally_equivalent(DAG("A -> B"), DAG("B -> A"), targets=["A"])
    False
    """
    first, second = read_dag(first), read_dag(second)
    masks = target_masks(first.nodes, targets)
    if not is_i_equivalent(first, second):
        return False
    place = NodeIndex(first.nodes).positions
    turned = set(first.edges).difference(second.edges)
    return not any(separates(masks, place[a], place[b]) for a, b in turned)


def interventional_class_size(graph: GraphLike[DAG | PDAG], targets: Targets = ()) -> int:
    """The number of DAGs that a family of experiments can't tell apart, without listing them.

    The undirected components of the graph of such a class are chordal and get their directions independently of each
    other and of the directed edges (Hauser & Bühlmann 2012, proposition 16): so they are counted by themselves, in
    polynomial time. A PDAG of another kind is counted by listing its members.

    Parameters
    ----------
    graph
        A member of the class with its targets; or the essential graph of a class, where targets are in it.
    targets
        Of a member.

    Examples
    --------
    >>> chain = DAG("A -> B -> C -> D")
    >>> [interventional_class_size(chain, targets) for targets in ([], ["D"], ["A"])]
    [4, 3, 1]
    """
    pdag = _class_graph(graph, targets)
    return count_orientations(Orientation(pdag).neighbors) if has_free_components(pdag) else class_size(pdag)


def has_free_components(pdag: PDAG) -> bool:
    """Whether each undirected component can be directed by itself: it is chordal, and its nodes have the same parents.

    So it is with the essential graph of every class, of observation or of experiments.

    >>> has_free_components(PDAG("A -> B - C; A -> C")), has_free_components(PDAG("A -> B - C"))
    (True, False)
    """
    parents = {node: set(pdag.parents(node)) for node in pdag.nodes}
    return all(parents[a] == parents[b] for a, b in pdag.undirected_edges) and is_chordal(pdag.undirected_part())


def interventional_class_members(graph: GraphLike[DAG | PDAG], targets: Targets = ()) -> Listing[DAG]:
    """The DAGs that a family of experiments can't tell apart, each once.

    Parameters
    ----------
    graph
        A member of the class with its targets; or the essential graph of a class, where targets are in it.
    targets
        Of a member.

    Examples
    --------
    >>> for member in interventional_class_members(DAG("A -> B -> C"), targets=["C"]):
    ...     print(member)
    A -> B; B -> C
    B -> A; B -> C
    """
    return class_members(_class_graph(graph, targets))


def target_masks(nodes: Sequence[Node], targets: Targets) -> tuple[int, ...]:
    """Each different target that is not empty as a set of bits, in the order given."""
    if isinstance(targets, str):
        raise InvalidArgument(f"targets={targets!r} is one name, not a family of targets. Write targets=[{targets!r}].")
    index = NodeIndex(nodes)
    masks = (sum(1 << place for place in index.select(target)) for target in targets)
    return tuple(dict.fromkeys(mask for mask in masks if mask))


def separates(masks: Iterable[int], first: int, second: int) -> bool:
    """Whether some target, a set of bits, contains exactly one of two places.

    >>> separates([0b011, 0b111], 0, 1), separates([0b011, 0b111], 1, 2)
    (False, True)
    """
    return any((mask >> first ^ mask >> second) & 1 for mask in masks)


def _class_graph(graph: GraphLike[DAG | PDAG], targets: Targets) -> PDAG:
    read = read_class(graph)
    if isinstance(read, DAG):
        return interventional_essential_graph(read, targets)
    if list(targets):
        raise InvalidArgument("The graph of a class has its targets in it: give targets= with a DAG only.")
    return read
