"""CAI-maps: graphs whose separations are the conditional additive independencies of a utility."""

from __future__ import annotations

from itertools import product
from typing import Any, Literal

from plausible.base.records import Result, record
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph, maximal_cliques, minimal_undirected_i_map
from plausible.graphs.independencies import refuse_many_nodes
from plausible.utilities.attributes.additive import canonical_decomposition, conditional_additive_independence
from plausible.utilities.attributes.additive_utility import AdditiveUtility
from plausible.utilities.attributes.outcome_tables import Names, check_utility, names_of, partition_of


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
