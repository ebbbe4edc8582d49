"""Expectation propagation: Dirichlet rows that have the moments which each case, seen after all others, gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from operator import attrgetter
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Floats
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
    return _state(cases, cases.completed(np.maximum(logs, -500.0)[cases.entries])[1])


def expectation_propagation_step(
    cases: CaseSites, state: ExpectationPropagationState, damping: float = 0.0
) -> ExpectationPropagationState:
    """Move all sites at once towards their targets; `damping` is the share of the way that is left at least.

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


def _state(cases: CaseSites, sites: Floats) -> ExpectationPropagationState:
    """Take each site out of Q, see what its completions say then, and what takes the cavity to those moments."""
    parameters, rows, of_slot = _parameters(cases, sites), cases.row_of_slot, cases.site_of_slot
    left = parameters[cases.entries] - np.minimum(cases.weights, 1.0)[of_slot] * sites
    is_bad = (left <= 0) | (left + sites <= 0)
    is_proper = np.bincount(of_slot, is_bad, cases.num_sites) == 0
    cavity = np.where(is_proper[of_slot], left, parameters[cases.entries])
    strengths = cases.row_sums(cavity)
    means = cavity / strengths[rows]
    log_totals, chances = cases.completed(np.log(means))
    rates = cases.row_sums(chances)
    off = chances - rates[rows] * means
    leaning, square = cases.row_sums(means * off), cases.row_sums(off * off)
    spread = cases.row_sums(means * (1.0 - means)) - 4.0 * leaning / (strengths + 2.0) - square / (strengths + 1.0)
    gains = strengths * (2.0 * leaning / (strengths + 2.0) + square / (strengths + 1.0))
    added = np.divide(gains, spread, out=rates.copy(), where=spread > 0)
    projected = added[rows] * means + ((strengths + added) / (strengths + 1.0))[rows] * off
    targets = np.where(is_proper[of_slot], projected, sites)
    evidence = _log_evidence(cases, sites, parameters, cavity, log_totals) if is_proper.all() else np.nan
    residual = float(np.max(np.abs(cases.totals(targets - sites)) / parameters, initial=0.0))
    return ExpectationPropagationState(sites, targets, parameters, int((~is_proper).sum()), residual, float(evidence))


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
    """Where expectation propagation ended, maybe by "improper cavities"; made by `expectation_propagation`."""

    cases: CaseSites  # The sites of the data

    @property
    def log_evidence(self) -> float:
        """The estimate of log P(D): no bound, but mostly nearer than one; NaN where a site was skipped."""
        return self.state.log_evidence

    @property
    def num_skipped(self) -> int:
        """How many sites were left as they are, as without them Q is no distribution."""
        return self.state.num_skipped

    def probabilities(self, name: str) -> Floats:
        """(rows, states): P(state) in a next row with the observed cells of each row; NaN for rows without weight."""
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
    rest on. All sites move at once, so that the order of rows does not matter (Koller & Friedman 2009, §19.7).

    Exact for rows in which all families are observed, or nothing observed depends on the rest. A step costs a look-up
    for each family of each completion of each different site; `TooLarge` is raised where these are too many to list.
    Unlike variational Bayes it may not converge, which more damping may mend, or end with "improper cavities", mostly
    with pseudo-counts far below one: take a larger prior or `variational_bayes` then. Where a variable is never
    observed the posterior has a mode for each order of its states, and Q is fitted around one, or to all at once.

    Parameters
    ----------
    graph, data, prior, hidden
        As for `sample_parameters`; rows may have any weights.
    start
        A run before on the same data, or its state.
    damping
        The share of its way that a site does not move in a step, from 0 to below 1; more is slower, and surer.
    tolerance
        Converged when no parameter of Q would change by more than this share in a step without damping.

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
    given = first.state if isinstance(first, Run) else first
    if given.sites.shape != cases.entries.shape or given.parameters.shape != cases.counts.shape:
        raise InvalidArgument(
            f"start= is of other data: it has {len(given.sites)} entries of sites, not {len(cases.entries)} as these "
            "rows have. Give the state of a run on the same graph and rows, or leave it out."
        )

    def step(state: ExpectationPropagationState) -> ExpectationPropagationState:
        return expectation_propagation_step(cases, state, damping)

    def ends(state: ExpectationPropagationState) -> str:
        if state.residual > tolerance:
            return ""
        return "improper cavities" if state.num_skipped else CONVERGED

    run = iterate(step, first, stops, ends=ends, objective=attrgetter("log_evidence"), clock=clock)
    return ExpectationPropagationFit(cases.problem, run, cases)
