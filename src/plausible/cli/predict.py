"""`plausible predict`: posteriors, or means and variances, of one variable for a file of evidence rows."""

from __future__ import annotations

import warnings
from pathlib import Path
from typing import Annotated, Any

import typer

from plausible.cli.chunks import TableReader
from plausible.cli.commands import command
from plausible.cli.evidence import SYNTAX, Do, EvidenceTexts, intervened, read_findings, read_interventions
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.prediction import Prediction, check_columns, check_question
from plausible.cli.progress import ShowProgress, progress_bar
from plausible.cli.source import ModelSource, read_network
from plausible.cli.streams import check_one_reader, input_name, is_standard
from plausible.cli.tables import TableFormat, check_ending, new_table, open_table
from plausible.errors import InvalidArgument, PlausibleWarning, close_match, counted
from plausible.io import Network

__all__ = ["run_predict"]


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
