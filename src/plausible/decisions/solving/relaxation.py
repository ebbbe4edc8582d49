"""Upper bounds: what could be reached if decisions knew more."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

from plausible.base.arrays import Floats
from plausible.decisions.solving.joint_table import weighing
from plausible.decisions.solving.task import read_task
from plausible.decisions.solving.updating import improve
from plausible.decisions.structure.recall import temporal_order, with_recall
from plausible.errors import TooLarge

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["relaxed_bound"]


def relaxed_bound(diagram: InfluenceDiagram, findings: Mapping[str, Floats], max_entries: int = 2**22) -> float:
    """The expected utility of the best strategy where decisions remember all, or, if that is too much, know all.

    Whoever knows more can do as well by ignoring it, so no strategy of the diagram does better. With perfect recall no
    decisions rely on each other, and each rule is found once. Knowing everything that is not yet to be influenced is
    more, but as then much of it need not be known, it may be easier.

    Parameters
    ----------
    diagram
        The influence diagram.
    findings
        What is known beforehand: see `read_findings`.
    max_entries
        The limit on the tables; inf is returned where both bounds would need more.

    Examples
    --------
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> relaxed_bound(pair, {})
    2.0
    """
    for relax in (with_recall, _with_foresight):
        try:
            return _solved(relax(diagram), findings, max_entries)
        except TooLarge:
            continue
    return math.inf


def _solved(diagram: InfluenceDiagram, findings: Mapping[str, Floats], max_entries: int) -> float:
    task = read_task(diagram, findings)
    problem = task.problem
    entries = sum(math.prod(map(float, problem.family_shape(name))) for name in problem.families)
    if entries > max_entries:
        raise TooLarge(f"The rules of the bound would have {entries:.3g} entries.")
    rules = problem.uniform_rules()
    tree = weighing(problem, rules, max_entries)
    for (name,) in task.structure.components:
        improve(tree, name, rules)
    return tree.total().expected_utility


def _with_foresight(diagram: InfluenceDiagram) -> InfluenceDiagram:
    """The diagram where each decision sees all that neither it nor a later one has an influence on."""
    order = temporal_order(diagram)
    sees: dict[str, tuple[str, ...]] = {}
    influenced: set[object] = set()
    for name in reversed(order):
        influenced |= {name, *diagram.graph.descendants(name)}
        sees[name] = tuple(other for other in diagram.variables if other not in influenced)
    return diagram.with_information(sees)
