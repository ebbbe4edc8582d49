"""Two rules of the do-calculus that make a question smaller before the algorithm answers it."""

from __future__ import annotations

from dataclasses import replace

from plausible.causal.identification.derivation import IDStep
from plausible.causal.identification.masks import MaskGraph
from plausible.causal.identification.question import Effect
from plausible.graphs.nodes import Node

__all__ = ["reduce_question"]


def reduce_question(graph: MaskGraph, effect: Effect) -> tuple[Effect, list[IDStep]]:
    """The same question with fewer treatments and fewer conditions.

    Treatments without an effect are deleted (rule 3); conditions that could as well be treatments become these (rule 2,
    the loop of the algorithm IDC). When no condition can be exchanged any more, the conditional effect is identifiable
    if and only if P(outcome, given | do(treatment)) is.

    Shpitser & Pearl (2006), Identification of conditional interventional distributions, UAI.
    """
    steps: list[IDStep] = []
    effect = _without_idle(graph, effect, steps)
    while exchanged := next((node for node in effect.given if _is_exchangeable(graph, effect, node)), None):
        given = tuple(node for node in effect.given if node != exchanged)
        after = replace(effect, treatment=(*effect.treatment, exchanged), given=given)
        steps.append(IDStep("rule 2", f"{effect} = {after}"))
        effect = _without_idle(graph, after, steps)
    return effect, steps


def _without_idle(graph: MaskGraph, effect: Effect, steps: list[IDStep]) -> Effect:
    """Delete one treatment after the other that separation shows to be without effect."""
    for node in effect.treatment:
        others = tuple(other for other in effect.treatment if other != node)
        if _is_idle(graph, effect, node, others):
            after = replace(effect, treatment=others)
            steps.append(IDStep("rule 3", f"{effect} = {after}"))
            effect = after
    return effect


def _is_idle(graph: MaskGraph, effect: Effect, node: Node, others: tuple[Node, ...]) -> bool:
    """Rule 3: Y ⟂ X | W, Z in the graph without edges into W, nor into X unless it is an ancestor of Z."""
    one, rest, given = graph.mask([node]), graph.mask(others), graph.mask(effect.given)
    cut_into = rest if one & graph.above(given, rest) else rest | one
    return graph.separated(graph.mask(effect.outcome), one, rest | given, cut_into)


def _is_exchangeable(graph: MaskGraph, effect: Effect, node: Node) -> bool:
    """Rule 2: Y ⟂ Z | X, W in the graph without edges into X or out of Z."""
    one, treatment, given = graph.mask([node]), graph.mask(effect.treatment), graph.mask(effect.given)
    return graph.separated(graph.mask(effect.outcome), one, treatment | given & ~one, treatment, one)
