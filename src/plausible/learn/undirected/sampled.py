"""The likelihood with log Z told by draws from weights near by: Monte Carlo maximum likelihood."""

from __future__ import annotations

import math
from dataclasses import dataclass, field, replace
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import Seed, check_count, generator_of
from plausible.base.tolerances import SMALLEST
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.undirected.gibbs_rows import GibbsRows
from plausible.learn.undirected.objectives import Objective, ObjectiveMethod, SteeredObjective
from plausible.learn.undirected.partition import Kind, Part
from plausible.learn.undirected.priors import Penalty
from plausible.learn.undirected.sample import Sample
from plausible.search.ascent import AscentState, ascent_step, init_ascent, read_ascent
from plausible.search.run import CONVERGED, Run, Stops, iterate

#: Weights move until the draws are worth less than this share of their number; then new ones are made.
_LEAST_WORTH = 0.2
#: Nor is an entry's logarithm moved farther in a round: draws that all have it, or none, would never tell.
_FARTHEST = 5.0
#: Differences of so many standard errors of the draws are noise.
_NOISE = 3.0


class SampledPartition(Part):
    """log mean_k exp (log P~_θ(ξ_k) - log P~_θ0(ξ_k)) + log Z(θ0) for draws ξ_k from P_θ0: near log Z(θ), and convex.

    Parameters
    ----------
    entries
        The entries that each draw is made of, of shape (draws, scopes).
    logs
        The logarithms of all tables at θ0.
    log_partition
        log Z(θ0), or 0 where it is not known.
    """

    __slots__ = ("_before", "_constant", "_entries")

    def __init__(self, entries: Ints, logs: Floats, log_partition: float = 0.0) -> None:
        self._entries, self._before = entries, logs[entries].sum(axis=1)
        self._constant = log_partition - math.log(len(entries))

    @property
    def kind(self) -> Kind:
        """It is told by draws."""
        return "approximation"

    @property
    def num_inferences(self) -> int:
        """None: draws are only weighed."""
        return 0

    def at(self, logs: Floats) -> tuple[float, Floats]:
        """log Z, and the means of entries over draws by self-normalised weights."""
        gains = logs[self._entries].sum(axis=1) - self._before
        total = float(np.logaddexp.reduce(gains))
        shares = np.repeat(np.exp(gains - total), self._entries.shape[1])
        means = np.bincount(self._entries.ravel(), shares, minlength=logs.size)
        return total + self._constant, means.astype(np.float64)

    def worth(self, logs: Floats) -> float:
        """The effective share of the draws, 1/(n Σ w²): 1 at θ0."""
        gains = logs[self._entries].sum(axis=1) - self._before
        shares = np.exp(gains - np.logaddexp.reduce(gains))
        return float(1 / (len(shares) * (shares**2).sum()))


@dataclass(frozen=True, slots=True)
class SampledLikelihood(ObjectiveMethod):
    """ℓ with log Z told by draws from the model at weights θ0, which are redrawn as weights move (Geyer 1991).

    Σ_m θ·f(row m) - M log mean_k exp{(θ - θ0)·f(ξ_k)} - M log Z(θ0) is concave; its gradient weighs the draws anew by
    self-normalised weights, whose variance grows with the way from θ0. So a step climbs only while the draws are worth
    a fifth of their number, then draws again at the new weights, until no mean of a feature differs from that of
    fresh draws by more than three of its standard errors. Where the means of the data are no mixture of those of the
    draws, there is no maximum: with one round and no prior that is refused, else a step ends by the worth of the draws
    (Koller & Friedman 2009, §20.5.1.3).

    Parameters
    ----------
    num_samples
        The draws of each round.
    rounds
        How often weights are drawn at, at most; 1 for importance sampling at the start alone.
    sweeps
        None for independent draws by a clique tree; else the Gibbs sweeps of each round, of chains that go on: then
        log Z(θ0) is not known, and neither is the objective, which is nan.
    seed
        The same seed gives the same weights.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [0, 0, 1, 1, 1, 0], "B": [0, 0, 1, 1, 0, 1]}
    >>> same = pb.Feature(["A", "B"], lambda a, b: a == b, name="same")
    >>> fit = pb.learn.markov([same], rows, objective=pb.learn.SampledLikelihood(2000, seed=0))
    >>> abs(fit.weights["same"] - 0.6931) < 0.1, fit.kind
    (True, 'approximation')
    """

    num_samples: int = 1000
    rounds: int = 20
    sweeps: int | None = None
    seed: Seed = None

    def __post_init__(self) -> None:
        check_count("num_samples", self.num_samples, least=2)
        check_count("rounds", self.rounds, least=1)
        if self.sweeps is not None:
            check_count("sweeps", self.sweeps, least=1)

    def on(self, data: Sample) -> SampledObjective:
        """Counts, and what draws."""
        data.refuse_missing("likelihood told by draws")
        if data.statistics is None:
            raise NotSupported("Each row of a conditional field has its own log Z: SampledLikelihood is for markov.")
        return SampledObjective(data.design, data.feature_totals, (), data.total, method=self, source=data)


class SampledState(NamedTuple):
    """The weights so far."""

    num_steps: int
    point: Floats
    value: float  # as told by the draws of the last round; nan where log Z is not known
    gradient: Floats  # by fresh draws
    is_settled: bool  # whether that is noise
    is_outside: bool  # whether the means of the data were no mixture of those of the draws
    draws: Ints
    generator: np.random.Generator


@dataclass(frozen=True, eq=False)
class SampledObjective(SteeredObjective):
    """Rounds of draws and climbs."""

    method: SampledLikelihood = field(kw_only=True)
    source: Sample = field(kw_only=True)

    @property
    def kind(self) -> str:
        """It is told by draws."""
        return "approximation"

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the gradient by draws at these weights."""
        return self._drawn(weights, self._draw(weights, None, generator_of(self.method.seed))).at(weights)

    def _draw(self, weights: Floats, before: Ints | None, generator: np.random.Generator) -> Ints:
        logs, method = self.design.logs(weights), self.method
        if method.sweeps is None:
            return self.source.tree.draw(logs, method.num_samples, generator)
        rows = GibbsRows.of(self.source)
        if before is None:
            before = rows.states[generator.integers(len(rows.states), size=method.num_samples)]
        for _ in range(method.sweeps):
            before = rows.sweep(before, logs, generator)
        return before

    def _drawn(self, weights: Floats, draws: Ints) -> Objective:
        """The objective with log Z told by draws at weights."""
        logs = self.design.logs(weights)
        constant = self.source.tree.at(logs)[0] if self.method.sweeps is None else 0.0
        part = SampledPartition(self.design.positions(draws), logs, constant)
        return Objective(self.design, self.linear, ((-self.source.repeats, part),), self.total)

    def run(self, penalty: Penalty, optimizer: Any, start: Floats | Run[Any], stops: Stops) -> Run[SampledState]:
        """Draw, climb, and so on."""
        if not penalty.is_smooth:
            raise NotSupported("SampledLikelihood takes priors that are smooth, such as GaussianPrior.")
        begin = start if isinstance(start, Run) else self._init(start, penalty)
        rounds = self.method.rounds if stops.max_steps is None else min(self.method.rounds, stops.max_steps)
        return iterate(
            lambda state: self._step(state, penalty, optimizer),
            begin,
            replace(stops, max_steps=rounds),
            ends=lambda state: CONVERGED if state.is_settled or (rounds == 1 and state.num_steps == 1) else "",
            objective=lambda state: state.value,
        )

    def _init(self, start: Floats, penalty: Penalty) -> SampledState:
        generator = generator_of(self.method.seed)
        return self._state(0, start, penalty, None, generator, is_outside=False)

    def _state(
        self,
        number: int,
        point: Floats,
        penalty: Penalty,
        before: Ints | None,
        generator: np.random.Generator,
        *,
        is_outside: bool,
    ) -> SampledState:
        """The state at a point, looked at by fresh draws."""
        draws = self._draw(point, before, generator)
        value, gradient = self._drawn(point, draws).at(point)
        more, steeper = penalty.smooth(point)
        features = _features(self.design, draws)
        errors = self.source.repeats * features.std(axis=0) / math.sqrt(len(draws))
        slope = gradient + steeper
        is_settled = bool((np.abs(slope) <= _NOISE * errors + 1e-12 * self.total).all()) and number > 0
        told = value + more if self.method.sweeps is None else math.nan
        return SampledState(number, point, told, slope, is_settled, is_outside, draws, generator)

    def _step(self, state: SampledState, penalty: Penalty, optimizer: Any) -> SampledState:
        """Climb what the draws tell while they are worth something, then draw again."""
        goal, features = self._drawn(state.point, state.draws), _features(self.design, state.draws)
        part, method = goal.parts[0][1], read_ascent(optimizer or "l-bfgs")
        assert isinstance(part, SampledPartition)
        is_outside = not penalty.is_strict and not _is_mixture(self.linear / max(self.total, SMALLEST), features)
        if is_outside and self.method.rounds == 1:
            raise InvalidArgument(
                f"The means of the data are no mixture of those of {len(state.draws)} draws, so the sampled likelihood "
                "has no maximum: raise num_samples=, start nearer (start=), let it redraw (rounds=), or give a prior."
            )

        def smooth(weights: Floats) -> tuple[float, Floats]:
            value, gradient = goal.at(weights)
            more, steeper = penalty.smooth(weights)
            return value + more, gradient + steeper

        def is_trusted(point: Floats) -> bool:
            moved = np.abs(self.design.matrix @ (point - state.point)).max(initial=0.0)
            is_near = moved <= _FARTHEST or self.method.rounds == 1
            return is_near and part.worth(self.design.logs(point)) >= _LEAST_WORTH

        def ends(climbed: AscentState) -> str:
            if not is_trusted(climbed.point):
                return "worth"
            if np.abs(climbed.gradient).max(initial=0.0) <= 1e-6 * self.total:
                return CONVERGED
            return "stuck" if climbed.is_stuck else ""

        begin = init_ascent(smooth, state.point)
        point = iterate(lambda one: ascent_step(smooth, one, method), begin, Stops(), ends=ends).state.point
        if self.method.rounds > 1:  # back to where the draws are worth enough
            for _ in range(30):
                if is_trusted(point):
                    break
                point = (point + state.point) / 2
        return self._state(state.num_steps + 1, point, penalty, state.draws, state.generator, is_outside=is_outside)


def _features(design: Any, draws: Ints) -> Floats:
    """Σ f of each draw."""
    places = design.positions(draws)
    return np.asarray(sum(design.matrix[column].toarray() for column in places.T))


def _is_mixture(means: Floats, features: Floats) -> bool:
    """Whether means are those of a distribution over the draws: a linear program."""
    from scipy.optimize import linprog

    distinct = np.unique(features, axis=0)
    system = np.vstack([distinct.T, np.ones(len(distinct))])
    found = linprog(np.zeros(len(distinct)), A_eq=system, b_eq=np.append(means, 1.0), bounds=(0, None))
    return bool(found.status == 0)
