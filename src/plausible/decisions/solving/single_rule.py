"""One decision, the rules of all others given."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from plausible.decisions.solving.evaluating import read_strategy
from plausible.decisions.solving.findings import impossible
from plausible.decisions.solving.joint_table import weighing
from plausible.decisions.solving.updating import best_rule, decided
from plausible.factors import Factor
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["expected_utility_factor", "optimal_rule"]


def expected_utility_factor(
    diagram: InfluenceDiagram, decision: str, strategy: Mapping[str, Factor], evidence: EvidenceLike | None = None
) -> Factor:
    """μ(w, d) = P(w) E[U | w, d], given the rules of all other decisions.

    The expected utility of any rule δ of the decision is Σ_w Σ_d δ(d | w) μ(w, d), so a rule that takes the largest
    entry of each row is the best one.

    Parameters
    ----------
    diagram
        The influence diagram.
    decision
        The decision whose rule is left open.
    strategy
        A rule for each decision; that of the open one is not looked at, but for what it depends on.
    evidence
        What is known before any decision is made.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, equation 23.10.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> rain, umbrella = TableCPD("rain", [0.75, 0.25]), Decision("umbrella", 2, sees=["rain"])
    >>> diagram = InfluenceDiagram([rain], [umbrella], [Utility(["rain", "umbrella"], [[10, 8], [0, 8]])])
    >>> expected_utility_factor(diagram, "umbrella", diagram.uniform_strategy()).values
    array([[7.5, 6. ],
           [0. , 2. ]])
    >>> optimal_rule(diagram, "umbrella", diagram.uniform_strategy()).values
    array([[1., 0.],
           [0., 1.]])
    """
    diagram.decision(decision)
    problem, rules = read_strategy(diagram, strategy, evidence)
    probability, weighted = weighing(problem, rules).family(decision)
    total = probability[..., 0].sum()
    if total <= 0:
        raise impossible(diagram, evidence)
    return Factor(strategy[decision].scope, weighted / total)


def optimal_rule(
    diagram: InfluenceDiagram, decision: str, strategy: Mapping[str, Factor], evidence: EvidenceLike | None = None
) -> Factor:
    """The best rule of a decision, given those of all others; deterministic.

    What is never seen keeps the most likely action of the present rule.

    Parameters
    ----------
    diagram
        The influence diagram.
    decision
        The decision whose rule is to be found.
    strategy
        A rule for each decision.
    evidence
        What is known before any decision is made.

    Examples
    --------
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> optimal_rule(pair, "D", pair.strategy({"D": 1, "E": 0})).values
    array([1., 0.])
    """
    diagram.decision(decision)
    problem, rules = read_strategy(diagram, strategy, evidence)
    probability, weighted = weighing(problem, rules).family(decision)
    if probability.max() <= 0:
        raise impossible(diagram, evidence)
    best = best_rule(probability, weighted, rules[decision], problem.rounding * probability)
    return Factor(strategy[decision].scope, np.array(decided({decision: best})[decision]))
