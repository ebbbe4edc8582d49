"""The value of control: what it is worth to set a variable instead of leaving it to chance."""

from __future__ import annotations

from collections.abc import Iterable

from plausible.base.display import format_number
from plausible.base.options import check_number
from plausible.base.records import record
from plausible.decisions.diagram import Diagram
from plausible.decisions.information.observing import read_chance, read_variables
from plausible.decisions.information.value import NOT_PROVED
from plausible.decisions.parts import Decision
from plausible.decisions.solving.options import SolvingOptions
from plausible.decisions.solving.solution import Policy, Solution
from plausible.decisions.solving.solve import Asked
from plausible.errors import InvalidArgument
from plausible.variables.evidence import EvidenceLike


@record(eq=False)
class ValueOfControl:
    """What it is worth to decide on a chance variable."""

    variable: str  # The variable that becomes a decision
    sees: tuple[str, ...]  # What is known when it is set
    #: MEU with control less MEU without; negative only where less is known than what the variable depends on.
    value: float
    cost: float  # What control costs
    #: The solutions without and with control.
    before: Solution
    after: Solution

    @property
    def net_value(self) -> float:
        """The value less the cost."""
        return self.value - self.cost

    @property
    def settings(self) -> Policy:
        """How the variable is best set."""
        return self.after.policies[self.variable]

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        seeing = f", seeing {', '.join(self.sees)}," if self.sees else ""
        lines = [
            f"Control of {self.variable}{seeing} is worth {format_number(self.value)}: expected utility "
            f"{format_number(self.after.expected_utility)} instead of {format_number(self.before.expected_utility)}."
        ]
        if self.cost:
            lines.append(f"At a cost of {format_number(self.cost)}: net {format_number(self.net_value)}.")
        if not (self.before.is_optimal and self.after.is_optimal):
            lines.append(NOT_PROVED)
        return "\n".join([*lines, "", str(self.settings)])


def value_of_control(
    diagram: Diagram,
    variable: str,
    sees: Iterable[str] | None = None,
    cost: float = 0.0,
    evidence: EvidenceLike | None = None,
    options: SolvingOptions | None = None,
) -> ValueOfControl:
    """MEU of the diagram in which a chance variable X is a decision, less MEU.

    By default X is set knowing its parents, which is what chance "knows": then the value is never negative, since a
    rule may do what chance does. With `sees=()` X is set blindly, which can be worse than chance. Other decisions see
    what they saw before, X itself among it.

    Koller & Friedman (2009), Probabilistic graphical models, exercise 23.16. Matheson (1990), Using influence
    diagrams to value information and control.
    """
    cpd = read_chance(diagram, variable)
    check_number("cost", cost, least=0)
    seen = cpd.parent_names if sees is None else read_variables(diagram, sees)
    for name in seen:
        if name == variable or name in diagram.graph.descendants(variable):
            raise InvalidArgument(f"{name!r} depends on {variable!r}, so it can't be known when {variable!r} is set.")
    controlled = diagram.with_decision(Decision(diagram.variables[variable], sees=seen))
    asked = Asked(diagram, evidence, options)
    before, after = asked.solved(), asked.solved(controlled)
    value = after.expected_utility - before.expected_utility
    return ValueOfControl(variable, tuple(seen), value, float(cost), before, after)
