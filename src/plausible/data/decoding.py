"""State positions back to states: what a user gets to see."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

import numpy.typing as npt

from plausible.variables import Variable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["decode"]


def decode(columns: Mapping[str, npt.NDArray[Any]], variables: Mapping[str, Variable]) -> pd.DataFrame:
    """A data frame with a column for each variable: states in place of positions, numbers as they are.

    >>> import numpy as np
    >>> decode({"X": np.array([1, 0])}, {"X": Variable("X", ["a", "b"])})["X"].tolist()
    ['b', 'a']
    """
    import pandas as pd

    decoded: dict[str, Any] = {}
    for name, variable in variables.items():
        if variable.is_continuous:
            decoded[name] = columns[name]
            continue
        states = pd.Series(list(variable.states), dtype=object).infer_objects()
        decoded[name] = states.take(columns[name]).to_numpy()
    return pd.DataFrame(decoded, columns=list(variables))
