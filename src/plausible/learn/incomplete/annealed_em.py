"""EM that sees a blurred likelihood first: tempered posteriors, or cases with other weights."""

from __future__ import annotations

from abc import abstractmethod
from dataclasses import dataclass, replace

import numpy as np

from plausible.errors import InvalidArgument
from plausible.learn.incomplete.em_state import EMMethod, EMState, em_step, exact_step
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, ExpectationStep
from plausible.learn.incomplete.free_tables import perturbed
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.starts import symmetric_hidden
from plausible.models import BayesianNetwork

__all__ = ["AnnealedEM", "ReweightedEM"]

#: States of a hidden variable are alike where no child's probabilities differ by more, and are parted by such noise.
_ALIKE, _NOISE = 0.05, 0.3


class _Scheduled(EMMethod):
    """A number of steps with distorted expectations, then plain EM."""

    __slots__ = ()

    num_steps: int

    @abstractmethod
    def _distorted(self, step: ExactExpectations, network: BayesianNetwork, number: int) -> Expectations:
        """What is expected after so many steps of the schedule."""

    def init(self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
        """The state before the first step."""
        return self._state(step, maximization, network, ())

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """One M-step, then one E-step, distorted as the schedule says."""
        if self.is_settled(state):
            return em_step(step, maximization, state)
        network, kept = maximization.network(state.expectations.counts, state.network)
        network = self._apart(step, maximization, network, state.num_steps + 1)
        return replace(self._state(step, maximization, network, state.trace), kept_rows=kept)

    def _apart(
        self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork, number: int
    ) -> BayesianNetwork:
        """The network after so many steps, changed where the distortion has made what is hidden useless."""
        return network

    def is_settled(self, state: EMState) -> bool:
        """Whether the schedule is over."""
        return state.num_steps >= self.num_steps

    def _state(
        self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork, trace: tuple[float, ...]
    ) -> EMState:
        exact = exact_step(step, type(self).__name__)
        found = exact.at(network)
        objective = found.log_likelihood + maximization.log_prior(network)
        if len(trace) < self.num_steps:
            seen = self._distorted(exact, network, len(trace))
            found = replace(seen, log_likelihood=found.log_likelihood, case_log_likelihoods=found.case_log_likelihoods)
        return EMState(network, found, (*trace, objective), {})


@dataclass(frozen=True, slots=True)
class AnnealedEM(_Scheduled):
    """Deterministic annealing: completions weigh P(h | observed)^β, with β rising to one (Ueda & Nakano 1998).

    At each β a step of EM does not lower Σ (1/β) log Σ_h P(observed, h)^β, which for small β has fewer local maxima;
    the trace tells the log-likelihood, which may fall until β is one. Plain EM follows.

    For small β this maximum has all states of a hidden variable alike, where EM stands still for ever. Where no
    child tells them apart by more than 0.05, tables are multiplied by exp(0.3 z), z normal, so that states part as soon
    as that is likelier (Rose 1998).

    Cost of a step of the schedule: two E-steps.

    Parameters
    ----------
    first
        β at the start, above zero.
    num_steps
        β is first^(1 - k / num_steps) at step k.
    seed
        Of what is done to states that are alike.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method=AnnealedEM(num_steps=5))
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    first: float = 0.3
    num_steps: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if not 0 < self.first <= 1:
            raise InvalidArgument(f"first= is above 0 and at most 1, not {self.first!r}.")
        _check_steps(self.num_steps)

    def _distorted(self, step: ExactExpectations, network: BayesianNetwork, number: int) -> Expectations:
        return step.distorted(network, self.first ** (1.0 - number / self.num_steps))

    def _apart(
        self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork, number: int
    ) -> BayesianNetwork:
        if not symmetric_hidden(network, step.cases, _ALIKE):
            return network
        return perturbed(maximization, network, _NOISE, np.random.default_rng([self.seed, number]))


@dataclass(frozen=True, slots=True)
class ReweightedEM(_Scheduled):
    """Cases weigh more or less at random, less and less so: perturbed data (Elidan, Ninio, Friedman & Schuurmans 2002).

    At step k the weight of each case is multiplied by exp(s z), z normal and s = spread (1 - k / num_steps), and all
    are scaled to their total. The trace tells the log-likelihood with the true weights, which may fall until then.
    Plain EM follows.

    Parameters
    ----------
    spread
        s at the start.
    num_steps
        The steps with other weights.
    seed
        Of the weights.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=ReweightedEM(spread=0.5)).log_likelihood, 3)
    -2.773
    """

    spread: float = 1.0
    num_steps: int = 20
    seed: int = 0

    def __post_init__(self) -> None:
        if not self.spread >= 0:
            raise InvalidArgument(f"spread= is not negative, as {self.spread!r} is.")
        _check_steps(self.num_steps)

    def _distorted(self, step: ExactExpectations, network: BayesianNetwork, number: int) -> Expectations:
        cases = step.cases
        spread = self.spread * (1.0 - number / self.num_steps)
        noise = np.random.default_rng([self.seed, number]).standard_normal(cases.num_cases)
        weights = cases.weights * np.exp(spread * noise)
        total = weights.sum()
        return step.distorted(network, weights=weights * (cases.total / total) if total else weights)


def _check_steps(num_steps: int) -> None:
    if not num_steps >= 1:
        raise InvalidArgument(f"num_steps= of a schedule is at least 1, not {num_steps!r}.")
