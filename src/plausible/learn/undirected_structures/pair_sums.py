"""The pseudolikelihood of models with tables over pairs and single variables, by matrix products."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Codes, Floats, starts_of
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.local_partitions import LocalPart
from plausible.learn.undirected.objectives import Objective, ObjectiveMethod
from plausible.learn.undirected.sample import Sample

_ROWS_AT_ONCE = 1024
#: Stands for the logarithm of zero: products with minus infinity would be no numbers.
_LOG_ZERO = -1e5


@dataclass(frozen=True, slots=True)
class PairwisePseudolikelihood(ObjectiveMethod):
    """The pseudolikelihood of a model whose scopes have at most two variables: the same function, sooner computed."""

    def on(self, data: Sample) -> Objective:
        """Counts of entries, once for each variable in their scope, less local sums."""
        data.refuse_missing("pseudolikelihood")
        design = data.design
        times = np.repeat([len(scope) for scope in design.scopes], np.diff(design.starts))
        parts = ((-1.0, PairSums(design, *data.rows)),)
        return Objective(design, design.expected(data.counts * times), parts, data.total, is_own=True)


class PairSums(LocalPart):
    """Σ_m w_m Σ_j log Σ_{x_j} Π φ(x_j, others as in row m), where tables are over pairs and single variables."""

    __slots__ = ("_firsts", "_is_pair", "_lefts", "_rights", "_rows", "_sizes", "_weights")

    def __init__(self, design: Design, rows: Codes, weights: Floats) -> None:
        starts = starts_of(design.sizes.tolist())
        self._firsts, self._sizes, self._weights = starts[:-1], design.sizes, weights
        self._rows = np.zeros((len(rows), int(starts[-1])))
        np.put_along_axis(self._rows, self._firsts + rows, 1.0, axis=1)
        lefts, rights = np.zeros((2, design.num_entries), dtype=np.int64)
        for scope, start, end in zip(design.scopes, design.starts[:-1], design.starts[1:], strict=True):
            cells = np.unravel_index(np.arange(int(end - start)), [int(design.sizes[place]) for place in scope])
            lefts[start:end] = self._firsts[scope[0]] + cells[0]
            rights[start:end] = self._firsts[scope[-1]] + cells[-1]
        self._lefts, self._rights = lefts, rights
        self._is_pair = np.repeat([len(scope) == 2 for scope in design.scopes], np.diff(design.starts))

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """The sum, and the counts of entries that it expects."""
        width, pairs = self._rows.shape[1], self._is_pair
        finite = np.maximum(logs, _LOG_ZERO)
        table, own = np.zeros((width, width)), np.zeros(width)
        table[self._lefts[pairs], self._rights[pairs]] = finite[pairs]
        table += table.T
        own[self._lefts[~pairs]] = finite[~pairs]
        value, products, totals = 0.0, np.zeros((width, width)), np.zeros(width)
        for start in range(0, len(self._rows), _ROWS_AT_ONCE):
            part = slice(start, start + _ROWS_AT_ONCE)
            rows, weights = self._rows[part], self._weights[part]
            scores = rows @ table + own
            peaks = np.maximum.reduceat(scores, self._firsts, axis=1)
            np.exp(scores - np.repeat(peaks, self._sizes, axis=1), out=scores)
            sums = np.add.reduceat(scores, self._firsts, axis=1)
            value += float(weights @ (np.log(sums) + peaks).sum(axis=1))
            scores *= np.repeat(weights[:, None] / sums, self._sizes, axis=1)
            products += rows.T @ scores
            totals += scores.sum(axis=0)
        both = products[self._lefts, self._rights] + products[self._rights, self._lefts]
        return value, np.where(pairs, both, totals[self._lefts])
