"""Values for missing cells: from their own column, from other rows, or from a network."""

from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import replace
from typing import TYPE_CHECKING, Any, TypeAlias

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Positions
from plausible.data.sources import open_columns
from plausible.data.table import Table, TableLike, state_columns
from plausible.errors import ImpossibleEvidence, InvalidArgument, suggestion
from plausible.inference.findings import impossible_evidence
from plausible.inference.gaussian.rows import same_rows
from plausible.models import BayesianNetwork
from plausible.models.compiled_engines import ExactEngine, HybridEngine
from plausible.models.compiled_model import impossible_row

if TYPE_CHECKING:
    pass
from plausible.learn.missingness.cells import table_cells, with_cells

#: From the observed values of a column, their weights, and the number of missing ones: values for these.
Filler: TypeAlias = Callable[[NDArray[Any], Floats, int], Any]
Engine: TypeAlias = ExactEngine | HybridEngine

#: Rows are compared with donors in blocks of at most so many pairs.
_MAX_PAIRS = 2**22


def by_default(table: Table, values: Any) -> Table:
    """One value for all cells, or name -> value; cells of variables that have none stay missing."""
    given = values if isinstance(values, Mapping) else dict.fromkeys(table.variables, values)
    found: dict[str, float] = {}
    for name, variable in table.variables.items():
        if name in given:
            try:
                found[name] = float(given[name]) if variable.is_continuous else variable.index(given[name])
            except (TypeError, ValueError) as error:
                if not variable.is_continuous:
                    raise
                raise InvalidArgument(f"The default of {name!r} must be a number, not {given[name]!r}.") from error
    return with_cells(table, table_cells(table), found)


def by_mean(table: Table) -> Table:
    """The mean of numbers; the most frequent state, the first of several."""
    return _filled(table, _mode, lambda known, weights, num: np.average(known, weights=weights))


def by_median(table: Table) -> Table:
    """The median of numbers, each repeated as often as it weighs, between two their mean; the most frequent state."""

    def median(known: NDArray[Any], weights: Floats, _: int) -> float:
        order = np.argsort(known)
        below = np.cumsum(weights[order])
        low, high = (np.searchsorted(below, below[-1] / 2, side) for side in ("left", "right"))
        return float(known[order][[low, min(high, len(known) - 1)]].mean())

    return _filled(table, _mode, median)


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

    Rows differ by one for each state that differs, and by the distance of numbers in standard deviations.
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
        distance = np.zeros((len(rows), len(donors)))
        for codes in table.codes:
            distance += (codes[rows, None] != codes[None, donors]) & (codes[rows, None] >= 0)
        for column in numbers:
            distance += np.nan_to_num(np.abs(column[rows, None] - column[None, donors]))
        ties = distance <= distance.min(axis=1, keepdims=True) + 1e-12
        chosen[start : start + step] = donors[np.argmax(ties * generator.random(ties.shape), axis=1)]
    donor = np.arange(table.num_rows)
    donor[incomplete] = chosen
    masks = table_cells(table)
    return with_cells(table, masks, {name: table.column(name)[donor][masks[name]] for name in masks})


def _mode(num_states: int) -> Filler:
    return lambda known, weights, num: np.bincount(known, weights, minlength=num_states).argmax()


def _filled(
    table: Table, of_states: Callable[[int], Filler], of_numbers: Filler, *, needs_states: bool = True
) -> Table:
    """Each column filled that has a value, in the order of names, so that draws don't depend on that of columns."""
    weights, masks, values = table.row_weights, table_cells(table), dict[str, Any]()
    for name in sorted(table.variables):
        variable, known = table.variables[name], ~masks[name]
        needs_known = needs_states or variable.is_continuous
        if not known.all() and not (needs_known and not weights[known].sum() > 0):
            fill = of_numbers if variable.is_continuous else of_states(variable.num_states)
            values[name] = fill(table.column(name)[known], weights[known], int(masks[name].sum()))
    return with_cells(table, masks, values)


def network_table(data: TableLike, network: BayesianNetwork) -> Table:
    """The rows as the network reads them: a variable without a column is missing in all; other columns are left out."""
    opened = data if isinstance(data, Table) else open_columns(data, network.variables)
    names: Collection[Any] = opened.variables if isinstance(opened, Table) else opened.names
    known = {name: variable for name, variable in network.variables.items() if name in names}
    if not known:
        hint = suggestion(next(iter(names), ""), network.variables)
        raise InvalidArgument(f"No column is a variable of the network.{hint}")
    table = Table.read(opened if isinstance(opened, Table) else opened.read(known), known, columns=known)
    columns = {}
    for name, variable in network.variables.items():
        absent = np.full(table.num_rows, np.nan if variable.is_continuous else -1)
        columns[name] = variable, table.column(name) if name in known else absent
    wide = replace(table, variables=network.variables).with_columns(columns)
    return replace(wide, variables=network.variables)


def by_most_probable(table: Table, network: BayesianNetwork) -> Table:
    """Each cell's most probable state, or mean, given the observed cells of its row; cells are filled one by one."""
    engine, found = network.compile(), dict[str, Any]()
    for name, rows in _missing(table, network):
        known = table.take(rows)
        if table.variables[name].is_continuous:
            found[name] = _moments(engine, known, name)[0]
        else:
            found[name] = _posteriors(engine, known, name, rows).argmax(axis=1)
    return with_cells(table, table_cells(table), found)


def by_draw(table: Table, network: BayesianNetwork, generator: np.random.Generator) -> Table:
    """A draw from the joint distribution of all missing cells of a row, given its observed ones.

    By the chain rule: P(h_1 | o) P(h_2 | o, h_1) ..., a variable at a time, all of its rows together. States come
    before numbers, which are Gaussian once all states are known; so the draws are exact.
    """
    engine, filled, masks = network.compile(), table, table_cells(table)
    for name, rows in _missing(table, network):
        known, uniform = filled.take(rows), generator.random(len(rows))
        if table.variables[name].is_continuous:
            mean, variance = _moments(engine, known, name)
            drawn = mean + np.sqrt(np.maximum(variance, 0.0)) * generator.standard_normal(len(rows))
        else:
            summed = np.cumsum(_posteriors(engine, known, name, rows), axis=1)
            drawn = (uniform[:, None] * summed[:, -1:] >= summed).sum(axis=1)
        filled = with_cells(filled, masks, {name: drawn})
    return filled


def by_best_completion(table: Table, network: BayesianNetwork) -> Table:
    """For each row its most probable completion, all missing cells together; equal rows are answered once."""
    engine, masks = network.compile(), table_cells(table)
    rows = np.flatnonzero(np.any(list(masks.values()), axis=0))
    keys = np.concatenate([table.codes[:, rows].T, table.numbers[:, rows].T], axis=1)
    first, places = same_rows(keys.astype(np.float64))
    found = {name: table.column(name).copy() for name in table.variables}
    columns = state_columns(table.take(rows[first]))
    for group in range(len(first)):
        alike = rows[places == group]
        findings = _findings(columns, group)
        try:
            best: Mapping[str, Any] = engine.mpe(findings)
        except ImpossibleEvidence as error:
            raise impossible_row(int(alike[0]), error) from None
        for name, variable in table.variables.items():
            if name not in findings:
                found[name][alike] = best[name] if variable.is_continuous else variable.index(best[name])
    return with_cells(table, masks, {name: column[masks[name]] for name, column in found.items()})


def _missing(table: Table, network: BayesianNetwork) -> Iterator[tuple[str, Positions]]:
    """Each variable with the rows that lack it, states before numbers, in the order of the network."""
    masks = table_cells(table)
    for variable in sorted(network.variables.values(), key=lambda variable: variable.is_continuous):
        if masks[variable.name].any():
            yield variable.name, np.flatnonzero(masks[variable.name])


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
