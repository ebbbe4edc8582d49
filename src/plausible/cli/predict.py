"""`plausible predict`: posteriors of one variable for a file of evidence rows."""

from __future__ import annotations

from collections.abc import Mapping
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

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
    data: Annotated[Path, typer.Argument(help="A CSV or Parquet file of evidence; empty cells are not observed.")],
    target: Annotated[str, typer.Argument(help="The variable to predict.", show_default=False)],
    output: Annotated[Path, typer.Argument(help="The CSV or Parquet file to write.", show_default=False)],
    as_json: AsJson = False,
) -> None:
    """Write, for each row of evidence, the probabilities of the target's states and the most probable one."""
    found = read_model(model)
    if target not in found.variables:
        raise UnknownVariable.named(target, found.variables, "this model")
    frame = _with_states(_read(data), found.variables)
    answers = found.compile().predict_proba(frame, target)
    states = answers.columns
    best = [states[place] for place in answers.to_numpy().argmax(axis=1)]
    table = answers.rename(columns={state: f"P({target}={state})" for state in states}).assign(**{target: best})
    _write(table, output)
    if as_json:
        print_json({"rows": len(table), "target": target, "output": str(output)})
    else:
        print_line(f"{output}: {len(table)} rows written")


def _with_states(frame: pd.DataFrame, variables: Mapping[str, Variable]) -> pd.DataFrame:
    """Cells as states: a file may hold text where the states are numbers or booleans."""
    for name in frame.columns:
        if name in variables:
            texts = frame[name].dropna().unique()
            frame[name] = frame[name].map({text: variables[name].state_from_text(str(text)) for text in texts})
    return frame


def _read(path: Path) -> pd.DataFrame:
    import pandas as pd

    if path.suffix.lower() == ".parquet":
        _require_pyarrow()
        return pd.read_parquet(path).astype(object)
    if path.suffix.lower() == ".csv":
        return pd.read_csv(path, dtype=str)
    raise InvalidArgument(f"{path} is neither a .csv nor a .parquet file.")


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
