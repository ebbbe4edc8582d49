"""The distributions that the ID algorithm passes through, as chains of conditional probabilities."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from plausible.causal.expressions.symbols import Symbol
from plausible.causal.expressions.tree import Expression, Probability, product_of, sum_over
from plausible.causal.identification.districts import DistrictPlan, EffectPlan
from plausible.causal.identification.marginals import Link, marginalized
from plausible.causal.identification.masks import MaskGraph
from plausible.graphs.mark_masks import bits

__all__ = ["Chain", "district_chains", "effect_expression"]


@dataclass(frozen=True, slots=True)
class Chain:
    """A distribution of some variables as Π P(v | those before it), in topological order.

    Attributes
    ----------
    links
        Each variable with its conditional distribution given the ones before it, which may depend on variables that are
        fixed.
    joint
        The distribution itself: the product of the factors, or something shorter that equals it.
    """

    links: tuple[Link, ...]
    joint: Expression

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

    def marginal(self, symbols: frozenset[Symbol]) -> Chain:
        """All but these summed out."""
        found = marginalized(self.links, symbols)
        return Chain(found.links, found.joint)


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
