"""A product of factors given evidence, on flat arrays: what approximate engines and their kernels work on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import accumulate, pairwise

import numpy as np
from numpy.typing import NDArray

from plausible.factors import Factor
from plausible.factors.alignment import table_shape
from plausible.inference.elimination import absorb
from plausible.variables import Evidence, Variable

__all__ = ["Problem"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Π φ over the variables that are not observed; made by `Problem.of`.

    Attributes
    ----------
    variables
        Those that some factor has and that are not observed; below they go by their places here.
    factors
        Reduced to the evidence, each over at least one variable, its largest entry one.
    log_scale
        The logarithm of what was taken out of the factors; -inf where the product is zero everywhere.
    sizes
        The number of states of each variable.
    scope_starts, scopes
        The variables of factor f, in axis order, are `scopes[scope_starts[f]:scope_starts[f + 1]]`.
    table_starts, tables
        Its numbers, the last variable's state changing fastest, are `tables[table_starts[f]:table_starts[f + 1]]`.
    """

    variables: tuple[Variable, ...]
    factors: tuple[Factor, ...]
    log_scale: float
    sizes: Ints
    scope_starts: Ints
    scopes: Ints
    table_starts: Ints
    tables: Floats

    @classmethod
    def of(cls, factors: Iterable[Factor], evidence: Evidence) -> Problem:
        """Put states and likelihoods into the factors; Jeffrey findings must have become likelihoods before.

        >>> rain, grass = Variable("rain", 2), Variable("grass", 2)
        >>> factors = [Factor((rain,), [0.8, 0.2]), Factor((rain, grass), [[0.9, 0.1], [0.3, 0.7]])]
        >>> problem = Problem.of(factors, Evidence.read({"grass": 1}, {"grass": grass}))
        >>> [variable.name for variable in problem.variables], problem.tables.round(4).tolist()
        (['rain'], [1.0, 0.25, 0.1429, 1.0])
        """
        absorbed = absorb(factors, evidence)
        constants = [factor.sum() for factor in absorbed if not factor.scope]
        kept = [factor for factor in absorbed if factor.scope]
        scopes = [factor.scope for factor in kept]
        variables = {variable.name: variable for scope in scopes for variable in scope}
        numbers = {name: number for number, name in enumerate(variables)}
        starts = _starts(factor.flat.size for factor in kept)
        tables = np.concatenate([factor.flat for factor in kept]) if kept else np.empty(0)
        peaks = np.maximum.reduceat(tables, starts[:-1]) if kept else np.empty(0)
        tables = tables / np.repeat(np.where(peaks > 0, peaks, 1.0), np.diff(starts))
        tables.setflags(write=False)
        with np.errstate(divide="ignore"):
            log_scale = float(np.log(peaks).sum() + np.log(constants).sum())
        return cls(
            tuple(variables.values()),
            tuple(
                Factor.trusted(scope, tables[start:end].reshape(table_shape(scope)))
                for scope, (start, end) in zip(scopes, pairwise(starts.tolist()), strict=True)
            ),
            log_scale,
            np.array([variable.num_states for variable in variables.values()], dtype=np.int64),
            _starts(map(len, scopes)),
            np.fromiter((numbers[variable.name] for scope in scopes for variable in scope), dtype=np.int64),
            starts,
            tables,
        )

    @property
    def is_impossible(self) -> bool:
        """Whether some factor is zero everywhere; others may rule each other out unnoticed."""
        return self.log_scale == -math.inf

    def places(self, variables: Iterable[Variable]) -> list[int]:
        """The places of some variables, all of which must be there."""
        numbers = {variable.name: number for number, variable in enumerate(self.variables)}
        return [numbers[variable.name] for variable in variables]

    def scope(self, factor: int) -> tuple[int, ...]:
        """The variables of a factor, by their places."""
        return tuple(self.scopes[self.scope_starts[factor] : self.scope_starts[factor + 1]].tolist())

    def log_product(self, states: Ints) -> Floats:
        """log Π φ, `log_scale` left out, of each row of state positions; -inf for zero."""
        if not self.factors:
            return np.zeros(len(states))
        steps = states[:, self.scopes] * self.strides
        places = np.add.reduceat(steps, self.scope_starts[:-1], axis=1) + self.table_starts[:-1]
        with np.errstate(divide="ignore"):
            return np.asarray(np.log(self.tables)[places].sum(axis=1))

    @property
    def strides(self) -> Ints:
        """How far the states of each variable in `scopes` lie apart in its factor's table."""
        strides, sizes = np.ones(len(self.scopes), dtype=np.int64), self.sizes[self.scopes]
        arities = np.diff(self.scope_starts)
        for place in range(int(arities.max(initial=1)) - 2, -1, -1):
            at = self.scope_starts[:-1][arities > place + 1] + place
            strides[at] = strides[at + 1] * sizes[at + 1]
        return strides


def _starts(lengths: Iterable[int]) -> Ints:
    return np.fromiter(accumulate(lengths, initial=0), dtype=np.int64)
