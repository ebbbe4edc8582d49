"""What hidden states let us see: the contract, tables of symbols, and several columns at once."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import Any, ClassVar

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats
from plausible.base.frozen import Frozen
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.cpds import CPD, TableCPD
from plausible.cpds.reading import normalized_rows, place_text
from plausible.data.sequences import Sequences
from plausible.errors import InvalidModel, counted, suggestion
from plausible.models.network_parts import variable_of, variable_record
from plausible.variables import State, Variable

#: What the columns of a model are called that nobody named.
STATE, OBSERVATION = "state", "observation"


@dataclass(frozen=True, slots=True, eq=False)
class ObservedRows:
    """The different observations among the steps of some sequences: what does not depend on an emission's numbers."""

    row_of: Codes  # which of them each step has
    content: Any  # what they are, as the kind of emission needs it

    @property
    def num_rows(self) -> int:
        """How many there are."""
        return len(self.content)


class Emission(Frozen, ABC):
    """A distribution of what is observed at a step, for each state; a frozen value, final subclasses."""

    __slots__ = ()

    #: The name of the kind in files.
    kind: ClassVar[str]

    @property
    @abstractmethod
    def num_states(self) -> int:
        """How many hidden states it speaks of."""

    @property
    @abstractmethod
    def variables(self) -> tuple[Variable, ...]:
        """The columns that it needs."""

    @property
    def inputs(self) -> tuple[Variable, ...]:
        """Those of its columns that are given, and that it says nothing of."""
        return ()

    @property
    def looks_back(self) -> bool:
        """Whether it depends on the step before."""
        return False

    @property
    @abstractmethod
    def num_parameters(self) -> int:
        """How many of its numbers are free."""

    @abstractmethod
    def observed(self, sequences: Sequences) -> ObservedRows:
        """The different observations among the steps."""

    @abstractmethod
    def log_rows(self, rows: ObservedRows) -> Floats:
        """log p(observation | state): an array over observations and states; what is missing is summed out."""

    @abstractmethod
    def sample(self, states: Codes, starts: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        """Name -> positions of symbols, or numbers, one for each step."""

    @abstractmethod
    def forecast(self, beliefs: Floats, level: float) -> dict[str, Forecast]:
        """What will be observed where the states have these beliefs, an array over cases and states."""

    @abstractmethod
    def to_cpds(self, state: Variable) -> tuple[CPD, ...]:
        """The same as conditional distributions of the columns given the state."""

    @abstractmethod
    def reordered(self, order: NDArray[Any]) -> Emission:
        """The emission of states in another order; a state may stand there several times."""

    @abstractmethod
    def to_record(self) -> dict[str, Any]:
        """What makes it, as plain lists, numbers and texts, for files."""

    @classmethod
    @abstractmethod
    def from_record(cls, record: Mapping[str, Any], state: Variable) -> Emission:
        """The inverse of `to_record`."""

    def __eq__(self, other: object) -> bool:
        if type(self) is not type(other):
            return NotImplemented
        return self.to_record() == other.to_record()

    def __hash__(self) -> int:
        return hash((self.kind, self.num_states, self.variables))

    def __repr__(self) -> str:
        names = ", ".join(variable.name for variable in self.variables)
        return f"{type(self).__name__}({names} | {counted(self.num_states, 'state')})"


@dataclass(frozen=True, slots=True, eq=False)
class Forecast:
    """What may be observed: a column for each symbol, or the mean and the ends of an interval."""

    columns: tuple[Any, ...]
    values: Floats


class CategoricalEmission(Emission):
    """A symbol for each step: P(symbol | state), a row for each state.

    Parameters
    ----------
    table
        The probabilities: axes (states, symbols).
    symbols
        The symbols, in the order of the columns; by default 0, 1, ... A `Variable` names the column, too.
    states
        The state variable, so that errors can name its states.

    Examples
    --------
    >>> CategoricalEmission([[0.9, 0.1], [0.2, 0.8]], ["umbrella", "none"])
    CategoricalEmission(observation | 2 states)
    """

    __slots__ = ("symbol", "table")

    kind: ClassVar[str] = "categorical"

    def __init__(
        self,
        table: npt.ArrayLike,
        symbols: Iterable[State] | int | Variable | None = None,
        *,
        states: Variable | None = None,
    ) -> None:
        numbers = _matrix(table)
        self.symbol = (
            symbols
            if isinstance(symbols, Variable)
            else Variable(OBSERVATION, numbers.shape[1] if symbols is None else symbols)
        )
        if self.symbol.num_states != numbers.shape[1]:
            num_symbols = counted(self.symbol.num_states, "symbol")
            raise InvalidModel(
                f"The emission has {counted(numbers.shape[1], 'column')}, but {num_symbols} "
                f"({', '.join(map(str, self.symbol.states[:5]))}): a row for each state, a column for each symbol."
            )
        self.table = probability_rows(numbers, self.symbol, states)

    @property
    def num_states(self) -> int:
        return len(self.table)

    @property
    def variables(self) -> tuple[Variable, ...]:
        return (self.symbol,)

    @property
    def num_parameters(self) -> int:
        return int((self.table > 0).sum()) - self.num_states

    def observed(self, sequences: Sequences) -> ObservedRows:
        """Content: the likelihood of each symbol, one row for each symbol, one for none, and those that are soft."""
        return soft_rows(sequences, self.symbol)

    def log_rows(self, rows: ObservedRows) -> Floats:
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(rows.content @ self.table.T))

    def sample(self, states: Codes, starts: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        cumulative = np.cumsum(self.table, axis=1)
        levels = rng.random(len(states)) * cumulative[states, -1]
        drawn = np.empty(len(states), dtype=np.int64)
        for state in range(self.num_states):
            here = states == state
            drawn[here] = np.searchsorted(cumulative[state], levels[here], side="right")
        return {self.symbol.name: drawn}

    def forecast(self, beliefs: Floats, level: float) -> dict[str, Forecast]:
        return {self.symbol.name: Forecast(self.symbol.states, beliefs @ self.table)}

    def to_cpds(self, state: Variable) -> tuple[CPD, ...]:
        return (TableCPD(self.symbol, self.table, [state]),)

    def reordered(self, order: NDArray[Any]) -> CategoricalEmission:
        return CategoricalEmission(self.table[order], self.symbol)

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.kind, "column": variable_record(self.symbol), "values": self.table.tolist()}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], state: Variable) -> CategoricalEmission:
        read = cls(record["values"], variable_of(record["column"]), states=state)
        emission = object.__new__(cls)
        emission.symbol, emission.table = read.symbol, as_written(record["values"], read.table)
        return emission


class ProductEmission(Emission):
    """Several columns that are independent given the state."""

    __slots__ = ("parts",)

    kind: ClassVar[str] = "product"

    def __init__(self, parts: Iterable[Emission]) -> None:
        self.parts = tuple(parts)
        names = [variable.name for part in self.parts for variable in part.variables]
        if len(set(names)) < len(names) and not any(part.inputs for part in self.parts):
            twice = next(name for name in names if names.count(name) > 1)
            raise InvalidModel(f"The column {twice!r} has two emissions; give each column one.")
        sizes = {part.num_states for part in self.parts}
        if len(sizes) != 1:
            raise InvalidModel(f"The emissions are for {sorted(sizes)} states; they need to be for the same ones.")

    @property
    def num_states(self) -> int:
        return self.parts[0].num_states

    @property
    def variables(self) -> tuple[Variable, ...]:
        return tuple({variable.name: variable for part in self.parts for variable in part.variables}.values())

    @property
    def inputs(self) -> tuple[Variable, ...]:
        own = {v.name for part in self.parts for v in part.variables if v not in part.inputs}
        return tuple(variable for part in self.parts for variable in part.inputs if variable.name not in own)

    @property
    def looks_back(self) -> bool:
        return any(part.looks_back for part in self.parts)

    @property
    def num_parameters(self) -> int:
        return sum(part.num_parameters for part in self.parts)

    def observed(self, sequences: Sequences) -> ObservedRows:
        """Content: those of the parts, and for each combination its row in each of them."""
        return combined([part.observed(sequences) for part in self.parts])

    def log_rows(self, rows: ObservedRows) -> Floats:
        logs = [part.log_rows(own) for part, own in zip(self.parts, rows.content.parts, strict=True)]
        return np.asarray(sum(log[places] for log, places in zip(logs, rows.content.places, strict=True)))

    def sample(self, states: Codes, starts: NDArray[Any], rng: np.random.Generator) -> dict[str, NDArray[Any]]:
        return {name: column for part in self.parts for name, column in part.sample(states, starts, rng).items()}

    def forecast(self, beliefs: Floats, level: float) -> dict[str, Forecast]:
        return {name: told for part in self.parts for name, told in part.forecast(beliefs, level).items()}

    def to_cpds(self, state: Variable) -> tuple[CPD, ...]:
        return tuple(cpd for part in self.parts for cpd in part.to_cpds(state))

    def reordered(self, order: NDArray[Any]) -> ProductEmission:
        return ProductEmission(part.reordered(order) for part in self.parts)

    def to_record(self) -> dict[str, Any]:
        return {"kind": self.kind, "parts": [part.to_record() for part in self.parts]}

    @classmethod
    def from_record(cls, record: Mapping[str, Any], state: Variable) -> ProductEmission:
        return cls(emission_of(part, state) for part in record["parts"])


def emission_of(record: Mapping[str, Any], state: Variable) -> Emission:
    """An emission of any kind, from what files have of it."""
    kinds = {kind.kind: kind for kind in Emission.__subclasses__()}
    if record.get("kind") not in kinds:
        raise InvalidModel(f"{record.get('kind')!r} is not a kind of emission.{suggestion(record.get('kind'), kinds)}")
    return kinds[record["kind"]].from_record(record, state)


@dataclass(frozen=True, slots=True, eq=False)
class Combinations:
    """Observations that are made of several: each is a row of each of the parts."""

    parts: tuple[ObservedRows, ...]
    places: tuple[Codes, ...]  # of each part, the row that each combination has there

    def __len__(self) -> int:
        return len(self.places[0])


def combined(parts: list[ObservedRows]) -> ObservedRows:
    """The combinations that there are among the steps."""
    keys = parts[0].row_of.astype(np.int64)
    for part in parts[1:]:
        keys = np.unique(keys, return_inverse=True)[1].reshape(-1) * np.int64(part.num_rows) + part.row_of
    _, firsts, row_of = np.unique(keys, return_index=True, return_inverse=True)
    content = Combinations(tuple(parts), tuple(part.row_of[firsts] for part in parts))
    return ObservedRows(row_of.reshape(-1).astype(np.int32), content)


def as_written(numbers: Any, read: Floats) -> Floats:
    """Numbers of a file to their last digits, where dividing rows by their sums changed no more than these."""
    written = np.array(numbers, dtype=np.float64)
    found = written if np.abs(written - read).max(initial=0.0) <= PROBABILITY_NOISE else read
    found.setflags(write=False)
    return found


def soft_rows(sequences: Sequences, variable: Variable) -> ObservedRows:
    """What is known of a discrete variable: each state, nothing, and the likelihoods that stand in cells."""
    size = variable.num_states
    content = np.vstack([np.eye(size), np.ones((1, size))])
    if variable.name not in sequences.columns:
        return ObservedRows(np.full(sequences.num_steps, size, dtype=np.int32), content)
    row_of = sequences.columns[variable.name].astype(np.int32)
    row_of[row_of < 0] = size
    if variable.name in sequences.soft:
        steps, weights = sequences.soft[variable.name]
        different, which = np.unique(weights, axis=0, return_inverse=True)
        row_of[steps] = size + 1 + which.reshape(-1)
        content = np.vstack([content, different])
    return ObservedRows(row_of, content)


def probability_rows(numbers: Floats, what: Variable, states: Variable | None = None) -> Floats:
    """Rows of probabilities, one a state, by the rule of tables; errors name the row."""
    known = states or Variable(STATE, numbers.shape[0])
    return normalized_rows(what, numbers, lambda row: place_text((known,), row[-1:]))


def _matrix(table: npt.ArrayLike) -> Floats:
    try:
        numbers = np.array(table, dtype=np.float64)
    except (TypeError, ValueError):
        numbers = np.empty(0)
    if numbers.ndim != 2 or not numbers.size:
        raise InvalidModel("A table of emissions has a row of probabilities for each state: [[.9, .1], [.2, .8]].")
    return numbers
