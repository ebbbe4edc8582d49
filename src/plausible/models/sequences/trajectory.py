"""Best states of all variables at all steps, and paths drawn."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from numpy.typing import NDArray

from plausible.base.records import Result, counted, record
from plausible.errors import UnknownVariable

if TYPE_CHECKING:
    import pandas as pd


@record(eq=False)
class Trajectory(Result):
    """The states of all discrete variables at each step, and how probable they are together.

    Of a network that is linear Gaussian throughout, its numbers with their log-density.

    `trajectory["rain"]` has those of one variable.
    """

    states: pd.DataFrame  # A row for each step, a column for each variable
    log_probability: float  # The logarithm of the probability of these states and of all that was observed

    def __getitem__(self, name: str) -> pd.Series:
        if name not in self.states.columns:
            raise UnknownVariable.named(name, map(str, self.states.columns), "this trajectory")
        return self.states[name]

    def __len__(self) -> int:
        return len(self.states)

    def to_frame(self) -> pd.DataFrame:
        """The states, a row for each step."""
        return self.states.copy()

    def __str__(self) -> str:
        return f"{self.states}\nlog probability {self.log_probability:.6g}"


@record(eq=False)
class DrawnPaths(Result):
    """Courses of all hidden variables, drawn from what the rows leave.

    `paths[0]` is the first of them, a table like that of the rows with a column for each variable.
    """

    values: Mapping[str, NDArray[Any]]  # Name -> the states or numbers: axes (path, row)
    index: Any  # Of the rows

    def __len__(self) -> int:
        return len(next(iter(self.values.values()), ()))

    def __getitem__(self, number: int) -> pd.DataFrame:
        import pandas as pd

        return pd.DataFrame({name: drawn[number] for name, drawn in self.values.items()}, self.index).infer_objects()

    def __iter__(self) -> Iterator[pd.DataFrame]:
        return (self[number] for number in range(len(self)))

    def to_frame(self) -> pd.DataFrame:
        """A row for each row that was given, a column for each pair of a path and a variable."""
        import pandas as pd

        return pd.concat(dict(enumerate(self)), axis=1, names=["path", "variable"]) if len(self) else pd.DataFrame()

    def __str__(self) -> str:
        return f"{counted(len(self), 'path')} of {', '.join(self.values)}\n{self.to_frame()}"
