"""Random DAGs: one function for each kind, all of them reproducible by `seed`."""

from __future__ import annotations

from collections.abc import Iterable
from math import ceil, log

import numpy as np

from plausible.base import Ints, Seed, generator_of
from plausible.errors import InvalidArgument
from plausible.graphs.dag import DAG
from plausible.graphs.nodes import Node, NodeIndex


def erdos_renyi_dag(
    num_nodes: int, edge_probability: float, *, nodes: Iterable[Node] | None = None, seed: Seed = None
) -> DAG:
    """A DAG with each possible edge present independently, directed along a uniformly random order of the nodes.

    Without names in `nodes` they are `X0`, `X1`, ... Time and memory grow with the edges, not with the pairs, so large
    sparse graphs are cheap: an average of d parents takes `edge_probability = 2 * d / (num_nodes - 1)`.

    >>> erdos_renyi_dag(4, 1.0, seed=0).num_edges
    6
    """
    if not 0 <= edge_probability <= 1:
        raise InvalidArgument(f"edge_probability={edge_probability} is not between 0 and 1.")
    names, rng = _read_nodes(num_nodes, nodes), generator_of(seed)
    order = rng.permutation(num_nodes)
    num_pairs = num_nodes * (num_nodes - 1) // 2
    num_edges = rng.binomial(num_pairs, edge_probability)
    ranks = rng.choice(num_pairs, num_edges, replace=False, shuffle=False)
    # The pairs i < j with these ranks in the order (0, 1), (0, 2), (1, 2), (0, 3), ...: rank = j (j - 1) / 2 + i. Exact
    # for fewer than 4e7 nodes: 1 + 8 rank is then below 2**53, and its root does not round up to the next j.
    later = ((1 + np.sqrt(1 + 8 * ranks)) / 2).astype(np.int64)
    return _dag(names, order[ranks - later * (later - 1) // 2], order[later])


def bounded_dag(num_nodes: int, max_parents: int, *, nodes: Iterable[Node] | None = None, seed: Seed = None) -> DAG:
    """A DAG whose nodes have at most `max_parents` parents.

    Along a uniformly random order of the nodes, each one draws its number of parents uniformly from 0, 1, ...,
    `max_parents` (as far as there are nodes before it), then that many of the nodes before it.

    >>> graph = bounded_dag(50, 2, seed=0)
    >>> max(len(graph.parents(node)) for node in graph.nodes)
    2
    """
    if max_parents < 0:
        raise InvalidArgument(f"max_parents={max_parents} is negative.")
    names, rng = _read_nodes(num_nodes, nodes), generator_of(seed)
    order = rng.permutation(num_nodes)
    sizes = rng.integers(0, np.minimum(max_parents, np.arange(num_nodes)), endpoint=True)
    earlier = [rng.choice(place, size, replace=False) for place, size in enumerate(sizes)]
    parents = np.concatenate([np.empty(0, dtype=np.int64), *earlier])
    return _dag(names, order[parents], order[np.repeat(np.arange(num_nodes), sizes)])


def uniform_dag(
    num_nodes: int,
    *,
    max_parents: int | None = None,
    steps: int | None = None,
    nodes: Iterable[Node] | None = None,
    seed: Seed = None,
) -> DAG:
    """A DAG drawn uniformly from all labelled DAGs, or from those with at most `max_parents` parents per node.

    A Markov chain starts from no edges and toggles one ordered pair per step: an edge that is there goes, one that is
    not comes unless it closes a cycle or exceeds `max_parents`. Its moves are symmetric, so its limit is uniform
    (Melançon, Dutour & Bousquet-Mélou 2001; Ide & Cozman 2002).

    By default the chain has `ceil(6 n² ln n) + 60` steps, so that every pair comes up some 6 ln n times. For up to 4
    nodes the law of the last state is then uniform to rounding error; for up to 40 the mean number of edges agrees with
    its exact value; beyond, this is a rule of thumb. A step costs O(n) operations on n-bit words.

    >>> uniform_dag(3, seed=1) == uniform_dag(3, seed=1)
    True
    """
    if max_parents is not None and max_parents < 0:
        raise InvalidArgument(f"max_parents={max_parents} is negative.")
    names, rng = _read_nodes(num_nodes, nodes), generator_of(seed)
    if steps is None:
        steps = ceil(6 * num_nodes**2 * log(max(num_nodes, 1))) + 60
    bound = num_nodes if max_parents is None else max_parents
    parents = _toggle_edges(num_nodes, bound, steps if num_nodes > 1 else 0, rng)
    pairs = [(a, b) for b, mask in enumerate(parents) for a in range(num_nodes) if mask >> a & 1]
    return DAG([(names[a], names[b]) for a, b in pairs], nodes=names)


def random_tree(num_nodes: int, *, nodes: Iterable[Node] | None = None, seed: Seed = None) -> DAG:
    """A rooted tree, all edges away from the root, uniform over the n^(n - 1) labelled ones (by a Prüfer sequence).

    >>> random_tree(10, seed=0).is_rooted_tree
    True
    """
    names, rng = _read_nodes(num_nodes, nodes), generator_of(seed)
    neighbors = _tree_neighbors(num_nodes, rng)
    frontier = [int(rng.integers(num_nodes))] if num_nodes else []
    parent = dict.fromkeys(frontier, -1)
    while frontier:
        node = frontier.pop()
        fresh = [other for other in neighbors[node] if other not in parent]
        parent.update(dict.fromkeys(fresh, node))
        frontier.extend(fresh)
    return DAG([(names[a], names[b]) for b, a in sorted(parent.items()) if a >= 0], nodes=names)


def random_polytree(num_nodes: int, *, nodes: Iterable[Node] | None = None, seed: Seed = None) -> DAG:
    """A connected DAG without undirected cycles, uniform over the 2^(n - 1) n^(n - 2) labelled ones.

    A uniform labelled tree (by a Prüfer sequence), each edge directed by the toss of a coin.

    >>> graph = random_polytree(10, seed=0)
    >>> graph.is_polytree, graph.is_connected
    (True, True)
    """
    names, rng = _read_nodes(num_nodes, nodes), generator_of(seed)
    pairs = [(a, b) for a, row in enumerate(_tree_neighbors(num_nodes, rng)) for b in row if a < b]
    turned = rng.integers(2, size=len(pairs))
    edges = [(b, a) if turn else (a, b) for (a, b), turn in zip(pairs, turned, strict=True)]
    return DAG([(names[a], names[b]) for a, b in edges], nodes=names)


def _read_nodes(num_nodes: int, nodes: Iterable[Node] | None) -> list[Node]:
    if num_nodes < 0:
        raise InvalidArgument(f"num_nodes={num_nodes} is negative.")
    if nodes is None:
        return [f"X{position}" for position in range(num_nodes)]
    names = list(NodeIndex(nodes))
    if len(names) != num_nodes:
        raise InvalidArgument(f"nodes names {len(names)} different nodes, but num_nodes={num_nodes}.")
    return names


def _dag(names: list[Node], sources: Ints, targets: Ints) -> DAG:
    """The DAG with these edges, sorted so that the graph does not depend on how they were drawn."""
    pairs = sorted(zip(sources.tolist(), targets.tolist(), strict=True))
    return DAG([(names[a], names[b]) for a, b in pairs], nodes=names)


def _toggle_edges(num_nodes: int, max_parents: int, steps: int, rng: np.random.Generator) -> list[int]:
    """The chain's last state: for each node the set of its parents, as the bits of a number."""
    parents = [0] * num_nodes
    sources = rng.integers(num_nodes, size=steps)
    targets = (sources + rng.integers(1, max(num_nodes, 2), size=steps)) % max(num_nodes, 1)
    for a, b in zip(sources.tolist(), targets.tolist(), strict=True):
        bit = 1 << a
        if parents[b] & bit:
            parents[b] ^= bit
        elif parents[b].bit_count() < max_parents and not _is_ancestor(parents, b, a):
            parents[b] |= bit
    return parents


def _is_ancestor(parents: list[int], above: int, below: int) -> bool:
    """Whether a directed path leads from `above` to `below`."""
    goal = 1 << above
    found = frontier = parents[below]
    while frontier and not found & goal:
        lowest = frontier & -frontier
        fresh = parents[lowest.bit_length() - 1] & ~found
        found |= fresh
        frontier = (frontier ^ lowest) | fresh
    return bool(found & goal)


def _tree_neighbors(num_nodes: int, rng: np.random.Generator) -> list[list[int]]:
    """The neighbours in a labelled tree drawn uniformly: every Prüfer sequence stands for one tree."""
    neighbors: list[list[int]] = [[] for _ in range(num_nodes)]
    if num_nodes >= 2:
        import networkx as nx

        sequence = rng.integers(num_nodes, size=num_nodes - 2).tolist()
        for a, b in nx.from_prufer_sequence(sequence).edges:
            neighbors[a].append(b)
            neighbors[b].append(a)
    return neighbors
