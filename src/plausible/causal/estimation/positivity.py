"""Positivity: has every kind of case a chance to be treated, and one not to be?"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from types import MappingProxyType
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import format_number
from plausible.base.records import record
from plausible.causal.estimation.rows import EffectRows, EffectTask, totals
from plausible.variables import State

#: Fewer cases than these are few.
FEW_CASES = 5.0
#: A chance that is smaller than this part of the level's share of all cases is all but none.
_HARDLY = 0.02
#: A smaller share of cases with a chance of both levels is all but none.
_FEW_COMPARABLE = 0.05
#: Into so many parts, of equally many cases, the range of a continuous covariate is cut.
_NUM_PARTS = 10


@record
class ThinCell:
    """A stratum in which a level of the treatment hardly occurs."""

    level: State | None  # The level; `None` where the stratum itself hardly occurs, with whatever treatment
    covariates: Mapping[str, State]  # Covariate -> its state
    num_cases: float  # How many cases have both
    #: The share of all cases that are in the stratum, with whatever treatment; for `PlugIn`, its probability once the
    #: treatment is set.
    share: float

    def __str__(self) -> str:
        place = ", ".join(f"{name}={state}" for name, state in self.covariates.items()) or "all"
        if self.level is None:
            return f"cases where {place}"
        return f"cases of {self.level} where {place} ({self.share:.2%} of all cases)"


@record
class PositivityReport:
    """Whether the levels of a treatment occur in all strata of the covariates."""

    #: Strata of the discrete covariates in which a level never occurs, and tenths of the range of a continuous one in
    #: which five cases of it or more were to be expected: there the data do not tell what it does.
    empty: tuple[ThinCell, ...]
    sparse: tuple[ThinCell, ...]  # Strata with some cases of a level, but fewer than asked for
    #: Level -> the least and the greatest estimated P(level | covariates); for methods that adjust.
    propensity: Mapping[State, tuple[float, float]]
    #: Level -> how many cases of equal weight are worth as much as its weighted ones: (Σ 1/e)² / Σ 1/e²; likewise.
    effective: Mapping[State, float]
    #: Level -> the share of all cases whose estimated P(level | covariates) is less than a fiftieth of P(level), where
    #: there are some; likewise.
    unlikely: Mapping[State, float]
    comparable: float = 1.0  # The share of all cases for which neither level is that unlikely

    @classmethod
    def of(cls, cells: Iterable[ThinCell]) -> PositivityReport:
        """The report on these cells alone."""
        thin = tuple(cells)
        empty, sparse = (tuple(cell for cell in thin if (cell.num_cases > 0) is some) for some in (False, True))
        nothing: Mapping[State, Any] = MappingProxyType({})
        return cls(empty, sparse, nothing, nothing, nothing)

    @property
    def is_satisfied(self) -> bool:
        """Whether no stratum lacks a level, and no case is all but sure not to have it."""
        return not self.empty and not self.unlikely

    @property
    def has_overlap(self) -> bool:
        """Whether some cases, one in twenty at least, had a chance of both levels."""
        return self.comparable >= _FEW_COMPARABLE

    def __str__(self) -> str:
        lines = []
        for level, (low, high) in self.propensity.items():
            worth = format_number(round(self.effective[level], 1))
            share = f", all but 0 for {self.unlikely[level]:.2%} of all cases" if level in self.unlikely else ""
            lines.append(f"P({level} | covariates) is {low:.3g} to {high:.3g}{share}; {worth} effective cases")
        for word, cells in (("no", self.empty), ("few", self.sparse)):
            lines += [f"{word} {cell}" for cell in cells[:5]]
            if len(cells) > 5:
                lines.append(f"... and {len(cells) - 5} more strata with {word} cases")
        return "\n".join(lines)


def positivity_report(task: EffectTask, rows: EffectRows, propensities: Sequence[Floats]) -> PositivityReport:
    """The report on rows with estimated propensities."""
    thin: list[ThinCell] = []
    propensity, effective, unlikely = {}, {}, {}
    comparable, total = np.ones(len(rows.weights), dtype=bool), rows.weights.sum()
    for level, code, chance in zip(task.levels, task.level_codes, propensities, strict=True):
        thin += [*thin_cells(task, rows, code), *_empty_ranges(task, rows, code)]
        propensity[level] = (float(chance.min()), float(chance.max()))
        treated = (rows.treatment == code) & (chance > 0)
        inverse, weights = 1.0 / chance[treated], rows.weights[treated]
        squares = float(weights @ inverse**2)
        effective[level] = float(weights @ inverse) ** 2 / squares if squares else 0.0
        is_unlikely = chance < _HARDLY * float(rows.weights @ (rows.treatment == code)) / total
        comparable &= ~is_unlikely
        if is_unlikely.any():
            unlikely[level] = float(rows.weights @ is_unlikely / total)
    return replace(
        PositivityReport.of(thin),
        propensity=MappingProxyType(propensity),
        effective=MappingProxyType(effective),
        unlikely=MappingProxyType(unlikely),
        comparable=float(rows.weights @ comparable / total),
    )


def thin_cells(task: EffectTask, rows: EffectRows, code: int) -> list[ThinCell]:
    """The strata of the discrete covariates with few cases of the treatment's state at a position, or none."""
    here = totals(rows.cell, rows.weights * (rows.treatment == code), rows.num_cells)
    shares = totals(rows.cell, rows.weights, rows.num_cells) / rows.weights.sum()
    return [
        ThinCell(
            task.treatment.states[code],
            MappingProxyType(rows.stratum(cell)),
            float(here[cell]),
            float(shares[cell]),
        )
        for cell in np.flatnonzero(here < FEW_CASES).tolist()
    ]


def _empty_ranges(task: EffectTask, rows: EffectRows, code: int) -> Iterator[ThinCell]:
    """Tenths of the range of each continuous covariate without cases of the treatment's state, though some were due."""
    treated, total = rows.weights * (rows.treatment == code), rows.weights.sum()
    for name, column in rows.numbers.items():
        edges = np.unique(np.quantile(column, np.linspace(0.0, 1.0, _NUM_PARTS + 1)))
        part = np.searchsorted(edges[1:-1], column, side="right")
        here, shares = totals(part, treated, len(edges)), totals(part, rows.weights, len(edges)) / total
        for place in np.flatnonzero((here == 0) & (shares * treated.sum() >= FEW_CASES)).tolist():
            ends = f"{format_number(float(edges[place]))} to {format_number(float(edges[place + 1]))}"
            yield ThinCell(task.treatment.states[code], MappingProxyType({name: ends}), 0.0, float(shares[place]))
