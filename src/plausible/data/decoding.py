"""State positions back to states: what a user gets to see."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.variables import State, Variable

if TYPE_CHECKING:
    import pandas as pd

__all__ = ["decode"]


def decode(columns: Mapping[str, npt.NDArray[Any]], variables: Mapping[str, Variable]) -> pd.DataFrame:
    """A data frame with a column for each variable: states in place of positions, numbers as they are.

    Variables with the same states are looked up together: a look-up of its own for each of 20,000 columns would take
    ten times as long.

    >>> import numpy as np
    >>> decode({"X": np.array([1, 0])}, {"X": Variable("X", ["a", "b"])})["X"].tolist()
    ['b', 'a']
    """
    import pandas as pd

    decoded: dict[str, Any] = {name: columns[name] for name, variable in variables.items() if variable.is_continuous}
    alike: dict[tuple[object, str], list[str]] = {}
    for name, variable in variables.items():
        if not variable.is_continuous:  # equal states need not be the same: 1 and True differ by their text
            alike.setdefault((variable.states, repr(variable.states)), []).append(name)
    for names in alike.values():
        decoded |= _looked_up(variables[names[0]].states, {name: columns[name] for name in names})
    return pd.DataFrame({name: decoded[name] for name in variables}, columns=list(variables))


def _looked_up(states: Sequence[State], columns: Mapping[str, npt.NDArray[Any]]) -> dict[str, Any]:
    """Name -> array of states, from one look-up for all columns, which are equally long."""
    import pandas as pd

    found = pd.Series(list(states), dtype=object).infer_objects().array.take(np.concatenate(list(columns.values())))
    num_rows = len(found) // len(columns)
    return {name: found[place * num_rows : (place + 1) * num_rows] for place, name in enumerate(columns)}
