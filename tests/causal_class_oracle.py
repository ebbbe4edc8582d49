"""Equivalence classes of ancestral graphs by enumeration, on plain matrices: they share no code with the library.

`marks[a][b]` is the mark at b on the edge between a and b: 0 for no edge, 1 for a tail, 2 for an arrowhead. Separation
is told by the augmentation criterion of Richardson & Spirtes (2002), not by paths.
"""

from __future__ import annotations

from collections import defaultdict
from functools import cache, lru_cache
from itertools import combinations, product

TAIL, ARROW = 1, 2
Marks = tuple[tuple[int, ...], ...]


def matrix(size, edges):
    """Marks of edges (a, b, mark at a, mark at b)."""
    rows = [[0] * size for _ in range(size)]
    for a, b, at_a, at_b in edges:
        rows[b][a], rows[a][b] = at_a, at_b
    return tuple(map(tuple, rows))


def of_graph(graph):
    """Marks of a graph of the library without circles."""
    places = {node: place for place, node in enumerate(graph.nodes)}
    if hasattr(graph, "districts"):
        turned = {"-": TAIL, ">": ARROW}
        edges = [
            (places[e.left], places[e.right], turned[e.left_mark.value], turned[e.right_mark.value])
            for e in graph.edges
        ]
    else:
        edges = [(places[a], places[b], TAIL, ARROW) for a, b in graph.edges]
    return matrix(len(graph.nodes), edges)


def closure(marks, nodes, mark_there):
    """The nodes and all from which steps with a tail here and a given mark there lead to them."""
    found, grown = set(nodes), True
    while grown:
        fresh = {
            a
            for a in range(len(marks))
            for b in found
            if a not in found and marks[b][a] == TAIL and marks[a][b] in mark_there
        }
        found |= fresh
        grown = bool(fresh)
    return found


def is_ancestral(marks):
    """No cycle, no arrowhead between a node and its anterior ones, none at the end of an undirected edge."""
    size = range(len(marks))
    if any(marks[a][b] == marks[b][a] == TAIL and ARROW in (row[b] for row in marks) for a in size for b in size):
        return False
    for b in size:
        before = closure(marks, [b], (TAIL, ARROW)) - {b}
        if any(marks[b][a] == ARROW for a in before):
            return False
    return True


def separated(marks, x, y, given):
    """Whether x and y are apart, given others, in the augmented graph of the anterior nodes."""
    joined = augmented(marks, frozenset({x, y, *given}))
    reached, frontier = {x}, [x]
    while frontier:
        for other in joined[frontier.pop()]:
            if other not in reached and other not in given:
                reached.add(other)
                frontier.append(other)
    return y not in reached


@lru_cache(maxsize=1000)
def augmented(marks, named):
    """The augmented graph of the nodes that are anterior to those named: for each its neighbours."""
    return _augmented_among(marks, frozenset(closure(marks, named, (TAIL, ARROW))))


@lru_cache(maxsize=1000)
def _augmented_among(marks, kept):
    return {a: collider_connected(marks, a, kept) for a in kept}


def collider_connected(marks, start, kept):
    """The nodes at the ends of paths on which all inner nodes are colliders."""
    found = {node for node in kept if marks[start][node]}
    pointed = {node for node in found if marks[start][node] == ARROW}
    frontier = list(pointed)
    while frontier:
        node = frontier.pop()
        for other in kept:
            if marks[other][node] == ARROW:
                found.add(other)
                if marks[node][other] == ARROW and other not in pointed:
                    pointed.add(other)
                    frontier.append(other)
    return found - {start}


def model(marks, observed, selected=()):
    """All (x, y, given) with x and y separated, among observed nodes given the selected ones."""
    return frozenset(
        (x, y, given)
        for x, y in combinations(observed, 2)
        for size in range(len(observed) - 1)
        for given in combinations([node for node in observed if node not in (x, y)], size)
        if separated(marks, x, y, {*given, *selected})
    )


def all_ancestral(size, *, lines):
    """Every ancestral graph over so many nodes; `lines` is whether undirected edges are allowed."""
    pairs = list(combinations(range(size), 2))
    kinds = [(0, 0), (TAIL, ARROW), (ARROW, TAIL), (ARROW, ARROW), *([(TAIL, TAIL)] if lines else [])]
    for choice in product(kinds, repeat=len(pairs)):
        marks = matrix(size, [(*pair, *kind) for pair, kind in zip(pairs, choice, strict=True)])
        if is_ancestral(marks):
            yield marks


@cache
def all_classes(size, *, lines):
    """Model -> the maximal ancestral graphs that have it."""
    classes = defaultdict(list)
    for marks in all_ancestral(size, lines=lines):
        found = model(marks, range(size))
        apart = {(x, y) for x, y, _ in found}
        if all(marks[a][b] or (a, b) in apart for a, b in combinations(range(size), 2)):
            classes[found].append(marks)
    return classes


def common_marks(members):
    """The marks that all graphs share; `None` for one that differs."""
    first = members[0]
    size = range(len(first))
    return [[first[a][b] if all(m[a][b] == first[a][b] for m in members) else None for b in size] for a in size]


def members_of_model(size, wanted, *, lines):
    """The maximal ancestral graphs that have a model: all orientations of its skeleton, tried one by one."""
    separator = {}
    for x, y, given in wanted:
        separator.setdefault((x, y), given)
    pairs = [pair for pair in combinations(range(size), 2) if pair not in separator]
    joined = {frozenset(pair) for pair in pairs}
    triples = [
        (a, b, c, b not in separator[min(a, c), max(a, c)])
        for b in range(size)
        for a, c in combinations([v for v in range(size) if v != b], 2)
        if frozenset((a, b)) in joined and frozenset((b, c)) in joined and frozenset((a, c)) not in joined
    ]
    place = {pair: number for number, pair in enumerate(pairs)}
    last = defaultdict(list)
    for a, b, c, is_collider in triples:
        last[max(place[min(a, b), max(a, b)], place[min(b, c), max(b, c)])].append((a, b, c, is_collider))
    kinds = [(TAIL, ARROW), (ARROW, TAIL), (ARROW, ARROW), *([(TAIL, TAIL)] if lines else [])]
    rows = [[0] * size for _ in range(size)]

    def extend(number):
        if number == len(pairs):
            marks = tuple(map(tuple, rows))
            if is_ancestral(marks) and model(marks, range(size)) == wanted:
                yield marks
            return
        a, b = pairs[number]
        for rows[b][a], rows[a][b] in kinds:
            if all((rows[u][v] == rows[w][v] == ARROW) == is_collider for u, v, w, is_collider in last[number]):
                yield from extend(number + 1)
        rows[a][b] = rows[b][a] = 0

    return list(extend(0))


def of_pag(pag, names):
    """The marks of a PAG as `common_marks` writes them."""
    places = {node: place for place, node in enumerate(names)}
    rows = [[0] * len(names) for _ in names]
    turned = {"-": TAIL, ">": ARROW, "o": None}
    for edge in pag.edges:
        a, b = places[edge.left], places[edge.right]
        rows[b][a], rows[a][b] = turned[edge.left_mark.value], turned[edge.right_mark.value]
    return rows
