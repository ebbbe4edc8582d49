"""How a Markov chain sees a problem: blocks of variables that move together, and the factors that they move."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Flags, Ints
from plausible.errors import InvalidArgument, TooLarge
from plausible.inference.problem import Problem
from plausible.kernels.chain_arrays import BlockLinks

__all__ = ["MAX_BLOCK_STATES", "ChainLayout"]


#: A block with more joint states is refused.
MAX_BLOCK_STATES = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class ChainLayout:
    """A problem's variables in blocks; made by `ChainLayout.of`.

    Attributes
    ----------
    blocks
        The variables of each block, by their places; the last one's state changes fastest in the block's code.
    block_of, steps
        For each variable its block, and by how much its next state raises the code of that.
    sizes
        The number of states of each variable.
    scope_starts, scopes, strides
        The variables of each factor, and by how much the next state of each moves the factor's place.
    table_starts
        Where the table of each factor begins.
    links
        Which factors each block moves, for the kernels.
    cell_starts
        Where the cells of each block begin when those of all blocks are laid one after the other; one more at the end.
    """

    blocks: tuple[tuple[int, ...], ...]
    block_of: Ints
    steps: Ints
    sizes: Ints
    scope_starts: Ints
    scopes: Ints
    strides: Ints
    table_starts: Ints
    links: BlockLinks
    cell_starts: Ints

    @classmethod
    def of(cls, problem: Problem, groups: Sequence[Sequence[int]] = ()) -> ChainLayout:
        """The given groups as blocks, and a block for each other variable."""
        blocks = _partition(problem, groups)
        block_of = np.zeros(len(problem.variables), dtype=np.int64)
        steps = np.ones(len(problem.variables), dtype=np.int64)
        for number, block in enumerate(blocks):
            block_of[list(block)] = number
            for place in range(len(block) - 1, 0, -1):
                steps[block[place - 1]] = steps[block[place]] * problem.sizes[block[place]]
        block_sizes = np.ones(len(blocks), dtype=np.int64)
        np.multiply.at(block_sizes, block_of, problem.sizes)
        return cls(
            blocks,
            block_of,
            steps,
            problem.sizes,
            problem.scope_starts,
            problem.scopes,
            problem.strides,
            problem.table_starts,
            _links(problem, block_of, steps, block_sizes),
            np.concatenate([[0], np.cumsum(block_sizes)]),
        )

    @property
    def num_cells(self) -> int:
        """The joint states of all blocks, added up."""
        return int(self.cell_starts[-1])

    @property
    def largest_block(self) -> int:
        """The joint states of the block that has most of them; zero where there is none."""
        return int(self.links.block_sizes.max(initial=0))

    @property
    def has_neighbours(self) -> Flags:
        """For each block whether some factor ties it to another one that has a choice."""
        links = self.links
        owners = np.repeat(np.arange(len(self.blocks)), np.diff(links.link_starts))
        is_choice = links.block_sizes[owners] > 1
        partners = np.bincount(links.link_factors, is_choice, minlength=len(self.table_starts) - 1)
        tied = partners[links.link_factors] > is_choice
        return np.bincount(owners, tied, minlength=len(self.blocks)) > 0

    def codes(self, states: Ints) -> Ints:
        """The code of each block for each row of states."""
        if len(self.blocks) == len(self.sizes):
            return states.copy()  # each variable is a block, in order
        codes = np.zeros((len(states), len(self.blocks)), dtype=np.int64)
        np.add.at(codes.T, self.block_of, (states * self.steps).T)
        return codes

    def states(self, codes: Ints) -> Ints:
        """The state of each variable for each row of codes, which may have more axes before."""
        return codes[..., self.block_of] // self.steps % self.sizes

    def places(self, codes: Ints) -> Ints:
        """The place in the tables of each factor's entry, for each row of codes."""
        if not len(self.table_starts) - 1:
            return np.zeros((len(codes), 0), dtype=np.int64)
        moved = self.states(codes)[:, self.scopes] * self.strides
        return np.add.reduceat(moved, self.scope_starts[:-1], axis=1) + self.table_starts[:-1]


def _partition(problem: Problem, groups: Sequence[Sequence[int]]) -> tuple[tuple[int, ...], ...]:
    """The groups in order of their first variables, with the others alone."""
    leader: dict[int, tuple[int, ...]] = {}
    taken: set[int] = set()
    for group in groups:
        for variable in group:
            if variable in taken:
                name = problem.variables[variable].name
                raise InvalidArgument(f"{name!r} is in two blocks, or twice in one: a variable moves with one block.")
            taken.add(variable)
        entries = float(np.prod(problem.sizes[list(group)], dtype=np.float64))
        if entries > MAX_BLOCK_STATES:
            names = ", ".join(repr(problem.variables[variable].name) for variable in group[:8])
            raise TooLarge(
                f"The block of {names} has {entries:.3g} joint states; the limit is {MAX_BLOCK_STATES}. "
                "Split it, or sum variables out with collapsed=."
            )
        if group:
            leader[min(group)] = tuple(group)
    for variable in range(len(problem.variables)):
        if variable not in taken:
            leader[variable] = (variable,)
    return tuple(leader[first] for first in sorted(leader))


def _links(problem: Problem, block_of: Ints, steps: Ints, block_sizes: Ints) -> BlockLinks:
    """The links of each block to the factors that hold some of its variables."""
    num_factors = len(problem.factors)
    factor_of = np.repeat(np.arange(num_factors), np.diff(problem.scope_starts))
    pairs, link_of = np.unique(block_of[problem.scopes] * max(num_factors, 1) + factor_of, return_inverse=True)
    link_blocks, link_factors = np.divmod(pairs, max(num_factors, 1))
    link_starts = np.searchsorted(link_blocks, np.arange(len(block_sizes) + 1))
    lengths = block_sizes[link_blocks]
    offset_starts = np.cumsum(lengths) - lengths
    offsets = np.zeros(int(lengths.sum()), dtype=np.int64)
    # Each variable of a factor adds its part: its state in each code of the block, times its stride.
    repeats = lengths[link_of]
    entry = np.repeat(np.arange(len(problem.scopes)), repeats)
    code = np.arange(len(entry)) - np.repeat(np.cumsum(repeats) - repeats, repeats)
    variable = problem.scopes[entry]
    state = code // steps[variable] % problem.sizes[variable]
    np.add.at(offsets, offset_starts[link_of[entry]] + code, state * problem.strides[entry])
    return BlockLinks(block_sizes, link_starts.astype(np.int64), link_factors, offset_starts, offsets)
