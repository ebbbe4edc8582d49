"""Chains of labels: scores from sparse features, sums and maxima over all labellings, and training one by one.

Tokens of all sequences lie one after the other, labels are contiguous. Sums are scaled at each token and free of
logarithms but for one a token; a sequence whose numbers could vanish that way is summed in logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.jit import kernel

#: Scaled sums are safe where no two scores of a token, and no two transitions, are further apart, and where no message
#: gets smaller: products of four such numbers are far from vanishing.
_SPREAD, _TINY = 150.0, 1e-100


class TokenFeatures(NamedTuple):
    """The features of tokens, and the labels that each feature has a weight for."""

    #: Token t has the features `features[starts[t]:starts[t + 1]]`, with the values beside them.
    starts: Ints
    features: Codes
    values: Floats
    #: Feature f has the weights `weight_starts[f]:weight_starts[f + 1]`, one for each of the labels there.
    weight_starts: Ints
    labels: Codes


class Steps(NamedTuple):
    """What training one sequence after the other looks at."""

    sequence_starts: Ints
    order: Ints  # the sequences, as they come
    shares: Floats  # how often each sequence counts
    truth: Codes  # the label of each token


@kernel(steps=lambda features, weights, first, last, scores: 4 * (features.starts[last] - features.starts[first]))
def score_tokens(features: TokenFeatures, weights: Floats, first: int, last: int, scores: Floats) -> None:
    """For tokens from the first up to the last the sum of weights times values, of each label."""
    for token in range(first, last):
        row = scores[token]
        row[:] = 0.0
        for place in range(features.starts[token], features.starts[token + 1]):
            feature, value = features.features[place], features.values[place]
            begin, end = features.weight_starts[feature], features.weight_starts[feature + 1]
            if end - begin == len(row):  # all labels, in their order: many are added at once
                part = weights[begin:end]
                for label in range(len(row)):
                    row[label] += value * part[label]
            else:
                for weight in range(begin, end):
                    row[features.labels[weight]] += value * weights[weight]


@kernel(steps=lambda columns, beliefs, first, last, sums: 4 * (columns.starts[last] - columns.starts[first]))
def sum_features(columns: TokenFeatures, beliefs: Floats, first: int, last: int, sums: Floats) -> None:
    """For features from the first up to the last and each weight the sum of values times beliefs, over tokens.

    `columns` has the tokens of each feature where `TokenFeatures` has the features of each token.
    """
    for feature in range(first, last):
        begin, end = columns.weight_starts[feature], columns.weight_starts[feature + 1]
        part, labels = sums[begin:end], columns.labels[begin:end]
        part[:] = 0.0
        for place in range(columns.starts[feature], columns.starts[feature + 1]):
            row, value = beliefs[columns.features[place]], columns.values[place]
            if len(part) == len(row):
                for label in range(len(row)):
                    part[label] += value * row[label]
            else:
                for weight in range(len(part)):
                    part[weight] += value * row[labels[weight]]


# --- sums over all labellings ---


@kernel(steps=lambda starts, first, last, transitions, *_: 4 * (starts[last] - starts[first]) * transitions.size)
def sum_chains(
    starts: Ints,
    first: int,
    last: int,
    transitions: Floats,
    shares: Floats,
    scores: Floats,
    log_totals: Floats,
    pairs: Floats,
    edges: Floats,
) -> None:
    """Make the scores of sequences from the first up to the last the probabilities of labels, times their shares.

    `log_totals` gets log Z of each, -inf where no labelling is possible; `pairs` is added the expected number of each
    transition. `edges` gets the probabilities of each two labels side by side, the later token's, unless it is empty.
    """
    longest, num_labels = 0, transitions.shape[0]
    for sequence in range(first, last):
        longest = max(longest, starts[sequence + 1] - starts[sequence])
    peak, is_even = _peak(transitions)
    factors = np.exp(transitions - peak)
    flipped, outer = factors.T.copy(), np.zeros((num_labels, num_labels))
    forward, backward = np.empty((longest, num_labels)), np.empty((longest, num_labels))
    potentials, sizes = np.empty((longest, num_labels)), np.empty(longest)
    for sequence in range(first, last):
        rows = scores[starts[sequence] : starts[sequence + 1]]
        between = edges[starts[sequence] : starts[sequence + 1]] if edges.shape[0] else edges
        log_totals[sequence], total = 0.0, math.nan
        if not len(rows):
            continue
        if is_even:
            total = _pass_forward(rows, factors, potentials, forward, sizes)
        if is_even and total > -math.inf and _pass_backward(len(rows), flipped, potentials, backward):
            _add_outer(rows, shares[sequence], potentials, forward, backward, sizes, outer, factors, between)
            log_totals[sequence] = total + (len(rows) - 1) * peak
        else:
            log_totals[sequence] = _sum_logs(rows, transitions, shares[sequence], forward, backward, pairs, between)
    pairs += outer * factors


@kernel
def _peak(numbers: Floats) -> tuple[float, bool]:
    """The greatest number, and whether the finite ones are near enough to it; zero where none is finite."""
    top, bottom = -math.inf, math.inf
    for number in numbers.flat:
        top = max(top, number)
        if number > -math.inf:
            bottom = min(bottom, number)
    return (0.0 if top == -math.inf else top), not top - bottom > _SPREAD


@kernel
def _pass_forward(rows: Floats, factors: Floats, potentials: Floats, forward: Floats, sizes: Floats) -> float:
    """Messages from the left, each summing to one; log Z but for transitions, NaN where they might be too small."""
    total = 0.0
    for t in range(len(rows)):
        peak, is_even = _peak(rows[t])
        row = forward[t]
        for label in range(len(row)):
            potentials[t, label] = math.exp(rows[t, label] - peak)
        if t == 0:
            row[:] = 1.0
        else:
            row[:] = 0.0
            for before in range(len(row)):
                share, factor = forward[t - 1, before], factors[before]
                for label in range(len(row)):
                    row[label] += share * factor[label]
        row *= potentials[t]
        sizes[t] = _normalize(row)
        if not is_even or not sizes[t] > 0.0:
            return math.nan
        total += peak + math.log(sizes[t])
    return total


@kernel
def _normalize(row: Floats) -> float:
    """Divide by the sum, which is told; NaN where a number would be tiny but not zero."""
    size: float = row.sum()
    if size > 0.0:
        row /= size
    for number in row:
        if 0.0 < number < _TINY:
            return math.nan
    return size


@kernel
def _pass_backward(length: int, flipped: Floats, potentials: Floats, backward: Floats) -> bool:
    """Messages from the right; false where they might be too small."""
    backward[length - 1] = 1.0
    for t in range(length - 2, -1, -1):
        row = backward[t]
        row[:] = 0.0
        for after in range(len(row)):
            share, factor = potentials[t + 1, after] * backward[t + 1, after], flipped[after]
            for label in range(len(row)):
                row[label] += share * factor[label]
        if not _normalize(row) > 0.0:
            return False
    return True


@kernel
def _add_outer(
    rows: Floats,
    share: float,
    potentials: Floats,
    forward: Floats,
    backward: Floats,
    sizes: Floats,
    outer: Floats,
    factors: Floats,
    edges: Floats,
) -> None:
    """Messages to probabilities; those of transitions are added up before they are multiplied by the factors."""
    num_labels = rows.shape[1]
    for t in range(len(rows)):
        row = rows[t]
        row[:] = forward[t]
        row *= backward[t]
        size = row.sum()
        row *= share / size
        if t == 0:
            continue
        for before in range(num_labels):
            weight, sums = forward[t - 1, before] * share / (size * sizes[t]), outer[before]
            for label in range(num_labels):
                sums[label] += weight * potentials[t, label] * backward[t, label]
                if edges.shape[0]:
                    edges[t, before, label] = (
                        weight * potentials[t, label] * backward[t, label] * factors[before, label]
                    )


@kernel
def _sum_logs(
    rows: Floats, transitions: Floats, share: float, forward: Floats, backward: Floats, pairs: Floats, edges: Floats
) -> float:
    """The same in logarithms."""
    length, num_labels = rows.shape
    for t in range(length):
        for label in range(num_labels):
            forward[t, label] = rows[t, label]
            if t:
                forward[t, label] += log_sum(forward[t - 1] + transitions[:, label])
    backward[length - 1] = 0.0
    for t in range(length - 2, -1, -1):
        for label in range(num_labels):
            backward[t, label] = log_sum(transitions[label] + rows[t + 1] + backward[t + 1])
    total = log_sum(forward[length - 1])
    for t in range(length):
        for label in range(num_labels):
            for before in range(num_labels if t else 0):
                around = forward[t - 1, before] + transitions[before, label] + rows[t, label] + backward[t, label]
                belief = math.exp(around - total) if around > -math.inf else 0.0
                pairs[before, label] += share * belief
                if edges.shape[0]:
                    edges[t, before, label] = share * belief
    for t in range(length):
        for label in range(num_labels):
            around = forward[t, label] + backward[t, label]
            rows[t, label] = share * math.exp(around - total) if around > -math.inf else 0.0
    return total


@kernel
def log_sum(logs: Floats) -> float:
    """log Σ exp(x)."""
    top: float = logs.max()
    if top == -math.inf:
        return top
    return top + math.log(float(np.exp(logs - top).sum()))


# --- best labellings ---


@kernel(steps=lambda starts, first, last, matrices, *_: 2 * (starts[last] - starts[first]) * matrices[0].size)
def best_chains(
    starts: Ints,
    first: int,
    last: int,
    matrices: Floats,
    matrix_of: Codes,
    scores: Floats,
    noise: float,
    paths: Codes,
    values: Floats,
) -> None:
    """The best labellings of sequences from the first up to the last, as many as `paths` has rows, and their scores.

    `matrix_of` tells which of the matrices of transitions leads to each token; it is empty where there is one.

    Of labellings that noise alone tells apart, that with the earlier label where they differ last comes first. Where
    there are fewer than asked for, values are -inf. The memory is that of the longest sequence.
    """
    num_best, num_labels, longest = paths.shape[0], scores.shape[1], 0
    for sequence in range(first, last):
        longest = max(longest, starts[sequence + 1] - starts[sequence])
    origins = np.empty((longest, num_labels, num_best), dtype=np.int32)
    reached, before = np.empty((num_labels, num_best)), np.empty((num_labels, num_best))
    for sequence in range(first, last):
        begin, end = starts[sequence], starts[sequence + 1]
        offset = 0.0
        reached[:] = -math.inf
        reached[:, 0] = 0.0
        if begin == end:
            values[sequence] = reached[0]
            continue
        for token in range(begin, end):
            if token > begin:
                before[:] = reached
                transitions = matrices[matrix_of[token] if len(matrix_of) else 0]
                _extend(before, transitions, noise, reached, origins[token - begin])
            for label in range(num_labels):
                reached[label] += scores[token, label]
            top = reached.max()
            if top > -math.inf:
                offset += top
                reached -= top
        _trace_back(reached, origins[: end - begin], noise, paths[:, begin:end], values[sequence])
        values[sequence] += offset


@kernel
def _extend(before: Floats, transitions: Floats, noise: float, reached: Floats, origins: Codes) -> None:
    """The best ways to each label from the best ways to those before, the greatest first."""
    num_labels, num_best = before.shape
    reached[:] = -math.inf
    origins[:] = 0
    for label in range(num_labels):
        for old in range(num_labels):
            for rank in range(num_best):
                value = before[old, rank] + transitions[old, label]
                if not value > reached[label, num_best - 1] + noise:
                    break
                _insert(reached[label], origins[label], value, old * num_best + rank, noise)


@kernel
def _insert(values: Floats, origins: Codes, value: float, origin: int, noise: float) -> None:
    """Put a value in its place, after those that it is not greater than; the last one falls out."""
    place = len(values) - 1
    while place > 0 and value > values[place - 1] + noise:
        values[place], origins[place] = values[place - 1], origins[place - 1]
        place -= 1
    values[place], origins[place] = value, origin


@kernel
def _trace_back(reached: Floats, origins: Codes, noise: float, paths: Codes, values: Floats) -> None:
    num_labels, num_best = reached.shape
    ends = np.zeros(num_best, dtype=np.int32)
    values[:] = -math.inf
    for label in range(num_labels):
        for rank in range(num_best):
            if reached[label, rank] > values[num_best - 1] + noise:
                _insert(values, ends, reached[label, rank], label * num_best + rank, noise)
    for best in range(num_best):
        place = ends[best]
        for t in range(paths.shape[1] - 1, -1, -1):
            paths[best, t] = place // num_best
            place = origins[t, place // num_best, place % num_best]


# --- training one sequence after the other ---


@kernel(steps=lambda features, steps, *_: 20 * len(features.features))
def perceptron_epoch(
    features: TokenFeatures,
    steps: Steps,
    weights: Floats,
    transitions: Floats,
    sums: Floats,
    pair_sums: Floats,
    is_weight: Floats,
    clock: int,
) -> int:
    """Add the features of the truth and take away those of the best labelling, for one sequence after the other.

    The average of all weights so far is `weights - sums / clock` after it. Tells how many tokens were labelled wrongly.
    """
    starts, truth, num_wrong = steps.sequence_starts, steps.truth, 0
    scores, values = np.empty((len(truth), len(transitions))), np.empty((len(starts) - 1, 1))
    paths, one_matrix = np.empty((1, len(truth)), dtype=np.int32), np.empty(0, dtype=np.int32)
    for sequence in steps.order:
        first, last, share = starts[sequence], starts[sequence + 1], steps.shares[sequence]
        score_tokens(features, weights, first, last, scores)
        matrices = transitions.reshape((1, *transitions.shape))
        best_chains(starts, sequence, sequence + 1, matrices, one_matrix, scores, 0.0, paths, values)
        for token in range(first, last):
            guess, right = paths[0, token], truth[token]
            if guess != right:
                num_wrong += 1
                _add_token(features, token, right, guess, share, weights)
                _add_token(features, token, right, guess, share * clock, sums)
            if token > first and (guess != right or paths[0, token - 1] != truth[token - 1]):
                before, guessed = truth[token - 1], paths[0, token - 1]
                for pair, step in ((transitions, share), (pair_sums, share * clock)):
                    pair[before, right] += step * is_weight[before, right]
                    pair[guessed, guess] -= step * is_weight[guessed, guess]
        clock += 1
    return num_wrong


@kernel
def _add_token(features: TokenFeatures, token: int, right: int, wrong: int, step: float, weights: Floats) -> None:
    """Add to the weights of one label what is taken from those of another one."""
    for place in range(features.starts[token], features.starts[token + 1]):
        feature, change = features.features[place], step * features.values[place]
        for weight in range(features.weight_starts[feature], features.weight_starts[feature + 1]):
            if features.labels[weight] == right:
                weights[weight] += change
            elif features.labels[weight] == wrong:
                weights[weight] -= change


@kernel(steps=lambda features, steps, *_: 40 * len(features.features))
def gradient_epoch(
    features: TokenFeatures,
    steps: Steps,
    weights: Floats,
    transitions: Floats,
    is_weight: Floats,
    rates: Floats,
    precision: float,
    scale: float,
) -> float:
    """Go along the gradient of the log-likelihood of one sequence after the other, less its share of the penalty.

    The weights are `scale` times those stored, so that shrinking all of them costs nothing; tells the scale after it.
    `is_weight` is one where there is a weight of a transition.
    """
    starts, truth = steps.sequence_starts, steps.truth
    num_labels, no_edges = len(transitions), np.empty((0, 0, 0))
    scores, log_totals = np.empty((len(truth), num_labels)), np.empty(len(starts) - 1)
    pairs = np.empty((num_labels, num_labels))
    for number in range(len(steps.order)):
        sequence, rate = steps.order[number], rates[number]
        first, last = starts[sequence], starts[sequence + 1]
        score_tokens(features, weights, first, last, scores)
        scores[first:last] *= scale
        pairs[:] = 0.0
        sum_chains(
            starts, sequence, sequence + 1, transitions * scale, steps.shares, scores, log_totals, pairs, no_edges
        )
        scale *= max(1.0 - rate * precision, 1e-3)
        step = rate / scale
        for token in range(first, last):
            scores[token, truth[token]] -= steps.shares[sequence]
            for place in range(features.starts[token], features.starts[token + 1]):
                feature, value = features.features[place], step * features.values[place]
                for weight in range(features.weight_starts[feature], features.weight_starts[feature + 1]):
                    weights[weight] -= value * scores[token, features.labels[weight]]
            if token > first:
                pairs[truth[token - 1], truth[token]] -= steps.shares[sequence]
        transitions -= step * pairs * is_weight
    return scale
