"""Sets of mediators: the front door, and what natural direct and indirect effects need."""

from __future__ import annotations

from collections.abc import Iterator

from plausible.base import Result, record
from plausible.causal.adjustment.problem import USUAL_LIMIT, Check, listed, open_trail, read_allowed, read_sides
from plausible.causal.expressions.notation import Symbol
from plausible.causal.expressions.tree import Expression, probability, sum_over
from plausible.causal.queries.association import directed_path
from plausible.causal.queries.observed import CausalLike, read_causal, read_nodes, refuse_overlap
from plausible.errors import InvalidArgument
from plausible.graphs import DAG, CausalGraph, Trail
from plausible.graphs.listing import Listing
from plausible.graphs.marks import Mark, walk_reach
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote


@record
class MediationCheck(Check, Result):
    """Whether P(y_{x, M_x'}) = Σ_{m,w} P(y | x, m, w) P(m | x', w) P(w), and if not, why."""

    #: Y, X, M and W.
    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...]
    mediators: tuple[Node, ...]
    given: tuple[Node, ...]
    forbidden: tuple[Node, ...]  # Members of W that lie below a treatment
    treatment_trail: Trail | None  # A trail that confounds the treatment with a mediator or the outcome
    mediator_trail: Trail | None  # A trail that confounds treatment and mediators with the outcome

    @property
    def expression(self) -> Expression:
        """Σ_{m,w} P(y | x, m, w) P(m | x', w) P(w), a function of x and x'; refused if the formula need not hold."""
        self.require()
        others = tuple(Symbol(node, primes=1) for node in self.treatment)
        w, m = tuple(map(Symbol, self.given)), tuple(map(Symbol, self.mediators))
        outcome = probability(self.outcome, (*map(Symbol, self.treatment), *m, *w))
        body = outcome * probability(m, (*others, *w))
        return sum_over((*m, *w), body * probability(w) if w else body)

    @property
    def _verdicts(self) -> tuple[str, str]:
        formula, effects = "The mediation formula", "the natural effects"
        return f"{formula} gives {effects}", f"{formula} need not give {effects}"

    @property
    def _wrong(self) -> list[str]:
        trails = dict.fromkeys(trail for trail in (self.treatment_trail, self.mediator_trail) if trail is not None)
        below = [f"{quote(node)} lies below the treatment" for node in self.forbidden]
        return [*below, *(f"{trail} is open" for trail in trails)]


def check_mediation(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, mediators: Nodes, given: Nodes = ()
) -> MediationCheck:
    """Whether natural direct and indirect effects through M follow from adjusting for W, with the reason if not.

    W lies below no treatment; it separates X from M and Y once the edges out of X are cut, and X and M from Y once the
    edges out of both are. Then nothing confounds any of the three, within strata of W, and no common cause of mediator
    and outcome is an effect of the treatment. Linear in the edges. See Pearl (2001), Direct and indirect effects, UAI;
    Imai, Keele & Yamamoto (2010), Identification, inference and sensitivity analysis for causal mediation effects,
    Statistical Science 25.

    Parameters
    ----------
    outcome, treatment, mediators
        Y, X and M, a node or several each.
    given
        W, a node or several; none by default.

    Examples
    --------
    >>> print(check_mediation("X -> M -> Y; X -> Y; C -> M; C -> Y", "Y", "X", mediators="M", given="C"))
    The mediation formula gives the natural effects.
    >>> check_mediation("X -> M -> Y; X -> L -> M; L -> Y", "Y", "X", mediators="M")
    The mediation formula need not give the natural effects:
      M <- L -> Y is open
    """
    causes, y, x, m = _read(graph, outcome, treatment, mediators)
    w = read_nodes(causes, given)
    refuse_overlap({"outcome": y, "treatment": x, "mediators": m, "given": w})
    below = causes.descendants(x)
    return MediationCheck(
        outcome=y,
        treatment=x,
        mediators=m,
        given=w,
        forbidden=tuple(node for node in w if node in below),
        treatment_trail=open_trail(causes.without_outgoing(x), x, (*m, *y), w),
        mediator_trail=open_trail(causes.without_outgoing((*x, *m)), (*x, *m), y, w),
    )


def mediation_set(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, mediators: Nodes, *, allowed: Nodes | None = None
) -> frozenset[Node] | None:
    """A set with which the mediation formula holds, and no member of which can be spared; `None` if there is none.

    All allowed ancestors that lie below no treatment are tried: where any set will do, they do. Members are dropped
    from them one by one: O(n x edges).

    Parameters
    ----------
    graph, outcome, treatment, mediators
        As for `check_mediation`.
    allowed
        Nodes from which the set must be taken; by default all.

    Examples
    --------
    >>> sorted(mediation_set("X -> M -> Y; X -> Y; C -> M; C -> Y; B -> X; B -> M", "Y", "X", "M"))
    ['B', 'C']
    """
    causes, y, x, m = _read(graph, outcome, treatment, mediators)
    _, free = read_allowed(causes, {"outcome": y, "treatment": x, "mediators": m}, (), allowed)
    behind_x, behind_both = causes.without_outgoing(x), causes.without_outgoing((*x, *m))

    def holds(members: frozenset[Node]) -> bool:
        return behind_x.m_separated(x, (*m, *y), members) and behind_both.m_separated((*x, *m), y, members)

    found = free.intersection(causes.ancestors((*x, *m, *y))) - causes.descendants(x)
    if not holds(found):
        return None
    for node in causes.nodes:
        if node in found and holds(found - {node}):
            found = found - {node}
    return found


def recanting_witness(graph: DAG, outcome: Node, treatment: Node, mediators: tuple[Node, ...]) -> Node | None:
    """An effect of the treatment that acts on the outcome both through the mediators and past them.

    It would have to respond to both values of the treatment at once, so no experiment tells the natural effects apart
    (Avin, Shpitser & Pearl 2005). What the treatment reaches only through mediators is none. Linear in the edges.
    """
    rest = graph.subgraph([node for node in graph.nodes if node not in mediators])
    to_mediators = {parent for node in mediators for parent in graph.parents(node)} - set(mediators)
    before = rest.ancestors(to_mediators & set(rest.nodes)) | to_mediators
    found = rest.descendants(treatment) & before & rest.ancestors(outcome)
    return next((node for node in graph.nodes if node in found), None)


def _read(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, mediators: Nodes
) -> tuple[CausalGraph, tuple[Node, ...], tuple[Node, ...], tuple[Node, ...]]:
    causes = read_causal(graph)
    y, x = read_sides(causes, outcome, treatment)
    m = read_nodes(causes, mediators)
    if not m:
        raise InvalidArgument("There is no mediator: mediators= is empty.")
    refuse_overlap({"outcome": y, "treatment": x, "mediators": m})
    return causes, y, x, m


@record
class FrontDoorCheck(Check, Result):
    """Whether P(y | do(x)) = Σ_m P(m | x) Σ_x' P(y | x', m) P(x'), by the front-door criterion, and if not, why."""

    #: Y, X and M.
    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...]
    mediators: tuple[Node, ...]
    missed: tuple[Node, ...] | None  # A directed path from X to Y that meets no mediator
    before: Trail | None  # An open back-door trail from X to a mediator
    after: Trail | None  # A back-door trail from a mediator to Y that X leaves open

    @property
    def expression(self) -> Expression:
        """Σ_m P(m | x) Σ_x' P(y | x', m) P(x'); refused if the mediators are not valid."""
        self.require()
        others = tuple(Symbol(node, primes=1) for node in self.treatment)
        mediators = tuple(map(Symbol, self.mediators))
        inner = sum_over(others, probability(self.outcome, (*others, *mediators)) * probability(others))
        return sum_over(mediators, probability(mediators, self.treatment) * inner) if mediators else inner

    @property
    def _verdicts(self) -> tuple[str, str]:
        sets = f"{{{', '.join(map(quote, self.mediators))}}}"
        return f"{sets} satisfies the front-door criterion", f"{sets} does not satisfy the front-door criterion"

    @property
    def _wrong(self) -> list[str]:
        trails = [trail for trail in (self.before, self.after) if trail is not None]
        missed = [] if self.missed is None else [f"{' -> '.join(map(quote, self.missed))} meets none of it"]
        return [*missed, *(f"{trail} is an open back-door trail" for trail in trails)]


def check_front_door(graph: CausalLike, outcome: Nodes, treatment: Nodes, mediators: Nodes) -> FrontDoorCheck:
    """Whether mediators satisfy Pearl's front-door criterion, with the reason if they do not.

    All directed paths from X to Y meet M; no back-door trail from X to M is open; X blocks every back-door trail from M
    to Y. Linear in the edges. See Pearl (1995), Causal diagrams for empirical research, Biometrika 82.

    >>> print(check_front_door("S -> T -> C; S <-> C", outcome="C", treatment="S", mediators="T"))
    {T} satisfies the front-door criterion.
    >>> print(check_front_door("S -> T -> C; S <-> C", "C", "S", "T").expression)
    Σ_t P(t | s) Σ_s' P(c | s', t) P(s')
    >>> print(check_front_door("S -> T -> C; S <-> C; T <-> C", "C", "S", "T"))
    {T} does not satisfy the front-door criterion:
      T <-> C is an open back-door trail
    """
    causes = read_causal(graph)
    y, x = read_sides(causes, outcome, treatment)
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
    none is left. Members are then dropped as long as a set remains: O(n² x edges) at worst. See Jeong, Tian &
    Bareinboim (2022), Finding and listing front-door adjustment sets, NeurIPS; Wienöbst, van der Zander & Liskiewicz
    (2024), Linear-time algorithms for front-door adjustment in causal graphs, AAAI.

    Parameters
    ----------
    graph, outcome, treatment
        As for `check_front_door`.
    included
        Nodes that the set must contain.
    allowed
        Nodes from which the set must be taken; by default all.

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
        # A directed path from X to Y must meet a member.
        found, frontier = set(self._x), list(self._x)
        while frontier:
            for other, near, _ in self.causes._incident[frontier.pop()]:
                if near is Mark.TAIL and other not in members and other not in found:
                    found.add(other)
                    frontier.append(other)
        return members if needed <= members and found.isdisjoint(self._y) else None

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


def _search(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, included: Nodes, allowed: Nodes | None
) -> tuple[_FrontDoorSearch, set[int], set[int]]:
    causes = read_causal(graph)
    y, x = read_sides(causes, outcome, treatment)
    needed, free = read_allowed(causes, {"outcome": y, "treatment": x}, included, allowed)
    index = causes._index
    return _FrontDoorSearch(causes, y, x), set(index.select(needed)), set(index.select(free))
