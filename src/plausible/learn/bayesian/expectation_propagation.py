"""Expectation propagation: Dirichlet rows that have the moments which each case, seen after all others, gives them."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import partial
from graphlib import TopologicalSorter
from operator import attrgetter
from typing import NamedTuple, TypeAlias

import numpy as np

from plausible.base import Codes, Flags, Floats, Ints, Seed, check_number, generator_of
from plausible.data.table import TableLike
from plausible.errors import InvalidArgument, TooLarge, counted
from plausible.learn.bayesian.completion_problem import CompletionProblem, DirichletFit
from plausible.learn.estimation.priors import PriorLike, log_rising
from plausible.learn.incomplete.cases import distinct_rows
from plausible.search.run import CONVERGED, Clock, Run, Stops, iterate
from plausible.variables import Variable

_MOST_TERMS = 20_000_000  # So many entries of tables, over all completions, are looked up in a step at most

_ELSEWHERE = -2  # The code of a cell that a site does not depend on


@dataclass(frozen=True, slots=True, eq=False)
class CaseSites:
    """P(D | θ) as Π θ^N over families that are observed altogether, times a sum over completions for each site.

    A site is a set of missing cells of a case that families join, with those families. Cells that nothing observed
    depends on are summed out beforehand, and sites that look alike are one, which weighs as much as they do together.
    Made by `of`.

    >>> problem = CompletionProblem.of("a -> b", {"a": [0, 1, None, None], "b": [0, None, 1, None]})
    >>> CaseSites.of(problem)  # that of the third row: in the second and the last nothing observed depends on b
    <CaseSites: 1 different with 2 completions>
    """

    problem: CompletionProblem  # The data and the prior
    counts: Floats  # N of the families that are observed altogether, flat as all tables are
    weights: Floats  # How often each site counts
    #: The entries of tables that sites touch, whole rows, site after site: where each is among all entries.
    entries: Ints
    row_starts: Ints  # Where each row begins in `entries`, and the row that each of them is in
    row_of_slot: Ints
    site_starts: Ints  # Where each site begins in `entries`, and the site that each of them is in
    site_of_slot: Ints
    completion_starts: Ints  # Where the completions of each site begin, and the site of each
    site_of_completion: Ints
    term_slots: Ints  # For each family of each completion the place of its entry in `entries`, and the completion
    completion_of_term: Ints

    @classmethod
    def of(cls, problem: CompletionProblem) -> CaseSites:
        """Find the sites of a problem, and list their completions; `TooLarge` where these have too many entries."""
        found = _found(problem)
        counts, site_of_completion, index = _completions(problem, found)
        places, completion_of_term = _terms(problem, found, site_of_completion, index)
        tables = problem.tables
        # Whole rows of tables, in the order of sites and then of rows.
        keys = site_of_completion[completion_of_term] * tables.num_rows + tables.row_of_entry[places]
        pairs, pair_of_term = np.unique(keys, return_inverse=True)
        sites, rows = np.divmod(pairs, max(tables.num_rows, 1))
        firsts = np.searchsorted(tables.row_of_entry, rows)
        lengths = np.searchsorted(tables.row_of_entry, rows, side="right") - firsts
        row_starts = np.cumsum(lengths) - lengths
        row_of_slot = np.repeat(np.arange(len(rows)), lengths)
        shifts = firsts - row_starts
        site_of_slot = sites[row_of_slot]
        return cls(
            problem,
            _observed_counts(problem, found.is_observed),
            found.weights,
            np.arange(len(row_of_slot)) + shifts[row_of_slot],
            row_starts,
            row_of_slot,
            np.searchsorted(site_of_slot, np.arange(len(found.weights))),
            site_of_slot,
            np.cumsum(counts) - counts,
            site_of_completion,
            places - shifts[pair_of_term],
            completion_of_term,
        )

    @property
    def num_sites(self) -> int:
        """How many different sites there are."""
        return len(self.weights)

    def row_sums(self, values: Floats) -> Floats:
        """The sum of `values`, one for each of `entries`, over each row."""
        return np.asarray(np.add.reduceat(values, self.row_starts)) if len(values) else np.zeros(0)

    def totals(self, values: Floats) -> Floats:
        """Σ weight · values, one for each of `entries`, added up over sites for all entries of all tables."""
        size = len(self.problem.pseudo_counts)
        return np.bincount(self.entries, self.weights[self.site_of_slot] * values, size).astype(np.float64)

    def completed(self, logs: Floats) -> tuple[Floats, Floats]:
        """log Σ over completions of Π entries of each site, and P(entry | observed cells) for each of `entries`.

        `logs` are of its own tables, one for each of `entries`.
        """
        if not self.num_sites:
            return np.zeros(0), np.zeros(0)
        scores = np.bincount(self.completion_of_term, logs[self.term_slots], len(self.site_of_completion))
        peaks = np.maximum.reduceat(scores, self.completion_starts)
        weights = np.exp(scores - peaks[self.site_of_completion])
        sums = np.add.reduceat(weights, self.completion_starts)
        weights /= sums[self.site_of_completion]
        chances = np.bincount(self.term_slots, weights[self.completion_of_term], len(self.entries))
        return np.asarray(peaks + np.log(sums)), chances.astype(np.float64)

    def __repr__(self) -> str:
        return f"<CaseSites: {self.num_sites} different with {counted(len(self.site_of_completion), 'completion')}>"


class _Found(NamedTuple):
    """Sites before their completions are listed."""

    codes: Codes  # a row for each site, -1 where missing, `_ELSEWHERE` for variables of other sites
    has_family: Flags  # the families of each site
    weights: Floats
    is_observed: Flags  # the families of each case that need no site


def _found(problem: CompletionProblem) -> _Found:
    """The different sites of all cases."""
    cases, scopes = problem.cases, list(problem.tables.scopes.values())
    tables, names = problem.tables, list(problem.tables.variables)
    is_barren = problem.cases.codes < 0
    depends = np.zeros(is_barren.shape, dtype=np.bool_)
    for name in reversed(list(TopologicalSorter(tables.parents).static_order())):
        place = names.index(name)
        is_barren[:, place] &= ~depends[:, place]
        known = ~is_barren[:, place] & ~problem.is_case_set[:, place]
        depends[:, list(tables.scopes[name][:-1])] |= known[:, None]
    is_open = (cases.codes < 0) & ~is_barren
    counts_here = ~problem.is_case_set & ~is_barren
    has_open = np.zeros(is_open.shape, dtype=np.bool_)
    for family, scope in enumerate(scopes):
        has_open[:, family] = counts_here[:, family] & is_open[:, scope].any(axis=1)
    rows, families = np.nonzero(has_open)
    labels = _joined(is_open, has_open, scopes)[rows * is_open.shape[1] + families]
    sites, site_of_family = np.unique(labels, return_inverse=True)
    codes = np.full((len(sites), is_open.shape[1]), _ELSEWHERE, dtype=np.int32)
    has_family = np.zeros(codes.shape, dtype=np.bool_)
    weights = np.zeros(len(sites))
    weights[site_of_family] = cases.weights[rows]
    has_family[site_of_family, families] = True
    for family, scope in enumerate(scopes):
        mine = np.flatnonzero(families == family)
        codes[site_of_family[mine][:, None], scope] = cases.codes[rows[mine][:, None], scope]
    distinct, which = distinct_rows(np.column_stack([codes, has_family]).astype(np.int32))
    summed = np.bincount(which, weights, len(distinct)).astype(np.float64)
    width = codes.shape[1]
    return _Found(distinct[:, :width], distinct[:, width:] > 0, summed, counts_here & ~has_open)


def _joined(is_open: Flags, has_open: Flags, scopes: list[tuple[int, ...]]) -> Ints:
    """A label for each family of each case: equal where missing cells join them."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    num_cases, width = is_open.shape
    ends: list[Ints] = [np.empty((2, 0), dtype=np.int64)]
    for family, scope in enumerate(scopes):
        for place in scope:
            rows = np.flatnonzero(has_open[:, family] & is_open[:, place]) * width
            ends.append(np.stack([rows + family, num_cases * width + rows + place]))
    joined, size = np.concatenate(ends, axis=1), 2 * num_cases * width
    if not joined.size:
        return np.zeros(size, dtype=np.int64)
    graph = coo_array((np.ones(joined.shape[1], dtype=np.int8), tuple(joined)), shape=(size, size))
    return np.asarray(connected_components(graph, directed=False)[1], dtype=np.int64)


def _observed_counts(problem: CompletionProblem, is_observed: Flags) -> Floats:
    """The counts of families that are observed altogether."""
    tables, cases, total = problem.tables, problem.cases, np.zeros(len(problem.pseudo_counts))
    for family, name in enumerate(tables.variables):
        rows, part = np.flatnonzero(is_observed[:, family]), tables.part(name)
        places = tables.places(name, cases.codes[rows])
        total[part] = np.bincount(places, cases.weights[rows], part.stop - part.start)
    return total


def _sizes(problem: CompletionProblem, codes: Codes) -> Floats:
    """The number of states of missing cells, one for others."""
    states = np.array([variable.num_states for variable in problem.tables.variables.values()], dtype=np.float64)
    return np.where(codes == -1, states, 1.0)


def _completions(problem: CompletionProblem, found: _Found) -> tuple[Ints, Ints, Ints]:
    """How many completions each site has, the site of each completion, and its number in the site."""
    numbers = _sizes(problem, found.codes).prod(axis=1)
    terms = float(numbers @ found.has_family.sum(axis=1))
    if terms > _MOST_TERMS:
        largest = found.codes[int(numbers.argmax())]
        names = [name for name, code in zip(problem.tables.variables, largest, strict=True) if code == -1]
        raise TooLarge(
            f"The missing cells have {numbers.sum():.3g} completions with {terms:.3g} entries of tables, more than "
            f"{_MOST_TERMS:.3g}; {numbers.max():.3g} are of {len(names)} cells that hang together, such as "
            f"{names[0]!r} and {names[-1]!r}. Use variational_bayes or sample_parameters."
        )
    counts = numbers.astype(np.int64)
    site_of = np.repeat(np.arange(len(counts)), counts)
    return counts, site_of, np.arange(len(site_of)) - (np.cumsum(counts) - counts)[site_of]


def _terms(problem: CompletionProblem, found: _Found, site_of: Ints, index: Ints) -> tuple[Ints, Ints]:
    """For each family of each completion where its entry is among all entries, and the completion."""
    tables = problem.tables
    sizes = _sizes(problem, found.codes).astype(np.int64)
    # A completion is the number whose digits, of as many values as there are states, are its missing cells.
    strides = np.cumprod(sizes, axis=1) // sizes
    places, owners = [np.zeros(0, dtype=np.int64)], [np.zeros(0, dtype=np.int64)]
    for family, name in enumerate(tables.variables):
        mine = np.flatnonzero(found.has_family[site_of, family])
        sites, scope = site_of[mine], tables.scopes[name]
        here = found.codes[sites][:, scope]
        digits = index[mine][:, None] // strides[sites][:, scope] % sizes[sites][:, scope]
        cells = np.where(here < 0, digits, here)
        places.append(tables.starts[family] + np.ravel_multi_index(tuple(cells.T), tables.shapes[name]))
        owners.append(mine)
    return np.concatenate(places), np.concatenate(owners)


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

    def ends(state: ExpectationPropagationState) -> str:
        if state.residual > tolerance:
            return ""
        return "improper cavities" if state.num_skipped else CONVERGED

    step = partial(expectation_propagation_step, cases, damping=damping)
    run = iterate(step, first, stops, ends=ends, objective=attrgetter("log_evidence"), clock=clock)
    return ExpectationPropagationFit(cases.problem, run, cases)
