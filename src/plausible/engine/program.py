"""Programs: an exact inference laid out on flat arrays, ready to run with any numbers."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import FIRST_COMPLETED, Future, ThreadPoolExecutor, wait
from dataclasses import dataclass
from itertools import pairwise
from queue import SimpleQueue

import numpy as np

from plausible.base import Ints, format_roughly, html_of_print
from plausible.errors import counted
from plausible.kernels.blocks import Buffers, Layout
from plausible.kernels.jit import steady
from plausible.kernels.layout import Extent

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


#: What an operand costs in a calibration, in seconds on one core of today's desktop machines: for each entry of a table
#: that it is multiplied by, or added up from; for each block of the table; and to be looked at.
SECONDS_PER_ENTRY = 1e-9
_SECONDS_PER_BLOCK, _SECONDS_PER_OPERAND = 1e-7, 5e-7


def seconds_of(layout: Layout) -> float:
    """A rough estimate of the time of one calibration: each operand meets each entry of its clique's table.

    Those that are the same in all blocks are multiplied once, into one block; a number for each block, and the weights
    of states that may be observed, cost little.
    """
    cliques, operands = layout.cliques, layout.operands
    counts = cliques["last"] - cliques["first"] + 2
    blocks = np.repeat(cliques["num_blocks"], counts)
    meets = (operands["variable"] < 0) & (operands["is_flat"] == 0)
    entries = np.repeat(cliques["block"], counts) * np.where(operands["is_fixed"], 1, blocks) * meets
    seconds = SECONDS_PER_ENTRY * entries.sum() + _SECONDS_PER_BLOCK * blocks.sum()
    return float(seconds + _SECONDS_PER_OPERAND * len(operands))


@dataclass(frozen=True, slots=True, eq=False)
class Program:
    """A clique tree in the layout that `plausible.kernels` run; made by `compile_program`."""

    layout: Layout  # The cliques, children before parents, and how factors, messages and findings lie on them
    order: tuple[int, ...]  # The elimination order that made the tree
    weight_starts: Ints  # Where in the store the weights of each variable's states begin
    extent: Extent  # How much room a run takes
    seconds: float  # About how long one calibration takes, on one core
    pieces: tuple[Piece, ...]  # What threads share out among them, where the program is large; else none

    def __reduce__(self) -> tuple[object, ...]:
        """Pickle so that the arrays come back read-only, for which the kernels are compiled."""
        rest = self.order, self.weight_starts, tuple(self.extent), self.seconds, self.pieces
        return _restored, (tuple(self.layout), *rest)

    @property
    def sizes(self) -> Ints:
        """The number of states of each variable."""
        return self.layout.sizes

    @property
    def num_entries(self) -> int:
        """The entries of all clique tables together."""
        return self.extent.entries

    @property
    def num_cliques(self) -> int:
        """How many cliques the tree has."""
        return len(self.layout.cliques)

    @property
    def entries(self) -> Ints:
        """The entries of each clique's table."""
        cliques = self.layout.cliques
        return np.asarray(cliques["rows"] * cliques["columns"])

    @property
    def num_sources(self) -> int:
        """How many numbers the factors have in all."""
        return int(self.weight_starts[0])

    @property
    def num_bytes(self) -> int:
        """The memory that a run needs: factors and messages, for tables are never held as a whole."""
        return 8 * self.extent.store + self.extent.blocks

    @property
    def width(self) -> int:
        """The number of variables of the largest clique, less one; -1 where there are none."""
        return self.extent.axes - 1

    def smallest_cliques(self, groups: Iterable[Iterable[int]]) -> list[int | None]:
        """For each group of variables the position of the clique with the smallest table that has them all, if any."""
        holders: list[list[int]] = [[] for _ in self.sizes]
        cliques = [frozenset(self.clique(position)) for position in range(self.num_cliques)]
        for position, clique in enumerate(cliques):
            for variable in clique:
                holders[variable].append(position)
        entries = self.entries.tolist()
        found: list[int | None] = []
        for group in groups:
            wanted = frozenset(group)
            candidates = min((holders[variable] for variable in wanted), key=len, default=range(self.num_cliques))
            holding = [position for position in candidates if wanted <= cliques[position]]
            found.append(min(holding, key=entries.__getitem__, default=None))
        return found

    def clique(self, position: int) -> tuple[int, ...]:
        """The variables of a clique, in axis order: first those that it shares with its parent."""
        start, count = (int(self.layout.cliques[name][position]) for name in ("holds", "num_axes"))
        return tuple(self.layout.axes[start : start + count].tolist())

    def separator(self, position: int) -> tuple[int, ...]:
        """The variables that a clique shares with its parent."""
        return self.clique(position)[: int(self.layout.cliques["num_separator_axes"][position])]

    def lie_of(self, variables: Sequence[int], position: int) -> tuple[Ints, Ints]:
        """How an array over some variables of a clique lies on its table: outer strides and view; see the kernels."""
        strides: dict[int, int] = {}
        stride = 1
        for variable in reversed(variables):
            strides[variable] = stride
            stride *= int(self.sizes[variable])
        axes = [(int(self.sizes[variable]), strides.get(variable, 0)) for variable in self.clique(position)]
        num_outer = int(self.layout.cliques["num_outer"][position])
        view: list[int] = []
        for size, step in axes[num_outer:]:
            if size > 1 and view and view[-1] == step * size:  # the axis before goes on where this one ends
                view[-2:] = [view[-2] * size, step]
            elif size > 1:
                view += [size, step]
        return np.array([step for _, step in axes[:num_outer]], dtype=np.int64), np.array(view or [1, 0])

    @property
    def largest(self) -> int:
        """The position of the clique with the largest table."""
        return int(np.argmax(self.entries))

    def __str__(self) -> str:
        return (
            f"{counted(self.num_cliques, 'clique')}, width {self.width}, {self.num_entries:,} entries, "
            f"{self.num_bytes / 2**20:.1f} MiB, about {format_roughly(self.seconds, 1)} s"
        )

    _repr_html_ = html_of_print


def _restored(
    arrays: tuple[Ints, ...],
    order: tuple[int, ...],
    weight_starts: Ints,
    extent: tuple[int, ...],
    seconds: float,
    pieces: tuple[Piece, ...],
) -> Program:

    for array in (*arrays, weight_starts):
        array.setflags(write=False)
    return Program(Layout(*arrays), order, weight_starts, Extent(*extent), seconds, pieces)
