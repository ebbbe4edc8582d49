"""Climbing an objective with its prior: which optimiser, from where, in which units."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace
from operator import attrgetter
from typing import Any, Literal, TypeAlias

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.errors import InvalidArgument, NotSupported, suggestion
from plausible.learn.undirected.objectives import Objective, SteeredObjective
from plausible.learn.undirected.other_steps import Scaling, newton_step
from plausible.learn.undirected.penalized import Climb
from plausible.learn.undirected.proximal import ProximalAscent
from plausible.search.ascent import (
    Ascent,
    AscentState,
    OrthantWise,
    SharpPart,
    SteepestAscent,
    ascent_step,
    read_ascent,
)
from plausible.search.run import Run, Stops, iterate


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

    def step(self, climbed: Climb[Objective], state: AscentState) -> AscentState:
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
        return climbed.moved(state, point, *climbed.smooth(point))


#: A way to climb, or its name; None for the one that suits the prior.
OptimizerLike: TypeAlias = (
    Ascent
    | Literal["l-bfgs", "conjugate-gradient", "steepest", "newton", "proximal", "ips", "gis", "ipf"]
    | PartialEM
    | Literal["em", "cutting-plane", "frank-wolfe", "perceptron"]
    | None
)


#: Where a climb begins: weights, or the run, or the last state that `progress` was told, of an earlier one.
Begin: TypeAlias = Floats | Run[Any] | AscentState


def climb(climbed: Climb[Any], optimizer: OptimizerLike, start: Begin, stops: Stops) -> Run[Any]:
    """Climb from a start, or go on with a run, until the gradient vanishes or a limit is met."""
    if not isinstance(start, np.ndarray):
        start = resumed(start, climbed.penalty.groups.size)
    if isinstance(climbed.objective, SteeredObjective):
        return climbed.objective.run(climbed.penalty, optimizer, start, stops)
    is_proximal = optimizer == "proximal" or (optimizer is None and climbed.penalty.group_rates.any())
    proximal = ProximalAscent.of(climbed) if is_proximal else None
    fresh = (proximal or climbed).init(start.state.point if isinstance(start, Run) else start)
    begin = _taken_up(fresh, start) if isinstance(start, Run) else Run(fresh)
    if advice := getattr(climbed.objective, "advice", ""):
        raise InvalidArgument(f"Nothing tells which way is up from the start. {advice}")
    if not np.isfinite(begin.state.value):
        raise InvalidArgument(
            "The objective is not finite at the start: a row of the data has a combination of states that the start "
            "rules out, or the weights are too large."
        )
    step = proximal.step if proximal else _step_of(climbed, optimizer)
    return iterate(step, begin, stops, ends=climbed.ends(stops.tolerance), objective=attrgetter("value"))


def resumed(resume: Any, size: int) -> Run[Any]:
    """What `resume=` was given, as a run."""
    state = resume.state if isinstance(resume, Run) else resume
    point = getattr(state, "point", None)
    if not isinstance(point, np.ndarray) or point.shape != (size,):
        raise InvalidArgument(
            f"resume= takes the run of an earlier fit of the same {size} weights, fit.run, or the last state that "
            "progress= was told."
        )
    return resume if isinstance(resume, Run) else Run(state, state.num_steps)


def _taken_up(fresh: Any, run: Run[Any]) -> Run[Any]:
    """A run to go on with: as it is where it climbed the same that way, else from its weights, nothing remembered."""
    is_same = type(fresh) is type(run.state)
    is_same = is_same and abs(fresh.value - run.state.value) <= 1e-9 * max(1.0, abs(fresh.value))
    return run if is_same else Run(fresh)


_OPTIMIZERS = ("l-bfgs", "conjugate-gradient", "steepest", "newton", "proximal", "em", "ipf", "ips", "gis")


def _step_of(climbed: Climb[Any], optimizer: OptimizerLike) -> Callable[[AscentState], AscentState]:
    penalty = climbed.penalty
    if optimizer == "em" or isinstance(optimizer, PartialEM):
        em = PartialEM() if optimizer == "em" else optimizer
        return lambda state: em.step(climbed, state)
    if not penalty.is_smooth:
        if optimizer is not None and not isinstance(optimizer, OrthantWise):
            raise NotSupported(
                f"optimizer={optimizer!r} needs a gradient everywhere, which a Laplace or group prior has not. Leave "
                'optimizer= out, or take "proximal".'
            )
        return _in_units(climbed, optimizer or OrthantWise(penalty))
    if optimizer == "newton":
        return lambda state: newton_step(climbed, state)
    if isinstance(optimizer, str) and optimizer in ("ips", "gis"):
        return Scaling.of(climbed, optimizer).step
    if optimizer == "ipf":
        raise NotSupported('optimizer="ipf" meets marginals that data have without inputs: it is for markov.')
    if not isinstance(optimizer, Ascent) and optimizer not in (None, *_OPTIMIZERS):
        raise InvalidArgument(f"{optimizer!r} is no optimizer.{suggestion(str(optimizer), _OPTIMIZERS)}")
    return _in_units(climbed, read_ascent(optimizer or "l-bfgs"))  # type: ignore[arg-type]


def _in_units(climbed: Climb[Any], method: Ascent) -> Callable[[AscentState], AscentState]:
    """Steps that go the same way whatever units features have: each weight in those of `Climb.units`.

    These are rounded to powers of two, so that nothing is lost on the way there and back.
    """
    units = 2.0 ** np.rint(np.log2(climbed.units))
    if (units == 1).all() or isinstance(method, SteepestAscent):
        return lambda state: ascent_step(climbed.smooth, state, method)
    if isinstance(method, OrthantWise):
        method = replace(method, sharp_part=_SharpInUnits(method.sharp_part, units))

    def smooth(point: Floats) -> tuple[float, Floats]:
        value, gradient = climbed.smooth(point / units)
        return value, gradient / units

    return lambda state: _converted(ascent_step(smooth, _converted(state, units), method), 1 / units)


def _converted(state: AscentState, units: Floats) -> AscentState:
    """A state of the same climb in which each weight counts so many times as much."""
    gradient = state.gradient / units
    is_first = not state.num_steps
    return state._replace(
        point=state.point * units,
        gradient=gradient,
        previous_value=state.value - 0.5 * float(np.linalg.norm(gradient)) if is_first else state.previous_value,
        direction=state.direction * units,
        previous_gradient=state.previous_gradient / units,
        smooth_gradient=state.smooth_gradient / units,
        pairs=tuple((moved * units, turned / units, product) for moved, turned, product in state.pairs),
    )


@dataclass(frozen=True, slots=True, eq=False)
class _SharpInUnits:
    """The sharp part of an objective as a function of weights times units."""

    part: SharpPart
    units: Floats

    def sharp(self, point: Floats) -> float:
        return self.part.sharp(point / self.units)

    def steepest(self, point: Floats, gradient: Floats) -> Floats:
        return self.part.steepest(point / self.units, gradient * self.units) / self.units
