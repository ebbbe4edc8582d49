"""A table with missing cells of both kinds as one of complete rows: each gap drawn several times from a network."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace

import numpy as np

from plausible.base.arrays import Flags, Positions
from plausible.cpds import LinearGaussianCPD, TableCPD
from plausible.data.table import Table
from plausible.learn.missingness.network_fillers import by_draw
from plausible.models import BayesianNetwork

__all__ = ["drawn_completions", "incomplete_rows"]


def incomplete_rows(table: Table) -> Flags:
    """For each row whether a cell of it is missing.

    >>> incomplete_rows(Table.read({"rain": ["no", None, "yes"], "degrees": [1.5, 2.5, None]})).tolist()
    [False, True, True]
    """
    return np.asarray((table.codes < 0).any(axis=0) | np.isnan(table.numbers).any(axis=0))


def drawn_completions(table: Table, network: BayesianNetwork, num_draws: int, generator: np.random.Generator) -> Table:
    """The complete rows, and for each other row `num_draws` exact draws of all its missing cells together.

    The draws of a row share its weight, so that the table weighs as much as before. What was set from outside in a row
    says nothing about its causes, which are drawn without it. Cost: that of `num_draws` times as many rows for each
    variable that is missing somewhere.

    Parameters
    ----------
    table
        Rows over the variables of the network.
    network
        Tables and conditional linear Gaussians.
    num_draws
        One or more.
    generator
        Of the draws.

    Examples
    --------
    >>> from plausible.learn.incomplete.em import learn_em
    >>> rows = Table.read({"rain": ["no", "yes", None, "no"], "degrees": [9.5, 3.5, 4.5, None]})
    >>> network = learn_em("rain -> degrees", rows).network
    >>> drawn = drawn_completions(rows, network, 5, np.random.default_rng(0))
    >>> drawn.num_rows, round(drawn.total, 6), drawn.missing
    (12, 4.0, {})
    """
    has_gap = incomplete_rows(table)
    rows = np.concatenate([np.flatnonzero(~has_gap), np.repeat(np.flatnonzero(has_gap), num_draws)])
    weights = table.row_weights
    repeated = table.take(rows).weighted(np.where(has_gap, weights / num_draws, weights)[rows])
    codes, numbers = repeated.codes.copy(), repeated.numbers.copy()
    for names, places in _by_setting(repeated):
        filled = by_draw(repeated.take(places), _with_set(network, table, names), generator)
        codes[:, places], numbers[:, places] = filled.codes, filled.numbers
    return replace(repeated, codes=codes, numbers=numbers)


def _by_setting(table: Table) -> Iterator[tuple[list[str], Positions]]:
    """The sets of variables that were set from outside, each with its rows."""
    masks = np.array([*table.interventions.values()], dtype=np.bool_).reshape(-1, table.num_rows)
    sets, setting_of_row = np.unique(masks.T, axis=0, return_inverse=True)
    for place, row in enumerate(sets.tolist()):
        names = [name for name, is_set in zip(table.interventions, row, strict=True) if is_set]
        yield names, np.flatnonzero(setting_of_row.ravel() == place)


def _with_set(network: BayesianNetwork, table: Table, names: list[str]) -> BayesianNetwork:
    """The network in which what was set depends on nothing."""
    for name in names:
        variable = network.variables[name]
        if variable.is_continuous:
            column = table.column(name)
            spread = float(np.nanvar(column))
            cpd = LinearGaussianCPD(variable, float(np.nanmean(column)), variance=spread if spread > 0 else 1.0)
            network = network.with_cpd(cpd)
        else:
            network = network.with_cpd(TableCPD.uniform(variable))
    return network
