"""The arrays that kernels of Markov chains work on, by name; this file needs no compiler."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats, Ints


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
