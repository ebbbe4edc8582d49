"""Markov chains with finitely many states: prediction, simulation, fitting, and all that is known of the long run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import Any, final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.base.method_names import own_methods
from plausible.base.options import read_count
from plausible.base.seeds import generator_of
from plausible.errors import InvalidArgument
from plausible.factors import Factor
from plausible.inference.info import QueryInfo
from plausible.inference.markov_chains.chain_input import (
    Start,
    array_of,
    estimated_chain,
    some_of,
)
from plausible.inference.markov_chains.chain_limits import SMALL, power_of
from plausible.inference.markov_chains.chain_long_run import ChainLongRun
from plausible.kernels.markov_chain import walk
from plausible.variables import State


@final
@own_methods
class MarkovChain(ChainLongRun):
    """A homogeneous Markov chain X_1, X_2, ...: P(X_{t+1} = j | X_t = i) = A[i, j] for all t.

    It is immutable. Distributions are returned as factors over one variable named "state".

    Parameters
    ----------
    transition
        A: a row for each state, which sums to one. An array, a SciPy sparse matrix (which stays sparse, so a hundred
        thousand states are no problem), or `{state: {next state: probability}}`.
    states
        Names of the rows; by default 0, 1, ...
    start
        The distribution of X_1: numbers, `{state: probability}`, or one state. Methods that need it also accept it as
        an argument.

    Notes
    -----
    Definitions as in Kemeny & Snell, *Finite Markov Chains* (1960).

    Examples
    --------
    >>> drinks = MarkovChain([[0.9, 0.1], [0.2, 0.8]], states=["Coke", "Pepsi"], start=[0.6, 0.4])
    >>> drinks.n_step(2).round(4)
    array([[0.83, 0.17],
           [0.34, 0.66]])
    >>> print(drinks.predict(3))
    state | value
    ------+-------
    Coke  | 0.6438
    Pepsi | 0.3562
    >>> drinks.stationary().values.round(6)
    array([0.666667, 0.333333])
    """

    # --- a number of steps ---

    def n_step(self, num_steps: int) -> Any:
        """A^n: the probabilities of each state n steps after each state; sparse for a sparse chain."""
        return power_of(self._matrix, read_count("num_steps", num_steps))

    def predict(self, num_steps: int, start: Start | None = None) -> Factor:
        """q A^n: the distribution n steps after one that is q, with the power of A only where that is less work."""
        vector, count = self._begin(start), read_count("num_steps", num_steps)
        info = QueryInfo("prediction")
        if count > self.num_states and (isinstance(self._matrix, np.ndarray) or self.num_states <= SMALL):
            vector = vector @ power_of(self._sparse.toarray(), count)
            return self._factor(vector / vector.sum(), info)
        backwards = self._matrix.T
        for _ in range(count):
            after = backwards @ vector
            after /= after.sum()
            if np.array_equal(after, vector):
                break
            vector = after
        return self._factor(vector, info)

    def then(self, other: MarkovChain) -> MarkovChain:
        """The chain each of whose steps is one of this chain and then one of the other: its matrix is A B.

        What is stationary for both is stationary for it. A sweep of Gibbs sampling is such a chain, made of one kernel
        for each variable, though each of these alone has many stationary distributions.

        >>> flip, rest = MarkovChain([[0, 1], [1, 0]]), MarkovChain([[0.5, 0.5], [0, 1]])
        >>> flip.then(rest).transition
        array([[0. , 1. ],
               [0.5, 0.5]])
        """
        if self.states != other.states:
            raise InvalidArgument(
                f"The chains have different states: {some_of(self.states)} and {some_of(other.states)}. "
                "Chains in turn are to have the same ones, in the same order."
            )
        return MarkovChain(self._matrix @ other._matrix, self.states, self._start)

    def simulate(
        self, num_steps: int, seed: int | np.random.Generator = 0, num_chains: int = 1, start: Start | None = None
    ) -> NDArray[Any]:
        """Trajectories: an array of states with a row for each chain, X_1 first, then `num_steps` more.

        >>> MarkovChain([[0, 1, 0], [0, 0, 1], [0, 0, 1]], states="abc", start="a").simulate(3)
        array([['a', 'b', 'c', 'c']], dtype='<U1')
        """

        levels = generator_of(seed).random(
            (read_count("num_chains", num_chains), read_count("num_steps", num_steps) + 1)
        )
        cumulative, matrix = np.cumsum(self._begin(start)), self._sparse
        paths = np.empty(levels.shape, dtype=np.int64)
        paths[:, 0] = np.searchsorted(cumulative, levels[:, 0] * cumulative[-1], side="right")
        ends, targets = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        walk(ends, targets, matrix.data.copy(), levels[:, 1:], paths)
        return array_of(self.states)[paths]

    def log_likelihood(self, sequence: Iterable[State], start: Start | None = None) -> float:
        """log P(X_1 = x_1, ..., X_T = x_T) = log q(x_1) + Σ log A[x_t, x_{t+1}]; -inf for zero."""
        places = np.array([self._variable.index(state) for state in sequence], dtype=np.int64)
        if not len(places):
            return 0.0
        steps = np.asarray(self._matrix[places[:-1], places[1:]], dtype=float).ravel()
        with np.errstate(divide="ignore"):
            return float(np.log(self._begin(start)[places[0]]) + np.log(steps).sum())

    def likelihood(self, sequence: Iterable[State], start: Start | None = None) -> float:
        """P(X_1 = x_1, ..., X_T = x_T).

        >>> chain = MarkovChain([[0.4, 0.6], [0.2, 0.8]], start=[0.3, 0.7])
        >>> round(chain.likelihood([0, 0, 1, 1]), 6)
        0.0576
        """
        return math.exp(self.log_likelihood(sequence, start))

    # --- chains that are made ---

    @classmethod
    def gamblers_ruin(cls, goal: int, win: float) -> MarkovChain:
        """A gambler who wins or loses one coin at a time until there are none or `goal` of them."""
        if goal < 1 or not 0 <= win <= 1:
            raise InvalidArgument(f"goal={goal} is to be one or more coins and win={win} a probability.")
        table = np.diag(np.r_[np.full(goal - 1, 1.0 - win), 0.0], -1) + np.diag(np.r_[0.0, np.full(goal - 1, win)], 1)
        table[0, 0] = table[goal, goal] = 1.0
        return cls(table)

    @classmethod
    def fit(
        cls,
        sequences: Iterable[Iterable[State]],
        states: Sequence[State] | None = None,
        pseudocount: npt.ArrayLike = 0.0,
    ) -> MarkovChain:
        """Estimate A and q from sequences: A[i, j] = (α + #ij) / (Σ α + #i), q likewise from first elements.

        Parameters
        ----------
        sequences
            Sequences of states, each of them a trajectory of its own.
        states
            All states, in their order; those that are seen, in order of appearance, where left out.
        pseudocount
            α: 0 for maximum likelihood, 1 for the add-one rule; or an array like A, for Dirichlet priors of the rows.
            The start takes a number only; with an array it has none.

        Notes
        -----
        With more than a thousand states and no pseudocount the matrix is sparse.

        Examples
        --------
        >>> MarkovChain.fit(["abab", "aab"], pseudocount=1).transition.round(4)
        array([[0.3333, 0.6667],
               [0.6667, 0.3333]])
        """
        return cls(*estimated_chain(sequences, states, pseudocount))
