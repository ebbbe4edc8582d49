"""Utilities that are sums over groups of attributes: disjoint, given others, or overlapping; and CAI-maps of them."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import accumulate, product
from operator import or_
from typing import Any, Literal

import numpy as np

from plausible.base import Floats, Result, record
from plausible.errors import InvalidArgument, counted
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph, maximal_cliques, minimal_undirected_i_map
from plausible.graphs.independencies import refuse_many_nodes
from plausible.utilities.attributes.additive_utility import AdditiveUtility, read_scopes, sum_text, utility_basis
from plausible.utilities.attributes.outcome_tables import (
    Holds,
    LotteryPair,
    Names,
    check_utility,
    largest_miss,
    names_of,
    partition_of,
    read_reference,
    residual_pair,
    slack,
)
from plausible.variables import Assignment, State


@record
class AdditiveIndependence(Result, Holds):
    """Whether a utility is a sum over groups of attributes."""

    #: The groups; for a conditional independence without the attributes that are given.
    groups: tuple[tuple[str, ...], ...]
    given: tuple[str, ...]  # The attributes that every part may depend on
    holds: bool  # Whether lotteries with the same marginals on each group (and what is given) are equally good
    utility: AdditiveUtility  # The sum of parts, got by setting all but one group to the reference; U where it holds
    deviation: float  # The largest difference between U and that sum: a mixed second difference of U
    witness: LotteryPair | None  # Two lotteries with these marginals, and different expected utilities

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
    with independence under any distribution. The groups are a partition of the attributes: names, or lists of names.
    The reference v* has first states where left out; the tolerance is a share of the range of U.

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

    X and Y are disjoint; Z is all the other attributes, also where left out, as the relation is only defined for a
    partition. Reference and tolerance are those of `additive_independence`.

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
    pairs = []
    for one, other in zip(accumulate(moves[:-1], or_), moves[1:], strict=True):
        # Two changes, both or none of them, against either the one or the other; the better gamble first.
        both, first = Assignment(still | one | other), Assignment(still | one)
        second, none = Assignment(still | other), Assignment(still)
        together, apart = ((both, 0.5), (none, 0.5)), ((first, 0.5), (second, 0.5))
        gain = 0.5 * ((utility[both] - utility[first]) - (utility[second] - utility[none]))
        pairs.append(LotteryPair(together, apart, gain) if gain >= 0 else LotteryPair(apart, together, -gain))
    return max(pairs, key=lambda pair: pair.difference)


@record
class GeneralizedAdditiveIndependence(Result, Holds):
    """Whether a utility is a sum of functions of given scopes."""

    scopes: tuple[tuple[str, ...], ...]  # Z_i
    holds: bool  # Whether lotteries with the same marginals on every Z_i are equally good
    #: The nearest sum, in the sense of least squares over all outcomes: U itself where it holds.
    utility: AdditiveUtility
    deviation: float  # The largest difference between U and that sum
    num_free_parameters: int  # The dimension of such sums
    witness: LotteryPair | None  # Two lotteries with the same marginals on every Z_i, and different expected utilities

    def __str__(self) -> str:
        if self.holds:
            return (
                f"{sum_text(self.scopes)}: {counted(self.num_free_parameters, 'free parameter')}, "
                f"within {self.deviation:.3g}"
            )
        return f"not {sum_text(self.scopes)}. {self.witness}"


def generalized_additive_independence(
    utility: Factor, scopes: Iterable[Names], tolerance: float = 1e-9
) -> GeneralizedAdditiveIndependence:
    """Whether U = Σ_i U_i(Z_i) for scopes that may overlap (Fishburn 1967; Koller & Friedman 2009, theorem 22.6).

    U is projected on the span of the indicators of all z_i; it holds where nothing is left. What is left has a positive
    and a negative part with the same marginals on every Z_i, which make the lotteries of the witness. The scopes Z_i
    are names or lists of names, and attributes in no scope must not matter; the tolerance is a share of the range of U.
    It takes one marginal of U, and one product with at most n × n numbers, for each scope of n states.

    >>> parts = [Factor({a: 2, b: 2}, [[1, 0], [0, 2]]) for a, b in ("XY", "YZ", "XZ")]
    >>> triangle = sum(parts, Factor.scalar(0.0))
    >>> print(generalized_additive_independence(triangle, [["X", "Y"], ["Y", "Z"], ["X", "Z"]]))
    U(X, Y) + U(Y, Z) + U(X, Z): 7 free parameters, within 0
    >>> bool(generalized_additive_independence(triangle, [["X", "Y"], ["Y", "Z"]]))
    False
    """
    check_utility(utility)
    basis = utility_basis(utility.scope, scopes)
    nearest = AdditiveUtility(basis.parts(basis.coordinates(utility)), variables=utility.scope)
    residual = utility.flat - nearest.table().flat
    deviation = largest_miss(residual, utility)
    holds = deviation <= slack(utility, tolerance)
    witness = None if holds else residual_pair(residual, utility.scope)
    return GeneralizedAdditiveIndependence(basis.scopes, holds, nearest, deviation, basis.size, witness)


def canonical_decomposition(
    utility: Factor, scopes: Iterable[Names], reference: Mapping[str, State] | None = None
) -> AdditiveUtility:
    """The parts that follow from outcomes near a reference, by inclusion and exclusion; U where U is such a sum.

    For each set S within a scope, c_S(x_S) = Σ_{T ⊆ S} (-1)^|S - T| U(x_T, v*) is what S adds to its own parts; U_i is
    the sum of the c_S of all S within Z_i that no earlier scope has (Fishburn 1967; Braziunas & Boutilier 2005). Only
    outcomes that differ from v* within one scope are looked at: those are what to ask people for. The scopes Z_i are
    names or lists of names; the reference v* has first states where left out. The cost is the size of the parts, times
    the number of scopes.

    >>> utility = Factor({"A": 2, "B": 2}, [[1.0, 2.0], [4.0, 7.0]])
    >>> [part.values.tolist() for part in canonical_decomposition(utility, ["A", ["A", "B"]]).parts]
    [[1.0, 4.0], [[0.0, 1.0], [0.0, 3.0]]]
    """
    check_utility(utility)
    listed = read_scopes(utility.scope, scopes)
    start = read_reference(utility.scope, reference)
    parts = []
    for place, scope in enumerate(listed):
        local = _at_reference(utility, scope, start)
        positions = [start[name] for name in scope]
        # At each cell the c_S of the axes S in which it differs from the reference.
        terms = _added_to_reference(local.values, positions, -1.0)
        for earlier in listed[:place]:
            terms[tuple(slice(None) if name in earlier else start[name] for name in scope)] = 0.0
        parts.append(Factor(local.scope, _added_to_reference(terms, positions, 1.0)))
    return AdditiveUtility(parts, variables=utility.scope)


def _added_to_reference(values: Floats, positions: list[int], sign: float) -> Floats:
    """Along each axis in turn, what stands at the reference added to all else, or taken from it: inverses."""
    terms = np.array(values)
    for axis, position in enumerate(positions):
        along = np.moveaxis(terms, axis, 0)
        base = along[position].copy()
        along += sign * base
        along[position] = base
    return terms


@record
class LotteryComparison(Result):
    """How two lotteries compare for everybody whose utility is a sum over some scopes."""

    #: Whether their marginals on every scope are the same, so that every such utility finds them equally good.
    is_indifferent: bool
    largest_gap: float  # The largest difference of two marginal probabilities
    scope: tuple[str, ...]  # Where it is

    def __str__(self) -> str:
        if self.is_indifferent:
            return "equally good: the marginals on every scope agree"
        return f"the marginals on ({', '.join(self.scope)}) differ by {self.largest_gap:.6g}"


def compare_lotteries(
    first: Factor, second: Factor, scopes: Iterable[Names], tolerance: float = 1e-9
) -> LotteryComparison:
    """Whether two lotteries are equally good for every utility of the form Σ_i U_i(Z_i).

    Both are distributions over the same attributes; probabilities that differ by no more than the tolerance are equal.

    >>> same = Factor({"A": 2, "B": 2}, [[0.5, 0.0], [0.0, 0.5]])
    >>> other = Factor({"A": 2, "B": 2}, [[0.0, 0.5], [0.5, 0.0]])
    >>> compare_lotteries(same, other, ["A", "B"]).is_indifferent
    True
    >>> print(compare_lotteries(same, other, ["A", ["A", "B"]]))
    the marginals on (A, B) differ by 0.5
    """
    for lottery in (first, second):
        if not lottery.is_distribution():
            raise InvalidArgument(f"A lottery has probabilities that sum to one, not to {lottery.sum():.10g}.")
    gaps = {}
    for scope in read_scopes(first.scope, scopes):
        difference = first.marginal(scope) - second.marginal(scope)
        gaps[scope] = max(difference.max(), -difference.min())
    worst = max(gaps, key=lambda scope: gaps[scope])
    return LotteryComparison(gaps[worst] <= tolerance, gaps[worst], worst)


@record
class CAIMap(Result):
    """The minimal CAI-map of a utility."""

    utility: Factor  # The factor over all attributes
    #: Its map: every separation X, Z, Y of all attributes is a conditional additive independence, and as the map is
    #: perfect for these, the other way round too (Koller & Friedman 2009, theorem 22.5).
    graph: UndirectedGraph
    tolerance: float  # As a share of the range of the utility

    def is_independent(self, x: Names, y: Names, given: Names | None = None) -> bool:
        """Whether X and Y are CA-independent given all other attributes: by separation, without a look at the numbers.

        >>> parts = Factor({"A": 2, "B": 2}, [[0, 1], [1, 0]]) + Factor({"B": 2, "C": 2}, [[3, 1], [1, 0]])
        >>> cai_map(parts).is_independent("A", "C")
        True
        """
        left, right = names_of(x, self.utility), names_of(y, self.utility)
        rest = tuple(name for name in self.utility.names if name not in (*left, *right)) if given is None else given
        *_, kept = partition_of(self.utility, [left, right, rest], "Conditional additive independence")
        return self.graph.separated(left, right, given=kept)

    def decomposition(self) -> AdditiveUtility:
        """U as a sum over the maximal cliques: the additive theorem of Hammersley and Clifford (theorems 22.3-4)."""
        cliques = [tuple(str(name) for name in clique) for clique in maximal_cliques(self.graph)]
        return canonical_decomposition(self.utility, cliques or [()])

    def is_perfect(self) -> bool:
        """Whether graph and utility agree on every partition of the attributes: 3^n / 2 questions, n up to 12."""
        refuse_many_nodes(self.utility.names)
        names = self.utility.names
        for places in product(range(3), repeat=len(names)):
            x, y, given = (tuple(n for n, place in zip(names, places, strict=True) if place == k) for k in range(3))
            # X has the first name that is not given.
            if x and y and names.index(x[0]) < names.index(y[0]):
                answer = conditional_additive_independence(self.utility, x, y, given, tolerance=self.tolerance)
                if answer.holds != self.graph.separated(x, y, given=given):
                    return False
        return True

    def __str__(self) -> str:
        edges = "; ".join(f"{a} - {b}" for a, b in self.graph.edges) or "no edges"
        return f"CAI-map of {', '.join(self.utility.names)}: {edges}"


def cai_map(utility: Factor, method: Literal["pairwise", "blanket"] = "pairwise", tolerance: float = 1e-9) -> CAIMap:
    """The minimal CAI-map of a utility.

    Conditional additive independence in U is conditional independence under P ∝ exp(U) (Koller & Friedman 2009, lemma
    22.1), so the map is the minimal Markov network of that positive distribution, and the only one. Each question is
    answered by mixed differences of U, which are the logarithms of odds ratios of P: exp(U) is never formed, and
    utilities of any size are safe. There are n²/2 or n² questions, each a few passes over the table.

    Parameters
    ----------
    method
        "pairwise": an edge unless two attributes are CA-independent given all others. "blanket": neighbours are the
        smallest set given which an attribute is CA-independent of all others. Both give the same graph; to disagree,
        they need differences close to the tolerance.
    tolerance
        As a share of the range of U.

    Examples
    --------
    >>> study = Factor({"I": 2, "T": 2}, [[0, 5], [1, 2]]) + Factor({"T": 2, "F": 2}, [[4, 1], [0, 1]])
    >>> print(cai_map(study))
    CAI-map of I, T, F: I - T; T - F
    """
    check_utility(utility)
    names = utility.names

    def is_independent(x: tuple[Any, ...], y: tuple[Any, ...], given: tuple[Any, ...]) -> bool:
        return conditional_additive_independence(utility, x, y, given, tolerance=tolerance).holds

    if method == "pairwise":
        return CAIMap(utility, minimal_undirected_i_map(names, is_independent), tolerance)
    if method != "blanket":
        raise InvalidArgument(f"method={method!r}: there are 'pairwise' and 'blanket'.")
    edges: set[frozenset[str]] = set()
    for name in names:
        # Attributes are dropped one at a time. Without zeros there is one smallest set that serves, within every other
        # one, so the order does not matter.
        kept = [other for other in names if other != name]
        for candidate in tuple(kept):
            smaller = [other for other in kept if other != candidate]
            others = tuple(other for other in names if other != name and other not in smaller)
            if is_independent((name,), others, tuple(smaller)):
                kept = smaller
        edges |= {frozenset((name, other)) for other in kept}
    graph = UndirectedGraph([tuple(sorted(edge, key=names.index)) for edge in edges], nodes=names)
    return CAIMap(utility, graph, tolerance)
