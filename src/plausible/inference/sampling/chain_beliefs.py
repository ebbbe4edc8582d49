"""From the batches of Markov chains to beliefs, their standard errors and R-hats."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import NamedTuple, Protocol

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.errors import TooLarge
from plausible.inference.sampling.chain_diagnostics import (
    UNSEEN,
    interval_width,
    monte_carlo_error,
    r_hat_of_moments,
)
from plausible.inference.sampling.chain_layout import ChainLayout
from plausible.inference.sampling.collapsing import Collapse

__all__ = [
    "FEWEST_BATCHES",
    "Batches",
    "ChainBeliefs",
    "Draws",
    "beliefs_of",
    "blocks_across",
    "check_countable",
    "worst_r_hat",
]


#: No more numbers than these are counted for the batches of one group.
_MAX_COUNTS = 2**23

#: With fewer batches, those of all chains together, standard errors are guesses.
FEWEST_BATCHES = 16


class Batches(Protocol):
    """What is read off a `ChainState`."""

    @property
    def batch_length(self) -> int:
        """The draws of a batch."""

    @property
    def num_filled(self) -> int:
        """The batches that are full."""

    @property
    def sums(self) -> Floats:
        """(chains, batches, cells)."""

    @property
    def squares(self) -> Floats:
        """(chains, batches, cells)."""

    @property
    def watched(self) -> Ints:
        """Blocks."""

    @property
    def draws(self) -> Codes:
        """(chains, draws, watched blocks)."""


@dataclass(frozen=True, slots=True, eq=False)
class ChainBeliefs:
    """What chains say of some groups of variables.

    Attributes
    ----------
    tables
        A table for each group.
    error
        The half-width of a 95 % interval for the worst number p: standard errors times Student's t for the batches;
        by the rule of three where a number never varied, though what it depends on could.
    effective_samples
        p (1 - p) over the square of that standard error: so many independent draws would have the same; no more than
        the draws can be worth.
    r_hat
        The worst R-hat.
    num_batches
        The batches of all chains together.
    """

    tables: tuple[Floats, ...]
    error: float
    effective_samples: float
    r_hat: float
    num_batches: int


class Draws(NamedTuple):
    """What the draws of a method are.

    Attributes
    ----------
    num_independent
        The most independent ones that they can be worth.
    are_counted
        Whether beliefs about a block are frequencies of its draws, not means of its probabilities given the others.
    """

    num_independent: float
    are_counted: bool


def beliefs_of(
    state: Batches,
    layout: ChainLayout,
    collapse: Collapse,
    names: Sequence[Sequence[str]],
    sampled: Sequence[Sequence[int]],
    draws: Draws,
) -> ChainBeliefs:
    """The joint of each group of names from batch means of that of the sampled variables that it rests on."""
    tables, numbers, worst, least = [], [np.zeros((*state.sums.shape[:2], 1))], 1.0, 0.0
    touched: set[int] = set()
    for group, places in zip(names, sampled, strict=True):
        touched.update(layout.block_of[list(places)].tolist())
        if across := blocks_across(layout, places):
            means = _counted(state, layout, across, places)
            cells = means.reshape(*means.shape[:2], -1)
            worst = max(worst, _worst(cells, cells, state.batch_length))
        else:
            means = _conditional(state, layout, [place for place in places if layout.sizes[place] > 1])
        means = collapse.expand(group, means.reshape(*means.shape[:2], *layout.sizes[list(places)]))
        tables.append(means.mean(axis=(0, 1)))
        numbers.append(means.reshape(*means.shape[:2], -1))
        least = max(least, _least_error(numbers[-1], layout, places, draws))
    starts = layout.cell_starts
    spans = [np.arange(starts[block], starts[block + 1], dtype=np.int64) for block in sorted(touched)]
    if spans:
        worst = max(worst, worst_r_hat(state, np.concatenate(spans)))
    values = np.concatenate(numbers, axis=2)
    errors, degrees = _standard_errors(values)
    place = int(errors.argmax())
    mean, error = float(values[:, :, place].mean()), float(errors[place])
    size = (
        draws.num_independent
        if error <= PROBABILITY_NOISE
        else min(draws.num_independent, mean * (1 - mean) / error**2)
    )
    width = min(1.0, max(least, interval_width(degrees) * error))
    return ChainBeliefs(tuple(tables), width, size, worst, values.shape[0] * values.shape[1])


def _least_error(numbers: Floats, layout: ChainLayout, places: Sequence[int], draws: Draws) -> float:
    """What the error of a group's numbers (chains, batches, numbers) does not fall below, however little they vary."""
    blocks = {int(layout.block_of[place]) for place in places if layout.sizes[place] > 1}
    if not blocks:
        return 0.0
    is_exact = len(blocks) == 1 and not draws.are_counted and not layout.has_neighbours[blocks.pop()]
    if is_exact or np.ptp(numbers, axis=(0, 1)).min() > PROBABILITY_NOISE:
        return PROBABILITY_NOISE
    return min(1.0, UNSEEN / draws.num_independent)


def blocks_across(layout: ChainLayout, places: Sequence[int]) -> list[int]:
    """The blocks that hold some variables, if there are several; those of one state may be anywhere."""
    blocks = {int(layout.block_of[place]) for place in places if layout.sizes[place] > 1}
    return sorted(blocks) if len(blocks) > 1 else []


def check_countable(state: Batches, layout: ChainLayout, groups: Sequence[Sequence[int]]) -> None:
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


def worst_r_hat(state: Batches, cells: Ints) -> float:
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


def _conditional(state: Batches, layout: ChainLayout, places: Sequence[int]) -> Floats:
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


def _counted(state: Batches, layout: ChainLayout, across: Sequence[int], places: Sequence[int]) -> Floats:
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
