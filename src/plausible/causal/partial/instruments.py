"""Instruments in closed form: trials in which not everybody takes what he is assigned."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument

__all__ = [
    "InstrumentalInequality",
    "Interval",
    "encouragement_effect",
    "instrument_bounds",
    "instrumental_inequality",
    "natural_bounds",
    "noncompliance_rate",
]


_TOLERANCE = 1e-9


class Interval(NamedTuple):
    """From lower to upper; empty where lower exceeds upper."""

    lower: float
    upper: float

    @property
    def width(self) -> float:
        """upper - lower."""
        return self.upper - self.lower


def encouragement_effect(table: npt.ArrayLike) -> float:
    """P(o¹ | a¹) - P(o¹ | a⁰): the effect of the assignment, by intention to treat.

    Under full compliance it is the effect of the treatment.

    Parameters
    ----------
    table
        P(t, o | a), axes (a, t, o), all binary; state 1 is "assigned", "taken", "well".

    Examples
    --------
    >>> cholestyramine = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> round(encouragement_effect(cholestyramine), 3)
    0.465
    """
    p = _trial(table)
    return float(p[1, :, 1].sum() - p[0, :, 1].sum())


def noncompliance_rate(table: npt.ArrayLike) -> float:
    """P(t⁰ | a¹) + P(t¹ | a⁰), the width of the natural bounds.

    Parameters
    ----------
    table
        That of `encouragement_effect`.

    Examples
    --------
    >>> cholestyramine = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> round(noncompliance_rate(cholestyramine), 3)
    0.388
    """
    p = _trial(table)
    return float(p[1, 0].sum() + p[0, 1].sum())


def natural_bounds(table: npt.ArrayLike) -> Interval:
    """Bounds on the ACE that always hold, and are sharp where nobody defies the assignment.

    enc - P(o¹, t⁰ | a¹) - P(o⁰, t¹ | a⁰) ≤ ACE ≤ enc + P(o⁰, t⁰ | a¹) + P(o¹, t¹ | a⁰), with the encouragement effect
    enc (Robins 1989; Manski 1990).

    Parameters
    ----------
    table
        That of `encouragement_effect`.

    Examples
    --------
    >>> cholestyramine = [[[0.919, 0.081], [0.0, 0.0]], [[0.315, 0.073], [0.139, 0.473]]]
    >>> [round(end, 3) for end in natural_bounds(cholestyramine)]
    [0.392, 0.78]
    """
    p, effect = _trial(table), encouragement_effect(table)
    return Interval(float(effect - p[1, 0, 1] - p[0, 1, 0]), float(effect + p[1, 0, 0] + p[0, 1, 1]))


def instrument_bounds(table: npt.ArrayLike) -> Interval:
    """The sharp bounds on the ACE of the binary instrumental model, in closed form (Balke & Pearl 1997).

    Each end is the best of eight linear functions of the table: the vertices of the dual linear programs. Where the
    table contradicts the model, the interval may be empty.

    Parameters
    ----------
    table
        That of `encouragement_effect`.

    Examples
    --------
    Nobody got well but the untaken, assigned or not:

    >>> instrument_bounds([[[0.0, 1.0], [0.0, 0.0]], [[0.0, 0.0], [1.0, 0.0]]])
    Interval(lower=-1.0, upper=-1.0)
    """
    p = _trial(table)
    # q[a, o, t], as in the paper.
    q = p.transpose(0, 2, 1)
    lowers = [
        q[1, 1, 1] + q[0, 0, 0] - 1.0,
        q[0, 1, 1] + q[1, 0, 0] - 1.0,
        q[0, 1, 1] - q[1, 1, 1] - q[1, 1, 0] - q[0, 0, 1] - q[0, 1, 0],
        q[1, 1, 1] - q[0, 1, 1] - q[0, 1, 0] - q[1, 0, 1] - q[1, 1, 0],
        -q[1, 0, 1] - q[1, 1, 0],
        -q[0, 0, 1] - q[0, 1, 0],
        q[1, 0, 0] - q[1, 0, 1] - q[1, 1, 0] - q[0, 0, 1] - q[0, 0, 0],
        q[0, 0, 0] - q[0, 0, 1] - q[0, 1, 0] - q[1, 0, 1] - q[1, 0, 0],
    ]
    uppers = [
        1.0 - q[1, 0, 1] - q[0, 1, 0],
        1.0 - q[0, 0, 1] - q[1, 1, 0],
        -q[0, 0, 1] + q[1, 0, 1] + q[1, 0, 0] + q[0, 1, 1] + q[0, 0, 0],
        -q[1, 0, 1] + q[1, 1, 1] + q[1, 0, 0] + q[0, 0, 1] + q[0, 0, 0],
        q[1, 1, 1] + q[1, 0, 0],
        q[0, 1, 1] + q[0, 0, 0],
        -q[1, 1, 0] + q[1, 1, 1] + q[1, 0, 0] + q[0, 1, 1] + q[0, 1, 0],
        -q[0, 1, 0] + q[0, 1, 1] + q[0, 0, 0] + q[1, 1, 1] + q[1, 1, 0],
    ]
    return Interval(float(max(lowers)), float(min(uppers)))


class InstrumentalInequality(NamedTuple):
    """Whether a table may come from an instrument: Σ_o max_a P(t, o | a) ≤ 1 for every state of the treatment.

    Attributes
    ----------
    sums
        The left side for each state of the treatment.
    """

    sums: tuple[float, ...]

    @property
    def excess(self) -> float:
        """By how much the inequality is violated; zero where it holds."""
        return max(0.0, max(self.sums) - 1.0)

    @property
    def is_satisfied(self) -> bool:
        """Whether it holds, up to rounding."""
        return self.excess <= _TOLERANCE


def instrumental_inequality(table: npt.ArrayLike) -> InstrumentalInequality:
    """Pearl's test of an instrument, for any numbers of states.

    Necessary always; sufficient where all three variables are binary (Pearl 1995; Bonet 2001).

    Parameters
    ----------
    table
        P(t, o | a), axes (a, t, o).

    Examples
    --------
    The assignment changes the outcome while the treatment stays the same:

    >>> instrumental_inequality([[[0.0, 1.0], [0.0, 0.0]], [[1.0, 0.0], [0.0, 0.0]]])
    InstrumentalInequality(sums=(2.0, 0.0))
    """
    p = _checked(table)
    return InstrumentalInequality(tuple(p.max(axis=0).sum(axis=-1).tolist()))


def _trial(table: npt.ArrayLike) -> Floats:
    p = _checked(table)
    if p.shape != (2, 2, 2):
        raise InvalidArgument(
            f"The table P(t, o | a) of three binary variables has the shape (2, 2, 2), not {p.shape}."
        )
    return p


def _checked(table: npt.ArrayLike) -> Floats:
    p = np.asarray(table, dtype=np.float64)
    if p.ndim != 3 or not p.size or not (p >= 0).all() or not np.allclose(p.sum(axis=(1, 2)), 1.0, atol=1e-6):
        raise InvalidArgument("The table P(t, o | a), axes (a, t, o), sums to one for each state of the assignment.")
    return p
