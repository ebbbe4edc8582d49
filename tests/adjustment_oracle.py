"""Adjustment by its definitions: paths of one graph, and all causal graphs over four nodes at once, in plain NumPy."""

from __future__ import annotations

from itertools import combinations, product

import numpy as np

from marked_graph_oracles import all_dags, ancestors, is_active, simple_paths, subsets

# --- one graph, as a list of triples, path by path ---


def proper_paths(edges, treatment, outcome):
    """The paths from a treatment to an outcome that meet a treatment only at their start."""
    return [
        path
        for x in treatment
        for y in outcome
        for path in simple_paths(edges, x, y)
        if not {step[2] for step in path} & set(treatment)
    ]


def is_causal(path):
    """Whether a path is directed from its beginning to its end."""
    return all(symbol == "->" for _, symbol, _ in path)


def forbidden_nodes(nodes, edges, treatment, outcome):
    """What lies on a proper causal path, or below one."""
    on = {step[2] for path in proper_paths(edges, treatment, outcome) if is_causal(path) for step in path}
    return {node for node in nodes if ancestors(edges, node) & on}


def valid_sets(nodes, edges, treatment, outcome):
    """All sets that satisfy the adjustment criterion."""
    others = [node for node in nodes if node not in (*treatment, *outcome)]
    forbidden = forbidden_nodes(nodes, edges, treatment, outcome)
    paths = [path for path in proper_paths(edges, treatment, outcome) if not is_causal(path)]
    return {
        frozenset(given)
        for given in subsets(others)
        if not forbidden & set(given) and not any(is_active(edges, path, given) for path in paths)
    }


def back_door_sets(nodes, edges, x, y):
    """All sets without descendants of x that block every path into x."""
    below = {node for node in nodes if x in ancestors(edges, node)}
    paths = [path for path in simple_paths(edges, x, y) if path[0][1] in ("<-", "<->")]
    return {
        frozenset(given)
        for given in subsets(node for node in nodes if node not in (x, y))
        if not below & set(given) and not any(is_active(edges, path, given) for path in paths)
    }


def front_door_sets(nodes, edges, treatment, outcome):
    """All sets that satisfy Pearl's three conditions."""
    found = set()
    for members in subsets(node for node in nodes if node not in (*treatment, *outcome)):
        directed = [p for x in treatment for y in outcome for p in simple_paths(edges, x, y) if is_causal(p)]
        intercepts = all({a for a, _, _ in path} & set(members) for path in directed)
        before = [p for x in treatment for m in members for p in simple_paths(edges, x, m) if not _leaves(p, treatment)]
        after = [p for m in members for y in outcome for p in simple_paths(edges, m, y) if not _leaves(p, members)]
        is_open = any(is_active(edges, p, ()) for p in before) or any(is_active(edges, p, treatment) for p in after)
        if intercepts and not is_open:
            found.add(frozenset(members))
    return found


def _leaves(path, nodes):
    """Whether a path uses an edge out of one of the nodes."""
    return any((s == "->" and a in nodes) or (s == "<-" and b in nodes) for a, s, b in path)


def minimal(sets):
    """Those with no proper subset among them."""
    return {members for members in sets if not any(other < members for other in sets)}


def random_edges(rng, nodes, directed=0.5, bidirected=0.25):
    """A random causal graph as triples."""
    order = rng.permutation(list(nodes)).tolist()
    pairs = list(combinations(order, 2))
    edges = [(a, "->", b) for a, b in pairs if rng.random() < directed]
    return edges + [(a, "<->", b) for a, b in pairs if rng.random() < bidirected]


# --- all causal graphs over a few nodes, side by side ---


class AllGraphs:
    """Every causal graph over n nodes: arrays with an axis for the graphs first."""

    def __init__(self, n):
        self.n = n
        pairs = list(combinations(range(n), 2))
        listed = []
        for arrows in all_dags(range(n)):
            matrix = np.zeros((n, n), dtype=bool)
            for a, b in arrows:
                matrix[a, b] = True
            listed.append(matrix)
        dags = np.array(listed)
        twos = []
        for choice in product((False, True), repeat=len(pairs)):
            matrix = np.zeros((n, n), dtype=bool)
            for (a, b), there in zip(pairs, choice, strict=True):
                matrix[a, b] = matrix[b, a] = there
            twos.append(matrix)
        self.directed = np.repeat(dags, len(twos), axis=0)
        self.bidirected = np.tile(np.array(twos), (len(dags), 1, 1))
        self.below = closure(self.directed)
        self.adjacent = np.ones_like(self.directed)

    def separated(self, directed, x, given):
        """For every graph and node, whether it is separated from x."""
        n, size = self.n, len(directed)
        arrows, doubles = (np.ascontiguousarray(array.transpose(1, 2, 0)) for array in (directed, self.bidirected))
        by_tail, by_arrow = np.zeros((n, size), dtype=bool), np.zeros((n, size), dtype=bool)
        by_tail[x] = True
        before = 0
        while (reached := np.count_nonzero(by_tail) + np.count_nonzero(by_arrow)) > before:
            before = reached
            for a in range(n):
                for b in range(n):
                    up, down, two = arrows[b, a], arrows[a, b], doubles[a, b]
                    if a in given:
                        by_tail[b] |= by_arrow[a] & up
                        by_arrow[b] |= by_arrow[a] & two
                    else:
                        by_tail[b] |= by_tail[a] & up
                        by_arrow[b] |= (by_tail[a] & two) | ((by_tail[a] | by_arrow[a]) & down)
        return ~(by_tail | by_arrow).T

    def classes(self):
        """The graphs with the same separations, class by class."""
        separations = []
        for given in subsets(range(self.n)):
            for x in (x for x in range(self.n) if x not in given):
                separations.append(self.separated(self.directed, x, given))
                self.adjacent[:, x, [y for y in range(self.n) if y not in given]] &= ~separations[-1][
                    :, [y for y in range(self.n) if y not in given]
                ]
        bits = np.packbits(np.concatenate(separations, axis=1), axis=1)
        key = np.unique(bits, axis=0, return_inverse=True)[1].reshape(-1)
        order = np.argsort(key, kind="stable")
        return np.split(order, np.flatnonzero(np.diff(key[order])) + 1)

    def valid(self, x, y, given):
        """For every graph whether adjusting for `given` is right."""
        cut = self.directed.copy()
        kept = self.directed.copy()
        kept[:, :, x] = False
        below = closure(kept)
        for v in range(self.n):
            if v != x:
                on = below[:, x, v] & (below[:, v, y] if v != y else True)
                cut[:, x, v] &= ~on
        forbidden = np.zeros(len(cut), dtype=bool)
        for w in given:
            for v in (v for v in range(self.n) if v != x):
                on = below[:, x, v] & (below[:, v, y] if v != y else True)
                forbidden |= on & (self.below[:, v, w] if v != w else True)
        return self.separated(cut, x, given)[:, y] & ~forbidden

    def class_edges(self, members, names):
        """The PAG of a class, as triples, by what its members agree on; after `classes`."""
        edges = []
        for a, b in combinations(range(self.n), 2):
            if self.adjacent[members[0], a, b]:
                left, right = self.below[members, a, b], self.below[members, b, a]
                edges.append((names[a], f"{_mark(left, '<')}-{_mark(right, '>')}", names[b]))
        return edges


def _mark(is_ancestor, arrow):
    return "" if is_ancestor.all() else arrow if not is_ancestor.any() else "o"


def closure(matrices):
    """Which node has a directed path to which."""
    found = matrices.copy()
    for _ in range(matrices.shape[-1]):
        found |= (found[:, :, :, None] & found[:, None, :, :]).any(axis=2)
    return found
