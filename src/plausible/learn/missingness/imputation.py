"""Filling missing cells: the front door."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial
from types import MappingProxyType
from typing import Any, Literal, TypeAlias, get_args

import numpy as np

from plausible.base.seeds import Seed, generator_of
from plausible.data.columns import with_values
from plausible.data.sources import columns_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, counted, suggestion
from plausible.learn.missingness.cells import Mask, fill_cells, missing_cells
from plausible.learn.missingness.fillers import (
    by_best_completion,
    by_default,
    by_draw,
    by_hot_deck,
    by_mean,
    by_median,
    by_most_probable,
    by_uniform,
    from_column,
    network_table,
)
from plausible.models import BayesianNetwork
from plausible.variables import Variable

ImputationMethod: TypeAlias = Literal[
    "default",
    "most-frequent",
    "mean",
    "median",
    "random",
    "uniform",
    "hot-deck",
    "most-probable",
    "most-probable-completion",
    "draw",
]


@dataclass(frozen=True, slots=True, eq=False)
class Imputed:
    """Data with cells filled, and which these are."""

    data: Any  # The same kind of table as was given: its index, its order of columns, its types, its observed cells
    filled: Mapping[str, Mask]  # Name -> the cells that were missing and are now filled; complete columns are left out
    method: str  # How they were filled
    #: Name -> how many of its cells are still missing: the method has nothing to say of them, as a network of variables
    #: that it does not know, or a column of itself that has no value at all.
    left: Mapping[str, int]

    @property
    def num_filled(self) -> int:
        """How many cells were filled."""
        return sum(int(mask.sum()) for mask in self.filled.values())

    def __repr__(self) -> str:
        left = f", {sum(self.left.values())} cells of {', '.join(self.left)} left" if self.left else ""
        return f"<Imputed: {self.num_filled} cells of {counted(len(self.filled), 'variable')}, {self.method}{left}>"


def impute(
    data: TableLike,
    method: ImputationMethod | None = None,
    *,
    network: BayesianNetwork | None = None,
    values: Any = None,
    seed: Seed = None,
    variables: Mapping[str, Variable] | None = None,
) -> Imputed:
    """Fill missing cells once.

    A table filled once looks surer than it is: what is learned from it leans towards the filling rule, and its
    intervals are too short. `multiple_imputation` tells how much; `pb.learn.em` needs no filling.

    Parameters
    ----------
    data
        A frame, columns, or a `Table`; the same kind comes back.
    method
        "default" (with `values=`); by the column alone, "most-frequent" (the mean, for numbers), "mean" or "median" of
        numbers (for states the most frequent), "random" (a value of the column), "uniform" (any state); by other rows,
        "hot-deck"; by a network, each cell's "most-probable" state (the mean, for numbers), each row's
        "most-probable-completion", or a "draw" from the joint distribution of all missing cells of the row. Where left
        out, "most-probable" with a network, else "most-frequent". Rows count by their weights.
    network
        A network of the columns; those that it does not know stay as they are, see `Imputed.left`.
    values
        The default: one value for all, or name -> value.
    variables
        As for `Table.read`, where there is no network.

    Notes
    -----
    "most-probable" and "draw" take a batched pass over the clique tree for each variable with missing cells,
    "most-probable-completion" a pass for each different row, "hot-deck" time by incomplete x complete rows.

    Examples
    --------
    >>> impute({"x": ["a", "b", None, "b"], "y": [1.5, None, 3.0, 4.5]}).data
    {'x': ['a', 'b', 'b', 'b'], 'y': [1.5, 3.0, 3.0, 4.5]}
    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("A", [0.6, 0.4]), TableCPD("B", [[0.7, 0.3], [0.2, 0.8]], parents=["A"]))
    >>> impute({"A": [None, 0], "B": [1, None]}, network=net).data
    {'A': [1, 0], 'B': [1, 0]}
    """
    chosen = method or ("most-frequent" if network is None else "most-probable")
    if chosen not in get_args(ImputationMethod):
        raise InvalidArgument(
            f"method={chosen!r} is no way to fill cells.{suggestion(chosen, get_args(ImputationMethod))}"
        )
    if chosen == "default" and values is None:
        raise InvalidArgument("method='default' needs values=: one for all, or name -> value.")
    generator = generator_of(seed)
    if chosen in ("most-probable", "most-probable-completion", "draw"):
        filled = _by_network(data, chosen, network, generator)
    else:
        fillers: dict[str, Callable[[Table], Table]] = {
            "default": partial(by_default, values=values),
            "most-frequent": by_mean,
            "mean": by_mean,
            "median": by_median,
            "random": partial(from_column, generator=generator),
            "uniform": partial(by_uniform, generator=generator),
            "hot-deck": partial(by_hot_deck, generator=generator),
        }
        filled = fillers[chosen](_column_table(data, variables or {}))
    completed = fill_cells(data, filled)
    left = {name: int(mask.sum()) for name, mask in missing_cells(completed).items() if mask.any()}
    return Imputed(completed, newly_filled(data, completed), chosen, MappingProxyType(left))


def _by_network(data: TableLike, method: str, network: BayesianNetwork | None, generator: np.random.Generator) -> Table:
    if network is None:
        raise InvalidArgument("This method fills cells by what a network says of them: give network=.")
    table = network_table(data, network)
    if method == "draw":
        return by_draw(table, network, generator)
    return (by_most_probable if method == "most-probable" else by_best_completion)(table, network)


def _column_table(data: TableLike, variables: Mapping[str, Variable]) -> Table:
    """The table, without the columns that have no value and of which no states are known."""
    if isinstance(data, Table):
        return Table.read(data, variables)
    return Table.read(with_values(columns_of(data, variables), variables), variables)


def newly_filled(before: TableLike, after: Any) -> Mapping[str, Mask]:
    """Name -> the cells that are missing before and not after."""
    still = missing_cells(after)
    filled = {name: mask & ~still[name] for name, mask in missing_cells(before).items()}
    return MappingProxyType({name: mask for name, mask in filled.items() if mask.any()})
