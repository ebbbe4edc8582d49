"""Columns that are hardly variables: ids, dates, the index of a frame."""

from __future__ import annotations

import re
import sys
from collections.abc import Mapping, Sequence
from datetime import date
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.remedies import Argument, Call, Remedy
from plausible.errors import PlausibleWarning, warn_caller
from plausible.variables import State, Variable

#: Fewer values are states, however few rows there are.
_FEWEST_VALUES = 21
_INDEX = re.compile(r"Unnamed: \d+(_level_\d+)?")
_DATE = re.compile(
    r"(\d{4}[-/.]\d{1,2}[-/.]\d{1,2}|\d{1,2}[-/.]\d{1,2}[-/.]\d{4}|\d{1,2}/\d{1,2}/\d{2})([T ]\d{1,2}:.*)?"
)


class DoubtfulColumns(PlausibleWarning):
    """Columns were left out that are hardly variables, such as ids and dates; name them to keep them."""


def doubt_of(name: str, variable: Variable, column: NDArray[Any]) -> str:
    """Why an encoded column is hardly a variable: a date, or a value of its own for most rows; "" if it may be one."""
    if _INDEX.fullmatch(name):
        return "the index of a frame"
    if not variable.is_continuous and _are_dates(variable.states):
        return "dates"
    if not variable.is_continuous and variable.num_states < _FEWEST_VALUES:
        return ""
    known = column[~np.isnan(column)] if variable.is_continuous else column[column >= 0]
    if variable.is_continuous and not _may_number_rows(known):
        return ""
    num_values = len(np.unique(known))
    is_id = num_values == len(known) if variable.is_continuous else 2 * num_values > len(known)
    return f"{num_values} different values in {len(known)} rows" if is_id and num_values >= _FEWEST_VALUES else ""


def _are_dates(states: Sequence[State]) -> bool:
    """Whether all are dates: texts of them, Python's, or periods of pandas."""
    kinds = (date, getattr(sys.modules.get("pandas"), "Period", date))
    return all(_DATE.fullmatch(state) if isinstance(state, str) else isinstance(state, kinds) for state in states)


def _may_number_rows(numbers: NDArray[Any]) -> bool:
    """Whether there are as many numbers as whole ones from the least to the greatest, and all are whole."""
    is_run = len(numbers) >= _FEWEST_VALUES and np.ptp(numbers) == len(numbers) - 1
    return bool(is_run and (np.rint(numbers) == numbers).all())


def warn_of_one_row(num_rows: float, variables: Mapping[str, Variable]) -> None:
    """Warn where one row says which states there are."""
    alone = [name for name, variable in variables.items() if len(variable.states) == 1]
    if num_rows == 1 and alone:
        many = f"{len(alone)} variables have" if len(alone) > 1 else f"{alone[0]!r} has"
        states = Call("Table.read", Argument("data", ...), Argument("variables", ...))
        warn_caller(
            PlausibleWarning(
                f"There is one row, so that {many} one state, of which nothing can be learned.",
                remedies=[Remedy("give more rows"), Remedy("name their states: ", states)],
            )
        )


def warn_of_doubtful(left_out: Mapping[str, str]) -> None:
    """Warn of columns that are left out; name -> why."""
    names = list(left_out)
    told = ", ".join(f"{name!r} ({left_out[name]})" for name in names[:5])
    more = f" and {len(names) - 5} more" if len(names) > 5 else ""
    number = Call("Table.read", Argument("data", ...), Argument("variables", [Variable(names[0])]))
    remedies = [
        Remedy("keep one by naming it: ", Call("Table.read", Argument("data", ...), Argument("columns", ...))),
        Remedy("as a number: ", number),
    ]
    warn_caller(DoubtfulColumns(f"Columns that are hardly variables are left out: {told}{more}.", remedies=remedies))
