"""Filters and smoothers of switching linear systems: mixtures of Gaussians that branch, move, see rows and merge.

Loops run over steps only; all parts of a mixture are handled at once.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.base.tolerances import SMALLEST
from plausible.models.sequences.switching_engines import GPB2, IMM, Exact, RaoBlackwellised, SwitchingEngine

#: A direction in which states vary by less than this share of the largest variance is taken to vary by that much.
_FLAT = 1e-9


class Modes(NamedTuple):
    """The matrices of all modes; the first axis is the mode."""

    log_initial: Floats
    log_transition: Floats  # [mode, next mode]
    transition: Floats
    transition_noise: Floats
    observation: Floats
    observation_noise: Floats
    mean: Floats
    covariance: Floats


class Mixture(NamedTuple):
    """Weighted Gaussians, each of them in one mode."""

    logs: Floats  # of the weights
    modes: Ints
    parents: Ints  # the part of the step before that each one continues
    means: Floats
    covariances: Floats

    def take(self, places: Ints) -> Mixture:
        """Some of the parts."""
        return Mixture(
            self.logs[places], self.modes[places], self.parents[places], self.means[places], self.covariances[places]
        )


class Run(NamedTuple):
    """What a filter leaves of one sequence."""

    mixtures: list[Mixture]  # after each row
    log_densities: Floats  # log p(o_t | o_1 ... o_t-1), or what the engine has for it
    effective_sizes: Floats  # of particles, before they are drawn anew; NaN for other engines


# --- what happens to a mixture ---


def first(modes: Modes) -> Mixture:
    """The first step before its observation."""
    numbers = np.flatnonzero(np.isfinite(modes.log_initial))
    parents = np.zeros(len(numbers), dtype=np.int64)
    return Mixture(modes.log_initial[numbers], numbers, parents, modes.mean[numbers], modes.covariance[numbers])


def forked(modes: Modes, mixture: Mixture) -> Mixture:
    """Each part in each mode that may follow; states have yet to move."""
    logs = mixture.logs[:, None] + modes.log_transition[mixture.modes]
    parents, following = np.nonzero(np.isfinite(logs))
    return Mixture(logs[parents, following], following, parents, mixture.means[parents], mixture.covariances[parents])


def moved(modes: Modes, mixture: Mixture) -> Mixture:
    """The states one step later, each by the transition of its mode."""
    means, covariances = _moved(modes, mixture.modes, mixture.means, mixture.covariances)
    return mixture._replace(means=means, covariances=covariances)


def _moved(modes: Modes, numbers: Ints, means: Floats, covariances: Floats) -> tuple[Floats, Floats]:
    transition = modes.transition[numbers]
    after = transition @ covariances @ transition.swapaxes(1, 2) + modes.transition_noise[numbers]
    return _times(transition, means), _symmetric(after)


def seen(modes: Modes, mixture: Mixture, row: Floats) -> Mixture:
    """A mixture after a row, NaN where nothing was seen; weights are multiplied by the densities of the row."""
    there = np.flatnonzero(~np.isnan(row))
    if not len(there) or not len(mixture.logs):
        return mixture
    observation = modes.observation[mixture.modes][:, there]
    across = observation @ mixture.covariances
    spread = _symmetric(
        across @ observation.swapaxes(1, 2) + modes.observation_noise[mixture.modes][:, there[:, None], there]
    )
    surprise = row[there] - _times(observation, mixture.means)
    root = np.linalg.cholesky(spread)
    scaled = np.linalg.solve(root, np.concatenate([surprise[:, :, None], across], axis=2))
    whitened, shares = scaled[:, :, 0], scaled[:, :, 1:]
    log_determinants = np.log(np.diagonal(root, axis1=1, axis2=2)).sum(axis=1)
    logs = -log_determinants - 0.5 * ((whitened**2).sum(axis=1) + len(there) * np.log(2 * np.pi))
    return mixture._replace(
        logs=mixture.logs + logs,
        means=mixture.means + _times(shares.swapaxes(1, 2), whitened),
        covariances=_symmetric(mixture.covariances - shares.swapaxes(1, 2) @ shares),
    )


def normalised(mixture: Mixture) -> tuple[Mixture, float]:
    """Weights that sum to one, and the logarithm of what they summed to."""
    total = float(np.logaddexp.reduce(mixture.logs))
    return mixture._replace(logs=mixture.logs - total), total


def merged(mixture: Mixture) -> Mixture:
    """One Gaussian for each mode, with the weight, the mean and the covariance of its parts."""
    mixture = mixture.take(np.flatnonzero(np.isfinite(mixture.logs)))
    numbers, groups = np.unique(mixture.modes, return_inverse=True)
    logs = np.full(len(numbers), -np.inf)
    np.logaddexp.at(logs, groups, mixture.logs)
    shares = np.zeros((len(numbers), len(groups)))
    shares[groups, np.arange(len(groups))] = np.exp(mixture.logs - logs[groups])
    means = shares @ mixture.means
    apart = mixture.means - means[groups]
    spreads = mixture.covariances + apart[:, :, None] * apart[:, None, :]
    covariances = np.tensordot(shares, spreads, axes=1)
    return Mixture(logs, numbers, np.zeros(len(numbers), dtype=np.int64), means, covariances)


def moments(mixture: Mixture, num_modes: int) -> tuple[Floats, Floats, Floats]:
    """P(mode), and the mean and the covariance of the states."""
    weights: Floats = np.exp(mixture.logs)
    mean = weights @ mixture.means
    apart = mixture.means - mean
    spreads = mixture.covariances + apart[:, :, None] * apart[:, None, :]
    chances = np.zeros(num_modes)
    np.add.at(chances, mixture.modes, weights)
    return chances, mean, np.tensordot(weights, spreads, axes=1)


# --- filters ---


def run(modes: Modes, rows: Floats, engine: SwitchingEngine) -> Run:
    """Filter one sequence."""
    rng = np.random.default_rng(engine.seed if isinstance(engine, RaoBlackwellised) else 0)
    mixtures: list[Mixture] = []
    logs, sizes = np.empty(len(rows)), np.full(len(rows), np.nan)
    for t, row in enumerate(rows):
        if not mixtures:
            ahead = first(modes)
        else:
            ahead = forked(modes, mixtures[-1])
            ahead = moved(modes, merged(ahead) if isinstance(engine, IMM) else ahead)
        mixture, logs[t] = normalised(seen(modes, ahead, row))
        if isinstance(engine, GPB2):
            mixture = merged(mixture)
        elif isinstance(engine, RaoBlackwellised):
            mixture, sizes[t] = _drawn(mixture, engine.num_particles, t == 0, rng)
        mixtures.append(mixture)
    return Run(mixtures, logs, sizes)


def _drawn(mixture: Mixture, number: int, is_first: bool, rng: np.random.Generator) -> tuple[Mixture, float]:
    """Particles of the branches, one for each parent; and their effective number.

    Parents weigh what all of their branches do, so that the draw of a mode adds the least noise.
    """
    if is_first:
        return _resampled(mixture, number, rng), float(number)
    keys = mixture.logs + rng.gumbel(size=len(mixture.logs))
    order = np.lexsort((keys, mixture.parents))
    lasts = np.flatnonzero(np.append(np.diff(mixture.parents[order]), 1))
    totals = np.full(number, -np.inf)
    np.logaddexp.at(totals, mixture.parents, mixture.logs)
    chosen = mixture.take(order[lasts])._replace(logs=totals)
    size = float(1.0 / np.exp(2 * totals).sum())
    return (_resampled(chosen, number, rng) if size < number / 2 else chosen), size


def _resampled(mixture: Mixture, number: int, rng: np.random.Generator) -> Mixture:
    """So many parts of equal weight, by systematic resampling."""
    bounds = np.cumsum(np.exp(mixture.logs))
    places = np.searchsorted(bounds, (np.arange(number) + rng.random()) / number * bounds[-1], side="right")
    places = np.minimum(places, len(bounds) - 1)
    return mixture.take(places)._replace(logs=np.full(number, -np.log(number)))


def best_course(modes: Modes, rows: Floats, is_exact: bool) -> tuple[list[int], float]:
    """A course of modes and log p(course, rows), which is exact.

    The most probable course if all are kept; else of those that end in one mode only the best is kept at each step.
    """
    kept: list[Mixture] = []
    for row in rows:
        mixture = seen(modes, moved(modes, forked(modes, kept[-1])) if kept else first(modes), row)
        if not is_exact:
            order = np.lexsort((-mixture.logs, mixture.modes))
            mixture = mixture.take(order[np.flatnonzero(np.diff(mixture.modes[order], prepend=-1))])
        kept.append(mixture)
    if not kept:
        return [], 0.0
    place = int(np.argmax(kept[-1].logs))
    log_probability, course = float(kept[-1].logs[place]), []
    for mixture in reversed(kept):
        course.append(int(mixture.modes[place]))
        place = int(mixture.parents[place])
    return course[::-1], log_probability


# --- smoothers ---


class StepPairs(NamedTuple):
    """Two neighbouring steps, part by part, given all rows: both have the weights of the pairs."""

    before: Mixture
    later: Mixture
    lags: Floats  # Cov(state before, state) of each part


def smoothed(modes: Modes, mixtures: Sequence[Mixture], engine: SwitchingEngine) -> list[Mixture]:
    """What all rows say of each step."""
    answer = [*mixtures[-1:]]
    answer += [_of_step(pairs.before, engine) for pairs in backward(modes, mixtures, engine)]
    return answer[::-1]


def backward(modes: Modes, mixtures: Sequence[Mixture], engine: SwitchingEngine) -> Iterator[StepPairs]:
    """What all rows say of neighbouring steps, from the last two to the first.

    Where courses of modes are kept, each is smoothed by Rauch, Tung & Striebel; else all pairs of a mode and the next
    one are, and merged by the first of them (Barber 2006).
    """
    later = mixtures[-1] if mixtures else None
    places = np.arange(len(later.logs) if later else 0)
    for t in range(len(mixtures) - 2, -1, -1):
        assert later is not None
        if _keeps_courses(engine):
            places = mixtures[t + 1].parents[places]
            before, following, logs = mixtures[t].take(places), later, later.logs
        else:
            left, right = np.nonzero(np.isfinite(modes.log_transition[mixtures[t].modes][:, later.modes]))
            before, following = mixtures[t].take(left), later.take(right)
            logs = _pair_logs(modes, before, following, right)
        found, lags = _looked_back(modes, before, following)
        yield StepPairs(found._replace(logs=logs), following._replace(logs=logs), lags)
        later = _of_step(found._replace(logs=logs), engine)


def _keeps_courses(engine: SwitchingEngine) -> bool:
    return isinstance(engine, (Exact, RaoBlackwellised))


def _of_step(before: Mixture, engine: SwitchingEngine) -> Mixture:
    return before if _keeps_courses(engine) else merged(before)


def _pair_logs(modes: Modes, pairs: Mixture, following: Mixture, groups: Ints) -> Floats:
    """log P(mode, next mode | all rows).

    Given the next mode and state, later rows say nothing of a mode: P(mode | next mode, next state), averaged over 2d
    points with the mean and the covariance that the next state has (the cubature rule).
    """
    means, covariances = _moved(modes, following.modes, pairs.means, pairs.covariances)
    size = means.shape[1]
    eigenvalues, vectors = np.linalg.eigh(following.covariances)
    axes = (vectors * np.sqrt(np.maximum(eigenvalues, 0.0) * size)[:, None]).swapaxes(1, 2)
    points = following.means[:, None] + np.concatenate([axes, -axes], axis=1)
    eigenvalues, vectors = np.linalg.eigh(covariances)
    spreads = np.maximum(eigenvalues, _FLAT * eigenvalues.max(axis=1, keepdims=True) + SMALLEST)
    apart = ((points - means[:, None]) @ vectors) ** 2 / spreads[:, None]
    logs = -0.5 * (apart.sum(axis=2) + np.log(spreads).sum(axis=1)[:, None])
    logs += (pairs.logs + modes.log_transition[pairs.modes, following.modes])[:, None]
    totals = np.full((int(groups.max()) + 1, logs.shape[1]), -np.inf)
    np.logaddexp.at(totals, groups, logs)
    with np.errstate(divide="ignore"):
        return np.asarray(following.logs + np.log(np.exp(logs - totals[groups]).mean(axis=1)))


def _looked_back(modes: Modes, before: Mixture, later: Mixture) -> tuple[Mixture, Floats]:
    """Parts of a step given what is known of the state that each of them came to, and their covariances with that."""
    transition = modes.transition[later.modes]
    means, covariances = _moved(modes, later.modes, before.means, before.covariances)
    gain = before.covariances @ transition.swapaxes(1, 2) @ np.linalg.pinv(covariances, hermitian=True)
    found = before._replace(
        means=before.means + _times(gain, later.means - means),
        covariances=_symmetric(before.covariances + gain @ (later.covariances - covariances) @ gain.swapaxes(1, 2)),
    )
    return found, gain @ later.covariances


def _times(matrices: Floats, vectors: Floats) -> Floats:
    return np.asarray((matrices @ vectors[:, :, None])[:, :, 0])


def _symmetric(matrices: Floats) -> Floats:
    return np.asarray((matrices + matrices.swapaxes(1, 2)) / 2)
