"""`plausible predict`: posteriors of one variable for a file of evidence rows."""

from __future__ import annotations

from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from plausible.cli.output import AsJson, print_json, print_line
from plausible.cli.source import ModelSource, read_model
from plausible.errors import InvalidArgument, MissingDependency, UnknownVariable
from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["NAME", "run"]

NAME = "predict"


def run(
    model: ModelSource,
    data: Annotated[
        Path,
        typer.Argument(
            help="A CSV or Parquet file of evidence; empty cells are not observed, columns of no variable are ignored."
        ),
    ],
    target: Annotated[str, typer.Argument(help="The variable to predict.", show_default=False)],
    output: Annotated[Path, typer.Argument(help="The CSV or Parquet file to write.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Write, for each row of evidence, the probabilities of the target's states and the most probable one.

    The output has the columns of the input as they are, then `P(target=state)` for each state, then `predicted target`.
    """
    found = read_model(model)
    if target not in found.variables:
        raise UnknownVariable.named(target, found.variables, "this model")
    given = _read(data)
    known = [name for name in given.columns if name in found.variables]
    if not known:
        raise InvalidArgument(f"No column of {data} is a variable of this model; its first line must name them.")
    # The target is not evidence; a column for it, though empty, keeps the number of rows where there is no other.
    evidence = {name: _states(given[name], found.variables[name]) for name in known if name != target}
    answers = found.compile().predict_proba({**evidence, target: [None] * len(given)}, target)
    _write(_with_answers(given, answers, target), output)
    others = [str(name) for name in given.columns if name not in found.variables]
    if as_json:
        print_json({"rows": len(given), "target": target, "output": str(output), "not_variables": others})
    else:
        note = f" (no variables, passed through: {', '.join(others)})" if others else ""
        print_line(f"{output}: {len(given)} rows written{note}")


def _states(column: pd.Series[Any], variable: Variable) -> list[Any]:
    """Cells as states: a file may hold text where the states are numbers or booleans."""
    states = {cell: variable.state_from_text(str(cell)) for cell in column.dropna().unique()}
    return [states.get(cell) for cell in column]


def _with_answers(given: pd.DataFrame, answers: pd.DataFrame, target: str) -> pd.DataFrame:
    """The columns of the input, then those of the answer."""
    import pandas as pd

    states = list(answers.columns)
    best = [states[place] for place in answers.to_numpy().argmax(axis=1)]
    numbers = answers.set_axis([f"P({target}={state})" for state in states], axis=1).set_axis(given.index, axis=0)
    predicted = pd.Series(best, index=given.index, name=f"predicted {target}", dtype=object)
    table = pd.concat([given, numbers, predicted], axis=1)
    if not table.columns.is_unique:
        repeated = table.columns[table.columns.duplicated()][0]
        raise InvalidArgument(f"The output would have two columns {repeated!r}; rename the one of the input.")
    return table


def _read(path: Path) -> pd.DataFrame:
    """The table as it is in the file: of a CSV the text of the cells, nothing but empty ones missing."""
    import pandas as pd

    try:
        if path.suffix.lower() == ".parquet":
            _require_pyarrow()
            return pd.read_parquet(path)
        if path.suffix.lower() == ".csv":
            table = pd.read_csv(path, dtype=str, keep_default_na=False, na_values=[""], skip_blank_lines=False)
            return _with_whole_header(table, path)
    except UnicodeDecodeError as error:
        raise InvalidArgument(f"{path} is not written in UTF-8: {error}.") from error
    except (pd.errors.EmptyDataError, pd.errors.ParserError) as error:
        raise InvalidArgument(f"{path} can't be read as CSV: {error}.") from error
    raise InvalidArgument(f"{path} is neither a .csv nor a .parquet file.")


def _with_whole_header(table: pd.DataFrame, path: Path) -> pd.DataFrame:
    """Refuse rows longer than the header, of which pandas takes the first cells as names of the rows."""
    import pandas as pd

    if not isinstance(table.index, pd.RangeIndex):
        raise InvalidArgument(f"The rows of {path} have more cells than its first line, which must name all columns.")
    return table


def _write(table: pd.DataFrame, path: Path) -> None:
    if path.suffix.lower() == ".parquet":
        _require_pyarrow()
        table.to_parquet(path)
    elif path.suffix.lower() == ".csv":
        table.to_csv(path, index=False)
    else:
        raise InvalidArgument(f"{path} is neither a .csv nor a .parquet file.")


def _require_pyarrow() -> None:
    if find_spec("pyarrow") is None:
        raise MissingDependency.extra("pyarrow", "scale")
