"""Observation indicators: as columns of data, and as variables of a network that also explains what is missing."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.cpds import CPD
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.missingness.cells import missing_cells, state_columns, with_columns
from plausible.models import BayesianNetwork

#: How the name of an indicator begins.
INDICATOR = "R_"


def indicators(data: TableLike, names: Iterable[str] | None = None) -> Any:
    """The data with a column R_x for each variable: 1 where x is observed, 0 where it is missing.

    Parameters
    ----------
    data
        A frame, columns, or a `Table`; the same kind comes back.
    names
        The variables; by default all with a missing cell.

    Examples
    --------
    >>> indicators({"x": ["a", None], "y": [1, 2]})
    {'x': ['a', None], 'y': [1, 2], 'R_x': [1, 0]}
    """
    missing = missing_cells(data)
    wanted = [name for name, mask in missing.items() if mask.any()] if names is None else list(names)
    for name in wanted:
        if name not in missing:
            raise UnknownVariable.named(name, missing, "the data")
        if INDICATOR + name in missing:
            raise InvalidArgument(f"The data has a column {INDICATOR + name!r} already: rename it, or leave it out.")
    return with_columns(data, {INDICATOR + name: (~missing[name]).astype(np.int64) for name in wanted}, (0, 1))


def observation_network(network: BayesianNetwork, observations: Iterable[CPD]) -> BayesianNetwork:
    """The network with variables that say what is observed: P(x, r) = P(x) Π P(r_i | parents of R_i).

    A mechanism is at random where R_x has only parents that are always observed; then it makes no difference for what
    is learned about the others (Koller & Friedman 2009, section 19.1.2 and exercise 19.2).

    Parameters
    ----------
    network
        Of the variables themselves.
    observations
        CPDs of variables R_x, with the states 0 (missing) and 1 (observed), for variables x of the network; parents
        are variables and other indicators.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))
    >>> dropped = TableCPD("R_coin", {"heads": [0.1, 0.9], "tails": [0.6, 0.4]}, parents=["coin"])
    >>> observation_network(coin, [dropped]).query("coin", evidence={"R_coin": 0}).values.round(3)
    array([0.143, 0.857])
    """
    added = list(observations)
    for cpd in added:
        name = cpd.variable.name
        about = name.removeprefix(INDICATOR)
        if not name.startswith(INDICATOR) or about not in network.variables:
            raise InvalidArgument(
                f"{name!r} is no indicator of a variable of this network: its name is {INDICATOR!r} and then a "
                f"variable's, such as {INDICATOR + next(iter(network.variables), 'x')!r}."
            )
        if cpd.variable.states != (0, 1):
            raise InvalidArgument(
                f"The indicator {name!r} has the states {list(cpd.variable.states)}; it needs 0 (missing) and 1."
            )
    return BayesianNetwork([*network.cpds.values(), *added])


def observation_log_likelihood(network: BayesianNetwork, data: TableLike) -> Floats:
    """log P(what is observed, and that it is observed) of each row: log Σ over missing cells of P(x, r).

    Parameters
    ----------
    network
        With indicators; see `observation_network`.
    data
        Rows of the variables themselves, with missing cells.

    Notes
    -----
    Costs one pass over the compiled network for each different row.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5], states=["heads", "tails"]))
    >>> dropped = TableCPD("R_coin", {"heads": [0.1, 0.9], "tails": [0.6, 0.4]}, parents=["coin"])
    >>> rows = {"coin": ["heads", None]}
    >>> np.exp(observation_log_likelihood(observation_network(coin, [dropped]), rows))
    array([0.45, 0.35])
    """
    about = [name.removeprefix(INDICATOR) for name in network.variables if name.startswith(INDICATOR)]
    known = {n: v for n, v in network.variables.items() if not (n.startswith(INDICATOR) and n[2:] in about)}
    table = Table.read(data, known)
    return network.compile().log_likelihood(state_columns(indicators(table, about)))
