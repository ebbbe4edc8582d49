"""Gibbs sampling: every variable, or block of variables, is redrawn in turn given all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_layout import ChainLayout
from plausible.inference.sampling.chains import ChainEngine, Sweeps
from plausible.kernels.chain_arrays import ChainArrays
from plausible.kernels.gibbs import gibbs_sweeps


@dataclass(frozen=True, slots=True)
class Gibbs(ChainEngine):
    """Gibbs sampling with several chains (Geman & Geman 1984; Koller & Friedman 2009, algorithm 12.4).

    A sweep redraws each block of variables from P(block | all others), the normalised product of the factors that
    involve it. Beliefs about variables of one block are means of these probabilities rather than of draws (Gelfand &
    Smith 1990), which reduces the variance; other joint beliefs are frequencies. `info.error` is half the width of a 95
    % interval for the least accurate number, from batch means and Student's t. `info.residual` is the worst split R-hat
    minus one. `info.advice` says if chains disagree, if zeros keep them from reaching all states, or if there are too
    few draws.

    A sweep costs, for each block, its number of joint states times the factors that involve it. For `log_total` use
    `AnnealedImportance`.

    Parameters
    ----------
    num_samples
        How many sweeps to use, over all chains; rounded up so that every chain has equally many batches of equal
        length.
    burn_in
        How many sweeps of each chain to discard first.
    num_chains
        How many independent chains to run, each from a random assignment of positive probability.
    blocks
        Groups of variables to redraw together; all others are redrawn one by one. Variables that don't affect the
        answer are skipped.
    collapsed
        Variables to sum out exactly before sampling; beliefs about them are exact given the others.
    num_threads
        The most threads to use; by default one per core. The answer does not depend on it.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence, Variable
    >>> a, b = Variable("A", 2), Variable("B", 2)
    >>> factors = [Factor((a,), [0.6, 0.4]), Factor((a, b), [[0.7, 0.3], [0.2, 0.8]])]
    >>> answer = Gibbs().query(factors, [a], Evidence.read({"B": 1}, {"B": b}))
    >>> answer.values.round(2), answer.info.converged  # exact: 0.36, 0.64
    (array([0.36, 0.64]), True)
    """

    num_samples: int = 10_000
    burn_in: int = 1_000
    num_chains: int = 4
    blocks: Sequence[Sequence[str]] | None = None
    collapsed: Sequence[str] = ()
    seed: int = 0
    num_threads: int | None = None

    _METHOD = "Gibbs sampling"

    def __post_init__(self) -> None:
        self._check()

    def _sweep(self, problem: Problem, layout: ChainLayout, sweeps: Sweeps) -> None:

        def work(chains: ChainArrays) -> None:
            gibbs_sweeps(sweeps.number, problem.tables, layout.links, chains, np.empty(layout.largest_block))

        self._each_chain(work, sweeps)
