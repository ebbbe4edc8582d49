"""Filling missing cells: from their own column, from other rows, or from a network given what their row shows."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import Any, NamedTuple, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.data.sources import open_columns
from plausible.data.table import Table, TableLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, suggestion
from plausible.inference.contradiction import impossible_evidence
from plausible.inference.gaussian_rows import same_rows
from plausible.learn.missingness.cells import Mask, state_columns
from plausible.models import BayesianNetwork
from plausible.models.exact_engine import ExactEngine, impossible_row
from plausible.models.hybrid_engine import HybridEngine
from plausible.variables import Variable

__all__ = [
    "by_best_completion",
    "by_default",
    "by_draw",
    "by_hot_deck",
    "by_mean",
    "by_median",
    "by_most_probable",
    "by_uniform",
    "from_column",
    "network_table",
]

#: From the observed values of a column, their weights, and the number of missing ones: values for these.
Filler = Callable[[NDArray[Any], Floats, int], Any]

#: Rows are compared with donors in blocks of at most so many pairs.
_MAX_PAIRS = 2**22


def by_default(table: Table, values: Any) -> Table:
    """One value for all cells, or name -> value; cells of variables that have none stay missing."""
    codes, numbers = table.codes.copy(), table.numbers.copy()
    for name, variable in table.variables.items():
        if isinstance(values, Mapping) and name not in values:
            continue
        value = values[name] if isinstance(values, Mapping) else values
        if variable.is_continuous:
            row = numbers[table.continuous.index(name)]
            row[np.isnan(row)] = _number(name, value)
        else:
            codes[table.discrete.index(name), table.codes[table.discrete.index(name)] < 0] = variable.index(value)
    return replace(table, codes=codes, numbers=numbers)


def by_mean(table: Table) -> Table:
    """The mean of numbers; the most frequent state, the first of several."""
    return _filled(table, _mode, lambda known, weights, num: np.full(num, np.average(known, weights=weights)))


def by_median(table: Table) -> Table:
    """The median of numbers; the most frequent state."""
    return _filled(table, _mode, lambda known, weights, num: np.full(num, _median(known, weights)))


def from_column(table: Table, generator: np.random.Generator) -> Table:
    """A value that some row has, drawn at random by the rows' weights."""

    def draw(known: NDArray[Any], weights: Floats, num: int) -> NDArray[Any]:
        return generator.choice(known, size=num, p=weights / weights.sum())

    return _filled(table, lambda _: draw, draw)


def by_uniform(table: Table, generator: np.random.Generator) -> Table:
    """Any state with the same probability; for numbers, any from the smallest to the largest."""

    def of_states(num_states: int) -> Filler:
        return lambda known, weights, num: generator.integers(num_states, size=num)

    def of_numbers(known: NDArray[Any], _: Floats, num: int) -> Floats:
        return generator.uniform(known.min(), known.max(), size=num)

    return _filled(table, of_states, of_numbers, needs_states=False)


def by_hot_deck(table: Table, generator: np.random.Generator) -> Table:
    """The cells of a donor: of the complete rows that agree best with what the row has, one at random.

    Rows differ by one for each state that differs, and by the distance of numbers in standard deviations. Columns
    without any value stay as they are.
    """
    missing = np.concatenate([table.codes < 0, np.isnan(table.numbers)])
    missing = missing[~missing.all(axis=1)]
    incomplete, donors = np.flatnonzero(missing.any(axis=0)), np.flatnonzero(~missing.any(axis=0))
    if not len(incomplete):
        return table
    if not len(donors):
        raise InvalidArgument("A hot deck needs rows without a missing cell, of which there are none.")
    scale = np.std(table.numbers[:, donors], axis=1)
    numbers = table.numbers / np.where(scale > 0, scale, 1.0)[:, None]
    chosen = np.empty(len(incomplete), dtype=np.intp)
    step = max(1, _MAX_PAIRS // len(donors))
    for start in range(0, len(incomplete), step):
        rows = incomplete[start : start + step]
        distance = _distances(table.codes, numbers, rows, donors)
        ties = distance <= distance.min(axis=1, keepdims=True) + 1e-12
        chosen[start : start + step] = donors[np.argmax(ties * generator.random(ties.shape), axis=1)]
    codes, filled = table.codes.copy(), table.numbers.copy()
    codes[:, incomplete] = np.where(codes[:, incomplete] < 0, codes[:, chosen], codes[:, incomplete])
    filled[:, incomplete] = np.where(np.isnan(filled[:, incomplete]), filled[:, chosen], filled[:, incomplete])
    return replace(table, codes=codes, numbers=filled)


def _distances(codes: NDArray[Any], numbers: Floats, rows: Positions, donors: Positions) -> Floats:
    distance = np.zeros((len(rows), len(donors)))
    for column in codes:
        distance += (column[rows, None] != column[None, donors]) & (column[rows, None] >= 0)
    for column in numbers:
        distance += np.nan_to_num(np.abs(column[rows, None] - column[None, donors]))
    return distance


def _mode(num_states: int) -> Filler:
    return lambda known, weights, num: np.full(num, np.bincount(known, weights, minlength=num_states).argmax())


def _median(known: Floats, weights: Floats) -> float:
    """The middle of the values, each repeated as often as it weighs; between two the mean of them."""
    order = np.argsort(known)
    below = np.cumsum(weights[order])
    half = below[-1] / 2
    low, high = np.searchsorted(below, half, "left"), np.searchsorted(below, half, "right")
    return float(known[order][[low, min(high, len(known) - 1)]].mean())


def _filled(
    table: Table, of_states: Callable[[int], Filler], of_numbers: Filler, *, needs_states: bool = True
) -> Table:
    """The table with each column filled; columns in the order of names, so that draws don't depend on their order."""
    codes, numbers = table.codes.copy(), table.numbers.copy()
    weights = table.row_weights
    for name in sorted(table.variables):
        variable = table.variables[name]
        if variable.is_continuous:
            row = numbers[table.continuous.index(name)]
            _fill(row, _Column(np.isnan(row), weights, of_numbers))
        else:
            row = codes[table.discrete.index(name)]
            _fill(row, _Column(row < 0, weights, of_states(variable.num_states), needs_states))
    return replace(table, codes=codes, numbers=numbers)


class _Column(NamedTuple):
    """What is missing of a column, the rows' weights, and how it is filled."""

    missing: Mask
    weights: Floats
    fill: Filler
    needs_known: bool = True


def _fill(row: NDArray[Any], column: _Column) -> None:
    """Fill a column in place; where nothing is observed, it may say nothing of its cells, which stay missing."""
    missing, weights = column.missing, column.weights
    if not missing.any() or (column.needs_known and not weights[~missing].sum() > 0):
        return
    row[missing] = column.fill(row[~missing], weights[~missing], int(missing.sum()))


def _number(name: str, value: Any) -> float:
    try:
        return float(value)
    except (TypeError, ValueError):
        raise InvalidArgument(f"The default of {name!r} must be a number, not {value!r}.") from None


Engine: TypeAlias = ExactEngine | HybridEngine


def network_table(data: TableLike, network: BayesianNetwork) -> Table:
    """The rows as the network reads them: a variable without a column is missing in all; other columns are left out."""
    table = _shared_columns(data, network)
    codes = dict(zip(table.discrete, table.codes, strict=True))
    numbers = dict(zip(table.continuous, table.numbers, strict=True))
    nothing = np.full(table.num_rows, -1, dtype=np.int32)
    variables = network.variables
    return replace(
        table,
        variables=variables,
        codes=_stacked([codes.get(n, nothing) for n, v in variables.items() if not v.is_continuous], table.num_rows),
        numbers=_stacked(
            [numbers.get(n, nothing * np.nan) for n, v in variables.items() if v.is_continuous], table.num_rows
        ),
    )


def _shared_columns(data: TableLike, network: BayesianNetwork) -> Table:
    """The columns that are variables of the network."""
    if isinstance(data, Table):
        known = _shared(data.variables, network)
        table = data.select(known)
        if dict(table.variables) != known:
            raise InvalidArgument("The states of the table are not those of the network: read it with its variables=.")
        return table
    opened = open_columns(data, network.variables)
    known = _shared(opened.names, network)
    return Table.read(opened.read(known), known)


def _shared(names: Collection[Any], network: BayesianNetwork) -> dict[str, Variable]:
    known = {name: variable for name, variable in network.variables.items() if name in names}
    if not known:
        raise InvalidArgument(
            f"No column is a variable of the network.{suggestion(next(iter(names), ''), network.variables)}"
        )
    return known


def _stacked(columns: list[NDArray[Any]], num_rows: int) -> NDArray[Any]:
    return np.array(columns).reshape(len(columns), num_rows)


def by_most_probable(table: Table, network: BayesianNetwork) -> Table:
    """Each cell's most probable state, or mean, given the observed cells of its row; cells are filled one by one."""
    engine = network.compile()
    codes, numbers = table.codes.copy(), table.numbers.copy()
    for name, rows in _missing(table, network):
        known = table.take(rows)
        if table.variables[name].is_continuous:
            numbers[table.continuous.index(name), rows] = _moments(engine, known, name)[0]
        else:
            codes[table.discrete.index(name), rows] = _posteriors(engine, known, name, rows).argmax(axis=1)
    return replace(table, codes=codes, numbers=numbers)


def by_draw(table: Table, network: BayesianNetwork, generator: np.random.Generator) -> Table:
    """A draw from the joint distribution of all missing cells of a row, given its observed ones.

    By the chain rule: P(h_1 | o) P(h_2 | o, h_1) ..., a variable at a time, all of its rows together. States come
    before numbers, which are Gaussian once all states are known; so the draws are exact.
    """
    engine, filled = network.compile(), table
    for name, rows in _missing(table, network):
        known, uniform = filled.take(rows), generator.random(len(rows))
        codes, numbers = filled.codes.copy(), filled.numbers.copy()
        if table.variables[name].is_continuous:
            mean, variance = _moments(engine, known, name)
            noise = generator.standard_normal(len(rows))
            numbers[table.continuous.index(name), rows] = mean + np.sqrt(np.maximum(variance, 0.0)) * noise
        else:
            summed = np.cumsum(_posteriors(engine, known, name, rows), axis=1)
            drawn = (uniform[:, None] * summed[:, -1:] >= summed).sum(axis=1)
            codes[table.discrete.index(name), rows] = drawn
        filled = replace(filled, codes=codes, numbers=numbers)
    return filled


def by_best_completion(table: Table, network: BayesianNetwork) -> Table:
    """For each row its most probable completion, all missing cells together; equal rows are answered once."""
    engine, names = network.compile(), list(table.variables)
    missing = np.concatenate([table.codes < 0, np.isnan(table.numbers)]).any(axis=0)
    rows = np.flatnonzero(missing)
    keys = np.concatenate([table.codes[:, rows].T, table.numbers[:, rows].T], axis=1)
    first, places = same_rows(keys.astype(np.float64))
    codes, numbers = table.codes.copy(), table.numbers.copy()
    columns = state_columns(table.take(rows[first]))
    for group in range(len(first)):
        alike = rows[places == group]
        findings = _findings(columns, group)
        try:
            best: Mapping[str, Any] = engine.mpe(findings)
        except ImpossibleEvidence as error:
            raise impossible_row(int(alike[0]), error) from None
        for name in (name for name in names if name not in findings):
            variable = table.variables[name]
            if variable.is_continuous:
                numbers[table.continuous.index(name), alike] = best[name]
            else:
                codes[table.discrete.index(name), alike] = variable.index(best[name])
    return replace(table, codes=codes, numbers=numbers)


def _missing(table: Table, network: BayesianNetwork) -> Iterator[tuple[str, Positions]]:
    """Each variable with the rows that lack it, states before numbers, in the order of the network."""
    ordered = sorted(network.variables.values(), key=lambda variable: variable.is_continuous)
    for variable in ordered:
        if variable.is_continuous:
            rows = np.flatnonzero(np.isnan(table.numbers[table.continuous.index(variable.name)]))
        else:
            rows = np.flatnonzero(table.codes[table.discrete.index(variable.name)] < 0)
        if len(rows):
            yield variable.name, rows


def _posteriors(engine: Engine, known: Table, name: str, rows: Positions) -> Floats:
    """P(name | row) of each row; a row that can't happen is an error with its number in the whole table."""
    if isinstance(engine, HybridEngine):
        found: Floats = engine.predict_proba(state_columns(known), name).to_numpy()
        return found
    places = [known.discrete.index(each) for each in engine.variables]
    codes = np.ascontiguousarray(known.codes[places].T, dtype=np.int32)
    answers = engine.sums.answer_rows(codes, name)
    impossible = np.isneginf(answers.log_totals)
    if impossible.any():
        row = int(np.argmax(impossible))
        findings = _findings(state_columns(known.take(np.array([row]))), 0)
        contradiction = impossible_evidence(findings, lambda some: engine.log_probability(some) > -np.inf)
        raise impossible_row(int(rows[row]), contradiction)
    assert answers.marginals is not None
    return answers.marginals


def _moments(engine: Engine, known: Table, name: str) -> tuple[Floats, Floats]:
    assert isinstance(engine, HybridEngine)
    moments = engine.predict_moments(state_columns(known), name)
    return moments["mean"].to_numpy(), moments["variance"].to_numpy()


def _findings(columns: Mapping[str, NDArray[Any]], row: int) -> dict[str, Any]:
    """What is observed in one row."""
    cells = {name: column[row] for name, column in columns.items()}
    return {name: cell for name, cell in cells.items() if cell is not None and cell == cell}
