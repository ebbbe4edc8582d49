"""How thinly data are spread over the rows of tables."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from types import MappingProxyType

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.data.table_statistics import DataLike
from plausible.errors import InvalidArgument, counted
from plausible.learn.estimation.families import read_families


@dataclass(frozen=True, slots=True, eq=False)
class FamilyFragmentation:
    """How many cases there are for each joint state of the parents of one variable."""

    cases: Floats  # the numbers; an axis for each parent
    num_parameters: int  # the free parameters of the table
    num_unseen: int  # joint states of the parents without a case
    num_thin: int  # those with fewer cases than asked for
    median: float  # the number of cases that half of the joint states do not reach

    @property
    def cases_per_parameter(self) -> float:
        """All cases over all free parameters; infinite where there is nothing to learn."""
        return float(self.cases.sum()) / self.num_parameters if self.num_parameters else float("inf")


@record(eq=False)
class Fragmentation:
    """The report on all families; `print` shows the thinnest first."""

    families: Mapping[str, FamilyFragmentation]
    fewest: float

    def __str__(self) -> str:
        thinnest = sorted(self.families.items(), key=lambda item: (item[1].cases_per_parameter, item[0]))
        lines = [
            f"{name}: {counted(family.cases.size, 'row')}, {family.num_unseen} "
            f"without cases, {family.num_thin} with fewer than "
            f"{self.fewest:g}, median {family.median:g}"
            for name, family in thinnest
        ]
        return "\n".join(lines)


def data_fragmentation(graph: object, data: DataLike, fewest: float = 5.0) -> Fragmentation:
    """How many cases there are to learn each row of each table from.

    Parameters
    ----------
    graph
        A DAG, arrow text, or a network.
    data
        Complete rows, or statistics of them; families with continuous variables are left out.
    fewest
        Rows with fewer cases count as thin.

    Examples
    --------
    >>> rows = {"rain": [0, 0, 0, 1], "wind": [0, 0, 1, 1], "wet": [0, 1, 0, 1]}
    >>> print(data_fragmentation("rain -> wet <- wind", rows, fewest=2))
    wet: 4 rows, 1 without cases, 3 with fewer than 2, median 1
    rain: 1 row, 0 without cases, 0 with fewer than 2, median 4
    wind: 1 row, 0 without cases, 0 with fewer than 2, median 4
    """
    if not fewest >= 0:
        raise InvalidArgument(f"fewest= is a number of cases, not {fewest!r}.")
    families = read_families(graph, data)
    tables = [
        name
        for name, variable in families.variables.items()
        if not any(member.is_continuous for member in (variable, *families.parents_of(name)))
    ]
    found = {}
    for name, counts in families.counts_of(tables).items():
        variable, cases = families.variables[name], np.asarray(counts.sum(axis=-1))
        thin, unseen = int((cases < fewest).sum()), int((cases <= 0).sum())
        parameters = cases.size * (variable.num_states - 1)
        found[name] = FamilyFragmentation(cases, parameters, unseen, thin, float(np.median(cases)))
    return Fragmentation(MappingProxyType(found), fewest)
