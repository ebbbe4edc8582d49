"""Running a program: buffers that remember their evidence, and the calls of the kernels in their order."""

from __future__ import annotations

import logging
import math
import os
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import IntEnum
from functools import partial
from itertools import accumulate, pairwise
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Ints, logarithms
from plausible.engine.program import Job, Piece, Program, run_pieces, split_blocks
from plausible.kernels.blocks import Buffers, Layout
from plausible.kernels.downward import (
    all_marginals,
    answer_blocks,
    close_answers,
    distribute,
    flag_above,
    open_answer,
    read_joint,
    read_marginals,
)
from plausible.kernels.tables import best_states, draw, expect
from plausible.kernels.upward import (
    bound_sources,
    close_message,
    collect,
    log_total,
    observe,
    open_message,
    send_blocks,
)

Flags = NDArray[np.uint8]

#: A run that takes longer, by the estimate, is announced in the log.
_LONG_SECONDS = 3.0
_LOG = logging.getLogger("plausible")


class Semiring(IntEnum):
    """What products are added up by: the numbers that the kernels know them under."""

    SUM = 0
    LOG_SUM = 1
    MAX = 2


@dataclass(slots=True, eq=False)
class Workspace:
    """The buffers of runs in one semiring; one thread at a time may use them.

    They remember the evidence of the last run: messages that new evidence does not touch are not computed again.
    """

    program: Program  # What to run
    #: SUM on the numbers themselves; LOG_SUM and MAX on their logarithms, which nothing can make underflow.
    semiring: Semiring
    buffers: Buffers  # What the kernels write to
    _ends: list[int]
    _findings: dict[int, bytes] = field(default_factory=dict)
    _scratches: list[Buffers] = field(default_factory=list)  # those of large programs: one for each thread

    @classmethod
    def of(
        cls, program: Program, sources: Floats, semiring: Semiring = Semiring.SUM, threads: int | None = None
    ) -> Workspace:
        """Buffers for a program, with the factors' numbers, one factor after the other.

        Large programs run on so many threads; one for each core where left out.
        """

        layout = program.layout
        store = np.zeros(program.extent.store)
        store[: len(sources)] = sources if semiring == Semiring.SUM else logarithms(sources)
        buffers = Buffers(
            store=store,
            floors=np.zeros(len(layout.operands)),
            ceilings=np.zeros(len(layout.operands)),
            log_scales=np.zeros(program.num_cliques),
            stale=np.ones(program.num_cliques, dtype=np.uint8),
            risky=np.zeros(program.num_cliques, dtype=np.uint8),
            observed=np.zeros(len(program.sizes), dtype=np.uint8),
            live=np.zeros(program.extent.blocks, dtype=np.uint8),
            **_scratch(program),
        )
        if semiring == Semiring.SUM:
            bound_sources(layout, buffers, len(sources))
        workspace = cls(program, semiring, buffers, (program.weight_starts - program.num_sources).tolist())
        if program.pieces:
            others = (threads or os.cpu_count() or 1) - 1
            workspace._scratches = [buffers, *(buffers._replace(**_scratch(program)) for _ in range(others))]
        if program.seconds > _LONG_SECONDS:
            _LOG.info("An exact answer is computed on a tree of %s.", program)
        return workspace

    def _news(self, weights: Mapping[int, Floats]) -> tuple[Ints, Floats, int]:
        """What differs from the findings before: variables, the weights of their states, how many are observed."""
        before = self._findings
        self._findings = {variable: vector.tobytes() for variable, vector in weights.items()}
        changed = [variable for variable, vector in self._findings.items() if before.get(variable) != vector]
        dropped = [variable for variable in before if variable not in weights]
        vectors = [weights[variable] for variable in changed]
        vectors += [np.ones(int(self.program.sizes[variable])) for variable in dropped]
        flat = np.concatenate(vectors) if vectors else np.empty(0)
        values = flat if self.semiring == Semiring.SUM else logarithms(flat)
        return np.array([*changed, *dropped], dtype=np.int64), values, len(changed)

    def collect(self, weights: Mapping[int, Floats]) -> float:
        """Take in the weights of observed variables' states, and pass messages to the roots.

        Returns
        -------
        float
            log Σ Π φ, or log max Π φ; -inf for zero.
        """

        layout, semiring = self.program.layout, int(self.semiring)
        observe(layout, self.buffers, self.program.weight_starts, *self._news(weights))
        if not self._scratches:
            collect(layout, self.buffers, np.arange(self.program.num_cliques), semiring)
            return float(log_total(self.buffers))

        opened: set[int] = set()

        def finish(piece: Piece) -> None:
            if int(piece.cliques[0]) in opened:
                close_message(layout, self.buffers, int(piece.cliques[0]), semiring)

        run_pieces(self.program.pieces, True, lambda piece: self._jobs_up(piece, opened), finish, self._scratches)
        return float(log_total(self.buffers))

    def _jobs_up(self, piece: Piece, opened: set[int]) -> list[Job]:
        """What sends the messages of a piece; a clique whose blocks are shared out joins those that are open."""

        layout, semiring, clique = self.program.layout, int(self.semiring), int(piece.cliques[0])
        if not piece.is_split or self.semiring == Semiring.LOG_SUM:
            return [lambda scratch: collect(layout, scratch, piece.cliques, semiring)]
        if not self.buffers.stale[clique]:
            return []
        open_message(layout, self.buffers, clique, semiring)
        opened.add(clique)
        return [
            partial(_call, send_blocks, layout, clique, first, last, semiring)
            for first, last in split_blocks(self.program.layout, clique)
        ]

    def all_marginals(self, weights: Mapping[int, Floats]) -> tuple[float, bool, list[Floats]]:
        """`collect`, then `distribute`, and all marginals: (log total, whether that is risky, marginals).

        The marginals, which can't be written to, mean nothing where the total is zero or risky.
        """

        program = self.program
        if self._scratches:
            total = self.collect(weights)
            if total == -math.inf or self.is_risky:
                return total, self.is_risky, []
            self.distribute()
            return total, False, self.marginals()
        flat = np.empty(self._ends[-1])
        total, is_risky = all_marginals(
            program.layout, self.buffers, program.weight_starts, *self._news(weights), int(self.semiring), flat
        )
        flat.setflags(write=False)
        return total, is_risky, [flat[start:end] for start, end in pairwise(self._ends)]

    @property
    def is_risky(self) -> bool:
        """After `collect`: whether some product may have vanished though it is not zero, or overflowed."""
        return bool(self.buffers.risky.any())

    def distribute(
        self,
        cliques: Iterable[int] | None = None,
        tables: Floats | None = None,
        table_starts: Ints | None = None,
        weight: float = 1.0,
    ) -> None:
        """After `collect`: pass answers from the roots, to all cliques or only as far as to some.

        Parameters
        ----------
        cliques
            Positions; all where left out.
        tables, table_starts
            Where to add up the beliefs of cliques: that of clique c from `table_starts[c]` on, if not negative.
        weight
            What beliefs are multiplied by when they are added.
        """

        program = self.program
        wanted = np.ones(program.num_cliques, dtype=np.uint8)
        if cliques is not None:
            wanted[:] = 0
            wanted[list(cliques)] = 1
            flag_above(program.layout, wanted)
        starts = np.full(program.num_cliques, -1, dtype=np.int64) if table_starts is None else table_starts
        job = _Answering(self, wanted, np.empty(0) if tables is None else tables, starts, weight)
        if self._scratches:
            run_pieces(program.pieces, False, job.jobs_down, job.finish, self._scratches)
        else:
            everything = np.arange(program.num_cliques)
            distribute(program.layout, self.buffers, wanted, everything, int(self.semiring), job.tables, starts, weight)

    def marginals(self, variables: Sequence[int] | None = None) -> list[Floats]:
        """After `distribute`: the normalised marginals of some variables, or of all."""

        program = self.program
        numbers = np.arange(len(program.sizes)) if variables is None else np.array(variables, dtype=np.int64)
        sizes = program.sizes[numbers]
        ends = np.cumsum(sizes).tolist()
        flat = np.empty(ends[-1] if ends else 0)
        read_marginals(program.layout, self.buffers, numbers, flat)
        flat.setflags(write=False)
        return [flat[end - size : end] for size, end in zip(sizes.tolist(), ends, strict=True)]

    def joint(self, clique: int, variables: Sequence[int]) -> Floats:
        """After `distribute` at least as far as to the clique: the joint of some of its variables, in their order."""

        shape = [int(self.program.sizes[variable]) for variable in variables]
        joint = np.zeros(math.prod(shape))
        strides, view = self.program.lie_of(variables, clique)
        read_joint(self.program.layout, self.buffers, clique, int(self.semiring), strides, view, joint)
        return joint.reshape(shape)

    def expectation(self, terms: Sequence[Floats], scopes: Sequence[Sequence[int]], homes: Sequence[int]) -> float:
        """After `collect` with SUM: the expected sum of terms, flat tables over variables of their home cliques."""

        program = self.program
        order = sorted(range(len(terms)), key=homes.__getitem__)
        lies = [program.lie_of(scopes[place], homes[place]) for place in order]
        starts = accumulate((terms[place].size for place in order), initial=0)
        first_strides = accumulate((len(strides) for strides, _ in lies), initial=0)
        ends = [0, *accumulate(len(view) for _, view in lies)]
        rows = np.array(list(zip(starts, first_strides, ends, ends[1:], strict=False)), dtype=np.int64).reshape(-1, 4)
        counts = np.bincount(np.array(homes, dtype=np.int64), minlength=program.num_cliques)
        value = expect(
            program.layout,
            self.buffers,
            np.concatenate([terms[place] for place in order]) if terms else np.empty(0),
            rows,
            np.concatenate([[0], np.cumsum(counts)]),
            np.concatenate([np.empty(0, dtype=np.int64), *(strides for strides, _ in lies)]),
            np.concatenate([np.empty(0, dtype=np.int64), *(view for _, view in lies)]),
            np.zeros(program.extent.store),
            np.empty_like(self.buffers.block),
        )
        return float(value)

    def best_states(self) -> Ints:
        """After `collect` with MAX: the position of each variable's state in a best assignment."""

        states = np.zeros(len(self.program.sizes), dtype=np.int64)
        best_states(self.program.layout, self.buffers, states)
        return states

    def draw(self, levels: Floats) -> Ints:
        """After `collect`: assignments drawn from the normalised product, one for each row of uniform numbers.

        `levels` has a column for each clique.
        """

        program = self.program
        tables = np.zeros(program.num_entries)
        self.distribute(None, tables, np.array(program.layout.cliques["table"]))
        states = np.zeros((len(levels), len(program.sizes)), dtype=np.int64)
        draw(program.layout, tables, levels, states)
        return states


class _Answering:
    """The way down through the pieces of a large program."""

    def __init__(self, workspace: Workspace, wanted: Flags, tables: Floats, starts: Ints, weight: float) -> None:
        self.program, self.buffers, self.semiring = workspace.program, workspace.buffers, int(workspace.semiring)
        self.wanted, self.tables, self.starts, self.weight = wanted, tables, starts, weight
        self.asides: dict[int, list[Floats]] = {}

    def jobs_down(self, piece: Piece) -> list[Job]:

        layout, clique = self.program.layout, int(piece.cliques[0])
        if not piece.is_split:
            rest = (self.semiring, self.tables, self.starts, self.weight)
            return [partial(_call, distribute, layout, self.wanted, piece.cliques, *rest)]
        if not self.wanted[clique]:
            return []
        open_answer(layout, self.buffers, self.wanted, clique, self.semiring)
        start = int(self.starts[clique])
        table = self.tables[start : start + int(self.program.entries[clique])] if start >= 0 else self.tables[:0]
        blocks = split_blocks(self.program.layout, clique)
        size = self._aside_size(clique) if len(blocks) > 1 else 0
        asides = self.asides[clique] = [np.zeros(size) for _ in blocks]
        return [
            partial(_call, answer_blocks, layout, self.wanted, clique, *ends, self.semiring, table, self.weight, aside)
            for ends, aside in zip(blocks, asides, strict=True)
        ]

    def _aside_size(self, clique: int) -> int:
        """How many sums the parts of a clique share: those of operands that have not its first axis."""
        layout = self.program.layout
        first, last = (int(layout.cliques[name][clique]) for name in ("first", "column_sums"))
        operands = layout.operands[first : last + 1]
        return int(operands["length"][layout.strides[operands["first_stride"]] == 0].sum())

    def finish(self, piece: Piece) -> None:
        """Add up, part by part, what the parts of a split clique have put aside."""

        clique = int(piece.cliques[0])
        for aside in self.asides.pop(clique, ()) if piece.is_split else ():
            if aside.size:
                close_answers(self.program.layout, self.buffers, self.wanted, clique, aside)


def _call(kernel: Callable[..., None], layout: Layout, *rest: object) -> None:
    """A kernel with the buffers, which come last, in their place behind the layout."""
    *arguments, scratch = rest
    kernel(layout, scratch, *arguments)


def _scratch(program: Program) -> dict[str, Any]:
    """What a thread needs for itself."""
    extent = program.extent
    return {
        "block": np.empty(extent.block),
        "base": np.empty(extent.block),
        "offsets": np.empty(extent.operands, dtype=np.int64),
        "counters": np.zeros(2 * (extent.axes + 1), dtype=np.int64),
        "mixed": np.empty(extent.operands, dtype=np.int64),
        "flat": np.empty(extent.operands, dtype=np.int64),
    }
