"""Causes that act independently of each other and of which the strongest effect wins."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from plausible.base.arrays import Floats
from plausible.factors import Factor
from plausible.variables import Variable


def partial_maxima(child: Variable, parents: Sequence[Variable]) -> tuple[Variable, ...]:
    """The auxiliary variables of `max_factors`, one for each parent but the last; no name is in the scope."""
    mark = "≤"
    while any(variable.name.startswith(child.name + mark) for variable in parents):
        mark += "≤"
    return tuple(child.renamed(f"{child.name}{mark}{place}") for place in range(1, len(parents)))


def max_factors(
    child: Variable,
    parents: Sequence[Variable],
    effects: Sequence[Floats],
    leak: Floats,
) -> tuple[Factor, ...]:
    """Y = max(Y_0, Y_1, ..., Y_n) with Y_i ~ P(Y_i | x_i), as a chain of factors of at most three variables.

    With M_0 = Y_0 and M_i = max(M_{i-1}, Y_i) for each parent in turn, the last of them being Y itself, the factors are
    P(m_i | m_{i-1}, x_i): P(Y_i = m_i | x_i) above m_{i-1}, P(Y_i ≤ m_i | x_i) at it, and zero below. (Zhang & Poole
    1996.) No entry is a difference, so nothing cancels and logarithms can be taken.

    The M_i must be summed out before anything is maximised: a maximum over them is not one over Y. Parents come in the
    order of their names, so that the chains of several children with common causes run side by side: in step they
    need tables over one M_i of each child, out of step over many.
    """
    if not parents:
        return (Factor((child,), leak),)
    maxima = (*partial_maxima(child, parents), child)
    pairs = sorted(zip(parents, effects, strict=True), key=lambda pair: pair[0].name)
    ordered = [parent for parent, _ in pairs]
    first, *others = (_maximum_table(effect) for _, effect in pairs)
    links = zip(maxima, ordered[1:], maxima[1:], others, strict=False)
    return (
        Factor((ordered[0], maxima[0]), np.tensordot(leak, first, axes=1)),
        *(Factor((before, parent, after), table) for before, parent, after, table in links),
    )


def _maximum_table(effect: Floats) -> Floats:
    """P(max(m, Y_i) = m' | x_i) over (m, x_i, m')."""
    size = effect.shape[-1]
    at = np.arange(size)
    table = np.where(at[:, None, None] < at, effect, 0.0)
    table[at, :, at] = np.minimum(np.cumsum(effect, axis=-1), 1.0).T
    table[-1, :, -1] = 1.0
    return table


def no_effect_factors(parents: Sequence[Variable], effects: Sequence[Floats], leak: Floats) -> tuple[Factor, ...]:
    """P(Y = lowest | x) = Π_i P(Y_i = lowest | x_i): a factor for each parent, and a number for the leak."""
    pairs = zip(parents, effects, strict=True)
    return (Factor.scalar(float(leak[0])), *(Factor((parent,), effect[:, 0]) for parent, effect in pairs))


def log_complement(logs: Floats) -> Floats:
    """log(1 - exp(a)) for a ≤ 0, exact near both ends (Mächler 2012)."""
    with np.errstate(divide="ignore"):
        return np.where(logs > -np.log(2.0), np.log(-np.expm1(logs)), np.log1p(-np.exp(logs)))
