"""Variational EM: each case keeps beliefs of its own from step to step, so that the bound never falls."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.inference.engines import check_engine
from plausible.inference.problem import Problem
from plausible.inference.variational.mean_field import MeanField, MeanFieldState
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em_state import EMMethod, EMState
from plausible.learn.incomplete.engine_expectations import case_evidence, mutilated
from plausible.learn.incomplete.expectations import Expectations, ExpectationStep, impossible_case
from plausible.learn.incomplete.maximization import Maximization
from plausible.models import BayesianNetwork

__all__ = ["VariationalEM"]

Floats: TypeAlias = NDArray[np.float64]


@dataclass(frozen=True, slots=True)
class VariationalEM(EMMethod):
    """Mean-field EM: θ and one Q for each case in turn raise F = E_Q[ℓ] + H(Q), a lower bound of the log-likelihood.

    Q treats variables, or blocks of them, as independent given what is observed, so that M̄[x, u] is a sum of products
    of beliefs (Koller & Friedman 2009, section 19.2.4.2). For networks whose clique trees are too large: with Q in one
    block this is EM. The trace, and the log-likelihood of the fit, tell F.

    Cost of a step: some sweeps of mean field for each different case.

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
        assert isinstance(state.memory, tuple)
        after = self._state(step.cases, maximization, network, state.memory)
        return replace(after, trace=(*state.trace, *after.trace), kept_rows=kept)

    def _state(
        self,
        cases: Cases,
        maximization: Maximization,
        network: BayesianNetwork,
        beliefs: tuple[Floats, ...] | None,
    ) -> EMState:
        counts = {name: np.zeros([v.num_states for v in cpd.scope]) for name, cpd in network.cpds.items()}
        logs, kept, is_exact = np.zeros(cases.num_cases), [], True
        ready = [mutilated(network, names) for names in cases.setting_names]
        for case, setting in enumerate(cases.settings.tolist()):
            factors, shift = ready[setting]
            problem = Problem.of(factors, case_evidence(cases, case))
            try:
                state = self._run(problem, None if beliefs is None else beliefs[case])
            except ImpossibleEvidence:
                raise impossible_case(network, cases, case) from None
            logs[case] = shift + state.energy + problem.log_scale
            is_exact &= state.plan.is_exact
            kept.append(state.beliefs)
            _add(_Seen(cases, case, network, counts), self.engine, problem, state)
        found = Expectations(float(cases.weights @ logs), logs, counts, is_exact=is_exact)
        objective = found.log_likelihood + maximization.log_prior(network)
        return EMState(network, found, (objective,), {}, tuple(kept))

    def _run(self, problem: Problem, beliefs: Floats | None) -> MeanFieldState:
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        if beliefs is None:
            return self.engine.run(problem)
        state = replace(self.engine.init(problem), beliefs=beliefs)
        for _ in range(self.sweeps or self.engine.max_iterations):
            state = self.engine.step(problem, state)
            if state.converged:
                break
        return state


class _Seen(NamedTuple):
    """A case, and the counts that it adds to."""

    cases: Cases
    case: int
    network: BayesianNetwork
    counts: Mapping[str, Floats]


def _add(seen: _Seen, engine: MeanField, problem: Problem, state: MeanFieldState) -> None:
    """Add what the beliefs of a case expect of all families whose variable was not set."""
    cases, case = seen.cases, seen.case
    codes = dict(zip(cases.variables, cases.codes[case].tolist(), strict=True))
    set_names = cases.setting_names[int(cases.settings[case])]
    scopes = {name: cpd.scope for name, cpd in seen.network.cpds.items() if name not in set_names}
    groups = [problem.places([v for v in scope if codes[v.name] < 0]) for scope in scopes.values()]
    tables = engine.beliefs_from(problem, state, [tuple(group) for group in groups]).tables
    for (name, scope), table in zip(scopes.items(), tables, strict=True):
        observed = tuple(codes[v.name] if codes[v.name] >= 0 else slice(None) for v in scope)
        seen.counts[name][observed] += cases.weights[case] * table
