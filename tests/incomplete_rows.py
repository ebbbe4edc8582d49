"""Rows with missing cells of a known graph, and BIC of observed cells by listing completions."""

import numpy as np

from completion_oracle import oracle_counts

NAMES = ["p", "q", "r", "s"]


def holes(seed, num_rows=300, missing=0.2):
    """A chain of three and a coin, cells missing at random."""
    rng = np.random.default_rng(seed)
    codes = rng.integers(0, 2, size=(4, num_rows))
    codes[1] = np.where(rng.random(num_rows) < 0.9, codes[0], codes[1])
    codes[2] = np.where(rng.random(num_rows) < 0.85, codes[1], codes[2])
    lost = rng.random(codes.shape) < missing
    return {
        n: [None if gone else int(c) for c, gone in zip(codes[i], lost[i], strict=True)] for i, n in enumerate(NAMES)
    }


def oracle_bic(network, rows, weights):
    """ℓ(observed) - ½ ln N Dim, the likelihood by listing completions."""
    likelihood = oracle_counts(network, rows, weights, [next(iter(network.variables))])[1]
    dimension = sum(np.prod(c.values.shape[:-1], initial=1.0) * (c.values.shape[-1] - 1) for c in network.cpds.values())
    return likelihood - 0.5 * np.log(max(weights.sum(), 1.0)) * dimension
