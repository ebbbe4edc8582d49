"""Chains of labels: scores from sparse features, sums and maxima over all labellings, and training one by one.

Tokens of all sequences lie one after the other, labels are contiguous. Sums are scaled at each token and free of
logarithms but for one a token; a sequence whose numbers could vanish that way is summed in logarithms.
"""

from __future__ import annotations

import math
from typing import NamedTuple

import numpy as np

from plausible.base.arrays import Codes, Floats, Ints
from plausible.kernels.jit import inlined_kernel, kernel, twin_of
from plausible.kernels.state_chains import lift
from plausible.kernels.vectors import log_sum

#: Scaled sums are safe where no two scores of a token, and no two transitions, are further apart, and where no message
#: gets smaller: products of four such numbers are far from vanishing.
_SPREAD, _LEAST_POTENTIAL, _TINY = 150.0, math.exp(-150.0), 1e-100


class TokenFeatures(NamedTuple):
    """The features of tokens, and the labels that each feature has a weight for."""

    #: Token t has the features `features[starts[t]:starts[t + 1]]`, with the values beside them.
    starts: Ints
    features: Codes
    values: Floats
    #: Feature f has the weights `weight_starts[f]:weight_starts[f + 1]`, one for each of the labels there.
    weight_starts: Ints
    labels: Codes


class LabelChains(NamedTuple):
    """Labellings of sequences have the weight exp(Σ scores + Σ transitions)."""

    starts: Ints  # of the sequences
    shares: Floats  # how often each counts
    transitions: Floats  # label before, label; -inf where it is impossible
    scores: Floats  # token, label


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


# --- sums over all labellings; arrays go with the places in them, and `width` is the number of labels, as in chains of
# hidden states ---


@kernel(
    steps=lambda chains, first, last, *_: 4 * (chains.starts[last] - chains.starts[first]) * chains.transitions.size
)
def sum_chains(
    chains: LabelChains,
    first: int,
    last: int,
    tops: Floats,
    beliefs: Floats,
    log_totals: Floats,
    pairs: Floats,
    edges: Floats,
) -> None:
    """Turn potentials of sequences from the first up to the last into probabilities of labels, times their shares.

    `beliefs` has the potentials at first, exp(scores - top) with the greatest score of each token in `tops`.
    `log_totals` gets log Z of each sequence, -inf where no labelling is possible; `pairs` is added the expected number
    of each transition. `edges` gets the probabilities of each two labels side by side, the later token's, unless it is
    empty.
    """
    longest, width = 0, len(chains.transitions)
    for sequence in range(first, last):
        longest = max(longest, chains.starts[sequence + 1] - chains.starts[sequence])
    peak, is_even = _peak(chains.transitions)
    factors = np.exp(chains.transitions - peak)
    flipped, outer, sizes = factors.T.copy(), np.zeros((width, width)), np.empty(longest)
    forward, backward, onward = np.empty((longest, width)), np.empty((longest, width)), np.empty((longest, width))
    for sequence in range(first, last):
        begin, end = chains.starts[sequence], chains.starts[sequence + 1]
        rows, share = beliefs[begin:end], chains.shares[sequence]
        between = edges[begin:end] if edges.shape[0] else edges
        log_totals[sequence] = 0.0
        if begin == end:
            continue
        is_safe = is_even and _are_between(rows, _LEAST_POTENTIAL, math.inf)
        is_safe = is_safe and _pass_forward(rows, factors, forward, sizes, width)
        if is_safe and _pass_backward(rows, flipped, sizes, backward, onward, width):
            for t in range(end - begin):
                log_totals[sequence] += tops[begin + t] + math.log(sizes[t])
            log_totals[sequence] += (end - begin - 1) * peak
            _meet(rows, share, forward, backward, onward, outer, width)
            if edges.shape[0]:
                _put_edges(rows, share, forward, onward, factors, between)
        else:
            scores = chains.scores[begin:end]
            log_totals[sequence] = _sum_logs(scores, chains.transitions, share, forward, backward, rows, pairs, between)
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
def _are_between(rows: Floats, least: float, most: float) -> bool:
    """Whether all numbers but zeros are."""
    num_others = 0
    for t in range(rows.shape[0]):
        for label in range(rows.shape[1]):
            number = rows[t, label]
            num_others += not (number == 0.0 or least <= number <= most)
    return num_others == 0


@twin_of(_are_between)
def _are_between_at_once(rows: Floats, least: float, most: float) -> bool:
    return bool(((rows == 0.0) | ((least <= rows) & (rows <= most))).all())


@kernel
def _pass_forward(potentials: Floats, factors: Floats, forward: Floats, sizes: Floats, width: int) -> bool:
    """Messages from the left, each summing to one, and what they were divided by; false where they may be too small."""
    for t in range(len(potentials)):
        if t:
            _come(forward, t - 1, factors, forward, t, width)
        else:
            forward[0] = 1.0
        sizes[t] = _weigh(forward, t, potentials, width)
        if not sizes[t] > 0.0:
            return False
    return _are_between(forward[: len(potentials)], _TINY, math.inf)


@kernel
def _pass_backward(
    potentials: Floats, flipped: Floats, sizes: Floats, backward: Floats, onward: Floats, width: int
) -> bool:
    """Messages from the right, scaled like those from the left; false where they may be too small, or too large.

    `onward` gets them times the potentials of their tokens.
    """
    length = len(potentials)
    backward[length - 1] = 1.0
    for t in range(length - 1, 0, -1):
        _ahead(potentials, backward, sizes[t], onward, t, width)
        _come(onward, t, flipped, backward, t - 1, width)
    return _are_between(backward[:length], _TINY, 1.0 / _TINY)


@inlined_kernel
def _come(messages: Floats, t: int, factors: Floats, rows: Floats, place: int, width: int) -> None:
    """Σ_i messages[t, i] factors[i, j]; four at a time, so that a row is read and written a quarter as often."""
    whole = width // 4 * 4
    for j in range(width):
        rows[place, j] = 0.0
    for i in range(0, whole, 4):
        a, b, c, d = messages[t, i], messages[t, i + 1], messages[t, i + 2], messages[t, i + 3]
        for j in range(width):
            some = a * factors[i, j] + b * factors[i + 1, j]
            rows[place, j] += some + (c * factors[i + 2, j] + d * factors[i + 3, j])
    for i in range(whole, width):
        share = messages[t, i]
        for j in range(width):
            rows[place, j] += share * factors[i, j]


@twin_of(_come)
def _come_at_once(messages: Floats, t: int, factors: Floats, rows: Floats, place: int, _width: int) -> None:
    np.dot(messages[t], factors, out=rows[place])


@inlined_kernel
def _total(rows: Floats, t: int, width: int) -> float:
    """Added in fours: one after the other, each sum would wait for the one before."""
    total, whole = 0.0, width // 4 * 4
    for j in range(0, whole, 4):
        total += (rows[t, j] + rows[t, j + 1]) + (rows[t, j + 2] + rows[t, j + 3])
    for j in range(whole, width):
        total += rows[t, j]
    return total


@inlined_kernel
def _weigh(forward: Floats, t: int, potentials: Floats, width: int) -> float:
    """Multiply by the potentials and divide by the sum, which is told."""
    for j in range(width):
        forward[t, j] *= potentials[t, j]
    size = _total(forward, t, width)
    factor = 1.0 / size if size > 0.0 else 0.0
    for j in range(width):
        forward[t, j] *= factor
    return size


@twin_of(_weigh)
def _weigh_at_once(forward: Floats, t: int, potentials: Floats, _width: int) -> float:
    row = forward[t]
    row *= potentials[t]
    size = float(row.sum())
    row *= 1.0 / size if size > 0.0 else 0.0
    return size


@inlined_kernel
def _ahead(potentials: Floats, backward: Floats, size: float, onward: Floats, t: int, width: int) -> None:
    factor = 1.0 / size
    for j in range(width):
        onward[t, j] = potentials[t, j] * factor * backward[t, j]


@twin_of(_ahead)
def _ahead_at_once(potentials: Floats, backward: Floats, size: float, onward: Floats, t: int, _width: int) -> None:
    np.multiply(potentials[t] * (1.0 / size), backward[t], out=onward[t])


@kernel
def _meet(
    rows: Floats, share: float, forward: Floats, backward: Floats, onward: Floats, outer: Floats, width: int
) -> None:
    """Messages to probabilities; those of transitions are added up before they are multiplied by the factors."""
    for t in range(len(rows)):
        for j in range(width):
            rows[t, j] = forward[t, j] * backward[t, j]
        factor = share / _total(rows, t, width)
        for j in range(width):
            rows[t, j] *= factor
        for i in range(width if t else 0):
            weight = forward[t - 1, i] * factor
            for j in range(width):
                outer[i, j] += weight * onward[t, j]


@twin_of(_meet)
def _meet_at_once(
    rows: Floats, share: float, forward: Floats, backward: Floats, onward: Floats, outer: Floats, _width: int
) -> None:
    length = len(rows)
    np.multiply(forward[:length], backward[:length], out=rows)
    factors = share / rows.sum(axis=1, keepdims=True)
    rows *= factors
    outer += (forward[: length - 1] * factors[1:]).T @ onward[1:length]


@kernel
def _put_edges(rows: Floats, share: float, forward: Floats, onward: Floats, factors: Floats, edges: Floats) -> None:
    """The probabilities of labels and those before; products of messages miss a sum of one by rounding alone."""
    for t in range(1, len(rows)):
        for i in range(rows.shape[1]):
            edges[t, i] = share * forward[t - 1, i] * factors[i] * onward[t]


@kernel
def _sum_logs(
    scores: Floats,
    transitions: Floats,
    share: float,
    forward: Floats,
    backward: Floats,
    beliefs: Floats,
    pairs: Floats,
    edges: Floats,
) -> float:
    """The same in logarithms."""
    length, num_labels = scores.shape
    for t in range(length):
        for label in range(num_labels):
            forward[t, label] = scores[t, label]
            if t:
                forward[t, label] += log_sum(forward[t - 1] + transitions[:, label])
    backward[length - 1] = 0.0
    for t in range(length - 2, -1, -1):
        for label in range(num_labels):
            backward[t, label] = log_sum(transitions[label] + scores[t + 1] + backward[t + 1])
    total = log_sum(forward[length - 1])
    for t in range(length):
        for label in range(num_labels):
            for before in range(num_labels if t else 0):
                around = forward[t - 1, before] + transitions[before, label] + scores[t, label] + backward[t, label]
                belief = math.exp(around - total) if around > -math.inf else 0.0
                pairs[before, label] += share * belief
                if edges.shape[0]:
                    edges[t, before, label] = share * belief
    for t in range(length):
        for label in range(num_labels):
            around = forward[t, label] + backward[t, label]
            beliefs[t, label] = share * math.exp(around - total) if around > -math.inf else 0.0
    return total


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
    scores, beliefs = np.empty((len(truth), num_labels)), np.empty((len(truth), num_labels))
    tops, log_totals, pairs = np.empty(len(truth)), np.empty(len(starts) - 1), np.empty((num_labels, num_labels))
    for number in range(len(steps.order)):
        sequence, rate = steps.order[number], rates[number]
        first, last = starts[sequence], starts[sequence + 1]
        score_tokens(features, weights, first, last, scores)
        scores[first:last] *= scale
        beliefs[first:last] = scores[first:last]
        lift(beliefs[first:last], tops[first:last])
        beliefs[first:last] = np.exp(beliefs[first:last])
        pairs[:] = 0.0
        chains = LabelChains(starts, steps.shares, transitions * scale, scores)
        sum_chains(chains, sequence, sequence + 1, tops, beliefs, log_totals, pairs, no_edges)
        scale *= max(1.0 - rate * precision, 1e-3)
        step = rate / scale
        for token in range(first, last):
            beliefs[token, truth[token]] -= steps.shares[sequence]
            for place in range(features.starts[token], features.starts[token + 1]):
                feature, value = features.features[place], step * features.values[place]
                for weight in range(features.weight_starts[feature], features.weight_starts[feature + 1]):
                    weights[weight] -= value * beliefs[token, features.labels[weight]]
            if token > first:
                pairs[truth[token - 1], truth[token]] -= steps.shares[sequence]
        transitions -= step * pairs * is_weight
    return scale
