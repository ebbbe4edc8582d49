"""The E-step of hard EM: most probable completions, by max-product elimination with cases along the first axis."""

from __future__ import annotations

import math
from dataclasses import dataclass
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats
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


def most_probable_completions(network: BayesianNetwork, cases: Cases) -> Completions:
    """argmax_h P(h, observed) of each case.

    Of completions that are equally probable, states that come first are taken, variable by variable in the reverse
    order of elimination. Cost: cases times the tables of an elimination of what is missing; cases that lack the same
    cells go together. A distribution whose variable was set from outside counts for nothing.
    """
    codes, logs = cases.codes.copy(), np.zeros(cases.num_cases)
    with np.errstate(divide="ignore"):
        tables = {name: np.log(cpd.to_factor().values) for name, cpd in network.cpds.items()}
    places = {name: place for place, name in enumerate(cases.variables)}
    scopes = {name: tuple(places[v.name] for v in cpd.scope) for name, cpd in network.cpds.items()}
    sizes = [variable.num_states for variable in cases.variables.values()]
    order = np.lexsort(
        np.vstack([(cases.codes < 0).T, cases.settings[None]])
    )  # those that lack the same cells together
    for setting, set_names in enumerate(cases.setting_names):
        names, ours = [name for name in tables if name not in set_names], order[cases.settings[order] == setting]
        factors = [(scopes[name], tables[name].reshape([sizes[place] for place in scopes[name]])) for name in names]
        for first in range(0, len(ours), _MOST_CASES):
            chosen = ours[first : first + _MOST_CASES]
            codes[chosen], logs[chosen] = _completed(factors, cases.codes[chosen], sizes)
    return Completions(codes, logs)


@dataclass(frozen=True, slots=True, eq=False)
class HardExpectations:
    """The counts of the most probable completion of each case, and log P of these: Q has its weight in one place."""

    cases: Cases

    def at(self, network: BayesianNetwork) -> Expectations:
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


def _completed(factors: list[tuple[tuple[int, ...], Floats]], codes: Codes, sizes: list[int]) -> Completions:
    free = np.flatnonzero((codes < 0).any(axis=0)).tolist()
    pieces = [_piece(scope, table, codes, set(free)) for scope, table in factors]
    for place in free:  # -inf for states of which another is observed
        column = codes[:, place, None]
        is_open = (column < 0) | (column == np.arange(sizes[place]))
        pieces.append(_Piece((place,), np.where(is_open, 0.0, -np.inf)))
    order = _order([piece.scope for piece in pieces], free, sizes)
    largest = max((math.prod(sizes[place] for place in scope) for _, scope in order), default=1)
    most = _MOST_ENTRIES // largest
    if most == 0:
        raise TooLarge(
            f"The most probable completions need a table of {largest} entries. Take method='em' with an approximate "
            "engine= instead."
        )
    if len(codes) > most:
        parts = np.array_split(codes, -(-len(codes) // most))
        return Completions(
            *map(np.concatenate, zip(*(_completed(factors, part, sizes) for part in parts), strict=True))
        )
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


def _eliminated(pieces: list[_Piece], order: list[int], codes: Codes) -> Completions:
    choices = []  # a variable, others that are chosen later, and its best state for each case and all states of these
    for place in order:
        touching = [piece for piece in pieces if place in piece.scope]
        scope = tuple(sorted({other for piece in touching for other in piece.scope}))
        joined: Floats = np.zeros([1] * (len(scope) + 1))
        for piece in touching:
            sizes = dict(zip(piece.scope, piece.logs.shape[1:], strict=True))
            joined = joined + piece.logs.reshape([len(piece.logs), *(sizes.get(other, 1) for other in scope)])
        axis, others = scope.index(place) + 1, tuple(other for other in scope if other != place)
        choices.append((place, others, joined.argmax(axis=axis)))
        pieces = [*(piece for piece in pieces if place not in piece.scope), _Piece(others, joined.max(axis))]
    completed, rows = codes.copy(), np.arange(len(codes))
    for place, others, states in reversed(choices):
        completed[:, place] = states[(rows if len(states) > 1 else 0, *(completed[:, other] for other in others))]
    return Completions(completed, sum((piece.logs for piece in pieces), np.zeros(len(codes))))
