"""Where Markov chains start, and whether they can get everywhere from there."""

from __future__ import annotations

from collections.abc import Collection, Sequence

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Ints
from plausible.errors import ImpossibleEvidence, NotSupported, TooLarge
from plausible.inference.max_elimination import max_product
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_layout import ChainLayout
from plausible.kernels.chain_arrays import ChainArrays
from plausible.kernels.gibbs import gibbs_sweeps

__all__ = ["blocking_factor", "num_islands", "possible_states", "starting_codes"]

Bools = NDArray[np.bool_]
Words = NDArray[np.uint64]

#: The whole joint is looked at for islands where it has no more states.
_MAX_JOINT, _MAX_AXES = 2**14, 30

#: Tables with more entries are not looked at for islands.
_MAX_TABLE = 2**20

#: What stands in for zero while a start is repaired; the later, the less a violated factor is put up with.
_SOFT_ZEROS = (1e-1, 1e-2, 1e-3, 1e-4, 1e-6, 1e-9)

#: So many sweeps with each of them, so many times over.
_REPAIR_SWEEPS, _REPAIR_ROUNDS = 15, 5


def possible_states(problem: Problem) -> list[Bools]:
    """For each variable the states that no factor rules out by itself, given those of its other variables.

    Each factor takes out what it does not support until nothing changes (arc consistency, Mackworth 1977). Raises
    `ImpossibleEvidence` where a variable is left without a state.
    """
    domains = [np.ones(size, dtype=np.bool_) for size in problem.sizes]
    waiting = {number for number, factor in enumerate(problem.factors) if factor.min() == 0}
    touching: list[list[int]] = [[] for _ in domains]
    for factor in waiting:
        for variable in problem.scope(factor):
            touching[variable].append(factor)
    while waiting:
        scope = problem.scope(factor := waiting.pop())
        support = _support(problem, factor, domains)
        for axis, variable in enumerate(scope):
            kept = np.asarray(support.any(axis=tuple(other for other in range(len(scope)) if other != axis)))
            if not kept.any():
                raise ImpossibleEvidence.outright()
            if (kept != domains[variable]).any():
                domains[variable] = kept
                waiting.update(other for other in touching[variable] if other != factor)
    return domains


def _support(problem: Problem, factor: int, domains: Sequence[Bools]) -> Bools:
    """Where a factor is positive, within the domains of its variables."""
    scope = problem.scope(factor)
    support = np.asarray(problem.factors[factor].values) > 0
    for axis, variable in enumerate(scope):
        support = support & domains[variable].reshape([-1 if place == axis else 1 for place in range(len(scope))])
    return support


# --- islands ---


def num_islands(support: Bools, blocks: Sequence[Sequence[int]]) -> int:
    """Into how many parts the moves of blocks of axes divide the true cells of an array.

    A move changes the places on the axes of one block and goes from a true cell to a true cell.

    Examples
    --------
    >>> both_or_none = np.eye(2, dtype=bool)
    >>> num_islands(both_or_none, [[0], [1]]), num_islands(both_or_none, [[0, 1]])
    (2, 1)
    """
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    cells = np.argwhere(support)
    if len(cells) < 2:
        return len(cells)
    # A hub for each way to place the axes outside the block joins all cells that share it.
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
    that "" is certain for them. In larger ones each factor is, within `possible_states`: one whose positive entries
    fall apart divides all of the joint.
    """
    if not (problem.tables == 0).any():
        return ""
    is_small = np.prod(problem.sizes, dtype=np.float64) <= _MAX_JOINT and len(problem.sizes) <= _MAX_AXES
    if is_small and num_islands(_joint_support(problem), [[*block, *free] for block in blocks]) < 2:
        return ""
    domains = possible_states(problem)
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
        if num_islands(_support(problem, number, domains), [*axes.values()]) > 1:
            return ", ".join(factor.names)
    names = [name for number in strict for name in problem.factors[number].names] if is_small else []
    return ", ".join(dict.fromkeys(names))


def _joint_support(problem: Problem) -> Bools:
    """Where the product of all factors is positive."""
    joint = np.indices(problem.sizes.tolist()).reshape(len(problem.sizes), -1).T
    return np.isfinite(problem.log_product(joint)).reshape(problem.sizes)


# --- starts ---


def starting_codes(problem: Problem, layout: ChainLayout, generators: Words, seed: int) -> Ints:
    """Codes for each chain of an assignment with a positive product, drawn at random and repaired.

    While some chain stands on a zero, it makes Gibbs sweeps with zeros replaced by small numbers that get smaller.
    Where that does not help, a best assignment by elimination is every such chain's start.
    """
    domains = possible_states(problem)
    rng = np.random.default_rng([seed, len(generators)])
    states = rng.integers(0, problem.sizes, size=(len(generators), len(domains)))
    for variable, domain in enumerate(domains):
        if not domain.all():
            states[:, variable] = rng.choice(np.flatnonzero(domain), size=len(generators))
    codes = layout.codes(states)
    places = layout.places(codes)
    stuck = [chain for chain in range(len(codes)) if not _is_positive(problem, places[chain])]
    for chain in stuck:
        if not _repair(problem, layout, codes[chain : chain + 1], places[chain : chain + 1], generators[[chain]]):
            codes[chain] = layout.codes(_best_states(problem))[0]
    return codes


def _is_positive(problem: Problem, places: Ints) -> bool:
    return bool((problem.tables[places] > 0).all())


def _repair(problem: Problem, layout: ChainLayout, codes: Ints, places: Ints, generators: Words) -> bool:
    """Move one chain in place until its product is positive; whether it came to be."""

    chain, scratch = ChainArrays.unwatched(codes, places, generators), np.empty(layout.largest_block)
    for _ in range(_REPAIR_ROUNDS):
        for zero in _SOFT_ZEROS:
            soft = np.where(problem.tables > 0, np.maximum(problem.tables, zero), zero * 1e-3)
            soft.setflags(write=False)  # as the tables are: one kind of array, one compiled kernel
            for _ in range(_REPAIR_SWEEPS):
                gibbs_sweeps(1, soft, layout.links, chain, scratch)
                if _is_positive(problem, places[0]):
                    return True
    return False


def _best_states(problem: Problem) -> Ints:
    """A most probable assignment, by elimination; the last resort."""
    try:
        best = max_product(problem.factors)
    except TooLarge:
        raise NotSupported(
            "No assignment of positive probability was found to start a Markov chain from, and the factors are too "
            "entangled to prove that there is none. Give less evidence, soften the zeros, or use an exact engine."
        ) from None
    return np.array([[variable.index(best[variable.name]) for variable in problem.variables]], dtype=np.int64)
