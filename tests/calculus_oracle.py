"""Random causal models with latent variables, and what they say by summing the whole joint: plain NumPy."""

from __future__ import annotations

from itertools import combinations

import numpy as np

from plausible.graphs import CausalGraph

NAMES = "ABCDEF"


def random_causes(rng, num_nodes, directed=0.5, bidirected=0.3):
    """Directed and bidirected pairs of a random causal graph, in a random order of causes."""
    order = rng.permutation(list(NAMES[:num_nodes])).tolist()
    pairs = list(combinations(order, 2))
    return (
        [pair for pair in pairs if rng.random() < directed],
        [pair for pair in pairs if rng.random() < bidirected],
    )


def causal_graph(num_nodes, directed, bidirected):
    """The graph of these pairs."""
    edges = [*((a, "->", b) for a, b in directed), *((a, "<->", b) for a, b in bidirected)]
    return CausalGraph(edges, nodes=list(NAMES[:num_nodes]))


def parts_of(graph):
    """The directed and the bidirected pairs of a graph."""
    return (
        [(edge.left, edge.right) for edge in graph.edges if edge.is_directed],
        [(edge.left, edge.right) for edge in graph.edges if edge.is_bidirected],
    )


class LatentModel:
    """A distribution over a causal graph: a latent root for each bidirected edge, tables for the rest.

    All answers are arrays with an axis for each observed node, of length one where the node is not mentioned, so that
    they can be multiplied, summed and compared as they are.
    """

    def __init__(self, rng, nodes, directed, bidirected, states=2, latent_states=3):
        self.nodes = list(nodes)
        sizes = [states] * len(self.nodes) + [latent_states] * len(bidirected)
        self.num_axes = len(sizes)
        self.tables = {}
        for place, node in enumerate(self.nodes):
            axes = {place, *(self.nodes.index(a) for a, b in directed if b == node)}
            axes |= {len(self.nodes) + i for i, pair in enumerate(bidirected) if node in pair}
            shape = [size if axis in axes else 1 for axis, size in enumerate(sizes)]
            table = rng.gamma(1.0, size=shape) + 0.02
            self.tables[node] = table / table.sum(axis=place, keepdims=True)
        self.latents = []
        for place in range(len(self.nodes), self.num_axes):
            root = rng.dirichlet(np.ones(latent_states))
            self.latents.append(root.reshape([-1 if axis == place else 1 for axis in range(self.num_axes)]))

    def replaced(self, rng, node):
        """The same model with another table for one node."""
        other = object.__new__(LatentModel)
        other.nodes, other.num_axes, other.latents = self.nodes, self.num_axes, self.latents
        table = rng.gamma(1.0, size=self.tables[node].shape) + 0.02
        axis = self.nodes.index(node)
        other.tables = {**self.tables, node: table / table.sum(axis=axis, keepdims=True)}
        return other

    def axes(self, nodes):
        return tuple(self.nodes.index(node) for node in nodes)

    def probability(self, outcome, do=(), given=()):
        """P(outcome | do, given)."""
        joint = np.ones([1] * self.num_axes)
        for table in [*self.latents, *(table for node, table in self.tables.items() if node not in do)]:
            joint = joint * table
        mentioned = self.axes([*outcome, *do, *given])
        joint = joint.sum(axis=tuple(axis for axis in range(self.num_axes) if axis not in mentioned), keepdims=True)
        joint = joint.reshape(joint.shape[: len(self.nodes)])
        return joint / joint.sum(axis=self.axes(outcome), keepdims=True)

    def of(self, quantity):
        """The value of a quantity."""
        return self.probability(quantity.outcome, quantity.do, quantity.given)


# --- is an effect identifiable? Tian & Pearl's c-components, in Shpitser & Pearl's form (2006), yes or no only ---


def is_identifiable(nodes, directed, bidirected, outcome, treatment):
    """Whether P(outcome | do(treatment)) is a functional of the observed distribution."""
    order = _topological(nodes, directed)
    return _identify(set(outcome), set(treatment), list(order), directed, bidirected)


def _identify(y, x, nodes, directed, bidirected):
    directed = [(a, b) for a, b in directed if a in nodes and b in nodes]
    bidirected = [(a, b) for a, b in bidirected if a in nodes and b in nodes]
    if not x:
        return True
    above = _above(y, directed)
    if above != set(nodes):
        return _identify(y, x & above, [v for v in nodes if v in above], directed, bidirected)
    cut = [(a, b) for a, b in directed if b not in x]
    idle = set(nodes) - x - _above(y, cut)
    if idle:
        return _identify(y, x | idle, nodes, directed, bidirected)
    rest = [v for v in nodes if v not in x]
    parts = _components(rest, bidirected)
    if len(parts) > 1:
        return all(_identify(part, set(nodes) - part, nodes, directed, bidirected) for part in parts)
    whole = _components(nodes, bidirected)
    if len(whole) == 1:
        return False
    (part,) = parts
    if part in whole:
        return True
    larger = next(component for component in whole if part < component)
    return _identify(y, x & larger, [v for v in nodes if v in larger], directed, bidirected)


def _above(y, directed):
    found = set(y)
    while fresh := {a for a, b in directed if b in found} - found:
        found |= fresh
    return found


def _components(nodes, bidirected):
    left, found = set(nodes), []
    while left:
        part = {min(left)}
        while fresh := {b for pair in bidirected for a, b in (pair, pair[::-1]) if a in part and b in left} - part:
            part |= fresh
        found.append(part)
        left -= part
    return found


def _topological(nodes, directed):
    left, order = list(nodes), []
    while left:
        order += (free := [v for v in left if not any(b == v and a in left for a, b in directed)])
        left = [v for v in left if v not in free]
    return order
