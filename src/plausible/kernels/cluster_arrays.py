"""The arrays that kernels of clusters work on, by name; this file needs no compiler.

Clusters are kept in slots: one slot holds the conjugate posterior of the parameters of one cluster. Numbers come in
blocks, each with a normal inverse-Wishart distribution of its own; a block of one is a normal inverse-gamma.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints


class RowArrays(NamedTuple):
    """Rows of features."""

    #: (rows, discrete features): the place of the row's state among the states of all features; -1 where missing.
    cells: Ints
    #: (rows, continuous features), those of a block side by side; a block that begins with NaN is missing.
    numbers: Floats


class BaseArrays(NamedTuple):
    """The distribution of the parameters of a cluster before it has rows."""

    #: Of each state of all discrete features, and their sum for each feature.
    pseudo_counts: Floats
    pseudo_totals: Floats
    #: Block b has the numbers `block_starts[b]` to `block_starts[b + 1]`; its triangular factor begins at
    #: `factor_starts[b]`, row after row.
    block_starts: Ints
    factor_starts: Ints
    #: The expected means, and the Cholesky factors of the scale matrices of all blocks.
    means: Floats
    factors: Floats
    #: How many rows each mean is worth, and the degrees of freedom of each block.
    strengths: Floats
    degrees: Floats
    #: (kinds, number of rows + 1): log Γ((ν + 1) / 2) - log Γ((ν + 1 - d) / 2) - d log(π (κ + 1) / κ) / 2 after so many
    #: rows.
    constants: Floats
    kinds: Ints  # The row of `constants` that a block goes by


class ClusterArrays(NamedTuple):
    """Slots of clusters; the first axis of each array runs over them."""

    sizes: Ints  # How many rows a cluster has
    #: Pseudo-counts of states with those of the rows, and their sums for each feature.
    counts: Floats
    totals: Floats
    block_sizes: Ints  # In how many rows each block of numbers is there
    #: As in `BaseArrays`, given the rows.
    means: Floats
    factors: Floats
    scratch: Floats  # As many numbers as the largest block has


class MoveArrays(NamedTuple):
    """What a sampler moves in place, and its scratch."""

    labels: Ints  # The slot of each row
    #: The slots in use come first in `active`, then the free ones; `positions[slot]` is a slot's place there.
    active: Ints
    positions: Ints
    generators: NDArray[np.uint64]  # One word: random numbers go on from there
    #: Scratch: a number for each slot.
    weights: Floats
    logs: Floats
    #: Scratch: a whole number for each row.
    order: Ints
    sides: Ints
