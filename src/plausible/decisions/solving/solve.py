"""The front door: the best strategy of an influence diagram."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.decisions.solving.arc_reversal import reverse_arcs
from plausible.decisions.solving.backward_induction import settle_backward
from plausible.decisions.solving.bounding import upper_bound
from plausible.decisions.solving.climbing import climb
from plausible.decisions.solving.enumeration import enumerate_rules
from plausible.decisions.solving.findings import impossible, read_findings
from plausible.decisions.solving.finishing import Found, finish
from plausible.decisions.solving.joint_table import Weighing, fits, weighing
from plausible.decisions.solving.network_queries import query_rules
from plausible.decisions.solving.options import Method, Options, Watch, check_method
from plausible.decisions.solving.problem import read_problem
from plausible.decisions.solving.settling import settle
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.structure import read_structure
from plausible.decisions.solving.sum_max_sum import sum_max_sum
from plausible.decisions.solving.task import Task, read_task
from plausible.decisions.structure.recall import temporal_order
from plausible.errors import ImpossibleEvidence
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["solve"]

_ONE_BY_ONE = "single-policy updating"
#: The share of the time that is left, after the search for a strategy, for a bound on all of them.
_FOR_THE_BOUND = 0.2


def solve(
    diagram: InfluenceDiagram,
    method: Method = "auto",
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
) -> Solution:
    """Find a strategy with the largest expected utility, and say whether that is proved.

    Parameters
    ----------
    diagram
        The influence diagram, with perfect recall or limited memory.
    method
        `"auto"`: what decisions need not know is dropped; then they are settled in the order in which they rely on
        each other, each rule once, on a clique tree of joint factors. Decisions that rely on each other are settled
        together, by lists of policies and by branch and bound; where the time does not suffice for a proof, the gap to
        an upper bound is told.
        `"local"`: iterated optimisation of one rule at a time, from uniform and from random rules.
        `"elimination"`: sum-max-sum elimination in an order against time; needs perfect recall.
        `"arc-reversal"`: nodes are removed from the diagram one by one; needs perfect recall, and few variables.
        `"network"`: a query to a Bayesian network for each decision; none may rely on each other.
        `"enumeration"`: all deterministic strategies one by one, where they are few.
    evidence
        What is known before any decision is made.
    options
        How long to search, and from where.

    Notes
    -----
    With an acyclic relevance graph the cost of `"auto"` is that of one calibration of a clique tree in which each
    decision lies together with what it has to know.

    References
    ----------
    Lauritzen & Nilsson (2001), Representing and solving decision problems with limited information, Management Science
    47. Koller & Friedman (2009), Probabilistic graphical models, chapter 23.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> diagram = InfluenceDiagram(
    ...     chance=[TableCPD("rain", [0.7, 0.3], states=["no", "yes"])],
    ...     decisions=[Decision("umbrella", ["leave", "take"], sees=["rain"])],
    ...     utilities=[Utility(["rain", "umbrella"], [[10, 8], [0, 7]], name="comfort")],
    ... )
    >>> print(solve(diagram))
    Expected utility 9.1, the maximum (single-policy updating).
    <BLANKLINE>
    umbrella:
    rain | umbrella | expected utility | probability
    -----+----------+------------------+------------
    no   | leave    |               10 |         0.7
    yes  | take     |                7 |         0.3
    """
    check_method(method)
    findings = read_findings(diagram, evidence)
    try:
        return _solution(diagram, method, findings, Watch(options or Options()))
    except ImpossibleEvidence:
        raise impossible(diagram, evidence) from None


def _solution(diagram: InfluenceDiagram, method: Method, findings: Mapping[str, Floats], watch: Watch) -> Solution:
    """By the method named; the simplest that will do where that is left open."""
    if method in ("elimination", "arc-reversal"):
        return _eliminated(diagram, findings, by_factors=method == "elimination")
    task = read_task(diagram, findings)
    if method == "auto" and task.structure.is_acyclic and fits(task.problem) and watch.options.progress is None:
        rules, value = settle_backward(task.problem, [name for (name,) in task.structure.components])
        return finish(task, Found(rules, None, _ONE_BY_ONE, value))
    tree = weighing(task.problem, task.problem.uniform_rules())
    if task.problem.is_conditioned and tree.total().probability <= 0:
        raise ImpossibleEvidence.outright()
    if method == "network":
        rules = query_rules(diagram, findings, task.structure)
        return finish(task, Found(rules, None, "queries to a Bayesian network"))
    if method == "enumeration":
        return finish(task, _enumerated(task, watch))
    return finish(task, (_solved if method == "auto" else _climbed)(task, tree, watch), tree)


def _eliminated(diagram: InfluenceDiagram, findings: Mapping[str, Floats], by_factors: bool) -> Solution:
    """By removing variables or nodes; a rule depends on what is left when its decision is removed."""
    rules = sum_max_sum(diagram, findings) if by_factors else reverse_arcs(diagram, findings)
    problem = read_problem(diagram, findings, {name: rule.names[:-1] for name, rule in rules.items()})
    task = Task(diagram, findings, read_structure(diagram, findings), problem)
    how = "sum-max-sum elimination" if by_factors else "arc reversal"
    return finish(task, Found({name: np.array(rule.values) for name, rule in rules.items()}, None, how))


def _enumerated(task: Task, watch: Watch) -> Found:
    """The best of all strategies, or, if the time is over before, of some."""
    with watch.keeping(_FOR_THE_BOUND):
        rules, is_complete = enumerate_rules(task.problem, temporal_order(task.diagram), watch)
    bound = None if is_complete else upper_bound(task, watch)
    return Found(rules, bound, "all strategies one by one", is_open_off_path=True)


def _solved(task: Task, tree: Weighing, watch: Watch) -> Found:
    """Settled in the order of reliance; where a proof is missing, with a bound."""
    components = task.structure.components
    with watch.keeping(_FOR_THE_BOUND):
        state = settle(task.problem, tree, components, temporal_order(task.diagram), watch)
    method = _ONE_BY_ONE if task.structure.is_acyclic else "joint optimisation of decisions that rely on each other"
    is_proved, is_open = state.is_proved and state.is_finished, not task.structure.is_acyclic
    bound = None if is_proved else min(state.upper_bound if state.is_finished else inf, upper_bound(task, watch))
    return Found(state.rules, bound, method, is_open_off_path=is_open)


def _climbed(task: Task, tree: Weighing, watch: Watch) -> Found:
    """The best local optimum, with a bound."""
    rules = task.problem.uniform_rules()
    decisions = [name for component in task.structure.components for name in component]
    with watch.keeping(_FOR_THE_BOUND):
        climb(task.problem, tree, decisions, rules, watch)
    return Found(rules, upper_bound(task, watch), "iterated optimisation", is_open_off_path=True)
