"""The base of engines that run Markov chains: what they keep, how they are run, and what is read off."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, replace
from functools import partial
from typing import Any, ClassVar, TypeAlias, cast

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Ints, QueryInfo, read_blocks, read_names, set_counts
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.approximate import Beliefs, ResumableEngine
from plausible.inference.approximate_samples import DrawnStates, told_rows
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.inference.sampling.annealed_importance import AnnealedImportance
from plausible.inference.sampling.chain_beliefs import (
    ONE_CHAIN,
    ChainBeliefs,
    ChainState,
    Moves,
    beliefs_of,
    blocks_across,
    chain_doubt,
    check_countable,
    effective_rows,
)
from plausible.inference.sampling.chain_layout import ChainLayout, Collapse, move_chains, starting_codes
from plausible.kernels.gibbs import ChainArrays, gibbs_sweeps
from plausible.kernels.jit import repeated
from plausible.search.run import UNLIMITED, Clock, Run
from plausible.variables import Evidence

#: The burn-in is made in so many steps, or fewer.
_BURN_IN_STEPS = 10

#: The draws of a chain are kept as the sums of so many batches, or of about the square root of their number if that is
#: less, for errors to be read off: batches have to be long for their means not to depend on each other.
_MAX_BATCHES = 50

#: Totals are estimated with at most so many updates of a variable, but with so many particles at least.
_MAX_ANNEALED, _FEWEST_PARTICLES = 10_000_000, 50


_Prepared: TypeAlias = tuple[Collapse, ChainLayout]


class ChainEngine(ResumableEngine[ChainState]):
    """An engine that runs several chains; subclasses are frozen, hold these options, and make the sweeps."""

    __slots__ = ()

    num_samples: int
    burn_in: int
    num_chains: int
    blocks: Sequence[Sequence[str]] | None
    collapsed: Sequence[str]
    seed: int
    num_threads: int | None

    is_noisy = True

    _METHOD: ClassVar[str]  # what its answers say they come from
    _COUNTS_DRAWS: ClassVar[bool] = False  # whether moves are decided by logarithms, and beliefs are frequencies

    @abstractmethod
    def _sweep(
        self, problem: Problem, layout: ChainLayout, number: int, state: ChainState, chains: ChainArrays
    ) -> None:
        """Make so many sweeps from a state: move all chains on in place and add to their sums."""

    def _check(self) -> None:
        """Read the options that all have."""
        set_counts(self, num_samples=1, burn_in=0, num_chains=1, seed=0)
        if self.num_threads is not None:
            set_counts(self, num_threads=1)
        object.__setattr__(self, "blocks", read_blocks(self.blocks))
        object.__setattr__(self, "collapsed", read_names("collapsed", self.collapsed))
        for name in (name for block in self.blocks or () for name in block if name in self.collapsed):
            raise InvalidArgument(f"{name!r} stands in blocks= and in collapsed=: what is summed out is not redrawn.")

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The names of variables that its options mention."""
        return (*(name for block in self.blocks or () for name in block), *self.collapsed)

    def _guide(self, problem: Problem) -> Floats:
        """What the state is to keep as `guide`."""
        return np.zeros(0)

    def _start(self, problem: Problem, layout: ChainLayout, generators: NDArray[np.uint64], guide: Floats) -> Ints:
        """The codes of an assignment of positive probability for each chain."""
        return starting_codes(problem, layout, generators, self.seed)

    def _num_proposals(self, layout: ChainLayout) -> int:
        """How many proposals a sweep makes that may be rejected."""
        return 0

    @property
    def _moves_blocks(self) -> bool:
        """Whether a move changes the variables of one block only."""
        return True

    def _prepared(self, problem: Problem, clock: Clock = UNLIMITED) -> _Prepared:
        collapse = Collapse.of(problem, self.collapsed)
        numbers = collapse.problem.place_of
        groups = [[numbers[name] for name in block if name in numbers] for block in self.blocks or ()]
        return collapse, ChainLayout.of(collapse.problem, groups)

    def init(self, problem: Problem, watched: Iterable[str] = ()) -> ChainState:
        """Chains at random assignments of positive probability; the draws of the watched variables will be kept."""
        return self._first(self._prepared(problem), watched).sealed()

    def step(self, problem: Problem, state: ChainState) -> ChainState:
        """All chains moved on by a batch of sweeps, or by what is left of the burn-in if that is less."""
        return self._next(self._prepared(problem), state.copy()).sealed()

    def run(
        self,
        problem: Problem,
        start: ChainState | Run[ChainState] | None = None,
        progress: Callable[[ChainState], object] | None = None,
    ) -> Run[ChainState]:
        """Steps until all batches are full; `progress` is told copies, and stops it by a true answer."""
        prepared = self._prepared(problem)
        begun = start if isinstance(start, Run) else Run(self._first(prepared) if start is None else start)

        def told(state: ChainState) -> object:
            return progress is not None and progress(state.copy().sealed())

        begun = replace(begun, state=begun.state.copy())
        run = self._finish(prepared, begun, None if progress is None else told)
        run.state.sealed()
        return run

    def _ends(self, state: ChainState) -> str:
        return "all draws" if state.is_finished else ""

    def draws(self, problem: Problem) -> dict[str, Ints]:
        """An array (chains, draws) of state positions after each sweep for each variable that is not collapsed."""
        collapse, layout, state = self._drawn(problem)
        states = layout.states(state.draws.astype(np.int64))  # every block is watched, in order
        return {variable.name: states[..., place] for place, variable in enumerate(collapse.problem.variables)}

    def draw_states(self, factors: Iterable[Factor], num_rows: int, evidence: Evidence) -> DrawnStates:
        """Rows of the chains after their burn-in, spread evenly over all of their draws; neighbours are alike.

        Where more rows are wanted than `num_samples` says, the chains run longer. Variables that are summed out are
        drawn given the others.
        """
        listed, options = list(factors), cast(Any, self)
        engine: ChainEngine = replace(options, num_samples=max(self.num_samples, num_rows, 1))
        collapse, layout, state = engine._drawn(Problem.of(listed, evidence))
        turns, (num_chains, per_chain, _) = np.arange(num_rows), state.draws.shape
        # evenly spread over the run; the chains take turns
        spread = state.draws[turns % num_chains, turns * per_chain // max(num_rows, 1)]
        rows = layout.states(np.asarray(spread, dtype=np.int64))
        columns = {variable.name: rows[:, place] for place, variable in enumerate(collapse.problem.variables)}
        columns |= {name: np.full(num_rows, place) for name, place in evidence.hard.items()}
        columns |= collapse.draw(columns, np.random.default_rng([self.seed, 1]), num_rows)
        variables = {variable.name: variable for factor in listed for variable in factor.scope}
        size = min(effective_rows(state.draws), float(num_rows))
        found = ChainBeliefs((), 0.0, size, 1 + state.residual, state.sums.shape[0] * state.sums.shape[1])
        info = engine._info(collapse.problem, layout, state, found)
        info = told_rows(replace(info, exact=not layout.blocks), size, num_rows)
        states = np.array([columns[name] for name in variables], dtype=np.int64).reshape(len(variables), num_rows).T
        return DrawnStates(tuple(variables.values()), states, size, info)

    def _drawn(self, problem: Problem) -> tuple[Collapse, ChainLayout, ChainState]:
        """A run that keeps all draws."""
        collapse, layout = self._prepared(problem)
        begun = self._first((collapse, layout), [variable.name for variable in collapse.problem.variables])
        return collapse, layout, self._finish((collapse, layout), Run(begun)).state

    def _first(self, prepared: _Prepared, watched: Iterable[str] = ()) -> ChainState:
        collapse, layout = prepared
        problem, wanted = collapse.problem, set(watched)
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        words = np.random.SeedSequence(self.seed).generate_state(self.num_chains, np.uint64)
        generators = np.asarray(words, dtype=np.uint64)
        named = [place for place, variable in enumerate(problem.variables) if variable.name in wanted]
        blocks = np.unique(layout.block_of[named])
        per_chain = -(-self.num_samples // self.num_chains)
        num_batches = 2 * min(_MAX_BATCHES // 2, max(1, round(math.sqrt(per_chain) / 2)))
        length = -(-per_chain // num_batches)
        guide = self._guide(problem)
        return ChainState(
            0,
            self.burn_in,
            length,
            self._start(problem, layout, generators, guide),
            generators,
            np.zeros((self.num_chains, num_batches, layout.num_cells)),
            np.zeros((self.num_chains, num_batches, layout.num_cells)),
            blocks,
            np.zeros((self.num_chains, num_batches * length, len(blocks)), dtype=np.int32),
            np.zeros(self.num_chains, dtype=np.int64),
            guide,
        )

    def _finish(
        self,
        prepared: _Prepared,
        begun: Run[ChainState],
        progress: Callable[[ChainState], object] | None = None,
    ) -> Run[ChainState]:
        with repeated(begun.state.sums.shape[1] - begun.state.num_filled):
            return self._iterate(partial(self._next, prepared), begun, progress)

    def _next(self, prepared: _Prepared, state: ChainState) -> ChainState:
        """One step that writes into the arrays of the state; a finished one stays as it is."""
        if state.is_finished:
            return state
        collapse, layout = prepared
        waiting = max(0, state.burn_in - state.num_sweeps)
        number = min(waiting, max(state.batch_length, -(-state.burn_in // _BURN_IN_STEPS))) or state.batch_length
        num_chains = len(state.codes)
        sums = np.zeros((num_chains, 0 if waiting else layout.num_cells))
        watched = state.watched[: 0 if waiting else None]
        draws = np.zeros((num_chains, number, len(watched)), dtype=np.int32)
        moved = state.codes, layout.places(state.codes), state.generators
        chains = ChainArrays(*moved, sums, sums.copy(), watched, draws, state.accepted)
        self._sweep(collapse.problem, layout, number, state, chains)
        if not waiting:
            batch = state.num_filled
            state.sums[:, batch], state.squares[:, batch] = chains.sums, chains.squares
            state.draws[:, batch * number : (batch + 1) * number] = draws
        return replace(state, num_sweeps=state.num_sweeps + number)

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The joint of each group, as a mean over draws; of what one block holds, over its exact conditionals."""
        prepared = collapse, layout = self._prepared(problem)
        _, sampled = _read_groups(problem, collapse, groups)
        begun = self._first(prepared, _names_across(collapse, layout, sampled))
        check_countable(begun, layout, sampled)
        return self.beliefs_from(problem, self._finish(prepared, Run(begun)).state, groups)

    def beliefs_from(self, problem: Problem, state: ChainState, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """`beliefs`, from the batches that are full; of several blocks where `init` was told to watch them."""
        collapse, layout = self._prepared(problem)
        named, sampled = _read_groups(problem, collapse, groups)
        across = {block for group in sampled for block in blocks_across(layout, group)}
        if not across.issubset(state.watched.tolist()):
            names = sorted(set(_names_across(collapse, layout, sampled)))
            raise NotSupported(
                f"The draws of these variables were not kept. Begin with init(problem, watched={names})."
            )
        full = state.filled()
        check_countable(full, layout, sampled)
        found = beliefs_of(full, layout, collapse, named, sampled, self._moves(layout, full))
        return Beliefs(found.tables, self._info(collapse.problem, layout, full, found))

    def _moves(self, layout: ChainLayout, state: ChainState) -> Moves:
        proposals = self._num_proposals(layout) * state.num_sweeps * len(state.codes)
        acceptance = float(state.accepted.sum()) / proposals if proposals else None
        return Moves(self._moves_blocks, self._COUNTS_DRAWS, acceptance, state.draws.shape[0] * state.draws.shape[1])

    def _info(self, problem: Problem, layout: ChainLayout, state: ChainState, found: ChainBeliefs) -> QueryInfo:
        moves = self._moves(layout, state)
        doubt = chain_doubt(problem, layout, found, moves)
        is_alone = len(state.codes) == 1 and len(layout.blocks) > 0
        return QueryInfo(
            self._METHOD,
            exact=not layout.blocks,
            converged=not doubt,
            error=found.error if layout.blocks else 0.0,
            cost=state.num_sweeps * len(state.codes) * len(layout.blocks),
            largest_table=layout.largest_block,
            num_steps=moves.num_draws,
            residual=found.r_hat - 1,
            effective_samples=found.effective_samples if layout.blocks else None,
            acceptance=moves.acceptance,
            r_hat=found.r_hat if layout.blocks else None,
            advice=" ".join(filter(None, (doubt, ONE_CHAIN if is_alone else ""))),
        )

    def estimate(self, problem: Problem) -> Estimate:
        """log Σ Π φ by annealed importance sampling with this seed: draws alone don't tell it.

        With the usual options, but with fewer particles where there are many variables, so that it takes seconds.
        """
        usual = AnnealedImportance(seed=self.seed, num_threads=self.num_threads)
        affordable = _MAX_ANNEALED // (usual.num_temperatures * max(len(problem.variables), 1))
        num_particles = min(usual.num_particles, max(_FEWEST_PARTICLES, affordable))
        return replace(usual, num_particles=num_particles).estimate(problem)


def _read_groups(
    problem: Problem, collapse: Collapse, groups: Sequence[tuple[int, ...]]
) -> tuple[list[list[str]], list[list[int]]]:
    """The names of each group, and the places of the variables that are sampled for it once others are summed out."""
    named = [[problem.variables[place].name for place in group] for group in groups]
    numbers = collapse.problem.place_of
    return named, [[numbers[name] for name in collapse.sampled(names)] for names in named]


def _names_across(collapse: Collapse, layout: ChainLayout, sampled: Sequence[Sequence[int]]) -> list[str]:
    """The variables of groups that lie in several blocks: their draws are needed."""
    across = [place for group in sampled if blocks_across(layout, group) for place in group]
    return [collapse.problem.variables[place].name for place in across]


@dataclass(frozen=True, slots=True)
class Gibbs(ChainEngine):
    """Gibbs sampling with several chains (Geman & Geman 1984; Koller & Friedman 2009, algorithm 12.4).

    A sweep redraws each block of variables from P(block | all others), the normalised product of the factors that
    involve it. Beliefs about variables of one block are means of these probabilities rather than of draws (Gelfand &
    Smith 1990), which reduces the variance; other joint beliefs are frequencies. `info.error` is half the width of a 95
    % interval for the least accurate number, from batch means and Student's t. `info.residual` is the worst split R-hat
    minus one. `info.advice` says if chains disagree, if zeros keep them from reaching all states, or if there are too
    few draws. A sweep costs, for each block, its number of joint states times the factors that involve it. For
    `log_total` use `AnnealedImportance`.

    Parameters
    ----------
    num_samples
        How many sweeps to use, over all chains; rounded up so that every chain has equally many batches of equal
        length.
    burn_in
        How many sweeps of each chain to discard first.
    num_chains
        How many independent chains to run, each from a random assignment of positive probability.
    blocks
        Groups of variables to redraw together; all others are redrawn one by one. Variables that don't affect the
        answer are skipped.
    collapsed
        Variables to sum out exactly before sampling; beliefs about them are exact given the others.
    num_threads
        The most threads to use; by default one per core. The answer does not depend on it.

    Examples
    --------
    >>> from plausible.variables import Variable
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> answer = Gibbs().query(factors, [a], Evidence.read({"B": 1}, {"B": b}))
    >>> answer.values.round(2), answer.info.converged  # exact: 0.36, 0.64
    (array([0.36, 0.64]), True)
    """

    num_samples: int = 10_000
    burn_in: int = 1_000
    num_chains: int = 4
    blocks: Sequence[Sequence[str]] | None = None
    collapsed: Sequence[str] = ()
    seed: int = 0
    num_threads: int | None = None

    _METHOD: ClassVar[str] = "Gibbs sampling"

    def __post_init__(self) -> None:
        self._check()

    def _sweep(
        self, problem: Problem, layout: ChainLayout, number: int, state: ChainState, chains: ChainArrays
    ) -> None:
        def work(some: ChainArrays) -> None:
            gibbs_sweeps(number, problem.tables, layout.links, some, np.empty(layout.largest_block))

        move_chains(work, chains, number * chains.codes.size, self.num_threads)
