"""How an estimand was got, step by step."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from plausible.base.records import record
from plausible.causal.expressions.notation import LONGEST
from plausible.causal.expressions.simplification import simplify
from plausible.causal.identification.districts import Chain, DistrictPlan, EffectPlan
from plausible.causal.identification.masks import MaskGraph
from plausible.causal.identification.question import node_list
from plausible.graphs.nodes import Node

__all__ = ["IDDerivation", "IDStep", "district_steps"]


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
