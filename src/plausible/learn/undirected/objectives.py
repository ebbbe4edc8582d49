"""What learning climbs: sums of log Z over what is and is not observed, with data, design and engine put in.

Every objective is a total over rows, in natural logarithms: Σ_i θ_i s_i + Σ_k c_k A_k(log φ(θ)), with statistics s and
parts A_k that are log Z of something (`partition.py`) or stand for it. That is why objectives, priors, engines and
optimisers combine as they like.
"""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from plausible.base.arrays import Codes, Floats
from plausible.base.options import check_number, read_groups
from plausible.base.tolerances import PROBABILITY_NOISE
from plausible.errors import InvalidArgument, NotSupported, UnknownVariable, suggestion
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.local_partitions import LocalPartitions
from plausible.learn.undirected.partition import (
    BestPartition,
    Kind,
    MixedPartition,
    Part,
    PiecewisePartition,
    different_rows,
    spanning_forests,
)
from plausible.learn.undirected.priors import Penalty
from plausible.learn.undirected.sample import Sample
from plausible.search.run import Run, Stops


@dataclass(frozen=True, eq=False)
class Objective:
    """θ·s + Σ_k c_k A_k(log φ(θ)) and a constant, a total over rows; made by the `on` of an `ObjectiveMethod`."""

    design: Design
    linear: Floats  # s, of each weight
    parts: tuple[tuple[float, Part], ...]  # (c, A)
    total: float  # the sum of the weights of all rows
    #: Whether it is what it is called: the likelihood itself, a bound on it, an approximation of it, or a function of
    #: its own, such as the pseudolikelihood, computed exactly.
    is_own: bool = False
    constant: float = field(default=0.0, kw_only=True)  # what is added that hangs on no weight

    #: Whether weights of features that are never on, or always, are put to their limits before the climb.
    has_limits = True

    @property
    def spreads(self) -> Floats:
        """How far the values of each weight's feature lie apart."""
        return self.design.spreads

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """The value and the gradient.

        The value is -inf where an engine has not settled, or makes of it what no probability of rows can be, so that no
        climb goes there.
        """
        logs = self.design.logs(weights)
        value, gradient = self.constant + float(self.linear @ weights), self.linear.copy()
        for factor, part in self.parts:
            found, entries = part.at(logs)
            value += factor * found
            gradient += factor * self.design.expected(entries)
        is_impossible = value > self.total * PROBABILITY_NOISE and not self.is_concave
        return -math.inf if is_impossible or self.advice else value, gradient

    @property
    def advice(self) -> str:
        """What to try where the last evaluation is not to be trusted; "" if it is."""
        return " ".join(filter(None, (part.advice for _, part in self.parts)))

    @property
    def kind(self) -> str:
        """ "exact", "lower bound", "upper bound" or "approximation" of what it is called; bounds hold as computed."""
        kinds = {_turned(part.kind, factor) for factor, part in self.parts} - {"exact"}
        if not kinds:
            return "exact"
        return kinds.pop() if len(kinds) == 1 else "approximation"

    @property
    def is_concave(self) -> bool:
        """Whether it has one maximum only, as far as is known."""
        return all(factor < 0 and part.is_convex for factor, part in self.parts)

    @property
    def num_inferences(self) -> int:
        """How many inferences an evaluation takes."""
        return sum(part.num_inferences for _, part in self.parts)


class SteeredObjective(Objective, ABC):
    """An objective that is climbed in a way of its own: it has kinks, or is told by draws."""

    has_limits = False

    @property
    def is_concave(self) -> bool:
        """What is known of its maximum, its states say."""
        return False

    @abstractmethod
    def run(self, penalty: Penalty, optimizer: Any, start: Floats | Run[Any], stops: Stops) -> Run[Any]:
        """The run, whose state has at least a point, a value and a gradient."""


def _turned(kind: Kind, factor: float) -> Kind:
    if factor < 0 and kind in ("upper bound", "lower bound"):
        return "lower bound" if kind == "upper bound" else "upper bound"
    return kind


class ObjectiveMethod(ABC):
    """An objective before it is put on data: its options."""

    __slots__ = ()

    @abstractmethod
    def on(self, data: Sample) -> Objective:
        """The objective on data."""


@dataclass(frozen=True, slots=True)
class Likelihood(ObjectiveMethod):
    """ℓ = Σ_m log P(o[m]) = Σ_m log Z(o[m]) - M log Z, where o[m] are the cells that row m has.

    Where no cell is missing log Z(o) is Σ θ f(row), so the data are only looked at once, ℓ is concave, and a step costs
    one inference; otherwise one more for each different row, and there may be several maxima (Koller & Friedman 2009,
    §20.3). Cells are missing at random.
    """

    def on(self, data: Sample) -> Objective:
        """Counts, or the sum over rows, less M log Z."""
        last = (-data.repeats, data.partition)
        if data.is_complete:
            return Objective(data.design, data.feature_totals, (last,), data.total)
        observed = data.tree.rows(*data.rows)
        return Objective(data.design, np.zeros(data.design.num_weights), ((1.0, observed), last), data.total)


@dataclass(frozen=True, slots=True)
class ConditionalLikelihood(ObjectiveMethod):
    """Σ_m log P(y[m] | x[m]) of targets y given all else: the likelihood of a conditional random field.

    Parameters
    ----------
    targets
        The names of y. Cells of targets may be missing; then there may be several maxima.
    """

    targets: Sequence[str]

    def on(self, data: Sample) -> Objective:
        """Σ_m log Z(row) - log Z(x[m])."""
        return Multiconditional(self.targets, 1.0).on(data)


@dataclass(frozen=True, slots=True)
class Multiconditional(ObjectiveMethod):
    """share · Σ_m log P(y[m] | x[m]) + (1 - share) · Σ_m log P(x[m] | y[m]) (McCallum et al. 2006).

    Parameters
    ----------
    targets
        The names of y, cells of which may be missing; x are all others.
    share
        From 0 to 1.
    """

    targets: Sequence[str]
    share: float = 0.5

    def __post_init__(self) -> None:
        check_number("share", self.share, least=0, most=1)
        if isinstance(self.targets, str):
            object.__setattr__(self, "targets", (self.targets,))

    def on(self, data: Sample) -> Objective:
        """Σ_m log Z(o, x) - share · log Z(x) - (1 - share) · log Z(o), o the targets that are there."""
        design, (rows, weights) = data.design, data.rows
        targets = places_of(self.targets, design, "targets")
        others = [place for place in range(len(design.variables)) if place not in targets]
        names = list(design.variables)
        if missing := [names[place] for place in others if (rows[:, place] < 0).any()]:
            raise NotSupported(f"{missing[0]!r} has missing cells, but is given in the conditional likelihood.")
        whole: list[tuple[float, Part]] = []
        linear = np.zeros(design.num_weights)
        if (rows >= 0).all():
            linear = design.expected(data.counts)
        else:
            whole = [(1.0, data.tree.rows(rows, weights))]
        for share, hidden in ((self.share, targets), (1 - self.share, others)):
            if share:
                whole.append((-share, _hiding(data, rows, weights, hidden)))
        return Objective(design, linear, tuple(whole), data.total)


@dataclass(frozen=True, slots=True)
class Pseudolikelihood(ObjectiveMethod):
    """Σ_m Σ_j log P(x_j[m] | all others), a function of its own that needs no log Z (Besag 1975).

    It is concave, costs Σ_m Σ_j states × tables of j, and tends to the truth with more rows if the model can express
    it; where rows are few it gives more to near-copies than to weak, lasting influences (Koller & Friedman 2009,
    §20.6.1). It suits models that are asked for one variable given nearly all others.

    Parameters
    ----------
    targets
        The j that are summed over; all where left out. With targets it is the conditional pseudolikelihood.
    """

    targets: Sequence[str] | None = None

    def on(self, data: Sample) -> Objective:
        """Counts of entries, once for each target in their scope, less local sums."""
        data.refuse_missing("pseudolikelihood")
        design = data.design
        targets = places_of(list(design.places) if self.targets is None else self.targets, design, "targets")
        times = np.array([len(targets.intersection(scope)) for scope in design.scopes])
        local = LocalPartitions(design, *data.rows, sorted(targets))
        linear = design.expected(data.counts * np.repeat(times, np.diff(design.starts)))
        return Objective(design, linear, ((-1.0, local),), data.total, is_own=True)


@dataclass(frozen=True, slots=True)
class CompositeLikelihood(ObjectiveMethod):
    """Σ_m Σ_s log P(x_s[m] | all others) over blocks s: between the pseudolikelihood and the likelihood.

    Parameters
    ----------
    blocks
        Lists of names, which may share some; by default the scope of each feature. One block of all variables makes it
        the likelihood, single names the pseudolikelihood.
    """

    blocks: Sequence[Sequence[str]] | None = None

    def on(self, data: Sample) -> Objective:
        """Σ_m log Z(row) - log Z(row without x_s) for each block."""
        data.refuse_missing("composite likelihood")
        design, (rows, weights) = data.design, data.rows
        named = read_groups(self.blocks)
        blocks = (
            [places_of(block, design, "blocks") for block in named] if named is not None else map(set, design.scopes)
        )
        parts = tuple((-1.0, _hiding(data, rows, weights, block)) for block in blocks)
        linear = len(parts) * design.expected(data.counts)
        return Objective(design, linear, parts, data.total, is_own=True)


@dataclass(frozen=True, slots=True)
class Piecewise(ObjectiveMethod):
    """Σ_m Σ_c log (φ_c(row) / Σ φ_c): each table normalised by itself, a lower bound on the likelihood.

    Tables that have a weight for each entry become the frequencies of their scope, so that what scopes share counts
    several times (Sutton & McCallum 2005).
    """

    def on(self, data: Sample) -> Objective:
        """Counts, less M Σ_c log Σ φ_c."""
        data.refuse_missing("piecewise likelihood")
        linear = data.feature_totals
        return Objective(data.design, linear, ((-data.repeats, PiecewisePartition(data.design)),), data.total)


@dataclass(frozen=True, slots=True)
class Viterbi(ObjectiveMethod):
    """Σ_m log P~(row) - max log P~: the largest product in the place of Z, an upper bound on the likelihood.

    It is at most 0, and 0 where all weights are: stop early (`max_steps`), or bound the weights by a prior
    (Koller & Friedman 2009, §20.5.2).
    """

    def on(self, data: Sample) -> Objective:
        """Counts, less M max log Π φ."""
        data.refuse_missing("objective with the best assignment")
        linear = data.feature_totals
        return Objective(data.design, linear, ((-data.repeats, BestPartition(data.tree)),), data.total)


@dataclass(frozen=True, slots=True, eq=False)
class SubmodelLikelihood(ObjectiveMethod):
    """ℓ with Σ_k α_k log Z(w^k θ) for log Z: a concave lower bound from submodels (Koller & Friedman 2009, ex. 20.13).

    Parameters
    ----------
    powers
        w, of shape (submodels, scopes), in the order of the features' scopes; by default forests that between them have
        all pairs.
    shares
        α; Σ_k α_k w^k = 1 for each scope.
    """

    powers: Any = None
    shares: Any = None
    _read: tuple[Floats, Floats] | None = field(init=False, repr=False, default=None)

    def __post_init__(self) -> None:
        if (self.powers is None) != (self.shares is None):
            raise InvalidArgument("Submodels need both powers= and shares=, or neither.")
        if self.powers is not None:
            read = np.atleast_2d(np.asarray(self.powers, dtype=float)), np.asarray(self.shares, dtype=float)
            object.__setattr__(self, "_read", read)

    def on(self, data: Sample) -> Objective:
        """Counts, less M times the bound."""
        data.refuse_missing("bound from submodels")
        powers, shares = self._read or spanning_forests(data.design.scopes, len(data.design.variables))
        part = MixedPartition(data.design, powers, shares, data.budget)
        return Objective(data.design, data.feature_totals, ((-data.repeats, part),), data.total)


def _hiding(data: Sample, rows: Codes, weights: Floats, hidden: Iterable[int]) -> Part:
    """Σ_m w_m log Z(row without some variables)."""
    kept = rows.copy()
    kept[:, sorted(hidden)] = -1
    return data.tree.rows(*different_rows(kept.T, weights))


def places_of(names: Sequence[str], design: Design, option: str) -> set[int]:
    """The places of variables that an option names, of all their copies; refuses others, and none."""
    listed = [names] if isinstance(names, str) else list(names)
    if not listed:
        raise InvalidArgument(f"{option}= names no variable.")
    for name in listed:
        if name not in design.places:
            known = suggestion(name, design.places)
            raise UnknownVariable(f"{option}= names {name!r}, which is no variable here.{known}")
    return {place for name in listed for place in design.places[name]}
