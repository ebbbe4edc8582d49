"""The answers for a chunk of evidence rows: what `plausible predict` computes."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from plausible.cli.chunks import Chunk, ColumnKind, kind_of
from plausible.cli.evidence import state_of
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported, UnknownState, UnknownVariable
from plausible.io import Network
from plausible.models.exact_engine import ExactEngine
from plausible.models.hybrid_engine import HybridEngine
from plausible.variables import State, Variable
from plausible.variables.variable import is_missing

__all__ = ["Prediction", "check_columns", "check_question"]


@dataclass(frozen=True, slots=True)
class Prediction:
    """One question asked of every row of a table."""

    engine: ExactEngine | HybridEngine  # the compiled model, interventions done
    variables: Mapping[str, Variable]  # name -> variable of the model
    target: Variable  # what is predicted
    fixed: Mapping[str, State]  # name -> the state or number that holds in every row
    #: Whether the answer has the probabilities of the target's states besides the best of them; the variance of a
    #: continuous target besides its mean.
    with_probabilities: bool = True

    @property
    def kinds(self) -> dict[str, ColumnKind]:
        """Name of each column of the answer -> what it holds."""
        if self.target.is_continuous:
            return dict.fromkeys(self._moment_headers, float)
        probabilities = dict.fromkeys(self._headers, float) if self.with_probabilities else {}
        return {**probabilities, f"predicted {self.target}": kind_of(self.target)}

    @property
    def _headers(self) -> list[str]:
        return [f"P({self.target}={state})" for state in self.target.states]

    @property
    def _moment_headers(self) -> list[str]:
        mean, variance = f"mean({self.target})", f"variance({self.target})"
        return [mean, variance] if self.with_probabilities else [mean]

    def answers(self, chunk: Chunk) -> dict[str, list[Any]]:
        """The columns of the answer; a row that can't be or has an unknown state is an error that tells its place."""
        numbers = self._numbers(chunk)
        if self.target.is_continuous:
            return dict(zip(self._moment_headers, numbers.T.tolist(), strict=False))
        states = [str(state) for state in self.target.states] if kind_of(self.target) is str else self.target.states
        best = {f"predicted {self.target}": [states[place] for place in numbers.argmax(axis=1)]}
        return (
            {**dict(zip(self._headers, numbers.T.tolist(), strict=True)), **best} if self.with_probabilities else best
        )

    def _numbers(self, chunk: Chunk) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For each row the probabilities of the target's states, or its mean and variance."""
        fixed = {name: [state] * chunk.num_rows for name, state in self.fixed.items()}
        names = [name for name in chunk.columns if name in self.variables and name != self.target.name]
        evidence = {**fixed, **{name: _findings(chunk, self.variables[name]) for name in names}}
        # The target is not evidence; a column for it, though empty, keeps the number of rows where there is no other.
        rows: dict[str, list[Any]] = {**evidence, self.target.name: [None] * chunk.num_rows}
        try:
            if self.target.is_continuous and isinstance(self.engine, HybridEngine):
                return self.engine.predict_moments(rows, self.target.name).to_numpy()
            return self.engine.predict_proba(rows, self.target.name).to_numpy()
        except ImpossibleEvidence as error:
            row = int(np.argmax(np.isneginf(self.engine.log_likelihood(rows))))
            findings = {name: cells[row] for name, cells in evidence.items() if cells[row] is not None}
            raise chunk.error(row, self._contradiction(findings) or str(error)) from None

    def _contradiction(self, findings: Mapping[str, State]) -> str:
        """Which findings can't be together."""
        try:
            if self.target.is_continuous and isinstance(self.engine, HybridEngine):
                self.engine.moments(self.target.name, findings)
            else:
                self.engine.query(self.target.name, findings)
        except ImpossibleEvidence as error:
            return str(error)
        return ""


def check_question(model: Network, target: str, fixed: Mapping[str, Any]) -> None:
    """Refuse a target that is given, and findings for every row that are not one state or number."""
    if target not in model.variables:
        raise UnknownVariable.named(target, model.variables, "this model")
    if target in fixed:
        raise InvalidArgument(f"{target!r} is the target: it can't be given as well.")
    for name, finding in fixed.items():
        is_number = model.variables[name].is_continuous and isinstance(finding, float)
        if not is_number and not model.variables[name].has_state(finding):
            raise NotSupported(f"What holds in every row has to be one state: write {name}=state.")


def check_columns(model: Network, fixed: Mapping[str, Any], names: Iterable[str], place: str) -> None:
    """Refuse a table that has no evidence, and findings that are also fixed."""
    known = [name for name in names if name in model.variables]
    if not known:
        raise InvalidArgument(f"No column of {place} is a variable of this model; its columns must be named so.")
    for name in known:
        if name in fixed:
            raise InvalidArgument(f"{name!r} is a column of {place} and an option: rename the column or drop one.")


def _findings(chunk: Chunk, variable: Variable) -> list[Any]:
    """Cells as states or numbers, `None` where they are empty."""
    column: Any = chunk.columns[variable.name]
    cells = column.to_pylist() if hasattr(column, "to_pylist") else column
    return _numbers(chunk, variable, cells) if variable.is_continuous else _states(chunk, variable, cells)


def _numbers(chunk: Chunk, variable: Variable, cells: Sequence[Any]) -> list[float | None]:
    """A file may hold text where numbers are meant."""
    found: list[float | None] = []
    for row, cell in enumerate(cells):
        try:
            found.append(None if cell is None or is_missing(cell) else float(cell))
        except (TypeError, ValueError):
            problem = f"Column {variable.name!r} is continuous: expected a number, not {cell!r}."
            raise chunk.error(row, problem) from None
    return found


def _states(chunk: Chunk, variable: Variable, cells: Sequence[Any]) -> list[Any]:
    """A file may hold text where the states are numbers or booleans."""
    try:
        distinct = dict.fromkeys(cells)
    except TypeError:  # lists and the like, which name a state by their text
        cells = [None if cell is None else str(cell) for cell in cells]
        distinct = dict.fromkeys(cells)
    states: dict[Any, Any] = {}
    for cell in distinct:
        try:
            states[cell] = None if cell is None or is_missing(cell) else state_of(variable, cell)
        except UnknownState as error:
            raise chunk.error(cells.index(cell), f"Column {variable.name!r}: {error}") from None
    return [states[cell] for cell in cells]
