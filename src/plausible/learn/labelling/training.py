"""Ways to find the weights of a chain: climbing the likelihood, and steps by one sequence after the other."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any, NamedTuple, TypeVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import record
from plausible.errors import InvalidArgument, NotSupported, counted
from plausible.kernels.label_chains import Steps, gradient_epoch, perceptron_epoch
from plausible.learn.labelling.likelihood import ChainLikelihood, LabelledTokens, LabelLikelihood
from plausible.learn.undirected.climbing import Begin, climb
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import Penalty
from plausible.search.ascent import LBFGS, Ascent, OrthantWise
from plausible.search.run import CONVERGED, HasRun, Run, Stops, iterate

StateT = TypeVar("StateT", bound=tuple[Any, ...])

#: How many differences L-BFGS keeps: more make steps better, and longer where there are a million weights.
_MEMORY = 6


@record(eq=False)
class Training(HasRun):
    """How the weights of a sequence labeller were found."""

    _told = ("method", "log_likelihood", "objective", "num_weights", "num_nonzero", "gap", *HasRun._told)

    method: str
    log_likelihood: float  # Σ log P(labels | features) of the data, without the prior
    objective: float  # what was climbed; for "perceptron" minus the wrong labels of the last epoch
    num_weights: int
    num_nonzero: int
    run: Run[Any]
    gap: float | None = None  # how far the objective is from the best one at most, where the method knows

    def __str__(self) -> str:
        ended = f"{self.stopped_by} after {counted(self.num_steps, 'step')}"
        weights = f"{self.num_nonzero} of {counted(self.num_weights, 'weight')} not zero"
        gap = "" if self.gap is None else f", gap {self.gap:.3g}"
        return f"{self.method}: log-likelihood {self.log_likelihood:.6g}, {weights}, {ended}{gap}"


class Trained(NamedTuple):
    """Weights, and the run that led to them."""

    weights: Floats
    run: Run[Any]
    gap: float | None = None


def climb_likelihood(likelihood: LabelLikelihood, penalty: Penalty, begin: Begin, stops: Stops) -> Trained:
    """The weights at the top of log-likelihood and log prior, by L-BFGS; orthant by orthant where there are kinks.

    It has converged where no derivative exceeds the tolerance times the number of tokens, in units of the features.
    """
    method: Ascent | None = LBFGS(_MEMORY) if penalty.is_smooth else OrthantWise(penalty, _MEMORY)
    if penalty.group_rates.any():
        method = None  # which is proximal
    run = climb(Climb(likelihood, penalty), method, begin, stops)
    return Trained(run.state.point, run)


def begun(start: StateT, resume: Any) -> StateT | Run[StateT]:
    """A start, or what `resume=` has in its place: a run of the same method, or a state of it."""
    state = resume.state if isinstance(resume, Run) else resume
    if state is None:
        return start
    if type(state) is not type(start) or state[1].shape != start[1].shape:
        raise InvalidArgument(
            "resume= takes the run of an earlier fit of the same sequences by the same method, training_.run, or the "
            "last state that progress= was told."
        )
    return resume if isinstance(resume, Run) else Run(state, state[0])


class EpochState(NamedTuple):
    """Weights after some epochs, and what the next one needs."""

    num_steps: int
    point: Floats  # the weights
    objective: float
    sums: Floats  # of the changes, each times when it was made: for the average
    num_wrong: int = 0


def average_perceptron(
    data: LabelledTokens, stops: Stops, generator: np.random.Generator, resume: Any = None
) -> Trained:
    """The average of the weights over all steps of a structured perceptron (Collins 2002).

    It has converged after an epoch without a mistake.
    """
    refuse_untold(data, "perceptron")
    layout, size = data.layout, len(data.layout.states)
    is_weight = _is_weight(data)

    def step(state: EpochState) -> EpochState:
        weights, sums = state.point.copy(), state.sums.copy()
        transitions, pair_sums = layout.matrix(weights), layout.matrix(sums)
        order = generator.permutation(data.tokens.num_sequences)
        steps = Steps(data.starts, order, data.shares, data.labels.codes)
        clock = state.num_steps * len(order)
        own, own_sums = weights[:size].copy(), sums[:size].copy()
        num_wrong = perceptron_epoch(data.rows, steps, own, transitions, own_sums, pair_sums, is_weight, clock)
        joined = layout.joined(own, transitions), layout.joined(own_sums, pair_sums)
        return EpochState(state.num_steps + 1, joined[0], -float(num_wrong), joined[1], num_wrong)

    def ends(state: EpochState) -> str:
        return CONVERGED if state.num_steps and not state.num_wrong else ""

    nothing = np.zeros(layout.num_weights)
    start = EpochState(0, nothing, -float(data.tokens.num_tokens), nothing)
    run = iterate(step, begun(start, resume), stops, ends=ends, objective=lambda state: state.objective)
    clock = max(1, run.num_steps * data.tokens.num_sequences)
    return Trained(run.state.point - run.state.sums / clock, run)


def stochastic_gradient(
    data: LabelledTokens, penalty: Penalty, stops: Stops, generator: np.random.Generator, resume: Any = None
) -> Trained:
    """Steps along the gradients of single sequences, whose lengths fall as 1/t.

    The first length is tried out on some of the sequences. It has converged where an epoch changes the objective by
    no more than the tolerance, relative to it.

    References
    ----------
    Bottou (2010), Large-scale machine learning with stochastic gradient descent.
    """
    refuse_untold(data, "sgd")
    precision = penalty.precisions[0] if penalty.precisions.size else 0.0
    if not penalty.is_smooth or penalty.tails.any() or (penalty.precisions != precision).any():
        raise NotSupported("method='sgd' takes one GaussianPrior for all weights, or none; 'l-bfgs' takes all priors.")
    likelihood, num = ChainLikelihood(data), data.tokens.num_sequences

    def objective(weights: Floats) -> float:
        return likelihood.at(weights)[0] + penalty.smooth(weights)[0]

    epoch = _gradient_epochs(data, float(precision))
    nothing = np.zeros(data.layout.num_weights)
    sample = generator.permutation(num)[: max(10, min(1000, num // 10))]

    def after_some(rate: float) -> float:
        return objective(epoch(nothing, sample, np.full(sample.size, rate)))

    first_rate = _calibrated(after_some)

    def step(state: EpochState) -> EpochState:
        times = state.num_steps * num + np.arange(num)
        rates = np.asarray(first_rate / (1.0 + first_rate * max(float(precision), 1e-3) / max(num, 1) * times))
        weights = epoch(state.point, generator.permutation(num), rates)
        return EpochState(state.num_steps + 1, weights, objective(weights), state.sums)

    def settled(run: Run[EpochState]) -> str:
        before = run.trace[-2]
        return CONVERGED if abs(run.state.objective - before) <= stops.tolerance * abs(before) else ""

    start = EpochState(0, nothing, objective(nothing), nothing)
    run = iterate(step, begun(start, resume), stops, [settled], objective=lambda state: state.objective)
    return Trained(run.state.point, run)


def _gradient_epochs(data: LabelledTokens, precision: float) -> Callable[[Floats, np.ndarray, Floats], Floats]:
    """The weights after steps by the sequences of an order, each with its rate."""
    layout, size, is_weight = data.layout, len(data.layout.states), _is_weight(data)

    def epoch(weights: Floats, order: np.ndarray, rates: Floats) -> Floats:
        own, transitions = weights[:size].copy(), layout.matrix(weights)
        steps = Steps(data.starts, order, data.shares, data.labels.codes)
        per_sequence = precision / max(data.tokens.num_sequences, 1)
        scale = gradient_epoch(data.rows, steps, own, transitions, is_weight, rates, per_sequence, 1.0)
        return layout.joined(own, transitions) * scale

    return epoch


def _calibrated(objective: Callable[[float], float]) -> float:
    """The best of 1/8, 1/4, ... or 1/16, 1/32, ..., as long as they get better."""
    best, value = 0.125, objective(0.125)
    for factor in (2.0, 0.5):
        rate = best * factor
        while 1e-6 < rate < 1e3 and (reached := objective(rate)) > value:
            best, value, rate = rate, reached, rate * factor
    return best


def _is_weight(data: LabelledTokens) -> Floats:
    """One where a transition has a weight."""
    return data.layout.matrix(np.ones(data.layout.num_weights))


def refuse_untold(data: LabelledTokens, method: str) -> None:
    """Refuse labels that are not told, which only the likelihood can sum over."""
    if not data.labels.is_complete:
        raise InvalidArgument(
            f"method={method!r} needs the label of each token, and no latent states: use method='l-bfgs', which sums "
            "over what is not told."
        )
