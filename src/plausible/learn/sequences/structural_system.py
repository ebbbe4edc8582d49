"""Structural models in time: the few parameters that a system is built from, by maximum likelihood."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from typing import Any, ClassVar

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.method_names import keyword_hints
from plausible.base.options import check_number
from plausible.base.records import Result, record
from plausible.base.remedies import Argument
from plausible.data.sequences import SequencesLike
from plausible.errors import InvalidArgument
from plausible.models import LinearDynamicalSystem

#: Logarithms of parameters stay within these bounds.
_BOUND = 80.0
#: How far a parameter is moved, by its logarithm, to see whether the likelihood rises again beyond a plain.
_LADDER = (1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0)
#: Smaller changes of the log-likelihood are none.
_GAIN = 1e-6
#: Climbs are begun anew at most so many times.
_MOST_CLIMBS = 20


@record(eq=False)
class StructuralFit(Result):
    """A system whose parameters have the greatest likelihood; made by `learn.structural_system`."""

    _told: ClassVar[tuple[str, ...]] = (
        "parameters",
        "standard_errors",
        "log_likelihood",
        "converged",
        "undetermined",
    )

    model: LinearDynamicalSystem
    parameters: dict[str, float]
    standard_errors: dict[str, float]  # of the logarithms, from the curvature; NaN where it is none
    log_likelihood: float
    converged: bool  # whether the last climb came to its end, and no parameter leads to a higher place
    #: The parameters that the likelihood hardly depends on where they are, such as variances that are zero.
    undetermined: tuple[str, ...] = ()

    def __str__(self) -> str:
        told = ", ".join(f"{name} {value:.6g}" for name, value in self.parameters.items())
        lost = f"; undetermined: {', '.join(self.undetermined)}" if self.undetermined else ""
        return f"{told}; log-likelihood {self.log_likelihood:.6g}{lost}"


@keyword_hints
def structural_system(
    build: Callable[..., LinearDynamicalSystem],
    rows: SequencesLike,
    start: Mapping[str, float],
    *,
    sequence: str | None = None,
    time: str | None = None,
    gaps: str = "refuse",
) -> StructuralFit:
    """The parameters of greatest likelihood of a system that a function builds from them, such as its variances.

    L-BFGS on the logarithms of the parameters, which are positive. A parameter that tends to zero has a flat likelihood
    there, on which a climb ends wherever it is: so each parameter is then moved far up and down, and where that leads
    higher, the climb begins anew. Standard errors are those of the logarithms: about the relative errors.

    Parameters
    ----------
    build
        From parameters, given by name, to a system.
    rows
        One sequence or several.
    start
        Name -> value to start from, in the units of the rows.

    Examples
    --------
    >>> import plausible as pb
    >>> flow = [1120.0, 1160, 963, 1210, 1160, 1160, 813, 1230, 1370, 1140, 995, 935, 1110, 994, 1020, 960]
    >>> fit = structural_system(pb.models.local_level, flow, {"level_noise": 1e3, "observation_noise": 1e4})
    >>> round(fit.log_likelihood, 2)
    -97.53
    """
    for name, value in start.items():
        check_number(name, value, above=0)
    names, first = list(start), np.log([float(value) for value in start.values()])
    sequences = _built(build, start)._read(rows, sequence, time, gaps)

    def loss(logs: Floats) -> float:
        model = build(**dict(zip(names, np.exp(logs).tolist(), strict=True)))
        return -float(model._step_log_likelihoods(sequences).sum())

    best, is_settled = _climbed(loss, first)
    lost = [name for place, name in enumerate(names) if _is_flat(loss, best, place)]
    errors = dict(zip(names, _standard_errors(loss, best), strict=True)) | dict.fromkeys(lost, np.nan)
    parameters = dict(zip(names, np.exp(best).tolist(), strict=True))
    return StructuralFit(build(**parameters), parameters, errors, -loss(best), is_settled, tuple(lost))


def _built(build: Callable[..., LinearDynamicalSystem], start: Mapping[str, float]) -> LinearDynamicalSystem:
    """The system of the start; refused where the function does not take these names, or makes something else."""
    try:
        inspect.signature(build).bind(**start)
    except TypeError as error:
        raise InvalidArgument(Argument("start"), f" has {list(start)}, and the function: {error}.") from None
    model: Any = build(**start)
    if not isinstance(model, LinearDynamicalSystem):
        raise InvalidArgument(Argument("build"), f" makes a LinearDynamicalSystem, not {model!r}.")
    return model


def _climbed(loss: Callable[[Floats], float], start: Floats) -> tuple[Floats, bool]:
    """The best point found, and whether nothing leads away from it."""
    from scipy.optimize import minimize

    point = start
    for _ in range(_MOST_CLIMBS):
        found = minimize(loss, point, method="L-BFGS-B", jac="3-point", bounds=[(-_BOUND, _BOUND)] * len(point))
        higher = _beyond(loss, np.asarray(found.x), float(found.fun))
        if higher is None:
            return np.asarray(found.x), bool(found.success)
        point = higher
    return point, False


def _beyond(loss: Callable[[Floats], float], point: Floats, least: float) -> Floats | None:
    """The best place that is higher, one parameter moved far; none where there is none."""
    best = None
    for place in range(len(point)):
        for distance in (*_LADDER, *(-rung for rung in _LADDER)):
            moved = point.copy()
            moved[place] = np.clip(point[place] + distance, -_BOUND, _BOUND)
            there = loss(moved)
            if there < least - _GAIN:
                best, least = moved, there
    return best


def _is_flat(loss: Callable[[Floats], float], point: Floats, place: int) -> bool:
    """Whether a parameter may be less by half, and nothing changes."""
    moved = point.copy()
    moved[place] -= np.log(2.0)
    return abs(loss(moved) - loss(point)) < _GAIN


def _standard_errors(loss: Callable[[Floats], float], point: Floats, width: float = 1e-3) -> list[float]:
    """From the inverse of the curvature by differences."""
    size, steps = len(point), width * np.eye(len(point))
    curvature = np.empty((size, size))
    for i in range(size):
        for j in range(size):
            corners = [loss(point + a * steps[i] + b * steps[j]) for a, b in ((1, 1), (1, -1), (-1, 1), (-1, -1))]
            curvature[i, j] = (corners[0] - corners[1] - corners[2] + corners[3]) / (4 * width**2)
    with np.errstate(invalid="ignore"):
        variances = np.linalg.pinv((curvature + curvature.T) / 2).diagonal()
        return [float(error) for error in np.sqrt(np.where(variances > 0, variances, np.nan))]
