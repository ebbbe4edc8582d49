"""Data made ready: `plausible discretize` (numbers to intervals) and `impute` (missing cells filled)."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Annotated, Any, cast, get_args

import numpy as np

from plausible.cli.commands import command
from plausible.cli.data import read_columns, read_data
from plausible.cli.options import AsJson, ContinuousColumns, DataFile, MissingMarkers, StateColumns, TableFormat, option
from plausible.cli.output import check_one_reader, is_standard, output_name, print_answer
from plausible.cli.source import read_bayesian
from plausible.cli.tables import check_output, new_table, open_table
from plausible.data.csv_columns import WHOLE_NUMBER
from plausible.data.discretization import Discretizer
from plausible.data.row_files import ColumnKind, cells_of
from plausible.data.table import Table, state_columns
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.learn.missingness.cells import table_cells
from plausible.learn.missingness.imputation import ImputationMethod, impute, multiple_imputation
from plausible.models import BayesianNetwork


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


_DRAWING = ("random", "uniform", "hot-deck", "draw")
_BY_NETWORK = ("most-probable", "most-probable-completion", "draw")


@command(
    examples=(
        "plausible impute rows.csv -o out.csv --method most-frequent",
        "plausible impute rows.csv -o out.csv --network asia --method most-probable",
        "plausible impute rows.csv -o out.csv --network learned.bif --copies 5 --seed 1",
    )
)
def run_impute(
    data: DataFile,
    output: Annotated[
        Path, option("The CSV or Parquet file to write, or -; with --copies, out-1.csv and on.", "--output", "-o")
    ],
    network: Annotated[str | None, option("A network of the columns: a file, or an example's name.")] = None,
    method: Annotated[
        str | None,
        option(
            "most-frequent, mean, median, random, uniform, hot-deck, default; with --network most-probable, "
            "most-probable-completion, draw.",
            show_default="most-probable with --network, else most-frequent; draw for --copies",
        ),
    ] = None,
    value: Annotated[str | None, option("What --method default fills in.")] = None,
    copies: Annotated[int, option("So many files, which differ in what they were filled with.", min=1)] = 1,
    keep_parameters: Annotated[
        bool, option("Draw copies from the network as it is, not with parameters drawn anew from the data.")
    ] = False,
    seed: Annotated[int, option("A whole number: the same one gives the same cells.", min=0)] = 0,
    format: TableFormat = None,
    na: MissingMarkers = None,
    continuous: ContinuousColumns = None,
    as_json: AsJson = False,
) -> None:
    """Fill the empty cells of a table.

    Whole numbers are states, unless --continuous names their column. Cells that --na names are filled as well; all
    other cells, and the columns, stay as they are. A table filled once looks surer than it is. Several copies from a
    network show how much missing cells leave open: ask each, and pool the answers.
    """
    check_one_reader({"DATA": data, "--network": network})
    if copies > 1 and is_standard(output):
        raise InvalidArgument("--copies writes several files, so - will not do: name a file, as in -o out.csv.")
    files = [output] if copies == 1 else [output.with_stem(f"{output.stem}-{n}") for n in range(1, copies + 1)]
    for file in files:
        check_output(file, format, data)
    model = None if network is None else read_bayesian(network, "cells are filled by one")
    known = () if model is None else model.variables.values()
    columns = read_columns(data, known, missing_values=na, continuous=continuous)
    table = columns.table_with_values()
    chosen = _method(method, model, copies)
    if chosen == "default" and value is None:
        raise InvalidArgument("--method default fills in one value: name it with --value.")
    kinds, cells = _as_written(data)
    num_rows = len(next(iter(cells.values()), ()))
    empty = {name: num_rows for name in columns.names if name not in table.variables}
    if copies > 1 and chosen == "draw" and model is not None:
        completed = iter(multiple_imputation(table, model, copies, keep_parameters=keep_parameters, seed=seed).copies)
    else:
        generator = np.random.default_rng(seed)
        completed = (impute(table, chosen, network=model, values=value, seed=generator).data for _ in files)
    num_filled, left = 0, empty
    for file, filled in zip(files, completed, strict=True):
        num_filled = _write((file, format), table, filled, kinds, cells)
        still = {name: int(mask.sum()) for name, mask in table_cells(filled).items() if mask.any()} | empty
        left = {name: still[name] for name in columns.names if name in still}
    document = {"output": [str(file) for file in files], "rows": num_rows, "filled": num_filled, "left": left}
    told = f"{counted(num_rows, 'row')} written, {counted(num_filled, 'cell')} filled ({chosen})"
    lines = [f"{output_name(file)}: {told}" for file in files]
    if left:
        unfilled = f"{counted(sum(left.values()), 'cell')} of {', '.join(left)} left empty"
        lines.append(f"{unfilled}: {chosen} says nothing of them.")
    error = is_standard(output)
    print_answer("\n".join(lines), {**document, "method": chosen}, as_json=as_json, error=error)


def _method(method: str | None, model: BayesianNetwork | None, copies: int) -> ImputationMethod:
    known = get_args(ImputationMethod)
    usual = "draw" if copies > 1 else "most-probable"
    chosen = method or ("most-frequent" if model is None else usual)
    if chosen not in known:
        raise InvalidArgument(f"--method {chosen!r} is no way to fill cells.{suggestion(chosen, known)}")
    if chosen in _BY_NETWORK and model is None:
        raise InvalidArgument(f"--method {chosen} fills cells by what a network says of them: give --network.")
    if copies > 1 and chosen not in _DRAWING:
        raise InvalidArgument(f"--copies would all be the same by {chosen}: choose one of {', '.join(_DRAWING)}.")
    return cast("ImputationMethod", chosen)


def _as_written(path: Path) -> tuple[Mapping[str, ColumnKind], dict[str, list[Any]]]:
    """The columns of a file with their kinds, cells as they stand."""
    with open_table(path) as reader:
        cells: dict[str, list[Any]] = {name: [] for name in reader.columns}
        for chunk in reader.chunks():
            for name, column in chunk.columns.items():
                cells[name] += cells_of(column)
        return reader.columns, cells


def _write(
    output: tuple[Path, str | None],
    before: Table,
    filled: Table,
    kinds: Mapping[str, ColumnKind],
    cells: Mapping[str, Sequence[Any]],
) -> int:
    """Write the cells as they stood, and new ones where there were none; gives the number of these."""
    still, values = table_cells(filled), state_columns(filled)
    places = {name: mask & ~still[name] for name, mask in table_cells(before).items()}
    written = {name: list(column) for name, column in cells.items()}
    for name, mask in places.items():
        new = values[name][mask].tolist()
        if _are_whole(cell for cell, is_new in zip(cells[name], mask, strict=True) if not is_new):
            new = [int(value) if isinstance(value, float) and value.is_integer() else value for value in new]
        for row, value in zip(np.flatnonzero(mask).tolist(), new, strict=True):
            written[name][row] = value
    with new_table(output[0], kinds, output[1]) as writer:
        writer.write(written)
    return sum(int(mask.sum()) for mask in places.values())


def _are_whole(cells: Iterable[Any]) -> bool:
    """Whether cells that are not empty are whole numbers as they are written."""
    texts = [str(cell).strip() for cell in cells if cell is not None]
    return bool(texts) and all(map(WHOLE_NUMBER.fullmatch, texts))
