"""From the scopes of factors to a `Program`."""

from __future__ import annotations

from dataclasses import replace
from functools import lru_cache
from itertools import accumulate, chain
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Ints
from plausible.engine.ordering import Elimination, best_elimination, given_elimination
from plausible.engine.pieces import LARGE, cut_into_pieces
from plausible.engine.program import Program
from plausible.errors import TooLarge
from plausible.kernels.blocks import Layout
from plausible.kernels.forest import join_cliques
from plausible.kernels.jit import runs_as_machine_code
from plausible.kernels.layout import BLOCK, CLIQUE, WIDE_BLOCK, lay_out
from plausible.kernels.operands import OPERAND
from plausible.kernels.upward import collect

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
    scopes: tuple[Axes, ...], sizes: tuple[int, ...], order: Axes | None = None, held: tuple[Axes, ...] = ()
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

    Raises
    ------
    TreeTooLarge
        Before anything large is allocated.

    Examples
    --------
    >>> print(compile_program(((0,), (0, 1), (1, 2)), (2, 2, 2)))
    2 cliques, width 1, 8 entries, 0.0 MiB, about 2e-06 s
    """

    flat, starts = _flat(scopes)
    counts = np.array(sizes, dtype=np.int64)
    joined = _flat((*scopes, *held)) if held else (flat, starts)
    run = (
        best_elimination(*joined, counts)
        if order is None
        else given_elimination(*joined, counts, np.array(order, dtype=np.int64))
    )
    members, member_starts, parents = join_cliques(run.order, run.cliques, run.clique_starts, counts)
    _check_size(run, members, member_starts, counts)
    block = BLOCK if runs_as_machine_code(collect) else WIDE_BLOCK
    cliques, operands, *arrays, weight_starts, extent = lay_out(
        members, member_starts, parents, counts, flat, starts, block
    )
    arrays = [cliques.view(CLIQUE), operands.view(OPERAND), *arrays]  # records, also where machine code made them
    for array in (counts, *arrays, weight_starts):
        array.setflags(write=False)
    layout = Layout(counts, *arrays)
    program = Program(layout, tuple(run.order.tolist()), weight_starts, extent, ())
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
