"""Approximate beliefs over time by particles, for any distributions, numbers that are hidden among them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import Seed, check_count, check_flag, check_number, generator_of
from plausible.inference.budget import Budget
from plausible.models.sequences.observations import NumberBeliefs, StepBeliefs, StepEvidence
from plausible.models.sequences.particles import Cloud, Slice

if TYPE_CHECKING:
    from plausible.models.sequences.dynamic_answers import DynamicAnswers


@dataclass(frozen=True, slots=True)
class ParticleFilter:
    """Filter by drawing slice after slice, weighing by what is observed (Gordon, Salmond & Smith 1993).

    Hidden variables are drawn given their parents, observed ones weigh the particles. Where the weights become uneven,
    particles are drawn anew, systematically. `smooth` draws whole trajectories backwards (Godsill, Doucet & West 2004),
    which takes particles times trajectories a step. Numbers that are hidden are told by their means and deviations.
    Frames of answers tell in `.attrs["effective_sizes"]` how many particles of equal weight told as much at each step,
    and in `.attrs["effective_size"]` where they were fewest.

    Attributes
    ----------
    num_particles
        How many there are; errors fall with their square root.
    threshold
        Particles are drawn anew where the effective sample size is below this share of them.
    num_trajectories
        How many are drawn for smoothing.
    auxiliary
        Whether particles are drawn anew by how well they foretell the next row, and not only by the rows so far (Pitt &
        Shephard 1999): for rows that tell much, of what moves little by itself.
    seed
        Equal seeds give equal answers.

    >>> ParticleFilter(500, seed=0)
    ParticleFilter(num_particles=500, threshold=0.5, num_trajectories=200, auxiliary=False, seed=0)
    """

    num_particles: int = 1000
    threshold: float = 0.5
    num_trajectories: int = 200
    auxiliary: bool = False
    seed: Seed = None

    def __post_init__(self) -> None:
        check_count("num_particles", self.num_particles, 1)
        check_count("num_trajectories", self.num_trajectories, 1)
        check_number("threshold", self.threshold, least=0.0, most=1.0)
        check_flag("auxiliary", self.auxiliary)

    def _filter(
        self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None, level: float
    ) -> StepBeliefs:
        return self._run(model, evidence, level, is_smoothed=False)

    def _smooth(
        self, model: DynamicAnswers, evidence: StepEvidence, budget: Budget | None, level: float
    ) -> StepBeliefs:
        return self._run(model, evidence, level, is_smoothed=True)

    def _run(self, model: DynamicAnswers, evidence: StepEvidence, level: float, is_smoothed: bool) -> StepBeliefs:
        sequences = evidence.sequences
        told = _Told.over(model, evidence, level)
        logs, sizes = np.zeros(sequences.num_steps), np.full(sequences.num_steps, np.nan)
        generators = generator_of(self.seed).spawn(sequences.num_sequences)
        for first, last, generator in zip(
            sequences.starts[:-1].tolist(), sequences.starts[1:].tolist(), generators, strict=True
        ):
            cloud = Cloud(evidence, first, self.num_particles, generator)
            for step in range(first, last):
                logs[step] = cloud.advance(self.threshold, self.auxiliary)
                if logs[step] == -np.inf:
                    logs[step + 1 : last] = np.nan
                    break
                sizes[step] = cloud.effective_size
                told.tell(step, cloud.values[-1], cloud.weights)
            if is_smoothed and last > first and np.isfinite(logs[last - 1]):
                shares = np.full(self.num_trajectories, 1.0 / self.num_trajectories)
                for step, values in enumerate(cloud.trajectories(self.num_trajectories)):
                    told.tell(first + step, values, shares)
        return StepBeliefs(logs, told.marginals, told.numbers, sizes)


@dataclass(frozen=True, slots=True, eq=False)
class _Told:
    """What particles say of all variables, step by step."""

    columns: list[tuple[str, int, int]]  # the discrete variables, and where their beliefs lie
    marginals: Floats
    numbers: dict[str, NumberBeliefs]
    level: float

    @classmethod
    def over(cls, model: DynamicAnswers, evidence: StepEvidence, level: float) -> _Told:
        columns = [(variable.name, start, end) for variable, start, end in model._columns()]
        num_steps = evidence.sequences.num_steps
        marginals = np.full((num_steps, columns[-1][2] if columns else 0), np.nan)
        return cls(
            columns, marginals, {n: NumberBeliefs.of(num_steps) for n in sorted(evidence.template.continuous)}, level
        )

    def tell(self, step: int, values: Slice, weights: Floats) -> None:
        """The beliefs of one step."""
        for name, start, end in self.columns:
            self.marginals[step, start:end] = np.bincount(values[name], weights, end - start)
        for name, beliefs in self.numbers.items():
            beliefs.tell(step, values[name], weights, self.level)
