"""Columns from what people keep data in: frames, files, matrices."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from plausible.data.columns import frame_columns
from plausible.errors import InvalidArgument, MissingDependency, suggestion

__all__ = ["columns_of"]


def columns_of(source: Any, names: Sequence[str] = ()) -> Mapping[Any, Any]:
    """Name -> column of a frame, a mapping, a CSV or Parquet file, or a matrix whose columns have these names.

    >>> import numpy as np
    >>> columns_of(np.array([[1, 2], [3, 4]]), ["x", "y"])
    {'x': array([1, 3]), 'y': array([2, 4])}
    """
    if isinstance(source, Mapping):
        return source
    if isinstance(source, (str, Path)):
        return frame_columns(_read_file(Path(source)))
    if isinstance(source, np.ndarray):
        return _matrix_columns(source, names)
    return frame_columns(source)


def _matrix_columns(matrix: Any, names: Sequence[str]) -> dict[str, Any]:
    if matrix.ndim != 2:
        raise InvalidArgument(f"A matrix of data has two axes, rows and variables, not {matrix.ndim}.")
    used = list(names) or [f"X{number}" for number in range(matrix.shape[1])]
    if len(used) != matrix.shape[1]:
        raise InvalidArgument(f"The matrix has {matrix.shape[1]} columns, but {len(used)} variables are named.")
    return {name: matrix[:, place] for place, name in enumerate(used)}


def _read_file(path: Path) -> Any:
    import pandas as pd

    if not path.exists():
        near = suggestion(path.name, (other.name for other in path.parent.glob("*") if other.is_file()))
        raise InvalidArgument(f"There is no file {str(path)!r}.{near}")
    kind = [suffix for suffix in path.suffixes if suffix in (".csv", ".parquet")]
    if kind == [".parquet"]:
        try:
            return pd.read_parquet(path)
        except ImportError:
            raise MissingDependency("Reading Parquet files needs pyarrow: pip install plausible[scale].") from None
    if kind == [".csv"]:
        return pd.read_csv(path)
    raise InvalidArgument(f"{path.name!r} is neither .csv nor .parquet (.csv.gz will do, too).")
