"""The total utility: what it may come to, what it is worth to somebody who minds risk, and what of it is noise."""

from __future__ import annotations

from collections.abc import Iterable

import numpy as np

from plausible.base import PROOF, UTILITY_NOISE, Floats
from plausible.decisions.diagram import Diagram, DiagramT
from plausible.decisions.strategy import StrategyLike
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.factors.alignment import assignment_at, check_size
from plausible.utilities import Lottery, UtilityCurve
from plausible.utilities.local import Utility, seen_text
from plausible.variables.evidence import EvidenceLike


def total_utility(diagram: Diagram) -> Factor:
    """The sum of all utilities, as one factor over all that they depend on.

    Its table is as large as all of these variables together (Koller & Friedman 2009, section 23.4.2).

    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> parts = [Utility("a", [0, 10]), Utility("b", [0, 1])]
    >>> total_utility(InfluenceDiagram([], [Decision("a", 2), Decision("b", 2)], parts)).values
    array([[ 0.,  1.],
           [10., 11.]])
    """
    factors = list(diagram.utility_factors.values())
    scope = tuple(dict.fromkeys(variable for factor in factors for variable in factor.scope))
    check_size(scope, "The table of the total utility")
    total = Factor(scope, np.zeros([variable.num_states for variable in scope]))
    for factor in factors:
        total = total + factor
    return total


def with_curve(diagram: DiagramT, curve: UtilityCurve, name: str = "utility") -> DiagramT:
    """The diagram in which amounts are worth what a curve says: one utility, the curve of the sum of all.

    Risk is about the total. A curve applied to each utility by itself would be wrong wherever there are several.
    `curve.inverse` of the expected utility is the amount for sure that is as good, the certainty equivalent. Costs
    that are told afterwards, as those of observations, count in units of utility: add what costs amounts before,
    for instance by `with_optional_observation`. The utility that takes the place of all others gets the `name`.

    >>> import plausible as pb
    >>> oil, careful = pb.examples.load("oil"), pb.utilities.ExponentialCurve(1 / 50)
    >>> solution = oil.with_curve(careful).solve()
    >>> round(oil.solve().expected_utility, 4), round(careful.inverse(solution.expected_utility), 4)
    (16.75, 0.0)
    """
    if not isinstance(curve, UtilityCurve):
        raise InvalidArgument(f"{curve!r} is no utility curve: wrap a function in FunctionCurve.")
    total = total_utility(diagram)
    low, high = curve.domain
    if (outside := np.flatnonzero((total.values < low) | (total.values > high))).size:
        where, amount = seen_text(assignment_at(total.scope, int(outside[0]))), total.values.ravel()[outside[0]]
        raise InvalidArgument(f"{curve} has no utility for {amount:.6g}, the total where {where or 'nothing varies'}.")
    utility = Utility(total.scope, curve.values(total.values), name=name)
    return type(diagram)(diagram.chance.values(), diagram.decisions.values(), [utility], diagram.notes)


def risk_profile(diagram: Diagram, strategy: StrategyLike, evidence: EvidenceLike | None = None) -> Lottery:
    """The distribution of the total utility under a strategy: what may come of it, and how likely that is.

    Its mean is the expected utility. Totals that differ by rounding only count as one. The cost is that of the
    joint distribution of all that utilities depend on.

    >>> import plausible as pb
    >>> oil = pb.examples.load("oil")
    >>> print(oil.risk_profile(oil.solve().strategy))
    [-92: 0.22; -12: 0.435; 48: 0.21; 238: 0.135]
    """
    total = total_utility(diagram)
    complete = diagram.strategy(strategy)
    if not total.scope:
        return Lottery.certain(float(total.values))
    joint = diagram.network(complete).query(list(total.names), evidence=evidence).reorder(total.names)
    # From the least amount up; amounts within rounding of the one before are merged with it.
    amounts, chances = total.values.ravel(), joint.values.ravel()
    order = np.argsort(amounts, kind="stable")
    order = order[chances[order] > 0]
    ordered = amounts[order]
    is_new = np.concatenate([[True], np.diff(ordered) > utility_rounding(diagram)])
    sums = np.bincount(np.cumsum(is_new) - 1, chances[order])
    return Lottery(dict(zip(ordered[is_new].tolist(), (sums / sums.sum()).tolist(), strict=True)))


def utility_rounding(diagram: Diagram) -> float:
    """What floats lose: expected utilities of the diagram that differ by no more count as equal.

    1e-13 of the sum of the sizes of all utilities, in their units. A constant that is added to a utility makes it no
    larger than floats force it to be.
    """
    return rounding_of(table.values for table in diagram.utility_factors.values())


def rounding_of(utilities: Iterable[Floats]) -> float:
    """The same for tables of utilities."""
    return UTILITY_NOISE * sum(float(np.abs(table).max(initial=0.0)) for table in utilities)


def proof_rounding(diagram: Diagram) -> float:
    """By how much a bound may exceed a value that it proves: a share of the range of what decisions can change."""
    reached = {name for decision in diagram.decisions for name in diagram.graph.descendants(decision)}
    ranges = [table.max() - table.min() for name, table in diagram.utility_factors.items() if name in reached]
    return PROOF * sum(ranges) + utility_rounding(diagram)
