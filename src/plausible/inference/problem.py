"""A product of factors given evidence, on flat arrays: what approximate engines and their kernels work on."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass
from itertools import pairwise

import numpy as np

from plausible.base import Floats, Ints, logarithms, starts_of
from plausible.factors import Factor
from plausible.factors.alignment import table_shape
from plausible.inference.elimination import absorb
from plausible.variables import Evidence, Variable

#: Floats below this have fewer digits than others.
_SMALLEST_NORMAL = float(np.finfo(np.float64).tiny)


@dataclass(frozen=True, slots=True, eq=False)
class Problem:
    """Π φ over the variables that are not observed; made by `Problem.of`."""

    #: Those that some factor has and that are not observed; below they go by their places here.
    variables: tuple[Variable, ...]
    factors: tuple[Factor, ...]  # Reduced to the evidence, each over at least one variable, its largest entry one
    #: The same before they were scaled, and those without a variable: for engines that take factors, since scaled ones
    #: have no room for entries that lie further apart than floats do. `log_scale` is in them.
    reduced: tuple[Factor, ...]
    log_scale: float  # The logarithm of what was taken out of the factors; -inf where the product is zero everywhere
    scale_rounding: float  # By how much rounding may have moved it
    sizes: Ints  # The number of states of each variable
    #: The variables of factor f, in axis order, are `scopes[scope_starts[f]:scope_starts[f + 1]]`.
    scope_starts: Ints
    scopes: Ints
    #: Its numbers, the last variable's state changing fastest, are `tables[table_starts[f]:table_starts[f + 1]]`.
    #: Positive ones that are too small for a float are the smallest that there is.
    table_starts: Ints
    tables: Floats
    logs: Floats  # Their logarithms, which have all digits however small the numbers are; -inf for zero

    @classmethod
    def of(cls, factors: Iterable[Factor], evidence: Evidence) -> Problem:
        """Put states and likelihoods into the factors.

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
        starts = starts_of(factor.flat.size for factor in kept)
        numerators = np.concatenate([factor.flat for factor in kept]) if kept else np.empty(0)
        peaks = np.maximum.reduceat(numerators, starts[:-1]) if kept else np.empty(0)
        tables, logs = _scaled(numerators, np.repeat(np.where(peaks > 0, peaks, 1.0), np.diff(starts)))
        log_scales = logarithms(np.concatenate([peaks, constants]))
        return cls(
            tuple(variables.values()),
            tuple(
                Factor.trusted(scope, tables[start:end].reshape(table_shape(scope)))
                for scope, (start, end) in zip(scopes, pairwise(starts.tolist()), strict=True)
            ),
            tuple(absorbed),
            float(log_scales.sum()),
            # the most that rounding does to a pairwise sum of logarithms, each right to the last digit but one
            float(np.finfo(np.float64).eps)
            * (math.log2(log_scales.size + 1) + 8)
            * float(np.abs(log_scales[log_scales > -math.inf]).sum()),
            np.array([variable.num_states for variable in variables.values()], dtype=np.int64),
            starts_of(map(len, scopes)),
            np.fromiter((numbers[variable.name] for scope in scopes for variable in scope), dtype=np.int64),
            starts,
            tables,
            logs,
        )

    @property
    def is_impossible(self) -> bool:
        """Whether some factor is zero everywhere; others may rule each other out unnoticed."""
        return self.log_scale == -math.inf

    @property
    def has_lost_digits(self) -> bool:
        """Whether some factor's entries lie so far apart that `tables`, unlike `logs`, has no room for their digits."""
        return bool(((self.tables < _SMALLEST_NORMAL) & (self.logs > -math.inf)).any())

    @property
    def place_of(self) -> dict[str, int]:
        """The place of each variable, by its name."""
        return {variable.name: place for place, variable in enumerate(self.variables)}

    def places(self, variables: Iterable[Variable]) -> list[int]:
        """The places of some variables, all of which must be there."""
        place_of = self.place_of
        return [place_of[variable.name] for variable in variables]

    def scope(self, factor: int) -> tuple[int, ...]:
        """The variables of a factor, by their places."""
        return tuple(self.scopes[self.scope_starts[factor] : self.scope_starts[factor + 1]].tolist())

    def log_product(self, states: Ints) -> Floats:
        """log Π φ, `log_scale` left out, of each row of state positions; -inf for zero."""
        if not self.factors:
            return np.zeros(len(states))
        steps = states[:, self.scopes] * self.strides
        places = np.add.reduceat(steps, self.scope_starts[:-1], axis=1) + self.table_starts[:-1]
        return np.asarray(self.logs[places].sum(axis=1))

    @property
    def strides(self) -> Ints:
        """How far the states of each variable in `scopes` lie apart in its factor's table."""
        return strides_of(self.sizes[self.scopes], self.scope_starts)


def strides_of(widths: Ints, scope_starts: Ints) -> Ints:
    """How far the states of each variable of each scope, of which there are so many, lie apart in its table."""
    strides, arities = np.ones(len(widths), dtype=np.int64), np.diff(scope_starts)
    for place in range(int(arities.max(initial=1)) - 2, -1, -1):
        at = scope_starts[:-1][arities > place + 1] + place
        strides[at] = strides[at + 1] * widths[at + 1]
    return strides


def _scaled(numerators: Floats, denominators: Floats) -> tuple[Floats, Floats]:
    """Quotients of which none that is positive becomes zero, and their logarithms, to the last digit."""
    quotients = numerators / denominators
    is_coarse = (quotients < _SMALLEST_NORMAL) & (numerators > 0)
    logs = logarithms(quotients)
    logs[is_coarse] = np.log(numerators[is_coarse]) - np.log(denominators[is_coarse])
    quotients[is_coarse] = np.maximum(quotients[is_coarse], np.finfo(np.float64).smallest_subnormal)
    quotients.setflags(write=False)
    logs.setflags(write=False)
    return quotients, logs
