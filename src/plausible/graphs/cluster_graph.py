"""Cluster graphs and clique trees: where factors live and along which edges messages go.

A cluster graph has sets of nodes (clusters) as its vertices and, on each edge, a set (sepset) of nodes that both ends
have. It serves message passing if it has the running intersection property: the edges whose sepset has X form a tree
that spans the clusters with X. If it is a tree besides, it is a clique tree, and message passing is exact.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from math import prod
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from plausible.base import picture_by
from plausible.errors import InvalidArgument, InvalidGraph, NotSupported
from plausible.graphs.elimination import read_cardinalities
from plausible.graphs.nodes import Node, NodeIndex, Nodes, read_scope

if TYPE_CHECKING:
    from plausible.base.pictured import Picture

_Sets: TypeAlias = tuple[tuple[Node, ...], ...]
_Edges: TypeAlias = tuple[tuple[int, int], ...]


class Clusters(Protocol):
    """What factors can be assigned to: a `ClusterGraph` or a `CliqueTree`."""

    @property
    def clusters(self) -> _Sets:
        """The sets of nodes."""


@dataclass(frozen=True, slots=True, init=False)
class ClusterGraph:
    """Clusters of nodes, and edges between clusters, each with a sepset S_ij ⊆ C_i ∩ C_j.

    Edges are pairs of indices of clusters. Loops are allowed, and so is a sepset smaller than the intersection;
    `has_running_intersection` tells whether the whole is fit for message passing.

    >>> loop = ClusterGraph([["A", "B"], ["B", "C"], ["C", "A"]], [(0, 1), (1, 2), (2, 0)], ["B", "C", "A"])
    >>> loop.has_running_intersection, loop.is_tree
    (True, False)
    """

    clusters: _Sets
    edges: _Edges
    sepsets: _Sets

    def __init__(self, clusters: Iterable[Nodes], edges: Iterable[tuple[int, int]], sepsets: Iterable[Nodes]) -> None:
        read, pairs = _read_clusters(clusters, edges)
        separators = tuple(map(read_scope, sepsets))
        if len(separators) != len(pairs):
            raise InvalidGraph(f"Each edge needs a sepset; there are {len(pairs)} edges, {len(separators)} sepsets.")
        for (i, j), separator in zip(pairs, separators, strict=True):
            for node in separator:
                if node not in read[i] or node not in read[j]:
                    ends = f"{_show(read[i])} and {_show(read[j])}"
                    raise InvalidGraph(f"{node!r} is in the sepset between {ends} but not in both of them.")
        for name, value in (("clusters", read), ("edges", pairs), ("sepsets", separators)):
            object.__setattr__(self, name, value)

    @property
    def has_running_intersection(self) -> bool:
        """Whether, for each node, the edges whose sepset has it form a tree spanning the clusters that have it."""
        return _running_intersection_failure(self.clusters, self.edges, self.sepsets) is None

    @property
    def is_tree(self) -> bool:
        """Whether the edges form no loop; several trees side by side also count."""
        return _is_forest(self.edges)

    def neighbors(self, cluster: int) -> tuple[int, ...]:
        """The indices of the clusters joined to this one, in the order of the edges."""
        return _neighbors(self.edges, cluster)

    def picture(self, *, focus: Any = "auto") -> Picture:
        """The picture of the clusters, with what neighbours share between them."""
        return picture_by("picture_of_tree", self, focus)

    def _repr_svg_(self) -> str:
        return self.picture().svg


@dataclass(frozen=True, slots=True, init=False)
class CliqueTree:
    """A tree of cliques with the running intersection property; the sepsets are the intersections S_ij = C_i ∩ C_j.

    For a graph in several pieces it is a forest, one tree for each piece: no edge has an empty sepset unless one is
    given. Edges, pairs of indices of cliques, that make a loop or break the running intersection are refused.

    >>> tree = CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)])
    >>> tree.sepsets
    (('B',),)
    >>> tree.width
    1
    """

    cliques: _Sets
    edges: _Edges
    sepsets: _Sets

    def __init__(self, cliques: Iterable[Nodes], edges: Iterable[tuple[int, int]]) -> None:
        read, pairs = _read_clusters(cliques, edges)
        if not _is_forest(pairs):
            raise InvalidGraph("The edges between the cliques form a loop. A ClusterGraph may have loops, a tree not.")
        sepsets = _intersections(read, pairs)
        failure = _running_intersection_failure(read, pairs, sepsets)
        if failure is not None:
            raise InvalidGraph(
                f"The cliques with {failure[0]!r} do not hang together: two of them are joined by no path, or by one "
                f"through a clique without {failure[0]!r}. Only the cliques of a chordal graph form a clique tree."
            )
        for name, value in (("cliques", read), ("edges", pairs), ("sepsets", sepsets)):
            object.__setattr__(self, name, value)

    @property
    def clusters(self) -> _Sets:
        """The cliques, under the name that they have in a `ClusterGraph`."""
        return self.cliques

    @property
    def width(self) -> int:
        """The size of the largest clique minus one; 0 for the empty tree."""
        return max(map(len, self.cliques), default=1) - 1

    def neighbors(self, clique: int) -> tuple[int, ...]:
        """The indices of the cliques joined to this one, in the order of the edges."""
        return _neighbors(self.edges, clique)

    def picture(self, *, focus: Any = "auto") -> Picture:
        """The picture of the clusters, with what neighbours share between them."""
        return picture_by("picture_of_tree", self, focus)

    def _repr_svg_(self) -> str:
        return self.picture().svg

    def num_entries(self, cardinalities: Mapping[Node, int]) -> int:
        """The entries of one table for each clique: the sum over cliques of ∏ |Val(X)|.

        >>> CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)]).num_entries({"A": 2, "B": 3, "C": 5})
        21
        """
        index = NodeIndex(node for clique in self.cliques for node in clique)
        sizes = dict(zip(index, read_cardinalities(index, cardinalities), strict=True))
        return sum(prod(sizes[node] for node in clique) for clique in self.cliques)


def has_running_intersection(
    clusters: Iterable[Nodes], edges: Iterable[tuple[int, int]], sepsets: Iterable[Nodes] | None = None
) -> bool:
    """Whether, for each node, the edges whose sepset has it form a tree that spans the clusters that have it.

    In a tree whose sepsets are intersections this says that all clusters on the path between two of them hold what
    those two share. Edges are pairs of indices of clusters; without sepsets they have the intersections of their ends.
    Costs one step for every node of every cluster and sepset.

    >>> has_running_intersection([["A", "B"], ["B", "C"], ["C", "D"]], [(0, 1), (1, 2)])
    True
    >>> has_running_intersection([["A", "B"], ["C", "D"], ["B", "C"]], [(0, 1), (1, 2)])
    False
    """
    read, pairs = _read_clusters(clusters, edges)
    known = _intersections(read, pairs) if sepsets is None else sepsets
    return ClusterGraph(read, pairs, known).has_running_intersection


def is_clique_tree(clusters: Iterable[Nodes], edges: Iterable[tuple[int, int]]) -> bool:
    """Whether the edges form no loop and, with intersections as sepsets, have the running intersection property.

    >>> is_clique_tree([["A", "B"], ["B", "C"], ["C", "A"]], [(0, 1), (1, 2), (2, 0)])
    False
    """
    read, pairs = _read_clusters(clusters, edges)
    return _is_forest(pairs) and has_running_intersection(read, pairs)


def is_family_preserving(graph: Clusters, scopes: Iterable[Nodes]) -> bool:
    """Whether every scope lies in some cluster, so that every factor has a place.

    >>> is_family_preserving(CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)]), [["A"], ["C", "B"]])
    True
    """
    return all(place is not None for place in _places(_clusters(graph), scopes))


def assign_factors(graph: Clusters, scopes: Iterable[Nodes]) -> tuple[int, ...]:
    """For each scope the index of the smallest cluster that holds it, the first among equals.

    Family preservation makes this possible: Scope[φ] ⊆ C_α(φ). A scope that fits nowhere is refused by name.

    >>> assign_factors(CliqueTree([["A", "B"], ["B", "C"]], [(0, 1)]), [["A"], ["C", "B"], ["B"]])
    (0, 1, 0)
    """
    listed = list(map(read_scope, scopes))
    assigned: list[int] = []
    for scope, place in zip(listed, _places(_clusters(graph), listed), strict=True):
        if place is None:
            raise InvalidGraph(f"No cluster holds the scope {_show(scope)}. Build the clusters from all scopes.")
        assigned.append(place)
    return tuple(assigned)


def _clusters(graph: Clusters) -> _Sets:
    if not hasattr(graph, "clusters"):
        raise NotSupported(
            f"Expected a ClusterGraph or a CliqueTree, not a {type(graph).__name__}. Make one with "
            "junction_tree(graph)."
        )
    return graph.clusters


def _places(clusters: _Sets, scopes: Iterable[Nodes]) -> Iterable[int | None]:
    """For each scope the index of the smallest cluster that holds it, or None."""
    sets = list(map(frozenset, clusters))
    having = _positions_by_node(clusters)
    for scope in map(read_scope, scopes):
        # The clusters of its rarest node are the only ones to look at.
        candidates = min((having.get(node, []) for node in scope), key=len, default=list(range(len(sets))))
        fitting = (place for place in candidates if sets[place].issuperset(scope))
        yield min(fitting, key=lambda place: len(sets[place]), default=None)


def bethe_cluster_graph(scopes: Iterable[Nodes]) -> ClusterGraph:
    """One cluster for each factor, then one for each node, joined where the factor has the node.

    The sepsets are single nodes, so the running intersection holds: the clusters with X form a star around the
    cluster of X. The cluster of factor i has index i.

    >>> graph = bethe_cluster_graph([["A", "B"], ["B", "C"]])
    >>> graph.clusters
    (('A', 'B'), ('B', 'C'), ('A',), ('B',), ('C',))
    >>> graph.edges
    ((0, 2), (0, 3), (1, 3), (1, 4))
    """
    families = tuple(map(read_scope, scopes))
    index = NodeIndex(node for family in families for node in family)
    links = [(factor, node) for factor, family in enumerate(families) for node in family]
    return ClusterGraph(
        clusters=families + tuple((node,) for node in index),
        edges=tuple((factor, len(families) + index.position(node)) for factor, node in links),
        sepsets=tuple((node,) for _, node in links),
    )


def _read_clusters(clusters: Iterable[Nodes], edges: Iterable[tuple[int, int]]) -> tuple[_Sets, _Edges]:
    read = tuple(map(read_scope, clusters))
    pairs = tuple((int(i), int(j)) for i, j in edges)
    for i, j in pairs:
        if not (0 <= i < len(read) and 0 <= j < len(read)):
            raise InvalidArgument(f"The edge {(i, j)} goes beyond the clusters; their indices end at {len(read) - 1}.")
        if i == j:
            raise InvalidGraph(f"The edge {(i, j)} joins the cluster {_show(read[i])} to itself.")
    return read, pairs


def _intersections(clusters: _Sets, edges: _Edges) -> _Sets:
    sets = list(map(frozenset, clusters))
    return tuple(tuple(node for node in clusters[i] if node in sets[j]) for i, j in edges)


def _running_intersection_failure(clusters: _Sets, edges: _Edges, sepsets: _Sets) -> tuple[Node] | None:
    """A node (in a tuple, since None may be a node) whose clusters its edges do not join to one tree."""
    having = _positions_by_node(clusters)
    links: dict[Node, list[tuple[int, int]]] = {node: [] for node in having}
    for edge, sepset in zip(edges, sepsets, strict=True):
        for node in sepset:
            links[node].append(edge)
    for node, places in having.items():
        if len(links[node]) != len(places) - 1 or not _is_forest(links[node]):
            return (node,)
    return None


def _positions_by_node(clusters: _Sets) -> dict[Node, list[int]]:
    having: dict[Node, list[int]] = {}
    for position, cluster in enumerate(clusters):
        for node in cluster:
            having.setdefault(node, []).append(position)
    return having


def _is_forest(edges: Iterable[tuple[int, int]]) -> bool:
    """Whether no edge closes a loop: each must join two trees that were apart."""
    above: dict[int, int] = {}

    def root(vertex: int) -> int:
        while (parent := above.get(vertex, vertex)) != vertex:
            above[vertex] = above.get(parent, parent)
            vertex = parent
        return vertex

    for i, j in edges:
        a, b = root(i), root(j)
        if a == b:
            return False
        above[a] = b
    return True


def _neighbors(edges: _Edges, vertex: int) -> tuple[int, ...]:
    return tuple(j if i == vertex else i for i, j in edges if vertex in (i, j))


def _show(scope: Sequence[Node]) -> str:
    return "{" + ", ".join(map(str, scope)) + "}"
