"""Rows with labels, laid out one after the other: the best labels of each, and how far they are from those given."""

from __future__ import annotations

from collections.abc import Collection, Iterator
from dataclasses import dataclass, replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.undirected.design import Design, Scope
from plausible.learn.undirected.partition import TreePartition
from plausible.learn.undirected.sample import Sample
from plausible.variables import Variable

if TYPE_CHECKING:
    from scipy.sparse import csr_array


class RowBlock(NamedTuple):
    """What one row has of the arrays of all."""

    matrix: csr_array  # entries x weights
    transposed: csr_array
    base: Floats
    loss: Floats


@dataclass(frozen=True, eq=False)
class LabelledRows:
    """A copy of the targets for each row, their tables given the inputs of the row, and a table for each target."""

    ground: Sample  # the tables of all rows
    one: Design  # the scopes of a single row; its matrix and its base are those of the first one
    labels: Ints  # rows x targets
    weights: Floats  # how often each row counts

    @classmethod
    def of(cls, data: Sample, targets: Collection[int]) -> LabelledRows:
        """The rows of a sample; `targets` are places of variables, not looked at where rows are laid out already."""
        data.refuse_missing("margin")
        codes, weights = data.rows
        if data.statistics is not None:
            return cls.read(data, codes, weights, targets)
        num_rows = round(data.total)
        labels = codes.reshape(num_rows, -1).astype(np.int64)
        return cls._with_singles(data, data.design, labels, np.ones(num_rows))

    @classmethod
    def read(cls, data: Sample, codes: Codes, weights: Floats, targets: Collection[int]) -> LabelledRows:
        """Rows of states of all variables, of which some are targets and all others inputs."""
        chosen = sorted(targets)
        ground = _put_in(data.design, codes, chosen)
        return cls._with_singles(data, ground, codes[:, chosen].astype(np.int64), np.asarray(weights, dtype=float))

    @classmethod
    def _with_singles(cls, data: Sample, ground: Design, labels: Ints, weights: Floats) -> LabelledRows:
        """Add a table, empty so far, for each target that has none of its own."""
        from scipy.sparse import coo_array

        num_rows, num_targets = labels.shape
        if not num_rows:
            raise InvalidArgument("There are no rows: margins are those of labelled rows.")
        scopes = ground.scopes[: len(ground.scopes) // num_rows]
        lonely = tuple((place,) for place in range(num_targets) if (place,) not in scopes)
        width, more = ground.num_entries // num_rows, sum(int(ground.sizes[place]) for (place,) in lonely)
        coo = ground.matrix.tocoo()
        entries = coo.row.astype(np.int64) // max(width, 1) * (width + more) + coo.row % max(width, 1)
        shape = (num_rows * (width + more), ground.num_weights)
        matrix = coo_array((coo.data, (entries, coo.col)), shape=shape).tocsr()
        base = np.hstack([ground.base.reshape(num_rows, width), np.zeros((num_rows, more))]).ravel()
        template = (*scopes, *lonely)
        every = tuple(
            tuple(row * num_targets + place for place in scope) for row in range(num_rows) for scope in template
        )
        whole = replace(ground, scopes=every, matrix=matrix, base=base)
        first = dict(list(ground.variables.items())[:num_targets])
        one = replace(whole, variables=first, scopes=template, matrix=matrix[: width + more], base=base[: width + more])
        sample = Sample(whole, None, data.engine, data.budget)
        return cls(sample, one, labels, weights)

    @cached_property
    def tree(self) -> TreePartition:
        """The clique tree of a single row."""
        return TreePartition(self.one, self.ground.budget)

    @cached_property
    def _label_entries(self) -> Ints:
        """Rows x targets: the entry of each label in the target's own table, of all entries."""
        at = [int(self.one.starts[self.one.scopes.index((place,))]) for place in range(self.labels.shape[1])]
        return np.asarray(self.labels + np.array(at) + np.arange(len(self.labels))[:, None] * self.one.num_entries)

    @cached_property
    def loss(self) -> Floats:
        """What the Hamming loss adds to the logarithm of each entry: one for each state that is not the label's."""
        added = np.zeros((len(self.labels), self.one.num_entries))
        for place, size in enumerate(self.one.sizes.tolist()):
            start = int(self.one.starts[self.one.scopes.index((place,))])
            added[:, start : start + size] = 1.0
        flat = added.ravel()
        flat[self._label_entries.ravel()] = 0.0
        return flat

    @cached_property
    def blocks(self) -> list[RowBlock]:
        """The tables of each row by itself."""
        design, width = self.ground.design, self.one.num_entries
        parts = [slice(first, first + width) for first in range(0, design.num_entries, width)]
        rows = [(design.matrix[part], design.base[part], self.loss[part]) for part in parts]
        return [RowBlock(matrix, matrix.T.tocsr(), base, loss) for matrix, base, loss in rows]

    def best_of(self, row: int, weights: Floats, *, with_loss: bool) -> tuple[Ints, Floats]:
        """The best labels of one row, with the loss those that violate its margin most; and Σ f with them."""
        block = self.blocks[row]
        logs = block.base + block.matrix @ weights
        states = self.tree.best(logs + block.loss if with_loss else logs)[1]
        picked = np.zeros(self.one.num_entries)
        picked[self.one.positions(states[None, :])[0]] = 1.0
        return states, np.asarray(block.transposed @ picked)

    def features(self, states: Ints) -> csr_array:
        """Σ f of each row: rows x weights."""
        from scipy.sparse import csr_array

        places = self.one.positions(states) + np.arange(len(states))[:, None] * self.one.num_entries
        starts = np.arange(len(states) + 1) * places.shape[1]
        picked = csr_array(
            (np.ones(places.size), places.ravel(), starts), shape=(len(states), self.ground.design.num_entries)
        )
        return csr_array(picked @ self.ground.design.matrix)

    @cached_property
    def given(self) -> csr_array:
        """Σ f of each row with its labels."""
        return self.features(self.labels)

    def hamming(self, states: Ints) -> Ints:
        """The number of targets of each row that are not as labelled."""
        return np.asarray((states != self.labels).sum(axis=1))

    def best(self, logs: Floats) -> Ints:
        """The best labels of each row: rows x targets."""
        return self.ground.best(logs).reshape(self.labels.shape)

    def worst(self, weights: Floats) -> Ints:
        """max over y of θ·f(y) + Hamming loss: the labels that violate the margin of each row most."""
        return self.best(self.ground.design.logs(weights) + self.loss)

    def rivals(self, weights: Floats) -> tuple[Floats, Ints]:
        """θ·f of the labels less that of the best other ones, of each row; and these.

        The best with another state of one target, for each target in turn, of all rows at once; infinite where there
        are no other labels.
        """
        logs = self.ground.design.logs(weights)
        values = self.given @ weights
        margins, rivals = np.full(len(values), np.inf), self.labels.copy()
        for place in np.flatnonzero(self.one.sizes > 1):
            ruled = logs.copy()
            ruled[self._label_entries[:, place]] = -np.inf
            states = self.best(ruled)
            others = values - self.features(states) @ weights
            others = np.where(states[:, place] == self.labels[:, place], np.inf, others)  # all others are ruled out
            rivals = np.where((others < margins)[:, None], states, rivals)
            margins = np.minimum(margins, others)
        return margins, rivals


def one_by_one(data: Sample) -> Iterator[Sample]:
    """Each row of a sample whose rows are laid out one after the other, by itself."""
    design, num_rows = data.design, round(data.total)
    labels = data.rows[0].reshape(num_rows, -1)
    scopes = design.scopes[: len(design.scopes) // num_rows]
    width, variables = design.num_entries // num_rows, dict(list(design.variables.items())[: labels.shape[1]])
    for row in range(num_rows):
        part = slice(row * width, (row + 1) * width)
        one = replace(design, variables=variables, scopes=scopes, matrix=design.matrix[part], base=design.base[part])
        yield Sample(one, None, data.engine, data.budget, _rows=(labels[[row]], np.ones(1)))


def _put_in(design: Design, codes: Codes, targets: list[int]) -> Design:
    """The design over targets of each row, inputs put in: tables that become ones over the same targets are added."""
    from scipy.sparse import vstack

    rank_of = {place: rank for rank, place in enumerate(targets)}
    entries: dict[Scope, list[Any]] = {}
    for number, scope in enumerate(design.scopes):
        inner = tuple(rank_of[place] for place in scope if place in rank_of)
        if not inner:
            continue
        sizes = [int(design.sizes[place]) for place in scope]
        cells = np.stack(np.unravel_index(np.arange(int(np.prod(sizes))), sizes), axis=1)
        axes = [axis for axis, place in enumerate(scope) if place in rank_of]
        others = [axis for axis in range(len(scope)) if axis not in axes]
        strides = np.array([int(np.prod(sizes[axis + 1 :])) for axis in range(len(scope))])
        free = np.unique(cells[:, axes] @ strides[axes])
        fixed = codes[:, [scope[axis] for axis in others]].astype(np.int64) @ strides[others]
        entries.setdefault(inner, []).append(int(design.starts[number]) + fixed[:, None] + free[None, :])
    num_rows = len(codes)
    if not entries:
        raise NotSupported("No feature mentions a target: there is nothing to learn a margin from.")
    pieces = [
        sum((design.matrix[at.ravel()] for at in ats[1:]), design.matrix[ats[0].ravel()]) for ats in entries.values()
    ]
    bases = [sum(design.base[at] for at in ats) for ats in entries.values()]
    lengths = [base.shape[1] for base in bases]
    before = np.cumsum([0, *lengths])
    rows = np.arange(num_rows)[:, None]
    places = [num_rows * before[i] + rows * lengths[i] + np.arange(lengths[i]) for i in range(len(lengths))]
    matrix = vstack(pieces, format="csr")[np.hstack(places).ravel()]
    listed = [design.listed[place] for place in targets]
    variables = {f"{v.name}[{row}]": Variable(f"{v.name}[{row}]", v.states) for row in range(num_rows) for v in listed}
    scopes = tuple(tuple(row * len(targets) + rank for rank in scope) for row in range(num_rows) for scope in entries)
    return replace(design, variables=variables, scopes=scopes, matrix=matrix, base=np.hstack(bases).ravel())
