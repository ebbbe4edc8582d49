"""A table of evidence on variables of both kinds, column by column."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats, Positions
from plausible.data.columns import each_column, encode_column, equally_long, frame_columns, refuse_others
from plausible.variables import Evidence, State, Variable

if TYPE_CHECKING:
    from narwhals.typing import IntoDataFrame


@dataclass(frozen=True, slots=True, eq=False)
class EvidenceColumns:
    """Rows of evidence, states as positions; columns in which nothing is observed are left out."""

    variables: Mapping[str, Variable]  # name -> variable
    states: Mapping[str, npt.NDArray[Any]]  # name of a discrete variable -> positions of its states, -1 where missing
    numbers: Mapping[str, Floats]  # name of a continuous variable -> its numbers, NaN where missing
    num_rows: int  # the length of all columns

    @classmethod
    def read(
        cls,
        frame: IntoDataFrame | Mapping[str, Sequence[Any]],
        variables: Mapping[str, Variable],
        place: str = "this model",
    ) -> EvidenceColumns:
        """From a pandas, polars or arrow frame, or a mapping from names to columns, all of them of variables."""
        columns = frame if isinstance(frame, Mapping) else frame_columns(frame)
        refuse_others(columns, variables, place)
        encoded = equally_long(
            each_column(lambda name, column: encode_column(variables[name], column, allow_missing=True), columns)
        )
        num_rows = len(next(iter(encoded.values()), () if isinstance(frame, Mapping) else frame))
        states = {n: c for n, c in encoded.items() if not variables[n].is_continuous and (c >= 0).any()}
        numbers = {n: c for n, c in encoded.items() if variables[n].is_continuous and not np.isnan(c).all()}
        return cls(variables, states, numbers, num_rows)

    def take(self, rows: Positions) -> EvidenceColumns:
        """Some of the rows."""
        states = {name: column[rows] for name, column in self.states.items()}
        numbers = {name: column[rows] for name, column in self.numbers.items()}
        return EvidenceColumns(self.variables, states, numbers, len(rows))

    def evidence(self, row: int) -> Evidence:
        """One of the rows."""
        hard = {name: int(codes[row]) for name, codes in self.states.items() if codes[row] >= 0}
        values = {name: float(column[row]) for name, column in self.numbers.items() if not np.isnan(column[row])}
        return Evidence(hard, {}, values)

    def findings(self, row: int) -> dict[str, State]:
        """One of the rows by the names of its states."""
        found = self.evidence(row)
        return {**{name: self.variables[name].states[state] for name, state in found.hard.items()}, **found.values}
