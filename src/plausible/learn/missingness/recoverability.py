"""Whether distributions can be had from data with missing cells: the formulas, and weights of complete rows."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.records import record
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.missingness.cells import table_cells
from plausible.learn.missingness.indicators import INDICATOR

Criterion: TypeAlias = Literal["MCAR", "MAR", "separate indicators", "ordered factorization", "direct", "none"]

#: Of a graph that does not tell what may be missing.
SAYS_NOTHING = (
    "The graph says nothing of missing cells: add an indicator R_x for each x that may be missing, with its causes, or "
    "name those that nothing hides but chance: partially_observed=."
)


@record
class ObservedFactor:
    """P(targets | given, indicators = 1), counted in the rows in which all of `observed` are observed."""

    targets: tuple[str, ...]
    given: tuple[str, ...]
    observed: tuple[str, ...]

    def __str__(self) -> str:
        conditions = [*self.given, *(f"{INDICATOR}{name}=1" for name in self.observed)]
        return f"P({', '.join(self.targets)}{' | ' if conditions else ''}{', '.join(conditions)})"


@record
class Recoverability:
    """Whether a distribution can be had from data with missing cells."""

    query: str  # The distribution asked for
    criterion: Criterion  # What shows that it can; "none" where no criterion here does, which is no proof that it can't
    #: The product of these is the distribution; for "separate indicators", what the probability of complete rows is
    #: divided by.
    factors: tuple[ObservedFactor, ...] = ()
    joint: str = ""  # The distribution that the formula gives, where the query follows from it
    note: str = ""  # What stands in the way

    @property
    def recoverable(self) -> bool:
        """Whether a criterion shows it."""
        return self.criterion != "none"

    @property
    def formula(self) -> str:
        """The distribution in terms of what is observed; empty where no criterion gives one."""
        name, product = self.joint or self.query, " ".join(map(str, self.factors))
        if self.criterion != "separate indicators":
            return f"{name} = {product}" if self.recoverable else ""
        marks = ", ".join(f"{factor.targets[0]}=1" for factor in self.factors)
        divisors = " ".join(_is_one(factor) for factor in self.factors)
        return f"{name} = {name.removesuffix(')')}, {marks}) / ({divisors})"

    def __str__(self) -> str:
        if not self.recoverable:
            return f"{self.query}: not shown to be recoverable by these criteria. {self.note}".rstrip()
        follows = f"{self.query} follows from " if self.joint else ""
        return f"{follows}{self.formula}, by {self.criterion}"


def _is_one(factor: ObservedFactor) -> str:
    return str(factor).replace(f"P({factor.targets[0]}", f"P({factor.targets[0]}=1", 1)


def reweighted(table: Table, recovery: Recoverability, names: Sequence[str]) -> Table:
    """The complete rows with weights that make frequencies estimates of the joint distribution.

    For separate indicators w = 1 / Π P(R_x=1 | causes), with frequencies of the rows that show the causes; else the
    ratio of the formula to the share of the complete rows, w = Π P(factor) / P(row | R=1). Weights sum to the number of
    rows.
    """
    for name in names:
        if name not in table.variables:
            raise InvalidArgument(f"The data has no column {name!r}, which the graph has as observed.")
        if table.variables[name].is_continuous:
            raise NotSupported(f"{name!r} is a number: weights are counted by states. Cut it by Discretizer first.")
    missing = table_cells(table)
    complete = np.flatnonzero(~np.any([missing[name] for name in names], axis=0))
    if not len(complete):
        raise InvalidArgument("No row is complete, so that there is nothing to weigh.")
    own = table.row_weights
    counted = _Counted(table, own)
    if recovery.criterion == "separate indicators":
        weights = 1.0 / math.prod([counted.propensity(factor)[complete] for factor in recovery.factors])
    else:
        here = counted.ratio(ObservedFactor(tuple(names), (), tuple(names)))[complete]
        weights = math.prod([counted.ratio(factor)[complete] for factor in recovery.factors]) / here
    weights = weights * own[complete]
    kept = table.take(complete)
    return kept.weighted(weights * (own.sum() / weights.sum()))


class _Counted:
    """Frequencies of the states that each row has."""

    def __init__(self, table: Table, weights: Floats) -> None:
        self.codes = dict(zip(table.discrete, table.codes.astype(np.int64), strict=True))
        self.sizes = {name: table.variables[name].num_states for name in table.discrete}
        self.weights = weights

    def _cells(self, names: Sequence[str]) -> Ints:
        """For each row one number for its states of several variables; wrong where one is missing."""
        cells = np.zeros(len(self.weights), dtype=np.int64)
        for name in names:
            # Numbered anew at each step, so that the numbers stay below that of the rows.
            both = cells * self.sizes[name] + np.maximum(self.codes[name], 0)
            cells = np.unique(both, return_inverse=True)[1].reshape(-1).astype(np.int64)
        return cells

    def _sums(self, names: Sequence[str], rows: Flags) -> Floats:
        """For each row how much those of `rows` weigh that have its states of some variables."""
        cells = self._cells(names)
        sums = np.bincount(cells, weights=np.where(rows, self.weights, 0.0))
        return np.asarray(sums[cells], dtype=np.float64)

    def _observed(self, names: Sequence[str]) -> Flags:
        observed = np.ones(len(self.weights), dtype=np.bool_)
        for name in names:
            observed &= self.codes[name] >= 0
        return observed

    def ratio(self, factor: ObservedFactor) -> Floats:
        """P(targets | given) of each row's states, by frequencies where these are observed; NaN where none are."""
        rows = self._observed((*factor.targets, *factor.given))
        with np.errstate(invalid="ignore"):
            return self._sums((*factor.targets, *factor.given), rows) / self._sums(factor.given, rows)

    def propensity(self, factor: ObservedFactor) -> Floats:
        """P(R=1 | causes) of each row's states, by frequencies where the causes are observed; NaN where none are."""
        seen = self._observed(factor.given)
        about = self._observed([factor.targets[0].removeprefix(INDICATOR)])
        with np.errstate(invalid="ignore"):
            return self._sums(factor.given, seen & about) / self._sums(factor.given, seen)
