"""Learning to tell labels from all others by a margin: quadratic programs whose constraints are found one by one."""

from __future__ import annotations

import math
from abc import ABC, abstractmethod
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.options import check_flag
from plausible.base.tolerances import SMALLEST, WEIGHT_NOISE
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.learn.undirected.labelled_rows import LabelledRows
from plausible.learn.undirected.mixtures_of_planes import best_mixture
from plausible.learn.undirected.objectives import ObjectiveMethod, SteeredObjective, places_of
from plausible.learn.undirected.priors import Penalty
from plausible.learn.undirected.sample import Sample
from plausible.search.run import CONVERGED, Run, Stops, iterate

_WAYS = ("cutting-plane", "frank-wolfe", "perceptron")


@dataclass(frozen=True, slots=True)
class MaxMargin(ObjectiveMethod):
    """Minimise Σ_i θ_i²/(2 v) + Σ_m η_m, where η_m = max_y [Hamming(y, y[m]) - θ·(f(y[m], x[m]) - f(y, x[m]))].

    So labels win over others by one for each target that these get wrong, or pay for it; v is the variance of the
    `GaussianPrior` that is given, which is the C of support vector machines: ‖θ‖²/2 + C Σ η has the same minimum. The
    maximum over y is a most probable explanation with the loss added to single targets, so no log Z is needed, and
    `engine=GraphCut()` will do where that takes the model (Taskar, Guestrin & Koller 2003; Koller & Friedman 2009,
    §20.6.2.2, where the slacks' sign is left out).

    optimizer="cutting-plane", the default, adds one plane below Σ η at a time and solves the quadratic program of these
    exactly (Joachims, Finley & Yu 2009); "frank-wolfe" goes row by row (Lacoste-Julien et al. 2013). Both stop where
    the duality gap is at most `tolerance` a row. "perceptron" is Collins's averaged one (2002), without a prior: it
    stops where it makes no mistake. A step is a pass over all rows.

    Parameters
    ----------
    targets
        For `markov` what is predicted from all else, all variables where left out; `crf` knows its targets.
    slack
        False asks every row to win by one over all other labels, and for the shortest such weights; where there are
        none, a row is named whose labels stand in the way.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"Y": [0, 0, 1, 1], "x": [-2.0, -1.0, 1.0, 3.0]}
    >>> push = pb.Feature(["Y", "x"], lambda y, x: y * x, name="push")
    >>> fit = pb.learn.crf([push], rows, targets=["Y"], objective=pb.learn.MaxMargin(slack=False))
    >>> round(fit.weights["push"], 6), fit.margins(rows).round(6).tolist()
    (1.0, [2.0, 1.0, 1.0, 3.0])
    """

    targets: Sequence[str] | None = None
    slack: bool = True

    def __post_init__(self) -> None:
        check_flag("slack", self.slack)
        if isinstance(self.targets, str):
            object.__setattr__(self, "targets", (self.targets,))

    def on(self, data: Sample) -> MarginObjective:
        """Minus the sum of slacks."""
        design = data.design
        places = range(len(design.variables)) if self.targets is None else places_of(self.targets, design, "targets")
        rows = LabelledRows.of(data, set(places))
        return MarginObjective(
            design, np.zeros(design.num_weights), (), data.total, is_own=True, rows=rows, slack=self.slack
        )


@dataclass(frozen=True, eq=False)
class MarginObjective(SteeredObjective):
    """-Σ_m w_m η_m(θ)."""

    rows: LabelledRows = field(kw_only=True)
    slack: bool = field(kw_only=True)

    def at(self, weights: Floats) -> tuple[float, Floats]:
        """Minus the sum of slacks, and a gradient where there is one, else one of many."""
        slope, loss = self.plane(weights)
        return -(loss - float(slope @ weights)), slope

    def plane(self, weights: Floats) -> tuple[Floats, float]:
        """Σ_m w_m (f(y[m]) - f(y)) and Σ_m w_m Hamming(y, y[m]), y the worst labels: the slacks' tangent."""
        rows, states = self.rows, self.rows.worst(weights)
        slope = rows.weights @ (rows.given - rows.features(states))
        return np.asarray(slope).ravel(), float(rows.weights @ rows.hamming(states))

    @property
    def kind(self) -> str:
        """Exact unless an engine that may miss the worst labels was asked."""
        return "exact" if self.rows.ground.has_exact_best else "upper bound"

    @property
    def num_inferences(self) -> int:
        """One for each row."""
        return len(self.rows.labels)

    def run(self, penalty: Penalty, optimizer: Any, start: Floats | Run[Any], stops: Stops) -> Run[MarginState]:
        """Learn by one of three ways, or without slack."""
        way = "cutting-plane" if optimizer is None else optimizer
        if way not in _WAYS:
            told = f"{optimizer!r} does not climb margins, which have kinks: take one of {', '.join(_WAYS)}."
            raise NotSupported(told + suggestion(str(optimizer), _WAYS))
        made: _Way
        if way == "perceptron":
            if not penalty.is_none or not self.slack:
                raise NotSupported('optimizer="perceptron" takes no prior, and slack as it comes: leave both out.')
            made = _Perceptron(self, np.ones(self.design.num_weights))
        elif self.slack:
            made = (_CuttingPlane if way == "cutting-plane" else _FrankWolfe)(self, _precisions(penalty))
        else:
            made = _HardMargin(self, np.ones(self.design.num_weights) if penalty.is_none else _precisions(penalty))
        begin = start if isinstance(start, Run) else made.init(start)
        enough = stops.tolerance * max(self.total, 1.0)
        return iterate(
            made.step,
            begin,
            stops,
            ends=lambda state: CONVERGED if state.gap <= enough else "",
            objective=lambda state: state.value,
        )


class MarginState(NamedTuple):
    """The weights so far, and what the next step needs."""

    num_steps: int
    point: Floats  # the best weights so far
    value: float  # minus the program's value there
    gradient: Floats  # nan: there are kinks
    gap: float  # by how much the value may be short of the best
    memory: Any = None  # planes and how they mix, or each row's part


@dataclass(frozen=True, slots=True, eq=False)
class _Way(ABC):
    goal: MarginObjective
    precisions: Floats  # 1/v of each weight

    def init(self, start: Floats) -> MarginState:
        """No planes yet."""
        return self.state(0, start, self.value(start), math.inf, None)

    def value(self, point: Floats) -> float:
        """Minus the value of the program."""
        return self.goal.at(point)[0] - 0.5 * float(self.precisions @ point**2)

    def state(self, num_steps: int, point: Floats, value: float, gap: float, memory: Any) -> MarginState:
        """A state; gradients there are none."""
        return MarginState(num_steps, point, value, np.full(point.size, math.nan), gap, memory)

    @abstractmethod
    def step(self, state: MarginState) -> MarginState:
        """A pass over all rows."""


def _precisions(penalty: Penalty) -> Floats:
    if (penalty.precisions <= 0).any() or penalty.tails.any() or not penalty.is_smooth:
        raise InvalidArgument(
            "A margin needs a Gaussian prior, and no other, on each weight: prior=GaussianPrior(variance), whose "
            "variance is what slack costs, the C of support vector machines."
        )
    return penalty.precisions


class _CuttingPlane(_Way):
    """Σ η is at least each of its tangents and 0: θ minimises the largest of these and the prior; then the next one."""

    __slots__ = ()

    def step(self, state: MarginState) -> MarginState:
        roots = np.sqrt(self.precisions)
        slopes, losses, mixture = state.memory or self._planes(
            state.point, np.zeros((1, roots.size)), np.zeros(1), np.ones(1)
        )
        mixture = best_mixture(slopes @ slopes.T, losses, mixture)
        mean = mixture @ slopes
        lower, point = float(losses @ mixture) - 0.5 * float(mean @ mean), mean / roots
        memory = self._planes(point, slopes, losses, mixture)
        value = float(memory[0][-1] @ mean) - float(memory[1][-1]) - 0.5 * float(mean @ mean)
        if value < state.value:
            point, value = state.point, state.value
        return self.state(state.num_steps + 1, point, value, -value - lower, memory)

    def _planes(self, point: Floats, slopes: Floats, losses: Floats, mixture: Floats) -> tuple[Floats, Floats, Floats]:
        """The planes with the tangent at a point, which has no share so far."""
        slope, loss = self.goal.plane(point)
        return np.vstack([slopes, slope / np.sqrt(self.precisions)]), np.append(losses, loss), np.append(mixture, 0.0)


class _FrankWolfe(_Way):
    """Block-coordinate Frank-Wolfe on the dual: row after row towards its worst labels, as far as is best."""

    __slots__ = ()

    def step(self, state: MarginState) -> MarginState:
        rows, precisions = self.goal.rows, self.precisions
        num_rows, given = len(rows.labels), rows.given.toarray()
        parts, losses = state.memory or (np.zeros((num_rows, precisions.size)), np.zeros(num_rows))
        parts, losses = parts.copy(), losses.copy()
        point = parts.sum(axis=0)
        for row, weight in enumerate(rows.weights.tolist()):
            states, found = rows.best_of(row, point, with_loss=True)
            corner = weight * (given[row] - found) / precisions
            loss = weight * float((states != rows.labels[row]).sum())
            move = corner - parts[row]
            length = float(move @ (precisions * move))
            gain = loss - losses[row] - float(move @ (precisions * point))
            share = min(1.0, max(0.0, gain / length)) if length > 0 else float(gain > 0)
            parts[row] += share * move
            losses[row] += share * (loss - losses[row])
            point = point + share * move
        point = parts.sum(axis=0)
        value, lower = self.value(point), float(losses.sum()) - 0.5 * float(precisions @ point**2)
        return self.state(state.num_steps + 1, point, value, -value - lower, (parts, losses))


class _Perceptron(_Way):
    """θ ← θ + f(y[m]) - f(best labels), row after row; the answer is the mean of all θ on the way."""

    __slots__ = ()

    def value(self, point: Floats) -> float:
        """Minus the sum of slacks: there is no prior."""
        return self.goal.at(point)[0]

    def step(self, state: MarginState) -> MarginState:
        rows, mistakes, given = self.goal.rows, 0, self.goal.rows.given.toarray()
        point, total, count = state.memory or (state.point, np.zeros(state.point.size), 0)
        for row, labels in enumerate(rows.labels):
            states, found = rows.best_of(row, point, with_loss=False)
            if (states != labels).any():
                mistakes += 1
                point = point + rows.weights[row] * (given[row] - found)
            total, count = total + point, count + 1
        mean = total / count
        gap = 0.0 if not mistakes else math.inf
        return self.state(state.num_steps + 1, mean, self.value(mean), gap, (point, total, count))


class _HardMargin(_Way):
    """The shortest θ with θ·(f(y[m]) - f(y)) ≥ 1 for the y found so far; then those that it wins over by less."""

    __slots__ = ()

    def value(self, point: Floats) -> float:
        """Minus half of the squared length."""
        return -0.5 * float(self.precisions @ point**2)

    def step(self, state: MarginState) -> MarginState:
        rows, roots = self.goal.rows, np.sqrt(self.precisions)
        slopes, owners = state.memory or (np.zeros((0, roots.size)), np.zeros(0, dtype=np.int64))
        before = state.point if len(owners) else np.zeros(roots.size)
        margins, rivals = rows.rivals(before)
        short = np.flatnonzero((margins < 1 - 1e-9) & (rows.weights > 0))
        moves = (rows.given - rows.features(rivals))[short].toarray() / roots
        slopes, owners = np.vstack([slopes, moves]), np.append(owners, short)
        point = _shortest(slopes, owners) / roots
        value = self.value(point)
        least = float(rows.rivals(point)[0][rows.weights > 0].min(initial=math.inf))
        gap = 0.0 if least >= 1 - 1e-9 else math.inf if least <= 0 else -value * (1 / least**2 - 1)
        return self.state(state.num_steps + 1, point, value, gap, (slopes, owners))


def _shortest(slopes: Floats, owners: Ints) -> Floats:
    """The shortest θ with slopes @ θ ≥ 1, by non-negative least squares (Lawson & Hanson 1974, chapter 23)."""
    from scipy.optimize import nnls

    if not len(owners):
        return np.zeros(slopes.shape[1])
    scale = max(float(np.sqrt((slopes**2).sum(axis=1)).max()), SMALLEST)
    system = np.vstack([slopes.T / scale, np.ones(len(owners))])
    aim = np.append(np.zeros(slopes.shape[1]), 1.0)
    shares, _ = nnls(system, aim, maxiter=30 * max(system.shape))
    rest = aim - system @ shares
    if rest[-1] <= WEIGHT_NOISE:
        at = np.flatnonzero(shares > 1e-9 * shares.max())
        row = int(owners[at[int(np.argmax(shares[at]))]])
        others = sorted(set(owners[at].tolist()) - {row})
        told = (
            f", together with those of row{'s' * (len(others) > 1)} {', '.join(map(str, others[:5]))}" if others else ""
        )
        raise InvalidArgument(
            f"The labels of row {row} can't be the best by a margin{told}, whatever the weights: these features do not "
            "tell them from all others. Add features, or take objective=MaxMargin(slack=True)."
        )
    return np.asarray(-(system[:-1] @ shares) / -rest[-1] / scale)
