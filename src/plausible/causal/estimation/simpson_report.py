"""The record of a comparison made over all cases and within strata."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.display import TextTable, format_number, num_shown
from plausible.base.records import record
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.variables import State, Variable

__all__ = ["SimpsonReport", "StratifiedComparison"]


#: At most so many places without cases are named.
_SHOWN = 5


@dataclass(frozen=True, slots=True, eq=False)
class StratifiedComparison:
    """P(event | treatment) for two states of the treatment, within each stratum.

    Attributes
    ----------
    strata
        S, the variables that make the strata; none for the comparison of all cases.
    weights
        P(s): an axis for each of S.
    baseline, treated
        P(event | x, s) for either state x; NaN where P(x, s) = 0.
    is_admissible
        Whether the graph says that this comparison, averaged over P(s), is causal (the adjustment criterion); `None`
        without a graph.
    """

    strata: tuple[Variable, ...]
    weights: Floats
    baseline: Floats
    treated: Floats
    is_admissible: bool | None

    @property
    def difference(self) -> Floats:
        """treated - baseline, in each stratum."""
        return self.treated - self.baseline

    @property
    def adjusted(self) -> tuple[float, float]:
        """Σ_s P(event | x, s) P(s) for the baseline and the treated; NaN where a stratum lacks one of them."""
        present = self.weights > 0
        baseline, treated = (
            float((rates[present] * self.weights[present]).sum()) for rates in (self.baseline, self.treated)
        )
        return baseline, treated

    def reverses(self, coarser: StratifiedComparison) -> bool:
        """Whether every stratum here, as far as both states occur in it, points against the one it is part of."""
        more = self.difference.ndim - coarser.difference.ndim
        outer = coarser.difference.reshape(*coarser.difference.shape, *[1] * more)
        product = np.sign(_rounded(self.difference)) * np.sign(_rounded(outer))
        known = ~np.isnan(product)
        return bool(known.any() and (product[known] < 0).all())


@record(eq=False)
class SimpsonReport:
    """A comparison made over all cases and within finer and finer strata, and the effect.

    Attributes
    ----------
    treatment, states
        The treatment, and its two states that are compared: the baseline and the treated.
    outcome, event
        The outcome, and its state whose probability is compared.
    comparisons
        Over all cases, then with one more stratifying variable each.
    effect
        P(event | do(x)) for both states, NaN where there are no cases to tell it; `None` where there is no graph, or
        one that leaves it open.
    unknown
        The joint states without cases because of which a part of the effect is NaN, in words.
    rows
        Which rows of experiments were used, or left out; empty where nothing was set from outside that matters.
    """

    treatment: Variable
    states: tuple[State, State]
    outcome: Variable
    event: State
    comparisons: tuple[StratifiedComparison, ...]
    effect: tuple[float, float] | None
    unknown: tuple[str, ...] = ()
    rows: str = ""

    @property
    def reversals(self) -> tuple[int, ...]:
        """The places in `comparisons` of those that point against the one before them, in every stratum."""
        places = range(1, len(self.comparisons))
        return tuple(k for k in places if self.comparisons[k].reverses(self.comparisons[k - 1]))

    @property
    def is_paradox(self) -> bool:
        """Whether there is any reversal."""
        return bool(self.reversals)

    @property
    def admissible(self) -> tuple[StratifiedComparison, ...]:
        """The comparisons that are causal by the graph."""
        return tuple(comparison for comparison in self.comparisons if comparison.is_admissible)

    def __str__(self) -> str:
        x0, x1 = self.states
        header = ("within", "stratum", *(f"P({self.event} | {x})" for x in (x0, x1)), "difference")
        cells = [row for comparison in self.comparisons for row in _rows(comparison)]
        shown = num_shown(len(cells))
        table = TextTable(header, tuple(cells[:shown]), 2, len(cells) - shown)
        return "\n".join([f"{self.outcome.name} by {self.treatment.name}", str(table), *self._verdict(), *self._rows()])

    def _verdict(self) -> list[str]:
        lines = [
            f"Reversed within {_names(self.comparisons[place].strata)}, against {_names(before.strata)}."
            for place in self.reversals
            for before in [self.comparisons[place - 1]]
        ] or ["No reversal."]
        if self.effect is None:
            if self.comparisons[0].is_admissible is None:
                return [*lines, "Which comparison is causal, the data can't tell: give a graph=."]
            return [*lines, "None of these is causal: the graph leaves the effect open. See causal.identify for why."]
        effects = [
            f"P({self.event} | do({x})) {'is unknown' if np.isnan(p) else f'= {format_number(p)}'}"
            for x, p in zip(self.states, self.effect, strict=True)
        ]
        causal = "; ".join(_names(comparison.strata) for comparison in self.admissible) or "none of these"
        return [*lines, f"{', '.join(effects)}. Causal comparisons: {causal}.", *self._gaps()]

    def _rows(self) -> list[str]:
        return [f"Rows: {self.rows}."] if self.rows else []

    def _gaps(self) -> list[str]:
        places, number = self.unknown[:_SHOWN], len(self.unknown) - _SHOWN
        more = [f"and {number} more"] if number > 0 else []
        return [f"There are no cases with {'; '.join([*places, *more])}."] if places else []


def _rounded(difference: Floats) -> Floats:
    return np.where(np.abs(difference) <= PROBABILITY_NOISE, 0.0, difference)


def _names(strata: Sequence[Variable]) -> str:
    return ", ".join(variable.name for variable in strata) or "all cases"


def _rows(comparison: StratifiedComparison) -> list[tuple[str, ...]]:
    within = _names(comparison.strata)
    rows = []
    for place in np.ndindex(comparison.weights.shape):
        stratum = ", ".join(f"{v.name}={v.states[i]}" for v, i in zip(comparison.strata, place, strict=True))
        numbers = (comparison.baseline[place], comparison.treated[place], comparison.difference[place])
        rows.append((within, stratum, *(format_number(float(number)) for number in numbers)))
    return rows
