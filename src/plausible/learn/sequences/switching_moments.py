"""EM of switching linear systems: what is expected of modes and states, and the systems that are best for it."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from typing import Any, NamedTuple

import numpy as np

from plausible.base.arrays import Floats
from plausible.kernels.kalman_smoother import SmoothedSteps
from plausible.learn.sequences.priors import map_rows
from plausible.learn.sequences.system_moments import (
    Moments,
    SystemRows,
    covariance_of,
    observation_moments,
    regressed,
)
from plausible.models import LinearDynamicalSystem
from plausible.models.sequences import switching_runs
from plausible.models.sequences.switching import SwitchingLinearDynamicalSystem
from plausible.models.sequences.switching_engines import Exact
from plausible.models.sequences.switching_runs import Mixture

#: A mode of which less is expected keeps its system.
_NOTHING = 1e-9


class ModeMoments(NamedTuple):
    """Sums over pairs of neighbouring steps, by the mode of the later one, and over steps, by mode."""

    pairs: Floats  # [mode before, mode]: expected numbers
    firsts: Floats  # [sequence, mode]
    targets: Floats  # [mode]: E[x xᵀ] of the later state
    across: Floats  # [mode]: E[x x_beforeᵀ]
    regressors: Floats  # [mode]: E[x_before x_beforeᵀ]
    shares: Floats  # [step, mode]
    means: Floats  # [step, mode], given the mode
    covariances: Floats


def expected(model: SwitchingLinearDynamicalSystem, rows: Sequence[Floats]) -> tuple[float, bool, ModeMoments]:
    """The log-likelihood, whether all of this is exact, and the moments; by the model's own engine."""
    modes, num, size = model._matrices(), len(model.modes), len(model.states)
    sums = [np.zeros((num, num)), *(np.zeros((num, size, size)) for _ in range(3))]
    steps: list[tuple[Floats, Floats, Floats]] = []
    log_likelihood, is_exact, firsts = 0.0, True, []
    for values in rows:
        engine = model.engine_for(len(values))
        run = switching_runs.run(modes, values, engine)
        log_likelihood, is_exact = (
            log_likelihood + float(run.log_densities.sum()),
            is_exact and isinstance(engine, Exact),
        )
        mixtures = [*run.mixtures[-1:]]
        for pairs in switching_runs.backward(modes, run.mixtures, engine):
            for total, part in zip(sums, _pair_sums(pairs, num), strict=True):
                total += part
            mixtures.append(pairs.before)
        own = [_by_mode(mixture, num) for mixture in reversed(mixtures)]
        firsts += [own[0][0]] if own else []
        steps += own
    stacked = [np.array([step[k] for step in steps]) for k in range(3)]
    return log_likelihood, is_exact, ModeMoments(sums[0], np.array(firsts), *sums[1:], *stacked)


def _pair_sums(pairs: switching_runs.StepPairs, num: int) -> Iterator[Floats]:
    """Expected transitions, and second moments of both states by the later mode."""
    before, later, weights = pairs.before, pairs.later, np.exp(pairs.later.logs)
    counts = np.zeros((num, num))
    np.add.at(counts, (before.modes, later.modes), weights)
    yield counts
    lags = pairs.lags.swapaxes(1, 2)
    for one, two, covariances in (
        (later.means, later.means, later.covariances),
        (later.means, before.means, lags),
        (before.means, before.means, before.covariances),
    ):
        total = np.zeros((num, *covariances.shape[1:]))
        np.add.at(total, later.modes, weights[:, None, None] * (covariances + one[:, :, None] * two[:, None, :]))
        yield total


def _by_mode(mixture: Mixture, num: int) -> tuple[Floats, Floats, Floats]:
    """P(mode), and the mean and the covariance of the state in each."""
    merged = switching_runs.merged(mixture)
    size = merged.means.shape[1]
    shares, means, covariances = np.zeros(num), np.zeros((num, size)), np.zeros((num, size, size))
    shares[merged.modes], means[merged.modes] = np.exp(merged.logs), merged.means
    covariances[merged.modes] = merged.covariances
    return shares, means, covariances


def maximized(
    model: SwitchingLinearDynamicalSystem,
    rows: Sequence[Floats],
    found: ModeMoments,
    fixed: Collection[str],
    diagonal: Collection[str],
    floor: Floats,
) -> SwitchingLinearDynamicalSystem:
    """The model of greatest expected log-likelihood; zeros of tables and what is fixed stay."""
    starts = np.append(0, np.cumsum([len(values) for values in rows])).astype(np.int64)
    observed = SystemRows(np.concatenate(rows), np.zeros((starts[-1], 0)), starts)
    firsts = starts[:-1][np.diff(starts) > 0]
    systems = [
        _system(system, mode, observed, found, firsts, (fixed, diagonal, floor))
        for mode, system in enumerate(model.systems)
    ]
    first, chain = np.array(model.initial), np.array(model.switch_transition)
    if "initial" not in fixed:
        first = map_rows(found.firsts.sum(axis=0), first, 0.0)
    if "switch_transition" not in fixed:
        chain = map_rows(found.pairs, chain, 0.0)
    engine = "auto" if model.engine is None else model.engine
    return SwitchingLinearDynamicalSystem(first, chain, systems, model.modes, engine=engine)


def _system(
    system: LinearDynamicalSystem,
    mode: int,
    rows: SystemRows,
    found: ModeMoments,
    firsts: Any,
    rules: tuple[Collection[str], Collection[str], Floats],
) -> LinearDynamicalSystem:
    """The system of one mode: regressions on what is expected in it."""
    fixed, diagonal, floor = rules
    none, parts = np.zeros((len(system.states), 0)), dict[str, Any]()
    number = float(found.pairs[:, mode].sum())
    if number > _NOTHING:
        moments = Moments(found.targets[mode], found.across[mode], found.regressors[mode], number)
        names = ("transition", "transition_input", "transition_noise")
        parts |= regressed(moments, np.hstack([system.transition, none]), names, system, fixed, diagonal)
    shares = found.shares[:, mode]
    if shares[~np.isnan(rows.values).all(axis=1)].sum() > _NOTHING:
        steps = SmoothedSteps(found.means[:, mode], found.covariances[:, mode], np.zeros((0, 0, 0)))
        moments = observation_moments(system, rows, steps, shares)
        names = ("observation", "observation_input", "observation_noise")
        parts |= regressed(moments, np.array(system.observation), names, system, fixed, diagonal)
        if "observation_noise" not in fixed:
            parts["observation_noise"] = _raised(parts["observation_noise"], floor)
    if shares[firsts].sum() > _NOTHING:
        parts |= _first(system, found, mode, firsts, fixed, diagonal)
    return system.with_parameters(**{name: part for name, part in parts.items() if not name.endswith("_input")})


def _first(
    system: LinearDynamicalSystem,
    found: ModeMoments,
    mode: int,
    firsts: Any,
    fixed: Collection[str],
    diagonal: Collection[str],
) -> dict[str, Floats]:
    """The distribution of the first state in a mode."""
    weights = found.shares[firsts, mode] / found.shares[firsts, mode].sum()
    means = found.means[firsts, mode]
    mean = np.array(system.initial.mean) if "initial_mean" in fixed else weights @ means
    parts = {"initial_mean": mean}
    if "initial_covariance" not in fixed:
        around = means - mean
        covariance = np.tensordot(weights, found.covariances[firsts, mode], 1) + (around * weights[:, None]).T @ around
        parts["initial_covariance"] = covariance_of(covariance, "initial_covariance" in diagonal)
    return parts


def _raised(covariance: Floats, floor: Floats) -> Floats:
    """A covariance whose eigenvalues are at least one, where columns are measured by the roots of the floor."""
    scale = np.sqrt(floor)
    values, vectors = np.linalg.eigh(covariance / np.outer(scale, scale))
    if values.min(initial=1.0) >= 1.0:
        return covariance
    raised = (vectors * np.maximum(values, 1.0)) @ vectors.T
    return np.asarray((raised + raised.T) / 2 * np.outer(scale, scale))
