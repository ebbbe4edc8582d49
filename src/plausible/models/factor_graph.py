"""Factor graphs: variables on one side, factors on the other, joined where a factor has a variable in its scope."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from plausible.base import Frozen, TextTable
from plausible.errors import InvalidModel, UnknownVariable, counted
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.models.answers import Answers
from plausible.models.drawn import Drawn
from plausible.models.evidence_analyses import EvidenceAnalyses
from plausible.models.markov_network import MarkovNetwork
from plausible.models.notes import Notes
from plausible.models.question import Parts
from plausible.models.shown_parts import factors_table
from plausible.variables import Evidence, Variable

if TYPE_CHECKING:
    import networkx as nx


class FactorGraph(EvidenceAnalyses, Drawn, Answers, Frozen):
    """A factor graph: variables and factors as nodes. It tells φ(A, B) φ(B, C) φ(A, C) from φ(A, B, C).

    Parameters
    ----------
    factors
        Non-negative factors: a mapping from names to factors, or a list, whose factors get the names f0, f1, ...
    variables
        Variables that come first in the variable order. Use this to add variables that are in no factor.

    References
    ----------
    Kschischang, Frey & Loeliger (2001), Factor graphs and the sum-product algorithm.

    Examples
    --------
    >>> pairs = FactorGraph([Factor({"A": 2, "B": 2}, [[1, 2], [2, 1]]), Factor({"B": 2, "C": 2}, [[1, 2], [2, 1]])])
    >>> pairs.neighbors("B"), pairs.neighbors("f0")
    (('f0', 'f1'), ('A', 'B'))
    >>> pairs.is_tree
    True
    """

    __slots__ = ("_factors", "_graph", "_network")

    def __init__(
        self,
        factors: Mapping[str, Factor] | Iterable[Factor],
        variables: Iterable[Variable] = (),
        notes: Notes | None = None,
    ) -> None:
        listed = list(factors.values() if isinstance(factors, Mapping) else factors)
        self._network = MarkovNetwork(listed, variables=variables, notes=notes)
        taken = self._network.variables
        names = list(factors) if isinstance(factors, Mapping) else _free_names(len(listed), taken)
        if clashing := [name for name in names if name in taken]:
            raise InvalidModel(f"{clashing[0]!r} is the name of a factor and of a variable; rename one of them.")
        self._factors = dict(zip(names, listed, strict=True))
        edges = [(variable, name) for name, factor in self._factors.items() for variable in factor.names]
        self._graph = UndirectedGraph(edges, nodes=(*taken, *names))

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, in the order given."""
        return self._network.variables

    @property
    def factors(self) -> Mapping[str, Factor]:
        """Name -> factor, in the order given."""
        return MappingProxyType(self._factors)

    @property
    def notes(self) -> Notes:
        """Name, description, positions and so on."""
        return self._network.notes

    @property
    def graph(self) -> UndirectedGraph:
        """The bipartite graph over the names of variables and factors."""
        return self._graph

    def neighbors(self, name: str) -> tuple[str, ...]:
        """The factors that have a variable in their scope, or the scope of a factor."""
        if name in self._factors:
            return tuple(variable.name for variable in self._factors[name].scope)
        if name not in self.variables:
            raise UnknownVariable.named(name, self._graph.nodes, "this factor graph")
        return tuple(str(node) for node in self._graph.neighbors(name))

    @property
    def is_tree(self) -> bool:
        """Whether exactly one path joins every two nodes: belief propagation then is exact and ends in two passes."""
        return self._graph.is_tree

    @property
    def is_forest(self) -> bool:
        """Whether there is no cycle."""
        return self._graph.is_forest

    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        return self._network._parts(names, evidence)

    def _families(self) -> dict[str, tuple[Variable, ...]]:
        """The scopes of the factors, by their names."""
        return {name: factor.scope for name, factor in self._factors.items() if factor.scope}

    def to_markov_network(self) -> MarkovNetwork:
        """The Markov network of the same factors; their names are lost.

        >>> FactorGraph([Factor({"A": 2, "B": 2}, [[1, 2], [2, 1]])]).to_markov_network().graph
        UndirectedGraph('A - B')
        """
        return self._network

    def to_networkx(self) -> nx.Graph[Any]:
        """A networkx graph whose nodes have `bipartite=0` (variables) or `bipartite=1` (factors, with `factor=`)."""
        import networkx as nx

        graph: nx.Graph[Any] = nx.Graph()
        graph.add_nodes_from(self.variables, bipartite=0)
        graph.add_nodes_from((name, {"bipartite": 1, "factor": factor}) for name, factor in self._factors.items())
        graph.add_edges_from(self._graph.edges)
        return graph

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, FactorGraph):
            return NotImplemented
        return dict(self.variables) == dict(other.variables) and self._factors == other._factors

    def __hash__(self) -> int:
        return hash((frozenset(self.variables.items()), frozenset(self._factors.items())))

    def __repr__(self) -> str:
        return f"<FactorGraph: {counted(len(self.variables), 'variable')}, {counted(len(self._factors), 'factor')}>"

    def _details(self) -> TextTable:
        return factors_table(tuple(self._factors.values()), self._factors)


def unique_names(wanted: Iterable[str], taken: Iterable[str] = ()) -> list[str]:
    """The names as wanted, with primes where one is taken already, by a variable or by an earlier name."""
    used = set(taken)
    found: list[str] = []
    for name in wanted:
        while name in used:
            name += "'"
        used.add(name)
        found.append(name)
    return found


def _free_names(count: int, taken: Mapping[str, Variable]) -> list[str]:
    """f0, f1, ..., with more letters where a variable has such a name."""
    prefix = "f"
    while any(f"{prefix}{number}" in taken for number in range(count)):
        prefix += "f"
    return [f"{prefix}{number}" for number in range(count)]
