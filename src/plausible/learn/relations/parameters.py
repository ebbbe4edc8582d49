"""Distributions that all objects of a class share, from tables with keys: counted, or by expectation maximisation.

The log-likelihood of complete tables is a sum over attributes, of which each is that of a plain table with a row for
each object: what learns an ordinary network learns them. Where values are missing, all objects that hang together are
inferred together, and counts are expected ones.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.query_info import QueryInfo
from plausible.cpds import CPD, TableCPD
from plausible.errors import InvalidArgument, NotSupported
from plausible.graphs import DAG
from plausible.inference.budget import Budget
from plausible.learn.estimation.families import CPDLearner
from plausible.learn.estimation.priors import Estimate, PriorLike, is_no_prior, pseudo_counts
from plausible.learn.learned_parameters import fit_from_data
from plausible.learn.relations.family_tables import family_table, is_complete
from plausible.models.relations.collective import Collective
from plausible.models.relations.families import Family
from plausible.models.relations.grounding import GroundFamily, Grounding
from plausible.models.relations.references import ReferenceCPD, cell_sizes, cells_of
from plausible.search.run import Clock, Run, Stops, best_run, iterate


@dataclass(frozen=True, slots=True, eq=False)
class EMState:
    """Distributions, and what is expected under them."""

    cpds: tuple[CPD, ...]  # of each family
    counts: tuple[Floats, ...]  # expected under them, of each family
    log_likelihood: float
    objective: float  # the log-likelihood, and Σ e log θ of the prior
    info: QueryInfo  # how the expectations were got


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """What is to be learned, and how."""

    grounding: Grounding
    prior: PriorLike
    estimate: Estimate
    kinds: Mapping[str, str | CPDLearner]

    def pseudo_counts(self, family: Family) -> Floats:
        """What the prior adds to counts before they are normalised."""
        *parents, child = family.variables(self.grounding.schema)
        alpha = pseudo_counts(self.prior, child, parents)
        return {"mean": alpha, "map": np.maximum(alpha - 1.0, 0.0), "mle": np.zeros_like(alpha)}[self.estimate]


def estimate_of(prior: PriorLike, estimate: Estimate | None) -> Estimate:
    """Which numbers stand for a posterior, where nobody says: its mean where there is a prior."""
    return estimate or ("mle" if is_no_prior(prior) else "mean")


# --- complete tables ---


def learn_complete(task: Task) -> tuple[tuple[CPD, ...], dict[str, int]]:
    """The distribution of each family, and name -> how many rows of it have no case."""
    cpds, unidentified = [], {}
    for ground in task.grounding.families:
        cpd, num_open = _learn_family(task, ground)
        cpds.append(cpd)
        if num_open:
            unidentified[ground.family.name] = num_open
    return tuple(cpds), unidentified


def _learn_family(task: Task, ground: GroundFamily) -> tuple[CPD, int]:
    """One distribution from the rows of its objects."""
    family = ground.family
    graph = DAG([(term.text, family.name) for term in family.terms], nodes=[*_texts(family), family.name])
    kind = {family.name: task.kinds[family.name]} if family.name in task.kinds else None
    prior = task.prior
    if isinstance(prior, Mapping):
        prior = {family.name: prior[family.name]} if family.name in prior else None
    table = family_table(task.grounding, ground)
    fit = fit_from_data(graph, table, prior, estimate=task.estimate, kinds=kind)[0]
    cpd = _ordered(fit.network.cpd(family.name), family)
    is_open = fit.unidentified.get(family.name)
    if family.partition is not None:
        cpd = _reference_cpd(task, family, cpd.to_table().values)
    return cpd, 0 if is_open is None else int(is_open.sum())


def _reference_cpd(task: Task, family: Family, values: Floats) -> CPD:
    """The distribution of a reference; cells without objects, of which none can be picked, get nothing of the prior."""
    *parents, cell = family.variables(task.grounding.schema)
    partition, instance = family.partition or (), task.grounding.instance
    cells = cells_of(partition, instance, instance.schema.references[family.name])
    rows = np.where(cell_sizes(cells, cell.num_states) > 0, values, 0.0)
    return ReferenceCPD(cell, rows / rows.sum(axis=-1, keepdims=True), [term.text for term in partition], parents)


def _ordered(cpd: CPD, family: Family) -> CPD:
    """A table with its parents in the family's order; others, whose numbers go by name, as they are."""
    texts = _texts(family)
    if not isinstance(cpd, TableCPD) or list(cpd.parent_names) == texts:
        return cpd
    order = [cpd.parent_names.index(text) for text in texts]
    return TableCPD(cpd.variable, cpd.values.transpose(*order, -1), [cpd.parents[place] for place in order])


def _texts(family: Family) -> list[str]:
    return [term.text for term in family.terms]


# --- missing values ---


def learn_incomplete(
    task: Task,
    *,
    starts: Sequence[CPD | None] | None = None,
    restarts: int,
    generator: np.random.Generator,
    stops: Stops,
    engine: object,
    budget: Budget | None,
) -> tuple[Run[EMState], ...]:
    """Expectation maximisation from several starts, the best run first."""
    _refuse_kinds(task)
    hidden = [not is_complete(family_table(task.grounding, ground)).all() for ground in task.grounding.families]
    fixed = [
        None if is_hidden else _learn_family(task, ground)[0]
        for ground, is_hidden in zip(task.grounding.families, hidden, strict=True)
    ]

    def expected(cpds: tuple[CPD, ...]) -> EMState:
        collective = Collective(task.grounding, cpds)
        solution = collective.solve(engine, budget)
        log_likelihood = solution.log_total + collective.ground.log_constant
        counts = tuple(collective.expected_counts(solution))
        return EMState(cpds, counts, log_likelihood, log_likelihood + _log_prior(task, cpds), solution.info)

    def step(state: EMState) -> EMState:
        pairs = zip(task.grounding.families, state.counts, fixed, strict=True)
        return expected(tuple(kept or _normalised(task, ground.family, counts) for ground, counts, kept in pairs))

    def run_from(number: int, clock: Clock) -> Run[EMState]:
        begun = expected(_start(task, fixed, starts, number, generator))
        return iterate(
            step, begun, stops, [_settled(stops.tolerance)], objective=lambda state: state.objective, clock=clock
        )

    return best_run(run_from, range(restarts + 1), Clock.of(stops.time_limit))


def _settled(tolerance: float) -> Callable[[Run[EMState]], str]:
    """Ends a run whose objective no longer grows by more than a share of itself."""

    def rule(run: Run[EMState]) -> str:
        gain = run.trace[-1] - run.trace[-2]
        return "converged" if gain <= tolerance * (abs(run.trace[-1]) + tolerance) else ""

    return rule


def refuse_unknown_references(grounding: Grounding) -> None:
    """Refuse references that would have to be inferred, together with what they are chosen by."""
    for ground in grounding.families:
        if ground.family.is_reference and not is_complete(family_table(grounding, ground)).all():
            raise NotSupported(
                f"{ground.family.name!r}, its parents and its partition must be known where its distribution is "
                "learned: leave out the objects where one is missing, or fix the reference (no references=)."
            )


def _refuse_kinds(task: Task) -> None:
    for name, kind in task.kinds.items():
        if kind != "table":
            raise NotSupported(
                f"Where values are missing, distributions are tables: kinds={{{name!r}: {kind!r}}} needs complete "
                "tables."
            )
    for ground in task.grounding.families:
        for variable in ground.family.variables(task.grounding.schema):
            if variable.is_continuous:
                raise NotSupported(
                    f"Values are missing, and {variable.name!r} is a number: expectation maximisation of relational "
                    "models is of tables. Leave out such objects, or discretise the column."
                )


def _start(
    task: Task,
    fixed: Sequence[CPD | None],
    starts: Sequence[CPD | None] | None,
    number: int,
    generator: np.random.Generator,
) -> tuple[CPD, ...]:
    """Where a run begins: at given distributions, then at tables drawn around what complete rows tell."""
    cpds = []
    for place, (ground, kept) in enumerate(zip(task.grounding.families, fixed, strict=True)):
        given = starts[place] if starts is not None and number == 0 else None
        known = given if kept is None else kept
        cpds.append(_drawn(task, ground, generator) if known is None else known)
    return tuple(cpds)


def _drawn(task: Task, ground: GroundFamily, generator: np.random.Generator) -> CPD:
    variables = ground.family.variables(task.grounding.schema)
    table = family_table(task.grounding, ground)
    rows = table.take(is_complete(table))
    shape = [variable.num_states for variable in variables]
    places = [rows.column(variable.name).astype(np.int64) for variable in variables]
    counts = np.bincount(np.ravel_multi_index(places, shape), minlength=int(np.prod(shape))).reshape(shape)
    noise = generator.dirichlet(np.ones(shape[-1]), size=shape[:-1])
    return _table(ground.family, task, counts + task.pseudo_counts(ground.family) + noise)


def _normalised(task: Task, family: Family, counts: Floats) -> CPD:
    return _table(family, task, counts + task.pseudo_counts(family))


def _table(family: Family, task: Task, weights: Floats) -> CPD:
    *parents, child = family.variables(task.grounding.schema)
    totals = weights.sum(axis=-1, keepdims=True)
    rows = np.divide(weights, totals, out=np.full_like(weights, 1.0 / child.num_states), where=totals > 0)
    return TableCPD(child, rows, parents)


def _log_prior(task: Task, cpds: Sequence[CPD]) -> float:
    """Σ e log θ, of all tables."""
    total = 0.0
    for ground, cpd in zip(task.grounding.families, cpds, strict=True):
        excess, values = task.pseudo_counts(ground.family), cpd.to_table().values
        counted = excess > 0
        with np.errstate(divide="ignore"):
            total += float(excess[counted] @ np.log(values[counted]))
    return total


def refuse_no_objects(grounding: Grounding) -> None:
    """Refuse tables of which nothing can be learned."""
    if not any(len(ground.rows) for ground in grounding.families):
        raise InvalidArgument("The tables have no objects: there is nothing to learn from.")
