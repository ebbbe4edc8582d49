"""Hidden Markov models: a chain of hidden states, each of which lets us see something."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Codes, Floats
from plausible.base.hints import UNROLLED_HINTS
from plausible.base.method_names import keyword_hints, own_methods
from plausible.base.options import read_count
from plausible.base.records import TextTable
from plausible.cpds import CPD
from plausible.data.sequences import Sequences, SequencesLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, InvalidModel, NotSupported, UnknownVariable
from plausible.factors import Factor
from plausible.inference.markov_chains.markov_chain import MarkovChain
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.network_parts import variable_of, variable_record
from plausible.models.sequences import state_inference
from plausible.models.sequences.emissions import (
    OBSERVATION,
    STATE,
    Emission,
    as_written,
    emission_of,
)
from plausible.models.sequences.hidden_state_model import HiddenStateModel, ObservedSteps
from plausible.models.sequences.reading_models import read_chain, read_emission
from plausible.models.sequences.sequence_model import refuse_impossible
from plausible.models.sequences.shown_models import chain_table, emission_tables
from plausible.models.sequences.state_inference import HiddenChains
from plausible.models.sequences.state_paths import OnlineFilter
from plausible.models.sequences.steps_ahead import inputs_ahead
from plausible.models.sequences.unrolling import slice_cpds, unrolled_chain
from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd

    from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork

#: What becomes of rows that every question takes.
_Rows = SequencesLike


@final
@keyword_hints
@own_methods
class HiddenMarkovModel(HiddenStateModel):
    """A chain of hidden states x_1, x_2, ... with an observation o_t at each: P(x_1) Π P(x_t | x_t-1) Π p(o_t | x_t).

    A row may tell the state, too, in a column of its name: as evidence, wherever it is known (Rabiner 1989).

    Parameters
    ----------
    initial
        P(x_1), before anything is observed: numbers, or a mapping from states.
    transition
        P(x_t | x_t-1): a row for each state before; an array, a mapping from states to rows, or a diagram as text, such
        as "rain -> rain: 0.7; rain -> dry: 0.3; dry -> dry: 1". With `transition_input` there are axes for the inputs'
        states in front.
    emission
        What the states let us see: a table with a row of symbols for each state; an emission such as
        `GaussianEmission`; a CPD with the state as a parent; or a mapping from columns to these, for several columns
        that are independent given the state, unless CPDs have each other's columns as parents. A parent of a CPD such
        as "x[-1]" is the column one step before; other parents are inputs, columns of the rows.
    states, symbols
        The names of states, and of the symbols of a table (of several tables a mapping from columns); by default
        0, 1, ...
    state, observation
        What the hidden variable is called, and the observed one where the emission has no name for it. A table of rows
        with one column may call that as it likes, unless the model was given a name.
    transition_input
        One or several variables whose states, in columns of the rows, choose the transitions into each step.
    first_emission
        The CPD, or the CPDs, of columns at the first step, where they depend on the step before.

    Examples
    --------
    >>> hmm = HiddenMarkovModel(initial=[.5, .5], transition=[[.7, .3], [.3, .7]], emission=[[.9, .1], [.2, .8]],
    ...                         states=["rain", "dry"], symbols=["umbrella", "none"])
    >>> print(hmm.filter(["umbrella", "umbrella", "none"]).round(4))
         rain     dry
    0  0.8182  0.1818
    1  0.8834  0.1166
    2  0.1907  0.8093
    >>> list(hmm.mpe(["umbrella", "umbrella", "none"]))
    ['rain', 'rain', 'dry']
    """

    __slots__ = ("emission", "initial", "state", "transition", "transition_inputs")

    kind = "hidden-markov-model"
    _hints = UNROLLED_HINTS

    initial: Floats
    transition: Floats
    emission: Emission
    state: Variable
    transition_inputs: tuple[Variable, ...]

    def __init__(
        self,
        initial: npt.ArrayLike | Mapping[State, float],
        transition: npt.ArrayLike | Mapping[Any, Any],
        emission: Any,
        states: Iterable[State] | int | None = None,
        symbols: Any = None,
        *,
        state: str = STATE,
        observation: str = OBSERVATION,
        transition_input: Variable | Sequence[Variable] = (),
        first_emission: CPD | Sequence[CPD] | None = None,
    ) -> None:
        inputs = (transition_input,) if isinstance(transition_input, Variable) else tuple(transition_input)
        self.state, self.initial, self.transition = read_chain(initial, transition, states, state, inputs)
        self.transition_inputs = inputs
        self.emission = read_emission(emission, self.state, symbols, observation, first_emission)
        if state in {variable.name for variable in (*self.emission.variables, *inputs)}:
            raise InvalidModel(
                f"{state!r} is the hidden state and a column of observations: give another name, state=."
            )

    @classmethod
    def _of(
        cls,
        state: Variable,
        initial: Floats,
        transition: Floats,
        emission: Emission,
        transition_inputs: tuple[Variable, ...] = (),
    ) -> HiddenMarkovModel:
        """From parts that are known to fit and to be normalised."""
        model = object.__new__(cls)
        for numbers in (initial, transition):
            numbers.setflags(write=False)
        model.state, model.initial, model.transition, model.emission = state, initial, transition, emission
        model.transition_inputs = transition_inputs
        return model

    def to_record(self) -> dict[str, Any]:
        return {
            "state": variable_record(self.state),
            "transition_inputs": [variable_record(variable) for variable in self.transition_inputs],
            "initial": self.initial.tolist(),
            "transition": self.transition.tolist(),
            "emission": self.emission.to_record(),
        }

    @classmethod
    def from_record(cls, record: Mapping[str, Any]) -> HiddenMarkovModel:
        state = variable_of(record["state"])
        emission = emission_of(record["emission"], state)
        inputs = [variable_of(each) for each in record["transition_inputs"]]
        tables = record["initial"], record["transition"]
        read = cls(*tables, emission, state.states, state=state.name, transition_input=inputs)
        exact = as_written(tables[0], read.initial), as_written(tables[1], read.transition)
        return cls._of(state, *exact, emission, read.transition_inputs)

    # --- what is there ---

    @property
    def _first(self) -> Floats:
        return self.initial

    @property
    def variables(self) -> Mapping[str, Variable]:
        """Name -> variable: the state, what is observed, the inputs."""
        every = (self.state, *self.emission.variables, *self.transition_inputs)
        return MappingProxyType({variable.name: variable for variable in every})

    @property
    def num_parameters(self) -> int:
        """How many numbers are free; zeros of tables count as given."""
        chain = sum(int((table > 0).sum() - table[..., 0].size) for table in (self.initial, self.transition))
        return chain + self.emission.num_parameters

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, HiddenMarkovModel):
            return NotImplemented
        mine = (self.state, self.transition_inputs, self.emission)
        return (
            mine == (other.state, other.transition_inputs, other.emission)
            and np.array_equal(self.initial, other.initial)
            and np.array_equal(self.transition, other.transition)
        )

    def __hash__(self) -> int:
        return hash((self.state, self.emission))

    def __repr__(self) -> str:
        return f"<HiddenMarkovModel: {self.num_states} states, {self.emission!r}>"

    def _shown(self) -> list[TextTable]:
        return [*chain_table(self.state, self.initial, self.transition), *emission_tables(self.state, self.emission)]

    # --- rows ---

    def _chains(self, sequences: Sequences, observed: ObservedSteps | None = None) -> HiddenChains:
        """The hidden chains of sequences, as their beliefs are worked out."""
        seen = self._observed(sequences) if observed is None else observed
        matrices = self.transition.reshape(-1, self.num_states, self.num_states)
        matrix_of = self._matrix_of(sequences)
        return HiddenChains(
            sequences.starts, self.initial, matrices, matrix_of, seen.rows.row_of, lambda: self._log_rows(seen)
        )

    def _matrix_of(self, sequences: Sequences) -> Codes:
        """Which matrix leads to each step; empty where there is one."""
        if not self.transition_inputs:
            return np.zeros(0, dtype=np.int32)
        places = np.zeros(sequences.num_steps, dtype=np.int32)
        is_first = np.zeros(sequences.num_steps, dtype=bool)
        is_first[sequences.starts[:-1][np.diff(sequences.starts) > 0]] = True
        for variable in self.transition_inputs:
            if variable.name not in sequences.columns:
                raise UnknownVariable(f"The rows have no column {variable.name!r}, which transitions depend on.")
            codes = np.where(is_first, 0, sequences.columns[variable.name])
            if (codes < 0).any():
                where = sequences.where(int(np.argmax(codes < 0)))
                raise InvalidArgument(f"The input {variable.name!r} is missing at {where}: inputs are always given.")
            places = places * variable.num_states + codes.astype(np.int32)
        return places

    def pairwise(
        self, rows: _Rows, *, sequence: str | None = None, time: str | None = None, gaps: str = "refuse"
    ) -> pd.DataFrame:
        """P(x_t-1, x_t | all rows): a column for each pair (state before, state), NaN at first rows of sequences."""
        sequences = self._read(rows, sequence, time, gaps)
        chains = self._chains(sequences)
        refuse_impossible(sequences, state_inference.filtered(chains).step_logs)
        pairs = state_inference.pairwise(chains).reshape(sequences.num_steps, -1)
        return sequences.frame(pairs, [(before, after) for before in self.states for after in self.states])

    def _matrices_ahead(self, steps: int, inputs: Any) -> list[Floats]:
        """The transitions into each of the steps to come."""
        if not self.transition_inputs:
            return [self.transition] * steps
        wanted = {variable.name: variable for variable in self.transition_inputs}
        read = inputs_ahead(inputs, wanted, steps)
        places = [read.columns[name] for name in wanted]
        if any((codes < 0).any() for codes in places):
            raise InvalidArgument("inputs= has missing cells: inputs are always given.")
        return [self.transition[place] for place in zip(*places, strict=True)]

    # --- one row after the other ---

    def online(self) -> OnlineFilter:
        """A filter to feed rows to, one by one."""
        return OnlineFilter(self, self.initial)

    def _advanced(
        self, belief: Floats, row: Any, num_steps: int, last: Mapping[str, Any] | None
    ) -> tuple[Floats, float, dict[str, Any] | None]:
        """The belief after one more row, the logarithm of its probability, and its cells where they matter later."""
        cells = self._cells(row)
        before: Mapping[str, Any] = last or {}
        steps = {name: [before.get(name), cell] if num_steps else [cell] for name, cell in cells.items()}
        chains = self._chains(self._read(steps, None, None, "refuse"))
        matrix = chains.transitions[chains.matrix_of[-1] if len(chains.matrix_of) else 0]
        logs = chains.log_rows()[chains.row_of[-1]]
        top = float(logs.max())
        after = (belief @ matrix if num_steps else belief) * np.exp(logs - (top if top > -np.inf else 0.0))
        size = float(after.sum())
        if not size > 0:
            raise ImpossibleEvidence(f"The row {row!r} is impossible after the {num_steps} rows before it.")
        return after / size, top + float(np.log(size)), cells if self.emission.looks_back else None

    def _cells(self, row: Any) -> dict[str, Any]:
        """Name -> cell of one row."""
        if isinstance(row, Mapping):
            return dict(row)
        if hasattr(row, "to_dict"):
            return dict(row.to_dict())
        observed = self._observed_variables
        if len(observed) != 1 and row is not None:
            raise InvalidArgument(f"A row is a mapping from columns, {[v.name for v in observed]}, not {row!r}.")
        return {observed[0].name: row}

    # --- other forms ---

    def stationary(self) -> Factor:
        """The distribution of the state in the long run, π = π A; refused where that depends on the start."""
        if self.transition_inputs:
            raise NotSupported("Transitions depend on inputs, so that there is no distribution in the long run.")
        found = MarkovChain(self.transition, self.states).stationary()
        return Factor((self.state,), found.values)

    def to_markov_chain(self) -> MarkovChain:
        """The hidden chain alone; its `diagram()` has states as vertices and transition probabilities on edges.

        >>> hmm = HiddenMarkovModel([1, 0], [[0.9, 0.1], [0, 1]], [[1, 0], [0, 1]], states=["up", "down"])
        >>> hmm.to_markov_chain().diagram()
        {'up': {'up': 0.9, 'down': 0.1}, 'down': {'down': 1.0}}
        >>> hmm.to_markov_chain().to_text()
        'up -> up: 0.9; up -> down: 0.1; down -> down: 1.0'
        """
        if self.transition_inputs:
            raise NotSupported("Transitions depend on inputs: there is a chain for each of their states.")
        return MarkovChain(self.transition, self.states, start=self.initial)

    def to_dynamic_network(self) -> DynamicBayesianNetwork:
        """The dynamic Bayesian network of the state and the columns; it gives the same answers.

        >>> hmm = HiddenMarkovModel([1, 0], [[0.9, 0.1], [0, 1]], [[1, 0], [0, 1]], states=["up", "down"])
        >>> hmm.to_dynamic_network().graph
        DAG('state[-1] -> state; state -> observation')
        """
        from plausible.models.sequences.dynamic_network import DynamicBayesianNetwork

        inputs = {variable.name: variable for variable in (*self.transition_inputs, *self.emission.inputs)}
        first, later = slice_cpds(self.state, self.initial, self.transition, self.emission, self.transition_inputs)
        return DynamicBayesianNetwork(first, later, inputs=inputs.values())

    def unroll(self, length: int) -> BayesianNetwork:
        """The Bayesian network over `state[0]`, ..., with as many slices; it gives the same answers."""
        if self.transition_inputs:
            raise NotSupported("Transitions depend on inputs: the unrolled network would need their states.")
        steps = read_count("length", length, 1)
        return unrolled_chain(self.state, self.initial, self.transition, self.emission, steps)
