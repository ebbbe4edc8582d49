"""The policy of tolerances: which differences are noise, for each kind of number, and why.

A float holds 16 digits. What is computed from n of them by sums and products has lost some n times the last digit, so
noise is always a share of the numbers that went in, not of what is left after they cancelled out. Each constant below
belongs to one kind of number; a computation that needs another one says why in its own file.

| kind of number | noise | relative to |
|---|---|---|
| probabilities, sums of a row of them | `PROBABILITY_NOISE` | one |
| rows and covariances written down by people and programs | `WRITTEN_ROUNDING` | one, or their size |
| tables of probabilities taken as they are | `TABLE_ROUNDING` | one |
| weights and counts of rows, frequencies | `WEIGHT_NOISE` | the total |
| scores, log-likelihoods, mutual informations | `score_noise(score)` | the score, at least one |
| scores that EM climbed to | `CLIMBED_NOISE` | the score |
| expected utilities | `UTILITY_NOISE` | the sum of the sizes of the utilities behind them |
| a value and the bound that proves it | `PROOF` | the value, or the range of the utilities |
| what is left of a number's own spread | `DETERMINED` | its variance |

`SMALLEST` is no noise: it stands for zero where one divides by it or takes its logarithm.
"""

from __future__ import annotations

import math

import numpy as np

from plausible.base.arrays import Floats

#: Probabilities that differ by no more are equal: sums of binary fractions miss one by about as much.
PROBABILITY_NOISE = 1e-12
#: Rows of probabilities that miss one by no more are renormalised without a word: decimals with nine places and more.
#: Covariances may miss symmetry, and being positive, by as much.
WRITTEN_ROUNDING = 1e-9
#: Tables that others computed, and that are not renormalised, may miss one by so much: decimals with six places.
TABLE_ROUNDING = 1e-6
#: Weights of rows, and means of them, that differ by no more of their total are equal: millions of rows were added up.
WEIGHT_NOISE = 1e-9
#: Scores that differ by no more, relative to the score, are equal: names decide, not the order of a sum.
SCORE_NOISE = 1e-12
#: Scores that differ by no more, relative to the score, may be where two runs of EM to one maximum ended.
CLIMBED_NOISE = 1e-9
#: Expected utilities that differ by no more, relative to the sizes of what was added up, are equal.
UTILITY_NOISE = 1e-13
#: A bound this near to a value, relative to it, proves it: searches add up many values and bounds.
PROOF = 1e-10
#: A variable of which the others leave no greater share of the variance is determined by them.
DETERMINED = 1e-10
#: The least divisor, and the least number of which a logarithm is taken: zero by zero is zero then.
SMALLEST = 1e-300


def score_noise(score: float) -> float:
    """What may be noise in a score: `SCORE_NOISE` of its size, and at least that; nothing in an infinite one.

    >>> score_noise(-5e3), score_noise(0.1), score_noise(-math.inf)
    (5e-09, 1e-12, 0.0)
    """
    return SCORE_NOISE * max(1.0, abs(score)) if math.isfinite(score) else 0.0


def without_noise(values: Floats, noise: float) -> Floats:
    """The values, those made equal that noise alone tells apart: a sort that keeps the order of equal ones goes by it.

    Each is the least of those that lie no further apart, one after the other, on a grid on which sums are exact.

    >>> without_noise(np.array([2.0, 1.0 + 1e-13, 1.0, -np.inf]), 1e-12).tolist()
    [2.0, 1.0, 1.0, -inf]
    """
    finite = np.sort(values[np.isfinite(values)], axis=None)
    if not finite.size or not noise:
        return values
    least = finite[np.diff(finite, prepend=-np.inf) > noise]
    step = 2.0 ** math.ceil(math.log2(noise))
    places = np.maximum(np.searchsorted(least, values, side="right") - 1, 0)
    return np.where(np.isfinite(values), step * np.round(least[places] / step), values)
