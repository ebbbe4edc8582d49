"""Variational Bayes: parameters and missing cells as if independent, which bounds the marginal likelihood."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from itertools import chain, pairwise
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from plausible.base import Floats, Seed, check_count, generator_of
from plausible.data.table import Table, TableLike
from plausible.errors import InvalidArgument, TooLarge, counted
from plausible.graphs import DAG
from plausible.learn.bayesian.completion_problem import CompletionProblem, DirichletFit
from plausible.learn.estimation.priors import PriorLike
from plausible.search.run import CONVERGED, Clock, Run, Stops, best_run, iterate
from plausible.variables import Variable


def first_beliefs(problem: CompletionProblem) -> Floats:
    """(cases, states of all variables): one for what is observed, the same for all states of a missing cell."""
    codes, columns = problem.cases.codes, []
    for column, variable in enumerate(problem.tables.variables.values()):
        found = codes[:, column, None] == np.arange(variable.num_states)
        columns.append(np.where(codes[:, column, None] < 0, 1.0 / variable.num_states, found))
    return np.concatenate([np.zeros((problem.cases.num_cases, 0)), *columns], axis=1)


def named_beliefs(problem: CompletionProblem, beliefs: Floats) -> dict[str, Floats]:
    """Name -> (cases, states); views."""
    variables = problem.tables.variables
    ends = np.cumsum([0, *(variable.num_states for variable in variables.values())]).tolist()
    return {name: beliefs[:, start:end] for name, (start, end) in zip(variables, pairwise(ends), strict=True)}


def swept(problem: CompletionProblem, logs: Floats, beliefs: Floats) -> Floats:
    """Each variable once: q(x) ∝ exp E[Σ ln θ] over the families that it is in, all other beliefs held.

    No update lowers the bound of `factorized_sums`, and no width of the graph matters.
    """
    moved = beliefs.copy()
    parts, tables = named_beliefs(problem, moved), problem.tables.named(logs)
    for column, name in enumerate(problem.tables.variables):
        missing = np.flatnonzero(problem.cases.codes[:, column] < 0)
        if len(missing):
            expected = sum(
                _expected(problem, tables, parts, (family, name)) for family in problem.tables.touching[name]
            )
            scaled = np.broadcast_to(expected, parts[name].shape)[missing]
            weights = np.exp(scaled - scaled.max(axis=1, keepdims=True))
            parts[name][missing] = weights / weights.sum(axis=1, keepdims=True)
    return moved


def factorized_sums(problem: CompletionProblem, logs: Floats, beliefs: Floats) -> tuple[Floats, Floats]:
    """E_q[Σ ln θ] + entropy of q of each case, at most the log of the sum over completions; and expected counts."""
    parts, tables = named_beliefs(problem, beliefs), problem.tables.named(logs)
    totals = -(beliefs * np.log(np.where(beliefs > 0, beliefs, 1.0))).sum(axis=1)
    counts = {}
    for family in problem.tables.variables:
        totals = totals + (_expected(problem, tables, parts, (family, family)) * parts[family]).sum(axis=1)
        *parents, child = (parts[name] for name in (*problem.tables.parents[family], family))
        joint = (problem.cases.weights * ~problem.is_case_set[:, problem.tables.scopes[family][-1]])[:, None]
        for part in parents:
            joint = (joint[:, :, None] * part[:, None, :]).reshape(len(part), -1)
        counts[family] = np.asarray((joint.T @ child).reshape(problem.tables.shapes[family]))
    return totals, problem.tables.flat(counts)


def _expected(
    problem: CompletionProblem, tables: dict[str, Floats], parts: dict[str, Floats], pair: tuple[str, str]
) -> Floats:
    """(cases, states): E[ln θ] of a family for each state of one of its variables; zero where its child was set."""
    family, kept = pair
    scope = (*problem.tables.parents[family], family)
    others = [axis for axis, name in enumerate(scope) if name != kept]
    found = tables[family].transpose([scope.index(kept), *others])[None]
    for axis in reversed(others):
        found = np.einsum("c...k,ck->c...", found, parts[scope[axis]], optimize=False)
    return np.asarray(found * ~problem.is_case_set[:, problem.tables.scopes[family][-1], None])


_CELLS = ("auto", "exact", "mean-field")

_SWEEPS = 3  # Of mean field, in each step

#: Told the state after each step; a true answer ends the run.
Progress: TypeAlias = "Callable[[VariationalState], object]"


@dataclass(frozen=True, slots=True, eq=False)
class VariationalState:
    """What the next step needs."""

    parameters: Floats  # a of Q(θ) = Dirichlet(a), all tables in one flat array
    counts: Floats  # The counts that the best Q(H) for this Q(θ) expects, likewise
    bound: float  # F, at most log P(D)
    #: Where Q(H) is a product over cells, (cases, states of all variables): its factors. None where it is exact.
    beliefs: Floats | None = None

    def __repr__(self) -> str:
        return f"<VariationalState: {counted(len(self.parameters), 'entry')} of tables, bound {self.bound:.6g}>"


def variational_init(problem: CompletionProblem, seed: Seed = 0, cells: str = "exact") -> VariationalState:
    """The state whose Q(H) is the posterior under tables drawn uniformly: random, so that hidden states differ.

    `cells` is "exact" or "mean-field", as for `variational_bayes`.

    >>> problem = CompletionProblem.of("rain -> grass", {"rain": [0, 1, None, 0], "grass": [0, 1, 1, None]})
    >>> variational_init(problem)
    <VariationalState: 6 entries of tables, bound -...>
    """
    tables = problem.tables
    logs = tables.log_softmax(tables.draw_log_gammas(np.ones(len(problem.pseudo_counts)), generator_of(seed)))
    (_, counts), beliefs = _completed(problem, logs, first_beliefs(problem) if cells == "mean-field" else None)
    return _state(problem, problem.pseudo_counts + counts, beliefs)


def variational_step(problem: CompletionProblem, state: VariationalState) -> VariationalState:
    """Q(θ) given Q(H), and Q(H) given Q(θ): the bound does not fall.

    >>> problem = CompletionProblem.of("rain -> grass", {"rain": [0, 1, None, 0], "grass": [0, 1, 1, None]})
    >>> state = variational_init(problem)
    >>> variational_step(problem, state).bound >= state.bound
    True
    """
    return _state(problem, problem.pseudo_counts + state.counts, state.beliefs)


def _completed(
    problem: CompletionProblem, logs: Floats, beliefs: Floats | None
) -> tuple[tuple[Floats, Floats], Floats | None]:
    """Q(h) ∝ Π exp(logs) of each case, or some sweeps of mean field towards it."""
    if beliefs is None:
        return problem.case_sums(np.exp(logs)), None
    for _ in range(_SWEEPS):
        beliefs = swept(problem, logs, beliefs)
    return factorized_sums(problem, logs, beliefs), beliefs


def _state(problem: CompletionProblem, parameters: Floats, beliefs: Floats | None) -> VariationalState:
    """Q(h) by exp(E[ln θ]) of each case; F = Σ log of its sum, or its bound, - KL(Q(θ) || prior)."""
    (log_totals, counts), after = _completed(problem, problem.tables.expected_logs(parameters), beliefs)
    lost = np.isneginf(log_totals)
    if lost.any():
        row = problem.cases.first_row(int(np.argmax(lost)))
        raise InvalidArgument(
            f"exp(E[ln θ]) is zero, up to underflow, for all completions of row {row}: pseudo-counts are too small. "
            "Take a prior with at least 0.01 for each entry, such as K2()."
        )
    bound = problem.cases.weights @ log_totals - problem.tables.divergence(parameters, problem.pseudo_counts)
    return VariationalState(parameters, counts, float(bound), after)


@dataclass(frozen=True, slots=True, eq=False)
class VariationalFit(DirichletFit[VariationalState]):
    """The best run of variational Bayes; made by `variational_bayes`.

    Q is fitted around one mode. Where states of a hidden variable may be renamed, the posterior has as many modes as
    there are orders of them, and Q stands for one: its tables are those of one order, which the seed chose, and it is
    too certain. `bound` stays a bound of log P(D), which counts them all.
    """

    bounds: tuple[float, ...]  # The last bound of each run, the best first

    @property
    def bound(self) -> float:
        """F = E_Q[log P(θ, D, H)] + entropy of Q: at most log P(D). No step lowers it."""
        return self.state.bound

    def probabilities(self, name: str) -> Floats:
        """(rows, states): Q(state) of a variable in each row of the data; NaN for rows that weigh nothing."""
        self.problem.check_name(name)
        if self.state.beliefs is not None:
            return self.problem.by_row(named_beliefs(self.problem, self.state.beliefs)[name])
        tables = np.exp(self.problem.tables.expected_logs(self.state.parameters))
        return self.problem.cell_probabilities(tables, name)

    def __repr__(self) -> str:
        return f"<VariationalFit: bound {self.bound:.6g}, {self.num_steps} steps, {self.stopped_by}>"


def variational_bayes(
    graph: object,
    data: TableLike,
    prior: PriorLike = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    cells: str = "auto",
    start: VariationalState | Run[VariationalState] | None = None,
    restarts: int = 0,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> VariationalFit:
    """Bound log P(rows with missing cells), and fit Q(θ) Q(H) to the posterior, by coordinate ascent.

    Q(θ) is a Dirichlet(α + expected counts) for each row of each table; Q(h) of each row of data is the posterior of
    all its missing cells together under tables exp(E[ln θ]) = exp(ψ(a_x) - ψ(Σ a)), which sum to less than one. With
    many cases ψ(a) tends to ln a, and the steps to those of EM (Beal & Ghahramani 2003; Koller & Friedman 2009, §19.3.3
    and theorem 19.8).

    A step costs as much as one of EM, or with mean field three sweeps over the tables for each different row. Missing
    cells that nothing observed depends on are completed as all others are, which leaves the bound a little lower than
    it would be without them.

    Parameters
    ----------
    graph, data, prior, hidden
        As for `sample_parameters`; rows may have any weights.
    cells
        How the missing cells of a row are under Q: "exact" for their joint posterior, by a clique tree; "mean-field"
        for independent cells, which bounds less tightly and costs no more in wide graphs; "auto" for mean field where
        the clique tree would be too large.
    start
        A run before, or its state, which goes on with the cells that it has; by default a random one.
    tolerance
        A run has converged when the bound gains at most tolerance · (1 + |bound|).

    Examples
    --------
    >>> rows = {"rain": ["no", "yes", None, "no"] * 5, "grass": ["dry", "wet", "wet", None] * 5}
    >>> fit = variational_bayes("rain -> grass", rows)
    >>> fit.converged, round(fit.bound, 1)
    (True, -18.9)
    >>> fit.posterior["rain"].mean.round(1)
    array([0.6, 0.4])
    """
    check_count("restarts", restarts)
    stops = Stops(tolerance, max_steps, time_limit, progress)
    problem, rng = CompletionProblem.of(graph, data, prior, hidden=hidden), generator_of(seed)
    given = start.state if isinstance(start, Run) else start
    kind = _kind_of_cells(problem, cells) if given is None else "exact" if given.beliefs is None else "mean-field"

    def gains_little(run: Run[VariationalState]) -> str:
        return CONVERGED if run.trace[-1] - run.trace[-2] <= tolerance * (1.0 + abs(run.trace[-1])) else ""

    def run_from(first: VariationalState | Run[VariationalState], clock: Clock) -> Run[VariationalState]:
        step, bound = partial(variational_step, problem), attrgetter("bound")
        return iterate(step, first, stops, [gains_little], objective=bound, clock=clock)

    drawn = (variational_init(problem, rng, kind) for _ in range(restarts + (start is None)))
    runs = best_run(run_from, drawn if start is None else chain([start], drawn), time_limit)
    return VariationalFit(problem, runs[0], tuple(run.state.bound for run in runs))


def _kind_of_cells(problem: CompletionProblem, cells: str) -> str:
    if cells not in _CELLS:
        raise InvalidArgument(f"cells= is one of {', '.join(map(repr, _CELLS))}, not {cells!r}.")
    if cells != "auto":
        return cells
    try:
        _ = problem.tree
    except TooLarge:
        return "mean-field"
    return "exact"


def cluster_by_variational_bayes(
    data: TableLike,
    num_clusters: int,
    prior: PriorLike = None,
    *,
    features: Iterable[str] | None = None,
    cluster: str = "cluster",
    restarts: int = 4,
    seed: Seed = 0,
    tolerance: float = 1e-6,
    max_steps: int = 1000,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> VariationalFit:
    """Cluster rows by variational Bayes for naive Bayes: a hidden class, features independent given it.

    `fit.probabilities(cluster)` has the cluster of each row, and clusters that the data do not need stay empty
    (Koller & Friedman 2009, example 19.13).

    Parameters
    ----------
    data, num_clusters
        Rows with discrete features, of which cells may be missing, and the most clusters.
    features, cluster
        The columns to use, by default all; and the name of the hidden variable.
    prior, restarts, seed, tolerance, max_steps, progress, time_limit
        As for `variational_bayes`.

    Examples
    --------
    >>> rows = {"a": [0, 0, 0, 1, 1, 1] * 5, "b": [0, 0, 0, 1, 1, 1] * 5, "c": [0, 0, 0, 1, 1, None] * 5}
    >>> found = cluster_by_variational_bayes(rows, 2).probabilities("cluster").argmax(axis=1)[:6]
    >>> bool((found[:3] == found[0]).all() and (found[3:] == 1 - found[0]).all())
    True
    """
    check_count("num_clusters", num_clusters, 1)
    table = Table.read(data)
    names = list(table.variables) if features is None else list(features)
    if cluster in names:
        raise InvalidArgument(f"The data have a column {cluster!r} already: give cluster= another name.")
    return variational_bayes(
        DAG([(cluster, name) for name in names], nodes=[cluster, *names]),
        table,
        prior,
        hidden={cluster: num_clusters},
        restarts=restarts,
        seed=seed,
        tolerance=tolerance,
        max_steps=max_steps,
        progress=progress,
        time_limit=time_limit,
    )
