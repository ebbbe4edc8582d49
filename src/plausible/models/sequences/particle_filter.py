"""Approximate beliefs over time by particles, for any distributions, numbers that are hidden among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats
from plausible.base.options import Seed, check_count, check_number, generator_of
from plausible.cpds import CPD
from plausible.errors import NotSupported
from plausible.inference.budget import Budget
from plausible.models.sequences.observations import StepBeliefs, StepEvidence
from plausible.models.sequences.template import Lagged, lagged, longest_lag

if TYPE_CHECKING:
    from plausible.models.sequences.dynamic_answers import DynamicAnswers

#: Name -> for each step of a sequence so far the values of all particles.
Paths = dict[str, list[NDArray[Any]]]


@dataclass(frozen=True, slots=True)
class ParticleFilter:
    """Filter by drawing slice after slice, weighing by what is observed (Gordon, Salmond & Smith 1993).

    Hidden variables are drawn given their parents, observed ones weigh the particles. Where the weights become uneven,
    particles are resampled systematically. `smooth` draws whole trajectories backwards (Godsill, Doucet & West 2004),
    which takes particles times trajectories a step, and looks back one step only. Frames of answers tell in
    `.attrs["effective_size"]` how many particles of equal weight told as much, where they were fewest.

    Attributes
    ----------
    num_particles
        How many there are; errors fall with their square root.
    threshold
        Particles are resampled where the effective sample size is below this share of them.
    num_trajectories
        How many are drawn for smoothing.
    seed
        Equal seeds give equal answers.

    >>> ParticleFilter(500, seed=0)
    ParticleFilter(num_particles=500, threshold=0.5, num_trajectories=200, seed=0)
    """

    num_particles: int = 1000
    threshold: float = 0.5
    num_trajectories: int = 200
    seed: Seed = None

    def __post_init__(self) -> None:
        check_count("num_particles", self.num_particles, 1)
        check_count("num_trajectories", self.num_trajectories, 1)
        check_number("threshold", self.threshold, least=0.0, most=1.0)

    def _filter(self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None) -> StepBeliefs:
        return self._run(model, evidence, is_smoothed=False)

    def _smooth(self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None) -> StepBeliefs:
        if evidence.template.reach > 1:
            raise NotSupported("ParticleFilter smooths networks that look back one step; filter has no such limit.")
        return self._run(model, evidence, is_smoothed=True)

    def _run(self, model: DynamicAnswers, evidence: StepEvidence, is_smoothed: bool) -> StepBeliefs:
        columns, starts = model._columns(), evidence.sequences.starts
        effective_size = float(self.num_particles)
        logs = np.zeros(evidence.sequences.num_steps)
        beliefs = np.full((len(logs), sum(variable.num_states for variable, _, _ in columns)), np.nan)
        generators = generator_of(self.seed).spawn(evidence.sequences.num_sequences)
        for first, last, generator in zip(starts[:-1].tolist(), starts[1:].tolist(), generators, strict=True):
            cloud = _Cloud(evidence, first, self.num_particles, generator)
            for step in range(last - first):
                logs[first + step] = cloud.advance(self.threshold)
                if logs[first + step] == -np.inf:
                    logs[first + step + 1 : last] = np.nan
                    break
                effective_size = min(effective_size, cloud.effective_size)
                for variable, begin, end in columns:
                    values = cloud.paths[variable.name][step]
                    beliefs[first + step, begin:end] = np.bincount(values, cloud.weights, variable.num_states)
            if is_smoothed and last > first and np.isfinite(logs[last - 1]):
                drawn = cloud.trajectories(self.num_trajectories)
                for variable, begin, end in columns:
                    for step, values in enumerate(drawn[variable.name]):
                        counts = np.bincount(values, minlength=variable.num_states)
                        beliefs[first + step, begin:end] = counts / self.num_trajectories
        return StepBeliefs(logs, beliefs, effective_size)


class _Cloud:
    """The particles of one sequence: values of all variables at all steps so far, and weights at each."""

    def __init__(self, evidence: StepEvidence, first: int, size: int, generator: np.random.Generator) -> None:
        self.evidence, self.first, self.size, self.generator = evidence, first, size, generator
        self.paths: Paths = {name: [] for name in evidence.template.variables}
        self.history: list[Floats] = []  # the weights of each step
        self.weights = np.full(size, 1.0 / size)
        self.step = 0
        self.back = max(1, evidence.template.reach)

    @property
    def effective_size(self) -> float:
        """How many particles of equal weight would tell as much (Kong, Liu & Wong 1994)."""
        return 1.0 / float(self.weights @ self.weights)

    def advance(self, threshold: float) -> float:
        """One more slice; the logarithm of the mean weight."""
        template, at = self.evidence.template, self.step
        if at and self.effective_size < threshold * self.size:
            self._resample()
        number = min(at, template.num_first)
        with np.errstate(divide="ignore"):
            logs = np.log(self.weights)
        for name in template.order(number):
            cpd: CPD | None = template.slices[number].get(name)
            if name in self.evidence.settings:
                cpd = self.evidence.settings[name].get(at, cpd)
            values, more = self._drawn(name, cpd)
            self.paths[name].append(values)
            logs = logs + more
        self.step += 1
        peak = float(logs.max())
        if peak == -np.inf:
            return peak
        weights = np.exp(logs - peak)
        total = float(weights.sum())
        self.weights = weights / total
        self.history.append(self.weights)
        return peak + float(np.log(total))

    def _drawn(self, name: str, cpd: CPD | None) -> tuple[NDArray[Any], Floats]:
        """The values of a variable in the slice at hand, and the logarithms of what they weigh."""
        sequences, step, nothing = self.evidence.sequences, self.first + self.step, np.zeros(self.size)
        cell = sequences.columns[name][step] if name in sequences.columns else np.nan
        is_seen = not np.isnan(cell) and not (cell < 0 and not self.evidence.template.variables[name].is_continuous)
        if is_seen:
            values = np.full(self.size, cell)
            if cpd is None:
                return values, nothing
            return values, np.asarray(cpd.log_probability({**self._parents(cpd), name: values}))
        assert cpd is not None
        values = cpd.quantile(self._parents(cpd), self.generator.random(self.size))
        soft = sequences.soft.get(name)
        if soft is not None and (here := soft.steps == step).any():
            with np.errstate(divide="ignore"):
                return values, np.log(soft.weights[here][0])[values]
        return values, nothing

    def _parents(self, cpd: CPD) -> dict[str, NDArray[Any]]:
        parents = {text: lagged(text) for text in cpd.parent_names}
        return {text: self.paths[one.name][self.step - one.lag] for text, one in parents.items()}

    def _resample(self) -> None:
        """Systematic resampling: copies in proportion to weights, as even as can be."""
        levels = (self.generator.random() + np.arange(self.size)) / self.size
        chosen = np.minimum(np.searchsorted(np.cumsum(self.weights), levels, side="right"), self.size - 1)
        for values in self.paths.values():
            for age in range(1, min(self.back, len(values)) + 1):  # older ones are not looked at any more
                values[-age] = values[-age][chosen]
        self.weights = np.full(self.size, 1.0 / self.size)
        self.history[-1] = self.weights

    def trajectories(self, number: int) -> Paths:
        """Trajectories drawn backwards: each step's particle by its weight and by how it leads on to the next step."""
        chosen = self.generator.choice(self.size, number, p=self.history[-1])
        drawn: Paths = {name: [values[-1][chosen]] for name, values in self.paths.items()}
        for at in range(self.step - 2, -1, -1):
            with np.errstate(divide="ignore"):
                logs = np.broadcast_to(np.log(self.history[at]), (number, self.size)).copy()
            for name, cpd in self.evidence.template.cpds_at(at + 1).items():
                held = self.evidence.settings.get(name, {}).get(at + 1, cpd)
                if held is cpd and longest_lag(cpd):
                    logs += self._leads_on(cpd, at, drawn)
            weights = np.exp(logs - logs.max(axis=1, keepdims=True))
            sums = np.cumsum(weights, axis=1)
            levels = self.generator.random(number)[:, None] * sums[:, -1:]
            chosen = np.minimum((sums <= levels).sum(axis=1), self.size - 1)
            for name, values in drawn.items():
                values.insert(0, self.paths[name][at][chosen])
        return drawn

    def _leads_on(self, cpd: CPD, at: int, drawn: Paths) -> Floats:
        """log P of what each trajectory has at the next step, given each particle."""
        columns = {}
        for text in (*cpd.parent_names, cpd.variable.name):
            one: Lagged = lagged(text)
            columns[text] = self.paths[one.name][at][None, :] if one.lag else drawn[one.name][0][:, None]
        return np.asarray(cpd.log_probability(columns))
