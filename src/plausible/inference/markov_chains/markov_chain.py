"""Markov chains with finitely many states: prediction, simulation, fitting, and all that is known of the long run."""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from typing import TYPE_CHECKING, Any, final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.base import Floats, Ints, QueryInfo, generator_of, logarithms, own_methods, picture_by, read_count
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.inference.markov_chains.chain_kinds import (
    Absorption,
    ChainKinds,
    Start,
    estimated_chain,
    some_of,
)
from plausible.inference.markov_chains.chain_limits import SMALL, censored, power_of, stationary_vector, steps_to_mix
from plausible.inference.markov_chains.spectral_gap import gap_of, log_balance
from plausible.kernels.markov_chain import walk
from plausible.variables import State

if TYPE_CHECKING:
    from plausible.base.pictured import Picture

_NOT_ELIMINATED = "There are too many states for elimination. The error is about residual / spectral_gap()."


@final
@own_methods
class MarkovChain(ChainKinds):
    """A homogeneous Markov chain X_1, X_2, ...: P(X_{t+1} = j | X_t = i) = A[i, j] for all t.

    It is immutable. Distributions are returned as factors over one variable named "state". Definitions as in Kemeny &
    Snell, *Finite Markov Chains* (1960).

    Parameters
    ----------
    transition
        A: a row for each state, which sums to one. An array, a SciPy sparse matrix (which stays sparse, so a hundred
        thousand states are no problem), `{state: {next state: probability}}`, or a diagram as text, such as
        "rain -> rain: 0.7; rain -> dry: 0.3; dry -> dry: 1", in which arrows without a number share what is left.
    states
        Names of the rows; by default 0, 1, ...
    start
        The distribution of X_1: numbers, `{state: probability}`, or one state. Methods that need it also accept it as
        an argument.

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

    def picture(self) -> Picture:
        """The states, and how probable it is to go from one to another; of more than 24 states two steps of time."""
        return picture_by("picture_of_chain", self.states, self.transition)

    def _repr_svg_(self) -> str:
        return self.picture().svg

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
        shape = read_count("num_chains", num_chains), read_count("num_steps", num_steps) + 1
        levels = generator_of(seed).random(shape)
        cumulative, matrix = np.cumsum(self._begin(start)), self._sparse
        paths = np.empty(levels.shape, dtype=np.int64)
        paths[:, 0] = np.searchsorted(cumulative, levels[:, 0] * cumulative[-1], side="right")
        ends, targets = matrix.indptr.astype(np.int64), matrix.indices.astype(np.int64)
        walk(ends, targets, matrix.data.copy(), levels[:, 1:], paths)
        is_plain = len({type(state) for state in self.states}) == 1 and isinstance(self.states[0], (str, int, float))
        table = np.array(self.states) if is_plain else np.empty(self.num_states, dtype=object)
        table[:] = self.states
        return table[paths]

    def log_likelihood(self, sequence: Iterable[State], start: Start | None = None) -> float:
        """log P(X_1 = x_1, ..., X_T = x_T) = log q(x_1) + Σ log A[x_t, x_{t+1}]; -inf for zero."""
        places = np.array([self._variable.index(state) for state in sequence], dtype=np.int64)
        if not len(places):
            return 0.0
        steps = np.asarray(self._matrix[places[:-1], places[1:]], dtype=float).ravel()
        return float(logarithms(self._begin(start)[places[0]]) + logarithms(steps).sum())

    def likelihood(self, sequence: Iterable[State], start: Start | None = None) -> float:
        """P(X_1 = x_1, ..., X_T = x_T).

        >>> chain = MarkovChain([[0.4, 0.6], [0.2, 0.8]], start=[0.3, 0.7])
        >>> round(chain.likelihood([0, 0, 1, 1]), 6)
        0.0576
        """
        return math.exp(self.log_likelihood(sequence, start))

    def stationary(self) -> Factor:
        """The π with π = π A; refused where there are several closed classes, each of which has its own."""
        self._only_closed_class("The stationary distribution")
        return self.stationary_distributions()[0]

    def stationary_distributions(self) -> tuple[Factor, ...]:
        """One stationary distribution for each closed class: all others are mixtures of these."""
        matrix = self._sparse
        found: list[Factor] = []
        for places, closed in zip(self._structure.members(), self._structure.is_closed, strict=True):
            if closed:
                solved = stationary_vector(matrix[places][:, places])
                vector = np.zeros(self.num_states)
                vector[places] = solved.weights
                residual = float(np.abs(matrix.T @ vector - vector).max())
                info = QueryInfo("stationary distribution", residual=residual)
                if not solved.is_exact:
                    info = QueryInfo(
                        "steps of the lazy chain",
                        exact=False,
                        converged=solved.is_settled,
                        error=None,
                        num_steps=solved.num_steps,
                        residual=residual,
                        advice=_NOT_ELIMINATED,
                    )
                found.append(self._factor(vector, info))
        return tuple(found)

    def equilibrium(self) -> Factor:
        """lim q A^n, where it is the same for every q: one closed class, without a period."""
        if not self.is_aperiodic:
            raise NotSupported(
                "The chain is periodic: it has a stationary distribution but comes to no equilibrium. See stationary()."
            )
        return self.stationary()

    @property
    def is_reversible(self) -> bool:
        """Whether detailed balance π(i) A[i, j] = π(j) A[j, i] holds, each flow up to a billionth of itself."""
        places = self._structure.members()[self._only_closed_class("The stationary distribution")]
        return log_balance(self._sparse[places][:, places]) is not None

    def spectral_gap(self) -> float:
        """1 - |λ_2|: the rate at which the start is forgotten; zero for several closed classes or a period.

        From each communicating class by itself. One in detailed balance, as that of a birth-death chain, is like a
        symmetric matrix: the gap is right to nine digits or so, however small; a class of any size where elimination
        can be done or the gap is not small. Of other classes with up to a thousand states all eigenvalues are found, in
        O(s³), after a scaling by √π: backward stable, which is worth about 1e-15 times the condition of the
        eigenvectors, a few digits or none where a chain drifts far one way. Larger ones get Arnoldi's method, for a
        bounded time; an iteration that does not settle is an error.

        >>> print(f"{MarkovChain([[1 - 1e-9, 1e-9], [2e-9, 1 - 2e-9]]).spectral_gap():.12g}")
        3e-09
        """
        if self._structure.is_closed.sum() > 1 or not self.is_aperiodic:
            return 0.0
        return gap_of(self._sparse, self._structure)

    def mixing_time(self, tolerance: float = 0.25) -> int:
        """The fewest steps after which, from any start, the total variation distance to π is within the tolerance.

        By repeated squaring: O(s³ log t) for s states and t steps.
        """
        if not 0 < tolerance < 1:
            raise InvalidArgument(f"tolerance={tolerance} is to lie between zero and one.")
        if self.num_states > SMALL:
            raise TooLarge(
                f"The mixing time takes powers of dense matrices: {self.num_states} states are more than {SMALL}. "
                "See spectral_gap()."
            )
        steps = steps_to_mix(self._sparse.toarray(), self.equilibrium().flat, tolerance)
        if steps is None:
            raise NotSupported("The chain mixes too slowly for a count: its steps are beyond 2^60.")
        return steps

    def absorption(self) -> Absorption:
        """Where the chain ends up from its transient states, and after how many steps (Kemeny & Snell, §3.3).

        B = N R and t = N 1 with N = (I - Q)^-1, by one elimination that subtracts nothing: however rarely the chain
        leaves a state, all digits are right.

        >>> ruin = MarkovChain.gamblers_ruin(4, win=0.5)
        >>> round(ruin.absorption().probability(1, 4), 6), round(ruin.absorption().steps(2), 6)
        (0.25, 4.0)
        """
        structure, matrix = self._structure, self._sparse
        transient, members = self._transient(), structure.members()
        closed = [members[number] for number in np.flatnonzero(structure.is_closed)]
        columns = [np.asarray(matrix[:, places].sum(axis=1)).ravel()[transient] for places in closed]
        into = np.stack([*columns, np.ones(len(transient))], axis=1)
        solved = self._expected(transient, into)
        classes = tuple(self._named(places) for places in closed)
        return Absorption(self._named(transient), classes, solved[:, :-1], solved[:, -1])

    def expected_visits(self) -> Floats:
        """N = (I - Q)^-1: for each transient state a row, how often each transient state is visited in all.

        The first column and row are those of the first state in `absorption().transient`, and so on.
        """
        transient = self._transient()
        if len(transient) > SMALL:
            raise TooLarge(f"{len(transient)} transient states are more than the {SMALL} of a dense answer.")
        return self._expected(transient, np.eye(len(transient)))

    def _transient(self) -> Ints:
        return np.flatnonzero(~self._structure.is_closed[self._structure.labels])

    def _expected(self, transient: Ints, rewards: Floats) -> Floats:
        """N · rewards, with a row for each transient state."""
        rows = self._sparse[transient]
        is_out = self._structure.is_closed[self._structure.labels].astype(np.float64)
        found = censored(rows[:, transient], rows @ is_out)
        if found is None:
            raise TooLarge(
                f"The equations of {len(transient)} transient states take too much elimination: each leads to too many "
                "others. Lump states together, or simulate()."
            )
        return found.expected(rewards)

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

        With more than a thousand states and no pseudocount the matrix is sparse.

        Parameters
        ----------
        sequences
            Sequences of states, each of them a trajectory of its own.
        states
            All states, in their order; those that are seen, in order of appearance, where left out.
        pseudocount
            α: 0 for maximum likelihood, 1 for the add-one rule; or an array like A, for Dirichlet priors of the rows.
            The start takes a number only; with an array it has none.

        Examples
        --------
        >>> MarkovChain.fit(["abab", "aab"], pseudocount=1).transition.round(4)
        array([[0.3333, 0.6667],
               [0.6667, 0.3333]])
        """
        return cls(*estimated_chain(sequences, states, pseudocount))
