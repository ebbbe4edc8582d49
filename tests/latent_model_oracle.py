"""Random models with a latent cause for every `<->`, and what they say by plain enumeration with `einsum`.

Axes are numbered: the observed nodes first, in the graph's order, then one latent variable for each edge `<->`.
"""

from __future__ import annotations

from itertools import combinations

import numpy as np

from plausible.factors import Factor
from plausible.graphs import CausalGraph
from plausible.variables import Variable


def random_causal_graph(rng, num_nodes, directed=0.5, bidirected=0.3, names="ABCDEFGH"):
    """Any edge along a random order of the nodes, and any latent common cause."""
    order = rng.permutation(num_nodes)
    edges = [(names[a], "->", names[b]) for a, b in combinations(order, 2) if rng.random() < directed]
    pairs = combinations(range(num_nodes), 2)
    edges += [(names[a], "<->", names[b]) for a, b in pairs if rng.random() < bidirected]
    return CausalGraph(edges, nodes=list(names[:num_nodes]))


class LatentModel:
    """Tables of every node given its observed and latent parents, with axes (*parents, *latents, node)."""

    def __init__(self, graph, rng, latent_states=3, max_states=3, zeros=0.0, sizes=None):
        self.nodes = list(graph.nodes)
        place = {node: i for i, node in enumerate(self.nodes)}
        confounded = [(place[e.left], place[e.right]) for e in graph.edges if e.is_bidirected]
        latents = range(len(self.nodes), len(self.nodes) + len(confounded))
        drawn = [int(rng.integers(2, max_states + 1)) for _ in self.nodes] if sizes is None else list(sizes)
        self.sizes = drawn + [latent_states] * len(confounded)
        self.latents = list(latents)
        self.scopes, self.tables = [], []
        for i, node in enumerate(self.nodes):
            shared = [latent for latent, ends in zip(latents, confounded, strict=True) if i in ends]
            self.scopes.append([*(place[parent] for parent in graph.parents(node)), *shared, i])
        self.scopes += [[latent] for latent in latents]
        for scope in self.scopes:
            weights = rng.gamma(1.0, size=[self.sizes[axis] for axis in scope]) + 0.02
            weights *= rng.random(weights.shape) >= zeros
            weights[..., 0] += weights.sum(axis=-1) == 0
            self.tables.append(weights / weights.sum(axis=-1, keepdims=True))

    def table(self, kept, cut=()):
        """The product of the tables of all but the cut nodes, summed to the kept axes."""
        operands = []
        for scope, values in zip(self.scopes, self.tables, strict=True):
            if scope[-1] not in cut:
                operands += [values, scope]
        for axis in kept:
            operands += [np.ones(self.sizes[axis]), [axis]]
        return np.einsum(*operands, list(kept), optimize="greedy")

    def joint(self):
        """The observed distribution, as a factor."""
        variables = [Variable(node, self.sizes[i]) for i, node in enumerate(self.nodes)]
        return Factor(variables, self.table(range(len(self.nodes))))

    def effect(self, outcome, treatment, given=()):
        """P(outcome | do(treatment), given) with the axes (treatment, given, outcome), by cutting the tables."""
        places = [[self.nodes.index(node) for node in nodes] for nodes in (treatment, given, outcome)]
        values = self.table([*places[0], *places[1], *places[2]], cut=places[0])
        axes = tuple(range(values.ndim - len(outcome), values.ndim))
        return values / values.sum(axis=axes, keepdims=True)

    # --- a first-order test of identifiability ---

    def _derivatives(self, kept, cut):
        """d table / d (entries of all tables), along changes that keep the rows' sums: (cells of kept, entries)."""
        blocks = []
        for number, (scope, values) in enumerate(zip(self.scopes, self.tables, strict=True)):
            if scope[-1] in cut:
                blocks.append(np.zeros((int(np.prod([self.sizes[a] for a in kept])), values.size)))
                continue
            operands = []
            for other, (axes, table) in enumerate(zip(self.scopes, self.tables, strict=True)):
                if axes[-1] not in cut and other != number:
                    operands += [table, axes]
            # An axis that is both kept and in the table's scope ties a cell to an entry: an identity matrix does that.
            fresh, out = max(len(self.sizes), max(scope) + 1), []
            for axis in kept:
                if axis in scope:
                    operands += [np.eye(self.sizes[axis]), [axis, fresh]]
                    out.append(fresh)
                    fresh += 1
                else:
                    operands += [np.ones(self.sizes[axis]), [axis]]
                    out.append(axis)
            for axis in scope:
                operands += [np.ones(self.sizes[axis]), [axis]]
            block = np.einsum(*operands, [*out, *scope], optimize="greedy")
            block = block.reshape(*block.shape[: len(kept)], -1, values.shape[-1])
            block = block - block.mean(axis=-1, keepdims=True)
            blocks.append(block.reshape(int(np.prod(block.shape[: len(kept)])), -1))
        return np.hstack(blocks)

    def moves_unseen(self, outcome, treatment, given=()):
        """Whether some small change of the model changes the effect and leaves the observed distribution as it is."""
        places = [[self.nodes.index(node) for node in nodes] for nodes in (treatment, given, outcome)]
        kept = [*places[0], *places[1], *places[2]]
        seen = self._derivatives(list(range(len(self.nodes))), cut=())
        joint, moved = self.table(kept, cut=places[0]), self._derivatives(kept, cut=places[0])
        moved = moved.reshape(*joint.shape, -1)
        if given:  # the derivative of a ratio
            axes = tuple(range(joint.ndim - len(outcome), joint.ndim))
            below, below_moved = joint.sum(axis=axes, keepdims=True), moved.sum(axis=axes, keepdims=True)
            moved = (moved - (joint / below)[..., None] * below_moved) / below[..., None]
        moved = moved.reshape(joint.size, -1)
        _, singular, directions = np.linalg.svd(seen, full_matrices=False)
        visible = directions[singular > 1e-9 * singular[0]]
        unseen = moved - (moved @ visible.T) @ visible
        return bool(np.abs(unseen).max(initial=0.0) > 1e-7)
