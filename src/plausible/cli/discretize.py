"""`plausible discretize`: columns of numbers to intervals."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

from plausible.cli.commands import command
from plausible.cli.data import read_data
from plausible.cli.options import AsJson, ContinuousColumns, DataFile, MissingMarkers, StateColumns, TableFormat, option
from plausible.cli.output import print_answer
from plausible.cli.streams import is_standard, output_name
from plausible.cli.tables import check_output, new_table
from plausible.data.discretization import Discretizer
from plausible.errors import counted


@command(
    examples=(
        "plausible sample gaussian-chain -n 100 --seed 1 -o data.csv",
        "plausible discretize data.csv -o out.csv --method quantile --bins 4 --save-cuts cuts.json",
        "plausible discretize data.csv -o again.csv --cuts cuts.json",
    )
)
def run_discretize(
    data: DataFile,
    output: Annotated[Path, option("The CSV or Parquet file to write, or -.", "--output", "-o")],
    method: Annotated[str, option("equal-width, quantile, k-means, mdl (with --target), or hartemink.")] = "quantile",
    bins: Annotated[int, option("How many intervals; mdl finds their number itself.", min=1)] = 4,
    columns: Annotated[
        str | None, option("Which columns, separated by commas; by default all with fractional numbers.")
    ] = None,
    target: Annotated[str | None, option("The column that mdl tells apart.")] = None,
    cuts: Annotated[
        Path | None, option("Take the cuts that were saved here before, instead of finding new ones.")
    ] = None,
    save_cuts: Annotated[Path | None, option("A JSON file to write the cuts to.")] = None,
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
    check_output(output, format, data)
    table = read_data(data, missing_values=na, continuous=continuous, states=states)
    if cuts is None:
        names = None if columns is None else [name.strip() for name in columns.split(",")]
        found = Discretizer.fit(table, method, bins, columns=names, target=target)
    else:
        found = Discretizer.from_json(cuts.read_text(encoding="utf-8"))
    frame = found.transform(table)
    kinds = {name: float if name in table.continuous and name not in found else str for name in table.variables}
    with new_table(output, kinds, format) as writer:
        written = {}
        for name in frame.columns:
            cells = frame[name].astype(object).where(frame[name].notna(), None)
            written[name] = [cell if cell is None or kinds[name] is float else str(cell) for cell in cells]
        writer.write(written)
    if save_cuts is not None:
        save_cuts.write_text(found.to_json(), encoding="utf-8")
    described = {name: {"cuts": column.cuts, "states": column.variable.states} for name, column in found.items()}
    cut = f"{counted(table.num_rows, 'row')} written, {counted(len(found), 'column')} cut"
    lines = [f"  {name}: {', '.join(map(str, column.variable.states))}" for name, column in found.items()]
    print_answer(
        "\n".join([f"{output_name(output)}: {cut}", *lines]),
        {"output": str(output), "rows": table.num_rows, "columns": described},
        as_json=as_json,
        error=is_standard(output),
    )
