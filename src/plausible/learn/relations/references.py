"""What references are chosen by: a greedy search over partitions of their targets, and over parents.

The operators are those of Getoor, Friedman, Koller & Taskar (2002): Refine splits the cells by one more attribute,
Abstract joins them again; parents come and go. The score is that of a table with a row for each reference, whose child
is the cell, less the logarithm of the number of objects in the cell, any of which could have been picked.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

import numpy as np

from plausible.data.table_statistics import TableStatistics
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.relations.family_tables import columns_table
from plausible.learn.relations.structure import candidate_terms
from plausible.learn.scores.reading import fitting_score, read_score
from plausible.learn.scores.score import FamilyScores, Score
from plausible.models.relations.families import Family, read_reference, reference_cycle
from plausible.models.relations.instance import Instance
from plausible.models.relations.references import cell_sizes, cells_of
from plausible.models.relations.schema import KEY, Schema
from plausible.models.relations.term_values import term_values
from plausible.models.relations.terms import Term, read_term
from plausible.search.local_search import GreedyAscent
from plausible.search.search_problem import SearchProblem
from plausible.variables import Variable

#: "class.slot" -> partition and parents; or the slots for which these are searched for, `True` for all.
ReferencesLike = Mapping[str, Mapping[str, Sequence[str] | str]] | Iterable[str] | bool | None

_PARTITION, _PARENTS = 0, 1


class Choice(NamedTuple):
    """A partition and parents, as places among the candidates, in order."""

    partition: tuple[int, ...] = ()
    parents: tuple[int, ...] = ()


class Change(NamedTuple):
    """Refine or Abstract by an attribute, or a parent more or less."""

    adds: bool
    part: int
    candidate: int


class ReferenceSearch(SearchProblem[Choice, Change]):
    """All partitions and parents of one reference that no tables can turn into a cycle."""

    def __init__(
        self,
        instance: Instance,
        family: Family,
        others: Sequence[Family],
        candidates: tuple[Sequence[Term], Sequence[Term]],
        score: str | Score,
        most: int,
    ) -> None:
        self.instance, self.family, self.others, self.most = instance, family, others, most
        self.candidates, self.rule = candidates, score
        self._values = [
            (term.text, (term.variable(instance.schema), term_values(term, instance))) for term in candidates[_PARENTS]
        ]
        self._scores: dict[tuple[int, ...], tuple[FamilyScores, float]] = {}

    def family_of(self, state: Choice) -> Family:
        """The family that a state means."""
        partition, parents = (
            tuple(listed[place] for place in places) for listed, places in zip(self.candidates, state, strict=True)
        )
        return Family(self.family.child, parents, partition)

    def score(self, state: Choice) -> float:
        """The score of the cells given the parents, and Σ log 1 / |cell|."""
        if state.partition not in self._scores:
            self._scores[state.partition] = self._scores_of(state.partition)
        scores, within = self._scores[state.partition]
        return scores.family(self.family.name, [self._values[place][0] for place in state.parents]) + within

    def _scores_of(self, partition: tuple[int, ...]) -> tuple[FamilyScores, float]:
        """The scores of the cells of a partition, of which those without objects can't be picked."""
        instance, name = self.instance, self.family.name
        attributes = self.family_of(Choice(partition)).partition or ()
        cells = cells_of(attributes, instance, instance.schema.references[name])
        listed, places = np.unique(cells, return_inverse=True)
        picked = places.ravel()[instance.column(name)]
        columns = {**dict(self._values), name: (Variable(name, len(listed)), picked)}
        statistics = TableStatistics(columns_table(columns, len(picked)))
        rule = fitting_score(statistics, self.rule) if self.rule in ("bic", "aic") else self.rule
        sizes = cell_sizes(places.ravel(), len(listed))
        return read_score(rule).on(statistics), -float(np.log(sizes[picked]).sum())

    def operators(self, state: Choice) -> Sequence[Change]:
        """Attributes and parents that may go, and those that may come without a cycle."""
        moves = [Change(False, part, place) for part, places in enumerate(state) for place in places]
        for part, places in enumerate(state):
            if len(places) < self.most:
                added = (
                    Change(True, part, place) for place in range(len(self.candidates[part])) if place not in places
                )
                moves += [move for move in added if self._is_legal(self.apply(state, move))]
        return moves

    def _is_legal(self, state: Choice) -> bool:
        return not reference_cycle(self.instance.schema, [*self.others, self.family_of(state)])

    def apply(self, state: Choice, operator: Change) -> Choice:
        """What is chosen by after a change."""
        changed = [*state]
        changed[operator.part] = tuple(sorted({*state[operator.part]} ^ {operator.candidate}))
        return Choice(*changed)

    def reverses(self, operator: Change, other: Change) -> bool:
        """Whether both are of one attribute or parent."""
        return operator[1:] == other[1:] and operator.adds != other.adds


def search_references(
    instance: Instance,
    slots: Iterable[str] | bool,
    families: Sequence[Family],
    *,
    score: str | Score,
    max_length: int,
    max_parents: int,
    aggregates: Iterable[str],
    candidates: Mapping[str, Sequence[str]] | None,
) -> tuple[list[Family], float]:
    """The families of some references, or of all, found one after the other beside `families`; the sum of scores."""
    schema = instance.schema
    found: list[Family] = []
    total = 0.0
    for name in _slots(schema, slots):
        family = read_reference(schema, name, (), ())
        if not instance.is_known(name).all():
            raise NotSupported(f"{name!r} is missing in places: what it is chosen by is learned from known references.")
        given = (candidates or {}).get(name)
        terms = (
            list(candidate_terms(instance, family, max_length, tuple(aggregates)))
            if given is None
            else [read_term(text, schema) for text in given]
        )
        problem = ReferenceSearch(
            instance, family, [*families, *found], (_attributes(instance, name), _parents(instance, name, terms)),
            score, max_parents,
        )  # fmt: skip
        best = GreedyAscent().run(problem, Choice())
        found.append(problem.family_of(best.best))
        total += best.best_score
    return found, total


def _slots(schema: Schema, slots: Iterable[str] | bool) -> list[str]:
    """The references that are meant: named ones, or all that may have a distribution."""
    if slots is False:
        return []
    if slots is True:
        owners = {name: name.split(".") for name in schema.references}
        return [name for name, (owner, slot) in owners.items() if slot != KEY and owner not in schema.existence]
    listed = [slots] if isinstance(slots, str) else list(slots)
    if len(set(listed)) < len(listed):
        raise InvalidArgument(f"references={listed} names a slot twice.")
    return listed


def _attributes(instance: Instance, name: str) -> list[Term]:
    """The attributes that the targets of a slot can be told apart by: known ones with states."""
    target = instance.schema.references[name]
    return [
        read_term(variable.name, instance.schema)
        for variable in instance.schema.attributes(target).values()
        if not variable.is_continuous and instance.is_known(variable.name).all()
    ]


def _parents(instance: Instance, name: str, terms: Iterable[Term]) -> list[Term]:
    """Those of the terms that don't go over the slot itself, and have a known state for all objects."""
    return [
        term
        for term in terms
        if not any(slot.reference == name for slot in term.chain.slots)
        and not term.variable(instance.schema).is_continuous
        and (term_values(term, instance) >= 0).all()
    ]
