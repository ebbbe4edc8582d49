"""Gibbs sampling of a few variables, with any other engine for the rest: collapsed particles."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from functools import partial

import numpy as np

from plausible.base import PROBABILITY_NOISE, Floats, Ints, QueryInfo, read_names, set_counts
from plausible.errors import ImpossibleEvidence, InvalidArgument
from plausible.inference.approximate import ApproximateEngine, Beliefs
from plausible.inference.engine_bases import PreparedEngine
from plausible.inference.engines import Engine
from plausible.inference.estimates import Estimate
from plausible.inference.problem import Problem
from plausible.inference.propagation.belief_propagation import LoopyBP
from plausible.inference.sampling.chain_beliefs import ONE_CHAIN, cut_text
from plausible.inference.sampling.chain_diagnostics import (
    MAX_R_HAT,
    UNSEEN,
    effective_sample_size,
    interval_width,
    monte_carlo_error,
    r_hat,
    told_r_hat,
)
from plausible.inference.sampling.chain_layout import blocking_factor
from plausible.search.run import UNLIMITED, Clock
from plausible.variables import Evidence, Variable

_NOTHING = Evidence.read({}, {})

#: Draws worth fewer independent ones have errors that are not trusted.
_FEWEST_SAMPLES = 16.0


@dataclass(frozen=True, slots=True, eq=False)
class CollapsedState:
    """Chains of partial assignments; plain arrays that can be stored and taken up again."""

    num_steps: int  # the sweeps made, and how many of them don't count
    burn_in: int
    states: Ints  # (chains, sampled variables): positions of states
    draws: Ints  # (chains, draws, sampled variables): where they were after each sweep that counts

    def __post_init__(self) -> None:
        for array in (self.states, self.draws):
            array.setflags(write=False)

    @property
    def num_filled(self) -> int:
        """The draws that were made."""
        return max(0, self.num_steps - self.burn_in)

    @property
    def is_finished(self) -> bool:
        """Whether all draws are."""
        return bool(self.num_filled >= self.draws.shape[1])

    @property
    def residual(self) -> float:
        """The largest R-hat of a sampled variable's state, minus one; infinite before there are four draws."""
        if self.num_filled < 4:
            return math.inf
        return float(r_hat(self.draws[:, : self.num_filled]).max()) - 1 if self.draws.shape[2] else 0.0

    @property
    def converged(self) -> bool:
        """Whether the run is over and no R-hat says that the chains disagree."""
        return self.is_finished and self.residual <= MAX_R_HAT - 1


@dataclass(frozen=True, slots=True)
class CollapsedGibbs(PreparedEngine[CollapsedState], ApproximateEngine):
    """Gibbs sampling of some variables S, while another engine answers for the others (cutset sampling).

    A sweep redraws each x_i of S from P(x_i | the rest of S), for which the inner engine sums over all other variables.
    A particle is an assignment of S together with the inner engine's beliefs given it, and the answer is the mean of
    these beliefs (Koller & Friedman 2009, §12.4; Bidyuk & Dechter 2007). If S cuts all cycles, belief propagation as
    the inner engine is exact, and the only error is that of sampling; otherwise it is an approximation, and
    `info.error` is `None`.

    The inner engine runs once for each distinct assignment of S, so this is cheaper if S has few joint states.
    `log_total` is the inner engine's own.

    `sampled` are the names of the variables S; those that don't affect the answer are skipped. `inner` is any engine,
    exact or not; all else is as in `Gibbs`.

    >>> from plausible.factors import Factor
    >>> ring = [Factor({a: 2, b: 2}, [[3, 1], [1, 2]]) for a, b in ("AB", "BC", "CA")]
    >>> answer = CollapsedGibbs(["A"]).query(ring, ring[1].scope, _NOTHING)
    >>> bool(abs(answer.values[1, 1] - 0.2) < answer.info.error < 0.02)  # LoopyBP() alone says 0.15
    True
    """

    sampled: Sequence[str]
    inner: Engine = field(default_factory=LoopyBP)
    num_samples: int = 4_000
    burn_in: int = 100
    num_chains: int = 4
    seed: int = 0

    is_noisy = True

    def __post_init__(self) -> None:
        object.__setattr__(self, "sampled", read_names("sampled", self.sampled))
        set_counts(self, num_samples=1, burn_in=0, num_chains=1, seed=0)
        if isinstance(self.inner, type) or not isinstance(self.inner, Engine):
            raise InvalidArgument(f"inner= takes an engine, such as LoopyBP() or JunctionTree(), not {self.inner!r}.")

    @property
    def mentioned(self) -> tuple[str, ...]:
        """The names of variables that its options mention."""
        return (*self.sampled, *getattr(self.inner, "mentioned", ()))

    def _prepared(self, problem: Problem, clock: Clock) -> _Particles:
        names = set(self.sampled)
        return _Particles(problem, self.inner, tuple(v for v in problem.variables if v.name in names))

    def _ends(self, state: CollapsedState) -> str:
        return "all draws" if state.is_finished else ""

    def _first(self, particles: _Particles) -> CollapsedState:
        """Each chain's variables drawn one after the other, each given those before."""
        rng = np.random.default_rng([self.seed])
        count = len(particles.sampled)
        states = np.full((self.num_chains, count), -1, dtype=np.int64)
        for chain in range(self.num_chains):
            for place in range(count):
                states[chain, place] = _drawn(particles.belief(states[chain], [particles.sampled[place]]), rng)
        per_chain = max(4, -(-self.num_samples // self.num_chains))
        return CollapsedState(0, self.burn_in, states, np.zeros((self.num_chains, per_chain, count), dtype=np.int64))

    def _next(self, particles: _Particles, state: CollapsedState) -> CollapsedState:
        if state.is_finished:
            return state
        rng = np.random.default_rng([self.seed, state.num_steps + 1])
        states, draws = state.states.copy(), state.draws.copy()
        for row in states:
            for place in range(len(row)):
                row[place] = _drawn(particles.conditional(row, place), rng)
        if state.num_steps >= state.burn_in:
            draws[:, state.num_filled] = states
        return replace(state, num_steps=state.num_steps + 1, states=states, draws=draws)

    def beliefs(self, problem: Problem, groups: Sequence[tuple[int, ...]]) -> Beliefs:
        """The joint of each group: the mean, over draws, of the inner engine's belief given the sampled variables."""
        particles = self._prepared(problem, UNLIMITED)
        state = self._iterate(partial(self._next, particles), self._first(particles)).state
        num_chains, num_draws, width = state.draws.shape
        rows, which = np.unique(state.draws.reshape(num_chains * num_draws, width), axis=0, return_inverse=True)
        tables, values = [], [np.ones((num_chains, num_draws, 1))]
        for group in groups:
            variables = [problem.variables[place] for place in group]
            found = np.stack([particles.belief(row, variables) for row in rows])
            weights = np.bincount(which.ravel(), minlength=len(rows)) / which.size
            tables.append(np.asarray(np.tensordot(weights, found, 1)))
            cells = found.reshape(len(rows), -1)
            if cells.shape[1] > 1:  # a single one is certain
                values.append(cells[which.ravel()].reshape(num_chains, num_draws, -1))
        return Beliefs(tuple(tables), self._info(particles, state, np.concatenate(values, axis=2)))

    def _info(self, particles: _Particles, state: CollapsedState, values: Floats) -> QueryInfo:
        """What the answer is worth, from the numbers (chains, draws, 1 + numbers) that it is the mean of.

        The first is always one, so that there is one where nothing is asked.
        """
        errors, count = monte_carlo_error(values), values.shape[0] * values.shape[1]
        size = min(float(count), float(effective_sample_size(values[:, :, int(errors.argmax())])))
        worst = max(float(r_hat(values).max()), state.residual + 1)
        doubt = particles.doubt
        if cut := particles.cut:
            doubt = f"{cut_text(cut)} Leave some of these out of sampled=."
        elif not doubt and worst > MAX_R_HAT:
            doubt = f"{told_r_hat(worst)}: the chains have not mixed. Raise num_samples and burn_in, or sample other "
            doubt += "variables."
        elif not doubt and particles.sampled and size < _FEWEST_SAMPLES:
            doubt = f"The draws are worth {size:.3g} independent ones, too few to trust the error. Raise num_samples."
        is_alone = len(state.states) == 1 and particles.has_choice
        width = max(interval_width(size - 1) * float(errors.max()), particles.least_error(values[:, :, 1:]))
        return QueryInfo(
            f"collapsed Gibbs sampling with {particles.engine or type(self.inner).__name__}",
            exact=particles.is_exact and not particles.sampled,
            converged=not doubt,
            error=min(1.0, width) if particles.is_exact else None,
            cost=particles.num_runs,
            num_steps=count,
            residual=worst - 1,
            effective_samples=size,
            r_hat=worst,
            advice=" ".join(filter(None, (doubt, ONE_CHAIN if is_alone else ""))),
        )

    def estimate(self, problem: Problem) -> Estimate:
        """log Σ Π φ by the inner engine, which sums over all: draws alone don't tell it."""
        value = self.inner.log_total(problem.reduced, _NOTHING)
        if isinstance(value, Estimate):
            return value
        return Estimate.within(value, QueryInfo(type(self.inner).__name__))


class _Particles:
    """What the inner engine says given partial assignments, each asked for once."""

    def __init__(self, problem: Problem, inner: Engine, sampled: tuple[Variable, ...]) -> None:
        self.problem, self.inner, self.sampled = problem, inner, sampled
        self.is_exact, self.engine, self.doubt, self.num_runs = True, "", "", 0
        self.has_choice = any(variable.num_states > 1 for variable in sampled)
        self._totals: dict[tuple[int, ...], float] = {}
        self._beliefs: dict[tuple[tuple[int, ...], tuple[str, ...]], Floats] = {}

    @property
    def cut(self) -> str:
        """What keeps sampled variables that move one at a time from going everywhere; see `blocking_factor`."""
        if not self.sampled:
            return ""
        moved = self.problem.places(self.sampled)
        free = set(range(len(self.problem.variables))).difference(moved)
        return blocking_factor(self.problem, [[place] for place in moved], free)

    def least_error(self, values: Floats) -> float:
        """What the error of numbers (chains, draws, numbers) does not fall below: a mean of draws is not certain.

        A number that never varied, by the rule of three, may still be another for a share of 3 / n of the particles.
        """
        if not self.has_choice or not values.shape[2]:
            return 0.0
        is_still = np.ptp(values, axis=(0, 1)).min() <= PROBABILITY_NOISE
        return UNSEEN / (values.shape[0] * values.shape[1]) if is_still else PROBABILITY_NOISE

    def conditional(self, row: Ints, place: int) -> Floats:
        """P(x_place | the other entries of a row), from the totals with each of its states."""
        before, after = row[:place].tolist(), row[place + 1 :].tolist()
        logs = np.array([self._log_total((*before, state, *after)) for state in range(self.sampled[place].num_states)])
        if logs.max() == -math.inf:
            raise ImpossibleEvidence(
                f"No state of {self.sampled[place].name!r} is possible with those of the other sampled variables: "
                "the evidence is impossible, or the engine inside did not see which states are. Take an exact one."
            )
        return np.asarray(np.exp(logs - logs.max()))

    def belief(self, row: Ints, variables: Sequence[Variable]) -> Floats:
        """The joint belief about some variables given the entries of a row that are known, not below zero."""
        key = tuple(row.tolist()), tuple(variable.name for variable in variables)
        if key not in self._beliefs:
            answer = self.inner.query(self.problem.reduced, variables, self._evidence(key[0]))
            if min(key[0], default=0) >= 0:
                self._note(answer.info)
            self._beliefs[key] = np.asarray(answer.values)
        return self._beliefs[key]

    def _log_total(self, states: tuple[int, ...]) -> float:
        """log Σ Π φ over all that is not sampled."""
        if states not in self._totals:
            found = self.inner.log_total(self.problem.reduced, self._evidence(states))
            self._note(getattr(found, "info", None))
            self._totals[states] = float(found)
        return self._totals[states]

    def _evidence(self, states: Sequence[int]) -> Evidence:
        known = {v.name: state for v, state in zip(self.sampled, states, strict=True) if state >= 0}
        return replace(_NOTHING, hard=known)

    def _note(self, info: object) -> None:
        """Keep what an answer says of itself; exact engines say nothing of their totals."""
        self.num_runs += 1
        if isinstance(info, QueryInfo):
            self.engine = self.engine or info.engine
            self.is_exact = self.is_exact and info.exact
            self.doubt = self.doubt or ("" if info.converged else info.advice)


def _drawn(weights: Floats, rng: np.random.Generator) -> int:
    levels = np.cumsum(weights)
    return int(np.searchsorted(levels / levels[-1], rng.random(), side="right"))
