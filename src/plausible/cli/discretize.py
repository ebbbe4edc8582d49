"""`plausible discretize`: columns of numbers to intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from plausible.cli.commands import command
from plausible.cli.data import (
    ContinuousColumns,
    DataFile,
    MissingMarkers,
    StateColumns,
    read_data,
)
from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.streams import is_standard, output_name
from plausible.cli.tables import TableFormat, check_ending, new_table
from plausible.data.discretization import Discretizer
from plausible.errors import InvalidArgument, counted


@command(
    examples=(
        "plausible sample gaussian-chain -n 100 --seed 1 -o data.csv",
        "plausible discretize data.csv -o out.csv --method quantile --bins 4 --save-cuts cuts.json",
        "plausible discretize data.csv -o again.csv --cuts cuts.json",
    )
)
def run_discretize(
    data: DataFile,
    output: Annotated[Path, typer.Option("--output", "-o", help="The CSV or Parquet file to write, or -.")],
    method: Annotated[
        str, typer.Option(help="equal-width, quantile, k-means, mdl (with --target), or hartemink.")
    ] = "quantile",
    bins: Annotated[int, typer.Option(min=1, help="How many intervals; mdl finds their number itself.")] = 4,
    columns: Annotated[
        str | None, typer.Option(help="Which columns, separated by commas; by default all with fractional numbers.")
    ] = None,
    target: Annotated[str | None, typer.Option(help="The column that mdl tells apart.", show_default=False)] = None,
    cuts: Annotated[
        Path | None, typer.Option(help="Take the cuts that were saved here before, instead of finding new ones.")
    ] = None,
    save_cuts: Annotated[Path | None, typer.Option(help="A JSON file to write the cuts to.")] = None,
    format: TableFormat = None,
    na: MissingMarkers = None,
    continuous: ContinuousColumns = None,
    states: StateColumns = None,
    as_json: AsJson = False,
) -> None:
    """Replace numbers by intervals with readable names.

    It tells where they were cut. Equal numbers stay in one interval, empty cells stay empty, and the outer intervals
    are not bounded.
    """
    check_ending(output, format)
    if data.exists() and output.exists() and output.samefile(data):
        raise InvalidArgument(f"{output} is the file to read: name another one for the intervals, so that it is kept.")
    table = read_data(data, missing_values=na, continuous=continuous, states=states)
    if cuts is None:
        names = None if columns is None else [name.strip() for name in columns.split(",")]
        found = Discretizer.fit(table, method, bins, columns=names, target=target)
    else:
        found = Discretizer.from_json(cuts.read_text(encoding="utf-8"))
    frame = found.transform(table)
    kinds = {name: float if name in table.continuous and name not in found else str for name in table.variables}
    with new_table(output, kinds, format) as writer:
        cells = {name: frame[name].astype(object).where(frame[name].notna(), None) for name in frame.columns}
        writer.write(
            {
                name: [cell if cell is None or kinds[name] is float else str(cell) for cell in column]
                for name, column in cells.items()
            }
        )
    if save_cuts is not None:
        save_cuts.write_text(found.to_json(), encoding="utf-8")
    if as_json:
        described = {name: {"cuts": column.cuts, "states": column.variable.states} for name, column in found.items()}
        document = {"output": str(output), "rows": table.num_rows, "columns": described}
        print_json(document, error=is_standard(output))
        return
    cut = f"{counted(table.num_rows, 'row')} written, {counted(len(found), 'column')} cut"
    print_line(f"{output_name(output)}: {cut}", error=is_standard(output))
    for name, column in found.items():
        print_line(f"  {name}: {', '.join(map(str, column.variable.states))}", error=is_standard(output))
