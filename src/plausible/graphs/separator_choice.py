"""Separating sets in causal graphs: all minimal ones, and one of least cost."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from collections.abc import Set as AbstractSet

from plausible.graphs.dag import DAG
from plausible.graphs.nodes import Node
from plausible.graphs.separation import minimal_cut, minimal_cuts, reach_outside


class SeparatorChoice:
    """The sets that contain the `included` nodes, take others from the `allowed` ones, and m-separate x and y.

    Sets that are minimal lie among the ancestors of both groups and of what is included, and there m-separation is
    separation in the moral graph of the canonical DAG (van der Zander, Liskiewicz & Textor 2019), which `dag` is: see
    `CausalGraph.to_dag`.
    """

    __slots__ = ("_allowed", "_included", "_names", "_neighbors", "_x", "_y")

    def __init__(
        self,
        dag: DAG,
        x: Iterable[Node],
        y: Iterable[Node],
        included: Iterable[Node],
        allowed: AbstractSet[Node],
    ) -> None:
        x, y, included = tuple(x), tuple(y), tuple(included)
        relevant = dag.ancestors((*x, *y, *included)).union(x, y, included)
        moral = dag.subgraph(relevant).moralize()
        place = {node: i for i, node in enumerate(moral.nodes)}
        self._names = moral.nodes
        self._x, self._y = {place[node] for node in x}, {place[node] for node in y}
        self._included = {place[node] for node in included}
        self._allowed = {place[node] for node in allowed & relevant} - self._x - self._y - self._included
        # What is observed in any case carries nothing: it goes, once it has married its parents.
        self._neighbors = [
            () if i in self._included else tuple(j for j in row if j not in self._included)
            for i, row in enumerate(moral.neighbor_rows)
        ]

    def _set(self, places: Iterable[int]) -> frozenset[Node]:
        return frozenset(self._names[i] for i in (*places, *self._included))

    def one(self) -> frozenset[Node] | None:
        """A minimal set, of these the closest to `x`; `None` if no set will do. Linear in the moral graph."""
        found = minimal_cut(self._neighbors, self._x, self._y, set(), self._allowed)
        return None if found is None else self._set(found)

    def all(self) -> Iterator[frozenset[Node]]:
        """Every set of which no member, other than those included, can be spared; O(nodes x edges) for each."""
        if self.one() is None:
            return
        rows, places = self._contracted()
        for cut in minimal_cuts(rows, 0, 1):
            yield self._set(places[i] for i in cut)

    def _contracted(self) -> tuple[list[tuple[int, ...]], list[int]]:
        """The graph over x and y, as one node each, and the allowed nodes, joined where paths of others join them."""
        places = [-1, -2, *sorted(self._allowed)]
        number = {place: i for i, place in enumerate(places)} | dict.fromkeys(self._x, 0) | dict.fromkeys(self._y, 1)
        rows: list[set[int]] = [set() for _ in places]

        def join(members: set[int]) -> None:
            for member in members:
                rows[member] |= members - {member}

        for place, row in enumerate(self._neighbors):
            for other in row:
                if place in number and other in number:
                    join({number[place], number[other]})
        hidden = set(range(len(self._neighbors))) - number.keys()
        while hidden:
            component = reach_outside(self._neighbors, [next(iter(hidden))], set(number))
            hidden -= component
            join({number[other] for place in component for other in self._neighbors[place] if other in number})
        return [tuple(sorted(row)) for row in rows], places

    def cheapest(self, costs: Mapping[Node, float]) -> frozenset[Node] | None:
        """A set of least total cost of its members, one for each without a cost, by maximum flow; minimal too.

        Every allowed node is an edge from its entrance to its exit with its cost as capacity: O(nodes² x edges).
        """
        import networkx as nx

        if self.one() is None:
            return None
        flow: nx.DiGraph[tuple[int, int]] = nx.DiGraph()
        flow.add_nodes_from([(-1, 1), (-2, 0)])
        for place, row in enumerate(self._neighbors):
            if place in self._allowed:
                flow.add_edge((place, 0), (place, 1), capacity=costs.get(self._names[place], 1.0))
            elif row:
                flow.add_edge((place, 0), (place, 1))
            for other in row:
                flow.add_edge((place, 1), (other, 0))
        flow.add_edges_from([((-1, 1), (place, 0)) for place in self._x] + [((place, 1), (-2, 0)) for place in self._y])
        _, (near, _) = nx.minimum_cut(flow, (-1, 1), (-2, 0))
        cut = {place for place in self._allowed if (place, 0) in near and (place, 1) not in near}
        minimal = minimal_cut(self._neighbors, self._x, self._y, set(), cut)
        return self._set(cut if minimal is None else minimal)
