"""Positivity: has every kind of case a chance to be treated, and one not to be?"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.causal.estimation.rows import EffectRows, EffectTask, totals
from plausible.factors.display import format_number
from plausible.variables import State

__all__ = ["PositivityReport", "ThinCell", "positivity_report"]

Floats = NDArray[np.float64]


class ThinCell(NamedTuple):
    """A stratum in which a level of the treatment hardly occurs.

    Attributes
    ----------
    level
        The level.
    covariates
        Covariate -> its state.
    num_cases
        How many cases have both.
    share
        The share of all cases that are in the stratum, with whatever treatment.
    """

    level: State
    covariates: Mapping[str, State]
    num_cases: float
    share: float


@dataclass(frozen=True, slots=True)
class PositivityReport:
    """Whether the levels of a treatment occur in all strata of the covariates.

    Attributes
    ----------
    empty
        Strata in which a level never occurs: there the data do not tell what it does.
    sparse
        Strata with some cases of a level, but fewer than asked for.
    propensity
        Level -> the least and the greatest estimated P(level | covariates).
    effective
        Level -> how many cases of equal weight are worth as much as its weighted ones: (Σ 1/e)² / Σ 1/e².
    """

    empty: tuple[ThinCell, ...]
    sparse: tuple[ThinCell, ...]
    propensity: Mapping[State, tuple[float, float]]
    effective: Mapping[State, float]

    @property
    def is_satisfied(self) -> bool:
        """Whether no stratum lacks a level."""
        return not self.empty

    def __str__(self) -> str:
        lines = []
        for level, (low, high) in self.propensity.items():
            worth = format_number(round(self.effective[level], 1))
            lines.append(f"P({level} | covariates) is {low:.3g} to {high:.3g}; {worth} effective cases")
        for word, cells in (("no", self.empty), ("few", self.sparse)):
            for cell in cells[:5]:
                place = ", ".join(f"{name}={state}" for name, state in cell.covariates.items()) or "all"
                lines.append(f"{word} cases of {cell.level} where {place} ({cell.share:.2%} of all cases)")
            if len(cells) > 5:
                lines.append(f"... and {len(cells) - 5} more strata with {word} cases")
        return "\n".join(lines)

    __repr__ = __str__


def positivity_report(
    task: EffectTask, rows: EffectRows, covariates: Sequence[str], propensities: Sequence[Floats], min_count: float = 5
) -> PositivityReport:
    """The report on rows with estimated propensities.

    Parameters
    ----------
    task, rows, covariates
        What is estimated, from which rows, within strata of what.
    propensities
        For each of the two levels P(level | covariates) of every row.
    min_count
        Fewer cases than these are few.
    """
    thin: list[ThinCell] = []
    propensity, effective = {}, {}
    for level, code, chance in zip(task.levels, task.level_codes, propensities, strict=True):
        thin += _thin_cells(task, rows, covariates, level, code, min_count)
        propensity[level] = (float(chance.min()), float(chance.max()))
        treated = (rows.treatment == code) & (chance > 0)
        inverse, weights = 1.0 / chance[treated], rows.weights[treated]
        squares = float(weights @ inverse**2)
        effective[level] = float(weights @ inverse) ** 2 / squares if squares else 0.0
    return PositivityReport(
        empty=tuple(cell for cell in thin if not cell.num_cases),
        sparse=tuple(cell for cell in thin if cell.num_cases),
        propensity=MappingProxyType(propensity),
        effective=MappingProxyType(effective),
    )


def _thin_cells(
    task: EffectTask, rows: EffectRows, covariates: Sequence[str], level: State, code: int, min_count: float
) -> list[ThinCell]:
    if rows.cell is None:
        return []
    here = totals(rows.cell, rows.weights * (rows.treatment == code), rows.num_cells)
    shares = totals(rows.cell, rows.weights, rows.num_cells) / rows.weights.sum()
    variables = [task.table.variables[name] for name in covariates]
    return [
        ThinCell(
            level,
            MappingProxyType(
                {v.name: v.states[i] for v, i in zip(variables, rows.cell_states[cell].tolist(), strict=True)}
            ),
            float(here[cell]),
            float(shares[cell]),
        )
        for cell in np.flatnonzero(here < min_count).tolist()
    ]
