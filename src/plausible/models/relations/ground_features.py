"""Formulas on constants as a log-linear model: tables over ground atoms that share the weights of formulas."""

from __future__ import annotations

import math
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.records import Result, TextTable, record
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.factors.alignment import table_shape
from plausible.models.log_linear import gibbs_factors
from plausible.models.markov_network import MarkovNetwork
from plausible.models.relations.formula_grounding import GroundFormula, GroundTable, World, ground_formula, labels_of
from plausible.models.relations.formulas import Formula
from plausible.models.relations.vocabulary import Universe
from plausible.variables import Variable


@dataclass(frozen=True, slots=True)
class FormulaCount:
    """How often a formula is true."""

    formula: str  # What its weight is called
    weight: float
    groundings: int  # How many there are
    true: int  # Of these, those that hold whatever the open atoms are
    false: int  # Those that don't
    open: int  # Those that hang on atoms that are not known


@dataclass(frozen=True, slots=True, eq=False)
class SharedTable:
    """Groundings over different atoms that are alike: what each formula counts at each assignment to the atoms."""

    scopes: Ints  # places x atoms: positions among the open atoms, ascending
    counts: Mapping[int, Floats]  # number of a formula -> true groundings at each assignment, the last atom fastest
    totals: Mapping[int, int]  # number of a formula -> its groundings in each place


@record(eq=False)
class GroundFeatures(Result):
    """What is left of formulas where some atoms are known: tables over the others, which share weights.

    Printed, it tells of each formula how many groundings it has, how many of them are certain, and how many are left.
    """

    _told = ("counts",)
    _rows = "counts"

    formulas: tuple[Formula, ...]  # Whose weights are shared
    variables: tuple[Variable, ...]  # One for each atom that is not known
    tables: tuple[SharedTable, ...]  # Tables over them, one for each kind of places
    counts: tuple[FormulaCount, ...]  # How often each formula is true

    @property
    def num_factors(self) -> int:
        """How many tables there are, each place counted."""
        return sum(len(table.scopes) for table in self.tables)

    def network(self) -> MarkovNetwork:
        """The Markov network of the atoms that are not known: a factor for each place.

        Groundings that are certain change nothing and are left out.
        """
        factors = [
            Factor.trusted(scope, part)
            for table in self.tables
            for scopes in [[tuple(self.variables[place] for place in row) for row in table.scopes.tolist()]]
            for part in self._parts(table, scopes[0])
            for scope in scopes
        ]
        return MarkovNetwork(factors, variables=self.variables)

    def _parts(self, table: SharedTable, scope: tuple[Variable, ...]) -> list[Floats]:
        """exp Σ w n as arrays whose product it is: one, but where that is no float."""
        logs = np.zeros(math.prod(variable.num_states for variable in scope))
        for number, counts in table.counts.items():
            weight = self.formulas[number].weight
            if math.isinf(weight):
                logs[is_ruled_out(table, number, weight)] = -math.inf
            else:
                logs += weight * counts
        if logs.max() == -math.inf:
            hard = " and ".join(str(self.formulas[number]) for number in table.counts if self.formulas[number].is_hard)
            raise ImpossibleEvidence(
                f"No states of {', '.join(one.name for one in scope)} make {hard} hold, whose weight is infinite."
            )
        return [factor.values.reshape(table_shape(scope)) for factor in gibbs_factors(Factor.from_flat(scope, -logs))]

    def __str__(self) -> str:
        rows = [
            (
                one.formula,
                f"{one.weight:g}",
                *(f"{number:,}" for number in (one.groundings, one.true, one.false, one.open)),
            )
            for one in self.counts
        ]
        return str(TextTable(("formula", "weight", "groundings", "true", "false", "open"), tuple(rows), 1))


def is_ruled_out(table: SharedTable, number: int, weight: float) -> np.ndarray:
    """Where a formula with an infinite weight is broken."""
    return table.counts[number] < table.totals[number] if weight > 0 else table.counts[number] > 0


def ground_features(formulas: Sequence[Formula], universe: Universe, known: World) -> GroundFeatures:
    """Put formulas on constants, and what is known in; tables over the same atoms are made one."""
    grounded = [ground_formula(formula, universe, known) for formula in formulas]
    for formula, one in zip(formulas, grounded, strict=True):
        _refuse_broken(formula, one)
    open_atoms = np.flatnonzero(np.concatenate([codes.ravel() for codes in known.values()]) < 0)
    tables = [(number, table) for number, one in enumerate(grounded) for table in one.tables]
    counts = tuple(
        FormulaCount(
            formula.name,
            formula.weight,
            one.num_true + one.num_false + one.num_open,
            one.num_true,
            one.num_false,
            one.num_open,
        )
        for formula, one in zip(formulas, grounded, strict=True)
    )
    return GroundFeatures(
        tuple(formulas), tuple(universe.variables(open_atoms)), tuple(_merged(tables, open_atoms)), counts
    )


def _refuse_broken(formula: Formula, grounded: GroundFormula) -> None:
    """Refuse a hard formula that is certainly broken."""
    is_true = formula.weight < 0
    if formula.is_hard and is_true in grounded.an_example:
        where = grounded.an_example[is_true]
        certain = "true" if is_true else "false"
        raise ImpossibleEvidence(
            f"{formula}, whose weight is {formula.weight}, is {certain}{' at ' if where else ''}{where} whatever "
            "the other atoms are. Give it a finite weight, or look at what is known of its atoms."
        )


def _merged(tables: Sequence[tuple[int, GroundTable]], open_atoms: Ints) -> Iterator[SharedTable]:
    """The tables over each set of atoms as one, and those that are alike together."""
    kinds: dict[tuple[int, tuple[int, ...], bytes], list[GroundTable]] = {}
    for number, table in tables:
        kinds.setdefault((number, table.sizes, table.is_true.tobytes()), []).append(table)
    for width in sorted({len(sizes) for _, sizes, _ in kinds}):
        chosen = [(key[0], own) for key, own in kinds.items() if len(key[1]) == width]
        scopes = [np.concatenate([table.scopes for table in own]) for _, own in chosen]
        rows = np.concatenate(scopes)
        first, place_of = labels_of(rows.T)
        pieces = np.repeat(np.arange(len(chosen)), list(map(len, scopes)))
        pairs, times = np.unique(place_of * len(chosen) + pieces, return_counts=True)
        places, pieces = np.divmod(pairs, len(chosen))
        starts = np.flatnonzero(np.diff(places, prepend=-1, append=places[-1] + 1))
        for members in _alike(starts, pieces, times):
            counts, totals = dict[int, Floats](), dict[int, int]()
            for at in range(starts[members[0]], starts[members[0] + 1]):
                (number, (table, *_)), often = chosen[pieces[at]], int(times[at])
                counts[number] = counts.get(number, 0) + often * table.is_true.astype(np.float64)
                totals[number] = totals.get(number, 0) + often
            yield SharedTable(np.searchsorted(open_atoms, rows[first[members]]), counts, totals)


def _alike(starts: Ints, pieces: Ints, times: Ints) -> list[Ints]:
    """Stretches with the same pieces as often, together; `starts` has the beginning of each, and the last end."""
    lengths, labels = np.diff(starts), np.zeros(starts.size - 1, dtype=np.int64)
    for step in range(int(lengths.max())):
        longer = np.flatnonzero(lengths > step)
        at = starts[longer] + step
        kinds = labels_of([labels[longer], pieces[at], times[at]])[1]
        labels[longer] = kinds + int(labels.max()) + 1
    return np.split(np.argsort(labels, kind="stable"), np.cumsum(np.unique(labels, return_counts=True)[1])[:-1])
