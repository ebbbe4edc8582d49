"""The arrays that kernels of clusters work on, by name; this file needs no compiler.

Clusters are kept in slots: one slot holds the conjugate posterior of the parameters of one cluster. Numbers come in
blocks, each with a normal inverse-Wishart distribution of its own; a block of one is a normal inverse-gamma.
"""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Ints

__all__ = ["BaseArrays", "ClusterArrays", "MoveArrays", "RowArrays"]


class RowArrays(NamedTuple):
    """Rows of features.

    Attributes
    ----------
    cells
        (rows, discrete features): the place of the row's state among the states of all features; -1 where missing.
    numbers
        (rows, continuous features), those of a block side by side; a block that begins with NaN is missing.
    """

    cells: Ints
    numbers: Floats


class BaseArrays(NamedTuple):
    """The distribution of the parameters of a cluster before it has rows.

    Attributes
    ----------
    pseudo_counts, pseudo_totals
        Of each state of all discrete features, and their sum for each feature.
    block_starts, factor_starts
        Block b has the numbers `block_starts[b]` to `block_starts[b + 1]`; its triangular factor begins at
        `factor_starts[b]`, row after row.
    means, factors
        The expected means, and the Cholesky factors of the scale matrices of all blocks.
    strengths, degrees
        How many rows each mean is worth, and the degrees of freedom of each block.
    constants
        (kinds, number of rows + 1): log Γ((ν + 1) / 2) - log Γ((ν + 1 - d) / 2) - d log(π (κ + 1) / κ) / 2 after so
        many rows.
    kinds
        The row of `constants` that a block goes by.
    """

    pseudo_counts: Floats
    pseudo_totals: Floats
    block_starts: Ints
    factor_starts: Ints
    means: Floats
    factors: Floats
    strengths: Floats
    degrees: Floats
    constants: Floats
    kinds: Ints


class ClusterArrays(NamedTuple):
    """Slots of clusters; the first axis of each array runs over them.

    Attributes
    ----------
    sizes
        How many rows a cluster has.
    counts, totals
        Pseudo-counts of states with those of the rows, and their sums for each feature.
    block_sizes
        In how many rows each block of numbers is there.
    means, factors
        As in `BaseArrays`, given the rows.
    scratch
        As many numbers as the largest block has.
    """

    sizes: Ints
    counts: Floats
    totals: Floats
    block_sizes: Ints
    means: Floats
    factors: Floats
    scratch: Floats


class MoveArrays(NamedTuple):
    """What a sampler moves in place, and its scratch.

    Attributes
    ----------
    labels
        The slot of each row.
    active, positions
        The slots in use come first in `active`, then the free ones; `positions[slot]` is a slot's place there.
    generators
        One word: random numbers go on from there.
    weights, logs
        Scratch: a number for each slot.
    order, sides
        Scratch: a whole number for each row.
    """

    labels: Ints
    active: Ints
    positions: Ints
    generators: NDArray[np.uint64]
    weights: Floats
    logs: Floats
    order: Ints
    sides: Ints
