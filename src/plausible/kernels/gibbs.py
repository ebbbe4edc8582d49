"""Sweeps of Markov chains over blocks of discrete variables: Gibbs draws and Metropolis proposals.

A chain keeps, for each block, the code of its joint state and, for each factor, the place in `tables` of its current
entry. Block b has the codes 0 .. block_sizes[b] - 1. The factors that it moves are those with numbers k in
`link_starts[b] .. link_starts[b + 1]`: link k leads to factor `link_factors[k]`, and going from code c to code d moves
that factor's place by `offsets[offset_starts[k] + d] - offsets[offset_starts[k] + c]`.
"""

from __future__ import annotations

import numpy as np
from numpy.typing import NDArray

from plausible.kernels.jit import kernel

__all__ = ["gibbs_sweeps", "metropolis_sweeps", "uniform"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]
Words = NDArray[np.uint64]

_GOLDEN = np.uint64(0x9E3779B97F4A7C15)
_FIRST_MULTIPLIER = np.uint64(0xBF58476D1CE4E5B9)
_SECOND_MULTIPLIER = np.uint64(0x94D049BB133111EB)
_SHIFTS = (np.uint64(30), np.uint64(27), np.uint64(31), np.uint64(11))

#: Products below this may have lost digits; they are formed again from logarithms.
_TINY = 1e-200


@kernel
def uniform(generators: Words, chain: int) -> float:
    """The chain's next number in [0, 1): SplitMix64 (Steele, Lea & Flood 2014), whose whole state is one word."""
    generators[chain] += _GOLDEN
    word = generators[chain]
    word = (word ^ (word >> _SHIFTS[0])) * _FIRST_MULTIPLIER
    word = (word ^ (word >> _SHIFTS[1])) * _SECOND_MULTIPLIER
    word ^= word >> _SHIFTS[2]
    return np.float64(word >> _SHIFTS[3]) * 2.0**-53


@kernel
def _products(
    tables: Floats,
    first: int,
    last: int,
    link_factors: Ints,
    offset_starts: Ints,
    offsets: Ints,
    code: int,
    places: Ints,
    chain: int,
    weights: Floats,
    size: int,
) -> float:
    """Write Π φ over the links first .. last, for each code of a block, into `weights`; its sum."""
    for other in range(size):
        weights[other] = 1.0
    for link in range(first, last):
        start = offset_starts[link]
        base = places[chain, link_factors[link]] - offsets[start + code]
        for other in range(size):
            weights[other] *= tables[base + offsets[start + other]]
    total = 0.0
    for other in range(size):
        total += weights[other]
    return total


@kernel
def _scaled_products(
    tables: Floats,
    first: int,
    last: int,
    link_factors: Ints,
    offset_starts: Ints,
    offsets: Ints,
    code: int,
    places: Ints,
    chain: int,
    weights: Floats,
    size: int,
) -> float:
    """As `_products`, by logarithms and up to a scale, where the product itself underflows."""
    peak = -np.inf
    for other in range(size):
        weights[other] = 0.0
        for link in range(first, last):
            start = offset_starts[link]
            base = places[chain, link_factors[link]] - offsets[start + code]
            weights[other] += np.log(tables[base + offsets[start + other]])
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
def _move(
    first: int,
    last: int,
    link_factors: Ints,
    offset_starts: Ints,
    offsets: Ints,
    code: int,
    new: int,
    places: Ints,
    chain: int,
) -> None:
    """Bring the places of a block's factors from one code to another."""
    for link in range(first, last):
        start = offset_starts[link]
        places[chain, link_factors[link]] += offsets[start + new] - offsets[start + code]


@kernel
def gibbs_sweeps(
    num_sweeps: int,
    tables: Floats,
    block_sizes: Ints,
    link_starts: Ints,
    link_factors: Ints,
    offset_starts: Ints,
    offsets: Ints,
    codes: Ints,
    places: Ints,
    generators: Words,
    sums: Floats,
    squares: Floats,
    watched: Ints,
    draws: NDArray[np.int32],
    weights: Floats,
) -> None:
    """Redraw every block of every chain from its distribution given the rest, `num_sweeps` times.

    `codes`, `places`, `generators` have a row for each chain and are moved on. Unless `sums` is empty, the
    probabilities that the codes are drawn from are added to it, a row for each chain, one block after the other, and
    their squares to `squares`. `draws[chain, sweep]` takes the codes of the watched blocks. `weights` is scratch, as
    large as the largest block.
    """
    for chain in range(codes.shape[0]):
        for sweep in range(num_sweeps):
            cell = 0
            for block in range(block_sizes.size):
                first, last = link_starts[block], link_starts[block + 1]
                size, code = block_sizes[block], codes[chain, block]
                total = _products(
                    tables, first, last, link_factors, offset_starts, offsets, code, places, chain, weights, size
                )
                if total < _TINY:
                    total = _scaled_products(
                        tables, first, last, link_factors, offset_starts, offsets, code, places, chain, weights, size
                    )
                new = _draw(weights, size, uniform(generators, chain) * total, code)
                if new != code:
                    codes[chain, block] = new
                    _move(first, last, link_factors, offset_starts, offsets, code, new, places, chain)
                if sums.shape[1] > 0:
                    scale = 1 / total
                    for other in range(size):
                        share = weights[other] * scale
                        sums[chain, cell + other] += share
                        squares[chain, cell + other] += share * share
                cell += size
            for place in range(watched.size):
                draws[chain, sweep, place] = codes[chain, watched[place]]


@kernel
def metropolis_sweeps(
    num_sweeps: int,
    log_tables: Floats,
    block_sizes: Ints,
    link_starts: Ints,
    link_factors: Ints,
    offset_starts: Ints,
    offsets: Ints,
    codes: Ints,
    places: Ints,
    generators: Words,
    sums: Floats,
    watched: Ints,
    draws: NDArray[np.int32],
    accepted: Ints,
) -> None:
    """As `gibbs_sweeps`, with as many proposals as blocks in a sweep: a random block takes another code at random.

    Unless `sums` is empty, one is added for the code of each block after each sweep. `accepted` counts, by chain.
    """
    for chain in range(codes.shape[0]):
        for sweep in range(num_sweeps):
            for _ in range(block_sizes.size):
                block = int(uniform(generators, chain) * block_sizes.size)
                first, last = link_starts[block], link_starts[block + 1]
                size, code = block_sizes[block], codes[chain, block]
                new = int(uniform(generators, chain) * (size - 1))
                new += new >= code
                if new == size:
                    continue  # a block of one state, which has no other
                log_ratio = 0.0
                for link in range(first, last):
                    start, place = offset_starts[link], places[chain, link_factors[link]]
                    log_ratio += log_tables[place + offsets[start + new] - offsets[start + code]] - log_tables[place]
                if np.log(1 - uniform(generators, chain)) < log_ratio:
                    accepted[chain] += 1
                    codes[chain, block] = new
                    _move(first, last, link_factors, offset_starts, offsets, code, new, places, chain)
            cell = 0
            for block in range(block_sizes.size * (sums.shape[1] > 0)):
                sums[chain, cell + codes[chain, block]] += 1.0
                cell += block_sizes[block]
            for place in range(watched.size):
                draws[chain, sweep, place] = codes[chain, watched[place]]
