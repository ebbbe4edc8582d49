"""Expectation propagation: Dirichlet rows that have the moments which each case, seen after all others, gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats
from plausible.base.options import check_number
from plausible.base.seeds import Seed, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, counted
from plausible.learn.bayesian.case_sites import CaseSites
from plausible.learn.bayesian.completion_problem import CompletionProblem, DirichletFit
from plausible.learn.estimation.priors import PriorLike
from plausible.learn.log_gamma import log_rising
from plausible.search.clock import Clock
from plausible.search.run import CONVERGED, Run, Stops, iterate
from plausible.variables import Variable

#: Told the state after each step; a true answer ends the run.
Progress: TypeAlias = "Callable[[ExpectationPropagationState], object]"


@dataclass(frozen=True, slots=True, eq=False)
class ExpectationPropagationState:
    """What the next step needs."""

    #: s: the pseudo-counts that each site stands for, one for each of `CaseSites.entries`; they may be negative.
    sites: Floats
    targets: Floats  # What the sites should be, given all others; a site that has no proper cavity stays as it is
    parameters: Floats  # a = α + counts + Σ weight · s of Q(θ) = Dirichlet(a), all tables in one flat array
    num_skipped: int  # How many sites have no proper cavity: without them Q is no distribution
    residual: float  # By what share of itself a parameter of Q would change at most, were all sites at their targets
    log_evidence: float  # The estimate of log P(D); NaN where a site was skipped

    def __repr__(self) -> str:
        return f"<ExpectationPropagationState: residual {self.residual:.3g}, log evidence {self.log_evidence:.6g}>"


def expectation_propagation_init(cases: CaseSites, seed: Seed = 0) -> ExpectationPropagationState:
    """The state whose sites are the counts expected under the tables that observed families tell.

    Where a variable is never observed these are drawn, so that its states differ.

    Parameters
    ----------
    cases
        The sites of the data.

    Examples
    --------
    >>> problem = CompletionProblem.of("rain -> grass", {"rain": [0, 1, None, 0], "grass": [0, 1, 1, None]})
    >>> expectation_propagation_init(CaseSites.of(problem))
    <ExpectationPropagationState: residual ..., log evidence -...>
    """
    tables, known = cases.problem.tables, cases.problem.pseudo_counts + cases.counts
    if cases.problem.cases.hidden:
        logs = tables.log_softmax(tables.draw_log_gammas(known, generator_of(seed)))
    else:
        logs = np.log(tables.normalized(known))
    # Draws from small pseudo-counts may be zero up to underflow, and all completions of a case with them.
    chances = cases.completed(np.maximum(logs, -500.0)[cases.entries]).chances
    return _state(cases, chances)


def expectation_propagation_step(
    cases: CaseSites, state: ExpectationPropagationState, damping: float = 0.0
) -> ExpectationPropagationState:
    """Move all sites at once towards their targets.

    Parameters
    ----------
    cases
        The sites of the data.
    state
        The state before.
    damping
        The share of the way that is left; more, where Q would not be proper otherwise.

    Examples
    --------
    >>> problem = CompletionProblem.of("rain -> grass", {"rain": [0, 1, None, 0], "grass": [0, 1, 1, None]})
    >>> cases = CaseSites.of(problem)
    >>> state = expectation_propagation_init(cases)
    >>> expectation_propagation_step(cases, state).residual < state.residual
    True
    """
    share, moves = 1.0 - damping, state.targets - state.sites
    # As Q is proper now, it is after a short enough move.
    while (_parameters(cases, state.sites + share * moves) <= 0).any():
        share /= 2.0
    return _state(cases, state.sites + share * moves)


def _parameters(cases: CaseSites, sites: Floats) -> Floats:
    """a = α + counts + Σ weight · s."""
    return np.asarray(cases.problem.pseudo_counts + cases.counts + cases.totals(sites))


class _Cavities(NamedTuple):
    """Q(θ) without one copy of each site, one value for each of its entries; proper where `is_proper` says so."""

    parameters: Floats
    is_proper: Flags


def _cavities(cases: CaseSites, sites: Floats, parameters: Floats) -> _Cavities:
    """a - s. Of a site that weighs less than one only what is there is taken away."""
    shares = np.minimum(cases.weights, 1.0)[cases.site_of_slot]
    left = parameters[cases.entries] - shares * sites
    is_bad = (left <= 0) | (left + sites <= 0)
    is_proper = np.bincount(cases.site_of_slot, is_bad, cases.num_sites) == 0
    return _Cavities(np.where(is_proper[cases.site_of_slot], left, parameters[cases.entries]), is_proper)


def _state(cases: CaseSites, sites: Floats) -> ExpectationPropagationState:
    parameters = _parameters(cases, sites)
    cavities = _cavities(cases, sites, parameters)
    sums = cases.row_sums(cavities.parameters)
    found = cases.completed(np.log(cavities.parameters / sums[cases.row_of_slot]))
    kept = cavities.is_proper[cases.site_of_slot]
    targets = np.where(kept, _projected(cases, cavities.parameters, found.chances), sites)
    evidence = np.nan
    if cavities.is_proper.all():
        evidence = _log_evidence(cases, sites, parameters, cavities.parameters, found.log_totals)
    return ExpectationPropagationState(
        sites,
        targets,
        parameters,
        int((~cavities.is_proper).sum()),
        float(np.max(np.abs(cases.totals(targets - sites)) / parameters, initial=0.0)),
        float(evidence),
    )


def _projected(cases: CaseSites, cavity: Floats, chances: Floats) -> Floats:
    """What takes Dirichlet(c), for each row, to the one with the moments of Σ_x p_x Dir(c + e_x) + (1 - r) Dir(c).

    With μ = c / C, r = Σ p and d = p - r μ the mean is μ + d / (C + 1). The sum of second moments asks for the strength
    A = C + [2 C Σ μ d / (C + 2) + C Σ d² / (C + 1)] / [1 - Σ μ² - 4 Σ μ d / (C + 2) - Σ d² / (C + 1)]; written as what
    is added, nothing cancels where C is large. Rows of one entry have no moments: they get their count, r.
    """
    rows = cases.row_of_slot
    strengths = cases.row_sums(cavity)
    means = cavity / strengths[rows]
    rates = cases.row_sums(chances)
    off = chances - rates[rows] * means
    leaning, square = cases.row_sums(means * off), cases.row_sums(off * off)
    spread = cases.row_sums(means * (1.0 - means)) - 4.0 * leaning / (strengths + 2.0) - square / (strengths + 1.0)
    gains = strengths * (2.0 * leaning / (strengths + 2.0) + square / (strengths + 1.0))
    added = np.divide(gains, spread, out=rates.copy(), where=spread > 0)
    return np.asarray(added[rows] * means + ((strengths + added) / (strengths + 1.0))[rows] * off)


def _log_evidence(cases: CaseSites, sites: Floats, parameters: Floats, cavity: Floats, log_totals: Floats) -> float:
    """log B(a) / B(α) + Σ weight · log [Z B(c) / B(c + s)], where Z is P(observed cells) under the cavity."""
    alpha = cases.problem.pseudo_counts
    whole = float(cases.problem.tables.log_marginal(alpha, parameters - alpha))
    if not cases.num_sites:
        return whole
    entries = np.add.reduceat(log_rising(cavity, sites), cases.site_starts)
    rows = log_rising(cases.row_sums(cavity), cases.row_sums(sites))
    in_rows = np.bincount(cases.site_of_slot[cases.row_starts], rows, cases.num_sites)
    return whole + float(cases.weights @ (log_totals - entries + in_rows))


@dataclass(frozen=True, slots=True, eq=False)
class ExpectationPropagationFit(DirichletFit[ExpectationPropagationState]):
    """Where expectation propagation ended; made by `expectation_propagation`.

    Attributes
    ----------
    problem
        The data and the prior.
    run
        How it went; it may end by "improper cavities" too. It or its state can be given as `start=` to go on.
    """

    cases: CaseSites  # The sites of the data

    @property
    def log_evidence(self) -> float:
        """The estimate of log P(D): no bound, but mostly nearer than one, and a step may lower it.

        NaN where a site was skipped.
        """
        return self.state.log_evidence

    @property
    def num_skipped(self) -> int:
        """How many sites were left as they are, as without them Q is no distribution."""
        return self.state.num_skipped

    def probabilities(self, name: str) -> Floats:
        """(rows, states): P(state) of a variable in a next row with the observed cells of each row of the data.

        NaN for rows that weigh nothing.
        """
        self.problem.check_name(name)
        return self.problem.cell_probabilities(self.problem.tables.normalized(self.state.parameters), name)

    def __repr__(self) -> str:
        went = f"{counted(self.num_steps, 'step')}, {self.stopped_by}"
        return f"<ExpectationPropagationFit: log evidence {self.log_evidence:.6g}, {went}>"


def expectation_propagation(
    graph: object,
    data: TableLike,
    prior: PriorLike = None,
    *,
    hidden: Mapping[str, int] | Iterable[Variable] = (),
    start: ExpectationPropagationState | Run[ExpectationPropagationState] | None = None,
    damping: float = 0.2,
    seed: Seed = 0,
    tolerance: float = 1e-8,
    max_steps: int = 500,
    progress: Progress | None = None,
    time_limit: float | None = None,
) -> ExpectationPropagationFit:
    """Fit Dirichlet rows to P(θ | rows with missing cells), and estimate log P(rows), by expectation propagation.

    Each site stands for the sum over completions of some missing cells, as if it were Π θ^s. It is taken out of Q(θ),
    which leaves the cavity Dirichlet(c); the sum itself is put in, which gives each row of a table a mixture
    Σ_x P(x, u | observed) Dir(c + e_x) + P(not u | observed) Dir(c); and s becomes what takes the cavity to the
    Dirichlet with the same mean and sum of second moments (Minka 2001; Minka & Lafferty 2002). Matching E[ln θ] would
    be the projection of least divergence, but needs an iteration for each row, and misses the mean, which predictions
    rest on. All sites move at once, so that the order of rows does not matter. Mentioned in Koller & Friedman 2009,
    §19.7.

    Parameters
    ----------
    graph
        A DAG, arrow text, or a network, which says which states its variables have.
    data
        Rows with missing cells (None, NaN); any weights.
    prior
        Of tables: one for all, or name -> prior, with positive pseudo-counts; `K2` unless given.
    hidden
        Variables of the graph that the data lack: name -> number of states, or variables.
    start
        A run before on the same data, or its state.
    damping
        The share of its way that a site does not move in a step, from 0 to below 1; more is slower, and surer.
    seed
        Of the start, where a variable is never observed: a whole number or a generator.
    tolerance
        Converged when no parameter of Q would change by more than this share in a step without damping.

    Raises
    ------
    TooLarge
        Where cells that hang together have too many completions to list.

    Notes
    -----
    Exact for rows in which all families are observed, or nothing observed depends on the rest. A step costs a look-up
    for each family of each completion of each different site. Unlike variational Bayes it may not converge, which more
    damping may mend, or end with "improper cavities", mostly with pseudo-counts far below one: take a larger prior or
    `variational_bayes` then. Where a variable is never observed the posterior has a mode for each order of its states,
    and Q is fitted around one, which the seed chose, or to all of them at once.

    Examples
    --------
    >>> rows = {"rain": ["no", "yes", None, "no"] * 5, "grass": ["dry", "wet", "wet", None] * 5}
    >>> fit = expectation_propagation("rain -> grass", rows)
    >>> fit.converged, round(fit.log_evidence, 1)
    (True, -18.3)
    >>> fit.posterior["rain"].mean.round(2)
    array([0.56, 0.44])
    """
    stops = Stops(tolerance, max_steps, time_limit, progress)
    check_number("damping", damping, least=0, below=1)
    clock = Clock.of(time_limit)
    cases = CaseSites.of(CompletionProblem.of(graph, data, prior, hidden=hidden))
    first = expectation_propagation_init(cases, seed) if start is None else start
    _check(first.state if isinstance(first, Run) else first, cases)

    def step(state: ExpectationPropagationState) -> ExpectationPropagationState:
        return expectation_propagation_step(cases, state, damping)

    def ends(state: ExpectationPropagationState) -> str:
        if state.residual > tolerance:
            return ""
        return "improper cavities" if state.num_skipped else CONVERGED

    run = iterate(step, first, stops, ends=ends, objective=attrgetter("log_evidence"), clock=clock)
    return ExpectationPropagationFit(cases.problem, run, cases)


def _check(start: ExpectationPropagationState, cases: CaseSites) -> None:
    if start.sites.shape != cases.entries.shape or start.parameters.shape != cases.counts.shape:
        raise InvalidArgument(
            f"start= is of other data: it has {len(start.sites)} entries of sites, not {len(cases.entries)} as these "
            "rows have. Give the state of a run on the same graph and rows, or leave it out."
        )
