"""Orders that sum first and maximise afterwards, and what they cost."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence
from dataclasses import dataclass
from itertools import combinations
from math import prod

from plausible.base.remedies import Remedy
from plausible.errors import InvalidArgument, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import union_scope
from plausible.graphs.elimination import Elimination, eliminate, elimination_order
from plausible.graphs.greedy import Heuristic
from plausible.graphs.nodes import Node
from plausible.graphs.undirected import UndirectedGraph

_HEURISTICS: tuple[Heuristic, ...] = ("weighted-min-fill", "min-weight")


@dataclass(frozen=True, slots=True)
class MaxOrder:
    """Which variables are summed out, which are maximised after them, and the tables that this builds."""

    #: The variables in the order in which they go.
    sums: tuple[str, ...]
    maxima: tuple[str, ...]
    cost: int  # The entries of all tables together
    largest: tuple[str, ...]  # The scope of the largest table
    largest_table: int  # Its entries

    def check(self, max_entries: int, remedies: Iterable[Remedy]) -> None:
        """Refuse an order that would build more entries than allowed, before any work is done."""
        if self.cost > max_entries:
            names = ", ".join(self.largest[:8]) + (", ..." if len(self.largest) > 8 else "")
            raise TooLarge(
                f"Elimination would build tables with {self.cost:.3g} entries ({self.cost * 8 / 2**30:.3g} GiB), the "
                f"largest over {len(self.largest)} variables ({names}); the limit is {max_entries:.3g}.",
                remedies=remedies,
            )


def constrained_order(
    factors: Sequence[Factor], maximized: Collection[str], order: Sequence[str] | None = None
) -> MaxOrder:
    """An order in which every sum comes before every maximum: max Σ Π φ allows no other (Park & Darwiche 2004).

    Parameters
    ----------
    factors
        What is multiplied.
    maximized
        The variables to maximise; all others are summed out.
    order
        All variables of the factors, the summed ones first; the cheaper of two greedy orders where left out.

    Examples
    --------
    >>> star = [Factor({"C": 2, name: 2}, [[1, 2], [3, 4]]) for name in ("A", "B", "D")]
    >>> constrained_order(star, ["A", "B", "D", "C"]).cost
    14
    >>> constrained_order(star, ["A", "B", "D"]).largest_table
    16
    """
    sizes: dict[Node, int] = {v.name: v.num_states for v in union_scope(factor.scope for factor in factors)}
    graph = UndirectedGraph((pair for factor in factors for pair in combinations(factor.names, 2)), nodes=sizes)
    if order is not None:
        return _priced(eliminate(graph, _checked(order, sizes, maximized)), sizes, maximized)
    runs = [_greedy(graph, heuristic, sizes, maximized) for heuristic in _HEURISTICS]
    return min((_priced(run, sizes, maximized) for run in runs), key=lambda priced: priced.cost)


def _greedy(
    graph: UndirectedGraph, heuristic: Heuristic, sizes: dict[Node, int], maximized: Collection[str]
) -> Elimination:
    kept = [node for node in graph.nodes if node in maximized]
    sums = elimination_order(graph, heuristic, cardinalities=sizes, keep=kept)
    filled = UndirectedGraph((*graph.edges, *eliminate(graph, sums).fill), nodes=graph.nodes)
    left = filled.subgraph(kept)
    maxima = elimination_order(left, heuristic, cardinalities={node: sizes[node] for node in kept})
    return eliminate(graph, (*sums, *maxima))


def _checked(order: Sequence[str], sizes: dict[Node, int], maximized: Collection[str]) -> list[str]:
    listed = [name for name in order if name in sizes]
    if missing := [name for name in sizes if name not in set(listed)]:
        raise InvalidArgument(f"The elimination order lacks {missing[0]!r}.")
    is_maximized = [name in maximized for name in listed]
    if is_maximized != sorted(is_maximized):
        early = listed[is_maximized.index(True)]
        raise InvalidArgument(
            f"The elimination order has {early!r}, which is maximised, before variables to be summed."
        )
    return listed


def _priced(run: Elimination, sizes: dict[Node, int], maximized: Collection[str]) -> MaxOrder:
    entries = [prod(sizes[name] for name in clique) for clique in run.cliques]
    largest = max(entries, default=1)
    clique = run.cliques[entries.index(largest)] if entries else ()
    return MaxOrder(
        sums=tuple(str(name) for name in run.order if name not in maximized),
        maxima=tuple(str(name) for name in run.order if name in maximized),
        cost=sum(entries),
        largest=tuple(map(str, clique)),
        largest_table=largest,
    )
