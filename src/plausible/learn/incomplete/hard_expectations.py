"""The E-step of hard EM: most probable completions, by max-product elimination with cases along the first axis."""

from __future__ import annotations

import math
from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats, Positions
from plausible.errors import TooLarge
from plausible.learn.incomplete.cases import Cases
from plausible.learn.incomplete.expectations import Expectations, impossible_case
from plausible.models import BayesianNetwork

#: A chunk of cases has tables of at most so many numbers.
_MOST_ENTRIES = 2**22
_MOST_CASES = 4096


class Completions(NamedTuple):
    """Complete codes of each case, and log P of them; -inf for a case that is ruled out."""

    codes: Codes
    log_probabilities: Floats


class _Piece(NamedTuple):
    """log φ over some free variables, ascending, with an axis for cases before; that axis may have length one."""

    scope: tuple[int, ...]
    logs: Floats


class _Choice(NamedTuple):
    """The best state of a variable, for each case and for all states of others that are chosen later."""

    variable: int
    others: tuple[int, ...]
    states: Positions


def most_probable_completions(network: BayesianNetwork, cases: Cases) -> Completions:
    """argmax_h P(h, observed) of each case.

    Of completions that are equally probable, states that come first are taken, variable by variable in the reverse
    order of elimination. Cost: cases times the tables of an elimination of what is missing; cases that lack the same
    cells go together. A distribution whose variable was set from outside counts for nothing.

    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> found = most_probable_completions(coin, Cases.of(coin.variables, {"coin": [None], "call": [1]}))
    >>> found.codes.tolist(), found.log_probabilities.round(4).tolist()
    ([[1, 1]], [-0.9163])
    """
    codes, logs = cases.codes.copy(), np.zeros(cases.num_cases)
    with np.errstate(divide="ignore"):
        tables = {name: np.log(cpd.to_factor().values) for name, cpd in network.cpds.items()}
    places = {name: place for place, name in enumerate(cases.variables)}
    scopes = {name: tuple(places[v.name] for v in cpd.scope) for name, cpd in network.cpds.items()}
    sizes = [variable.num_states for variable in cases.variables.values()]
    for setting, chosen in _chunks(cases):
        names = [name for name in tables if name not in cases.setting_names[setting]]
        factors = [(scopes[name], tables[name].reshape([sizes[place] for place in scopes[name]])) for name in names]
        codes[chosen], logs[chosen] = _completed(factors, cases.codes[chosen], sizes)
    return Completions(codes, logs)


@dataclass(frozen=True, slots=True, eq=False)
class HardExpectations:
    """The counts of the most probable completion of each case, and log P of these: Q has all its weight in one place.

    >>> from plausible.cpds import TableCPD
    >>> coin = BayesianNetwork(TableCPD("coin", [0.5, 0.5]), TableCPD("call", [[0.9, 0.1], [0.2, 0.8]], ["coin"]))
    >>> HardExpectations(Cases.of(coin.variables, {"coin": [0, None], "call": [0, 1]})).at(coin).counts["coin"]
    array([1., 1.])
    """

    cases: Cases

    def at(self, network: BayesianNetwork) -> Expectations:
        """The counts under a network."""
        codes, logs = most_probable_completions(network, self.cases)
        impossible = np.flatnonzero(np.isneginf(logs))
        if len(impossible):
            raise impossible_case(network, self.cases, int(impossible[0]))
        names = list(self.cases.variables)
        counts = {}
        for name, cpd in network.cpds.items():
            is_free = ~self.cases.is_set(name)
            columns = codes[is_free][:, [names.index(variable.name) for variable in cpd.scope]]
            counts[name] = np.zeros([variable.num_states for variable in cpd.scope])
            np.add.at(counts[name], tuple(columns.T), self.cases.weights[is_free])
        return Expectations(float(self.cases.weights @ logs), logs, counts, is_exact=False)


def _chunks(cases: Cases) -> Iterator[tuple[int, Positions]]:
    """Cases with the same variables set, those that lack the same cells next to each other."""
    order = np.lexsort(np.vstack([(cases.codes < 0).T, cases.settings[None]]))
    for setting in range(len(cases.setting_names)):
        ours = order[cases.settings[order] == setting]
        for first in range(0, len(ours), _MOST_CASES):
            yield setting, ours[first : first + _MOST_CASES]


def _completed(factors: list[tuple[tuple[int, ...], Floats]], codes: Codes, sizes: list[int]) -> tuple[Codes, Floats]:
    free = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    pieces = [_piece(scope, table, codes, set(free)) for scope, table in factors]
    pieces += [_observed(place, codes[:, place], sizes[place]) for place in free]
    order = _order([piece.scope for piece in pieces], free, sizes)
    largest = max((math.prod(sizes[place] for place in scope) for _, scope in order), default=1)
    most = _MOST_ENTRIES // largest
    if most == 0:
        raise TooLarge(
            f"The most probable completions need a table of {largest} entries. Take method='em' with an approximate "
            "engine= instead."
        )
    if len(codes) > most:
        halves = np.array_split(np.arange(len(codes)), -(-len(codes) // most))
        parts = [_completed(factors, codes[part], sizes) for part in halves]
        return np.concatenate([part[0] for part in parts]), np.concatenate([part[1] for part in parts])
    return _eliminated(pieces, [place for place, _ in order], codes)


def _piece(scope: tuple[int, ...], table: Floats, codes: Codes, free: set[int]) -> _Piece:
    """A table with the observed states put in."""
    order = sorted(range(len(scope)), key=lambda axis: scope[axis])
    kept = tuple(scope[axis] for axis in order if scope[axis] in free)
    table, listed = table.transpose(order), [scope[axis] for axis in order]
    if len(kept) == len(listed):
        return _Piece(kept, table[None])
    shape = [1] * (len(kept) + 1)
    index = []
    for axis, place in enumerate(listed):
        where = kept.index(place) + 1 if place in free else 0
        values = np.arange(table.shape[axis]) if place in free else codes[:, place]
        index.append(values.reshape([*shape[:where], -1, *shape[where + 1 :]]))
    return _Piece(kept, table[tuple(index)])


def _observed(place: int, column: Codes, size: int) -> _Piece:
    """-inf for states of which another is observed."""
    is_open = (column[:, None] < 0) | (column[:, None] == np.arange(size))
    return _Piece((place,), np.where(is_open, 0.0, -np.inf))


def _order(scopes: list[tuple[int, ...]], free: list[int], sizes: list[int]) -> list[tuple[int, frozenset[int]]]:
    """Free variables, that with the smallest table first, and the variables of these tables."""
    there, left, order = [frozenset(scope) for scope in scopes], set(free), []
    while left:
        unions = {place: frozenset().union(*(s for s in there if place in s)) for place in sorted(left)}
        place = min(unions, key=lambda one: (math.prod(sizes[other] for other in unions[one]), one))
        order.append((place, unions[place]))
        there = [*(scope for scope in there if place not in scope), unions[place] - {place}]
        left.remove(place)
    return order


def _eliminated(pieces: list[_Piece], order: list[int], codes: Codes) -> tuple[Codes, Floats]:
    choices = []
    for place in order:
        touching = [piece for piece in pieces if place in piece.scope]
        joined = _product(touching)
        axis = joined.scope.index(place)
        others = (*joined.scope[:axis], *joined.scope[axis + 1 :])
        choices.append(_Choice(place, others, joined.logs.argmax(axis=axis + 1)))
        pieces = [*(piece for piece in pieces if place not in piece.scope), _Piece(others, joined.logs.max(axis + 1))]
    completed, rows = codes.copy(), np.arange(len(codes))
    for choice in reversed(choices):
        index = (rows if len(choice.states) > 1 else 0, *(completed[:, other] for other in choice.others))
        completed[:, choice.variable] = choice.states[index]
    total = np.zeros(len(codes))
    for piece in pieces:
        total = total + piece.logs
    return completed, total


def _product(pieces: list[_Piece]) -> _Piece:
    scope = tuple(sorted({place for piece in pieces for place in piece.scope}))
    logs: Floats = np.zeros(1)
    for piece in pieces:
        sizes = dict(zip(piece.scope, piece.logs.shape[1:], strict=True))
        logs = logs.reshape(logs.shape if logs.ndim > 1 else [1] * (len(scope) + 1))
        logs = logs + piece.logs.reshape([len(piece.logs), *(sizes.get(place, 1) for place in scope)])
    return _Piece(scope, logs)
