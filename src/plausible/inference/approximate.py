"""The base of approximate engines: from beliefs about groups of variables to the answers that all engines give."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.errors import ImpossibleEvidence, counted
from plausible.factors import Factor
from plausible.inference.engine_bases import IterativeEngine
from plausible.inference.engines import Engine, check_known
from plausible.inference.info import Estimate, QueryInfo
from plausible.inference.problem import Problem
from plausible.variables import Evidence, Variable

StateT = TypeVar("StateT")


@dataclass(frozen=True, slots=True, eq=False)
class Beliefs:
    """What an engine believes of groups of variables."""

    tables: tuple[Floats, ...]  # for each group an array with an axis for each of its variables; it sums to one
    info: QueryInfo  # how they were got; its `error` is that of the worst number


class FactorEngine(ABC):
    """An approximate engine that answers from factors; subclasses are frozen and hold their options only."""

    __slots__ = ()

    #: Whether answers are made of draws: wanted beliefs are then met on tables of them.
    is_noisy = False

    @abstractmethod
    def _joints(
        self, factors: Sequence[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> list[Factor]:
        """`joints` for variables that are known."""

    @abstractmethod
    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> Estimate:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""

    def query(self, factors: Iterable[Factor], targets: Sequence[Variable], evidence: Evidence) -> Factor:
        """P(targets | evidence), with a `QueryInfo` that says what it is worth."""
        return self.joints(factors, [targets], evidence)[0]

    def marginals(
        self, factors: Iterable[Factor], variables: Iterable[Variable], evidence: Evidence
    ) -> dict[str, Factor]:
        """P(X | evidence) of each of the variables, from one run."""
        alone = [(variable,) for variable in variables]
        return {joint.names[0]: joint for joint in self.joints(factors, alone, evidence)}

    def joints(
        self, factors: Iterable[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> list[Factor]:
        """P(group | evidence) of each group of variables, from one run."""
        listed = list(factors)
        check_known(listed, [variable for group in groups for variable in group], evidence)
        return self._joints(listed, groups, evidence)


class ApproximateEngine(FactorEngine):
    """An engine that answers from one run on a `Problem`."""

    __slots__ = ()

    @abstractmethod
    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The joint of each group of variables, given by their places in the problem.

        Raises `ImpossibleEvidence` where the product is found to be zero, and `NotSupported` for a group that the
        method has no joint belief of.
        """

    @abstractmethod
    def estimate(self, problem: Problem) -> Estimate:
        """log Σ Π φ, `problem.log_scale` included; -inf where the product is found to be zero."""

    def _joints(
        self, factors: Sequence[Factor], groups: Sequence[Sequence[Variable]], evidence: Evidence
    ) -> list[Factor]:
        problem = Problem.of(factors, evidence)
        if problem.is_impossible:
            raise ImpossibleEvidence.outright()
        free = [[variable for variable in group if variable.name not in evidence.hard] for group in groups]
        places = problem.place_of
        asked = [tuple(places[variable.name] for variable in group) for group in free if group]
        beliefs = self.beliefs(problem, asked)
        tables = iter(beliefs.tables)
        return [
            with_observed(group, evidence, Factor(some, next(tables) if some else 1.0)).with_info(beliefs.info)
            for group, some in zip(groups, free, strict=True)
        ]

    def log_total(self, factors: Iterable[Factor], evidence: Evidence) -> Estimate:
        """log Σ Π φ over all assignments that agree with the evidence; -inf for zero."""
        problem = Problem.of(factors, evidence)
        if problem.is_impossible:
            return Estimate.within(-math.inf, QueryInfo("a factor that is zero"))
        return self.estimate(problem)


class ResumableEngine(IterativeEngine[StateT], ApproximateEngine):
    """An engine that goes step by step, and whose state, at any time of a run, has an answer.

    >>> from plausible.inference.propagation.belief_propagation import LoopyBP
    >>> ring = [Factor({a: 2, b: 2}, [[3, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")]
    >>> problem, engine = Problem.of(ring, Evidence.read({}, {})), LoopyBP()
    >>> begun = engine.step(problem, engine.init(problem))
    >>> run = engine.run(problem, begun)
    >>> [engine.marginals_of(problem, state)["A"].info.converged for state in (begun, run.state)], run.converged
    ([False, True], True)
    """

    __slots__ = ()

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The belief about each group of variables at the end of a run."""
        return self.beliefs_from(problem, self.run(problem).state, groups)

    @abstractmethod
    def beliefs_from(self, problem: Problem, state: StateT, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """`beliefs`, as a state of a run on the problem has them."""

    def marginals_of(self, problem: Problem, state: StateT) -> dict[str, Factor]:
        """P(X | evidence) of each variable of the problem, as a state has it; `.info` says what that is worth."""
        found = self.beliefs_from(problem, state, [(place,) for place in range(len(problem.variables))])
        return {
            variable.name: Factor((variable,), table).with_info(found.info)
            for variable, table in zip(problem.variables, found.tables, strict=True)
        }


def with_observed(group: Sequence[Variable], evidence: Evidence, belief: Factor) -> Factor:
    """The belief with observed variables put in, all their probability in one state, in the order of the group."""
    for variable in group:
        if variable.name in evidence.hard:
            belief = belief * Factor.indicator(variable, variable.states[evidence.hard[variable.name]])
    return belief.reorder([variable.name for variable in group])


class ExpectedCounts(Mapping[str, Floats]):
    """Family -> Σ over rows of P(family | row), an array with an axis for each variable; and how it was got."""

    __slots__ = ("_tables", "info")

    #: That of the worst row, as if it counted once: one that did not converge if there is one, else one that is not
    #: exact, and of these the one with the largest error, or with none that is known.
    info: QueryInfo

    def __init__(self, tables: Mapping[str, Floats], info: QueryInfo) -> None:
        self._tables, self.info = dict(tables), info

    def __getitem__(self, name: str) -> Floats:
        return self._tables[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self._tables)

    def __len__(self) -> int:
        return len(self._tables)

    def __repr__(self) -> str:
        return f"<ExpectedCounts: {counted(len(self), 'family')}, by {self.info.engine}>"


class ImpossibleRow(ImpossibleEvidence):
    """A row of data that an engine found to be impossible.

    Attributes
    ----------
    row
        Its number.
    """

    def __init__(self, row: int, why: str) -> None:
        super().__init__(why)
        self.row = row

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.row, str(self))


@dataclass(frozen=True, slots=True, eq=False)
class _Rows:
    """Rows that differ, -1 where nothing is observed; how much each counts, and where it stood first."""

    variables: Sequence[Variable]
    states: Codes
    weights: Floats
    first: Ints


def expected_counts(
    factors: Iterable[Factor],
    families: Mapping[str, Sequence[Variable]],
    variables: Sequence[Variable],
    rows: Codes,
    weights: Floats,
    engine: Engine,
) -> ExpectedCounts:
    """Σ_r w_r P(family | row r) for each family, an array with an axis for each of its variables.

    Rows that are alike are asked about once. What a row says outright is counted; the engine is asked, once for each
    row that differs, for the joints of those families that have gaps.

    The product of the factors is the distribution, up to a constant. Families are by name; an engine that has joints of
    factors only, such as `LoopyBP`, wants each within a factor. Rows, of shape (rows, variables), are positions of
    states, -1 where missing; the variables of the columns are all those of the factors, in any order. Rows that count
    zero times by the weights are not looked at.

    Raises
    ------
    ImpossibleRow
        Where a row can't happen.

    >>> from plausible.inference.engines import VariableElimination
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> rows = np.array([[-1, 0], [-1, 1], [-1, 1]], dtype=np.int32)
    >>> expected_counts(factors, {"A": [a]}, [a, b], rows, np.ones(3), VariableElimination())["A"].round(2)
    array([1.56, 1.44])
    """
    listed = list(factors)
    distinct = _distinct(variables, rows, weights)
    places = {variable.name: place for place, variable in enumerate(variables)}
    columns = {name: [places[variable.name] for variable in family] for name, family in families.items()}
    tables = {name: np.zeros([variable.num_states for variable in family]) for name, family in families.items()}
    _refuse_impossible(listed, distinct)
    has_gaps = {name: np.any(distinct.states[:, columns[name]] < 0, axis=1) for name in families}
    for name, table in tables.items():
        seen = ~has_gaps[name]
        np.add.at(table, tuple(distinct.states[seen][:, columns[name]].T), distinct.weights[seen])
    info = QueryInfo("counting")
    none = np.zeros(len(distinct.states), dtype=np.bool_)
    has_any: Flags = np.any([none, *has_gaps.values()], axis=0)
    for row in np.flatnonzero(has_any).tolist():
        asked = [name for name in families if has_gaps[name][row]]
        groups = [families[name] for name in asked]
        cells = zip(variables, distinct.states[row].tolist(), strict=True)
        evidence = Evidence({variable.name: state for variable, state in cells if state >= 0}, {}, {})
        together = getattr(engine, "joints", None)
        try:  # from one run where the engine can do that, else one question after the other
            joints = (
                [engine.query(listed, group, evidence) for group in groups]
                if together is None
                else together(listed, groups, evidence)
            )
        except ImpossibleEvidence as error:
            raise ImpossibleRow(int(distinct.first[row]), str(error)) from None
        for name, joint in zip(asked, joints, strict=True):
            tables[name] += distinct.weights[row] * joint.values
            # the worse one
            info = max(joint.info, info, key=lambda i: (not i.converged, not i.exact, i.error is None, i.error))
    return ExpectedCounts(tables, info)


def _distinct(variables: Sequence[Variable], rows: Codes, weights: Floats) -> _Rows:
    counted = np.flatnonzero(weights).astype(np.int64)
    if not rows.shape[1] or not len(counted):
        return _Rows(variables, rows[counted[:0]], weights[counted[:0]], counted[:0])
    states, first, kind = np.unique(rows[counted], axis=0, return_index=True, return_inverse=True)
    totals: Floats = np.zeros(len(states))
    np.add.at(totals, kind.reshape(-1), weights[counted])
    return _Rows(variables, states, totals, counted[first])


def _refuse_impossible(factors: Sequence[Factor], rows: _Rows) -> None:
    """Complete rows need no engine, which would find those that can't happen."""
    complete = np.flatnonzero((rows.states >= 0).all(axis=1))
    problem = Problem.of(factors, Evidence({}, {}, {}))
    places = {variable.name: place for place, variable in enumerate(rows.variables)}
    order = [places[variable.name] for variable in problem.variables]
    logs = problem.log_product(rows.states[complete][:, order].astype(np.int64)) + problem.log_scale
    if np.isneginf(logs).any():
        row = complete[int(np.argmax(np.isneginf(logs)))]
        raise ImpossibleRow(int(rows.first[row]), "It has probability zero.")
