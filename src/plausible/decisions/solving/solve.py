"""The front door: what solving a diagram will take, and its best strategy."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from math import inf
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.bounds import upper_bound
from plausible.decisions.solving.clique_tree import lay_out
from plausible.decisions.solving.elimination import reverse_arcs, sum_max_sum
from plausible.decisions.solving.joint_policies import settle
from plausible.decisions.solving.joint_table import Weighing, fits, weighing
from plausible.decisions.solving.network_queries import query_rules
from plausible.decisions.solving.options import Method, SolvingOptions, Watch, check_method
from plausible.decisions.solving.problem import Task, impossible, read_findings, read_problem, read_structure, read_task
from plausible.decisions.solving.solution import FoundRules, Solution, finish
from plausible.decisions.solving.team import enumerate_rules
from plausible.decisions.solving.updating import climb, settle_backward
from plausible.decisions.structure.recall import temporal_order
from plausible.errors import ImpossibleEvidence, counted
from plausible.search.run import CONVERGED
from plausible.variables.evidence import EvidenceLike


@record
class SolvingPlan:
    """How a diagram is solved, and at what cost."""

    #: The decisions in the order in which they are settled, those that rely on each other together.
    components: tuple[tuple[str, ...], ...]
    relies_on: Mapping[str, tuple[str, ...]]  # Decision -> the decisions whose rules matter to its own
    #: Decision -> what it has to know of what it sees, and what makes no difference.
    needs: Mapping[str, tuple[str, ...]]
    ignores: Mapping[str, tuple[str, ...]]
    barren: tuple[str, ...]  # The chance variables that make no difference to anything
    num_entries: int  # The entries of all tables of the clique tree
    largest: tuple[str, ...]  # The names of the variables of the largest one

    @property
    def is_acyclic(self) -> bool:
        """Whether every decision can be settled alone, so that the answer is sure to be found and best."""
        return all(len(component) == 1 for component in self.components)

    def __str__(self) -> str:
        lines = []
        for component in self.components:
            for name in component:
                relied = ", ".join(self.relies_on[name]) or "no other decision"
                lines.append(f"{name} needs {', '.join(self.needs[name]) or 'nothing'}, relies on {relied}")
                if self.ignores[name]:
                    lines.append(f"  and need not know {', '.join(self.ignores[name])}")
            if len(component) > 1:
                lines.append(f"  ({', '.join(component)} rely on each other: settled together)")
        if self.barren:
            lines.append(f"Without influence: {', '.join(self.barren)}")
        lines.append(
            f"Tables with {counted(self.num_entries, 'entry')}, the largest over {', '.join(self.largest) or 'nothing'}"
        )
        return "\n".join(lines)


def plan(diagram: Diagram, evidence: EvidenceLike | None = None) -> SolvingPlan:
    """What `solve` will do with a diagram; no table is touched."""
    task = read_task(diagram, read_findings(diagram, evidence))
    structure, problem = task.structure, task.problem
    tables = (*problem.probabilities, *problem.utilities)
    layout = lay_out(problem.variables, [*(scope for scope, _ in tables), *problem.families.values()])
    needs = structure.information
    return SolvingPlan(
        components=structure.components,
        relies_on=dict(structure.relies_on),
        needs=dict(needs),
        ignores={
            name: tuple(seen for seen in decision.sees if seen not in needs[name])
            for name, decision in diagram.decisions.items()
        },
        barren=tuple(name for name in diagram.chance if name not in structure.relevant),
        num_entries=layout.num_entries,
        largest=tuple(problem.variables[number].name for number in sorted(layout.largest)),
    )


_ONE_BY_ONE = "single-policy updating"
#: The share of the time that is left, after the search for a strategy, for a bound on all of them.
_FOR_THE_BOUND = 0.2


def solve(
    diagram: Diagram,
    method: Method = "auto",
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> Solution:
    """Find a strategy with the largest expected utility, and say whether that is proved.

    Lauritzen & Nilsson (2001), Representing and solving decision problems with limited information, Management
    Science 47. Koller & Friedman (2009), Probabilistic graphical models, chapter 23.
    """
    check_method(method)
    findings = read_findings(diagram, evidence)
    watch = Watch(options or SolvingOptions())
    try:
        found = _solution(diagram, method, findings, watch)
    except ImpossibleEvidence:
        raise impossible(diagram, evidence) from None
    return replace(found, stopped_by=CONVERGED if found.is_optimal else watch.stopped_by, seconds=watch.clock.seconds)


def _solution(diagram: Diagram, method: Method, findings: Mapping[str, Floats], watch: Watch) -> Solution:
    """By the method named; the simplest that will do where that is left open."""
    if method in ("elimination", "arc-reversal"):
        return _eliminated(diagram, findings, by_factors=method == "elimination")
    task = read_task(diagram, findings)
    if method == "auto" and task.structure.is_acyclic and fits(task.problem) and watch.options.progress is None:
        rules, value = settle_backward(task.problem, [name for (name,) in task.structure.components])
        return finish(task, FoundRules(rules, None, _ONE_BY_ONE, value))
    tree = weighing(task.problem, task.problem.uniform_rules())
    if task.problem.is_conditioned and tree.total().probability <= 0:
        raise ImpossibleEvidence.outright()
    if method == "network":
        rules = query_rules(diagram, findings, task.structure)
        return finish(task, FoundRules(rules, None, "queries to a Bayesian network"))
    if method == "enumeration":
        return finish(task, _enumerated(task, watch))
    return finish(task, (_solved if method == "auto" else _climbed)(task, tree, watch), tree)


def _eliminated(diagram: Diagram, findings: Mapping[str, Floats], by_factors: bool) -> Solution:
    """By removing variables or nodes; a rule depends on what is left when its decision is removed."""
    rules = sum_max_sum(diagram, findings) if by_factors else reverse_arcs(diagram, findings)
    problem = read_problem(diagram, findings, {name: rule.names[:-1] for name, rule in rules.items()})
    task = Task(diagram, findings, read_structure(diagram, findings), problem)
    how = "sum-max-sum elimination" if by_factors else "arc reversal"
    return finish(task, FoundRules({name: np.array(rule.values) for name, rule in rules.items()}, None, how))


def _enumerated(task: Task, watch: Watch) -> FoundRules:
    """The best of all strategies, or, if the time is over before, of some."""
    with watch.keeping(_FOR_THE_BOUND):
        rules, is_complete = enumerate_rules(task.problem, temporal_order(task.diagram), watch)
    bound = None if is_complete else upper_bound(task, watch)
    return FoundRules(rules, bound, "all strategies one by one", is_open_off_path=True)


def _solved(task: Task, tree: Weighing, watch: Watch) -> FoundRules:
    """Settled in the order of reliance; where a proof is missing, with a bound."""
    components = task.structure.components
    with watch.keeping(_FOR_THE_BOUND):
        state = settle(task.problem, tree, components, temporal_order(task.diagram), watch)
    method = _ONE_BY_ONE if task.structure.is_acyclic else "joint optimisation of decisions that rely on each other"
    is_proved, is_open = state.is_proved and state.is_finished, not task.structure.is_acyclic
    bound = None if is_proved else min(state.upper_bound if state.is_finished else inf, upper_bound(task, watch))
    return FoundRules(state.rules, bound, method, is_open_off_path=is_open)


def _climbed(task: Task, tree: Weighing, watch: Watch) -> FoundRules:
    """The best local optimum, with a bound."""
    rules = task.problem.uniform_rules()
    decisions = [name for component in task.structure.components for name in component]
    with watch.keeping(_FOR_THE_BOUND):
        climb(task.problem, tree, decisions, rules, watch)
    return FoundRules(rules, upper_bound(task, watch), "iterated optimisation", is_open_off_path=True)


class Asked(NamedTuple):
    """The diagram in question, what is known beforehand, and how to solve: for those who solve versions of it."""

    diagram: Diagram
    evidence: EvidenceLike | None
    options: SolvingOptions | None

    def solved(self, diagram: Diagram | None = None) -> Solution:
        """The best strategy of the diagram, or of another version of it."""
        return solve(self.diagram if diagram is None else diagram, "auto", self.evidence, self.options)
