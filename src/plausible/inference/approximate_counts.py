"""Expected counts of families over rows of evidence, by any engine."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base import Codes, Flags, Floats, Ints, QueryInfo
from plausible.errors import ImpossibleEvidence, counted
from plausible.factors import Factor
from plausible.inference.engines import Engine
from plausible.inference.problem import Problem
from plausible.variables import Evidence, Variable


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
