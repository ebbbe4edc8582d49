"""The Metropolis-Hastings algorithm, with proposals by name or by the user's own function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.errors import InvalidArgument, NotSupported
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_layout import ChainLayout
from plausible.inference.sampling.chains import ChainEngine, Sweeps

__all__ = ["Metropolis", "Proposal"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: (problem, states, generator) -> (new states, log q(states | new) - log q(new | states)), a row for each chain.
Proposal: TypeAlias = Callable[[Problem, Ints, np.random.Generator], tuple[Ints, Floats]]

_NAMED = ("single-site uniform", "block")


@dataclass(frozen=True, slots=True)
class Metropolis(ChainEngine):
    """Metropolis-Hastings (Hastings 1970; Koller & Friedman 2009, §12.3.4), from several chains at once.

    A proposed assignment x' is taken with probability min(1, P(x') q(x | x') / (P(x) q(x' | x))); else the chain stays.
    Beliefs are frequencies after each sweep. The other options and what `info` says are as in `Gibbs`.

    Parameters
    ----------
    proposal
        "single-site uniform": a random variable takes another state, all equally likely. "block": a random one of the
        `blocks` (variables in none are blocks by themselves) takes another joint state. Both are proposed as often as
        there are blocks in a sweep, in compiled code.
        Or a function of the problem, the states (chains, variables; positions, in the order of `problem.variables`)
        and a generator, that returns new states and log q(old | new) - log q(new | old), a number for each chain. It
        must not change what it is given. A sweep is then one proposal.
    num_samples, burn_in, num_chains, blocks, collapsed, seed, num_threads
        As in `Gibbs`; `num_threads` does not matter to a function of the user's own.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence, Variable
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> answer = Metropolis(num_samples=40_000).query(factors, [a], Evidence.read({"B": 1}, {"B": b}))
    >>> bool(abs(answer.values[0] - 0.36) <= answer.info.error < 0.02)
    True
    """

    proposal: str | Proposal = "single-site uniform"
    num_samples: int = 10_000
    burn_in: int = 1_000
    num_chains: int = 4
    blocks: Sequence[Sequence[str]] | None = None
    collapsed: Sequence[str] = ()
    seed: int = 0
    num_threads: int | None = None

    _METHOD = "Metropolis-Hastings sampling"

    def __post_init__(self) -> None:
        self._check()
        if not callable(self.proposal) and self.proposal not in _NAMED:
            raise InvalidArgument(f"proposal= takes a function or one of {_NAMED}, not {self.proposal!r}.")
        if (self.proposal == "block") != bool(self.blocks):
            raise InvalidArgument('proposal="block" and blocks= go together: give both or neither.')

    @property
    def _moves_blocks(self) -> bool:
        return not callable(self.proposal)

    def _sweep(self, problem: Problem, layout: ChainLayout, sweeps: Sweeps) -> None:
        if callable(self.proposal):
            self._propose(self.proposal, problem, layout, sweeps)
            return
        from plausible.kernels.gibbs import metropolis_sweeps

        with np.errstate(divide="ignore"):
            log_tables = np.log(problem.tables)

        def work(part: Sweeps) -> None:
            metropolis_sweeps(
                part.number,
                log_tables,
                *layout.kernel_arrays,
                part.codes,
                part.places,
                part.generators,
                part.sums,
                part.watched,
                part.draws,
                part.accepted,
            )

        self._each_chain(work, sweeps)
        sweeps.squares[...] = sweeps.sums  # of zeros and ones

    def _propose(self, proposal: Proposal, problem: Problem, layout: ChainLayout, sweeps: Sweeps) -> None:
        """Sweeps by a function of the user's, all chains at a time."""
        rng = np.random.default_rng([self.seed, sweeps.iterations])  # a run taken up again goes on as if never stopped
        states = layout.states(sweeps.codes)
        value = problem.log_product(states)
        rows = np.arange(len(states))
        for number in range(sweeps.number):
            new, log_ratio = _checked(proposal(problem, states.copy(), rng), problem, states)
            new_value = problem.log_product(new)
            taken = np.log(1 - rng.random(len(states))) < new_value - value + log_ratio
            states[taken], value[taken] = new[taken], new_value[taken]
            sweeps.accepted[:] += taken
            codes = layout.codes(states)
            if sweeps.sums.size:
                for column, start in enumerate(layout.cell_starts[:-1]):
                    sweeps.sums[rows, start + codes[:, column]] += 1.0
            sweeps.draws[:, number] = codes[:, sweeps.watched]
        sweeps.codes[...] = layout.codes(states)
        sweeps.squares[...] = sweeps.sums


def _checked(answer: tuple[Ints, Floats], problem: Problem, states: Ints) -> tuple[Ints, Floats]:
    """What a proposal returned, if it fits the problem."""
    try:
        new, log_ratio = np.asarray(answer[0]), np.broadcast_to(np.asarray(answer[1], dtype=np.float64), len(states))
    except (TypeError, ValueError, IndexError):
        raise NotSupported("proposal= must return new states and a logarithm for each chain.") from None
    if new.shape != states.shape or not np.issubdtype(new.dtype, np.integer):
        raise NotSupported(f"proposal= returned states of shape {new.shape}; whole numbers {states.shape} are needed.")
    if ((new < 0) | (new >= problem.sizes)).any():
        place = int(np.argwhere((new < 0) | (new >= problem.sizes))[0, 1])
        raise NotSupported(f"proposal= returned a state that {problem.variables[place].name!r} does not have.")
    if np.isnan(log_ratio).any():
        raise NotSupported("proposal= returned a logarithm that is no number.")
    return new.astype(np.int64), log_ratio
