"""Positivity: has every kind of case a chance to be treated, and one not to be?"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType
from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.causal.estimation.rows import EffectRows, EffectTask, totals
from plausible.factors.display import format_number
from plausible.variables import State

__all__ = ["FEW_CASES", "PositivityReport", "ThinCell", "positivity_report", "thin_cells"]

Floats = NDArray[np.float64]

#: Fewer cases than these are few.
FEW_CASES = 5.0


class ThinCell(NamedTuple):
    """A stratum in which a level of the treatment hardly occurs.

    Attributes
    ----------
    level
        The level; `None` where the stratum itself hardly occurs, with whatever treatment.
    covariates
        Covariate -> its state.
    num_cases
        How many cases have both.
    share
        The share of all cases that are in the stratum, with whatever treatment; for `PlugIn`, its probability once the
        treatment is set.
    """

    level: State | None
    covariates: Mapping[str, State]
    num_cases: float
    share: float

    def __str__(self) -> str:
        place = ", ".join(f"{name}={state}" for name, state in self.covariates.items()) or "all"
        if self.level is None:
            return f"cases where {place}"
        return f"cases of {self.level} where {place} ({self.share:.2%} of all cases)"


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
        Level -> the least and the greatest estimated P(level | covariates); for methods that adjust.
    effective
        Level -> how many cases of equal weight are worth as much as its weighted ones: (Σ 1/e)² / Σ 1/e²; likewise.
    """

    empty: tuple[ThinCell, ...]
    sparse: tuple[ThinCell, ...]
    propensity: Mapping[State, tuple[float, float]]
    effective: Mapping[State, float]

    @classmethod
    def of(cls, cells: Iterable[ThinCell]) -> PositivityReport:
        """The report on these cells alone."""
        thin = tuple(cells)
        empty, sparse = (tuple(cell for cell in thin if (cell.num_cases > 0) is some) for some in (False, True))
        return cls(empty, sparse, MappingProxyType({}), MappingProxyType({}))

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
            lines += [f"{word} {cell}" for cell in cells[:5]]
            if len(cells) > 5:
                lines.append(f"... and {len(cells) - 5} more strata with {word} cases")
        return "\n".join(lines)

    __repr__ = __str__


def positivity_report(
    task: EffectTask, rows: EffectRows, covariates: Sequence[str], propensities: Sequence[Floats]
) -> PositivityReport:
    """The report on rows with estimated propensities.

    Parameters
    ----------
    task, rows, covariates
        What is estimated, from which rows, within strata of what.
    propensities
        For each of the two levels P(level | covariates) of every row.
    """
    thin: list[ThinCell] = []
    propensity, effective = {}, {}
    for level, code, chance in zip(task.levels, task.level_codes, propensities, strict=True):
        thin += thin_cells(task, rows, covariates, code)
        propensity[level] = (float(chance.min()), float(chance.max()))
        treated = (rows.treatment == code) & (chance > 0)
        inverse, weights = 1.0 / chance[treated], rows.weights[treated]
        squares = float(weights @ inverse**2)
        effective[level] = float(weights @ inverse) ** 2 / squares if squares else 0.0
    return replace(
        PositivityReport.of(thin), propensity=MappingProxyType(propensity), effective=MappingProxyType(effective)
    )


def thin_cells(task: EffectTask, rows: EffectRows, covariates: Sequence[str], code: int) -> list[ThinCell]:
    """The strata with few cases of the treatment's state at a position, or none; where all covariates are discrete."""
    if rows.cell is None:
        return []
    here = totals(rows.cell, rows.weights * (rows.treatment == code), rows.num_cells)
    shares = totals(rows.cell, rows.weights, rows.num_cells) / rows.weights.sum()
    variables = [task.table.variables[name] for name in covariates]
    return [
        ThinCell(
            task.treatment.states[code],
            MappingProxyType(
                {v.name: v.states[i] for v, i in zip(variables, rows.cell_states[cell].tolist(), strict=True)}
            ),
            float(here[cell]),
            float(shares[cell]),
        )
        for cell in np.flatnonzero(here < FEW_CASES).tolist()
    ]
