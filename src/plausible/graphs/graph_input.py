"""Reading the graph that a function is asked about: a graph, a model that has one, arrow text, a networkx graph."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Protocol, TypeAlias, TypeVar

from plausible.errors import InvalidGraph, NotSupported
from plausible.graphs.dag import DAG
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import is_networkx
from plausible.graphs.text import stated_kind
from plausible.graphs.undirected import UndirectedGraph

if TYPE_CHECKING:
    import networkx as nx


Kind = TypeVar("Kind")
Carried = TypeVar("Carried", covariant=True)


class HasGraph(Protocol[Carried]):
    """A model, or anything else that a graph belongs to."""

    @property
    def graph(self) -> Carried:
        """The graph."""


#: A graph, something that has one, arrow text or a networkx graph.
GraphLike: TypeAlias = "Kind | HasGraph[Kind] | str | nx.Graph[Any]"

_HINTS = {
    ("DAG", "UndirectedGraph"): " Take its .moralize() or its .skeleton().",
    ("PDAG", "DAG"): " A DAG of its class is consistent_extension(graph).",
    ("CausalGraph", "DAG"): " With a node for each latent cause it is graph.to_dag().",
}


def read_dag(source: object) -> DAG:
    """The DAG that this is, has or writes."""
    graph: DAG = read_as(source, DAG)
    return graph


def read_undirected(source: object) -> UndirectedGraph:
    """The undirected graph that this is, has or writes."""
    graph: UndirectedGraph = read_as(source, UndirectedGraph)
    return graph


def read_plain(source: object) -> DAG | UndirectedGraph:
    """The DAG or undirected graph that this is, has or writes; the edges of a text tell which."""
    graph: DAG | UndirectedGraph = read_as(source, DAG, UndirectedGraph)
    return graph


def read_pdag(source: object) -> PDAG:
    """The PDAG that this is, has or writes; a DAG or an undirected graph is a PDAG with edges of one kind."""
    graph = read_as(source, PDAG, DAG, UndirectedGraph)
    return graph if isinstance(graph, PDAG) else PDAG(graph)


def read_class(source: object) -> DAG | PDAG:
    """A member of an equivalence class, or the PDAG that stands for a class.

    Arrow text with edges `->` only is refused: as a DAG it stands for all that are equivalent to it, as a PDAG for
    itself.
    """
    graph: DAG | PDAG = read_as(source, DAG, PDAG)
    if isinstance(source, str) and isinstance(graph, DAG) and stated_kind(source) is None:
        raise InvalidGraph(
            f"{source!r} can mean a DAG, and so all that are equivalent to it, or a PDAG with these directions only. "
            f"Write DAG({source!r}) or PDAG({source!r})."
        )
    return graph


def read_as(source: object, *kinds: type[Any]) -> Any:
    """The graph of one of these kinds that the source is, has as its `.graph`, or writes.

    Arrow text and networkx graphs become the first kind that can hold them; text such as `PAG: A o-> B` says its kind.
    Text without an edge is refused, unless it says its kind: it is more often the name of a file or of an example.
    """
    if isinstance(source, kinds):
        return source
    if isinstance(carried := getattr(source, "graph", None), kinds):
        return carried
    if isinstance(source, str) or is_networkx(source):
        return _written(source, kinds)
    raise NotSupported(_refusal(source, kinds))


def _written(source: Any, kinds: tuple[type[Any], ...]) -> Any:
    """The first kind of graph that can hold the text or networkx graph; else what hinders the first kind."""
    problem: InvalidGraph | None = None
    for kind in kinds:
        try:
            graph = kind(source)
        except InvalidGraph as error:
            problem = problem or error
            continue
        if isinstance(source, str) and not graph.num_edges and stated_kind(source) is None:
            raise InvalidGraph(
                f"{source!r} is graph text without an edge. Write edges, such as 'A -> B', or give a graph or a model; "
                f"if nodes without edges are meant, write {kind.__name__}({source!r})."
            )
        return graph
    raise problem or InvalidGraph("No kind of graph was asked for.")


def _refusal(source: object, kinds: tuple[type[Any], ...]) -> str:
    names = [kind.__name__ for kind in kinds]
    expected = " or ".join([", ".join(names[:-1]), names[-1]] if len(names) > 1 else names)
    given = _with_article(type(source).__name__)
    graph = source if hasattr(source, "nodes") else getattr(source, "graph", None)
    if graph is not None and graph is not source:
        given += f" whose graph is {_with_article(type(graph).__name__)}"
    hint = "" if graph is not None else f" Make a graph of it first, as with {names[0]}(...)."
    for name in names:
        hint = hint or _HINTS.get((type(graph).__name__, name), "")
    written = "A - B" if names == ["UndirectedGraph"] else "A -> B"
    return (
        f"Expected {_with_article(expected)}, a model with one, or arrow text such as '{written}', not {given}.{hint}"
    )


def _with_article(name: str) -> str:
    return ("an " if name.startswith(("A", "E", "I", "O", "Un", "int")) else "a ") + name
