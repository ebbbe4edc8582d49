"""EM that looks for better optima: it sees a blurred likelihood first, or several runs go on side by side."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace
from functools import partial

import numpy as np

from plausible.base import Checked, check_count, real, whole
from plausible.errors import InvalidArgument
from plausible.learn.incomplete.expectations import Expectations
from plausible.learn.incomplete.methods import exact_step
from plausible.learn.incomplete.problem import EMMethod, EMProblem, EMState
from plausible.learn.incomplete.starts_and_stops import start_network, symmetric_hidden
from plausible.models import BayesianNetwork
from plausible.search.run import best_first

#: States of a hidden variable are alike where no child's probabilities differ by more, and are parted by such noise.
_ALIKE, _NOISE = 0.05, 0.3


class _Distorting(EMMethod):
    """A number of steps with distorted expectations, then plain EM."""

    __slots__ = ()

    num_steps: int

    @property
    def num_scheduled(self) -> int:
        """The steps with distorted expectations."""
        return self.num_steps

    @abstractmethod
    def _distorted(self, problem: EMProblem, network: BayesianNetwork, number: int) -> Expectations:
        """What is expected after so many steps of the schedule."""

    def _apart(self, problem: EMProblem, network: BayesianNetwork, number: int) -> BayesianNetwork:
        """The network after so many steps, changed where the distortion has made what is hidden useless."""
        return network

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        return problem.at(network, expectations=self._expected(problem, network, 0))

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One M-step, then one E-step, distorted as the schedule says."""
        if state.num_steps >= self.num_steps:
            return EMMethod.step(self, problem, state)
        network, kept = problem.maximized(state)
        network = self._apart(problem, network, state.num_steps + 1)
        return problem.at(network, kept, state, self._expected(problem, network, state.num_steps + 1))

    def _expected(self, problem: EMProblem, network: BayesianNetwork, number: int) -> Expectations:
        true = exact_step(problem, type(self).__name__).at(network)
        if number >= self.num_steps:
            return true
        seen = self._distorted(problem, network, number)
        return replace(true, counts=seen.counts, is_exact=seen.is_exact)


@dataclass(frozen=True, slots=True)
class AnnealedEM(_Distorting, Checked, first=real(above=0, most=1), num_steps=whole(1)):
    """Deterministic annealing: completions weigh P(h | observed)^β, with β rising to one (Ueda & Nakano 1998).

    At each β a step of EM does not lower Σ (1/β) log Σ_h P(observed, h)^β, which for small β has fewer local maxima;
    the trace tells the log-likelihood, which may fall until β is one. Plain EM follows.

    For small β this maximum has all states of a hidden variable alike, where EM stands still for ever. Where no
    child tells them apart by more than 0.05, tables are multiplied by exp(0.3 z), z normal, so that states part as soon
    as that is likelier (Rose 1998).

    Cost of a step of the schedule: two E-steps.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=AnnealedEM(num_steps=5))
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    first: float = 0.3  # β at the start, above zero
    num_steps: int = 20  # β is first^(1 - k / num_steps) at step k
    seed: int = 0  # Of what is done to states that are alike

    def _distorted(self, problem: EMProblem, network: BayesianNetwork, number: int) -> Expectations:
        power = self.first ** (1.0 - number / self.num_steps)
        return exact_step(problem, "AnnealedEM").at(network, power=power)

    def _apart(self, problem: EMProblem, network: BayesianNetwork, number: int) -> BayesianNetwork:
        if not symmetric_hidden(network, problem.cases, _ALIKE):
            return network
        return problem.maximization.perturbed(network, _NOISE, np.random.default_rng([self.seed, number]))


@dataclass(frozen=True, slots=True)
class ReweightedEM(_Distorting, Checked, spread=real(least=0), num_steps=whole(1)):
    """Cases weigh more or less at random, less and less so: perturbed data (Elidan, Ninio, Friedman & Schuurmans 2002).

    At step k the weight of each case is multiplied by exp(s z), z normal and s = spread (1 - k / num_steps), and all
    are scaled to their total. The trace tells the log-likelihood with the true weights, which may fall until then.
    Plain EM follows.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=ReweightedEM(spread=0.5)).log_likelihood, 3)
    -2.773
    """

    spread: float = 1.0  # s at the start
    num_steps: int = 20  # The steps with other weights
    seed: int = 0

    def _distorted(self, problem: EMProblem, network: BayesianNetwork, number: int) -> Expectations:
        cases = problem.cases.in_memory("ReweightedEM")
        spread = self.spread * (1.0 - number / self.num_steps)
        noise = np.random.default_rng([self.seed, number]).standard_normal(cases.num_cases)
        weights = cases.weights * np.exp(spread * noise)
        total = weights.sum()
        scaled = weights * (cases.total / total) if total else weights
        return exact_step(problem, "ReweightedEM").at(network, weights=scaled)


def _leading(members: list[EMState], before: EMState | None = None, most: int | None = None) -> EMState:
    """The state of the best member, which remembers the best ones, the best first."""
    ordered = tuple(best_first(members, lambda member: member.objective))
    num_steps = 0 if before is None else before.num_steps + 1
    return replace(ordered[0], num_steps=num_steps, memory=ordered[:most])


@dataclass(frozen=True, slots=True)
class BeamEM(EMMethod, Checked, population=whole(1), every=whole(1)):
    """Runs from the start and from random tables go on together; every few steps the worse half is dropped.

    The trace is that of the best run, and never falls. All selections together cost about 2 · population · every steps
    of EM.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=BeamEM(population=4))
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    population: int = 8  # The runs at first
    every: int = 3  # Steps between two selections
    seed: int = 0

    @property
    def num_scheduled(self) -> int:
        """The steps after which one run is left: each selection halves them, rounded up."""
        return self.every * (int(self.population) - 1).bit_length()

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """All starts."""
        drawn = partial(start_network, problem.maximization, problem.cases, "random", np.random.default_rng(self.seed))
        return _leading([problem.at(one) for one in (network, *(drawn() for _ in range(self.population - 1)))])

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One step of each run, and a selection where it is time."""
        assert isinstance(state.memory, tuple)
        members = [EMMethod.step(self, problem, member) for member in state.memory]
        is_time = (state.num_steps + 1) % self.every == 0
        return _leading(members, state, -(-len(members) // 2) if is_time else None)


@dataclass(frozen=True, slots=True)
class PerturbedEM(EMMethod):
    """Each step also tries perturbed copies of the best networks, and goes on with the best of all.

    Entries of tables are multiplied by exp(noise · z), z normal, and rows normalised. The kept networks themselves
    also make their step, so that the best never falls. After some rounds plain EM finishes from the best.

    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=PerturbedEM(rounds=5))
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    population: int = 6  # Networks tried in each round
    kept: int = 2  # How many of them go on
    noise: float = 0.5  # How far copies are moved
    rounds: int = 10  # The steps with copies
    seed: int = 0

    def __post_init__(self) -> None:
        for name in ("population", "kept", "rounds"):
            check_count(name, getattr(self, name), 1)
        if self.kept > self.population or not self.noise > 0:
            raise InvalidArgument("kept= is at most population=, and noise= is positive.")

    @property
    def num_scheduled(self) -> int:
        """The steps with copies."""
        return self.rounds

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """The start alone."""
        return _leading([problem.at(network)])

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """A step of the kept networks and of their copies."""
        members = state.memory
        assert isinstance(members, tuple)
        if state.num_steps >= self.rounds:
            return _leading([EMMethod.step(self, problem, members[0])], state)
        generator = np.random.default_rng([self.seed, state.num_steps])
        copied = [members[number % len(members)].network for number in range(self.population - len(members))]
        copies = [problem.tried(problem.maximization.perturbed(one, self.noise, generator)) for one in copied]
        # none where noise that underflows has made zeros
        tried = [*members, *(copy for copy in copies if copy is not None)]
        return _leading([EMMethod.step(self, problem, one) for one in tried], state, self.kept)
