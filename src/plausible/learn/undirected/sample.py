"""A design and what is to tell its weights: rows, published means, or a field laid out, with what computes log Z."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.data.sources import open_columns
from plausible.data.statistics import Statistics
from plausible.data.table import Table, TableLike
from plausible.errors import NotSupported
from plausible.inference.budget import Budget
from plausible.inference.engine_bases import Optimizer
from plausible.inference.engine_mistakes import mistaken_engine
from plausible.inference.engines import Engine
from plausible.inference.optimization.graph_cuts import GraphCut
from plausible.inference.propagation.belief_propagation import SumProductEngine
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.engine_partition import EnginePartition, MessagePartition
from plausible.learn.undirected.partition import (
    Part,
    TreePartition,
    different_rows,
)
from plausible.variables import Evidence


def columns_in(data: TableLike) -> tuple[str, ...]:
    """The names of the columns of data, which are not looked into."""
    return tuple(data.variables if isinstance(data, Table) else open_columns(data).names)


@dataclass(frozen=True, eq=False)
class Sample:
    """A design and what is to tell its weights: rows by their statistics, published means, or one ground row."""

    design: Design
    statistics: Statistics | None = None
    engine: Engine | Optimizer | None = None
    budget: Budget | None = None
    total: float = 1.0  # the sum of the weights of all rows
    repeats: float = (
        1.0  # how many times log Z counts in the likelihood: as often as there are rows over these variables
    )
    _means: Floats | None = None  # Σ f of each weight, where it is published
    _rows: tuple[Codes, Floats] | None = None  # codes and weights, where they don't come from statistics

    @classmethod
    def of(
        cls,
        design: Design,
        statistics: Statistics,
        engine: Engine | Optimizer | None = None,
        budget: Budget | None = None,
    ) -> Sample:
        """Rows that are drawn from the model, one by one."""
        total = float(statistics.total)
        return cls(design, statistics, engine, budget, total, total)

    @property
    def is_complete(self) -> bool:
        """Whether no cell is missing."""
        if self.statistics is None:
            return self._rows is None or bool((self._rows[0] >= 0).all())
        missing, known = self.statistics.missing, self.statistics.variables
        return all(name in known and not missing.get(name, 0) for name in self.design.variables)

    @property
    def has_rows(self) -> bool:
        """Whether there are rows, and not only means of features."""
        return self._means is None

    @cached_property
    def counts(self) -> Floats:
        """How often each entry of each table occurs."""
        if self.statistics is not None:
            return self.design.counts(self.statistics)
        counts, (codes, weights) = np.zeros(self.design.num_entries), self.rows
        places = self.design.positions(codes)
        return counts + np.bincount(places.ravel(), np.repeat(weights, places.shape[1]), minlength=counts.size)

    @cached_property
    def feature_totals(self) -> Floats:
        """Σ_m f of each weight."""
        return self.design.expected(self.counts) if self._means is None else self._means

    @cached_property
    def rows(self) -> tuple[Codes, Floats]:
        """The different rows, -1 for missing cells, and how often each occurs."""
        if self._rows is not None:
            return self._rows
        if self.statistics is None:
            raise NotSupported('Means of features have no rows: they tell the "likelihood" only.')
        table = self.statistics.table
        hidden = np.full(table.num_rows, -1)
        columns = [table.column(name) if name in table.variables else hidden for name in self.design.variables]
        return different_rows(columns, table.row_weights)

    @cached_property
    def tree(self) -> TreePartition:
        """log Z by a clique tree."""
        return TreePartition(self.design, self.budget)

    @cached_property
    def partition(self) -> Part:
        """log Z, by the engine if there is one."""
        if isinstance(self.engine, Optimizer):
            raise mistaken_engine(self.engine, "sums")
        if isinstance(self.engine, SumProductEngine):
            return MessagePartition(self.design, self.engine)
        return self.tree if self.engine is None else EnginePartition(self.design, self.engine)

    @property
    def has_exact_best(self) -> bool:
        """Whether `best` is."""
        return not isinstance(self.engine, Optimizer) or isinstance(self.engine, GraphCut)

    def best(self, logs: Floats) -> Ints:
        """The states with the largest product: by the engine if it is one for that, else by the clique tree."""
        if not isinstance(self.engine, Optimizer):
            return self.tree.best(logs)[1]
        found = self.engine.best(self.design.factors(logs), Evidence({}, {}, {}))
        return np.array([one.index(found[one.name]) for one in self.design.listed], dtype=np.int64)

    def refuse_missing(self, objective: str) -> None:
        """Refuse data with missing cells, on which an objective is not defined."""
        if not self.is_complete:
            raise NotSupported(
                f'The {objective} is not defined where cells are missing. objective="likelihood" takes them; or fill '
                "them in first by pb.learn.impute."
            )
