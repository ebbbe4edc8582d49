"""Where EM starts: shares of rows, the parameters that they give, and the runs from several of them."""

from __future__ import annotations

import warnings
from typing import Any

import numpy as np

from plausible.base.arrays import Floats
from plausible.base.options import check_count
from plausible.base.seeds import generator_of
from plausible.errors import InvalidArgument
from plausible.learn.incomplete.starts_and_stops import SymmetricStart
from plausible.learn.mixtures.em import MixtureProblem, MixtureState, expect, maximize, mixture_run
from plausible.learn.mixtures.model import MixtureKind, MixtureParameters, MixtureRows, MixtureSpace
from plausible.search.run import Run, Stops, best_run

STARTS = ("k-means++", "random")  # How shares are drawn


def best_mixture(
    problem: MixtureProblem, num_clusters: int, shares: str | Floats, restarts: int, seed: int, stops: Stops
) -> tuple[Run[MixtureState], ...]:
    """The runs, that with the greatest objective first; one run where shares are given."""
    check_count("restarts", restarts)
    generators = generator_of(seed).spawn(1 + restarts if isinstance(shares, str) else 1)
    starts = (
        MixtureState(start(problem.rows, problem.space, problem.kind, num_clusters, shares, rng), restart=number)
        for number, rng in enumerate(generators)
    )
    return best_run(lambda state, clock: mixture_run(problem, state, stops, clock), starts, stops.time_limit)


def start(
    rows: MixtureRows,
    space: MixtureSpace,
    kind: MixtureKind,
    num_clusters: int,
    shares: str | Floats,
    rng: np.random.Generator,
) -> MixtureParameters:
    """First parameters: the M-step for shares that are drawn, or given as (K, rows).

    "k-means++" draws seeds one after the other, each with probability proportional to its squared distance from the
    seeds before (Arthur & Vassilvitskii 2007), and gives each row to the nearest; "random" draws the shares of each
    row from the flat Dirichlet distribution. Missing numbers stand at their mean there.
    """
    drawn = _draw(rows, num_clusters, shares, rng) if isinstance(shares, str) else shares
    num_numbers = rows.numbers.shape[1]
    unit = np.eye(num_numbers) if kind.has_matrices else np.ones(num_numbers)
    tables = np.repeat(1 / space.num_states, space.num_states)
    flat = MixtureParameters(np.ones(1), tables[None], np.zeros((1, num_numbers)), unit[None])
    known = maximize(expect(rows, flat, kind, np.ones((1, len(rows)))), flat, kind, space)
    weights = np.full(num_clusters, 1 / num_clusters)
    pooled = MixtureParameters(weights, *(np.repeat(part, num_clusters, axis=0) for part in known[1:]))
    parameters = maximize(expect(rows, pooled, kind, drawn), pooled, kind, space)
    has_rows = drawn.sum(axis=1) > 0
    pairs = [pair for pair in equal_clusters(parameters) if has_rows[list(pair)].all()]
    if pairs and len(rows) > 1 and not isinstance(shares, str):
        first, second = pairs[0]
        warnings.warn(
            f"Clusters {first} and {second} start equal, and EM keeps them so: give other responsibilities, or "
            "start='k-means++'.",
            SymmetricStart,
            stacklevel=4,
        )
    return parameters


def equal_clusters(parameters: MixtureParameters, tolerance: float = 1e-9) -> list[tuple[int, int]]:
    """Pairs of clusters that weigh something and whose features have the same distributions.

    Where P(x | k) does not depend on k, the shares are the weights for every row, and the next parameters have the
    same symmetry: such a start leads to independent features (K&F exercise 19.11). A fitted mixture with equal
    clusters, up to the tolerance in any parameter, has more of them than it uses.


    >>> alike = MixtureParameters(np.array([0.6, 0.4]), np.array([[0.3, 0.7]] * 2), np.zeros((2, 0)), np.zeros((2, 0)))
    >>> equal_clusters(alike)
    [(0, 1)]
    """
    flat = np.hstack([part.reshape(len(part), -1) for part in parameters[1:]])
    used = parameters.weights > 0
    return [
        (first, second)
        for first in range(len(flat))
        for second in range(first + 1, len(flat))
        if used[first] and used[second] and np.abs(flat[first] - flat[second]).max(initial=0.0) <= tolerance
    ]


def given_shares(start: Any, num_rows: int, num_clusters: int) -> Floats:
    """Responsibilities (rows, K), or a cluster for each row, as shares (K, rows)."""
    given = np.asarray(start)
    if given.shape == (num_rows,) and given.dtype.kind in "iu":
        if given.size and not (given.min() >= 0 and given.max() < num_clusters):
            raise InvalidArgument(
                f"start= names cluster {given.min()} to {given.max()}; they go from 0 to {num_clusters - 1}."
            )
        return np.asarray(np.arange(num_clusters)[:, None] == given, dtype=np.float64)
    if given.shape != (num_rows, num_clusters) or given.dtype.kind not in "fiu":
        raise InvalidArgument(
            f"start= is one of {', '.join(STARTS)}, a cluster for each of {num_rows} rows, or a matrix of "
            f"{num_rows} rows and {num_clusters} columns; not of the shape {given.shape}."
        )
    if not (np.isfinite(given).all() and (given >= 0).all() and np.allclose(given.sum(axis=1), 1)):
        raise InvalidArgument("start= has rows that are no distributions: numbers from 0 to 1 whose sum is 1.")
    return np.ascontiguousarray(given.T, dtype=np.float64)


def _draw(rows: MixtureRows, num_clusters: int, method: str, rng: np.random.Generator) -> Floats:
    if method == "random":
        return rng.dirichlet(np.ones(num_clusters), size=len(rows)).T.copy()
    if method != "k-means++":
        raise InvalidArgument(f"start= is one of {', '.join(STARTS)}, or responsibilities; not {method!r}.")
    points = np.hstack([rows.numbers, rows.indicators / np.sqrt(2)])
    nearest, owner = np.full(len(rows), np.inf), np.zeros(len(rows), dtype=np.intp)
    for cluster in range(num_clusters):
        chances = rows.weights * (nearest if cluster else 1.0)
        if not chances.sum() > 0:
            break  # each row is a seed already
        seed = int(rng.choice(len(rows), p=chances / chances.sum()))
        distance = ((points - points[seed]) ** 2).sum(axis=1)
        owner[distance < nearest] = cluster
        nearest = np.minimum(nearest, distance)
    return np.asarray(np.arange(num_clusters)[:, None] == owner, dtype=np.float64)
