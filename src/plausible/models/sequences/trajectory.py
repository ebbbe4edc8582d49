"""Best states of all variables at all steps."""

from __future__ import annotations

from typing import TYPE_CHECKING

from plausible.base.records import Result, record
from plausible.errors import UnknownVariable

if TYPE_CHECKING:
    import pandas as pd


@record(eq=False)
class Trajectory(Result):
    """The states of all discrete variables at each step, and how probable they are together.

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
