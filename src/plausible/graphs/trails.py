"""Trails: which ones carry influence between nodes of a graph, and what opens or blocks each."""

from __future__ import annotations

from collections import deque
from collections.abc import Set as AbstractSet
from dataclasses import dataclass, field, replace
from itertools import islice, pairwise
from typing import TYPE_CHECKING, Any, ClassVar, Literal, Protocol

from plausible.base import Result, html_of_print, picture_by
from plausible.errors import InvalidArgument
from plausible.graphs.listing import Listing
from plausible.graphs.nodes import Node, NodeIndex, Nodes
from plausible.graphs.paths import PathRules, simple_paths
from plausible.graphs.separation import Rows
from plausible.graphs.text import quote

if TYPE_CHECKING:
    from plausible.base.pictured import Picture
    from plausible.graphs.base_graph import BaseGraph


class Directed(Protocol):
    """What trails need of a directed acyclic graph."""

    @property
    def index(self) -> NodeIndex: ...
    @property
    def nodes(self) -> tuple[Node, ...]: ...
    @property
    def parent_rows(self) -> Rows: ...
    @property
    def child_rows(self) -> Rows: ...
    def ancestors(self, nodes: Nodes, /) -> AbstractSet[Node]: ...

    def __len__(self) -> int: ...


@dataclass(frozen=True, slots=True)
class Junction:
    """An inner node of a trail: the part it plays there, and whether it lets influence pass."""

    node: Node
    #: `"chain"` (`a -> node -> b`), `"fork"` (`a <- node -> b`) or `"collider"` (`a -> node <- b`); an edge `<->`
    #: points into the node, as `->` would.
    role: Literal["chain", "fork", "collider"]
    #: The observed node that decides: the node itself, or for a collider the nearest observed descendant. `None` if
    #: neither the node nor (for a collider) a descendant is observed.
    witness: Node | None

    @property
    def is_open(self) -> bool:
        """Whether influence passes: at a collider thanks to a witness, elsewhere for want of one."""
        return (self.witness is not None) == (self.role == "collider")

    def __str__(self) -> str:
        claim = f"{quote(self.node)} is a {self.role} and "
        if self.witness is None:
            return claim + ("neither it nor a descendant is observed" if self.role == "collider" else "is not observed")
        return claim + (
            "is observed" if self.witness == self.node else f"its descendant {quote(self.witness)} is observed"
        )

    _repr_html_ = html_of_print


@dataclass(frozen=True, slots=True)
class Trail:
    """A path that may run against the arrows, seen with a set of observed nodes."""

    nodes: tuple[Node, ...]  # The nodes in order, each once
    arrows: tuple[Literal["->", "<-", "<->"], ...]  # Between each two of them; `"<->"` in a causal graph only
    junctions: tuple[Junction, ...]  # The inner nodes and what each does

    @property
    def blockers(self) -> tuple[Junction, ...]:
        """The junctions that stop influence."""
        return tuple(junction for junction in self.junctions if not junction.is_open)

    @property
    def is_active(self) -> bool:
        """Whether influence flows from end to end: every junction is open."""
        return not self.blockers

    def __str__(self) -> str:
        return quote(self.nodes[0]) + "".join(
            f" {arrow} {quote(node)}" for arrow, node in zip(self.arrows, self.nodes[1:], strict=True)
        )

    _repr_html_ = html_of_print

    def __repr__(self) -> str:
        return f"<Trail: {self} is {'active' if self.is_active else 'blocked'}>"


@dataclass(frozen=True, slots=True)
class SeparationExplanation(Result):
    """Why two sets of nodes are separated or not."""

    x: tuple[Node, ...]  # Observed nodes are left out here, and in `y`
    y: tuple[Node, ...]
    given: tuple[Node, ...]
    separated: bool  # The answer
    #: If connected, one active trail, of the shortest ones. If separated, the trails from `x` to `y`, shortest first,
    #: each with what blocks it.
    trails: tuple[Trail, ...]
    complete: bool  # Whether `trails` lists every trail; a separated pair may have more than were asked for
    criterion: Literal["d", "m"] = "d"  # d-separation in a DAG, m-separation in a causal graph
    graph: Any = field(default=None, compare=False)  # The graph that it is about

    _told: ClassVar[tuple[str, ...]] = ("x", "y", "given", "separated", "trails", "complete", "criterion")

    def __str__(self) -> str:
        verdict = f"{self.criterion}-{'separated' if self.separated else 'connected'}"
        given = f"given {_list(self.given)}" if self.given else "given nothing"
        lines = [f"{_list(self.x)} and {_list(self.y)} are {verdict} {given}{':' if self.trails else ': no trail.'}"]
        for trail in self.trails:
            lines.append(f"  {trail} is {'active' if trail.is_active else 'blocked'}")
            told = trail.blockers or trail.junctions
            lines += [f"    {junction}" for junction in told]
        if self.separated and not self.complete:
            lines.append("  ... and more trails, all blocked")
        return "\n".join(lines)

    def picture(self) -> Picture:
        """The graph with the active trail brought out, or the trails and what blocks each."""
        return picture_by("picture_of_separation", self)

    # Like a table of numbers, an explanation is there to be read as soon as it is asked for.
    __repr__ = __str__

    _repr_html_ = html_of_print


def active_trails(graph: Directed, x: Nodes, y: Nodes, given: Nodes = (), limit: int | None = 100) -> Listing[Trail]:
    """The active trails between `x` and `y`, shortest first.

    A trail is active given Z if every collider on it is in Z or has a descendant in Z and no other node of it is in Z
    (Koller & Friedman 2009, definition 3.6). Of sets, the trails that touch `x` only in their first node and `y` only
    in their last one are listed; there is an active trail if and only if there is one of these.

    They are found one by one, each in O(length x edges); there can be exponentially many, and `limit=None` gives all.

    >>> from plausible.graphs.dag import DAG
    >>> for trail in active_trails(DAG("D -> G <- I -> S; G -> L"), "D", "S", given="L"):
    ...     print(trail)
    D -> G <- I -> S
    """
    starts, targets, observed = _read(graph, x, y, given)
    rules = _active_rules(graph, observed)
    return Listing(lambda: (_trail(graph, path, observed) for path in simple_paths(rules, starts, targets)), limit)


def explain_separation(
    graph: Directed, x: Nodes, y: Nodes, given: Nodes = (), limit: int = 10
) -> SeparationExplanation:
    """Why `x` and `y` are d-connected given `given` (an active trail) or d-separated (what blocks each trail).

    At most `limit` blocked trails are listed; each costs O(length x edges).

    >>> from plausible.graphs.dag import DAG
    >>> student = DAG("D -> G <- I -> S; G -> L")
    >>> print(explain_separation(student, "D", "S"))
    D and S are d-separated given nothing:
      D -> G <- I -> S is blocked
        G is a collider and neither it nor a descendant is observed
    >>> print(explain_separation(student, "D", "S", given="L"))
    D and S are d-connected given L:
      D -> G <- I -> S is active
        G is a collider and its descendant L is observed
        I is a fork and is not observed
    """
    starts, targets, observed = _read(graph, x, y, given)
    if limit < 1:
        raise InvalidArgument(f"limit={limit} leaves nothing to explain with; give one or more trails to list.")
    paths = list(islice(simple_paths(_active_rules(graph, observed), starts, targets), 1))
    separated = not paths
    if separated:
        all_rules = PathRules(graph.parent_rows, graph.child_rows, colliders=frozenset(range(len(graph))))
        paths = list(islice(simple_paths(all_rules, starts, targets), limit + 1))
    return SeparationExplanation(
        x=graph.index.names(sorted(starts)),
        y=graph.index.names(sorted(targets)),
        given=graph.index.names(sorted(observed)),
        separated=separated,
        trails=tuple(_trail(graph, path, observed) for path in paths[:limit]),
        complete=separated and len(paths) <= limit,
        graph=graph,
    )


def _read(graph: Directed, x: Nodes, y: Nodes, given: Nodes) -> tuple[frozenset[int], frozenset[int], frozenset[int]]:
    """The positions of the unobserved `x`, of the unobserved `y`, and of the observed nodes."""
    observed = frozenset(graph.index.select(given))
    return frozenset(graph.index.select(x)) - observed, frozenset(graph.index.select(y)) - observed, observed


def _active_rules(graph: Directed, observed: frozenset[int]) -> PathRules:
    above = graph.ancestors(graph.index.names(observed))
    return PathRules(graph.parent_rows, graph.child_rows, observed, observed.union(map(graph.index.position, above)))


def _trail(graph: Directed, path: tuple[int, ...], observed: frozenset[int]) -> Trail:
    """The path with its arrows and the role of each inner node."""
    is_down = [after in graph.child_rows[before] for before, after in pairwise(path)]
    junctions = (
        _junction(graph, node, into, out_of, observed)
        for node, (into, out_of) in zip(path[1:-1], pairwise(is_down), strict=True)
    )
    return Trail(graph.index.names(path), tuple("->" if down else "<-" for down in is_down), tuple(junctions))


def _junction(graph: Directed, node: int, enters_down: bool, leaves_down: bool, observed: frozenset[int]) -> Junction:
    name = graph.nodes[node]
    if enters_down and not leaves_down:
        return Junction(name, "collider", _nearest_observed(graph, node, observed))
    return Junction(name, "chain" if enters_down == leaves_down else "fork", name if node in observed else None)


def _nearest_observed(graph: Directed, node: int, observed: frozenset[int]) -> Node | None:
    """The node itself if it is observed, else an observed descendant with the fewest steps to it."""
    queue, found = deque([node]), {node}
    while queue:
        node = queue.popleft()
        if node in observed:
            return graph.nodes[node]
        fresh = [child for child in graph.child_rows[node] if child not in found]
        found.update(fresh)
        queue.extend(fresh)
    return None


def _list(nodes: tuple[Node, ...]) -> str:
    return ", ".join(map(quote, nodes)) if nodes else "nothing"


def without_latent(explanation: SeparationExplanation, graph: BaseGraph) -> SeparationExplanation:
    """The explanation in terms of the causal graph, whose nodes are all observable, from one of its canonical DAG."""
    observable = frozenset(graph.nodes)
    trails = tuple(_shortened(trail, observable) for trail in explanation.trails)
    return replace(explanation, trails=trails, criterion="m", graph=graph)


def _shortened(trail: Trail, observable: AbstractSet[Node]) -> Trail:
    """The trail with `A <- U -> B` written `A <-> B`. Such a U is a fork that is never observed: it blocks nothing."""
    nodes = tuple(node for node in trail.nodes if node in observable)
    arrows: list[Literal["->", "<-", "<->"]] = []
    for source, arrow in zip(trail.nodes, trail.arrows, strict=False):
        if source in observable:
            arrows.append(arrow)
        else:
            arrows[-1] = "<->"
    junctions = tuple(junction for junction in trail.junctions if junction.node in observable)
    return Trail(nodes, tuple(arrows), junctions)
