"""Chordal graphs: every cycle of four or more nodes has a chord.

The graphs that can be eliminated without fill, in which the cliques hang together as a tree.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations

from plausible.errors import InvalidGraph
from plausible.graphs.dag import DAG
from plausible.graphs.elimination import (
    complete_order,
    elimination_order,
    induced_graph,
    interaction_graph,
    neighbor_sets,
)
from plausible.graphs.graph_input import GraphLike, read_plain, read_undirected
from plausible.graphs.greedy import Heuristic
from plausible.graphs.nodes import Node
from plausible.graphs.separation import reach_outside
from plausible.graphs.undirected import UndirectedGraph


def is_chordal(graph: GraphLike[UndirectedGraph]) -> bool:
    """Whether every cycle of four or more nodes has a chord; linear in nodes and edges (Tarjan & Yannakakis 1984).

    >>> is_chordal(UndirectedGraph("A - B - C - D - A"))
    False
    >>> is_chordal(UndirectedGraph("A - B - C - D - A; A - C"))
    True
    """
    neighbors = neighbor_sets(read_undirected(graph))
    return _first_failure(neighbors, cardinality_order(neighbors, range(len(neighbors)))) is None


def perfect_elimination_order(graph: GraphLike[UndirectedGraph]) -> tuple[Node, ...]:
    """An order of the nodes of a chordal graph whose elimination adds no edge.

    The reverse of `maximum_cardinality_search`; linear in nodes and edges. A graph that is not chordal has no such
    order and is refused with a cycle that lacks a chord.

    >>> perfect_elimination_order(UndirectedGraph("A - B - C; A - C - D"))
    ('D', 'C', 'B', 'A')
    """
    graph = read_undirected(graph)
    neighbors = neighbor_sets(graph)
    visits = cardinality_order(neighbors, range(len(neighbors)))
    failure = _first_failure(neighbors, visits)
    if failure is not None:
        cycle = graph.index.names(_chordless_cycle_through(neighbors, failure))
        written = " - ".join(map(str, (*cycle, cycle[0])))
        raise InvalidGraph(f"The graph is not chordal: the cycle {written} has no chord. Apply triangulate() first.")
    return graph.index.names(reversed(visits))


def chordless_cycle(graph: GraphLike[UndirectedGraph]) -> tuple[Node, ...] | None:
    """A cycle of four or more nodes without a chord, in order; None if the graph is chordal.

    The nodes that maximum cardinality search visits before its first failure span a chordal graph, with the failure
    they do not: so a chordless cycle runs through the failure, and one search around that node finds it.

    >>> chordless_cycle(UndirectedGraph("A - B - C - D - E - B"))
    ('E', 'B', 'C', 'D')
    >>> chordless_cycle(UndirectedGraph("A - B - C"))
    """
    graph = read_undirected(graph)
    neighbors = neighbor_sets(graph)
    failure = _first_failure(neighbors, cardinality_order(neighbors, range(len(neighbors))))
    return None if failure is None else graph.index.names(_chordless_cycle_through(neighbors, failure))


def maximum_cardinality_search(graph: GraphLike[UndirectedGraph]) -> tuple[Node, ...]:
    """Visit, at each step, a node with the most visited neighbours; linear in nodes and edges.

    The reverse is a perfect elimination order if the graph has one.

    >>> maximum_cardinality_search(UndirectedGraph("A - B - C; A - C - D"))
    ('A', 'B', 'C', 'D')
    """
    graph = read_undirected(graph)
    return graph.index.names(cardinality_order(neighbor_sets(graph), range(len(graph))))


def cardinality_order(neighbors: Sequence[set[int]], nodes: Iterable[int]) -> list[int]:
    """Maximum cardinality search of the subgraph over some nodes, with one stack for each count.

    A node stays in the stacks of the counts it had before; by the time it surfaces there, it has been visited.
    """
    counts = dict.fromkeys(nodes, 0)
    stacks: list[list[int]] = [list(counts)[::-1], *([] for _ in counts)]
    visits: list[int] = []
    highest = 0
    while counts:
        while not stacks[highest]:
            highest -= 1
        node = stacks[highest].pop()
        if counts.pop(node, None) is None:
            continue
        visits.append(node)
        for other in sorted(neighbors[node] & counts.keys(), reverse=True):
            counts[other] += 1
            stacks[counts[other]].append(other)
        highest += 1
    return visits


def _first_failure(neighbors: Sequence[set[int]], visits: Sequence[int]) -> int | None:
    """The first node visited whose earlier neighbours are not all joined, if there is one.

    It is enough to compare with the latest of them: it stood the same test against the others.
    """
    times = [0] * len(visits)
    for time, node in enumerate(visits):
        times[node] = time
    for node in visits:
        earlier = {other for other in neighbors[node] if times[other] < times[node]}
        if earlier:
            latest = max(earlier, key=times.__getitem__)
            if not earlier - {latest} <= neighbors[latest]:
                return node
    return None


def _chordless_cycle_through(neighbors: Sequence[set[int]], node: int) -> list[int]:
    """The node, two neighbours of it that are not joined, and a shortest path between them that avoids the others."""
    around = neighbors[node]
    seen = around | {node}
    for start in range(len(neighbors)):
        if start in seen:
            continue
        component = reach_outside(neighbors, [start], around)
        seen |= component
        attached = sorted(a for a in around if not neighbors[a].isdisjoint(component))
        for a, b in combinations(attached, 2):
            if b not in neighbors[a]:
                return [node, *_shortest_path(neighbors, a, b, component | {b})]
    raise AssertionError(f"no chordless cycle runs through the node at position {node}")


def _shortest_path(neighbors: Sequence[set[int]], start: int, goal: int, allowed: set[int]) -> list[int]:
    """A path with the fewest edges, whose nodes after `start` are all allowed; such a path exists."""
    before = {start: start}
    frontier = deque([start])
    while goal not in before:
        node = frontier.popleft()
        for other in sorted((neighbors[node] & allowed) - before.keys()):
            before[other] = node
            frontier.append(other)
    path = [goal]
    while path[-1] != start:
        path.append(before[path[-1]])
    return path[::-1]


def triangulate(
    graph: GraphLike[DAG | UndirectedGraph],
    order: Iterable[Node] | None = None,
    *,
    heuristic: Heuristic = "min-fill",
    cardinalities: Mapping[Node, int] | None = None,
) -> UndirectedGraph:
    """A chordal graph with the edges of this one: the graph and the fill edges of an elimination order.

    A DAG is moralised first. Without `order`, which has all nodes, `elimination_order` chooses one by `heuristic` and
    `cardinalities`.

    >>> triangulate(UndirectedGraph("A - B - C - D - A"))
    UndirectedGraph('A - B; A - D; B - C; B - D; C - D')
    """
    graph = read_plain(graph)
    if order is None:
        return induced_graph(graph, elimination_order(graph, heuristic, cardinalities=cardinalities))
    return induced_graph(graph, complete_order(graph, order))


def minimal_triangulation(graph: GraphLike[DAG | UndirectedGraph]) -> UndirectedGraph:
    """A chordal graph with the edges of this one from which no added edge can be taken away again.

    The algorithm MCS-M (Berry, Blair, Heggernes & Peyton 2004, "Maximum cardinality search for computing minimal
    triangulations of graphs"); a DAG is moralised first. Fewest edges are not promised, and greedy orders often add
    fewer; but where those add one too many, this one does not. Costs nodes times edges.

    >>> minimal_triangulation(UndirectedGraph("A - B - C - D - A"))
    UndirectedGraph('A - B; A - D; B - C; B - D; C - D')
    """
    graph = interaction_graph(graph)
    neighbors = neighbor_sets(graph)
    weights = [0] * len(neighbors)
    waiting = set(range(len(neighbors)))
    added: list[tuple[int, int]] = []
    while waiting:
        node = max(waiting, key=lambda node: (weights[node], -node))
        waiting.discard(node)
        for other in _reached_from_below(neighbors, weights, node, waiting):
            weights[other] += 1
            if other not in neighbors[node]:
                added.append((node, other))
    nodes = graph.nodes
    return UndirectedGraph((*graph.edges, *((nodes[a], nodes[b]) for a, b in added)), nodes=nodes)


def _reached_from_below(
    neighbors: Sequence[set[int]], weights: Sequence[int], start: int, waiting: set[int]
) -> list[int]:
    """The waiting nodes that a path from `start` reaches whose inner nodes wait and weigh less than the node reached.

    Paths are grown from the lightest inner node upwards: `stacks[w]` holds the nodes whose lightest way in, the node
    itself counted, weighs w at most.
    """
    reached = sorted(neighbors[start] & waiting)
    seen = {start, *reached}
    stacks: list[list[int]] = [[] for _ in range(max((weights[node] for node in waiting), default=0) + 1)]
    for node in reached:
        stacks[weights[node]].append(node)
    for weight, stack in enumerate(stacks):
        while stack:
            for node in sorted((neighbors[stack.pop()] & waiting) - seen):
                seen.add(node)
                if weights[node] > weight:
                    reached.append(node)
                stacks[max(weight, weights[node])].append(node)
    return reached
