"""When direct and indirect effects can be told apart from observations: the conditions of the mediation formula."""

from __future__ import annotations

from plausible.base.records import record
from plausible.causal.adjustment.problem import Check, open_trail, read_allowed, read_sides
from plausible.causal.expressions.symbols import Symbol
from plausible.causal.expressions.tree import Expression, probability, sum_over
from plausible.causal.queries.arguments import CausalLike, read_causal, read_nodes, refuse_overlap
from plausible.errors import InvalidArgument
from plausible.graphs.causal_graph import CausalGraph
from plausible.graphs.dag import DAG
from plausible.graphs.nodes import Node, Nodes
from plausible.graphs.text import quote
from plausible.graphs.trails import Trail


@record
class MediationCheck(Check):
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
    def is_valid(self) -> bool:
        """Whether the mediation formula holds."""
        return not self.forbidden and self.treatment_trail is None and self.mediator_trail is None

    @property
    def expression(self) -> Expression:
        """Σ_{m,w} P(y | x, m, w) P(m | x', w) P(w), a function of x and x'; refused if the formula need not hold."""
        self.require()
        others = tuple(Symbol(node, primes=1) for node in self.treatment)
        w, m = tuple(map(Symbol, self.given)), tuple(map(Symbol, self.mediators))
        outcome = probability(self.outcome, (*map(Symbol, self.treatment), *m, *w))
        body = outcome * probability(m, (*others, *w))
        return sum_over((*m, *w), body * probability(w) if w else body)

    def __str__(self) -> str:
        if self.is_valid:
            return "The mediation formula gives the natural effects."
        lines = ["The mediation formula need not give the natural effects:"]
        lines += [f"  {quote(node)} lies below the treatment" for node in self.forbidden]
        trails = (self.treatment_trail, self.mediator_trail)
        lines += [f"  {trail} is open" for trail in dict.fromkeys(trail for trail in trails if trail is not None)]
        return "\n".join(lines)


def check_mediation(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, mediators: Nodes, given: Nodes = ()
) -> MediationCheck:
    """Whether natural direct and indirect effects through M follow from adjusting for W, with the reason if not.

    W lies below no treatment; it separates X from M and Y once the edges out of X are cut, and X and M from Y once the
    edges out of both are. Then nothing confounds any of the three, within strata of W, and no common cause of mediator
    and outcome is an effect of the treatment. Linear in the edges.

    Parameters
    ----------
    graph
        A DAG, or a causal graph.
    outcome, treatment, mediators
        Y, X and M, a node or several each.
    given
        W, a node or several; none by default.

    References
    ----------
    Pearl (2001), Direct and indirect effects, UAI; Imai, Keele & Yamamoto (2010), Identification, inference and
    sensitivity analysis for causal mediation effects, Statistical Science 25.

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

    Such a node would have to respond to both values of the treatment at once, so no experiment tells the natural
    effects apart. Nodes that the treatment reaches only through mediators are none. Linear in the edges.

    Avin, Shpitser & Pearl (2005), Identifiability of path-specific effects, IJCAI.

    >>> recanting_witness(DAG("X -> L -> M -> Y; L -> Y"), "Y", "X", ("M",))
    'L'
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
