"""Several labels by repeated cuts: α-expansion and α-β-swap."""

from __future__ import annotations

from abc import abstractmethod
from collections.abc import Callable, Iterator
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from plausible.errors import ImpossibleEvidence, InvalidArgument, NotSupported
from plausible.factors.alignment import scope_text
from plausible.inference.info import QueryInfo
from plausible.inference.optimization.pairwise_energy import PairwiseEnergy, minimize_binary
from plausible.inference.optimizer import Optimizer, Optimum
from plausible.inference.problem import Problem

__all__ = ["AlphaBetaSwap", "AlphaExpansion", "LabelState"]

Floats = NDArray[np.float64]
Ints = NDArray[np.int64]

#: Energies are logarithms of floats: differences below this are rounding.
_ROUNDING = 1e-9


@dataclass(frozen=True, slots=True, eq=False)
class LabelState:
    """Where a search by label moves is.

    Attributes
    ----------
    states
        The position of each variable's state, in the order of the problem.
    energy
        -log Π φ of them, `problem.log_scale` left out; inf where some factor is zero.
    iterations
        How many sweeps over all labels were made.
    residual
        By how much the last sweep lowered the energy.
    converged
        Whether no move lowers it any more.
    """

    states: Ints
    energy: float
    iterations: int = 0
    residual: float = np.inf
    converged: bool = False


class _LabelMoves(Optimizer):
    """Sweeps of moves, each the best of exponentially many and found by one cut, until none helps."""

    __slots__ = ()

    max_sweeps: int

    def __post_init__(self) -> None:
        if self.max_sweeps < 1:
            raise InvalidArgument(f"max_sweeps must be at least 1, not {self.max_sweeps}.")

    def init(self, problem: Problem) -> LabelState:
        """Each variable at the best label of its own factors; refuses factors that the moves can't handle."""
        return _start(problem, self._read(problem))

    def step(self, problem: Problem, state: LabelState) -> LabelState:
        """One sweep: every move once, kept where it lowers the energy."""
        return self._sweep(problem, self._read(problem), state)

    def run(
        self,
        problem: Problem,
        state: LabelState | None = None,
        progress: Callable[[LabelState], None] | None = None,
    ) -> LabelState:
        """Sweeps until no move helps, or as many as `max_sweeps`; goes on from a state where one is given."""
        return self._run(problem, self._read(problem), state, progress)

    def optimize(self, problem: Problem) -> Optimum:
        """Labels that no single move makes better."""
        energy = self._read(problem)
        if (energy.unary.min(axis=1) == np.inf).any():
            raise ImpossibleEvidence.outright()
        state = self._run(problem, energy)
        least = self._least_energy(energy, state)
        info = QueryInfo(
            self._title(),
            exact=False,
            converged=state.converged,
            iterations=state.iterations,
            residual=state.residual,
            advice="" if state.energy <= least + _ROUNDING else self._advice(state),
        )
        return Optimum(state.states, -least, info)

    def _run(
        self,
        problem: Problem,
        energy: PairwiseEnergy,
        state: LabelState | None = None,
        progress: Callable[[LabelState], None] | None = None,
    ) -> LabelState:
        state = _start(problem, energy) if state is None else state
        for _ in range(self.max_sweeps):
            if state.converged:
                break
            state = self._sweep(problem, energy, state)
            if progress is not None:
                progress(state)
        return state

    def _sweep(self, problem: Problem, energy: PairwiseEnergy, state: LabelState) -> LabelState:
        labels, lowest = state.states[energy.places], state.energy
        for move in self._moves(energy.num_labels):
            proposed = self._moved(energy, labels, move)
            value = energy.value(proposed)
            if value < lowest:
                labels, lowest = proposed, value
        drop = state.energy - lowest if lowest < state.energy else 0.0
        return LabelState(
            energy.states(problem, labels), lowest, state.iterations + 1, drop, drop <= _ROUNDING * (1 + abs(lowest))
        )

    def _read(self, problem: Problem) -> PairwiseEnergy:
        energy = PairwiseEnergy.of(problem, self._title().capitalize())
        self._check(problem, energy)
        return energy

    def _advice(self, state: LabelState) -> str:
        if state.energy == np.inf:
            return (
                "Each labelling that was tried has a factor of zero. LinearRelaxation(integer=True) finds one that "
                "has none, or proves that there is none."
            )
        if not state.converged:
            return f"Raise max_sweeps above {self.max_sweeps}: the last sweep still lowered the energy."
        return "No single move helps; DualDecomposition() or LinearRelaxation() may prove that nothing does."

    def _least_energy(self, energy: PairwiseEnergy, state: LabelState) -> float:
        """What no labelling is below."""
        return float(energy.unary.min(axis=1).sum() + energy.pairwise.min(axis=(1, 2), initial=np.inf).sum())

    @abstractmethod
    def _title(self) -> str: ...

    @abstractmethod
    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None: ...

    @abstractmethod
    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]: ...

    @abstractmethod
    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints: ...


@dataclass(frozen=True, slots=True)
class AlphaExpansion(_LabelMoves):
    """Labels that no α-expansion improves (Boykov, Veksler & Zabih 2001): any set of variables may switch to α at once.

    With energies E = -log φ, each pair must satisfy E(a,b) + E(α,α) ≤ E(a,α) + E(α,b) for all labels: metrics do, such
    as Potts' [a ≠ b] and truncated distances min(|a - b|, k); truncated squares don't. For a metric the energy is at
    most 2c times the least one, c being the largest ratio of two energies of different labels of a pair; the bound
    in `.info.error` follows from that. One cut for each label and sweep; a few sweeps are enough in practice.

    Parameters
    ----------
    max_sweeps
        At most this many rounds over all labels.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> potts = np.exp(np.eye(3))
    >>> factors = [Factor({"A": 3, "B": 3}, potts), Factor({"B": 3, "C": 3}, potts), Factor({"A": 3}, [1, 1, 9])]
    >>> AlphaExpansion().best(factors, Evidence.read({}, {}))
    Assignment(A=2, B=2, C=2)
    """

    max_sweeps: int = 50

    def _title(self) -> str:
        return "alpha-expansion"

    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None:
        for label in range(energy.num_labels):
            alike = energy.pairwise + energy.pairwise[:, label, label, None, None]
            through = energy.pairwise[:, :, label, None] + energy.pairwise[:, None, label, :]
            for pair, a, b in np.argwhere(alike > through + _ROUNDING)[:1]:
                scope = problem.factors[energy.sources[pair]].scope
                raise NotSupported(
                    f"The factor over {scope_text(scope)} is no metric: with E = -log φ and states by position, "
                    f"E({a},{b}) + E({label},{label}) exceeds E({a},{label}) + E({label},{b}), so no cut finds the "
                    "best expansion. AlphaBetaSwap() asks less; DualDecomposition() takes any factors."
                )

    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]:
        return ((label,) for label in range(num_labels))

    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints:
        """The best labelling where each variable keeps its label or takes α."""
        choices = np.stack([labels, np.full_like(labels, move[0])], axis=1)
        return _best_choice(energy, labels, np.arange(len(labels)), choices, np.arange(len(energy.pairs)))

    def _least_energy(self, energy: PairwiseEnergy, state: LabelState) -> float:
        """E(x) ≤ U(x*) + 2c P(x*) at a local minimum x of a metric, split into single labels U and pairs P."""
        plain = super(AlphaExpansion, self)._least_energy(energy, state)
        ratio = _metric_ratio(energy.pairwise)
        if not state.converged or not np.isfinite(state.energy) or not np.isfinite(ratio):
            return plain
        least_unary = float(energy.unary.min(axis=1).sum())
        return max(plain, least_unary + (state.energy - state.residual - least_unary) / (2 * ratio))


@dataclass(frozen=True, slots=True)
class AlphaBetaSwap(_LabelMoves):
    """Labels that no α-β-swap improves (Boykov, Veksler & Zabih 2001): variables at α or β may trade these at will.

    With energies E = -log φ, each pair must satisfy E(α,α) + E(β,β) ≤ E(α,β) + E(β,α): semi-metrics do, such as
    truncated squares min((a - b)², k), which need no triangle inequality. No guarantee on the energy, except that with
    two labels it is a graph cut, hence exact. One cut for each pair of labels and sweep.

    Parameters
    ----------
    max_sweeps
        At most this many rounds over all pairs of labels.

    Examples
    --------
    >>> from plausible.factors import Factor
    >>> from plausible.variables import Evidence
    >>> smooth = np.exp(-np.minimum(np.subtract.outer(range(3), range(3)) ** 2, 3.0))
    >>> factors = [Factor({"A": 3, "B": 3}, smooth), Factor({"A": 3}, [9, 1, 1]), Factor({"B": 3}, [1, 1, 2])]
    >>> AlphaBetaSwap().best(factors, Evidence.read({}, {}))
    Assignment(A=0, B=0)
    """

    max_sweeps: int = 50

    def _title(self) -> str:
        return "alpha-beta-swap"

    def _check(self, problem: Problem, energy: PairwiseEnergy) -> None:
        own = np.diagonal(energy.pairwise, axis1=1, axis2=2)
        alike = own[:, :, None] + own[:, None, :]
        for pair, a, b in np.argwhere(alike > energy.pairwise + energy.pairwise.transpose(0, 2, 1) + _ROUNDING)[:1]:
            scope = problem.factors[energy.sources[pair]].scope
            raise NotSupported(
                f"The factor over {scope_text(scope)} is no semi-metric: with E = -log φ and states by position, "
                f"E({a},{a}) + E({b},{b}) exceeds E({a},{b}) + E({b},{a}), so no cut finds the best swap. "
                "DualDecomposition() and LinearRelaxation() take any factors."
            )

    def _moves(self, num_labels: int) -> Iterator[tuple[int, ...]]:
        return ((alpha, beta) for alpha in range(num_labels) for beta in range(alpha + 1, num_labels))

    def _moved(self, energy: PairwiseEnergy, labels: Ints, move: tuple[int, ...]) -> Ints:
        """The best labelling where each variable at one of the two labels takes either."""
        is_moving = np.isin(labels, move)
        moving = np.flatnonzero(is_moving)
        choices = np.tile(np.array(move, dtype=np.int64), (len(moving), 1))
        return _best_choice(energy, labels, moving, choices, np.flatnonzero(is_moving[energy.pairs].any(axis=1)))

    def _least_energy(self, energy: PairwiseEnergy, state: LabelState) -> float:
        plain = super(AlphaBetaSwap, self)._least_energy(energy, state)
        is_best = energy.num_labels == 2 and state.iterations > 0 and np.isfinite(state.energy)
        return max(plain, state.energy) if is_best else plain


def _start(problem: Problem, energy: PairwiseEnergy) -> LabelState:
    labels = energy.unary.argmin(axis=1)
    return LabelState(energy.states(problem, labels), energy.value(labels))


def _best_choice(energy: PairwiseEnergy, labels: Ints, moving: Ints, choices: Ints, touched: Ints) -> Ints:
    """The best labels where each moving variable has one of its two choices; the old ones where all are ruled out.

    `touched` are the pairs with a moving variable; a pair with a single one joins the energies of that variable.
    """
    place = np.full(len(labels), -1)
    place[moving] = np.arange(len(moving))
    options = np.stack([labels, labels], axis=1)
    options[moving] = choices
    pairs = energy.pairs[touched]
    tables = energy.pairwise[touched[:, None, None], options[pairs[:, 0]][:, :, None], options[pairs[:, 1]][:, None, :]]
    unary = energy.unary[moving[:, None], choices]
    inside = place[pairs]
    left, right = inside[:, 1] < 0, inside[:, 0] < 0
    np.add.at(unary, inside[left, 0], tables[left, :, 0])
    np.add.at(unary, inside[right, 1], tables[right, 0, :])
    both = ~(left | right)
    try:
        found = minimize_binary(unary, inside[both], tables[both])
    except ImpossibleEvidence:
        return labels
    moved = labels.copy()
    moved[moving] = choices[np.arange(len(moving)), found.labels]
    return moved


def _metric_ratio(pairwise: Floats) -> float:
    """c, the largest ratio of two energies of different labels of one pair; inf if no metric is seen."""
    num_labels = pairwise.shape[1]
    if len(pairwise) == 0 or num_labels < 2:
        return 1.0
    different = pairwise[:, ~np.eye(num_labels, dtype=np.bool_)]
    own = np.diagonal(pairwise, axis1=1, axis2=2)
    if np.abs(own).max() > _ROUNDING or different.min() <= 0 or different.max() == np.inf:
        return np.inf
    return float((different.max(axis=1) / different.min(axis=1)).max())
