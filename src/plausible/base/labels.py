"""The labels of pandas' series and frames: numbers that have names of their own are read by them, not by position."""

from __future__ import annotations

from typing import Any

from plausible.base.plain_values import shown
from plausible.errors import InvalidArgument

__all__ = ["by_label"]


def by_label(values: Any) -> Any:
    """A labelled pandas series as {label: value}, a labelled frame as {row label: {column label: value}}.

    The axis of a frame that has pandas' default labels 0, 1, ... stays a list; without any labels, and for all that is
    not from pandas, `values` come back as they are.

    >>> import pandas as pd
    >>> by_label(pd.Series({"yes": 0.9, "no": 0.1}))
    {'yes': 0.9, 'no': 0.1}
    >>> by_label(pd.DataFrame({"yes": [0.9, 0.2], "no": [0.1, 0.8]}))
    [{'yes': 0.9, 'no': 0.1}, {'yes': 0.2, 'no': 0.8}]
    >>> by_label([0.9, 0.1])
    [0.9, 0.1]
    """
    kinds = {kind.__name__ for kind in type(values).__mro__ if kind.__module__.partition(".")[0] == "pandas"}
    if "Series" in kinds and not _is_default(values.index):
        return _labelled(values.index, values.tolist())
    if "DataFrame" in kinds and not (_is_default(values.index) and _is_default(values.columns)):
        return _labelled(values.index, [_labelled(values.columns, row) for row in values.to_numpy().tolist()])
    return values


def _is_default(index: Any) -> bool:
    return type(index).__name__ == "RangeIndex" and index.start == 0 and index.step == 1


def _labelled(index: Any, values: list[Any]) -> list[Any] | dict[Any, Any]:
    if _is_default(index):
        return values
    if not index.is_unique:
        raise InvalidArgument(f"{shown(index[index.duplicated()][0])} stands twice among the labels of a pandas table.")
    return dict(zip(index.tolist(), values, strict=True))
