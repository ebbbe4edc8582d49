"""`plausible predict`: posteriors, or means and variances, of one variable for a file of evidence rows."""

from __future__ import annotations

import warnings
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Any

import numpy as np
import typer

from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, Do, EvidenceTexts, intervened, read_findings, read_interventions, state_of
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_network
from plausible.cli.streams import check_one_reader, input_name, is_standard
from plausible.cli.tables import (
    Chunk,
    ColumnKind,
    TableFormat,
    TableReader,
    check_ending,
    kind_of,
    new_table,
    open_table,
)
from plausible.cli.terminal import ShowProgress, progress_bar
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    NotSupported,
    PlausibleWarning,
    UnknownState,
    UnknownVariable,
    close_match,
    counted,
)
from plausible.io import Network
from plausible.models.exact_engine import ExactEngine
from plausible.models.hybrid_engine import HybridEngine
from plausible.variables import State, Variable
from plausible.variables.variable import is_missing


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


@command(
    examples=(
        "plausible predict asia rows.csv lung answers.csv",
        "plausible predict asia rows.csv lung answers.csv --no-proba -e asia=no --do smoke=no",
        "plausible predict gaussian-chain rows.csv X3 answers.csv",
        "plausible predict asia rows.csv lung -",
    ),
    notes=(SYNTAX,),
)
def run_predict(
    model: ModelSource,
    data: Annotated[
        Path, typer.Argument(help="A CSV or Parquet file of evidence, or - for standard input.", show_default=False)
    ],
    target: Annotated[str, typer.Argument(help="The variable to predict.", show_default=False)],
    output: Annotated[
        Path, typer.Argument(help="The CSV or Parquet file to write, or - for standard output.", show_default=False)
    ],
    proba: Annotated[
        bool, typer.Option("--proba/--no-proba", help="Write the probability of each state, or the best state alone.")
    ] = True,
    evidence: EvidenceTexts = None,
    do: Do = None,
    format: TableFormat = None,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Predict a variable for each row of a file.

    For each row of evidence, the probabilities of the target's states and the most probable one are written. Columns of
    the input that are named as variables are evidence, and their empty cells are not observed; the target's own is not
    looked at. What --evidence and --do say holds in every row, one state or number for a variable.

    The output has the columns of the input as they are, then `P(target=state)` for each state, then `predicted target`;
    or `mean(target)` and `variance(target)` where the target is continuous, with --no-proba the mean alone.
    Files may be larger than memory; the output appears only once it is whole.
    """
    check_one_reader({"MODEL": model, "DATA": data})
    found = read_network(model)
    findings, interventions = _given(evidence, do, found)
    # A variable that was set is in that state with certainty, so it may be given as well.
    fixed = {**findings, **interventions}
    check_question(found, target, fixed)
    check_ending(output, format)
    if data.exists() and output.exists() and output.samefile(data):
        raise InvalidArgument(f"{output} is the file to read: name another one for the answers, so that it is kept.")
    with open_table(data) as table:
        check_columns(found, fixed, table.columns, input_name(data))
        engine = intervened(found, interventions).compile()
        prediction = Prediction(engine, found.variables, found.variables[target], fixed, proba)
        num_rows = _write(table, prediction, output, format, progress)
        others = [name for name in table.columns if name not in found.variables]
    if as_json:
        document = {"rows": num_rows, "target": target, "output": str(output), "not_variables": others}
        print_json(document, error=is_standard(output))
        return
    unobserved = [name for name in found.variables if name not in table.columns]
    slips = [f"{name!r} is not a variable.{meant}" for name in others if (meant := close_match(name, unobserved))]
    if slips:
        warnings.warn(f"Columns that were copied unchanged: {' '.join(slips)}", PlausibleWarning, stacklevel=2)
    if not is_standard(output):
        note = f" (not variables, copied unchanged: {', '.join(others)})" if others else ""
        print_line(f"{output}: {counted(num_rows, 'row')} written{note}")


def _given(evidence: list[str] | None, do: list[str] | None, model: Network) -> tuple[dict[str, Any], dict[str, Any]]:
    """Findings and interventions, which must be of different variables."""
    findings, interventions = read_findings(evidence, model), read_interventions(do, model)
    for name in interventions:
        if name in findings:
            raise InvalidArgument(f"{name!r} is in --evidence and in --do: drop one of them.")
    return findings, interventions


def _write(table: TableReader, prediction: Prediction, output: Path, format: str | None, progress: bool | None) -> int:
    """The columns of the input, then those of the answer, chunk by chunk; gives the number of rows."""
    for name in prediction.kinds:
        if name in table.columns:
            raise InvalidArgument(f"The output would have two columns {name!r}; rename the one of the input.")
    kinds = {**table.columns, **prediction.kinds}
    num_rows = 0
    title = f"predicting {prediction.target}"
    shown = False if progress is None and is_standard(output) else progress  # a bar would stand among the rows
    with new_table(output, kinds, format) as writer, progress_bar(title, shown) as advance:
        for chunk in table.chunks():
            writer.write({**chunk.columns, **prediction.answers(chunk)})
            num_rows += chunk.num_rows
            advance(table.fraction)
    return num_rows
