"""Learning to predict: parameters that maximise the conditional likelihood of some variables given the others."""

from __future__ import annotations

from collections.abc import Iterable

from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, UnknownVariable
from plausible.learn.estimation.knowledge import ParameterKnowledge
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.gradients.ascent import AscentState
from plausible.learn.gradients.learner import GradientFit, GradientOptions, Progress, climb
from plausible.learn.gradients.objective import Objective
from plausible.learn.gradients.observed import ObservedLikelihood
from plausible.learn.gradients.space import ParameterSpace
from plausible.models import BayesianNetwork

__all__ = ["learn_conditional"]


def learn_conditional(
    start: BayesianNetwork,
    data: TableLike,
    targets: str | Iterable[str],
    prior: PriorLike = None,
    *,
    weights: Iterable[float] | None = None,
    knowledge: ParameterKnowledge | None = None,
    options: GradientOptions | None = None,
    progress: Progress | None = None,
    resume: AscentState | None = None,
) -> GradientFit:
    """The parameters at a local maximum of Σ_m w_m log P(y[m] | x[m], θ), where y are the targets and x the rest.

    This is log P(y, x) - log P(x), so that its gradient is the difference of two: expected counts given the whole row,
    less those given x alone. On a naive Bayes graph it is logistic regression, and has no local maxima that are not
    global (Roos et al. 2005); the maximum may lie at infinity where x separates the classes, and `max_steps` or a
    prior end the climb. Cells of both may be missing. Cost of a step: that of `learn_by_gradient`, twice.

    Parameters
    ----------
    start
        A discrete network: the graph, the states, and where to climb from.
    data
        Rows with cells missing, or whole columns.
    targets
        The variables to predict.
    prior
        For tables and trees, with pseudo-counts of at least one.
    weights
        How often each row counts; as the table says where left out.
    knowledge
        Fixed CPDs, tied tables, starts.
    options
        How to climb, and when to stop.
    progress
        Told the state after each step; a true answer stops the climb.
    resume
        The state of an earlier fit, to go on from.

    Examples
    --------
    >>> from plausible.cpds import TableCPD
    >>> net = BayesianNetwork(TableCPD("Y", [0.5, 0.5]), TableCPD("X", [[0.6, 0.4], [0.3, 0.7]], ["Y"]))
    >>> fit = learn_conditional(net, {"X": [0, 0, 0, 1, 1], "Y": [0, 0, 1, 1, 0]}, "Y")
    >>> fit.network.query("Y", {"X": 0}).values.round(4)
    array([0.6667, 0.3333])
    """
    names = [targets] if isinstance(targets, str) else list(targets)
    for name in names:
        if name not in start.variables:
            raise UnknownVariable.named(name, start.variables, "this network, though targets= names it")
    if not names:
        raise InvalidArgument("targets= names no variable: there is nothing to predict.")
    space = ParameterSpace.of(start, knowledge)
    whole = ObservedLikelihood.of(space.network, data, weights)
    terms = ((1.0, whole), (-1.0, whole.hiding(names)))
    return climb(
        Objective(space, terms, space.log_prior_weights(prior)), options or GradientOptions(), progress, resume
    )
