"""Large programs in pieces: subtrees and parts of large cliques that threads can run side by side.

The pieces depend on the program alone, and every sum is added up in the same order whoever computes its parts: the
number of threads changes no bit. An interrupt is noticed after each piece.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from plausible.base.arrays import Ints
from plausible.kernels.blocks import Buffers, Layout
from plausible.kernels.jit import steady

#: Something to do with buffers whose scratch nobody else uses at the time.
Job = Callable[["Buffers"], None]

#: Programs with fewer entries run as a whole: handing out pieces would take longer.
LARGE = 2**20
#: Cliques with at least so many entries are shared out by blocks.
_SPLIT = 2**18
_NUM_SUBTREES = 16
_NUM_PARTS = 4


@dataclass(frozen=True, slots=True, eq=False)
class Piece:
    """Some cliques that one thread runs; or one clique, split, that several do."""

    cliques: Ints  # Their positions, children before parents
    above: int  # The number of the piece that waits for this one's message; -1 for none
    below: tuple[int, ...]  # The numbers of the pieces whose messages it waits for
    is_split: bool  # Whether it is one large clique, to be shared out by blocks


def cut_into_pieces(entries: Sequence[int], parents: Sequence[int]) -> tuple[Piece, ...]:
    """Subtrees of about a sixteenth of the work each, and large cliques by themselves.

    `entries` are those of the cliques, and `parents` the positions of their parents, -1 for none; children come first.
    """
    children: list[list[int]] = [[] for _ in parents]
    for position, parent in enumerate(parents):
        if parent >= 0:
            children[parent].append(position)
    grain = sum(entries) / _NUM_SUBTREES
    is_top, is_split = [parent < 0 for parent in parents], [False] * len(parents)
    weights = list(entries)
    for position, parent in enumerate(parents):  # children come first, so the weight below is known
        weights[position] += sum(weights[child] for child in children[position] if not is_top[child])
        if parent >= 0 and entries[position] >= _SPLIT:
            is_split[position] = True
            for child in children[position]:
                is_top[child] = True
        is_top[position] = is_top[position] or is_split[position] or weights[position] >= grain
    return _assembled(parents, is_top, is_split)


def _assembled(parents: Sequence[int], is_top: Sequence[bool], is_split: Sequence[bool]) -> tuple[Piece, ...]:
    numbers: dict[int, int] = {}
    members: list[list[int]] = []
    aboves: list[int] = []
    belows: list[list[int]] = []
    for position in reversed(range(len(parents))):
        parent = parents[position]
        if is_top[position]:
            above = numbers[parent] if parent >= 0 else -1
            if above >= 0:
                belows[above].append(len(members))
            aboves.append(above)
            belows.append([])
            members.append([])
            numbers[position] = len(members) - 1
        else:
            numbers[position] = numbers[parent]
        members[numbers[position]].append(position)
    return tuple(
        Piece(np.array(cliques[::-1], dtype=np.int64), above, tuple(below), is_split[cliques[0]])
        for cliques, above, below in zip(members, aboves, belows, strict=True)
    )


def split_blocks(layout: Layout, clique: int) -> list[tuple[int, int]]:
    """Ranges of a clique's blocks, each with states of its first axis that no other one has."""
    cliques = layout.cliques
    num_blocks, outer = int(cliques["num_blocks"][clique]), int(cliques["outer_start"][clique])
    if num_blocks == 1:
        return [(0, 1)]
    size = int(layout.outer_sizes[outer])
    num_parts = min(size, _NUM_PARTS)
    ends = [size * part // num_parts * (num_blocks // size) for part in range(num_parts + 1)]
    return list(pairwise(ends))


def run_pieces(
    pieces: Sequence[Piece],
    upward: bool,
    jobs_of: Callable[[Piece], Iterable[Job]],
    finish: Callable[[Piece], None],
    scratches: Sequence[Buffers],
) -> None:
    """Run the jobs of each piece, then finish it, once all that it waits for are finished; a thread for each scratch.

    Upwards a piece waits for those below it, downwards for the one above.
    """
    waits = [len(piece.below) if upward else int(piece.above >= 0) for piece in pieces]
    ready = deque(number for number, count in enumerate(waits) if not count)

    def done(number: int) -> None:
        finish(pieces[number])
        piece = pieces[number]
        for other in (piece.above,) if upward else piece.below:
            if other >= 0:
                waits[other] -= 1
                if not waits[other]:
                    ready.append(other)

    if len(scratches) == 1:
        while ready:
            number = ready.popleft()
            for job in jobs_of(pieces[number]):
                job(scratches[0])
            done(number)
    else:
        _run_in_threads(pieces, ready, jobs_of, done, scratches)


def _run_in_threads(
    pieces: Sequence[Piece],
    ready: deque[int],
    jobs_of: Callable[[Piece], Iterable[Job]],
    done: Callable[[int], None],
    scratches: Sequence[Buffers],
) -> None:
    free: SimpleQueue[Buffers] = SimpleQueue()
    for scratch in scratches:
        free.put(scratch)

    def run(job: Job) -> None:
        scratch = free.get()
        try:
            job(scratch)
        finally:
            free.put(scratch)

    left: dict[int, int] = {}
    owners: dict[Future[None], int] = {}
    with steady(), ThreadPoolExecutor(len(scratches)) as pool:
        while ready or owners:
            while ready:
                number = ready.popleft()
                jobs = list(jobs_of(pieces[number]))
                left[number] = len(jobs)
                owners.update({pool.submit(run, job): number for job in jobs})
                if not jobs:
                    done(number)
            if not owners:
                continue
            for future in wait(owners, return_when=FIRST_COMPLETED).done:
                future.result()
                number = owners.pop(future)
                left[number] -= 1
                if not left[number]:
                    done(number)
