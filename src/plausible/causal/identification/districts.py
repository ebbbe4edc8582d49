"""The algorithm ID, district by district, and hedges: why an effect is not identifiable."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from plausible.base import Result, record
from plausible.causal.expressions.notation import LONGEST, Symbol
from plausible.causal.expressions.simplification import simplify
from plausible.causal.expressions.tree import Expression, Probability, Quotient, product_of, sum_over
from plausible.causal.identification.question import Effect, IDStep, MaskGraph, node_list
from plausible.graphs import CausalGraph, Edge
from plausible.graphs.mark_masks import bits
from plausible.graphs.nodes import Node


class Restriction(NamedTuple):
    """One step of the algorithm: the distribution goes over to fewer variables."""

    line: int  # Of the algorithm ID: 2 sums out all but ancestors, 7 goes over to a district.
    members: int  # What is left.


class DistrictPlan(NamedTuple):
    """How Q[district] = P(district | do(everything else)) is got from the observed distribution."""

    district: int  # A district of the graph without the treatments.
    ancestors: int  # Its ancestors: nothing else matters for it (line 2).
    steps: tuple[Restriction, ...]  # From these ancestors down to the last graph, of which `district` is a district.


class EffectPlan(NamedTuple):
    """P(outcome | do(treatment)) = Σ over the rest of `actors` of Π Q[district]."""

    ancestors: int  # The ancestors of the outcome: nothing else matters (line 2).
    actors: int  # The ancestors of the outcome along paths that meet no treatment (line 3 sets all others).
    districts: tuple[DistrictPlan, ...]  # A plan for each district of the actors (line 4).


class Failure(NamedTuple):
    """Line 5: `outer` is one district, and so is `inner` within it, of which all of `outer` are ancestors."""

    outer: int
    inner: int


def plan_effect(graph: MaskGraph, outcome: int, treatment: int) -> EffectPlan | Failure:
    """The plan for P(outcome | do(treatment)), or why there is none.

    The algorithm ID of Shpitser & Pearl (2006), with lines 1-4 done once for all districts, as in Tian & Pearl (2002).
    It is complete: a `Failure` proves that the effect is not identifiable. O(n²) set operations for each district.
    """
    ancestors = graph.ancestors(outcome, graph.members)
    actors = graph.ancestors(outcome, ancestors & ~treatment)
    plans: list[DistrictPlan] = []
    for target in graph.districts(actors):
        members = above = graph.ancestors(target, ancestors)
        steps: list[Restriction] = []
        while (district := graph.district(target, members)) != target:
            if district == members:
                return Failure(members, target)
            steps.append(Restriction(7, district))
            members = graph.ancestors(target, district)
            if members != district:
                steps.append(Restriction(2, members))
        plans.append(DistrictPlan(target, above, tuple(steps)))
    return EffectPlan(ancestors, actors, tuple(plans))


class Link(NamedTuple):
    """A variable and its conditional distribution given those before it."""

    symbol: Symbol
    factor: Expression


@dataclass(frozen=True, slots=True)
class Chain:
    """A distribution of some variables as Π P(v | those before it), in topological order."""

    # Each variable with its conditional distribution given the ones before it, which may depend on variables that are
    # fixed.
    links: tuple[Link, ...]
    joint: Expression  # The distribution itself: the product of the factors, or something shorter that equals it.

    @classmethod
    def product(cls, links: Iterable[Link]) -> Chain:
        """The chain of these conditional distributions."""
        listed = tuple(links)
        return cls(listed, product_of(link.factor for link in listed))

    def restricted(self, symbols: frozenset[Symbol]) -> Chain:
        """The distribution of a district, with everything else fixed: the product of its own factors."""
        if all(link.symbol in symbols for link in self.links):
            return self
        return Chain.product(link for link in self.links if link.symbol in symbols)

    def marginal(self, kept: frozenset[Symbol]) -> Chain:
        """The chain of the kept variables, with all others summed out.

        A variable whose distribution depends on none that goes keeps it. That of another one becomes the quotient of
        two sums: over all factors that it is tied to by what goes, with its own and without. Each is simplified at
        once, to stay short when it is summed over again. A variable that no later factor depends on goes with its
        factor.
        """
        used, needed = set(kept), list[Link]()
        for link in reversed(self.links):
            if link.symbol in used:
                used |= link.factor.free
                needed.insert(0, link)
        groups: list[_Group] = []
        found: list[Link] = []
        free: list[Expression] = []
        for symbol, factor in needed:
            tied = [group for group in groups if not factor.free.isdisjoint(group.gone)]
            if symbol in kept and not tied:
                free.append(factor)
                found.append(Link(symbol, factor))
                continue
            # One group of all that are tied, with this factor.
            gone = tuple(other for group in tied for other in group.gone)
            factors = (*(other for group in tied for other in group.factors), factor)
            before = _totals(tied)
            total = product_of(before) if before else None
            if symbol in kept:
                whole = simplify(sum_over(gone, product_of(factors)))
                found.append(Link(symbol, whole if total is None else simplify(Quotient(whole, total))))
                total = whole
            else:  # its factor sums to one as long as nothing depends on it
                gone = (*gone, symbol)
            groups = [group for group in groups if factor.free.isdisjoint(group.gone)]
            groups.append(_Group(gone, factors, total))
        return Chain(tuple(found), product_of([*free, *_totals(groups)]))


@dataclass(frozen=True, slots=True)
class _Group:
    """Factors that variables to be summed out tie together."""

    gone: tuple[Symbol, ...] = ()  # These variables.
    factors: tuple[Expression, ...] = ()  # In the chain's order.
    # The sum over `gone`, as of the last variable that stays: what came later sums to one. None stands for one.
    total: Expression | None = None


def _totals(groups: Iterable[_Group]) -> list[Expression]:
    return [group.total for group in groups if group.total is not None]


def district_chains(graph: MaskGraph, plan: DistrictPlan) -> list[Chain]:
    """The chain after every step of a plan; the last one is Q[district]."""
    first = plan.steps[0].members if plan.steps else plan.district
    # Q of a district of an ancestral set: the product of P(v | all ancestors before it).
    links: list[Link] = []
    for place in bits(first):
        pillow = graph.pillow(place, plan.ancestors & ((2 << place) - 1))
        given = tuple(Symbol(node) for node in graph.names(pillow))
        symbol = Symbol(graph.nodes[place])
        links.append(Link(symbol, Probability((symbol,), given)))
    chain = Chain.product(links)
    chains: list[Chain] = []
    for line, members in plan.steps:
        symbols = _symbols(graph, members)
        chain = chain.restricted(symbols) if line == 7 else chain.marginal(symbols)
        chains.append(chain)
    return [*chains, chain.restricted(_symbols(graph, plan.district))]


def _symbols(graph: MaskGraph, mask: int) -> frozenset[Symbol]:
    return frozenset(map(Symbol, graph.names(mask)))


def effect_expression(
    graph: MaskGraph, plan: EffectPlan, chains: Iterable[Sequence[Chain]], outcome: int
) -> Expression:
    """Σ over the actors other than the outcome of Π Q[district], given the chains of each district."""
    factors = [steps[-1].joint for steps in chains]
    over = [Symbol(node) for node in graph.names(plan.actors & ~outcome)]
    return sum_over(over, product_of(factors))


def district_steps(
    graph: MaskGraph, plan: EffectPlan, chains: Sequence[Sequence[Chain]], outcome: int, treatment: int
) -> list[IDStep]:
    """The steps of the ID algorithm that a plan stands for, with the line of the algorithm that each one is."""
    steps: list[IDStep] = []
    names = graph.names
    if plan.ancestors != graph.members:
        steps.append(IDStep("ID line 2", f"only ancestors of the outcome matter: {_braced(names(plan.ancestors))}"))
    if forced := plan.ancestors & ~plan.actors & ~treatment:
        steps.append(
            IDStep("ID line 3", f"{_braced(names(forced))} act only through treatments: their values are free")
        )
    districts = [names(each.district) for each in plan.districts]
    summed = names(plan.actors & ~outcome)
    factors = " ".join(f"Q[{node_list(district)}]" for district in districts)
    total = f"Σ over {node_list(summed)} of " if summed else ""
    steps.append(
        IDStep("ID line 4", f"the effect is {total}{factors}, by districts of the graph without the treatments")
    )
    for each, after in zip(plan.districts, chains, strict=True):
        steps += _steps_of(graph, each, after, plan.ancestors)
    return steps


def _steps_of(graph: MaskGraph, plan: DistrictPlan, chains: Sequence[Chain], members: int) -> list[IDStep]:
    steps: list[IDStep] = []
    target = node_list(graph.names(plan.district))
    if plan.steps and plan.ancestors != members:
        steps.append(IDStep("ID line 2", f"for Q[{target}] only {_braced(graph.names(plan.ancestors))} matter"))
    for (line, members), after in zip(plan.steps, chains, strict=False):
        inside = graph.names(members)
        why = (
            f"Q[{target}] lies in the district" if line == 7 else f"all but ancestors of {target} are summed out of it:"
        )
        steps.append(IDStep(f"ID line {line}", f"{why} {_braced(inside)}, Q[{node_list(inside)}] = {_text(after)}"))
    if len(plan.steps) and plan.steps[-1].members == plan.district:
        return steps
    return [*steps, IDStep("ID line 6", f"Q[{target}] = {_text(chains[-1])}")]


def _text(chain: Chain) -> str:
    short = simplify(chain.joint)
    return str(short) if short.size <= LONGEST else "an expression too long to write"


def _braced(nodes: tuple[Node, ...], most: int | None = None) -> str:
    more = f", ... ({len(nodes)} nodes)" if most is not None and len(nodes) > most else ""
    return "{" + node_list(nodes[:most]) + more + "}"


#: At most so many nodes are named in a short message.
_SHOWN = 8


@record
class Hedge(Result):
    """Two forests that prove an effect not identifiable (Shpitser & Pearl 2006, theorem 4).

    Both are connected by edges `<->`, in both every node has at most one child, and both lead to the same roots, which
    are ancestors of the outcome that no treatment cuts off. The outer one holds treatments, the inner one none.
    """

    effect: Effect  # What is not identifiable
    outer: CausalGraph  # F: a subgraph, its nodes and its edges
    inner: CausalGraph  # F′: a subgraph of F
    roots: tuple[Node, ...]  # The nodes without children, the same in both

    def explain(self) -> str:
        """Why the effect is not identifiable, in words.

        >>> from plausible.causal.identification.algorithm import find_hedge
        >>> print(find_hedge("X -> Y; X <-> Y", "Y", "X").explain())
        P(Y | do(X)) is not identifiable, as there is a hedge:
          F  = {X, Y}, with X in it, which is set:  X <-> Y; X -> Y
          F' = {Y}, with no treatment in it:  Y
        In each, latent common causes join all nodes, and all lead to the same roots: Y.
        Two models can agree on everything observed and differ in what the intervention does to Y.
        """
        treated = tuple(node for node in self.outer.nodes if node in self.effect.treatment)
        roots, verb = node_list(self.roots), "is" if len(treated) == 1 else "are"
        outer, inner = (_braced(part.nodes, _SHOWN) for part in (self.outer, self.inner))
        return "\n".join(
            [
                f"{self.effect} is not identifiable, as there is a hedge:",
                f"  F  = {outer}, with {node_list(treated)} in it, which {verb} set:  {self.outer}",
                f"  F' = {inner}, with no treatment in it:  {self.inner}",
                f"In each, latent common causes join all nodes, and all lead to the same roots: {roots}.",
                f"Two models can agree on everything observed and differ in what the intervention does to {roots}.",
            ]
        )

    def __str__(self) -> str:
        return f"hedge with F = {_braced(self.outer.nodes, _SHOWN)} and F' = {_braced(self.inner.nodes, _SHOWN)}"


def hedge_of(graph: MaskGraph, failure: Failure, effect: Effect) -> Hedge:
    """A hedge inside of the graph at which the algorithm failed, from which no node can be spared."""
    treatment = graph.mask(effect.treatment)
    sinks = sum(1 << place for place in bits(failure.inner) if not graph.children[place] & failure.inner)
    singles = (1 << place for place in bits(failure.inner))
    candidates = ((roots, _forests(graph, failure.outer, roots, treatment)) for roots in (*singles, sinks))
    roots, (outer, inner) = next((roots, forests) for roots, forests in candidates if forests is not None)
    for place in bits(outer & ~roots):  # what can be spared
        outer, inner = _forests(graph, outer & ~(1 << place), roots, treatment) or (outer, inner)
    inner_edges = _trees(graph, inner, roots & -roots) + _child_edges(graph, inner & ~roots, inner)
    outer_edges = inner_edges + _trees(graph, outer, inner) + _child_edges(graph, outer & ~inner, outer)
    names = graph.names
    return Hedge(
        effect, CausalGraph(outer_edges, nodes=names(outer)), CausalGraph(inner_edges, nodes=names(inner)), names(roots)
    )


def _forests(graph: MaskGraph, within: int, roots: int, treatment: int) -> tuple[int, int] | None:
    outer, inner = _forest(graph, within, roots), _forest(graph, within & ~treatment, roots)
    return (outer, inner) if outer & treatment and inner else None


def _forest(graph: MaskGraph, within: int, roots: int) -> int:
    """The largest part of `within` that is one district and consists of ancestors of the roots; empty if none is."""
    while roots & within == roots:
        smaller = graph.ancestors(roots, graph.district(roots & -roots, within))
        if roots & smaller == roots and smaller == within:
            return within
        within = smaller
    return 0


def _child_edges(graph: MaskGraph, nodes: int, within: int) -> list[Edge]:
    """One edge to a child for each of the nodes."""
    children = {place: next(bits(graph.children[place] & within)) for place in bits(nodes)}
    return [Edge.of(graph.nodes[place], "->", graph.nodes[child]) for place, child in children.items()]


def _trees(graph: MaskGraph, within: int, found: int) -> list[Edge]:
    """Edges `<->` that join the rest of a district to what is found of it, as few as will do."""
    edges: list[Edge] = []
    frontier = list(bits(found))
    while frontier:
        place = frontier.pop()
        for other in bits(graph.siblings[place] & within & ~found):
            found |= 1 << other
            edges.append(Edge.of(graph.nodes[place], "<->", graph.nodes[other]))
            frontier.append(other)
    return edges
