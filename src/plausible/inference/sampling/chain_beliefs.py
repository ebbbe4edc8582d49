"""Beliefs from the batches and the draws of chains, with their errors, and whether they are to be trusted."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, fields, replace
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base import PROBABILITY_NOISE, Codes, Floats, Ints
from plausible.errors import InvalidArgument, TooLarge
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_diagnostics import (
    MAX_R_HAT,
    UNSEEN,
    effective_sample_size,
    interval_width,
    monte_carlo_error,
    r_hat_of_moments,
    told_r_hat,
)
from plausible.inference.sampling.chain_layout import ChainLayout, Collapse, blocking_factor

#: Effective sizes are looked at for so many blocks at most, as evenly spread as they come.
_MAX_LOOKED_AT = 200
#: Chains with fewer draws have no autocorrelations to speak of.
_FEWEST_DRAWS = 8


def effective_rows(draws: Codes) -> float:
    """The smallest effective size of any block's code, of up to 200 blocks, among draws (chains, draws, blocks)."""
    num_chains, per_chain, num_blocks = draws.shape
    if not num_blocks or per_chain < _FEWEST_DRAWS:
        return float(num_chains * per_chain)
    looked_at = np.unique(np.linspace(0, num_blocks - 1, min(num_blocks, _MAX_LOOKED_AT)).astype(np.int64))
    return float(min(float(effective_sample_size(draws[:, :, block])) for block in looked_at))


#: No more numbers than these are counted for the batches of one group.
_MAX_COUNTS = 2**23

#: With fewer batches, those of all chains together, standard errors are guesses.
FEWEST_BATCHES = 16


@dataclass(frozen=True, slots=True, eq=False)
class ChainState:
    """Several Markov chains in the middle of their run; plain arrays that can be stored and taken up again."""

    num_sweeps: int  # the sweeps that each chain has made, burn-in included
    burn_in: int  # how many of them are not counted, and how many then make a batch
    batch_length: int
    codes: Ints  # (chains, blocks): the joint state of each block
    generators: NDArray[np.uint64]  # a word for each chain: its random numbers go on from there
    #: (chains, batches, cells): the probability of each state of each block, and its square, summed over a batch.
    sums: Floats
    squares: Floats
    watched: Ints  # blocks, and (chains, draws, watched blocks): their codes after each sweep
    draws: Codes
    accepted: Ints  # how many proposals each chain has taken; zero for Gibbs sampling, which takes all
    guide: Floats  # the distribution of each variable, one after the other, that a method draws from; empty for most

    @property
    def num_filled(self) -> int:
        """The batches that are full."""
        return max(0, self.num_sweeps - self.burn_in) // self.batch_length

    @property
    def is_finished(self) -> bool:
        """Whether all batches are."""
        return bool(self.num_filled == self.sums.shape[1])

    @property
    def residual(self) -> float:
        """The largest R-hat of any block's state, minus one; infinite before two batches are full."""
        return worst_r_hat(self, np.arange(self.sums.shape[2])) - 1

    @property
    def converged(self) -> bool:
        """Whether the run is over and no R-hat says that the chains disagree."""
        return self.is_finished and self.residual <= MAX_R_HAT - 1

    def copy(self) -> ChainState:
        """The same with arrays of its own, which can be written into."""
        return replace(self, **{name: array.copy() for name, array in self._arrays().items()})

    def sealed(self) -> ChainState:
        """The same state, its arrays read-only from now on."""
        for array in self._arrays().values():
            array.setflags(write=False)
        return self

    def filled(self) -> ChainState:
        """The same without the batches that are not full yet; refuses a state that has no other."""
        number = self.num_filled
        if not number:
            raise InvalidArgument(
                f"No batch of this state is full after {self.num_sweeps} sweeps, {self.burn_in} of which are burn-in. "
                "Take more steps."
            )
        draws = self.draws[:, : number * self.batch_length]
        return replace(self, sums=self.sums[:, :number], squares=self.squares[:, :number], draws=draws)

    def _arrays(self) -> dict[str, Any]:
        values = {field.name: getattr(self, field.name) for field in fields(self)}
        return {name: value for name, value in values.items() if isinstance(value, np.ndarray)}


@dataclass(frozen=True, slots=True, eq=False)
class ChainBeliefs:
    """What chains say of some groups of variables."""

    tables: tuple[Floats, ...]  # a table for each group
    #: The half-width of a 95 % interval for the worst number p: standard errors times Student's t for the batches; by
    #: the rule of three where a number never varied, though what it depends on could.
    error: float
    #: p (1 - p) over the square of that standard error: so many independent draws would have the same; no more than the
    #: draws can be worth.
    effective_samples: float
    r_hat: float  # the worst R-hat
    num_batches: int  # the batches of all chains together


def beliefs_of(
    state: ChainState,
    layout: ChainLayout,
    collapse: Collapse,
    names: Sequence[Sequence[str]],
    sampled: Sequence[Sequence[int]],
    moves: Moves,
) -> ChainBeliefs:
    """The joint of each group of names from batch means of that of the sampled variables that it rests on."""
    tables, numbers, worst, least = [], [np.zeros((*state.sums.shape[:2], 1))], 1.0, 0.0
    for group, places in zip(names, sampled, strict=True):
        if across := blocks_across(layout, places):
            means = _counted(state, layout, across, places)
            cells = means.reshape(*means.shape[:2], -1)
            worst = max(worst, _worst(cells, cells, state.batch_length))
        else:
            means = _conditional(state, layout, [place for place in places if layout.sizes[place] > 1])
        means = collapse.expand(group, means.reshape(*means.shape[:2], *layout.sizes[list(places)]))
        tables.append(means.mean(axis=(0, 1)))
        numbers.append(means.reshape(*means.shape[:2], -1))
        least = max(least, _least_error(numbers[-1], layout, places, moves))
    touched, starts = np.unique(layout.block_of[[place for places in sampled for place in places]]), layout.cell_starts
    if len(touched):
        spans = [np.arange(starts[block], starts[block + 1], dtype=np.int64) for block in touched]
        worst = max(worst, worst_r_hat(state, np.concatenate(spans)))
    values = np.concatenate(numbers, axis=2)
    errors, degrees = _standard_errors(values)
    place = int(errors.argmax())
    mean, error = float(values[:, :, place].mean()), float(errors[place])
    size = moves.num_independent
    if error > PROBABILITY_NOISE:
        size = min(size, mean * (1 - mean) / error**2)
    width = min(1.0, max(least, interval_width(degrees) * error))
    return ChainBeliefs(tuple(tables), width, size, worst, values.shape[0] * values.shape[1])


def _least_error(numbers: Floats, layout: ChainLayout, places: Sequence[int], moves: Moves) -> float:
    """What the error of a group's numbers (chains, batches, numbers) does not fall below, however little they vary."""
    blocks = {int(layout.block_of[place]) for place in places if layout.sizes[place] > 1}
    if not blocks:
        return 0.0
    is_exact = len(blocks) == 1 and not moves.are_counted and not layout.has_neighbours[blocks.pop()]
    if is_exact or np.ptp(numbers, axis=(0, 1)).min() > PROBABILITY_NOISE:
        return PROBABILITY_NOISE
    return min(1.0, UNSEEN / moves.num_independent)


def blocks_across(layout: ChainLayout, places: Sequence[int]) -> list[int]:
    """The blocks that hold some variables, if there are several; those of one state may be anywhere."""
    blocks = {int(layout.block_of[place]) for place in places if layout.sizes[place] > 1}
    return sorted(blocks) if len(blocks) > 1 else []


def check_countable(state: ChainState, layout: ChainLayout, groups: Sequence[Sequence[int]]) -> None:
    """Refuse groups across blocks with too many joint states to count the draws of."""
    num_batches = state.sums.shape[0] * state.sums.shape[1]
    for places in groups:
        if not blocks_across(layout, places):
            continue
        cells = float(np.prod(layout.sizes[list(places)], dtype=np.float64))
        if cells * num_batches > _MAX_COUNTS:
            raise TooLarge(
                f"The joint belief that is asked for has {cells:.3g} numbers, too many to count draws of in "
                f"{num_batches} batches. Ask for fewer variables at once."
            )


def worst_r_hat(state: ChainState, cells: Ints) -> float:
    """The largest R-hat of the probabilities of some cells, over the batches that are full."""
    full = state.num_filled // 2 * 2
    if full < 2:
        return math.inf
    if not len(cells):
        return 1.0
    means, squares = (array[:, :full][:, :, cells] / state.batch_length for array in (state.sums, state.squares))
    return _worst(means, squares, state.batch_length)


def _worst(means: Floats, squares: Floats, batch_length: int) -> float:
    """The largest R-hat over cells, the chains being cut into halves."""
    num_chains, num_batches, num_cells = means.shape
    halves = (num_chains * 2, num_batches // 2, num_cells)
    first, second = (array.reshape(halves).mean(axis=1) for array in (means, squares))
    return float(r_hat_of_moments(first, second, num_batches // 2 * batch_length).max())


def _standard_errors(numbers: Floats) -> tuple[Floats, int]:
    """Those of all numbers, from batch means, and the degrees of freedom that they rest on.

    The larger of what batches say if they are independent and of what their autocorrelation says, which sees batches
    that are too short and chains that disagree. Where chains have too few batches for that, each counts as one.
    """
    num_chains, num_batches = numbers.shape[:2]
    has_lags = num_batches >= 4
    if not has_lags and num_chains > 2:
        numbers = numbers.mean(axis=1, keepdims=True)
    count = numbers.shape[0] * numbers.shape[1]
    errors = numbers.std(axis=(0, 1), ddof=1) / math.sqrt(count)
    if has_lags:
        errors = np.maximum(errors, monte_carlo_error(numbers))
    return np.asarray(errors), count - 1


def _conditional(state: ChainState, layout: ChainLayout, places: Sequence[int]) -> Floats:
    """(chains, batches, states of each variable): the mean of P(variables | all other blocks), all of one block."""
    if not places:
        return np.ones(state.sums.shape[:2])
    number = int(layout.block_of[places[0]])
    block = layout.blocks[number]
    first, last = layout.cell_starts[number : number + 2]
    means = state.sums[:, :, first:last] / state.batch_length
    shaped = means.reshape(*means.shape[:2], *layout.sizes[list(block)])
    gone = tuple(2 + axis for axis, variable in enumerate(block) if variable not in places)
    kept = [variable for variable in block if variable in places]
    order = [2 + kept.index(variable) for variable in places]
    return np.asarray(shaped.sum(axis=gone).transpose(0, 1, *order))


def _counted(state: ChainState, layout: ChainLayout, across: Sequence[int], places: Sequence[int]) -> Floats:
    """(chains, batches, states of each variable): how often they were in these states together."""
    num_chains, num_batches = state.sums.shape[:2]
    sizes = layout.sizes[list(places)]
    cell = np.arange(num_chains * num_batches).repeat(state.batch_length).reshape(num_chains, -1)
    columns = {block: int(np.searchsorted(state.watched, block)) for block in across}
    for place, size in zip(places, sizes, strict=True):
        if size > 1:
            cell = cell * size + state.draws[..., columns[int(layout.block_of[place])]] // layout.steps[place] % size
    counts = np.bincount(cell.ravel(), minlength=num_chains * num_batches * int(np.prod(sizes)))
    return counts.reshape(num_chains, num_batches, *sizes) / state.batch_length


#: What a single chain leaves open, however well it mixes where it is.
ONE_CHAIN = "One chain can't show that it misses a mode: set num_chains=4 or more, so that they can be compared."

#: Chains that refuse most proposals are to have taken so many, all together, for their errors to mean something.
_FEWEST_MOVES, _LOW_ACCEPTANCE = 100, 0.1


class Moves(NamedTuple):
    """How chains move."""

    are_of_blocks: bool  # whether a move changes the variables of one block, not all at once
    #: Whether they are decided by logarithms, which keep their digits however small the numbers are, and beliefs about
    #: a block are frequencies of its draws, not means of its probabilities given the others.
    are_counted: bool
    acceptance: float | None  # the share of proposals that were taken; `None` where nothing is refused
    num_draws: int  # the draws of all chains

    @property
    def num_independent(self) -> float:
        """The most independent draws that they can be worth: a chain that refuses a new assignment repeats itself."""
        if self.are_of_blocks or self.acceptance is None:
            return float(self.num_draws)
        return max(1.0, self.acceptance * self.num_draws)

    @property
    def are_refused(self) -> bool:
        """Whether chains that propose whole assignments have hardly moved."""
        return self.num_independent < min(_FEWEST_MOVES, _LOW_ACCEPTANCE * self.num_draws)


def chain_doubt(problem: Problem, layout: ChainLayout, found: ChainBeliefs, moves: Moves) -> str:
    """Why the chains are not to be trusted, and what to do; "" where they are."""
    cut = blocking_factor(problem, layout.blocks) if moves.are_of_blocks else ""
    if cut:
        return f"{cut_text(cut)} Give these as one of the blocks=, or sum some out with collapsed=."
    if layout.blocks and moves.are_refused:
        return (
            f"The chains took {moves.acceptance:.2g} of the proposals, about {moves.num_independent:.0f} of "
            f"{moves.num_draws}: they hardly moved. Take another proposal=, such as 'single-site uniform', or Gibbs()."
        )
    if found.r_hat > MAX_R_HAT:
        return (
            f"{told_r_hat(found.r_hat)}: the chains have not mixed. Raise num_samples and burn_in, give dependent "
            "variables as blocks=, or sum some out with collapsed=."
        )
    if layout.blocks and found.num_batches < FEWEST_BATCHES:
        return (
            f"The draws make {found.num_batches} batches, fewer than {FEWEST_BATCHES}: too few to tell whether the "
            "chains have mixed. Raise num_samples."
        )
    if problem.has_lost_digits and layout.blocks and not moves.are_counted:
        return (
            "The entries of some factor lie so far apart that small ones lose their digits. Where these decide, "
            "take Metropolis() or LoopyBP(), which work on logarithms."
        )
    return ""


def cut_text(names: str) -> str:
    """That zeros keep chains from going everywhere; the names are those of `blocking_factor`."""
    return (
        f"Zeros in the factors over {names} keep the chains from assignments that are possible, since no move "
        "changes enough variables at once."
    )
