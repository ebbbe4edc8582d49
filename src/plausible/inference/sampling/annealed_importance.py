"""Annealed importance sampling: particles that are led from independent variables to the model, step by step."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from functools import reduce

import numpy as np
from numpy.typing import NDArray

from plausible.base import Floats, Ints, QueryInfo, logarithms, set_counts
from plausible.errors import ImpossibleEvidence
from plausible.inference.approximate import Beliefs, ResumableEngine
from plausible.inference.engine_bases import PreparedEngine
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_diagnostics import UNSEEN, interval_width
from plausible.inference.sampling.chain_layout import ChainLayout, live_states, move_chains
from plausible.kernels.gibbs import ChainArrays, gibbs_sweeps
from plausible.search.run import Clock

#: The logarithm that zero has until the last temperature.
_SOFT_LOG_ZERO = -25.0

#: Particles are moved on in groups of so many, whatever the number of threads.
_GROUP = 32

#: Weights worth fewer independent ones than this are not trusted.
_FEWEST = 20.0


@dataclass(frozen=True, slots=True, eq=False)
class AnnealingState:
    """Particles on their way; plain arrays that can be stored and taken up again."""

    num_steps: int  # the steps made, and how many there are in all
    num_temperatures: int
    states: Ints  # (particles, variables): positions of states
    generators: NDArray[np.uint64]  # a word for each particle: its random numbers go on from there
    log_weights: Floats  # the logarithm of each particle's weight so far

    def __post_init__(self) -> None:
        for array in (self.states, self.generators, self.log_weights):
            array.setflags(write=False)

    @property
    def effective_size(self) -> float:
        """(Σ w)² / Σ w²: how many equal weights would tell as much; zero if all weights are zero."""
        peak = self.log_weights.max()
        if peak == -math.inf:
            return 0.0
        weights = np.exp(self.log_weights - peak)
        return float(weights.sum() ** 2 / (weights**2).sum())

    @property
    def residual(self) -> float:
        """The relative standard error of the mean weight; infinite if all weights are zero."""
        size, count = self.effective_size, len(self.log_weights)
        return math.sqrt(max(0.0, 1 / size - 1 / count) * count / max(count - 1, 1)) if size else math.inf

    @property
    def is_finished(self) -> bool:
        """Whether the last temperature is reached."""
        return self.num_steps == self.num_temperatures

    @property
    def converged(self) -> bool:
        """Whether it is, with weights that are equal enough to be trusted."""
        return self.is_finished and (self.effective_size >= _FEWEST or self.residual < 1e-9)


@dataclass(frozen=True, slots=True)
class AnnealedImportance(PreparedEngine[AnnealingState], ResumableEngine[AnnealingState]):
    """Estimate log Z by annealed importance sampling (Neal 2001), and beliefs from the weighted particles.

    Particles start with independent variables, each drawn from its single-variable factors. At step t of T every other
    factor is raised to the power t / T: the weight of a particle is multiplied by the ratio of the new product to the
    old one, then the particle makes a Gibbs sweep. The mean weight is an unbiased estimate of Z relative to that of the
    start. A zero counts as a small number until the last step, so that particles can cross it.

    The interval of `estimate` uses Student's t with the effective number of particles and the relative standard error
    of the mean weight. It covers about 95 % if the weights are similar enough; `info` says when they are not. The cost
    is T Gibbs sweeps per particle. The variance of the log weights grows with the number of variables: for thousands of
    variables, use as many temperatures, or the bounds of `MiniBuckets` and `TreeReweightedBP`.

    Parameters
    ----------
    num_temperatures
        T, the number of steps; doubling it about halves the variance of the log weights.
    num_particles
        How many independent particles to use.
    num_threads
        The most threads to use; by default one per core. The answer does not depend on it.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> triangle = [Factor({a: 2, b: 2}, [[1, 2], [3, 4]]) for a, b in ("AB", "BC", "CA")]
    >>> log_total = AnnealedImportance().log_total(triangle, Evidence.read({}, {}))
    >>> log_total.lower < 5.043425 < log_total.upper, log_total.upper - log_total.lower < 0.1
    (True, True)
    """

    num_temperatures: int = 200
    num_particles: int = 500
    seed: int = 0
    num_threads: int | None = None

    is_noisy = True

    def __post_init__(self) -> None:
        set_counts(self, num_temperatures=1, num_particles=2, seed=0)
        if self.num_threads is not None:
            set_counts(self, num_threads=1)

    def _prepared(self, problem: Problem, clock: Clock) -> tuple[ChainLayout, _Path]:
        return ChainLayout.of(problem), _Path.of(problem)

    def _first(self, prepared: tuple[ChainLayout, _Path]) -> AnnealingState:
        """Particles from the start distribution, with the logarithm of its total as their weight."""
        seeds = np.random.SeedSequence(self.seed)
        generators = np.asarray(seeds.generate_state(self.num_particles, np.uint64), dtype=np.uint64)
        rng = np.random.default_rng(seeds.spawn(1)[0])
        columns, log_total = [], 0.0
        for logs in prepared[1].starts:
            weights = np.exp(logs - logs.max())
            log_total += float(logs.max()) + math.log(weights.sum())
            columns.append(rng.choice(len(weights), size=self.num_particles, p=weights / weights.sum()))
        states = np.stack(columns, axis=1) if columns else np.zeros((self.num_particles, 0))
        log_weights = np.full(self.num_particles, log_total)
        return AnnealingState(0, self.num_temperatures, states.astype(np.int64), generators, log_weights)

    def _ends(self, state: AnnealingState) -> str:
        return "last temperature" if state.is_finished else ""

    def _next(self, prepared: tuple[ChainLayout, _Path], state: AnnealingState) -> AnnealingState:
        """The weights and sweeps of the next temperature; a finished state stays as it is."""
        if state.is_finished:
            return state
        layout, path = prepared
        num_steps = state.num_steps + 1
        before, after = (path.log_tables(step / state.num_temperatures) for step in (state.num_steps, num_steps))
        codes, generators = layout.codes(state.states), state.generators.copy()
        places = layout.places(codes)
        log_weights = state.log_weights + (after[places] - before[places]).sum(axis=1)
        if num_steps < state.num_temperatures:
            # No finite logarithm stands for zero, which a chain could not leave.
            smallest = np.finfo(np.float64).smallest_subnormal
            tables = np.where(after > -math.inf, np.maximum(np.exp(after), smallest), 0.0)
            tables.setflags(write=False)  # as those of a problem are: one kind of array, one compiled kernel

            def sweep(particles: ChainArrays) -> None:
                gibbs_sweeps(1, tables, layout.links, particles, np.empty(layout.largest_block))

            particles = ChainArrays.unwatched(codes, places, generators)
            move_chains(sweep, particles, codes.size, self.num_threads, _GROUP)
        return AnnealingState(num_steps, state.num_temperatures, layout.states(codes), generators, log_weights)

    def estimate(self, problem: Problem) -> Estimate:
        """log Σ Π φ with an interval of about 95 %; -inf where no particle ended on a positive product."""
        try:
            state = self.run(problem).state
        except ImpossibleEvidence:
            return Estimate.within(-math.inf, QueryInfo("factors that rule each other out"))
        peak = float(state.log_weights.max())
        info = self._info(problem, state, None)
        if peak == -math.inf:
            return Estimate(-math.inf, info)
        value = peak + math.log(float(np.exp(state.log_weights - peak).mean())) + problem.log_scale
        width = interval_width(state.effective_size - 1) * state.residual
        return Estimate(value, replace(info, error=width), lower=value - width, upper=value + width)

    def beliefs_from(self, problem: Problem, state: AnnealingState, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The weighted frequencies of each group's joint states among the particles."""
        if state.log_weights.max() == -math.inf:
            raise ImpossibleEvidence(
                "No particle ended on an assignment of positive probability: the evidence is impossible, or so "
                "improbable that more temperatures and particles, or an exact engine, are needed to see it."
            )
        weights = np.exp(state.log_weights - state.log_weights.max())
        weights /= weights.sum()
        tables: list[Floats] = []
        worst, width = 0.0, interval_width(state.effective_size - 1)
        for group in groups:
            sizes = problem.sizes[list(group)]
            cell = np.zeros(len(weights), dtype=np.int64)
            for place, size in zip(group, sizes, strict=True):
                cell = cell * size + state.states[:, place]
            count = int(np.prod(sizes))
            table = np.bincount(cell, weights, minlength=count)
            # Σ w² (1[x] - p)², the delta method for a ratio of means
            squares = np.bincount(cell, weights**2, minlength=count)
            variance = squares * (1 - 2 * table) + (weights**2).sum() * table**2
            # No particle in a cell is no proof that it is empty: no table is more certain than particles are many.
            least = UNSEEN / state.effective_size if count > 1 else 0.0
            worst = max(worst, width * float(np.sqrt(np.maximum(variance, 0.0)).max()), least)
            tables.append(np.asarray(table, dtype=np.float64).reshape(sizes))
        return Beliefs(tuple(tables), self._info(problem, state, min(1.0, worst)))

    def _info(self, problem: Problem, state: AnnealingState, error: float | None) -> QueryInfo:
        advice = ""
        if not state.converged:
            advice = (
                f"The {len(state.log_weights)} weights are worth {state.effective_size:.3g} equal ones. "
                "Raise num_temperatures of AnnealedImportance() first, then num_particles; MiniBuckets() and "
                "TreeReweightedBP() have bounds on the total for certain."
            )
        return QueryInfo(
            "annealed importance sampling",
            exact=not len(problem.variables),
            converged=state.converged,
            error=error,
            cost=state.num_temperatures * len(state.log_weights) * len(problem.variables),
            num_steps=len(state.log_weights),
            residual=state.residual,
            effective_samples=state.effective_size,
            advice=advice,
        )


@dataclass(frozen=True, slots=True, eq=False)
class _Path:
    """The way from independent variables to the model."""

    #: For each variable the logarithms of the product of its own factors; -inf for states that are ruled out.
    starts: tuple[Floats, ...]
    #: The logarithms of entries of factors over one variable, which count in full from the start; elsewhere zero.
    #: States that are ruled out are -inf in all tables, so that no distribution on the way has them.
    fixed: Floats
    rising: Floats  # the logarithms of the others; elsewhere zero

    @classmethod
    def of(cls, problem: Problem) -> _Path:
        domains = live_states(problem)
        logs = problem.logs
        starts = [logarithms(domain.astype(np.float64)) for domain in domains]
        is_single = np.diff(problem.scope_starts) == 1
        single = np.repeat(is_single, np.diff(problem.table_starts))
        fixed = np.where(single, logs, 0.0)
        for number in range(len(problem.factors)):
            scope = problem.scope(number)
            entries = slice(*problem.table_starts[number : number + 2])
            if is_single[number]:
                starts[scope[0]] = starts[scope[0]] + logs[entries]
            if not all(domains[variable].all() for variable in scope):
                inside = reduce(np.logical_and.outer, [domains[variable] for variable in scope])
                fixed[entries] = np.where(inside.ravel(), fixed[entries], -math.inf)
        return cls(tuple(starts), fixed, np.where(single, 0.0, logs))

    def log_tables(self, share: float) -> Floats:
        """All tables when this share of the way has been gone."""
        return self.fixed + (self.rising if share == 1 else share * np.maximum(self.rising, _SOFT_LOG_ZERO))
