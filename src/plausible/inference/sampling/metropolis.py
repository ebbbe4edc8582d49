"""The Metropolis-Hastings algorithm, with proposals by name, by an engine's beliefs or by the user's own function."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import ClassVar, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import SMALLEST, Floats, Ints, logarithms, starts_of
from plausible.errors import InvalidArgument, NotSupported
from plausible.inference.approximate import ApproximateEngine
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_beliefs import ChainState
from plausible.inference.sampling.chain_layout import ChainLayout, live_states, move_chains, starting_codes
from plausible.inference.sampling.chains import ChainEngine
from plausible.kernels.gibbs import ChainArrays, accept_in_turn, metropolis_sweeps

#: This part of each draw is uniform over the states that are possible: a belief of zero may be wrong.
_UNIFORM_SHARE = 0.02


def independent_guide(problem: Problem, engine: ApproximateEngine) -> Floats:
    """The distribution q_v to draw each variable from, one after the other: 0.98 of the belief, the rest uniform."""
    beliefs = engine.beliefs(problem, [(place,) for place in range(len(problem.variables))]).tables
    domains = live_states(problem)
    rows = [
        (1 - _UNIFORM_SHARE) * belief * domain / max((belief * domain).sum(), SMALLEST)
        + _UNIFORM_SHARE * domain / domain.sum()
        for belief, domain in zip(beliefs, domains, strict=True)
    ]
    return np.concatenate([*(row / row.sum() for row in rows), np.zeros(0)])


def drawn_independently(problem: Problem, guide: Floats, shape: tuple[int, int], rng: np.random.Generator) -> Ints:
    """(*shape, variables): assignments with every variable drawn from its part of the guide."""
    states = np.empty((*shape, len(problem.sizes)), dtype=np.int64)
    for place, row in enumerate(np.split(guide, starts_of(problem.sizes)[1:-1]) if len(problem.sizes) else ()):
        levels = np.cumsum(row)
        # Zeros at the end are as high as what is before them, so that no number below one reaches them.
        states[..., place] = np.searchsorted(levels / levels[-1], rng.random(shape), side="right")
    return states


def log_density(problem: Problem, guide: Floats, states: Ints) -> Floats:
    """log Π q_v(x_v) of each row of states; -inf for states that are never drawn."""
    return np.asarray(logarithms(guide)[starts_of(problem.sizes)[:-1] + states].sum(axis=1))


def accepted_places(log_weights: Floats, levels: Floats) -> Ints:
    """The column of `log_weights` that each chain is at after each of its independent proposals (Metropolis' rule)."""
    places = np.zeros(levels.shape, dtype=np.int64)
    accept_in_turn(log_weights, levels, places)
    return places


#: (problem, states, generator) -> (new states, log q(states | new) - log q(new | states)), a row for each chain.
Proposal: TypeAlias = Callable[[Problem, Ints, np.random.Generator], tuple[Ints, Floats]]

_NAMED = ("single-site uniform", "block")

#: A chain starts from the first of so many draws of its proposal that is possible.
_START_DRAWS = 32


@dataclass(frozen=True, slots=True)
class Metropolis(ChainEngine):
    """Metropolis-Hastings sampling with several chains (Hastings 1970; Koller & Friedman 2009, §12.3.4).

    A proposed assignment x' is accepted with probability min(1, P(x') q(x | x') / (P(x) q(x' | x))); otherwise the
    chain stays. Beliefs are frequencies after each sweep. `info.acceptance` is the share of proposals that were
    accepted. The other options, and the rest of `info`, are as in `Gibbs`.

    Parameters
    ----------
    proposal
        "single-site uniform": a random variable takes another state, all equally likely. "block": a random one of the
        `blocks` (a variable in none is a block by itself) takes another joint state. A sweep makes as many proposals as
        there are blocks, in compiled code; the first one may also be the current state, so that no chain is periodic.
        An engine such as `MeanField()` or `LoopyBP()`: all variables are drawn at once, independently, from its beliefs
        (one time in fifty from all possible states, so that every state can be reached), as in variational MCMC (de
        Freitas et al. 2001). A sweep is one proposal. This works well for few variables or weak couplings; check
        `info.acceptance`. Or a function of the problem, the states (an array of state positions with axes chains and
        variables, in the order of `problem.variables`) and a generator. It returns new states and, for each chain, log
        q(old | new) - log q(new | old), and must not modify its arguments. A sweep is one proposal and one call for all
        chains, so write it for whole arrays, and raise `num_chains` rather than the samples of each chain.
    num_samples, burn_in, num_chains, blocks, collapsed, seed, num_threads
        As in `Gibbs`; `num_threads` has no effect if the proposal is a function.

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

    proposal: str | Proposal | ApproximateEngine = "single-site uniform"
    num_samples: int = 10_000
    burn_in: int = 1_000
    num_chains: int = 4
    blocks: Sequence[Sequence[str]] | None = None
    collapsed: Sequence[str] = ()
    seed: int = 0
    num_threads: int | None = None

    _METHOD: ClassVar[str] = "Metropolis-Hastings sampling"
    _COUNTS_DRAWS: ClassVar[bool] = True

    def __post_init__(self) -> None:
        self._check()
        if isinstance(self.proposal, type):
            name = self.proposal.__name__
            raise InvalidArgument(f"proposal={name} is a class: write {name}() for an engine with its usual options.")
        if self._moves_blocks and self.proposal not in _NAMED:
            raise InvalidArgument(f"proposal= takes a function, an engine or one of {_NAMED}, not {self.proposal!r}.")
        if (self.proposal == "block") != bool(self.blocks):
            raise InvalidArgument('proposal="block" and blocks= go together: give both or neither.')

    @property
    def _moves_blocks(self) -> bool:
        return not (callable(self.proposal) or isinstance(self.proposal, ApproximateEngine))

    def _num_proposals(self, layout: ChainLayout) -> int:
        return len(layout.blocks) if self._moves_blocks else 1

    def _guide(self, problem: Problem) -> Floats:
        engine = self.proposal
        return independent_guide(problem, engine) if isinstance(engine, ApproximateEngine) else np.zeros(0)

    def _start(self, problem: Problem, layout: ChainLayout, generators: NDArray[np.uint64], guide: Floats) -> Ints:
        """Draws from the guide, where there is one: from elsewhere a chain may long refuse all that it proposes."""
        if not guide.size:
            return starting_codes(problem, layout, generators, self.seed)
        num_chains = len(generators)
        rng = np.random.default_rng([self.seed, num_chains, 1])
        drawn = drawn_independently(problem, guide, (num_chains, _START_DRAWS), rng)
        is_possible = np.isfinite(problem.log_product(drawn.reshape(num_chains * _START_DRAWS, -1)))
        first = is_possible.reshape(num_chains, _START_DRAWS).argmax(axis=1)
        codes = layout.codes(drawn[np.arange(num_chains), first])
        stuck = ~is_possible.reshape(num_chains, _START_DRAWS).any(axis=1)
        if stuck.any():
            codes[stuck] = starting_codes(problem, layout, generators, self.seed)[stuck]
        return codes

    def _sweep(
        self, problem: Problem, layout: ChainLayout, number: int, state: ChainState, chains: ChainArrays
    ) -> None:
        # Random numbers of these sweeps: a run taken up again goes on as if never stopped.
        rng = np.random.default_rng([self.seed, state.num_sweeps])
        if callable(self.proposal):
            _propose(self.proposal, problem, layout, number, chains, rng)
        elif isinstance(self.proposal, ApproximateEngine):
            _propose_from(state.guide, problem, layout, number, chains, rng)
        else:

            def work(some: ChainArrays) -> None:
                metropolis_sweeps(number, problem.logs, layout.links, some)

            move_chains(work, chains, number * chains.codes.size, self.num_threads)
        chains.squares[...] = chains.sums  # of zeros and ones


def _propose(
    proposal: Proposal,
    problem: Problem,
    layout: ChainLayout,
    number: int,
    chains: ChainArrays,
    rng: np.random.Generator,
) -> None:
    """Sweeps by a function of the user's, all chains at a time."""
    states = layout.states(chains.codes)
    value, rows = problem.log_product(states), np.arange(len(states))
    for sweep in range(number):
        new, log_ratio = _checked(proposal(problem, states.copy(), rng), problem, states)
        new_value = problem.log_product(new)
        taken = np.log(1 - rng.random(len(states))) < new_value - value + log_ratio
        states[taken], value[taken] = new[taken], new_value[taken]
        chains.accepted[:] += taken
        codes = layout.codes(states)
        if chains.sums.size:
            chains.sums[rows[:, None], layout.cell_starts[:-1] + codes] += 1.0
        chains.draws[:, sweep] = codes[:, chains.watched]
    chains.codes[...] = layout.codes(states)


def _propose_from(
    guide: Floats, problem: Problem, layout: ChainLayout, number: int, chains: ChainArrays, rng: np.random.Generator
) -> None:
    """Sweeps by independent draws from the guide: they don't depend on the chains, so all are made at once."""
    num_chains = len(chains.codes)
    start = layout.states(chains.codes)[:, None, :]
    candidates = np.concatenate([start, drawn_independently(problem, guide, (num_chains, number), rng)], axis=1)
    flat = candidates.reshape(num_chains * (number + 1), -1)
    log_weights = problem.log_product(flat) - log_density(problem, guide, flat)
    levels = np.log(1 - rng.random((num_chains, number)))
    chosen = accepted_places(log_weights.reshape(num_chains, number + 1), levels)
    chains.accepted[:] += (np.diff(chosen, axis=1, prepend=0) > 0).sum(axis=1)
    states = np.take_along_axis(candidates, chosen[:, :, None], axis=1)
    codes = layout.codes(states.reshape(num_chains * number, -1)).reshape(num_chains, number, -1)
    for chain in range(num_chains if chains.sums.size else 0):
        cells = (layout.cell_starts[:-1] + codes[chain]).ravel()
        chains.sums[chain] += np.bincount(cells, minlength=layout.num_cells)
    chains.draws[...] = codes[:, :, chains.watched]
    chains.codes[...] = codes[:, -1]


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
