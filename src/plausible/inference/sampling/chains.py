"""The base of engines that run Markov chains: what they keep, how they are run, and what is read off."""

from __future__ import annotations

import math
from abc import abstractmethod
from collections.abc import Callable, Iterable, Sequence
from dataclasses import replace
from functools import partial
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints
from plausible.base.options import read_blocks, read_names, set_counts
from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors import Factor
from plausible.inference.approximate import Beliefs, ResumableEngine
from plausible.inference.approximate_samples import DrawnStates, told_size
from plausible.inference.estimate import Estimate
from plausible.inference.info import QueryInfo
from plausible.inference.problem import Problem
from plausible.inference.sampling.annealed_importance import AnnealedImportance
from plausible.inference.sampling.chain_beliefs import (
    ONE_CHAIN,
    ChainBeliefs,
    ChainState,
    Draws,
    Moves,
    beliefs_of,
    blocks_across,
    chain_doubt,
    check_countable,
    effective_rows,
    spread_rows,
)
from plausible.inference.sampling.chain_layout import ChainLayout, move_chains, starting_codes
from plausible.inference.sampling.collapsing import Collapse
from plausible.kernels.chain_arrays import ChainArrays
from plausible.kernels.jit import repeated
from plausible.search.run import Run
from plausible.variables import Evidence

#: The burn-in is made in so many steps, or fewer.
_BURN_IN_STEPS = 10

#: The draws of a chain are kept as the sums of so many batches, or of about the square root of their number if that is
#: less, for errors to be read off: batches have to be long for their means not to depend on each other.
_MAX_BATCHES = 50

#: Totals are estimated with at most so many updates of a variable, but with so many particles at least.
_MAX_ANNEALED, _FEWEST_PARTICLES = 10_000_000, 50


class Sweeps(NamedTuple):
    """A number of sweeps to be made, how many were made before, and the chains, which they move on in place.

    `guide` is that of the state.
    """

    number: int
    num_sweeps: int
    chains: ChainArrays
    guide: Floats


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

    #: What its answers say they come from.
    _METHOD = "Markov chains"

    #: Whether moves are decided by logarithms, and beliefs are frequencies of draws.
    _ON_LOGS, _COUNTS_DRAWS = False, False

    @abstractmethod
    def _sweep(self, problem: Problem, layout: ChainLayout, sweeps: Sweeps) -> None:
        """Move all chains on in place and add to their sums."""

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

    # --- the run ---

    def init(self, problem: Problem, watched: Iterable[str] = ()) -> ChainState:
        """Chains at random assignments of positive probability; the draws of the watched variables will be kept."""
        return self._init(*self._prepare(problem), watched).sealed()

    def step(self, problem: Problem, state: ChainState) -> ChainState:
        """All chains moved on by a batch of sweeps, or by what is left of the burn-in if that is less."""
        collapse, layout = self._prepare(problem)
        return self._advance(collapse.problem, layout, state.copy()).sealed()

    def run(
        self,
        problem: Problem,
        start: ChainState | Run[ChainState] | None = None,
        progress: Callable[[ChainState], object] | None = None,
    ) -> Run[ChainState]:
        """Steps until all batches are full; `progress` is told copies, and stops it by a true answer."""
        collapse, layout = self._prepare(problem)
        begun = start if isinstance(start, Run) else Run(self._init(collapse, layout, ()) if start is None else start)

        def told(state: ChainState) -> object:
            return progress is not None and progress(state.copy().sealed())

        step = partial(self._advance, collapse.problem, layout)
        with repeated(begun.state.sums.shape[1] - begun.state.num_filled):
            run = self._iterate(step, replace(begun, state=begun.state.copy()), None if progress is None else told)
        run.state.sealed()
        return run

    def _ends(self, state: ChainState) -> str:
        return "all draws" if state.is_finished else ""

    def draws(self, problem: Problem) -> dict[str, Ints]:
        """An array (chains, draws) of state positions after each sweep for each variable that is not collapsed."""
        collapse, layout = self._prepare(problem)
        names = [variable.name for variable in collapse.problem.variables]
        state = self._finish(collapse.problem, layout, self._init(collapse, layout, names))
        states = layout.states(state.draws.astype(np.int64))  # every block is watched, in order
        return {name: states[..., place] for place, name in enumerate(names)}

    def draw_states(self, factors: Iterable[Factor], num_rows: int, evidence: Evidence) -> DrawnStates:
        """Rows of the chains after their burn-in, spread evenly over all of their draws; neighbours are alike.

        Where more rows are wanted than `num_samples` says, the chains run longer. Variables that are summed out are
        drawn given the others.
        """
        listed = list(factors)
        options: Any = self
        engine: ChainEngine = replace(options, num_samples=max(self.num_samples, num_rows, 1))
        problem = Problem.of(listed, evidence)
        collapse, layout = engine._prepare(problem)
        names = [variable.name for variable in collapse.problem.variables]
        state = engine._finish(collapse.problem, layout, engine._init(collapse, layout, names))
        rows = layout.states(spread_rows(state.draws, num_rows))
        columns = {name: rows[:, place] for place, name in enumerate(names)}
        columns |= {name: np.full(num_rows, place) for name, place in evidence.hard.items()}
        columns |= collapse.draw(columns, np.random.default_rng([self.seed, 1]), num_rows)
        variables = {variable.name: variable for factor in listed for variable in factor.scope}
        size = min(effective_rows(state.draws), float(num_rows))
        found = ChainBeliefs((), 0.0, size, 1 + state.residual, state.sums.shape[0] * state.sums.shape[1])
        info = engine._info(collapse.problem, layout, state, found)
        told = f"{told_size(size, num_rows)} {info.advice}".rstrip()
        return DrawnStates(
            tuple(variables.values()),
            np.stack([columns[name] for name in variables], axis=1) if variables else np.zeros((num_rows, 0), int),
            size,
            replace(info, exact=not layout.blocks, error=None if layout.blocks else 0.0, advice=told),
        )

    def _prepare(self, problem: Problem) -> tuple[Collapse, ChainLayout]:
        collapse = Collapse.of(problem, self.collapsed)
        numbers = collapse.problem.place_of
        groups = [[numbers[name] for name in block if name in numbers] for block in self.blocks or ()]
        return collapse, ChainLayout.of(collapse.problem, groups)

    def _init(self, collapse: Collapse, layout: ChainLayout, watched: Iterable[str]) -> ChainState:
        problem = collapse.problem
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        words = np.random.SeedSequence(self.seed).generate_state(self.num_chains, np.uint64)
        generators = np.asarray(words, dtype=np.uint64)
        wanted = set(watched)
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

    def _finish(self, problem: Problem, layout: ChainLayout, state: ChainState) -> ChainState:
        with repeated(state.sums.shape[1] - state.num_filled):
            return self._iterate(partial(self._advance, problem, layout), state).state

    def _advance(self, problem: Problem, layout: ChainLayout, state: ChainState) -> ChainState:
        """One step that writes into the arrays of the state; a finished one stays as it is."""
        if state.is_finished:
            return state
        waiting = max(0, state.burn_in - state.num_sweeps)
        number = min(waiting, max(state.batch_length, -(-state.burn_in // _BURN_IN_STEPS))) or state.batch_length
        num_chains = len(state.codes)
        sums = np.zeros((num_chains, 0 if waiting else layout.num_cells))
        watched = state.watched[: 0 if waiting else None]
        draws = np.zeros((num_chains, number, len(watched)), dtype=np.int32)
        places = layout.places(state.codes)
        moved = state.codes, places, state.generators
        chains = ChainArrays(*moved, sums, sums.copy(), watched, draws, state.accepted)
        self._sweep(problem, layout, Sweeps(number, state.num_sweeps, chains, state.guide))
        if not waiting:
            batch = state.num_filled
            state.sums[:, batch], state.squares[:, batch] = chains.sums, chains.squares
            state.draws[:, batch * number : (batch + 1) * number] = draws
        return replace(state, num_sweeps=state.num_sweeps + number)

    def _each_chain(self, work: Callable[[ChainArrays], Any], sweeps: Sweeps) -> None:
        """Do the work for all chains."""
        move_chains(work, sweeps.chains, sweeps.number * sweeps.chains.codes.size, self.num_threads)

    # --- the answers ---

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The joint of each group, as a mean over draws; of what one block holds, over its exact conditionals."""
        collapse, layout = self._prepare(problem)
        _, sampled = _read_groups(problem, collapse, groups)
        across = [place for group in sampled if blocks_across(layout, group) for place in group]
        begun = self._init(collapse, layout, [collapse.problem.variables[place].name for place in across])
        check_countable(begun, layout, sampled)
        return self.beliefs_from(problem, self._finish(collapse.problem, layout, begun), groups)

    def beliefs_from(self, problem: Problem, state: ChainState, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """`beliefs`, from the batches that are full; of several blocks where `init` was told to watch them."""
        collapse, layout = self._prepare(problem)
        named, sampled = _read_groups(problem, collapse, groups)
        across = {block for group in sampled for block in blocks_across(layout, group)}
        if not across.issubset(state.watched.tolist()):
            wanted = [place for group in sampled if blocks_across(layout, group) for place in group]
            names = sorted({collapse.problem.variables[place].name for place in wanted})
            raise NotSupported(
                f"The draws of these variables were not kept. Begin with init(problem, watched={names})."
            )
        full = state.filled()
        check_countable(full, layout, sampled)
        draws = Draws(self._moves(layout, full).num_independent, self._COUNTS_DRAWS)
        found = beliefs_of(full, layout, collapse, named, sampled, draws)
        return Beliefs(found.tables, self._info(collapse.problem, layout, full, found))

    def _moves(self, layout: ChainLayout, state: ChainState) -> Moves:
        proposals = self._num_proposals(layout) * state.num_sweeps * len(state.codes)
        acceptance = float(state.accepted.sum()) / proposals if proposals else None
        return Moves(self._moves_blocks, self._ON_LOGS, acceptance, state.draws.shape[0] * state.draws.shape[1])

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
            advice=" ".join(text for text in (doubt, ONE_CHAIN if is_alone else "") if text),
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
