"""EM for mixtures beside scikit-learn's GaussianMixture and KMeans: equal starts, equal numbers of steps."""

from __future__ import annotations

import time
import warnings
from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray
from sklearn.cluster import KMeans
from sklearn.exceptions import ConvergenceWarning
from sklearn.mixture import GaussianMixture

from benchmarks.report import table
from plausible.data.table import Table
from plausible.learn.mixtures.em import MixtureProblem, MixtureState, start, step
from plausible.learn.mixtures.model import MixtureKind, MixtureParameters, MixtureSpace

#: Rows, numbers, clusters.
SIZES = ((10_000, 5, 5), (20_000, 10, 10))
KINDS = {"full": "full", "tied": "tied", "diagonal": "diag", "spherical": "spherical"}
STEPS = 10


def run() -> str:
    """Seconds of ten steps of EM each, and of ten steps with a tenth of the cells missing, which scikit-learn can't."""
    warnings.simplefilter("ignore", ConvergenceWarning)
    header = ["covariance", "rows", "numbers", "clusters", "ours s", "scikit-learn s", "ratio", "10% missing s"]
    rows = [[kind, *size, *_seconds(kind, *size)] for kind in (*KINDS, "k-means") for size in SIZES]
    return table(header, rows)


def _seconds(covariance: str, num_rows: int, num_numbers: int, num_clusters: int) -> list[float]:
    rng = np.random.default_rng(0)
    centres = rng.normal(scale=1.5, size=(num_clusters, num_numbers))
    X = rng.normal(size=(num_rows, num_numbers)) + centres[rng.integers(num_clusters, size=num_rows)]
    problem, first = _start(X, covariance, num_clusters)
    ours = _best(lambda: _run(problem, first))
    theirs = _best(lambda: _peer(X, problem, first.parameters, covariance))
    holes = np.where(rng.random(X.shape) < 0.1, np.nan, X)
    problem, first = _start(holes, covariance, num_clusters)
    return [ours, theirs, theirs / ours, _best(lambda: _run(problem, first), 1)]


def _start(X: NDArray[Any], covariance: str, num_clusters: int) -> tuple[MixtureProblem, MixtureState]:
    is_kmeans = covariance == "k-means"
    kind = MixtureKind("unit" if is_kmeans else covariance, is_hard=is_kmeans, has_equal_weights=is_kmeans)
    data = Table.read(X)
    space = MixtureSpace.of(data, kind.covariance)
    rows = space.encode(data)
    first = start(rows, space, kind, num_clusters, "k-means++", np.random.default_rng(1))
    return MixtureProblem(rows, space, kind), MixtureState(first)


def _run(problem: MixtureProblem, state: MixtureState) -> None:
    for _ in range(STEPS):
        state = step(problem, state)


def _peer(X: NDArray[Any], problem: MixtureProblem, first: MixtureParameters, covariance: str) -> None:
    scale = problem.space.scale
    means = problem.space.location + scale * first.means
    if covariance == "k-means":
        KMeans(len(means), init=means, n_init=1, max_iter=STEPS, tol=0, algorithm="lloyd").fit(X)
        return
    options = {
        "full": lambda: np.linalg.inv(first.covariances * np.outer(scale, scale)),
        "tied": lambda: np.linalg.inv(first.covariances[0] * np.outer(scale, scale)),
        "diagonal": lambda: 1 / (first.covariances * scale**2),
        "spherical": lambda: 1 / (first.covariances[:, 0] * scale[0] ** 2),
    }
    GaussianMixture(
        len(means),
        covariance_type=KINDS[covariance],
        tol=0,
        max_iter=STEPS,
        weights_init=first.weights,
        means_init=means,
        precisions_init=options[covariance](),
    ).fit(X)


def _best(work: Callable[[], None], times: int = 2) -> float:
    seconds = []
    for _ in range(times):
        begin = time.process_time()
        work()
        seconds.append(time.process_time() - begin)
    return min(seconds)


if __name__ == "__main__":
    print(run())
