"""Hartemink's discretisation: intervals that keep what columns tell about each other."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions

__all__ = ["merge_by_information"]

Codes = NDArray[np.signedinteger[Any]]

#: Rows that are turned into indicators at a time.
_ROWS = 4096


def merge_by_information(
    codes: Mapping[str, Codes], sizes: Mapping[str, int], goals: Mapping[str, int], weights: Floats
) -> dict[str, list[int]]:
    """Merge neighbouring intervals, those first that lose the least mutual information (Hartemink 2001).

    The information is the sum over all other columns of I(X; Y), of the rows in which both are known. In turn, each
    column that still has too many intervals gets one fewer. O(rows · s²) for the joint counts of s states of all
    columns, then O(s²) for each merger.

    Parameters
    ----------
    codes
        Name -> the interval or state of each row; -1 where missing.
    sizes
        Name -> how many there are.
    goals
        Name -> how many intervals should be left, for those columns that may be changed.
    weights
        How often each row counts.

    Returns
    -------
    dict
        Name -> the first of the old intervals that make up each new one.

    Examples
    --------
    >>> codes = {"X": np.array([0, 1, 2, 3]), "Y": np.array([0, 0, 0, 1])}
    >>> merge_by_information(codes, {"X": 4, "Y": 2}, {"X": 2}, np.ones(4))
    {'X': [0, 3]}
    """
    names = sorted(codes)  # so that the order of the columns is of no consequence
    owner = np.repeat(np.arange(len(names)), [sizes[name] for name in names])
    joint = _joint_counts([codes[name] for name in names], [sizes[name] for name in names], weights)
    firsts = {name: list(range(sizes[name])) for name in names if name in goals}
    while any(len(firsts[name]) > goals[name] for name in firsts):
        for place, name in enumerate(names):
            if name in firsts and len(firsts[name]) > goals[name]:
                start = int(np.searchsorted(owner, place))
                lower = start + int(_losses(joint, owner, start, len(firsts[name])).argmin())
                firsts[name].pop(lower - start + 1)
                joint, owner = _merged(joint, lower), np.delete(owner, lower)
    return firsts


def _joint_counts(codes: Sequence[Codes], sizes: Sequence[int], weights: Floats) -> Floats:
    """By state and state of all columns, how often they occur together; zero within a column."""
    starts = np.cumsum([0, *sizes])
    joint = np.zeros((starts[-1], starts[-1]))
    for first in range(0, len(weights), _ROWS):
        rows = slice(first, first + _ROWS)
        indicators = np.zeros((len(weights[rows]), starts[-1]))
        for start, column in zip(starts, codes, strict=False):
            known = np.flatnonzero(column[rows] >= 0)
            indicators[known, start + column[rows][known]] = 1.0
        joint += (indicators * weights[rows, None]).T @ indicators
    owner = np.repeat(np.arange(len(sizes)), sizes)
    return np.where(owner[:, None] == owner, 0.0, joint)


def _losses(joint: Floats, owner: Positions, start: int, num: int) -> Floats:
    """How much information is lost with each boundary between `num` states that begin at `start`."""
    cells = joint[start : start + num]
    others = np.flatnonzero(np.diff(owner, prepend=-1))
    margins = np.add.reduceat(cells, others, axis=1)  # a column's states given that the other one is known
    return _gap(cells) - _gap(margins)


def _gap(parts: Floats) -> Floats:
    """Σ a log a + b log b - (a + b) log(a + b) of neighbouring rows; rounded, so that ties are ties."""
    terms = _entropy_terms(parts)
    gap = (terms[:-1] + terms[1:] - _entropy_terms(parts[:-1] + parts[1:])).sum(axis=1)
    return np.asarray(np.round(gap, 9), dtype=np.float64)


def _entropy_terms(parts: Floats) -> Floats:
    return np.asarray(parts * np.log(parts, out=np.zeros_like(parts), where=parts > 0))


def _merged(joint: Floats, lower: int) -> Floats:
    """The counts with two neighbouring states made one."""
    starts = np.delete(np.arange(len(joint)), lower + 1)
    return np.asarray(np.add.reduceat(np.add.reduceat(joint, starts, axis=0), starts, axis=1))
