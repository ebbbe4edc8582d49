"""The tables of a problem sorted by time: which of them come to bear before, between and after some decisions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from plausible.base.arrays import Floats
from plausible.decisions.solving.problem import Problem, Tabled

__all__ = ["Blocks", "read_blocks"]


@dataclass(frozen=True, slots=True, eq=False)
class Blocks:
    """Block i holds the tables that come to bear after i of the decisions.

    Attributes
    ----------
    probabilities, utilities
        The tables of each block; utilities that no decision has an influence on are left out.
    separators
        For each decision what is used both before it and from it on: all that it sees among it.
    is_influenced
        For each variable whether it depends on what the decisions do.
    """

    probabilities: tuple[tuple[Tabled, ...], ...]
    utilities: tuple[tuple[Tabled, ...], ...]
    separators: tuple[tuple[int, ...], ...]
    is_influenced: tuple[bool, ...]

    def part(self, problem: Problem, place: int, scope: Sequence[int]) -> Problem:
        """One block as a problem of its own, the variables of `scope` numbered first."""
        tables = (*self.probabilities[place], *self.utilities[place])
        numbers = {v: new for new, v in enumerate(dict.fromkeys((*scope, *(v for own, _ in tables for v in own))))}

        def renumbered(listed: Sequence[Tabled]) -> tuple[Tabled, ...]:
            return tuple((tuple(numbers[v] for v in own), values) for own, values in listed)

        return Problem(
            variables=tuple(problem.variables[v] for v in numbers),
            probabilities=renumbered(self.probabilities[place]),
            utilities=renumbered(self.utilities[place]),
            families={},
            is_conditioned=problem.is_conditioned,
        )


def read_blocks(problem: Problem, decisions: Sequence[str], given: Mapping[str, Floats]) -> Blocks:
    """Every distribution as late as what needs it allows, and every utility as soon as all that it depends on is there.

    So what is passed on from one decision to the next is little. The order within time is that of the numbers of the
    variables: the highest one of a table is the child of the distribution.

    Parameters
    ----------
    problem
        The tables, without auxiliary variables.
    decisions
        The decisions between which the blocks lie, in time.
    given
        The rules of all others.

    Examples
    --------
    >>> from plausible.decisions.solving.problem import read_problem
    >>> from plausible.decisions import Decision, InfluenceDiagram
    >>> from plausible.utilities import Utility
    >>> pair = InfluenceDiagram([], [Decision("D", 2), Decision("E", 2)], [Utility(["D", "E"], [[1, 0], [0, 2]])])
    >>> read_blocks(read_problem(pair, {}), ["D", "E"], {}).separators
    ((), (0,))
    """
    tables = [*problem.probabilities, *((problem.families[name], rule) for name, rule in given.items())]
    born = {problem.families[name][-1]: place + 1 for place, name in enumerate(decisions)}
    num_variables = len(problem.variables)
    parents: list[set[int]] = [set() for _ in range(num_variables)]
    for scope, _ in tables:
        parents[max(scope, default=0)].update(scope)
    earliest, is_influenced = [0] * num_variables, [v in born for v in range(num_variables)]
    for v in range(num_variables):
        earliest[v] = born.get(v, max((earliest[parent] for parent in parents[v] - {v}), default=0))
        is_influenced[v] = is_influenced[v] or any(is_influenced[parent] for parent in parents[v])
    utilities = [table for table in problem.utilities if any(is_influenced[v] for v in table[0])]
    place_of = _latest(problem, decisions, parents, earliest, [scope for scope, _ in utilities])
    place_of.update(born)
    by_place: list[list[Tabled]] = [[] for _ in range(len(decisions) + 1)]
    gains: list[list[Tabled]] = [[] for _ in range(len(decisions) + 1)]
    for table in tables:
        by_place[max((place_of[v] for v in table[0]), default=0)].append(table)
    for table in utilities:
        gains[max(place_of[v] for v in table[0])].append(table)
    separators = _separators(problem, decisions, [[*a, *b] for a, b in zip(by_place, gains, strict=True)])
    return Blocks(tuple(map(tuple, by_place)), tuple(map(tuple, gains)), separators, tuple(is_influenced))


def _latest(
    problem: Problem,
    decisions: Sequence[str],
    parents: Sequence[set[int]],
    earliest: Sequence[int],
    utilities: Sequence[tuple[int, ...]],
) -> dict[int, int]:
    """For each variable the last block in which its distribution still comes in time."""
    needed: dict[int, int] = {}

    def need(v: int, place: int) -> None:
        needed[v] = min(needed.get(v, place), place)

    for place, name in enumerate(decisions):
        for v in problem.families[name][:-1]:
            need(v, place)
    for scope in utilities:
        for v in scope:
            need(v, max(earliest[other] for other in scope))
    for v in reversed(range(len(problem.variables))):
        needed.setdefault(v, earliest[v])
        for parent in parents[v] - {v}:
            need(parent, needed[v])
    return needed


def _separators(
    problem: Problem, decisions: Sequence[str], blocks: Sequence[Sequence[Tabled]]
) -> tuple[tuple[int, ...], ...]:
    """What is used both before a decision and from it on, for each decision."""
    first: dict[int, int] = {}
    last: dict[int, int] = {}
    for place, block in enumerate(blocks):
        uses = [(2 * place, scope) for scope, _ in block]
        if place < len(decisions):
            uses.append((2 * place + 1, problem.families[decisions[place]]))
        for time, scope in uses:
            for v in scope:
                first.setdefault(v, time)
                last[v] = time
    found: list[list[int]] = [[] for _ in decisions]
    for v in first:
        for place in range((first[v] + 1) // 2, (last[v] + 1) // 2):
            found[place].append(v)
    return tuple(map(tuple, found))
