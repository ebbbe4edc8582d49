"""One column of numbers as intervals, and where to cut it: by width, quantiles, k-means, a class, or what pairs say."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import pairwise
from types import MappingProxyType
from typing import Any, NamedTuple

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Floats, Positions
from plausible.base.tolerances import SMALLEST
from plausible.errors import InvalidArgument
from plausible.variables import Variable

#: k-means takes at most so many different values, or as many groups of neighbours of about equal weight.
_MAX_GROUPS = 1024


class Interval(NamedTuple):
    """The numbers low <= x < high, their name, and one that stands for them; the outer ones are not bounded."""

    label: str
    low: float
    high: float
    representative: float


@dataclass(frozen=True)
class DiscretizedColumn:
    """Where a column is cut."""

    name: str  # of the column
    #: increasing; a value at a cut belongs to the interval after it. None of a column that has one interval alone
    cuts: tuple[float, ...]
    #: A number within each interval: the mean of the values that were seen there, or its middle
    representatives: tuple[float, ...]

    def __post_init__(self) -> None:
        cuts = np.array(self.cuts)
        if not np.isfinite(cuts).all() or (np.diff(cuts) <= 0).any():
            raise InvalidArgument(f"The cuts of {self.name!r} are increasing finite numbers, not {list(self.cuts)}.")
        if len(self.representatives) != len(self.cuts) + 1 or not np.array_equal(
            np.searchsorted(cuts, self.representatives, side="right"), np.arange(len(cuts) + 1)
        ):
            raise InvalidArgument(
                f"The representatives of {self.name!r} are a number within each of its {len(self.cuts) + 1} intervals, "
                f"not {list(self.representatives)}."
            )

    @classmethod
    def at(
        cls, name: str, cuts: Floats, values: Floats | None = None, weights: Floats | None = None
    ) -> DiscretizedColumn:
        """The column cut there; the values that were seen, each with its weight, tell what stands for an interval."""
        cuts = np.asarray(cuts, dtype=np.float64)
        seen = np.empty(0) if values is None else values
        mass = np.ones(len(seen)) if weights is None else weights
        where = np.searchsorted(cuts, seen, side="right")
        total = np.bincount(where, mass, len(cuts) + 1)
        scale = max(float(np.abs(seen).max(initial=0.0)), SMALLEST)  # sums of large numbers must not overflow
        means = np.bincount(where, mass * (seen / scale), len(cuts) + 1) / np.where(total > 0, total, 1.0) * scale
        chosen = np.where(total > 0, means, _middles(cuts, seen))
        low, high = np.concatenate([[-np.inf], cuts]), np.concatenate([np.nextafter(cuts, -np.inf), [np.inf]])
        return cls(name, tuple(cuts.tolist()), tuple(chosen.clip(low, high).tolist()))

    @cached_property
    def variable(self) -> Variable:
        """The variable whose states are the intervals, in order."""
        # Each cut has as few digits as leave its error below a hundredth of the distance to its nearest neighbour.
        known = np.unique([*self.cuts, *self.representatives, -np.inf, np.inf])
        places = np.searchsorted(known, self.cuts)
        errors = np.minimum(known[places] - known[places - 1], known[places + 1] - known[places]) / 100
        texts = [_short_text(cut, error) for cut, error in zip(self.cuts, errors.tolist(), strict=True)]
        if not texts:
            return Variable(self.name, ["any"])
        between = [f"{low} to {high}" for low, high in pairwise(texts)]
        return Variable(self.name, [f"below {texts[0]}", *between, f"from {texts[-1]}"])

    @property
    def intervals(self) -> tuple[Interval, ...]:
        """The intervals in order."""
        limits = (-np.inf, *self.cuts, np.inf)
        states = map(str, self.variable.states)
        return tuple(map(Interval, states, limits[:-1], limits[1:], self.representatives))

    def encode(self, numbers: Floats) -> Positions:
        """The position of the interval of each number; -1 for NaN."""
        return np.where(np.isnan(numbers), -1, np.searchsorted(np.array(self.cuts), numbers, side="right"))

    def decode(self, codes: NDArray[np.signedinteger[Any]]) -> Floats:
        """What stands for the interval at each position; NaN for -1."""
        return np.asarray(np.array([*self.representatives, np.nan])[codes], dtype=np.float64)


def _middles(cuts: Floats, seen: Floats) -> Floats:
    """A number inside each interval; an outer one is taken as wide as its neighbour where no values are beyond."""
    if not len(cuts):
        return np.zeros(1) if not len(seen) else np.array([seen.mean()])
    width = np.diff(cuts) if len(cuts) > 1 else np.array([max(abs(float(cuts[0])), 1.0)])
    low, high = cuts[0] - width[0], cuts[-1] + width[-1]
    limits = np.concatenate([[min(low, seen.min(initial=low))], cuts, [max(high, seen.max(initial=high))]])
    return np.asarray(limits[:-1] / 2 + limits[1:] / 2)


def _short_text(number: float, error: float) -> str:
    texts = (f"{number:.{digits}g}" for digits in range(1, 18))
    text = next(text for text in texts if abs(float(text) - number) <= error or float(text) == number)
    return repr(float(text)).removesuffix(".0") if abs(float(text)) < 1e16 else text


def boundaries(values: Floats) -> Floats:
    """Halfway between neighbours; above the lower one in any case, as a value at a cut is in the interval after it."""
    middle = values[:-1] / 2 + values[1:] / 2
    return np.where(middle > values[:-1], middle, values[1:])


def equal_width_cuts(values: Floats, weights: Floats, bins: int) -> Floats:
    """Intervals of the same width over the range of the values; none of a constant."""
    shares = np.arange(1, bins) / bins
    cuts = np.unique(values[0] * (1 - shares) + values[-1] * shares)
    return np.asarray(cuts[cuts > values[0]], dtype=np.float64)


def quantile_cuts(values: Floats, weights: Floats, bins: int) -> Floats:
    """Intervals of about the same weight: at each share j / bins the boundary between values that is nearest to it.

    Equal values stay together, so that there may be fewer intervals. O(values).
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
    """
    cuts = boundaries(values) if len(values) <= _MAX_GROUPS else quantile_cuts(values, weights, _MAX_GROUPS)
    group = np.searchsorted(cuts, values, side="right")
    mass = np.bincount(group, weights).astype(np.float64)
    scale = max(float(np.abs(values).max()), SMALLEST)
    centre = np.bincount(group, weights * (values / scale)) / mass
    centre = centre - np.average(centre, weights=mass)
    # By first and last group, Σ w (x - mean)²; infinite where the last comes before the first.
    sums = [np.concatenate([[0.0], np.cumsum(mass * centre**power)]) for power in range(3)]
    weight, total, squares = (part[None, 1:] - part[:-1, None] for part in sums)
    is_interval = np.triu(np.ones_like(weight, dtype=np.bool_))
    costs = squares - np.divide(total**2, weight, out=np.zeros_like(total), where=is_interval)
    costs = np.where(is_interval, costs.clip(0.0), np.inf)
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


def class_cuts(values: Floats, class_weights: Floats) -> Floats:
    """Cuts that tell classes apart, as many as pay for their description (Fayyad & Irani 1993).

    Each interval is cut where the entropy of the class is least; the cut stands if its gain exceeds
    (log2(N - 1) + log2(3^k - 2) - k H + k1 H1 + k2 H2) / N, with k, k1, k2 classes in the whole and in its parts.
    O(values · classes) for each cut.
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
                kept = np.delete(np.arange(len(joint)), lower + 1)  # two neighbouring states are made one
                joint = np.asarray(np.add.reduceat(np.add.reduceat(joint, kept, axis=0), kept, axis=1))
                owner = np.delete(owner, lower)
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
