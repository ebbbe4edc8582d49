"""The algorithm ID: which steps lead to each district's distribution, and these as chains of conditionals."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import NamedTuple

from plausible.causal.expressions.notation import LONGEST
from plausible.causal.expressions.simplification import simplify
from plausible.causal.expressions.symbols import Symbol
from plausible.causal.expressions.tree import Expression, Probability, Quotient, product_of, sum_over
from plausible.causal.identification.masks import MaskGraph
from plausible.causal.identification.question import IDStep, node_list
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
    for district in graph.districts(actors):
        plan = _plan_district(graph, ancestors, district)
        if isinstance(plan, Failure):
            return plan
        plans.append(plan)
    return EffectPlan(ancestors, actors, tuple(plans))


def _plan_district(graph: MaskGraph, members: int, target: int) -> DistrictPlan | Failure:
    members = ancestors = graph.ancestors(target, members)
    steps: list[Restriction] = []
    while (district := graph.district(target, members)) != target:
        if district == members:
            return Failure(members, target)
        steps.append(Restriction(7, district))
        members = graph.ancestors(target, district)
        if members != district:
            steps.append(Restriction(2, members))
    return DistrictPlan(target, ancestors, tuple(steps))


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
        needed = _without_barren(self.links, kept)
        gone = frozenset(link.symbol for link in needed).difference(kept)
        groups: list[_Group] = []
        found: list[Link] = []
        free: list[Expression] = []
        for symbol, factor in needed:
            tied = [group for group in groups if not factor.free.isdisjoint(group.gone)]
            if symbol in gone:
                groups = [*_others(groups, tied), _joined(tied, symbol, factor)]
            elif tied:
                group, conditional = _conditioned(tied, factor)
                groups = [*_others(groups, tied), group]
                found.append(Link(symbol, conditional))
            else:
                free.append(factor)
                found.append(Link(symbol, factor))
        return Chain(tuple(found), product_of([*free, *_totals(groups)]))


@dataclass(frozen=True, slots=True)
class _Group:
    """Factors that variables to be summed out tie together."""

    gone: tuple[Symbol, ...] = ()  # These variables.
    factors: tuple[Expression, ...] = ()  # In the chain's order.
    # The sum over `gone`, as of the last variable that stays: what came later sums to one. None stands for one.
    total: Expression | None = None


def _without_barren(links: Sequence[Link], kept: frozenset[Symbol]) -> list[Link]:
    needed: set[Symbol] = set(kept)
    found: list[Link] = []
    for link in reversed(links):
        if link.symbol in needed:
            needed |= link.factor.free
            found.append(link)
    return found[::-1]


def _others(groups: Iterable[_Group], tied: Sequence[_Group]) -> list[_Group]:
    return [group for group in groups if all(group is not other for other in tied)]


def _joined(tied: Sequence[_Group], symbol: Symbol, factor: Expression) -> _Group:
    """One group of them all and of a variable that goes: its factor sums to one as long as nothing depends on it."""
    totals = _totals(tied)
    gone = (*(other for group in tied for other in group.gone), symbol)
    factors = (*(other for group in tied for other in group.factors), factor)
    return _Group(gone, factors, product_of(totals) if totals else None)


def _conditioned(tied: Sequence[_Group], factor: Expression) -> tuple[_Group, Expression]:
    """One group of them all with the factor of a variable that stays, and the variable's new distribution."""
    gone = tuple(other for group in tied for other in group.gone)
    factors = (*(other for group in tied for other in group.factors), factor)
    total = simplify(sum_over(gone, product_of(factors)))
    before = _totals(tied)
    return _Group(gone, factors, total), simplify(Quotient(total, product_of(before))) if before else total


def _totals(groups: Iterable[_Group]) -> list[Expression]:
    return [group.total for group in groups if group.total is not None]


def _observed_chain(graph: MaskGraph, ancestors: int, district: int) -> Chain:
    """Q of a district of an ancestral set: the product of P(v | all ancestors before it).

    P(v | all before it) = P(v | its pillow): the district of v among what comes before, and that one's parents.
    """
    links: list[Link] = []
    for place in bits(district):
        pillow = graph.pillow(place, ancestors & ((2 << place) - 1))
        given = tuple(Symbol(node) for node in graph.names(pillow))
        symbol = Symbol(graph.nodes[place])
        links.append(Link(symbol, Probability((symbol,), given)))
    return Chain.product(links)


def district_chains(graph: MaskGraph, plan: DistrictPlan) -> list[Chain]:
    """The chain after every step of a plan; the last one is Q[district]."""
    first = plan.steps[0].members if plan.steps else plan.district
    chain = _observed_chain(graph, plan.ancestors, first)
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


def _braced(nodes: tuple[Node, ...]) -> str:
    return "{" + node_list(nodes) + "}"
