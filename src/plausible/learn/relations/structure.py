"""Which attributes depend on which, over references: a greedy search in phases, of chains that grow longer and longer.

The score is that of ordinary networks: a sum over class attributes of the score of a table with a row for each object.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

import numpy as np

from plausible.data.table import Table
from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, PlausibleWarning, counted, warn_caller
from plausible.learn.incomplete_structures.available import AvailableStatistics, SeparateScores
from plausible.learn.relations.family_tables import family_table, is_complete
from plausible.learn.scores.reading import read_score
from plausible.learn.scores.score import FamilyScores, Score
from plausible.models.relations.families import Dependency, Family, dependency, open_cycle
from plausible.models.relations.grounding import Grounding
from plausible.models.relations.instance import Instance
from plausible.models.relations.schema import BACKWARDS, Schema, Slot
from plausible.models.relations.term_values import has_value
from plausible.models.relations.terms import Term, read_chain, read_term
from plausible.search.local_search import GreedyAscent, Progress, SearchMethod
from plausible.search.metaheuristics import PerturbationRestarts
from plausible.search.run import Clock
from plausible.search.search_problem import SearchProblem, SearchState, improves

#: For each attribute its parents, as places among its candidates, in order.
Parents = tuple[tuple[int, ...], ...]
#: An attribute and one of its candidates, by their places.
Edge = tuple[int, int]
#: A state for objects that a chain leads nowhere from.
_NONE = "none"


class Move(NamedTuple):
    """A parent that comes, one that goes, or both: then another one goes so that the first may come."""

    comes: Edge | None
    goes: Edge | None


@dataclass(frozen=True, slots=True, eq=False)
class Candidates:
    """The parents that one attribute may have, and what each would make of its score."""

    family: Family  # without parents
    terms: tuple[Term, ...]
    lengths: tuple[int, ...]  # how many slots each of them takes
    depends: tuple[Dependency | None, ...]  # what each makes depend on what
    scores: FamilyScores
    known: dict[tuple[int, ...], float] = field(default_factory=dict)

    def score(self, parents: tuple[int, ...]) -> float:
        """The score of the attribute with these parents."""
        if parents not in self.known:
            self.known[parents] = self.scores.family(self.family.name, [self.terms[place].text for place in parents])
        return self.known[parents]


class RelationalSearch(SearchProblem[Parents, Move]):
    """All dependency structures that no tables can turn into a cycle, of chains up to some length."""

    def __init__(self, candidates: Sequence[Candidates], max_length: int, max_parents: int) -> None:
        self.candidates, self.max_length, self.max_parents = candidates, max_length, max_parents
        self.start: Parents = tuple(() for _ in candidates)

    def score(self, state: Parents) -> float:
        """The sum over class attributes."""
        return float(sum(one.score(parents) for one, parents in zip(self.candidates, state, strict=True)))

    def operators(self, state: Parents) -> Sequence[Move]:
        """Parents that may go, those that may come, and those that may come in place of another one.

        A parent whose coming would close a circle comes in place of one on it: so dependencies turn round. One whose
        attribute has as many as it may comes in place of another one of these.
        """
        present = [(at, place) for at, parents in enumerate(state) for place in parents]
        moves = [Move(None, edge) for edge in present]
        found = self.dependencies(state)
        for at, (one, parents) in enumerate(zip(self.candidates, state, strict=True)):
            is_full = len(parents) >= self.max_parents
            for place, length in enumerate(one.lengths):
                if length > self.max_length or place in parents:
                    continue
                added = one.depends[place]
                is_legal = added is None or not open_cycle([*found, added])
                if is_legal and not is_full:
                    moves.append(Move((at, place), None))
                    continue
                rivals = (
                    [edge for edge in present if edge[0] == at or not is_full]
                    if not is_legal
                    else ([(at, parent) for parent in parents])
                )
                moves += [
                    Move((at, place), edge) for edge in rivals if is_legal or self._is_legal(state, (at, place), edge)
                ]
        return moves

    def _is_legal(self, state: Parents, comes: Edge, goes: Edge) -> bool:
        return not open_cycle(self.dependencies(self.apply(state, Move(comes, goes))))

    def dependencies(self, state: Parents) -> list[Dependency]:
        """Which attributes depend on which in a state."""
        pairs = zip(self.candidates, state, strict=True)
        every = (one.depends[place] for one, parents in pairs for place in parents)
        return [found for found in every if found is not None]

    def apply(self, state: Parents, operator: Move) -> Parents:
        """The structure after a move."""
        changed = list(state)
        for at, parents in self._changed(state, operator).items():
            changed[at] = parents
        return tuple(changed)

    def _changed(self, state: Parents, move: Move) -> dict[int, tuple[int, ...]]:
        """Attribute -> its parents after a move, of those that it changes."""
        parents = {edge[0]: set(state[edge[0]]) for edge in move if edge is not None}
        if move.goes is not None:
            parents[move.goes[0]].discard(move.goes[1])
        if move.comes is not None:
            parents[move.comes[0]].add(move.comes[1])
        return {at: tuple(sorted(own)) for at, own in parents.items()}

    def reverses(self, operator: Move, other: Move) -> bool:
        """Whether it takes back what came, or brings back what went."""
        return (operator.comes is not None and operator.comes == other.goes) or (
            operator.goes is not None and operator.goes == other.comes
        )

    def deltas(self, state: Parents, operators: Sequence[Move]) -> list[float]:
        """What each move changes: the scores of one or two attributes."""
        found = []
        for move in operators:
            changed = self._changed(state, move)
            after = sum(self.candidates[at].score(parents) for at, parents in changed.items())
            before = sum(self.candidates[at].score(state[at]) for at in changed)
            found.append(0.0 if after == before else after - before)  # equal infinities have no difference
        return found


@dataclass(frozen=True, slots=True)
class FoundParents:
    """A structure, and how the search for it went."""

    parents: Mapping[str, tuple[str, ...]]
    score: float
    num_steps: int
    converged: bool


def search_parents(
    grounding: Grounding,
    *,
    score: str | Score,
    max_length: int,
    max_parents: int,
    aggregates: Iterable[str],
    candidates: Mapping[str, Sequence[str]] | None,
    restarts: int,
    seed: int,
    time_limit: float | None,
    progress: Progress[Parents] | None,
) -> FoundParents:
    """Search in phases: parents in the object itself, then over one slot, over two ..., each from the last structure.

    The same over all lengths at once may find more; from the better of both come walks that end elsewhere.
    """
    listed = tuple(aggregates)
    hidden = [name for name in grounding.attributes if not grounding.instance.is_known(name).any()]
    if hidden:
        names = ", ".join(map(repr, hidden))
        warn_caller(
            f"No table has a value of {names}: the search takes nothing to depend on that, and it on nothing. Name its "
            "place in parents=.",
            PlausibleWarning,
        )
    options = [
        _candidates(grounding, ground_at, score, max_length, listed, candidates)
        for ground_at in range(len(grounding.families))
    ]
    problem = RelationalSearch(options, 0, max_parents)
    best: SearchState[Parents] | None = None
    num_steps, clock = 0, Clock.of(time_limit)

    def climb(method: SearchMethod, start: Parents, length: int) -> SearchState[Parents]:
        nonlocal num_steps
        problem.max_length = length
        found = method.run(problem, start, seed=seed, time_limit=clock.seconds_left, progress=progress)
        num_steps += found.num_steps
        return found

    for length in range(max_length + 1):  # in phases
        best = climb(GreedyAscent(), problem.start if best is None else best.best, length)
    direct = climb(GreedyAscent(), problem.start, max_length)  # short chains first can lead into a dead end
    best = direct if best is None or improves(direct.best_score - best.best_score, best.best_score) else best
    if restarts:
        walks = PerturbationRestarts(inner=GreedyAscent(), num=restarts, length=4, growth=1.2)
        best = climb(walks, best.best, max_length)
    named = {
        one.family.name: tuple(one.terms[place].text for place in parents)
        for one, parents in zip(options, best.best, strict=True)
    }
    converged = best.stopped_by not in ("time limit", "interrupted")
    return FoundParents(named, best.best_score, num_steps, converged)


def _candidates(
    grounding: Grounding,
    number: int,
    score: str | Score,
    max_length: int,
    aggregates: tuple[str, ...],
    given: Mapping[str, Sequence[str]] | None,
) -> Candidates:
    """The candidates of an attribute, with the scores of all objects that have a value for each of them."""
    ground, schema = grounding.families[number], grounding.schema
    family = ground.family
    if given is not None and family.name in given:
        terms = [read_term(text, schema) for text in given[family.name]]
    else:
        terms = list(candidate_terms(grounding.instance, family, max_length, aggregates))
    table = family_table(grounding, ground, terms)
    terms = [term for term in terms if table.missing.get(term.text, 0) < table.num_rows]
    if table.missing.get(family.name, 0) == table.num_rows:
        terms = []
    table = table.select([*(term.text for term in terms), family.name])
    if table.missing and table.continuous:
        table = _complete(grounding.instance, family, terms, table)
    chosen = read_score(score)
    scores = SeparateScores(chosen, AvailableStatistics(table)) if table.missing else chosen.on(TableStatistics(table))
    terms = [term for term in terms if scores.family(family.name, [term.text]) > -np.inf]  # some refuse numbers
    depends = tuple(None if term.counts_objects else dependency(schema, family.child, term) for term in terms)
    return Candidates(family, tuple(terms), tuple(len(term.chain.slots) for term in terms), depends, scores)


def _complete(instance: Instance, family: Family, terms: Sequence[Term], table: Table) -> Table:
    """The objects of which all is known that there is to look at: scores of numbers want no others."""
    rows = is_complete(table)
    if not rows.any():
        columns = [family.attribute, *(term.chain.target for term in terms if not term.counts_objects)]
        worst = min(columns, key=lambda name: float(np.mean(instance.is_known(name))))
        raise InvalidArgument(
            f"No object of {family.base!r} has a value for all that the search for parents of {family.name!r} looks "
            f"at, some of it numbers; {worst!r} is missing most often. Leave it out of the tables, name the only "
            "candidates=, or give parents=."
        )
    warn_caller(
        f"{int((~rows).sum())} of {counted(len(rows), 'object')} of {family.base!r} lack a value that the search for "
        f"parents of {family.name!r} looks at, some of it numbers, and are left out of it.",
        PlausibleWarning,
    )
    return table.take(rows)


def candidate_terms(instance: Instance, family: Family, max_length: int, aggregates: Sequence[str]) -> Iterator[Term]:
    """All parents over chains of so many slots at most, shortest first: the potential parents of Getoor et al. (2001).

    A chain that may lead nowhere has a state more, "none". Chains that go over a slot and straight back are left out,
    as they lead to where they began.
    """
    schema = instance.schema
    for slots in _walks(schema, family.base, max_length):
        path = ".".join([family.base, *(_step(schema, slot) for slot in slots)])
        end = slots[-1].end if slots else family.base
        is_single = not any(slot.is_inverse for slot in slots)
        for attribute, variable in schema.attributes(end).items():
            if not slots and f"{end}.{attribute}" == family.attribute:
                continue
            if is_single:
                yield _single_term(instance, f"{path}.{attribute}")
            else:
                functions = [name for name in aggregates if name != "count"]
                for function in functions if not variable.is_continuous else ["mean"]:
                    empty = "" if variable.is_continuous else f", empty={_NONE}"
                    yield read_term(f"{function}({path}.{attribute}{empty})", schema)
        if not is_single and "count" in aggregates:
            yield read_term(f"count({path})", schema)


def _single_term(instance: Instance, text: str) -> Term:
    term = read_term(text, instance.schema)
    if has_value(term, instance).all() or instance.schema.variable(term.chain.target).is_continuous:
        return term
    return read_term(f"value({text}, empty={_NONE})", instance.schema)


def _walks(schema: Schema, base: str, most: int) -> Iterator[tuple[Slot, ...]]:
    walks: list[tuple[Slot, ...]] = [()]
    for _ in range(most + 1):
        yield from walks
        longer = []
        for walk in walks:
            here = walk[-1].end if walk else base
            for slot in dict.fromkeys(schema.slots(here).values()):
                goes_back = (
                    bool(walk) and walk[-1].is_inverse and not slot.is_inverse and walk[-1].reference == slot.reference
                )
                if not goes_back:
                    longer.append((*walk, slot))
        walks = longer


def _step(schema: Schema, slot: Slot) -> str:
    """What a slot is called from where it starts, by its short name if it has one."""
    names = [name for name, other in schema.slots(slot.source).items() if other == slot]
    return min(names, key=lambda name: BACKWARDS in name)


def check_candidates(given: Mapping[str, Sequence[str]] | None, schema: Schema) -> None:
    """Refuse candidates of attributes that are not there."""
    for name in given or {}:
        if name not in schema.references and read_chain(name, schema).attribute is None:
            raise InvalidArgument(f"candidates= names {name!r}, which is no attribute.")
