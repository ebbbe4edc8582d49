"""Rows of Markov chains: which draws to take, and what they are worth."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Codes, Ints
from plausible.inference.sampling.chain_diagnostics import effective_sample_size

__all__ = ["effective_rows", "spread_rows"]

#: Effective sizes are looked at for so many blocks at most, as evenly spread as they come.
_MAX_LOOKED_AT = 200
#: Chains with fewer draws have no autocorrelations to speak of.
_FEWEST_DRAWS = 8


def spread_rows(draws: Codes, num_rows: int) -> Ints:
    """As many rows, evenly spread over the run, of draws (chains, draws, blocks); the chains take turns.

    >>> spread_rows(np.arange(8).reshape(2, 4, 1), 4).ravel().tolist()  # chains 0 1 2 3 and 4 5 6 7
    [0, 5, 2, 7]
    """
    num_chains, per_chain, _ = draws.shape
    turns = np.arange(num_rows)
    chains = turns % num_chains
    places = (turns * per_chain) // max(num_rows, 1)
    return np.asarray(draws[chains, places], dtype=np.int64)


def effective_rows(draws: Codes) -> float:
    """The smallest effective size of any block's code, of up to 200 blocks, among draws (chains, draws, blocks)."""
    num_chains, per_chain, num_blocks = draws.shape
    if not num_blocks or per_chain < _FEWEST_DRAWS:
        return float(num_chains * per_chain)
    looked_at = np.unique(np.linspace(0, num_blocks - 1, min(num_blocks, _MAX_LOOKED_AT)).astype(np.int64))
    return float(min(float(effective_sample_size(draws[:, :, block])) for block in looked_at))
