"""Linear dynamical systems that are known by name: levels, trends, movement in the plane."""

from __future__ import annotations

import numpy as np

from plausible.base.options import check_number
from plausible.models.sequences.linear_dynamical_system import LinearDynamicalSystem


def local_level(
    level_noise: float, observation_noise: float, *, state: str = "level", observation: str = "y"
) -> LinearDynamicalSystem:
    """A level that wanders, observed with noise: the simplest structural time series model (Harvey 1989).

    Parameters
    ----------
    level_noise, observation_noise
        The variances of a step of the level and of an observation. Nothing is known of the first level.
    state, observation
        What the level and the column are called.

    Examples
    --------
    >>> nile = local_level(level_noise=1469.1, observation_noise=15099.0, observation="flow")
    >>> nile.filter([1120.0, 1160.0, 963.0]).mean.round(1).ravel().tolist()
    [1120.0, 1140.9, 1072.8]
    """
    check_number("level_noise", level_noise, least=0)
    check_number("observation_noise", observation_noise, least=0)
    return LinearDynamicalSystem(1.0, 1.0, level_noise, observation_noise, states=[state], observations=[observation])


def local_linear_trend(
    level_noise: float, slope_noise: float, observation_noise: float, *, observation: str = "y"
) -> LinearDynamicalSystem:
    """A level that goes on by a slope, both of which wander; nothing is known of their start.

    Parameters
    ----------
    level_noise, slope_noise, observation_noise
        The variances of a step of the level and of the slope, and of an observation.
    observation
        What the column is called.

    Examples
    --------
    >>> line = local_linear_trend(level_noise=0.0, slope_noise=0.0, observation_noise=1.0)
    >>> print(line.forecast([1.0, 2.0, 3.0], steps=2)["y"]["mean"].round(6).tolist())
    [4.0, 5.0]
    """
    return LinearDynamicalSystem(
        [[1, 1], [0, 1]],
        [[1, 0]],
        [level_noise, slope_noise],
        observation_noise,
        states=["level", "slope"],
        observations=[observation],
    )


def constant_velocity(
    acceleration_noise: float, observation_noise: float, *, step: float = 1.0
) -> LinearDynamicalSystem:
    """A body in the plane that keeps its velocity but for random accelerations, of which positions are measured.

    Parameters
    ----------
    acceleration_noise
        The variance of the velocity's change in a unit of time (white acceleration, Bar-Shalom et al. 2001).
    observation_noise
        The variance of each measured coordinate.
    step
        The time from row to row.

    Examples
    --------
    >>> track = constant_velocity(acceleration_noise=0.1, observation_noise=1.0)
    >>> track.states, track.observations
    (('x', 'y', 'x speed', 'y speed'), ('measured x', 'measured y'))
    >>> found = track.filter({"measured x": [0, 1, 2], "measured y": [0, 2, 4]})
    >>> found.mean[-1].round(6).tolist()
    [2.0, 4.0, 1.0, 2.0]
    """
    check_number("step", step, above=0)
    once, plane = np.array([[1.0, step], [0.0, 1.0]]), np.eye(2)
    noise = acceleration_noise * np.array([[step**3 / 3, step**2 / 2], [step**2 / 2, step]])
    return LinearDynamicalSystem(
        np.kron(once, plane),
        np.kron([[1.0, 0.0]], plane),
        np.kron(noise, plane),
        [observation_noise, observation_noise],
        states=["x", "y", "x speed", "y speed"],
        observations=["measured x", "measured y"],
    )
