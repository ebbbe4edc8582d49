"""Contrastive divergence: the data against rows that a few Gibbs sweeps make of them."""

from __future__ import annotations

import math
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import Seed, check_count, check_flag, check_number, generator_of
from plausible.errors import NotSupported
from plausible.learn.undirected.gibbs_rows import GibbsRows
from plausible.learn.undirected.objectives import Objective, ObjectiveMethod, Pseudolikelihood, SteeredObjective
from plausible.learn.undirected.priors import Penalty
from plausible.learn.undirected.sample import Sample
from plausible.search.run import CONVERGED, Run, Stops, iterate

#: How fast the mean of the weights forgets the first ones (Shamir & Zhang 2013).
_FORGETTING = 3.0


@dataclass(frozen=True, slots=True)
class ContrastiveDivergence(ObjectiveMethod):
    """Raise Σ θ·f of the data against that of rows which a few Gibbs sweeps make of them: CD-k (Hinton 2002).

    The gradient of the likelihood is Σ_m f(row m) - M E_θ[f]; in the place of E_θ[f] stands the mean over chains that
    begin at the rows and make `steps` sweeps, so that it costs no inference. The more steps, the nearer its mean is to
    the gradient, and the larger its variance; with few steps it climbs no function at all, so `fit.objective` is nan,
    and the trace is the pseudolikelihood of the weights so far, which need not rise. The weights are a mean over the
    steps that forgets the first ones. A run ends at `max_steps`; "converged" is told only where that mean moves by no
    more than `tolerance` in a step. A step costs sweeps x rows x tables (Koller & Friedman 2009, §20.6.2.1).

    Parameters
    ----------
    steps
        The sweeps of each step, k.
    persistent
        Whether chains go on from where they were, PCD (Tieleman 2008), and don't begin at the data again.
    chains
        How many; one for each row where left out. Fewer begin at rows drawn at random.
    learning_rate, decay
        Step t moves weights by learning_rate / (1 + decay t) times the gradient for a row.
    seed
        The same seed gives the same weights.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [0, 0, 1, 1, 1, 0] * 50, "B": [0, 0, 1, 1, 0, 1] * 50}
    >>> same = pb.Feature(["A", "B"], lambda a, b: a == b, name="same")
    >>> fit = pb.learn.markov([same], rows, objective=pb.learn.ContrastiveDivergence(seed=0), max_steps=300)
    >>> abs(fit.weights["same"] - 0.6931) < 0.05, fit.objective
    (True, nan)
    """

    steps: int = 1
    persistent: bool = False
    chains: int | None = None
    learning_rate: float = 1.0
    decay: float = 0.01
    seed: Seed = None

    def __post_init__(self) -> None:
        check_count("steps", self.steps, least=1)
        check_flag("persistent", self.persistent)
        if self.chains is not None:
            check_count("chains", self.chains, least=1)
        check_number("learning_rate", self.learning_rate, above=0)
        check_number("decay", self.decay, least=0)

    def on(self, data: Sample) -> ContrastiveObjective:
        """Rows and chains."""
        data.refuse_missing("contrastive divergence")
        if self.chains is not None and data.statistics is None:
            raise NotSupported("A conditional field has a chain for each row, given its inputs: leave chains= out.")
        rows = GibbsRows.of(data)
        return ContrastiveObjective(
            data.design,
            data.feature_totals,
            (),
            data.total,
            is_own=True,
            method=self,
            rows=rows,
            told=Pseudolikelihood().on(data),
        )


class ContrastiveState(NamedTuple):
    """The weights so far, their mean, and the chains."""

    num_steps: int
    point: Floats  # the mean, which forgets
    value: float  # nan: nothing is climbed
    gradient: Floats  # the last estimate, prior included
    pseudolikelihood: float  # of the mean, prior included
    weights: Floats  # of this step
    chains: Ints  # rows of states
    generator: np.random.Generator
    change: float = math.inf  # of the mean, in the last step


@dataclass(frozen=True, eq=False)
class ContrastiveObjective(SteeredObjective):
    """The data against chains."""

    method: ContrastiveDivergence = field(kw_only=True)
    rows: GibbsRows = field(kw_only=True)
    told: Objective = field(kw_only=True)

    @property
    def kind(self) -> str:
        """Nothing is climbed but an approximation of a gradient."""
        return "approximation"

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """No value, and an estimate of the gradient from chains that begin at the data."""
        generator = generator_of(self.method.seed)
        return math.nan, self.contrast(weights, self._begin(generator), generator)[0]

    def contrast(self, weights: Floats, chains: Ints, generator: np.random.Generator) -> tuple[Floats, Ints]:
        """Σ f of the data less that of chains after some sweeps, as if there were as many; and the chains."""
        logs = self.rows.design.logs(weights)
        for _ in range(self.method.steps):
            chains = self.rows.sweep(chains, logs, generator)
        shares = self.rows.weights if self.method.chains is None else np.full(len(chains), self.total / len(chains))
        return self.linear - np.asarray(shares @ self.rows.features(chains)).ravel(), chains

    def _begin(self, generator: np.random.Generator) -> Ints:
        if self.method.chains is None:
            return self.rows.states
        shares = self.rows.weights / self.rows.weights.sum()
        return self.rows.states[generator.choice(len(shares), self.method.chains, p=shares)]

    def _told(self, point: Floats, penalty: Penalty) -> float:
        return self.told.at(point)[0] + penalty.smooth(point)[0] + penalty.sharp(point)

    def run(self, penalty: Penalty, optimizer: Any, start: Floats | Run[Any], stops: Stops) -> Run[ContrastiveState]:
        """Steps along estimates of the gradient."""
        if optimizer is not None:
            raise NotSupported("Contrastive divergence has steps of its own: leave optimizer= out.")
        begin = start if isinstance(start, Run) else self._init(start, penalty)
        return iterate(
            lambda state: self._step(state, penalty),
            begin,
            stops,
            ends=lambda state: CONVERGED if state.change <= stops.tolerance else "",
            objective=lambda state: state.pseudolikelihood,
        )

    def _init(self, start: Floats, penalty: Penalty) -> ContrastiveState:
        generator, nothing = generator_of(self.method.seed), np.full(start.size, math.nan)
        told = self._told(start, penalty)
        return ContrastiveState(0, start, math.nan, nothing, told, start, self._begin(generator), generator)

    def _step(self, state: ContrastiveState, penalty: Penalty) -> ContrastiveState:
        method, number, generator = self.method, state.num_steps + 1, state.generator
        begin = state.chains if method.persistent else self._begin(generator)
        slope, chains = self.contrast(state.weights, begin, generator)
        slope = slope + penalty.smooth(state.weights)[1]
        length = method.learning_rate / (1 + method.decay * number) / max(self.total, 1.0)
        weights = penalty.shrunk(state.weights + length * slope, length)
        share = (_FORGETTING + 1) / (number + _FORGETTING)
        point = state.point + share * (weights - state.point)
        change = float(np.abs(point - state.point).max(initial=0.0))
        told = self._told(point, penalty)
        return ContrastiveState(number, point, math.nan, slope, told, weights, chains, generator, change)
