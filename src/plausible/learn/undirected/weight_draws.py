"""Draws of weights given the data and their prior: Langevin steps that are accepted by what an objective says."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import TYPE_CHECKING, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import Seed, check_count, generator_of
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.factors import Factor
from plausible.inference.sampling.chain_diagnostics import ChainDiagnostics, diagnose, r_hat
from plausible.learn.undirected.learned_weights import LearnedWeights
from plausible.learn.undirected.objectives import Objective, SteeredObjective
from plausible.learn.undirected.other_steps import information_matrix
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import Penalty
from plausible.search.chains import ChainLengths, ChainProgress, ChainRun, HasChains, run_chains
from plausible.variables import EvidenceLike

if TYPE_CHECKING:
    import pandas as pd

#: The share of proposals that Langevin steps are best taken at (Roberts & Rosenthal 1998).
_ACCEPTANCE = 0.574
#: Chains begin so many standard deviations about the best weights.
_APART = 2.0


@dataclass(frozen=True, slots=True, eq=False)
class WeightState:
    """Where a chain is; the same state always goes on in the same way, and it can be pickled."""

    point: Floats
    log_posterior: float  # of the weights and the data, as the objective tells it
    gradient: Floats
    step_size: float
    num_accepted: int
    seed: int  # Random numbers of the next step are those of this pair
    num_steps: int


class Langevin(NamedTuple):
    """Metropolis-adjusted Langevin steps in the metric A of the curvature at the best weights.

    θ' = θ + ε²/2 A⁻¹ ∇ log P(θ, D) + ε A^(-1/2) z is taken with the probability that makes P(θ | D) stationary, where
    log P(D | θ) is what the objective says: exact by a clique tree, Bethe's by belief propagation (Murray & Ghahramani
    2004). A step costs one evaluation.
    """

    climbed: Climb[Objective]
    root: Floats  # lower triangular C, with A = C Cᵀ
    tuning: int  # in so many first steps ε is changed towards the best acceptance

    @classmethod
    def about(cls, climbed: Climb[Objective], best: Floats, tuning: int) -> Langevin:
        """In the metric of the curvature, with that of the prior where it has none."""
        information = information_matrix(climbed.objective, best)
        root = np.linalg.cholesky(information + np.diag(_spreads(climbed.penalty)))
        return cls(climbed, np.asarray(root, dtype=np.float64), tuning)

    def init(self, best: Floats, seed: int) -> WeightState:
        """About the best weights, further away than the posterior is wide."""
        noise = np.random.default_rng([seed, 0, 1]).standard_normal(best.size)
        point = best + _APART * self._spread(noise)
        return WeightState(point, *self._at(point), min(1.0, best.size ** (-1 / 6)), 0, seed, 0)

    def step(self, state: WeightState) -> WeightState:
        """A proposal, taken or not."""
        generator, size = np.random.default_rng([state.seed, state.num_steps]), state.step_size
        ahead = state.point + self._drift(state.gradient, size)
        point = ahead + size * self._spread(generator.standard_normal(ahead.size))
        log_posterior, gradient = self._at(point)
        back = point + self._drift(gradient, size)
        ratio = log_posterior - state.log_posterior
        ratio += (self._distance(point - ahead) - self._distance(state.point - back)) / (2 * size**2)
        is_taken = bool(np.log1p(-generator.random()) < ratio)
        if state.num_steps < self.tuning:
            size *= float(np.exp((min(1.0, np.exp(min(ratio, 0.0))) - _ACCEPTANCE) / np.sqrt(1.0 + state.num_steps)))
        made = replace(state, step_size=size, num_steps=state.num_steps + 1)
        if not is_taken:
            return made
        return replace(
            made, point=point, log_posterior=log_posterior, gradient=gradient, num_accepted=state.num_accepted + 1
        )

    def _at(self, point: Floats) -> tuple[float, Floats]:
        penalty = self.climbed.penalty
        value, gradient = self.climbed.smooth(point)
        return value + penalty.sharp(point) + penalty.constant, penalty.steepest(point, gradient)

    def _drift(self, gradient: Floats, size: float) -> Floats:
        from scipy.linalg import cho_solve

        return np.asarray(0.5 * size**2 * cho_solve((self.root, True), gradient))

    def _spread(self, noise: Floats) -> Floats:
        from scipy.linalg import solve_triangular

        return np.asarray(solve_triangular(self.root, noise, lower=True, trans=1))

    def _distance(self, move: Floats) -> float:
        return float(np.sum((self.root.T @ move) ** 2))


def _spreads(penalty: Penalty) -> Floats:
    """One over the variance of each weight a priori, about."""
    rates = penalty.rates + penalty.group_rates[penalty.groups]
    return np.asarray(penalty.precisions + penalty.tails * 4 / np.pi**2 + rates**2 / 2)


@dataclass(frozen=True, eq=False)
class WeightDraws(HasChains):
    """Draws of P(weights | data); made by `sample_weights`."""

    fit: LearnedWeights  # Whose posterior it is
    kind: str  # "exact", or what the log-likelihood is that proposals were judged by
    weights: Floats  # (chains, draws, weights)
    log_posteriors: Floats  # (chains, draws): log P(weights, data)
    acceptance: float  # The share of proposals that were taken, after the burn-in
    run: ChainRun[WeightState]  # How the chains went

    @property
    def mean(self) -> dict[str, float]:
        """The posterior mean of each weight."""
        return self._named(self.weights.mean(axis=(0, 1)))

    @property
    def standard_deviation(self) -> dict[str, float]:
        """The posterior standard deviation of each weight."""
        return self._named(self.weights.std(axis=(0, 1)))

    def interval(self, level: float = 0.95) -> dict[str, tuple[float, float]]:
        """The credible interval of each weight: quantiles of the draws, as much above as below."""
        if not 0 < level < 1:
            raise InvalidArgument(f"The level of an interval is between 0 and 1, such as 0.95, not {level!r}.")
        ends = np.quantile(self.weights, [(1 - level) / 2, (1 + level) / 2], axis=(0, 1))
        return {name: (float(low), float(high)) for name, low, high in zip(self.fit.weights, *ends, strict=True)}

    def query(
        self, targets: str | Sequence[str], evidence: EvidenceLike | None = None, *, max_draws: int = 200
    ) -> Factor:
        """P(targets | evidence, data): Σ P(targets, evidence | θ) over Σ P(evidence | θ), over evenly spaced draws.

        The answer of one network, that of the best weights, forgets how uncertain these are.
        """
        check_count("max_draws", max_draws, 1)
        if not hasattr(self.fit, "network") or callable(self.fit.network):
            raise NotSupported("A field has a network for each row of inputs: average what these say over draws.")
        flat = self.weights.reshape(-1, self.weights.shape[2])
        design = self.fit._climb.objective.design
        logs, tables = list[float](), list[Factor]()
        for place in np.unique(np.linspace(0, len(flat) - 1, min(max_draws, len(flat))).astype(int)):
            network = design.network(design.logs(flat[place]))
            logs.append(network.log_probability(evidence) if evidence else 0.0)
            tables.append(network.query(targets, evidence))
        shares = np.exp(np.array(logs) - max(logs))
        values = sum(share * table.values for share, table in zip(shares / shares.sum(), tables, strict=True))
        return Factor(tables[0].scope, values)

    @property
    def diagnostics(self) -> ChainDiagnostics:
        """R-hat and effective sizes of the log posterior along the chains."""
        return diagnose(self.log_posteriors)

    @property
    def r_hats(self) -> dict[str, float]:
        """Split R-hat of each weight."""
        return self._named(r_hat(self.weights))

    def to_frame(self) -> pd.DataFrame:
        """A row for each weight: its mean, standard deviation, 95 % interval and R-hat."""
        import pandas as pd

        low, high = zip(*self.interval().values(), strict=True)
        columns: dict[str, Sequence[object]] = {
            "weight": list(self.fit.weights),
            "mean": list(self.mean.values()),
            "standard deviation": list(self.standard_deviation.values()),
            "low": low,
            "high": high,
            "r_hat": list(self.r_hats.values()),
        }
        return pd.DataFrame(columns)

    def _named(self, values: Floats) -> dict[str, float]:
        return dict(zip(self.fit.weights, values.tolist(), strict=True))

    def __repr__(self) -> str:
        chains, draws, weights = self.weights.shape
        told = f"{counted(chains, 'chain')} of {counted(draws, 'draw')} of {counted(weights, 'weight')}"
        return f"<WeightDraws: {told}, {self.acceptance:.0%} of proposals taken>"


def sample_weights(
    fit: LearnedWeights,
    *,
    lengths: ChainLengths | None = None,
    start: Sequence[WeightState] = (),
    seed: Seed = 0,
    progress: Callable[[ChainProgress[WeightState]], object] | None = None,
    time_limit: float | None = None,
) -> WeightDraws:
    """Draw weights from their posterior, P(θ | data) ∝ P(data | θ) P(θ), about a fit by `markov` or `crf`.

    Nothing is conjugate to an undirected likelihood but what has its log Z, so that Bayesian averages are had by chains
    (Koller & Friedman 2009, §20.4 and 20.9). A step costs as much as one of the climb. Where an engine told log Z, it
    is that engine's approximate posterior; pseudolikelihoods and others are taken for the likelihood that they are not,
    and look more certain than they are.

    Parameters
    ----------
    fit
        With a prior on every weight: without one a table's weights could go on for ever.
    lengths
        How many chains and draws; by default 4 chains of 500 draws, two steps apart, after a burn-in of 300 steps, in
        which the length of steps is tuned.
    start
        The states of a run before, `draws.states`, to go on with.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [0, 0, 1, 1, 1, 0], "B": [0, 0, 1, 1, 0, 1]}
    >>> same = pb.Feature(["A", "B"], lambda a, b: a == b, name="same")
    >>> draws = pb.learn.sample_weights(pb.learn.markov([same], rows, prior=pb.GaussianPrior(1.0)))
    >>> round(draws.mean["same"], 1), round(draws.standard_deviation["same"], 1)
    (0.4, 0.7)
    """
    climbed = fit._climb
    if isinstance(climbed.objective, SteeredObjective):
        raise NotSupported("Weights are drawn where the objective is a log-likelihood or stands for one, not a margin.")
    if (is_free := climbed.penalty.is_free).any():
        name = list(fit.weights)[int(np.argmax(is_free))]
        raise NotSupported(f"The weight {name!r} has no prior: give one to all, such as prior=pb.GaussianPrior(1.0).")
    options = ChainLengths.read(lengths, ChainLengths(num_draws=500, burn_in=300, thin=2))
    best = fit.run.state.point
    chain = Langevin.about(climbed, best, options.burn_in)
    seeds = generator_of(seed).integers(2**63, size=options.num_chains)
    if any(state.point.shape != best.shape for state in start):
        raise InvalidArgument(f"start= has states of chains over other weights than these {best.size}.")
    made = tuple(start) or tuple(chain.init(best, int(word)) for word in seeds)
    steps = options.steps.after(min(state.num_steps for state in made))
    run = run_chains(chain.step, made, steps, progress, time_limit, attrgetter("point", "log_posterior"))
    weights, log_posteriors = map(run.gathered, range(2))
    pairs = list(zip(run.after_burn_in, run.last, strict=True))
    taken = sum(after.num_accepted - before.num_accepted for before, after in pairs)
    share = taken / max(1, sum(after.num_steps - before.num_steps for before, after in pairs))
    ended = replace(run, kept=(), after_burn_in=())
    return WeightDraws(fit, climbed.objective.kind, weights, log_posteriors, share, ended)
