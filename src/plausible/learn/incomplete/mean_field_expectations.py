"""Mean field for many cases: those with the same cells missing are updated together."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Floats
from plausible.errors import ImpossibleEvidence
from plausible.factors import Factor
from plausible.inference.problem import Problem
from plausible.inference.variational.mean_field import MeanField, MeanFieldState
from plausible.learn.incomplete.cases import Cases, distinct_rows
from plausible.learn.incomplete.expectations import Expectations, impossible_case, mutilated
from plausible.models import BayesianNetwork
from plausible.variables import Variable

Places: TypeAlias = NDArray[np.intp]

#: How far from uniform the first run begins, as that of the engine.
_TILT = 0.1


class CaseBeliefs(NamedTuple):
    """The cases of one pattern, and what is believed of their missing cells: shape (cases, numbers of a belief)."""

    places: Places
    beliefs: Floats


class _Found(NamedTuple):
    """Beliefs of the cases of a pattern, their energies, and whether these are log P."""

    beliefs: Floats
    energies: Floats
    is_exact: bool


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
    groups = [(group.places, group.beliefs) for group in before] if before else [(p, None) for p in _patterns(cases)]
    for places, beliefs in groups:
        set_names = cases.setting_names[int(cases.settings[places[0]])]
        factors, shift = mutilated(network, set_names)
        columns = dict(zip(cases.variables, cases.codes[places].T, strict=True))
        missing = frozenset(name for name, column in columns.items() if column[0] < 0)
        solve = _one_by_one if any(len(missing.intersection(block)) > 1 for block in engine.blocks or ()) else _together
        families = {name: cpd.scope for name, cpd in network.cpds.items() if name not in set_names}
        asked = _Asked(engine, cases, places, columns, missing, factors, families, counts)
        try:
            found = solve(asked, beliefs, sweeps)
        except _ImpossibleCase as error:
            raise impossible_case(network, cases, int(places[error.place])) from None
        logs[places] = shift + found.energies
        is_exact &= found.is_exact
        after.append(CaseBeliefs(places, found.beliefs))
    return Expectations(float(cases.weights @ logs), logs, counts, is_exact=is_exact), tuple(after)


def _patterns(cases: Cases) -> Iterator[Places]:
    """The cases in which the same variables are set, and the same cells missing."""
    keys = np.column_stack([cases.settings, cases.codes < 0]).astype(np.int32)
    pattern = distinct_rows(keys)[1]
    order = np.argsort(pattern, kind="stable")
    return (part for part in np.split(order, np.cumsum(np.bincount(pattern))[:-1]) if len(part))


class _ImpossibleCase(ImpossibleEvidence):
    """A case of a pattern that can't happen, by its place in it."""

    def __init__(self, place: int) -> None:
        super().__init__("It has probability zero.")
        self.place = place

    def __reduce__(self) -> tuple[object, ...]:
        """Keep the place when the error crosses a process boundary."""
        return _ImpossibleCase, (self.place,)


class _Asked(NamedTuple):
    """The cases of one pattern, the factors of the network, and the counts of families, which are added to."""

    engine: MeanField
    cases: Cases
    places: Places
    columns: Mapping[str, Codes]
    missing: frozenset[str]
    factors: Sequence[Factor]
    families: Mapping[str, tuple[Variable, ...]]
    counts: Mapping[str, Floats]

    def split(self, scope: Sequence[Variable]) -> tuple[list[int], list[int]]:
        """The axes that are observed, and those that are missing."""
        axes = range(len(scope))
        lost = [axis for axis in axes if scope[axis].name in self.missing]
        return [axis for axis in axes if axis not in lost], lost

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


# --- variables that stand alone ---


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

    parts: Mapping[str, slice]
    constants: Floats
    ties: tuple[_Tie, ...]

    @classmethod
    def of(cls, asked: _Asked) -> _Pattern:
        problem = Problem.of(asked.factors, asked.cases.evidence(int(asked.places[0])))
        ends = np.concatenate([[0], np.cumsum(problem.sizes)]).tolist()
        parts = {v.name: slice(*ends[at : at + 2]) for at, v in enumerate(problem.variables)}
        constants, ties = np.zeros(len(asked.places)), []
        alone: dict[str, Floats] = {}
        for factor in asked.factors:
            observed, missing = asked.split(factor.scope)
            with np.errstate(divide="ignore"):
                logs = np.log(factor.values.transpose([*observed, *missing]))
            logs = (
                logs[asked.codes(factor.scope, observed)]
                if observed
                else np.broadcast_to(logs, (len(asked.places), *logs.shape))
            )
            names = tuple(factor.scope[axis].name for axis in missing)
            if not names:
                constants += logs
            elif len(names) == 1:
                alone[names[0]] = alone.get(names[0], 0.0) + logs
            else:
                ties.append(_Tie.of(names, logs))
        return cls(parts, constants, (*(_Tie.of((name,), logs) for name, logs in alone.items()), *ties))

    @property
    def size(self) -> int:
        """How many numbers a belief has."""
        return max((part.stop for part in self.parts.values()), default=0)

    @property
    def has_barred_ties(self) -> bool:
        """Whether beliefs must keep out of the zeros of a factor that ties missing variables together."""
        return any(tie.barred is not None and len(tie.names) > 1 for tie in self.ties)

    def swept(self, beliefs: Floats) -> Floats:
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
                raise _ImpossibleCase(int(np.argmin(peaks)))
            weights = np.exp(potential - peaks)
            beliefs[:, part] = weights / weights.sum(axis=1, keepdims=True)
        return beliefs

    def settled(self, beliefs: Floats, tolerance: float, max_sweeps: int) -> Floats:
        """Sweeps until no belief changes; cases that have come to rest are left alone."""
        beliefs, moving, here = beliefs.copy(), np.arange(len(beliefs)), self
        for _ in range(max_sweeps if self.parts else 0):
            now = here.swept(beliefs[moving])
            is_moving = np.abs(now - beliefs[moving]).max(axis=1, initial=0.0) > tolerance
            beliefs[moving] = now
            if not is_moving.any():
                break
            if 2 * is_moving.sum() < len(moving):
                kept = np.flatnonzero(is_moving)
                moving = moving[kept]
                here = replace(here, constants=here.constants[kept], ties=tuple(tie.some(kept) for tie in here.ties))
        return beliefs

    def energies(self, beliefs: Floats) -> Floats:
        """F = Σ E[log φ] + H(Q) of each case."""
        entropy = -np.where(beliefs > 0, beliefs * np.log(np.where(beliefs > 0, beliefs, 1.0)), 0.0).sum(axis=1)
        return sum((self._expected(tie, tie.logs, beliefs, None) for tie in self.ties), self.constants + entropy)

    def start(self, engine: MeanField, restart: int) -> Floats:
        """The engine's beginning: nearly uniform at first, random for later runs; the same for all cases."""
        levels = np.random.default_rng([engine.seed, restart]).random(self.size)
        weights = 1.0 + _TILT * levels if restart == 0 else -np.log1p(-levels) + 1e-12
        for part in self.parts.values():
            weights[part] /= weights[part].sum()
        return np.tile(weights, (len(self.constants), 1))

    def _expected(self, tie: _Tie, table: Floats, beliefs: Floats, kept: str | None) -> Floats:
        """E[table | state of one variable], or of none, for each case."""
        terms: list[Any] = [table, list(range(table.ndim))]
        for axis, name in enumerate(tie.names, 1):
            terms += [] if name == kept else [beliefs[:, self.parts[name]], [0, axis]]
        return np.asarray(np.einsum(*terms, [0] if kept is None else [0, 1 + tie.names.index(kept)]))


def _together(asked: _Asked, before: Floats | None, sweeps: int | None) -> _Found:
    """All cases of a pattern at once, where missing variables stand alone."""
    pattern, engine = _Pattern.of(asked), asked.engine
    if np.isneginf(pattern.constants).any():
        raise _ImpossibleCase(int(np.argmin(pattern.constants)))
    if before is not None:
        found = pattern.settled(before, engine.tolerance, sweeps or engine.max_steps)
    elif pattern.has_barred_ties:  # a possible assignment has to be looked for, which the engine does
        found = np.stack([_run(asked, place, None, None)[1].beliefs for place in range(len(asked.places))])
    else:
        found = _best_start(pattern, engine)
    for name, scope in asked.families.items():
        own = [found[:, pattern.parts[scope[axis].name]] for axis in asked.split(scope)[1]]
        asked.add(name, _outer(own, len(asked.places)))
    return _Found(found, pattern.energies(found), all(len(tie.names) <= 1 for tie in pattern.ties))


def _best_start(pattern: _Pattern, engine: MeanField) -> Floats:
    """The best run of each case."""
    best, energies = np.zeros((len(pattern.constants), pattern.size)), np.full(len(pattern.constants), -np.inf)
    for restart in range(engine.restarts + 1):
        found = pattern.settled(pattern.start(engine, restart), engine.tolerance, engine.max_steps)
        reached = pattern.energies(found)
        is_better = reached > energies
        best[is_better], energies[is_better] = found[is_better], reached[is_better]
    return best


def _outer(beliefs: Sequence[Floats], num_cases: int) -> Floats:
    """The product of the beliefs of each case: shape (cases, states of each)."""
    table = np.ones(num_cases)
    for belief in beliefs:
        table = table[..., None] * belief.reshape(num_cases, *[1] * (table.ndim - 1), -1)
    return table


# --- blocks of several variables ---


def _one_by_one(asked: _Asked, before: Floats | None, sweeps: int | None) -> _Found:
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
    return _Found(np.stack(kept), energies, is_exact)


def _run(asked: _Asked, place: int, before: Floats | None, sweeps: int | None) -> tuple[Problem, MeanFieldState]:
    """One case, by the engine."""
    problem, engine = Problem.of(asked.factors, asked.cases.evidence(int(asked.places[place]))), asked.engine
    try:
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        if before is None:
            return problem, engine.run(problem).state
        state = replace(engine.init(problem), beliefs=before)
        for _ in range(sweeps or engine.max_steps):
            state = engine.step(problem, state)
            if state.converged:
                break
    except ImpossibleEvidence:
        raise _ImpossibleCase(place) from None
    return problem, state
