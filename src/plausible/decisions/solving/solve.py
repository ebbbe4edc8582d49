"""The front door: what solving a diagram will take, its best strategy, and bounds where there is no proof."""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import replace
from typing import NamedTuple

import numpy as np

from plausible.base import Floats, Result, record
from plausible.decisions.diagram import Diagram
from plausible.decisions.solving.elimination import query_rules, reverse_arcs, sum_max_sum
from plausible.decisions.solving.joint_policies import settle
from plausible.decisions.solving.joint_tree import Weighing, fits, lay_out, weighing
from plausible.decisions.solving.policy_sets import search_policies
from plausible.decisions.solving.problem import (
    Method,
    SolvingOptions,
    Task,
    Watch,
    check_method,
    impossible,
    read_findings,
    read_problem,
    read_structure,
    read_task,
)
from plausible.decisions.solving.solution import FoundRules, Solution, finish
from plausible.decisions.solving.stages import read_stages
from plausible.decisions.solving.team import enumerate_rules
from plausible.decisions.solving.updating import climb, improve, settle_backward
from plausible.decisions.structure.relevance import temporal_order, with_recall
from plausible.errors import ImpossibleEvidence, TooLarge, counted
from plausible.search.run import CONVERGED
from plausible.variables.evidence import EvidenceLike


@record
class SolvingPlan(Result):
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
    """Show how `solve` would proceed: what decisions need to know, their order, and the tables required.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> print(pair.explain())
    D needs nothing, relies on E
    E needs nothing, relies on D
      (D, E rely on each other: settled together)
    Tables with 4 entries, the largest over D, E
    """
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
    """Find a strategy with the largest expected utility, and say whether that is proved."""
    check_method(method)
    findings = read_findings(diagram, evidence)
    watch = Watch(options or SolvingOptions())
    try:
        solution = _solution(diagram, method, findings, watch)
    except ImpossibleEvidence:
        raise impossible(diagram, evidence) from None
    stopped_by = CONVERGED if solution.is_optimal else watch.stopped_by
    return replace(solution, stopped_by=stopped_by, seconds=watch.clock.seconds)


def _solution(diagram: Diagram, method: Method, findings: Mapping[str, Floats], watch: Watch) -> Solution:
    """By the method named; the simplest that will do where that is left open."""
    if method in ("elimination", "arc-reversal"):
        # A rule depends on what is left when its decision is removed.
        how, remove = "sum-max-sum elimination", sum_max_sum
        if method == "arc-reversal":
            how, remove = "arc reversal", reverse_arcs
        factors = remove(diagram, findings)
        problem = read_problem(diagram, findings, {name: rule.names[:-1] for name, rule in factors.items()})
        task = Task(diagram, findings, read_structure(diagram, findings), problem)
        return finish(task, FoundRules({name: np.array(rule.values) for name, rule in factors.items()}, None, how))
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
    bound = None if is_proved else min(state.upper_bound if state.is_finished else math.inf, upper_bound(task, watch))
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


#: The bound by policies is looked for if no stage has more states and actions.
_MAX_STATES = 2**10
#: So many policies are kept for each decision.
_NUM_POLICIES = 16
#: The tables of a relaxed problem have no fewer entries than the first, no more than the second, and so many a second.
_MIN_ENTRIES, _MAX_ENTRIES, _ENTRIES_PER_SECOND = 2**15, 2**22, 2**19


def upper_bound(task: Task, watch: Watch) -> float:
    """What no strategy exceeds: the least of the best outcome, what knowing more is worth, and merged policies."""
    room = min(max(watch.seconds_left * _ENTRIES_PER_SECOND, _MIN_ENTRIES), _MAX_ENTRIES)
    best_outcome = math.fsum(float(table.max()) for _, table in task.problem.utilities)
    bound = min(best_outcome, relaxed_bound(task.diagram, task.findings, int(room)))
    # A pass over all decisions with few policies for each: see `plausible.decisions.solving.policy_sets`.
    in_time = temporal_order(task.diagram)
    stages = read_stages(task.problem, in_time, {}, _MAX_STATES) if in_time and not watch.is_over else None
    if stages is None:
        return bound
    rules = task.problem.uniform_rules()
    constant = weighing(task.problem, rules).total().expected_utility - stages.worth(rules)
    lists = search_policies(stages, (_NUM_POLICIES,), np.random.default_rng(0), lambda: watch.is_over)
    return min(bound, lists.upper + constant)


def relaxed_bound(diagram: Diagram, findings: Mapping[str, Floats], max_entries: int = 2**22) -> float:
    """The expected utility of the best strategy where decisions remember all, or, if that is too much, know all.

    Whoever knows more can do as well by ignoring it, so no strategy of the diagram does better. With perfect recall no
    decisions rely on each other, and each rule is found once. Knowing everything that is not yet to be influenced is
    more, but as then much of it need not be known, it may be easier.
    """
    for relax in (with_recall, _with_foresight):
        try:
            task = read_task(relax(diagram), findings)
            problem = task.problem
            if sum(math.prod(map(float, problem.family_shape(name))) for name in problem.families) > max_entries:
                continue
            rules = problem.uniform_rules()
            tree = weighing(problem, rules, max_entries)
            for (name,) in task.structure.components:
                improve(tree, name, rules)
            return tree.total().expected_utility
        except TooLarge:
            continue
    return math.inf


def _with_foresight(diagram: Diagram) -> Diagram:
    """The diagram where each decision sees all that neither it nor a later one has an influence on."""
    sees: dict[str, tuple[str, ...]] = {}
    influenced: set[object] = set()
    for name in reversed(temporal_order(diagram)):
        influenced |= {name, *diagram.graph.descendants(name)}
        sees[name] = tuple(other for other in diagram.variables if other not in influenced)
    return diagram.with_information(sees)
