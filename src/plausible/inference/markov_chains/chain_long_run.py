"""The long run of Markov chains: stationary distributions, mixing, absorption."""

from __future__ import annotations

import numpy as np

from plausible.base.arrays import Floats, Ints
from plausible.errors import InvalidArgument, NotSupported, TooLarge
from plausible.factors import Factor
from plausible.inference.info import QueryInfo
from plausible.inference.markov_chains.chain_elimination import censored
from plausible.inference.markov_chains.chain_kinds import Absorption, ChainKinds
from plausible.inference.markov_chains.chain_limits import (
    SMALL,
    StationaryVector,
    stationary_vector,
    steps_to_mix,
)
from plausible.inference.markov_chains.spectral_gap import gap_of, log_balance


class ChainLongRun(ChainKinds):
    """The part of `MarkovChain` that says what it comes to."""

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
                solved = stationary_vector(matrix[places][:, places])
                vector = np.zeros(self.num_states)
                vector[places] = solved.weights
                residual = float(np.abs(matrix.T @ vector - vector).max())
                found.append(self._factor(vector, _stationary_info(solved, residual)))
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
        """1 - |λ_2|: the rate at which the start is forgotten; zero where it never is.

        Zero for several closed classes or a period. Else from each communicating class by itself. One in detailed
        balance, as that of a birth-death chain, is like a symmetric matrix: the gap is right to nine digits or so,
        however small; a class of any size where elimination can be done or the gap is not small.

        Notes
        -----
        Of other classes with up to a thousand states all eigenvalues are found, after a scaling by √π: backward
        stable, which is worth about 1e-15 times the condition of the eigenvectors, a few digits or none where a chain
        drifts far one way. Larger ones get Arnoldi's method, for a bounded time. O(s³) for up to a thousand states.

        Raises
        ------
        NotSupported
            Where an iteration does not settle.

        Examples
        --------
        >>> from plausible.inference.markov_chains.markov_chain import MarkovChain
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

        >>> from plausible.inference.markov_chains.markov_chain import MarkovChain
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


def _stationary_info(solved: StationaryVector, residual: float) -> QueryInfo:
    if solved.is_exact:
        return QueryInfo("stationary distribution", residual=residual)
    return QueryInfo(
        "steps of the lazy chain",
        exact=False,
        converged=solved.is_settled,
        error=None,
        num_steps=solved.num_steps,
        residual=residual,
        advice="There are too many states for elimination. The error is about residual / spectral_gap().",
    )
