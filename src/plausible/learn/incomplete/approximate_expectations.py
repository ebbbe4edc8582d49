"""E-steps for many cases at once: most probable completions, by max-product elimination, and mean field."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Codes, Floats, logarithms
from plausible.errors import ImpossibleEvidence, TooLarge
from plausible.factors import Factor
from plausible.inference.problem import Problem
from plausible.inference.variational.mean_field import MeanField, MeanFieldState
from plausible.learn.incomplete.cases import Cases, distinct_rows
from plausible.learn.incomplete.expectations import Expectations, impossible_case, mutilated
from plausible.models import BayesianNetwork
from plausible.variables import Variable

#: A chunk of cases has tables of at most so many numbers.
_MOST_ENTRIES = 2**22
_MOST_CASES = 4096


class Completions(NamedTuple):
    """Complete codes of each case, and log P of them; -inf for a case that is ruled out."""

    codes: Codes
    log_probabilities: Floats


class _Piece(NamedTuple):
    """log φ over some free variables, ascending, with an axis for cases before; that axis may have length one."""

    scope: tuple[int, ...]
    logs: Floats


def most_probable_completions(network: BayesianNetwork, cases: Cases) -> Completions:
    """argmax_h P(h, observed) of each case.

    Of completions that are equally probable, states that come first are taken, variable by variable in the reverse
    order of elimination. Cost: cases times the tables of an elimination of what is missing; cases that lack the same
    cells go together. A distribution whose variable was set from outside counts for nothing.
    """
    codes, logs = cases.codes.copy(), np.zeros(cases.num_cases)
    tables = {name: logarithms(cpd.to_factor().values) for name, cpd in network.cpds.items()}
    places = {name: place for place, name in enumerate(cases.variables)}
    scopes = {name: tuple(places[v.name] for v in cpd.scope) for name, cpd in network.cpds.items()}
    sizes = [variable.num_states for variable in cases.variables.values()]
    order = np.lexsort(
        np.vstack([(cases.codes < 0).T, cases.settings[None]])
    )  # those that lack the same cells together
    for setting, set_names in enumerate(cases.setting_names):
        names, ours = [name for name in tables if name not in set_names], order[cases.settings[order] == setting]
        factors = [(scopes[name], tables[name].reshape([sizes[place] for place in scopes[name]])) for name in names]
        for first in range(0, len(ours), _MOST_CASES):
            chosen = ours[first : first + _MOST_CASES]
            codes[chosen], logs[chosen] = _completed(factors, cases.codes[chosen], sizes)
    return Completions(codes, logs)


@dataclass(frozen=True, slots=True, eq=False)
class HardExpectations:
    """The counts of the most probable completion of each case, and log P of these: Q has its weight in one place."""

    cases: Cases

    def at(self, network: BayesianNetwork) -> Expectations:
        codes, logs = most_probable_completions(network, self.cases)
        impossible = np.flatnonzero(np.isneginf(logs))
        if len(impossible):
            raise impossible_case(network, self.cases, int(impossible[0]))
        names = list(self.cases.variables)
        counts = {}
        for name, cpd in network.cpds.items():
            is_free = ~self.cases.is_set(name)
            columns = codes[is_free][:, [names.index(variable.name) for variable in cpd.scope]]
            counts[name] = np.zeros([variable.num_states for variable in cpd.scope])
            np.add.at(counts[name], tuple(columns.T), self.cases.weights[is_free])
        return Expectations(float(self.cases.weights @ logs), logs, counts, is_exact=False)


def _completed(factors: list[tuple[tuple[int, ...], Floats]], codes: Codes, sizes: list[int]) -> Completions:
    free = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    pieces = [_piece(scope, table, codes, set(free)) for scope, table in factors]
    for place in free:  # -inf for states of which another is observed
        column = codes[:, place, None]
        is_open = (column < 0) | (column == np.arange(sizes[place]))
        pieces.append(_Piece((place,), np.where(is_open, 0.0, -np.inf)))
    order = _order([piece.scope for piece in pieces], free, sizes)
    largest = max((math.prod(sizes[place] for place in scope) for _, scope in order), default=1)
    most = _MOST_ENTRIES // largest
    if most == 0:
        raise TooLarge(
            f"The most probable completions need a table of {largest} entries. Take method='em' with an approximate "
            "engine= instead."
        )
    if len(codes) > most:
        parts = np.array_split(codes, -(-len(codes) // most))
        return Completions(
            *map(np.concatenate, zip(*(_completed(factors, part, sizes) for part in parts), strict=True))
        )
    return _eliminated(pieces, [place for place, _ in order], codes)


def _piece(scope: tuple[int, ...], table: Floats, codes: Codes, free: set[int]) -> _Piece:
    """A table with the observed states put in."""
    order = sorted(range(len(scope)), key=lambda axis: scope[axis])
    kept = tuple(scope[axis] for axis in order if scope[axis] in free)
    table, listed = table.transpose(order), [scope[axis] for axis in order]
    if len(kept) == len(listed):
        return _Piece(kept, table[None])
    shape = [1] * (len(kept) + 1)
    index = []
    for axis, place in enumerate(listed):
        where = kept.index(place) + 1 if place in free else 0
        values = np.arange(table.shape[axis]) if place in free else codes[:, place]
        index.append(values.reshape([*shape[:where], -1, *shape[where + 1 :]]))
    return _Piece(kept, table[tuple(index)])


def _order(scopes: list[tuple[int, ...]], free: list[int], sizes: list[int]) -> list[tuple[int, frozenset[int]]]:
    """Free variables, that with the smallest table first, and the variables of these tables."""
    there, left, order = [frozenset(scope) for scope in scopes], set(free), []
    while left:
        unions = {place: frozenset().union(*(s for s in there if place in s)) for place in sorted(left)}
        place = min(unions, key=lambda one: (math.prod(sizes[other] for other in unions[one]), one))
        order.append((place, unions[place]))
        there = [*(scope for scope in there if place not in scope), unions[place] - {place}]
        left.remove(place)
    return order


def _eliminated(pieces: list[_Piece], order: list[int], codes: Codes) -> Completions:
    choices = []  # a variable, others that are chosen later, and its best state for each case and all states of these
    for place in order:
        touching = [piece for piece in pieces if place in piece.scope]
        scope = tuple(sorted({other for piece in touching for other in piece.scope}))
        joined: Floats = np.zeros([1] * (len(scope) + 1))
        for piece in touching:
            sizes = dict(zip(piece.scope, piece.logs.shape[1:], strict=True))
            joined = joined + piece.logs.reshape([len(piece.logs), *(sizes.get(other, 1) for other in scope)])
        axis, others = scope.index(place) + 1, tuple(other for other in scope if other != place)
        choices.append((place, others, joined.argmax(axis=axis)))
        pieces = [*(piece for piece in pieces if place not in piece.scope), _Piece(others, joined.max(axis))]
    completed, rows = codes.copy(), np.arange(len(codes))
    for place, others, states in reversed(choices):
        completed[:, place] = states[(rows if len(states) > 1 else 0, *(completed[:, other] for other in others))]
    return Completions(completed, sum((piece.logs for piece in pieces), np.zeros(len(codes))))


Places: TypeAlias = NDArray[np.intp]

#: How far from uniform the first run begins, as that of the engine.
_TILT = 0.1


class CaseBeliefs(NamedTuple):
    """The cases of one pattern, and what is believed of their missing cells: shape (cases, numbers of a belief)."""

    places: Places
    beliefs: Floats


def mean_field_expectations(
    engine: MeanField,
    network: BayesianNetwork,
    cases: Cases,
    before: Sequence[CaseBeliefs] | None = None,
    sweeps: int | None = None,
) -> tuple[Expectations, tuple[CaseBeliefs, ...]]:
    """What mean field expects of all cases, and the beliefs that it rests on.

    Cost of a sweep: the entries of the families, observed variables left out, times their missing variables, for each
    case; all cases of a pattern at once. Where blocks of several variables are missing, one case after the other.
    `before` are the beliefs to go on from, by at most so many sweeps; else the engine's beginnings, and all it wants.
    """
    counts = {name: np.zeros([v.num_states for v in cpd.scope]) for name, cpd in network.cpds.items()}
    logs, after, is_exact = np.zeros(cases.num_cases), [], True
    groups: list[tuple[Places, Floats | None]] = [(group.places, group.beliefs) for group in before or ()]
    if not before:  # the cases in which the same variables are set, and the same cells missing
        pattern = distinct_rows(np.column_stack([cases.settings, cases.codes < 0]).astype(np.int32))[1]
        parts = np.split(np.argsort(pattern, kind="stable"), np.cumsum(np.bincount(pattern))[:-1])
        groups = [(part, None) for part in parts if len(part)]
    for places, beliefs in groups:
        set_names = cases.setting_names[int(cases.settings[places[0]])]
        factors, shift = mutilated(network, set_names)
        columns = dict(zip(cases.variables, cases.codes[places].T, strict=True))
        families = {name: cpd.scope for name, cpd in network.cpds.items() if name not in set_names}
        asked = _Asked(engine, network, cases, places, columns, factors, families, counts)
        blocks = [[name for name in block if columns[name][0] < 0] for block in engine.blocks or ()]
        solve = _one_by_one if any(len(block) > 1 for block in blocks) else _together
        found, energies, own_exact = solve(asked, beliefs, sweeps)
        logs[places] = shift + energies
        is_exact &= own_exact
        after.append(CaseBeliefs(places, found))
    return Expectations(float(cases.weights @ logs), logs, counts, is_exact=is_exact), tuple(after)


class _Asked(NamedTuple):
    """The cases of one pattern, the factors of the network, and the counts of families, which are added to."""

    engine: MeanField
    network: BayesianNetwork
    cases: Cases
    places: Places
    columns: Mapping[str, Codes]  # name -> the states in these cases; -1 in all of them where missing
    factors: Sequence[Factor]
    families: Mapping[str, tuple[Variable, ...]]
    counts: Mapping[str, Floats]

    def split(self, scope: Sequence[Variable]) -> tuple[list[int], list[int]]:
        """The axes that are observed, and those that are missing."""
        lost = [axis for axis, variable in enumerate(scope) if self.columns[variable.name][0] < 0]
        return [axis for axis in range(len(scope)) if axis not in lost], lost

    def codes(self, scope: Sequence[Variable], axes: Sequence[int]) -> tuple[Codes, ...]:
        """The states of observed axes, in each case."""
        return tuple(self.columns[scope[axis].name] for axis in axes)

    def add(self, name: str, table: Floats) -> None:
        """Add Σ weight · P(family) to the counts: tables over its missing variables, a row for each case."""
        observed, missing = self.split(self.families[name])
        view = self.counts[name].transpose([*observed, *missing])
        weighted = table * self.cases.weights[self.places].reshape(-1, *[1] * len(missing))
        if observed:
            np.add.at(view, self.codes(self.families[name], observed), weighted)
        else:
            view += weighted.sum(axis=0)

    def impossible(self, place: int) -> ImpossibleEvidence:
        """The error that names a case that can't happen."""
        return impossible_case(self.network, self.cases, int(self.places[place]))


class _Tie(NamedTuple):
    """log φ of each case over some missing variables, zero where it is -inf, which `barred` tells."""

    names: tuple[str, ...]
    logs: Floats
    barred: Floats | None

    @classmethod
    def of(cls, names: tuple[str, ...], logs: Floats) -> _Tie:
        is_zero = np.isneginf(logs)
        if not is_zero.any():
            return cls(names, logs, None)
        return cls(names, np.where(is_zero, 0.0, logs), is_zero.astype(np.float64))

    def some(self, rows: Places) -> _Tie:
        return _Tie(self.names, self.logs[rows], None if self.barred is None else self.barred[rows])


@dataclass(frozen=True, slots=True, eq=False)
class _Pattern:
    """Cases with the same missing variables: what observed cells say outright, and the factors of the missing ones."""

    asked: _Asked
    parts: Mapping[str, slice]
    constants: Floats
    ties: tuple[_Tie, ...]

    @classmethod
    def of(cls, asked: _Asked) -> _Pattern:
        problem = Problem.of(asked.factors, asked.cases.evidence(int(asked.places[0])))
        ends = np.concatenate([[0], np.cumsum(problem.sizes)]).tolist()
        parts = {v.name: slice(*ends[at : at + 2]) for at, v in enumerate(problem.variables)}
        constants, ties, num_cases = np.zeros(len(asked.places)), [], len(asked.places)
        alone: dict[str, Floats] = {}
        for factor in asked.factors:
            observed, missing = asked.split(factor.scope)
            logs = logarithms(factor.values.transpose([*observed, *missing]))
            seen = asked.codes(factor.scope, observed)
            logs = logs[seen] if observed else np.broadcast_to(logs, (num_cases, *logs.shape))
            names = tuple(factor.scope[axis].name for axis in missing)
            if not names:
                constants += logs
            elif len(names) == 1:
                alone[names[0]] = alone.get(names[0], 0.0) + logs
            else:
                ties.append(_Tie.of(names, logs))
        return cls(asked, parts, constants, (*(_Tie.of((name,), logs) for name, logs in alone.items()), *ties))

    def swept(self, beliefs: Floats, rows: Places) -> Floats:
        """All variables updated once, one after the other: q(x) ∝ exp Σ E[log φ | x]."""
        beliefs = beliefs.copy()
        for name, part in self.parts.items():
            potential = np.zeros(beliefs[:, part].shape)
            for tie in self.ties:
                if name in tie.names:
                    potential += self._expected(tie, tie.logs, beliefs, name)
                    if tie.barred is not None:
                        potential[self._expected(tie, tie.barred, beliefs, name) > 0] = -np.inf
            peaks = potential.max(axis=1, keepdims=True)
            if np.isneginf(peaks).any():
                raise self.asked.impossible(int(rows[np.argmin(peaks)]))
            weights = np.exp(potential - peaks)
            beliefs[:, part] = weights / weights.sum(axis=1, keepdims=True)
        return beliefs

    def settled(self, beliefs: Floats, sweeps: int) -> Floats:
        """Sweeps until no belief changes; cases that have come to rest are left alone."""
        beliefs, moving, here = beliefs.copy(), np.arange(len(beliefs)), self
        for _ in range(sweeps if self.parts else 0):
            now = here.swept(beliefs[moving], moving)
            is_moving = np.abs(now - beliefs[moving]).max(axis=1, initial=0.0) > self.asked.engine.tolerance
            beliefs[moving] = now
            if not is_moving.any():
                break
            if 2 * is_moving.sum() < len(moving):
                kept = np.flatnonzero(is_moving)
                moving = moving[kept]
                here = replace(here, constants=here.constants[kept], ties=tuple(tie.some(kept) for tie in here.ties))
        return beliefs

    def best_start(self) -> Floats:
        """The best run of each case, from the engine's beginnings: nearly uniform at first, random for later runs."""
        engine, size = self.asked.engine, max((part.stop for part in self.parts.values()), default=0)
        best, reached = np.zeros((len(self.constants), size)), np.full(len(self.constants), -np.inf)
        for restart in range(engine.restarts + 1):
            levels = np.random.default_rng([engine.seed, restart]).random(size)
            weights = 1.0 + _TILT * levels if restart == 0 else -np.log1p(-levels) + 1e-12
            for part in self.parts.values():
                weights[part] /= weights[part].sum()
            found = self.settled(np.tile(weights, (len(self.constants), 1)), engine.max_steps)
            energies = self.energies(found)
            is_better = energies > reached
            best[is_better], reached[is_better] = found[is_better], energies[is_better]
        return best

    def energies(self, beliefs: Floats) -> Floats:
        """F = Σ E[log φ] + H(Q) of each case."""
        entropy = -np.where(beliefs > 0, beliefs * np.log(np.where(beliefs > 0, beliefs, 1.0)), 0.0).sum(axis=1)
        return sum((self._expected(tie, tie.logs, beliefs, None) for tie in self.ties), self.constants + entropy)

    def _expected(self, tie: _Tie, table: Floats, beliefs: Floats, kept: str | None) -> Floats:
        """E[table | state of one variable], or of none, for each case."""
        terms: list[Any] = [table, list(range(table.ndim))]
        for axis, name in enumerate(tie.names, 1):
            terms += [] if name == kept else [beliefs[:, self.parts[name]], [0, axis]]
        return np.asarray(np.einsum(*terms, [0] if kept is None else [0, 1 + tie.names.index(kept)]))


def _together(asked: _Asked, before: Floats | None, sweeps: int | None) -> tuple[Floats, Floats, bool]:
    """All cases of a pattern at once, where missing variables stand alone: beliefs, energies, are these log P."""
    pattern, num_cases = _Pattern.of(asked), len(asked.places)
    if np.isneginf(pattern.constants).any():
        raise asked.impossible(int(np.argmin(pattern.constants)))
    if before is not None:
        found = pattern.settled(before, sweeps or asked.engine.max_steps)
    elif any(tie.barred is not None and len(tie.names) > 1 for tie in pattern.ties):
        # beliefs must keep out of zeros: a possible assignment has to be looked for, which the engine does
        found = np.stack([_run(asked, place, None, None)[1].beliefs for place in range(num_cases)])
    else:
        found = pattern.best_start()
    for name, scope in asked.families.items():
        table = np.ones(num_cases)
        for axis in asked.split(scope)[1]:
            belief = found[:, pattern.parts[scope[axis].name]]
            table = table[..., None] * belief.reshape(num_cases, *[1] * (table.ndim - 1), -1)
        asked.add(name, table)
    return found, pattern.energies(found), all(len(tie.names) <= 1 for tie in pattern.ties)


def _one_by_one(asked: _Asked, before: Floats | None, sweeps: int | None) -> tuple[Floats, Floats, bool]:
    """One case after the other, each by the engine."""
    kept, energies, is_exact = [], np.zeros(len(asked.places)), True
    tables: dict[str, list[Floats]] = {name: [] for name in asked.families}
    for place in range(len(asked.places)):
        problem, state = _run(asked, place, None if before is None else before[place], sweeps)
        energies[place] = state.energy + problem.log_scale
        is_exact &= state.plan.is_exact
        kept.append(state.beliefs)
        missing = [[scope[axis] for axis in asked.split(scope)[1]] for scope in asked.families.values()]
        groups = [tuple(problem.places(group)) for group in missing]
        for name, table in zip(tables, asked.engine.beliefs_from(problem, state, groups).tables, strict=True):
            tables[name].append(table)
    for name, found in tables.items():
        asked.add(name, np.stack(found))
    return np.stack(kept), energies, is_exact


def _run(asked: _Asked, place: int, before: Floats | None, sweeps: int | None) -> tuple[Problem, MeanFieldState]:
    """One case, by the engine."""
    problem, engine = Problem.of(asked.factors, asked.cases.evidence(int(asked.places[place]))), asked.engine
    try:
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        if before is None:
            return problem, engine.run(problem).state
        limited = engine if sweeps is None else replace(engine, max_steps=sweeps)
        return problem, limited.run(problem, replace(engine.init(problem), beliefs=before)).state
    except ImpossibleEvidence:
        raise asked.impossible(place) from None
