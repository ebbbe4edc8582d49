"""Priors of weights: densities, whose logarithms are added to the total log-likelihood."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints, inner
from plausible.base.options import check_flag, check_number
from plausible.errors import InvalidArgument, suggestion


class WeightPrior(ABC):
    """A density of weights, each by itself but for groups; priors are added to have all of them at once.

    >>> GaussianPrior(2.0) + LaplacePrior(0.5)
    CombinedPrior(parts=(GaussianPrior(variance=2.0), LaplacePrior(scale=0.5)))
    """

    __slots__ = ()

    @abstractmethod
    def penalty(self, groups: Ints) -> Penalty:
        """What it takes off the log-likelihood, for weights of which each belongs to a group."""

    def __add__(self, other: WeightPrior) -> CombinedPrior:
        """Both at once: the product of the densities, which need not be normalised."""
        return CombinedPrior((*_parts(self), *_parts(other)))


@dataclass(frozen=True, slots=True)
class GaussianPrior(WeightPrior):
    """θ ~ N(0, variance) for each weight: -θ²/(2 variance), which makes weights small but hardly ever zero."""

    variance: float = 1.0

    def __post_init__(self) -> None:
        check_number("variance", self.variance, above=0)

    def penalty(self, groups: Ints) -> Penalty:
        """-θ²/(2 variance)."""
        size = len(groups)
        constant = -0.5 * size * math.log(2 * math.pi * self.variance)
        return replace(Penalty.none(groups), precisions=np.full(size, 1 / self.variance), constant=constant)


@dataclass(frozen=True, slots=True)
class LaplacePrior(WeightPrior):
    """Density exp(-|θ|/scale) / (2 scale): an L1 penalty of |θ|/scale, which makes many weights zero."""

    scale: float = 1.0

    def __post_init__(self) -> None:
        check_number("scale", self.scale, above=0)

    def penalty(self, groups: Ints) -> Penalty:
        """-|θ|/scale."""
        size = len(groups)
        constant = -size * math.log(2 * self.scale)
        return replace(Penalty.none(groups), rates=np.full(size, 1 / self.scale), constant=constant)


@dataclass(frozen=True, slots=True)
class HyperbolicPrior(WeightPrior):
    """Density 1/(π cosh θ): like a Gaussian near zero, like a Laplace prior in the tails; no weight becomes zero."""

    def penalty(self, groups: Ints) -> Penalty:
        """-log cosh θ."""
        size = len(groups)
        return replace(Penalty.none(groups), tails=np.ones(size), constant=-size * math.log(math.pi))


@dataclass(frozen=True, slots=True)
class GroupPrior(WeightPrior):
    """-‖θ_g‖/scale for the weights of each group, those of one feature or scope: whole groups become zero.

    Parameters
    ----------
    scale
        The smaller, the more groups vanish.
    by_size
        Whether the penalty of a group is multiplied by the square root of its size, so that large ones are not
        preferred.

    References
    ----------
    Yuan & Lin (2006), Model selection and estimation in regression with grouped variables.
    """

    scale: float = 1.0
    by_size: bool = False

    def __post_init__(self) -> None:
        check_number("scale", self.scale, above=0)
        check_flag("by_size", self.by_size)

    def penalty(self, groups: Ints) -> Penalty:
        """-Σ_g ‖θ_g‖/scale, its density not normalised."""
        sizes = np.bincount(groups).astype(float)
        factors = np.sqrt(sizes) if self.by_size else np.ones(sizes.size)
        return replace(Penalty.none(groups), group_rates=factors / self.scale)


@dataclass(frozen=True, slots=True)
class CombinedPrior(WeightPrior):
    """Several priors at once; made by adding them."""

    parts: tuple[WeightPrior, ...]

    def penalty(self, groups: Ints) -> Penalty:
        """The sum of all."""
        total = Penalty.none(groups)
        for part in self.parts:
            total = total.plus(part.penalty(groups))
        return total


@dataclass(frozen=True, slots=True)
class PseudoData:
    """As if so many more rows with these means had been seen: density ∝ exp(size · (Σ α_i θ_i - log Z(θ))), conjugate.

    The best weights are those of the blended means (size · α + M · means of the data) / (size + M), so `size` adds up
    with the number of rows (Koller & Friedman 2009, §20.4.2, where the sum is not normalised). It is no sum over
    weights, so it takes no other prior beside it. The density is not normalised in `fit.objective`.

    Parameters
    ----------
    size
        How many rows it counts for, M0.
    means
        α: name of each weight -> mean of its feature; those of the uniform distribution where left out.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [1] * 8, "B": [1] * 8}
    >>> same = pb.Feature(["A", "B"], lambda a, b: a == b, name="same")
    >>> declared = [pb.Variable("A", 2), pb.Variable("B", 2)]
    >>> fit = pb.learn.markov([same], rows, prior=pb.learn.PseudoData(2), variables=declared)
    >>> round(float(np.exp(fit.weights["same"])), 6)             # means blend to (2 · 0.5 + 8 · 1) / 10 = 0.9
    9.0
    """

    size: float = 1.0
    means: Mapping[str, float] | None = None

    def __post_init__(self) -> None:
        check_number("size", self.size, above=0)

    def read(self, names: Sequence[str], uniform: Floats) -> Floats:
        """α of each weight, in order."""
        if self.means is None:
            return uniform
        for name in (*self.means, *names):
            if name not in self.means:
                raise InvalidArgument(f"PseudoData has no mean of {name!r}: it needs one for each weight, or none.")
            if name not in names:
                raise InvalidArgument(f"PseudoData names {name!r}, which is no weight here.{suggestion(name, names)}")
        return np.array([self.means[name] for name in names], dtype=np.float64)


def _parts(prior: WeightPrior) -> tuple[WeightPrior, ...]:
    if not isinstance(prior, WeightPrior):
        raise InvalidArgument(f"{prior!r} is no prior of weights, such as GaussianPrior(1.0), so it can't be added.")
    return prior.parts if isinstance(prior, CombinedPrior) else (prior,)


@dataclass(frozen=True, slots=True, eq=False)
class Penalty:
    """Priors of weights as arrays: -Σ p θ²/2 - Σ t log cosh θ - Σ r |θ| - Σ_g r_g ‖θ_g‖, and a constant."""

    groups: Ints  # the group of each weight
    precisions: Floats  # p, of each weight
    tails: Floats  # t
    rates: Floats  # r
    group_rates: Floats  # r_g, of each group
    constant: float = 0.0  # the logarithm of what normalises the densities

    @classmethod
    def none(cls, groups: Ints) -> Penalty:
        """No penalty on any weight."""
        nothing = np.zeros(len(groups))
        num_groups = int(groups.max(initial=-1)) + 1
        return cls(groups, nothing, nothing, nothing, np.zeros(num_groups))

    def plus(self, other: Penalty) -> Penalty:
        """Both at once."""
        return Penalty(
            self.groups,
            self.precisions + other.precisions,
            self.tails + other.tails,
            self.rates + other.rates,
            self.group_rates + other.group_rates,
            self.constant + other.constant,
        )

    @property
    def is_smooth(self) -> bool:
        """Whether it has a gradient everywhere."""
        return not (self.rates.any() or self.group_rates.any())

    @property
    def is_none(self) -> bool:
        """Whether there is none at all."""
        return self.is_smooth and not (self.precisions.any() or self.tails.any())

    @property
    def is_free(self) -> Flags:
        """Of each weight whether it has no penalty at all."""
        is_free = (self.precisions == 0) & (self.tails == 0) & (self.rates == 0)
        return np.asarray(is_free & (self.group_rates[self.groups] == 0))

    @property
    def is_strict(self) -> bool:
        """Whether every weight has a penalty that is strictly convex, so that the best weights are unique."""
        return bool(((self.precisions > 0) | (self.tails > 0)).all())

    def smooth(self, weights: Floats) -> tuple[float, Floats]:
        """The part that has a gradient, and that gradient."""
        if not self.tails.any():
            pull = -self.precisions * weights
            return 0.5 * inner(pull, weights), pull
        sizes = np.abs(weights)
        log_cosh = sizes + np.log1p(np.exp(-2 * sizes)) - math.log(2)
        value = -0.5 * float(self.precisions @ weights**2) - float(self.tails @ log_cosh)
        return value, -self.precisions * weights - self.tails * np.tanh(weights)

    def sharp(self, weights: Floats) -> float:
        """The part that has a kink where weights are zero."""
        own = -inner(self.rates, np.abs(weights))
        if not self.group_rates.any():
            return own
        norms = np.sqrt(np.bincount(self.groups, weights**2, minlength=self.group_rates.size))
        return own - float(self.group_rates @ norms)

    def curvature(self, weights: Floats) -> Floats:
        """Minus the second derivatives of the smooth part, weight by weight."""
        return np.asarray(self.precisions + self.tails / np.cosh(np.clip(weights, -350, 350)) ** 2)

    def log_density(self, weights: Floats) -> float:
        """The logarithm of the density; that of groups is not normalised."""
        return self.smooth(weights)[0] + self.sharp(weights) + self.constant

    def shrunk(self, weights: Floats, steps: Floats | float) -> Floats:
        """The proximal map of the sharp part, arg min of Σ (v - θ)²/(2 step) - sharp(v); groups have one step."""
        soft = np.sign(weights) * np.maximum(np.abs(weights) - steps * self.rates, 0.0)
        if not self.group_rates.any():
            return soft
        norms = np.sqrt(np.bincount(self.groups, soft**2, minlength=self.group_rates.size))
        with np.errstate(divide="ignore", invalid="ignore"):
            factors = np.maximum(1 - steps * (self.group_rates / norms)[self.groups], 0.0)
        return np.where(norms[self.groups] > 0, soft * factors, 0.0)

    def steepest(self, weights: Floats, gradient: Floats) -> Floats:
        """The direction of steepest ascent where `gradient` is that of all but the sharp part: zero at an optimum.

        Weights that are zero, and groups that are, stay so where the gradient does not exceed their rates.
        """
        kept = np.where(
            weights != 0,
            gradient - self.rates * np.sign(weights),
            np.sign(gradient) * np.maximum(np.abs(gradient) - self.rates, 0.0),
        )
        if not self.group_rates.any():
            return np.asarray(kept)
        norms = np.sqrt(np.bincount(self.groups, weights**2, minlength=self.group_rates.size))
        pulls = np.sqrt(np.bincount(self.groups, kept**2, minlength=self.group_rates.size))
        with np.errstate(divide="ignore", invalid="ignore"):
            released = np.where(pulls > 0, np.maximum(1 - self.group_rates / pulls, 0.0), 0.0)
            along = np.where(norms[self.groups] > 0, self.group_rates[self.groups] * weights / norms[self.groups], 0.0)
        return np.where(norms[self.groups] > 0, kept - along, kept * released[self.groups])


#: One prior for all weights, or one for each of those named; the others have none.
PriorOfWeights: TypeAlias = WeightPrior | PseudoData | Mapping[str, WeightPrior] | None


def read_prior(prior: PriorOfWeights, names: Sequence[str], groups: Ints, group_names: Sequence[str] = ()) -> Penalty:
    """The penalty that a prior, or one for each name of a weight or of a group of weights, puts on weights.

    >>> penalty = read_prior({"same": LaplacePrior(0.5)}, ["same", "first"], np.array([0, 1]))
    >>> penalty.rates
    array([2., 0.])
    """
    if prior is None:
        return Penalty.none(groups)
    if isinstance(prior, WeightPrior):
        return prior.penalty(groups)
    if isinstance(prior, PseudoData):
        raise InvalidArgument("PseudoData is a prior of the likelihood that markov learns: take GaussianPrior here.")
    if not isinstance(prior, Mapping):
        raise InvalidArgument(
            f"prior={prior!r} is no prior of weights: give one such as GaussianPrior(1.0), or {{name: prior}}."
        )
    place_of, total = {name: place for place, name in enumerate(names)}, Penalty.none(groups)
    for name, part in prior.items():
        _parts(part)
        is_meant = np.zeros(len(names), dtype=bool)
        if name in place_of:
            is_meant[place_of[name]] = True
        elif name in group_names:
            is_meant = groups == list(group_names).index(name)
        else:
            known = [*names, *group_names]
            raise InvalidArgument(
                f"prior= names {name!r}, which is no weight here.{suggestion(name, dict.fromkeys(known))}"
            )
        total = total.plus(_spread(part, groups, is_meant))
    return total


def _spread(prior: WeightPrior, groups: Ints, is_meant: np.ndarray) -> Penalty:
    """The penalty of a prior on some of the weights, and none on the others."""
    chosen, inner = np.unique(groups[is_meant], return_inverse=True)
    part, total = prior.penalty(inner.astype(np.int64)), Penalty.none(groups)
    arrays = {name: getattr(total, name).copy() for name in ("precisions", "tails", "rates", "group_rates")}
    for name in ("precisions", "tails", "rates"):
        arrays[name][is_meant] = getattr(part, name)
    arrays["group_rates"][chosen] = part.group_rates
    return replace(total, **arrays, constant=part.constant)
