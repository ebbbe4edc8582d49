"""Gibbs sweeps of many rows at once: a variable of all rows is drawn given all else, then the next."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.labelled_rows import LabelledRows
from plausible.learn.undirected.sample import Sample

if TYPE_CHECKING:
    from scipy.sparse import csr_array


@dataclass(frozen=True, eq=False)
class GibbsRows:
    """Rows over one set of scopes, which have the same tables, or each its own: rows of a conditional field."""

    one: Design  # the scopes of a row
    design: Design  # the tables: those of a row, or of all rows one after the other
    states: Ints  # rows x variables: those of the data
    weights: Floats  # how often each row counts

    @classmethod
    def of(cls, data: Sample) -> GibbsRows:
        """The rows of complete data, each as often as it occurs."""
        if data.statistics is None:
            rows = LabelledRows.of(data, ())
            return cls(rows.one, rows.ground.design, rows.labels, rows.weights)
        codes, weights = data.rows
        times = np.rint(weights).astype(np.int64)
        if (np.abs(weights - times) < 1e-9).all():
            codes, weights = np.repeat(codes, times, axis=0), np.ones(int(times.sum()))
        return cls(data.design, data.design, codes.astype(np.int64), weights)

    @property
    def has_own_tables(self) -> bool:
        """Whether each row has tables of its own."""
        return self.design is not self.one

    @cached_property
    def _offsets(self) -> Ints:
        """Where the tables of each row begin."""
        return np.arange(len(self.states)) * self.one.num_entries * self.has_own_tables

    @cached_property
    def _holders(self) -> list[list[tuple[int, Ints, Ints, int]]]:
        """Of each variable its tables: where each starts, its other variables, their strides, and its own stride."""
        holders: list[list[tuple[int, Ints, Ints, int]]] = [[] for _ in self.one.variables]
        for start, scope in zip(self.one.starts[:-1].tolist(), self.one.scopes, strict=True):
            strides = np.append(np.cumprod(self.one.sizes[list(scope)][:0:-1])[::-1], 1)
            for axis, place in enumerate(scope):
                others = np.array([a for a in range(len(scope)) if a != axis], dtype=np.int64)
                found = np.array(scope, dtype=np.int64)[others], strides[others], int(strides[axis])
                holders[place].append((start, *found))
        return holders

    def sweep(self, states: Ints, logs: Floats, generator: np.random.Generator) -> Ints:
        """Draw every variable once, in order, of all rows; with tables for each row they are as many as the data's."""
        states = states.copy()
        offsets = self._offsets if self.has_own_tables else 0
        for place, size in enumerate(self.one.sizes.tolist()):
            scores = np.zeros((len(states), size))
            for start, others, strides, stride in self._holders[place]:
                first = start + states[:, others] @ strides + offsets
                scores += logs[first[:, None] + stride * np.arange(size)]
            shares = np.exp(scores - scores.max(axis=1, keepdims=True)).cumsum(axis=1)
            marks = generator.random(len(states)) * shares[:, -1]
            states[:, place] = np.minimum((shares <= marks[:, None]).sum(axis=1), size - 1)
        return states

    def entries(self, states: Ints) -> Ints:
        """Rows x scopes: the entries that rows of states are made of."""
        places = self.one.positions(states)
        return places + self._offsets[:, None] if self.has_own_tables else places

    def features(self, states: Ints) -> csr_array:
        """Σ f of each row."""
        from scipy.sparse import csr_array

        places = self.entries(states)
        starts = np.arange(len(states) + 1) * places.shape[1]
        shape = (len(states), self.design.num_entries)
        return csr_array(csr_array((np.ones(places.size), places.ravel(), starts), shape=shape) @ self.design.matrix)
