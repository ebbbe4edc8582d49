"""Sweeps of Markov chains over blocks of discrete variables, Gibbs draws and Metropolis proposals; random numbers.

A chain keeps, for each block, the code of its joint state and, for each factor, the place in `tables` of its current
entry. When a block moves, its links say how the places of its factors move along: see `BlockLinks`.

Random numbers are those of SplitMix64 (Steele, Lea & Flood 2014), whose whole state is one word, or a counter's place.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.jit import kernel


class BlockLinks(NamedTuple):
    """Which factors each block of variables moves, and how."""

    block_sizes: Ints  # Block b has the codes 0 .. block_sizes[b] - 1 for its joint states.
    #: The factors that block b moves are `link_factors[link_starts[b]:link_starts[b + 1]]`.
    link_starts: Ints
    link_factors: Ints
    #: Going from code c to code d moves the place of link k's factor in its table by `offsets[offset_starts[k] + d] -
    #: offsets[offset_starts[k] + c]`.
    offset_starts: Ints
    offsets: Ints


class ChainArrays(NamedTuple):
    """What sweeps move on in place, a row for each chain."""

    codes: Ints  # (chains, blocks): the joint state of each block
    places: Ints  # (chains, factors): the place in the tables of each factor's current entry
    generators: NDArray[np.uint64]  # A word for each chain: its random numbers go on from there
    #: (chains, cells): the probabilities of the codes of all blocks, one block after the other, and their squares, are
    #: added here; nothing is where there are no cells.
    sums: Floats
    squares: Floats
    #: Blocks, and (chains, sweeps, watched blocks): their codes after each sweep.
    watched: Ints
    draws: Codes
    accepted: Ints  # How many proposals each chain has taken

    @classmethod
    def unwatched(cls, codes: Ints, places: Ints, generators: NDArray[np.uint64]) -> ChainArrays:
        """Chains of which nothing is kept but where they get to."""
        count = len(codes)
        nothing, draws = np.zeros((count, 0)), np.zeros((count, 0, 0), dtype=np.int32)
        accepted = np.zeros(count, dtype=np.int64)
        return cls(codes, places, generators, nothing, nothing, np.zeros(0, dtype=np.int64), draws, accepted)

    def of_chains(self, first: int, last: int) -> ChainArrays:
        """The part of some chains, sharing memory."""
        rows = {name: array[first:last] for name, array in self._asdict().items() if name != "watched"}
        return self._replace(**rows)


#: By so much the word goes on from one number to the next.
STEP = np.uint64(0x9E3779B97F4A7C15)

_FIRST_FACTOR = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_FACTOR = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))


@kernel
def hashed_uniform(word: np.uint64) -> float:
    """The number in [0, 1) that belongs to a word."""
    word = (word ^ (word >> _SHIFTS[0])) * _FIRST_FACTOR
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND_FACTOR
    word ^= word >> _SHIFTS[2]
    return np.float64(word >> _SHIFTS[3]) * 2.0**-53


Words = NDArray[np.uint64]

#: Products below this may have lost digits; they are formed again from logarithms.
_TINY = 1e-200


@kernel
def uniform(generators: Words, chain: int) -> float:
    """The chain's next number in [0, 1)."""
    generators[chain] += STEP
    return hashed_uniform(generators[chain])


@kernel
def drawn_by_logs(weights: Floats, size: int, level: float) -> int:
    """A choice in proportion to exp(weights), which are used up."""
    peak = -np.inf
    for choice in range(size):
        peak = max(peak, weights[choice])
    total = 0.0
    for choice in range(size):
        weights[choice] = np.exp(weights[choice] - peak)
        total += weights[choice]
    left, chosen = level * total, 0
    for choice in range(size):
        if weights[choice] > 0:
            chosen = choice
            if left < weights[choice]:
                break
            left -= weights[choice]
    return chosen


@kernel
def _products(tables: Floats, links: BlockLinks, block: int, code: int, places: Ints, weights: Floats) -> float:
    """Write Π φ over the factors that a block moves, for each of its codes, into `weights`; its sum."""
    size = links.block_sizes[block]
    for other in range(size):
        weights[other] = 1.0
    for link in range(links.link_starts[block], links.link_starts[block + 1]):
        start = links.offset_starts[link]
        base = places[links.link_factors[link]] - links.offsets[start + code]
        for other in range(size):
            weights[other] *= tables[base + links.offsets[start + other]]
    total = 0.0
    for other in range(size):
        total += weights[other]
    return total


@kernel
def _scaled_products(tables: Floats, links: BlockLinks, block: int, code: int, places: Ints, weights: Floats) -> float:
    """As `_products`, by logarithms and up to a scale, where the product itself underflows."""
    size, peak = links.block_sizes[block], -np.inf
    for other in range(size):
        weights[other] = 0.0
        for link in range(links.link_starts[block], links.link_starts[block + 1]):
            start = links.offset_starts[link]
            base = places[links.link_factors[link]] - links.offsets[start + code]
            weights[other] += np.log(tables[base + links.offsets[start + other]])
        peak = max(peak, weights[other])
    total = 0.0
    for other in range(size):
        weights[other] = np.exp(weights[other] - peak)
        total += weights[other]
    return total


@kernel
def _draw(weights: Floats, size: int, left: float, code: int) -> int:
    """The code at which the running sum of the weights passes `left`."""
    new = 0
    while new < size - 1 and left >= weights[new]:
        left -= weights[new]
        new += 1
    return new if weights[new] > 0 else code  # rounding can carry the search past the last state that is possible


@kernel
def _move(links: BlockLinks, block: int, code: int, new: int, places: Ints) -> None:
    """Bring the places of a block's factors from one code to another."""
    for link in range(links.link_starts[block], links.link_starts[block + 1]):
        start = links.offset_starts[link]
        places[links.link_factors[link]] += links.offsets[start + new] - links.offsets[start + code]


@kernel
def _log_ratio(log_tables: Floats, links: BlockLinks, block: int, code: int, new: int, places: Ints) -> float:
    """log Π φ after a block's move, less that before."""
    total = 0.0
    for link in range(links.link_starts[block], links.link_starts[block + 1]):
        start, place = links.offset_starts[link], places[links.link_factors[link]]
        total += log_tables[place + links.offsets[start + new] - links.offsets[start + code]] - log_tables[place]
    return total


@kernel(steps=lambda num_sweeps, tables, links, chains, weights: 15 * num_sweeps * chains.codes.size)
def gibbs_sweeps(num_sweeps: int, tables: Floats, links: BlockLinks, chains: ChainArrays, weights: Floats) -> None:
    """Redraw every block of every chain from its distribution given the rest, `num_sweeps` times.

    `chains.sums` gets the probabilities that the codes are drawn from. `weights` is scratch, as large as the largest
    block.
    """
    keeps_sums = chains.sums.shape[1] > 0
    for chain in range(chains.codes.shape[0]):
        codes, places = chains.codes[chain], chains.places[chain]
        for sweep in range(num_sweeps):
            cell = 0
            for block in range(links.block_sizes.size):
                size, code = links.block_sizes[block], codes[block]
                total = _products(tables, links, block, code, places, weights)
                if total < _TINY:
                    total = _scaled_products(tables, links, block, code, places, weights)
                new = _draw(weights, size, uniform(chains.generators, chain) * total, code)
                if new != code:
                    codes[block] = new
                    _move(links, block, code, new, places)
                if keeps_sums:
                    scale = 1 / total
                    for other in range(size):
                        share = weights[other] * scale
                        chains.sums[chain, cell + other] += share
                        chains.squares[chain, cell + other] += share * share
                cell += size
            for place in range(chains.watched.size):
                chains.draws[chain, sweep, place] = codes[chains.watched[place]]


@kernel(steps=lambda num_sweeps, tables, links, chains: 15 * num_sweeps * chains.codes.size)
def metropolis_sweeps(num_sweeps: int, log_tables: Floats, links: BlockLinks, chains: ChainArrays) -> None:
    """As `gibbs_sweeps`, with as many proposals as blocks in a sweep: a random block takes another code at random.

    The first proposal of a sweep may be the code that the block has: a chain that takes every proposal would else come
    back to where it was after an even number of them only, and sweeps of an even number would not reach half of the
    assignments. `chains.sums` gets one for the code of each block after each sweep.
    """
    num_blocks = links.block_sizes.size
    for chain in range(chains.codes.shape[0]):
        codes, places = chains.codes[chain], chains.places[chain]
        for sweep in range(num_sweeps):
            for turn in range(num_blocks):
                block = int(uniform(chains.generators, chain) * num_blocks)
                size, code = links.block_sizes[block], codes[block]
                may_stay = turn == 0 or size == 1
                new = int(uniform(chains.generators, chain) * (size - 1 + may_stay))
                new += not may_stay and new >= code
                log_ratio = _log_ratio(log_tables, links, block, code, new, places)
                if np.log(1 - uniform(chains.generators, chain)) < log_ratio:
                    chains.accepted[chain] += 1
                    codes[block] = new
                    _move(links, block, code, new, places)
            cell = 0
            for block in range(num_blocks * (chains.sums.shape[1] > 0)):
                chains.sums[chain, cell + codes[block]] += 1.0
                cell += links.block_sizes[block]
            for place in range(chains.watched.size):
                chains.draws[chain, sweep, place] = codes[chains.watched[place]]


@kernel(steps=lambda log_weights, *_: log_weights.size)
def accept_in_turn(log_weights: Floats, levels: Floats, places: Ints) -> None:
    """Metropolis' rule for proposals that don't depend on where the chain is; see `accepted_places`."""
    for chain in range(levels.shape[0]):
        at = 0
        for number in range(levels.shape[1]):
            if levels[chain, number] < log_weights[chain, number + 1] - log_weights[chain, at]:
                at = number + 1
            places[chain, number] = at
