"""Estimates of effects: by evaluation of an estimand or a fitted network, by the front door, by an instrument."""

from __future__ import annotations

import math
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from types import MappingProxyType
from typing import ClassVar

import numpy as np

from plausible.base import Floats, Ints, Remedy
from plausible.causal.adjustment.mediators import check_front_door, front_door_set
from plausible.causal.adjustment.problem import AdjustableGraph
from plausible.causal.adjustment.sets import check_instrument, instruments
from plausible.causal.estimation.adjusted import linear_fit
from plausible.causal.estimation.estimate import BY_FORMULA, Means, PreparedEstimate, observed_nodes
from plausible.causal.estimation.rows import (
    FEW_CASES,
    EffectRows,
    EffectTask,
    PositivityReport,
    ThinCell,
    design_of,
    effect_rows,
    expected_outcome,
    refuse_unusable,
    thin_cells,
    totals,
)
from plausible.causal.expressions.notation import distinct_parts
from plausible.causal.expressions.tree import Probability
from plausible.causal.identification.algorithm import identify
from plausible.causal.identification.question import Estimand
from plausible.data.table import Table
from plausible.errors import InvalidArgument, NotSupported, PositivityViolation, TooLarge
from plausible.factors import Factor
from plausible.graphs.causal_graph import CausalGraph, read_causes
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.learned_parameters import learn_parameters
from plausible.models import BayesianNetwork
from plausible.variables import State, Variable

#: More joint states of the variables of an estimand are not tabulated.
_MAX_STATES = 2**20


@dataclass(frozen=True, slots=True)
class Identified:
    """The estimand that the complete identification algorithm finds, with frequencies for its probabilities.

    All variables in it must be discrete. It needs neither a set to adjust for nor a front door. See Shpitser & Pearl
    (2006), Identification of joint interventional distributions in recursive semi-Markovian causal models, AAAI.
    """

    name: ClassVar[str] = "identified"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Identify the effect among the columns there are, and count their joint states."""
        causes = read_causes(graph)
        names = (task.outcome.name, task.treatment.name)
        observed = [*observed_nodes(task, causes), *names]
        estimand = identify(causes, outcome=names[0], treatment=names[1], observed=observed)
        used = [name for name in task.table.variables if name in {*estimand.variables, *names}]
        weights, states = _joint_states(task, used)
        variables = [task.table.variables[name] for name in used]
        shape = tuple(variable.num_states for variable in variables)

        def joint(resampled: Floats) -> Factor:
            counts = totals(states, resampled, math.prod(shape)).reshape(shape)
            return Factor(variables, counts / counts.sum())

        def estimate(resampled: Floats) -> Means:
            try:
                return _means(task, estimand, joint(resampled))
            except PositivityViolation:  # in a resample, what the estimand conditions on can be missing
                return Means(math.nan, math.nan, math.nan)

        _means(task, estimand, joint(weights))
        thin = _thin_conditions(task, estimand, totals(states, weights, math.prod(shape)).reshape(shape), used)
        others = tuple(name for name in used if name not in names)
        return PreparedEstimate(weights, estimate, others, PositivityReport.of(thin))


def _means(task: EffectTask, estimand: Estimand, joint: Factor) -> Means:
    assert task.scores is not None
    treatment = task.treatment.name
    return Means.of(
        [float(estimand.evaluate(joint, do={treatment: level}).values @ task.scores) for level in task.levels]
    )


def _thin_conditions(task: EffectTask, estimand: Estimand, counts: Floats, names: list[str]) -> Iterator[ThinCell]:
    """What the estimand conditions on and few cases have; what no case has does not matter, or was refused."""
    parts = distinct_parts(estimand.expression, lambda part: part.parts)
    conditions = (part.given for part in parts if isinstance(part, Probability) and part.given)
    for given in dict.fromkeys(frozenset(symbol.variable for symbol in symbols) for symbols in conditions):
        kept = [task.table.variables[name] for name in names if name in given]
        table = counts.sum(axis=tuple(place for place, name in enumerate(names) if name not in given))
        for place in np.argwhere((table > 0) & (table < FEW_CASES)).tolist():
            states = {variable.name: variable.states[i] for variable, i in zip(kept, place, strict=True)}
            number = float(table[tuple(place)])
            yield ThinCell(None, MappingProxyType(states), number, number / float(counts.sum()))


def _joint_states(task: EffectTask, names: list[str]) -> tuple[Floats, Ints]:
    """The different joint states of some columns: how much each weighs, and its place in their joint table."""
    table = task.table
    refuse_unusable(table, names)
    for name in names:
        if table.variables[name].is_continuous:
            raise NotSupported(f"{name!r} is continuous: this estimand needs states. Discretize it.")
    shape = tuple(table.variables[name].num_states for name in names)
    if math.prod(shape) > _MAX_STATES:
        raise TooLarge(
            f"The estimand is about {len(names)} columns with {math.prod(shape):,} joint states; merge some."
        )
    columns = tuple(np.asarray(table.column(name), dtype=np.int64) for name in names)
    places, row_of = np.unique(np.ravel_multi_index(columns, shape), return_inverse=True)
    weights = table.row_weights
    return totals(row_of.reshape(-1), weights, len(places)), places.astype(np.int64)


#: A stratum in which fewer cases than these are to be expected does not count.
_LEAST_CASES = 0.5


@dataclass(frozen=True, slots=True)
class PlugIn:
    """E[Y | do(x)] in the network whose parameters are learned from the data; its graph has no latent causes.

    It uses all that the graph says, and so is precise where the graph and the kinds of distributions are right.
    Missing cells are completed, and rows with interventions are used. Where no case tells what a variable does, the
    prior does; the report on positivity names these places.

    Parameters
    ----------
    prior
        Of the tables, as for `learn.parameters`.
    """

    prior: PriorLike = "bdeu:1"

    name: ClassVar[str] = "plug-in"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        causes = CausalGraph(read_causes(graph))
        latent = next((edge for edge in causes.edges if edge.is_bidirected), None)
        if latent is not None:
            raise NotSupported(
                f"'{latent}' is a latent cause, which no network of the observed variables has. Use another method, or "
                "evaluate the estimand of identify() on a fitted network."
            )
        # What does not lead to the outcome once the treatment is set drops out of P(y | do(x)).
        names = (task.outcome.name, task.treatment.name)
        mutilated = causes.without_incoming(task.treatment.name)
        kept = mutilated.ancestors(task.outcome.name).union(names)
        dag = mutilated.subgraph([node for node in causes.nodes if node in kept]).directed_part()
        hidden = [node for node in dag.nodes if node not in task.table.variables]
        if hidden:
            raise InvalidArgument(
                f"The data have no column for {hidden[0]!r}. Ask about latent_projection(graph, observed=...)."
            )
        marks = task.table.interventions
        for name in map(str, dag.nodes):
            if name != task.treatment.name and name in marks and marks[name].all():
                raise NotSupported(
                    f"In all {task.table.num_rows} rows {name!r} was set from outside, so that none tells how it comes "
                    "about by itself. Give rows in which it was not set."
                )
        table, weights = _distinct(task.table.select([str(node) for node in dag.nodes]))

        def fitted_to(resampled: Floats) -> BayesianNetwork:
            return learn_parameters(dag, table.weighted(resampled), self.prior, unseen="uniform")

        def estimate(resampled: Floats) -> Means:
            fitted = fitted_to(resampled)
            settings = [{task.treatment.name: level} for level in task.levels]
            return Means.of([expected_outcome(fitted, task.outcome, task.scores, do) for do in settings])

        thin = _thin_parents(task, table.weighted(weights), fitted_to(weights))
        used = tuple(str(node) for node in dag.nodes if node not in names)
        return PreparedEstimate(weights, estimate, used, PositivityReport.of(thin))


def _thin_parents(task: EffectTask, table: Table, network: BayesianNetwork) -> Iterator[ThinCell]:
    """The states of parents that setting the treatment brings about and that few cases have, or none."""
    treatment = task.treatment.name
    for child, cpd in network.cpds.items():
        parents = [table.variables[name] for name in cpd.parent_names]
        if child == treatment or not parents or any(parent.is_continuous for parent in parents):
            continue
        counts, others = _parent_counts(table, child, parents), [p for p in parents if p.name != treatment]
        # How likely each joint state of the other parents is once the treatment is set.
        names = [parent.name for parent in others]
        reached: dict[State, Floats] = {
            level: network.query(names, do={treatment: level}).values if names else np.ones(()) for level in task.levels
        }
        tables: dict[State | None, Floats] = {None: counts}
        if len(others) < len(parents):
            axis = cpd.parent_names.index(treatment)
            tables = {level: np.asarray(counts.take(task.treatment.index(level), axis=axis)) for level in task.levels}
        for level, here in tables.items():
            share = np.maximum(*reached.values()) if level is None else reached[level]
            for place in np.argwhere((here < FEW_CASES) & (share * table.total >= _LEAST_CASES)).tolist():
                states = {p.name: p.states[i] for p, i in zip(others, place, strict=True)}
                at = tuple(place)
                yield ThinCell(level, MappingProxyType(states), float(here[at]), float(share[at]))


def _parent_counts(table: Table, child: str, parents: list[Variable]) -> Floats:
    """How many cases tell what a child does, for each joint state of its parents."""
    shape = tuple(parent.num_states for parent in parents)
    columns = np.stack([table.column(parent.name) for parent in parents])
    own = table.column(child)
    known = (columns >= 0).all(axis=0) & (~np.isnan(own) if table.variables[child].is_continuous else own >= 0)
    if child in table.interventions:
        known &= ~np.asarray(table.interventions[child], dtype=bool)
    weights = table.row_weights
    places = np.ravel_multi_index(tuple(columns[:, known].astype(np.int64)), shape)
    return totals(places, weights[known], math.prod(shape)).reshape(shape)


def _distinct(table: Table) -> tuple[Table, Floats]:
    """The different rows, where they can be told apart at once, and how often each occurs."""
    weights = table.row_weights
    if table.continuous or table.interventions or not table.num_rows:
        return table, weights
    _, first, place = np.unique(table.codes, axis=1, return_index=True, return_inverse=True)
    return table.take(first), totals(place.reshape(-1), weights, len(first))


@dataclass(frozen=True, slots=True)
class FrontDoor:
    """E[Y | do(x)] = Σ_m P(m | x) Σ_x' E[Y | x', m] P(x').

    Where treatment or mediators are continuous, in linear models: the slopes of the mediators on the treatment times
    those of the outcome on the mediators, with the treatment held. See Pearl (1995), Causal diagrams for empirical
    research, Biometrika 82.

    Parameters
    ----------
    mediators
        M; chosen by the graph where left out.
    """

    mediators: str | Iterable[str] | None = None

    name: ClassVar[str] = "front-door"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        mediators = self._chosen(task, graph)
        rows = effect_rows(task, mediators)
        if task.treatment.is_continuous or not rows.is_discrete:
            return _linear(task, rows, mediators)
        _check_cells(task, rows)
        codes = task.level_codes

        def estimate(weights: Floats) -> Means:
            counts, sums = _tables(rows, weights)
            of_treatment = counts.sum(axis=1)
            means = sums / np.where(counts > 0, counts, 1.0)
            # A cell without cases in a resample: its treatment x' counts in no stratum, so that all average over one.
            used = counts[list(codes)].any(axis=0)
            shared = of_treatment * (counts[:, used] > 0).all(axis=1)
            with np.errstate(invalid="ignore", divide="ignore"):
                outcome = shared @ means / shared.sum()
                return Means.of([float(counts[code] @ outcome / of_treatment[code]) for code in codes])

        thin = [cell for code in np.unique(rows.treatment) for cell in thin_cells(task, rows, int(code))]
        return PreparedEstimate(rows.weights, estimate, mediators, PositivityReport.of(thin))

    def _chosen(self, task: EffectTask, graph: AdjustableGraph) -> tuple[str, ...]:
        causes = read_causes(graph)
        outcome, treatment = task.outcome.name, task.treatment.name
        if self.mediators is None:
            found = front_door_set(causes, outcome, treatment, allowed=observed_nodes(task, causes))
            if found is None:
                raise InvalidArgument(
                    f"No columns of the data are a front-door set for the effect of {treatment!r} on {outcome!r}.",
                    remedies=[Remedy("try adjustment or an instrument"), BY_FORMULA],
                )
            return task.ordered(found)
        names = task.named(self.mediators)
        check_front_door(causes, outcome, treatment, names).require()
        return names


def _tables(rows: EffectRows, weights: Floats) -> tuple[Floats, Floats]:
    """How much each (treatment, stratum of mediators) weighs, and the sum of its outcomes."""
    treatment = rows.treatment.astype(np.int64)
    shape = (int(treatment.max()) + 1, rows.num_cells)
    place = treatment * rows.num_cells + rows.cell
    size = shape[0] * shape[1]
    return totals(place, weights, size).reshape(shape), totals(place, weights * rows.outcome, size).reshape(shape)


def _check_cells(task: EffectTask, rows: EffectRows) -> None:
    counts, _ = _tables(rows, rows.weights)
    for level, code in zip(task.levels, task.level_codes, strict=True):
        if code >= len(counts) or not counts[code].any():
            raise InvalidArgument(f"No row has {task.treatment.name}={level!r}: the data do not tell what it does.")
    occurring = np.flatnonzero(counts.any(axis=1))
    used = counts[list(task.level_codes)].any(axis=0)
    for code in occurring.tolist():
        for cell in np.flatnonzero(used & (counts[code] == 0)).tolist():
            states = rows.stratum(cell)
            place = ", ".join(f"{name}={state!r}" for name, state in states.items())
            state = task.treatment.states[code]
            raise PositivityViolation(
                f"No case with {place} has {task.treatment.name}={state!r}, so the data do not tell what the "
                "mediators do there. Merge states, or take other mediators.",
                [{**states, task.treatment.name: state}],
            )


def _linear(task: EffectTask, rows: EffectRows, mediators: tuple[str, ...]) -> PreparedEstimate:
    discrete = [name for name in mediators if not task.table.variables[name].is_continuous]
    if any(task.table.variables[name].num_states > 2 for name in discrete) or (
        not task.treatment.is_continuous and task.treatment.num_states > 2
    ):
        raise InvalidArgument(
            "With continuous and discrete variables the front door is linear: discrete ones can have two states only."
        )
    ones, others = rows.design[:, :1], rows.design[:, 1:]
    levels = task.level_numbers

    def estimate(weights: Floats) -> Means:
        causes = np.column_stack([ones, rows.treatment])
        moves = np.array([linear_fit(causes, column, weights)[1] for column in others.T])
        effects = linear_fit(np.column_stack([causes, others]), rows.outcome, weights)[2:]
        slope, total = float(moves @ effects), weights.sum()
        middle = float(weights @ rows.outcome / total) - slope * float(weights @ rows.treatment / total)
        return Means.of(middle + slope * levels)

    through = ", ".join(mediators)
    assumption = f"{through} are linear in {task.treatment.name}, and {task.outcome.name} in both, without products"
    return PreparedEstimate(rows.weights, estimate, mediators, assumption=assumption if mediators else "")


@dataclass(frozen=True, slots=True)
class InstrumentalVariable:
    """The effect of one unit of the treatment: the outcome on the treatment as the instrument predicts it.

    With a binary instrument and no conditions it is Wald's (E[Y | z'] - E[Y | z]) / (E[X | z'] - E[X | z]). It is the
    effect where it is the same for all cases (linear models); for a binary treatment that no case takes against the
    instrument, it is that of the compliers. See Wald (1940), The fitting of straight lines if both variables are
    subject to error, Annals of Mathematical Statistics 11; Imbens & Angrist (1994), Identification and estimation of
    local average treatment effects, Econometrica 62.

    Parameters
    ----------
    instrument
        Z; chosen by the graph where left out, one without conditions first.
    given
        W, the set that it is an instrument given; looked for where `instrument` is left out.
    """

    instrument: str | None = None
    given: str | Iterable[str] = ()

    name: ClassVar[str] = "instrument"

    def prepare(self, task: EffectTask, graph: AdjustableGraph) -> PreparedEstimate:
        """Read the columns, check the graph, and refuse what can't be estimated."""
        if not task.treatment.is_continuous and task.treatment.num_states > 2:
            raise NotSupported(f"An instrument needs a treatment with two states or numbers, not {task.treatment!r}.")
        instrument, given = self._chosen(task, graph)
        refuse_unusable(task.table, (task.outcome.name, task.treatment.name, instrument, *given))
        weights = task.table.row_weights
        y, x = task.numbers(task.outcome.name), task.numbers(task.treatment.name)
        covariates = _design(task, given, weights)
        first = np.column_stack([covariates, _design(task, (instrument,), weights)[:, 1:]])
        strength = _strength(x, covariates, first, weights)
        if not strength > 1e-9:
            raise InvalidArgument(f"{instrument!r} does not move {task.treatment.name!r} in these data: no instrument.")
        low, high = task.level_numbers.tolist()

        def estimate(resampled: Floats) -> Means:
            predicted = first @ linear_fit(first, x, resampled)
            slope = linear_fit(np.column_stack([predicted, covariates]), y, resampled)[0]
            return Means(float("nan"), float("nan"), float(slope * (high - low)))

        # White's robust standard error of the slope.
        predicted = first @ linear_fit(first, x, weights)
        slopes = linear_fit(np.column_stack([predicted, covariates]), y, weights)
        residual = y - slopes[0] * x - covariates @ slopes[1:]
        apart = predicted - covariates @ linear_fit(covariates, predicted, weights)
        error = float(np.sqrt(weights @ (apart * residual) ** 2) / (weights @ apart**2)) * abs(high - low)
        assumption = f"the effect of {task.treatment.name} is linear and the same for all cases"
        return PreparedEstimate(weights, estimate, (instrument, *given), None, error, strength, assumption)

    def _chosen(self, task: EffectTask, graph: AdjustableGraph) -> tuple[str, tuple[str, ...]]:
        causes = read_causes(graph)
        outcome, treatment = task.outcome.name, task.treatment.name
        if self.instrument is None:
            found = instruments(causes, outcome, treatment, allowed=observed_nodes(task, causes))
            if not found:
                raise InvalidArgument(
                    f"No column of the data is an instrument for the effect of {treatment!r} on {outcome!r}, with or "
                    "without conditions."
                )
            best = min(found, key=lambda each: len(each.given))
            return str(best.node), task.ordered(best.given)
        (instrument,), given = task.named(self.instrument), task.named(self.given)
        check_instrument(causes, outcome, treatment, instrument, given).require()
        return instrument, given


def _design(task: EffectTask, names: tuple[str, ...], weights: Floats) -> Floats:
    variables = [task.table.variables[name] for name in names]
    columns = np.array([task.numbers(name) for name in names]).reshape(len(names), task.table.num_rows)
    return design_of(columns, variables, weights)


def _strength(x: Floats, covariates: Floats, first: Floats, weights: Floats) -> float:
    """The F statistic of the instrument in the regression of the treatment on it and the covariates."""
    without = float(weights @ (x - covariates @ linear_fit(covariates, x, weights)) ** 2)
    within = float(weights @ (x - first @ linear_fit(first, x, weights)) ** 2)
    num_added = int(np.linalg.matrix_rank(first) - np.linalg.matrix_rank(covariates))
    left = weights.sum() - np.linalg.matrix_rank(first)
    if num_added == 0 or without - within <= 1e-12 * without:
        return 0.0
    return float("inf") if within <= 1e-12 * without else (without - within) / num_added / (within / max(left, 1.0))
