"""The score of a structure on incomplete data, by name."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import replace
from functools import partial
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np

from plausible.base import Result, record
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, NotSupported, TooLarge, close_match
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.incomplete.em import EMFit, EMProgress
from plausible.learn.incomplete_scores.approximations import (
    candidate_estimate,
    completion_counts,
    effective_dimension,
    exact_log_marginal,
    laplace_integral,
    posterior_curvature,
    variational_bound,
)
from plausible.learn.incomplete_scores.task import ScoreOptions, ScoreTask
from plausible.learn.scores.structure_prior import StructurePrior
from plausible.models import BayesianNetwork
from plausible.search.run import Clock
from plausible.variables import Variable

_AT_RANDOM = "cells are missing at random"
_MAXIMUM = "EM found the greatest maximum"
#: Of completions, by which the candidate method estimates the density at its candidates.
_NUM_CHAINS = 2
#: Below so many pseudo-counts chains of completions seldom leave the mode that they are in.
_SMALL = 0.1
_STICKY = f"the chains visit all modes, though pseudo-counts are below {_SMALL}: the error can't tell"
_ONE_ORDER = "one order of hidden states stands for all"


class _Scored(NamedTuple):
    """Terms that add up to a score, what they rest on, the standard error, and the fit where there was one."""

    terms: dict[str, float]
    assumed: tuple[str, ...]
    error: float
    fit: EMFit | None


@record(eq=False)
class IncompleteScore(Result):
    """A score of a structure, and how it was got; made by `score_incomplete`."""

    score: str  # Its name
    value: float  # An approximation of log P(D | G) + log P(G); the sum of `terms`
    terms: Mapping[str, float]  # What it is the sum of
    assumed: tuple[str, ...]  # What it rests on
    error: float  # The standard error of a value that was drawn, zero where nothing was drawn
    #: The log of the number of orders of hidden states, which all explain the data as well. P(D | G) counts each, and
    #: approximations around one mode ("laplace", "cheeseman-stutz", "variational") only one: with clusters that are
    #: well apart the truth is higher by this number.
    log_orders: float
    network: BayesianNetwork | None  # The parameters at the maximum, where the score has one
    num_parameters: int  # How many are free
    seconds: float  # How long it took

    def __float__(self) -> float:
        return self.value

    def __str__(self) -> str:
        lines = [f"{self.score}: {self.value:.4f}" + (f" ± {self.error:.2g}" if self.error else "")]
        lines += [f"  {name}: {term:.4f}" for name, term in self.terms.items()]
        return "\n".join([*lines, *(f"  assumes that {text}" for text in self.assumed)])


def score_incomplete(
    graph: object,
    data: TableLike,
    score: str = "cheeseman-stutz",
    prior: PriorLike = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    structure_prior: StructurePrior | None = None,
    options: ScoreOptions | None = None,
    seed: int = 0,
    progress: EMProgress | None = None,
    time_limit: float | None = None,
) -> IncompleteScore:
    """How well a graph explains rows with missing cells: log P(D | G), which has no closed form, by a name.

    - "exact": the sum over all completions; tiny data only.
    - "bic": ℓ(θ) - ½ log M Dim(G) at the greatest likelihood; "bic-effective" charges for the rank of
      θ -> P(what is observed), all that any number of rows can tell (Geiger, Heckerman & Meek 1996).
    - "laplace": ℓ(θ) + log P(θ) + d/2 log 2π - ½ log |C| at the mode in the coordinates log θ, C with the prior in it.
    - "cheeseman-stutz": log P(D*) + ℓ(θ) - log P(D* | θ), D* completed by its expectation; a lower bound.
    - "candidate": P(D | θ) P(θ) / P(θ | D), the denominator by completions drawn from the posterior.
    - "variational": the bound of variational Bayes; at least the Cheeseman-Stutz score.

    All but "exact" run EM. "laplace" and "bic-effective" then cost a run for each different row and entry of a table.
    See Koller & Friedman (2009), §19.4.1, and Chickering & Heckerman (1997), Efficient approximations for the marginal
    likelihood of Bayesian networks with hidden variables, Machine Learning 29.

    Parameters
    ----------
    graph, data, hidden
        As for `learn.em`.
    prior
        Of tables, with positive pseudo-counts; `K2` unless given. BIC has none.
    structure_prior
        P(G); all graphs are as probable unless given.
    options
        How much work goes into it.

    Examples
    --------
    >>> rows = {"rain": ["no", "yes", None, "no"] * 2, "grass": ["dry", "wet", "wet", None] * 2}
    >>> for name in ("exact", "laplace", "cheeseman-stutz"):
    ...     print(name, round(score_incomplete("rain -> grass", rows, name).value, 3))
    exact -8.366
    laplace -8.572
    cheeseman-stutz -8.839
    """
    task = ScoreTask.of(graph, data, prior, hidden, options)
    return score_task(replace(task, seed=seed, progress=progress, time_limit=time_limit), score, structure_prior)


def read_incomplete_score(score: str) -> str:
    """The name of a score, case and underscores disregarded."""
    name = str(score).lower().replace("_", "-")
    if name not in INCOMPLETE_SCORES:
        raise InvalidArgument(
            f"{score!r} is no score of incomplete data.{close_match(name, INCOMPLETE_SCORES)} There are "
            f"{', '.join(INCOMPLETE_SCORES)}."
        )
    return name


def score_task(task: ScoreTask, score: str, structure_prior: StructurePrior | None = None) -> IncompleteScore:
    """The same of a task that may have been fitted before: fits are kept with it."""
    name, clock = read_incomplete_score(score), Clock.of(None)
    terms, assumed, error, fit = _SCORES[name](task)
    if structure_prior is not None:
        names = list(task.variables)
        weights = structure_prior.weights(names)
        edges = [(names.index(parent), place) for place, child in enumerate(names) for parent in task.parents[child]]
        log_prior = len(names) * weights.family + float(sum(weights.edges[edge] for edge in edges))
        terms = {**terms, "structure prior": log_prior}
    network, value, assumed = None if fit is None else fit.network, sum(terms.values()), (_AT_RANDOM, *assumed)
    facts = (error, task.log_orders, network, task.tables.num_free, clock.seconds)
    return IncompleteScore(name, value, MappingProxyType(terms), assumed, *facts)


def _fitted(fit: EMFit) -> tuple[str, ...]:
    return (_MAXIMUM,) if fit.converged else (f"EM had come far enough, though it ended by its {fit.stopped_by}",)


def _one_order(task: ScoreTask) -> tuple[str, ...]:
    return (_ONE_ORDER,) if task.log_orders else ()


def _exact(task: ScoreTask) -> _Scored:
    return _Scored({"log marginal likelihood": exact_log_marginal(task)}, (), 0.0, None)


def _bic(task: ScoreTask, is_effective: bool = False) -> _Scored:
    fit, num_free = task.likelihood_fit, task.tables.num_free
    rank = effective_dimension(task) if is_effective else num_free
    terms = {"log-likelihood": fit.log_likelihood, "penalty": -0.5 * math.log(max(task.cases.total, 1.0)) * rank}
    told = (f"what is observed tells {rank} of {num_free} free parameters",) if is_effective else ()
    return _Scored(terms, (*_fitted(fit), "rows are many", *told), 0.0, fit)


def _laplace(task: ScoreTask) -> _Scored:
    # The density of log θ is that of θ times the Jacobian Π θ.
    log_prior = task.completion.log_prior(task.theta) + float(np.log(task.theta).sum())
    found = laplace_integral(0.0, posterior_curvature(task))
    terms = {"log-likelihood": task.fit.log_likelihood, "log-prior": log_prior}
    terms |= {"volume": found.volume, "curvature": found.curvature}
    notes = ["the posterior of log θ is Gaussian around its mode", *_one_order(task)]
    if found.num_upward:
        notes.append(f"{found.num_upward} directions that curve upwards may be left out: EM stopped at no maximum")
    if found.rank + found.num_upward < task.tables.num_free:
        notes.append(f"{found.rank} of {task.tables.num_free} directions have a curvature; flat ones do not count")
    return _Scored(terms, (*_fitted(task.fit), *notes), 0.0, task.fit)


def _cheeseman_stutz(task: ScoreTask) -> _Scored:
    terms = {"completed data": float(task.log_marginal(task.counts)), "log-likelihood": task.fit.log_likelihood}
    terms["completed likelihood"] = -float(task.counts @ np.log(task.theta))
    notes = ("the error at the mode is that of all parameters", *_one_order(task))
    return _Scored(terms, (*_fitted(task.fit), *notes), 0.0, task.fit)


def _candidate(task: ScoreTask) -> _Scored:
    if not np.array_equal(task.cases.weights, np.rint(task.cases.weights)):
        raise InvalidArgument(
            "Some rows weigh a fraction, and the candidate method completes whole rows: take score='cheeseman-stutz' "
            "or 'variational', which take weights."
        )
    chosen, seed = task.options, (1 + _NUM_CHAINS) * task.seed
    asked = completion_counts(task, seed)[:: max(chosen.num_draws // chosen.num_candidates, 1)]
    means = task.tables.normalized(asked[: chosen.num_candidates - 1] + task.pseudo_counts)
    drawn = np.array([completion_counts(task, seed + 1 + chain) for chain in range(_NUM_CHAINS)])
    found = candidate_estimate(task, np.vstack([task.theta, means]), drawn)
    notes = (
        f"{drawn.shape[0] * drawn.shape[1]} completions near the fit stand for all, up to the order of hidden states",
        *((_STICKY,) if task.pseudo_counts.min() < _SMALL else ()),
    )
    return _Scored({"log marginal likelihood": found.value}, (*_fitted(task.fit), *notes), found.error, task.fit)


def _variational(task: ScoreTask) -> _Scored:
    bound, converged = variational_bound(task)
    ended = () if converged else ("the bound had come far enough when it was stopped",)
    notes = ("parameters and missing cells are nearly independent given the data", *_one_order(task), *ended)
    return _Scored({"bound": bound}, notes, 0.0, task.fit)


_SCORES: Mapping[str, Callable[[ScoreTask], _Scored]] = MappingProxyType(
    {
        "exact": _exact,
        "bic": _bic,
        "bic-effective": partial(_bic, is_effective=True),
        "laplace": _laplace,
        "cheeseman-stutz": _cheeseman_stutz,
        "candidate": _candidate,
        "variational": _variational,
    }
)

#: The names of scores.
INCOMPLETE_SCORES: tuple[str, ...] = tuple(_SCORES)


@record(eq=False)
class ScoreComparison(Result):
    """Scores of structures; made by `compare_scores`."""

    scores: Mapping[str, Mapping[str, IncompleteScore]]  # Structure -> name of the score -> the score
    refused: Mapping[tuple[str, str], str]  # (structure, score) -> why it could not be had

    def best(self, score: str) -> str:
        """The structure with the largest value of a score; of equal ones the first."""
        name = read_incomplete_score(score)
        values = {label: found[name].value for label, found in self.scores.items() if name in found}
        if not values:
            raise InvalidArgument(f"No structure was scored by {name!r}.")
        return max(values, key=lambda label: values[label])

    def errors(self, structure: str, reference: str = "exact") -> dict[str, float]:
        """Score -> how far it is from another one, for one structure."""
        found = self.scores[structure]
        if read_incomplete_score(reference) not in found:
            raise InvalidArgument(f"{structure!r} was not scored by {reference!r}: name another reference.")
        return {name: score.value - found[read_incomplete_score(reference)].value for name, score in found.items()}

    def to_frame(self) -> Any:
        """A data frame: a row for each structure, a column for each score; NaN where it could not be had."""
        import pandas as pd

        columns = list(dict.fromkeys(name for found in self.scores.values() for name in found))
        rows = [{name: float(score) for name, score in found.items()} for found in self.scores.values()]
        return pd.DataFrame(rows, index=list(self.scores), columns=columns, dtype=np.float64)

    def __str__(self) -> str:
        return str(self.to_frame().round(3).to_string())


def compare_scores(
    graphs: object,
    data: TableLike,
    scores: Sequence[str] = INCOMPLETE_SCORES,
    prior: PriorLike = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    options: ScoreOptions | None = None,
    seed: int = 0,
    progress: Callable[[IncompleteScore], object] | None = None,
) -> ScoreComparison:
    """Score each of some structures by each of some scores; fits are shared by the scores of a structure.

    Parameters
    ----------
    graphs
        A graph, or label -> graph. A family of graphs over the same data may be listed whole (exhaustive scoring).
    scores
        Names of scores; what a score refuses, such as "exact" for more than tiny data, is told in `refused`.
    data, prior, hidden, options, seed
        As for `score_incomplete`. Of `hidden`, each graph takes the variables that it has.

    Examples
    --------
    >>> from plausible.graphs import DAG
    >>> rows = {"a": [0, 0, 1, 1, None, 0] * 2, "b": [0, 0, 1, 1, 1, None] * 2}
    >>> found = compare_scores({"edge": "a -> b", "none": DAG("a; b")}, rows, ["exact", "bic", "cheeseman-stutz"])
    >>> print(found)
           exact     bic  cheeseman-stutz
    edge -12.493 -12.045          -12.843
    none -15.490 -15.945          -15.650
    """
    listed = dict(graphs) if isinstance(graphs, Mapping) else {str(graphs): graphs}
    unseen = tuple(Variable(n, k) for n, k in hidden.items()) if isinstance(hidden, Mapping) else tuple(hidden)
    names = [read_incomplete_score(score) for score in scores]
    made: dict[str, dict[str, IncompleteScore]] = {}
    refused: dict[tuple[str, str], str] = {}
    for label, graph in listed.items():
        task, made[label] = replace(ScoreTask.of(graph, data, prior, unseen, options), seed=seed), {}
        for name in names:
            try:
                made[label][name] = score_task(task, name)
            except (TooLarge, NotSupported) as error:
                refused[label, name] = str(error)
                continue
            if progress is not None and progress(made[label][name]):
                return ScoreComparison(made, refused)
    return ScoreComparison(made, refused)
