"""`plausible sample`: random rows from a model, given evidence and interventions."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import numpy as np

from plausible.cli import options
from plausible.cli.commands import command
from plausible.cli.engines import ENGINES, engine_argument, told_quality
from plausible.cli.evidence import SYNTAX, asked
from plausible.cli.options import option
from plausible.cli.output import print_answer, print_json, print_line
from plausible.cli.source import read_network
from plausible.cli.streams import is_standard
from plausible.cli.tables import check_ending, kind_of, new_table, rows_in_chunk
from plausible.cli.terminal import progress_bar
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
    model: options.ModelSource,
    num_rows: Annotated[int, option("How many rows.", "--rows", "-n", min=0)] = 10,
    seed: Annotated[int | None, option("A whole number: the same one gives the same rows.", min=0)] = None,
    evidence: options.EvidenceTexts = None,
    do: options.Do = None,
    engine: options.EngineOption = None,
    output: Annotated[
        Path | None,
        option("The CSV or Parquet file to write instead of standard output, which is -.", "--output", "-o"),
    ] = None,
    format: options.TableFormat = None,
    progress: options.ShowProgress = None,
    as_json: options.AsJson = False,
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
        records = [record for frame in samples for record in frame.to_dict("records")]
        print_json({"rows": len(records), "samples": records})
        return
    first, num_done = next(samples), 0
    kinds = {name: kind_of(found.variables[name]) for name in first.columns}
    with (
        progress_bar(f"sampling {model}", False if is_standard(target) else progress) as advance,
        new_table(target, kinds, format) as writer,
    ):
        for frame in chain([first], samples):
            # States that are neither text nor numbers are written as the text that names them.
            cells = {name: frame[name].tolist() for name in kinds}
            writer.write({name: list(map(str, cells[name])) if kinds[name] is str else cells[name] for name in kinds})
            num_done += len(frame)
            advance(num_done / max(num_rows, 1))
    if not is_standard(target):
        document = {"rows": num_rows, "output": str(output)}
        print_answer(f"{output}: {counted(num_rows, 'row')} written", document, as_json=as_json)


def _samples(model: Network, num_rows: int, seed: int | None, given: Mapping[str, Any]) -> Iterator[pd.DataFrame]:
    """The rows in frames that fit in memory, at least one of them; one generator goes through them all."""
    generator = np.random.default_rng(seed)
    size = rows_in_chunk(len(model.variables))
    for start in range(0, max(num_rows, 1), size):
        frame = model.sample(min(size, num_rows - start), seed=generator, **given)
        if not start and "info" in frame.attrs:
            print_line(told_quality(frame.attrs["info"]), error=True)
        yield frame
