"""Where chains live: variables in blocks on flat arrays, and assignments of positive probability to start from."""

from __future__ import annotations

import math
import os
from collections.abc import Callable, Collection, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from plausible.base import Flags, Floats, Ints, logarithms, starts_of
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import union_scope
from plausible.inference.exact_map.max_elimination import max_product
from plausible.inference.problem import Problem
from plausible.inference.relevance import possible_states
from plausible.kernels.gibbs import BlockLinks, ChainArrays, gibbs_sweeps
from plausible.kernels.jit import steady
from plausible.variables import Evidence, Variable

#: No table over a variable that goes and its neighbours may have more entries.
MAX_ENTRIES = 2**20

#: The logarithms of floats with all their digits lie between minus this and this.
_LARGEST_LOG = 700.0


@dataclass(frozen=True, slots=True, eq=False)
class Collapse:
    """A problem without some of its variables; made by `Collapse.of`."""

    problem: Problem  # over the others: its product is the sum over those that went
    #: For each variable that went, in that order, P(it | others that were still there), it being the last axis.
    conditionals: tuple[Factor, ...]

    @classmethod
    def of(cls, problem: Problem, names: Collection[str]) -> Collapse:
        """Sum out the named variables, those first that leave the smallest tables; unknown names are passed over."""
        waiting = [variable for variable in problem.variables if variable.name in set(names)]
        if not waiting:
            return cls(problem, ())
        factors, conditionals, log_scale = list(problem.reduced), [], 0.0
        while waiting:
            entries, place = min((_entries(factors, v), place) for place, v in enumerate(waiting))
            variable = waiting.pop(place)
            if entries > MAX_ENTRIES:
                raise TooLarge(
                    f"Summing {variable.name!r} out would build a table with {entries:.3g} entries; the limit is "
                    f"{MAX_ENTRIES}. Leave it out of collapsed=."
                )
            touching = [factor for factor in factors if variable.name in factor.names]
            message, conditional, log_shift = _summed_out(touching, variable)
            factors = [factor for factor in factors if variable.name not in factor.names] + [message]
            conditionals.append(conditional)
            log_scale += log_shift
        # Factors without variables whose product has this logarithm, however large it is.
        count = math.ceil(abs(log_scale) / _LARGEST_LOG)
        factors += [Factor.scalar(math.exp(log_scale / max(count, 1)))] * count
        return cls(Problem.of(factors, Evidence.read({}, {})), tuple(conditionals))

    def sampled(self, names: Sequence[str]) -> tuple[str, ...]:
        """The variables still there whose joint belief gives that of the named ones."""
        wanted = dict.fromkeys(names)
        for conditional in self.conditionals:
            *separator, variable = conditional.names
            if variable in wanted:
                del wanted[variable]
                wanted |= dict.fromkeys(separator)
        return tuple(wanted)

    def expand(self, names: Sequence[str], tables: Floats) -> Floats:
        """Beliefs (..., states of each name) from those over `sampled(names)`: Σ P(gone | kept) P(kept)."""
        have = list(self.sampled(names))
        used: list[Factor] = []
        wanted = dict.fromkeys(names)
        for conditional in self.conditionals:
            if conditional.names[-1] in wanted:
                used.append(conditional)
                wanted |= dict.fromkeys(conditional.names)
        labels = {name: label for label, name in enumerate(dict.fromkeys([*have, *wanted]))}
        operands: list[object] = [tables, [Ellipsis, *(labels[name] for name in have)]]
        for conditional in used:
            operands += [conditional.values, [labels[name] for name in conditional.names]]
        output = [Ellipsis, *(labels[name] for name in names)]
        return np.asarray(np.einsum(*operands, output, optimize=len(used) > 1))  # type: ignore[call-overload]

    def draw(self, columns: Mapping[str, Ints], generator: np.random.Generator, num_rows: int) -> dict[str, Ints]:
        """States of the variables that went, a row each, given those of the others."""
        drawn: dict[str, Ints] = {}
        for conditional in reversed(self.conditionals):  # what went last depends on what stayed alone
            *separator, name = conditional.names
            given = tuple({**columns, **drawn}[other] for other in separator)
            thresholds = np.cumsum(conditional.values, axis=-1)[given]
            levels = generator.random(num_rows) * thresholds[..., -1]
            drawn[name] = (levels[:, None] >= thresholds[..., :-1]).sum(axis=1)
        return drawn


def _summed_out(touching: Sequence[Factor], variable: Variable) -> tuple[Factor, Factor, float]:
    """Σ_x Π φ up to a scale, P(x | the others), x being the last axis, and the logarithm of that scale.

    By logarithms: neither the product nor a factor scaled to a peak of one need have room in floats.
    """
    others = [other for other in union_scope([factor.scope for factor in touching]) if other.name != variable.name]
    scope = (*others, variable)
    labels = {each.name: label for label, each in enumerate(scope)}
    logs = np.zeros([each.num_states for each in scope])
    for factor in touching:
        order = sorted(range(len(factor.scope)), key=lambda axis: labels[factor.names[axis]])
        shape = [each.num_states if each.name in factor.names else 1 for each in scope]
        logs += logarithms(np.transpose(factor.values, order)).reshape(shape)
    peaks = logs.max(axis=-1, keepdims=True)
    shares = np.exp(logs - np.where(np.isneginf(peaks), 0.0, peaks))
    totals = shares.sum(axis=-1, keepdims=True)
    conditional = Factor(scope, shares / np.where(totals > 0, totals, 1.0))
    log_message = (logarithms(totals) + peaks)[..., 0]
    # The largest and, if there is room, the smallest are to be logarithms of floats.
    finite, log_scale = log_message[np.isfinite(log_message)], 0.0
    if finite.size:
        above = float(np.clip(finite.max() - finite.min() - _LARGEST_LOG, 0.0, _LARGEST_LOG))
        log_scale = float(finite.max()) - above
    return Factor(others, np.exp(log_message - log_scale)), conditional, log_scale


def _entries(factors: Sequence[Factor], variable: Variable) -> float:
    """The size of the table that summing a variable out builds."""
    sizes = {v.name: v.num_states for f in factors if variable.name in f.names for v in f.scope}
    return math.prod(map(float, sizes.values()))


#: A block with more joint states is refused.
MAX_BLOCK_STATES = 2**16


@dataclass(frozen=True, slots=True, eq=False)
class ChainLayout:
    """A problem's variables in blocks; made by `ChainLayout.of`."""

    #: The variables of each block, by their places; the last one's state changes fastest in the block's code.
    blocks: tuple[tuple[int, ...], ...]
    block_of: Ints  # for each variable its block, and by how much its next state raises the code of that
    steps: Ints
    sizes: Ints  # the number of states of each variable
    scope_starts: Ints  # the variables of each factor, and by how much the next state of each moves the factor's place
    scopes: Ints
    strides: Ints
    table_starts: Ints  # where the table of each factor begins
    links: BlockLinks  # which factors each block moves, for the kernels
    #: Where the cells of each block begin when those of all blocks are laid one after the other; one more at the end.
    cell_starts: Ints

    @classmethod
    def of(cls, problem: Problem, groups: Sequence[Sequence[int]] = ()) -> ChainLayout:
        """The given groups as blocks, and a block for each other variable."""
        blocks = _partition(problem, groups)
        block_of, steps = np.zeros_like(problem.sizes), np.ones_like(problem.sizes)
        for number, block in enumerate(blocks):
            block_of[list(block)] = number
            for place in range(len(block) - 1, 0, -1):
                steps[block[place - 1]] = steps[block[place]] * problem.sizes[block[place]]
        block_sizes = np.ones(len(blocks), dtype=np.int64)
        np.multiply.at(block_sizes, block_of, problem.sizes)
        arrays = problem.sizes, problem.scope_starts, problem.scopes, problem.strides, problem.table_starts
        links = _links(problem, block_of, steps, block_sizes)
        return cls(blocks, block_of, steps, *arrays, links, starts_of(block_sizes))

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


Words = NDArray[np.uint64]

#: The whole joint is looked at for islands where it has no more states.
_MAX_JOINT, _MAX_AXES = 2**14, 30

#: Tables with more entries are not looked at for islands.
_MAX_TABLE = 2**20

#: What stands in for zero while a start is repaired; the later, the less a violated factor is put up with.
_SOFT_ZEROS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)

#: So many sweeps with each of them, so many times over.
_REPAIR_SWEEPS, _REPAIR_ROUNDS = 15, 5


def live_states(problem: Problem) -> list[Flags]:
    """For each variable the states that no factor rules out by itself; see `relevance.possible_states`."""
    live = possible_states(problem.factors, Evidence.read({}, {}))
    return [live[variable.name] for variable in problem.variables]


def num_islands(support: Flags, blocks: Sequence[Sequence[int]]) -> int:
    """Into how many parts moves of blocks of axes, from one true cell to another, divide the true cells of an array."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    cells = np.argwhere(support)
    if len(cells) < 2:
        return len(cells)
    # a hub for each way to place the axes outside the block joins all cells that share it.
    rows, columns, num_nodes = [], [], len(cells)
    for block in blocks:
        others = [axis for axis in range(support.ndim) if axis not in block]
        keys = np.zeros(len(cells), dtype=np.int64)
        for axis in others:
            keys = keys * support.shape[axis] + cells[:, axis]
        _, hubs = np.unique(keys, return_inverse=True)
        rows.append(np.arange(len(cells)))
        columns.append(hubs + num_nodes)
        num_nodes += int(hubs.max()) + 1
    ends = np.concatenate(rows), np.concatenate(columns)
    graph = coo_array((np.ones(len(ends[0])), ends), shape=(num_nodes, num_nodes))
    return int(connected_components(graph, directed=False)[0])


def blocking_factor(problem: Problem, blocks: Sequence[Sequence[int]], free: Collection[int] = ()) -> str:
    """What keeps the moves of blocks from reaching every possible assignment: the names of its variables, or "".

    A move changes one block and, along with it, any of the `free` variables. Small joints are looked at as a whole, so
    that "" is certain for them. In larger ones each factor is, within `live_states`: one whose positive entries
    fall apart divides all of the joint.
    """
    if not (problem.tables == 0).any():
        return ""
    is_small = len(problem.sizes) <= _MAX_AXES and np.prod(problem.sizes, dtype=np.float64) <= _MAX_JOINT
    if is_small:
        joint = np.indices(problem.sizes.tolist()).reshape(len(problem.sizes), -1).T
        is_possible = np.isfinite(problem.log_product(joint)).reshape(problem.sizes)
        if num_islands(is_possible, [[*block, *free] for block in blocks]) < 2:
            return ""
    domains = live_states(problem)
    block_of = {variable: number for number, block in enumerate(blocks) for variable in block}
    strict = [number for number, factor in enumerate(problem.factors) if factor.min() == 0]
    for number in strict:
        scope, factor = problem.scope(number), problem.factors[number]
        unbound = [axis for axis, variable in enumerate(scope) if variable in free]
        axes: dict[int, list[int]] = {}
        for axis, variable in enumerate(scope):
            if variable not in free:
                axes.setdefault(block_of[variable], [*unbound]).append(axis)
        if not axes or factor.flat.size > _MAX_TABLE:
            continue
        inside = reduce(np.logical_and.outer, [domains[variable] for variable in scope])
        if num_islands((np.asarray(factor.values) > 0) & inside, [*axes.values()]) > 1:
            return ", ".join(factor.names)
    names = [name for number in strict for name in problem.factors[number].names] if is_small else []
    return ", ".join(dict.fromkeys(names))


def starting_codes(problem: Problem, layout: ChainLayout, generators: Words, seed: int) -> Ints:
    """Codes for each chain of an assignment with a positive product, drawn at random and repaired.

    While some chain stands on a zero, it makes Gibbs sweeps with zeros replaced by small numbers that get smaller.
    Where that does not help, a best assignment by elimination is every such chain's start.
    """
    domains = live_states(problem)
    rng = np.random.default_rng([seed, len(generators)])
    states = rng.integers(0, problem.sizes, size=(len(generators), len(domains)))
    for variable, domain in enumerate(domains):
        if not domain.all():
            states[:, variable] = rng.choice(np.flatnonzero(domain), size=len(generators))
    codes = layout.codes(states)
    places = layout.places(codes)
    for chain in np.flatnonzero(~(problem.tables[places] > 0).all(axis=1)).tolist():
        if not _repair(problem, layout, codes[chain : chain + 1], places[chain : chain + 1], generators[[chain]]):
            try:
                best = max_product(problem.factors)
            except TooLarge:
                raise NotSupported(
                    "No assignment of positive probability was found to start a Markov chain from, and the factors are "
                    "too entangled to prove that there is none. Give less evidence, soften the zeros, or use an exact "
                    "engine."
                ) from None
            states = np.array([[variable.index(best[variable.name]) for variable in problem.variables]], dtype=np.int64)
            codes[chain] = layout.codes(states)[0]
    return codes


def _repair(problem: Problem, layout: ChainLayout, codes: Ints, places: Ints, generators: Words) -> bool:
    """Move one chain in place until its product is positive; whether it came to be."""
    chain, scratch = ChainArrays.unwatched(codes, places, generators), np.empty(layout.largest_block)
    for zero in _SOFT_ZEROS * _REPAIR_ROUNDS:
        soft = np.where(problem.tables > 0, np.maximum(problem.tables, zero), zero * 1e-3)
        soft.setflags(write=False)  # as the tables are: one kind of array, one compiled kernel
        for _ in range(_REPAIR_SWEEPS):
            gibbs_sweeps(1, soft, layout.links, chain, scratch)
            if (problem.tables[places[0]] > 0).all():
                return True
    return False


#: Threads are not worth their start for fewer updates than this.
_FEWEST_UPDATES = 20_000


def move_chains(
    work: Callable[[ChainArrays], object],
    chains: ChainArrays,
    num_updates: int,
    num_threads: int | None,
    group: int = 1,
) -> None:
    """Do the work for all chains, on threads if it is worth it: chains share nothing, so it changes no bit.

    Each piece of work has a group of so many chains, whatever the number of threads.
    """
    firsts = range(0, len(chains.codes), group)
    width = min(num_threads or os.cpu_count() or 1, len(firsts))
    if width <= 1 or num_updates < _FEWEST_UPDATES:
        work(chains)
        return
    with steady(len(firsts)), ThreadPoolExecutor(width) as pool:
        list(pool.map(work, (chains.of_chains(first, first + group) for first in firsts)))
