"""What identification is asked: an effect in a graph, made smaller by two rules of the do-calculus; and its steps."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

from plausible.base.records import record
from plausible.causal.discovery.pag_effects import effect_in_pag, refuse_query
from plausible.causal.identification.masks import MaskGraph
from plausible.causal.queries.arguments import CausalLike, refuse_overlap
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs.ancestral import MAG, PAG
from plausible.graphs.causal_graph import CausalGraph, latent_projection, read_causes
from plausible.graphs.mixed import PDAG
from plausible.graphs.nodes import Node, NodeIndex, Nodes


@record
class Effect:
    """The question P(outcome | do(treatment), given), about variables and not yet about their values.

    >>> print(Effect(("C",), ("S",), ("G",)))
    P(C | do(S), G)
    """

    outcome: tuple[Node, ...]
    treatment: tuple[Node, ...] = ()
    given: tuple[Node, ...] = ()

    def __str__(self) -> str:
        conditions = [f"do({node_list(self.treatment)})"] if self.treatment else []
        conditions += [node_list(self.given)] if self.given else []
        return f"P({node_list(self.outcome)}{' | ' if conditions else ''}{', '.join(conditions)})"


def node_list(nodes: tuple[Node, ...]) -> str:
    """The nodes with commas between."""
    return ", ".join(map(str, nodes))


@record
class IDStep:
    """One step: the rule that allows it, and what it says here."""

    rule: str
    statement: str

    def __str__(self) -> str:
        return f"{self.rule}: {self.statement}"


@record
class IDDerivation:
    """The steps from the question to the estimand; prints as a numbered list."""

    steps: tuple[IDStep, ...]

    def __iter__(self) -> Iterator[IDStep]:
        return iter(self.steps)

    def __len__(self) -> int:
        return len(self.steps)

    def __str__(self) -> str:
        return "\n".join(f"{number}. {step}" for number, step in enumerate(self.steps, start=1))


def read_question(
    graph: CausalLike, outcome: Nodes, treatment: Nodes, given: Nodes, observed: Nodes | None
) -> tuple[CausalGraph, Effect]:
    """The question in names that the graph knows, with latent variables projected out."""
    _refuse_class(graph, outcome, treatment)
    causes = read_causes(graph)
    index = NodeIndex(causes.nodes)
    effect = Effect(*(index.names(index.select(nodes)) for nodes in (outcome, treatment, given)))
    if not effect.outcome:
        raise InvalidArgument("An effect needs an outcome: name at least one node.")
    refuse_overlap({"outcome": effect.outcome, "treatment": effect.treatment, "given": effect.given})
    if observed is None:
        return CausalGraph(causes), effect
    seen = set(index.names(index.select(observed)))
    for node in (*effect.outcome, *effect.treatment, *effect.given):
        if node not in seen:
            raise InvalidArgument(
                f"{effect} asks about {node!r}, which observed= leaves out: nothing is known of its distribution."
            )
    return latent_projection(causes, observed=seen), effect


def _refuse_class(graph: object, outcome: Nodes, treatment: Nodes) -> None:
    found = getattr(graph, "graph", graph)
    if isinstance(found, PAG) and outcome in found.nodes and treatment in found.nodes:
        refuse_query(found, outcome, treatment)
        raise NotSupported(
            "Identification is about one graph, and a PAG stands for a class of them; here all of them agree: "
            f"{effect_in_pag(found, outcome, treatment)} Ask effect_in_pag(...), or estimate_effect(...) with data."
        )
    if isinstance(found, PDAG | MAG | PAG):
        raise NotSupported(
            f"Identification is about one graph, and a {type(found).__name__} stands for a class of them. What all "
            "members agree on: adjustment_sets(...) or estimate_effect(...), and effect_in_pag(...) for a PAG."
        )


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
