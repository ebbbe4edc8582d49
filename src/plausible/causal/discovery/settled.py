"""Graphs that stand for a class, so that something may be said of all its members."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from plausible.errors import InvalidGraph
from plausible.graphs.ancestral import PAG
from plausible.graphs.ancestral_class import stands_for_class
from plausible.graphs.graph_input import read_as
from plausible.graphs.marks import Mark
from plausible.graphs.pdag import PDAG
from plausible.learn.constraint_based.orientation import Triple
from plausible.learn.constraint_based.result import ConstraintBasedResult

__all__ = ["read_settled"]

#: So many triples are named.
_MAX_SHOWN = 3


def read_settled(source: object, *kinds: type[Any]) -> Any:
    """The graph of one of these kinds that the source is, has or writes, unless it leaves open what its class is.

    A triple A o-o B o-o C says that B is no collider; where a search left it ambiguous, it says nothing. Then the graph
    stands for no class even if the same marks could mean one, unless other triples settle by marks at B what it is.

    Parameters
    ----------
    source
        A graph, arrow text, or a result of `pc` or `fci`.
    kinds
        The classes of graphs that will do.

    Raises
    ------
    InvalidGraph
        If a search left triples open, or a PAG stands for no class (see `stands_for_class`).

    Examples
    --------
    >>> read_settled("A o-o B o-o C o-o D o-o A", PAG)
    Traceback (most recent call last):
    ...
    plausible.errors.InvalidGraph: No class of MAGs was found with members that have these marks, ...
    """
    graph = read_as(source, *kinds)
    if isinstance(source, ConstraintBasedResult):
        _refuse_open([triple for triple in source.ambiguous if _is_open(graph, triple)])
    if isinstance(graph, PAG) and not stands_for_class(graph, narrowed=True):
        raise InvalidGraph(
            "No class of MAGs was found with members that have these marks, so this graph makes nothing certain. Its "
            "marks tell of selection, feedback or unfaithfulness, or of tests that err. Where a search made it, see "
            "the conflicts and ambiguous triples of its result, and try another alpha=, variant= or selection=."
        )
    return graph


def _is_open(graph: PDAG | PAG, triple: Triple) -> bool:
    """Whether the marks at the middle leave it open if this is a collider."""
    left, middle, right = triple
    edges = [edge for end in (left, right) for edge in graph.edges_between(end, middle)]
    undirected = {edge for edge in edges if isinstance(graph, PDAG) and edge.is_undirected}
    marks = {Mark.CIRCLE if edge in undirected else edge.mark_at(middle) for edge in edges}
    return Mark.TAIL not in marks and marks != {Mark.ARROW}


def _refuse_open(triples: Sequence[Triple]) -> None:
    """Refuse triples that may be colliders, and name them."""
    if not triples:
        return
    shown = [f"({', '.join(triple)})" for triple in triples[:_MAX_SHOWN]]
    more = len(triples) - len(shown)
    raise InvalidGraph(
        f"The tests do not tell whether the middle of {', '.join(shown)}{f' and of {more} more' if more else ''} is a "
        "collider: with ambiguous triples a graph stands for no class, and makes nothing certain. More rows, another "
        "alpha=, or knowledge= about these edges may settle them; variant='stable' decides by one test of each."
    )
