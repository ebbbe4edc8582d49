"""How many clusters: what scores of mixtures choose, against the marginal likelihood by the candidate method."""

from __future__ import annotations

import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from itertools import permutations, product
from typing import NamedTuple

import numpy as np

from plausible.base import Floats, Positions, Seed, generator_of
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn import MixtureClustering, MixturePrior
from plausible.learn.mixtures.comparison import CRITERIA, choose_clusters
from plausible.search.run import Clock
from plausible.variables import Variable

#: Estimates that fewer draws carry are not trusted.
_FEWEST_DRAWS = 10.0
#: 8! = 40,320 relabellings are summed for each sweep.
_MOST_CLUSTERS = 8
#: Uniform priors, and a little more, so that no fitted parameter is zero.
_PRIOR = MixturePrior(weights=0.1, cells=0.1)


class CandidateEvidence(NamedTuple):
    """An estimate of log P(D), and how many of the draws carry it.

    `num_effective` is (Σ p)² / Σ p² for the densities p(θ | D, C) of all draws. Where it is near one, the draw that
    matters most may have been missed, and the estimate is then too great: take more sweeps.
    """

    log_evidence: float
    num_effective: float


class _Theta(NamedTuple):
    weights: Floats  # of clusters
    tables: Floats  # P(state | cluster) for the states of all features


class _Draw(NamedTuple):
    """Clusters of all rows, as counts of states, and of rows, in each cluster."""

    counts: Floats
    sizes: Floats


def candidate_evidence(
    clustering: MixtureClustering, data: Table, *, num_sweeps: int = 300, burn_in: int = 50, seed: Seed = 0
) -> CandidateEvidence:
    """log P(D) = log P(D | θ) + log p(θ) - log p(θ | D), at one θ (Chib 1995; K&F 19.4.1.3).

    p(θ | D) is the mean of p(θ | D, C) over clusters C drawn by Gibbs sampling, each time a product of Dirichlet
    densities, and over all K! relabellings of each draw, which a chain seldom visits though they are as probable. θ is
    the posterior mean of the chain, relabelled as the fit: at the mode of a mixture with needless clusters there is
    hardly any mass. Priors are those of the fit: Dirichlet distributions with one case and the pseudo-count for each
    cell. A sweep costs O(rows K states), and O(K! K) for relabellings; at most eight clusters.
    """
    chain, generator = _Chain(clustering, data), generator_of(seed)
    here = theta = _Theta(clustering.parameters_.weights, clustering.parameters_.tables)
    draws, aligned = list[_Draw](), list[_Draw]()
    for sweep in range(burn_in + num_sweeps):
        drawn = chain.clusters(here, generator)
        here = chain.parameters(drawn, generator)
        if sweep >= burn_in:
            draws.append(drawn)
            # with its clusters named as those of θ that they fit best
            order = np.argsort(chain.relabellings[chain.fits(drawn, theta).argmax()])
            aligned.append(_Draw(drawn.counts[order], drawn.sizes[order]))
    counts, sizes = (np.mean(part, axis=0) for part in zip(*aligned, strict=True))
    theta = chain.normalised(sizes + chain.of_weights, counts + chain.of_cells)
    densities = np.array([chain.log_density(drawn, theta) for drawn in draws])
    posterior = _log_mean(densities)
    nothing = _Draw(np.zeros_like(theta.tables), np.zeros_like(theta.weights))
    shares = np.exp(densities - posterior) / len(densities)
    log_likelihood = float(np.logaddexp.reduce(chain.log_joint(theta), axis=1).sum())
    estimate = log_likelihood + chain.log_density(nothing, theta) - posterior
    return CandidateEvidence(estimate, float(1 / (shares**2).sum()))


class _Chain:
    """Gibbs sampling of clusters and parameters, and p(θ | clusters) under all relabellings."""

    def __init__(self, clustering: MixtureClustering, data: Table) -> None:
        space, found, prior = clustering.space_, clustering.parameters_, clustering.kind_.prior
        if space.continuous or clustering.kind_.has_equal_weights or clustering.kind_.is_hard:
            raise NotSupported("The candidate method is for soft mixtures of discrete features with free weights.")
        if not (found.tables > 0).all() or not (found.weights > 0).all():
            raise InvalidArgument("Some parameters are zero: fit with a prior above zero, MixturePrior(0.1, 0.1).")
        if len(found.weights) > _MOST_CLUSTERS:
            raise NotSupported(f"{len(found.weights)} clusters have too many relabellings: {_MOST_CLUSTERS} at most.")
        if data.weights is not None:
            raise NotSupported("The candidate method draws a cluster for each row: repeat rows rather than weigh them.")
        self.indicators = space.encode(data, is_grouped=False).indicators
        self.starts, self.num_states = space.offsets[:-1], space.num_states
        self.of_weights, self.of_cells = 1 + prior.weights, 1 + prior.cells
        self.numbers = np.arange(len(found.weights))
        self.relabellings = np.array(list(permutations(self.numbers)))

    def clusters(self, theta: _Theta, generator: np.random.Generator) -> _Draw:
        """A cluster for each row, given the parameters."""
        logs = self.log_joint(theta)
        # Adding Gumbel noise and taking the greatest is a draw from the softmax.
        drawn = (logs + generator.gumbel(size=logs.shape)).argmax(axis=1)
        members = np.equal.outer(self.numbers, drawn).astype(np.float64)
        return _Draw(members @ self.indicators, members.sum(axis=1))

    def parameters(self, drawn: _Draw, generator: np.random.Generator) -> _Theta:
        """Parameters, given the clusters."""
        floor = np.finfo(float).tiny
        cells = np.maximum(generator.standard_gamma(drawn.counts + self.of_cells), floor)
        weights = np.maximum(generator.standard_gamma(drawn.sizes + self.of_weights), floor)
        return self.normalised(weights, cells)

    def log_density(self, drawn: _Draw, theta: _Theta) -> float:
        """log of the mean over relabellings π of p(θ_π | draw): products of Dirichlet densities."""
        from scipy.special import gammaln

        shape, weight = drawn.counts + self.of_cells, drawn.sizes + self.of_weights
        whole = gammaln(np.add.reduceat(shape, self.starts, axis=1)).sum() - gammaln(shape).sum()
        return float(whole + gammaln(weight.sum()) - gammaln(weight).sum()) + _log_mean(self.fits(drawn, theta))

    def fits(self, drawn: _Draw, theta: _Theta) -> Floats:
        """For each relabelling Σ (cases - 1) log θ: one term for each cluster of the draw and its one of θ."""
        pairs = (drawn.counts + self.of_cells - 1) @ np.log(theta.tables).T
        pairs += np.outer(drawn.sizes + self.of_weights - 1, np.log(theta.weights))
        return np.asarray(pairs[self.numbers, self.relabellings].sum(axis=1))

    def log_joint(self, theta: _Theta) -> Floats:
        return np.asarray(self.indicators @ np.log(theta.tables).T + np.log(theta.weights))

    def normalised(self, weights: Floats, cells: Floats) -> _Theta:
        totals = np.repeat(np.add.reduceat(cells, self.starts, axis=1), self.num_states, axis=1)
        return _Theta(weights / weights.sum(), cells / totals)


def _log_mean(logs: Floats) -> float:
    peak = float(logs.max())
    return peak + math.log(float(np.exp(logs - peak).mean()))


@dataclass(frozen=True, slots=True)
class ScoreDesign:
    """What is tried."""

    #: How alike clusters are: zero for tables that are drawn by themselves, one for equal ones.
    overlaps: Sequence[float] = (0.0, 0.25, 0.5)
    num_trials: int = 3  # mixtures for each overlap
    num_rows: int = 200  # of each mixture, as the next three
    num_features: int = 10
    num_states: int = 2
    num_clusters: int = 3
    max_clusters: int = 5  # the most that can be chosen
    criteria: Sequence[str] = CRITERIA  # of `choose_clusters`
    num_sweeps: int = 500  # of the candidate method

    def __post_init__(self) -> None:
        if not all(0 <= overlap <= 1 for overlap in self.overlaps):
            raise InvalidArgument(f"overlaps={tuple(self.overlaps)}: from zero to one each.")
        for name in ("num_trials", "num_rows", "num_features", "num_states", "num_clusters", "max_clusters"):
            if getattr(self, name) < 1:
                raise InvalidArgument(f"{name}={getattr(self, name)!r} is at least one.")


class ScoreTrial(NamedTuple):
    """One mixture: how alike its clusters are, the candidate method for 1, 2, ... clusters, and what criteria chose."""

    overlap: float
    candidates: tuple[CandidateEvidence, ...]
    chosen: dict[str, int]

    @property
    def reference(self) -> int:
        """The number with the greatest evidence, of those whose estimates at least ten draws carry, or one cluster.

        The others are too great: the posterior of many clusters that overlap is too wide for the draws.
        """
        told = [each.log_evidence if each.num_effective >= _FEWEST_DRAWS else -math.inf for each in self.candidates]
        return 1 + int(np.argmax(told))

    @property
    def share_left_out(self) -> float:
        """Of the estimates of the candidate method, the share that too few draws carry."""
        return float(np.mean([each.num_effective < _FEWEST_DRAWS for each in self.candidates]))


@dataclass(frozen=True, slots=True, eq=False)
class ScoreComparison:
    """What came of a design."""

    design: ScoreDesign  # What was tried
    trials: tuple[ScoreTrial, ...]  # All mixtures that there was time for

    def errors(self, criterion: str, overlap: float) -> Positions:
        """The number that a criterion chose less that of the candidate method, for each trial of an overlap."""
        trials = [trial for trial in self.trials if trial.overlap == overlap]
        return np.array([trial.chosen[criterion] - trial.reference for trial in trials], dtype=np.intp)

    def table(self) -> str:
        """A line for each criterion, a column for each overlap: the mean error, and the mean of its absolute value.

        The last lines have the mean number by the candidate method, and the share of its estimates that were left
        out as too few draws carry them: where that is large, the errors are relative to a doubtful number.
        """
        columns: dict[float, list[ScoreTrial]] = {}
        for trial in self.trials:
            columns.setdefault(trial.overlap, []).append(trial)
        rows = {"overlap": [f"{overlap:g}" for overlap in columns]}
        for criterion in self.design.criteria:
            errors = [self.errors(criterion, overlap) for overlap in columns]
            rows[criterion] = [f"{each.mean():+.1f} ({np.abs(each).mean():.1f})" for each in errors]
        rows["(candidate)"] = [f"{np.mean([trial.reference for trial in each]):.1f}" for each in columns.values()]
        rows["(left out)"] = [f"{np.mean([trial.share_left_out for trial in each]):.0%}" for each in columns.values()]
        lines = [f"{name:<18}" + "".join(f"{cell:>16}" for cell in cells) for name, cells in rows.items()]
        return "\n".join(["Chosen less that of the candidate method: mean (mean absolute)", *lines])


def compare_scores(
    design: ScoreDesign | None = None,
    *,
    seed: Seed = 0,
    progress: Callable[[ScoreTrial], object] | None = None,
    time_limit: float | None = None,
) -> ScoreComparison:
    """Draw mixtures whose clusters overlap more and more; choose how many clusters there are by each criterion.

    The error is the number chosen less that of the candidate method, not less the true one: where clusters overlap, the
    rows do not tell them apart, and the number that is most probable given the rows is smaller (K&F box 19.G). There is
    at least one trial, whatever the time limit.
    """
    chosen, clock, trials = design or ScoreDesign(), Clock.of(time_limit), list[ScoreTrial]()
    numbers = range(1, chosen.max_clusters + 1)
    # The same seeds for all overlaps, so that only these differ between the columns of the table.
    seeds = generator_of(seed).integers(1 << 32, size=chosen.num_trials).tolist()
    for overlap, own_seed in product(chosen.overlaps, seeds):
        generator = generator_of(own_seed)
        rows = draw_mixture_rows(chosen, overlap, generator)
        fits = [MixtureClustering(number, prior=_PRIOR).fit(rows) for number in numbers]
        evidence = [candidate_evidence(fit, rows, num_sweeps=chosen.num_sweeps, seed=generator) for fit in fits]
        best = {name: choose_clusters(rows, numbers, name, prior=_PRIOR).best for name in chosen.criteria}
        trials.append(ScoreTrial(overlap, tuple(evidence), best))
        if (progress is not None and progress(trials[-1])) or clock.is_over:
            break
    return ScoreComparison(chosen, tuple(trials))


def draw_mixture_rows(design: ScoreDesign, overlap: float, seed: Seed = 0) -> Table:
    """Rows of a mixture with P(x_i | c) = (1 - overlap) · own table of c + overlap · table common to all c."""
    generator = generator_of(seed)
    own = generator.dirichlet(np.full(design.num_states, 0.5), size=(design.num_clusters, design.num_features))
    common = generator.dirichlet(np.ones(design.num_states), size=design.num_features)
    tables = (1 - overlap) * own + overlap * common
    clusters = generator.integers(design.num_clusters, size=design.num_rows)
    limits = tables.cumsum(axis=2)[clusters][:, :, :-1]
    states = (generator.random((design.num_rows, design.num_features, 1)) > limits).sum(axis=2)
    variables = [Variable(f"x{number}", design.num_states) for number in range(design.num_features)]
    return Table.read({v.name: states[:, place] for place, v in enumerate(variables)}, variables)
