"""How a problem falls apart into blocks of variables: what mean field works out once, before its first step."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from itertools import accumulate

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.engine.program import Program
from plausible.factors import Factor
from plausible.factors.alignment import num_entries
from plausible.inference.compiled import compile_factors
from plausible.inference.problem import Problem
from plausible.kernels.mean_field import lay_out_places

__all__ = ["Group", "MeanFieldPlan", "plan_mean_field"]


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A block of several variables, whose belief is a clique tree over its own factors and what others expect of it.

    Attributes
    ----------
    variables
        Their places in the problem.
    inner
        The numbers of the factors over them alone.
    first, last
        Its pieces are those from `first` to before `last`.
    program
        The clique tree over the inner factors and a factor for each piece.
    homes
        A clique for each piece that has several variables; -1 for the others.
    """

    variables: tuple[int, ...]
    inner: tuple[int, ...]
    first: int
    last: int
    program: Program
    homes: tuple[int, ...]


@dataclass(frozen=True, slots=True, eq=False)
class MeanFieldPlan:
    """The blocks of a problem, and the pieces in which factors touch them; arrays as in `kernels.mean_field`.

    A piece is a set of variables of one block that some factor shares with it. Variables that stand alone are the
    first pieces, in their order; those of each group follow.

    Attributes
    ----------
    singles
        The places of variables that stand alone.
    groups
        The blocks of several variables.
    pieces
        The variables of each piece.
    starts
        Where in a row of numbers the beliefs about each piece begin, and where the last one ends.
    use_starts, uses
        The factors that touch piece p, and as which part: `uses[use_starts[p]:use_starts[p + 1]]`.
    links, places
        How factors lie on the beliefs.
    logs
        The logarithms of the problem's tables.
    """

    singles: tuple[int, ...]
    groups: tuple[Group, ...]
    pieces: tuple[tuple[int, ...], ...]
    starts: Ints
    use_starts: Ints
    uses: Ints
    links: Ints
    places: Ints
    logs: Floats

    @property
    def ties(self) -> tuple[Ints, Ints, Ints, Ints, Ints, Floats]:
        """How factors tie the pieces: what kernels take, of the same kinds after it was unpickled too."""
        logs = self.logs.view()
        logs.setflags(write=False)
        return self.starts, self.use_starts, self.uses, self.links, self.places, logs

    @property
    def is_exact(self) -> bool:
        """Whether no factor ties blocks to each other, so that their beliefs are the true ones."""
        return bool((self.links[:, 3] <= 1).all())

    def ties_with_zeros(self) -> list[int]:
        """The factors between blocks that have a zero somewhere: beliefs must keep out of these."""
        has_zeros = np.logical_or.reduceat(np.isneginf(self.logs), self.links[:, 0])
        return np.flatnonzero(has_zeros & (self.links[:, 3] > 1)).tolist()


def plan_mean_field(problem: Problem, blocks: tuple[tuple[str, ...], ...]) -> MeanFieldPlan:
    """The plan of a problem; variables that no block names stand alone."""

    owners, members = _read_blocks(problem, blocks)
    singles = tuple(place for place, owner in enumerate(owners) if owner < 0)
    cuts = [_cut(problem, number, owners) for number in range(len(problem.factors))] if members else None
    pieces, ends = _pieces(singles, len(members), owners, cuts)
    numbers = {piece: number for number, piece in enumerate(pieces)}
    starts = _starts(int(np.prod(problem.sizes[list(piece)])) for piece in pieces)
    slots, counts, touched = _slots(problem, numbers, starts, cuts)
    lengths = np.diff(problem.table_starts)
    is_pair = (counts == 2) & (np.diff(problem.scope_starts) == 2)
    place_starts = _starts(counts * np.where(is_pair, 1, lengths))
    heights = np.where(is_pair, problem.sizes[problem.scopes[problem.scope_starts[:-1]]], 0)
    links = np.stack([problem.table_starts[:-1], lengths, place_starts[:-1], counts, heights], axis=1)
    places = np.zeros(place_starts[-1], dtype=np.int64)
    lay_out_places(problem.sizes, problem.scope_starts, problem.scopes, slots, links, places)
    factors = np.repeat(np.arange(len(counts)), counts)
    parts = np.arange(len(factors)) - np.repeat(_starts(counts)[:-1], counts)
    order = np.argsort(touched, kind="stable")
    inner = _inner(problem, owners, len(members), cuts)
    return MeanFieldPlan(
        singles,
        tuple(
            _group(problem, block, own, pieces, first, last)
            for block, own, first, last in zip(members, inner, ends[:-1], ends[1:], strict=True)
        ),
        pieces,
        starts,
        _starts(np.bincount(touched, minlength=len(pieces))),
        np.stack([factors, parts], axis=1)[order],
        links,
        places,
        problem.logs,
    )


def _starts(lengths: Iterable[int]) -> Ints:
    return np.fromiter(accumulate(lengths, initial=0), dtype=np.int64)


def _read_blocks(problem: Problem, blocks: Sequence[Sequence[str]]) -> tuple[list[int], list[tuple[int, ...]]]:
    """For each variable the number of its group, -1 for none, and the groups; names that are not there are left out."""
    numbers = {variable.name: place for place, variable in enumerate(problem.variables)}
    found = [tuple(numbers[name] for name in block if name in numbers) for block in blocks]
    members = [block for block in found if len(block) > 1]
    owners = [-1] * len(numbers)
    for number, block in enumerate(members):
        for place in block:
            owners[place] = number
    return owners, members


def _cut(problem: Problem, factor: int, owners: Sequence[int]) -> tuple[tuple[int, ...], ...]:
    """The variables of a factor by blocks; nothing for a factor inside a group."""
    parts: dict[int, list[int]] = {}
    for place in problem.scope(factor):
        parts.setdefault(owners[place] if owners[place] >= 0 else -1 - place, []).append(place)
    if len(parts) == 1 and next(iter(parts)) >= 0:
        return ()
    return tuple(tuple(sorted(part)) for part in parts.values())


def _pieces(
    singles: Sequence[int], num_groups: int, owners: Sequence[int], cuts: Sequence[tuple[tuple[int, ...], ...]] | None
) -> tuple[tuple[tuple[int, ...], ...], list[int]]:
    """All pieces, and where those of each group begin, with the end of the last."""
    found: list[dict[tuple[int, ...], None]] = [{} for _ in range(num_groups)]
    for parts in cuts or ():
        for part in parts:
            if owners[part[0]] >= 0:
                found[owners[part[0]]][part] = None
    pieces = [(place,) for place in singles] + [piece for group in found for piece in group]
    return tuple(pieces), list(accumulate(map(len, found), initial=len(singles)))


def _slots(
    problem: Problem,
    numbers: dict[tuple[int, ...], int],
    starts: Ints,
    cuts: Sequence[tuple[tuple[int, ...], ...]] | None,
) -> tuple[Ints, Ints, Ints]:
    """For each axis of each factor (part, stride, start); the parts of each factor; the piece of each part."""
    if cuts is None:  # every variable is a piece of its own: no loop over the factors
        counts = np.diff(problem.scope_starts)
        axes = np.arange(len(problem.scopes)) - np.repeat(problem.scope_starts[:-1], counts)
        return np.stack([axes, np.ones_like(axes), starts[problem.scopes]], axis=1), counts, problem.scopes
    rows: list[tuple[int, int, int]] = []
    for number, parts in enumerate(cuts):
        lies: dict[int, tuple[int, int, int]] = {}
        for part, piece in enumerate(parts):
            stride, start = 1, int(starts[numbers[piece]])
            for place in reversed(piece):
                lies[place] = (part, stride, start)
                stride, start = stride * int(problem.sizes[place]), 0
        rows += [lies.get(place, (0, 0, 0)) for place in problem.scope(number)]
    counts = np.fromiter(map(len, cuts), dtype=np.int64, count=len(cuts))
    touched = np.array([numbers[piece] for parts in cuts for piece in parts], dtype=np.int64)
    return np.array(rows, dtype=np.int64).reshape(-1, 3), counts, touched


def _inner(
    problem: Problem, owners: Sequence[int], num_groups: int, cuts: Sequence[tuple[tuple[int, ...], ...]] | None
) -> list[list[int]]:
    """The factors inside each group."""
    inner: list[list[int]] = [[] for _ in range(num_groups)]
    for number, parts in enumerate(cuts or ()):
        if not parts:
            inner[owners[problem.scope(number)[0]]].append(number)
    return inner


def _group(
    problem: Problem,
    block: tuple[int, ...],
    inner: Sequence[int],
    pieces: Sequence[tuple[int, ...]],
    first: int,
    last: int,
) -> Group:
    """A group with the clique tree that its belief has, whatever the numbers; raises `TooLarge` if that is."""
    own = pieces[first:last]
    scopes = [tuple(problem.variables[place] for place in piece) for piece in own]
    outer = [Factor.from_flat(scope, np.ones(num_entries(scope))) for scope in scopes]
    variables = [problem.variables[place] for place in block]
    program = compile_factors([*(problem.factors[f] for f in inner), *outer], variables).program
    places = {place: number for number, place in enumerate(block)}
    found = program.smallest_cliques([places[place] for place in piece] for piece in own)
    homes = (-1 if home is None or len(piece) == 1 else home for home, piece in zip(found, own, strict=True))
    return Group(block, tuple(inner), first, last, program, tuple(homes))
