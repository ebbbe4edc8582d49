"""Penalised (multinomial) logistic regressions of each variable on all others, solved together by matrix products."""

from __future__ import annotations

import math
from collections.abc import Sequence
from itertools import pairwise
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Flags, Floats, Ints
from plausible.base.tolerances import SMALLEST
from plausible.learn.undirected.partition import different_rows
from plausible.learn.undirected_structures.task import Task, pairs_of
from plausible.search.run import CONVERGED

#: The curvature of a log-sum of exponentials in orthonormal contrasts is at most this (Böhning 1992).
_MOST_CURVED = 0.5
#: Of the quadratic problem of one step so many rounds over all sources are made at most.
_MOST_ROUNDS = 50
#: Steps are mixed with so many before them.
_MEMORY = 5
#: Where a step leaves more than this share of what conditions are missed by, Newton's method takes over: columns that
#: nearly tell each other bend rows very differently. Its steps at most, and the weights and the work that it is for.
_SLOW, _NEWTON_STEPS, _NEWTON_WEIGHTS, _NEWTON_WORK = 0.3, 10, 400, 1e8
_ROWS_AT_ONCE = 1024


class Losses(NamedTuple):
    """Of each target -log P(x_j | others) for one row, and its mean curvature; the slopes in its columns' weights."""

    losses: Floats
    curvatures: Floats
    slopes: Floats


class Coded(NamedTuple):
    """Rows in orthonormal contrasts of states, a block of columns for each variable, after a column of ones."""

    columns: Floats  # rows x (1 + contrasts)
    weights: Floats  # of rows, adding up to one
    owner: Ints  # of each contrast the place of its variable
    contrasts: tuple[Floats, ...]  # of each variable: states x (states - 1)
    moments: Floats  # columnsᵀ weights columns
    is_allowed: Flags  # source variable x target variable
    penalties: Floats  # the same: 1, or 0 for required edges

    @classmethod
    def of(cls, task: Task) -> Coded:
        """Code complete rows, equal ones once."""
        table = task.statistics.table
        codes, weights = different_rows([table.column(name) for name in task.variables], table.row_weights)
        contrasts = tuple(_contrasts(variable.num_states) for variable in task.variables.values())
        blocks = [contrast[codes[:, place]] for place, contrast in enumerate(contrasts)]
        columns = np.hstack([np.ones((len(codes), 1)), *blocks])
        shares = weights / max(float(weights.sum()), SMALLEST)
        owner = np.repeat(np.arange(len(contrasts)), [contrast.shape[1] for contrast in contrasts])
        place_of = {name: place for place, name in enumerate(task.variables)}
        allowed, penalties = np.zeros((len(contrasts),) * 2, dtype=bool), np.ones((len(contrasts),) * 2)
        for pair in {pair for one in task.candidates for pair in pairs_of(one)}:
            first, second = (place_of[name] for name in pair)
            allowed[first, second] = allowed[second, first] = True
            if pair in task.required:
                penalties[first, second] = penalties[second, first] = 0.0
        moments = columns.T @ (columns * shares[:, None])
        return cls(columns, shares, owner, contrasts, moments, allowed, penalties)

    def losses(self, weights: Floats, targets: Flags) -> Losses:
        """Of some targets, all at once; rows go in parts that stay in a cache."""
        chosen = np.flatnonzero(targets[self.owner])
        owner, is_all = self.owner[chosen], chosen.size == self.owner.size
        chosen_weights = weights if is_all else np.ascontiguousarray(weights[:, chosen])
        found, slopes = np.zeros((2, chosen.size)), np.zeros((len(weights), chosen.size))
        widths = np.bincount(owner, minlength=targets.size)
        for start in range(0, len(self.columns), _ROWS_AT_ONCE):
            columns, shares = self.columns[start : start + _ROWS_AT_ONCE], self.weights[start : start + _ROWS_AT_ONCE]
            logits, observed = columns @ chosen_weights, columns[:, 1:] if is_all else columns[:, 1 + chosen]
            misses = np.empty_like(logits)
            if (binary := widths[owner] == 1).all():
                found += _of_two(logits, observed, shares, misses)
            else:
                misses_of_two = np.empty((len(logits), int(binary.sum())))
                found[:, binary] += _of_two(logits[:, binary], observed[:, binary], shares, misses_of_two)
                misses[:, binary] = misses_of_two
                for target in np.flatnonzero(widths > 1):
                    first = int(np.searchsorted(owner, target))
                    at = slice(first, first + int(widths[target]))
                    logs, misses[:, at], bends = _of_many(logits[:, at], observed[:, at], self.contrasts[target])
                    found[0, first] += shares @ logs
                    found[1, first] += shares @ bends
            misses *= shares[:, None]
            slopes += columns.T @ misses
        every = np.zeros_like(weights)
        every[:, chosen] = slopes
        losses, curvatures = (np.bincount(owner, line, minlength=targets.size).astype(float) for line in found)
        return Losses(losses, curvatures, every)

    def norms(self, weights: Floats) -> Floats:
        """‖W_ij‖ of each source and target."""
        if not self.owner.size:
            return np.zeros(self.is_allowed.shape)
        places = np.arange(len(self.contrasts))
        squares = weights[1:] ** 2
        member = (self.owner[:, None] == places).astype(float)
        return np.asarray(np.sqrt(member.T @ squares @ member))


def _of_two(logits: Floats, observed: Floats, shares: Floats, misses: Floats) -> Floats:
    """Of targets with two states the mean losses and curvatures; what was observed less what is expected."""
    halves = logits * math.sqrt(0.5)
    sizes = np.abs(halves)
    decay = np.exp(-2 * sizes)
    means = np.copysign((1 - decay) / (1 + decay) * math.sqrt(0.5), halves)
    np.subtract(observed, means, out=misses)
    sizes += np.log1p(decay)
    sizes -= logits * observed
    means *= means
    return np.stack([shares @ sizes, 0.5 * shares.sum() - shares @ means])


def _of_many(logits: Floats, observed: Floats, contrast: Floats) -> tuple[Floats, Floats, Floats]:
    """The losses of rows for a target with more states; what was observed less what is expected; most curvatures.

    No direction bends more than the largest probability.
    """
    scores = logits @ contrast.T
    peaks = scores.max(axis=1)
    mass = np.exp(scores - peaks[:, None])
    sums = mass.sum(axis=1)
    own = np.einsum("rc,rc->r", logits, observed)
    misses = observed - (mass / sums[:, None]) @ contrast
    return np.log(sums) + peaks - own, misses, np.minimum(1 / sums, _MOST_CURVED)


def _contrasts(num_states: int) -> Floats:
    """Orthonormal columns that are orthogonal to ones: (1, -1)/√2 for two states."""
    helmert = np.tril(np.ones((num_states, num_states)), -1).T[:, 1:]
    helmert[np.arange(1, num_states), np.arange(num_states - 1)] = -np.arange(1, num_states)
    return np.asarray(helmert / np.maximum(np.linalg.norm(helmert, axis=0), SMALLEST))


class RegressionState(NamedTuple):
    """The weights of all regressions, sources by targets, and what holds there."""

    weights: Floats
    losses: Floats  # of each target, for one row, without the penalty
    slopes: Floats
    curvatures: Floats  # by which the next step's quadratic problem is scaled
    residuals: Floats  # of each target: by how much the conditions of an optimum are missed
    #: The last weights that quadratic problems were solved at, and the moves to their solutions.
    past: tuple[tuple[Floats, Floats], ...] = ()


class Regressions(NamedTuple):
    """All regressions at one strength, solved together: quadratic problems with the one matrix of second moments."""

    coded: Coded
    strengths: Floats  # source variable x target variable; infinite where no edge is allowed
    tolerance: float

    def init(self, weights: Floats) -> RegressionState:
        """The state at some weights."""
        everything = np.ones(len(self.coded.contrasts), dtype=bool)
        found = self.coded.losses(weights, everything)
        residuals = self._residuals(weights, found.slopes)
        return RegressionState(weights, found.losses, found.slopes, found.curvatures, residuals)

    def step(self, state: RegressionState) -> RegressionState:
        """Solve the quadratic problem of each target that is not done, and mix the move with those before it."""
        targets = state.residuals > self.tolerance
        made = self._moved(state, targets)
        is_slow = targets & (made.residuals > np.maximum(self.tolerance, _SLOW * state.residuals))
        chosen = is_slow & self._are_small(made.weights)
        return self._polished(made, chosen) if chosen.any() else made

    def _moved(self, state: RegressionState, targets: Flags) -> RegressionState:
        """The mixed weights where they win half of what solutions promise; else the solutions, if they win it all."""
        coded, proposed = self.coded, self._solved(state, targets)
        bounds = self._bounds(state, proposed)
        half = 0.5 * (bounds + self._penalties(proposed) + state.losses + self._penalties(state.weights))
        past = (*state.past, (state.weights, proposed - state.weights))[-_MEMORY - 1 :]
        mixed = self._mixed(past, proposed)
        found = coded.losses(mixed, targets)
        is_lower = targets & (found.losses + self._penalties(mixed) <= half)
        made = self._merged(state._replace(past=past), mixed, found, is_lower)
        rest = targets & ~is_lower
        if not rest.any():
            return made
        found = coded.losses(proposed, rest)
        is_good = rest & (found.losses <= bounds + 1e-12)
        made = self._merged(made, proposed, found, is_good)
        columns = rest[coded.owner]
        return made._replace(
            curvatures=np.where(rest & ~is_good, np.minimum(2 * state.curvatures, _MOST_CURVED), made.curvatures),
            past=tuple((np.where(columns, past[-1][0], w), np.where(columns, past[-1][1], m)) for w, m in past),
        )

    def _merged(self, state: RegressionState, weights: Floats, found: Losses, targets: Flags) -> RegressionState:
        """The state with other weights of some targets, and what was found there."""
        columns = targets[self.coded.owner]
        weights = np.where(columns, weights, state.weights)
        slopes = np.where(columns, found.slopes, state.slopes)
        losses = np.where(targets, found.losses, state.losses)
        curvatures = np.where(targets, np.maximum(found.curvatures, 1e-3), state.curvatures)
        return RegressionState(weights, losses, slopes, curvatures, self._residuals(weights, slopes), state.past)

    def _penalties(self, weights: Floats) -> Floats:
        """Of each target."""
        finite = np.where(np.isfinite(self.strengths), self.strengths, 0.0)
        return np.asarray((finite * self.coded.norms(weights)).sum(axis=0))

    def _bounds(self, state: RegressionState, weights: Floats) -> Floats:
        """Of each target what the quadratic problem of a state has at some weights, the penalty left out."""
        coded, moves = self.coded, weights - state.weights
        rises = -(state.slopes * moves).sum(axis=0)
        bends = (moves * (coded.moments @ moves)).sum(axis=0)
        first, second = (np.bincount(coded.owner, part, minlength=len(coded.contrasts)) for part in (rises, bends))
        return np.asarray(state.losses + first + 0.5 * state.curvatures * second)

    def _mixed(self, past: Sequence[tuple[Floats, Floats]], proposed: Floats) -> Floats:
        """The proposed weights of each target, less what past moves tell of the next ones (Anderson 1965)."""
        owner, size = self.coded.owner, len(self.coded.contrasts)
        if len(past) < 2 or not owner.size:
            return proposed
        turns = np.array([after[1] - before[1] for before, after in pairwise(past)])
        steps = np.array([after[0] - before[0] for before, after in pairwise(past)])
        starts = np.searchsorted(owner, np.arange(size))
        kept = np.flatnonzero(np.bincount(owner, minlength=size))
        sums = np.einsum("asc,bsc->cab", turns, np.concatenate([turns, past[-1][1][None]]))
        sums = np.add.reduceat(sums, starts[kept], axis=0)
        shares = np.linalg.pinv(sums[:, :, :-1], rcond=1e-12, hermitian=True) @ sums[:, :, -1:]
        every = np.zeros((size, len(turns)))
        every[kept] = shares[:, :, 0]
        mixed = proposed - np.einsum("asc,ca->sc", turns + steps, every[owner])
        present = self.coded.norms(proposed) > 0
        mixed[1:] *= present[np.ix_(owner, owner)]
        return np.asarray(mixed)

    def _are_small(self, weights: Floats) -> Flags:
        """The targets that have sources, and of these so few weights that Newton's method takes no longer."""
        coded = self.coded
        widths, present = np.bincount(coded.owner, minlength=len(coded.contrasts)), coded.norms(weights) > 0
        sizes = widths * (1 + widths @ present)
        is_small = (sizes <= _NEWTON_WEIGHTS) & (sizes.astype(float) ** 2 * len(coded.columns) <= _NEWTON_WORK)
        return np.asarray(is_small & present.any(axis=0))

    def _polished(self, state: RegressionState, targets: Flags) -> RegressionState:
        """By Newton's method, the weights of some targets that are not zero."""
        coded, weights = self.coded, state.weights.copy()
        present = coded.norms(weights) > 0
        for target in np.flatnonzero(targets):
            sources = np.flatnonzero(present[:, target])
            rows = np.r_[0, 1 + np.flatnonzero(np.isin(coded.owner, sources))]
            columns = np.flatnonzero(coded.owner == target)
            groups = np.searchsorted(sources, coded.owner[rows[1:] - 1])
            one = Regression(
                coded.columns[:, rows],
                coded.columns[:, 1 + columns],
                coded.weights,
                coded.contrasts[target],
                np.r_[-1, groups],
                self.strengths[sources, target],
            )
            weights[np.ix_(rows, columns)] = one.solved(weights[np.ix_(rows, columns)], 0.1 * self.tolerance)
        made = self._merged(state, weights, coded.losses(weights, targets), targets)
        return made._replace(curvatures=state.curvatures)

    def ends(self, state: RegressionState) -> str:
        """Converged where all conditions hold."""
        return CONVERGED if (state.residuals <= self.tolerance).all() else ""

    def _solved(self, state: RegressionState, targets: Flags) -> Floats:
        """Rounds over sources, each of which moves its weights for all targets at once."""
        coded = self.coded
        chosen = np.flatnonzero(targets[coded.owner])
        owner = coded.owner[chosen]
        scale = np.maximum(state.curvatures, 1e-3)[owner]
        weights, slopes = state.weights[:, chosen].copy(), state.slopes[:, chosen] / scale
        starts = np.flatnonzero(np.r_[True, owner[1:] != owner[:-1]]) if owner.size else owner
        lengths = np.diff(np.r_[starts, owner.size])
        blocks: list[tuple[slice, float, Floats | None]] = [(slice(0, 1), float(coded.moments[0, 0]), None)]
        for source in np.unique(coded.owner):
            at = 1 + np.flatnonzero(coded.owner == source)
            rows = slice(int(at[0]), int(at[-1]) + 1)
            step = float(np.linalg.norm(coded.moments[rows, rows], 2))
            blocks.append((rows, step, self.strengths[source, owner] / scale / step))
        enough = 0.1 * max(self.tolerance, 0.1 * float(state.residuals.max()))
        for _ in range(_MOST_ROUNDS):
            largest = 0.0
            for rows, step, strengths in blocks:
                ahead = weights[rows] + slopes[rows] / step
                if strengths is not None:
                    norms = np.abs(ahead[0])
                    if len(ahead) > 1 or starts.size < owner.size:
                        norms = np.repeat(np.sqrt(np.add.reduceat((ahead**2).sum(axis=0), starts)), lengths)
                    ahead *= np.maximum(1 - strengths / np.maximum(norms, SMALLEST), 0.0)
                moved = ahead - weights[rows]
                moving = np.flatnonzero(moved.any(axis=0))
                if moving.size:
                    largest = max(largest, float((np.abs(moved) * scale).max()) * step)
                    weights[rows] = ahead
                    slopes[:, moving] -= coded.moments[:, rows] @ moved[:, moving]
            if largest <= enough:
                break
        result = state.weights.copy()
        result[:, chosen] = weights
        return result

    def _residuals(self, weights: Floats, slopes: Floats) -> Floats:
        """Of each target the largest violation: slopes of zeros beyond their strength, and others unlike it."""
        coded, size = self.coded, len(self.coded.contrasts)
        finite = np.where(np.isfinite(self.strengths), self.strengths, 0.0)
        norms = coded.norms(weights)
        with np.errstate(divide="ignore", invalid="ignore"):
            along = np.where(norms > 0, finite / norms, 0.0)
        rest = slopes.copy()
        if coded.owner.size:
            rest[1:] -= along[np.ix_(coded.owner, coded.owner)] * weights[1:]
        misses = coded.norms(rest)
        misses = np.where(norms > 0, misses, np.maximum(misses - finite, 0.0)) * np.isfinite(self.strengths)
        residuals = misses.max(axis=0, initial=0.0)
        np.maximum.at(residuals, coded.owner, np.abs(rest[0]))
        return np.asarray(residuals[:size])


class Regression(NamedTuple):
    """The regression of one target on some sources, none of whose weights is zero: what Newton's method solves."""

    columns: Floats  # rows x weights: a column of ones, then contrasts of the sources
    observed: Floats  # rows x contrasts of the target
    shares: Floats  # of rows
    contrast: Floats  # states of the target x contrasts
    groups: Ints  # of each column its source, -1 for that of ones
    strengths: Floats  # of each source

    def solved(self, weights: Floats, tolerance: float) -> Floats:
        """Newton steps, halved until the loss falls, until the slope vanishes or they lead no further."""
        value, slope, hessian = self._at(weights)
        for _ in range(_NEWTON_STEPS):
            if np.abs(slope).max() <= tolerance:
                break
            ridge = 1e-10 * float(hessian.diagonal().max()) * np.eye(len(hessian))
            move = np.linalg.solve(hessian + ridge, slope.ravel()).reshape(weights.shape)
            for power in range(10):
                there = weights + 0.5**power * move
                found = self._at(there)
                if found[0] < value:
                    break
            else:
                break
            weights, (value, slope, hessian) = there, found
        return weights

    def _norms(self, weights: Floats) -> Floats:
        squares = (weights[1:] ** 2).sum(axis=1)
        return np.asarray(np.sqrt(np.bincount(self.groups[1:], squares, minlength=self.strengths.size)))

    def _at(self, weights: Floats) -> tuple[float, Floats, Floats]:
        """The penalised loss of a row, minus its gradient, and its Hessian in the weights row by row."""
        logs, misses, _ = _of_many(logits := self.columns @ weights, self.observed, self.contrast)
        norms = np.maximum(self._norms(weights), SMALLEST)
        value = float(self.shares @ logs + self.strengths @ norms)
        rates = np.r_[0.0, (self.strengths / norms)[self.groups[1:]]]
        slope = self.columns.T @ (misses * self.shares[:, None]) - rates[:, None] * weights
        num, width = weights.shape
        scores = logits @ self.contrast.T
        mass = np.exp(scores - scores.max(axis=1, keepdims=True))
        mass /= mass.sum(axis=1, keepdims=True)
        means = mass @ self.contrast
        hessian = np.empty((num, width, num, width))
        for i in range(width):
            for j in range(i + 1):
                bend = self.shares * (mass @ (self.contrast[:, i] * self.contrast[:, j]) - means[:, i] * means[:, j])
                hessian[:, i, :, j] = hessian[:, j, :, i] = self.columns.T @ (self.columns * bend[:, None])
        hessian = np.reshape(hessian, (num * width, num * width))
        flat, member = weights.ravel(), np.repeat(self.groups, width)
        hessian[np.diag_indices_from(hessian)] += np.repeat(rates, width)
        is_same = (member[:, None] == member) & (member >= 0)
        pull = np.r_[0.0, (self.strengths / norms**3)[self.groups[1:]]]
        hessian -= is_same * np.repeat(pull, width)[:, None] * np.outer(flat, flat)
        return value, slope, hessian
