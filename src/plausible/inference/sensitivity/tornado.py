"""The parameters that matter most: how far each moves a posterior when it is varied a little."""

from __future__ import annotations

import math
from typing import TYPE_CHECKING, Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument
from plausible.inference.sensitivity.functions import EventSensitivity, FamilySensitivity
from plausible.inference.sensitivity.parameters import Parameter

if TYPE_CHECKING:
    import pandas as pd


#: What an amount is a change of.
Variation: TypeAlias = Literal["relative", "absolute", "odds"]


def varied(values: Floats, vary: Variation, amount: float) -> tuple[Floats, Floats]:
    """Parameters made smaller and larger, inside [0, 1].

    Examples
    --------
    >>> [end.tolist() for end in varied(np.array([0.5, 0.9]), "absolute", 0.2)]
    [[0.3, 0.7], [0.7, 1.0]]
    >>> [end.tolist() for end in varied(np.array([0.5, 0.0]), "odds", 3.0)]
    [[0.2, 0.0], [0.8, 0.0]]
    """
    if not (isinstance(amount, (int, float, np.number)) and 0 < amount < math.inf):
        raise InvalidArgument(f"The amount by which parameters vary must be positive and finite, not {amount!r}.")
    if vary == "relative":
        low, high = values * (1 - amount), values * (1 + amount)
    elif vary == "absolute":
        low, high = values - amount, values + amount
    elif vary == "odds":
        factor = 1 + amount
        low, high = values / (values + factor * (1 - values)), factor * values / (factor * values + (1 - values))
    else:
        raise InvalidArgument(f"Parameters vary 'relative', 'absolute' or by 'odds', not {vary!r}.")
    return np.clip(low, 0.0, 1.0), np.clip(high, 0.0, 1.0)


def tornado(
    sensitivity: EventSensitivity, vary: Variation = "relative", amount: float = 0.1, limit: int | None = 20
) -> pd.DataFrame:
    """The parameters by how far P(x | e) moves when each is varied alone, the largest swing first."""
    import pandas as pd

    if limit is not None and (not isinstance(limit, (int, np.integer)) or limit < 0):
        raise InvalidArgument(f"The limit is a number of rows, or None for all, not {limit!r}.")
    varied(np.zeros(0), vary, amount)  # refuses wrong options also where there is nothing to vary
    names = [name for name, family in sensitivity.families.items() if family.table.shape[-1] > 1]
    parts = [_columns(sensitivity.families[name], vary, amount) for name in names]
    columns = {key: np.concatenate([part[key] for part in parts]) if parts else np.zeros(0) for key in _COLUMNS}
    # In single precision the two states of a binary child tie, and come in the order of the tables.
    order = np.argsort(-columns["swing"].astype(np.float32), kind="stable")[:limit]
    tables = [sensitivity.families[name].table for name in names]
    starts = np.cumsum([0, *(table.size for table in tables)])
    parameters = []
    for number in order.tolist():
        place = int(np.searchsorted(starts, number, side="right")) - 1
        index = np.unravel_index(number - starts[place], tables[place].shape)
        parameters.append(Parameter.at(tables[place].scope, tuple(int(axis) for axis in index)))
    return pd.DataFrame({"parameter": pd.Series(parameters, dtype=object), **{k: columns[k][order] for k in _COLUMNS}})


_COLUMNS = ("value", "low", "high", "at_low", "at_high", "swing", "derivative")


def _columns(family: FamilySensitivity, vary: Variation, amount: float) -> dict[str, Floats]:
    values = family.table.values
    low, high = varied(values, vary, amount)
    at_low, at_high = family.posteriors(low), family.posteriors(high)
    swing = np.abs(at_high - at_low)  # posteriors are monotone in a parameter
    columns = (values, low, high, at_low, at_high, swing, family.derivatives)
    return {key: column.ravel() for key, column in zip(_COLUMNS, columns, strict=True)}
