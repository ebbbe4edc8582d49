"""Samples from a posterior by an engine that draws: what such engines have in common, and rows without weights."""

from __future__ import annotations

import math
from collections.abc import Iterable
from dataclasses import dataclass, fields, replace
from typing import Any, Protocol, runtime_checkable

import numpy as np

from plausible.base import Floats, Ints, QueryInfo, Seed, generator_of
from plausible.errors import ImpossibleEvidence, counted
from plausible.factors import Factor
from plausible.variables import Evidence, Variable


class EvidenceNotSeen(ImpossibleEvidence):
    """Evidence that no sample agreed with: it is impossible, or too improbable for so few samples."""


@dataclass(frozen=True, slots=True, eq=False)
class DrawnStates:
    """Rows drawn from P(variables | evidence), all of the same weight."""

    variables: tuple[Variable, ...]  # Those of the factors, observed ones included
    states: Ints  # (rows, variables): the positions of their states
    #: So many independent rows would be worth as much; rows of chains resemble each other, resampled ones repeat.
    effective_size: float
    info: QueryInfo  # How they were drawn; `num_steps` counts what was drawn to get them

    @property
    def columns(self) -> dict[str, Ints]:
        """Name -> the positions of its states, one for each row."""
        return {variable.name: self.states[:, place] for place, variable in enumerate(self.variables)}


@runtime_checkable
class SamplingEngine(Protocol):
    """An engine that can draw rows from the posterior, besides what it answers."""

    def draw_states(self, factors: Iterable[Factor], num_rows: int, evidence: Evidence) -> DrawnStates:
        """Rows of states of all variables of the factors; the same options give the same rows.

        Evidence is states, collections of states and likelihoods. Raises `ImpossibleEvidence` where nothing agrees.
        """


def reseeded(engine: SamplingEngine, seed: Seed) -> SamplingEngine:
    """The engine with random numbers of its own for a seed; as it is where there is none.

    >>> from plausible.inference.sampling.chains import Gibbs
    >>> reseeded(Gibbs(seed=3), None).seed, reseeded(Gibbs(), 1) == reseeded(Gibbs(), 1)
    (3, True)
    """
    options: Any = engine
    if seed is None or "seed" not in {field.name for field in fields(options)}:
        return engine
    seeded: SamplingEngine = replace(options, seed=int(generator_of(seed).integers(2**62)))
    return seeded


def resampled_rows(log_weights: Floats, num_rows: int, generator: np.random.Generator) -> tuple[Ints, float]:
    """Which of some weighted samples to take so that the weights are gone, and the effective number of rows.

    Systematic resampling (Kitagawa 1996): a sample of weight w stands ⌊n w / Σ w⌋ or ⌈n w / Σ w⌉ times among n rows,
    in random order. With E = (Σ w)² / Σ w² effective samples the rows are worth about 1 / (1 / n + 1 / E). Samples of
    equal weight are taken as they come, each at most once as long as there are enough.
    """
    if num_rows <= len(log_weights) and np.ptp(log_weights) == 0:
        return np.arange(num_rows), float(num_rows)
    weights = np.exp(log_weights - log_weights.max())
    ends = np.cumsum(weights)
    levels = (np.arange(num_rows) + generator.random()) * (ends[-1] / max(num_rows, 1))
    places = np.minimum(np.searchsorted(ends, levels, side="right"), np.flatnonzero(weights)[-1])
    effective = ends[-1] ** 2 / float((weights**2).sum())
    size = 1 / (1 / num_rows + 1 / effective) if num_rows else 0.0
    return generator.permutation(places), float(size)


def told_rows(info: QueryInfo, effective_size: float, num_rows: int) -> QueryInfo:
    """How rows were drawn: the error is the largest standard error of a share of them, where they are worth so many.

    >>> told = told_rows(QueryInfo("draws", exact=False), 25.0, 100)
    >>> told.error, told.advice
    (0.1, 'The 100 rows are worth about 25 independent ones.')
    """
    error = 0.0 if info.exact else min(1.0, 0.5 / math.sqrt(effective_size)) if effective_size > 0 else 1.0
    return replace(info, error=error, advice=f"{told_size(effective_size, num_rows)} {info.advice}".rstrip())


def told_size(effective_size: float, num_rows: int) -> str:
    """A sentence for `info.advice`.

    >>> told_size(81.3, 100)
    'The 100 rows are worth about 81 independent ones.'
    """
    if num_rows == 1:
        return f"The row is worth about {counted(round(effective_size), 'independent row')}."
    return f"The {num_rows} rows are worth about {effective_size:.0f} independent ones."
