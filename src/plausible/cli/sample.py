"""`plausible sample`: random rows from a model, given evidence and interventions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np
import typer

from plausible.cli.commands import command
from plausible.cli.engines import ENGINES, EngineOption, engine_argument, print_quality
from plausible.cli.evidence import SYNTAX, Do, EvidenceTexts, asked
from plausible.cli.output import AsJson, print_answer, print_json
from plausible.cli.source import ModelSource, read_network
from plausible.cli.streams import is_standard
from plausible.cli.tables import ColumnKind, TableFormat, check_ending, kind_of, new_table, rows_in_chunk
from plausible.cli.terminal import ShowProgress, progress_bar
from plausible.errors import counted
from plausible.io import Network

if TYPE_CHECKING:
    import pandas as pd


@command(
    examples=(
        "plausible sample asia -n 5 --seed 1 --evidence dysp=yes",
        "plausible sample asia -n 5 --evidence dysp=yes --engine likelihood-weighting",
        "plausible sample asia -n 10000 --do smoke=no --output rows.parquet",
    ),
    notes=(SYNTAX, ENGINES),
)
def run_sample(
    model: ModelSource,
    num_rows: Annotated[int, typer.Option("--rows", "-n", min=0, help="How many rows.")] = 10,
    seed: Annotated[
        int | None, typer.Option(min=0, help="A whole number: the same one gives the same rows.", show_default=False)
    ] = None,
    evidence: EvidenceTexts = None,
    do: Do = None,
    engine: EngineOption = None,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            help="The CSV or Parquet file to write instead of standard output, which is -.",
            show_default=False,
        ),
    ] = None,
    format: TableFormat = None,
    progress: ShowProgress = None,
    as_json: AsJson = False,
) -> None:
    """Draw random rows from a model, given evidence.

    They are printed as CSV, or written to a file. They are independent, and exactly from it, unless --engine names
    another way to draw: how many independent rows those are worth then stands on standard error.
    """
    found = read_network(model)
    given = {**asked(evidence, do, found), **engine_argument(engine)}
    samples = _samples(found, num_rows, seed, given)
    target = output or Path("-")
    check_ending(target, format)
    if is_standard(target) and as_json:
        _print_json(samples)
        return
    with progress_bar(f"sampling {model}", False if is_standard(target) else progress) as advance:
        _write(samples, found, (target, format), lambda done: advance(done / max(num_rows, 1)))
    if is_standard(target):
        return
    print_answer(
        f"{output}: {counted(num_rows, 'row')} written", {"rows": num_rows, "output": str(output)}, as_json=as_json
    )


def _samples(model: Network, num_rows: int, seed: int | None, given: Mapping[str, Any]) -> Iterator[pd.DataFrame]:
    """The rows in frames that fit in memory, at least one of them; one generator goes through them all."""
    generator = np.random.default_rng(seed)
    size = rows_in_chunk(len(model.variables))
    for start in range(0, max(num_rows, 1), size):
        frame = model.sample(min(size, num_rows - start), seed=generator, **given)
        if not start and "info" in frame.attrs:
            print_quality(frame.attrs["info"], error=True)
        yield frame


def _print_json(samples: Iterator[pd.DataFrame]) -> None:
    records = [record for frame in samples for record in frame.to_dict("records")]
    print_json({"rows": len(records), "samples": records})


def _write(
    samples: Iterator[pd.DataFrame], model: Network, output: tuple[Path, str | None], advance: Callable[[int], None]
) -> None:
    """Write the rows to a file, or to standard output, in a format."""
    first = next(samples)
    kinds = _kinds(first, model)
    with new_table(output[0], kinds, output[1]) as writer:
        writer.write(_columns(first, kinds))
        advance(num_done := len(first))
        for frame in samples:
            writer.write(_columns(frame, kinds))
            advance(num_done := num_done + len(frame))


def _kinds(frame: pd.DataFrame, model: Network) -> dict[str, ColumnKind]:
    return {name: kind_of(model.variables[name]) for name in frame.columns}


def _columns(frame: pd.DataFrame, kinds: Mapping[str, ColumnKind]) -> dict[str, list[Any]]:
    """The cells of each column; states that are neither text nor numbers as the text that names them."""
    return {
        name: [str(cell) for cell in frame[name]] if kind is str else frame[name].tolist()
        for name, kind in kinds.items()
    }
