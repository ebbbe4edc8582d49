"""What solving a diagram will take, before it is done."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

from plausible.base.records import record
from plausible.decisions.solving.findings import read_findings
from plausible.decisions.solving.layout import lay_out
from plausible.decisions.solving.task import read_task
from plausible.errors import counted
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["SolvingPlan", "plan"]


@record
class SolvingPlan:
    """How a diagram is solved, and at what cost.

    Attributes
    ----------
    components
        The decisions in the order in which they are settled, those that rely on each other together.
    relies_on
        Decision -> the decisions whose rules matter to its own.
    needs, ignores
        Decision -> what it has to know of what it sees, and what makes no difference.
    barren
        The chance variables that make no difference to anything.
    num_entries
        The entries of all tables of the clique tree.
    largest
        The names of the variables of the largest one.
    """

    components: tuple[tuple[str, ...], ...]
    relies_on: Mapping[str, tuple[str, ...]]
    needs: Mapping[str, tuple[str, ...]]
    ignores: Mapping[str, tuple[str, ...]]
    barren: tuple[str, ...]
    num_entries: int
    largest: tuple[str, ...]

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


def plan(diagram: InfluenceDiagram, evidence: EvidenceLike | None = None) -> SolvingPlan:
    """What `solve` will do with a diagram; no table is touched.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> first, second = Decision("first", 2), Decision("second", 2, sees=["first"])
    >>> print(plan(InfluenceDiagram([], [first, second], [Utility(["first", "second"], [[1, 0], [0, 2]])])))
    second needs first, relies on no other decision
    first needs nothing, relies on second
    Tables with 4 entries, the largest over first, second
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
