"""Markov networks: non-negative factors whose normalised product is the distribution."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from types import MappingProxyType

from plausible.errors import InvalidModel
from plausible.factors import Factor
from plausible.graphs import UndirectedGraph
from plausible.models.notes import Notes
from plausible.variables import Variable

__all__ = ["MarkovNetwork"]


class MarkovNetwork:
    """P(X) = Π φ_i(D_i) / Z, a Gibbs distribution: an immutable value; edits return new networks.

    Parameters
    ----------
    factors
        Non-negative factors, in any number over the same scope.
    variables
        Variables that come first in the variable order; the way to add variables that are in no factor.
    notes
        Name, description, positions and the like.

    Examples
    --------
    >>> net = MarkovNetwork(Factor({"A": 2, "B": 2}, [[30, 5], [1, 10]]), Factor({"B": 2, "C": 2}, [[100, 1], [1, 100]]))
    >>> net.graph
    UndirectedGraph('A - B - C')
    """

    __slots__ = ("_factors", "_graph", "_variables", "notes")

    def __init__(
        self, *factors: Factor | Iterable[Factor], variables: Iterable[Variable] = (), notes: Notes | None = None
    ) -> None:
        self._factors = _flat(factors)
        self._variables = _collect(variables, self._factors)
        edges = [pair for factor in self._factors for pair in combinations(factor.names, 2)]
        self._graph = UndirectedGraph(edges, nodes=self._variables)
        self.notes = notes or Notes()

    # --- what is there ---

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

    def __len__(self) -> int:
        return len(self._variables)

    def __contains__(self, name: object) -> bool:
        return name in self._variables

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovNetwork):
            return NotImplemented
        return self._variables == other._variables and self._factors == other._factors

    def __hash__(self) -> int:
        return hash((frozenset(self._variables.items()), self._factors))


def _flat(factors: Sequence[Factor | Iterable[Factor]]) -> tuple[Factor, ...]:
    listed = list(factors[0]) if len(factors) == 1 and not isinstance(factors[0], Factor) else list(factors)
    checked: list[Factor] = []
    for number, factor in enumerate(listed):
        if not isinstance(factor, Factor):
            raise InvalidModel(f"A MarkovNetwork is made of factors, not of {factor!r}.")
        if not (factor.min() >= 0 and factor.max() < float("inf")):
            place = factor.argmin() if factor.min() < 0 else factor.argmax()
            raise InvalidModel(
                f"Factor {number} over ({', '.join(factor.names)}) is {factor[place]:g} at {dict(place)!r}: "
                "the factors of a Markov network are finite and not negative."
            )
        checked.append(factor)
    return tuple(checked)


def _collect(variables: Iterable[Variable], factors: Iterable[Factor]) -> dict[str, Variable]:
    found: dict[str, Variable] = {}
    for variable in variables:
        if variable.name in found or variable.is_continuous:
            problem = "stands twice in variables=" if variable.name in found else "is continuous: no factor can hold it"
            raise InvalidModel(f"{variable.name!r} {problem}.")
        found[variable.name] = variable
    for factor in factors:
        for variable in factor.scope:
            if found.setdefault(variable.name, variable) != variable:
                raise InvalidModel(
                    f"{variable.name!r} has the states {list(found[variable.name].states or ())} in one place "
                    f"and {list(variable.states or ())} in the factor over ({', '.join(factor.names)})."
                )
    return found
