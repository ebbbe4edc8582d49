"""Chains of states: probabilities and best labellings of many sequences, on all cores."""

from __future__ import annotations

import os
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from itertools import pairwise
from typing import NamedTuple, TypeVar

import numpy as np

from plausible.base.arrays import Codes, Flags, Floats, Ints
from plausible.base.tolerances import SCORE_NOISE
from plausible.kernels.jit import steady
from plausible.kernels.label_chains import (
    LabelChains,
    TokenFeatures,
    best_chains,
    score_tokens,
    sum_chains,
    sum_features,
)
from plausible.kernels.state_chains import lift
from plausible.learn.labelling.tokens import later_tokens

Answer = TypeVar("Answer")

#: Threads share parts of so many tokens, of no more than so many parts: the same ones for any number of threads.
_PART_TOKENS, _MOST_PARTS = 4000, 32
#: Labellings whose scores differ by no more are ties: those of a token are numbers of about one to a hundred.
_TIE = 100 * SCORE_NOISE


def in_parts(run: Callable[[int, int], Answer], starts: Ints, threads: int | None) -> list[Answer]:
    """What a function of ranges of items says of parts that own about equally much, in order.

    Item i owns `starts[i]:starts[i + 1]`.
    """
    num_parts = int(np.clip((starts[-1] - starts[0]) // _PART_TOKENS, 1, _MOST_PARTS))
    cuts = np.searchsorted(starts, np.linspace(starts[0], starts[-1], num_parts + 1)[1:-1])
    ends = [0, *np.maximum.accumulate(cuts).tolist(), len(starts) - 1]
    width = max(1, min(threads or os.cpu_count() or 1, num_parts))
    with steady(num_parts):
        if width == 1:
            return [run(first, last) for first, last in pairwise(ends)]
        with ThreadPoolExecutor(width) as pool:
            return list(pool.map(run, ends[:-1], ends[1:]))


def token_scores(rows: TokenFeatures, weights: Floats, num_states: int, threads: int | None) -> Floats:
    """Weights times features, of each token and state."""
    scores = np.empty((len(rows.starts) - 1, num_states))
    in_parts(lambda first, last: score_tokens(rows, weights, first, last, scores), rows.starts, threads)
    return scores


class FeatureTable(NamedTuple):
    """The features of tokens, token by token and feature by feature, with the weights that each has.

    Features that have weights for many of the states have some for all of them here: many are added at once where
    none is missing.
    """

    rows: TokenFeatures
    columns: TokenFeatures
    num_states: int
    places: Ints  # where the weights that there are lie among these

    @classmethod
    def of(cls, rows: TokenFeatures, num_states: int) -> FeatureTable:
        """Sort the entries by feature."""
        rows, places = _widened(rows, num_states)
        num_features, num_tokens = len(rows.weight_starts) - 1, len(rows.starts) - 1
        order = np.argsort(rows.features, kind="stable")
        starts = np.searchsorted(rows.features[order], np.arange(num_features + 1)).astype(np.int64)
        tokens = np.repeat(np.arange(num_tokens, dtype=np.int32), np.diff(rows.starts))[order]
        columns = rows._replace(starts=starts, features=tokens, values=rows.values[order])
        return cls(rows, columns, num_states, places)

    @property
    def is_widened(self) -> bool:
        """Whether there are weights that a model does not have."""
        return len(self.places) < len(self.rows.labels)

    def scores(self, weights: Floats, threads: int | None = None) -> Floats:
        """Weights times features, of each token and state."""
        if self.is_widened:
            own, weights = weights[: len(self.places)], np.zeros(len(self.rows.labels))
            weights[self.places] = own
        return token_scores(self.rows, weights, self.num_states, threads)

    def sums(self, beliefs: Floats, threads: int | None = None) -> Floats:
        """The expected sum of each feature with each of its states."""
        sums, columns = np.empty(len(self.rows.labels)), self.columns
        in_parts(lambda first, last: sum_features(columns, beliefs, first, last, sums), columns.starts, threads)
        return sums[self.places] if self.is_widened else sums


def _widened(rows: TokenFeatures, num_states: int) -> tuple[TokenFeatures, Ints]:
    """Weights of all states for features that have at least an eighth of them, and where those lie that there are."""
    widths = np.diff(rows.weight_starts)
    wider = np.where(widths * 8 >= num_states, num_states, widths)
    starts = np.append(0, np.cumsum(wider)).astype(np.int64)
    rank = np.arange(len(rows.labels)) - np.repeat(rows.weight_starts[:-1], widths)
    places = np.repeat(starts[:-1], widths) + np.where(np.repeat(wider == num_states, widths), rows.labels, rank)
    labels = (np.arange(starts[-1]) - np.repeat(starts[:-1], wider)).astype(np.int32)  # right where there are all
    labels[places] = rows.labels
    return rows._replace(weight_starts=starts, labels=labels), places


class ChainSums(NamedTuple):
    """What sums over all labellings come to."""

    log_totals: Floats  # log Z of each sequence
    beliefs: Floats  # token, state: its probability, times the share of the sequence
    pairs: Floats  # state before, state: the expected number of transitions, each times the share of its sequence
    edges: Floats  # token, state before, state: the probability of both; empty unless asked for


@dataclass(frozen=True, slots=True, eq=False)
class Chains:
    """Labellings of sequences have the weight exp(Σ scores + Σ transitions)."""

    starts: Ints  # of the sequences
    scores: Floats  # token, state
    transitions: Floats  # state before, state; -inf where it is impossible
    threads: int | None = None  # by default one for each core

    def sums(self, shares: Floats | None = None, *, with_edges: bool = False) -> ChainSums:
        """Forward and backward messages of all sequences."""
        num_states, num_sequences = len(self.transitions), len(self.starts) - 1
        beliefs, log_totals, tops = self.scores.copy(), np.empty(num_sequences), np.empty(len(self.scores))
        edges = np.zeros((len(beliefs), num_states, num_states) if with_edges else (0, 0, 0))
        weights = np.ones(num_sequences) if shares is None else shares
        chains = LabelChains(self.starts, weights, self.transitions, self.scores)

        def run(first: int, last: int) -> Floats:
            pairs, tokens = np.zeros((num_states, num_states)), slice(self.starts[first], self.starts[last])
            lift(beliefs[tokens], tops[tokens])
            np.exp(beliefs[tokens], out=beliefs[tokens])
            sum_chains(chains, first, last, tops, beliefs, log_totals, pairs, edges)
            return pairs

        pairs = sum(in_parts(run, self.starts, self.threads), np.zeros((num_states, num_states)))
        return ChainSums(log_totals, beliefs, pairs, edges)

    def best(self, num_best: int = 1) -> tuple[Codes, Floats]:
        """The best labellings, best first (axes: rank, token), and their scores (axes: sequence, rank)."""
        paths = np.zeros((num_best, len(self.scores)), dtype=np.int32)
        values = np.empty((len(self.starts) - 1, num_best))
        matrices, one_matrix = self.transitions[None], np.empty(0, dtype=np.int32)

        def run(first: int, last: int) -> None:
            best_chains(self.starts, first, last, matrices, one_matrix, self.scores, _TIE, paths, values)

        in_parts(run, self.starts, self.threads)
        return paths, values

    def within(self, allowed: Flags) -> Chains:
        """Only labellings of states that are allowed."""
        return Chains(self.starts, np.where(allowed, self.scores, -np.inf), self.transitions, self.threads)

    def scores_of(self, states: Codes) -> Floats:
        """The score of one labelling of each sequence."""
        steps = self.scores[np.arange(len(states)), states] if len(states) else np.zeros(0)
        later = later_tokens(self.starts)
        steps[later] += self.transitions[states[later - 1], states[later]]
        return np.array([steps[begin:end].sum() for begin, end in pairwise(self.starts)])
