"""Additive independence, and the conditional kind: utilities that are sums over disjoint groups of attributes."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from itertools import accumulate
from operator import or_

from plausible.base.records import record
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.utilities.attributes.additive_utility import AdditiveUtility
from plausible.utilities.attributes.outcome_tables import (
    Names,
    check_utility,
    largest_miss,
    partition_of,
    read_reference,
    slack,
)
from plausible.utilities.attributes.witnesses import LotteryPair
from plausible.variables import Assignment, State


@record
class AdditiveIndependence:
    """Whether a utility is a sum over groups of attributes."""

    #: The groups; for a conditional independence without the attributes that are given.
    groups: tuple[tuple[str, ...], ...]
    given: tuple[str, ...]  # The attributes that every part may depend on
    holds: bool  # Whether lotteries with the same marginals on each group (and what is given) are equally good
    utility: AdditiveUtility  # The sum of parts, got by setting all but one group to the reference; U where it holds
    deviation: float  # The largest difference between U and that sum: a mixed second difference of U
    witness: LotteryPair | None  # Two lotteries with these marginals, and different expected utilities

    def __bool__(self) -> bool:
        return self.holds

    def __str__(self) -> str:
        claim = " | ".join("{" + ", ".join(group) + "}" for group in self.groups)
        given = f" given {', '.join(self.given)}" if self.given else ""
        if self.holds:
            return f"{claim}{given}: additive independent, within {self.deviation:.3g}"
        return f"{claim}{given}: not additive independent. {self.witness}"


def additive_independence(
    utility: Factor, groups: Sequence[Names], reference: Mapping[str, State] | None = None, tolerance: float = 1e-9
) -> AdditiveIndependence:
    """Whether U = Σ_i U_i(Z_i) for a partition Z_1, ..., Z_k (Koller & Friedman 2009, theorem 22.2).

    The parts are U_1(z_1) = U(z_1, v*) and U_i(z_i) = U(z_i, v*) - U(v*), the other groups being at a reference v*; if
    any sum reproduces U, this one does. It is stronger than utility independence of each group, and has nothing to do
    with independence under any distribution.

    Parameters
    ----------
    utility
        A factor over all attributes.
    groups
        A partition of them: names, or lists of names.
    reference
        A state of each attribute; first states where left out.
    tolerance
        As a share of the range of U.

    Examples
    --------
    >>> taste = Factor({"meal": ["fish", "meat"], "wine": ["white", "red"]}, [[5.0, 1.0], [2.0, 4.0]])
    >>> print(additive_independence(taste, ["meal", "wine"]))
    {meal} | {wine}: not additive independent. [meal=meat, wine=red: 0.5; meal=fish, wine=white: 0.5] and
        [meal=meat, wine=white: 0.5; meal=fish, wine=red: 0.5] have the same marginals and differ by 3
    """
    check_utility(utility)
    listed = partition_of(utility, groups, "Additive independence")
    return _tested(utility, listed, (), read_reference(utility.scope, reference), slack(utility, tolerance))


def conditional_additive_independence(
    utility: Factor,
    x: Names,
    y: Names,
    given: Names | None = None,
    *,
    reference: Mapping[str, State] | None = None,
    tolerance: float = 1e-9,
) -> AdditiveIndependence:
    """Whether U = U_1(X, Z) + U_2(Y, Z) (Koller & Friedman 2009, definition 22.9, proposition 22.4).

    Parameters
    ----------
    utility
        A factor over all attributes.
    x, y
        Disjoint sets of attributes.
    given
        Z: all the other attributes, also where left out. The relation is only defined for a partition.
    reference
        A state of each attribute; first states where left out.
    tolerance
        As a share of the range of U.

    Examples
    --------
    >>> first, second = Factor({"A": 2, "C": 2}, [[0, 3], [1, 1]]), Factor({"B": 2, "C": 2}, [[2, 2], [5, 0]])
    >>> conditional_additive_independence(first + second, "A", "B").holds
    True
    >>> conditional_additive_independence(first + second, "A", "C").holds
    False
    """
    check_utility(utility)
    sides = [tuple([side] if isinstance(side, str) else side) for side in (x, y)]
    rest = tuple(name for name in utility.names if not any(name in side for side in sides)) if given is None else given
    first, second, third = partition_of(utility, [*sides, rest], "Conditional additive independence")
    if not first or not second:
        raise InvalidArgument("Name at least one attribute on each side of a conditional additive independence.")
    start = read_reference(utility.scope, reference)
    return _tested(utility, (first, second), third, start, slack(utility, tolerance))


def _tested(
    utility: Factor, groups: tuple[tuple[str, ...], ...], given: tuple[str, ...], start: Mapping[str, int], zero: float
) -> AdditiveIndependence:
    scopes = [(*group, *given) for group in groups]
    base = _at_reference(utility, given, start)
    slices = [_at_reference(utility, scope, start) for scope in scopes]
    parts = [part - base if place else part for place, part in enumerate(slices)]
    additive = AdditiveUtility(parts, variables=utility.scope)
    residual = utility - additive.table()
    deviation = largest_miss(residual.flat, utility)
    holds = deviation <= zero
    witness = None if holds else _mixed_difference(utility, groups, given, start, residual)
    return AdditiveIndependence(groups, given, holds, additive, deviation, witness)


def _at_reference(utility: Factor, free: Sequence[str], start: Mapping[str, int]) -> Factor:
    """The utility as a function of some attributes, the others being at the reference."""
    fixed = {v.name: v.states[start[v.name]] for v in utility.scope if v.name not in free}
    return utility.reduce(fixed).reorder([name for name in free if name in utility.names])


def _mixed_difference(
    utility: Factor,
    groups: Sequence[Sequence[str]],
    given: Sequence[str],
    start: Mapping[str, int],
    residual: Factor,
) -> LotteryPair:
    """The residual at its largest is a sum of mixed differences, one for each group but the first: the largest of them.

    Group i and all groups before it go from the reference to the worst outcome, one of them or both.
    """
    worst = dict(residual.argmax() if residual.max() >= -residual.min() else residual.argmin())
    still = {v.name: v.states[start[v.name]] for v in utility.scope} | {name: worst[name] for name in given}
    moves = [{name: worst[name] for name in group} for group in groups]
    before = list(accumulate(moves, or_))
    pairs = [_even_gambles(utility, still, *both) for both in zip(before[:-1], moves[1:], strict=True)]
    return max(pairs, key=lambda pair: pair.difference)


def _even_gambles(
    utility: Factor, still: Mapping[str, State], one: Mapping[str, State], other: Mapping[str, State]
) -> LotteryPair:
    """Two changes, both or none of them, against either the one or the other; the better gamble first."""
    both, first, second, none = (Assignment({**still, **x, **y}) for x in (one, {}) for y in (other, {}))
    together, apart = ((both, 0.5), (none, 0.5)), ((first, 0.5), (second, 0.5))
    difference = 0.5 * ((utility[both] - utility[first]) - (utility[second] - utility[none]))
    return LotteryPair(together, apart, difference) if difference >= 0 else LotteryPair(apart, together, -difference)
