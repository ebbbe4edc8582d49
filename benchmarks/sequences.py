"""Models in time beside their peers, on the same numbers; CPU seconds of one thread, the least of several runs."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from importlib.util import find_spec
from typing import Any

import numpy as np

import plausible as pb
from benchmarks.report import table
from plausible.learn.sequences.baum_welch import HMMProblem
from plausible.learn.sequences.emission_learners import EmissionRules

NUM_STEPS = 100_000
NUM_SYMBOLS = 20


def run() -> str:
    """Hidden Markov models beside hmmlearn, where it is installed."""
    return table(["task", "states", "plausible s", "hmmlearn s", "times as fast"], hidden_markov_models())


def hidden_markov_models() -> list[list[object]]:
    """An EM iteration, smoothing, the best path and the likelihood, of numbers and of symbols; short sequences."""
    rows: list[list[object]] = []
    for num_states in (4, 16, 32):
        rows += _rows("numbers", num_states, [NUM_STEPS])
    for num_states in (4, 16, 32):
        rows += _rows("symbols", num_states, [NUM_STEPS])
    rows += _rows("numbers", 4, [10] * 10_000, "10,000 sequences of 10 ")
    rows += _rows("symbols", 4, [10] * 10_000, "10,000 sequences of 10 ")
    return rows


def _rows(kind: str, num_states: int, lengths: list[int], name: str = "") -> list[list[object]]:
    rng = np.random.default_rng(num_states)
    initial = rng.dirichlet(np.ones(num_states))
    transition = 0.9 * np.eye(num_states) + 0.1 * rng.dirichlet(np.ones(num_states), size=num_states)
    if kind == "numbers":
        emission: Any = pb.GaussianEmission(2.0 * np.arange(num_states), np.ones(num_states))
    else:
        emission = rng.dirichlet(np.ones(NUM_SYMBOLS), size=num_states)
    model = pb.HiddenMarkovModel(initial, transition, emission)
    values = model.sample(sum(lengths), seed=num_states)["observation"].to_numpy()
    ours, theirs = _ours(model, values, lengths), _theirs(model, values, lengths)
    return [
        [f"{name}{kind}: {task}", num_states, own, peer, None if peer is None else peer / own]
        for (task, own), peer in zip(ours.items(), theirs, strict=True)
    ]


def _ours(model: pb.HiddenMarkovModel, values: Any, lengths: list[int]) -> dict[str, float]:
    cuts = np.cumsum(lengths)[:-1]
    rows: Any = np.split(values, cuts) if len(lengths) > 1 else values
    sequences = model._read(rows, None, None, "refuse")
    problem = HMMProblem.of(model, sequences, EmissionRules(pb.learn.HMMPrior(), 1e-6))
    state = problem.init(model)
    return {
        "EM iteration": _cpu(lambda: problem.step(state)),
        "likelihood": _cpu(lambda: model.log_likelihood(rows)),
        "smoothing": _cpu(lambda: model.smooth(rows)),
        "best path": _cpu(lambda: model.mpe(rows)),
    }


def _theirs(model: pb.HiddenMarkovModel, values: Any, lengths: list[int]) -> list[float | None]:
    if not find_spec("hmmlearn"):
        return [None] * 4
    from hmmlearn import hmm

    options = {"n_components": model.num_states, "implementation": "scaling", "init_params": "", "n_iter": 1}
    is_number = isinstance(model.emission, pb.GaussianEmission)
    peer = hmm.GaussianHMM(covariance_type="diag", **options) if is_number else hmm.CategoricalHMM(**options)
    X = np.asarray(values, dtype=float if is_number else int)[:, None]

    def set_up() -> None:
        peer.startprob_, peer.transmat_ = model.initial.copy(), model.transition.copy()
        if is_number:
            peer.means_, peer.covars_ = model.emission.means.copy(), model.emission.covariances[:, 0].copy()
        else:
            peer.emissionprob_, peer.n_features = model.emission.table.copy(), NUM_SYMBOLS

    def fit() -> None:
        set_up()
        peer.fit(X, lengths)

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        found = [_cpu(fit)]
        set_up()
        tasks = (peer.score, peer.predict_proba, peer.decode)
        return [*found, *(_cpu(lambda task=task: task(X, lengths)) for task in tasks)]


def _cpu(task: Callable[[], object], repeats: int = 3) -> float:
    task()
    seconds = []
    for _ in range(repeats):
        begin = time.process_time()
        task()
        seconds.append(time.process_time() - begin)
    return min(seconds)
