"""`identify`: a causal effect from observed probabilities, or the proof that there is none; and edges it hangs on."""

from __future__ import annotations

from collections.abc import Iterator
from itertools import combinations
from typing import NamedTuple

from plausible.base import Result, record
from plausible.causal.adjustment.problem import causal_nodes, without_first_edges
from plausible.causal.expressions.notation import Symbol
from plausible.causal.expressions.simplification import simplify
from plausible.causal.expressions.tree import Expression, Probability, Quotient, product_of, sum_over
from plausible.causal.identification.districts import (
    Chain,
    EffectPlan,
    Failure,
    Hedge,
    district_chains,
    district_steps,
    effect_expression,
    hedge_of,
    plan_effect,
)
from plausible.causal.identification.question import (
    Effect,
    Estimand,
    IDDerivation,
    IDStep,
    MaskGraph,
    node_list,
    read_question,
    reduce_question,
)
from plausible.causal.queries.observed import CausalLike
from plausible.errors import NotIdentifiable
from plausible.graphs import CausalGraph, Edge
from plausible.graphs.mark_masks import bits
from plausible.graphs.nodes import Node, Nodes


def minimal_adjustment(graph: CausalGraph, effect: Effect) -> tuple[Node, ...] | None:
    """A minimal W with P(y | do(x), z) = Σ_w P(y | x, w, z) P(w | z); `None` where there is none.

    Without conditions z: no member of W lies on or below a proper causal path, and W separates x from y once the first
    edges of these paths are cut, which is the complete criterion. With conditions: W and z are no descendants of x, and
    together they separate x from y once all edges out of x are cut (rules 2 and 3). Linear in the edges of the moral
    graph.

    van der Zander, Liskiewicz & Textor (2014), Constructing separators and adjustment sets in ancestral graphs, UAI.
    """
    y, x, given = effect.outcome, effect.treatment, effect.given
    if given:
        forbidden = graph.descendants(x).union(x)
        if not forbidden.isdisjoint(given):
            return None
        cut = graph.without_outgoing(x)
    else:
        between = causal_nodes(graph, y, x)
        forbidden = between.union(graph.descendants(between), x)
        cut = without_first_edges(graph, x, between)
    allowed = [node for node in graph.nodes if node not in forbidden and node not in y]
    found = cut.minimal_separator(x, y, given, allowed)
    return None if found is None else tuple(node for node in graph.nodes if node in found and node not in given)


#: Up to so many variables it is tried which of them an estimand can do without.
_FEW = 30


def identify(
    graph: CausalLike, outcome: Nodes, treatment: Nodes = (), given: Nodes = (), *, observed: Nodes | None = None
) -> Estimand:
    """Express P(outcome | do(treatment), given) in terms of the observed distribution.

    This uses the algorithms ID and IDC, which are complete: they find an estimand whenever there is one. An adjustment
    Σ_w P(y | x, w) P(w) is preferred if there is one; otherwise, in graphs of up to 30 relevant variables, variables
    are left out if that makes the estimand shorter. Each step costs a few operations on bit sets; effects in graphs of
    500 nodes take a fraction of a second. Raises `NotIdentifiable` if there is no estimand; its `hedge` proves that.
    See Shpitser & Pearl (2006), Identification of joint interventional distributions in recursive semi-Markovian causal
    models, AAAI; and Identification of conditional interventional distributions, UAI.

    Parameters
    ----------
    graph
        A causal graph with `<->` for latent common causes, a DAG, a model with one of these, or a string of arrows.
    outcome, treatment, given
        One or several nodes each; no node twice.
    observed
        The nodes that can be measured, if the graph has latent nodes; all others are projected out.

    Examples
    --------
    >>> print(identify("S -> T -> C; S <-> C", outcome="C", treatment="S"))
    P(c | do(s)) = Σ_t P(t | s) Σ_s' P(c | t, s') P(s')
    >>> print(identify("Z -> X -> Y; Z -> Y", outcome="Y", treatment="X", given="Z"))
    P(y | do(x), z) = P(y | x, z)
    >>> identify("X -> Y; X <-> Y", outcome="Y", treatment="X")
    Traceback (most recent call last):
    ...
    plausible.errors.NotIdentifiable: P(Y | do(X)) is not identifiable: hedge with F = {X, Y} and F' = {Y}. ...
    """
    causes, asked = read_question(graph, outcome, treatment, given, observed)
    masks = MaskGraph.of(causes)
    effect, steps = reduce_question(masks, asked)
    adjusted = minimal_adjustment(causes, effect) if effect.treatment else ()
    if adjusted is not None:
        return _adjusted(asked, effect, adjusted, steps)
    found = _solve(masks, effect)
    if isinstance(found, Failure):
        hedge = hedge_of(masks, found, _joint(effect))
        reason = "" if hedge.effect == asked else f" It stands or falls with {hedge.effect}."
        raise NotIdentifiable(
            f"{asked} is not identifiable: {hedge}.{reason} Latent common causes leave it open, whatever is observed; "
            "see the error's hedge.explain(). Measure a common cause, or experiment on fewer or other variables.",
            hedge,
        )
    if found.plan.ancestors.bit_count() <= _FEW:
        found, shorter = _shortened(masks, effect, found)
        steps += shorter
    steps += district_steps(found.graph, found.plan, found.chains, *found.roles)
    if effect.given:
        joint = _joint(effect)
        steps.append(IDStep("IDC", f"{effect} = {joint} / Σ over {node_list(effect.outcome)} of {joint}"))
    return Estimand(asked, found.expression, IDDerivation(tuple(steps)))


def is_identifiable(
    graph: CausalLike, outcome: Nodes, treatment: Nodes = (), given: Nodes = (), *, observed: Nodes | None = None
) -> bool:
    """Whether `identify` would find an estimand; without building one.

    Parameters are those of `identify`.

    >>> is_identifiable("X -> Z -> Y; X <-> Y", "Y", "X"), is_identifiable("X -> Z -> Y; X <-> Z", "Y", "X")
    (True, False)
    """
    _, _, plan = _planned(*read_question(graph, outcome, treatment, given, observed))
    return not isinstance(plan, Failure)


def find_hedge(
    graph: CausalLike, outcome: Nodes, treatment: Nodes = (), given: Nodes = (), *, observed: Nodes | None = None
) -> Hedge | None:
    """The hedge that proves an effect not identifiable; `None` where it is.

    With conditions that can't be exchanged for treatments, it is a hedge for the effect on both outcome and conditions.
    Parameters are those of `identify`.

    >>> find_hedge("X -> Z -> Y; X <-> Z", "Y", "X").roots
    ('Z',)
    """
    masks, effect, plan = _planned(*read_question(graph, outcome, treatment, given, observed))
    return hedge_of(masks, plan, effect) if isinstance(plan, Failure) else None


def _planned(graph: CausalGraph, effect: Effect) -> tuple[MaskGraph, Effect, EffectPlan | Failure]:
    """The graph, the effect that decides whether the one in question is identifiable, and the plan for it."""
    masks = MaskGraph.of(graph)
    joint = _joint(reduce_question(masks, effect)[0] if effect.given else effect)
    return masks, joint, plan_effect(masks, masks.mask(joint.outcome), masks.mask(joint.treatment))


def _adjusted(asked: Effect, effect: Effect, nodes: tuple[Node, ...], steps: list[IDStep]) -> Estimand:
    """Σ_w P(y | x, w, z) P(w | z)."""
    over, conditions = _symbols(nodes), _symbols(effect.given)
    inner = Probability(_symbols(effect.outcome), (*_symbols(effect.treatment), *over, *conditions))
    whole = sum_over(over, product_of([inner, Probability(over, conditions)])) if over else inner
    why = "no path but causal ones joins treatment and outcome: do(x) is as good as x"
    if nodes:
        blocked = f"{{{node_list(nodes)}}} blocks all paths between treatment and outcome but causal ones"
        why = f"{blocked}, and holds nothing that these lead to"
    step = IDStep("back-door", why) if effect.treatment else IDStep("observation", f"{effect} is observed")
    return Estimand(asked, whole, IDDerivation((*steps, step)), nodes)


def _symbols(nodes: tuple[Node, ...]) -> tuple[Symbol, ...]:
    return tuple(map(Symbol, nodes))


class _Solution(NamedTuple):
    graph: MaskGraph
    plan: EffectPlan
    chains: list[list[Chain]]
    roles: tuple[int, int]
    expression: Expression


def _joint(effect: Effect) -> Effect:
    """The effect on the outcome and on what is given."""
    return Effect((*effect.outcome, *effect.given), effect.treatment) if effect.given else effect


def _solve(graph: MaskGraph, effect: Effect) -> _Solution | Failure:
    outcome, treatment = graph.mask((*effect.outcome, *effect.given)), graph.mask(effect.treatment)
    plan = plan_effect(graph, outcome, treatment)
    if isinstance(plan, Failure):
        return plan
    chains = [district_chains(graph, each) for each in plan.districts]
    joint = effect_expression(graph, plan, chains, outcome)
    whole = Quotient(joint, sum_over(_symbols(effect.outcome), joint)) if effect.given else joint
    return _Solution(graph, plan, chains, (outcome, treatment), simplify(whole))


def _shortened(graph: MaskGraph, effect: Effect, best: _Solution) -> tuple[_Solution, list[IDStep]]:
    """Leave out one variable after the other, as if it were latent, while that makes the estimand shorter."""
    asked = graph.mask((*effect.outcome, *effect.treatment, *effect.given))
    steps: list[IDStep] = []
    for place in bits(best.plan.ancestors & ~asked):
        found = _solve(best.graph.projected(place), effect)
        if not isinstance(found, Failure) and found.expression.size < best.expression.size:
            best = found
            steps.append(
                IDStep("projection", f"the effect is identifiable without {graph.nodes[place]}, in fewer terms")
            )
    return best, steps


def blocking_bows(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, *, observed: Nodes | None = None
) -> tuple[tuple[Node, Node], ...]:
    """The bows (treatment, child) that by themselves make P(outcome | do(treatment)) not identifiable.

    A bow is a treatment X with `X -> C` and `X <-> C`, where C is the outcome or one of its ancestors, along paths that
    meet no treatment. One is enough; that there is none does not mean that the effect is identifiable.

    Parameters
    ----------
    graph
        A causal graph, a DAG, a model with one of these, or arrow text.
    outcome, treatment
        A node or several each.
    observed
        The nodes that can be measured; all others are projected out.

    Examples
    --------
    >>> blocking_bows("X -> Z -> Y; X <-> Z", "Y", "X")
    (('X', 'Z'),)
    >>> other = "X -> Z -> Y; X <-> Y; Z <-> Y"
    >>> blocking_bows(other, "Y", "X"), is_identifiable(other, "Y", "X")
    ((), False)
    """
    causes, effect = read_question(graph, outcome, treatment, (), observed)
    actors = causes.without_incoming(effect.treatment).ancestors(effect.outcome).union(effect.outcome)
    return tuple(
        (node, child)
        for node in effect.treatment
        for child in causes.children(node)
        if child in actors and child not in effect.treatment and causes.has_edge(node, child, "<->")
    )


@record
class EdgeSensitivity(Result):
    """What one more or one less edge does to an effect that is, or is not, identifiable.

    Adding an edge never makes an effect identifiable, and removing one never makes it not so.
    """

    effect: Effect  # The effect
    identifiable: bool  # Whether it is so in the graph itself
    breaking: tuple[Edge, ...] = ()  # Edges that are not there and would make it not identifiable
    harmless: tuple[Edge, ...] = ()  # Edges that are not there and would leave it identifiable
    repairing: tuple[Edge, ...] = ()  # Edges that are there and whose removal would make it identifiable
    stubborn: tuple[Edge, ...] = ()  # Edges that are there and whose removal would not

    @property
    def is_maximal_identifiable(self) -> bool:
        """Whether it is identifiable, and would not be with any one edge more."""
        return self.identifiable and not self.harmless

    @property
    def is_minimal_non_identifiable(self) -> bool:
        """Whether it is not identifiable, and would be with any one edge less."""
        return not self.identifiable and not self.stubborn

    def __str__(self) -> str:
        if self.identifiable:
            told = {"one more edge that makes it not so": self.breaking, "one more that does not": self.harmless}
        else:
            told = {"one less edge that makes it so": self.repairing, "one less that does not": self.stubborn}
        lines = [f"  {what}: {', '.join(map(str, edges)) or 'none'}" for what, edges in told.items()]
        return "\n".join([f"{self.effect} is {'' if self.identifiable else 'not '}identifiable", *lines])


def edge_sensitivity(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, given: Nodes = (), *, observed: Nodes | None = None
) -> EdgeSensitivity:
    """The edges on which the identifiability of an effect hangs.

    Where the effect is identifiable, each edge that could be added without a cycle is tried; where it is not, each edge
    is removed in turn: one run of the algorithm for each pair of nodes. Parameters are those of `identify`.

    >>> edge_sensitivity("X -> Z -> Y; X <-> Y", "Y", "X").is_maximal_identifiable
    True
    >>> edge_sensitivity("Z -> X -> Y; X <-> Y", "Y", "X").repairing
    (Edge.of('X', '->', 'Y'), Edge.of('X', '<->', 'Y'))
    >>> print(edge_sensitivity("Z -> X -> Y; X <-> Y", "Y", "X"))
    P(Y | do(X)) is not identifiable
      one less edge that makes it so: X -> Y, X <-> Y
      one less that does not: Z -> X
    """
    causes, effect = read_question(graph, outcome, treatment, given, observed)
    roles = effect.outcome, effect.treatment, effect.given
    if is_identifiable(causes, *roles):
        tried = {
            edge: is_identifiable(causes.with_edge(edge.left, edge.right, edge.symbol), *roles)
            for edge in _missing(causes)
        }
        breaking, harmless = _parted(tried)
        return EdgeSensitivity(effect, True, breaking=breaking, harmless=harmless)
    tried = {
        edge: is_identifiable(causes.without_edge(edge.left, edge.right, edge.symbol), *roles) for edge in causes.edges
    }
    stubborn, repairing = _parted(tried)
    return EdgeSensitivity(effect, False, repairing=repairing, stubborn=stubborn)


def _missing(graph: CausalGraph) -> Iterator[Edge]:
    """The edges that could be added: latent common causes, and causes that close no cycle."""
    below = {node: graph.descendants(node) for node in graph.nodes}
    for a, b in combinations(graph.nodes, 2):
        for cause, effect in ((a, b), (b, a)):
            if cause not in below[effect] and not graph.has_edge(cause, effect):
                yield Edge.of(cause, "->", effect)
        if not graph.has_edge(a, b, "<->"):
            yield Edge.of(a, "<->", b)


def _parted(tried: dict[Edge, bool]) -> tuple[tuple[Edge, ...], tuple[Edge, ...]]:
    """The edges whose answer is no, and those whose answer is yes."""
    return tuple(edge for edge, answer in tried.items() if not answer), tuple(e for e, yes in tried.items() if yes)
