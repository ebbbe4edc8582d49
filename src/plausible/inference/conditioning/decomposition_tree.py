"""Decomposition trees: factors at the leaves of a binary tree, variables summed out where their factors have met."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Sequence
from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class DecompositionTree:
    """A binary tree over factors, called a dtree (Darwiche 2001); children have lower numbers than their parent."""

    children: tuple[tuple[int, ...], ...]  # For each node its two children; empty for a leaf. Leaf i is factor i.
    #: For each node the variables that only the leaves below it have, and not those of one child alone: they are summed
    #: out there (the cutset of an inner node).
    closed: tuple[frozenset[str], ...]
    #: For each node the variables that it shares with leaves elsewhere, and targets: what its value depends on.
    context: tuple[frozenset[str], ...]

    @property
    def root(self) -> int:
        """The number of the root."""
        return len(self.children) - 1

    def cluster(self, node: int) -> frozenset[str]:
        """The variables that meet at a node."""
        return self.closed[node] | self.context[node]

    def below(self, node: int) -> list[int]:
        """The nodes of the subtree, each before its children."""
        found, waiting = [], [node]
        while waiting:
            found.append(waiting.pop())
            waiting.extend(self.children[found[-1]])
        return found


def decomposition_tree(
    scopes: Sequence[Iterable[str]], order: Iterable[str], targets: Iterable[str] = ()
) -> DecompositionTree:
    """The tree that an elimination order leads to: for each variable the trees that have it are joined.

    Its largest cluster is at most the largest clique of the elimination (Darwiche 2001, §5).


    Examples
    --------
    >>> tree = decomposition_tree([["A"], ["A", "B"], ["B", "C"]], ["A", "B", "C"])
    >>> tree.children
    ((), (), (), (0, 1), (2, 3))
    >>> [sorted(names) for names in tree.closed]
    [[], [], ['C'], ['A'], ['B']]
    """
    builder = _Builder(scopes, targets)
    for name in order:
        builder.join(builder.having.get(name, ()))
    builder.join(builder.roots)
    return DecompositionTree(tuple(builder.children), tuple(builder.closed), tuple(builder.context))


class _Builder:
    """Trees under construction: their `roots`, and for each variable those roots that have it in their context.

    `counts[node]` says how many leaves below a node have each variable of its context.
    """

    def __init__(self, scopes: Sequence[Iterable[str]], targets: Iterable[str]) -> None:
        read = [tuple(dict.fromkeys(scope)) for scope in scopes]
        self.totals = Counter(name for scope in read for name in scope)
        self.kept = frozenset(targets)
        self.children: list[tuple[int, ...]] = []
        self.closed: list[frozenset[str]] = []
        self.context: list[frozenset[str]] = []
        self.counts: list[Counter[str]] = []
        self.roots: set[int] = set()
        self.having: dict[str, set[int]] = {}
        for scope in read:
            self._add((), Counter(scope))

    def join(self, nodes: Iterable[int]) -> None:
        """Join trees to one, those with small contexts first."""
        waiting = sorted(nodes, key=lambda node: (len(self.context[node]), node))
        joined = waiting[:1]
        for node in waiting[1:]:
            children = (joined[0], node)
            joined = [self._add(children, self.counts[children[0]] + self.counts[node])]

    def _add(self, children: tuple[int, ...], counts: Counter[str]) -> int:
        closed = frozenset(n for n, count in counts.items() if count == self.totals[n] and n not in self.kept)
        for name in closed:
            del counts[name]
        node = len(self.children)
        self.children.append(children)
        self.closed.append(closed)
        self.context.append(frozenset(counts))
        self.counts.append(counts)
        for child in children:
            self.roots.discard(child)
            for name in self.context[child]:
                self.having[name].discard(child)
        self.roots.add(node)
        for name in counts:
            self.having.setdefault(name, set()).add(node)
        return node
