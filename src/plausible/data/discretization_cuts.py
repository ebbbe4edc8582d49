"""Where to cut the values of one column into intervals: equal width, quantiles, k-means, and by a class."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import numpy as np

from plausible.base.arrays import Floats

__all__ = ["ONE_COLUMN_METHODS", "boundaries", "class_cuts", "cluster_cuts", "equal_width_cuts", "quantile_cuts"]


#: k-means takes at most so many different values, or as many groups of neighbours of about equal weight.
_MAX_GROUPS = 1024


def boundaries(values: Floats) -> Floats:
    """Halfway between neighbours; above the lower one in any case, as a value at a cut is in the interval after it."""
    middle = values[:-1] / 2 + values[1:] / 2
    return np.where(middle > values[:-1], middle, values[1:])


def equal_width_cuts(values: Floats, weights: Floats, bins: int) -> Floats:
    """Intervals of the same width over the range of the values; none of a constant.

    Parameters
    ----------
    values
        Those that occur, sorted, each once.
    weights
        How often each occurs; of no consequence here.
    bins
        How many intervals.

    Examples
    --------
    >>> equal_width_cuts(np.array([0.0, 1.0, 8.0]), np.ones(3), 4)
    array([2., 4., 6.])
    """
    shares = np.arange(1, bins) / bins
    cuts = np.unique(values[0] * (1 - shares) + values[-1] * shares)
    return np.asarray(cuts[cuts > values[0]], dtype=np.float64)


def quantile_cuts(values: Floats, weights: Floats, bins: int) -> Floats:
    """Intervals of about the same weight: at each share j / bins the boundary between values that is nearest to it.

    Equal values stay together, so that there may be fewer intervals. O(values).

    Parameters
    ----------
    values
        Those that occur, sorted, each once.
    weights
        How often each occurs.
    bins
        At most so many intervals.

    Examples
    --------
    >>> quantile_cuts(np.array([0.0, 1.0, 2.0, 3.0]), np.array([9.0, 1.0, 1.0, 1.0]), 3)
    array([0.5])
    """
    if len(values) < 2:
        return np.empty(0)
    shares = np.cumsum(weights)[:-1] / weights.sum()
    wanted = np.arange(1, bins) / bins
    after = np.searchsorted(shares, wanted).clip(0, len(shares) - 1)
    before = (after - 1).clip(0)
    nearest = np.where(wanted - shares[before] <= shares[after] - wanted, before, after)
    return np.asarray(boundaries(values)[np.unique(nearest)], dtype=np.float64)


def cluster_cuts(values: Floats, weights: Floats, bins: int) -> Floats:
    """k-means on a line: the intervals with the least sum of squares within them, exactly (Fisher 1958).

    By dynamic programming over the last cut, O(bins · m²) for m different values; of more than 1024, over as many
    groups of neighbours.

    Parameters
    ----------
    values
        Those that occur, sorted, each once.
    weights
        How often each occurs.
    bins
        How many intervals, or as many as there are values.

    Examples
    --------
    >>> cluster_cuts(np.array([0.0, 1.0, 10.0, 11.0, 30.0]), np.ones(5), 3)
    array([ 5.5, 20.5])
    """
    cuts = boundaries(values) if len(values) <= _MAX_GROUPS else quantile_cuts(values, weights, _MAX_GROUPS)
    group = np.searchsorted(cuts, values, side="right")
    mass = np.bincount(group, weights).astype(np.float64)
    scale = max(float(np.abs(values).max()), 1e-300)
    centre = np.bincount(group, weights * (values / scale)) / mass
    centre = centre - np.average(centre, weights=mass)
    costs = _squares_within(centre, mass)
    best, chosen = costs[0], []
    for _ in range(min(bins, len(mass)) - 1):
        totals = np.vstack([np.full(len(mass), np.inf), best[:-1, None] + costs[1:]])
        chosen.append(totals.argmin(axis=0))
        best = totals.min(axis=0)
    firsts, last = [], len(mass) - 1
    for choice in reversed(chosen):
        firsts.append(int(choice[last]))
        last = firsts[-1] - 1
    return cuts[[first - 1 for first in reversed(firsts)]]


def _squares_within(centre: Floats, mass: Floats) -> Floats:
    """By first and last group, Σ w (x - mean)²; infinite where the last comes before the first."""
    sums = [np.concatenate([[0.0], np.cumsum(mass * centre**power)]) for power in range(3)]
    weight, total, squares = (part[None, 1:] - part[:-1, None] for part in sums)
    is_interval = np.triu(np.ones_like(weight, dtype=np.bool_))
    costs = squares - np.divide(total**2, weight, out=np.zeros_like(total), where=is_interval)
    return np.where(is_interval, costs.clip(0.0), np.inf)


def class_cuts(values: Floats, class_weights: Floats) -> Floats:
    """Cuts that tell classes apart, as many as pay for their description (Fayyad & Irani 1993).

    Each interval is cut where the entropy of the class is least; the cut stands if its gain exceeds
    (log2(N - 1) + log2(3^k - 2) - k H + k1 H1 + k2 H2) / N, with k, k1, k2 classes in the whole and in its parts.
    O(values · classes) for each cut.

    Parameters
    ----------
    values
        Those that occur, sorted, each once.
    class_weights
        By value and class, how often they occur together.

    Examples
    --------
    >>> class_cuts(np.arange(8.0), np.repeat([[9.0, 0.0], [0.0, 9.0]], 4, axis=0))
    array([3.5])
    """
    cuts: list[int] = []
    stretches = [(0, len(values))]
    while stretches:
        first, end = stretches.pop()
        cut = _best_class_cut(class_weights[first:end])
        if cut is not None:
            cuts.append(first + cut)
            stretches += [(first, first + cut + 1), (first + cut + 1, end)]
    return boundaries(values)[sorted(cuts)]


def _best_class_cut(weights: Floats) -> int | None:
    """The value after which a stretch is cut; `None` where no cut pays."""
    total = weights.sum(axis=0)
    mass = total.sum()
    if len(weights) < 2 or mass <= 1:
        return None
    left = np.cumsum(weights, axis=0)[:-1]
    right = (total - left).clip(0.0)
    left_entropy, right_entropy, entropy = _entropy(left), _entropy(right), float(_entropy(total[None])[0])
    within = (left.sum(axis=1) * left_entropy + right.sum(axis=1) * right_entropy) / mass
    cut = int(within.argmin())
    num_left, num_right, num = (int((part > 0).sum()) for part in (left[cut], weights[cut + 1 :].sum(axis=0), total))
    spread = num * entropy - num_left * left_entropy[cut] - num_right * right_entropy[cut]
    log_splits = num * np.log2(3.0) + np.log2(1.0 - 2.0 * 3.0**-num)  # log2(3^k - 2), which may be a huge number's
    price = (np.log2(mass - 1) + log_splits - spread) / mass
    return cut if entropy - within[cut] > price else None


def _entropy(weights: Floats) -> Floats:
    """In bits, of each row."""
    total = weights.sum(axis=1, keepdims=True)
    shares = np.divide(weights, total, out=np.zeros_like(weights), where=total > 0)
    logs = np.log2(shares, out=np.zeros_like(shares), where=shares > 0)
    return np.asarray(-(shares * logs).sum(axis=1))


#: Name -> cuts of a column by its own values, their weights, and the number of intervals.
ONE_COLUMN_METHODS: Mapping[str, Callable[[Floats, Floats, int], Floats]] = MappingProxyType(
    {"equal-width": equal_width_cuts, "quantile": quantile_cuts, "k-means": cluster_cuts}
)
