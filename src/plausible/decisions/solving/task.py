"""What is to be solved: a diagram, what is known beforehand, and both on arrays."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plausible.base.arrays import Floats
from plausible.decisions.solving.problem import Problem, read_problem
from plausible.decisions.solving.structure import Structure, read_structure

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["Task", "read_task"]


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """A diagram to be solved.

    Attributes
    ----------
    diagram
        The influence diagram.
    findings
        What is known beforehand: see `read_findings`.
    structure
        What decisions have to know, and the order in which they can be settled.
    problem
        The tables, without what makes no difference.
    """

    diagram: InfluenceDiagram
    findings: Mapping[str, Floats]
    structure: Structure
    problem: Problem


def read_task(diagram: InfluenceDiagram, findings: Mapping[str, Floats]) -> Task:
    """The structure and the tables of a diagram.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> task = read_task(InfluenceDiagram([], [Decision("D", 2)], [Utility("D", [3, 5])]), {})
    >>> task.structure.components, task.problem.sizes
    ((('D',),), (2,))
    """
    structure = read_structure(diagram, findings)
    problem = read_problem(diagram, findings, structure.information, structure.relevant)
    return Task(diagram, findings, structure, problem)
