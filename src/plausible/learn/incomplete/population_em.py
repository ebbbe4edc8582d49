"""Several runs of EM side by side, of which the better ones go on: beam search, and perturb and select."""

from __future__ import annotations

from dataclasses import dataclass, replace

import numpy as np

from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.learn.em_runs import best_first
from plausible.learn.incomplete.em_state import EMMethod, EMState, em_init, em_step
from plausible.learn.incomplete.expectations import ExpectationStep
from plausible.learn.incomplete.free_tables import perturbed
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.starts import start_network
from plausible.models import BayesianNetwork

__all__ = ["BeamEM", "PerturbedEM"]


def _leading(trace: tuple[float, ...], members: list[EMState]) -> EMState:
    """The state of the best member, which remembers all, the best first."""
    ordered = tuple(best_first(members, lambda member: member.objective))
    return replace(ordered[0], trace=(*trace, ordered[0].objective), memory=ordered)


def _members(state: EMState) -> tuple[EMState, ...]:
    assert isinstance(state.memory, tuple)
    return state.memory


@dataclass(frozen=True, slots=True)
class BeamEM(EMMethod):
    """Runs from the start and from random tables go on together; every few steps the worse half is dropped.

    The trace is that of the best run, and never falls.

    Parameters
    ----------
    population
        The runs at first.
    every
        Steps between two selections.
    seed
        Of the random tables.

    Notes
    -----
    All selections together cost about 2 · population · every steps of EM.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=BeamEM(population=4))
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    population: int = 8
    every: int = 3
    seed: int = 0

    def __post_init__(self) -> None:
        _check_counts(population=self.population, every=self.every)

    def init(self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
        """All starts."""
        generator = np.random.default_rng(self.seed)
        more = [start_network(maximization, step.cases, "random", generator) for _ in range(self.population - 1)]
        return _leading((), [em_init(step, maximization, one) for one in (network, *more)])

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """One step of each run, and a selection where it is time."""
        stepped = _leading(state.trace, [em_step(step, maximization, member) for member in _members(state)])
        if stepped.num_steps % self.every:
            return stepped
        members = _members(stepped)
        return replace(stepped, memory=members[: -(-len(members) // 2)])

    def is_settled(self, state: EMState) -> bool:
        """Whether one run is left."""
        return len(_members(state)) == 1


@dataclass(frozen=True, slots=True)
class PerturbedEM(EMMethod):
    """Each step also tries perturbed copies of the best networks, and goes on with the best of all.

    Entries of tables are multiplied by exp(noise · z), z normal, and rows normalised. The kept networks themselves
    also make their step, so that the best never falls. After some rounds plain EM finishes from the best.

    Parameters
    ----------
    population
        Networks tried in each round.
    kept
        How many of them go on.
    noise
        How far copies are moved.
    rounds
        The steps with copies.
    seed
        Of the noise.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=PerturbedEM(rounds=5))
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    population: int = 6
    kept: int = 2
    noise: float = 0.5
    rounds: int = 10
    seed: int = 0

    def __post_init__(self) -> None:
        _check_counts(population=self.population, kept=self.kept, rounds=self.rounds)
        if self.kept > self.population or not self.noise > 0:
            raise InvalidArgument("kept= is at most population=, and noise= is positive.")

    def init(self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
        """The start alone."""
        return _leading((), [em_init(step, maximization, network)])

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """A step of the kept networks and of their copies."""
        members = _members(state)
        if self.is_settled(state):
            return _leading(state.trace, [em_step(step, maximization, members[0])])
        generator = np.random.default_rng([self.seed, state.num_steps])
        tried = list(members)
        for number in range(self.population - len(members)):
            network = perturbed(maximization, members[number % len(members)].network, self.noise, generator)
            try:
                tried.append(em_init(step, maximization, network))
            except ImpossibleEvidence:  # zeros that come of noise which underflows
                continue
        best = _leading(state.trace, [em_step(step, maximization, one) for one in tried])
        return replace(best, memory=_members(best)[: self.kept])

    def is_settled(self, state: EMState) -> bool:
        """Whether there are no more copies."""
        return state.num_steps >= self.rounds


def _check_counts(**counts: int) -> None:
    for name, count in counts.items():
        if not count >= 1:
            raise InvalidArgument(f"{name}= is at least 1, not {count!r}.")
