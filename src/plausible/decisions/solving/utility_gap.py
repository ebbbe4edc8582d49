"""How good a strategy is between the worst and the best."""

from __future__ import annotations

from collections.abc import Mapping

from plausible.base.display import format_number
from plausible.base.records import record
from plausible.base.tolerances import WRITTEN_ROUNDING
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.decisions.rules import RuleLike
from plausible.decisions.solving.evaluating import expected_utility
from plausible.decisions.solving.options import SolvingOptions
from plausible.decisions.solving.solve import Asked
from plausible.decisions.strategy import Strategy
from plausible.errors import InvalidArgument
from plausible.utilities.local import Utility
from plausible.variables.evidence import EvidenceLike


@record(eq=False)
class UtilityGap:
    """What is at stake: from the worst strategy to the best."""

    #: What was asked.
    diagram: Diagram
    evidence: EvidenceLike | None
    #: The largest and the least expected utility.
    best: float
    worst: float
    #: Strategies that reach them.
    best_strategy: Strategy
    worst_strategy: Strategy
    is_exact: bool  # Whether both are proved

    def share(self, strategy: Strategy | Mapping[str, RuleLike]) -> float:
        """How much of the way from the worst to the best a strategy goes, from 0 to 1."""
        rules = strategy if isinstance(strategy, Strategy) else self.diagram.strategy(strategy)
        return share_of_gap(expected_utility(self.diagram, rules, self.evidence), self.worst, self.best)

    def __str__(self) -> str:
        told = "" if self.is_exact else ", not proved"
        return f"Expected utility from {format_number(self.worst)} (worst) to {format_number(self.best)} (best){told}."


def utility_gap(
    diagram: Diagram, evidence: EvidenceLike | None = None, options: SolvingOptions | None = None
) -> UtilityGap:
    """The best and the worst strategy of a diagram, between which others can be placed.

    Parameters
    ----------
    diagram
        The influence diagram.
    evidence, options
        As of `solve`.

    References
    ----------
    Norman et al. (1998), a decision-analytic system for prenatal testing; Koller & Friedman (2009), box 23.A.

    Examples
    --------
    >>> import plausible as pb
    >>> gap = utility_gap(pb.examples.load("oil"))
    >>> print(gap)
    Expected utility from -29.25 (worst) to 16.75 (best).
    >>> round(gap.share({"test": "no", "drill": "no"}), 3)
    0.636
    """
    asked = Asked(diagram, evidence, options)
    best, worst = asked.solved(), asked.solved(with_negated_utilities(diagram))
    return UtilityGap(
        diagram,
        evidence,
        best.expected_utility,
        -worst.expected_utility,
        best.strategy,
        worst.strategy,
        best.is_optimal and worst.is_optimal,
    )


def share_of_gap(expected_utility: float, worst: float, best: float) -> float:
    """(EU - worst) / (best - worst): 0 for the worst strategy, 1 for the best, whatever the unit of utility.

    Where all strategies are as good, the share is 1.

    Parameters
    ----------
    expected_utility
        That of the strategy in question.
    worst, best
        Those of the worst and the best strategy; the worst of a diagram is the best of `with_negated_utilities`.

    References
    ----------
    Norman et al. (1998), a decision-analytic system for prenatal testing; Koller & Friedman (2009), box 23.A.

    Examples
    --------
    >>> round(share_of_gap(94.915, worst=87.85, best=98.77), 3)
    0.647
    """
    slack = WRITTEN_ROUNDING * max(abs(worst), abs(best))
    if not worst - slack <= expected_utility <= best + slack:
        raise InvalidArgument(
            f"An expected utility of {expected_utility:g} is not between the worst, {worst:g}, and the best, {best:g}."
        )
    return (expected_utility - worst) / (best - worst) if best > worst else 1.0


def with_negated_utilities(diagram: DiagramT) -> DiagramT:
    """The diagram whose best strategy is the worst of this one: every utility changes its sign.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> diagram = InfluenceDiagram(decisions=[Decision("D", 2)], utilities=[Utility("D", [1, 3], name="V")])
    >>> with_negated_utilities(diagram).utility_factors["V"].values
    array([-1., -3.])
    """
    utilities = [Utility.from_factor(-factor, name) for name, factor in diagram.utility_factors.items()]
    return type(diagram)(diagram.chance.values(), diagram.decisions.values(), utilities, diagram.notes)
