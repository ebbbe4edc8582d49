"""Variational EM: each case keeps beliefs of its own from step to step, so that the bound never falls."""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from plausible.errors import InvalidArgument
from plausible.inference.engines import check_engine
from plausible.inference.variational.mean_field import MeanField
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em_state import EMMethod, EMState
from plausible.learn.incomplete.expectations import ExpectationStep
from plausible.learn.incomplete.maximization import Maximization
from plausible.learn.incomplete.mean_field_cases import mean_field_expectations
from plausible.models import BayesianNetwork

__all__ = ["VariationalEM"]


@dataclass(frozen=True, slots=True)
class VariationalEM(EMMethod):
    """Mean-field EM: θ and one Q for each case in turn raise F = E_Q[ℓ] + H(Q), a lower bound of the log-likelihood.

    Q treats variables, or blocks of them, as independent given what is observed, so that M̄[x, u] is a sum of products
    of beliefs (Koller & Friedman 2009, section 19.2.4.2). For networks whose clique trees are too large: with Q in one
    block this is EM. The trace, and the log-likelihood of the fit, tell F.

    Cost of a step: some sweeps of mean field, cases with the same cells missing together; one different case after the
    other where the engine has blocks of several variables.

    Parameters
    ----------
    engine
        Its blocks, tolerance and restarts; restarts count before the first step only.
    sweeps
        At most so many sweeps a step: a partial E-step. All that the engine wants where left out.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1], "z": [0, 0, 1, 1]}
    >>> fit = learn_em("H -> x; H -> y; H -> z", rows, hidden={"H": 2}, method="variational")
    >>> round(fit.log_likelihood, 3)
    -2.773
    """

    engine: MeanField = field(default_factory=MeanField)
    sweeps: int | None = None

    def __post_init__(self) -> None:
        if self.sweeps is not None and not self.sweeps >= 1:
            raise InvalidArgument(f"sweeps= is at least 1, or left out, not {self.sweeps!r}.")

    def init(self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
        """The best beliefs that the engine finds at the start."""
        check_engine(self.engine, network.variables)
        return self._state(step.cases, maximization, network, None)

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """One M-step, then sweeps from the beliefs before."""
        network, kept = maximization.network(state.expectations.counts, state.network)
        after = self._state(step.cases, maximization, network, state.memory)
        return replace(after, trace=(*state.trace, *after.trace), kept_rows=kept)

    def _state(
        self,
        cases: Cases,
        maximization: Maximization,
        network: BayesianNetwork,
        memory: object,
    ) -> EMState:
        before = memory if isinstance(memory, tuple) else None
        found, beliefs = mean_field_expectations(self.engine, network, cases, before, self.sweeps)
        objective = found.log_likelihood + maximization.log_prior(network)
        return EMState(network, found, (objective,), {}, beliefs)
