"""What mean field works on: blocks and their clique trees, first beliefs, and ties that zeros make."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import reduce
from itertools import accumulate
from typing import NamedTuple

import numpy as np

from plausible.base import Floats, Ints, starts_of
from plausible.engine.program import Program
from plausible.errors import ImpossibleEvidence, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.factors.alignment import num_entries, scope_text
from plausible.inference.budget import Budget
from plausible.inference.compiled import compile_factors
from plausible.inference.problem import Problem
from plausible.kernels.depth_first import FOUND, NONE, find_possible
from plausible.kernels.mean_field import lay_out_places
from plausible.variables import Evidence, Variable


@dataclass(frozen=True, slots=True, eq=False)
class Group:
    """A block of several variables, whose belief is a clique tree over its own factors and what others expect of it."""

    variables: tuple[int, ...]  # their places in the problem
    inner: tuple[int, ...]  # the numbers of the factors over them alone
    first: int  # its pieces are those from `first` to before `last`
    last: int
    program: Program  # the clique tree over the inner factors and a factor for each piece
    homes: tuple[int, ...]  # a clique for each piece that has several variables; -1 for the others


@dataclass(frozen=True, slots=True, eq=False)
class MeanFieldPlan:
    """The blocks of a problem, and the pieces in which factors touch them; arrays as in `kernels.mean_field`.

    A piece is a set of variables of one block that some factor shares with it. Variables that stand alone are the
    first pieces, in their order; those of each group follow.
    """

    singles: tuple[int, ...]  # the places of variables that stand alone
    groups: tuple[Group, ...]  # the blocks of several variables
    pieces: tuple[tuple[int, ...], ...]  # the variables of each piece
    starts: Ints  # where in a row of numbers the beliefs about each piece begin, and where the last one ends
    use_starts: Ints  # the factors that touch piece p, and as which part: `uses[use_starts[p]:use_starts[p + 1]]`
    uses: Ints
    links: Ints  # how factors lie on the beliefs
    places: Ints
    logs: Floats  # the logarithms of the problem's tables

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
    place_of = problem.place_of
    named = [[place_of[name] for name in block if name in place_of] for block in blocks]
    members = [tuple(block) for block in named if len(block) > 1]
    owners = [-1] * len(problem.variables)  # for each variable the number of its group
    for number, block in enumerate(members):
        for place in block:
            owners[place] = number
    singles = tuple(place for place, owner in enumerate(owners) if owner < 0)
    cuts = [_cut(problem, number, owners) for number in range(len(problem.factors))] if members else None
    pieces, ends = _pieces(singles, len(members), owners, cuts)
    numbers = {piece: number for number, piece in enumerate(pieces)}
    starts = starts_of(int(np.prod(problem.sizes[list(piece)])) for piece in pieces)
    slots, counts, touched = _slots(problem, numbers, starts, cuts)
    lengths = np.diff(problem.table_starts)
    is_pair = (counts == 2) & (np.diff(problem.scope_starts) == 2)
    place_starts = starts_of(counts * np.where(is_pair, 1, lengths))
    heights = np.where(is_pair, problem.sizes[problem.scopes[problem.scope_starts[:-1]]], 0)
    links = np.stack([problem.table_starts[:-1], lengths, place_starts[:-1], counts, heights], axis=1)
    places = np.zeros(place_starts[-1], dtype=np.int64)
    lay_out_places(problem.sizes, problem.scope_starts, problem.scopes, slots, links, places)
    factors = np.repeat(np.arange(len(counts)), counts)
    part_of = np.arange(len(factors)) - np.repeat(starts_of(counts)[:-1], counts)
    order = np.argsort(touched, kind="stable")
    inner: list[list[int]] = [[] for _ in members]  # the factors inside each group
    for number, parts in enumerate(cuts or ()):
        if not parts:
            inner[owners[problem.scope(number)[0]]].append(number)
    return MeanFieldPlan(
        singles,
        tuple(
            _group(problem, block, own, pieces, first, last)
            for block, own, first, last in zip(members, inner, ends[:-1], ends[1:], strict=True)
        ),
        pieces,
        starts,
        starts_of(np.bincount(touched, minlength=len(pieces))),
        np.stack([factors, part_of], axis=1)[order],
        links,
        places,
        problem.logs,
    )


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


#: How far from uniform the first run begins: symmetric models would hold it in the middle for ever.
_TILT = 0.1
#: A clique tree that costs no more is the first choice in the search for a possible assignment.
_QUICK = Budget(seconds=0.2)
#: The table entries that backtracking looks at before it gives up: a fraction of a second.
_MAX_SEARCH = 50_000_000
_NOTHING = Evidence.read({}, {})


def first_beliefs(problem: Problem, plan: MeanFieldPlan, generator: np.random.Generator, restart: int) -> Floats:
    """Beliefs about the pieces: nearly uniform for the first run, drawn at random for later ones.

    Variables of a factor between blocks that has zeros begin in one state each, that of a possible assignment: then
    the energy is finite from the first step on.
    """
    starts = np.concatenate([[0], np.cumsum(problem.sizes)])
    levels = generator.random(int(starts[-1]))
    weights = 1.0 + _TILT * levels if restart == 0 else -np.log1p(-levels) + 1e-12
    pinned = sorted({place for factor in plan.ties_with_zeros() for place in problem.scope(factor)})
    if pinned:
        states = _possible_states(problem, generator, restart)
        for place in pinned:
            weights[starts[place] : starts[place + 1]] = 0.0
            weights[starts[place] + states[place]] = 1.0
    if len(weights):
        weights /= np.repeat(np.add.reduceat(weights, starts[:-1]), problem.sizes)
    marginals = np.split(weights, starts[1:-1])
    tables = [reduce(np.multiply.outer, [marginals[place] for place in piece]).ravel() for piece in plan.pieces]
    return np.concatenate([np.empty(0), *tables])


def _possible_states(problem: Problem, generator: np.random.Generator, restart: int) -> dict[int, int]:
    """States of the variables of factors with zeros, all of which are positive there.

    A clique tree over these factors alone finds good ones, where it is small: a best assignment for the first run,
    draws for later ones. Else backtracking finds some. Raises `ImpossibleEvidence` where there are none.
    """
    hard = [factor for factor in problem.factors if factor.flat.min() == 0.0]
    variables = list({variable.name: variable for factor in hard for variable in factor.scope}.values())
    try:
        states = _states_by_tree(hard, variables, generator if restart else None, _QUICK)
    except TooLarge:
        states = _states_by_search(hard, variables, generator)
    return dict(zip(problem.places(variables), states, strict=True))


def _states_by_tree(
    factors: Sequence[Factor], variables: Sequence[Variable], generator: np.random.Generator | None, budget: Budget
) -> list[int]:
    compiled = compile_factors(factors, variables, budget=budget)
    if generator is not None:
        return [int(state) for state in compiled.sample(1, _NOTHING, generator)[0]]
    best = compiled.best(_NOTHING)
    return [variable.index(best[variable.name]) for variable in variables]


def _states_by_search(
    factors: Sequence[Factor], variables: Sequence[Variable], generator: np.random.Generator
) -> list[int]:
    """By backtracking from random states; where that takes too long, by a clique tree after all."""
    part = Problem.of(factors, _NOTHING)
    owners = np.repeat(np.arange(len(part.factors)), np.diff(part.scope_starts))
    counts = np.bincount(part.scopes, minlength=len(part.variables))
    states = np.empty(len(part.variables), dtype=np.int64)
    outcome = find_possible(
        part.sizes,
        part.scope_starts,
        part.scopes,
        part.table_starts,
        part.tables,
        np.concatenate([[0], np.cumsum(counts)]),
        owners[np.argsort(part.scopes, kind="stable")],
        generator.integers(0, part.sizes),
        _MAX_SEARCH,
        states,
    )
    if outcome == NONE:
        raise ImpossibleEvidence.outright()
    if outcome == FOUND:
        return [int(states[place]) for place in part.places(variables)]
    try:
        return _states_by_tree(factors, variables, generator, Budget())
    except TooLarge as error:
        raise NotSupported(
            f"Mean field found no assignment to begin with: {len(factors)} factors have zeros, too many for a search. "
            "Put variables that zeros tie together in one of blocks=, or make zeros small positive numbers."
        ) from error


#: A belief this near to one is certain.
_CERTAIN = 1 - 1e-9


class ZeroTie(NamedTuple):
    """A factor with zeros whose variables are in several blocks."""

    scope: str  # its variables, as text
    blocks: list[list[str]]  # the blocks of several variables, so changed that one of them holds the factor


def tied_by_zeros(problem: Problem, plan: MeanFieldPlan, beliefs: Floats) -> ZeroTie | None:
    """The first factor with zeros that is across blocks and has a variable, alone in its block, without a choice left.

    Beliefs of independent blocks that rule out each of a factor's zeros rule out whole states, true or not.
    """
    if not len(problem.tables):
        return None
    has_zero = np.minimum.reduceat(problem.tables, problem.table_starts[:-1]) == 0
    owners = {place: number for number, group in enumerate(plan.groups) for place in group.variables}
    certain = {
        place
        for piece, place in enumerate(plan.singles)
        if problem.sizes[place] > 1 and beliefs[plan.starts[piece] : plan.starts[piece + 1]].max() > _CERTAIN
    }
    for factor in np.flatnonzero(has_zero).tolist():
        scope = [int(v) for v in problem.scopes[problem.scope_starts[factor] : problem.scope_starts[factor + 1]]]
        if len({owners.get(place, -1 - place) for place in scope}) > 1 and certain.intersection(scope):
            return ZeroTie(scope_text(problem.factors[factor].scope), _merged(problem, plan, scope))
    return None


def _merged(problem: Problem, plan: MeanFieldPlan, scope: list[int]) -> list[list[str]]:
    """The groups of a plan, those that a scope touches made one with it."""
    apart, together = [], set(scope)
    for group in plan.groups:
        if together.isdisjoint(group.variables):
            apart.append(list(group.variables))
        else:
            together.update(group.variables)
    blocks = [*apart, sorted(together)]
    return [[problem.variables[place].name for place in block if problem.sizes[place] > 1] for block in blocks]
