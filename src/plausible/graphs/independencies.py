"""Independence statements, and the ones that a graph makes."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, combinations
from math import comb
from typing import TypeAlias

from plausible.base import html_of_print
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.graph_input import GraphLike, read_as, read_plain, read_undirected
from plausible.graphs.mixed import PDAG, MixedGraph, SeparationGraph
from plausible.graphs.nodes import Node, Nodes, read_scope
from plausible.graphs.undirected import UndirectedGraph

#: Answers whether X ⟂ Y | Z, for tuples of nodes x, y, given.
IndependenceOracle: TypeAlias = Callable[[tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]], bool]

#: More nodes than this are not asked about every conditioning set.
MAX_NODES = 12


#: A graph that answers separation queries.
Separable: TypeAlias = DAG | UndirectedGraph | SeparationGraph


@dataclass(frozen=True, slots=True, init=False, eq=False)
class Independence:
    """The statement X ⟂ Y | Z: given Z, to know Y tells nothing about X.

    X, Y and Z are sets of nodes, and sets are meant jointly: X ⟂ {Y1, Y2} says more than X ⟂ Y1 and X ⟂ Y2. All three
    are disjoint, X and Y not empty. Independence is symmetric, and so is equality: X ⟂ Y | Z equals Y ⟂ X | Z, in
    whatever order the nodes stand.

    >>> print(Independence("D", ["I", "S"], given="G"))
    D ⟂ I, S | G
    >>> Independence("D", "I")
    <Independence: D ⟂ I>
    >>> Independence("D", ["I", "S"]) == Independence(["S", "I"], "D")
    True
    """

    x: tuple[Node, ...]
    y: tuple[Node, ...]
    given: tuple[Node, ...]

    def __init__(self, x: Nodes, y: Nodes, given: Nodes = ()) -> None:
        sides = {"x": read_scope(x), "y": read_scope(y), "given": read_scope(given)}
        for name in ("x", "y"):
            if not sides[name]:
                raise InvalidArgument(f"An independence needs nodes on both sides; {name} has none.")
        for (first, left), (second, right) in combinations(sides.items(), 2):
            shared = [node for node in left if node in right]
            if shared:
                raise InvalidArgument(f"{shared[0]!r} is in {first} and in {second}; the sets must be disjoint.")
        for name, nodes in sides.items():
            object.__setattr__(self, name, nodes)

    @classmethod
    def _of(cls, x: tuple[Node, ...], y: tuple[Node, ...], given: tuple[Node, ...]) -> Independence:
        """The statement for sets that are known to be disjoint; a large graph makes hundreds of thousands."""
        statement = object.__new__(cls)
        object.__setattr__(statement, "x", x)
        object.__setattr__(statement, "y", y)
        object.__setattr__(statement, "given", given)
        return statement

    def _key(self) -> tuple[frozenset[frozenset[Node]], frozenset[Node]]:
        return frozenset((frozenset(self.x), frozenset(self.y))), frozenset(self.given)

    def __eq__(self, other: object) -> bool:
        return self._key() == other._key() if isinstance(other, Independence) else NotImplemented

    def __hash__(self) -> int:
        return hash(self._key())

    def __str__(self) -> str:
        x, y, given = (", ".join(map(str, side)) for side in (self.x, self.y, self.given))
        return f"{x} ⟂ {y} | {given}" if given else f"{x} ⟂ {y}"

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"<Independence: {self}>"

    def holds_in(self, oracle: IndependenceOracle) -> bool:
        """Whether an oracle agrees.

        >>> collider = separation_oracle(DAG("D -> G <- I"))
        >>> Independence("D", "I").holds_in(collider), Independence("D", "I", given="G").holds_in(collider)
        (True, False)
        """
        return oracle(self.x, self.y, self.given)


def separation_oracle(graph: GraphLike[Separable]) -> IndependenceOracle:
    """The independence model of a graph, I(G): its own answer to "are X and Y separated given Z?".

    A DAG answers by d-separation, a mixed graph by m-separation, an undirected graph by plain separation. A
    distribution over the graph has these independencies; special numbers may give it more (soundness without
    completeness), a faithful one has no other.
    """
    graph = _read_separable(graph)
    for method in ("d_separated", "m_separated", "separated"):
        if hasattr(graph, method):
            oracle: IndependenceOracle = getattr(graph, method)
            return oracle
    raise NotSupported(
        f"A {type(graph).__name__} does not answer separation queries, as it stands for several graphs. Ask one of "
        "them, such as consistent_extension(pdag) or a MAG of the class."
    )


def _read_separable(graph: GraphLike[Separable]) -> Separable:
    """The graph, which may also be of a kind that answers no separation queries."""
    separable: Separable = read_as(graph, DAG, UndirectedGraph, MixedGraph, CausalGraph, MAG, PDAG, PAG)
    return separable


def local_independencies(graph: GraphLike[DAG | UndirectedGraph]) -> tuple[Independence, ...]:
    """The local Markov property, one statement for each node about which there is something to say.

    In a DAG, X ⟂ nondescendants other than the parents | parents: together these imply every d-separation, for any
    distribution. In an undirected graph, X ⟂ rest | neighbours.

    >>> for statement in local_independencies(DAG("D -> G <- I -> S; G -> L")):
    ...     print(statement)
    D ⟂ I, S
    G ⟂ S | D, I
    I ⟂ D
    S ⟂ D, G, L | I
    L ⟂ D, I, S | G
    """
    graph = read_plain(graph)
    if isinstance(graph, UndirectedGraph):
        return markov_blanket_independencies(graph)
    return _stated(
        (node, _without(graph.nodes, {node, *graph.parents(node)} | graph.descendants(node)), graph.parents(node))
        for node in graph.nodes
    )


def markov_blanket_independencies(graph: GraphLike[DAG | UndirectedGraph]) -> tuple[Independence, ...]:
    """Each node is independent of all the rest given its Markov blanket.

    >>> for statement in markov_blanket_independencies(DAG("D -> G <- I -> S")):
    ...     print(statement)
    D ⟂ S | G, I
    G ⟂ S | D, I
    S ⟂ D, G | I
    """
    graph = read_plain(graph)
    return _stated(
        (node, _without(graph.nodes, {node, *graph.markov_blanket(node)}), graph.markov_blanket(node))
        for node in graph.nodes
    )


def pairwise_independencies(graph: GraphLike[DAG | UndirectedGraph]) -> tuple[Independence, ...]:
    """One statement for each pair of nodes that no edge joins.

    In an undirected graph X ⟂ Y | all the rest, which implies every separation if the distribution is positive. In a
    DAG X ⟂ Y | parents of X, where X is the one that comes later in the topological order.

    >>> for statement in pairwise_independencies(UndirectedGraph("A - B - C - D - A")):
    ...     print(statement)
    A ⟂ C | B, D
    B ⟂ D | A, C
    """
    graph = read_plain(graph)
    if isinstance(graph, UndirectedGraph):
        pairs = ((a, b) for a, b in combinations(graph.nodes, 2) if not graph.has_edge(a, b))
        return _stated((a, (b,), _without(graph.nodes, {a, b})) for a, b in pairs)
    parents = {node: graph.parents(node) for node in graph.nodes}
    adjacent = {node: frozenset(graph.neighbors(node)) for node in graph.nodes}
    ordered = combinations(graph.topological_order, 2)
    return _stated((later, (earlier,), parents[later]) for earlier, later in ordered if earlier not in adjacent[later])


def global_independencies(graph: GraphLike[UndirectedGraph]) -> tuple[Independence, ...]:
    """The global Markov property of an undirected graph, in statements from which all others follow.

    For each set Z that cuts the rest into pieces: each piece ⟂ all the other pieces | Z. These imply every
    separation by decomposition, weak union and contraction, so for any distribution, positive or not. Looks at all 2^n
    sets Z and refuses more than 12 nodes.

    >>> for statement in global_independencies(UndirectedGraph("A - B - C - D - A")):
    ...     print(statement)
    B ⟂ D | A, C
    A ⟂ C | B, D
    """
    graph = read_undirected(graph)
    refuse_many_nodes(graph.nodes)
    statements: dict[Independence, None] = {}
    for given in subsets(graph.nodes):
        rest = _without(graph.nodes, given)
        for piece in graph.subgraph(rest).components:
            others = _without(rest, piece)
            if others:
                statements.setdefault(Independence(piece, others, given))
    return tuple(statements)


def all_independencies(graph: GraphLike[Separable], max_given: int | None = None) -> tuple[Independence, ...]:
    """Every X ⟂ Y | Z that the graph implies, for single nodes X and Y and sets Z of up to `max_given` nodes.

    Single nodes say it all: in a graph two sets are separated exactly if each node of the one is separated from each
    node of the other (decomposition and composition). If `max_given` sets no limit, this asks n(n-1)/2 · 2^(n-2)
    separation queries and is refused for more than 12 nodes.

    >>> for statement in all_independencies(DAG("D -> G <- I; G -> L")):
    ...     print(statement)
    D ⟂ I
    D ⟂ L | G
    I ⟂ L | G
    D ⟂ L | G, I
    I ⟂ L | D, G
    """
    graph = _read_separable(graph)
    if max_given is None:
        refuse_many_nodes(graph.nodes)
    is_separated = separation_oracle(graph)
    candidates = single_pairs(graph.nodes, max_given)
    return tuple(Independence((a,), (b,), given) for a, b, given in candidates if is_separated((a,), (b,), given))


def single_pairs(nodes: Sequence[Node], max_given: int | None = None) -> Iterator[tuple[Node, Node, tuple[Node, ...]]]:
    """All pairs of nodes with all sets of others, small sets first."""
    largest = len(nodes) - 2 if max_given is None else min(max_given, len(nodes) - 2)
    for size in range(largest + 1):
        for a, b in combinations(nodes, 2):
            for given in combinations(_without(nodes, {a, b}), size):
                yield a, b, given


def subsets(nodes: Sequence[Node]) -> Iterator[tuple[Node, ...]]:
    """All subsets, small ones first."""
    return chain.from_iterable(combinations(nodes, size) for size in range(len(nodes) + 1))


def refuse_many_nodes(nodes: Sequence[Node]) -> None:
    """Refuse to enumerate conditioning sets over more nodes than one would wait for."""
    if len(nodes) > MAX_NODES:
        queries = comb(len(nodes), 2) * 2 ** (len(nodes) - 2)
        raise TooLarge(
            f"All conditioning sets of {len(nodes)} nodes make {queries:.1e} queries; this is done for up to "
            f"{MAX_NODES} nodes. Ask about a subgraph, about sets of limited size or about single statements."
        )


def _stated(statements: Iterable[tuple[Node, Sequence[Node], Sequence[Node]]]) -> tuple[Independence, ...]:
    """The statements that have something on their second side."""
    return tuple(Independence._of((x,), tuple(y), tuple(given)) for x, y, given in statements if y)


def _without(nodes: Iterable[Node], removed: Iterable[Node]) -> tuple[Node, ...]:
    unwanted = frozenset(removed)
    return tuple(node for node in nodes if node not in unwanted)
