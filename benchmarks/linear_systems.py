"""Linear dynamical systems beside peers, on the same numbers; CPU seconds of one thread, the least of some runs."""

from __future__ import annotations

from importlib.util import find_spec
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import table
from benchmarks.sequences import _cpu as cpu_seconds

NUM_STATES, NUM_OBSERVED = 4, 2


def run() -> str:
    """A long sequence beside statsmodels, many short ones beside simdkalman, where these are installed."""
    return table(["task", "peer", "plausible s", "peer s", "times as fast"], [*_long(100_000), *_short(200, 100)])


def _model() -> pb.LinearDynamicalSystem:
    rng = np.random.default_rng(0)
    transition = 0.95 * np.linalg.qr(rng.normal(size=(NUM_STATES, NUM_STATES)))[0]
    observation, known = rng.normal(size=(NUM_OBSERVED, NUM_STATES)), np.zeros(NUM_STATES)
    return pb.LinearDynamicalSystem(transition, observation, [0.1] * 4, [1.0] * 2, known, [1.0] * 4)


def _long(num_steps: int) -> list[list[object]]:
    model = _model()
    rows = model.sample(num_steps, seed=1)[list(model.observations)]
    peer = _statsmodels(model, rows.to_numpy()) if find_spec("statsmodels") else None
    name = f"{num_steps:,} rows: "
    return [
        _line(f"{name}smooth", "statsmodels", lambda: model.smooth(rows), peer and peer.smooth),
        _line(f"{name}likelihood", "statsmodels", lambda: model.log_likelihood(rows), peer and peer.loglike),
    ]


def _short(num_sequences: int, length: int) -> list[list[object]]:
    model = _model()
    rows = model.sample(length, seed=1, sequences=num_sequences).drop(columns=list(model.states))
    values = rows[list(model.observations)].to_numpy().reshape(num_sequences, length, NUM_OBSERVED)
    theirs = _simdkalman(model, values) if find_spec("simdkalman") else None
    task = f"{num_sequences} sequences of {length}: smooth"
    return [_line(task, "simdkalman", lambda: model.smooth(rows, sequence="sequence", time="time"), theirs)]


def _line(task: str, peer: str, ours: Any, theirs: Any) -> list[object]:
    own, other = cpu_seconds(ours), cpu_seconds(theirs, 2) if theirs else None
    return [task, peer, own, other, None if other is None else other / own]


def _statsmodels(model: pb.LinearDynamicalSystem, values: Any) -> Any:
    from statsmodels.tsa.statespace.kalman_smoother import KalmanSmoother

    peer = KalmanSmoother(k_endog=NUM_OBSERVED, k_states=NUM_STATES)
    peer.bind(np.ascontiguousarray(values))
    peer["design"], peer["obs_cov"] = model.observation, model.observation_noise
    peer["transition"], peer["selection"] = model.transition, np.eye(NUM_STATES)
    peer["state_cov"] = model.transition_noise
    peer.initialize_known(model.initial_mean.copy(), model.initial_covariance.copy())
    return peer


def _simdkalman(model: pb.LinearDynamicalSystem, values: Any) -> Any:
    from simdkalman import KalmanFilter

    peer = KalmanFilter(model.transition, model.transition_noise, model.observation, model.observation_noise)
    start = {"initial_value": model.initial_mean, "initial_covariance": model.initial_covariance}
    return lambda: peer.smooth(values, **start)
