"""Functional causal models from data: the posterior of response types, and of effects and counterfactuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.causal.interventional.response_sampler import (
    ResponsePrior,
    ResponseProblem,
    ResponseState,
    response_step,
    start_responses,
)
from plausible.causal.interventional.response_space import MAX_TYPES, ResponseSpace
from plausible.data.table import Table, TableLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge, UnknownVariable
from plausible.graphs import DAG, CausalGraph
from plausible.graphs.graph_input import GraphLike
from plausible.graphs.seeds import Seed, generator_of
from plausible.inference.options import check_count, check_seconds
from plausible.inference.sampling.chain_diagnostics import effective_sample_size, r_hat
from plausible.learn.chains import ChainProgress, ChainSteps, run_chains

__all__ = ["PosteriorAnswer", "ResponsePosterior", "learn_responses"]

Ints = NDArray[np.int64]
Floats = NDArray[np.float64]

#: A question may look at so many combinations of functions.
_MAX_COMBINATIONS = 2**22


@dataclass(frozen=True, slots=True, eq=False)
class PosteriorAnswer:
    """A number that depends on unknown probabilities of types, as drawn from their posterior.

    Attributes
    ----------
    draws
        By chain and draw.
    weights
        By chain and draw, how probable the evidence is; all one without evidence.
    """

    draws: Floats = field(repr=False)
    weights: Floats = field(repr=False)

    @property
    def mean(self) -> float:
        """The posterior mean: the answer itself, if it is a probability."""
        return float(np.average(self.draws, weights=self.weights))

    def interval(self, level: float = 0.95) -> tuple[float, float]:
        """A credible interval with equal tails."""
        if not 0 < level < 1:
            raise InvalidArgument(f"level={level!r} is a probability between 0 and 1.")
        order = np.argsort(self.draws, axis=None)
        shares = np.cumsum(self.weights.ravel()[order])
        tails = np.array([(1 - level) / 2, (1 + level) / 2]) * shares[-1]
        low, high = self.draws.ravel()[order][np.minimum(np.searchsorted(shares, tails), order.size - 1)]
        return float(low), float(high)

    @property
    def r_hat(self) -> float:
        """Near one if the chains agree."""
        return float(r_hat(self.draws))

    @property
    def effective_sample_size(self) -> float:
        """How many independent draws would tell as much."""
        return float(effective_sample_size(self.draws))

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.mean:.4g} (95% [{low:.4g}, {high:.4g}])"


@dataclass(frozen=True, slots=True, eq=False)
class ResponsePosterior:
    """Draws of the probabilities of response types; made by `learn_responses`.

    Attributes
    ----------
    space
        The graph, its variables and their types.
    draws
        For each component an array by chain, draw and joint type.
    state
        Where the chains are; `learn_responses(..., start=posterior)` goes on from there.
    stopped
        Empty, or what stopped the chains early.
    """

    space: ResponseSpace
    draws: tuple[Floats, ...] = field(repr=False)
    state: ResponseState = field(repr=False)
    stopped: str = ""

    def probability(
        self,
        outcome: Mapping[str, Any],
        *,
        do: Mapping[str, Any] | None = None,
        evidence: Mapping[str, Any] | None = None,
    ) -> PosteriorAnswer:
        """P(outcome if `do` were set | evidence): an effect, or with evidence of what was a counterfactual.

        For each draw ν the types that fit are summed up; with evidence e the answer is E[P(outcome, e | ν)] /
        E[P(e | ν)] over the posterior of the rows, which is exact: evidence tells about ν, too.

        Parameters
        ----------
        outcome
            Name -> state, in the world where `do` holds.
        do
            Name -> the state to which it is set.
        evidence
            Name -> state, in the world as it was, without `do`.
        """
        outcome, do, evidence = (self._positions(given) for given in (outcome, do, evidence))
        wanted, seen = self._fitting(outcome, do), self._fitting(evidence, {})
        together = self._mean_of({**wanted.axes, **seen.axes}, lambda axes: wanted.on(axes) & seen.on(axes))
        if not evidence:
            return PosteriorAnswer(together, np.ones_like(together))
        weights = self._mean_of(seen.axes, seen.on)
        if not weights.any():
            raise ImpossibleEvidence("No type of unit could have brought about this evidence.")
        return PosteriorAnswer(np.divide(together, weights, out=np.zeros_like(weights), where=weights > 0), weights)

    def effect(
        self, outcome: Mapping[str, Any], treatment: Mapping[str, Any], control: Mapping[str, Any]
    ) -> PosteriorAnswer:
        """P(outcome | do(treatment)) - P(outcome | do(control)): the average causal effect.

        Parameters
        ----------
        outcome, treatment, control
            Name -> state.
        """
        if set(treatment) != set(control):
            raise InvalidArgument("treatment= and control= set the same variables, to different states.")
        treated, untreated = (self.probability(outcome, do=do) for do in (treatment, control))
        return PosteriorAnswer(treated.draws - untreated.draws, treated.weights)

    # --- worlds ---

    def _positions(self, given: Mapping[str, Any] | None) -> dict[str, int]:
        found = {}
        for name, state in (given or {}).items():
            if name not in self.space.variables:
                raise UnknownVariable.named(name, self.space.variables, "this graph")
            found[name] = self.space.variables[name].index(state)
        return found

    def _fitting(self, facts: Mapping[str, int], do: Mapping[str, int]) -> _Fitting:
        """Which combinations of functions bring about facts; an axis for each variable whose function matters."""
        space = self.space
        cut = space.graph.without_incoming(list(do)) if do else space.graph
        relevant = {*facts, *map(str, cut.ancestors(list(facts)))} if facts else set()
        free = [name for name in space.variables if name in relevant and name not in do]
        axes = {name: len(space.functions[name]) for name in free}
        if math.prod(axes.values()) > _MAX_COMBINATIONS:
            raise TooLarge(
                f"This question is about {math.prod(axes.values()):.3g} combinations of functions, more than "
                f"{_MAX_COMBINATIONS}. Ask about variables with fewer causes."
            )
        values: dict[str, Ints] = {name: np.array(state) for name, state in do.items()}
        for place, name in enumerate(free):
            own = np.arange(axes[name]).reshape([-1 if axis == place else 1 for axis in range(len(free))])
            values[name] = space.functions[name][own, space.contexts(name, values)]
        fits = np.ones([1] * len(free), dtype=np.bool_)
        for name, state in facts.items():
            fits = fits & (values[name] == state)
        return _Fitting(axes, np.broadcast_to(fits, tuple(axes.values())))

    def _mean_of(self, axes: Mapping[str, int], fits: Callable[[Mapping[str, int]], NDArray[np.bool_]]) -> Floats:
        """By chain and draw the probability of the combinations that fit, one component summed out after the other."""
        ordered: dict[str, int] = {}
        shares = []
        for part, drawn in zip(self.space.components, self.draws, strict=True):
            inside = {name: axes[name] for name in part.names if name in axes}
            if inside:
                gone = tuple(2 + place for place, name in enumerate(part.names) if name not in axes)
                marginal = drawn.reshape(*drawn.shape[:2], *part.shape).sum(axis=gone)
                shares.append(marginal.reshape(-1, math.prod(inside.values())))
                ordered |= inside
        num_combinations = math.prod(ordered.values())
        if num_combinations > _MAX_COMBINATIONS:
            raise TooLarge("Outcome and evidence together have too many combinations of functions. Ask about fewer.")
        chains, num_draws = self.draws[0].shape[:2]
        left = np.ones((chains * num_draws, 1))
        if shares:
            left = shares[0] @ fits(ordered).reshape(shares[0].shape[1], -1).astype(np.float64)
        for share in shares[1:]:
            left = np.einsum("dt,dtr->dr", share, left.reshape(len(share), share.shape[1], -1))
        return np.asarray(left[:, 0].reshape(chains, num_draws))


@dataclass(frozen=True, slots=True, eq=False)
class _Fitting:
    """An array that is true where functions fit, with an axis for each variable."""

    axes: Mapping[str, int]
    fits: NDArray[np.bool_]

    def on(self, axes: Mapping[str, int]) -> NDArray[np.bool_]:
        """The same with other axes in other order; it does not depend on those that it did not have."""
        own = list(self.axes)
        moved = self.fits.transpose([own.index(name) for name in axes if name in self.axes])
        spread = moved.reshape([size if name in self.axes else 1 for name, size in axes.items()])
        return np.broadcast_to(spread, tuple(axes.values()))


def learn_responses(
    graph: GraphLike[DAG | CausalGraph],
    data: TableLike,
    prior: ResponsePrior = 1.0,
    *,
    num_draws: int = 1000,
    burn_in: int = 200,
    num_chains: int = 4,
    seed: Seed = 0,
    start: ResponsePosterior | None = None,
    progress: Callable[[ChainProgress[ResponseState]], object] | None = None,
    time_limit: float | None = None,
    max_types: int = MAX_TYPES,
) -> ResponsePosterior:
    """The posterior of a functional causal model of known graph, by collapsed Gibbs sampling.

    Each variable is a function of its parents; which one differs from unit to unit. Variables of a district, which
    latent causes connect, have joint types with unknown probabilities ν, and these a Dirichlet prior. A row restricts
    its type to those that send its causes to its effects. Types of rows are drawn with ν integrated out; given these, ν
    is Dirichlet. What the rows leave open stays as the prior has it, within the bounds that the rows set.

    Parameters
    ----------
    graph
        Causes (`->`) and latent common causes (`<->`); arrow text will do.
    data
        What `Table.read` takes: complete rows of discrete variables; interventions are heeded.
    prior
        The pseudo-count of every joint type; or names of a component -> an array of pseudo-counts, with an axis for the
        functions of each variable in the order of `ResponseSpace.functions`, where 0 rules a type out.
    num_draws, burn_in, num_chains
        Sweeps of each chain that count, those before them, and how many chains there are.
    seed
        A whole number or a generator.
    start
        A posterior of the same rows, whose chains go on without burn-in.
    progress
        Told a `ChainProgress` after each sweep of all chains; a true answer stops.
    time_limit
        Seconds after which no further sweep begins.
    max_types
        A component with more joint types is refused.

    Notes
    -----
    A sweep costs O(different rows x types). The district of a chain of latent causes, A <-> B <-> C, has all joint
    types: that A and C are independent there is not used.

    References
    ----------
    Chickering & Pearl (1997), A clinician's tool for analyzing non-compliance, Computing Science and Statistics 29.

    Examples
    --------
    >>> rows = {"drug": [0] * 20 + [1] * 20, "cured": [0] * 15 + [1] * 5 + [0] * 5 + [1] * 15}
    >>> posterior = learn_responses("drug -> cured", rows, num_draws=200)
    >>> answer = posterior.effect({"cured": 1}, {"drug": 1}, {"drug": 0})
    >>> 0.3 < answer.mean < 0.55
    True
    """
    for name, number in (("num_draws", num_draws), ("num_chains", num_chains)):
        check_count(name, number, 1)
    check_count("burn_in", burn_in)
    check_seconds("time_limit", time_limit)
    table = Table.read(data)
    space = ResponseSpace.of(graph, table.variables, max_types)
    problem = ResponseProblem.of(space, table, prior)
    generator = generator_of(seed)
    first = start_responses(problem, num_chains, generator) if start is None else start.state
    steps = ChainSteps(0 if start is not None else burn_in, num_draws, 1)
    run = run_chains(partial(response_step, problem), [first], steps, progress, time_limit)
    draws = []
    for place, alpha in enumerate(problem.pseudo_counts):
        counts = np.stack([state.type_counts(place) for (state,) in run.kept], axis=1)
        gammas = generator.standard_gamma(counts + alpha)
        gammas = np.where(alpha > 0, np.maximum(gammas, np.finfo(float).tiny), 0.0)
        draws.append(gammas / gammas.sum(axis=-1, keepdims=True))
    return ResponsePosterior(space, tuple(draws), run.last[0], run.stopped)
