"""Learning the weights of undirected models from data: the front door."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping
from dataclasses import replace
from typing import Any, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.frozen import FrozenMapping
from plausible.base.method_names import keyword_hints
from plausible.base.options import Seed, check_count, check_number, generator_of
from plausible.data.source_parts import is_in_pieces
from plausible.data.statistics import Statistics
from plausible.data.stream_statistics import as_stream, read_statistics
from plausible.data.streams import Stream
from plausible.data.table import Table
from plausible.data.table_statistics import DataLike, TableStatistics
from plausible.errors import (
    InvalidArgument,
    ModelContradicted,
    NotSupported,
    PlausibleWarning,
    TooLarge,
    UnknownVariable,
    warn_caller,
)
from plausible.graphs import UndirectedGraph
from plausible.graphs.base_graph import BaseGraph
from plausible.graphs.cliques import maximal_cliques
from plausible.graphs.graph_input import read_as
from plausible.inference.budget import Budget
from plausible.inference.engine_bases import Optimizer
from plausible.inference.engines import Engine, check_engine
from plausible.learn.undirected.climbing import OptimizerLike, climb, resumed
from plausible.learn.undirected.closed_forms import chordal_logs, matched_logs
from plausible.learn.undirected.design import Design, read_features
from plausible.learn.undirected.fit import MarkovFit
from plausible.learn.undirected.infinite_weights import settle_infinite, tops_of_counts
from plausible.learn.undirected.named_objectives import ObjectiveLike, read_objective
from plausible.learn.undirected.objectives import Likelihood, Objective, ObjectiveMethod, SteeredObjective
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.priors import Penalty, PriorOfWeights, PseudoData, read_prior
from plausible.learn.undirected.proportional_fitting import FittingState, fit_proportionally
from plausible.learn.undirected.recession import Recession
from plausible.learn.undirected.sample import Sample, columns_in
from plausible.models import MarkovNetwork
from plausible.models.features import Feature
from plausible.search.ascent import AscentState
from plausible.search.run import CONVERGED, Clock, Run, Stops, best_run
from plausible.variables import Variable

#: An undirected graph or text such as "A - B - C", a network, or features and scopes.
ModelLike: TypeAlias = str | UndirectedGraph | MarkovNetwork | Iterable[Any]


class ConstantFeature(PlausibleWarning):
    """A feature is the same for all states of its scope: its weight changes nothing."""


@keyword_hints
def learn_markov(
    model: ModelLike,
    data: DataLike,
    *,
    objective: ObjectiveLike = "likelihood",
    prior: PriorOfWeights = None,
    engine: Engine | Optimizer | None = None,
    optimizer: OptimizerLike = None,
    variables: Iterable[Variable] = (),
    start: Mapping[str, float] | None = None,
    restarts: int = 0,
    max_steps: int = 1000,
    tolerance: float = 1e-6,
    time_limit: float | None = None,
    budget: Budget | None = None,
    progress: Callable[[AscentState], object] | None = None,
    seed: Seed = None,
    resume: Run[AscentState] | AscentState | None = None,
) -> MarkovFit:
    """Learn the weights of a log-linear model, P(x) ∝ exp Σ θ_i f_i(x), from rows.

    Objective, prior, engine and optimiser are chosen independently. The likelihood of complete rows is concave, and
    largest where each feature has the same mean in the model as in the data, which is also the distribution of the
    largest entropy with these means (Koller & Friedman 2009, §20.3). Tables on the cliques of a chordal graph are
    counted, without a step; else a step costs one inference on a clique tree. Missing cells and hidden variables are
    taken by the likelihood, at one inference for each different row and step.

    Parameters
    ----------
    model
        What has weights: an undirected graph or its text, for a free table on each maximal clique; a Markov network,
        for a free table on each of its scopes, starting there, zeros kept; or a list of `Feature`s and scopes.
    data
        Rows, or their statistics; cells may be missing. Columns that the model does not mention are left alone.
    objective
        "likelihood", "pseudolikelihood", "composite", "piecewise", "viterbi", "submodels", "pseudo-moment-matching",
        "margin", "contrastive-divergence", "sampled-likelihood", "constrained-entropy", or one with options:
        `CompositeLikelihood(blocks)`. Totals over rows, in natural logarithms.
    prior
        A density of each weight, added as its logarithm: `GaussianPrior(variance)`, `LaplacePrior(scale)`,
        `GroupPrior(scale)`, `HyperbolicPrior()`, sums of these, or {name: prior}; or `PseudoData(size)`.
    engine
        What computes log Z and beliefs, such as `LoopyBP()` or `TreeReweightedBP()`, the same that will answer
        questions; by default a clique tree, exactly.
    optimizer
        "l-bfgs" (the default where the prior is smooth), "conjugate-gradient", "steepest", "newton", "proximal" (the
        default for group priors), "ipf" (free tables without a prior), "ips", "gis", or
        "em" where cells are missing (`PartialEM(inner_steps)`).
    variables
        States of variables where the data do not say them, and hidden variables, which have no column.
    start
        Weights to start from, by name; zero where left out. Hidden variables start at random.
    restarts
        So many further starts at random, for objectives with several maxima.
    tolerance
        Enough is where no mean of a feature is further from that of the data than this, prior minded.
    resume
        What to go on with: the run of an earlier fit, `fit.run`, or the last state that `progress` was told, so that
        nothing is lost by Ctrl-C.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [0, 0, 1, 1, 1, 0], "B": [0, 0, 1, 1, 0, 1]}
    >>> same = pb.Feature(["A", "B"], lambda a, b: a == b, name="same")
    >>> fit = pb.learn.markov([same], rows)
    >>> round(fit.weights["same"], 4), round(fit.log_likelihood, 4)      # odds of agreement 2 : 1
    (0.6931, -7.978)
    >>> pb.learn.markov("A - B", rows, prior=pb.GaussianPrior(1.0)).network
    <MarkovNetwork: 2 variables, 1 factor>
    """
    check_count("restarts", restarts)
    stops = Stops(tolerance, max_steps, time_limit, progress)
    source = read_sample(model, data, variables, engine, budget)
    seen, prior = (prior, None) if isinstance(prior, PseudoData) else (None, prior)
    penalty = read_prior(prior, source.design.names, source.design.groups, source.design.group_names)
    if not source.total and seen is None and penalty.is_none:
        raise InvalidArgument("There are no rows, so that nothing tells the weights: give rows, or a prior.")
    if seen is not None and (objective == "pseudo-moment-matching" or optimizer == "ipf"):
        raise NotSupported("PseudoData needs a climb of the likelihood: leave objective= and optimizer= out.")
    if objective == "pseudo-moment-matching":
        return _matched(source, penalty)
    method, first = read_objective(objective), _first(source, model, start)
    refuse_ruled_out(source)
    goal = method.on(source)
    infinite: dict[str, float] = {}
    if seen is not None:
        goal = _with_pseudo_data(source, goal, seen)
    elif source.is_complete and goal.has_limits:
        design, infinite = settle_infinite(source.design, tops_of_counts(source.counts), penalty)
        goal = replace(goal, design=design)
    climbed = Climb(goal, penalty)
    if seen is None and _has_closed_form(objective, source, penalty, engine, optimizer):
        logs = chordal_logs(source.design, source.counts)
        if logs is not None:
            if resume is not None:
                resumed(resume, source.design.num_weights)  # a run of another model is refused
            return finished(source, method, climbed, _counted(climbed, logs), infinite)
    if optimizer == "ipf":
        if not isinstance(method, Likelihood) or engine is not None:
            raise NotSupported(
                'optimizer="ipf" meets marginals of the data exactly, which is the likelihood without an engine: leave '
                "objective= and engine= out, or take another optimizer."
            )
        if resume is not None:
            raise NotSupported('optimizer="ipf" begins anew each time: leave resume= out.')
        return finished(source, method, climbed, fitted_run(climbed, fit_proportionally(source, stops)), infinite)
    begins = _starts(source, first, restarts, seed)

    def run_from(begin: Floats, clock: Clock) -> Run[AscentState]:
        limited = Stops(tolerance, max_steps, clock.seconds_left if math.isfinite(clock.deadline) else None, progress)
        return climb(climbed, optimizer, begin, limited)

    run = climb(climbed, optimizer, resume, stops) if resume is not None else best_run(run_from, begins, time_limit)[0]
    return finished(source, method, climbed, run, infinite)


def refuse_ruled_out(source: Sample) -> None:
    """Refuse complete rows with a combination of states that the start rules out by a zero."""
    design = source.design
    if not source.is_complete or np.isfinite(design.base).all():
        return
    for entry in np.flatnonzero(~np.isfinite(design.base) & (source.counts > 0)).tolist():
        number = int(np.searchsorted(design.starts, entry, side="right")) - 1
        variables = design.scope_variables(number)
        cell = np.unravel_index(entry - int(design.starts[number]), [one.num_states for one in variables])
        states = ", ".join(f"{one.name}={one.states[int(at)]}" for one, at in zip(variables, cell, strict=True))
        raise ModelContradicted(f"The network rules {states} out by a zero, but {source.counts[entry]:g} rows have it.")


def _with_pseudo_data(source: Sample, goal: Objective, seen: PseudoData) -> Objective:
    """The likelihood with so many more rows: their means added to the statistics, and log Z as much more often."""
    if isinstance(goal, SteeredObjective) or goal.is_own or not goal.parts or goal.parts[-1][1] is not source.partition:
        raise NotSupported('PseudoData is conjugate to objective="likelihood": take GaussianPrior for others.')
    design = source.design
    means = seen.read(design.names, design.expected(source.partition.at(design.base)[1]))
    for name, mean, low, high in zip(design.names, means, *_ranges(design), strict=True):
        if not low - 1e-9 <= mean <= high + 1e-9:
            raise InvalidArgument(
                f"PseudoData has {mean:g} as the mean of {name!r}, whose values lie from {low:g} to {high:g}."
            )
    parts = (*goal.parts[:-1], (goal.parts[-1][0] - seen.size, source.partition))
    return Objective(design, goal.linear + seen.size * means, parts, goal.total)


def _ranges(design: Design) -> tuple[Floats, Floats]:
    """The least and the largest that each feature may add up to over its places, each place by itself."""
    columns, starts = design.matrix.tocsc(), design.starts[:-1]
    dense = (columns[:, [place]].toarray().ravel() for place in range(design.num_weights))
    ends = [(np.minimum.reduceat(one, starts).sum(), np.maximum.reduceat(one, starts).sum()) for one in dense]
    low, high = np.array(ends).T
    return low, high


def read_sample(
    model: ModelLike,
    data: DataLike,
    variables: Iterable[Variable],
    engine: Engine | Optimizer | None,
    budget: Budget | None,
) -> Sample:
    """Model and data as arrays."""
    declared = {variable.name: variable for variable in variables}
    if isinstance(model, MarkovNetwork):
        declared = {**model.variables, **declared}
    features, names = _features(model)
    statistics = _statistics(data, declared, names)
    known = dict(statistics.variables)
    for name in names:
        if name not in known and name not in declared:
            raise UnknownVariable.named(name, [*known, *declared], "the data, and variables= does not declare it")
        if (known.get(name) or declared[name]).is_continuous:
            raise NotSupported(
                f"{name!r} is a column of numbers: cut it into states by pb.Discretizer, or learn a Gaussian model by "
                "pb.learn.graphical_lasso."
            )
    used = {name: declared.get(name) or known[name] for name in names}
    if not isinstance(engine, Optimizer):
        check_engine(engine, used)
    design = Design.of(features, used)
    _warn_of_constants(features, design)
    if isinstance(model, MarkovNetwork):
        design = design.without(~np.isfinite(_network_logs(model, design)))
    return Sample.of(design, statistics, engine, budget)


def _warn_of_constants(features: Iterable[Feature], design: Design) -> None:
    """Warn of functions whose weight says nothing: of more than one assignment, and the same at all of them."""
    columns = design.matrix.tocsc()
    place_of = {name: place for place, name in enumerate(design.names)}
    for feature in features:
        if feature.is_table:
            continue
        values = columns.data[slice(*columns.indptr[place_of[feature.name] :][:2])]  # where it is not zero
        sizes = [math.prod(design.variables[name].num_states for name in scope) for scope in map(set, feature.scopes)]
        if max(sizes) > 1 and (not values.size or (values.size == sum(sizes) and np.ptp(values) == 0)):
            scope = [design.variables[name] for name in feature.scopes[0]]
            states = "; ".join(f"{v.name!r} has the states {', '.join(map(repr, v.states[:8]))}" for v in scope)
            warn_caller(
                f"The feature {feature.name!r} is the same for all states, so that no data tell its weight: {states}. "
                "Compare with these in its function, or leave it out.",
                ConstantFeature,
            )


def _network_logs(model: MarkovNetwork, design: Design) -> Floats:
    """The logarithms of a network's tables, those over the same variables added up."""
    place_of = {name: place for place, name in enumerate(design.variables)}
    number_of = {scope: number for number, scope in enumerate(design.scopes)}
    logs = np.zeros(design.num_entries)
    for factor in model.factors:
        if factor.scope:
            names = sorted(factor.names, key=place_of.__getitem__)
            number = number_of[tuple(place_of[name] for name in names)]
            logs[design.starts[number] : design.starts[number + 1]] += factor.reorder(names).log().flat
    return logs


def _features(model: ModelLike) -> tuple[list[Feature], list[str]]:
    """The features of a model, and its variables in order."""
    if isinstance(model, MarkovNetwork):
        scopes = {frozenset(factor.names): factor.names for factor in model.factors if factor.scope}
        return [Feature(scope) for scope in scopes.values()], list(model.variables)
    if isinstance(model, str | BaseGraph) or hasattr(model, "edges"):
        graph = read_as(model, UndirectedGraph)
        cliques = [tuple(map(str, clique)) for clique in maximal_cliques(graph)]
        return [Feature(clique) for clique in cliques], [str(node) for node in graph.nodes]
    if isinstance(model, Feature):
        model = [model]
    if not isinstance(model, Iterable):
        raise InvalidArgument(
            f"{model!r} is no undirected model: give a graph, a Markov network, or a list of features."
        )
    features = read_features(model)
    if not features:
        raise InvalidArgument("There are no features: a model needs at least one.")
    return features, list(dict.fromkeys(name for one in features for scope in one.scopes for name in scope))


def _statistics(data: DataLike, declared: Mapping[str, Variable], names: Iterable[str]) -> Statistics:
    """The columns that a model mentions, with states as declared."""
    if isinstance(data, Statistics):
        return data
    if isinstance(data, Stream) or is_in_pieces(data):
        stream = as_stream(data)
        given = {name: variable for name, variable in declared.items() if name in stream.names}
        return read_statistics(stream.read_with(variables={**stream.given, **given}))
    known = set(columns_in(data))
    stated = {name: variable for name, variable in declared.items() if name in known}
    wanted = [name for name in names if name in known] if known.union(declared).issuperset(names) else None
    return TableStatistics(Table.read(data, stated or None, columns=wanted or None))


def _has_closed_form(
    objective: ObjectiveLike,
    source: Sample,
    penalty: Penalty,
    engine: Engine | Optimizer | None,
    optimizer: OptimizerLike,
) -> bool:
    is_likelihood = objective == "likelihood" or isinstance(objective, Likelihood)
    return is_likelihood and source.is_complete and penalty.is_none and engine is None and optimizer is None


def _first(source: Sample, model: ModelLike, start: Mapping[str, float] | None) -> Floats:
    design, point = source.design, np.zeros(source.design.num_weights)
    if isinstance(model, MarkovNetwork):
        logs = _network_logs(model, design)[design.transposed.indices]
        point = np.where(np.isfinite(logs), logs, 0.0)
    place_of = {name: place for place, name in enumerate(design.names)}
    for name, value in (start or {}).items():
        if name not in place_of:
            raise UnknownVariable.named(name, place_of, "the weights, though start= names it")
        check_number(f"start[{name!r}]", value)
        point[place_of[name]] = value
    return point


def _starts(source: Sample, first: Floats, restarts: int, seed: Seed) -> Iterable[Floats]:
    """The start, moved at random where hidden variables would stay at a saddle; then others at random."""
    generator = generator_of(seed)
    known = source.design.variables if source.statistics is None else source.statistics.variables
    hidden = [name for name in source.design.variables if name not in known]
    yield first + generator.normal(scale=0.1, size=first.size) if hidden and not first.any() else first
    for _ in range(restarts):
        yield generator.normal(size=first.size)


def _counted(climbed: Climb[Objective], logs: Floats) -> Run[AscentState]:
    """A run that was at its end from the beginning: weights of tables that were counted."""
    design = climbed.objective.design
    order = design.transposed.indices  # of each weight its entry
    finite = np.where(np.isfinite(logs), logs, 0.0)
    state = climbed.init(finite[order])
    return Run(state, 0, CONVERGED, (state.value,))


def fitted_run(climbed: Climb[Objective], run: Run[FittingState]) -> Run[AscentState]:
    """The run of proportional fitting, as one of a climb."""
    if not climbed.penalty.is_none:
        raise NotSupported('optimizer="ipf" takes no prior: leave optimizer= out.')
    counted = _counted(climbed, run.state.logs)
    return replace(counted, num_steps=run.num_steps, stopped_by=run.stopped_by, seconds=run.seconds)


def _matched(source: Sample, penalty: Penalty) -> MarkovFit:
    source.refuse_missing("pseudo-moment matching")
    if not penalty.is_none:
        raise NotSupported("Pseudo-moment matching takes no prior: it is a closed form. Take another objective.")
    logs = matched_logs(source.design, source.counts)
    design = source.design.without(~np.isfinite(logs))
    goal = Likelihood().on(source)
    climbed = Climb(Objective(design, goal.linear, goal.parts, goal.total), penalty)
    infinite = {
        design.names[place]: -math.inf for place in np.flatnonzero(~np.isfinite(logs[design.transposed.indices]))
    }
    return finished(source, Likelihood(), climbed, _counted(climbed, logs), infinite)


def finished(
    source: Sample,
    method: ObjectiveMethod,
    climbed: Climb[Objective],
    run: Run[AscentState],
    infinite: Mapping[str, float],
) -> MarkovFit:
    """The record of a climb."""
    objective, point = climbed.objective, run.state.point
    design = objective.design
    weights = {name: infinite.get(name, float(value)) for name, value in zip(design.names, point, strict=True)}
    return MarkovFit(
        design.network(design.logs(point)),
        FrozenMapping(weights),
        _log_likelihood(source, objective, point),
        run.state.value + climbed.penalty.constant,
        objective.kind,
        FrozenMapping(infinite),
        objective.num_inferences,
        run,
        climbed,
        source,
        Recession(climbed, source, point),
        method,
    )


def _log_likelihood(source: Sample, objective: Objective, point: Floats) -> float:
    """That of the data; nan where log Z is out of reach."""
    try:
        exact = Likelihood().on(source if source.engine is None else replace(source, engine=None))
        return replace(exact, design=objective.design).at(point)[0]
    except TooLarge:
        return math.nan
