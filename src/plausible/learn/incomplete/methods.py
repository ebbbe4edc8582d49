"""The ways to make steps of EM: their base, and those that differ in how cases are completed."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.errors import NotSupported
from plausible.inference.engines import Engine, check_engine
from plausible.inference.variational.mean_field import MeanField
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.engine_expectations import EngineExpectations
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, ExpectationStep
from plausible.learn.incomplete.functional import expected_log_likelihood
from plausible.learn.incomplete.hard_expectations import HardExpectations
from plausible.learn.incomplete.maximization import Masks
from plausible.learn.incomplete.mean_field_expectations import mean_field_expectations
from plausible.learn.incomplete.problem import EMProblem, EMState, expectation_step
from plausible.models import BayesianNetwork

#: Smaller counts are taken as zero: over their sum they might underflow to a probability of zero, and F to -inf.
_SMALLEST = 1e-290


class EMMethod(ABC):
    """A way to make steps of EM; subclasses are frozen and hold their options only."""

    __slots__ = ()

    @property
    def num_scheduled(self) -> int:
        """The first steps, in which objectives may fall and small gains mean nothing: no rule looks at them."""
        return 0

    def expectation_step(
        self, cases: Cases, engine: Engine | None = None, learned_from: Cases | None = None
    ) -> ExpectationStep:
        """The E-step of this method: exact, or by an engine; in the units of the cases that are learned from."""
        if engine is None:
            return expectation_step(cases, learned_from)
        _refuse_numbers(cases, "EM by an engine")
        return EngineExpectations(cases, engine)

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """The state before the first step."""
        return problem.at(network)

    @abstractmethod
    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """The next state."""


@dataclass(frozen=True, slots=True)
class PlainEM(EMMethod):
    """An M-step for all distributions, then an E-step for all cases."""

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One step of EM."""
        return problem.step(state)


def exact_step(problem: EMProblem, method: str) -> ExactExpectations:
    """The E-step, which must be exact, and of states only."""
    _refuse_numbers(problem.cases, method)
    if not isinstance(problem.expectation, ExactExpectations):
        raise NotSupported(f"{method} needs exact expectations: leave engine= out, or take another method=.")
    return problem.expectation


def _refuse_numbers(cases: Cases, method: str) -> None:
    """Continuous variables are for methods with exact expectations."""
    for name in cases.continuous:
        raise NotSupported(
            f"{method} completes states only, but {name!r} is continuous: take method='em', or discretise."
        )


@dataclass(frozen=True, slots=True)
class HardEM(EMMethod):
    """Complete each case by its most probable states, then count: max over θ and h of log P(observed, h | θ).

    This objective never falls; completions are finitely many, so that it stops rising after finitely many steps
    (Koller & Friedman 2009, section 19.2.2.6). It is faster and makes sharper clusters than EM, whose answer it has
    where completions are certain. What the fit calls `log_likelihood` is that of the completed cases.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> fit = learn_em("H -> x; H -> y", {"x": [0, 0, 1, 1], "y": [0, 0, 1, 1]}, hidden={"H": 2}, method="hard")
    >>> fit.stopped_by, round(fit.log_likelihood, 4)
    ('converged', -2.7726)
    """

    def expectation_step(
        self, cases: Cases, engine: Engine | None = None, learned_from: Cases | None = None
    ) -> ExpectationStep:
        """Most probable completions."""
        _refuse_numbers(cases, "Hard EM")
        if engine is not None:
            raise NotSupported("Hard EM finds most probable completions by itself: leave engine= out.")
        return HardExpectations(cases)

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One step of EM, with these completions."""
        return problem.step(state)


@dataclass(frozen=True, slots=True)
class VariationalEM(EMMethod):
    """Mean-field EM: θ and one Q for each case in turn raise F = E_Q[ℓ] + H(Q), a lower bound of the log-likelihood.

    Q treats variables, or blocks of them, as independent given what is observed, so that M̄[x, u] is a sum of products
    of beliefs (Koller & Friedman 2009, section 19.2.4.2). Each case keeps beliefs of its own from step to step, so that
    the bound never falls. For networks whose clique trees are too large: with Q in one block this is EM. The trace, and
    the log-likelihood of the fit, tell F.

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
        if self.sweeps is not None:
            check_count("sweeps", self.sweeps, 1)

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """The best beliefs that the engine finds at the start."""
        check_engine(self.engine, network.variables)
        return self._at(problem, network)

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One M-step, then sweeps from the beliefs before."""
        return self._at(problem, *problem.maximized(state), state)

    def _at(
        self, problem: EMProblem, network: BayesianNetwork, kept: Masks | None = None, before: EMState | None = None
    ) -> EMState:
        beliefs = before.memory if before is not None and isinstance(before.memory, tuple) else None
        found, beliefs = mean_field_expectations(self.engine, network, problem.cases, beliefs, self.sweeps)
        return problem.at(network, kept, before, found, beliefs)


class _Blocks(NamedTuple):
    """What each block of cases was found to be like when it was last looked at."""

    steps: tuple[ExactExpectations, ...]  # the E-step of each
    counts: tuple[Mapping[str, Floats], ...]  # of each, name -> expected counts
    entropies: tuple[float, ...]  # of each, H(Q)
    bounds: tuple[float, ...] = ()  # F and the log-prior after each block of the last pass


@dataclass(frozen=True, slots=True)
class IncrementalEM(EMMethod):
    """Cases in blocks: complete one block, put its new counts in place of its old ones, make an M-step, and go on.

    M̄ ← M̄ - M̄_block(before) + M̄_block(now), then θ_{x|u} = M̄[x, u] / M̄[u]. (Algorithm 19.4 of Koller & Friedman 2009
    divides by M[u], a misprint.) What never falls, block by block, is F = E_Q[ℓ] + H(Q), where Q completes each block
    by the network of its own time (Neal & Hinton 1998): a lower bound of the log-likelihood, which may fall for a
    while; both meet at the end. The trace tells F, and so does the log-likelihood of the fit.

    Cost of a step, which is a pass over all blocks: one E-step, and an M-step for each block. Memory: a set of tables
    for each block.

    Parameters
    ----------
    num_blocks
        How many blocks; each has about as many different cases. With as many blocks as cases, one case at a time.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = {"rain": ["no", "yes", None, "no"], "grass": ["dry", "wet", "wet", None]}
    >>> round(learn_em("rain -> grass", rows, method=IncrementalEM(num_blocks=2)).log_likelihood, 3)
    -2.773
    """

    num_blocks: int = 10

    def __post_init__(self) -> None:
        check_count("num_blocks", self.num_blocks, 1)

    def init(self, problem: EMProblem, network: BayesianNetwork) -> EMState:
        """All blocks completed by the start."""
        exact_step(problem, "IncrementalEM")
        cases = problem.cases
        mixed = np.random.default_rng(0).permutation(cases.num_cases)  # alike cases apart, which are sorted together
        parts = np.array_split(mixed, min(self.num_blocks, max(1, cases.num_cases)))
        steps = tuple(ExactExpectations(cases.some(part)) for part in parts)
        found = [some.at(network) for some in steps]
        entropies = tuple(_entropy(network, some) for some in found)
        return replace(problem.init(network), memory=_Blocks(steps, tuple(some.counts for some in found), entropies))

    def step(self, problem: EMProblem, state: EMState) -> EMState:
        """One pass over all blocks, an M-step before each."""
        memory, maximization = state.memory, problem.maximization
        assert isinstance(memory, _Blocks)
        counts, entropies, bounds = list(memory.counts), list(memory.entropies), []
        # summed anew for each pass, so that rounding does not pile up
        totals = {name: np.sum([some[name] for some in counts], axis=0) for name in counts[0]}
        network, kept = state.network, state.kept_rows
        for block, some in enumerate(memory.steps):
            network, kept = maximization.network(totals, network)
            found = some.at(network)
            totals = {name: np.maximum(totals[name] - counts[block][name], 0.0) + found.counts[name] for name in totals}
            totals = {name: np.where(table > _SMALLEST, table, 0.0) for name, table in totals.items()}
            counts[block], entropies[block] = found.counts, _entropy(network, found)
            expected = expected_log_likelihood(network, Expectations(0.0, np.empty(0), totals))
            bounds.append(expected + sum(entropies) + maximization.log_prior(network))
        log_likelihood = bounds[-1] - maximization.log_prior(network)
        expectations = Expectations(log_likelihood, np.empty(0), totals, is_exact=False)
        after = _Blocks(memory.steps, tuple(counts), tuple(entropies), tuple(bounds))
        return EMState(network, expectations, bounds[-1], state.num_steps + 1, kept, memory=after)


def _entropy(network: BayesianNetwork, found: Expectations) -> float:
    """H(Q) = ℓ - E_Q[ℓ] where Q is the posterior under the network."""
    return found.log_likelihood - expected_log_likelihood(network, found)
