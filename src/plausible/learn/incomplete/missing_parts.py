"""The missing cells of each case, in parts that are independent given the observed ones, and their completions."""

from __future__ import annotations

import math
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from itertools import combinations
from typing import NamedTuple

import numpy as np

from plausible.base import Codes, Flags, Floats, Ints, logarithms
from plausible.inference.budget import refuse_large_families
from plausible.inference.compiled import compile_factors
from plausible.kernels.completion import sum_pairs, weigh_parts
from plausible.learn.incomplete.cases import Cases, distinct_rows
from plausible.learn.incomplete.expectations import impossible_case, mutilated
from plausible.models import BayesianNetwork
from plausible.variables.evidence import Evidence


class PartArrays(NamedTuple):
    """The completions of each part, one after the other."""

    part_of: Codes  # for each case and column the part of a missing cell, -1 where observed
    slot_of: Codes  # and its place within the part
    firsts: Ints  # for each part its completions among all: the first of them, and where they end
    ends: Ints
    offsets: Ints  # for each part where the states of its first completion are
    widths: Ints  # and how many cells a completion has
    chances: Floats  # for each completion its probability given the observed cells
    states: Codes  # of all completions
    head_of: Codes  # for each case and column where the states of a missing cell begin among those of its part
    squares: Ints  # for each part where its square of pairs is
    lengths: Ints  # and how many states its cells have together; 0 where it has none
    pairs: Floats  # the probabilities of the states of each two cells of a part, those of one cell on the diagonal


class _Pattern(NamedTuple):
    """Parts of the same columns where the same variables were set from outside."""

    parts: Ints
    columns: tuple[int, ...]
    setting: int


@dataclass(frozen=True, eq=False)
class MissingParts:
    """P(missing | observed) of each case as a product over parts; made by `MissingParts.of`.

    Two missing cells of a case are in one part where a chain of families joins them, each two neighbours in one family
    (the moral graph without what is observed). Parts are mostly small: where 20 % of the cells of *alarm* are missing,
    they have 1.5 cells on average and three completions in the median.
    """

    network: BayesianNetwork  # what completes
    cases: Cases  # what is completed
    arrays: PartArrays  # the completions of all parts that are listed; the others have none
    is_listed: Flags = field(repr=False)  # for each part whether its completions are listed, or drawn

    @classmethod
    def of(cls, network: BayesianNetwork, cases: Cases, max_completions: int) -> MissingParts:
        """List the completions of parts, the smallest first, up to a number of all; refuse cases ruled out by them."""
        refuse_large_families({name: cpd.scope for name, cpd in network.cpds.items()})
        part_of, slot_of, num_parts = _parts(network, cases)
        patterns = _patterns(cases, part_of, num_parts)
        sizes = np.zeros(num_parts)
        for pattern in patterns:
            sizes[pattern.parts] = math.prod(_sizes(cases, pattern.columns))
        order = np.argsort(sizes, kind="stable")
        is_listed = np.empty(num_parts, dtype=np.bool_)
        is_listed[order] = np.cumsum(sizes[order]) <= max_completions
        listed = [p._replace(parts=p.parts[is_listed[p.parts]]) for p in patterns]
        lister = _Lister(network, cases, _cases_of(part_of, num_parts))
        lister.check_observed()
        found = [(p, *lister.completions(p)) for p in listed if len(p.parts)]
        arrays = _with_pairs(cases, _packed(part_of, slot_of, num_parts, found), is_listed)
        return cls(network, cases, arrays, is_listed)

    @cached_property
    def has_large(self) -> Flags:
        """For each case whether it has a part that is not listed."""
        part_of = self.arrays.part_of
        if not self.is_listed.size:
            return np.zeros(self.cases.num_cases, dtype=np.bool_)
        return np.asarray(((part_of >= 0) & ~self.is_listed[part_of]).any(axis=1))

    def drawn(self, num_draws: int, generator: np.random.Generator) -> MissingParts:
        """With so many draws in place of the completions of each part that is not listed, by clique trees."""
        arrays, variables, settings = self.arrays, self.network.variables, self.cases.setting_names
        trees = [compile_factors(mutilated(self.network, names)[0], variables.values()) for names in settings]
        firsts, ends, offsets = arrays.firsts.copy(), arrays.ends.copy(), arrays.offsets.copy()
        states, num, room = [arrays.states], len(arrays.chances), len(arrays.states)
        for case in np.flatnonzero(self.has_large).tolist():
            evidence = Evidence.read(self.cases.findings(case), variables)
            rows = trees[int(self.cases.settings[case])].sample(num_draws, evidence, generator)
            parts = arrays.part_of[case]
            for part in np.unique(parts[parts >= 0]).tolist():
                if not self.is_listed[part]:
                    states.append(rows[:, np.flatnonzero(parts == part)].astype(np.int32).ravel())
                    firsts[part], ends[part], offsets[part] = num, num + num_draws, room
                    num, room = num + num_draws, room + states[-1].size
        chances = np.append(arrays.chances, np.full(num - len(arrays.chances), 1.0 / num_draws))
        listed = arrays._replace(firsts=firsts, ends=ends, offsets=offsets, chances=chances)
        listed = listed._replace(states=np.concatenate(states))
        return replace(self, arrays=listed, is_listed=np.ones_like(self.is_listed))

    def counts(self, columns: Sequence[int], weights: Floats) -> Floats:
        """The expected counts of the joint states of some columns, in their order, of the cases by other weights."""
        sizes = _sizes(self.cases, columns)
        counts = np.zeros(math.prod(sizes))
        places, lengths = np.array(columns, dtype=np.int64), np.array(sizes, dtype=np.int64)
        weigh_parts(self.cases.codes, weights, self.arrays, places, _strides(sizes), lengths, counts)
        return counts.reshape(sizes)


@dataclass(frozen=True, eq=False)
class _Lister:
    """Lists completions of parts and tells how probable they are."""

    network: BayesianNetwork
    cases: Cases
    case_of_part: Ints

    @cached_property
    def families(self) -> list[tuple[str, tuple[int, ...], Floats]]:
        """The name, the columns, and the logarithms of the table of each distribution."""
        places = {name: place for place, name in enumerate(self.cases.variables)}
        return [
            (name, tuple(places[variable.name] for variable in cpd.scope), logarithms(cpd.to_factor().values).ravel())
            for name, cpd in self.network.cpds.items()
        ]

    def active(self, setting: int) -> Iterator[tuple[tuple[int, ...], Floats]]:
        """The columns and the logarithms of all distributions but those of variables that were set."""
        names = self.cases.setting_names[setting]
        return ((columns, logs) for name, columns, logs in self.families if name not in names)

    def check_observed(self) -> None:
        """Refuse cases that families which are observed altogether rule out."""
        codes = self.cases.codes
        for setting in range(len(self.cases.setting_names)):
            of_setting = self.cases.settings == setting
            for columns, logs in self.active(setting):
                whole = np.flatnonzero(of_setting & (codes[:, columns] >= 0).all(axis=1))
                cells = codes[whole][:, columns] @ _strides(_sizes(self.cases, columns))
                self._refuse(whole[np.isneginf(logs[cells])])

    def completions(self, pattern: _Pattern) -> tuple[Floats, Codes]:
        """For each part of a pattern the chance of each completion, (parts, completions), and the completions."""
        sizes = _sizes(self.cases, pattern.columns)
        listed = np.stack(np.unravel_index(np.arange(math.prod(sizes)), sizes), axis=1).astype(np.int32)
        cases = self.case_of_part[pattern.parts]
        logs = np.zeros((len(cases), len(listed)))
        for columns, table in self.active(pattern.setting):
            inner = [place for place, column in enumerate(columns) if column in pattern.columns]
            if inner:
                outer = [place for place in range(len(columns)) if place not in inner]
                strides = _strides(_sizes(self.cases, columns))
                slots = [pattern.columns.index(columns[place]) for place in inner]
                bases = self.cases.codes[cases][:, [columns[place] for place in outer]] @ strides[outer]
                logs += table[bases[:, None] + listed[:, slots] @ strides[inner]]
        peaks = logs.max(axis=1, keepdims=True)
        self._refuse(cases[np.isneginf(peaks[:, 0])])
        chances = np.exp(logs - peaks)
        return chances / chances.sum(axis=1, keepdims=True), listed

    def _refuse(self, cases: Ints) -> None:
        if len(cases):
            first = min(cases.tolist(), key=self.cases.first_row)
            raise impossible_case(self.network, self.cases, first)


def _parts(network: BayesianNetwork, cases: Cases) -> tuple[Codes, Codes, int]:
    """For each case and column the part of a missing cell and its place in it, -1 where observed; how many parts."""
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    missing = cases.codes < 0
    cells = np.full(missing.shape, -1, dtype=np.int64)
    cells[missing] = np.arange(missing.sum())
    ends: list[Ints] = [np.empty((2, 0), dtype=np.int64)]
    places = {name: place for place, name in enumerate(cases.variables)}
    for setting, names in enumerate(cases.setting_names):
        scopes = [[v.name for v in cpd.scope] for name, cpd in network.cpds.items() if name not in names]
        pairs = {tuple(sorted((places[a], places[b]))) for scope in scopes for a, b in combinations(scope, 2)}
        of_setting = cases.settings == setting
        for one, two in sorted(pairs):
            both = np.flatnonzero(of_setting & missing[:, one] & missing[:, two])
            ends.append(np.stack([cells[both, one], cells[both, two]]))
    joined = np.concatenate(ends, axis=1)
    num_cells = int(missing.sum())
    graph = coo_array((np.ones(joined.shape[1], dtype=np.int8), tuple(joined)), shape=(num_cells, num_cells))
    num_parts, labels = connected_components(graph, directed=False) if num_cells else (0, np.empty(0, dtype=np.int32))
    order = np.argsort(labels, kind="stable")
    starts = np.searchsorted(labels[order], np.arange(num_parts))
    slots = np.empty(num_cells, dtype=np.int32)
    slots[order] = np.arange(num_cells) - starts[labels[order]]
    part_of, slot_of = np.full(missing.shape, -1, dtype=np.int32), np.full(missing.shape, -1, dtype=np.int32)
    part_of[missing], slot_of[missing] = labels, slots
    return part_of, slot_of, int(num_parts)


def _patterns(cases: Cases, part_of: Codes, num_parts: int) -> list[_Pattern]:
    """The parts, those of the same columns and setting together."""
    has_column = np.zeros((num_parts, part_of.shape[1]), dtype=np.bool_)
    rows, columns = np.nonzero(part_of >= 0)
    has_column[part_of[rows, columns], columns] = True
    settings = cases.settings[_cases_of(part_of, num_parts)]
    keys = np.column_stack([settings, np.packbits(has_column, axis=1)]).astype(np.int32)
    distinct, pattern = distinct_rows(keys)
    order = np.argsort(pattern, kind="stable")
    groups = np.split(order, np.searchsorted(pattern[order], np.arange(1, len(distinct))))
    return [
        _Pattern(group, tuple(np.flatnonzero(has_column[group[0]]).tolist()), int(settings[group[0]]))
        for group in groups
        if len(group)
    ]


def _cases_of(part_of: Codes, num_parts: int) -> Ints:
    """The case of each part."""
    found = np.zeros(num_parts, dtype=np.int64)
    rows, columns = np.nonzero(part_of >= 0)
    found[part_of[rows, columns]] = rows
    return found


def _packed(
    part_of: Codes, slot_of: Codes, num_parts: int, found: Sequence[tuple[_Pattern, Floats, Codes]]
) -> PartArrays:
    """The completions that can happen, those of each part one after the other."""
    firsts, ends, offsets = (np.zeros(num_parts, dtype=np.int64) for _ in range(3))
    widths = np.bincount(part_of[part_of >= 0], minlength=num_parts).astype(np.int64)
    chances, states = [np.empty(0)], [np.empty(0, dtype=np.int32)]
    num = room = 0
    for pattern, probabilities, completions in found:
        place, completion = np.nonzero(probabilities)
        numbers = np.bincount(place, minlength=len(pattern.parts))
        ends[pattern.parts] = num + np.cumsum(numbers)
        firsts[pattern.parts] = ends[pattern.parts] - numbers
        offsets[pattern.parts] = room + (firsts[pattern.parts] - num) * len(pattern.columns)
        chances.append(probabilities[place, completion])
        states.append(completions[completion].ravel())
        num, room = num + len(place), room + states[-1].size
    none, nothing = np.zeros(num_parts, dtype=np.int64), np.empty(0)
    listed = np.concatenate(chances), np.concatenate(states)
    return PartArrays(part_of, slot_of, firsts, ends, offsets, widths, *listed, slot_of, none, none, nothing)


def _with_pairs(cases: Cases, arrays: PartArrays, is_listed: Flags) -> PartArrays:
    """The same completions, with the probabilities of each two cells of a part that is listed."""
    num_parts = len(arrays.widths)
    rows, columns = np.nonzero(arrays.part_of >= 0)
    parts = arrays.part_of[rows, columns]
    sizes = np.array(_sizes(cases, range(len(cases.variables))), dtype=np.int64)[columns]
    sizes = np.where(is_listed[parts], sizes, 0)
    lengths = np.bincount(parts, sizes, num_parts).astype(np.int64)
    order = np.argsort(parts, kind="stable")
    before = np.cumsum(sizes[order]) - sizes[order]
    heads = np.empty(len(parts), dtype=np.int64)
    heads[order] = before - (np.cumsum(lengths) - lengths)[parts[order]]
    head_of = np.full(arrays.part_of.shape, -1, dtype=np.int32)
    head_of[rows, columns] = heads
    squares = np.cumsum(lengths**2) - lengths**2
    pairs = np.zeros(int((lengths**2).sum()))
    firsts = np.searchsorted(parts[order], np.arange(num_parts))
    of_parts = arrays._replace(head_of=head_of, squares=squares, lengths=lengths, pairs=pairs)
    sum_pairs(of_parts, firsts, heads[order], pairs)
    return of_parts


def _sizes(cases: Cases, columns: Sequence[int]) -> tuple[int, ...]:
    variables = list(cases.variables.values())
    return tuple(variables[column].num_states for column in columns)


def _strides(sizes: Sequence[int]) -> Ints:
    return np.array([math.prod(sizes[place + 1 :]) for place in range(len(sizes))], dtype=np.int64)
