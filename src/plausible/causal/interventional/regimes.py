"""The experiments of a table: which variables were set together, and the rows of each."""

from __future__ import annotations

from dataclasses import dataclass, field, replace
from types import MappingProxyType

import numpy as np

from plausible.data.table import Table, TableLike

__all__ = ["Regime", "regimes"]


@dataclass(frozen=True, slots=True, eq=False)
class Regime:
    """An experiment; made by `regimes`.

    Attributes
    ----------
    targets
        The variables that were set from outside, in the order of the table; none in observation.
    table
        Its rows, without marks of what was set: their independencies are those of `graph.without_incoming(targets)`,
        and can be tested as any others, where there are enough rows.
    """

    targets: tuple[str, ...]
    table: Table = field(repr=False)


def regimes(data: TableLike) -> tuple[Regime, ...]:
    """The experiments of which a table consists, observation first, then by fewer and earlier targets.

    Parameters
    ----------
    data
        What `Table.read` takes.

    Examples
    --------
    >>> table = Table.read({"A": [0, 1, 1], "B": [0, 0, 1], "set": [None, "A", "A,B"]}, interventions="set")
    >>> for regime in regimes(table):
    ...     print(regime.targets, regime.table.num_rows)
    () 1
    ('A',) 1
    ('A', 'B') 1
    """
    table = Table.read(data)
    names = [name for name in table.variables if name in table.interventions]
    if not names:
        return (Regime((), table),)
    marks = np.array([table.interventions[name] for name in names])
    patterns, places = np.unique(marks, axis=1, return_inverse=True)
    plain = replace(table, interventions=MappingProxyType({}))
    found = [
        Regime(
            tuple(name for name, is_set in zip(names, pattern.tolist(), strict=True) if is_set),
            plain.take(np.flatnonzero(places.ravel() == place)),
        )
        for place, pattern in enumerate(patterns.T)
    ]
    return tuple(sorted(found, key=lambda regime: (len(regime.targets), [names.index(n) for n in regime.targets])))
