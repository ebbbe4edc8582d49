"""Approximate beliefs over time by any engine of ordinary networks, on the few slices around each step."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.cpds import CPD, LinearGaussianCPD, TableCPD
from plausible.errors import ImpossibleEvidence
from plausible.inference.budget import Budget
from plausible.inference.choice import EngineChoice
from plausible.models.bayesian_network import BayesianNetwork
from plausible.models.sequences.observations import NumberBeliefs, StepBeliefs, StepEvidence
from plausible.models.sequences.state_estimates import width_of
from plausible.models.sequences.template import lagged
from plausible.variables import Variable
from plausible.variables.evidence import likelihood

if TYPE_CHECKING:
    from plausible.models.sequences.dynamic_answers import DynamicAnswers


@dataclass(frozen=True, slots=True)
class Window:
    """Filter and smooth by the network of a few slices, which any engine of ordinary networks answers.

    What lies before the window is known by what was believed of each variable when it left: a product of marginals,
    numbers as Gaussians. `smooth` looks as many slices ahead (a fixed lag). The longer the window, the less is
    forgotten. A network is made for each step, so this is slow; it takes slices that no tree holds, and hidden numbers
    beside states.

    Attributes
    ----------
    length
        How many slices a window has, up to the step itself. With one, and no engine, it is `BoyenKoller()` in networks
        that look back one step.
    engine
        What answers, such as `LoopyBP()`; by default the cheapest exact way. Numbers are always told exactly.

    >>> Window(3)
    Window(length=3, engine=None)
    """

    length: int = 3
    engine: EngineChoice = None

    def __post_init__(self) -> None:
        check_count("length", self.length, 1)

    def _filter(
        self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None, level: float
    ) -> StepBeliefs:
        return self._run(model, evidence, budget, level, 0)

    def _smooth(
        self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None, level: float
    ) -> StepBeliefs:
        return self._run(model, evidence, budget, level, self.length)

    def _run(
        self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None, level: float, ahead: int
    ) -> StepBeliefs:
        """Filtered beliefs, which the next windows begin with; with some steps ahead, smoothed ones after these."""
        found, sequences = _Beliefs.over(model, evidence, level), evidence.sequences
        told = _Beliefs.over(model, evidence, level) if ahead else found
        logs = np.zeros(sequences.num_steps)
        for first, last in zip(sequences.starts[:-1].tolist(), sequences.starts[1:].tolist(), strict=True):
            for step in range(first, last):
                begin = max(first, step - self.length + 1)
                try:
                    self._answer(_WindowNetwork(evidence, first, begin, step, found), step, found, budget)
                except ImpossibleEvidence:
                    logs[step], logs[step + 1 : last] = -np.inf, np.nan
                    break
            for step in range(first, last) if ahead and np.isfinite(logs[first:last]).all() else ():
                begin, end = max(first, step - self.length + 1), min(last - 1, step + ahead)
                self._answer(_WindowNetwork(evidence, first, begin, end, found), step, told, budget)
        return StepBeliefs(logs, told.marginals, told.numbers)

    def _answer(self, window: _WindowNetwork, step: int, told: _Beliefs, budget: Budget | None) -> None:
        """Tell what the network of a window says of a step."""
        network, findings, at = window.network, window.findings(), step - window.first
        names = [f"{name}[{at}]" for name, _, _ in told.columns]
        if names:
            answers = network.marginals(findings, targets=names, engine=self.engine, budget=budget)
            for (_, start, end), name in zip(told.columns, names, strict=True):
                told.marginals[step, start:end] = answers[name].values
        numbers = [name for name in told.numbers if f"{name}[{at}]" not in findings]
        for name in (name for name in told.numbers if name not in numbers):
            told.tell(step, name, findings[f"{name}[{at}]"], 0.0)
        if numbers:
            moments = network.moments([f"{name}[{at}]" for name in numbers], findings, budget=budget)
            for name, mean, variance in zip(numbers, moments.mean, moments.covariance.diagonal(), strict=True):
                told.tell(step, name, float(mean), float(np.sqrt(max(variance, 0.0))))


@dataclass(frozen=True, slots=True, eq=False)
class _Beliefs:
    """Beliefs of all variables at each step, as far as they are told."""

    columns: list[tuple[str, int, int]]
    marginals: Floats
    numbers: Mapping[str, NumberBeliefs]
    width: float

    @classmethod
    def over(cls, model: DynamicAnswers, evidence: StepEvidence, level: float) -> _Beliefs:
        columns = [(variable.name, start, end) for variable, start, end in model._columns()]
        num_steps = evidence.sequences.num_steps
        marginals = np.full((num_steps, columns[-1][2] if columns else 0), np.nan)
        numbers = {name: NumberBeliefs.of(num_steps) for name in sorted(evidence.template.continuous)}
        return cls(columns, marginals, numbers, width_of(level))

    def tell(self, step: int, name: str, mean: float, deviation: float) -> None:
        self.numbers[name].moments[step] = mean, deviation
        self.numbers[name].interval[step] = mean - self.width * deviation, mean + self.width * deviation

    def prior(self, step: int, name: str, own: Variable) -> CPD:
        """What is believed of a variable at a step, as a distribution of a variable of a window."""
        if own.is_continuous:
            mean, deviation = self.numbers[name].moments[step].tolist()
            return LinearGaussianCPD(own, mean, {}, deviation**2)
        start, end = next((start, end) for each, start, end in self.columns if each == name)
        return TableCPD(own, self.marginals[step, start:end])


class _WindowNetwork:
    """The network of some slices of a sequence; what they look back on stands for itself, by what is believed of it."""

    def __init__(self, evidence: StepEvidence, first: int, begin: int, end: int, beliefs: _Beliefs) -> None:
        self.evidence, self.first = evidence, first
        slices = range(begin - first, end - first + 1)
        inside = {at: self._cpds(at) for at in slices}
        before = {
            (one.name, at - one.lag)
            for at, cpds in inside.items()
            for cpd in cpds.values()
            for one in map(lagged, cpd.parent_names)
            if at - one.lag < slices.start
        }
        self.places = [(name, at) for at in slices for name in evidence.template.variables]
        cpds = [self._over(at, cpd) for at in slices for cpd in inside[at].values()]
        given = [(name, at) for at in slices for name in evidence.template.variables if name not in inside[at]]
        for name, at in sorted(before):
            if self._is_seen(name, at):
                self.places.append((name, at))
                given.append((name, at))
            else:
                cpds.append(beliefs.prior(first + at, name, self._own(name, at)))
        self.network = BayesianNetwork(cpds, inputs=[self._own(*place) for place in given])

    def findings(self) -> dict[str, Any]:
        """What is observed in the window, and the values before it that it looks back on."""
        found = {}
        for name, at in self.places:
            held = self.evidence.settings.get(name, {})
            cell = None if held.get(at) is not None else self._cell(name, at)
            if cell is not None:
                found[f"{name}[{at}]"] = cell
        return found

    def _is_seen(self, name: str, at: int) -> bool:
        """Whether the value of a variable in a slice is known."""
        column = self.evidence.sequences.columns.get(name)
        if column is None:
            return False
        cell = column[self.first + at]
        return bool(~np.isnan(cell) if self.evidence.template.variables[name].is_continuous else cell >= 0)

    def _cell(self, name: str, at: int) -> Any:
        """What is seen of a variable in a slice; none where nothing is."""
        sequences, variable, step = self.evidence.sequences, self.evidence.template.variables[name], self.first + at
        if self._is_seen(name, at):
            cell = sequences.columns[name][step]
            return float(cell) if variable.is_continuous else variable.states[cell]
        cells = sequences.soft.get(name)
        here = [] if cells is None else np.flatnonzero(cells.steps == step).tolist()
        return likelihood(cells.weights[here[0]]) if cells is not None and here else None

    def _cpds(self, at: int) -> dict[str, CPD]:
        """The distributions of a slice, those that are set in place of their own."""
        settings = self.evidence.settings
        held = {name: settings.get(name, {}).get(at, cpd) for name, cpd in self.evidence.template.cpds_at(at).items()}
        return {name: cpd for name, cpd in held.items() if cpd is not None}

    def _over(self, at: int, cpd: CPD) -> CPD:
        parents = tuple(self._own(one.name, at - one.lag) for one in map(lagged, cpd.parent_names))
        return cpd.over(self._own(lagged(cpd.variable.name).name, at), parents)

    def _own(self, name: str, at: int) -> Variable:
        return self.evidence.template.variables[name].renamed(f"{name}[{at}]")
