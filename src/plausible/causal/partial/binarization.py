"""Measurements of a trial as yes and no."""

from __future__ import annotations

import numpy as np
import numpy.typing as npt

from plausible.base.arrays import Floats
from plausible.errors import InvalidArgument

__all__ = ["binarize"]


def binarize(values: npt.ArrayLike, threshold: float | None = None) -> Floats:
    """One where a value reaches the threshold, else zero; NaN, which is missing, stays.

    The dose that somebody took is cut at the middle of its range, what came of it at an improvement that matters
    (Koller & Friedman 2009, box 21.B); then bounds for binary variables apply.

    Parameters
    ----------
    values
        Numbers.
    threshold
        The least value that counts; the middle between the least and the greatest one where left out.

    Examples
    --------
    >>> binarize([0.0, 20.0, 60.0, 100.0])
    array([0., 0., 1., 1.])
    >>> binarize([-40.0, 5.0, 28.0], threshold=28.0)
    array([0., 0., 1.])
    """
    numbers = np.asarray(values, dtype=np.float64)
    is_known = ~np.isnan(numbers)
    if threshold is None:
        if not is_known.any():
            raise InvalidArgument("There is no value whose range could be cut; give a threshold=.")
        threshold = float(numbers[is_known].min() / 2.0 + numbers[is_known].max() / 2.0)
    if not np.isfinite(threshold):
        raise InvalidArgument(f"threshold= is a number, not {threshold!r}.")
    return np.where(is_known, (numbers >= threshold).astype(np.float64), np.nan)
