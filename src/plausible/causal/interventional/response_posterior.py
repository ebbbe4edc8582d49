"""Functional causal models from data: the posterior of response types, and of effects and counterfactuals."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy as np

from plausible.base import Flags, Floats, Ints, Result, Seed, chart_by, check_count, generator_of, record
from plausible.causal.counterfactuals.potential import (
    Copies,
    CopyValue,
    Finding,
    Setting,
    check_comparison,
    findings_under,
    refuse_idle_do,
    state_positions,
)
from plausible.causal.functional.responses import MAX_TYPES, written_product
from plausible.causal.interventional.response_space import (
    ResponsePrior,
    ResponseProblem,
    ResponseSpace,
    ResponseState,
    response_step,
    start_responses,
)
from plausible.causal.queries.observed import CausalLike
from plausible.data.table import Table, TableLike
from plausible.errors import ImpossibleEvidence, InvalidArgument, TooLarge
from plausible.inference.sampling.chain_diagnostics import effective_sample_size, r_hat
from plausible.search.chains import ChainProgress, ChainSteps, run_chains
from plausible.variables.evidence import findings_of, settings_of

if TYPE_CHECKING:
    from plausible.base.pictured import Axes, Chart

#: A question may look at so many combinations of functions.
_MAX_COMBINATIONS = 2**22


@record(eq=False)
class PosteriorAnswer(Result):
    """A number that depends on unknown probabilities of types, as drawn from their posterior."""

    draws: Floats = field(repr=False)  # By chain and draw
    weights: Floats = field(repr=False)  # By chain and draw, how probable the evidence is; all one without evidence

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

    def plot(self, ax: Axes | None = None, *, level: float = 0.95) -> Chart:
        """Draw the draws as a histogram, with their mean and interval; it needs matplotlib (the extra `plot`)."""
        return chart_by(
            "plot_draws", self.draws, self.weights, self.interval(level), ax, f"Posterior, {level:.0%} interval"
        )

    def __str__(self) -> str:
        low, high = self.interval()
        return f"{self.mean:.4g} (95% [{low:.4g}, {high:.4g}])"


@dataclass(frozen=True, slots=True, eq=False)
class ResponsePosterior:
    """Draws of the probabilities of response types; made by `learn_responses`."""

    space: ResponseSpace  # The graph, its variables and their types
    draws: tuple[Floats, ...] = field(repr=False)  # For each component an array by chain, draw and joint type
    #: Where the chains are; `learn_responses(..., start=posterior)` goes on from there.
    state: ResponseState = field(repr=False)
    stopped_by: str = ""  # Empty, or what stopped the chains early: "time limit" or "interrupted"

    def probability(
        self,
        outcome: Mapping[Any, Any],
        *,
        do: Mapping[str, Setting] | None = None,
        evidence: Mapping[Any, Any] | None = None,
    ) -> PosteriorAnswer:
        """P(outcome if `do` were set | evidence): an effect, or with evidence of what was a counterfactual.

        For each draw ν the types that fit are summed up; with evidence e the answer is E[P(outcome, e | ν)] /
        E[P(e | ν)] over the posterior of the rows, which is exact: evidence tells about ν, too.

        Parameters
        ----------
        outcome
            Name -> a state or several, in the world where `do` holds; a key may be a `Potential`, so that joint events
            of several worlds can be asked for, such as who would be cured with a drug and not without.
        do
            Name -> the state to which it is set, or a `Potential` for nested counterfactuals. Refused where every key
            of the outcome is a `Potential`, which says its own world.
        evidence
            Name -> a state or several, in the world as it was, without `do`; keys as in `outcome`.

        Examples
        --------
        >>> from plausible.causal.counterfactuals.potential import Potential
        >>> rows = {"drug": [0] * 20 + [1] * 20, "cured": [0] * 15 + [1] * 5 + [0] * 5 + [1] * 15}
        >>> posterior = learn_responses("drug -> cured", rows, num_draws=200)
        >>> helped = {Potential("cured", {"drug": 1}): 1, Potential("cured", {"drug": 0}): 0}
        >>> low, high = posterior.probability(helped).interval()
        >>> low < 0.55 < high
        True
        """
        refuse_idle_do(settings_of(do), findings_of(outcome))
        asked, known = findings_under(outcome, settings_of(do)), findings_under(evidence, {})
        if not asked:
            raise InvalidArgument("There is no outcome to ask about: outcome= is empty.")
        together = self._chance([*asked, *known])
        if not known:
            return PosteriorAnswer(together, np.ones_like(together))
        weights = self._chance(known)
        if not weights.any():
            raise ImpossibleEvidence("No type of unit could have brought about this evidence.")
        return PosteriorAnswer(np.divide(together, weights, out=np.zeros_like(weights), where=weights > 0), weights)

    def effect(
        self, outcome: Mapping[Any, Any], treatment: Mapping[str, Setting], control: Mapping[str, Setting]
    ) -> PosteriorAnswer:
        """P(outcome | do(treatment)) - P(outcome | do(control)): the average causal effect.

        Parameters
        ----------
        outcome
            Name -> a state or several.
        treatment, control
            The same names -> states.
        """
        check_comparison(treatment, control)
        treated, untreated = (self.probability(outcome, do=do) for do in (treatment, control))
        return PosteriorAnswer(treated.draws - untreated.draws, treated.weights)

    def _chance(self, findings: Sequence[Finding]) -> Floats:
        """By chain and draw the probability that all findings hold, one component summed out after the other."""
        names, holds = _event(self.space, findings)
        shares = []
        for part, drawn in zip(self.space.components, self.draws, strict=True):
            if inside := [name for name in part.names if name in names]:
                gone = tuple(2 + place for place, name in enumerate(part.names) if name not in inside)
                marginal = drawn.reshape(*drawn.shape[:2], *part.shape).sum(axis=gone)
                shares.append(marginal.reshape(-1, math.prod(marginal.shape[2:])))
        chains, num_draws = self.draws[0].shape[:2]
        first, *others = shares or [np.ones((chains * num_draws, 1))]
        left = first @ holds.reshape(first.shape[1], -1).astype(np.float64)
        for share in others:
            left = np.einsum("dt,dtr->dr", share, left.reshape(len(share), share.shape[1], -1))
        return np.asarray(left[:, 0].reshape(chains, num_draws))


def _event(space: ResponseSpace, findings: Sequence[Finding]) -> tuple[tuple[str, ...], Flags]:
    """Which variables' functions decide whether findings, of one world or several, all hold, and where they do.

    The array has an axis for each of these variables, in the order of the components.
    """
    copies = Copies(space.graph, lambda node: space.variables[str(node)])
    found = [
        (copies.value(finding.term), state_positions(space.variables[finding.term.variable], finding.value))
        for finding in findings
    ]
    used = {copy.variable for copy in copies.listed}
    names = tuple(name for part in space.components for name in part.names if name in used)
    shape = [len(space.functions[name]) for name in names]
    if math.prod(shape) > _MAX_COMBINATIONS:
        raise TooLarge(
            f"This question is about {written_product(shape)} combinations of functions, more than "
            f"{_MAX_COMBINATIONS}. Ask about variables with fewer causes, or about fewer of them."
        )
    values: list[Ints] = []

    def state(value: CopyValue) -> Ints:
        return np.asarray(value.code) if value.copy < 0 else values[value.copy]

    for variable, causes in copies.listed:
        place = names.index(variable)
        own = np.arange(shape[place]).reshape([-1 if axis == place else 1 for axis in range(len(names))])
        parents = zip(map(str, space.graph.parents(variable)), causes, strict=True)
        contexts = space.contexts(variable, {parent: state(cause) for parent, cause in parents})
        values.append(space.functions[variable][own, contexts])
    holds = np.ones([1] * len(names), dtype=np.bool_)
    for value, states in found:
        holds = holds & np.isin(state(value), sorted(states))
    return names, np.broadcast_to(holds, tuple(shape))


def learn_responses(
    graph: CausalLike,
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
    is Dirichlet. What the rows leave open stays as the prior has it, within the bounds that the rows set. A sweep costs
    O(different rows x types). The district of a chain of latent causes, A <-> B <-> C, has all joint types: that A and
    C are independent there is not used. See Chickering & Pearl (1997), A clinician's tool for analyzing non-compliance,
    Computing Science and Statistics 29.

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
    start
        A posterior of the same rows, whose chains go on without burn-in.

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
    table = Table.read(data)
    space = ResponseSpace.of(graph, table.variables, max_types)
    problem = ResponseProblem.of(space, table, prior)
    generator = generator_of(seed)
    first = start_responses(problem, num_chains, generator) if start is None else _state_of(start, space, problem)
    steps = ChainSteps(0 if start is not None else burn_in, num_draws, 1)
    run = run_chains(partial(response_step, problem), [first], steps, progress, time_limit)
    draws = []
    for place, alpha in enumerate(problem.pseudo_counts):
        counts = np.stack([state.counts[place].sum(axis=1) for (state,) in run.kept], axis=1)
        gammas = generator.standard_gamma(counts + alpha)
        gammas = np.where(alpha > 0, np.maximum(gammas, np.finfo(float).tiny), 0.0)
        draws.append(gammas / gammas.sum(axis=-1, keepdims=True))
    return ResponsePosterior(space, tuple(draws), run.last[0], run.stopped_by)


def _state_of(start: ResponsePosterior, space: ResponseSpace, problem: ResponseProblem) -> ResponseState:
    """Where the chains of a posterior are; one of another graph or of other rows is refused."""
    if start.space.graph != space.graph or start.space.variables != space.variables:
        known, asked = (", ".join(map(repr, one.variables.values())) for one in (start.space, space))
        raise InvalidArgument(
            f"start= is a posterior of '{start.space.graph}' over {known}, not of '{space.graph}' over {asked}."
        )
    for part, said, alpha, counts in zip(
        space.components, problem.cells, problem.pseudo_counts, start.state.counts, strict=True
    ):
        has_rows = counts.shape[1:] == said.allowed.shape and (counts.sum(axis=2) == said.sizes).all()
        if not has_rows or counts[:, ~(said.allowed & (alpha > 0))].any():
            raise InvalidArgument(
                "start= is a posterior of other rows or another prior: its types of "
                f"{', '.join(map(repr, part.names))} do not fit these rows. Give the rows that it was learned from."
            )
    return start.state
