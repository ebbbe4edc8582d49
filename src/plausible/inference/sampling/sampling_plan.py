"""Families of a Bayesian network on flat arrays, in the order in which they are drawn."""

from __future__ import annotations

import math
import os
from collections.abc import Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, replace
from graphlib import CycleError, TopologicalSorter
from itertools import accumulate, chain
from operator import mul
from typing import NamedTuple

import numpy as np

from plausible.base import Codes, Floats, Ints, logarithms, starts_of
from plausible.errors import NotSupported
from plausible.factors import Factor
from plausible.inference.sampling.sample_sums import SampleSums
from plausible.kernels.jit import steady
from plausible.kernels.sampling import BLOCK, Lookups, draw_block, sum_samples
from plausible.variables import Evidence, Variable

#: Rows of a family sum to one up to this.
_ROUNDING = 1e-6


class OrderedFamilies(NamedTuple):
    """A product of factors as a Bayesian network and what was seen of it."""

    families: dict[str, Factor]  # child -> P(child | parents), parents before children
    #: The other factors: for each observed number, say, its density given the states of its parents.
    likelihoods: tuple[Factor, ...]


def ordered_families(factors: Iterable[Factor], evidence: Evidence) -> OrderedFamilies:
    """Sort out which factors are families, to draw from, and which are likelihoods, to weigh by.

    The family of a variable is the factor that has it last and whose rows sum to one; if there are several, the first
    of the smallest. Any such choice is right: the product of all factors stays the same. Factors without variables are
    left out. An observed parent that has no family among the factors is fixed: what it depends on does not matter. A
    variable without a family, or that is its own ancestor, is refused.
    """
    if evidence.values:
        raise NotSupported(f"{next(iter(evidence.values))!r} is continuous: these samplers draw states, not numbers.")
    listed = [factor for factor in factors if factor.scope]
    children = {factor.names[-1] for factor in listed}
    given = {name: state for name, state in evidence.hard.items() if name not in children}
    reduced = reduced_to(listed, given)
    families: dict[str, Factor] = {}
    for factor in sorted(filter(_is_family, reduced), key=lambda factor: len(factor.scope)):
        families.setdefault(factor.names[-1], factor)
    for name in (name for factor in reduced for name in factor.names if name not in families):
        lacking = [", ".join(factor.names) for factor in reduced if factor.names[-1:] == (name,)]
        if lacking:
            raise _no_network(f"the factor over {lacking[0]} has rows that are no distributions")
        raise _no_network(f"{name!r} is the last variable of none")
    chosen = {id(family) for family in families.values()}
    likelihoods = tuple(factor for factor in reduced if id(factor) not in chosen)
    sorter = TopologicalSorter({child: family.names[:-1] for child, family in families.items()})
    try:
        return OrderedFamilies({child: families[child] for child in sorter.static_order()}, likelihoods)
    except CycleError as error:
        raise _no_network(f"{error.args[1][0]!r} is its own ancestor") from None


def reduced_to(factors: Iterable[Factor], hard: Mapping[str, int]) -> list[Factor]:
    """The factors where the variables have the states at these positions."""
    given = [(factor, {v.name: v.states[hard[v.name]] for v in factor.scope if v.name in hard}) for factor in factors]
    return [factor.reduce(own) if own else factor for factor, own in given]


def ancestors_of(names: Iterable[str], families: Sequence[Factor]) -> set[str]:
    """The names and those of all their ancestors; the families come parents first."""
    found = set(names)
    for family in reversed(families):
        if family.names[-1] in found:
            found.update(family.names)
    return found


def log_constant(factors: Iterable[Factor]) -> float:
    """The logarithm of the product of the factors that have no variable."""
    constants = [float(factor.flat[0]) for factor in factors if not factor.scope]
    return math.fsum(map(math.log, constants)) if min(constants, default=1.0) > 0 else -math.inf


def _is_family(factor: Factor) -> bool:
    """Whether the rows over the last variable are distributions."""
    if not factor.scope:
        return False
    sums = factor.flat.reshape(-1, factor.scope[-1].num_states).sum(axis=1)
    return bool(np.all(np.abs(sums - 1.0) <= _ROUNDING) and factor.min() >= 0)


def _no_network(problem: str) -> NotSupported:
    return NotSupported(
        "This sampler goes from parents to children, so it needs the families of a Bayesian network: for each variable "
        f"one factor P(child | parents), the child last. But {problem}. Use Gibbs(), which takes any factors."
    )


#: Samples that one thread draws at a time; the same for any number of threads, so that sums come out bit for bit.
_SPAN = 1 << 16


def stream_key(*seed: int) -> np.uint64:
    """Where the random numbers of a run begin: another place for each sequence of numbers that are not negative."""
    return np.uint64(np.random.SeedSequence(seed).generate_state(1, np.uint64)[0])


@dataclass(frozen=True, slots=True, eq=False)
class SamplingPlan:
    """Which variables to draw, from what, and what a sample weighs; made by `SamplingPlan.of`."""

    variables: tuple[Variable, ...]  # those that are drawn, in order; below they go by their places here
    #: For each variable the rows F(0), F(1) ... of its cumulative distributions, by the states of its parents.
    draws: Lookups
    widths: Ints  # the length of these rows: a threshold less than there are states
    weights: Lookups  # tables of logarithms, the weight of a sample being the product of what they have for its states
    log_weight: float  # the logarithm of a factor that all weights have in common
    log_limit: float  # no weight has a larger logarithm

    @classmethod
    def of(cls, families: Sequence[Factor], weights: Sequence[Factor], log_weight: float = 0.0) -> SamplingPlan:
        """Draw the last variable of each family in turn, given those before; weigh by a product of factors.

        Rows of a family need not sum to one. Where a row is zero, the first state is drawn, so a factor of the weights
        must be zero there.
        """
        variables = tuple(family.scope[-1] for family in families)
        numbers = {variable.name: number for number, variable in enumerate(variables)}
        widths = np.array([variable.num_states - 1 for variable in variables], dtype=np.int64)
        varying = [factor for factor in weights if factor.scope]
        logs = [logarithms(factor.flat) for factor in varying]
        constant = log_weight + log_constant(weights)
        rows = [(family.scope[:-1], int(width)) for family, width in zip(families, widths, strict=True)]
        return cls(
            variables,
            _lookups(numbers, rows, [_thresholds(family) for family in families]),
            widths,
            _lookups(numbers, [(factor.scope, 1) for factor in varying], logs),
            constant,
            constant + math.fsum(float(table.max()) for table in logs),
        )

    def scaled(self, log_factor: float) -> SamplingPlan:
        """The plan with all weights multiplied."""
        return replace(self, log_weight=self.log_weight + log_factor, log_limit=self.log_limit + log_factor)

    def sums(
        self, groups: Sequence[Sequence[Variable]], num_samples: int, key: np.uint64, threads: int | None = None
    ) -> SampleSums:
        """Draw samples and add their weights up, over all and over the cells of each group of variables.

        The answer is the same for any number of threads; one for each core where left out.
        """
        starts = range(0, max(num_samples, 1), _SPAN)
        ends = [min(start + _SPAN, num_samples) for start in starts]
        if len(ends) == 1:
            return self._span(groups, key, 0, num_samples)
        width = max(1, min(threads or os.cpu_count() or 1, len(starts)))
        with steady(len(starts)), ThreadPoolExecutor(width) as pool:
            parts = pool.map(lambda start, end: self._span(groups, key, start, end), starts, ends)
            return SampleSums.merged(parts)

    def _span(self, groups: Sequence[Sequence[Variable]], key: np.uint64, start: int, end: int) -> SampleSums:

        numbers = {variable.name: number for number, variable in enumerate(self.variables)}
        shapes = [tuple(variable.num_states for variable in group) for group in groups]
        tables = [np.zeros(2 * math.prod(shape)) for shape in shapes]
        cells = _lookups(numbers, [(group, 2) for group in groups], tables)
        unit, total, squares = sum_samples(self.draws, self.widths, self.weights, cells, key, start, end)
        pairs = [
            cells.tables[first : first + table.size].reshape(*shape, 2)
            for first, table, shape in zip(cells.table_starts.tolist(), tables, shapes, strict=True)
        ]
        return SampleSums(
            end - start,
            unit + self.log_weight,
            total,
            squares,
            tuple(pair[..., 0] for pair in pairs),
            tuple(pair[..., 1] for pair in pairs),
            is_constant=self.weights.starts.size == 1,
        )

    def draw(self, num_rows: int, key: np.uint64) -> tuple[Codes, Floats]:
        """The samples themselves, a row each and a column for each variable, and the logarithms of their weights."""
        states = np.empty((len(self.variables), num_rows), dtype=np.int32)
        log_weights = np.empty(num_rows)
        places = np.empty(BLOCK, dtype=np.int32)
        block = np.empty((len(self.variables), BLOCK), dtype=np.int32)
        for start in range(0, num_rows, BLOCK):
            end = min(start + BLOCK, num_rows)
            draw_block(
                self.draws, self.widths, self.weights, key, start, end - start, block, log_weights[start:end], places
            )
            states[:, start:end] = block[:, : end - start]
        return states.T, log_weights + self.log_weight


def _thresholds(family: Factor) -> Floats:
    """F(0), F(1) ... in each row, without the last, which is one."""
    table = np.cumsum(family.flat.reshape(-1, family.scope[-1].num_states), axis=1)
    # Where only zeros follow, the quotient is exactly one, so that no uniform number below one reaches them.
    return np.divide(table, table[:, -1:], out=np.ones_like(table), where=table[:, -1:] > 0)[:, :-1].ravel()


def _lookups(
    numbers: dict[str, int], scopes: Sequence[tuple[Sequence[Variable], int]], tables: Sequence[Floats]
) -> Lookups:
    """Tables by the variables in each scope; the last one's states are so many entries apart as the number says."""
    strides = [_strides(scope, unit) for scope, unit in scopes]
    return Lookups(
        starts_of(map(len, strides)),
        np.array([numbers[variable.name] for scope, _ in scopes for variable in scope], dtype=np.int64),
        np.array([*chain.from_iterable(strides)], dtype=np.int64),
        starts_of(map(len, tables))[:-1],
        np.concatenate([*tables, np.empty(0)]),
    )


def _strides(scope: Sequence[Variable], unit: int) -> list[int]:
    """How far apart the states of each variable are, those of the last one as far as the unit says."""
    sizes = [unit, *(variable.num_states for variable in reversed(scope[1:]))] if scope else []
    return list(accumulate(sizes, mul))[::-1]
