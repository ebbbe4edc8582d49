"""Beliefs and best paths of hidden states, from what is observed: scaled numbers, and logarithms where they must be."""

from __future__ import annotations

import math
from collections.abc import Callable
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.base.tolerances import SCORE_NOISE
from plausible.kernels.few_paths import best_few_states
from plausible.kernels.few_states import FEW
from plausible.kernels.label_chains import best_chains
from plausible.kernels.state_chains import filter_states, lift, sum_log_states, sum_states
from plausible.kernels.state_paths import best_states, draw_states
from plausible.kernels.state_records import StateChains

#: Messages are kept for all steps up to so many numbers, else for blocks of steps.
_MOST_KEPT = 1 << 22
#: Rows that are worked on at once.
_BLOCK = 1 << 12
#: Of steps that have a row of sums each.
_NO_PLACES: Codes = np.zeros(0, dtype=np.int32)
#: Paths whose logarithms differ by no more are ties.
_TIE = 100 * SCORE_NOISE


@dataclass(frozen=True, slots=True, eq=False)
class HiddenChains:
    """Sequences of hidden states with their observations."""

    starts: Ints
    initial: Floats
    transitions: Floats  # (matrices, K, K)
    matrix_of: Codes  # which of them leads to each step; empty where there is one
    row_of: Codes  # which observation each step has
    log_rows: Callable[[], Floats]  # log p(observation | state), a new array over observations and states

    @property
    def num_sequences(self) -> int:
        """How many sequences there are."""
        return len(self.starts) - 1

    @property
    def num_steps(self) -> int:
        """Of all sequences."""
        return int(self.starts[-1])

    @property
    def num_states(self) -> int:
        """K."""
        return len(self.initial)

    def scaled(self) -> tuple[StateChains, Floats]:
        """What kernels work on, and the logarithm of the scale of each row."""
        weights = self.log_rows()
        scales = scale(weights)
        return self._chains(self.initial, self.transitions, weights, self.row_of), scales

    def logs(self) -> StateChains:
        """The same in logarithms."""
        with np.errstate(divide="ignore"):
            numbers = np.log(self.initial), np.log(self.transitions)
        return self._chains(*numbers, self.log_rows(), self.row_of)

    def _chains(self, initial: Floats, transitions: Floats, weights: Floats, row_of: Codes) -> StateChains:
        return StateChains(self.starts, initial, transitions, self.matrix_of, weights, row_of)

    def some(self, chosen: Flags) -> tuple[HiddenChains, NDArray[np.intp]]:
        """Some of the sequences, and the steps that are theirs."""
        lengths = np.diff(self.starts)
        steps = np.flatnonzero(np.repeat(chosen, lengths))
        starts = np.append(0, np.cumsum(lengths[chosen])).astype(np.int64)
        rows, places = np.unique(self.row_of[steps], return_inverse=True)
        matrices = self.matrix_of[steps] if len(self.matrix_of) else self.matrix_of
        row_of: Codes = places.reshape(-1).astype(np.int32)
        some_rows = lambda: np.ascontiguousarray(self.log_rows()[rows])  # noqa: E731
        picked = HiddenChains(starts, self.initial, self.transitions, matrices, row_of, some_rows)
        return picked, steps


def scale(logs: Floats) -> Floats:
    """Turn logarithms into numbers whose largest in each row is one, in place; tells the logarithms of the scales."""
    scales = np.empty(len(logs))
    for start in range(0, len(logs), _BLOCK):
        part = logs[start : start + _BLOCK]
        lift(part, scales[start : start + _BLOCK])
        np.exp(part, out=part)
    return scales


@dataclass(frozen=True, slots=True, eq=False)
class StateBeliefs:
    """Beliefs of each step, and log p(o_t | o_1 ... o_{t-1}): -inf at a first impossible step, NaN after it."""

    beliefs: Floats
    step_logs: Floats


@dataclass(frozen=True, slots=True, eq=False)
class StateSums:
    """Expected counts: of each state by observation, at first steps, of each transition by matrix."""

    rows: Floats
    firsts: Floats
    pairs: Floats
    step_logs: Floats


def filtered(chains: HiddenChains) -> StateBeliefs:
    """Beliefs given what is observed up to each step."""
    program, scales = chains.scaled()
    beliefs, sizes = np.empty((chains.num_steps, chains.num_states)), np.empty(chains.num_steps)
    is_risky = np.zeros(chains.num_sequences, dtype=bool)
    filter_states(program, 0, chains.num_sequences, beliefs, sizes, is_risky)
    step_logs = _logs(sizes, scales, chains.row_of, is_risky, chains.starts)
    if is_risky.any():
        some, steps = chains.some(is_risky)
        logs = _in_logs(some)
        beliefs[steps], step_logs[steps] = np.exp(logs.filtered), logs.step_logs
    return StateBeliefs(beliefs, step_logs)


def smoothed(chains: HiddenChains) -> StateBeliefs:
    """Beliefs given all that is observed."""
    found = _summed(chains, _NO_PLACES, chains.num_steps, has_pairs=False)
    return StateBeliefs(found.rows, found.step_logs)


def expected(chains: HiddenChains, num_rows: int) -> StateSums:
    """Expected counts given all that is observed, states by the observation that they were seen with."""
    is_each = num_rows == chains.num_steps and bool((np.diff(chains.row_of) == 1).all())
    return _summed(chains, _NO_PLACES if is_each else chains.row_of, num_rows, has_pairs=True)


def _summed(chains: HiddenChains, places: Codes, num_places: int, *, has_pairs: bool) -> StateSums:
    program, scales = chains.scaled()
    num_states, num_sequences = chains.num_states, chains.num_sequences
    is_apart = len(places) > 0 or num_places != chains.num_steps
    sums = np.zeros((num_places, num_states)) if is_apart else np.empty((num_places, num_states))
    firsts = np.zeros(num_states)
    pairs = np.zeros(chains.transitions.shape if has_pairs else (0, num_states, num_states))
    sizes = np.empty(chains.num_steps)
    is_risky = np.zeros(num_sequences, dtype=bool)
    block = block_of(chains) if is_apart else max(1, chains.num_steps)
    sum_states(program, 0, num_sequences, block, places, sizes, sums, firsts, pairs, is_risky)
    told = sums if is_apart or not is_risky.any() else sums[np.repeat(~is_risky, np.diff(chains.starts))]
    if not math.isfinite(told.sum() + pairs.sum()):  # what a state would explain that is never reached grew too large
        is_risky[:] = True
        sums, firsts, pairs = np.zeros_like(sums), np.zeros_like(firsts), np.zeros_like(pairs)
    step_logs = _logs(sizes, scales, chains.row_of, is_risky, chains.starts)
    if is_risky.any():
        some, steps = chains.some(is_risky)
        logs = _in_logs(some)
        if is_apart:
            np.add.at(sums, places[steps], logs.smoothed)
        else:
            sums[steps] = logs.smoothed
        firsts += logs.firsts
        if has_pairs:
            pairs += logs.pairs
        step_logs[steps] = logs.step_logs
    return StateSums(sums, firsts, pairs, step_logs)


def block_of(chains: HiddenChains) -> int:
    """For how many steps messages are kept."""
    longest = int(np.diff(chains.starts).max(initial=1))
    return max(1, longest if longest * chains.num_states <= _MOST_KEPT else max(1024, math.isqrt(longest)))


def _logs(sizes: Floats, scales: Floats, row_of: Codes, is_risky: Flags, starts: Ints) -> Floats:
    """The logarithms of the steps' probabilities; those of risky sequences are made elsewhere."""
    if is_risky.any():
        sizes[np.repeat(is_risky, np.diff(starts))] = 1.0
    logs = scales[row_of]
    logs += np.log(sizes)
    return logs


@dataclass(frozen=True, slots=True, eq=False)
class _LogSums:
    filtered: Floats  # logarithms
    smoothed: Floats  # probabilities; zero where a sequence is impossible
    firsts: Floats
    pairs: Floats
    step_logs: Floats


def _in_logs(chains: HiddenChains) -> _LogSums:
    """All sums in logarithms."""
    shape = chains.num_steps, chains.num_states
    filtered, beliefs, step_logs = np.empty(shape), np.zeros(shape), np.empty(chains.num_steps)
    firsts, pairs = np.zeros(chains.num_states), np.zeros(chains.transitions.shape)
    sum_log_states(chains.logs(), 0, chains.num_sequences, filtered, step_logs, beliefs, firsts, pairs)
    impossible = np.isneginf(step_logs)
    so_far = np.append(0, np.cumsum(impossible))
    is_after = impossible & (so_far[:-1] > np.repeat(so_far[chains.starts[:-1]], np.diff(chains.starts)))
    step_logs[is_after] = np.nan
    return _LogSums(filtered, beliefs, firsts, pairs, step_logs)


def pairwise(chains: HiddenChains) -> Floats:
    """P(state before, state | all that is observed) of each step; NaN at first steps: O(steps K²) memory."""
    logs = _in_logs(chains)
    num_states, steps = chains.num_states, np.arange(chains.num_steps)
    later = np.delete(steps, chains.starts[:-1][np.diff(chains.starts) > 0])
    found = np.full((chains.num_steps, num_states, num_states), np.nan)
    matrices = chains.matrix_of[later] if len(chains.matrix_of) else np.zeros(len(later), dtype=np.int32)
    with np.errstate(divide="ignore", invalid="ignore"):
        joint = logs.filtered[later - 1][:, :, None] + np.log(chains.transitions)[matrices]
        totals = np.logaddexp.reduce(joint, axis=1, keepdims=True)
        given = np.exp(joint - np.where(np.isneginf(totals), 0.0, totals))
    found[later] = given * logs.smoothed[later][:, None, :]
    return found


def best_path(chains: HiddenChains) -> tuple[Codes, Floats]:
    """The most probable path of each sequence, and its logarithm together with the observations; -inf: impossible."""
    path, values = np.zeros(chains.num_steps, dtype=np.int32), np.empty(chains.num_sequences)
    if chains.num_states <= FEW:
        best_few_states(chains.logs(), 0, chains.num_sequences, _TIE, path, values)
    else:
        best_states(chains.logs(), 0, chains.num_sequences, block_of(chains), _TIE, path, values)
    return path, values


def best_paths(chains: HiddenChains, num_paths: int) -> tuple[Codes, Floats]:
    """As many paths (axes: rank, step), and their logarithms (axes: sequence, rank); -inf where there are no more."""
    logs = chains.logs()
    scores = logs.weights[chains.row_of]
    scores[chains.starts[:-1][np.diff(chains.starts) > 0]] += logs.initial
    paths = np.zeros((num_paths, chains.num_steps), dtype=np.int32)
    values = np.empty((chains.num_sequences, num_paths))
    transitions, matrix_of = logs.transitions, chains.matrix_of
    best_chains(chains.starts, 0, chains.num_sequences, transitions, matrix_of, scores, _TIE, paths, values)
    empty = np.diff(chains.starts) == 0
    values[empty, 1:] = -np.inf
    return paths, values


def drawn_paths(chains: HiddenChains, beliefs: Floats, num_paths: int, rng: np.random.Generator) -> Codes:
    """Paths from the posterior (axes: path, step), along filtered beliefs."""
    program = chains._chains(chains.initial, chains.transitions, np.ones((1, 1)), np.zeros(0, dtype=np.int32))
    levels = rng.random((num_paths, chains.num_steps))
    paths = np.empty(levels.shape, dtype=np.int32)
    draw_states(program, beliefs, levels, paths)
    if (paths < 0).any():
        sequence_of = np.repeat(np.arange(chains.num_sequences), np.diff(chains.starts))
        stuck = np.zeros(chains.num_sequences, dtype=bool)
        stuck[sequence_of[(paths < 0).any(axis=0)]] = True
        some, steps = chains.some(stuck)
        paths[:, steps] = _drawn_in_logs(some, levels[:, steps])
    return paths


def _drawn_in_logs(chains: HiddenChains, levels: Floats) -> Codes:
    """The same where beliefs are too small for numbers; all paths at once, step by step."""
    filtered = _in_logs(chains).filtered
    with np.errstate(divide="ignore"):
        transitions = np.log(chains.transitions)
    paths = np.empty(levels.shape, dtype=np.int32)
    is_last = np.zeros(chains.num_steps, dtype=bool)
    is_last[chains.starts[1:][np.diff(chains.starts) > 0] - 1] = True
    for t in range(chains.num_steps - 1, -1, -1):
        logs = np.repeat(filtered[t][None], len(paths), axis=0)
        if not is_last[t]:
            matrix = transitions[chains.matrix_of[t + 1] if len(chains.matrix_of) else 0]
            logs = logs + matrix[:, paths[:, t + 1]].T
        weights = np.cumsum(np.exp(logs - logs.max(axis=1, keepdims=True)), axis=1)
        paths[:, t] = (levels[:, t, None] * weights[:, -1:] >= weights).sum(axis=1)
    return paths
