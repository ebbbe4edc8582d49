"""Gibbs sampling: every variable, or block of variables, is redrawn in turn given all others."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from plausible.inference.problem import Problem
from plausible.inference.sampling.chain_layout import ChainLayout
from plausible.inference.sampling.chains import ChainEngine, Sweeps
from plausible.kernels.chain_arrays import ChainArrays

__all__ = ["Gibbs"]


@dataclass(frozen=True, slots=True)
class Gibbs(ChainEngine):
    """Gibbs sampling (Geman & Geman 1984; Koller & Friedman 2009, algorithm 12.4), from several chains at once.

    A sweep redraws each block of variables from P(block | all others), the renormalised product of the factors that
    hold some of it. Beliefs about what one block holds are means of these probabilities, not of draws (Gelfand & Smith
    1990), which varies less; other joint beliefs are frequencies. `info.error` is half of a 95 % interval for
    the worst number, from batch means and Student's t, `info.residual` the worst split R-hat minus one, and
    `info.advice` says where chains disagree, where zeros keep them from going everywhere, or where draws are too few.

    A sweep costs the sum, over blocks, of their joint states times the factors that they touch. `log_total` is left
    to `AnnealedImportance`.

    Parameters
    ----------
    num_samples
        Sweeps that count, of all chains together; rounded up so that each chain has as many batches of one length.
    burn_in
        Sweeps of each chain before those.
    num_chains
        Independent chains, each from a random assignment of positive probability.
    blocks
        Groups of names to redraw together; all other variables are redrawn alone. Names that don't matter to a
        question are passed over.
    collapsed
        Names of variables to sum out exactly before sampling; beliefs about them are exact given the others.
    seed
        A whole number; the same one gives the same answer.
    num_threads
        At most this many, one for each core where left out; the answer does not depend on it.

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
        from plausible.kernels.gibbs import gibbs_sweeps

        def work(chains: ChainArrays) -> None:
            gibbs_sweeps(sweeps.number, problem.tables, layout.links, chains, np.empty(layout.largest_block))

        self._each_chain(work, sweeps)
