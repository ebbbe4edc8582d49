"""The front door: the best strategy of an influence diagram."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING

import numpy as np

from plausible.decisions.solving.arc_reversal import reverse_arcs
from plausible.decisions.solving.backward_induction import settle_backward
from plausible.decisions.solving.finishing import Found, finish
from plausible.decisions.solving.joint_table import Weighing, fits, weighing
from plausible.decisions.solving.network_queries import query_rules
from plausible.decisions.solving.options import Method, Options, check_method
from plausible.decisions.solving.problem import Floats, Problem, read_findings, read_problem
from plausible.decisions.solving.relaxation import relaxed_bound
from plausible.decisions.solving.settling import climb, settle
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.structure import Structure, read_structure
from plausible.decisions.solving.sum_max_sum import sum_max_sum
from plausible.decisions.solving.team import enumerate_rules
from plausible.decisions.structure.recall import temporal_order
from plausible.errors import ImpossibleEvidence
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["solve"]

_ONE_BY_ONE = "single-policy updating"


def solve(
    diagram: InfluenceDiagram,
    method: Method = "auto",
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
) -> Solution:
    """A strategy with the largest expected utility, and how it is known to be one.

    Parameters
    ----------
    diagram
        The influence diagram, with perfect recall or limited memory.
    method
        `"auto"`: what decisions need not know is dropped; then they are settled in the order in which they rely on
        each other, each rule once, on a clique tree of joint factors. Decisions that rely on each other are settled
        together by branch and bound; beyond its budget by iterated optimisation, and the gap to an upper bound is told.
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
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
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
    structure = read_structure(diagram, findings)
    if method in ("elimination", "arc-reversal"):
        return _eliminated(diagram, method, findings, structure)
    problem = read_problem(diagram, findings, structure.information, structure.relevant)
    search = options or Options()
    if method == "auto" and structure.is_acyclic and fits(problem) and search.progress is None:
        rules, value = settle_backward(problem, [name for (name,) in structure.components])
        return finish(diagram, problem, structure, Found(rules, None, _ONE_BY_ONE, value))
    tree = weighing(problem, problem.uniform_rules())
    if problem.is_conditioned and tree.total().probability <= 0:
        raise ImpossibleEvidence.outright()
    if method == "network":
        found = Found(query_rules(diagram, findings, structure), None, "queries to a Bayesian network")
        return finish(diagram, problem, structure, found)
    if method == "enumeration":
        found = Found(enumerate_rules(problem, temporal_order(diagram)), None, "all strategies one by one")
        return finish(diagram, problem, structure, found)
    solver = _solved if method == "auto" else _climbed
    return finish(diagram, problem, structure, solver(diagram, findings, (problem, structure, tree), search), tree)


def _solved(
    diagram: InfluenceDiagram,
    findings: Mapping[str, Floats],
    parts: tuple[Problem, Structure, Weighing],
    options: Options,
) -> Found:
    problem, structure, tree = parts
    state = settle(problem, tree, structure.components, temporal_order(diagram), options)
    method = _ONE_BY_ONE if structure.is_acyclic else "joint optimisation of decisions that rely on each other"
    if state.is_proved:
        return Found(state.rules, None, method)
    bound = state.upper_bound if state.num_settled == len(state.rules) else inf
    return Found(state.rules, min(bound, relaxed_bound(diagram, findings)), method)


def _eliminated(
    diagram: InfluenceDiagram, method: Method, findings: Mapping[str, Floats], structure: Structure
) -> Solution:
    by_factors = method == "elimination"
    rules = sum_max_sum(diagram, findings) if by_factors else reverse_arcs(diagram, findings)
    problem = read_problem(diagram, findings, {name: rule.names[:-1] for name, rule in rules.items()})
    how = "sum-max-sum elimination" if by_factors else "arc reversal"
    found = Found({name: np.array(rule.values) for name, rule in rules.items()}, None, how)
    return finish(diagram, problem, structure, found)


def _climbed(
    diagram: InfluenceDiagram,
    findings: Mapping[str, Floats],
    parts: tuple[Problem, Structure, Weighing],
    options: Options,
) -> Found:
    problem, structure, tree = parts
    rules = problem.uniform_rules()
    decisions = [name for component in structure.components for name in component]
    climb(problem, tree, decisions, rules, options)
    return Found(rules, relaxed_bound(diagram, findings), "iterated optimisation")
