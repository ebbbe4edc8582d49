"""What can be said about a proportion whatever hides the missing cells."""

from __future__ import annotations

import math
from collections.abc import Mapping

import numpy as np

from plausible.base.records import record
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.missingness.column_cells import Mask
from plausible.variables import State, Variable

__all__ = ["ProportionBounds", "proportion_bounds"]


@record
class ProportionBounds:
    """Between which values the maximum likelihood estimate of a proportion lies, for all completions of the data.

    Attributes
    ----------
    lower, upper
        Its least and its largest value, both of which occur; NaN where no row can be a case.
    if_ignorable
        Its value from the rows with all cells that it needs: right where missing cells are so completely at random.
    missing
        The share of rows that a missing cell leaves open.
    """

    lower: float
    upper: float
    if_ignorable: float
    missing: float

    def __str__(self) -> str:
        return (
            f"between {self.lower:.4g} and {self.upper:.4g}, whatever hides the cells; {self.if_ignorable:.4g} by the "
            f"complete cases ({self.missing:.1%} of the rows are open)"
        )


def proportion_bounds(
    data: TableLike,
    variable: str,
    state: State,
    *,
    given: Mapping[str, State] | None = None,
    variables: Mapping[str, Variable] | None = None,
) -> ProportionBounds:
    """The interval of the estimate of P(variable = state | given), if missing cells may hold anything.

    With a rows that certainly are cases of both, b of the condition alone, and the open ones a' that may be cases of
    both and b' that may be cases of the condition alone: [a / (a + b + b'), (a + a') / (a + a' + b)]. See Koller &
    Friedman (2009), section 19.1.1 and exercise 19.1; Manski (2003), Partial identification of probability
    distributions.

    Parameters
    ----------
    data
        Rows with missing cells.
    variable, state
        What is estimated.
    given
        Name -> state: only such rows count; their cells may be missing, too.
    variables
        As for `Table.read`.

    Examples
    --------
    >>> bounds = proportion_bounds({"coin": ["heads", "heads", "tails", None]}, "coin", "heads")
    >>> bounds.lower, bounds.upper, round(bounds.if_ignorable, 3)
    (0.5, 0.75, 0.667)
    """
    table = Table.read(data, variables)
    conditions = dict(given or {})
    if variable in conditions:
        raise InvalidArgument(f"{variable!r} can't be asked about and be given.")
    certain, possible = np.ones(table.num_rows, dtype=np.bool_), np.ones(table.num_rows, dtype=np.bool_)
    for name, value in conditions.items():
        holds, is_open = _cells(table, name, value)
        certain, possible = certain & holds, possible & (holds | is_open)
    yes, unknown = _cells(table, variable, state)
    no = ~yes & ~unknown
    weights = table.row_weights

    def weigh(rows: Mask) -> float:
        return float(weights[rows].sum())

    sure_yes, sure_no = weigh(certain & yes), weigh(certain & no)
    able_yes, able_no = weigh(possible & (yes | unknown)), weigh(possible & (no | unknown))
    return ProportionBounds(
        lower=_ratio(sure_yes, able_no, 1.0 if able_yes else math.nan),
        upper=_ratio(able_yes, sure_no, 0.0 if able_no else math.nan),
        if_ignorable=_ratio(sure_yes, sure_no, math.nan),
        missing=weigh(possible & ~(certain & ~unknown)) / max(float(weights.sum()), 1e-300),
    )


def _cells(table: Table, name: str, state: State) -> tuple[Mask, Mask]:
    """In which rows a variable has a state, and in which it is missing."""
    if name not in table.variables:
        raise UnknownVariable.named(name, table.variables, "the data")
    if table.variables[name].is_continuous:
        raise InvalidArgument(f"{name!r} is a number: cut it into intervals first, by Discretizer.")
    codes = table.codes[table.discrete.index(name)]
    return codes == table.variables[name].index(state), codes < 0


def _ratio(yes: float, no: float, without_rows: float) -> float:
    """yes / (yes + no), or what holds where both are zero."""
    return yes / (yes + no) if yes + no > 0 else without_rows
