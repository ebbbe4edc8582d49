"""Particles of one sequence: drawn slice after slice, each from one before; and trajectories drawn backwards."""

from __future__ import annotations

from typing import Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.cpds import CPD
from plausible.models.sequences.observations import StepEvidence
from plausible.models.sequences.template import Lagged, lagged

#: Name -> the value that each particle, or each trajectory, has in a slice.
Slice: TypeAlias = dict[str, NDArray[Any]]

#: The share of a particle's outlook that does not hang on the next row, so that none is lost to a bad guess.
_RESERVE = 0.1


class Cloud:
    """The particles of one sequence, and what they weigh."""

    def __init__(self, evidence: StepEvidence, first: int, size: int, generator: np.random.Generator) -> None:
        self.evidence, self.first, self.size, self.generator = evidence, first, size, generator
        self.values: list[Slice] = []  # of each step
        self.came_from: list[Positions] = []  # which particle of the step before each one goes on from
        self.history: list[Floats] = []  # the weights of each step
        self.weights = np.full(size, 1.0 / size)

    @property
    def effective_size(self) -> float:
        """How many particles of equal weight would tell as much (Kong, Liu & Wong 1994)."""
        return _effective_size(self.weights)

    def advance(self, threshold: float, is_auxiliary: bool) -> float:
        """One more slice; the logarithm of the mean weight."""
        came_from, logs = self._chosen(threshold, is_auxiliary)
        values, seen = self._drawn(came_from)
        logs = logs + seen
        self.values.append(values)
        self.came_from.append(came_from)
        peak = float(logs.max())
        if peak == -np.inf:
            return peak
        weights = np.exp(logs - peak)
        total = float(weights.sum())
        self.weights = weights / total
        self.history.append(self.weights)
        return peak + float(np.log(total))

    def _chosen(self, threshold: float, is_auxiliary: bool) -> tuple[Positions, Floats]:
        """The particles to go on from, and the logarithms of their weights: drawn anew where these are uneven."""
        outlook = self.weights
        if self.values and is_auxiliary:
            seen = self._drawn(np.arange(self.size), is_guess=True)[1]
            likely = np.exp(seen - max(float(seen.max()), np.finfo(float).min))
            mean = float(outlook @ likely)
            outlook = outlook * (_RESERVE + (1 - _RESERVE) * likely / mean) if mean > 0 else outlook
            outlook = outlook / outlook.sum()
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        if not self.values or _effective_size(outlook) >= threshold * self.size:
            return np.arange(self.size), logs
        levels = (self.generator.random() + np.arange(self.size)) / self.size  # as even as can be
        sums = np.cumsum(outlook)
        chosen = np.searchsorted(sums / sums[-1], levels, side="right")
        return chosen, logs[chosen] - np.log(outlook[chosen] * self.size)

    def _drawn(self, came_from: Positions, *, is_guess: bool = False) -> tuple[Slice, Floats]:
        """The values of a slice after particles, and the logarithms of what is seen; a guess has medians of numbers."""
        template, at = self.evidence.template, len(self.values)
        number, values, logs = min(at, template.num_first), dict[str, NDArray[Any]](), np.zeros(self.size)
        for name in template.order(number):
            cpd: CPD | None = template.slices[number].get(name)
            if name in self.evidence.settings:
                cpd = self.evidence.settings[name].get(at, cpd)
            parents = {} if cpd is None else self._parents(cpd, values, came_from)
            cell = self._cell(name)
            if cell is not None:
                values[name] = np.full(self.size, cell)
                if cpd is not None:
                    logs = logs + np.asarray(cpd.log_probability({**parents, name: values[name]}))
                continue
            assert cpd is not None
            is_median = is_guess and template.variables[name].is_continuous
            levels = np.full(self.size, 0.5) if is_median else self.generator.random(self.size)
            values[name] = cpd.quantile(parents, levels)
            logs = logs + self._soft(name, values[name])
        return values, logs

    def _cell(self, name: str) -> Any:
        """What is seen of a variable in the slice at hand; none where nothing is, or several states are open."""
        column = self.evidence.sequences.columns.get(name)
        if column is None:
            return None
        cell = column[self.first + len(self.values)]
        is_missing = np.isnan(cell) if self.evidence.template.variables[name].is_continuous else cell < 0
        return None if is_missing else cell

    def _soft(self, name: str, values: NDArray[Any]) -> Floats:
        """The logarithms of the likelihoods of states of which several are open."""
        cells = self.evidence.sequences.soft.get(name)
        is_here = cells is not None and cells.steps == self.first + len(self.values)
        if cells is None or not np.any(is_here):
            return np.zeros(self.size)
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(cells.weights[np.argmax(is_here)])[values])

    def _parents(self, cpd: CPD, values: Slice, came_from: Positions) -> Slice:
        columns: Slice = {}
        for text in cpd.parent_names:
            name, lag = lagged(text)
            columns[text] = values[name] if not lag else self.values[-lag][name][self._line(came_from, lag - 1)]
        return columns

    def _line(self, particles: Positions, steps: int, at: int | None = None) -> Positions:
        """Which particles some of a step came from, so many steps before."""
        last = len(self.came_from) - 1 if at is None else at
        for number in range(last, last - steps, -1):
            particles = self.came_from[number][particles]
        return particles

    # --- backwards ---

    def trajectories(self, number: int) -> list[Slice]:
        """Trajectories drawn backwards: each step's particle by its weight and by how it leads on to what comes after.

        Where slices look back several steps, a particle stands for the line that it came from (Lindsten & Schön 2013).
        """
        chosen = self.generator.choice(self.size, number, p=self.history[-1])
        drawn = [{name: values[chosen] for name, values in self.values[-1].items()}]
        reach = self.evidence.template.reach
        for at in range(len(self.values) - 2, -1, -1):
            with np.errstate(divide="ignore"):
                logs = np.broadcast_to(np.log(self.history[at]), (number, self.size)).copy()
            for step in range(at + 1, min(at + reach, len(self.values) - 1) + 1):
                for name, cpd in self.evidence.template.cpds_at(step).items():
                    held = self.evidence.settings.get(name, {}).get(step, cpd)
                    if held is cpd and any(step - lagged(text).lag <= at for text in cpd.parent_names):
                        logs += self._leads_on(cpd, step, at, drawn)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            sums = np.cumsum(weights, axis=1)
            levels = self.generator.random(number)[:, None] * sums[:, -1:]
            chosen = np.minimum((sums <= levels).sum(axis=1), self.size - 1)
            drawn.insert(0, {name: values[chosen] for name, values in self.values[at].items()})
        return drawn

    def _leads_on(self, cpd: CPD, step: int, at: int, drawn: list[Slice]) -> Floats:
        """log P of what each trajectory has at a later step, given each particle: axes (trajectory, particle)."""
        columns: Slice = {}
        for text in (*cpd.parent_names, cpd.variable.name):
            one: Lagged = lagged(text)
            place = step - one.lag
            if place > at:
                columns[text] = drawn[place - at - 1][one.name][:, None]
            else:
                line = self._line(np.arange(self.size), at - place, at)
                columns[text] = self.values[place][one.name][line][None, :]
        return np.asarray(cpd.log_probability(columns))


def _effective_size(weights: Floats) -> float:
    return 1.0 / float(weights @ weights)
