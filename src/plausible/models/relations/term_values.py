"""The values of terms on the objects of an instance, all objects at a time."""

from __future__ import annotations

from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Flags, Ints
from plausible.cpds.aggregate import whole_numbers
from plausible.errors import InvalidModel
from plausible.models.relations.instance import Instance, Links
from plausible.models.relations.terms import COUNT_FUNCTIONS, Term
from plausible.variables import Variable

#: Larger sums are of Python's whole numbers, which never overflow.
_LARGEST_INTEGER = 2**62
#: What stands for states that are not known.
UNKNOWN = -1


def has_value(term: Term, instance: Instance) -> Flags:
    """For which objects of the term's class it has a value, known or not."""
    num = instance.num_objects(term.chain.base)
    if not term.needs_objects:
        return np.ones(num, dtype=np.bool_)
    if term.chain.is_single:
        return np.asarray(instance.ends(term.chain) >= 0)
    return np.asarray(instance.links(term.chain).lengths > 0)


def term_values(term: Term, instance: Instance, rows: Ints | None = None) -> NDArray[Any]:
    """For each object of the term's class, or for some of them, the position of its state, or its number.

    -1 or NaN where it is not known: where one of the values that it is made of is missing. Every object must have a
    value, known or not (`has_value`).
    """
    chosen = np.arange(instance.num_objects(term.chain.base)) if rows is None else rows
    if term.chain.is_single and term.function not in COUNT_FUNCTIONS:
        return _single(term, instance, chosen)
    links = chosen_links(instance.links(term.chain), chosen)
    if term.counts_objects:
        return _of_counts(term, links.lengths)
    variable = instance.schema.variable(term.chain.target)
    values = instance.column(term.chain.target)[links.ends]
    if variable.is_continuous:
        return _of_numbers(term, links, values)
    return _of_states(term, variable, links, values)


def chosen_links(links: Links, rows: Ints) -> Links:
    """The links of some of the objects, in this order."""
    lengths = links.lengths[rows]
    starts = np.zeros(len(rows) + 1, dtype=np.int64)
    np.cumsum(lengths, out=starts[1:])
    places = np.repeat(links.starts[:-1][rows] - starts[:-1], lengths) + np.arange(starts[-1])
    return Links(starts, links.ends[places])


def _single(term: Term, instance: Instance, rows: Ints) -> NDArray[Any]:
    column, ends = instance.column(term.chain.target), instance.ends(term.chain)[rows]
    values = np.append(column, np.asarray(UNKNOWN, dtype=column.dtype))[ends]
    if term.empty is None:
        return np.asarray(values)
    empty = _empty_index(term, instance.schema.variable(term.chain.target))
    return np.where(ends >= 0, values.astype(np.int64), empty)


def _of_counts(term: Term, lengths: Ints) -> NDArray[Any]:
    return np.minimum(lengths, 1 if term.function == "exists" else term.cap)


def _of_states(term: Term, variable: Variable, links: Links, values: NDArray[Any]) -> NDArray[Any]:
    num, size = len(links.starts) - 1, variable.num_states
    known = values >= 0
    owners = links.owners
    if term.function in COUNT_FUNCTIONS:
        wanted = np.zeros(size, dtype=np.bool_)
        wanted[[variable.index(state) for state in term.of or ()]] = True
        hits = np.bincount(owners[known][wanted[values[known]]], minlength=num)
        answer = _of_counts(term, hits)
        decided = answer == (1 if term.function == "exists" else term.cap)  # whatever the missing ones are
    else:
        counts = np.bincount(owners[known] * size + values[known], minlength=num * size).reshape(num, size)
        answer = aggregated(term.function or "", counts, variable, term.ties)
        if term.empty is not None:
            answer = np.where(links.lengths > 0, answer, _empty_index(term, variable))
        decided = np.zeros(num, dtype=np.bool_)
    unknown = np.zeros(num, dtype=np.bool_)
    unknown[owners[~known]] = True
    return np.where(unknown & ~decided, UNKNOWN, answer)


def aggregated(function: str, counts: Ints, variable: Variable, ties: str) -> Ints:
    """The position of the aggregate's state, from how many objects have each state; rows of zeros give any.

    >>> aggregated("median", np.array([[1, 0, 1], [0, 2, 1]]), Variable("grade", ["A", "B", "C"]), "lower").tolist()
    [0, 1]
    """
    totals = counts.sum(axis=1)
    last = counts.shape[1] - 1
    if function == "max":
        return np.asarray(last - np.argmax(counts[:, ::-1] > 0, axis=1))
    if function == "min":
        return np.asarray(np.argmax(counts > 0, axis=1))
    if function == "mode":
        best = np.argmax(counts, axis=1) if ties == "lower" else last - np.argmax(counts[:, ::-1], axis=1)
        return np.asarray(best)
    if function == "median":
        place = (totals - 1) // 2 if ties == "lower" else totals // 2
        return np.asarray(np.argmax(counts.cumsum(axis=1) > place[:, None], axis=1))
    levels = whole_numbers(variable.states)  # ties are ties
    is_small = max(levels) * int(totals.max(initial=0)) < _LARGEST_INTEGER
    wholes = np.array(levels, dtype=np.int64 if is_small else object)
    distances = np.abs(np.multiply.outer(totals, wholes) - (counts @ wholes)[:, None])
    if ties == "lower":
        return np.asarray(np.argmin(distances, axis=1))
    return np.asarray(last - np.argmin(distances[:, ::-1], axis=1))


def _of_numbers(term: Term, links: Links, values: NDArray[Any]) -> NDArray[Any]:
    """An aggregate of numbers; NaN where one of them is missing."""
    if term.empty is not None:
        raise InvalidModel(f"{term.text!r}: an aggregate of numbers has no empty=: no number stands for none.")
    num, owners = len(links.starts) - 1, links.owners
    answer = np.full(num, np.nan)
    there = np.flatnonzero(links.lengths > 0)
    if not there.size:
        return answer
    if term.function == "mean":
        answer[there] = np.bincount(owners, values, num)[there] / links.lengths[there]
        return answer
    order = np.lexsort((values, owners))
    ranked, starts, ends = values[order], links.starts[:-1][there], links.starts[1:][there]
    if term.function == "median":
        lengths = ends - starts
        low, high = ranked[starts + (lengths - 1) // 2], ranked[starts + lengths // 2]
        answer[there] = (low + high) / 2
    elif term.function in ("max", "min"):
        answer[there] = ranked[ends - 1] if term.function == "max" else ranked[starts]
    else:
        raise InvalidModel(f"{term.text!r}: numbers have no {term.function}. Take mean, median, max or min.")
    missing = np.zeros(num, dtype=np.bool_)
    missing[owners[np.isnan(values)]] = True
    return np.where(missing, np.nan, answer)


def _empty_index(term: Term, source: Variable) -> int:
    """The position of the state that stands for no objects: one of the source's, or the one after its last."""
    return source.index(term.empty) if source.has_state(term.empty) else source.num_states
