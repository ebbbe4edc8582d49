"""How good a strategy is between the worst and the best."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plausible.decisions.parts import Utility
from plausible.errors import InvalidArgument

if TYPE_CHECKING:
    from plausible.decisions.diagram import InfluenceDiagram

__all__ = ["share_of_gap", "with_negated_utilities"]


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
    slack = 1e-9 * max(1.0, abs(worst), abs(best))
    if not worst - slack <= expected_utility <= best + slack:
        raise InvalidArgument(
            f"An expected utility of {expected_utility:g} is not between the worst, {worst:g}, and the best, {best:g}."
        )
    return (expected_utility - worst) / (best - worst) if best > worst else 1.0


def with_negated_utilities(diagram: InfluenceDiagram) -> InfluenceDiagram:
    """The diagram whose best strategy is the worst of this one: every utility changes its sign.

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> diagram = InfluenceDiagram(decisions=[Decision("D", 2)], utilities=[Utility("D", [1, 3], name="V")])
    >>> with_negated_utilities(diagram).utility_factors["V"].values
    array([-1., -3.])
    """
    for name, factor in diagram.utility_factors.items():
        diagram = diagram.with_utility(Utility.from_factor(-factor, name))
    return diagram
