"""How much a feature would add to a model: gradients, and gains where no other weight moves."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.records import Result, record
from plausible.base.tolerances import SMALLEST
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, NotSupported
from plausible.learn.undirected.climbing import climb
from plausible.learn.undirected.crf import FieldFit
from plausible.learn.undirected.design import Design, Scope, read_features
from plausible.learn.undirected.fit import MarkovFit
from plausible.learn.undirected.ground import FieldForm
from plausible.learn.undirected.objectives import Likelihood, Objective
from plausible.learn.undirected.partition import PiecewisePartition, TreePartition, scaled_logs, semirings_for
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import LaplacePrior, PriorOfWeights, read_prior
from plausible.learn.undirected.sample import Sample
from plausible.models.features import Feature
from plausible.search.run import Stops


@record
class FeatureGain(Result):
    """What a feature would add to a model if no other weight moved."""

    feature: str  # Its name
    #: By how much the total log-likelihood, less the penalty of the prior, rises: a lower bound on what it adds.
    gain: float
    gradient: float  # The norm of the slope of the total log-likelihood in its weights, where they are zero
    weights: tuple[float, ...]  # The best for it alone

    def __str__(self) -> str:
        return f"{self.feature} adds {self.gain:.6g}"


def feature_gains(
    fit: MarkovFit | FieldFit, candidates: Iterable[Any], *, data: TableLike | None = None, prior: PriorOfWeights = None
) -> tuple[FeatureGain, ...]:
    """What features that a model lacks would add to its log-likelihood, the most first.

    max over θ of θ·s - M log Σ_d P(d) exp(θ·f(d)) + log P(θ), all other weights kept: M times D(p^ || p) for features
    that are 0 or 1, and M times D(P^(d) || P(d)) for free tables (Koller & Friedman 2009, props. 20.6-20.8, whose text
    has the gain of one row); under a Laplace prior the mean of the data moves by 1/(M scale) towards that of the model
    first. Else it is found by climbing a function of the feature's own weights. All of them are lower bounds on what
    the feature adds once all weights are learned again. In a field each row has its own P, given its inputs, and the
    places that a feature has in a row are taken to be independent, so that its gain is a bound where it has one place,
    and an approximation else (McCallum 2003).

    Parameters
    ----------
    fit
        A fit of complete data by the likelihood: a network, or a field.
    candidates
        Features and scopes over the variables of the fit; their scopes need not be in a clique of it.
    data
        For a field: the rows, with labels and all inputs that candidates look at.
    prior
        Of the candidates' weights, its density not normalised.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [0, 0, 1, 1, 1, 0], "B": [0, 0, 1, 1, 0, 1]}
    >>> both = pb.Feature(["A", "B"], lambda a, b: a == b == 1, name="both")
    >>> (found,) = pb.learn.feature_gains(pb.learn.markov([["A"], ["B"]], rows), [both])
    >>> found.feature, round(found.gain, 4)                # 6 D(1/3 || 1/4)
    ('both', 0.1042)
    """
    features = read_features(candidates)
    if isinstance(fit, FieldFit):
        return _field_gains(fit, features, data, prior)
    sample = fit._data
    if not sample.is_complete or not isinstance(fit._method, Likelihood):
        raise NotSupported("Gains of features are told for the likelihood of complete data.")
    if not features:
        return ()
    measured = Measured.of(fit, features)
    made = []
    for number, feature in enumerate(features):
        part = measured.part(number)
        gain, weights = best_alone(part, prior)
        slope = float(np.linalg.norm(measured.gradients[number]))
        made.append(FeatureGain(feature.name, gain, slope, tuple(weights.tolist())))
    return tuple(sorted(made, key=lambda one: -one.gain))


def _field_gains(
    fit: FieldFit, features: Sequence[Feature], data: TableLike | None, prior: PriorOfWeights
) -> tuple[FeatureGain, ...]:
    """Gains in a field: of each feature by an inference in the field with its tables, which are even so far."""
    if not isinstance(fit._method, Likelihood):
        raise NotSupported("Gains of features are told for fields that were learned by the likelihood.")
    if data is None:
        raise InvalidArgument("A field keeps no inputs: give its rows as data=.")
    targets = fit._form.targets
    table = Table.read(data, {**targets, **fit._form.inputs})
    labels = fit._form.labels(table)
    if (labels < 0).any():
        raise NotSupported("Gains of features are told for rows that have all their labels.")
    base, made = fit._form.ground(table), list[FeatureGain]()
    for feature in features:
        own = FieldForm.of([feature], list(targets), {**table.variables, **targets}).ground(table)
        grown = joined(base, own)
        logs = grown.logs(np.append(fit.run.state.point, np.zeros(own.num_weights)))
        beliefs = TreePartition(grown, fit._data.budget).at(logs)[1]
        begins = dict(zip(grown.scopes, grown.starts[:-1], strict=True))
        sizes = np.diff(own.starts)
        entries = np.concatenate([begins[s] + np.arange(n) for s, n in zip(own.scopes, sizes, strict=True)])
        counts = np.bincount(own.positions(labels).ravel(), minlength=own.num_entries).astype(np.float64)
        gain, weights = _climbed(Alone(own, counts, beliefs[entries], 1.0), prior)
        slope = float(np.linalg.norm(own.expected(counts - beliefs[entries])))
        made.append(FeatureGain(feature.name, gain, slope, tuple(weights.tolist())))
    return tuple(sorted(made, key=lambda one: -one.gain))


class Alone(NamedTuple):
    """A feature on its own scopes: counts of the data and probabilities of the model."""

    design: Design
    counts: Floats
    probabilities: Floats
    total: float  # M


class Measured(NamedTuple):
    """Features beside a model: their scopes' counts and beliefs."""

    design: Design
    features: Sequence[Feature]
    counts: Floats
    beliefs: Floats
    total: float

    @classmethod
    def of(cls, fit: MarkovFit, features: Sequence[Feature]) -> Measured:
        """Count, and infer beyond the cliques of the model where need be."""
        sample, run = fit._data, fit.run
        assert sample.statistics is not None
        design = Design.of(features, sample.design.variables)
        logs = fit._climb.objective.design.logs(run.state.point)
        beliefs = beliefs_over(sample.tree, logs, design.scopes)
        return cls(design, features, design.counts(sample.statistics), np.concatenate(beliefs), sample.total)

    @property
    def gradients(self) -> list[Floats]:
        """The slope of the total log-likelihood in each feature's weights."""
        slopes = self.design.expected(self.counts - self.total * self.beliefs)
        return [slopes[self.design.groups == number] for number in range(len(self.features))]

    def part(self, number: int) -> Alone:
        """One feature by itself; its scopes are taken to be independent where it has several."""
        own = Design.of([self.features[number]], self.design.variables)
        starts = dict(zip(self.design.scopes, self.design.starts[:-1], strict=True))
        sizes = np.diff(own.starts)
        entries = np.concatenate([starts[s] + np.arange(n) for s, n in zip(own.scopes, sizes, strict=True)])
        return Alone(own, self.counts[entries], self.beliefs[entries], self.total)


def best_alone(part: Alone, prior: PriorOfWeights = None) -> tuple[float, Floats]:
    """The most that a feature's own weights, which are zero so far, can add, and these weights."""
    if len(part.design.scopes) > 1:
        raise NotSupported("Gains are told for features with one place, not for templates.")
    closed = _closed_form(part, prior)
    return closed if closed is not None else _climbed(part, prior)


def _closed_form(part: Alone, prior: PriorOfWeights) -> tuple[float, Floats] | None:
    matrix, empirical = part.design.matrix, part.counts / max(part.total, SMALLEST)
    if part.design.num_weights > 1:
        if prior is not None:
            return None
        live = empirical > 0
        with np.errstate(divide="ignore", invalid="ignore"):
            ratios = np.log(empirical / part.probabilities)
        return part.total * float(empirical[live] @ ratios[live]), ratios
    if matrix.nnz == 0 or not (matrix.data == 1.0).all() or not (prior is None or isinstance(prior, LaplacePrior)):
        return None
    is_on = matrix.toarray().ravel() > 0
    mean, known = float(empirical[is_on].sum()), float(part.probabilities[is_on].sum())
    rate = 0.0 if prior is None else 1 / (prior.scale * max(part.total, SMALLEST))
    moved = mean - math.copysign(min(rate, abs(mean - known)), mean - known)
    return part.total * _divergence(moved, known), np.array([_log_odds(moved) - _log_odds(known)])


def _divergence(first: float, second: float) -> float:
    """D of two coins."""
    pairs = ((first, second), (1 - first, 1 - second))
    return sum(p * math.log(p / q) if q > 0 else math.inf for p, q in pairs if p > 0)


def _log_odds(p: float) -> float:
    return math.inf if p >= 1 else -math.inf if p <= 0 else math.log(p / (1 - p))


def _climbed(part: Alone, prior: PriorOfWeights) -> tuple[float, Floats]:
    """By climbing the feature's own weights."""
    with np.errstate(divide="ignore"):
        design = replace(part.design, base=np.log(part.probabilities))
    goal = Objective(design, design.expected(part.counts), ((-part.total, PiecewisePartition(design)),), part.total)
    climbed = Climb(goal, read_prior(prior, design.names, design.groups, design.group_names))
    start = np.zeros(design.num_weights)
    run = climb(climbed, None, start, Stops(tolerance=1e-10, max_steps=200))
    return max(0.0, run.state.value), run.state.point


def beliefs_over(tree: TreePartition, logs: Floats, scopes: Sequence[Scope]) -> list[Floats]:
    """P over each scope, in a clique or not: P(last | others) P(others), one inference for each state of the others.

    Scopes that share all but their last variable share the inferences.
    """
    _, scaled = scaled_logs(tree.design, logs)
    sizes = tree.design.sizes
    heads: dict[Scope, list[int]] = {}
    for number, scope in enumerate(scopes):
        heads.setdefault(scope[:-1], []).append(number)
    tables = [np.zeros([int(sizes[place]) for place in scope]) for scope in scopes]
    whole = _marginals(tree, scaled, {})[0]
    for head, numbers in heads.items():
        for states in np.ndindex(*(int(sizes[place]) for place in head)):
            found = {place: np.eye(int(sizes[place]))[state] for place, state in zip(head, states, strict=True)}
            log_total, marginals = _marginals(tree, scaled, found)
            if log_total > -math.inf:
                for number in numbers:
                    tables[number][states] = math.exp(log_total - whole) * marginals[scopes[number][-1]]
    return [table.ravel() for table in tables]


def _marginals(tree: TreePartition, scaled: Floats, found: dict[int, Floats]) -> tuple[float, list[Floats]]:
    for semiring in semirings_for(scaled):
        total, is_risky, marginals = tree._workspace(scaled, semiring).all_marginals(found)
        if not is_risky:
            break
    return total, marginals


def gradients_of(fit: MarkovFit, features: Sequence[Feature]) -> list[Floats]:
    """The slope of the total objective in the weights of features that the model lacks, at zero.

    By inference beyond cliques for the likelihood of complete data; for others the objective of a larger model, all
    features at once where that needs no tree, and else one feature at a time.
    """
    if not features:
        return []
    sample, method = fit._data, fit._method
    if isinstance(method, Likelihood) and sample.is_complete:
        return Measured.of(fit, features).gradients
    together = [list(features)] if not isinstance(method, Likelihood) else [[one] for one in features]
    return [slope for group in together for slope in _slopes(fit, group)]


def _slopes(fit: MarkovFit, features: Sequence[Feature]) -> list[Floats]:
    sample = fit._data
    assert sample.statistics is not None
    grown = joined(sample.design, Design.of(features, sample.design.variables))
    size = fit.run.state.point.size
    goal = fit._method.on(Sample.of(grown, sample.statistics, sample.engine, sample.budget))
    ruled_out = np.zeros(grown.num_entries)
    ruled_out[: sample.design.num_entries] = fit._climb.objective.design.base
    point = np.append(fit.run.state.point, np.zeros(grown.num_weights - size))
    slopes = replace(goal, design=replace(grown, base=ruled_out)).at(point)[1]
    groups = grown.groups - len(sample.design.group_names)
    return [slopes[groups == number] for number in range(len(features))]


def joined(first: Design, second: Design) -> Design:
    """Both designs' features, the tables of the first in front; scopes that both have share a table."""
    from scipy.sparse import csr_array

    extra = [number for number, scope in enumerate(second.scopes) if scope not in set(first.scopes)]
    scopes = (*first.scopes, *(second.scopes[number] for number in extra))
    blank = Design(first.variables, scopes, first.matrix, (), first.groups, (), first.base)
    number_of = {scope: number for number, scope in enumerate(scopes)}
    places = np.concatenate(
        [
            blank.starts[number_of[scope]] + np.arange(second.starts[n + 1] - second.starts[n])
            for n, scope in enumerate(second.scopes)
        ]
    )
    old, new = first.matrix.tocoo(), second.matrix.tocoo()
    rows, columns = np.append(old.row, places[new.row]), np.append(old.col, first.num_weights + new.col)
    shape = (blank.num_entries, first.num_weights + second.num_weights)
    matrix = csr_array((np.append(old.data, new.data), (rows, columns)), shape=shape)
    return Design(
        first.variables,
        scopes,
        matrix,
        (*first.names, *second.names),
        np.append(first.groups, second.groups + len(first.group_names)),
        (*first.group_names, *second.group_names),
        np.append(first.base, np.zeros(blank.num_entries - first.num_entries)),
    )
