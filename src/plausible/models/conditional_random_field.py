"""Conditional random fields: Markov networks of some variables given others that are always observed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base import Floats, Frozen, TextTable
from plausible.data import encode_columns
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
from plausible.variables import Evidence, State, Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


class ConditionalRandomField(EvidenceAnalyses, Drawn, Answers, Frozen):
    """P(Y | X) = Π φ_i(D_i) / Z(X): nothing is said about the inputs X, which may depend on each other in any way.

    Parameters
    ----------
    factors
        Non-negative factors, none of them over inputs alone: such a one would cancel in P(Y | X).
    variables
        Variables that come first in the variable order; the way to add variables that are in no factor.

    References
    ----------
    Lafferty, McCallum & Pereira (2001), Conditional random fields.

    Examples
    --------
    >>> seen = Factor({"X": 2, "Y": 2}, [[4, 1], [1, 4]])
    >>> field = ConditionalRandomField(seen, inputs=["X"])
    >>> field.query("Y", evidence={"X": 1}).values
    array([0.2, 0.8])
    """

    __slots__ = ("_inputs", "_network")

    def __init__(
        self,
        *factors: Factor | Iterable[Factor],
        inputs: Iterable[str],
        variables: Iterable[Variable] = (),
        notes: Notes | None = None,
    ) -> None:
        self._network = MarkovNetwork(*factors, variables=variables, notes=notes)
        self._inputs = tuple(dict.fromkeys(inputs))
        if not self._inputs:
            raise InvalidModel("A conditional random field has inputs; without any it is a MarkovNetwork.")
        for name in self._inputs:
            if name not in self._network:
                raise UnknownVariable.named(name, self._network.variables, "this network")
        for number, factor in enumerate(self._network.factors):
            if set(factor.names) <= set(self._inputs):
                raise InvalidModel(
                    f"Factor {number} over ({', '.join(factor.names)}) has no output variable: it cancels in P(Y | X)."
                )

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable, inputs and outputs, in the order given."""
        return self._network.variables

    @property
    def inputs(self) -> tuple[str, ...]:
        """The names of the variables that are always observed."""
        return self._inputs

    @property
    def outputs(self) -> tuple[str, ...]:
        """The names of all other variables."""
        return tuple(name for name in self.variables if name not in self._inputs)

    @property
    def factors(self) -> tuple[Factor, ...]:
        """The factors, in the order given."""
        return self._network.factors

    @property
    def graph(self) -> UndirectedGraph:
        """The undirected graph in which the variables of each factor are joined with each other."""
        return self._network.graph

    @property
    def notes(self) -> Notes:
        """Name, description, positions and the like."""
        return self._network.notes

    def given(self, inputs: Mapping[str, State]) -> MarkovNetwork:
        """The Markov network of the outputs for one state of each input."""
        self._refuse_missing(Evidence.read(inputs, self.variables, "this network"))
        return self._network.reduce({name: inputs[name] for name in self._inputs})

    def _parts(self, names: Iterable[str], evidence: Evidence) -> Parts:
        self._refuse_missing(evidence)
        return self._network._parts(names, evidence)

    def _refuse_missing(self, evidence: Evidence) -> None:
        for name in self._inputs:
            if name not in evidence.hard:
                raise InvalidModel(f"{name!r} is an input of this network: give it a state.")

    def _refuse_inputs(self, other: str) -> None:
        raise InvalidModel(f"P(outputs | inputs) is not {other}: ask given({{{self._inputs[0]!r}: ...}}) for one.")

    def _families(self) -> dict[str, tuple[Variable, ...]]:
        return self._network._families()

    def log_likelihood(self, frame: IntoDataFrame | Mapping[str, Sequence[Any]]) -> Floats:
        """log P(y | x) of each complete row of a data frame; Z(x) is computed once for each different x."""
        columns = encode_columns(frame, self.variables)
        measures = self._network.log_measures(columns)
        inputs = np.stack([columns[name] for name in self._inputs], axis=1)
        kinds, kind_of_row = np.unique(inputs, axis=0, return_inverse=True)
        totals = np.array([self.log_partition(self._states(kind)) for kind in kinds], dtype=np.float64)
        return measures - totals[kind_of_row.reshape(-1)]

    def _states(self, positions: Sequence[int]) -> dict[str, State]:
        pairs = zip(self._inputs, positions, strict=True)
        return {name: self.variables[name].states[int(position)] for name, position in pairs}

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, ConditionalRandomField):
            return NotImplemented
        return self._network == other._network and set(self._inputs) == set(other._inputs)

    def __hash__(self) -> int:
        return hash((self._network, frozenset(self._inputs)))

    def __repr__(self) -> str:
        title = f" {self.notes.name!r}" if self.notes.name else ""
        return (
            f"<ConditionalRandomField{title}: {counted(len(self.outputs), 'output')}, "
            f"{counted(len(self._inputs), 'input')}>"
        )

    def _details(self) -> TextTable:
        return factors_table(self.factors)
