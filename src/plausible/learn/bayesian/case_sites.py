"""The factors of P(D | θ) that rows with missing cells bring in, with all their completions in flat lists."""

from __future__ import annotations

from dataclasses import dataclass
from graphlib import TopologicalSorter
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.errors import TooLarge, counted
from plausible.learn.bayesian.completion_problem import CompletionProblem
from plausible.learn.incomplete.cases import distinct_rows

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
