"""Markov chains with finitely many states: prediction, long-run behaviour, absorption, simulation, fitting."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import cached_property
from typing import Any, final

import numpy as np
import numpy.typing as npt
from numpy.typing import NDArray

from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.inference.info import QueryInfo
from plausible.inference.markov_chains.chain_input import (
    Start,
    array_of,
    estimated_chain,
    read_start,
    read_states,
    read_transition,
    some_of,
)
from plausible.inference.markov_chains.chain_limits import (
    SMALL,
    absorption_solutions,
    second_modulus,
    stationary_vector,
    steps_to_mix,
)
from plausible.inference.markov_chains.chain_records import Absorption, CommunicatingClass
from plausible.inference.markov_chains.chain_structure import Structure, structure_of
from plausible.inference.options import read_count
from plausible.variables import State, Variable
from plausible.variables.frozen import Frozen

__all__ = ["MarkovChain"]

Floats = NDArray[np.float64]


@final
class MarkovChain(Frozen):
    """A chain X_1, X_2, ... in which P(X_{t+1} = j | all before) = A[i, j] for X_t = i, the same for all t.

    An immutable value. Distributions come as factors over one variable named "state".

    Parameters
    ----------
    transition
        A: a row for each state, which sums to one. An array, a SciPy sparse matrix (which stays sparse, so that
        a hundred thousand states are no problem), or `{state: {next state: probability}}`.
    states
        Names for the rows; 0, 1, ... where left out.
    start
        The distribution of X_1: numbers, `{state: probability}`, or one state. Questions that need it take it as
        an argument, too.

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

    def __init__(
        self,
        transition: npt.ArrayLike | Mapping[State, Mapping[State, float]],
        states: Sequence[State] | None = None,
        start: Start | None = None,
    ) -> None:
        if isinstance(transition, Mapping) and states is None:
            states = list(dict.fromkeys([*transition, *(name for row in transition.values() for name in row)]))
        matrix = read_transition(transition, states)
        self._variable = Variable("state", read_states(states, matrix.shape[0]))
        self._matrix = matrix
        self._start = None if start is None else read_start(start, self._variable)

    # --- what is there ---

    @property
    def states(self) -> tuple[State, ...]:
        """The states, in the order of the rows."""
        return self._variable.states

    @property
    def num_states(self) -> int:
        """How many states there are."""
        return self._variable.num_states

    @property
    def transition(self) -> Any:
        """A copy of A: an array, or a sparse one where it was given so."""
        return self._matrix.copy()

    @property
    def start(self) -> Factor | None:
        """The distribution of X_1, where there is one."""
        return None if self._start is None else self._factor(self._start, "given")

    def probability(self, source: State, target: State) -> float:
        """P(X_{t+1} = target | X_t = source)."""
        return float(self._matrix[self._variable.index(source), self._variable.index(target)])

    def __repr__(self) -> str:
        return f"MarkovChain({self.num_states} states)"

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, MarkovChain):
            return NotImplemented
        starts = [chain._start for chain in (self, other) if chain._start is not None]
        return (
            self.states == other.states
            and len(starts) != 1
            and np.array_equal(starts[:1], starts[1:])
            and (self._sparse != other._sparse).nnz == 0
        )

    def __hash__(self) -> int:
        return hash(self.states)

    def __reduce__(self) -> tuple[object, ...]:
        return MarkovChain, (self._matrix, self.states, self._start)

    # --- a number of steps ---

    def n_step(self, num_steps: int) -> Any:
        """A^n: the probabilities of each state n steps after each state; sparse for a sparse chain."""
        count = read_count("num_steps", num_steps)
        if isinstance(self._matrix, np.ndarray):
            return np.linalg.matrix_power(self._matrix, count)
        from scipy.sparse import csr_array
        from scipy.sparse.linalg import matrix_power

        return csr_array(matrix_power(self._matrix, count))

    def predict(self, num_steps: int, start: Start | None = None) -> Factor:
        """q A^n: the distribution n steps after one that is q, with the power of A only where that is less work."""
        vector, count = self._begin(start), read_count("num_steps", num_steps)
        if isinstance(self._matrix, np.ndarray) and count > self.num_states:
            return self._factor(vector @ self.n_step(count), "prediction")
        backwards = self._matrix.T
        for _ in range(count):
            vector = backwards @ vector
        return self._factor(vector, "prediction")

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
        from plausible.kernels.markov_chain import walk

        levels = np.random.default_rng(seed).random(
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

    # --- kinds of chains ---

    def communicating_classes(self) -> tuple[CommunicatingClass, ...]:
        """The classes of states that can be reached from each other, ordered by their first states."""
        structure = self._structure
        return tuple(
            CommunicatingClass(self._named(places), closed, period)
            for places, closed, period in zip(
                structure.members(), structure.is_closed.tolist(), structure.periods.tolist(), strict=True
            )
        )

    @property
    def is_irreducible(self) -> bool:
        """Whether every state can be reached from every other one."""
        return self._structure.num_classes == 1

    @property
    def is_ergodic(self) -> bool:
        """The same as `is_irreducible`: the graph of positive transitions is strongly connected."""
        return self.is_irreducible

    @property
    def period(self) -> int:
        """The period of the closed class; it has to be the only one."""
        return int(self._structure.periods[self._only_closed_class("The period")])

    @property
    def is_aperiodic(self) -> bool:
        """Whether no closed class has a period of two or more."""
        return bool((self._structure.periods[self._structure.is_closed] == 1).all())

    @property
    def is_regular(self) -> bool:
        """Whether some power of A is positive everywhere: the chain is irreducible and aperiodic.

        A chain with positive paths between all states and a positive A[i, i] somewhere is.
        """
        return self.is_irreducible and self.is_aperiodic

    @property
    def is_left_to_right(self) -> bool:
        """Whether no transition leads to a state before, in the order of the states."""
        entries = self._sparse.tocoo()
        return bool((entries.row <= entries.col)[entries.data > 0].all())

    @property
    def absorbing_states(self) -> tuple[State, ...]:
        """The states that the chain never leaves."""
        structure = self._structure
        alone = np.bincount(structure.labels) == 1
        return self._named(np.flatnonzero((structure.is_closed & alone)[structure.labels]))

    @property
    def is_absorbing(self) -> bool:
        """Whether the chain ends up in an absorbing state from everywhere."""
        return len(self.absorbing_states) == int(self._structure.is_closed.sum())

    # --- the long run ---

    def stationary(self) -> Factor:
        """The π with π = π A, which has to be unique.

        Raises
        ------
        NotSupported
            Where there are several closed classes, each of which has its own; the error names them.
        """
        self._only_closed_class("The stationary distribution")
        return self.stationary_distributions()[0]

    def stationary_distributions(self) -> tuple[Factor, ...]:
        """One stationary distribution for each closed class: all others are mixtures of these."""
        matrix = self._sparse
        found: list[Factor] = []
        for places, closed in zip(self._structure.members(), self._structure.is_closed, strict=True):
            if closed:
                vector = np.zeros(self.num_states)
                vector[places] = stationary_vector(matrix[places][:, places])
                residual = float(np.abs(matrix.T @ vector - vector).max())
                found.append(self._factor(vector, "stationary distribution", residual))
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
        """Whether detailed balance π(i) A[i, j] = π(j) A[j, i] holds for the stationary distribution."""
        matrix, weights = self._sparse, self.stationary().flat
        flows = matrix.multiply(weights[:, None]).tocsr()
        return bool(abs(flows - flows.T).max() <= 1e-12)

    def spectral_gap(self) -> float:
        """1 - |λ_2|: the rate at which the start is forgotten; zero where it never is.

        From all eigenvalues of small chains, from an Arnoldi iteration for large sparse ones.
        """
        return 1.0 - second_modulus(self._sparse)

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

        B = N R and t = N 1 with N = (I - Q)^-1, by one elimination.

        >>> ruin = MarkovChain.gamblers_ruin(4, win=0.5)
        >>> round(ruin.absorption().probability(1, 4), 6), round(ruin.absorption().steps(2), 6)
        (0.25, 4.0)
        """
        structure, matrix = self._structure, self._sparse
        closed = np.flatnonzero(structure.is_closed)
        transient = np.flatnonzero(~structure.is_closed[structure.labels])
        members = structure.members()
        columns = [np.asarray(matrix[:, members[number]].sum(axis=1)).ravel()[transient] for number in closed]
        into = np.stack([*columns, np.ones(len(transient))], axis=1)
        solved = absorption_solutions(matrix, transient, into) if len(transient) else into
        return Absorption(
            self._named(transient), tuple(self._named(members[k]) for k in closed), solved[:, :-1], solved[:, -1]
        )

    def expected_visits(self) -> Floats:
        """N = (I - Q)^-1: for each transient state a row, how often each transient state is visited in all.

        The first column and row are those of the first state in `absorption().transient`, and so on.
        """
        transient = np.flatnonzero(~self._structure.is_closed[self._structure.labels])
        if len(transient) > SMALL:
            raise TooLarge(f"{len(transient)} transient states are more than the {SMALL} of a dense answer.")
        return absorption_solutions(self._sparse, transient, np.eye(len(transient)))

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

    # --- inside ---

    @cached_property
    def _sparse(self) -> Any:
        from scipy.sparse import csr_array

        return csr_array(self._matrix)

    @cached_property
    def _structure(self) -> Structure:
        return structure_of(self._sparse)

    def _begin(self, start: Start | None) -> Floats:
        if start is not None:
            return read_start(start, self._variable)
        if self._start is None:
            raise InvalidArgument("This chain has no start. Give start= here, or when the chain is made.")
        return self._start

    def _factor(self, vector: Floats, how: str, residual: float | None = None) -> Factor:
        return Factor((self._variable,), vector).with_info(QueryInfo(how, residual=residual))

    def _named(self, places: Iterable[int]) -> tuple[State, ...]:
        return tuple(self.states[place] for place in places)

    def _only_closed_class(self, what: str) -> int:
        closed = np.flatnonzero(self._structure.is_closed)
        if len(closed) > 1:
            members = self._structure.members()
            shown = "; ".join(f"{{{some_of(self._named(members[number]))}}}" for number in closed[:4])
            raise NotSupported(
                f"{what} is not unique: the chain can't leave any of {len(closed)} closed classes, {shown}"
                f"{' ...' if len(closed) > 4 else ''}. See stationary_distributions() and communicating_classes()."
            )
        return int(closed[0])
