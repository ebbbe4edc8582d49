"""From the scopes of factors to a `Program`: a good elimination order, the tree that it makes, and its layout."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, chain
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base import Ints
from plausible.engine.program import LARGE, Program, cut_into_pieces, seconds_of
from plausible.errors import TooLarge
from plausible.kernels.blocks import Layout
from plausible.kernels.elimination import eliminate
from plausible.kernels.forest import join_cliques
from plausible.kernels.heuristics import MIN_FILL, MIN_NEIGHBORS, MIN_WEIGHT, WEIGHTED_MIN_FILL
from plausible.kernels.jit import runs_as_machine_code
from plausible.kernels.layout import BLOCK, CLIQUE, WIDE_BLOCK, lay_out
from plausible.kernels.operands import OPERAND
from plausible.kernels.upward import collect

#: The search stops when it has looked at more than this many list items for each table entry of the best order.
_WORK_PER_ENTRY = 0.1
#: ... and in any case after so many (about a tenth of a second): where tables are hopelessly large, no search helps.
_MAX_WORK = 20_000_000
#: Cliques with more entries than this are out of reach: random ties gain a factor of fifty or so, not thousands.
_HOPELESS = 1e15
#: With no more entries than this, another order could not save as much time as it takes to find.
_CHEAP = 4_000


class Elimination(NamedTuple):
    """An elimination run: the clique of step s is `cliques[clique_starts[s]:clique_starts[s + 1]]`.

    `cost` is the number of entries of all cliques, infinite where a run gave up; `work` is how long it took.
    """

    order: Ints
    cliques: Ints
    clique_starts: Ints
    cost: float
    work: int


def best_elimination(scopes: Ints, scope_starts: Ints, sizes: Ints) -> Elimination:
    """The cheapest run by weighted min-fill, min-fill and min-weight, deterministic first, then with random ties.

    The random numbers are always the same, and the search is limited by its work, not by the clock: so the order is
    always the same.
    """

    nothing = np.empty(0, dtype=np.int64)
    run = best = Elimination(*eliminate(scopes, scope_starts, sizes, WEIGHTED_MIN_FILL, nothing, 0, np.inf))
    work, seed = best.work, 0
    heuristics: tuple[int, ...] = (MIN_FILL, MIN_WEIGHT)
    is_uniform = len(np.unique(sizes)) == 1
    while best.cost > _CHEAP and work < min(best.cost * _WORK_PER_ENTRY, _MAX_WORK):
        if seed and best.cost > _HOPELESS:
            break
        for heuristic in heuristics:
            if not (is_uniform and heuristic == MIN_FILL):  # else it would repeat the run by weighted min-fill
                run = Elimination(*eliminate(scopes, scope_starts, sizes, heuristic, nothing, seed, best.cost))
            work += run.work + len(sizes)
            best = min(best, run, key=lambda one: one.cost)
        seed, heuristics = seed + 1, (WEIGHTED_MIN_FILL, MIN_FILL, MIN_WEIGHT)
    return best


Axes: TypeAlias = tuple[int, ...]

#: Clique trees with more entries than this could not even be laid out.
MAX_TREE_ENTRIES = 2**50


class TreeTooLarge(TooLarge):
    """A clique tree that is beyond all bounds; carries its entries and its largest clique, as numbers of variables."""

    def __init__(self, entries: float, clique: tuple[int, ...], clique_entries: float) -> None:
        self.entries, self.clique, self.clique_entries = entries, clique, clique_entries
        size = f"{entries:.3g}" if entries < float("inf") else "more than 1e308"
        super().__init__(f"The clique tree would have {size} entries.")

    def __reduce__(self) -> tuple[object, ...]:
        return TreeTooLarge, (self.entries, self.clique, self.clique_entries)


@lru_cache(maxsize=64)
def compile_program(
    scopes: tuple[Axes, ...],
    sizes: tuple[int, ...],
    order: Axes | None = None,
    held: tuple[Axes, ...] = (),
    roots: Axes = (),
    leaves: Axes = (),
) -> Program:
    """Lay out the exact inference over factors with these scopes; cached by structure.

    Parameters
    ----------
    scopes
        For each factor its variables, as numbers, in axis order.
    sizes
        The number of states of each variable.
    order
        An elimination order; the cheapest of several greedy ones where left out.
    held
        Groups of variables that must share a clique, whatever the factors.
    roots, leaves
        Variables whose smallest clique is the root of its tree; or is none, where its tree has others.

    Raises
    ------
    TreeTooLarge
        Before anything large is allocated.
    """

    flat, starts = _flat(scopes)
    counts = np.array(sizes, dtype=np.int64)
    joined = _flat((*scopes, *held)) if held else (flat, starts)
    run = (
        best_elimination(*joined, counts)
        if order is None
        else Elimination(*eliminate(*joined, counts, MIN_NEIGHBORS, np.array(order, dtype=np.int64), 0, np.inf))
    )
    rooting = counts.copy()
    rooting[list(roots)], rooting[list(leaves)] = 0, MAX_TREE_ENTRIES
    members, member_starts, parents = join_cliques(run.order, run.cliques, run.clique_starts, rooting)
    _check_size(run, members, member_starts, counts)
    block = BLOCK if runs_as_machine_code(collect) else WIDE_BLOCK
    cliques, operands, *arrays, weight_starts, extent = lay_out(
        members, member_starts, parents, counts, flat, starts, block
    )
    arrays = [cliques.view(CLIQUE), operands.view(OPERAND), *arrays]  # records, also where machine code made them
    for array in (counts, *arrays, weight_starts):
        array.setflags(write=False)
    layout = Layout(counts, *arrays)
    program = Program(layout, tuple(run.order.tolist()), weight_starts, extent, seconds_of(layout), ())
    if extent.entries < LARGE:
        return program
    return replace(program, pieces=cut_into_pieces(program.entries.tolist(), parents.tolist()))


def _flat(scopes: tuple[Axes, ...]) -> tuple[Ints, Ints]:
    flat = np.fromiter(chain.from_iterable(scopes), dtype=np.int64)
    return flat, np.fromiter(accumulate(map(len, scopes), initial=0), dtype=np.int64, count=len(scopes) + 1)


def _check_size(run: Elimination, members: Ints, starts: Ints, sizes: Ints) -> None:
    if run.cost <= MAX_TREE_ENTRIES:
        return
    with np.errstate(over="ignore"):
        entries = np.multiply.reduceat(sizes[members].astype(np.float64), starts[:-1])
        total = float(entries.sum())
    if total > MAX_TREE_ENTRIES:
        largest = int(np.argmax(entries))
        clique = sorted(members[starts[largest] : starts[largest + 1]].tolist())
        raise TreeTooLarge(total, tuple(clique), float(entries[largest]))
