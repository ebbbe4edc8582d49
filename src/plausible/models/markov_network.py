"""Markov networks: non-negative factors whose normalised product is the distribution."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base import MARKOV_HINTS, Floats, Frozen, Hinted, TextTable, own_methods
from plausible.cpds import CPD
from plausible.data import encode_columns
from plausible.errors import InvalidArgument, InvalidEvidence, InvalidModel, counted, shortened
from plausible.factors import Factor, product
from plausible.graphs import ClusterGraph, UndirectedGraph, assign_factors, is_clique, maximal_cliques
from plausible.inference.elimination import absorb, sum_product
from plausible.models.answers import Answers
from plausible.models.drawn import Drawn
from plausible.models.evidence_analyses import EvidenceAnalyses
from plausible.models.network_parts import ByName, renamed_variables
from plausible.models.notes import Notes
from plausible.models.question import Parts
from plausible.models.shown_parts import factors_table
from plausible.variables import Evidence, EvidenceLike, State, Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame

    from plausible.models.factor_graph import FactorGraph


@own_methods
class MarkovNetwork(EvidenceAnalyses, Drawn, Answers, Frozen, Hinted):
    """A Markov network: P(X) = Π φ_i(D_i) / Z. It is immutable; edits return new networks.

    Factors say how compatible states are; they are neither marginal nor conditional distributions.

    Parameters
    ----------
    factors
        Non-negative factors; several may have the same scope.
    variables
        Variables that come first in the variable order. Use this to add variables that are in no factor.

    Examples
    --------
    >>> net = MarkovNetwork(
    ...     Factor({"A": 2, "B": 2}, [[30, 5], [1, 10]]), Factor({"B": 2, "C": 2}, [[100, 1], [1, 100]])
    ... )
    >>> net.graph
    UndirectedGraph('A - B; B - C')
    >>> round(math.exp(net.log_partition()))
    4646
    >>> net.query("A", evidence={"C": 1}).values.round(4)
    array([0.3462, 0.6538])
    """

    __slots__ = ("_factors", "_graph", "_variables", "notes")

    _hints = MARKOV_HINTS

    def __init__(
        self, *factors: Factor | Iterable[Factor], variables: Iterable[Variable] = (), notes: Notes | None = None
    ) -> None:
        self._factors = _flat(factors)
        self._variables = _collect(variables, self._factors)
        edges = [pair for factor in self._factors for pair in combinations(factor.names, 2)]
        self._graph = UndirectedGraph(edges, nodes=self._variables)
        self.notes = notes or Notes()

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order given."""
        return MappingProxyType(self._variables)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors, in the order given."""
        return self._factors

    @property
    def graph(self) -> UndirectedGraph:
        """The undirected graph in which the variables of each factor are joined with each other."""
        return self._graph

    @property
    def is_pairwise(self) -> bool:
        """Whether no factor has more than two variables."""
        return all(len(factor.scope) <= 2 for factor in self._factors)

    def factorizes_over(self, graph: UndirectedGraph) -> bool:
        """Whether the scope of every factor is a clique of `graph`: then the graph's separations are independencies.

        >>> chain = MarkovNetwork(Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC"))
        >>> chain.factorizes_over(UndirectedGraph("A - B - C"))
        True
        >>> chain.factorizes_over(UndirectedGraph("A - C - B"))
        False
        """
        return all(is_clique(graph, factor.names) for factor in self._factors)

    def __len__(self) -> int:
        return len(self._variables)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        return Parts(factors=self._all_factors())

    def _all_factors(self) -> list[Factor]:
        """The factors, and a constant one for each variable that is in none of them."""
        seen = {variable.name for factor in self._factors for variable in factor.scope}
        lonely = [variable for name, variable in self._variables.items() if name not in seen]
        return [*self._factors, *(Factor((variable,), np.ones(variable.num_states)) for variable in lonely)]

    def _families(self) -> dict[str, tuple[Variable, ...]]:
        return {str(number): factor.scope for number, factor in enumerate(self._factors) if factor.scope}

    def energy(self, assignment: Mapping[str, State]) -> float:
        """-Σ ln φ_i of a complete assignment, infinite where a factor is zero: P = exp(-energy) / Z."""
        self._complete(assignment)
        values = [factor[assignment] for factor in self._factors]
        return math.inf if 0.0 in values else -math.fsum(map(math.log, values))

    def measure(self, assignment: Mapping[str, State]) -> float:
        """Π φ_i of a complete assignment: its probability but for the constant Z.

        >>> MarkovNetwork(Factor({"A": 2, "B": 2}, [[30, 5], [1, 10]])).measure({"A": 0, "B": 1})
        5.0
        """
        self._complete(assignment)
        return math.prod(factor[assignment] for factor in self._factors)

    def log_measures(self, columns: Mapping[str, npt.NDArray[Any]]) -> Floats:
        """Σ ln φ_i of each row, -inf where a factor is zero; `columns` hold the positions of states."""
        num_rows = len(next(iter(columns.values()))) if columns else 0
        total = np.zeros(num_rows)
        for factor in self._factors:
            place: npt.NDArray[Any] = np.zeros(num_rows, dtype=np.intp)
            for variable in factor.scope:
                place = place * variable.num_states + columns[variable.name]
            total += factor.log().flat[place]
        return total

    def _complete(self, assignment: Mapping[str, State]) -> None:
        hard = Evidence.read(assignment, self._variables, "this network").hard
        if missing := [name for name in self._variables if name not in hard]:
            raise InvalidEvidence(f"The assignment gives no state to {missing[0]!r}; it must be complete.")

    def log_likelihood(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> Floats:
        """log P(row) of each complete row of a data frame: one look-up in each factor, and log Z once."""
        return self.log_measures(encode_columns(frame, self._variables)) - self.log_partition()

    def clique_potentials(self) -> tuple[Factor, ...]:
        """One factor for each maximal clique of the graph, with the same product; which factors there were is lost.

        >>> loop = [Factor({a: 2, b: 2}, [[2, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")]
        >>> [factor.names for factor in MarkovNetwork(loop).clique_potentials()]
        [('A', 'B', 'C')]
        """
        cliques = maximal_cliques(self._graph)
        places = assign_factors(ClusterGraph(cliques, (), ()), (factor.names for factor in self._factors))
        potentials = [
            product(factor for factor, place in zip(self._factors, places, strict=True) if place == number)
            .extend(self._variables[str(name)] for name in clique)
            .reorder([str(name) for name in clique])
            for number, clique in enumerate(cliques)
        ]
        return tuple(potentials)

    def reduce(self, evidence: EvidenceLike) -> MarkovNetwork:
        """The network of the other variables given evidence: its Z is Z(e), its distribution P(rest | e).

        Observed variables disappear; soft findings become factors.
        """
        found = Evidence.read(evidence, self._variables, "this network")
        left = [variable for name, variable in self._variables.items() if name not in found.hard]
        return MarkovNetwork(absorb(self._all_factors(), found), variables=left, notes=self.notes)

    def to_factor_graph(self) -> FactorGraph:
        """The bipartite graph of variables and factors; the factors are called f0, f1, ..."""
        from plausible.models.factor_graph import FactorGraph  # the two kinds turn into each other

        return FactorGraph(self._factors, variables=self._variables.values(), notes=self.notes)

    def with_factor(self, factor: Factor) -> MarkovNetwork:
        """This network and one more factor."""
        return self._with((*self._factors, factor))

    def without_factor(self, number: int) -> MarkovNetwork:
        """This network without the factor at a position; its variables stay."""
        if not 0 <= number < len(self._factors):
            raise InvalidArgument(f"There is no factor {number}: this network has {len(self._factors)}, from 0.")
        return self._with(self._factors[:number] + self._factors[number + 1 :])

    def renamed(self, names: Mapping[str, str]) -> MarkovNetwork:
        """This network with some variables renamed, its notes too."""
        variables = renamed_variables(self._variables, names)
        factors = [Factor.from_flat([variables[name] for name in f.names], f.flat) for f in self._factors]
        return MarkovNetwork(factors, variables=variables.values(), notes=self.notes.renamed(names))

    def with_notes(self, notes: Notes) -> MarkovNetwork:
        """This network with other notes."""
        return MarkovNetwork(self._factors, variables=self._variables.values(), notes=notes)

    def _with(self, factors: Iterable[Factor]) -> MarkovNetwork:
        return MarkovNetwork(factors, variables=self._variables.values(), notes=self.notes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovNetwork):
            return NotImplemented
        return self._variables == other._variables and self._factors == other._factors

    def __hash__(self) -> int:
        return hash((frozenset(self._variables.items()), self._factors))

    def is_close(self, other: MarkovNetwork, tolerance: float = 1e-6) -> bool:
        """Whether both are the same distribution, whatever their factors, up to a Hellinger distance of `tolerance`.

        H² = 1 - Σ √(P Q), and the sum is that of a product of factors again, so no joint table is built. Rounding
        makes H appear as large as about 1e-7.
        """
        if not isinstance(other, MarkovNetwork):
            raise InvalidArgument(f"A MarkovNetwork is close to another one or not; {other!r} is none.")
        if set(self._variables.values()) != set(other._variables.values()):
            return False
        roots = [
            Factor.from_flat(factor.scope, np.sqrt(factor.flat))
            for factor in (*self._all_factors(), *other._all_factors())
        ]
        log_affinity = sum_product(roots, ()).log_total - (self.log_partition() + other.log_partition()) / 2
        return math.sqrt(max(0.0, 1.0 - math.exp(log_affinity))) <= tolerance

    def __repr__(self) -> str:
        title = f" {self.notes.name!r}" if self.notes.name else ""
        return f"<MarkovNetwork{title}: {counted(len(self), 'variable')}, {counted(len(self._factors), 'factor')}>"

    def _details(self) -> TextTable:
        return factors_table(self._factors)


def _advice(part: Any) -> str:
    """What someone wanted who gave something else than a factor."""
    if isinstance(part, CPD):
        return " A distribution is made one by cpd.to_factor(), a whole network by net.to_markov_network()."
    if isinstance(part, str) or hasattr(part, "edges"):
        return " A graph has no numbers: give a factor for each clique, such as Factor({'A': 2, 'B': 2}, values)."
    return ""


def _flat(factors: Sequence[Factor | Iterable[Factor]]) -> tuple[Factor, ...]:
    given: Any = factors[0] if len(factors) == 1 else factors
    listed = list(given) if isinstance(given, Iterable) and not isinstance(given, str) else [given]
    checked: list[Factor] = []
    for number, factor in enumerate(listed):
        if not isinstance(factor, Factor):
            raise InvalidModel(f"A MarkovNetwork is made of factors, not of {shortened(factor)}.{_advice(factor)}")
        if not (factor.min() >= 0 and factor.max() < math.inf):
            place = factor.argmin() if factor.min() < 0 else factor.argmax()
            raise InvalidModel(
                f"Factor {number} over ({', '.join(factor.names)}) is {factor[place]:g} at {dict(place)!r}: "
                "the factors of a Markov network are finite and not negative."
            )
        checked.append(factor)
    return tuple(checked)


def _collect(variables: Iterable[Variable], factors: Iterable[Factor]) -> ByName[Variable]:
    found: ByName[Variable] = ByName()
    for variable in variables:
        if variable.name in found or variable.is_continuous:
            problem = "stands twice in variables=" if variable.name in found else "is continuous: no factor can hold it"
            raise InvalidModel(f"{variable.name!r} {problem}.")
        found[variable.name] = variable
    for factor in factors:
        for variable in factor.scope:
            if found.setdefault(variable.name, variable) != variable:
                raise InvalidModel(
                    f"{variable.name!r} has the states {list(found[variable.name].states)} in one place "
                    f"and {list(variable.states)} in the factor over ({', '.join(factor.names)})."
                )
    return found
