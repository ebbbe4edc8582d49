"""Rows of a file by a network: `plausible predict` (one variable of each) and `score` (how well they are explained)."""

from __future__ import annotations

import math
import warnings
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from shlex import quote
from typing import Annotated, Any

import numpy as np

from plausible.cli import options
from plausible.cli.commands import command
from plausible.cli.data import open_data
from plausible.cli.evidence import SYNTAX, is_one_value, read_findings, read_interventions, state_of
from plausible.cli.options import argument, option
from plausible.cli.output import check_one_reader, input_name, is_standard, print_answer, print_json, print_line
from plausible.cli.relations import check_alone, predict_objects
from plausible.cli.source import read_graph_or_network, read_network
from plausible.cli.tables import Chunk, TableReader, check_output, distinct_cells, new_table, open_table
from plausible.cli.terminal import facts, progress_bar
from plausible.data import PartitionedStatistics, Piece, Table
from plausible.data.columns import as_categories
from plausible.data.factorizing import MISSING_WORDS, MissingValues
from plausible.data.row_files import ColumnKind
from plausible.errors import (
    ImpossibleEvidence,
    InvalidArgument,
    NotSupported,
    PlausibleWarning,
    UnknownState,
    UnknownVariable,
    close_match,
    counted,
    suggestion,
)
from plausible.graphs import DAG
from plausible.io import Network
from plausible.learn import SCORES, log_likelihood
from plausible.learn.evaluation.measures import score_graph
from plausible.learn.learned_structure import usual_score
from plausible.models import BayesianNetwork
from plausible.models.compiled_engines import ExactEngine, HybridEngine
from plausible.variables import State, Variable
from plausible.variables.variable import is_missing

#: What `predict --schema` takes.
_OF_TABLES = ("model", "schema", "target_option", "output_option", "proba", "format", "progress", "as_json")


@dataclass(frozen=True, slots=True)
class Prediction:
    """One question asked of every row of a table."""

    engine: ExactEngine | HybridEngine  # the compiled model, interventions done
    variables: Mapping[str, Variable]  # name -> variable of the model
    target: Variable  # what is predicted
    fixed: Mapping[str, State]  # name -> the state or number that holds in every row
    #: Whether the answer has the probabilities of the target's states besides the best of them; the variance of a
    #: continuous target besides its mean.
    with_probabilities: bool
    missing: MissingValues  # what stands for an empty cell

    @property
    def kinds(self) -> dict[str, ColumnKind]:
        """Name of each column of the answer -> what it holds."""
        if self.target.is_continuous:
            moments = (f"mean({self.target})", f"variance({self.target})")
            return dict.fromkeys(moments if self.with_probabilities else moments[:1], float)
        headers = [f"P({self.target}={state})" for state in self.target.states] if self.with_probabilities else []
        return {**dict.fromkeys(headers, float), f"predicted {self.target}": self.target}

    def answers(self, chunk: Chunk) -> dict[str, Any]:
        """The columns of the answer; a row that can't be or has an unknown state is an error that tells its place."""
        numbers = self._numbers(chunk)
        columns = list(numbers.T) if self.with_probabilities or self.target.is_continuous else []
        if not self.target.is_continuous:
            columns.append(numbers.argmax(axis=1))
        return dict(zip(self.kinds, columns, strict=False))  # the variance is left out where none is asked for

    def _numbers(self, chunk: Chunk) -> np.ndarray[Any, np.dtype[np.float64]]:
        """For each row the probabilities of the target's states, or its mean and variance."""
        fixed = {name: [state] * chunk.num_rows for name, state in self.fixed.items()}
        names = [name for name in chunk.columns if name in self.variables and name != self.target.name]
        evidence = {**fixed, **{name: self._findings(chunk, self.variables[name]) for name in names}}
        # The target is not evidence; a column for it, though empty, keeps the number of rows where there is no other.
        rows: dict[str, Any] = {**evidence, self.target.name: [None] * chunk.num_rows}
        try:
            if self.target.is_continuous and isinstance(self.engine, HybridEngine):
                return self.engine.predict_moments(rows, self.target.name).to_numpy()
            return self.engine.predict_proba(rows, self.target.name).to_numpy()
        except ImpossibleEvidence as error:
            row = int(np.argmax(np.isneginf(self.engine.log_likelihood(rows))))
            findings = {name: cells[row] for name, cells in evidence.items() if not is_missing(cells[row])}
            raise chunk.error(row, self._contradiction(findings) or str(error)) from None

    def _findings(self, chunk: Chunk, variable: Variable) -> Any:
        """Cells as states or numbers; a file may hold text where others are meant."""
        places, values = distinct_cells(chunk.columns[variable.name])
        meant: list[Any] = []
        for place, value in enumerate(values):
            try:
                meant.append(self._meaning(variable, value))
            except (TypeError, ValueError) as error:
                meant.append(-1)
                if not (places == place).any():
                    continue
                problem = f"Column {variable.name!r} is continuous: expected a number, not {value!r}."
                if isinstance(error, UnknownState):
                    problem = f"Column {variable.name!r}: {error}"
                if value in MISSING_WORDS:
                    problem += f" If it means missing, say so: --na {quote(value)}."
                raise chunk.error(int(np.argmax(places == place)), problem) from None
        if variable.is_continuous:
            return np.array([*meant, np.nan])[places]
        return as_categories(variable, np.array([*meant, -1])[places])

    def _meaning(self, variable: Variable, value: Any) -> float:
        """The number that a cell stands for, or the position of a state; NaN or -1 where it is empty."""
        if is_missing(value) or value in self.missing:
            return np.nan if variable.is_continuous else -1
        return float(value) if variable.is_continuous else variable.index(state_of(variable, value))

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


@command(
    examples=(
        "plausible predict asia rows.csv lung answers.csv",
        "plausible predict asia rows.csv lung answers.csv --no-proba -e asia=no --do smoke=no",
        "plausible predict gaussian-chain rows.csv X3 answers.csv",
        "plausible predict asia rows.csv lung -",
        "plausible predict university.json --schema schema.toml --target student.wits -o answers.csv",
    ),
    notes=(SYNTAX,),
)
def run_predict(
    model: options.ModelSource,
    data: Annotated[
        Path | None, argument("A CSV or Parquet file of evidence, or - for standard input; not with --schema.")
    ] = None,
    target: Annotated[str | None, argument("The variable to predict.")] = None,
    output: Annotated[Path | None, argument("The CSV or Parquet file to write, or - for standard output.")] = None,
    target_option: Annotated[
        str | None, option("The same as an option; with --schema 'class.attribute'.", "--target", "-t", metavar="NAME")
    ] = None,
    output_option: Annotated[
        Path | None,
        option("The same as an option; with --schema by default the terminal.", "--output", "-o", metavar="FILE"),
    ] = None,
    schema: options.SchemaFile = None,
    proba: Annotated[
        bool, option("Write the probability of each state, or the best state alone.", "--proba/--no-proba")
    ] = True,
    evidence: options.EvidenceTexts = None,
    do: options.Do = None,
    na: options.MissingMarkers = None,
    format: options.TableFormat = None,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
) -> None:
    """Predict a variable for each row of a file.

    For each row of evidence, the probabilities of the target's states and the most probable one are written. Columns of
    the input that are named as variables are evidence, and their empty cells, and those that --na names, are not
    observed; the target's own is not looked at. What --evidence and --do say holds in every row, one state or number
    for a variable.

    The output has the columns of the input as they are, then `P(target=state)` for each state, then `predicted target`;
    or `mean(target)` and `variance(target)` where the target is continuous, with --no-proba the mean alone.
    Files may be larger than memory; the output appears only once it is whole.

    With --schema an attribute of all objects of a class is predicted by a relational model, given what the tables tell:
    a row for each object, with its id.
    """
    if schema is not None:
        check_alone(run_predict, locals(), _OF_TABLES)
        if target_option is None:
            raise InvalidArgument("Say what to predict, as in --target student.wits.")
        predict_objects(model, schema, target_option, output_option, format, proba, as_json)
        return
    target, output = target or target_option, output or output_option
    if data is None or target is None or output is None:
        raise InvalidArgument("Name the rows, what to predict, and the file to write: DATA TARGET OUTPUT.")
    if {target_option, output_option} - {target, output, None}:
        raise InvalidArgument("TARGET and --target, or OUTPUT and --output, say two things: leave one out.")
    check_one_reader({"MODEL": model, "DATA": data})
    found = read_network(model)
    findings, interventions = read_findings(evidence, found), read_interventions(do, found)
    if both := [name for name in interventions if name in findings]:
        raise InvalidArgument(f"{both[0]!r} is in --evidence and in --do: drop one of them.")
    # A variable that was set is in that state with certainty, so it may be given as well.
    fixed = {**findings, **interventions}
    UnknownVariable.check(target, found.variables, "this model")
    if target in fixed:
        raise InvalidArgument(f"{target!r} is the target: it can't be given as well.")
    for name, finding in fixed.items():
        if not is_one_value(found.variables[name], finding):
            raise NotSupported(f"What holds in every row has to be one state: write {name}=state.")
    check_output(output, format, data)
    with open_table(data) as table:
        _check_columns(found, fixed, table.columns, input_name(data))
        set_model = found.intervene(interventions) if isinstance(found, BayesianNetwork) and interventions else found
        answering, missing = set_model.compile(), MissingValues(na or ())
        prediction = Prediction(answering, found.variables, found.variables[target], fixed, proba, missing)
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


def _check_columns(model: Network, fixed: Mapping[str, Any], names: Iterable[str], place: str) -> None:
    """Refuse a table that has no evidence, and findings that are also fixed."""
    known = [name for name in names if name in model.variables]
    if not known:
        raise InvalidArgument(f"No column of {place} is a variable of this model; its columns must be named so.")
    for name in known:
        if name in fixed:
            raise InvalidArgument(f"{name!r} is a column of {place} and an option: rename the column or drop one.")


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


@command(
    examples=(
        "plausible sample asia -n 1000 --seed 1 -o data.csv",
        "plausible score asia data.csv",
        "plausible score 'smoke -> lung; smoke -> bronc' data.csv --score bdeu,aic",
    )
)
def run_score(
    model: options.GraphSource,
    data: options.DataFile,
    score: Annotated[str | None, option(f"Scores of the graph, separated by commas: {', '.join(SCORES)}.")] = None,
    weights: options.WeightsColumn = None,
    cluster: options.Cluster = None,
    na: options.MissingMarkers = None,
    as_json: options.AsJson = False,
) -> None:
    """Print how well a network or a graph explains data.

    That is the log-likelihood of data under a network, and scores of its graph; the higher, the better. All logarithms
    are natural. The log-likelihood of cases with empty cells sums them out; scores need complete cases, and take
    nothing from the network but its graph. Usually it is BIC of the kind that fits the data. Columns that the network
    or graph does not have are left out, and named; 'A -> B; C' is a graph that has C.
    """
    check_one_reader({"MODEL": model, "DATA": data})
    found = read_graph_or_network(model)
    network = found if isinstance(found, BayesianNetwork) else None
    graph = network.graph if network else found
    if not isinstance(graph, DAG):
        raise NotSupported("Only directed graphs have scores.")
    known = network.variables.values() if network else ()
    columns = open_data(data, cluster, variables=known, missing_values=na)
    names_there = [name for name in columns.names if name != weights]
    used = [name for name in names_there if name in graph.nodes]
    if not used:
        raise InvalidArgument(
            f"None of the columns is a variable of {model!r}, which has {', '.join(map(str, graph.nodes))}."
            f"{suggestion(next(iter(names_there), ''), map(str, graph.nodes))}"
        )
    table = columns.rows([*used, *([weights] if weights in columns.names else [])], weights)
    document: dict[str, Any] = {"rows": table.num_rows}
    if network is not None:
        document["log_likelihood"] = _log_likelihood(network, table)
        document["per_row"] = document["log_likelihood"] / max(table.num_rows, 1)
    is_complete = not table.missing and set(map(str, graph.nodes)) <= set(table.variables)
    if score is not None and not is_complete:
        raise InvalidArgument("Scores need complete data: each variable of the graph in each row.")
    names = [usual_score(table)] if score is None else [name.strip() for name in score.split(",")]
    scores = {name: score_graph(graph, table, name) for name in names} if is_complete else {}
    unused = [name for name in names_there if name not in table.variables]
    rows = [(label.replace("_", "-").replace("per-row", "per row"), document[label]) for label in document]
    notes = [("columns not used", ", ".join(unused))] if unused else []
    text = facts(f"{input_name(model)} on {input_name(data)}", [*rows, *scores.items(), *notes])
    print_answer(text, {**document, "scores": scores, "columns_not_used": unused}, as_json=as_json)


def _log_likelihood(network: BayesianNetwork, data: Table | PartitionedStatistics) -> float:
    """Of all rows, wherever they lie."""
    if isinstance(data, Table):
        return _of_rows(network, data)
    return math.fsum(data.each(partial(_of_piece, network=network)))


def _of_piece(piece: Piece, network: BayesianNetwork) -> float:
    return _of_rows(network, piece.table)


def _of_rows(network: BayesianNetwork, table: Table) -> float:
    """Row by row where all is known; else what is missing is summed out."""
    if not table.missing and set(network.variables) == set(table.variables):
        return log_likelihood(network, table)
    columns: dict[str, Any] = dict(zip(table.continuous, table.numbers, strict=True))
    for name, codes in zip(table.discrete, table.codes, strict=True):
        columns[name] = np.array([*table.variables[name].states, None], dtype=object)[codes]
    return float(np.sum(network.compile().log_likelihood(columns)))
