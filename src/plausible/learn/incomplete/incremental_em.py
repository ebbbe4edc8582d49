"""EM that learns from some cases before it looks at the next (Neal & Hinton 1998)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Positions
from plausible.errors import InvalidArgument
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.em_state import EMMethod, EMState, em_init, exact_step
from plausible.learn.incomplete.expectations import ExactExpectations, Expectations, ExpectationStep
from plausible.learn.incomplete.functional import expected_log_likelihood
from plausible.learn.incomplete.maximization import Maximization
from plausible.models import BayesianNetwork

__all__ = ["IncrementalEM", "IncrementalMemory"]


#: Smaller counts are taken as zero: over their sum they might underflow to a probability of zero, and F to -inf.
_SMALLEST = 1e-290


class IncrementalMemory(NamedTuple):
    """What each block of cases was found to be like when it was last looked at.

    Attributes
    ----------
    steps
        The E-step of each block.
    counts
        Of each block, name -> expected counts.
    entropies
        Of each block, H(Q).
    bounds
        F and the log-prior after each block of the last pass.
    """

    steps: tuple[ExactExpectations, ...]
    counts: tuple[Mapping[str, Floats], ...]
    entropies: tuple[float, ...]
    bounds: tuple[float, ...] = ()


@dataclass(frozen=True, slots=True)
class IncrementalEM(EMMethod):
    """Cases in blocks: complete one block, put its new counts in place of its old ones, make an M-step, and go on.

    M̄ ← M̄ - M̄_block(before) + M̄_block(now), then θ_{x|u} = M̄[x, u] / M̄[u]. (Algorithm 19.4 of Koller & Friedman 2009
    divides by M[u], a misprint.) What never falls, block by block, is F = E_Q[ℓ] + H(Q), where Q completes each block
    by the network of its own time: a lower bound of the log-likelihood, which may fall for a while; both meet at the
    end. The trace tells F, and so does the log-likelihood of the fit.

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
        if not self.num_blocks >= 1:
            raise InvalidArgument(f"num_blocks= is at least 1, not {self.num_blocks!r}.")

    def init(self, step: ExpectationStep, maximization: Maximization, network: BayesianNetwork) -> EMState:
        """All blocks completed by the start."""
        exact_step(step, "IncrementalEM")
        parts = np.array_split(_mixed(step.cases.num_cases), min(self.num_blocks, max(1, step.cases.num_cases)))
        steps = tuple(ExactExpectations(_part(step.cases, part)) for part in parts)
        found = [some.at(network) for some in steps]
        entropies = tuple(_entropy(network, some) for some in found)
        memory = IncrementalMemory(steps, tuple(some.counts for some in found), entropies)
        return replace(em_init(step, maximization, network), memory=memory)

    def step(self, step: ExpectationStep, maximization: Maximization, state: EMState) -> EMState:
        """One pass over all blocks, an M-step before each."""
        memory = state.memory
        assert isinstance(memory, IncrementalMemory)
        counts, entropies, bounds = list(memory.counts), list(memory.entropies), []
        totals = _summed(counts)  # anew for each pass, so that rounding does not pile up
        network, kept = state.network, state.kept_rows
        for block, some in enumerate(memory.steps):
            network, kept = maximization.network(totals, network)
            found = some.at(network)
            totals = {name: np.maximum(totals[name] - counts[block][name], 0.0) + found.counts[name] for name in totals}
            totals = {name: np.where(table > _SMALLEST, table, 0.0) for name, table in totals.items()}
            counts[block], entropies[block] = found.counts, _entropy(network, found)
            bounds.append(_bound(network, totals, entropies) + maximization.log_prior(network))
        log_likelihood = bounds[-1] - maximization.log_prior(network)
        expected = Expectations(log_likelihood, np.empty(0), totals, is_exact=False)
        after = IncrementalMemory(memory.steps, tuple(counts), tuple(entropies), tuple(bounds))
        return EMState(network, expected, (*state.trace, bounds[-1]), kept, after)


def _mixed(num_cases: int) -> Positions:
    """All cases, in an order that does not keep alike ones together, as their sorted order does."""
    return np.random.default_rng(0).permutation(num_cases)


def _part(cases: Cases, part: Positions) -> Cases:
    """Some of the cases."""
    place = np.full(cases.num_cases + 1, -1, dtype=np.int64)  # the last is that of rows without a case
    place[part] = np.arange(len(part))
    return replace(
        cases,
        codes=np.ascontiguousarray(cases.codes[part]),
        weights=cases.weights[part],
        case_of_row=place[cases.case_of_row],
        settings=cases.settings[part],
    )


def _summed(counts: list[Mapping[str, Floats]]) -> dict[str, Floats]:
    return {name: np.sum([some[name] for some in counts], axis=0) for name in counts[0]}


def _entropy(network: BayesianNetwork, found: Expectations) -> float:
    """H(Q) = ℓ - E_Q[ℓ] where Q is the posterior under the network."""
    return found.log_likelihood - expected_log_likelihood(network, found)


def _bound(network: BayesianNetwork, totals: Mapping[str, Floats], entropies: list[float]) -> float:
    """F = E_Q[ℓ] + H(Q)."""
    return expected_log_likelihood(network, Expectations(0.0, np.empty(0), totals)) + sum(entropies)
