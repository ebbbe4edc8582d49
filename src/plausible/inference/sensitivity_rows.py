"""What the other entries of a row of a conditional table do when one of them changes.

The entries of a row sum to one, so that in a network one alone can't change. Two conventions are offered:

- `fixed`: all other entries are held, and a derivative is the partial derivative proper; what learners and Hessians are
  made of;
- `proportional`: the other entries keep their ratios and share what is left; what sensitivity analysis means by varying
  a parameter (van der Gaag & Renooij 2001). Where they are all zero, they share it equally.
"""

from __future__ import annotations

from typing import Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument

#: What the other entries of a row do.
OtherEntries: TypeAlias = Literal["fixed", "proportional"]


def is_covarying(others: OtherEntries) -> bool:
    """Whether the other entries of a row change in proportion; refuses words that are neither."""
    if others not in ("fixed", "proportional"):
        raise InvalidArgument(f"The other entries of a row are 'fixed' or 'proportional', not {others!r}.")
    return others == "proportional"


def row_ends(table: Floats, slopes: Floats) -> tuple[Floats, Floats]:
    """A quantity at θ = 0 and at θ = 1 of each entry, the other entries of the row in proportion.

    The quantity is Σ θ · slope, linear in each entry; sums of what is left take the place of differences, so that
    nothing cancels.

    Parameters
    ----------
    table
        θ, axes (parents..., child).
    slopes
        Partial derivatives of the quantity in θ, of the same shape.
    """
    rows = table.reshape(-1, table.shape[-1])
    partial = slopes.reshape(rows.shape)
    elsewhere = _sum_of_others(_terms(rows, partial).sum(axis=-1))[:, None]
    at_zero, at_one = elsewhere + _mean_of_others(rows, partial), elsewhere + partial
    return at_zero.reshape(table.shape), at_one.reshape(table.shape)


def covarying(table: Floats, slopes: Floats) -> Floats:
    """The derivatives in each entry while the others of its row change in proportion; `slopes` are partial ones.

    dF/dθ_c = ∂F/∂θ_c - Σ_{k≠c} θ_k / (1 - θ_c) ∂F/∂θ_k; for two states the difference of the two partial derivatives.

    >>> covarying(np.array([0.5, 0.25, 0.25]), np.array([3.0, 1.0, 2.0]))
    array([ 1.5       , -1.66666667, -0.33333333])
    """
    return slopes - _mean_of_others(table, slopes)


def _mean_of_others(table: Floats, slopes: Floats) -> Floats:
    """Σ_{k≠c} θ_k slope_k / Σ_{k≠c} θ_k for each entry c of each row; equal weights where all other θ are zero."""
    num_states = table.shape[-1]
    if num_states == 1:  # the only state is sure: nothing can take its share
        return slopes
    left = _sum_of_others(table)
    equally = _sum_of_others(slopes) / (num_states - 1)
    return np.asarray(np.divide(_sum_of_others(_terms(table, slopes)), left, out=equally, where=left > 0))


def _terms(table: Floats, slopes: Floats) -> Floats:
    """θ · slope, zero where θ is, even if the slope overflowed."""
    return np.multiply(table, slopes, out=np.zeros_like(slopes), where=table > 0)


def _sum_of_others(values: Floats) -> Floats:
    """For each entry the sum of all others along the last axis, without a difference."""
    before, after = np.zeros_like(values), np.zeros_like(values)
    np.cumsum(values[..., :-1], axis=-1, out=before[..., 1:])
    after[..., :-1] = np.cumsum(values[..., :0:-1], axis=-1)[..., ::-1]
    return before + after
