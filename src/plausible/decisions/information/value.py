"""The value of information: what it is worth to see something before deciding."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from plausible.decisions.information.changes import ActionChange, action_changes
from plausible.decisions.information.observing import observing, read_decision, read_variables
from plausible.decisions.solving.options import Options
from plausible.decisions.solving.solution import Solution
from plausible.decisions.solving.solve import solve
from plausible.factors.display import format_number
from plausible.inference.options import check_number
from plausible.variables.evidence import EvidenceLike

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["NOT_PROVED", "ValueOfInformation", "gain", "value_of_information"]

#: What results say where a strategy behind them may not be the best one.
NOT_PROVED = "Not exact: a strategy was not proved to be the best one."


@dataclass(frozen=True, slots=True, eq=False)
class ValueOfInformation:
    """What it is worth to see some variables at a decision, and why.

    Attributes
    ----------
    variables
        What is seen.
    decision
        The first decision that sees it; later ones do, too.
    value
        MEU with them less MEU without; never negative, and zero exactly where no action changes.
    cost
        What it costs to see them.
    before, after
        The solutions without and with them.
    changes
        What is done otherwise, and after seeing what.
    """

    variables: tuple[str, ...]
    decision: str
    value: float
    cost: float
    before: Solution
    after: Solution
    changes: tuple[ActionChange, ...]

    @property
    def net_value(self) -> float:
        """The value less the cost."""
        return self.value - self.cost

    @property
    def break_even_cost(self) -> float:
        """The largest cost at which it pays to look: the value itself."""
        return self.value

    @property
    def is_worthwhile(self) -> bool:
        """Whether looking is better than not looking."""
        return self.net_value > 0

    @property
    def is_exact(self) -> bool:
        """Whether both solutions are proved best; otherwise the value is that of the strategies found."""
        return self.before.is_optimal and self.after.is_optimal

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        what = f"{', '.join(self.variables) or 'nothing more'} at {self.decision}"
        after, before = format_number(self.after.expected_utility), format_number(self.before.expected_utility)
        meu = f"{after} instead of {before}" if self.value else f"stays {before}"
        lines = [f"Seeing {what} is worth {format_number(self.value)}: expected utility {meu}."]
        if self.cost:
            verdict = "it pays" if self.is_worthwhile else "it does not pay"
            lines.append(f"At a cost of {format_number(self.cost)} {verdict}: net {format_number(self.net_value)}.")
        if not self.is_exact:
            lines.append(NOT_PROVED)
        return "\n".join([*lines, *(map(str, self.changes) if self.changes else ["No action changes."])])


def value_of_information(
    diagram: InfluenceDiagram,
    variables: str | Iterable[str],
    decision: str | None = None,
    cost: float = 0.0,
    evidence: EvidenceLike | None = None,
    options: Options | None = None,
) -> ValueOfInformation:
    """VPI(D | X) = MEU with X seen at D and all later decisions, less MEU.

    Later is what comes after D in time; where the graph leaves that open, in the order of the diagram.
    It is never negative, as what is seen may be ignored, and zero exactly where an optimal strategy stays optimal. The
    values of several variables do not add up: two may say the same, or be of use only together.

    Parameters
    ----------
    diagram
        The influence diagram, with perfect recall or limited memory.
    variables
        X: one variable or several, which D must not influence; none are worth 0.
    decision
        D; not needed where there is only one.
    cost
        What it costs to see them, in units of utility.
    evidence, options
        As of `solve`.

    Notes
    -----
    Two diagrams are solved. Where it costs something to look, and what is seen first may decide what to look at next,
    see `observation_plan`, and `with_optional_observation` for several decisions.

    References
    ----------
    Koller & Friedman (2009), Probabilistic graphical models, definition 23.11 and proposition 23.6. Howard (1966),
    Information value theory.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> from plausible.decisions import Decision, InfluenceDiagram, Utility
    >>> diagram = InfluenceDiagram(
    ...     [TableCPD("market", [0.5, 0.3, 0.2], states=["poor", "fair", "good"])],
    ...     [Decision("found", ["no", "yes"])],
    ...     [Utility(["market", "found"], [[0, -7], [0, 5], [0, 20]], name="profit")],
    ... )
    >>> print(value_of_information(diagram, "market", cost=1))
    Seeing market at found is worth 3.5: expected utility 5.5 instead of 2.
    At a cost of 1 it pays: net 2.5.
    found, market=poor (probability 0.5): no instead of yes, better by 7
    """
    names = read_variables(diagram, variables)
    first = read_decision(diagram, decision)
    check_number("cost", cost)
    informed = observing(diagram, names, first)
    before = solve(diagram, "auto", evidence, options)
    after = solve(informed, "auto", evidence, options)
    value = gain(after.expected_utility, before.expected_utility, before.rounding)
    changes = action_changes(informed, before, after, evidence) if value > 0 else ()
    return ValueOfInformation(names, first, value, float(cost), before, after, changes)


def gain(after: float, before: float, rounding: float) -> float:
    """The difference of two maxima of which the first can't be smaller; 0 where it is within rounding."""
    difference = after - before
    return difference if difference > rounding else 0.0
