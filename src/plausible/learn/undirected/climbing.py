"""Climbing an objective with its prior: which optimiser, when it is enough, and what is told of it."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Literal, NamedTuple, TypeAlias

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.options import check_count
from plausible.base.tolerances import WEIGHT_NOISE, score_noise
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.learn.undirected.design import Design
from plausible.learn.undirected.objectives import Objective, SteeredObjective
from plausible.learn.undirected.partition import TreePartition
from plausible.learn.undirected.priors import Penalty
from plausible.search.ascent import Ascent, AscentState, OrthantWise, ascent_step, init_ascent, read_ascent
from plausible.search.run import CONVERGED, Run, Stops, iterate


@dataclass(frozen=True, slots=True)
class PartialEM:
    """EM for weights: fill in the expected counts of what is missing, climb a few steps on these, and so on.

    Σ_m log Z(o[m]) is convex in the weights, so its tangent is below it: the E-step finds that tangent, the expected
    counts, by an inference for each of M different rows; the M-step climbs the likelihood of these counts and the
    prior, by one inference for each inner step. The likelihood never falls, and the optima are those of the gradient
    (Koller & Friedman 2009, §20.3.3.2). A step of "l-bfgs" costs M + 1 inferences, a step of EM with K inner ones M +
    K + 3, more where a line search looks twice; to run the M-step to its end is seldom worth it.

    Parameters
    ----------
    inner_steps
        The steps of each M-step, K.

    Examples
    --------
    >>> import plausible as pb
    >>> rows = {"A": [0, 0, 1, 1, 1, 0], "B": [0, None, 1, 1, 0, 1]}
    >>> same = pb.Feature(["A", "B"], lambda a, b: a == b, name="same")
    >>> fit = pb.learn.markov([same], rows, optimizer=pb.learn.PartialEM(inner_steps=2))
    >>> round(fit.weights["same"], 4), fit.converged
    (0.4055, True)
    """

    inner_steps: int = 5

    def __post_init__(self) -> None:
        check_count("inner_steps", self.inner_steps, least=1)

    def step(self, climbed: Climb, state: AscentState) -> AscentState:
        """Climb the tangent of the convex parts, all else as it is."""
        objective = climbed.objective
        concave = tuple((factor, part) for factor, part in objective.parts if factor < 0)
        if len(concave) == len(objective.parts):
            raise NotSupported('optimizer="em" is for missing cells and hidden variables: leave it out here.')
        rest = replace(objective, linear=np.zeros_like(objective.linear), parts=concave)
        slope = state.smooth_gradient - climbed.penalty.smooth(state.point)[1] - rest.at(state.point)[1]
        filled = Climb(replace(rest, linear=slope), climbed.penalty)
        inner = Stops(tolerance=0.0, max_steps=self.inner_steps)
        point = climb(filled, None, state.point, inner).state.point
        if np.array_equal(point, state.point):
            return state._replace(is_stuck=True)
        return _next(climbed, state, point, *climbed.smooth(point))


#: A way to climb, or its name; None for the one that suits the prior.
OptimizerLike: TypeAlias = (
    Ascent
    | Literal["l-bfgs", "conjugate-gradient", "steepest", "newton", "proximal", "ips", "gis", "ipf"]
    | PartialEM
    | Literal["em", "cutting-plane", "frank-wolfe", "perceptron"]
    | None
)


@dataclass(frozen=True, slots=True, eq=False)
class Climb:
    """An objective and a prior of its weights."""

    objective: Objective
    penalty: Penalty

    def smooth(self, weights: Floats) -> tuple[float, Floats]:
        """All but the part of the prior that has kinks, and its gradient."""
        value, gradient = self.objective.at(weights)
        more, steeper = self.penalty.smooth(weights)
        return value + more, gradient + steeper

    def init(self, weights: Floats) -> AscentState:
        """The state before the first step."""
        return init_ascent(self.smooth, weights, self.penalty)

    def ends(self, tolerance: float) -> Callable[[AscentState], str]:
        """Why a state is the last: the gradient, kinks minded, is at most the tolerance times the rows everywhere."""
        enough = tolerance * max(self.objective.total, 1.0)

        def ended(state: AscentState) -> str:
            if np.isfinite(state.value) and np.abs(state.gradient).max(initial=0.0) <= enough:
                return CONVERGED
            return "stuck" if state.is_stuck else ""

        return ended


def climb(climbed: Climb, optimizer: OptimizerLike, start: Floats | Run[AscentState], stops: Stops) -> Run[AscentState]:
    """Climb from a start, or go on with a run, until the gradient vanishes or a limit is met."""
    if isinstance(climbed.objective, SteeredObjective):
        return climbed.objective.run(climbed.penalty, optimizer, start, stops)
    begin = _taken_up(climbed, start) if isinstance(start, Run) else Run(climbed.init(start))
    if not np.isfinite(begin.state.value):
        raise InvalidArgument(
            "The objective is not finite at the start: a row of the data has a combination of states that the start "
            "rules out, or the weights are too large."
        )
    step = _step_of(climbed, optimizer)
    return iterate(step, begin, stops, ends=climbed.ends(stops.tolerance), objective=attrgetter("value"))


def _taken_up(climbed: Climb, run: Run[AscentState]) -> Run[AscentState]:
    """A run to go on with: as it is where it climbed the same, else from its weights, with nothing remembered."""
    point = getattr(run.state, "point", None)
    size = climbed.objective.design.num_weights
    if not isinstance(point, np.ndarray) or point.shape != (size,):
        raise InvalidArgument(f"resume= takes the run of an earlier fit of the same {size} weights: fit.run.")
    fresh = climbed.init(point)
    is_same = abs(fresh.value - run.state.value) <= 1e-9 * max(1.0, abs(fresh.value))
    return run if is_same else Run(fresh)


_OPTIMIZERS = ("l-bfgs", "conjugate-gradient", "steepest", "newton", "proximal", "em", "ipf", "ips", "gis")


def _step_of(climbed: Climb, optimizer: OptimizerLike) -> Callable[[AscentState], AscentState]:
    penalty = climbed.penalty
    if optimizer == "em" or isinstance(optimizer, PartialEM):
        em = PartialEM() if optimizer == "em" else optimizer
        return lambda state: em.step(climbed, state)
    if optimizer == "proximal" or (optimizer is None and penalty.group_rates.any()):
        return lambda state: _proximal_step(climbed, state)
    if not penalty.is_smooth:
        if optimizer is not None and not isinstance(optimizer, OrthantWise):
            raise NotSupported(
                f"optimizer={optimizer!r} needs a gradient everywhere, which a Laplace or group prior has not. Leave "
                'optimizer= out, or take "proximal".'
            )
        owl = optimizer or OrthantWise(penalty)
        return lambda state: ascent_step(climbed.smooth, state, owl)
    if optimizer == "newton":
        return lambda state: _newton_step(climbed, state)
    if optimizer in ("ips", "gis"):
        return Scaling.of(climbed, optimizer).step
    if isinstance(optimizer, str) and optimizer not in _OPTIMIZERS:
        raise InvalidArgument(f"{optimizer!r} is no optimizer.{suggestion(optimizer, _OPTIMIZERS)}")
    method = read_ascent(optimizer or "l-bfgs")  # type: ignore[arg-type]
    return lambda state: ascent_step(climbed.smooth, state, method)


def _next(climbed: Climb, state: AscentState, point: Floats, value: float, gradient: Floats) -> AscentState:
    """The state at a point where all but the kinks has this value and gradient."""
    whole, steepest = value + climbed.penalty.sharp(point), climbed.penalty.steepest(point, gradient)
    kept = (point - state.point, state.value, state.gradient, gradient, state.pairs)
    return AscentState(state.num_steps + 1, point, whole, steepest, *kept, not np.isfinite(whole))


def _proximal_step(climbed: Climb, state: AscentState) -> AscentState:
    """One step of proximal gradient ascent with momentum, restarted where that leads down (Beck & Teboulle 2009).

    `pairs` hold the last point with the length of the step and the momentum.
    """
    before, length, momentum = state.point, 1.0 / max(float(np.linalg.norm(state.smooth_gradient)), 1e-12), 1.0
    if state.pairs:
        before, lengths, momentum = state.pairs[0]
        length = 1.25 * float(lengths[0])
    grown = (1 + math.sqrt(1 + 4 * momentum**2)) / 2
    ahead = state.point + (momentum - 1) / grown * (state.point - before)
    sharp = climbed.penalty.sharp(state.point)
    for begin in (ahead, state.point):
        is_here = begin is state.point or np.array_equal(begin, state.point)
        value, gradient = (state.value - sharp, state.smooth_gradient) if is_here else climbed.smooth(begin)
        moved = _backtracked(climbed, begin, gradient, length) if np.isfinite(value) else None
        if moved is None:
            continue
        after = _next(climbed, state, moved.point, moved.value, moved.gradient)
        if after.value >= state.value - 100 * score_noise(state.value):
            kept = ((state.point, np.array([moved.length]), 1.0 if is_here else grown),)
            return after._replace(pairs=kept)
        length = moved.length
    return state._replace(is_stuck=True)


class _Moved(NamedTuple):
    point: Floats
    value: float
    gradient: Floats
    length: float


def _backtracked(climbed: Climb, begin: Floats, gradient: Floats, length: float) -> _Moved | None:
    """The proximal point for the first of length, length/2, ... along which the slope falls no faster than 1/length.

    Slopes tell what values no longer do, near the optimum.
    """
    for _ in range(60):
        point = climbed.penalty.shrunk(begin + length * gradient, length)
        move = point - begin
        found = climbed.smooth(point)
        if float((gradient - found[1]) @ move) <= float(move @ move) / length:
            return _Moved(point, *found, length)
        length /= 2
    return None


def _newton_step(climbed: Climb, state: AscentState) -> AscentState:
    """One Newton step on the space of distributions: directions that change nothing are left out by a pseudo-inverse.

    The step is halved until the value rises.
    """
    curvature = information_matrix(climbed.objective, state.point) + np.diag(climbed.penalty.curvature(state.point))
    direction = np.linalg.pinv(curvature, rcond=1e-10, hermitian=True) @ state.gradient
    for power in range(40):
        point = state.point + 0.5**power * direction
        value, gradient = climbed.smooth(point)
        if value > state.value:
            return _next(climbed, state, point, value, gradient)
    return state._replace(is_stuck=True)


def information_matrix(objective: Objective, weights: Floats) -> Floats:
    """Minus the Hessian of the objective: M Cov[f; f] for the likelihood of complete data, differences otherwise."""
    if isinstance(objective, SteeredObjective):
        raise NotSupported("This objective has no curvature to tell of: it has kinks, or is told by draws.")
    size = weights.size
    hessian = np.zeros((size, size))
    trees = [(factor, part) for factor, part in objective.parts if isinstance(part, TreePartition)]
    if len(trees) == len(objective.parts):
        logs = objective.design.logs(weights)
        for factor, part in trees:
            hessian += factor * part.covariance(logs)
        return -hessian
    for place in range(size):
        step = 1e-5 * max(1.0, abs(weights[place]))
        move = np.zeros(size)
        move[place] = step
        hessian[place] = (objective.at(weights + move)[1] - objective.at(weights - move)[1]) / (2 * step)
    return -(hessian + hessian.T) / 2


class Scaling(NamedTuple):
    """Iterative scaling: θ_k ← θ_k + log(E_D[f_k] / E_θ[f_k]) / C, one weight after the other (IPS), or all (GIS)."""

    climbed: Climb
    means: Floats  # Σ f over the data
    bound: float  # C: for IPS the largest f, for GIS the largest Σ_k f_k
    is_joint: bool

    @classmethod
    def of(cls, climbed: Climb, name: str) -> Scaling:
        """Refuse features that are negative, and priors."""
        objective, design = climbed.objective, climbed.objective.design
        if not climbed.penalty.is_none or len(objective.parts) != 1 or objective.is_own:
            raise NotSupported(f"optimizer={name!r} is for the likelihood of complete data without a prior.")
        if design.matrix.nnz and design.matrix.data.min() < 0:
            place = int(design.matrix.tocoo().col[int(np.argmin(design.matrix.tocoo().data))])
            raise NotSupported(f"optimizer={name!r} needs features that are not negative; {design.names[place]!r} is.")
        is_joint = name == "gis"
        return cls(climbed, objective.linear, _largest_sum(design) if is_joint else 1.0, is_joint)

    def step(self, state: AscentState) -> AscentState:
        """One sweep over all weights."""
        design, point = self.climbed.objective.design, state.point.copy()
        if self.is_joint:
            point += self._moves(state.gradient) / self.bound
            return _next(self.climbed, state, point, *self.climbed.smooth(point))
        value, gradient = state.value, state.gradient
        tops = _largest_sums(design)
        for weight in range(design.num_weights):
            point = point.copy()
            point[weight] += self._moves(gradient)[weight] / max(tops[weight], 1e-300)
            value, gradient = self.climbed.smooth(point)
        return _next(self.climbed, state, point, value, gradient)

    def _moves(self, gradient: Floats) -> Floats:
        expected = self.means - gradient
        with np.errstate(divide="ignore", invalid="ignore"):
            moves = np.log(self.means / expected)
        return np.where(np.isfinite(moves), moves, 0.0)


def _largest_sums(design: Design) -> Floats:
    """For each weight an upper bound on Σ over its places of f."""
    per_scope = _scope_peaks(design)
    return np.asarray(per_scope.sum(axis=0)).ravel()


def _largest_sum(design: Design) -> float:
    """An upper bound on Σ_k f_k over all assignments: of each table the entry with the largest sum."""
    sums = np.asarray(design.matrix.sum(axis=1)).ravel()
    return float(np.maximum.reduceat(sums, design.starts[:-1]).sum())


def _scope_peaks(design: Design) -> Floats:
    from scipy.sparse import coo_array

    coo = design.matrix.tocoo()
    scope = np.searchsorted(design.starts, coo.row, side="right") - 1
    keys = scope * max(1, design.num_weights) + coo.col
    order = np.argsort(keys, kind="stable")
    found, first = np.unique(keys[order], return_index=True)
    peaks = np.maximum.reduceat(coo.data[order], first) if first.size else coo.data
    shape = (len(design.scopes), design.num_weights)
    return coo_array((peaks, (found // shape[1], found % shape[1])), shape=shape)  # type: ignore[return-value]


def settle_infinite(design: Design, counts: Floats, penalty: Penalty) -> tuple[Design, dict[str, float]]:
    """Weights without a prior that no finite number is best for: features that have their extreme in every row.

    Their limit is reached by ruling out all other values of the feature, so that what is left has a finite optimum.
    Returns the design without those entries, and name -> inf or -inf.
    """
    is_free = (penalty.precisions == 0) & (penalty.tails == 0) & (penalty.rates == 0)
    is_free &= penalty.group_rates[penalty.groups] == 0 if penalty.groups.size else is_free
    infinite: dict[str, float] = {}
    while True:
        found, ruled_out = _extremes(design, counts, is_free)
        found = {name: sign for name, sign in found.items() if name not in infinite}
        if not found:
            return design, infinite
        infinite |= found
        design = design.without(ruled_out)


def _extremes(design: Design, counts: Floats, is_free: Flags) -> tuple[dict[str, float], Flags]:
    """Which free weights have features at their extreme in all rows of all of their places, and what that rules out."""
    ruled_out = np.zeros(design.num_entries, dtype=bool)
    found: dict[str, float] = {}
    columns, values = design.matrix.tocsc(), np.zeros(design.num_entries)
    owner = np.repeat(np.arange(len(design.scopes)), np.diff(design.starts))
    for sign in (1.0, -1.0):
        for weight in np.flatnonzero(is_free & _is_at_top(design, counts, sign)):
            first, last = columns.indptr[weight], columns.indptr[weight + 1]
            entries = columns.indices[first:last]
            values[entries] = sign * columns.data[first:last]
            below = [_below(design, values, scope) for scope in np.unique(owner[entries])]
            values[entries] = 0.0
            if sum(part.size for part in below):
                found[design.names[weight]] = sign * np.inf
                ruled_out[np.concatenate(below)] = True
    return found, ruled_out


def _below(design: Design, values: Floats, scope: int) -> Ints:
    """The entries of a table, those ruled out before not counted, at which a feature is below its largest value."""
    entries = np.arange(design.starts[scope], design.starts[scope + 1])
    entries = entries[np.isfinite(design.base[entries])]
    return np.asarray(entries[values[entries] < values[entries].max(initial=-np.inf)])


def _is_at_top(design: Design, counts: Floats, sign: float) -> Flags:
    """Of each weight whether no row has its feature, times the sign, below the largest value, in any of its places."""
    live = np.isfinite(design.base)
    coo = design.matrix.tocoo()
    kept = live[coo.row]
    entries, weights, values = coo.row[kept], coo.col[kept], sign * coo.data[kept]
    scopes = np.searchsorted(design.starts, entries, side="right") - 1
    pairs, pair = np.unique(scopes * max(1, design.num_weights) + weights, return_inverse=True)
    owner = pairs // max(1, design.num_weights)
    num_live, rows = (np.add.reduceat(array, design.starts[:-1])[owner] for array in (live.astype(int), counts * live))
    has_zero = np.bincount(pair, minlength=pairs.size) < num_live  # entries at which the feature is zero are not listed
    top = np.where(has_zero, 0.0, -np.inf)
    np.maximum.at(top, pair, values)
    below = np.bincount(pair, counts[entries] * (values < top[pair]), minlength=pairs.size).astype(np.float64)
    below += np.where(has_zero & (top > 0), rows - np.bincount(pair, counts[entries], minlength=pairs.size), 0.0)
    total = np.bincount(pairs % max(1, design.num_weights), below, minlength=design.num_weights)
    return total <= WEIGHT_NOISE * max(1.0, float(counts.max(initial=0.0)))
