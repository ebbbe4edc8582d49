"""The front door: the best strategy of an influence diagram."""

from __future__ import annotations

from collections.abc import Mapping
from math import inf
from typing import TYPE_CHECKING

from plausible.decisions.solving.enumeration import enumerated
from plausible.decisions.solving.finishing import Found, finish
from plausible.decisions.solving.joint_table import Weighing, weighing
from plausible.decisions.solving.options import Method, Options, check_method
from plausible.decisions.solving.problem import Floats, Problem, read_findings, read_problem
from plausible.decisions.solving.relaxation import relaxed_bound
from plausible.decisions.solving.settling import climb, settle
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.structure import Structure, decisions_in_time, read_structure
from plausible.decisions.solving.sum_max_sum import sum_max_sum
from plausible.errors import ImpossibleEvidence
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["solve"]


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
    if method == "elimination":
        return _eliminated(diagram, findings, structure)
    problem = read_problem(diagram, findings, structure.information, structure.relevant)
    tree = weighing(problem, problem.uniform_rules())
    if problem.is_conditioned and tree.total().probability <= 0:
        raise ImpossibleEvidence.outright()
    if method == "enumeration":
        return finish(diagram, problem, structure, enumerated(problem, decisions_in_time(diagram)))
    solver = _solved if method == "auto" else _climbed
    return finish(diagram, problem, structure, solver(diagram, findings, (problem, structure, tree), options), tree)


def _solved(
    diagram: InfluenceDiagram,
    findings: Mapping[str, Floats],
    parts: tuple[Problem, Structure, Weighing],
    options: Options | None,
) -> Found:
    problem, structure, tree = parts
    state = settle(problem, tree, structure.components, decisions_in_time(diagram), options or Options())
    acyclic = all(len(component) == 1 for component in structure.components)
    method = "single-policy updating" if acyclic else "joint optimisation of decisions that rely on each other"
    if state.is_proved:
        return Found(state.rules, None, method)
    bound = state.upper_bound if state.num_settled == len(state.rules) else inf
    return Found(state.rules, min(bound, relaxed_bound(diagram, findings)), method)


def _eliminated(diagram: InfluenceDiagram, findings: Mapping[str, Floats], structure: Structure) -> Solution:
    rules = sum_max_sum(diagram, findings)
    problem = read_problem(diagram, findings, {name: rule.names[:-1] for name, rule in rules.items()})
    found = Found({name: rule.values for name, rule in rules.items()}, None, "sum-max-sum elimination")
    return finish(diagram, problem, structure, found)


def _climbed(
    diagram: InfluenceDiagram,
    findings: Mapping[str, Floats],
    parts: tuple[Problem, Structure, Weighing],
    options: Options | None,
) -> Found:
    problem, structure, tree = parts
    rules = problem.uniform_rules()
    decisions = [name for component in structure.components for name in component]
    climb(problem, tree, decisions, rules, options or Options())
    return Found(rules, relaxed_bound(diagram, findings), "iterated optimisation")
