"""The front-door criterion: effects through mediators that share no latent cause with treatment or outcome."""

from __future__ import annotations

from collections.abc import Iterator

from plausible.base.records import record
from plausible.causal.adjustment.problem import USUAL_LIMIT, Check, listed, open_trail, read_allowed, read_sides
from plausible.causal.expressions.symbols import Symbol
from plausible.causal.expressions.tree import Expression, probability, sum_over
from plausible.causal.queries.arguments import CausalLike, read_causal, read_nodes, refuse_overlap
from plausible.causal.queries.independence import directed_path
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.listing import Listing
from plausible.graphs.marks import Mark, walk_reach
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote
from plausible.graphs.trails import Trail


@record
class FrontDoorCheck(Check):
    """Whether P(y | do(x)) = Σ_m P(m | x) Σ_x' P(y | x', m) P(x'), by the front-door criterion, and if not, why."""

    #: Y, X and M.
    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...]
    mediators: tuple[Node, ...]
    missed: tuple[Node, ...] | None  # A directed path from X to Y that meets no mediator
    before: Trail | None  # An open back-door trail from X to a mediator
    after: Trail | None  # A back-door trail from a mediator to Y that X leaves open

    @property
    def is_valid(self) -> bool:
        """Whether nothing is wrong with the mediators."""
        return self.missed is None and self.before is None and self.after is None

    @property
    def expression(self) -> Expression:
        """Σ_m P(m | x) Σ_x' P(y | x', m) P(x'); refused if the mediators are not valid."""
        self.require()
        others = tuple(Symbol(node, primes=1) for node in self.treatment)
        mediators = tuple(map(Symbol, self.mediators))
        inner = sum_over(others, probability(self.outcome, (*others, *mediators)) * probability(others))
        return sum_over(mediators, probability(mediators, self.treatment) * inner) if mediators else inner

    def __str__(self) -> str:
        sets = f"{{{', '.join(map(quote, self.mediators))}}}"
        if self.is_valid:
            return f"{sets} satisfies the front-door criterion."
        lines = [f"{sets} does not satisfy the front-door criterion:"]
        if self.missed is not None:
            lines.append(f"  {' -> '.join(map(quote, self.missed))} meets none of it")
        lines += [f"  {trail} is an open back-door trail" for trail in (self.before, self.after) if trail is not None]
        return "\n".join(lines)


def check_front_door(graph: CausalLike, outcome: Nodes, treatment: Nodes, mediators: Nodes) -> FrontDoorCheck:
    """Whether mediators satisfy Pearl's front-door criterion, with the reason if they do not.

    All directed paths from X to Y meet M; no back-door trail from X to M is open; X blocks every back-door trail from
    M to Y. Linear in the edges.

    Parameters
    ----------
    graph
        A DAG, or a causal graph.
    outcome, treatment
        Y and X, a node or several each.
    mediators
        M, a node or several.

    References
    ----------
    Pearl (1995), Causal diagrams for empirical research, Biometrika 82.

    Examples
    --------
    >>> print(check_front_door("S -> T -> C; S <-> C", outcome="C", treatment="S", mediators="T"))
    {T} satisfies the front-door criterion.
    >>> print(check_front_door("S -> T -> C; S <-> C", "C", "S", "T").expression)
    Σ_t P(t | s) Σ_s' P(c | s', t) P(s')
    >>> print(check_front_door("S -> T -> C; S <-> C; T <-> C", "C", "S", "T"))
    {T} does not satisfy the front-door criterion:
      T <-> C is an open back-door trail
    """
    causes, y, x = _read(graph, outcome, treatment)
    m = read_nodes(causes, mediators)
    refuse_overlap({"outcome": y, "treatment": x, "mediators": m})
    behind_x, behind_m = causes.without_outgoing(x), causes.without_outgoing(m)
    before, after = open_trail(behind_x, x, m), open_trail(behind_m, m, y, x)
    return FrontDoorCheck(y, x, m, directed_path(causes, x, y, m), before, after)


def front_door_set(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, *, included: Nodes = (), allowed: Nodes | None = None
) -> frozenset[Node] | None:
    """A front-door set no subset of which (with what is included) is one; `None` if there is none.

    Sets that satisfy the criterion have a greatest one, found by leaving out nodes with an open back-door trail until
    none is left. Members are then dropped as long as a set remains: O(n² x edges) at worst.

    Parameters
    ----------
    graph, outcome, treatment
        As for `check_front_door`.
    included
        Nodes that the set must contain.
    allowed
        Nodes from which the set must be taken; by default all.

    References
    ----------
    Jeong, Tian & Bareinboim (2022), Finding and listing front-door adjustment sets, NeurIPS; Wienöbst, van der Zander &
    Liskiewicz (2024), Linear-time algorithms for front-door adjustment in causal graphs, AAAI.

    Examples
    --------
    >>> sorted(front_door_set("X -> A -> B -> Y; X <-> Y", outcome="Y", treatment="X"))
    ['A']
    """
    search, needed, free = _search(graph, outcome, treatment, included, allowed)
    members = search.greatest(needed, free)
    if members is None:
        return None
    # Most sets do with nodes between treatment and outcome: trying these first leaves little to drop.
    for spare in (members - search.between - needed, *({node} for node in sorted(members, reverse=True))):
        if spare & members and not spare & needed:
            smaller = search.greatest(needed, members - spare)
            members = members if smaller is None else smaller
    return frozenset(search.causes.nodes[node] for node in members)


def front_door_sets(
    graph: CausalLike,
    outcome: Nodes,
    treatment: Nodes,
    *,
    included: Nodes = (),
    allowed: Nodes | None = None,
    limit: int | None = USUAL_LIMIT,
) -> Listing[frozenset[Node]]:
    """All sets that satisfy the front-door criterion, each once; O(n² x edges) between two of them.

    Parameters
    ----------
    graph, outcome, treatment, included, allowed
        As for `front_door_set`.
    limit
        As for `adjustment_sets`.

    Examples
    --------
    >>> front_door_sets("X -> A -> B -> Y; X <-> Y", outcome="Y", treatment="X")
    [{'B'}, {'A'}, {'A', 'B'}]
    """
    search, needed, free = _search(graph, outcome, treatment, included, allowed)
    nodes = search.causes.nodes
    return listed(lambda: (frozenset(nodes[one] for one in members) for members in search.all(needed, free)), limit)


class _FrontDoorSearch:
    """Front-door sets by position in the graph."""

    __slots__ = ("_x", "_y", "between", "causes")

    def __init__(self, causes: CausalGraph, y: tuple[Node, ...], x: tuple[Node, ...]) -> None:
        self.causes = causes
        index = causes._index
        self._x, self._y = set(index.select(x)), set(index.select(y))
        self.between = set(index.select(causes.descendants(x) & causes.ancestors(y)))

    def greatest(self, needed: set[int], free: set[int]) -> set[int] | None:
        """The greatest front-door set within `free`, if there is one and it contains what is needed."""
        members = free - self._x - self._y - self._open_from(self._x, self._x, set())
        # A member that reaches Y backwards stays out for good: fewer members cut fewer edges.
        while bad := members & self._open_from(self._y, members, self._x):
            members = members - bad
        return members if needed <= members and not self._misses(members) else None

    def all(self, needed: set[int], free: set[int]) -> Iterator[set[int]]:
        """All of them: those without the first free member, then those with it, and so on (Jeong et al. 2022)."""
        waiting = [(needed, free)]
        while waiting:
            needed, free = waiting.pop()
            members = self.greatest(needed, free)
            if members is None:
                continue
            if members == needed:
                yield members
                continue
            first = min(members - needed)
            waiting += [(needed | {first}, members), (needed, members - {first})]

    def _open_from(self, starts: set[int], cut_out_of: set[int], given: set[int]) -> set[int]:
        """The nodes that are connected to the starts in the graph without edges `->` out of some nodes."""
        incident = [
            [
                (other, near, far)
                for other, near, far in row
                if not (near is Mark.TAIL and node in cut_out_of) and not (far is Mark.TAIL and other in cut_out_of)
            ]
            for node, row in enumerate(self.causes._incident)
        ]
        is_given = [node in given for node in range(len(incident))]
        return walk_reach(incident, starts - given, is_given, [not seen for seen in is_given])

    def _misses(self, members: set[int]) -> bool:
        """Whether a directed path from X to Y meets no member."""
        found, frontier = set(self._x), list(self._x)
        while frontier:
            for other, near, _ in self.causes._incident[frontier.pop()]:
                if near is Mark.TAIL and other not in members and other not in found:
                    found.add(other)
                    frontier.append(other)
        return bool(found & self._y)


def _read(
    graph: CausalLike, outcome: Nodes, treatment: Nodes
) -> tuple[CausalGraph, tuple[Node, ...], tuple[Node, ...]]:
    causes = read_causal(graph)
    return causes, *read_sides(causes, outcome, treatment)


def _search(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, included: Nodes, allowed: Nodes | None
) -> tuple[_FrontDoorSearch, set[int], set[int]]:
    causes, y, x = _read(graph, outcome, treatment)
    needed, free = read_allowed(causes, {"outcome": y, "treatment": x}, included, allowed)
    index = causes._index
    return _FrontDoorSearch(causes, y, x), set(index.select(needed)), set(index.select(free))
